//! `ken forage`: passages of documentation that answer a question, as a reading list with exact
//! places; with `--propose` also as quarantined entries.
//!
//! An agent is not shown what was found: it becomes visible to agents when a person releases it.

mod report;

use clap::{Args, Subcommand};
use ken_core::ledger::event::{DomainAction, ForageMode};
use ken_core::values::id::EntryId;
use ken_engine::Engine;
use ken_engine::forage::{
    ForageFinding, ForageOutcome, ForageQuestion, ForageReport, ForageRequest, ForageSetup,
    PASSAGES_DEFAULT, PASSAGES_MAX,
};
use serde::Serialize;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};
use crate::world::forage_home;

pub(crate) use report::{
    DomainStatusJson, ForageLogJson, ForageRecordJson, ForageStatusJson, describe_domain_decision,
    forage_domains, forage_log_objects, forage_setup, forage_status_object,
};

const FORAGE_EXAMPLES: &str = "\
Examples:
  ken forage \"How do I set a timeout?\"                      print passages with their places
  ken forage \"How do I set a timeout?\" --package requests   search one package
  ken forage \"How do I set a timeout?\" --propose            also propose them as entries
  ken forage --gaps                                         work off searches without an answer
  ken forage query \"How do I set a timeout?\"                what a search service would be sent
  ken forage domain distrust blog.example.org               forbid a host for everybody
  ken forage log                                            what was read or refused today

The forager is off until you create forage.toml in your configuration folder:
  sources = [\"packages\"]        documentation of locked packages on this machine
Further sources are \"folders\" (with `folders = [\"/path\"]`) and \"hosts\" (with `[egress]`,
`allow = [\"docs.example.org\"]`), \"searxng\" and \"brave\". Without these three, nothing is sent
anywhere; with them, of a question only words that are public already.";

/// `ken forage`.
#[derive(Debug, Args)]
#[command(after_help = FORAGE_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct ForageArgs {
    #[command(subcommand)]
    command: Option<ForageCommand>,
    /// The question
    #[arg(required_unless_present = "gaps")]
    question: Option<String>,
    /// Search only this locked package; may be repeated
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Number of passages
    #[arg(long, value_name = "N", default_value_t = PASSAGES_DEFAULT)]
    limit: usize,
    /// Propose the passages as entries, quarantined until a person releases them
    #[arg(long)]
    propose: bool,
    /// Work off the newest searches that had no good answer, and the gaps of the health report
    #[arg(long, conflicts_with = "question")]
    gaps: bool,
}

/// `ken forage …`.
#[derive(Debug, Subcommand)]
enum ForageCommand {
    /// Print what was read or refused today, and why
    #[command(after_help = "Example:\n  ken forage log")]
    Log,
    /// Print the sources, the budget and how many entries wait for a person
    #[command(after_help = "Example:\n  ken forage status")]
    Status,
    /// Print the words of a question that a search service would be sent, and send nothing
    #[command(after_help = "Example:\n  ken forage query \"How do I set a timeout?\"")]
    Query {
        /// The question
        question: String,
    },
    /// Trust or distrust a domain for everybody in this workspace; only a person may
    #[command(subcommand)]
    Domain(ForageDomainCommand),
}

/// `ken forage domain …`.
#[derive(Debug, Subcommand)]
enum ForageDomainCommand {
    /// Rate passages of a host and of hosts below it higher; this allows no host
    #[command(after_help = "Example:\n  ken forage domain trust docs.example.org")]
    Trust(DomainArgs),
    /// Forbid to read a host and hosts below it, whatever forage.toml allows
    #[command(after_help = "Example:\n  ken forage domain distrust blog.example.org")]
    Distrust(DomainArgs),
    /// Remove an earlier decision about a host
    #[command(after_help = "Example:\n  ken forage domain reset docs.example.org")]
    Reset(DomainArgs),
}

