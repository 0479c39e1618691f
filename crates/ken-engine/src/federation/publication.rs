//! Publications of this clone: policy, approvals for export, and the signed log in a folder.
//!
//! Nothing leaves without two acts of a person: creating the publication with its policy, and
//! approving each wording for it. The folder is the log. The state file of the clone only remembers
//! the last place signed, and which entry a published line came from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ken_core::decide::Draft;
use ken_core::federation::export::wording_sources;
use ken_core::federation::{
    BlockedExport, EXPIRY_DAYS_MAX, ExportArtifact, ExportBarrier, ExportPolicy, ExportedWording,
    LogPlace, ManifestRow, PlannedBatch, PublicationBatch, PublicationInput, PublicationReplica,
    PublicationUpdate, SignedManifest, export_barrier, plan_batches,
};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{ApprovalGranted, Event, EventBody, Origin, RecordedEvent};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::facts::EntryFacts;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::Tag;
use ken_guard::ReceiveVerdict;
use ken_remote::publication::PublicationCard;
use ken_sign::PublisherKey;
use serde::{Deserialize, Serialize};

use super::folder::PublicationFolder;
use super::key;
use super::peer::check_name;
use super::{FederationError, peer};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::{sync, validity};

/// File with the publications of a clone.
const PUBLICATIONS_FILE: &str = "publications.json";

/// Maximum number of publications of a clone.
const PUBLICATIONS_MAX: usize = 10;

/// Request for a new publication.
#[derive(Clone, Debug)]
pub struct NewPublication {
    pub name: String,
    pub folder: PathBuf,
    /// Private key, or a public one whose private key an agent has.
    pub key: PathBuf,
    pub policy: ExportPolicy,
}

/// One publication of this clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    pub name: Tag,
    pub folder: PathBuf,
    pub key: PathBuf,
    pub policy: ExportPolicy,
    /// The last place signed here. A folder that is behind it was restored from a backup.
    pub last: Option<LogPlace>,
    /// Everything that was ever taken back. A restored folder may have lost some of it.
    #[serde(default)]
    orders: Vec<SignedManifest>,
    /// The events each published line came from.
    #[serde(default)]
    sources: BTreeMap<EventId, BTreeSet<EventId>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicationsFile {
    publications: BTreeMap<String, Publication>,
}

/// An entry that would leave once a person approves it.
#[derive(Clone, Debug)]
pub struct WaitingExport {
    pub entry: Entry,
    /// Exactly what leaves.
    pub artifact: ExportArtifact,
}

/// What a publication would contain.
#[derive(Clone, Debug, Default)]
pub struct PublicationReview {
    pub waiting: Vec<WaitingExport>,
    pub approved: Vec<WaitingExport>,
    pub blocked: Vec<BlockedExport>,
}

impl Publication {
    /// Returns the public key.
    pub fn publisher_key(&self) -> Result<PublisherKey, FederationError> {
        key::public_key(&self.key)
    }

    fn files(&self) -> PublicationFolder {
        PublicationFolder::new(&self.folder)
    }
}

/// Adds a publication; writes nothing into its folder yet.
pub(crate) fn create_publication(
    engine: &mut Engine,
    new: NewPublication,
    by: &Actor,
) -> Result<Publication, EngineError> {
    peer::ensure_person(by)?;
    check_name(&new.name)?;
    if new.policy.topics.is_empty() {
        return Err(FederationError::NoTopic.into());
    }
    let name: Tag = new
        .name
        .parse()
        .map_err(|_| FederationError::Name(new.name.clone()))?;
    let days = new.policy.expires_days;
    if days == 0 || days > EXPIRY_DAYS_MAX {
        let max = EXPIRY_DAYS_MAX;
        return Err(EngineError::Usage(format!(
            "a publication expires after 1 to {max} days"
        )));
    }
    let mut file = load(engine)?;
    if file.publications.contains_key(&new.name) {
        return Err(FederationError::Exists(new.name).into());
    }
    if file.publications.len() >= PUBLICATIONS_MAX {
        return Err(FederationError::TooManyPublications(PUBLICATIONS_MAX).into());
    }
    let publication = Publication {
        name,
        folder: new.folder,
        key: new.key,
        policy: new.policy,
        last: None,
        orders: Vec::new(),
        sources: BTreeMap::new(),
    };
    let own = publication.publisher_key()?.publisher();
    // An update would overwrite the files of the other publisher.
    if let Some(card) = publication.files().reader().card()?
        && card.publisher != own
    {
        let (found, wanted) = (card.publisher, own);
        return Err(FederationError::OtherPublisher { found, wanted }.into());
    }
    file.publications.insert(new.name, publication.clone());
    store(engine, &file)?;
    Ok(publication)
}

