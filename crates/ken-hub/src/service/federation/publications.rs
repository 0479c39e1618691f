//! Publications: what an organization lets out, signed with a key that never reaches the database.
//!
//! A publication takes entries of the organization's own tier, which a person approved for all
//! workspaces. A second approval lets the exact words out: an `approval.granted` for the export, in
//! the log of the entry's workspace. The signer remembers the last place it signed, outside of the
//! database, so a database that was restored from a backup begins a new epoch instead of a fork.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::Draft;
use ken_core::federation::export::wording_sources;
use ken_core::federation::{
    BlockedExport, EXPIRY_DAYS_MAX, ExportArtifact, ExportBarrier, ExportPolicy, ExportedWording,
    LogPlace, ManifestRow, PlannedBatch, PublicationInput, PublicationPlan, PublicationReplica,
    PublicationSecret, PublicationUpdate, SignedManifest, export_barrier, plan_batches,
};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{ApprovalGranted, EventBody, Origin};
use ken_core::trust::facts::EntryFacts;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::Tag;
use ken_core::values::time::Timestamp;
use ken_remote::publication::{BATCH_SUFFIX, CARD_FILE, HEAD_FILE, ORDERS_FILE, PublicationCard};
use ken_sign::PublisherKey;
use serde::{Deserialize, Serialize};

use super::{HubFederationError, carrier, ensure_person, parse_name, parse_publisher};
use crate::database::HubDatabase;
use crate::database::audit::{AuditAction, AuditActor};
use crate::identity::{AuthenticatedCaller, WorkspaceRoles};
use crate::ids::{OrganizationId, Role, WorkspaceId};
use crate::service::session::ServiceContext;
use crate::service::verbs::list_workspaces;
use crate::service::{ServiceError, WorkspaceSession};
use crate::store::{PublicationAudience, PublicationRow, PublishedLine, StoreError};

/// Maximum number of publications of an organization.
const PUBLICATIONS_MAX: usize = 10;

/// Workspaces per query.
const WORKSPACES_PER_PAGE: u32 = 500;

/// The key of a publisher, and what it remembers. Both are outside of the database.
pub trait ManifestSigner {
    /// Returns the public key.
    fn key(&self) -> &PublisherKey;

    /// Returns the secret of a publication.
    fn secret(&self, publication: &Tag) -> Result<PublicationSecret, String>;

    /// Signs the bytes of a manifest.
    fn sign(&self, bytes: &[u8]) -> Result<String, String>;

    /// Returns what was remembered of a publication.
    fn memory(&self, publication: &Tag) -> Result<PublicationMemory, String>;

    /// Remembers, durably, before anything of it can be seen.
    fn remember(&self, publication: &Tag, memory: &PublicationMemory) -> Result<(), String>;
}

/// What a signer remembers of a publication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationMemory {
    /// The last place signed. A database that is behind it was restored from a backup.
    pub last: Option<LogPlace>,
    /// Everything that was ever taken back. A restored database may have lost some of it.
    #[serde(default)]
    pub orders: Vec<SignedManifest>,
    /// Every published line that was not redacted. A restored database may lack some of them, and
    /// then still has to take their words back when a source is redacted.
    #[serde(default)]
    pub lines: BTreeMap<EventId, LineOrigin>,
}

/// Where the words of a published line come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineOrigin {
    /// Id of the workspace.
    workspace: String,
    sources: Vec<EventId>,
}

impl PublicationMemory {
    /// Adds the orders and lines of new batches, and drops lines that were redacted.
    fn add(&mut self, batches: &[SignedManifest], lines: Vec<PublishedLine>, gone: &[EventId]) {
        let new = batches.iter().filter(|it| it.manifest.has_orders());
        self.orders.extend(new.cloned());
        self.lines.extend(lines.into_iter().map(|it| {
            let (workspace, sources) = (it.workspace.0.to_string(), it.sources);
            (it.copy.event.id, LineOrigin { workspace, sources })
        }));
        for id in gone {
            let _ = self.lines.remove(id);
        }
    }
}

