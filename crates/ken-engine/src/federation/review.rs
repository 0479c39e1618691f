//! What a person decides about the wordings of a peer: approve, reject, confirm.
//!
//! An approval covers one wording, because every wording is an entry of its own. There is no
//! standing approval.

use ken_core::decide;
use ken_core::federation::trust::{FAILURE_MILLI, SUCCESS_MILLI};
use ken_core::federation::{DECISIONS_MAX, RejectReason};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EventBody, Feedback, FeedbackGiven};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::promotion::{PromotionArtifact, statement_authors};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::time::Date;

use super::FederationError;
use super::peer::{PeerLedger, carrier, ensure_person};
use crate::error::EngineError;

/// A wording that waits for a person.
#[derive(Clone, Debug)]
pub struct WaitingWording {
    pub entry: Entry,
    pub first_seen: Date,
    /// Digest of the words to approve.
    pub artifact: String,
}

impl PeerLedger {
    /// Returns the wordings that wait for a person, oldest first.
    pub fn waiting(&self) -> Result<Vec<WaitingWording>, EngineError> {
        let entries = self.engine.index.list(&EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        })?;
        let mut waiting = Vec::new();
        for entry in entries {
            if entry.quarantine.is_empty() || entry.retracted.is_some() {
                continue;
            }
            let Some(first_seen) = self.first_seen(&entry) else {
                continue;
            };
            if let Some(artifact) = PromotionArtifact::from_entry(&entry) {
                waiting.push(WaitingWording {
                    first_seen,
                    artifact: artifact.digest(),
                    entry,
                });
            }
        }
        waiting.sort_by_key(|it| (it.first_seen, it.entry.id));
        Ok(waiting)
    }

    /// Approves wordings; from then on they are shown, labeled and discounted.
    pub fn approve(&mut self, ids: &[EntryId], by: &Actor) -> Result<(), EngineError> {
        ensure_person(by)?;
        if ids.len() > DECISIONS_MAX {
            return Err(EngineError::Usage(format!(
                "approve at most {DECISIONS_MAX} entries at once"
            )));
        }
        let waiting = self.waiting()?;
        let mut drafts = Vec::with_capacity(ids.len());
        for id in ids {
            let found = waiting.iter().find(|it| it.entry.id == *id);
            let found = found.ok_or(FederationError::NotWaiting(*id))?;
            let history = self.engine.index.history(*id)?;
            let authors = statement_authors(*id, history.iter().map(|it| &it.event));
            drafts.push(decide::approve(&found.entry, &authors, by, None)?);
        }
        self.engine.record(drafts, by)?;
        Ok(())
    }

    /// Rejects wordings; the peer loses trust.
    pub fn reject(
        &mut self,
        ids: &[EntryId],
        reason: RejectReason,
        by: &Actor,
    ) -> Result<(), EngineError> {
        ensure_person(by)?;
        let mut drafts = Vec::with_capacity(ids.len() * 2);
        for id in ids {
            let entry = self.engine.entry(*id)?;
            if entry.retracted.is_some() || self.first_seen(&entry).is_none() {
                return Err(FederationError::NotShown(*id).into());
            }
            drafts.push(decide::Draft {
                about: vec![(*id).into()],
                body: reason.retraction(),
            });
            drafts.push(self.observation(0, FAILURE_MILLI));
        }
        self.engine.record(drafts, by)?;
        Ok(())
    }

    /// Records that a shown entry held here, or did not. Each entry counts once per day.
    ///
    /// Returns false if the entry was counted today.
    pub fn observe(
        &mut self,
        id: EntryId,
        verdict: Feedback,
        by: &Actor,
    ) -> Result<bool, EngineError> {
        self.shown_entry(id)?;
        let today = self.engine.now().date();
        let history = self.engine.index.history(id)?;
        // Without this limit, trust in a peer could be raised by a loop over one entry.
        let is_known = history.iter().any(|it| {
            it.event.get::<FeedbackGiven>().is_some() && it.event.at.wall.date() == today
        });
        if is_known {
            return Ok(false);
        }
        let draft = decide::Draft {
            about: vec![id.into()],
            body: EventBody::FeedbackGiven(FeedbackGiven {
                verdict,
                weight_milli: decide::FEEDBACK_WEIGHT_MILLI,
            }),
        };
        self.engine.record(vec![draft], by)?;
        let observation = match verdict {
            Feedback::Helpful => self.observation(SUCCESS_MILLI, 0),
            Feedback::Unhelpful => self.observation(0, FAILURE_MILLI),
        };
        self.engine.record(vec![observation], &carrier())?;
        Ok(true)
    }

    /// Returns an approved entry that may be shown now.
    pub fn shown_entry(&self, id: EntryId) -> Result<Entry, EngineError> {
        let entry = self.engine.entry(id)?;
        if self.peer.is_shown(self.engine.now()) && self.is_entry_shown(&entry) {
            Ok(entry)
        } else {
            Err(FederationError::NotShown(id).into())
        }
    }

    /// Returns whether the publication and a person let an entry be shown.
    pub(super) fn is_entry_shown(&self, entry: &Entry) -> bool {
        entry.is_live() && !entry.approvals.is_empty() && self.first_seen(entry).is_some()
    }

    /// Returns the day a wording was first accepted here; `None` if its publisher took it back.
    pub(super) fn first_seen(&self, entry: &Entry) -> Option<Date> {
        let event = entry.created.as_ref()?.event;
        let line = self.peer.replica.line(event)?;
        self.peer.replica.is_shown(event).then_some(line.first_seen)
    }
}
