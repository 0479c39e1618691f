//! Replica of a publication: what was accepted so far, and the rules of acceptance.
//!
//! Nothing of a batch is used before all of it was checked. Orders are the exception: a redaction
//! or withdrawal that the publisher signed is applied wherever it comes from, also from an older
//! epoch and from either branch of a fork, because taking back one's own words is always safe.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::event::{RecordedEvent, RetractReason};
use crate::values::id::{EntryId, EventId};
use crate::values::text::Tag;
use crate::values::time::{DAY_MS, Date, Timestamp};

use super::accepted_lines::{AcceptedLines, LineRecord};
use super::line::{LineRefusal, check_published_line};
use super::manifest::{
    LogPlace, MANIFEST_SCHEMA, ManifestRow, PublicationBatch, PublicationManifest, PublisherId,
    SignedManifest,
};
use super::{
    BATCH_ROWS_MAX, CLOCK_AHEAD_MAX_MS, EXPIRY_DAYS_MAX, GRACE_DAYS, LINES_PER_DAY_MAX, ORDERS_MAX,
    PUBLISHED_LINES_MAX,
};

/// Verifies a signature over bytes with the key of the publisher.
pub type SignatureCheck<'a> = &'a dyn Fn(&[u8], &str) -> bool;

/// State of one publication at a receiver, or at its publisher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationReplica {
    pub publisher: PublisherId,
    pub publication: Tag,
    pub head: Option<ReplicaHead>,
    /// Lines that were accepted, of every epoch.
    lines: AcceptedLines,
    /// Lines ordered to be redacted, accepted or not.
    redacted: BTreeSet<EventId>,
    /// Lines ordered to be withdrawn, accepted or not.
    withdrawn: BTreeMap<EventId, RetractReason>,
    /// Digests of the epoch's manifests, by number.
    digests: BTreeMap<u64, String>,
    pub fork: Option<PublicationFork>,
    /// Day and number of the lines accepted on it.
    taken: Option<(Date, u32)>,
    /// Maximum number of new lines per day. A rule of this version of Ken, so it is not stored.
    #[serde(default = "default_quota", skip)]
    lines_per_day: u32,
}

/// The newest accepted manifest, without its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaHead {
    pub place: LogPlace,
    pub at: Timestamp,
    pub expires: Timestamp,
    pub snapshot: u64,
    pub relay: bool,
}

/// Proof that a publisher signed two different manifests for one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationFork {
    /// Digest of the manifest that was accepted first.
    pub accepted: String,
    /// The other manifest.
    pub other: SignedManifest,
}

/// How current a publication is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// Nothing was accepted yet.
    Empty,
    Fresh,
    /// The head expired: something may have been taken back meanwhile. Still shown, with a notice.
    Stale,
    /// The head expired long ago. Not shown.
    Lapsed,
}

/// What an accepted batch changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchEffects {
    /// Lines to store; those ordered to be redacted come without their data.
    pub store: Vec<RecordedEvent>,
    /// Stored lines to redact.
    pub redact: BTreeSet<EventId>,
    /// Lines whose entry is withdrawn.
    pub withdraw: BTreeSet<EventId>,
    /// Lines that are refused, with the reason.
    pub refused: Vec<(EventId, LineRefusal)>,
}

/// The reason why a batch is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchRejection {
    #[error("the batch belongs to another publication")]
    OtherPublication,
    #[error("the manifest has a schema that this version of Ken does not know: {0}")]
    Schema(String),
    #[error("a batch has at most {BATCH_ROWS_MAX} rows, not {0}")]
    TooManyRows(usize),
    #[error("the signature is not valid for the key of this peer")]
    Signature,
    #[error("the batch is dated more than 10 minutes ahead of this machine's clock")]
    Future,
    #[error("the batch expires before it begins, or after more than {EXPIRY_DAYS_MAX} days")]
    Expiry,
    #[error("the batch is older than the one before it")]
    Backdated,
    #[error("the batch belongs to an earlier epoch")]
    OldEpoch,
    #[error("batches before this one are missing")]
    Gap,
    #[error("the publisher signed two different batches for one place; this is proof of a fork")]
    Fork,
    #[error("line {0} is missing")]
    MissingLine(EventId),
    #[error("the batch has a line that its manifest does not name")]
    UnnamedLine,
    #[error("line {0} has other words than before")]
    Reworded(EventId),
    #[error("line {0} is not the publisher's: {1}")]
    ForgedLine(EventId, LineRefusal),
    #[error("at most {0} lines per day are accepted; the rest follows tomorrow")]
    DailyQuota(u32),
    #[error("at most {PUBLISHED_LINES_MAX} lines per publication are accepted")]
    TooManyLines,
    #[error("at most {ORDERS_MAX} orders per publication are remembered")]
    TooManyOrders,
}