/// Returns the publications of this clone.
pub(crate) fn publications(engine: &Engine) -> Result<Vec<Publication>, EngineError> {
    Ok(load(engine)?.publications.into_values().collect())
}

/// Returns the publication called `name`; without a name, the only one.
pub(crate) fn publication(engine: &Engine, name: Option<&str>) -> Result<Publication, EngineError> {
    let mut file = load(engine)?.publications;
    let name = match (name, file.len()) {
        (Some(name), _) => name.to_owned(),
        (None, 1) => file.keys().next().cloned().unwrap_or_default(),
        (None, _) => {
            return Err(EngineError::Usage("name a publication".to_owned()));
        }
    };
    let found = file.remove(&name);
    Ok(found.ok_or(FederationError::NoPublication(name))?)
}

/// Forgets a publication. Its folder stays: receivers hide it once its head expires.
pub(crate) fn remove_publication(
    engine: &mut Engine,
    name: &str,
    by: &Actor,
) -> Result<(), EngineError> {
    peer::ensure_person(by)?;
    let mut file = load(engine)?;
    if file.publications.remove(name).is_none() {
        return Err(FederationError::NoPublication(name.to_owned()).into());
    }
    store(engine, &file)
}

/// Returns what would leave, what a person has to approve, and what the policy keeps.
pub(crate) fn review_publication(
    engine: &mut Engine,
    publication: &Publication,
) -> Result<PublicationReview, EngineError> {
    let publisher = publication.publisher_key()?.publisher();
    let entries = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    let mut review = PublicationReview::default();
    for entry in entries {
        match barrier(engine, &entry, publication)? {
            // Other kinds and topics are the normal case and no news.
            Some(ExportBarrier::Kind(_) | ExportBarrier::Topic) => {}
            Some(why) => review.blocked.push(BlockedExport {
                entry: entry.id,
                why,
            }),
            None => {
                let artifact = ExportArtifact::from_entry(
                    &entry,
                    publisher,
                    &publication.name,
                    &publication.policy,
                );
                let Some(artifact) = artifact else { continue };
                let history = entry_events(engine, entry.id)?;
                let is_approved = artifact.is_approved(&history);
                let found = WaitingExport { entry, artifact };
                if is_approved {
                    review.approved.push(found);
                } else {
                    review.waiting.push(found);
                }
            }
        }
    }
    Ok(review)
}

/// Records that a person approved the current words of entries for a publication.
pub(crate) fn allow_exports(
    engine: &mut Engine,
    publication: &Publication,
    ids: &[EntryId],
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    peer::ensure_person(by)?;
    sync::sync_before_writing(engine)?;
    let publisher = publication.publisher_key()?.publisher();
    let mut drafts = Vec::with_capacity(ids.len());
    let mut allowed = Vec::with_capacity(ids.len());
    for id in ids {
        let entry = engine.entry(*id)?;
        if let Some(why) = barrier(engine, &entry, publication)? {
            return Err(FederationError::Blocked { entry: *id, why }.into());
        }
        let artifact =
            ExportArtifact::from_entry(&entry, publisher, &publication.name, &publication.policy);
        let artifact = artifact.ok_or(FederationError::NotWaiting(*id))?;
        if artifact.is_approved(&entry_events(engine, *id)?) {
            continue;
        }
        drafts.push(Draft {
            about: vec![(*id).into()],
            // Covers no events: it approves nothing in this repository.
            body: EventBody::ApprovalGranted(ApprovalGranted {
                entry: *id,
                artifact: artifact.approval_text(),
                signature: None,
                covers: Vec::new(),
            }),
        });
        allowed.push(*id);
    }
    engine.record(drafts, by)?;
    Ok(allowed)
}