/// Arguments of `ken forage domain …`.
#[derive(Debug, Args)]
struct DomainArgs {
    /// The host, such as docs.example.org
    host: String,
}

/// JSON view of what would be sent.
#[derive(Serialize)]
struct QueryJson {
    schema: &'static str,
    /// Absent if fewer than two words are public, or if the question seems to have a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
}

/// JSON view of a decision about a domain.
#[derive(Serialize)]
struct DomainJson<'a> {
    schema: &'static str,
    domain: &'a str,
    action: DomainAction,
}

/// JSON view of one question.
#[derive(Serialize)]
struct ForageJson<'a> {
    schema: &'static str,
    question: &'a str,
    passages: Vec<PassageJson<'a>>,
    packages: &'a [String],
    missing: &'a [String],
    refusals: &'a [String],
    /// What was sent to search services.
    sent: &'a [String],
    proposed: Vec<EntryId>,
    known: u32,
    refused: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
}

#[derive(Serialize)]
struct PassageJson<'a> {
    address: &'a str,
    line: u32,
    heading: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    content: &'a str,
    quality_milli: u16,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ForageArgs,
) -> Result<CommandExit, CommandFailure> {
    // A decision about a domain is about the workspace, so it needs no configuration of the user.
    if let Some(ForageCommand::Domain(command)) = &args.command {
        return decide_about_domain(session, command);
    }
    let setup = load_setup()?;
    match &args.command {
        Some(ForageCommand::Log) => return log(session),
        Some(ForageCommand::Status) => return status(session, &setup),
        Some(ForageCommand::Query { question }) => return show_query(session, &setup, question),
        Some(ForageCommand::Domain(_)) | None => {}
    }
    if args.limit == 0 || args.limit > PASSAGES_MAX {
        let message = format!("--limit must be 1 to {PASSAGES_MAX}");
        return Err(CommandFailure::usage(message));
    }
    let requests = match &args.question {
        Some(question) => vec![ForageRequest {
            question: question.clone(),
            mode: ForageMode::Operator,
        }],
        None => session.read(|engine| Ok(engine.forage_requests()?))?,
    };
    if requests.is_empty() {
        let none = "no search is without an answer, and the health report has no gap";
        session.printer.talk(none)?;
    }
    for ForageRequest { question, mode } in requests {
        let question = ForageQuestion {
            text: question,
            packages: args.package.clone(),
            mode,
            limit: args.limit,
        };
        forage(session, &setup, &question, args.propose)?;
    }
    Ok(CommandExit::Fine)
}

/// Records a person's decision about a domain.
fn decide_about_domain(
    session: &mut Session<'_>,
    command: &ForageDomainCommand,
) -> Result<CommandExit, CommandFailure> {
    let (host, action) = match command {
        ForageDomainCommand::Trust(it) => (&it.host, DomainAction::Trust),
        ForageDomainCommand::Distrust(it) => (&it.host, DomainAction::Distrust),
        ForageDomainCommand::Reset(it) => (&it.host, DomainAction::Reset),
    };
    session.write(|engine, by| Ok(engine.override_domain(host, action, by)?))?;
    if session.is_json() {
        session.printer.json(&DomainJson {
            schema: "ken.forage-domain.v1",
            domain: host,
            action,
        })?;
        return Ok(CommandExit::Fine);
    }
    let done = describe_domain_decision(host, action);
    session.printer.talk(escape_invisible(&done))?;
    if action == DomainAction::Trust {
        session
            .printer
            .hint("trust allows no host; your forage.toml decides which ones are read")?;
    }
    Ok(CommandExit::Fine)
}

/// Prints what a search service would be sent.
fn show_query(
    session: &mut Session<'_>,
    setup: &ForageSetup,
    question: &str,
) -> Result<CommandExit, CommandFailure> {
    let query = session.read(|engine| Ok(engine.search_service_query(setup, question)?))?;
    if session.is_json() {
        let schema = "ken.forage-query.v1";
        session.printer.json(&QueryJson { schema, query })?;
        return Ok(CommandExit::Fine);
    }
    match query {
        Some(query) => session.printer.line(query)?,
        None => session.printer.talk(
            "nothing would be sent: fewer than two words are public, or there seems to be a secret",
        )?,
    }
    Ok(CommandExit::Fine)
}

