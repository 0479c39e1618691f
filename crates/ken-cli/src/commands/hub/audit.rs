//! `ken hub audit`: lists, verifies and exports the audit log of an organization.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::{Date, Timestamp};

/// `ken hub audit`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  ken hub audit acme\n  ken hub audit acme payments --act events.pushed --actor human:ada@example.org\n  ken hub audit acme payments --entry L-7k2f5qm3 --since 2026-01-31"
)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    #[command(flatten)]
    pub(crate) list: AuditListArgs,
}

/// `ken hub audit …`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no record was removed, altered or reordered
    Verify(AuditVerifyArgs),
    /// Print the whole audit log, a record per line
    Export(AuditExportArgs),
    /// Print the signed checkpoints, one per line
    Checkpoints(AuditCheckpointsArgs),
    /// Show what `ken serve --exports-file` delivered, and records it gave up on
    Exports(AuditExportsArgs),
}

/// Text below the options of `ken hub audit verify --help`.
const VERIFY_HELP: &str = "\
Example:
  ken hub audit verify acme --public-key audit.pub --checkpoints checkpoints.jsonl

Each record has a number and a digest that covers the record and the digest before it. Whoever can
write to the database can compute digests anew, but cannot sign: keep copies of the checkpoints
elsewhere and give them here. Exits with 1 if something is wrong.";

/// `ken hub audit verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct AuditVerifyArgs {
    /// The organization
    pub(crate) organization: String,
    /// Public key of the checkpoints (Ed25519 in PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) public_key: Option<PathBuf>,
    /// Copies of checkpoints, as printed by `ken hub audit checkpoints`
    #[arg(long, value_name = "FILE", requires = "public_key")]
    pub(crate) checkpoints: Option<PathBuf>,
}

/// `ken hub audit export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken hub audit export acme > audit.jsonl\n  ken hub audit export acme --as cloudevents > audit.jsonl"
)]
pub(crate) struct AuditExportArgs {
    /// The organization
    pub(crate) organization: String,
    /// Format of a record
    #[arg(long = "as", value_name = "FORMAT", default_value = "json-lines")]
    pub(crate) shape: AuditShapeArg,
}

/// Format of exported records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditShapeArg {
    JsonLines,
    Cloudevents,
}

/// `ken hub audit checkpoints`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken hub audit checkpoints acme --sign audit.key >> checkpoints.jsonl"
)]
pub(crate) struct AuditCheckpointsArgs {
    /// The organization
    pub(crate) organization: String,
    /// Sign a new one first, if the log grew, with this private key (Ed25519 in PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
}

/// `ken hub audit exports`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken hub audit exports acme\n  ken hub audit exports acme --retry siem"
)]
pub(crate) struct AuditExportsArgs {
    /// The organization
    pub(crate) organization: String,
    /// Let the hubs try the records again that this export gave up on
    #[arg(long, value_name = "EXPORT")]
    pub(crate) retry: Option<String>,
}

/// Selects records to list.
#[derive(Debug, Args)]
pub(crate) struct AuditListArgs {
    /// The organization
    #[arg(required = true)]
    pub(crate) organization: Option<String>,
    /// A workspace [default: records about the organization itself]
    pub(crate) workspace: Option<String>,
    /// Actor that performed the action
    #[arg(long, value_name = "ACTOR")]
    pub(crate) actor: Option<Actor>,
    /// Action, such as events.pushed or token.created
    #[arg(long, value_name = "ACTION")]
    pub(crate) act: Option<String>,
    /// Outcome: done, refused, quarantined, forbidden, quota or failed
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<String>,
    /// Earliest day or time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// Day or time before which the records were written
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Timestamp>,
    /// Id of an event that the record is about
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<EventId>,
    /// Id of an entry that the record is about
    #[arg(long, value_name = "ENTRY")]
    pub(crate) entry: Option<EntryId>,
    /// Maximum number of records
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

/// Parses a time, or a day as its first moment.
fn time(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<Date>().map(|day| format!("{day}T00:00:00Z"));
    let text = day.unwrap_or_else(|_| text.to_owned());
    text.parse()
        .map_err(|_| "expected a time such as 2026-01-31 or 2026-01-31T08:00:00Z".to_owned())
}

#[cfg(feature = "hub")]
pub(super) use execution::{filter, print};

#[cfg(feature = "hub")]
mod execution {
    use ken_hub::database::audit::{AuditFilter, AuditRecord};
    use serde::Serialize;

    use super::AuditListArgs;
    use crate::commands::Session;
    use crate::commands::hub::output;
    use crate::failure::CommandFailure;
    use crate::print::{BOLD, DIM, TableCell, TextTable, pluralize};

    /// JSON view of a record.
    #[derive(Serialize)]
    struct AuditObject<'a> {
        schema: &'static str,
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

    /// Returns the filter of the arguments.
    pub(in crate::commands::hub) fn filter(args: &AuditListArgs) -> AuditFilter {
        AuditFilter {
            by: args.actor.as_ref().map(ToString::to_string),
            act: args.act.clone(),
            outcome: args.outcome.clone(),
            since: args.since,
            until: args.until,
            token: None,
            event: args.event,
            entry: args.entry,
        }
    }

    /// Prints records, latest first.
    pub(in crate::commands::hub) fn print(
        session: &mut Session<'_>,
        records: &[AuditRecord],
    ) -> Result<(), CommandFailure> {
        if session.is_json() {
            for record in records {
                session.printer.json(&AuditObject {
                    schema: "ken.hub.audit.v1",
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
                })?;
            }
            return Ok(());
        }
        if records.is_empty() {
            return session.printer.talk("no records match");
        }
        let heads = [
            "TIME", "BY", "ACTION", "SUBJECT", "OUTCOME", "TOKEN", "ADDRESS",
        ];
        let mut table = TextTable::new(&heads, 3);
        for record in records {
            let by_others = record.authors.iter().filter(|it| **it != record.by);
            let authors: Vec<&str> = by_others.map(String::as_str).collect();
            let subject = if authors.is_empty() {
                record.subject.clone()
            } else {
                format!("{} by {}", record.subject, authors.join(", "))
            };
            table.push(vec![
                record.at.to_string().into(),
                TableCell::styled(BOLD, record.by.as_str()),
                record.act.as_str().into(),
                subject.into(),
                record.outcome.as_str().into(),
                TableCell::styled(
                    DIM,
                    record.token.map(|it| it.to_string()).unwrap_or_default(),
                ),
                record.address.as_deref().unwrap_or_default().into(),
            ]);
        }
        output::print(session, &table)?;
        let count = pluralize(records.len() as u64, "record", "records");
        session.printer.talk(count)
    }
}
