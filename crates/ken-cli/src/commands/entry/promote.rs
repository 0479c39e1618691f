//! `ken entry promote`: widens the scope of an entry, or moves it to another memory.
//!
//! Friction that agents recorded can suggest a norm but never becomes one by itself: that requires
//! a promotion artifact and a person's approval.

use std::path::{Path, PathBuf};

use clap::Args;
use ken_core::decide::Refusal;
use ken_core::json::EntryJson;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::Statement;
use ken_engine::promotion::{GlobalPromotion, PromotionDecider, PromotionRequest};
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::world::Environment;

/// Text below the options of `ken entry promote --help`.
const PROMOTE_EXAMPLES: &str = "\
Examples:
  ken entry promote L-7k2f --to workspace          from a thread of work to the whole repository
  ken entry promote L-7k2f --to global             to all your projects: a copy without citations
  ken entry promote F-9d2c --to procedural --as commit-norm --statement \"Format before committing.\"
                                                   propose a norm; see `ken inbox approve`
";

/// `ken entry promote`.
#[derive(Debug, Args)]
#[command(after_help = PROMOTE_EXAMPLES)]
pub(crate) struct PromoteArgs {
    /// The entry; for another memory, the entries that support the new one
    #[arg(value_name = "ENTRY", required_unless_present = "from")]
    pub(crate) entries: Vec<String>,
    /// Source of a direct promotion: MEMORY, MEMORY/KIND or an entry; refused for episodic memory
    #[arg(long, value_name = "FROM", conflicts_with = "entries")]
    pub(crate) from: Option<String>,
    /// Target: workspace, global, semantic or procedural
    #[arg(long, value_name = "TO")]
    pub(crate) to: String,
    /// Kind of the new entry in another memory, such as commit-norm or learning
    #[arg(long = "as", value_name = "KIND", requires = "entries")]
    pub(crate) kind: Option<String>,
    /// Statement of the new entry
    #[arg(long, value_name = "TEXT", requires = "kind")]
    pub(crate) statement: Option<Statement>,
    /// Anchor of the new entry; may be repeated
    #[arg(long = "anchor", value_name = "ANCHOR", requires = "kind")]
    pub(crate) anchors: Vec<CodeLocation>,
    #[arg(
        long = "cite",
        help = values::cite_help("Further citation; may be repeated"),
        value_name = "TYPE:REF",
        requires = "kind"
    )]
    pub(crate) cite: Vec<CitationSource>,
    /// Also write the promotion artifact to FILE
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub(crate) artifact: Option<PathBuf>,
    /// Promote even if the rules find the entry unproven or specific to this project; people
    /// only
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// Target of a promotion.
enum Goal {
    Workspace,
    Global,
    Memory(Memory),
}

/// JSON view of a promotion to the global ledger.
#[derive(Serialize)]
struct GlobalObject {
    schema: &'static str,
    /// The entry in the repository.
    entry: String,
    /// The entry in the global ledger.
    global: EntryJson,
    /// Whether the global ledger did not have it yet.
    copied: bool,
    /// Number of projects that have it.
    projects: usize,
}

/// JSON view of a pending promotion to another memory.
#[derive(Serialize)]
struct ForwardObject {
    schema: &'static str,
    artifact: String,
    entry: EntryJson,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: PromoteArgs,
) -> Result<CommandExit, CommandFailure> {
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

fn goal(to: &str) -> Result<Goal, CommandFailure> {
    // The names of memories come first, because a scope never has one of them.
    if let Ok(memory) = to.parse() {
        return Ok(Goal::Memory(memory));
    }
    match to {
        "workspace" => Ok(Goal::Workspace),
        "global" => Ok(Goal::Global),
        _ => Err(CommandFailure::usage(format!(
            "`{to}` is not a valid target; use workspace, global, semantic or procedural"
        ))),
    }
}

/// Refuses a promotion without an artifact.
fn direct(
    session: &mut Session<'_>,
    from: &str,
    to: &str,
    goal: &Goal,
) -> Result<CommandExit, CommandFailure> {
    // The direction is checked before the missing names: naming entries would not make it allowed.
    if memory_of(session, from)? == Memory::Episodic {
        return Err(backflow(from, to));
    }
    let next = match goal {
        Goal::Workspace | Goal::Global => format!("`ken entry promote ENTRY --to {to}`"),
        Goal::Memory(_) => {
            format!("`ken entry promote ENTRY --to {to} --as KIND --statement TEXT`")
        }
    };
    Err(
        CommandFailure::usage(format!("cannot promote all of {from} to {to} at once"))
            .with_hint(format!("name the entries: {next}")),
    )
}

fn backflow(from: &str, to: &str) -> CommandFailure {
    let (from, to) = (from.to_owned(), to.to_owned());
    Refusal::DirectionalFlow { from, to }.into()
}

/// Returns the memory that `from` names: directly, by a kind in it, or by an entry.
fn memory_of(session: &mut Session<'_>, from: &str) -> Result<Memory, CommandFailure> {
    // A path such as `semantic/learning` names its memory by its first part.
    let first = from.split('/').next().unwrap_or(from);
    if let Ok(memory) = first.parse() {
        return Ok(memory);
    }
    if let Ok(kind) = first.parse::<EntryKind>() {
        return Ok(kind.memory());
    }
    let entry = session.read(|engine| Ok(engine.find(from)?))?;
    Ok(entry.id.prefix().memory())
}

fn judgment(args: &PromoteArgs) -> PromotionDecider {
    if args.anyway {
        PromotionDecider::Person
    } else {
        PromotionDecider::Rules
    }
}

/// Returns the only entry of the arguments, or an error.
fn only(args: &PromoteArgs) -> Result<&str, CommandFailure> {
    match args.entries.as_slice() {
        [one] if args.kind.is_none() => Ok(one),
        [_] => Err(CommandFailure::usage(
            "--as requires --to semantic or --to procedural",
        )),
        _ => Err(CommandFailure::usage("promote one entry at a time")),
    }
}

fn to_workspace(
    session: &mut Session<'_>,
    args: &PromoteArgs,
) -> Result<CommandExit, CommandFailure> {
    let (wanted, judgment) = (only(args)?, judgment(args));
    let entry = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        // Checked inside of the write: the entry is known only after its prefix was resolved.
        refuse_episodic(id.prefix().memory(), wanted, &args.to)?;
        Ok(engine.promote_to_workspace(id, judgment, by)?)
    })?;
    session.written(&entry, "promoted to workspace scope")
}

