//! `ken promote`: from a thread to the workspace, from there to the global ledger, from one memory to another.
//!
//! What agents ran into may suggest a norm but never becomes one by itself: that takes a promotion artifact and a
//! person's approval.

use std::path::Path;

use ken_core::decide::Refusal;
use ken_core::kind::{Kind, Memory};
use ken_engine::promotion::{Forward, Globally, Judgement};
use serde::Serialize;

use super::Session;
use crate::args::PromoteArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::world::Surroundings;
use ken_core::object::EntryObject;

/// Where knowledge may go.
enum Goal {
    Workspace,
    Global,
    Memory(Memory),
}

/// What promoting to the global ledger did, as programs read it.
#[derive(Serialize)]
struct GlobalObject {
    schema: &'static str,
    /// The entry here.
    entry: String,
    /// The entry there.
    global: EntryObject,
    /// Whether it was new there.
    copied: bool,
    /// Projects that know it.
    projects: usize,
}

/// What was put forward, as programs read it.
#[derive(Serialize)]
struct ForwardObject {
    schema: &'static str,
    artifact: String,
    entry: EntryObject,
}

pub(super) fn run(session: &mut Session<'_>, args: PromoteArgs) -> Result<Exit, Failure> {
    let goal = goal(&args.to)?;
    if let Some(from) = &args.from {
        return direct(session, from, &args.to, &goal);
    }
    match goal {
        Goal::Workspace => to_workspace(session, &args),
        Goal::Global => to_global(session, &args),
        Goal::Memory(memory) => to_memory(session, args, memory),
    }
}

fn goal(to: &str) -> Result<Goal, Failure> {
    if let Ok(memory) = to.parse() {
        return Ok(Goal::Memory(memory));
    }
    match to {
        "workspace" => Ok(Goal::Workspace),
        "global" => Ok(Goal::Global),
        _ => Err(Failure::usage(format!(
            "`{to}` is nowhere to promote to; write workspace, global, semantic or procedural"
        ))),
    }
}

/// Refuses what is asked for without an artifact.
fn direct(session: &mut Session<'_>, from: &str, to: &str, goal: &Goal) -> Result<Exit, Failure> {
    if memory_of(session, from)? == Memory::Episodic {
        return Err(backflow(from, to));
    }
    let next = match goal {
        Goal::Workspace | Goal::Global => format!("`ken promote ENTRY --to {to}`"),
        Goal::Memory(_) => format!("`ken promote ENTRY --to {to} --as KIND`"),
    };
    Err(
        Failure::usage(format!("all of {from} at once is not promoted to {to}"))
            .with_hint(format!("name the entries: {next}")),
    )
}

fn backflow(from: &str, to: &str) -> Failure {
    let (from, to) = (from.to_owned(), to.to_owned());
    Refusal::DirectionalFlow { from, to }.into()
}

/// Returns the memory that `from` names: by itself, by a kind in it, or by an entry.
fn memory_of(session: &mut Session<'_>, from: &str) -> Result<Memory, Failure> {
    let first = from.split('/').next().unwrap_or(from);
    if let Ok(memory) = first.parse() {
        return Ok(memory);
    }
    if let Ok(kind) = first.parse::<Kind>() {
        return Ok(kind.memory());
    }
    let entry = session.read(|engine| Ok(engine.find(from)?))?;
    Ok(entry.id.prefix().memory())
}

fn judgement(args: &PromoteArgs) -> Judgement {
    match args.anyway {
        true => Judgement::Person,
        false => Judgement::Rules,
    }
}

/// Returns the one entry that was named.
fn only(args: &PromoteArgs) -> Result<&str, Failure> {
    match args.entries.as_slice() {
        [one] if args.kind.is_none() => Ok(one),
        [_] => Err(Failure::usage(
            "--as is for another memory: --to semantic or --to procedural",
        )),
        _ => Err(Failure::usage("promote one entry at a time")),
    }
}