/// Request for a new publication.
#[derive(Clone, Debug)]
pub struct NewHubPublication {
    pub name: String,
    pub audience: PublicationAudience,
    pub policy: ExportPolicy,
}

/// An entry that would leave once a person approves it.
#[derive(Clone, Debug)]
pub struct HubWaitingExport {
    pub workspace: WorkspaceId,
    pub entry: Entry,
    /// Exactly what leaves.
    pub artifact: ExportArtifact,
    /// The events that the words come from.
    sources: BTreeSet<EventId>,
    /// The day of the newest of these events.
    day: ken_core::values::time::Date,
}

/// What a publication would contain.
#[derive(Clone, Debug, Default)]
pub struct HubPublicationReview {
    pub waiting: Vec<HubWaitingExport>,
    pub approved: Vec<HubWaitingExport>,
    pub blocked: Vec<BlockedExport>,
}

/// Adds a publication; nothing is published yet.
pub async fn create_publication(
    database: &HubDatabase,
    organization: OrganizationId,
    new: NewHubPublication,
    key: &PublisherKey,
    by: AuditActor<'_>,
) -> Result<PublicationRow, HubFederationError> {
    let name = parse_name(&new.name)?;
    if new.policy.topics.is_empty() {
        return Err(HubFederationError::NoTopic);
    }
    let days = new.policy.expires_days;
    if days == 0 || days > EXPIRY_DAYS_MAX {
        return Err(HubFederationError::Expiry(EXPIRY_DAYS_MAX));
    }
    let mut tx = database.begin_organization(organization).await?;
    if tx.publications().await?.len() >= PUBLICATIONS_MAX {
        return Err(HubFederationError::TooManyPublications(PUBLICATIONS_MAX));
    }
    let row = PublicationRow {
        name,
        publisher: key.publisher().to_string(),
        key: key.line().to_owned(),
        policy: new.policy,
        audience: new.audience,
        created_at: tx.now(),
        closed_at: None,
        head: None,
    };
    if !tx.insert_publication(&row).await? {
        return Err(HubFederationError::Exists(new.name));
    }
    tx.audit(by, AuditAction::PublicationCreated, &row.name)
        .await?;
    tx.commit().await?;
    Ok(row)
}

/// Returns what would leave, what a person has to approve, and what the policy keeps.
pub async fn review_publication(
    database: &HubDatabase,
    services: &ServiceContext,
    organization: OrganizationId,
    name: &str,
) -> Result<HubPublicationReview, HubFederationError> {
    let publication = find_publication(database, organization, name).await?;
    let mut review = HubPublicationReview::default();
    for workspace in all_workspaces(database, organization).await? {
        let mut session = begin_session(database, services, organization, workspace).await?;
        review_workspace(&mut session, &publication, &mut review).await?;
        session.commit().await?;
    }
    Ok(review)
}

/// Records that a person approved the current words of entries for a publication.
pub async fn allow_exports(
    database: &HubDatabase,
    services: &ServiceContext,
    (organization, name): (OrganizationId, &str),
    ids: &[EntryId],
    by: &Actor,
) -> Result<Vec<EntryId>, HubFederationError> {
    ensure_person(by)?;
    let review = review_publication(database, services, organization, name).await?;
    // An approval is an event in the log of the entry's own workspace, so each workspace has a
    // transaction of its own. Repeating the command approves the rest after a failure.
    let mut by_workspace: BTreeMap<WorkspaceId, Vec<&HubWaitingExport>> = BTreeMap::new();
    for id in ids {
        if let Some(found) = review.waiting.iter().find(|it| it.entry.id == *id) {
            by_workspace.entry(found.workspace).or_default().push(found);
        } else if let Some(blocked) = review.blocked.iter().find(|it| it.entry == *id) {
            let (entry, why) = (*id, blocked.why.clone());
            return Err(HubFederationError::Blocked { entry, why });
        } else if !review.approved.iter().any(|it| it.entry.id == *id) {
            return Err(HubFederationError::NotWaiting(*id));
        }
    }
    let mut allowed = Vec::with_capacity(ids.len());
    for (workspace, exports) in by_workspace {
        let caller = operator_caller(organization, by.clone());
        let mut session = WorkspaceSession::begin(database, services, caller, workspace).await?;
        let drafts = exports.iter().map(|export| {
            let draft = Draft {
                about: vec![export.entry.id.into()],
                // Covers no events: it approves nothing in the workspace itself.
                body: EventBody::ApprovalGranted(ApprovalGranted {
                    entry: export.entry.id,
                    artifact: export.artifact.approval_text(),
                    signature: None,
                    covers: Vec::new(),
                }),
            };
            (None, draft)
        });
        session
            .append_drafts(drafts.collect(), by, (AuditAction::ExportApproved, name))
            .await?;
        session.commit().await?;
        allowed.extend(exports.iter().map(|it| it.entry.id));
    }
    Ok(allowed)
}