fn to_global(session: &mut Session<'_>, args: &PromoteArgs) -> Result<CommandExit, CommandFailure> {
    let (wanted, judgment) = (only(args)?, judgment(args));
    // Asked for before the ledger is locked: a missing home is no reason to wait for a lock.
    let home = Environment::global_home()?;
    let (id, done) = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        refuse_episodic(id.prefix().memory(), wanted, &args.to)?;
        Ok((id, engine.promote_to_global(home, id, judgment, by)?))
    })?;
    let (there, copied, projects) = match &done {
        GlobalPromotion::Copied(there) => (there, true, 1),
        GlobalPromotion::Known { entry, projects } => (entry, false, *projects),
    };
    if session.is_json() {
        session.printer.json(&GlobalObject {
            schema: "ken.promoted.v1",
            entry: id.to_string(),
            global: EntryJson::new(there),
            copied,
            projects,
        })?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(there.id)?;
    let known = pluralize(projects as u64, "project has it", "projects have it");
    if copied {
        session.printer.talk(
        "copied to the global ledger as a candidate, without citations; other repositories list it after their own entries",
    )?;
    } else {
        session.printer.talk(format_args!(
            "the global ledger already has this claim; {known}"
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn refuse_episodic(memory: Memory, from: &str, to: &str) -> Result<(), CommandFailure> {
    match memory {
        Memory::Episodic => Err(backflow(from, to)),
        Memory::Semantic | Memory::Procedural => Ok(()),
    }
}

fn to_memory(
    session: &mut Session<'_>,
    args: PromoteArgs,
    to: Memory,
) -> Result<CommandExit, CommandFailure> {
    let Some(kind) = &args.kind else {
        let from = args.entries.join(", ");
        return Err(backflow(&from, &args.to));
    };
    let kind: EntryKind = kind.parse().map_err(CommandFailure::usage)?;
    if kind.memory() != to {
        let (kind, home) = (kind.name(), kind.memory().name());
        return Err(CommandFailure::usage(format!(
            "a {kind} belongs to {home} memory, not to {}",
            to.name()
        )));
    }
    let (entry, path, bytes) = session.write(|engine, by| {
        let sources = args.entries.iter().map(|it| Ok(engine.find(it)?.id));
        let request = PromotionRequest {
            sources: sources.collect::<Result<_, CommandFailure>>()?,
            kind,
            statement: args.statement,
            anchors: args.anchors.into_iter().map(Into::into).collect(),
            cite: args.cite,
        };
        let entry = engine.propose_promotion(request, by)?;
        let path = engine.write_artifact(&entry)?;
        let bytes = engine.artifact_bytes(&entry)?;
        Ok((entry, path, bytes))
    })?;
    if let Some(copy) = &args.artifact {
        write_copy(&session.surroundings.start.join(copy), &bytes)?;
    }
    if session.is_json() {
        session.printer.json(&ForwardObject {
            schema: "ken.forward.v1",
            artifact: path,
            entry: EntryJson::new(&entry),
        })?;
        return Ok(CommandExit::Fine);
    }
    let id = entry.id;
    session.printer.line(id)?;
    session.printer.talk(format_args!(
        "pending: agents do not see it until a person other than you approves it: {path}"
    ))?;
    session
        .printer
        .hint(format_args!("`ken inbox approve {id}` approves it"))?;
    Ok(CommandExit::Fine)
}

fn write_copy(path: &Path, bytes: &[u8]) -> Result<(), CommandFailure> {
    let doing = format!("cannot write `{}`", path.display());
    std::fs::write(path, bytes).map_err(|e| CommandFailure::io(doing, &e))
}
