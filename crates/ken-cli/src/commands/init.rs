//! `ken init`: creates a ledger, optionally connects agents, and prints the next steps.

use clap::Args;
use ken_agents::CodingAgent;
use serde::Serialize;

use super::setup::parse_agent;
use super::{Session, setup};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// `ken init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken init\n  ken init --agents claude,codex")]
pub(crate) struct InitArgs {
    /// Also connect these agents, as `ken setup` does
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',', value_parser = parse_agent)]
    pub(crate) agents: Vec<CodingAgent>,
    /// Do not detect agents
    #[arg(long, conflicts_with = "agents")]
    pub(crate) no_agents: bool,
}

const NEXT: &str = "ken add \"…\" --anchor PATH#SYMBOL --cite TYPE:REF";

#[derive(Serialize)]
struct InitObject {
    schema: &'static str,
    root: String,
    written: Vec<String>,
    in_git: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &InitArgs,
) -> Result<CommandExit, CommandFailure> {
    let surroundings = &session.surroundings;
    let made = ken_engine::init::init(&surroundings.start, &surroundings.git)?;
    if let Some(why) = &made.ignored {
        session.printer.note(why)?;
    }
    let root = made.root.display().to_string();
    if session.is_json() {
        let (written, in_git) = (made.written, made.in_git);
        session.printer.json(&InitObject {
            schema: "ken.init.v1",
            root,
            written,
            in_git,
        })?;
        setup::after_init(session, args)?;
        return Ok(CommandExit::Fine);
    }
    if made.written.is_empty() {
        session
            .printer
            .talk(format_args!("Ken is already initialized in {root}"))?;
        setup::after_init(session, args)?;
        return Ok(CommandExit::Fine);
    }
    let files = pluralize(made.written.len() as u64, "file", "files");
    session
        .printer
        .talk(format_args!("Initialized Ken in {root} ({files} created):"))?;
    for path in &made.written {
        session.printer.line(path)?;
    }
    if made.in_git {
        session.printer.talk("Commit them to share knowledge with everyone who clones; `ken self uninstall` removes them.")?;
    } else {
        session.printer.talk(
            "This folder is not in git, so entries stay on this machine. `ken self uninstall` removes the files.",
        )?;
    }
    // Listed before `after_init` writes Ken's own instructions for agents, which need no audit.
    let surroundings = &session.surroundings;
    let documents = ken_engine::audit::list_documents(&surroundings.start, &surroundings.git);
    setup::after_init(session, args)?;
    offer(session, &documents?)?;
    Ok(CommandExit::Fine)
}

/// Prints the next step: audit existing documents, or add the first entry.
fn offer(session: &mut Session<'_>, documents: &[String]) -> Result<(), CommandFailure> {
    let Some(first) = documents.first() else {
        return session
            .printer
            .hint(format_args!("add the first entry: {NEXT}"));
    };
    let first = escape_invisible(first);
    let message = match documents.len() {
        1 => format!("{first} already contains agent instructions"),
        more => format!(
            "{first} and {} more already contain agent instructions",
            more - 1
        ),
    };
    session.printer.talk(message)?;
    session
        .printer
        .hint("`ken audit` reports problems in them, `ken import` imports the valid claims")
}
