//! The audit log: who did what, per organization and per workspace.
//!
//! Records contain no text of entries: a subject is an id or a name, and a token is named with its
//! role and actor. A record about events names their ids and authors, so the pusher of an event and
//! its author can be told apart.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ken_core::ledger::event::{Event, EventBody};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row as _};
use uuid::Uuid;

use super::{
    DatabaseError, OrganizationTx, WorkspaceTx, event_id, event_uuid, millis, timestamp,
    without_nul,
};
use crate::clock::new_uuid_at;
use crate::ids::Role;

/// Maximum number of event ids in a record: those of the largest push.
const EVENT_IDS_MAX: usize = 1_000;

/// Maximum number of authors, and of entries, in a record.
const NAMES_MAX: usize = 100;

/// Outcome of an action that was carried out.
pub const OUTCOME_DONE: &str = "done";

/// Actor and role of what the hub does by itself.
const HUB: &str = "hub";

/// Actor of an audit record.
#[derive(Clone, Copy, Debug)]
pub enum AuditActor<'a> {
    Caller {
        actor: &'a Actor,
        role: Role,
        /// Id of the caller's token, if it has one.
        token: Option<Uuid>,
        address: Option<IpAddr>,
    },
    /// The operator, who has access to the database, and the name they gave, if any.
    Operator(Option<&'a Actor>),
    /// The hub itself, in the background.
    Hub,
}

impl AuditActor<'_> {
    /// Returns the name of the actor's role.
    #[must_use]
    pub fn role(self) -> &'static str {
        match self {
            Self::Caller { role, .. } => role.name(),
            // A name that an operator gives proves nothing, so the record must not look like that
            // of an admin's token.
            Self::Operator(_) => "operator",
            Self::Hub => HUB,
        }
    }
}

impl fmt::Display for AuditActor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller { actor, .. } | Self::Operator(Some(actor)) => actor.fmt(f),
            Self::Operator(None) => f.write_str("operator"),
            Self::Hub => f.write_str(HUB),
        }
    }
}

/// Action of an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    OrganizationCreated,
    OrganizationRenamed,
    OrganizationRemoved,
    OrganizationRestored,
    /// The grace period of a removed organization was ended.
    OrganizationPurged,
    OrganizationErased,
    /// The database was restored from a backup, and an operator accepted it.
    RestoreAccepted,
    QuotaChanged,
    SignersChanged,
    WorkspaceCreated,
    WorkspaceEvicted,
    WorkspaceRebuilt,
    WorkspaceRenamed,
    WorkspaceRemoved,
    WorkspaceRestored,
    /// The grace period of a removed workspace was ended.
    WorkspacePurged,
    WorkspaceErased,
    TokenCreated,
    TokenRotated,
    TokenRevoked,
    /// A person signed in in a browser.
    SignedIn,
    /// A person signed out, or an admin ended their sign-ins.
    SignedOut,
    /// Who is responsible for an account was changed.
    AccountChanged,
    /// An account was blocked: its tokens and sign-ins ended.
    AccountBlocked,
    AccountUnblocked,
    /// A person confirmed a device that asked for a token, or refused it.
    DeviceDecided,
    /// An admin exported records of this log.
    AuditExported,
    /// Events written elsewhere were pushed.
    EventsPushed,
    /// The hub wrote events for a caller, through REST or MCP.
    EventsRecorded,
    /// The hub wrote the redaction of an event for a caller.
    EventRedacted,
    /// The hub wrote the revocation of an author or origin for a caller, or its end.
    SourceRevoked,
    QuarantinedEventReleased,
    QuarantinedEventDiscarded,
    EntryApproved,
    EntryRejected,
    QuarantinedEntryReleased,
    QuarantinedEntryDiscarded,
    /// A request was refused because of the caller's role.
    RequestRefused,
    /// A verification found errors.
    GatesFailed,
    RetentionChanged,
    /// A retention rule deleted or redacted something.
    RetentionApplied,
    /// A legal hold was placed.
    HoldPlaced,
    HoldReleased,
    /// A person was listed under an id.
    PersonAdded,
    /// A person's names were erased.
    PersonForgotten,
    /// It was set whether people who sign in are listed.
    PeopleChanged,
    PublicationCreated,
    PublicationUpdated,
    PublicationClosed,
    /// A person let the words of entries out.
    ExportApproved,
    PeerAdded,
    PeerSuspended,
    PeerResumed,
    /// The weight of a peer was limited.
    PeerLimited,
    PeerRemoved,
    PeerEntriesApproved,
    PeerEntriesRejected,
    /// A person said whether an entry of a peer held.
    PeerRated,
}