fn load_setup() -> Result<ForageSetup, CommandFailure> {
    let path = forage_home()?.path();
    forage_setup()?.ok_or_else(|| {
        let hint = format!(
            "create `{}` with the line: sources = [\"packages\"]",
            path.display()
        );
        CommandFailure::usage("the forager is off, because you have no forage.toml").with_hint(hint)
    })
}

/// Answers one question, and proposes the passages if asked to.
fn forage(
    session: &mut Session<'_>,
    setup: &ForageSetup,
    question: &ForageQuestion,
    propose: bool,
) -> Result<(), CommandFailure> {
    let ask = |engine: &mut Engine| Ok(engine.find_passages(setup, question)?);
    let (report, outcome) = if propose {
        session.write(|engine, by| {
            let report = engine.find_passages(setup, question)?;
            let outcome = engine.admit_passages(setup, question, &report, by)?;
            Ok((report, outcome))
        })?
    } else {
        (session.read(ask)?, ForageOutcome::default())
    };
    // Only a person is shown text that no person has read.
    let is_person = session.surroundings.reader().is_none();
    if session.is_json() {
        return session
            .printer
            .json(&json(question, &report, &outcome, is_person));
    }
    if is_person {
        print_findings(session, question, &report)?;
    }
    print_outcome(session, &report, &outcome, propose)
}

fn json<'a>(
    question: &'a ForageQuestion,
    report: &'a ForageReport,
    outcome: &ForageOutcome,
    is_person: bool,
) -> ForageJson<'a> {
    let shown: &[ForageFinding] = if is_person { &report.findings } else { &[] };
    let passages = shown.iter().map(|it| PassageJson {
        address: &it.address,
        line: it.line,
        heading: &it.heading,
        text: &it.text,
        code: it.code.as_deref(),
        license: it.license.as_deref(),
        content: &it.content,
        quality_milli: it.quality_milli,
    });
    ForageJson {
        schema: "ken.forage.v1",
        question: &question.text,
        passages: passages.collect(),
        packages: &report.packages,
        missing: &report.missing,
        refusals: &report.refusals,
        sent: &report.sent,
        proposed: outcome.entries.clone(),
        known: outcome.known,
        refused: outcome.refused,
        limit: outcome.limit,
    }
}

fn print_findings(
    session: &mut Session<'_>,
    question: &ForageQuestion,
    report: &ForageReport,
) -> Result<(), CommandFailure> {
    if question.mode != ForageMode::Operator {
        session
            .printer
            .line(format_args!("{}", escape_invisible(&question.text)))?;
    }
    for finding in &report.findings {
        let ForageFinding {
            address,
            line,
            heading,
            text,
            code,
            ..
        } = finding;
        let place = escape_invisible(address);
        session.printer.line(format_args!("{place}:{line}"))?;
        if !heading.is_empty() {
            session
                .printer
                .line(format_args!("  [{}]", escape_invisible(heading)))?;
        }
        if !text.is_empty() {
            session
                .printer
                .line(format_args!("  {}", escape_invisible(text)))?;
        }
        for row in code.iter().flat_map(|it| it.lines()) {
            session
                .printer
                .line(format_args!("      {}", escape_invisible(row)))?;
        }
    }
    Ok(())
}