fn to_workspace(session: &mut Session<'_>, args: &PromoteArgs) -> Result<Exit, Failure> {
    let (wanted, judgement) = (only(args)?, judgement(args));
    let entry = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        refuse_episodic(id.prefix().memory(), wanted, &args.to)?;
        Ok(engine.promote_to_workspace(id, judgement, by)?)
    })?;
    session.written(&entry, "promoted: it is for the whole workspace now")
}

fn to_global(session: &mut Session<'_>, args: &PromoteArgs) -> Result<Exit, Failure> {
    let (wanted, judgement) = (only(args)?, judgement(args));
    let home = Surroundings::global_home()?;
    let (id, done) = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        refuse_episodic(id.prefix().memory(), wanted, &args.to)?;
        Ok((id, engine.promote_to_global(home, id, judgement, by)?))
    })?;
    let (there, copied, projects) = match &done {
        Globally::Copied(there) => (there, true, 1),
        Globally::Known { entry, projects } => (entry, false, *projects),
    };
    if session.is_json() {
        session.printer.json(&GlobalObject {
            schema: "ken.promoted.v1",
            entry: id.to_string(),
            global: EntryObject::new(there),
            copied,
            projects,
        })?;
        return Ok(Exit::Fine);
    }
    session.printer.line(there.id)?;
    let known = counted(projects as u64, "project knows it", "projects know it");
    match copied {
        true => session.printer.talk(
            "copied to the global ledger as a candidate, without evidence: other repositories are shown it below what they know themselves",
        )?,
        false => session
            .printer
            .talk(format_args!("the global ledger says this already; {known} now"))?,
    }
    Ok(Exit::Fine)
}

fn refuse_episodic(memory: Memory, from: &str, to: &str) -> Result<(), Failure> {
    match memory {
        Memory::Episodic => Err(backflow(from, to)),
        Memory::Semantic | Memory::Procedural => Ok(()),
    }
}

fn to_memory(session: &mut Session<'_>, args: PromoteArgs, to: Memory) -> Result<Exit, Failure> {
    let Some(kind) = &args.kind else {
        let from = args.entries.join(", ");
        return Err(backflow(&from, &args.to));
    };
    let kind: Kind = kind.parse().map_err(Failure::usage)?;
    if kind.memory() != to {
        let (kind, home) = (kind.name(), kind.memory().name());
        return Err(Failure::usage(format!(
            "a {kind} belongs to {home} memory, not to {}",
            to.name()
        )));
    }
    let (entry, path, bytes) = session.write(|engine, by| {
        let sources = args.entries.iter().map(|it| Ok(engine.find(it)?.id));
        let wish = Forward {
            sources: sources.collect::<Result<_, Failure>>()?,
            kind,
            statement: args.statement,
            evidence: args.anchors.into_iter().map(Into::into).collect(),
            cite: args.cite,
        };
        let entry = engine.put_forward(wish, by)?;
        let path = engine.write_artifact(&entry)?;
        let bytes = engine.artifact_of(&entry)?;
        Ok((entry, path, bytes))
    })?;
    if let Some(copy) = &args.artifact {
        write_copy(&session.surroundings.start.join(copy), &bytes)?;
    }
    if session.is_json() {
        session.printer.json(&ForwardObject {
            schema: "ken.forward.v1",
            artifact: path,
            entry: EntryObject::new(&entry),
        })?;
        return Ok(Exit::Fine);
    }
    let id = entry.id;
    session.printer.line(id)?;
    session.printer.talk(format_args!(
        "put forward; nobody is shown it until a person other than you approves: {path}"
    ))?;
    session
        .printer
        .hint(format_args!("`ken approve {id}` approves it"))?;
    Ok(Exit::Fine)
}

fn write_copy(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let doing = format!("cannot write `{}`", path.display());
    std::fs::write(path, bytes).map_err(|e| Failure::io(doing, &e))
}