/// Events that a record is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditedEvents {
    ids: Vec<Uuid>,
    count: usize,
    authors: BTreeSet<String>,
    entries: BTreeSet<String>,
}

/// A record of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub id: Uuid,
    pub at: Timestamp,
    pub by: String,
    pub role: String,
    pub act: String,
    pub subject: String,
    /// Id of the caller's token.
    pub token: Option<Uuid>,
    pub address: Option<String>,
    /// [`OUTCOME_DONE`], or the kind of refusal.
    pub outcome: String,
    /// Ids of the events, at most `EVENT_IDS_MAX`.
    pub events: Vec<EventId>,
    /// Number of the events, listed or not.
    pub event_count: u64,
    /// Authors of the events.
    pub authors: Vec<String>,
    /// Entries that the events are about.
    pub entries: Vec<String>,
}

/// A record to add to the audit log.
#[derive(Clone, Debug)]
pub struct NewAuditRecord {
    by: String,
    role: &'static str,
    act: AuditAction,
    subject: String,
    token: Option<Uuid>,
    address: Option<IpAddr>,
    outcome: &'static str,
    events: AuditedEvents,
}

/// Selects records of the audit log; `None` selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Actor that performed the action.
    pub by: Option<String>,
    /// Name of the action, such as `events.pushed`.
    pub act: Option<String>,
    pub outcome: Option<String>,
    pub since: Option<Timestamp>,
    /// Exclusive.
    pub until: Option<Timestamp>,
    pub token: Option<Uuid>,
    pub event: Option<EventId>,
    pub entry: Option<EntryId>,
}

impl AuditAction {
    /// Returns the action of a caller for whom the hub wrote `body`.
    pub(crate) fn of_recorded(body: &EventBody) -> Self {
        if matches!(body, EventBody::EventBlanked(_)) {
            Self::EventRedacted
        } else if matches!(body, EventBody::OriginRevoked(_)) {
            Self::SourceRevoked
        } else {
            Self::EventsRecorded
        }
    }

    /// Returns the action's name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        // Names are stored in the database, so they stay the same when the API renames a concept.
        match self {
            Self::OrganizationCreated => "organization.created",
            Self::OrganizationRenamed => "organization.renamed",
            Self::OrganizationRemoved => "organization.removed",
            Self::OrganizationRestored => "organization.restored",
            Self::OrganizationPurged => "organization.purged",
            Self::OrganizationErased => "organization.erased",
            Self::RestoreAccepted => "restore.accepted",
            Self::QuotaChanged => "quota.changed",
            Self::SignersChanged => "signers.changed",
            Self::WorkspaceCreated => "workspace.created",
            Self::WorkspaceEvicted => "workspace.evicted",
            Self::WorkspaceRebuilt => "workspace.rebuilt",
            Self::WorkspaceRenamed => "workspace.renamed",
            Self::WorkspaceRemoved => "workspace.removed",
            Self::WorkspaceRestored => "workspace.restored",
            Self::WorkspacePurged => "workspace.purged",
            Self::WorkspaceErased => "workspace.erased",
            Self::TokenCreated => "token.created",
            Self::TokenRotated => "token.rotated",
            Self::TokenRevoked => "token.revoked",
            Self::SignedIn => "person.signed_in",
            Self::SignedOut => "person.signed_out",
            Self::AccountChanged => "account.changed",
            Self::AccountBlocked => "account.blocked",
            Self::AccountUnblocked => "account.unblocked",
            Self::DeviceDecided => "device.decided",
            Self::AuditExported => "audit.exported",
            Self::EventsPushed => "events.pushed",
            Self::EventsRecorded => "events.recorded",
            Self::EventRedacted => "event.redacted",
            Self::SourceRevoked => "source.revoked",
            Self::QuarantinedEventReleased => "held.released",
            Self::QuarantinedEventDiscarded => "held.discarded",
            Self::EntryApproved => "entry.approved",
            Self::EntryRejected => "entry.rejected",
            Self::QuarantinedEntryReleased => "quarantine.lifted",
            Self::QuarantinedEntryDiscarded => "quarantine.discarded",
            Self::RequestRefused => "request.refused",
            Self::GatesFailed => "gates.failed",
            Self::RetentionChanged => "retention.changed",
            Self::RetentionApplied => "retention.applied",
            Self::HoldPlaced => "hold.placed",
            Self::HoldReleased => "hold.released",
            Self::PersonAdded => "person.added",
            Self::PersonForgotten => "person.forgotten",
            Self::PeopleChanged => "people.changed",
            Self::PublicationCreated => "publication.created",
            Self::PublicationUpdated => "publication.updated",
            Self::PublicationClosed => "publication.closed",
            Self::ExportApproved => "export.approved",
            Self::PeerAdded => "peer.added",
            Self::PeerSuspended => "peer.suspended",
            Self::PeerResumed => "peer.resumed",
            Self::PeerLimited => "peer.limited",
            Self::PeerRemoved => "peer.removed",
            Self::PeerEntriesApproved => "peer.approved",
            Self::PeerEntriesRejected => "peer.rejected",
            Self::PeerRated => "peer.rated",
        }
    }
}

