//! Execution of `ken hub audit`: list, verify, export, checkpoints and the state of exports.

use std::path::Path;

use ken_hub::administration::{Administration, ExportListing};
use ken_hub::config::{AuditExportFormat, AuditPublicKey, AuditSigningKey};
use ken_hub::database::audit_checkpoints::{AuditCheckpoint, AuditVerification};
use ken_hub::exports::format::ExportMessage;
use serde::Serialize;

use crate::commands::Session;
use crate::commands::hub::administer::{Done, attempt};
use crate::commands::hub::audit::{
    self, AuditArgs, AuditCheckpointsArgs, AuditCommand, AuditExportArgs, AuditExportsArgs,
    AuditShapeArg, AuditVerifyArgs,
};
use crate::commands::hub::output;
use crate::failure::CommandFailure;
use crate::print::{BOLD, DIM, TableCell, TextTable, WARN, pluralize};

/// JSON view of a verification.
#[derive(Serialize)]
struct VerificationObject {
    schema: &'static str,
    passes: bool,
    chains: u64,
    records: u64,
    checkpoints: u64,
    /// Whether signatures of checkpoints were verified.
    signed: bool,
    problem_count: u64,
    problems: Vec<ProblemObject>,
}

/// JSON view of a problem.
#[derive(Serialize)]
struct ProblemObject {
    kind: &'static str,
    chain: String,
    number: u64,
}

/// JSON view of an export.
#[derive(Serialize)]
struct ExportObject<'a> {
    schema: &'static str,
    name: &'a str,
    attempts: u32,
    next_at: Option<String>,
    last_error: Option<&'a str>,
    dead_letter_count: u64,
    /// The oldest ones.
    dead_letters: Vec<DeadLetterObject<'a>>,
}

/// JSON view of a record that an export gave up on.
#[derive(Serialize)]
struct DeadLetterObject<'a> {
    chain: String,
    number: u64,
    at: String,
    error: &'a str,
}

/// JSON view of a repeated delivery.
#[derive(Serialize)]
struct RetriedObject<'a> {
    schema: &'static str,
    name: &'a str,
    records: u64,
}

pub(in crate::commands::hub) async fn run(
    session: &mut Session<'_>,
    hub: &Administration,
    args: &AuditArgs,
) -> Done {
    match &args.command {
        Some(AuditCommand::Verify(args)) => verify(session, hub, args).await,
        Some(AuditCommand::Export(args)) => export(session, hub, args).await,
        Some(AuditCommand::Checkpoints(args)) => checkpoints(session, hub, args).await,
        Some(AuditCommand::Exports(args)) => exports(session, hub, args).await,
        None => {
            let list = &args.list;
            let organization = list.organization.as_deref().unwrap_or_default();
            let workspace = list.workspace.as_deref();
            let filter = audit::filter(list);
            let records = hub.audit_records(organization, workspace, &filter, list.limit);
            audit::print(session, &attempt!(records.await))?;
            Ok(Ok(()))
        }
    }
}

async fn verify(session: &mut Session<'_>, hub: &Administration, args: &AuditVerifyArgs) -> Done {
    let key = args.public_key.as_deref().map(|path| {
        let text = read(path)?;
        AuditPublicKey::from_pem(&text).map_err(|e| wrong_file(path, &e))
    });
    let key = key.transpose()?;
    let copies = args.checkpoints.as_deref().map(|path| {
        let text = read(path)?;
        let lines = text.lines().filter(|it| !it.trim().is_empty());
        let parsed = lines.map(serde_json::from_str::<AuditCheckpoint>);
        parsed
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| wrong_file(path, &e))
    });
    let copies = copies.transpose()?.unwrap_or_default();
    let verifying = hub.verify_audit(&args.organization, key.as_ref(), &copies);
    let verified = attempt!(verifying.await);
    print_verification(session, &verified)?;
    if verified.problem_count == 0 {
        return Ok(Ok(()));
    }
    let problems = pluralize(verified.problem_count, "problem", "problems");
    let message = format!("the audit log of `{}` has {problems}", args.organization);
    Err(CommandFailure::refused("audit", message).with_hint(
        "compare it with a backup or with what was exported; see docs/guides/audit-a-hub.md",
    ))
}

fn print_verification(
    session: &mut Session<'_>,
    verified: &AuditVerification,
) -> Result<(), CommandFailure> {
    let problems = verified.problems.iter();
    if session.is_json() {
        return session.printer.json(&VerificationObject {
            schema: "ken.hub.audit-verification.v1",
            passes: verified.problem_count == 0,
            chains: verified.chains,
            records: verified.records,
            checkpoints: verified.checkpoints,
            signed: verified.is_signed,
            problem_count: verified.problem_count,
            problems: problems
                .map(|it| ProblemObject {
                    kind: it.kind.name(),
                    chain: it.chain.to_string(),
                    number: it.number,
                })
                .collect(),
        });
    }
    for problem in problems {
        session
            .printer
            .line(format_args!("{}: {problem}", problem.chain))?;
    }
    let records = pluralize(verified.records, "record", "records");
    let chains = pluralize(verified.chains, "chain", "chains");
    let checkpoints = pluralize(verified.checkpoints, "checkpoint", "checkpoints");
    let state = if verified.problem_count == 0 {
        "verified"
    } else {
        "read"
    };
    session
        .printer
        .talk(format_args!("{state} {records} in {chains}, {checkpoints}"))?;
    if verified.is_signed {
        return Ok(());
    }
    session.printer.hint(
        "without checkpoints and `--public-key`, a log that was computed anew as a whole passes",
    )
}