/// Signs and stores what is new, withdrawn or redacted, else a renewal if it is due.
pub async fn update_publication(
    database: &HubDatabase,
    services: &ServiceContext,
    (organization, name): (OrganizationId, &str),
    signer: &dyn ManifestSigner,
    by: AuditActor<'_>,
) -> Result<PublicationUpdate, HubFederationError> {
    let review = review_publication(database, services, organization, name).await?;
    let lost = redacted_while_lost(database, (organization, name), signer).await?;
    let wanted = (&review.approved[..], &lost);
    let update = write_update(database, (organization, name), wanted, signer, by).await?;
    // Reading every workspace takes long, so a redaction may be committed meanwhile. It finds no
    // line of this update to remove words from, so its sources are looked up again.
    if blank_redacted(database, organization, name).await? {
        let again = write_update(database, (organization, name), wanted, signer, by);
        let again = again.await?;
        return Ok(PublicationUpdate {
            redacted: update.redacted + again.redacted,
            withdrawn: update.withdrawn + again.withdrawn,
            batches: update.batches + again.batches,
            place: again.place,
            ..update
        });
    }
    Ok(update)
}

/// Takes back everything that a publication contains, and publishes nothing in it anymore.
///
/// The files stay, so that every reader learns of it.
pub async fn close_publication(
    database: &HubDatabase,
    (organization, name): (OrganizationId, &str),
    signer: &dyn ManifestSigner,
    by: AuditActor<'_>,
) -> Result<PublicationUpdate, HubFederationError> {
    let lost = redacted_while_lost(database, (organization, name), signer).await?;
    let update = write_update(database, (organization, name), (&[], &lost), signer, by).await?;
    let mut tx = database.begin_organization(organization).await?;
    let lines = tx.line_sources(name).await?;
    let lines: Vec<EventId> = lines.into_iter().map(|(line, ..)| line).collect();
    // Readers that come later need no words to learn that they were withdrawn.
    tx.redact_published(name, &lines).await?;
    tx.close_publication(name).await?;
    tx.audit(by, AuditAction::PublicationClosed, name).await?;
    tx.commit().await?;
    Ok(update)
}

/// Returns the content of one file of a publication: `None` if there is no such file.
pub async fn read_publication_file(
    database: &HubDatabase,
    organization: OrganizationId,
    name: &str,
    path: &str,
) -> Result<Option<String>, HubFederationError> {
    let mut tx = database.begin_organization(organization).await?;
    let Some(publication) = tx.publication(name, false).await? else {
        return Ok(None);
    };
    let text = match (path, publication.head) {
        (CARD_FILE, _) => Some(to_line(&card_of(&publication)?)?),
        (HEAD_FILE, Some(head)) => {
            let head = tx.signed_manifest(name, head).await?;
            head.map(|it| to_line(&it)).transpose()?
        }
        (ORDERS_FILE, _) => {
            let mut text = String::new();
            for order in tx.order_manifests(name).await? {
                text.push_str(&order);
                text.push('\n');
            }
            Some(text)
        }
        (path, Some((epoch, last))) => match parse_batch_path(path) {
            // Batches of earlier epochs are kept for their orders only.
            Some((of, number)) if of == epoch && number <= last => {
                let batch = tx.publication_batch(name, (of, number), true).await?;
                batch.map(|it| to_line(&it)).transpose()?
            }
            Some(_) | None => None,
        },
        (_, None) => None,
    };
    tx.rollback().await?;
    Ok(text)
}

