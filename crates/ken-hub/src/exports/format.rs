//! Formats of exported audit records: JSON lines, CloudEvents 1.0 and syslog (RFC 5424).

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::config::{AuditExportFormat, ExportSelection};
use crate::database::audit::{AuditAction, AuditRecord, OUTCOME_DONE};
use crate::database::audit_chain::ChainedRecord;
use crate::database::audit_checkpoints::AuditCheckpoint;
use crate::ids::OrganizationId;

/// Facility "log audit" of syslog with the severities "notice" and "warning".
const PRIORITY_NOTICE: u8 = 13 * 8 + 5;
const PRIORITY_WARNING: u8 = 13 * 8 + 4;

/// Maximum size of a syslog message in bytes; a datagram has at most 65,507.
const SYSLOG_BYTES_MAX: usize = 60_000;

/// Maximum length of a message's id in syslog.
const SYSLOG_ID_MAX: usize = 32;

/// Media type of a CloudEvent.
const CLOUDEVENTS_TYPE: &str = "application/cloudevents+json; charset=utf-8";

/// Media type of JSON.
const JSON_TYPE: &str = "application/json";

/// JSON view of a record of the audit log.
#[derive(Serialize)]
struct ExportedRecord<'a> {
    schema: &'static str,
    organization: String,
    /// Id of the workspace, or of the organization.
    chain: String,
    number: u64,
    digest: String,
    id: String,
    at: String,
    by: &'a str,
    role: &'a str,
    act: &'a str,
    subject: &'a str,
    outcome: &'a str,
    token: Option<String>,
    address: Option<&'a str>,
    events: Vec<String>,
    event_count: u64,
    authors: &'a [String],
    entries: &'a [String],
}

/// A record or checkpoint, ready to be formatted.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportMessage {
    /// Unique and the same in every attempt.
    pub id: String,
    /// Name of the action.
    act: String,
    at: String,
    source: String,
    subject: String,
    is_done: bool,
    data: Value,
}

impl ExportMessage {
    /// Returns the message of a record; `None` if its row is gone, which a verification reports.
    #[must_use]
    pub fn of_record(organization: OrganizationId, chained: &ChainedRecord) -> Option<Self> {
        let record = chained.record.as_ref()?;
        let (chain, number) = (chained.chain, chained.number);
        let data = json!(ExportedRecord {
            schema: "ken.audit-record.v1",
            organization: organization.0.to_string(),
            chain: chain.to_string(),
            number,
            digest: chained.digest.to_string(),
            id: record.id.to_string(),
            at: record.at.to_string(),
            by: &record.by,
            role: &record.role,
            act: &record.act,
            subject: &record.subject,
            outcome: &record.outcome,
            token: record.token.map(|it| it.to_string()),
            address: record.address.as_deref(),
            events: record.events.iter().map(ToString::to_string).collect(),
            event_count: record.event_count,
            authors: &record.authors,
            entries: &record.entries,
        });
        Some(Self {
            id: record.id.to_string(),
            act: record.act.clone(),
            at: record.at.to_string(),
            source: source(organization, chain),
            subject: record.subject.clone(),
            is_done: record.outcome == OUTCOME_DONE,
            data,
        })
    }

    /// Returns the message of a signed checkpoint.
    #[must_use]
    pub fn of_checkpoint(
        organization: OrganizationId,
        number: u64,
        at: String,
        checkpoint: &AuditCheckpoint,
    ) -> Self {
        Self {
            // A checkpoint has no id of its own, but its number is the same in every attempt.
            id: format!("{}-checkpoint-{number}", organization.0),
            act: "audit.checkpoint".to_owned(),
            at,
            source: source(organization, organization.0),
            subject: number.to_string(),
            is_done: true,
            data: json!(checkpoint),
        }
    }

    /// Returns the message in one line without its end.
    #[must_use]
    pub fn line(&self, format: AuditExportFormat) -> String {
        match format {
            AuditExportFormat::JsonLines => self.data.to_string(),
            AuditExportFormat::Cloudevents => json!({
                "specversion": "1.0",
                "id": self.id,
                "source": self.source,
                "type": format!("ken.hub.audit.{}", self.act),
                "subject": self.subject,
                "time": self.at,
                "datacontenttype": JSON_TYPE,
                "data": self.data,
            })
            .to_string(),
        }
    }

    /// Returns the message as a syslog message of RFC 5424.
    #[must_use]
    pub fn syslog(&self, format: AuditExportFormat) -> String {
        let priority = if self.is_done {
            PRIORITY_NOTICE
        } else {
            PRIORITY_WARNING
        };
        // Host and process stay empty, because any process of the installation may deliver a
        // record.
        // RFC 5424 allows six digits of a second; Ken's times have three.
        let head = format!(
            "<{priority}>1 {} - ken-hub - {} - ",
            self.at,
            self.act.get(..SYSLOG_ID_MAX).unwrap_or(&self.act)
        );
        let line = self.line(format);
        if head.len() + line.len() <= SYSLOG_BYTES_MAX {
            return head + &line;
        }
        // Their number stays; the ids are in the audit log.
        let mut short = self.clone();
        if let Some(data) = short.data.as_object_mut() {
            for list in ["events", "authors", "entries"] {
                data.insert(list.to_owned(), json!([]));
            }
        }
        head + &short.line(format)
    }
}

/// Returns the media type of a webhook's body.
pub(super) fn media_type(format: AuditExportFormat) -> &'static str {
    match format {
        AuditExportFormat::JsonLines => JSON_TYPE,
        AuditExportFormat::Cloudevents => CLOUDEVENTS_TYPE,
    }
}

/// Returns whether a selection contains a record; an empty one contains all.
#[must_use]
pub fn selects(select: &[ExportSelection], record: &AuditRecord) -> bool {
    let has = |acts: &[AuditAction]| acts.iter().any(|act| act.name() == record.act);
    select.is_empty()
        || select.iter().any(|it| match it {
            ExportSelection::Quarantine => {
                record.outcome == "quarantined"
                    || has(&[
                        AuditAction::QuarantinedEventReleased,
                        AuditAction::QuarantinedEventDiscarded,
                        AuditAction::QuarantinedEntryReleased,
                        AuditAction::QuarantinedEntryDiscarded,
                    ])
            }
            ExportSelection::Revocation => has(&[
                AuditAction::TokenRevoked,
                AuditAction::SourceRevoked,
                AuditAction::EventRedacted,
            ]),
            ExportSelection::GateFailure => {
                record.outcome == "refused" || has(&[AuditAction::GatesFailed])
            }
        })
}

fn source(organization: OrganizationId, chain: Uuid) -> String {
    if organization.0 == chain {
        return format!("/organizations/{chain}");
    }
    format!("/organizations/{}/workspaces/{chain}", organization.0)
}
