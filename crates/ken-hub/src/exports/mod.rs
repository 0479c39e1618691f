//! Exports of the audit log: each record is delivered at least once, in the order of its chain.
//!
//! The position is noted after a delivery, so a process that ends in between delivers the records
//! again; their ids stay the same. A webhook that keeps failing is tried with growing pauses; then
//! the record becomes a dead letter and the next one is tried. Files and syslog are tried forever:
//! an archive must have no gap.

pub mod format;
mod targets;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::format::{ExportMessage, selects};
use crate::blocking::run_blocking;
use crate::config::{AuditSigningKey, ExportSelection, ExportSettings, ExportTarget};
use crate::database::audit_chain::ChainedRecord;
use crate::database::{DatabaseError, HubDatabase, OrganizationTx};
use crate::ids::OrganizationId;
use crate::metrics::HubMetrics;

/// Interval at which an export looks for new records.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Time for which a process may deliver before another one may.
const LEASE: Duration = Duration::from_secs(60);

/// Records per delivery to a file or to syslog.
const BATCH_ROWS: u32 = 200;

/// Dead letters per round that are tried again.
const REQUEUED_MAX: u32 = 20;

/// Failed attempts after which a webhook's record becomes a dead letter.
const ATTEMPTS_MAX: u32 = 8;

/// Pause after the first failed attempt; it doubles with each one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// Chain of checkpoints in the positions of an export.
const CHECKPOINTS: Uuid = Uuid::nil();

/// Delivers one export.
#[derive(Debug)]
pub struct AuditExporter {
    database: HubDatabase,
    settings: ExportSettings,
    /// Identifies this process in leases.
    process: Uuid,
}

/// What a round delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportRound {
    pub delivered: u64,
    pub failed: u64,
    pub dead_letters: u64,
}

/// Outcome of delivering messages.
struct DeliveryOutcome {
    delivered: usize,
    error: Option<String>,
}

impl AuditExporter {
    /// Returns an exporter that has delivered nothing.
    #[must_use]
    pub fn new(database: HubDatabase, settings: ExportSettings) -> Self {
        let process = database.clock().new_uuid();
        Self {
            database,
            settings,
            process,
        }
    }

