//! Pull: orders first, then the batches behind the replica, each checked as a whole.
//!
//! Files are read outside of any transaction. A transaction locks the peer, accepts what was read
//! and writes lines and replica together, so that a crash leaves both or neither. Two processes
//! that pull the same peer wait for each other, and the second one finds the batches known.

use std::sync::Arc;

use ken_core::federation::trust::FAILURE_MILLI;
use ken_core::federation::{
    BatchEffects, BatchRejection, HOPS_MAX, LINES_PER_DAY_MAX, PeerPullReport, PublicationBatch,
    PublicationReplica, SignedManifest, Strikes, WEIGHT_MAX,
};
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::EventId;
use ken_core::values::time::{Date, Timestamp};
use ken_guard::{Guard, ReceiveVerdict};
use ken_remote::publication::{PublicationReadError, PublicationReader, PublicationSource};
use ken_sign::PublisherKey;

use super::{HubFederationError, carrier, parse_name};
use crate::blocking::run_blocking;
use crate::database::HubDatabase;
use crate::database::audit::{AuditAction, AuditActor};
use crate::ids::OrganizationId;
use crate::store::{NewPeerRow, PeerObservation, PeerRow, ReplicaChange, StoreError};

/// Prefix of the environment variables that may hold tokens for peers.
///
/// A row of the database names the variable, so without this rule a row could send the hub's own
/// secrets to an address of its choice.
pub const PEER_TOKEN_PREFIX: &str = "KEN_PEER_";

/// Maximum number of peers of an organization.
const PEERS_MAX: usize = 64;

/// Maximum number of batches per pull; the next pull goes on.
const BATCHES_PER_PULL_MAX: u64 = 200;

/// Maximum number of batches per transaction. They are in memory together.
const BATCHES_PER_STEP_MAX: u64 = 8;

/// Maximum number of refused lines in a report.
const REFUSED_LISTED_MAX: usize = 20;

/// Settings of a pull.
#[derive(Clone, Copy, Debug)]
pub struct PullOptions {
    /// Returns the value of an environment variable.
    pub token: fn(&str) -> Option<String>,
    /// Maximum number of new lines per publication and day.
    pub lines_per_day: u32,
}

impl PullOptions {
    /// Creates the settings with the default quota.
    #[must_use]
    pub fn new(token: fn(&str) -> Option<String>) -> Self {
        Self {
            token,
            lines_per_day: LINES_PER_DAY_MAX,
        }
    }
}

/// Request to add a peer.
#[derive(Clone, Debug)]
pub struct AddPeerRequest {
    pub name: String,
    pub source: PublicationSource,
    /// Fingerprint that a person got from the publisher: `SHA256:…`.
    pub fingerprint: String,
    pub token_variable: Option<String>,
    /// 1 for the publisher's own files, more for a copy that others pass on.
    pub hops: u8,
    /// A person's own limit of the weight.
    pub weight_max: Option<f64>,
}

/// Adds a peer after comparing the key of its files with the given fingerprint. Reads no entries.
pub async fn add_peer(
    database: &HubDatabase,
    organization: OrganizationId,
    request: AddPeerRequest,
    token: fn(&str) -> Option<String>,
    by: AuditActor<'_>,
) -> Result<PeerRow, HubFederationError> {
    parse_name(&request.name)?;
    if request.hops == 0 || request.hops > HOPS_MAX {
        return Err(HubFederationError::Hops(HOPS_MAX));
    }
    let variable = request.token_variable.as_deref();
    let reader = open_reader(&request.source, variable, token)?;
    let (_, card) = read(reader, PublicationReader::card).await?;
    let card = card?.ok_or_else(|| HubFederationError::NothingThere(request.source.to_string()))?;
    let key = PublisherKey::parse(&card.key).ok_or(HubFederationError::Key)?;
    // The person got the fingerprint by another way than the address. Nothing else ties this key to
    // an organization.
    if key.fingerprint() != request.fingerprint.trim() {
        return Err(HubFederationError::OtherKey);
    }
    if key.publisher() != card.publisher {
        return Err(HubFederationError::Key);
    }
    if request.hops > 1 && !card.relay {
        return Err(HubFederationError::NoRelay);
    }
    let mut tx = database.begin_organization(organization).await?;
    if tx.peers().await?.len() >= PEERS_MAX {
        return Err(HubFederationError::TooManyPeers(PEERS_MAX));
    }
    let own = tx.publications().await?;
    if own
        .iter()
        .any(|it| it.publisher == card.publisher.to_string())
    {
        return Err(HubFederationError::OwnPublication);
    }
    let new = NewPeerRow {
        name: request.name,
        key: key.line().to_owned(),
        source: request.source.to_string(),
        token_variable: request.token_variable,
        hops: request.hops,
        weight_max: request.weight_max.map(|it| it.clamp(0.0, WEIGHT_MAX)),
        replica: PublicationReplica::new(key.publisher(), card.publication),
    };
    if tx.insert_peer(&new).await?.is_none() {
        return Err(HubFederationError::Exists(new.name));
    }
    tx.audit(by, AuditAction::PeerAdded, &new.name).await?;
    let row = tx.peer(&new.name).await?;
    tx.commit().await?;
    row.ok_or(HubFederationError::NoPeer(new.name))
}