impl AuditedEvents {
    /// Returns the ids, authors and entries of `events`.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut audited = Self::default();
        for event in events {
            audited.count += 1;
            if audited.ids.len() < EVENT_IDS_MAX {
                audited.ids.push(event_uuid(event.id));
            }
            if audited.authors.len() < NAMES_MAX {
                audited.authors.insert(without_nul(&event.by.to_string()));
            }
            for entry in event.entries() {
                if audited.entries.len() < NAMES_MAX {
                    audited.entries.insert(entry.to_string());
                }
            }
        }
        audited
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for AuditedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str("1 event"),
            count => write!(f, "{count} events"),
        }
    }
}

impl NewAuditRecord {
    /// Returns the record of an action on `subject`.
    pub fn new(who: AuditActor<'_>, act: AuditAction, subject: &dyn fmt::Display) -> Self {
        let (token, address) = match who {
            AuditActor::Caller { token, address, .. } => (token, address),
            AuditActor::Operator(_) | AuditActor::Hub => (None, None),
        };
        Self {
            by: who.to_string(),
            role: who.role(),
            act,
            subject: subject.to_string(),
            token,
            address,
            outcome: OUTCOME_DONE,
            events: AuditedEvents::default(),
        }
    }

    /// Returns the record with the events it is about.
    #[must_use]
    pub fn with_events(self, events: AuditedEvents) -> Self {
        Self { events, ..self }
    }

    /// Returns the record with another outcome than [`OUTCOME_DONE`].
    #[must_use]
    pub fn with_outcome(self, outcome: &'static str) -> Self {
        Self { outcome, ..self }
    }

    async fn write(
        self,
        connection: &mut PgConnection,
        key: Uuid,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let insert = sqlx::query(
            "INSERT INTO ken.audit (workspace_id, at, id, by, role, act, subject, token_id, address,
                 outcome, events, event_count, authors, entries)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        );
        let insert = insert.bind(key).bind(millis(now));
        bind_record(insert, Some(&self), now)
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// Binds the columns from `id` to `entries`; nulls without a record.
pub(crate) fn bind_record<'q>(
    query: Query<'q, Postgres, PgArguments>,
    record: Option<&NewAuditRecord>,
    now: Timestamp,
) -> Query<'q, Postgres, PgArguments> {
    let events = record.map(|it| &it.events).filter(|it| !it.is_empty());
    let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
    query
        .bind(record.map(|_| new_uuid_at(now)))
        .bind(record.map(|it| without_nul(&it.by)))
        .bind(record.map(|it| it.role))
        .bind(record.map(|it| it.act.name()))
        .bind(record.map(|it| without_nul(&it.subject)))
        .bind(record.and_then(|it| it.token))
        .bind(record.and_then(|it| it.address).map(|it| it.to_string()))
        .bind(record.map(|it| it.outcome))
        .bind(events.map(|it| it.ids.clone()))
        .bind(events.map(|it| i64::try_from(it.count).unwrap_or(i64::MAX)))
        .bind(events.map(|it| names(&it.authors)))
        .bind(events.map(|it| names(&it.entries)))
}

impl OrganizationTx {
    /// Adds a record about the organization to the audit log.
    pub async fn audit(
        &mut self,
        by: impl Into<AuditActor<'_>>,
        act: AuditAction,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        self.add_audit_record(NewAuditRecord::new(by.into(), act, &subject))
            .await
    }

