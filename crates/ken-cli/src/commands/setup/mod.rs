//! `ken setup`: adds Ken to the configuration of agents, updates it and removes it.
//!
//! It prints the plan and asks once. It writes inside the repository only, grants no permissions
//! and commits nothing.

mod checks;
mod detect;
mod output;
mod plan;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use ken_agents::CodingAgent;
use ken_agents::setup::plugin;
use ken_engine::root_files::RootFiles;

use super::init::InitArgs;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use plan::Plan;

pub(super) use checks::checks;

const SETUP_HELP: &str = "\
Agents: claude (claude-code), codex, cursor, copilot, gemini (gemini-cli, antigravity), opencode, zed

Examples:
  ken setup                      print the plan for the detected agents and ask once
  ken setup claude codex         set up two agents; without a terminal, it does not ask
  ken setup --check              exit 1 if a part is missing, stale, duplicate or edited
  ken setup --remove             remove everything that was written
  ken setup --print zed          print the configuration, to write it by hand";

/// `ken setup`.
#[derive(Debug, Args)]
#[command(after_help = SETUP_HELP)]
pub(crate) struct SetupArgs {
    /// The agents [default: those detected in this repository, your home or on PATH]
    #[arg(value_name = "AGENT", value_parser = parse_agent)]
    pub(crate) agents: Vec<CodingAgent>,
    /// Check the configuration; exit 1 if a part is missing, stale, duplicate or edited
    #[arg(long, conflicts_with_all = ["remove", "print", "dry_run", "plugin"])]
    pub(crate) check: bool,
    /// Remove the parts that `ken setup` wrote, and nothing else
    #[arg(long, conflicts_with_all = ["print", "plugin"])]
    pub(crate) remove: bool,
    /// Print the configuration, to write it by hand
    #[arg(long, conflicts_with_all = ["dry_run", "plugin"])]
    pub(crate) print: bool,
    /// Print the changes as a diff; write nothing
    #[arg(long, conflicts_with = "plugin")]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Write a Claude Code plugin with the same content and an MCP registry entry into DIR instead
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    pub(crate) plugin: Option<PathBuf>,
}

pub(super) fn parse_agent(text: &str) -> Result<CodingAgent, String> {
    CodingAgent::named(text).ok_or_else(|| {
        let names = CodingAgent::ALL.map(CodingAgent::name).join(", ");
        format!("supported agents: {names}")
    })
}

/// Direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupDirection {
    Install,
    Remove,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &SetupArgs,
) -> Result<CommandExit, CommandFailure> {
    if let Some(folder) = &args.plugin {
        return export(session, folder, args.yes);
    }
    if args.print {
        return output::by_hand(session, &named_or_found(session, args));
    }
    let files = open(session)?;
    if args.check {
        return check(session, files, args);
    }
    let direction = if args.remove {
        SetupDirection::Remove
    } else {
        SetupDirection::Install
    };
    let plan = match direction {
        SetupDirection::Install => {
            let agents = named_or_found(session, args);
            if agents.is_empty() {
                return Err(no_agent_found());
            }
            Plan::install(files, &agents)?
        }
        SetupDirection::Remove if args.agents.is_empty() => Plan::remove(files, &CodingAgent::ALL)?,
        SetupDirection::Remove => Plan::remove(files, &args.agents)?,
    };
    if args.dry_run {
        return output::diff(session, &plan, direction);
    }
    let is_confirmed = args.yes || (!args.agents.is_empty() && !can_answer(session));
    let confirmation = if is_confirmed {
        Confirmation::Given
    } else {
        Confirmation::Needed
    };
    apply_plan(session, plan, direction, confirmation)
}

/// Whether the user already confirmed the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmation {
    Given,
    Needed,
}

fn open(session: &Session<'_>) -> Result<RootFiles, CommandFailure> {
    let surroundings = &session.surroundings;
    Ok(RootFiles::open(&surroundings.start, &surroundings.git)?)
}

fn named_or_found(session: &Session<'_>, args: &SetupArgs) -> Vec<CodingAgent> {
    if !args.agents.is_empty() {
        let is_named = |agent: &CodingAgent| args.agents.contains(agent);
        return CodingAgent::ALL.into_iter().filter(is_named).collect();
    }
    match open(session) {
        Ok(files) => detect::found(files.root()),
        Err(_) => detect::found(&session.surroundings.start),
    }
}

fn no_agent_found() -> CommandFailure {
    let names = CodingAgent::ALL.map(CodingAgent::name).join(", ");
    CommandFailure::usage("no agent was found in this repository, your home or on PATH")
        .with_hint(format_args!("name one: {names}"))
}