/// Receives what a peer published since the last pull.
pub async fn pull_peer(
    database: &HubDatabase,
    guard: &Arc<Guard>,
    (organization, name): (OrganizationId, &str),
    options: PullOptions,
) -> Result<PeerPullReport, HubFederationError> {
    let mut tx = database.begin_organization(organization).await?;
    let peer = tx.peer(name).await?;
    let own = tx.publications().await?;
    tx.rollback().await?;
    let peer = peer.ok_or_else(|| HubFederationError::NoPeer(name.to_owned()))?;
    // An organization may have made a key its own after it added the peer.
    if own.iter().any(|it| it.publisher == peer.publisher) {
        return Err(HubFederationError::OwnPublication);
    }
    let pull = HubPull {
        database,
        guard,
        organization,
        key: PublisherKey::parse(&peer.key).ok_or(HubFederationError::Key)?,
        lines_per_day: options.lines_per_day,
        peer: &peer,
    };
    let source = PublicationSource::parse(&peer.source);
    let reader = open_reader(&source, peer.token_variable.as_deref(), options.token)?;
    pull.run(reader).await
}

/// One pull.
struct HubPull<'a> {
    database: &'a HubDatabase,
    guard: &'a Arc<Guard>,
    organization: OrganizationId,
    key: PublisherKey,
    lines_per_day: u32,
    peer: &'a PeerRow,
}

/// What a step accepts.
enum PullStep {
    Orders(Vec<SignedManifest>),
    Batches(Vec<PublicationBatch>),
}

/// The replica after a step, and what the step did.
struct StepOutcome {
    replica: PublicationReplica,
    batches: usize,
    new: Vec<RecordedEvent>,
    redact: Vec<EventId>,
    withdrawn: usize,
    refused: Vec<(EventId, String)>,
    rejection: Option<BatchRejection>,
}