impl Freshness {
    /// Returns how current a publication is whose head expires at a time; `None` without a head.
    pub fn of_head(expires: Option<Timestamp>, now: Timestamp) -> Self {
        let grace = u64::from(GRACE_DAYS) * DAY_MS;
        match expires {
            None => Self::Empty,
            Some(expires) if now < expires => Self::Fresh,
            Some(expires) if now < expires.plus_millis(grace) => Self::Stale,
            Some(_) => Self::Lapsed,
        }
    }
}

impl BatchRejection {
    /// Returns whether the publisher signed what an honest one never signs.
    pub fn is_strike(&self) -> bool {
        match self {
            // Before the signature was verified, or about lines whose bytes it does not cover: a
            // carrier can cause these.
            Self::OtherPublication
            | Self::Schema(_)
            | Self::TooManyRows(_)
            | Self::Signature
            | Self::MissingLine(_)
            | Self::UnnamedLine
            | Self::ForgedLine(..)
            // An honest publisher can cause these.
            | Self::Gap
            | Self::OldEpoch
            | Self::DailyQuota(_)
            | Self::TooManyLines
            | Self::TooManyOrders => false,
            Self::Future | Self::Expiry | Self::Backdated | Self::Fork | Self::Reworded(_) => true,
        }
    }
}

impl PublicationReplica {
    /// Creates a replica without batches.
    pub fn new(publisher: PublisherId, publication: Tag) -> Self {
        Self {
            publisher,
            publication,
            head: None,
            lines: AcceptedLines::default(),
            redacted: BTreeSet::new(),
            withdrawn: BTreeMap::new(),
            digests: BTreeMap::new(),
            fork: None,
            taken: None,
            lines_per_day: default_quota(),
        }
    }

    /// Creates the replica in which a publisher reads its own log, which has no daily quota.
    pub fn own(publisher: PublisherId, publication: Tag) -> Self {
        Self::new(publisher, publication).with_quota(u32::MAX)
    }

    /// Returns the replica with another maximum of new lines per day.
    #[must_use]
    pub fn with_quota(self, lines_per_day: u32) -> Self {
        Self {
            lines_per_day,
            ..self
        }
    }

    /// Returns the maximum number of new lines per day.
    pub fn quota(&self) -> u32 {
        self.lines_per_day
    }

    /// Accepts a batch and returns its effects; `None` if it is known.
    ///
    /// A rejection changes nothing, except that a fork is remembered and its orders are applied.
    pub fn accept(
        &mut self,
        batch: &PublicationBatch,
        now: Timestamp,
        check: SignatureCheck<'_>,
    ) -> Result<Option<BatchEffects>, BatchRejection> {
        let manifest = &batch.manifest;
        // The signature comes first: a carrier must not be able to stage a fork, which suspends the
        // publisher, with bytes of its own.
        self.check_manifest(manifest, &batch.signature, now, check)?;
        let digest = manifest.digest();
        match self.follows(manifest, &digest) {
            Ok(Succession::Next) => {}
            Ok(Succession::Known) => return Ok(None),
            Err(BatchRejection::Fork) => {
                self.remember_fork(batch);
                return Err(BatchRejection::Fork);
            }
            Err(other) => return Err(other),
        }
        let (lines, refused) = self.check_lines(batch)?;
        let today = now.date();
        let new = lines
            .iter()
            .filter(|it| self.lines.get(it.event.id).is_none());
        let taken = self.check_room(new.count(), today)?;
        self.check_orders(manifest)?;
        // Everything holds: from here on, nothing fails.
        let mut effects = self.apply_orders(manifest);
        effects.refused = refused;
        self.taken = Some((today, taken));
        self.store_lines(manifest, lines, today, &mut effects);
        self.advance(manifest, digest);
        Ok(Some(effects))
    }