/// Brings the folder up to date: orders first, then new wordings, else a renewal if it is due.
pub(crate) fn update_publication(
    engine: &mut Engine,
    name: Option<&str>,
    by: &Actor,
) -> Result<PublicationUpdate, EngineError> {
    peer::ensure_person(by)?;
    sync::sync_before_writing(engine)?;
    // After the sync, which carries out redactions that arrived: their words must not be signed.
    let mut publication = publication(engine, name)?;
    let key = publication.publisher_key()?;
    let files = publication.files();
    let now = engine.now();
    let (log, orders) = replay(&publication, &key, now)?;
    let wordings = approved_wordings(engine, &publication)?;
    let exported: Vec<ExportedWording> = wordings.iter().map(|(it, _)| it.clone()).collect();
    // The folder and this clone must agree on the last place. Otherwise one of them was restored
    // from a backup, and going on could sign two batches for one place.
    let head = log.head.as_ref().map(|it| it.place.clone());
    let earlier = [&head, &publication.last];
    let latest = earlier.into_iter().flatten().map(|it| it.epoch).max();
    let new_epoch = (head != publication.last).then(|| {
        let after = latest.map_or(0, |epoch| epoch + 1);
        // Above every known epoch, also if the clock was set back: receivers refuse a lower one.
        now.millis().max(after)
    });
    let secret = key::publication_secret(&publication.name, &publication.key)?;
    let plan = |redact: &BTreeSet<EventId>| {
        plan_batches(PublicationInput {
            publisher: key.publisher(),
            publication: &publication.name,
            policy: &publication.policy,
            secret: &secret,
            log: &log,
            wordings: &exported,
            redact,
            new_epoch,
            now,
        })
    };
    // The first plan only says which lines the current words produce.
    let produced = plan(&BTreeSet::new())?.lines;
    let produced: BTreeSet<EventId> = produced.into_iter().map(|(_, line)| line).collect();
    let redact = redacted_lines(engine, &publication, &log, &produced)?;
    let plan = plan(&redact)?;
    let signed = sign_batches(&publication, &key, &plan.batches)?;
    for (source, line) in &plan.lines {
        let events = wordings.iter().find(|(it, _)| it.source == *source);
        if let Some((_, events)) = events {
            publication.sources.insert(*line, events.clone());
        }
    }
    let report = write_batches(engine, &mut publication, &key, (orders, signed), &redact)?;
    // Only after the head names the new epoch: until then, receivers read the old one.
    if new_epoch.is_some()
        && let Some(old) = head
    {
        files.remove_epoch(old.epoch)?;
    }
    Ok(PublicationUpdate {
        new_epoch: new_epoch.is_some() && latest.is_some(),
        ..report
    })
}

/// Signs batches and verifies the signatures as a receiver would.
fn sign_batches(
    publication: &Publication,
    key: &PublisherKey,
    planned: &[PlannedBatch],
) -> Result<Vec<PublicationBatch>, FederationError> {
    let mut signed = Vec::with_capacity(planned.len());
    for batch in planned {
        let bytes = batch.manifest.bytes();
        let signature = key::sign_manifest(&bytes, &publication.key)?;
        // The private key may belong to another public one.
        if !key.has_signed(&bytes, &signature) {
            return Err(FederationError::OwnSignature(publication.key.clone()));
        }
        let lines = batch.lines.iter().map(|it| it.line().to_owned());
        signed.push(PublicationBatch {
            manifest: batch.manifest.clone(),
            signature,
            lines: lines.collect(),
        });
    }
    Ok(signed)
}