impl HubPull<'_> {
    async fn run(&self, reader: PublicationReader) -> Result<PeerPullReport, HubFederationError> {
        let mut report = PeerPullReport::default();
        let (reader, card) = read(reader, PublicationReader::card).await?;
        if let Some(card) = card?
            && card.publication.as_str() != self.peer.publication
        {
            let wanted = self.peer.publication.parse();
            let wanted = wanted.map_err(StoreError::damaged)?;
            let found = card.publication;
            return Err(HubFederationError::OtherPublication { found, wanted });
        }
        // Orders come first, in every state of the peer and whatever the backlog is.
        let (reader, orders) = read(reader, PublicationReader::orders).await?;
        let replica = self.step(PullStep::Orders(orders?), &mut report).await?;
        if report.stopped.is_some() {
            return Ok(report);
        }
        let (reader, head) = read(reader, PublicationReader::head).await?;
        let Some(head) = head? else {
            report.stopped = Some("the publication has no head yet".to_owned());
            return Ok(report);
        };
        let known = replica.head.as_ref();
        let known = known.map(|it| (it.place.epoch, it.place.number));
        let (epoch, last) = (head.manifest.epoch, head.manifest.number);
        let is_known = known.is_some_and(|(of, number)| of == epoch && last <= number);
        let known = known.filter(|(of, _)| *of == epoch);
        let first = known.map_or(1, |(_, number)| number + 1);
        let end = last.min(first.saturating_add(BATCHES_PER_PULL_MAX - 1));
        if !is_known {
            self.pull_batches(reader, epoch, (first, end), &mut report)
                .await?;
        }
        if is_known || (end == last && report.stopped.is_none()) {
            // Compared with what was accepted: an older or another head may be a fork.
            let batch = PublicationBatch {
                manifest: head.manifest,
                signature: head.signature,
                lines: Vec::new(),
            };
            self.step(PullStep::Batches(vec![batch]), &mut report)
                .await?;
        }
        Ok(report)
    }

    async fn pull_batches(
        &self,
        mut reader: PublicationReader,
        epoch: u64,
        (first, last): (u64, u64),
        report: &mut PeerPullReport,
    ) -> Result<(), HubFederationError> {
        let mut next = first;
        while next <= last && report.stopped.is_none() {
            let end = last.min(next + BATCHES_PER_STEP_MAX - 1);
            let (back, batches) = read(reader, move |reader| {
                (next..=end)
                    .map(|number| reader.batch(epoch, number))
                    .collect::<Result<Vec<_>, PublicationReadError>>()
            })
            .await?;
            reader = back;
            let mut step = Vec::new();
            let mut missing = None;
            for (number, batch) in (next..).zip(batches?) {
                match batch {
                    // The file name is the carrier's: a batch in the wrong file is no strike
                    // against the publisher.
                    Some(it) if (it.manifest.epoch, it.manifest.number) == (epoch, number) => {
                        // The card said so, too, but only the manifest is signed.
                        if self.peer.hops > 1 && !it.manifest.relay {
                            return Err(HubFederationError::NoRelay);
                        }
                        step.push(it);
                    }
                    Some(_) | None => {
                        missing = Some(format!("batch {number} is missing"));
                        break;
                    }
                }
            }
            if !step.is_empty() {
                self.step(PullStep::Batches(step), report).await?;
            }
            if report.stopped.is_none() {
                report.stopped = missing;
            }
            next = end + 1;
        }
        Ok(())
    }

    /// Accepts orders or batches and stores their effects in one transaction. Returns the replica.
    async fn step(
        &self,
        step: PullStep,
        report: &mut PeerPullReport,
    ) -> Result<PublicationReplica, HubFederationError> {
        // No file is read from here on: a slow server must not hold a lock or a connection.
        let mut tx = self.database.begin_organization(self.organization).await?;
        let locked = tx.lock_replica(self.peer.id).await?;
        let removed = || HubFederationError::NoPeer(self.peer.name.clone());
        let (replica, mut suspended, mut strikes) = locked.ok_or_else(removed)?;
        let is_suspended = suspended.is_some();
        let step = match step {
            // Only orders count while a peer is suspended.
            PullStep::Batches(_) if is_suspended => PullStep::Orders(Vec::new()),
            PullStep::Batches(_) | PullStep::Orders(_) => step,
        };
        let (key, guard) = (self.key.clone(), Arc::clone(self.guard));
        let (quota, now) = (self.lines_per_day, tx.now());
        // Hundreds of signatures and lines would block the other requests of this thread.
        let accepted =
            run_blocking(move || accept_step(&replica, step, (&key, &guard), (quota, now)));
        let outcome = accepted.await??;
        let judged = outcome.judge((&mut strikes, &mut suspended), now.date(), report);
        let failure = |why| PeerObservation {
            alpha_milli: 0,
            beta_milli: FAILURE_MILLI,
            by: carrier(),
            why,
        };
        let observations: Vec<PeerObservation> = judged.into_iter().map(failure).collect();
        if report.stopped.is_none()
            && let Some(why) = &suspended
        {
            report.stopped = Some(format!("the peer is suspended: {why}"));
        }
        let change = ReplicaChange {
            replica: outcome.replica,
            new: outcome.new,
            redact: outcome.redact,
            suspended,
            strikes,
            stopped: report.stopped.clone(),
        };
        let (new, redacted) = tx.write_replica(self.peer.id, &change).await?;
        if !observations.is_empty() {
            tx.observe_peer(self.peer.id, &observations).await?;
        }
        if change.suspended.is_some() && !is_suspended {
            tx.audit(AuditActor::Hub, AuditAction::PeerSuspended, &self.peer.name)
                .await?;
        }
        tx.commit().await?;
        report.batches += outcome.batches;
        report.new += new;
        report.redacted += redacted;
        report.withdrawn += outcome.withdrawn;
        let room = REFUSED_LISTED_MAX.saturating_sub(report.refused.len());
        report
            .refused
            .extend(outcome.refused.into_iter().take(room));
        Ok(change.replica)
    }
}

