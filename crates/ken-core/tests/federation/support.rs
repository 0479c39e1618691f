//! A publisher, its folder, and receivers, all in memory.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::federation::{
    BatchRejection, ExportPolicy, ExportedWording, LogPlace, PlannedBatch, PublicationBatch,
    PublicationInput, PublicationManifest, PublicationReplica, PublicationSecret, PublisherId,
    SignedManifest, plan_batches,
};
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::content::Content;
use ken_core::values::id::EventId;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Tag;
use ken_core::values::time::Timestamp;

/// Signs as the holder of `key`.
pub(crate) fn sign(key: u8, bytes: &[u8]) -> String {
    blake3::keyed_hash(&[key; 32], bytes).to_hex().to_string()
}

pub(crate) fn tag(text: &str) -> Tag {
    text.parse().unwrap()
}

pub(crate) fn policy() -> ExportPolicy {
    ExportPolicy {
        topics: vec![tag("shared")],
        kinds: ExportPolicy::KINDS.to_vec(),
        confidence_min: ExportPolicy::CONFIDENCE_MIN,
        exclude_threads: Vec::new(),
        never: Vec::new(),
        license: "CC-BY-4.0".parse().unwrap(),
        relay: true,
        expires_days: 14,
    }
}

pub(crate) fn content(statement: &str) -> Content {
    let mut content = Content::new(statement.parse().unwrap());
    content.tags.insert(tag("shared/topic"));
    content
}

pub(crate) fn start() -> Timestamp {
    "2026-11-01T12:00:00Z".parse().unwrap()
}

/// A static folder as any carrier may copy it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folder {
    pub(crate) head: Option<SignedManifest>,
    pub(crate) batches: BTreeMap<(u64, u64), PublicationBatch>,
    pub(crate) orders: Vec<SignedManifest>,
}

/// A publisher with its own memory of the last place, which a restore of the folder does not reach.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) key: u8,
    pub(crate) id: PublisherId,
    pub(crate) name: Tag,
    pub(crate) folder: Folder,
    last: Option<LogPlace>,
    /// Everything that was taken back, which a restore of the folder does not reach either.
    orders: Vec<SignedManifest>,
    /// Number of further sources, numbered from the end.
    pub(crate) extra: u32,
    /// Current words by source entry.
    pub(crate) words: BTreeMap<u8, String>,
    /// Sources whose words were redacted, with the lines they produced.
    produced: BTreeMap<EventId, u8>,
    redacted: BTreeSet<EventId>,
    /// Every line this publisher ever signed, by id.
    pub(crate) signed_lines: BTreeMap<EventId, String>,
}

impl Publisher {
    pub(crate) fn new(key: u8) -> Self {
        Self {
            key,
            id: PublisherId::from_fingerprint(&[key; 32]),
            name: tag("partners"),
            folder: Folder::default(),
            last: None,
            orders: Vec::new(),
            extra: 0,
            words: BTreeMap::new(),
            produced: BTreeMap::new(),
            redacted: BTreeSet::new(),
            signed_lines: BTreeMap::new(),
        }
    }

    pub(crate) fn wordings(&self) -> Vec<ExportedWording> {
        let source = |key: u8| format!("L-{key:0>8}").parse().unwrap();
        let words = self.words.iter();
        let words = words.map(|(key, text)| ExportedWording {
            source: source(*key),
            kind: EntryKind::Learning,
            content: content(text),
            day: start().date(),
        });
        let extra = (0..self.extra).map(|number| ExportedWording {
            source: format!("S-{number:0>8}").parse().unwrap(),
            kind: EntryKind::Learning,
            content: content(&format!("Further lesson {number}")),
            day: start().date(),
        });
        words.chain(extra).collect()
    }

    pub(crate) fn log(&self, now: Timestamp) -> PublicationReplica {
        let mut log = PublicationReplica::own(self.id, self.name.clone());
        let check = |bytes: &[u8], signature: &str| sign(self.key, bytes) == signature;
        log.accept_orders(&self.orders, now, &check).unwrap();
        if let Some(head) = &self.folder.head {
            for number in 1..=head.manifest.number {
                let batch = &self.folder.batches[&(head.manifest.epoch, number)];
                log.accept(batch, now, &check).unwrap();
            }
        }
        log
    }

    /// Orders the redaction of everything that came from a source, and forgets its words.
    pub(crate) fn redact(&mut self, source: u8) {
        self.words.remove(&source);
        let lines = self.produced.iter().filter(|(_, it)| **it == source);
        self.redacted.extend(lines.map(|(id, _)| *id));
    }

    pub(crate) fn plan(&self, now: Timestamp) -> Vec<PlannedBatch> {
        self.full_plan(now).batches
    }

    fn full_plan(&self, now: Timestamp) -> ken_core::federation::PublicationPlan {
        let log = self.log(now);
        let head = log.head.as_ref().map(|it| it.place.clone());
        let latest = [&head, &self.last];
        let latest = latest.into_iter().flatten().map(|it| it.epoch).max();
        let new_epoch =
            (head != self.last).then(|| now.millis().max(latest.map_or(0, |epoch| epoch + 1)));
        let secret = PublicationSecret::from_bytes(&[self.key]);
        plan_batches(PublicationInput {
            publisher: self.id,
            publication: &self.name,
            policy: &policy(),
            secret: &secret,
            log: &log,
            wordings: &self.wordings(),
            redact: &self.redacted,
            new_epoch,
            now,
        })
        .unwrap()
    }

