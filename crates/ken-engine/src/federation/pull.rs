//! Pull: orders first, then the batches behind the replica, each checked as a whole.
//!
//! A batch is appended to the peer's ledger before its place is remembered. After a crash in
//! between, the same batch is accepted again, and lines that are stored are not stored twice.

use std::collections::BTreeSet;

use ken_core::decide::Draft;
use ken_core::federation::trust::FAILURE_MILLI;
use ken_core::federation::{
    BatchEffects, BatchRejection, PeerPullReport, PublicationBatch, PublisherId, PullVerdict,
    SignatureCheck, SignedManifest,
};
use ken_core::ledger::event::{BlankReason, EventBlanked, EventBody, RecordedEvent};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EventId;
use ken_remote::publication::PublicationReader;
use ken_sign::PublisherKey;

use super::peer::{PeerHome, PeerLedger, PeerState, carrier};
use super::{FederationError, publication};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of batches per pull; the next pull goes on.
const BATCHES_PER_PULL_MAX: usize = 200;

impl PeerHome {
    /// Receives what a peer published since the last pull.
    ///
    /// `own` are the publishers of this clone, which is no peer of itself.
    pub fn pull(
        &self,
        ledger: &mut PeerLedger,
        own: &BTreeSet<PublisherId>,
    ) -> Result<PeerPullReport, EngineError> {
        let mut report = PeerPullReport::default();
        if own.contains(&ledger.peer.replica.publisher) {
            return Err(FederationError::OwnPublication.into());
        }
        let key = ledger.peer.publisher_key()?;
        let check = |bytes: &[u8], signature: &str| key.has_signed(bytes, signature);
        let files = self.open_files(&ledger.peer)?;
        let now = ledger.engine.now();
        if let Some(card) = files.card()?
            && card.publication != ledger.peer.replica.publication
        {
            let wanted = ledger.peer.replica.publication.clone();
            let found = card.publication;
            return Err(FederationError::OtherPublication { found, wanted }.into());
        }
        // Orders come first, in every state of the peer and whatever the backlog is.
        match ledger
            .peer
            .replica
            .accept_orders(&files.orders()?, now, &check)
        {
            Ok(effects) => self.apply(ledger, effects, &mut report)?,
            Err(why) => self.reject(ledger, &why, &mut report)?,
        }
        if let PeerState::Suspended { why } = &ledger.peer.state {
            report.stopped = Some(format!("the peer is suspended: {why}"));
            return Ok(report);
        }
        match files.head()? {
            Some(head) => self.pull_batches(ledger, (&files, &key), head, &mut report)?,
            None => report.stopped = Some("the folder has no head".to_owned()),
        }
        Ok(report)
    }

    /// Receives the batches between the replica and the head of the folder.
    fn pull_batches(
        &self,
        ledger: &mut PeerLedger,
        (files, key): (&PublicationReader, &PublisherKey),
        head: SignedManifest,
        report: &mut PeerPullReport,
    ) -> Result<(), EngineError> {
        let check = |bytes: &[u8], signature: &str| key.has_signed(bytes, signature);
        let now = ledger.engine.now();
        let known = ledger.peer.replica.head.as_ref();
        let known = known.map(|it| (it.place.epoch, it.place.number));
        let place = (head.manifest.epoch, head.manifest.number);
        let compare = PublicationBatch {
            manifest: head.manifest,
            signature: head.signature,
            lines: Vec::new(),
        };
        if known.is_some_and(|(epoch, number)| epoch == place.0 && place.1 <= number) {
            return self.compare_head(ledger, &compare, &check, report);
        }
        let known = known.filter(|(epoch, _)| *epoch == place.0);
        let first = known.map_or(1, |(_, number)| number + 1);
        for number in (first..=place.1).take(BATCHES_PER_PULL_MAX) {
            let Some(batch) = files.batch(place.0, number)? else {
                report.stopped = Some(format!("batch {number} is missing in the folder"));
                break;
            };
            let manifest = &batch.manifest;
            // The card said so, too, but only the manifest is signed.
            if ledger.peer.hops > 1 && !manifest.relay {
                return Err(FederationError::NoRelay.into());
            }
            // The file name is the carrier's: a batch in the wrong file is no strike against the
            // publisher.
            let accepted = if (manifest.epoch, manifest.number) == (place.0, number) {
                ledger.peer.replica.accept(&batch, now, &check)
            } else {
                Err(BatchRejection::Gap)
            };
            match accepted {
                Ok(Some(effects)) => {
                    report.batches += 1;
                    self.apply(ledger, effects, report)?;
                }
                Ok(None) => {}
                Err(why) => self.reject(ledger, &why, report)?,
            }
            if report.stopped.is_some() {
                return Ok(());
            }
        }
        let known = ledger.peer.replica.head.as_ref();
        if known.is_some_and(|it| (it.place.epoch, it.place.number) == place) {
            return self.compare_head(ledger, &compare, &check, report);
        }
        Ok(())
    }