    /// Delivers until `ending` is canceled.
    pub async fn run(self, metrics: Arc<HubMetrics>, ending: CancellationToken) {
        let mut ticks = interval(POLL_INTERVAL);
        // After a long round, the default would make up for the missed ticks without any pause.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // This may end a round between a delivery and its note. The record is then delivered
            // again with the same id, which receivers have to expect in any case.
            let round = tokio::select! {
                () = ending.cancelled() => return,
                round = self.deliver_round() => round,
            };
            match round {
                Ok(it) => metrics.add_exported(it.delivered, it.failed, it.dead_letters),
                Err(error) => tracing::warn!(%error, "the audit log is exported later"),
            }
        }
    }

    /// Delivers what is new, until an attempt fails or nothing is left.
    pub async fn deliver_round(&self) -> Result<ExportRound, DatabaseError> {
        let mut round = ExportRound::default();
        let named = self
            .database
            .organization_named(&self.settings.organization);
        let Some(organization) = named.await? else {
            return Ok(round);
        };
        let mut tx = self.database.begin_organization(organization).await?;
        let name = self.name();
        let Some(claimed) = tx.claim_export(name, self.process, LEASE).await? else {
            tx.commit().await?;
            return Ok(round);
        };
        let ends = tx.audit_ends().await?;
        // A selection is for people who want to be told, and starts with what happens next.
        if claimed.is_new && !self.settings.select.is_empty() {
            for end in &ends {
                tx.set_audit_position(name, end.chain, end.number).await?;
            }
        }
        let positions = tx.audit_positions(name).await?;
        // Committed before anything is sent: no row stays locked while a receiver is slow.
        tx.commit().await?;
        self.deliver_requeued(organization, &mut round).await?;
        let mut attempts = claimed.attempts;
        for end in ends {
            let mut last = positions.get(&end.chain).copied().unwrap_or_default();
            // The ends were read once, above, so a chain that keeps growing cannot starve the
            // others.
            while last < end.number {
                let delivery = self.deliver_next(organization, end.chain, last, &mut attempts);
                let Some(position) = delivery.await?.count(&mut round) else {
                    return Ok(round);
                };
                last = position;
            }
        }
        // Checkpoints verify complete chains, so an export of some records has no use for them.
        if self.settings.select.is_empty() {
            let last = positions.get(&CHECKPOINTS).copied().unwrap_or_default();
            self.deliver_checkpoints(organization, last, &mut round)
                .await?;
        }
        Ok(round)
    }

    /// Delivers the next records of a chain after `last`, and notes the new position.
    async fn deliver_next(
        &self,
        organization: OrganizationId,
        chain: Uuid,
        last: u64,
        attempts: &mut u32,
    ) -> Result<ChainDelivery, DatabaseError> {
        let mut tx = self.database.begin_organization(organization).await?;
        // Another process may have the export by now, if this one was stopped for long.
        if tx
            .claim_export(self.name(), self.process, LEASE)
            .await?
            .is_none()
        {
            tx.commit().await?;
            return Ok(ChainDelivery::stopped());
        }
        // One record per request, so that a failure concerns one record and not its neighbors.
        let limit = if self.is_webhook() { 1 } else { BATCH_ROWS };
        let records = tx.chained_records(chain, last, limit).await?;
        tx.commit().await?;
        let Some(end) = records.last().map(|it| it.number) else {
            return Ok(ChainDelivery::stopped());
        };
        let select = &self.settings.select;
        let messages = records.iter().filter(|it| record_is_selected(select, it));
        let messages: Vec<ExportMessage> = messages
            .filter_map(|it| ExportMessage::of_record(organization, it))
            .collect();
        let outcome = self.send(messages).await;
        let mut tx = self.database.begin_organization(organization).await?;
        let mut delivery = ChainDelivery {
            delivered: outcome.delivered as u64,
            ..ChainDelivery::stopped()
        };
        match outcome.error {
            None => {
                if *attempts > 0 {
                    let now = tx.now();
                    tx.note_export_attempts(self.name(), 0, now, None).await?;
                    *attempts = 0;
                }
                tx.set_audit_position(self.name(), chain, end).await?;
                delivery.position = Some(end);
            }
            Some(error) => {
                // No new position, which ends the round: later records must not overtake this one.
                delivery.failed = 1;
                let place = (chain, end);
                delivery.is_dead = self.note_failure(&mut tx, place, attempts, &error).await?;
            }
        }
        tx.commit().await?;
        Ok(delivery)
    }

    /// Notes a failed attempt. Returns whether the record became a dead letter.
    async fn note_failure(
        &self,
        tx: &mut OrganizationTx,
        (chain, number): (Uuid, u64),
        attempts: &mut u32,
        error: &str,
    ) -> Result<bool, DatabaseError> {
        *attempts += 1;
        let is_dead = self.is_webhook() && *attempts >= ATTEMPTS_MAX;
        // In one transaction: the record is either the next one or a dead letter, never neither.
        if is_dead {
            tx.add_dead_letter(self.name(), (chain, number), error)
                .await?;
            tx.set_audit_position(self.name(), chain, number).await?;
        }
        let failed = *attempts;
        if is_dead {
            *attempts = 0;
        }
        // The shift is bounded, because files and syslog are tried any number of times.
        let pause = FIRST_PAUSE
            .saturating_mul(1 << (failed - 1).min(16))
            .min(PAUSE_MAX);
        let next = tx.now().plus_millis(pause.as_millis() as u64);
        let noted = tx.note_export_attempts(self.name(), *attempts, next, Some(error));
        noted.await?;
        Ok(is_dead)
    }

    /// Tries dead letters again that the operator asked for.
    async fn deliver_requeued(
        &self,
        organization: OrganizationId,
        round: &mut ExportRound,
    ) -> Result<(), DatabaseError> {
        let mut tx = self.database.begin_organization(organization).await?;
        let letters = tx.dead_letters(self.name(), true, REQUEUED_MAX).await?;
        tx.commit().await?;
        for letter in letters {
            let place = (letter.chain, letter.number);
            let mut tx = self.database.begin_organization(organization).await?;
            let record = tx
                .chained_records(letter.chain, letter.number - 1, 1)
                .await?;
            tx.commit().await?;
            // After a gap, the query returns a later record, which must not be sent for this
            // letter. Without a message the letter is deleted: a verification reports the gap.
            let messages = record.iter().filter(|it| it.number == letter.number);
            let messages = messages.filter_map(|it| ExportMessage::of_record(organization, it));
            let outcome = self.send(messages.collect()).await;
            let mut tx = self.database.begin_organization(organization).await?;
            match outcome.error {
                None => {
                    tx.delete_dead_letter(self.name(), place).await?;
                    round.delivered += 1;
                }
                Some(error) => {
                    // One more attempt was asked for. This ends the request, and the letter waits
                    // again.
                    tx.add_dead_letter(self.name(), place, &error).await?;
                    round.failed += 1;
                }
            }
            tx.commit().await?;
        }
        Ok(())
    }

    async fn deliver_checkpoints(
        &self,
        organization: OrganizationId,
        last: u64,
        round: &mut ExportRound,
    ) -> Result<(), DatabaseError> {
        let mut tx = self.database.begin_organization(organization).await?;
        let checkpoints = tx.audit_checkpoints(last).await?;
        let at = tx.now().to_string();
        tx.commit().await?;
        if checkpoints.is_empty() {
            return Ok(());
        }
        let numbered = (last + 1..).zip(&checkpoints);
        let message =
            |(number, it)| ExportMessage::of_checkpoint(organization, number, at.clone(), it);
        let outcome = self.send(numbered.map(message).collect()).await;
        let mut tx = self.database.begin_organization(organization).await?;
        // A failure makes no dead letter, not even for a webhook: a receiver that lacks a
        // checkpoint could not prove that a chain was rewritten. So it is tried in every round.
        let end = last + outcome.delivered as u64;
        tx.set_audit_position(self.name(), CHECKPOINTS, end).await?;
        tx.commit().await?;
        round.delivered += outcome.delivered as u64;
        round.failed += u64::from(outcome.error.is_some());
        Ok(())
    }

    async fn send(&self, messages: Vec<ExportMessage>) -> DeliveryOutcome {
        if messages.is_empty() {
            return DeliveryOutcome {
                delivered: 0,
                error: None,
            };
        }
        let (target, format) = (self.settings.target.clone(), self.settings.format);
        let now = self.database.clock().now();
        let sent = run_blocking(move || targets::deliver(&target, format, &messages, now)).await;
        let (delivered, error) = sent.unwrap_or_else(|e| (0, Some(e.to_string())));
        DeliveryOutcome { delivered, error }
    }

    fn name(&self) -> &str {
        self.settings.name.as_str()
    }

    fn is_webhook(&self) -> bool {
        matches!(self.settings.target, ExportTarget::Webhook { .. })
    }
}

/// Outcome of a delivery of one chain.
struct ChainDelivery {
    /// The new position; `None` ends the round.
    position: Option<u64>,
    delivered: u64,
    failed: u64,
    is_dead: bool,
}

impl ChainDelivery {
    fn stopped() -> Self {
        Self {
            position: None,
            delivered: 0,
            failed: 0,
            is_dead: false,
        }
    }

    fn count(self, round: &mut ExportRound) -> Option<u64> {
        round.delivered += self.delivered;
        round.failed += self.failed;
        round.dead_letters += u64::from(self.is_dead);
        self.position
    }
}

fn record_is_selected(select: &[ExportSelection], it: &ChainedRecord) -> bool {
    it.record
        .as_ref()
        .is_some_and(|record| selects(select, record))
}

/// Signs the audit logs of all organizations whose chains grew.
pub async fn sign_checkpoints(
    database: &HubDatabase,
    key: &AuditSigningKey,
) -> Result<u64, DatabaseError> {
    let mut signed = 0;
    for organization in database.audited_organizations().await? {
        let mut tx = database.begin_organization(organization).await?;
        signed += u64::from(tx.sign_audit_checkpoint(key).await?.is_some());
        tx.commit().await?;
    }
    Ok(signed)
}
