//! Output of `ken setup`: the plan, the diff, the state, the result and the remaining steps.

use std::fmt::Write as _;
use std::path::Path;

use ken_agents::CodingAgent;
use ken_agents::setup::plugin::PluginFile;
use ken_agents::setup::{FileUpdate, PartKind, PartState, PartStatus, SetupTarget, targets};
use serde::Serialize;
use similar::TextDiff;

use super::SetupDirection;
use super::plan::{Plan, RECORDS, Step};
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{DIM, GOOD, WARN, pluralize, styled};

/// JSON view of the plan.
#[derive(Serialize)]
struct SetupObject<'a> {
    schema: &'static str,
    root: String,
    written: bool,
    files: Vec<FileObject<'a>>,
    /// Records of what Ken wrote, which `ken setup --remove` reads.
    records: Vec<String>,
    next: Vec<String>,
}

#[derive(Serialize)]
struct FileObject<'a> {
    path: &'a str,
    agents: Vec<&'static str>,
    parts: Vec<&'static str>,
    action: &'static str,
    standing: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trouble: Vec<String>,
}

/// JSON view of configuration to write by hand.
#[derive(Serialize)]
struct ByHandObject {
    schema: &'static str,
    path: &'static str,
    text: String,
}

#[derive(Serialize)]
struct ExportObject<'a> {
    schema: &'static str,
    folder: String,
    files: Vec<&'a str>,
}