    /// Applies the orders of signed manifests of any epoch, and returns what they change.
    ///
    /// Manifests that are not the publisher's are skipped: a carrier may have put them there.
    pub fn accept_orders(
        &mut self,
        manifests: &[SignedManifest],
        now: Timestamp,
        check: SignatureCheck<'_>,
    ) -> Result<BatchEffects, BatchRejection> {
        let mut effects = BatchEffects::default();
        for SignedManifest {
            manifest,
            signature,
        } in manifests
        {
            // Known orders are skipped before their signature is verified: the file has those of
            // all epochs and is read by every pull.
            let is_known = manifest.rows.iter().all(|row| match row {
                ManifestRow::Add { .. } => true,
                ManifestRow::Withdraw { target, .. } => self.withdrawn.contains_key(target),
                ManifestRow::Redact { target } => self.redacted.contains(target),
            });
            if is_known
                || self
                    .check_manifest(manifest, signature, now, check)
                    .is_err()
            {
                continue;
            }
            self.check_orders(manifest)?;
            let applied = self.apply_orders(manifest);
            effects.redact.extend(applied.redact);
            effects.withdraw.extend(applied.withdraw);
        }
        Ok(effects)
    }

    /// Returns whether the entry of a line may be shown, as far as the publication decides.
    pub fn is_shown(&self, id: EventId) -> bool {
        let Some(line) = self.lines.get(id) else {
            return false;
        };
        self.fork.is_none()
            && self.lines.of_entry(line.entry) == Some(id)
            && !self.redacted.contains(&id)
            && !self.withdrawn.contains_key(&id)
            && self.is_in_epoch(line)
    }

