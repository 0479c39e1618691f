//! Entries that contradict each other: found without a model, flagged once, settled by whoever may.
//!
//! Nothing here prefers a side. A pair somebody dismissed or settled is not brought up again.

use ken_core::actor::Actor;
use ken_core::content::Changes;
pub use ken_core::contradiction::standing::Contradiction;
use ken_core::contradiction::standing::{self, detected};
use ken_core::decide;
use ken_core::entry::Entry;
use ken_core::event::{Channel, PairKind};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::store::{Filter, Store as _};
use ken_core::text::{Note, Tag};
use ken_core::workspace::Workspace;
use ken_index::{Index, Vector};

use crate::engine::Engine;
use crate::error::Error;

/// How a contradiction is settled.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// One stays; the other gives way to it.
    Keep(EntryId),
    /// Both stay, as competing hypotheses.
    Both,
    /// Both stay, each where its new tag says.
    Scoped(Vec<(EntryId, Tag)>),
}

impl Engine {
    /// Returns every contradiction among entries in use that nobody has settled, flagged or not.
    pub fn contradictions(&mut self) -> Result<Vec<Contradiction>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let said: Vec<&str> = entries.iter().map(Entry::said).collect();
        let vectors = self.built_in_vectors(&said)?;
        let workspace = self.index.workspace()?;
        let near = |one: usize, other: usize| {
            let vectors = vectors.as_ref();
            vectors.map(|(_, it): &(String, Vec<Vector>)| it[one].cosine(&it[other]))
        };
        let mut found = detected(&entries, &workspace, &near);
        add_flagged(&self.index, &workspace, &mut found)?;
        Ok(found)
    }

    /// Returns the norms that contradict the norm `id`; nothing for what is no norm.
    pub fn norms_against(&self, id: EntryId) -> Result<Vec<Contradiction>, Error> {
        if id.prefix().memory() != Memory::Procedural {
            return Ok(Vec::new());
        }
        let workspace = self.index.workspace()?;
        let mut found = detected(&norms(&self.index)?, &workspace, &|_, _| None);
        found.retain(|it| it.first.id == id || it.second.id == id);
        Ok(found)
    }

    /// Writes down the contradictions that are new, each once for ever, and returns them.
    pub fn flag_contradictions(&mut self, by: &Actor) -> Result<Vec<Contradiction>, Error> {
        self.absorb_before_writing()?;
        let mut found = self.contradictions()?;
        found.retain(|it| !it.flagged);
        self.flag(found, by)
    }

    fn flag(
        &mut self,
        mut found: Vec<Contradiction>,
        by: &Actor,
    ) -> Result<Vec<Contradiction>, Error> {
        let workspace = self.index.workspace()?;
        let mut drafts = Vec::with_capacity(found.len());
        found.retain(|it| {
            let Ok(why) = it.why.parse::<Note>() else {
                return false;
            };
            let draft = decide::flag_contradiction(&it.first, &it.second, why, &workspace);
            let Ok(draft) = draft else { return false };
            drafts.push(draft);
            true
        });
        if !drafts.is_empty() {
            self.record(drafts, by)?;
        }
        for it in &mut found {
            it.flagged = true;
        }
        Ok(found)
    }

    /// Notes for good that two entries do not contradict each other.
    pub fn dismiss_contradiction(
        &mut self,
        one: EntryId,
        other: EntryId,
        by: &Actor,
    ) -> Result<(), Error> {
        self.dismiss((one, other), PairKind::Contradiction, by)
    }

    /// Settles a contradiction.
    pub fn resolve_contradiction(
        &mut self,
        one: EntryId,
        other: EntryId,
        how: Resolution,
        by: &Actor,
    ) -> Result<(), Error> {
        self.absorb_before_writing()?;
        let (one, other) = (self.entry(one)?, self.entry(other)?);
        let workspace = self.index.workspace()?;
        let (kept, scopes) = match how {
            Resolution::Keep(id) => (Some(id), Vec::new()),
            Resolution::Both => (None, Vec::new()),
            Resolution::Scoped(scopes) => (None, scopes),
        };
        let mut drafts = decide::resolve_contradiction(&one, &other, kept, &workspace)?;
        for (id, tag) in scopes {
            let entry = if id == one.id { &one } else { &other };
            let content = entry.content.as_ref();
            let mut tags = content.map(|it| it.tags.clone()).unwrap_or_default();
            tags.insert(tag);
            let changes = Changes {
                tags: Some(tags),
                ..Changes::default()
            };
            let draft = decide::revise(entry, changes, None, Channel::Command, None)?;
            drafts.push(decide::worded_by(draft, entry, by));
        }
        self.record(drafts, by)?;
        self.render_due()?;
        Ok(())
    }
}

/// Returns the norms in use.
pub(crate) fn norms(index: &Index) -> Result<Vec<Entry>, Error> {
    Ok(index.list(&Filter {
        memory: Some(Memory::Procedural),
        ..Filter::default()
    })?)
}

/// Adds pairs that are flagged, still open, and seen by no rule.
pub(crate) fn add_flagged(
    index: &Index,
    workspace: &Workspace,
    found: &mut Vec<Contradiction>,
) -> Result<(), Error> {
    standing::add_flagged(workspace, found, &mut |id| Ok(index.entry(id)?))
}
