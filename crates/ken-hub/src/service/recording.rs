//! Recording: what somebody found out becomes an entry, or an observation where it is known already.
//!
//! The answer names no entry the agent had not seen: it would be told what it is about to confirm.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::anchor::Anchor;
use ken_core::citation::Evidence;
use ken_core::content::Content;
use ken_core::decide::{self, Proposal};
use ken_core::entry::Entry;
use ken_core::event::{Origin, SourceRun};
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Kind;
use ken_core::run::known::{Known, known};
use ken_core::run::{Finding, Note, Run};
use ken_core::text::{Statement, Step, Tag};
use ken_core::tombstone::Stones;

use super::{Desk, Failure, Observation, Reader, observe};
use crate::identity::Role;
use crate::world::random;

pub use ken_core::run::known::Recorded;

/// Tries at an entry id nobody has yet; two in a row taken is already beyond belief.
const ID_TRIES: usize = 8;

/// What somebody found out.
#[derive(Clone, Debug)]
pub struct Recording {
    pub reader: Reader,
    pub statement: Statement,
    pub kind: Kind,
    pub anchors: Vec<Anchor>,
    pub cites: Vec<Evidence>,
    pub verify: Vec<Step>,
    pub tags: BTreeSet<Tag>,
}

/// Takes down what somebody found out.
pub async fn record(desk: &mut Desk, it: Recording) -> Result<Recorded, Failure> {
    desk.needs(Role::Agent, "recording an entry")?;
    desk.check_author(&it.reader.agent)?;
    desk.lock().await?;
    let says = desk.entries_saying(&it.statement).await?;
    let says: Vec<EntryId> = says.into_iter().collect();
    let says = desk.tenant.entries(&says).await?;
    let run = desk.open_run_of(&it.reader).await?;
    match known(run.as_ref(), &it.reader.agent, &it.statement, &says) {
        Some(Known::Added(id)) => Ok(Recorded::Entry(Box::new(desk.entry(id).await?))),
        Some(Known::Found(seen)) => Ok(Recorded::Noted(seen)),
        Some(Known::Elsewhere(seen)) => {
            let reader = it.reader.clone();
            let finding = Finding::new(it.statement, it.anchors, it.verify);
            observe(desk, Observation { reader, finding }).await?;
            Ok(Recorded::Noted(seen))
        }
        None => {
            let entry = desk.add_for(it, run).await?;
            Ok(Recorded::Entry(Box::new(entry)))
        }
    }
}

impl Desk {
    /// Adds an entry that its reader wrote, as part of the run it works in.
    async fn add_for(&mut self, it: Recording, run: Option<Run>) -> Result<Entry, Failure> {
        let agent = it.reader.agent.clone();
        let now = self.now;
        let mut content = Content::new(it.statement);
        content.evidence = it.anchors;
        content.verify = it.verify;
        content.tags = it.tags;
        let citations = it.cites.into_iter().map(|cite| cite.cite(&agent, now));
        let origin = Origin::of(&agent);
        let mut proposal = Proposal::new(it.kind, content, citations.collect(), origin);
        if let Some(run) = &run {
            proposal.thread.clone_from(&run.thread);
            let (id, outcome) = (run.id.clone(), None);
            proposal.run = Some(SourceRun { id, outcome });
        }
        let entry = self.add(proposal, &agent).await?;
        if let Some(run) = run {
            let entries = vec![entry.id];
            let note = Note::Added {
                agent: agent.clone(),
                entries,
            };
            self.note_run(&run.id, note, &agent).await?;
        }
        Ok(entry)
    }

    /// Adds an entry that was not taken back before.
    pub(super) async fn add(&mut self, proposal: Proposal, by: &Actor) -> Result<Entry, Failure> {
        self.lock().await?;
        let stones = Stones::new(self.tenant.tombstones().await?);
        stones.check(&proposal, by)?;
        let (event, entry) = self.fresh_id(proposal.kind).await?;
        let draft = decide::propose(event, proposal)?;
        self.record(vec![(Some(event), draft)], by).await?;
        self.entry(entry).await
    }

    async fn fresh_id(&mut self, kind: Kind) -> Result<(EventId, EntryId), Failure> {
        for _ in 0..ID_TRIES {
            let event = EventId::new(self.now, random());
            let entry = EntryId::created_by(event, kind);
            if self.tenant.entry(entry).await?.is_none() {
                return Ok((event, entry));
            }
        }
        Err(Failure::Conflict(
            "no free id was found for the entry; send it again".to_owned(),
        ))
    }
}