    /// Compares a head with what was accepted: an older or another one may be a fork.
    fn compare_head(
        &self,
        ledger: &mut PeerLedger,
        head: &PublicationBatch,
        check: SignatureCheck<'_>,
        report: &mut PeerPullReport,
    ) -> Result<(), EngineError> {
        let now = ledger.engine.now();
        match ledger.peer.replica.accept(head, now, check) {
            Ok(_) => Ok(()),
            Err(why) => self.reject(ledger, &why, report),
        }
    }

    /// Stores the effects of a batch, then the replica.
    fn apply(
        &self,
        ledger: &mut PeerLedger,
        effects: BatchEffects,
        report: &mut PeerPullReport,
    ) -> Result<(), EngineError> {
        let total = effects.store.len() + effects.refused.len();
        let mut refused: Vec<(EventId, String)> = Vec::new();
        for (id, why) in effects.refused {
            refused.push((id, why.to_string()));
        }
        let mut lines = Vec::with_capacity(effects.store.len());
        for copy in effects.store {
            match publication::is_taken(&ledger.engine, &copy) {
                Ok(()) => lines.push(copy),
                Err(why) => refused.push((copy.event.id, why)),
            }
        }
        report.new += store_lines(&mut ledger.engine, lines)?;
        report.withdrawn += effects.withdraw.len();
        report.redacted += redact_lines(&mut ledger.engine, &effects.redact)?;
        if let Some((_, why)) = refused.first() {
            let today = ledger.engine.now().date();
            let found = (why.as_str(), refused.len(), total);
            let verdict = ledger.peer.strikes.judge_refused(found, today);
            ledger.follow(verdict, report)?;
        }
        report.refused.extend(refused);
        self.save(&ledger.peer)
    }

    /// Notes a rejected batch.
    fn reject(
        &self,
        ledger: &mut PeerLedger,
        why: &BatchRejection,
        report: &mut PeerPullReport,
    ) -> Result<(), EngineError> {
        let today = ledger.engine.now().date();
        let verdict = ledger.peer.strikes.judge_rejection(why, today);
        ledger.follow(verdict, report)?;
        // A fork may carry orders, which the replica has applied.
        let redacted = ledger.peer.replica.redacted().clone();
        report.redacted += redact_lines(&mut ledger.engine, &redacted)?;
        self.save(&ledger.peer)
    }
}

impl PeerLedger {
    /// Applies what follows from a finding.
    fn follow(
        &mut self,
        verdict: PullVerdict,
        report: &mut PeerPullReport,
    ) -> Result<(), EngineError> {
        if verdict.failure.is_some() {
            let draft = self.observation(0, FAILURE_MILLI);
            self.engine.record(vec![draft], &carrier())?;
        }
        if let Some(why) = verdict.suspended {
            self.peer.state = PeerState::Suspended { why };
        }
        if verdict.stopped.is_some() {
            report.stopped = verdict.stopped;
        }
        Ok(())
    }
}

/// Appends lines that are not stored yet.
fn store_lines(engine: &mut Engine, lines: Vec<RecordedEvent>) -> Result<usize, EngineError> {
    let mut new = Vec::with_capacity(lines.len());
    for copy in lines {
        if engine.index.event(copy.event.id)?.is_none() {
            new.push(copy);
        }
    }
    engine.append(&new)?;
    Ok(new.len())
}

/// Removes the data of stored lines from the peer's ledger, index and files.
fn redact_lines(engine: &mut Engine, ids: &BTreeSet<EventId>) -> Result<usize, EngineError> {
    let mut targets = Vec::new();
    for id in ids {
        // A line that never arrived, or came without its data, needs nothing.
        if let Some(copy) = engine.index.event(*id)?
            && !copy.is_redacted()
        {
            targets.push(copy);
        }
    }
    if targets.is_empty() {
        return Ok(0);
    }
    let drafts = targets.iter().map(|it| Draft {
        about: it.event.about.clone(),
        // The publisher's order says nothing about the reason.
        body: EventBody::EventBlanked(EventBlanked {
            event: it.event.id,
            reason: BlankReason::Other,
        }),
    });
    // Recorded before the data is removed: after a crash in between, the order is still known.
    engine.record(drafts.collect(), &carrier())?;
    let ids: BTreeSet<EventId> = targets.iter().map(|it| it.event.id).collect();
    let now = engine.now();
    engine.ledger.blank(&ids, now, &mut *engine.runtime)?;
    engine.refresh()?;
    Ok(ids.len())
}