/// Brings the stored log up to date with these wordings, in one transaction. `lost` are lines to
/// redact that the database does not know.
async fn write_update(
    database: &HubDatabase,
    (organization, name): (OrganizationId, &str),
    (approved, lost): (&[HubWaitingExport], &BTreeSet<EventId>),
    signer: &dyn ManifestSigner,
    by: AuditActor<'_>,
) -> Result<PublicationUpdate, HubFederationError> {
    let mut tx = database.begin_organization(organization).await?;
    // Others that update the same publication wait, so that no place is signed twice.
    let found = tx.publication(name, true).await?;
    let publication = found.ok_or_else(|| HubFederationError::NoPublication(name.to_owned()))?;
    if publication.closed_at.is_some() {
        return Err(HubFederationError::Closed(name.to_owned()));
    }
    let key = signer.key();
    let own = key.publisher().to_string();
    if own != publication.publisher {
        let (found, wanted) = (own, publication.publisher);
        return Err(HubFederationError::OtherPublisher { found, wanted });
    }
    let now = tx.now();
    let memory = signer.memory(&publication.name);
    let mut memory = memory.map_err(HubFederationError::Signing)?;
    let stored = tx.order_manifests(name).await?;
    let (orders, missing) = merge_orders(&stored, &memory)?;
    let mut log = PublicationReplica::own(key.publisher(), publication.name.clone());
    let check = |bytes: &[u8], signature: &str| key.has_signed(bytes, signature);
    let applied = log.accept_orders(&orders, now, &check);
    applied.map_err(|why| HubFederationError::Batch { number: 0, why })?;
    if let Some((epoch, last)) = publication.head {
        for number in 1..=last {
            let batch = tx.publication_batch(name, (epoch, number), false).await?;
            // A gap is damage; the signer's memory then begins a new epoch.
            let Some(batch) = batch else { break };
            let accepted = log.accept(&batch, now, &check);
            accepted.map_err(|why| HubFederationError::Batch { number, why })?;
        }
    }
    let head = log.head.as_ref().map(|it| it.place.clone());
    // The database and the signer must agree on the last place. Otherwise the database was
    // restored, and going on could sign two batches for one place.
    let latest = [&head, &memory.last].into_iter().flatten();
    let latest = latest.map(|it| it.epoch).max();
    // Above every known epoch, also if the clock was set back: receivers refuse a lower one.
    let new_epoch = (head != memory.last).then(|| now.millis().max(latest.map_or(0, |it| it + 1)));
    let wordless: BTreeSet<EventId> = tx.wordless_lines(name).await?.into_iter().collect();
    let redact = wordless.union(lost).copied();
    let redact = redact.filter(|it| !log.redacted().contains(it)).collect();
    let secret = signer.secret(&publication.name);
    let secret = secret.map_err(HubFederationError::Signing)?;
    let plan = plan_update(
        &publication,
        approved,
        (&log, &secret, &redact),
        (new_epoch, now),
    )?;
    let batches = sign_batches(&plan.batches, signer)?;
    let mut update = count_rows(&batches);
    update.new_epoch = new_epoch.is_some() && latest.is_some();
    let Some(newest) = batches.last() else {
        update.place = head;
        tx.rollback().await?;
        return Ok(update);
    };
    update.place = Some(newest.manifest.place());
    tx.restore_orders(name, &missing).await?;
    let lines = published_lines(&plan, approved);
    tx.insert_batches(name, &batches, &lines).await?;
    // Also what a restored database has with words again.
    let gone: Vec<EventId> = redact.iter().chain(log.redacted()).copied().collect();
    tx.redact_published(name, &gone).await?;
    tx.audit(by, AuditAction::PublicationUpdated, name).await?;
    // Before the commit: after a crash in between, the next update begins a new epoch and never
    // signs another batch for the same place.
    memory.last.clone_from(&update.place);
    memory.orders = orders;
    memory.add(&batches, lines, &gone);
    let remembered = signer.remember(&publication.name, &memory);
    remembered.map_err(HubFederationError::Signing)?;
    tx.commit().await?;
    Ok(update)
}

