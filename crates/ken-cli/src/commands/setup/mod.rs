//! `ken setup`: tells agents about Ken, keeps that current, and takes it out again.
//!
//! Shows what it will do and asks once. Writes below the top of the repository and nowhere else; grants nothing, commits nothing.

mod checks;
mod detect;
mod plan;
mod shown;

use std::io::{self, IsTerminal as _};
use std::path::Path;

use ken_agents::Agent;
use ken_agents::setup::plugin;
use ken_engine::root_files::RootFiles;

use super::Session;
use crate::args::{InitArgs, SetupArgs};
use crate::failure::{Exit, Failure};

pub(super) use checks::checks;
use plan::Plan;

/// Whether Ken's part comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

pub(super) fn run(session: &mut Session<'_>, args: &SetupArgs) -> Result<Exit, Failure> {
    if let Some(folder) = &args.plugin {
        return export(session, folder, args.yes);
    }
    if args.print {
        return shown::by_hand(session, &named_or_found(session, args));
    }
    let files = open(session)?;
    if args.check {
        return check(session, files, args);
    }
    let way = if args.remove { Way::Out } else { Way::In };
    let plan = match way {
        Way::In => {
            let agents = named_or_found(session, args);
            if agents.is_empty() {
                return Err(nobody());
            }
            Plan::install(files, &agents)?
        }
        Way::Out if args.agents.is_empty() => Plan::remove(files, &Agent::ALL)?,
        Way::Out => Plan::remove(files, &args.agents)?,
    };
    if args.dry_run {
        return shown::diff(session, &plan, way);
    }
    let is_said = args.yes || (!args.agents.is_empty() && !can_answer(session));
    let asked = if is_said {
        Asked::Already
    } else {
        Asked::NotYet
    };
    carry_out(session, plan, way, asked)
}

/// Whether somebody said already that it shall be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Already,
    NotYet,
}

fn open(session: &Session<'_>) -> Result<RootFiles, Failure> {
    let surroundings = &session.surroundings;
    Ok(RootFiles::open(&surroundings.start, &surroundings.git)?)
}

fn named_or_found(session: &Session<'_>, args: &SetupArgs) -> Vec<Agent> {
    if !args.agents.is_empty() {
        let is_named = |agent: &Agent| args.agents.contains(agent);
        return Agent::ALL.into_iter().filter(is_named).collect();
    }
    match open(session) {
        Ok(files) => detect::found(files.root()),
        Err(_) => detect::found(&session.surroundings.start),
    }
}

fn nobody() -> Failure {
    let names = Agent::ALL.map(Agent::name).join(", ");
    Failure::usage("no agent is found in this repository, your home or on PATH")
        .with_hint(format_args!("name one: {names}"))
}

/// Shows a plan, asks where somebody can answer, and does it.
fn carry_out(
    session: &mut Session<'_>,
    mut plan: Plan,
    way: Way,
    asked: Asked,
) -> Result<Exit, Failure> {
    let is_anything = plan.steps.iter().any(plan::Step::is_change);
    if !session.is_json() {
        shown::plan(session, &plan, way)?;
    }
    let can_answer = can_answer(session);
    let applies = !is_anything
        || asked == Asked::Already
        || (can_answer && is_yes(&session.printer.ask("Go ahead? [Y/n] ")?));
    if applies {
        let done = plan.apply()?;
        return shown::done(session, &plan, way, &done);
    }
    if session.is_json() {
        shown::object(session, &plan, way, false)?;
    } else if can_answer {
        session.printer.talk("Nothing was written.")?;
        if way == Way::In {
            session
                .printer
                .hint("`ken setup` does it whenever you like")?;
        }
    } else {
        session
            .printer
            .talk("Nothing was written: there is nobody to ask here.")?;
        let command = match way {
            Way::In => {
                "`ken setup --yes` writes it; `ken setup --dry-run` shows the changes line by line"
            }
            Way::Out => "`ken setup --remove --yes` takes it out",
        };
        session.printer.hint(command)?;
    }
    Ok(Exit::Fine)
}

/// Returns whether a person is there to answer.
fn can_answer(session: &Session<'_>) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !session.is_json()
}

fn is_yes(answer: &str) -> bool {
    ["", "y", "yes"].contains(&answer.to_lowercase().as_str())
}

/// Says how what is set up stands.
fn check(session: &mut Session<'_>, files: RootFiles, args: &SetupArgs) -> Result<Exit, Failure> {
    let agents = if args.agents.is_empty() {
        plan::set_up(&plan::records(&files)?)
    } else {
        args.agents.clone()
    };
    if agents.is_empty() {
        return Err(Failure::refused("not_set_up", "no agent is set up here")
            .with_hint("`ken setup` does it"));
    }
    let plan = Plan::install(files, &agents)?;
    shown::standing(session, &plan)
}

/// Writes the plugin layout below a folder.
fn export(session: &mut Session<'_>, folder: &Path, is_sure: bool) -> Result<Exit, Failure> {
    let folder = session.surroundings.start.join(folder);
    let files = RootFiles::export(&folder)?;
    let mut all = plugin::claude_code();
    all.push(plugin::registry());
    for file in &all {
        let there = files.read(&file.path);
        if there
            .as_ref()
            .is_ok_and(|it| it.as_ref().is_none_or(|text| *text == file.text))
        {
            continue;
        }
        if !is_sure || there.is_err() {
            let why = format!("`{}` is there already and says something else", file.path);
            return Err(
                Failure::refused("exists", why).with_hint("name an empty folder, or say --yes")
            );
        }
    }
    for file in &all {
        files.make_folders(&file.path)?;
        files.write(&file.path, &file.text)?;
    }
    shown::exported(session, &folder, &all)
}

/// Tells agents about Ken at the end of `ken init`.
pub(super) fn after_init(session: &mut Session<'_>, args: &InitArgs) -> Result<(), Failure> {
    if args.no_agents {
        return Ok(());
    }
    let files = open(session)?;
    if !args.agents.is_empty() {
        let plan = Plan::install(files, &args.agents)?;
        carry_out(session, plan, Way::In, Asked::Already)?;
        return Ok(());
    }
    if !can_answer(session) {
        // What lies in the repository is the same for everybody who looks; a home and PATH are not.
        let used = detect::used_in(files.root());
        if !used.is_empty() && plan::records(&files)?.is_empty() {
            let names = shown::names(&used);
            session
                .printer
                .hint(format_args!("`ken setup` tells {names} about it"))?;
        }
        return Ok(());
    }
    let found = detect::found(files.root());
    let plan = Plan::install(files, &found)?;
    if plan.steps.iter().any(plan::Step::is_change) {
        carry_out(session, plan, Way::In, Asked::NotYet)?;
    }
    Ok(())
}

/// Takes out what setup wrote; returns the paths that changed.
pub(super) fn before_uninstall(session: &mut Session<'_>) -> Result<Vec<String>, Failure> {
    let Ok(files) = open(session) else {
        return Ok(Vec::new());
    };
    let mut plan = Plan::remove(files, &Agent::ALL)?;
    let done = plan.apply()?;
    shown::left_alone(session, &plan)?;
    Ok(done)
}