    /// Signs and writes what changed.
    pub(crate) fn update(&mut self, now: Timestamp) {
        let old = self.folder.head.as_ref().map(|it| it.manifest.epoch);
        let plan = self.full_plan(now);
        for (source, line) in &plan.lines {
            if let Ok(key) = source.to_string()[2..].parse() {
                self.produced.insert(*line, key);
            }
        }
        for batch in self.folder.batches.values_mut() {
            for line in &mut batch.lines {
                let copy = RecordedEvent::parse(line.as_bytes()).unwrap();
                if self.redacted.contains(&copy.event.id) {
                    copy.redacted().line().clone_into(line);
                }
            }
        }
        for planned in plan.batches {
            for line in &planned.lines {
                let known = self
                    .signed_lines
                    .insert(line.event.id, line.line().to_owned());
                assert!(known.is_none_or(|it| it == line.line()), "one id, one line");
            }
            let batch = self.signed(planned);
            let manifest = &batch.manifest;
            if manifest.has_orders() {
                self.orders.push(batch.signed_manifest());
            }
            self.last = Some(manifest.place());
            self.folder.head = Some(batch.signed_manifest());
            if old.is_some_and(|old| old != manifest.epoch) {
                let current = manifest.epoch;
                self.folder
                    .batches
                    .retain(|(epoch, _), _| *epoch == current);
            }
            self.folder
                .batches
                .insert((manifest.epoch, manifest.number), batch);
        }
        self.folder.orders.clone_from(&self.orders);
    }

    pub(crate) fn signed(&self, planned: PlannedBatch) -> PublicationBatch {
        PublicationBatch {
            signature: sign(self.key, &planned.manifest.bytes()),
            manifest: planned.manifest,
            lines: planned
                .lines
                .iter()
                .map(|it| it.line().to_owned())
                .collect(),
        }
    }

    pub(crate) fn sign_manifest(&self, manifest: &PublicationManifest) -> String {
        sign(self.key, &manifest.bytes())
    }
}

/// A receiver of one publication, with the lines it stores.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    key: u8,
    pub(crate) replica: PublicationReplica,
    pub(crate) stored: BTreeMap<EventId, RecordedEvent>,
    /// What it passes on: the bytes it accepted.
    pub(crate) folder: Folder,
}

impl Receiver {
    pub(crate) fn new(publisher: &Publisher) -> Self {
        Self {
            key: publisher.key,
            replica: PublicationReplica::new(publisher.id, publisher.name.clone()),
            stored: BTreeMap::new(),
            folder: Folder::default(),
        }
    }

    /// Returns the receiver with another quota of lines per day.
    pub(crate) fn with_quota(self, lines_per_day: u32) -> Self {
        Self {
            replica: self.replica.with_quota(lines_per_day),
            ..self
        }
    }

    pub(crate) fn accept(
        &mut self,
        batch: &PublicationBatch,
        now: Timestamp,
    ) -> Result<bool, BatchRejection> {
        let key = self.key;
        let check = move |bytes: &[u8], signature: &str| sign(key, bytes) == signature;
        let Some(effects) = self.replica.accept(batch, now, &check)? else {
            return Ok(false);
        };
        for copy in effects.store {
            self.stored.entry(copy.event.id).or_insert(copy);
        }
        self.redact();
        Ok(true)
    }

    /// Receives from a folder: orders, then batches until one is rejected.
    pub(crate) fn pull(&mut self, from: &Folder, now: Timestamp) -> Option<BatchRejection> {
        let key = self.key;
        let check = move |bytes: &[u8], signature: &str| sign(key, bytes) == signature;
        let _ = self.replica.accept_orders(&from.orders, now, &check);
        self.redact();
        for order in &from.orders {
            let is_signed = check(&order.manifest.bytes(), &order.signature);
            if is_signed && !self.folder.orders.contains(order) {
                self.folder.orders.push(order.clone());
            }
        }
        let head = from.head.as_ref()?;
        let epoch = head.manifest.epoch;
        let known = self.replica.head.as_ref();
        let first = known
            .filter(|it| it.place.epoch == epoch)
            .map_or(1, |it| it.place.number + 1);
        for number in first..=head.manifest.number {
            let batch = from.batches.get(&(epoch, number))?;
            match self.accept(batch, now) {
                Ok(_) => {
                    self.folder.batches.retain(|(kept, _), _| *kept == epoch);
                    self.folder.batches.insert((epoch, number), batch.clone());
                    self.folder.head = Some(batch.signed_manifest());
                }
                Err(why) => return Some(why),
            }
        }
        None
    }

    fn redact(&mut self) {
        for id in self.replica.redacted() {
            if let Some(copy) = self.stored.get_mut(id) {
                *copy = copy.redacted();
            }
        }
        for batch in self.folder.batches.values_mut() {
            for line in &mut batch.lines {
                let copy = RecordedEvent::parse(line.as_bytes()).unwrap();
                if self.replica.redacted().contains(&copy.event.id) {
                    copy.redacted().line().clone_into(line);
                }
            }
        }
    }

    /// Returns the words that may be shown, by line.
    pub(crate) fn shown(&self) -> BTreeMap<EventId, String> {
        let lines = self.stored.iter();
        let shown = lines.filter(|(id, it)| self.replica.is_shown(**id) && !it.is_redacted());
        shown.map(|(id, it)| (*id, it.line().to_owned())).collect()
    }
}