/// Plans the batches that these wordings need.
fn plan_update(
    publication: &PublicationRow,
    approved: &[HubWaitingExport],
    (log, secret, redact): (&PublicationReplica, &PublicationSecret, &BTreeSet<EventId>),
    (new_epoch, now): (Option<u64>, Timestamp),
) -> Result<PublicationPlan, HubFederationError> {
    let wordings = approved.iter().filter_map(|it| {
        Some(ExportedWording {
            source: it.entry.id,
            kind: it.entry.kind()?,
            content: it.artifact.content.clone(),
            day: it.day,
        })
    });
    let wordings: Vec<ExportedWording> = wordings.collect();
    let planned = plan_batches(PublicationInput {
        publisher: parse_publisher(&publication.publisher)?,
        publication: &publication.name,
        policy: &publication.policy,
        secret,
        log,
        wordings: &wordings,
        redact,
        new_epoch,
        now,
    });
    Ok(planned.map_err(ServiceError::from)?)
}

/// Signs batches and verifies the signatures as a receiver would.
fn sign_batches(
    planned: &[PlannedBatch],
    signer: &dyn ManifestSigner,
) -> Result<Vec<SignedManifest>, HubFederationError> {
    let sign = |batch: &PlannedBatch| {
        let bytes = batch.manifest.bytes();
        let signature = signer.sign(&bytes).map_err(HubFederationError::Signing)?;
        // The private key may belong to another public one.
        if !signer.key().has_signed(&bytes, &signature) {
            let why = "the signature that was just made is not valid for the public key";
            return Err(HubFederationError::Signing(why.to_owned()));
        }
        let manifest = batch.manifest.clone();
        Ok(SignedManifest {
            manifest,
            signature,
        })
    };
    planned.iter().map(sign).collect()
}

/// Returns all known orders, and those that only the signer remembers, because the database was
/// restored.
fn merge_orders(
    stored: &[String],
    memory: &PublicationMemory,
) -> Result<(Vec<SignedManifest>, Vec<SignedManifest>), HubFederationError> {
    let parse = |text: &String| serde_json::from_str(text).map_err(StoreError::damaged);
    let mut orders: Vec<SignedManifest> = stored.iter().map(parse).collect::<Result<_, _>>()?;
    let known: BTreeSet<String> = orders.iter().map(|it| it.manifest.digest()).collect();
    let lost = memory.orders.iter();
    let lost = lost.filter(|it| !known.contains(&it.manifest.digest()));
    let lost: Vec<SignedManifest> = lost.cloned().collect();
    orders.extend(lost.iter().cloned());
    Ok((orders, lost))
}

/// Returns the new lines of a plan with what they came from.
fn published_lines(plan: &PublicationPlan, approved: &[HubWaitingExport]) -> Vec<PublishedLine> {
    let source_of: BTreeMap<EventId, EntryId> = plan
        .lines
        .iter()
        .map(|(entry, line)| (*line, *entry))
        .collect();
    let exports: BTreeMap<EntryId, &HubWaitingExport> =
        approved.iter().map(|it| (it.entry.id, it)).collect();
    let lines = plan.batches.iter().flat_map(|batch| &batch.lines);
    let lines = lines.filter_map(|copy| {
        let export = exports.get(source_of.get(&copy.event.id)?)?;
        Some(PublishedLine {
            copy: copy.clone(),
            workspace: export.workspace,
            sources: export.sources.iter().copied().collect(),
        })
    });
    lines.collect()
}