    /// Adds a prepared record about the organization to the audit log.
    pub async fn add_audit_record(&mut self, record: NewAuditRecord) -> Result<(), DatabaseError> {
        let (key, now) = (self.id().0, self.now());
        record.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` audit records about the organization before `before`, latest first.
    pub async fn list_audit_records(
        &mut self,
        filter: &AuditFilter,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let key = self.id().0;
        list_audit_records(self.connection(), key, filter, (before, limit)).await
    }
}

impl WorkspaceTx {
    /// Adds a record about this workspace to the audit log.
    pub async fn audit(
        &mut self,
        by: impl Into<AuditActor<'_>>,
        act: AuditAction,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        self.add_audit_record(NewAuditRecord::new(by.into(), act, &subject))
            .await
    }

    /// Adds a prepared record about this workspace to the audit log.
    pub async fn add_audit_record(&mut self, record: NewAuditRecord) -> Result<(), DatabaseError> {
        let (key, now) = (self.key(), self.now());
        record.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` audit records about this workspace before `before`, latest first.
    pub async fn list_audit_records(
        &mut self,
        filter: &AuditFilter,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let key = self.key();
        list_audit_records(self.read_connection(), key, filter, (before, limit)).await
    }
}

async fn list_audit_records(
    connection: &mut PgConnection,
    key: Uuid,
    filter: &AuditFilter,
    (before, limit): (Option<Uuid>, u32),
) -> Result<Vec<AuditRecord>, DatabaseError> {
    let query =
        "SELECT id, at, by, role, act, subject, token_id, address, outcome, events, event_count,
             authors, entries
         FROM ken.audit
         WHERE workspace_id = $1 AND id < $2
           AND ($4::text IS NULL OR by = $4) AND ($5::text IS NULL OR act = $5)
           AND ($6::text IS NULL OR coalesce(outcome, 'done') = $6)
           AND ($7::bigint IS NULL OR $7 <= at) AND ($8::bigint IS NULL OR at < $8)
           AND ($9::uuid IS NULL OR token_id = $9)
           AND ($10::uuid IS NULL OR $10 = ANY (events) OR subject = $11)
           AND ($12::text IS NULL OR $12 = ANY (entries) OR subject = $12)
         ORDER BY id DESC LIMIT $3";
    let event = filter.event;
    let rows = sqlx::query(query)
        .bind(key)
        // Record ids are UUIDs of version 7, so their order is the order of time.
        .bind(before.unwrap_or(Uuid::max()))
        .bind(i64::from(limit))
        .bind(filter.by.as_deref().map(without_nul))
        .bind(filter.act.as_deref().map(without_nul))
        .bind(filter.outcome.as_deref().map(without_nul))
        .bind(filter.since.map(millis))
        .bind(filter.until.map(millis))
        .bind(filter.token)
        .bind(event.map(event_uuid))
        .bind(event.map(|id| id.to_string()))
        .bind(filter.entry.map(|id| id.to_string()))
        .fetch_all(connection)
        .await?;
    rows.iter().map(record_from_row).collect()
}

/// Columns of a record, in the order that [`record_from_row`] reads them.
pub(super) fn record_from_row(row: &PgRow) -> Result<AuditRecord, DatabaseError> {
    let outcome: Option<String> = row.try_get(8)?;
    let events: Option<Vec<Uuid>> = row.try_get(9)?;
    let count: Option<i64> = row.try_get(10)?;
    let names = |at: usize| -> Result<Vec<String>, sqlx::Error> {
        Ok(row.try_get::<Option<_>, _>(at)?.unwrap_or_default())
    };
    Ok(AuditRecord {
        id: row.try_get(0)?,
        at: timestamp(row.try_get(1)?),
        by: row.try_get(2)?,
        role: row.try_get(3)?,
        act: row.try_get(4)?,
        subject: row.try_get(5)?,
        token: row.try_get(6)?,
        address: row.try_get(7)?,
        outcome: outcome.unwrap_or_else(|| OUTCOME_DONE.to_owned()),
        events: events.into_iter().flatten().map(event_id).collect(),
        event_count: count.unwrap_or_default().unsigned_abs(),
        authors: names(11)?,
        entries: names(12)?,
    })
}
