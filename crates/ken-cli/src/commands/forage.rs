//! `ken forage`: passages of documentation that answer a question, as a reading list with exact
//! places; with `--propose` also as quarantined entries.
//!
//! An agent is not shown what was found: it becomes visible to agents when a person releases it.

use clap::{Args, Subcommand};
use ken_core::ledger::event::ForageMode;
use ken_core::values::id::EntryId;
use ken_engine::Engine;
use ken_engine::forage::{
    ForageFinding, ForageOutcome, ForageQuestion, ForageReport, ForageSetup, PASSAGES_DEFAULT,
    PASSAGES_MAX,
};
use serde::Serialize;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};
use crate::world::{forage_home, package_folders};

/// Maximum number of unanswered searches per call of `--gaps`.
const GAPS_MAX: usize = 5;

const FORAGE_EXAMPLES: &str = "\
Examples:
  ken forage \"How do I set a timeout?\"                      print passages with their places
  ken forage \"How do I set a timeout?\" --package requests   search one package
  ken forage \"How do I set a timeout?\" --propose            also propose them as entries
  ken forage --gaps                                         work off searches without an answer
  ken forage log                                            what was read or refused today

The forager is off until you create forage.toml in your configuration folder:
  sources = [\"packages\"]        documentation of locked packages on this machine
Further sources are \"folders\" (with `folders = [\"/path\"]`) and \"hosts\" (with `[egress]`,
`allow = [\"docs.example.org\"]`). Without \"hosts\", nothing is sent anywhere.";

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
    /// Work off the newest searches that had no good answer
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

#[derive(Serialize)]
struct StatusJson {
    schema: &'static str,
    sources: Vec<String>,
    allowed_hosts: Vec<String>,
    entries_today: u32,
    entries_per_day: u32,
    waiting: usize,
    waiting_max: u32,
}

/// JSON view of one line of the log.
#[derive(Serialize)]
struct LogJson<'a> {
    schema: &'static str,
    /// Milliseconds since the Unix epoch.
    at: u64,
    /// A package with its version, or a host.
    source: &'a str,
    /// `read`, or the reason why it was not.
    verdict: &'a str,
    bytes: u64,
    millis: u64,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ForageArgs,
) -> Result<CommandExit, CommandFailure> {
    let setup = load_setup()?;
    match args.command {
        Some(ForageCommand::Log) => return log(session),
        Some(ForageCommand::Status) => return status(session, &setup),
        None => {}
    }
    if args.limit == 0 || args.limit > PASSAGES_MAX {
        let message = format!("--limit must be 1 to {PASSAGES_MAX}");
        return Err(CommandFailure::usage(message));
    }
    let questions = match &args.question {
        Some(question) => vec![question.clone()],
        None => unanswered(session)?,
    };
    if questions.is_empty() {
        session.printer.talk("no search is without an answer")?;
    }
    for text in questions {
        let mode = if args.gaps {
            ForageMode::Reactive
        } else {
            ForageMode::Operator
        };
        let question = ForageQuestion {
            text,
            packages: args.package.clone(),
            mode,
            limit: args.limit,
        };
        forage(session, &setup, &question, args.propose)?;
    }
    Ok(CommandExit::Fine)
}

fn load_setup() -> Result<ForageSetup, CommandFailure> {
    let home = forage_home()?;
    let config = home.load()?.ok_or_else(|| {
        let path = home.path();
        let hint = format!(
            "create `{}` with the line: sources = [\"packages\"]",
            path.display()
        );
        CommandFailure::usage("the forager is off, because you have no forage.toml").with_hint(hint)
    })?;
    let folders = package_folders();
    Ok(ForageSetup { config, folders })
}

fn unanswered(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    let all = session.read(|engine| Ok(engine.unanswered_queries()?))?;
    Ok(all.into_iter().map(|it| it.query).take(GAPS_MAX).collect())
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
    if question.mode == ForageMode::Reactive {
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
    let lines = session.read(|engine| Ok(engine.forage_log()?))?;
    for line in &lines {
        if session.is_json() {
            session.printer.json(&LogJson {
                schema: "ken.forage-log.v1",
                at: line.at,
                source: &line.source,
                verdict: &line.verdict,
                bytes: line.bytes,
                millis: line.millis,
            })?;
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
    let numbers = session.read(|engine| Ok(engine.forage_status()?))?;
    let config = &setup.config;
    let sources: Vec<String> = config
        .sources
        .iter()
        .map(|it| it.name().to_owned())
        .collect();
    let view = StatusJson {
        schema: "ken.forage-status.v1",
        sources,
        allowed_hosts: config.egress.allow.clone(),
        entries_today: numbers.entries_today,
        entries_per_day: config.budget.entries_per_day,
        waiting: numbers.waiting,
        waiting_max: config.budget.waiting,
    };
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
    Ok(CommandExit::Fine)
}