async fn export(session: &mut Session<'_>, hub: &Administration, args: &AuditExportArgs) -> Done {
    let format = match args.shape {
        AuditShapeArg::JsonLines => AuditExportFormat::JsonLines,
        AuditShapeArg::Cloudevents => AuditExportFormat::Cloudevents,
    };
    let log = attempt!(hub.audit_chains(&args.organization).await);
    let mut count = 0;
    for chain in log.chains {
        let mut last = 0;
        loop {
            let page = attempt!(hub.chained_records(log.organization, chain, last).await);
            let Some(end) = page.last() else {
                break;
            };
            last = end.number;
            let messages = page
                .iter()
                .filter_map(|it| ExportMessage::of_record(log.organization, it));
            for message in messages {
                session.printer.line(message.line(format))?;
                count += 1;
            }
        }
    }
    if !session.is_json() {
        let records = pluralize(count, "record", "records");
        session.printer.talk(format_args!("exported {records}"))?;
    }
    Ok(Ok(()))
}

async fn checkpoints(
    session: &mut Session<'_>,
    hub: &Administration,
    args: &AuditCheckpointsArgs,
) -> Done {
    let key = args.sign.as_deref().map(|path| {
        let text = read(path)?;
        AuditSigningKey::from_pem(&text).map_err(|e| wrong_file(path, &e))
    });
    let key = key.transpose()?;
    let found = hub.audit_checkpoints(&args.organization, key.as_ref());
    let found = attempt!(found.await);
    for checkpoint in &found {
        session.printer.json(checkpoint)?;
    }
    if !session.is_json() {
        let count = pluralize(found.len() as u64, "checkpoint", "checkpoints");
        session.printer.talk(count)?;
    }
    Ok(Ok(()))
}

async fn exports(session: &mut Session<'_>, hub: &Administration, args: &AuditExportsArgs) -> Done {
    if let Some(name) = &args.retry {
        let records = attempt!(hub.retry_export(&args.organization, name).await);
        if session.is_json() {
            let schema = "ken.hub.export-retried.v1";
            session.printer.json(&RetriedObject {
                schema,
                name,
                records,
            })?;
            return Ok(Ok(()));
        }
        let records = pluralize(records, "record", "records");
        session
            .printer
            .talk(format_args!("`{name}` tries {records} again"))?;
        return Ok(Ok(()));
    }
    let listed = attempt!(hub.exports(&args.organization).await);
    print_exports(session, &listed)?;
    Ok(Ok(()))
}

fn print_exports(
    session: &mut Session<'_>,
    listed: &[ExportListing],
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return listed.iter().try_for_each(|it| {
            let letters = it.dead_letters.iter();
            session.printer.json(&ExportObject {
                schema: "ken.hub.export.v1",
                name: &it.state.name,
                attempts: it.state.attempts,
                next_at: it.state.next_at.map(|at| at.to_string()),
                last_error: it.state.last_error.as_deref(),
                dead_letter_count: it.state.dead_letters,
                dead_letters: letters
                    .map(|it| DeadLetterObject {
                        chain: it.chain.to_string(),
                        number: it.number,
                        at: it.at.to_string(),
                        error: &it.error,
                    })
                    .collect(),
            })
        });
    }
    if listed.is_empty() {
        session.printer.talk("no export ran for the organization")?;
        return session
            .printer
            .hint("`ken serve --exports-file FILE` starts them; see docs/guides/audit-a-hub.md");
    }
    let heads = [
        "EXPORT",
        "FAILED ATTEMPTS",
        "DEAD LETTERS",
        "LAST ERROR",
        "NEXT",
    ];
    let mut table = TextTable::new(&heads, 3);
    for ExportListing { state, .. } in listed {
        let next = state.next_at.map(|at| at.to_string()).unwrap_or_default();
        table.push(vec![
            TableCell::styled(BOLD, state.name.as_str()),
            state.attempts.to_string().into(),
            TableCell::styled(WARN, state.dead_letters.to_string()),
            state.last_error.clone().unwrap_or_default().into(),
            TableCell::styled(DIM, next),
        ]);
    }
    output::print(session, &table)?;
    for ExportListing {
        state,
        dead_letters,
    } in listed
    {
        for letter in dead_letters {
            session.printer.line(format_args!(
                "{}: gave up on record {} of {} at {}: {}",
                state.name, letter.number, letter.chain, letter.at, letter.error
            ))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CommandFailure> {
    let shown = format!("cannot read `{}`", path.display());
    std::fs::read_to_string(path).map_err(|e| CommandFailure::io(&shown, &e))
}

fn wrong_file(path: &Path, error: &impl std::fmt::Display) -> CommandFailure {
    CommandFailure::usage(format_args!("`{}`: {error}", path.display()))
}