fn print_outcome(
    session: &mut Session<'_>,
    report: &ForageReport,
    outcome: &ForageOutcome,
    propose: bool,
) -> Result<(), CommandFailure> {
    for missing in &report.missing {
        let shown = escape_invisible(missing);
        session.printer.talk(format_args!(
            "{shown} is not locked, or not on this machine"
        ))?;
    }
    for sent in &report.sent {
        let shown = escape_invisible(sent);
        session.printer.talk(format_args!("sent to {shown}"))?;
    }
    for refusal in &report.refusals {
        session.printer.talk(escape_invisible(refusal))?;
    }
    let read = pluralize(report.documents as u64, "document", "documents");
    let found = pluralize(report.findings.len() as u64, "passage", "passages");
    session.printer.talk(format_args!("{found} in {read}"))?;
    if !propose {
        return Ok(());
    }
    let count = outcome.entries.len() as u64;
    let proposed = pluralize(count, "quarantined entry", "quarantined entries");
    let ids: Vec<String> = outcome.entries.iter().map(ToString::to_string).collect();
    let (known, refused) = (outcome.known, outcome.refused);
    session.printer.talk(format_args!(
        "proposed {proposed} {}({known} known, {refused} refused)",
        if ids.is_empty() {
            String::new()
        } else {
            format!("{} ", ids.join(" "))
        }
    ))?;
    if let Some(limit) = outcome.limit {
        session.printer.talk(limit)?;
    }
    if !ids.is_empty() {
        session.printer.hint(
            "a person reads them in `ken inbox`; `ken guard quarantine release ID --reason …` releases one, `ken retract ID --reason unwanted` rejects it for good",
        )?;
    }
    Ok(())
}

fn log(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let lines = session.read(|engine| forage_log_objects(engine))?;
    for line in &lines {
        if session.is_json() {
            session.printer.json(line)?;
            continue;
        }
        let (source, verdict) = (
            escape_invisible(&line.source),
            escape_invisible(&line.verdict),
        );
        let (bytes, millis) = (line.bytes, line.millis);
        if bytes == 0 {
            session.printer.line(format_args!("{source}  {verdict}"))?;
        } else {
            session.printer.line(format_args!(
                "{source}  {verdict}  {bytes} bytes  {millis} ms"
            ))?;
        }
    }
    if lines.is_empty() && !session.is_json() {
        session.printer.talk("nothing was read today")?;
    }
    Ok(CommandExit::Fine)
}

fn status(session: &mut Session<'_>, setup: &ForageSetup) -> Result<CommandExit, CommandFailure> {
    let view = session.read(|engine| forage_status_object(engine, &setup.config))?;
    if session.is_json() {
        session.printer.json(&view)?;
        return Ok(CommandExit::Fine);
    }
    let hosts = if view.allowed_hosts.is_empty() {
        "none".to_owned()
    } else {
        view.allowed_hosts.join(", ")
    };
    session
        .printer
        .line(format_args!("sources        {}", view.sources.join(", ")))?;
    session
        .printer
        .line(format_args!("allowed hosts  {hosts}"))?;
    session.printer.line(format_args!(
        "entries today  {} of {}",
        view.entries_today, view.entries_per_day
    ))?;
    session.printer.line(format_args!(
        "waiting        {} of {}",
        view.waiting, view.waiting_max
    ))?;
    session.printer.line(format_args!(
        "searches today {} of {}",
        view.searches_today, view.searches_per_day
    ))?;
    let unasked = if view.unasked { "allowed" } else { "off" };
    session
        .printer
        .line(format_args!("unasked        {unasked}"))?;
    for domain in &view.domains {
        let decision = match domain.decision {
            Some(DomainAction::Trust) => Some("trusted".to_owned()),
            Some(DomainAction::Distrust) => Some("distrusted".to_owned()),
            Some(DomainAction::Reset) | None => None,
        };
        let day = domain.since.map(|it| it.date().to_string());
        let learned = domain.strategy.zip(day);
        let learned = learned.map(|(strategy, day)| format!("{strategy} since {day}"));
        let said: Vec<String> = [decision, learned].into_iter().flatten().collect();
        let name = escape_invisible(&domain.domain);
        session
            .printer
            .line(format_args!("{name}  {}", said.join(", ")))?;
    }
    Ok(CommandExit::Fine)
}