/// Prints a plan, asks for confirmation if a person can answer, and applies the plan.
fn apply_plan(
    session: &mut Session<'_>,
    mut plan: Plan,
    direction: SetupDirection,
    confirmation: Confirmation,
) -> Result<CommandExit, CommandFailure> {
    let is_anything = plan.steps.iter().any(plan::Step::is_change);
    if !session.is_json() {
        output::plan(session, &plan, direction)?;
    }
    let can_answer = can_answer(session);
    let applies = !is_anything
        || confirmation == Confirmation::Given
        || (can_answer && is_yes(&session.printer.ask("Go ahead? [Y/n] ")?));
    if applies {
        let done = plan.apply()?;
        return output::done(session, &plan, direction, &done);
    }
    if session.is_json() {
        output::object(session, &plan, direction, false)?;
    } else if can_answer {
        session.printer.talk("Nothing was written.")?;
        if direction == SetupDirection::Install {
            session.printer.hint("run `ken setup` to do it later")?;
        }
    } else {
        session
            .printer
            .talk("Nothing was written: Ken asks for confirmation only on a terminal.")?;
        let command = match direction {
            SetupDirection::Install => {
                "`ken setup --yes` writes the changes; `ken setup --dry-run` prints them as a diff"
            }
            SetupDirection::Remove => "`ken setup --remove --yes` removes it",
        };
        session.printer.hint(command)?;
        return Ok(CommandExit::Refused);
    }
    Ok(CommandExit::Fine)
}

/// Returns whether a person can answer a question.
pub(super) fn can_answer(session: &Session<'_>) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !session.is_json()
}

/// Returns whether an answer agrees; an empty one does.
pub(super) fn is_yes(answer: &str) -> bool {
    ["", "y", "yes"].contains(&answer.to_lowercase().as_str())
}

/// Prints the state of the configuration.
fn check(
    session: &mut Session<'_>,
    files: RootFiles,
    args: &SetupArgs,
) -> Result<CommandExit, CommandFailure> {
    let agents = if args.agents.is_empty() {
        plan::set_up(&plan::records(&files)?)
    } else {
        args.agents.clone()
    };
    if agents.is_empty() {
        return Err(
            CommandFailure::refused("not_set_up", "no agent is set up in this repository")
                .with_hint("run `ken setup`"),
        );
    }
    let plan = Plan::install(files, &agents)?;
    output::standing(session, &plan)
}

/// Writes the plugin into a folder.
fn export(
    session: &mut Session<'_>,
    folder: &Path,
    is_sure: bool,
) -> Result<CommandExit, CommandFailure> {
    let folder = session.surroundings.start.join(folder);
    let files = RootFiles::open_export(&folder)?;
    let mut all = plugin::claude_code_files();
    all.push(plugin::registry_file());
    for file in &all {
        let there = files.read(&file.path);
        if there
            .as_ref()
            .is_ok_and(|it| it.as_ref().is_none_or(|text| *text == file.text))
        {
            continue;
        }
        if !is_sure || there.is_err() {
            let why = format!("`{}` already exists with other content", file.path);
            return Err(CommandFailure::refused("exists", why)
                .with_hint("use an empty folder, or overwrite the files with --yes"));
        }
    }
    for file in &all {
        files.create_parent_folders(&file.path)?;
        files.write(&file.path, &file.text)?;
    }
    output::exported(session, &folder, &all)
}

/// Connects agents at the end of `ken init`.
pub(super) fn after_init(session: &mut Session<'_>, args: &InitArgs) -> Result<(), CommandFailure> {
    if args.no_agents {
        return Ok(());
    }
    let files = open(session)?;
    if !args.agents.is_empty() {
        let plan = Plan::install(files, &args.agents)?;
        apply_plan(session, plan, SetupDirection::Install, Confirmation::Given)?;
        return Ok(());
    }
    if !can_answer(session) {
        // Only files in the repository count here: they are the same for every user of it.
        let used = detect::used_in(files.root());
        if !used.is_empty() && plan::records(&files)?.is_empty() {
            let names = output::names(&used);
            session
                .printer
                .hint(format_args!("run `ken setup` to connect {names}"))?;
        }
        return Ok(());
    }
    let found = detect::found(files.root());
    let plan = Plan::install(files, &found)?;
    if plan.steps.iter().any(plan::Step::is_change) {
        apply_plan(session, plan, SetupDirection::Install, Confirmation::Needed)?;
    }
    Ok(())
}

/// Removes the parts that setup wrote; returns the changed paths.
pub(super) fn before_uninstall(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    let Ok(files) = open(session) else {
        return Ok(Vec::new());
    };
    let mut plan = Plan::remove(files, &CodingAgent::ALL)?;
    let done = plan.apply()?;
    output::left_alone(session, &plan)?;
    Ok(done)
}