fn count_rows(batches: &[SignedManifest]) -> PublicationUpdate {
    let mut update = PublicationUpdate {
        batches: batches.len(),
        ..PublicationUpdate::default()
    };
    for row in batches.iter().flat_map(|it| &it.manifest.rows) {
        match row {
            ManifestRow::Add { .. } => update.added += 1,
            ManifestRow::Withdraw { .. } => update.withdrawn += 1,
            ManifestRow::Redact { .. } => update.redacted += 1,
        }
    }
    update
}

/// Removes the words of lines whose sources are redacted; returns whether there were any.
async fn blank_redacted(
    database: &HubDatabase,
    organization: OrganizationId,
    name: &str,
) -> Result<bool, HubFederationError> {
    let mut tx = database.begin_organization(organization).await?;
    let lines = tx.line_sources(name).await?;
    tx.rollback().await?;
    let gone = lines_of_redacted(database, organization, lines).await?;
    let mut tx = database.begin_organization(organization).await?;
    let blanked = tx.redact_published(name, &gone).await?;
    tx.commit().await?;
    Ok(blanked > 0)
}

/// Returns the lines that the signer remembers, that the database lacks since it was restored, and
/// whose sources were redacted.
async fn redacted_while_lost(
    database: &HubDatabase,
    (organization, name): (OrganizationId, &str),
    signer: &dyn ManifestSigner,
) -> Result<BTreeSet<EventId>, HubFederationError> {
    let publication: Tag = parse_name(name)?;
    let memory = signer.memory(&publication);
    let mut lines = memory.map_err(HubFederationError::Signing)?.lines;
    let mut tx = database.begin_organization(organization).await?;
    for (line, ..) in tx.line_sources(name).await? {
        let _ = lines.remove(&line);
    }
    tx.rollback().await?;
    let lines = lines.into_iter().map(|(line, it)| {
        let workspace = it.workspace.parse().map_err(StoreError::damaged)?;
        Ok((line, WorkspaceId(workspace), it.sources))
    });
    let lines: Vec<_> = lines.collect::<Result<_, StoreError>>()?;
    let gone = lines_of_redacted(database, organization, lines).await?;
    Ok(gone.into_iter().collect())
}

/// Returns the lines with a redacted source.
async fn lines_of_redacted(
    database: &HubDatabase,
    organization: OrganizationId,
    lines: Vec<(EventId, WorkspaceId, Vec<EventId>)>,
) -> Result<Vec<EventId>, HubFederationError> {
    let mut by_workspace: BTreeMap<WorkspaceId, Vec<(EventId, Vec<EventId>)>> = BTreeMap::new();
    for (line, workspace, sources) in lines {
        by_workspace
            .entry(workspace)
            .or_default()
            .push((line, sources));
    }
    let mut gone = Vec::new();
    for (workspace, lines) in by_workspace {
        // A removed workspace can be restored, and its entries were withdrawn.
        let Ok(mut tx) = database.begin_log(organization, workspace).await else {
            continue;
        };
        let sources: Vec<EventId> = lines.iter().flat_map(|(_, it)| it).copied().collect();
        let redacted = tx.redacted_ids(&sources).await?;
        let is_due = |sources: &[EventId]| sources.iter().any(|it| redacted.contains(it));
        let due = lines.iter().filter(|(_, sources)| is_due(sources));
        gone.extend(due.map(|(line, _)| *line));
    }
    Ok(gone)
}

/// Adds the entries of one workspace to a review.
async fn review_workspace(
    session: &mut WorkspaceSession,
    publication: &PublicationRow,
    review: &mut HubPublicationReview,
) -> Result<(), HubFederationError> {
    let publisher = parse_publisher(&publication.publisher)?;
    let workspace = session.tx.workspace_id();
    for entry in session
        .tx
        .published_entries()
        .await
        .map_err(ServiceError::from)?
    {
        match barrier(session, &entry, &publication.policy).await? {
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
                let history = session.load_entry_events(entry.id).await?;
                let is_approved = artifact.is_approved(&history);
                let sources = wording_sources(&entry);
                let days = history.iter().filter(|it| sources.contains(&it.id));
                // Of the events, not of the update: the same words have the same day everywhere.
                let day = days.map(|it| it.at.wall.date()).max().unwrap_or_default();
                let list = if is_approved {
                    &mut review.approved
                } else {
                    &mut review.waiting
                };
                list.push(HubWaitingExport {
                    workspace,
                    entry,
                    artifact,
                    sources,
                    day,
                });
            }
        }
    }
    Ok(())
}