/// Applies a step to a replica: verifies signatures and lines, and asks the guard.
fn accept_step(
    replica: &str,
    step: PullStep,
    (key, guard): (&PublisherKey, &Guard),
    (quota, now): (u32, Timestamp),
) -> Result<StepOutcome, StoreError> {
    let replica: PublicationReplica = serde_json::from_str(replica).map_err(StoreError::damaged)?;
    let mut outcome = StepOutcome {
        replica: replica.with_quota(quota),
        batches: 0,
        new: Vec::new(),
        redact: Vec::new(),
        withdrawn: 0,
        refused: Vec::new(),
        rejection: None,
    };
    let check = |bytes: &[u8], signature: &str| key.has_signed(bytes, signature);
    match step {
        PullStep::Orders(orders) => match outcome.replica.accept_orders(&orders, now, &check) {
            Ok(effects) => outcome.add(effects, guard),
            Err(why) => outcome.reject(why),
        },
        PullStep::Batches(batches) => {
            for batch in batches {
                match outcome.replica.accept(&batch, now, &check) {
                    Ok(Some(effects)) => {
                        outcome.batches += 1;
                        outcome.add(effects, guard);
                    }
                    Ok(None) => {}
                    Err(why) => {
                        outcome.reject(why);
                        break;
                    }
                }
            }
        }
    }
    Ok(outcome)
}

impl StepOutcome {
    fn add(&mut self, effects: BatchEffects, guard: &Guard) {
        let refused = effects.refused.into_iter();
        self.refused
            .extend(refused.map(|(id, why)| (id, why.to_string())));
        for copy in effects.store {
            match guard.receive(&copy) {
                // Every line arrives quarantined, so one that the guard would quarantine is fine.
                ReceiveVerdict::Taken | ReceiveVerdict::Held(_) => self.new.push(copy),
                ReceiveVerdict::Turned(why) => self.refused.push((copy.event.id, why.to_string())),
            }
        }
        self.redact.extend(effects.redact);
        self.withdrawn += effects.withdraw.len();
    }

    /// Notes strikes, and suspends the peer where the rules say so. Returns the failures that count
    /// against its trust.
    fn judge(
        &self,
        (strikes, suspended): (&mut Strikes, &mut Option<String>),
        today: Date,
        report: &mut PeerPullReport,
    ) -> Vec<String> {
        let total = self.new.len() + self.refused.len();
        let refused = self.refused.first().map(|(_, why)| {
            let found = (why.as_str(), self.refused.len(), total);
            strikes.judge_refused(found, today)
        });
        let rejection = self.rejection.as_ref();
        let rejected = rejection.map(|it| strikes.judge_rejection(it, today));
        let mut failures = Vec::new();
        for verdict in refused.into_iter().chain(rejected) {
            failures.extend(verdict.failure);
            *suspended = suspended.take().or(verdict.suspended);
            if verdict.stopped.is_some() {
                report.stopped = verdict.stopped;
            }
        }
        failures
    }

    fn reject(&mut self, why: BatchRejection) {
        // A fork may carry orders, which the replica has applied.
        self.redact.extend(self.replica.redacted());
        self.rejection = Some(why);
    }
}

/// Opens the files of a peer, with the token in an environment variable.
fn open_reader(
    source: &PublicationSource,
    variable: Option<&str>,
    token: fn(&str) -> Option<String>,
) -> Result<PublicationReader, HubFederationError> {
    if variable.is_some_and(|name| !name.starts_with(PEER_TOKEN_PREFIX)) {
        return Err(HubFederationError::TokenVariable);
    }
    let token = variable.and_then(token);
    Ok(PublicationReader::open(source, token.as_deref())?)
}

/// Reads files on the blocking thread pool and returns the reader.
async fn read<T: Send + 'static>(
    reader: PublicationReader,
    work: impl FnOnce(&PublicationReader) -> Result<T, PublicationReadError> + Send + 'static,
) -> Result<(PublicationReader, Result<T, PublicationReadError>), HubFederationError> {
    let done = run_blocking(move || {
        let read = work(&reader);
        (reader, read)
    });
    Ok(done.await?)
}
