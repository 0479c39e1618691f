//! Where entries come from, and what a person may do about it: revoke a source, hold what a stranger brought.

use ken_core::actor::{Actor, Role};
use ken_core::decide::{self, Draft, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{AdmissionVerdict, OriginRevoked, Overlay, Recorded, Switch};
use ken_core::id::{EntryId, EventId};
use ken_core::source::Source;
use ken_core::store::{Filter, Shelf, Store as _};
use ken_core::text::Note;

use crate::engine::Engine;
use crate::error::Error;
use crate::validity::{Range, brought_ids};

/// An entry agents are not shown, and why.
#[derive(Clone, Debug)]
pub struct Held {
    pub entry: Entry,
    pub why: String,
}

impl Engine {
    /// Revokes everything from a source by one event, or takes that back; returns how many entries it concerns.
    pub fn revoke(&mut self, source: &Source, state: Switch, by: &Actor) -> Result<usize, Error> {
        self.absorb_before_writing()?;
        let earlier: Vec<EventId> = self
            .index
            .of_type("origin.revoked")?
            .into_iter()
            .filter(|it| {
                it.event
                    .get::<OriginRevoked>()
                    .is_some_and(|data| data.source == *source)
            })
            .map(|it| it.event.id)
            .collect();
        let workspace = self.workspace()?;
        let draft = decide::revoke(&workspace, source.clone(), state, earlier, by)?;
        self.record(vec![draft], by)?;
        let all = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        Ok(all.iter().filter(|entry| source.made(entry)).count())
    }

    /// Keeps an entry from agents until a person lets it out.
    pub fn hold(&mut self, id: EntryId, reason: &Note, by: &Actor) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let entry = self.entry(id)?;
        let held = self.hold_all(&[entry], reason, by)?;
        if held.is_empty() {
            return Err(Refusal::ReadOnly(id).into());
        }
        self.entry(id)
    }

    /// Holds every entry that the change from `base` brings or touches, whatever its lines claim; returns which.
    pub fn hold_brought(
        &mut self,
        base: &str,
        reason: &Note,
        by: &Actor,
    ) -> Result<Vec<EntryId>, Error> {
        self.absorb_before_writing()?;
        let range = Range::of(&self.place, base, None)?;
        let mut entries = Vec::new();
        for id in brought_ids(&range)? {
            // What was blanked or is not whole has nothing to show.
            if let Some(entry) = self.index.entry(id)?
                && entry.content.is_some()
                && entry.quarantine.is_empty()
            {
                entries.push(entry);
            }
        }
        self.hold_all(&entries, reason, by)
    }

    /// Holds each entry by an annotation that is admitted as quarantined; returns those that could be.
    ///
    /// One that is partly written by a newer Ken cannot be written to, and must not keep the others from being held.
    fn hold_all(
        &mut self,
        entries: &[Entry],
        reason: &Note,
        by: &Actor,
    ) -> Result<Vec<EntryId>, Error> {
        if !matches!(by.role(), Role::Human | Role::Ci) {
            let (what, by) = ("holding an entry", by.clone());
            return Err(Refusal::PersonNeeded { what, by }.into());
        }
        let reason = self.guard.cleaned(reason)?;
        let (mut drafts, mut held) = (Vec::new(), Vec::new());
        for entry in entries {
            let annotate = |note: &Note| {
                decide::set_overlay(entry, Overlay::Annotate, Switch::On, Some(note.clone()))
            };
            let draft = match annotate(&reason) {
                // It says so already, from an earlier time.
                Err(Refusal::NothingChanges) => {
                    let again = format!("{reason}, again").parse();
                    again.map_or(Err(Refusal::NothingChanges), |note| annotate(&note))
                }
                other => other,
            };
            if let Ok(draft) = draft {
                drafts.push(draft);
                held.push(entry.id);
            }
        }
        self.record_held(drafts, reason.as_str(), by)?;
        self.render_due()?;
        Ok(held)
    }

    /// Returns every entry that waits for a person, with what it waits for.
    pub fn held(&self) -> Result<Vec<Held>, Error> {
        let all = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        let waiting = all.into_iter().filter(|entry| !entry.quarantine.is_empty());
        waiting
            .map(|entry| {
                let why = self.why_held(&entry)?;
                Ok(Held { entry, why })
            })
            .collect()
    }

    /// Returns the entry with what it waits for, if it is here and waits for a person.
    pub fn held_entry(&self, id: EntryId) -> Result<Option<Held>, Error> {
        let entry = self.index.entry(id)?;
        let Some(entry) = entry.filter(|it| !it.quarantine.is_empty()) else {
            return Ok(None);
        };
        let why = self.why_held(&entry)?;
        Ok(Some(Held { entry, why }))
    }

    fn why_held(&self, entry: &Entry) -> Result<String, Error> {
        for id in &entry.quarantine {
            if let Some(Recorded { event, .. }) = self.index.event(*id)?
                && let Some(admission) = event.admission
            {
                if let Some(why) = admission.held_for {
                    return Ok(why);
                }
                let found: Vec<String> = admission.findings.into_iter().collect();
                if !found.is_empty() {
                    return Ok(found.join(", "));
                }
            }
        }
        if entry.is_promoted() {
            return Ok("nobody has approved this wording yet".to_owned());
        }
        Ok("it was set apart when it was written".to_owned())
    }

    /// Records drafts as quarantined, whatever the rules say about their text.
    fn record_held(&mut self, drafts: Vec<Draft>, why: &str, by: &Actor) -> Result<(), Error> {
        self.record_with(
            drafts.into_iter().map(|draft| (None, draft)).collect(),
            by,
            &mut |admission| {
                admission.verdict = AdmissionVerdict::Quarantined;
                admission.held_for = Some(why.to_owned());
            },
        )?;
        Ok(())
    }
}