/// Writes signed batches in an order that a crash at any point leaves readable: redactions of
/// earlier batches, new batches, orders, and the head last.
fn write_batches(
    engine: &mut Engine,
    publication: &mut Publication,
    key: &PublisherKey,
    (mut orders, signed): (Vec<SignedManifest>, Vec<PublicationBatch>),
    redact: &BTreeSet<EventId>,
) -> Result<PublicationUpdate, EngineError> {
    let files = publication.files();
    let mut report = PublicationUpdate {
        batches: signed.len(),
        place: publication.last.clone(),
        ..PublicationUpdate::default()
    };
    for row in signed.iter().flat_map(|it| &it.manifest.rows) {
        match row {
            ManifestRow::Add { .. } => report.added += 1,
            ManifestRow::Withdraw { .. } => report.withdrawn += 1,
            ManifestRow::Redact { .. } => report.redacted += 1,
        }
    }
    let Some(newest) = signed.last() else {
        store_one(engine, publication)?;
        return Ok(report);
    };
    files.write_card(&PublicationCard::new(
        key.publisher(),
        publication.name.clone(),
        key.line().to_owned(),
        (publication.policy.license.clone(), publication.policy.relay),
    ))?;
    if let Some(last) = &publication.last {
        redact_served_batches(&files, last, redact)?;
    }
    for batch in &signed {
        files.write_batch(batch)?;
    }
    let new_orders = signed.iter().filter(|it| it.manifest.has_orders());
    orders.extend(new_orders.map(PublicationBatch::signed_manifest));
    files.write_orders(&orders)?;
    // The place is remembered before it can be seen, so a crash here begins a new epoch and never
    // signs another batch for the same place.
    publication.last = Some(newest.manifest.place());
    publication.orders = orders;
    report.place.clone_from(&publication.last);
    store_one(engine, publication)?;
    files.write_head(&newest.signed_manifest())?;
    Ok(report)
}

/// Replaces redacted lines in the batches that are served already.
fn redact_served_batches(
    files: &PublicationFolder,
    last: &LogPlace,
    redact: &BTreeSet<EventId>,
) -> Result<(), EngineError> {
    if redact.is_empty() {
        return Ok(());
    }
    for number in 1..=last.number {
        let Some(mut batch) = files.reader().batch(last.epoch, number)? else {
            continue;
        };
        let mut is_changed = false;
        for line in &mut batch.lines {
            let Ok(copy) = RecordedEvent::parse(line.as_bytes()) else {
                continue;
            };
            if redact.contains(&copy.event.id) && !copy.is_redacted() {
                // A redacted line keeps its checksum, so the signed manifest still fits.
                copy.redacted().line().clone_into(line);
                is_changed = true;
            }
        }
        if is_changed {
            files.write_batch(&batch)?;
        }
    }
    Ok(())
}

/// Reads the publication's own log from its folder, with the rules of a receiver.
fn replay(
    publication: &Publication,
    key: &PublisherKey,
    now: ken_core::values::time::Timestamp,
) -> Result<(PublicationReplica, Vec<SignedManifest>), EngineError> {
    let files = publication.files();
    let mut log = PublicationReplica::own(key.publisher(), publication.name.clone());
    let mut orders = files.reader().orders()?;
    for known in &publication.orders {
        if !orders.contains(known) {
            orders.push(known.clone());
        }
    }
    let check = |bytes: &[u8], signature: &str| key.has_signed(bytes, signature);
    let applied = log.accept_orders(&orders, now, &check);
    applied.map_err(|why| FederationError::Batch { number: 0, why })?;
    let Some(head) = files.reader().head()? else {
        return Ok((log, orders));
    };
    for number in 1..=head.manifest.number {
        let Some(batch) = files.reader().batch(head.manifest.epoch, number)? else {
            // A folder with a gap was damaged; the clone's counter then begins a new epoch.
            break;
        };
        let accepted = log.accept(&batch, now, &check);
        accepted.map_err(|why| FederationError::Batch { number, why })?;
    }
    Ok((log, orders))
}

/// Returns the wordings that may leave now, each with the events it rests on.
fn approved_wordings(
    engine: &mut Engine,
    publication: &Publication,
) -> Result<Vec<(ExportedWording, BTreeSet<EventId>)>, EngineError> {
    let review = review_publication(engine, publication)?;
    let mut wordings = Vec::with_capacity(review.approved.len());
    for WaitingExport { entry, artifact } in review.approved {
        let Some(kind) = entry.kind() else { continue };
        let sources = wording_sources(&entry);
        let history = entry_events(engine, entry.id)?;
        let days = history.iter().filter(|it| sources.contains(&it.id));
        // Of the events, not of the update: every clone gives the same words the same day.
        let day = days.map(|it| it.at.wall.date()).max();
        wordings.push((
            ExportedWording {
                source: entry.id,
                kind,
                content: artifact.content,
                day: day.unwrap_or_default(),
            },
            sources,
        ));
    }
    Ok(wordings)
}

