//! The publisher's side: from the wordings that may leave to batches ready to sign.
//!
//! A line is a function of its words: id, clock, salt and bytes follow from the publication's
//! secret and the wording. Publishing twice gives the same bytes, also after a backup was restored,
//! so approvals and orders at receivers keep meaning the same line.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::{Refusal, propose};
use crate::ledger::canonical;
use crate::ledger::event::{Admission, AdmissionVerdict, Event, RecordedEvent, RetractReason};
use crate::values::content::Content;
use crate::values::hlc::Hlc;
use crate::values::id::{EntryId, EventId, NodeId, Salt};
use crate::values::kind::EntryKind;
use crate::values::text::Tag;
use crate::values::time::{DAY_MS, Date, Timestamp};

use super::export::{ExportPolicy, published_proposal};
use super::manifest::{LogPlace, MANIFEST_SCHEMA, ManifestRow, PublicationManifest, PublisherId};
use super::replica::PublicationReplica;
use super::{BATCH_ROWS_MAX, EXPIRY_DAYS_MAX};

/// Bytes of lines per batch, below what a receiver reads.
const BATCH_LINE_BYTES: usize = 1024 * 1024;

/// Rule set named in the admission of a published line.
const PUBLISHED_RULES: &str = "ken-publication/1";

/// Secret of a publication, from which ids and salts follow.
///
/// Without it, the digest of a redacted line could be compared with guesses.
#[derive(Clone)]
pub struct PublicationSecret([u8; 32]);

impl std::fmt::Debug for PublicationSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicationSecret(…)")
    }
}

/// One wording that may leave.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedWording {
    pub source: EntryId,
    pub kind: EntryKind,
    /// Content after the policy removed what stays.
    pub content: Content,
    /// The day of the wording.
    pub day: Date,
}

/// A batch without its signature.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBatch {
    pub manifest: PublicationManifest,
    pub lines: Vec<RecordedEvent>,
}

/// What a plan rests on.
#[derive(Clone, Copy, Debug)]
pub struct PublicationInput<'a> {
    pub publisher: PublisherId,
    pub publication: &'a Tag,
    pub policy: &'a ExportPolicy,
    pub secret: &'a PublicationSecret,
    /// The log so far.
    pub log: &'a PublicationReplica,
    /// Everything that may leave now.
    pub wordings: &'a [ExportedWording],
    /// Lines whose sources were redacted.
    pub redact: &'a BTreeSet<EventId>,
    /// The epoch to begin, if the log does not continue.
    pub new_epoch: Option<u64>,
    pub now: Timestamp,
}

/// Batches to sign, and the line of each wording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublicationPlan {
    pub batches: Vec<PlannedBatch>,
    /// The published line of each wording.
    pub lines: Vec<(EntryId, EventId)>,
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicationUpdate {
    pub batches: usize,
    pub added: usize,
    pub withdrawn: usize,
    pub redacted: usize,
    /// Set if a new epoch began, because the log and the memory of the signer did not agree.
    pub new_epoch: bool,
    pub place: Option<LogPlace>,
}

impl PublicationSecret {
    /// Creates the secret from bytes that only the publisher can compute.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    fn derive(&self, purpose: &str, subject: &[u8]) -> u128 {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        // The purpose keeps id and salt apart: the id is public and must not reveal the salt.
        hasher.update(purpose.as_bytes());
        hasher.update(b"\n");
        hasher.update(subject);
        let mut half = [0; 16];
        half.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        u128::from_be_bytes(half)
    }
}

/// Returns the batches that bring the log up to date; none if nothing changed and the head is
/// fresh.
pub fn plan_batches(input: PublicationInput<'_>) -> Result<PublicationPlan, Refusal> {
    let log = input.log;
    let (mut adds, mut kept, mut lines) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut entries = BTreeMap::new();
    for wording in input.wordings {
        let Some(line) = current_line(&input, wording, &entries)? else {
            continue;
        };
        let id = line.event.id;
        entries.extend(line.event.entries().map(|entry| (entry, id)));
        lines.push((wording.source, id));
        let is_published = log.is_shown(id) && input.new_epoch.is_none();
        if kept.insert(id) && !is_published {
            adds.push(line);
        }
    }
    let orders = orders(&input, &kept);
    let mut groups: Vec<(Vec<ManifestRow>, Vec<RecordedEvent>)> = Vec::new();
    // Orders first and in batches of their own, so that they never wait for lines.
    for rows in orders.chunks(BATCH_ROWS_MAX) {
        groups.push((rows.to_vec(), Vec::new()));
    }
    groups.extend(chunk_lines(adds));
    let is_due = log.head.as_ref().is_none_or(|head| {
        // Renewed after half of its validity, so that one missed update hides nothing.
        let half = head.expires.millis_since(head.at) / 2;
        input.now >= head.at.plus_millis(half)
    });
    if groups.is_empty() && (is_due || input.new_epoch.is_some()) {
        groups.push((Vec::new(), Vec::new()));
    }
    Ok(PublicationPlan {
        batches: chain(&input, groups),
        lines,
    })
}

/// Returns the line of a wording: the first one that was not taken back, and whose entry id no
/// other line of the log or of this plan (`entries`) has.
fn current_line(
    input: &PublicationInput<'_>,
    wording: &ExportedWording,
    entries: &BTreeMap<EntryId, EventId>,
) -> Result<Option<RecordedEvent>, Refusal> {
    let mut generation = 0;
    loop {
        let line = published_line(input, wording, generation)?;
        let id = line.event.id;
        if input.log.redacted().contains(&id) || input.redact.contains(&id) {
            // Words that were redacted once are never published again.
            return Ok(None);
        }
        // Of tens of thousands of lines, two may get one entry id by chance. Receivers refuse the
        // second one.
        let is_other = |it: EventId| it != id;
        let is_taken = line.event.entries().any(|entry| {
            let known = entries.get(&entry).copied();
            known.is_some_and(is_other) || input.log.line_of(entry).is_some_and(is_other)
        });
        if !is_taken && !input.log.withdrawn().contains_key(&id) {
            return Ok(Some(line));
        }
        generation += 1;
    }
}