/// Returns the names of agents as a list in a sentence.
pub(super) fn names(agents: &[CodingAgent]) -> String {
    let titles: Vec<&str> = agents.iter().map(|it| it.title()).collect();
    match titles.as_slice() {
        [] => "no agent".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Prints the change of each file.
pub(super) fn plan(
    session: &mut Session<'_>,
    plan: &Plan,
    direction: SetupDirection,
) -> Result<(), CommandFailure> {
    // Files that stay as they are would hide the ones that change.
    let steps: Vec<&Step> = plan.steps.iter().filter(|it| it.is_change()).collect();
    let root = plan.files.root().display();
    if !steps.is_empty() {
        let heading = match direction {
            SetupDirection::Install => format!(
                "Connecting {} changes these files in {root}:",
                agent_names(plan)
            ),
            SetupDirection::Remove => format!("Removing Ken changes these files in {root}:"),
        };
        session.printer.talk(heading)?;
    }
    let width = steps
        .iter()
        .map(|it| it.target.path.len())
        .max()
        .unwrap_or(0);
    for step in steps {
        let action = styled(GOOD, format_args!("{:<7}", action(step)));
        let parts = parts(step);
        let agents =
            // Named only where a file serves some of the agents; the heading names all of them.
            if direction == SetupDirection::Install && agent_names(plan) != names(&step.agents) {
                styled(DIM, format_args!(" ({})", names(&step.agents)))
            } else {
                String::new()
            };
        let path = step.target.path;
        session
            .printer
            .line(format_args!("  {action} {path:<width$}  {parts}{agents}"))?;
    }
    // One line for all records: they are Ken's own files and say nothing about your agents.
    let records = plan.steps.iter().filter(|it| it.changes_record()).count();
    if records > 0 {
        let (action, purpose) = match direction {
            SetupDirection::Install => ("write", ", for `ken setup --remove`"),
            SetupDirection::Remove => ("remove", ""),
        };
        let action = styled(GOOD, format_args!("{action:<7}"));
        let records = pluralize(records as u64, "record", "records");
        session.printer.line(format_args!(
            "  {action} {RECORDS}/: {records} of what Ken wrote{purpose}"
        ))?;
    }
    left_alone(session, plan)?;
    if direction == SetupDirection::Install && plan.steps.iter().any(Step::is_change) {
        session.printer.talk(
            "Ken changes nothing outside the repository, commits nothing and grants no permission; `ken setup --remove` undoes the changes.",
        )?;
    }
    Ok(())
}

/// Returns the names of all agents of a plan as a list in a sentence.
fn agent_names(plan: &Plan) -> String {
    let is_included = |agent: &CodingAgent| plan.steps.iter().any(|it| it.agents.contains(agent));
    let all: Vec<CodingAgent> = CodingAgent::ALL.into_iter().filter(is_included).collect();
    names(&all)
}

/// Prints the files that are not changed, with the reason.
pub(super) fn left_alone(session: &mut Session<'_>, plan: &Plan) -> Result<(), CommandFailure> {
    for step in &plan.steps {
        for why in problems(step) {
            session
                .printer
                .note(&format!("{}: {why}", step.target.path))?;
        }
    }
    let mut refused = plan.steps.iter().filter(|it| it.problem.is_some());
    // One hint is enough: the printed configuration is of one agent, and the message above names
    // each file.
    let agent = refused.find_map(|it| it.agents.first());
    if let Some(agent) = agent {
        session.printer.hint(format_args!(
            "`ken setup --print {}` prints the configuration, to write it by hand",
            agent.name()
        ))?;
    }
    Ok(())
}

fn problems(step: &Step) -> Vec<String> {
    if let Some(why) = &step.problem {
        return vec![format!("not changed: {why}")];
    }
    step.stuck().into_iter().map(problem).collect()
}

fn problem(piece: &PartStatus) -> String {
    let part = piece.what.words();
    // Two of the names are plural.
    let was = if matches!(piece.what, PartKind::Hooks | PartKind::Instructions) {
        "were"
    } else {
        "was"
    };
    match &piece.standing {
        PartState::Edited => format!("the {part} {was} edited by hand; not changed"),
        PartState::Handwritten => format!("the {part} {was} written by hand; not changed"),
        PartState::Newer => format!("the {part} {was} written by a newer ken; not changed"),
        PartState::Duplicated => format!("the {part} {was} found more than once; keep only one"),
        PartState::Unreadable(why) => format!("not changed: the file cannot be read: {why}"),
        PartState::Missing
        | PartState::Current
        | PartState::Stale
        | PartState::Present
        | PartState::Unneeded => String::new(),
    }
}

fn action(step: &Step) -> &'static str {
    let is_stale = |it: &PartStatus| it.standing == PartState::Stale;
    match &step.change.after {
        FileUpdate::Same => "leave",
        FileUpdate::Gone => "delete",
        // Without a record after the change, Ken owns nothing in the file: its former text is
        // back.
        FileUpdate::Text(_) if step.change.record.is_none() => "restore",
        FileUpdate::Text(_) if step.before.is_none() => "create",
        FileUpdate::Text(_) if step.change.pieces.iter().any(is_stale) => "update",
        FileUpdate::Text(_) => "add to",
    }
}

/// Returns a description of the parts that a file gains or loses.
fn parts(step: &Step) -> String {
    let words = step.target.parts().into_iter().map(|part| match part {
        PartKind::Hooks => {
            let pieces = step
                .change
                .pieces
                .iter()
                .filter(|it| it.what == PartKind::Hooks);
            pluralize(pieces.count() as u64, "hook", "hooks")
        }
        PartKind::Instructions
        | PartKind::Import
        | PartKind::Skill
        | PartKind::Server
        | PartKind::Plugin => part.words().to_owned(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Prints the changes as a diff.
pub(super) fn diff(
    session: &mut Session<'_>,
    plan: &Plan,
    direction: SetupDirection,
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        object(session, plan, direction, false)?;
        return Ok(exit(plan));
    }
    for step in plan.steps.iter().filter(|it| it.is_change()) {
        let before = step.before.as_deref().unwrap_or_default();
        let after = match &step.change.after {
            FileUpdate::Text(text) => text.as_str(),
            FileUpdate::Same | FileUpdate::Gone => "",
        };
        let path = step.target.path;
        let side = |is_there: bool, side: &str| {
            if is_there {
                format!("{side}/{path}")
            } else {
                "/dev/null".to_owned()
            }
        };
        let from = side(step.before.is_some(), "a");
        let to = side(!matches!(step.change.after, FileUpdate::Gone), "b");
        let lines = TextDiff::from_lines(before, after);
        let mut lines = lines.unified_diff();
        session.printer.text(lines.header(&from, &to))?;
    }
    left_alone(session, plan)?;
    Ok(exit(plan))
}

/// Returns the exit code. A part that could not be written or removed is a finding.
fn exit(plan: &Plan) -> CommandExit {
    let is_stuck = plan.steps.iter().any(|step| !problems(step).is_empty());
    if is_stuck {
        CommandExit::Refused
    } else {
        CommandExit::Fine
    }
}

/// Prints the result and the steps that are left for a person.
pub(super) fn done(
    session: &mut Session<'_>,
    plan: &Plan,
    direction: SetupDirection,
    done: &[String],
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        object(session, plan, direction, true)?;
        return Ok(exit(plan));
    }
    let files = pluralize(done.len() as u64, "file", "files");
    let summary = match direction {
        SetupDirection::Install if done.is_empty() => {
            format!("Nothing to write for {}.", agent_names(plan))
        }
        SetupDirection::Install => format!("Done: {files} written."),
        SetupDirection::Remove if done.is_empty() => "Nothing to remove.".to_owned(),
        SetupDirection::Remove => format!("Done: {files} restored or removed."),
    };
    session.printer.talk(summary)?;
    if direction == SetupDirection::Install && !done.is_empty() {
        for line in next(plan) {
            session.printer.hint(line)?;
        }
        let (start, git) = (&session.surroundings.start, &session.surroundings.git);
        let ignored = ken_engine::init::ignored_files(start, git, done)?;
        if !ignored.is_empty() {
            let ignored = ignored.join(", ");
            session.printer.note(&format!(
                "git ignores {ignored}: your team does not get them until you change .gitignore"
            ))?;
        }
    }
    Ok(exit(plan))
}

/// Returns the steps before an agent uses the configuration.
fn next(plan: &Plan) -> Vec<String> {
    let is_included = |agent: &CodingAgent| plan.steps.iter().any(|it| it.agents.contains(agent));
    let all: Vec<CodingAgent> = CodingAgent::ALL.into_iter().filter(is_included).collect();
    let mut lines = vec![format!(
        "restart {}, then commit the files to share them",
        names(&all)
    )];
    let own = all.into_iter().filter_map(|agent| match agent {
        CodingAgent::ClaudeCode => Some("Claude Code asks once whether to use the server of .mcp.json"),
        CodingAgent::Codex => {
            Some("Codex runs a hook only after you approve it: type /hooks in Codex after each change")
        }
        CodingAgent::Cursor => Some("Cursor starts the server when you turn it on under Settings, MCP"),
        CodingAgent::Copilot => Some(
            "Copilot runs hooks in a folder you trust; its cloud agent reads the default branch only",
        ),
        CodingAgent::Gemini | CodingAgent::Opencode | CodingAgent::Zed => None,
    });
    lines.extend(own.map(str::to_owned));
    lines
}

/// Prints the plan as JSON.
pub(super) fn object(
    session: &mut Session<'_>,
    plan: &Plan,
    direction: SetupDirection,
    written: bool,
) -> Result<(), CommandFailure> {
    let files = plan
        .steps
        .iter()
        .filter(|it| !it.is_unneeded() || direction == SetupDirection::Remove);
    let files = files.map(|step| {
        let mut standing: Vec<&str> = Vec::new();
        for piece in &step.change.pieces {
            if !standing.contains(&piece.standing.word()) {
                standing.push(piece.standing.word());
            }
        }
        FileObject {
            path: step.target.path,
            agents: step.agents.iter().map(|it| it.name()).collect(),
            parts: step
                .target
                .parts()
                .into_iter()
                .map(PartKind::words)
                .collect(),
            action: action(step),
            standing,
            trouble: problems(step),
        }
    });
    let next = match direction {
        SetupDirection::Install => next(plan),
        SetupDirection::Remove => Vec::new(),
    };
    let records = plan.steps.iter().filter(|it| it.changes_record());
    session.printer.json(&SetupObject {
        schema: "ken.setup.v1",
        root: plan.files.root().display().to_string(),
        written,
        files: files.collect(),
        records: records.map(Step::record_path).collect(),
        next,
    })
}

/// Prints the state of each file.
pub(super) fn standing(
    session: &mut Session<'_>,
    plan: &Plan,
) -> Result<CommandExit, CommandFailure> {
    let is_fine = plan.steps.iter().all(Step::is_fine);
    let exit = if is_fine {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    };
    if session.is_json() {
        object(session, plan, SetupDirection::Install, false)?;
        return Ok(exit);
    }
    let steps = plan.steps.iter().filter(|it| !it.is_unneeded());
    let steps: Vec<&Step> = steps.collect();
    let width = steps
        .iter()
        .map(|it| it.target.path.len())
        .max()
        .unwrap_or(0);
    for step in steps {
        let worst = worst(step);
        let style = if step.is_fine() { GOOD } else { WARN };
        let word = styled(style, format_args!("{worst:<10}"));
        let path = step.target.path;
        let parts = parts(step);
        session
            .printer
            .line(format_args!("{word} {path:<width$}  {parts}"))?;
    }
    left_alone(session, plan)?;
    let is_due = |it: &Step| it.change.pieces.iter().any(|it| it.standing.is_due());
    if plan.steps.iter().any(is_due) {
        session.printer.hint("run `ken setup` to update it")?;
    }
    Ok(exit)
}

/// Returns the worst state of the parts of a file.
fn worst(step: &Step) -> &'static str {
    if step.problem.is_some() {
        return "refused";
    }
    let pieces = &step.change.pieces;
    let stuck = pieces.iter().find(|it| it.standing.is_stuck());
    let due = || pieces.iter().find(|it| it.standing.is_due());
    let found = stuck.or_else(due).or_else(|| pieces.first());
    found.map_or("current", |it| it.standing.word())
}

/// Prints the configuration to write by hand.
pub(super) fn by_hand(
    session: &mut Session<'_>,
    agents: &[CodingAgent],
) -> Result<CommandExit, CommandFailure> {
    let mut shown: Vec<SetupTarget> = Vec::new();
    for target in agents.iter().flat_map(|it| targets(*it)) {
        if !shown.iter().any(|it| it.path == target.path) {
            shown.push(target);
        }
    }
    if shown.is_empty() {
        return Err(super::no_agent_found());
    }
    for target in shown {
        let text = target.print();
        if session.is_json() {
            let schema = "ken.setup.print.v1";
            let path = target.path;
            session.printer.json(&ByHandObject { schema, path, text })?;
            continue;
        }
        let mut out = String::new();
        let parts = target.parts().into_iter().map(PartKind::words);
        let parts = parts.collect::<Vec<_>>().join(", ");
        let _ = write!(out, "==> {} ({parts}) <==\n{text}\n", target.path);
        session.printer.text(out)?;
    }
    Ok(CommandExit::Fine)
}

/// Prints the files of a plugin that were written.
pub(super) fn exported(
    session: &mut Session<'_>,
    folder: &Path,
    files: &[PluginFile],
) -> Result<CommandExit, CommandFailure> {
    let shown = folder.display().to_string();
    if session.is_json() {
        session.printer.json(&ExportObject {
            schema: "ken.setup.plugin.v1",
            folder: shown,
            files: files.iter().map(|it| it.path.as_str()).collect(),
        })?;
        return Ok(CommandExit::Fine);
    }
    for file in files {
        session.printer.line(&file.path)?;
    }
    session.printer.hint(format_args!(
        "in Claude Code: /plugin marketplace add {shown}, then /plugin install ken@ken; use the plugin or `ken setup`, not both"
    ))?;
    Ok(CommandExit::Fine)
}