/// Returns the published lines whose source events were redacted here.
///
/// A line whose source this clone does not know, and that no current wording produces, is redacted
/// as well: withdrawing it would leave words in place that may have been a secret.
fn redacted_lines(
    engine: &Engine,
    publication: &Publication,
    log: &PublicationReplica,
    produced: &BTreeSet<EventId>,
) -> Result<BTreeSet<EventId>, EngineError> {
    let mut redacted = engine.ledger.blanked_ids()?;
    redacted.extend(engine.index.ordered_blank()?);
    let is_due = |id: &EventId| match publication.sources.get(id) {
        Some(sources) => sources.iter().any(|it| redacted.contains(it)),
        None => !produced.contains(id) && !log.withdrawn().contains_key(id),
    };
    // Readers may have lines that a restored folder lacks.
    let remembered = publication.sources.keys().copied();
    let lines = log.lines().map(|(id, _)| id).chain(remembered);
    Ok(lines
        .filter(|id| !log.redacted().contains(id) && is_due(id))
        .collect())
}

/// Returns the reason why an entry does not leave: the policy, or the guard.
fn barrier(
    engine: &mut Engine,
    entry: &Entry,
    publication: &Publication,
) -> Result<Option<ExportBarrier>, EngineError> {
    let policy = &publication.policy;
    // Most entries have another topic; those need no check against the code.
    let facts = EntryFacts::from_entry(entry, None, engine.now());
    let first = export_barrier(entry, &facts, None, policy);
    if first.is_some() {
        return Ok(first);
    }
    let validity = validity::anchoring::validity_of(engine, [entry])?;
    let facts = EntryFacts::from_entry(entry, validity.get(&entry.id).copied(), engine.now());
    let against = engine.opponents(entry.id)?.pop_first();
    if let Some(why) = export_barrier(entry, &facts, against, policy) {
        return Ok(Some(why));
    }
    // Sources that came from elsewhere, whatever their copies claim.
    for source in entry.created.iter().flat_map(|it| &it.promoted_from) {
        let source = engine.index.entry(*source)?;
        let origin = source.as_ref().and_then(|it| it.created.as_ref());
        if origin.is_some_and(|it| matches!(it.origin, Origin::Peer | Origin::Web)) {
            return Ok(Some(ExportBarrier::Foreign));
        }
    }
    Ok(engine
        .guard
        .refuses_entry(entry)
        .then(|| ExportBarrier::Word("(refused by the guard)".to_owned())))
}

/// Returns whether the guard takes a published line.
pub(super) fn is_taken(engine: &Engine, copy: &RecordedEvent) -> Result<(), String> {
    match engine.guard.receive(copy) {
        // Every published line arrives quarantined, so one that the guard would quarantine is fine.
        ReceiveVerdict::Taken | ReceiveVerdict::Held(_) => Ok(()),
        ReceiveVerdict::Turned(why) => Err(why.to_string()),
    }
}

fn entry_events(engine: &Engine, id: EntryId) -> Result<Vec<Event>, EngineError> {
    let history = engine.index.history(id)?.into_iter();
    Ok(history.map(|RecordedEvent { event, .. }| event).collect())
}

fn load(engine: &Engine) -> Result<PublicationsFile, EngineError> {
    let Some(bytes) = engine.ledger.local_file(PUBLICATIONS_FILE)? else {
        return Ok(PublicationsFile::default());
    };
    Ok(
        serde_json::from_slice(&bytes).map_err(|e| FederationError::File {
            path: PUBLICATIONS_FILE.into(),
            why: format!("line {}, column {}", e.line(), e.column()),
        })?,
    )
}

fn store(engine: &Engine, file: &PublicationsFile) -> Result<(), EngineError> {
    let text = serde_json::to_string(file);
    let text = text.map_err(|e| FederationError::File {
        path: PUBLICATIONS_FILE.into(),
        why: e.to_string(),
    })?;
    Ok(engine
        .ledger
        .write_local_file(PUBLICATIONS_FILE, text.as_bytes())?)
}

fn store_one(engine: &Engine, publication: &Publication) -> Result<(), EngineError> {
    let mut file = load(engine)?;
    let name = publication.name.to_string();
    file.publications.insert(name, publication.clone());
    store(engine, &file)
}