/// Encodes a wording as a line. `generation` counts the lines of the same words that cannot be
/// used, such as withdrawn ones.
fn published_line(
    input: &PublicationInput<'_>,
    wording: &ExportedWording,
    generation: u32,
) -> Result<RecordedEvent, Refusal> {
    let content = canonical::to_string(&wording.content);
    let subject = format!(
        "{}\n{}\n{}\n{}\n{}\n{content}",
        input.publication,
        wording.source,
        wording.kind.name(),
        wording.day,
        generation
    );
    let derive = |purpose: &str| input.secret.derive(purpose, subject.as_bytes());
    // The day only: a time would show when people work, and the same words must give the same
    // bytes.
    let at = wording.day.start();
    let id = EventId::new(at, derive("line id"));
    let proposal = published_proposal(
        input.publisher,
        input.publication,
        wording.kind,
        wording.content.clone(),
        at,
    );
    let draft = propose(id, proposal)?;
    let mut admission = Admission::clean(PUBLISHED_RULES);
    admission.verdict = AdmissionVerdict::Quarantined;
    Ok(RecordedEvent::new(Event {
        id,
        at: Hlc {
            wall: at,
            counter: 0,
            node: NodeId::new(derive("line clock")),
        },
        by: input.publisher.actor(),
        about: draft.about,
        salt: Some(Salt::new(derive("line salt"))),
        admission: Some(admission),
        body: draft.body,
        signature: None,
        unknown_fields: 0,
    }))
}

/// Returns the orders to publish.
fn orders(input: &PublicationInput<'_>, kept: &BTreeSet<EventId>) -> Vec<ManifestRow> {
    let log = input.log;
    let mut rows = Vec::new();
    let is_new_epoch = input.new_epoch.is_some();
    let redact = log.redacted().union(input.redact);
    for target in redact {
        if is_new_epoch || !log.redacted().contains(target) {
            rows.push(ManifestRow::Redact { target: *target });
        }
    }
    for (id, _) in log.lines() {
        let is_gone = log.redacted().contains(&id)
            || input.redact.contains(&id)
            || log.withdrawn().contains_key(&id);
        if !is_gone && !kept.contains(&id) {
            let reason = RetractReason::Withdrawn;
            rows.push(ManifestRow::Withdraw { target: id, reason });
        }
    }
    if is_new_epoch {
        // A receiver that missed the earlier epoch learns of everything that was taken back.
        let earlier = log.withdrawn().iter();
        rows.extend(earlier.map(|(target, reason)| ManifestRow::Withdraw {
            target: *target,
            reason: *reason,
        }));
    }
    rows
}

/// Splits lines into batches by number and bytes.
fn chunk_lines(lines: Vec<RecordedEvent>) -> Vec<(Vec<ManifestRow>, Vec<RecordedEvent>)> {
    let mut groups: Vec<(Vec<ManifestRow>, Vec<RecordedEvent>)> = Vec::new();
    let mut bytes = usize::MAX;
    for line in lines {
        let len = line.line().len();
        let is_full = groups
            .last()
            .is_none_or(|(rows, _)| rows.len() >= BATCH_ROWS_MAX);
        if is_full || bytes.saturating_add(len) > BATCH_LINE_BYTES {
            groups.push((Vec::new(), Vec::new()));
            bytes = 0;
        }
        bytes += len;
        let entry = line.event.entries().next();
        if let (Some((rows, lines)), Some(entry)) = (groups.last_mut(), entry) {
            rows.push(ManifestRow::Add {
                id: line.event.id,
                sum: line.sum().to_owned(),
                entry,
            });
            lines.push(line);
        }
    }
    groups
}

/// Numbers and chains the batches.
fn chain(
    input: &PublicationInput<'_>,
    groups: Vec<(Vec<ManifestRow>, Vec<RecordedEvent>)>,
) -> Vec<PlannedBatch> {
    let head = input.log.head.as_ref();
    let continued = head.filter(|_| input.new_epoch.is_none());
    let first = continued.map_or(1, |it| it.place.number + 1);
    let epoch = match (input.new_epoch, continued) {
        (Some(epoch), _) => epoch,
        (None, Some(head)) => head.place.epoch,
        (None, None) => input.now.millis(),
    };
    // Until this batch arrives, receivers keep showing the lines of the epoch before.
    let snapshot = continued.map_or(groups.len() as u64, |it| it.snapshot);
    // A clock that was set back must not produce a batch that receivers reject.
    let at = continued.map_or(input.now, |it| input.now.max(it.at));
    let days = input.policy.expires_days.clamp(1, EXPIRY_DAYS_MAX);
    let expires = at.plus_millis(u64::from(days) * DAY_MS);
    let mut previous = continued.map(|it| it.place.digest.clone());
    let mut batches = Vec::with_capacity(groups.len());
    for (number, (rows, lines)) in (first..).zip(groups) {
        let manifest = PublicationManifest {
            schema: MANIFEST_SCHEMA.to_owned(),
            publisher: input.publisher,
            publication: input.publication.clone(),
            epoch,
            number,
            previous: previous.take(),
            at,
            expires,
            snapshot,
            relay: input.policy.relay,
            license: input.policy.license.clone(),
            rows,
        };
        previous = Some(manifest.digest());
        batches.push(PlannedBatch { manifest, lines });
    }
    batches
}