/// Returns the reason why an entry does not leave: the policy, or the guard.
async fn barrier(
    session: &mut WorkspaceSession,
    entry: &Entry,
    policy: &ExportPolicy,
) -> Result<Option<ExportBarrier>, HubFederationError> {
    let facts = EntryFacts::from_entry(entry, None, session.now);
    let first = export_barrier(entry, &facts, None, policy);
    if first.is_some() {
        return Ok(first);
    }
    let state = session.workspace().await?;
    let against = session.load_opponents(entry, &state).await?.pop_first();
    if let Some(why) = export_barrier(entry, &facts, against, policy) {
        return Ok(Some(why));
    }
    // Sources that came from elsewhere, whatever their copies claim.
    let sources = entry.created.iter().flat_map(|it| &it.promoted_from);
    let sources: Vec<EntryId> = sources.copied().collect();
    let sources = session.tx.entries(&sources).await;
    for source in sources.map_err(ServiceError::from)? {
        let origin = source.created.as_ref().map(|it| it.origin);
        if matches!(origin, Some(Origin::Peer | Origin::Web)) {
            return Ok(Some(ExportBarrier::Foreign));
        }
    }
    let refused = session.services.guard.refuses_entry(entry);
    Ok(refused.then(|| ExportBarrier::Word("(refused by the guard)".to_owned())))
}

async fn find_publication(
    database: &HubDatabase,
    organization: OrganizationId,
    name: &str,
) -> Result<PublicationRow, HubFederationError> {
    let mut tx = database.begin_organization(organization).await?;
    let found = tx.publication(name, false).await?;
    tx.rollback().await?;
    found.ok_or_else(|| HubFederationError::NoPublication(name.to_owned()))
}

async fn all_workspaces(
    database: &HubDatabase,
    organization: OrganizationId,
) -> Result<Vec<WorkspaceId>, HubFederationError> {
    let caller = operator_caller(organization, carrier());
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = list_workspaces(database, &caller, after.as_ref(), WORKSPACES_PER_PAGE).await?;
        let is_last = page.len() < WORKSPACES_PER_PAGE as usize;
        all.extend(page.iter().map(|it| it.id));
        after = page.last().map(|it| it.name.clone());
        if is_last {
            return Ok(all);
        }
    }
}

async fn begin_session(
    database: &HubDatabase,
    services: &ServiceContext,
    organization: OrganizationId,
    workspace: WorkspaceId,
) -> Result<WorkspaceSession, HubFederationError> {
    let caller = operator_caller(organization, carrier());
    Ok(WorkspaceSession::begin(database, services, caller, workspace).await?)
}

/// Returns the caller of an operator's command.
fn operator_caller(organization: OrganizationId, actor: Actor) -> AuthenticatedCaller {
    AuthenticatedCaller {
        organization,
        actor,
        role: Role::Admin,
        workspace_roles: WorkspaceRoles::default(),
        workspaces: None,
        token: None,
        address: None,
    }
}

fn card_of(publication: &PublicationRow) -> Result<PublicationCard, HubFederationError> {
    let policy = &publication.policy;
    Ok(PublicationCard::new(
        parse_publisher(&publication.publisher)?,
        publication.name.clone(),
        publication.key.clone(),
        (policy.license.clone(), policy.relay),
    ))
}

/// Parses `EPOCH/NUMBER.json`.
fn parse_batch_path(path: &str) -> Option<(u64, u64)> {
    let (epoch, number) = path.strip_suffix(BATCH_SUFFIX)?.split_once('/')?;
    Some((epoch.parse().ok()?, number.parse().ok()?))
}

fn to_line(value: &impl Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(StoreError::damaged)?;
    Ok(text + "\n")
}