    /// Returns how current the publication is.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        Freshness::of_head(self.head.as_ref().map(|it| it.expires), now)
    }

    /// Returns the record of an accepted line.
    pub fn line(&self, id: EventId) -> Option<&LineRecord> {
        self.lines.get(id)
    }

    /// Returns the accepted line of an entry.
    pub fn line_of(&self, entry: EntryId) -> Option<EventId> {
        self.lines.of_entry(entry)
    }

    /// Returns the accepted lines.
    pub fn lines(&self) -> impl Iterator<Item = (EventId, &LineRecord)> {
        self.lines.iter()
    }

    /// Returns the lines that were ordered to be redacted.
    pub fn redacted(&self) -> &BTreeSet<EventId> {
        &self.redacted
    }

    /// Returns the lines that were ordered to be withdrawn.
    pub fn withdrawn(&self) -> &BTreeMap<EventId, RetractReason> {
        &self.withdrawn
    }

    /// Returns the number that follows the head in its epoch.
    pub fn next_number(&self) -> u64 {
        self.head.as_ref().map_or(1, |it| it.place.number + 1)
    }

    /// A line of an earlier epoch counts until the snapshot of the new one is complete.
    fn is_in_epoch(&self, line: &LineRecord) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| line.epoch == head.place.epoch || head.place.number < head.snapshot)
    }

    fn check_manifest(
        &self,
        manifest: &PublicationManifest,
        signature: &str,
        now: Timestamp,
        check: SignatureCheck<'_>,
    ) -> Result<(), BatchRejection> {
        if manifest.schema != MANIFEST_SCHEMA {
            let schema = manifest.schema.chars().take(64).collect();
            return Err(BatchRejection::Schema(schema));
        }
        if manifest.publisher != self.publisher || manifest.publication != self.publication {
            return Err(BatchRejection::OtherPublication);
        }
        // Before the signature, because every row is encoded to verify it.
        if manifest.rows.len() > BATCH_ROWS_MAX {
            return Err(BatchRejection::TooManyRows(manifest.rows.len()));
        }
        if !check(&manifest.bytes(), signature) {
            return Err(BatchRejection::Signature);
        }
        let latest = now.plus_millis(CLOCK_AHEAD_MAX_MS);
        // An epoch far ahead would shut out all honest ones after it, which would count as old.
        if manifest.at > latest || manifest.epoch > latest.millis() {
            return Err(BatchRejection::Future);
        }
        // Without a maximum, the words of a publisher that disappeared would be shown forever.
        let longest = u64::from(EXPIRY_DAYS_MAX) * DAY_MS;
        if manifest.expires < manifest.at || manifest.expires > manifest.at.plus_millis(longest) {
            return Err(BatchRejection::Expiry);
        }
        Ok(())
    }

    /// Returns whether the manifest is the next one or known.
    fn follows(
        &self,
        manifest: &PublicationManifest,
        digest: &str,
    ) -> Result<Succession, BatchRejection> {
        let Some(head) = &self.head else {
            let is_first = manifest.number == 1 && manifest.previous.is_none();
            return if is_first {
                Ok(Succession::Next)
            } else {
                Err(BatchRejection::Gap)
            };
        };
        if manifest.epoch < head.place.epoch {
            return Err(BatchRejection::OldEpoch);
        }
        // No digest links two epochs, because a publisher that lost its folder cannot name the last
        // batch. The signature alone says that the new epoch is its own.
        if manifest.epoch > head.place.epoch {
            if manifest.number != 1 || manifest.previous.is_some() {
                return Err(BatchRejection::Gap);
            }
            return Ok(Succession::Next);
        }
        if let Some(known) = self.digests.get(&manifest.number) {
            return if known == digest {
                Ok(Succession::Known)
            } else {
                Err(BatchRejection::Fork)
            };
        }
        if manifest.number != head.place.number + 1 {
            return Err(BatchRejection::Gap);
        }
        // Next in number and signed, but on top of another batch: there is a second branch.
        if manifest.previous.as_ref() != Some(&head.place.digest) {
            return Err(BatchRejection::Fork);
        }
        if manifest.at < head.at {
            return Err(BatchRejection::Backdated);
        }
        Ok(Succession::Next)
    }

    fn remember_fork(&mut self, batch: &PublicationBatch) {
        let manifest = &batch.manifest;
        let accepted = self.digests.get(&manifest.number).cloned();
        let head = self.head.as_ref().map(|it| it.place.digest.clone());
        self.fork.get_or_insert(PublicationFork {
            accepted: accepted.or(head).unwrap_or_default(),
            other: batch.signed_manifest(),
        });
        // Orders count on either branch: a fork must not keep words that were taken back.
        if self.check_orders(manifest).is_ok() {
            self.apply_orders(manifest);
        }
    }

    /// Returns the acceptable lines in the order of the rows, and the refused ones.
    fn check_lines(&self, batch: &PublicationBatch) -> Result<CheckedLines, BatchRejection> {
        let manifest = &batch.manifest;
        let mut lines = batch.lines.iter();
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        let mut entries: BTreeMap<EntryId, EventId> = BTreeMap::new();
        // Lines come in the order of their rows, so a line without a row is left at the end.
        for row in &manifest.rows {
            let ManifestRow::Add { id, sum, entry } = row else {
                continue;
            };
            let line = lines.next().ok_or(BatchRejection::MissingLine(*id))?;
            let known = self.lines.get(*id);
            // A person approves an id for its words, so no later batch may give it others.
            if known.is_some_and(|it| it.sum != *sum) {
                return Err(BatchRejection::Reworded(*id));
            }
            let named = (*id, sum.as_str(), *entry);
            match check_published_line(self.publisher, &self.publication, named, line) {
                Ok(copy) => {
                    // Also if that line was redacted or withdrawn: the first line keeps the entry.
                    let first = *entries.entry(*entry).or_insert(*id);
                    if self.lines.of_entry(*entry).unwrap_or(first) == *id {
                        accepted.push(copy);
                    } else {
                        refused.push((*id, LineRefusal::EntryTaken(*entry)));
                    }
                }
                // The checksum failed or was not computed: a carrier may have changed these bytes.
                Err(
                    why @ (LineRefusal::TooLong(_)
                    | LineRefusal::Unreadable(_)
                    | LineRefusal::WrongLine),
                ) => {
                    return Err(BatchRejection::ForgedLine(*id, why));
                }
                // The publisher signed these bytes, so the rest of the batch is used. A receiver
                // suspends a peer that sends many such lines.
                Err(why) => refused.push((*id, why)),
            }
        }
        if lines.next().is_some() {
            return Err(BatchRejection::UnnamedLine);
        }
        Ok((accepted, refused))
    }

    /// Returns the number of lines of today with `new` more.
    fn check_room(&self, new: usize, today: Date) -> Result<u32, BatchRejection> {
        if self.lines.len() + new > PUBLISHED_LINES_MAX {
            return Err(BatchRejection::TooManyLines);
        }
        let before = self.taken.filter(|(day, _)| *day == today);
        let before = before.map_or(0, |(_, count)| count);
        let taken = before.saturating_add(u32::try_from(new).unwrap_or(u32::MAX));
        // Orders are exempt: a batch without new lines always passes.
        if new > 0 && taken > self.lines_per_day {
            return Err(BatchRejection::DailyQuota(self.lines_per_day));
        }
        Ok(taken)
    }

    fn check_orders(&self, manifest: &PublicationManifest) -> Result<(), BatchRejection> {
        let new = manifest.rows.iter().filter(|it| it.is_order()).count();
        // Orders are never forgotten, so without a limit they could fill a receiver's disk.
        if self.redacted.len() + self.withdrawn.len() + new > ORDERS_MAX {
            return Err(BatchRejection::TooManyOrders);
        }
        Ok(())
    }

    fn apply_orders(&mut self, manifest: &PublicationManifest) -> BatchEffects {
        let mut effects = BatchEffects::default();
        for row in &manifest.rows {
            match row {
                ManifestRow::Add { .. } => {}
                ManifestRow::Withdraw { target, reason } => {
                    if self.withdrawn.insert(*target, *reason).is_none() {
                        effects.withdraw.insert(*target);
                    }
                }
                ManifestRow::Redact { target } => {
                    if self.redacted.insert(*target) {
                        effects.redact.insert(*target);
                    }
                }
            }
        }
        effects
    }

    fn store_lines(
        &mut self,
        manifest: &PublicationManifest,
        lines: Vec<RecordedEvent>,
        today: Date,
        effects: &mut BatchEffects,
    ) {
        let sums = manifest.rows.iter().filter_map(|row| match row {
            ManifestRow::Add { id, sum, entry } => Some((*id, (sum, *entry))),
            ManifestRow::Withdraw { .. } | ManifestRow::Redact { .. } => None,
        });
        let sums: BTreeMap<EventId, (&String, EntryId)> = sums.collect();
        for copy in lines {
            let id = copy.event.id;
            if self.lines.relist(id, manifest.epoch) {
                continue;
            }
            let Some((sum, entry)) = sums.get(&id) else {
                continue;
            };
            let record = LineRecord {
                sum: (*sum).clone(),
                entry: *entry,
                epoch: manifest.epoch,
                first_seen: today,
            };
            self.lines.insert(id, record);
            // An order may come before its line.
            let is_redacted = self.redacted.contains(&id);
            effects
                .store
                .push(if is_redacted { copy.redacted() } else { copy });
        }
    }

    fn advance(&mut self, manifest: &PublicationManifest, digest: String) {
        let epoch = self.head.as_ref().map(|it| it.place.epoch);
        if epoch != Some(manifest.epoch) {
            self.digests.clear();
            // A new epoch ends a fork of the one before.
            self.fork = None;
        }
        self.digests.insert(manifest.number, digest.clone());
        self.head = Some(ReplicaHead {
            place: LogPlace {
                epoch: manifest.epoch,
                number: manifest.number,
                digest,
            },
            at: manifest.at,
            expires: manifest.expires,
            snapshot: manifest.snapshot,
            relay: manifest.relay,
        });
    }
}

fn default_quota() -> u32 {
    LINES_PER_DAY_MAX
}

/// Accepted lines and refused ones.
type CheckedLines = (Vec<RecordedEvent>, Vec<(EventId, LineRefusal)>);

/// Relation of a manifest to the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Succession {
    Next,
    Known,
}
