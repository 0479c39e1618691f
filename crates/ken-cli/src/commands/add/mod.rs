//! `ken add`: adds one entry from flags or JSON, or many from JSON lines.

mod input;
mod lines;

use std::path::PathBuf;

use clap::Args;
use ken_core::ledger::entry::Entry;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::EntryScope;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::{Alias, Tag};

use crate::args::fields::EntryFieldArgs;
use crate::args::filter::NormType;
use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

pub(crate) use input::EntryInput;

const ADD_EXAMPLES: &str = "\
Examples:
  Add a learning that cites the current commit:
    ken add \"Charging twice is safe: the key is idempotent\"

  Add a lesson that points at code:
    ken add --kind learning --statement \"Charging twice is safe: the key is idempotent\" \\
        --anchor src/pay.rs#charge --verify \"cargo test pay\" --cite commit:3fce3b5 --tag payments

  Add a finding of a review:
    ken add --kind anti-pattern --statement \"Never log the session cookie\" \\
        --cite pr:142 --lens security --polarity negative

  Add many entries, one JSON object per line:
    ken add --from-jsonl lessons.jsonl

A statement is one to three sentences that hold beyond a single case. Every entry of the semantic
and procedural memory needs at least one citation.";

/// `ken add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
#[command(group = clap::ArgGroup::new("input").args(["text", "statement", "content", "from_jsonl"]).required(true))]
pub(crate) struct AddArgs {
    /// The claim. Kind and citation then default to learning and the current commit
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Kind of the entry
    #[arg(long, value_name = "KIND", value_parser = values::kind(), conflicts_with = "from_jsonl")]
    pub(crate) kind: Option<EntryKind>,
    #[command(flatten)]
    pub(crate) fields: EntryFieldArgs,
    #[arg(
        long,
        help = values::cite_help("Citation; may be repeated"),
        value_name = "TYPE:REF",
        conflicts_with = "from_jsonl"
    )]
    pub(crate) cite: Vec<CitationSource>,
    /// Scope of the entry
    #[arg(long, value_name = "SCOPE", value_parser = values::word::<EntryScope>(&["thread", "workspace", "global"]))]
    pub(crate) scope: Option<EntryScope>,
    /// Thread of work the entry belongs to
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// Alias that you can use instead of the id
    #[arg(long, value_name = "NAME", conflicts_with = "from_jsonl")]
    pub(crate) alias: Option<Alias>,
    /// Retracted entry that this one may repeat; only a person may override it
    #[arg(long = "override", value_name = "ID")]
    pub(crate) overrides: Option<String>,
    /// Add one entry per line of FILE, `-` for standard input; written in batches of 100
    #[arg(long, value_name = "FILE")]
    pub(crate) from_jsonl: Option<PathBuf>,
    /// Memory of the content: semantic or procedural
    #[arg(
        long = "type",
        value_name = "MEMORY",
        help_heading = "Format of other knowledge stores"
    )]
    pub(crate) memory: Option<Memory>,
    /// Kind of norm of the content
    #[arg(
        long,
        value_name = "NORM",
        help_heading = "Format of other knowledge stores"
    )]
    pub(crate) norm_type: Option<NormType>,
    /// Citation of the content: TYPE:REF, or a commit
    #[arg(
        long,
        value_name = "REF",
        help_heading = "Format of other knowledge stores"
    )]
    pub(crate) evidence: Vec<String>,
    /// The entry as JSON: id, type, name, description, rule, provenance, …
    #[arg(
        long,
        value_name = "JSON",
        help_heading = "Format of other knowledge stores"
    )]
    pub(crate) content: Option<String>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &AddArgs,
) -> Result<CommandExit, CommandFailure> {
    if let Some(path) = &args.from_jsonl {
        return lines::run(session, args, path);
    }
    let mut input = match &args.content {
        Some(json) => EntryInput::parse(json).map_err(|failure| failure.at("--content"))?,
        None => EntryInput::default(),
    };
    input.apply(args)?;
    let start = session.surroundings.start.clone();
    let (entry, against) = session.write_as(|engine, reader| {
        input.resolve_anchors(engine, &start, args.fields.anchor.len());
        if args.text.is_some() {
            input.apply_defaults(engine);
        }
        let proposal = input.proposal(engine, &reader.agent)?;
        let added = engine.add_in_run(reader, vec![proposal])?;
        Ok((
            engine.entry(added[0])?,
            engine.contradicting_norms(added[0])?,
        ))
    })?;
    tell_quarantine(session, &entry)?;
    for it in &against {
        let (one, other) = (it.first.id, it.second.id);
        session.printer.note(&format!(
            "{one} and {other} contradict each other ({}); `ken verify` fails until you run `ken inbox resolve {one} {other} --keep ID`",
            it.why
        ))?;
    }
    let file = entry.file_name().unwrap_or_default();
    session.written(
        &entry,
        format_args!("added as {}: .ken/entries/{file}", entry.status.value),
    )
}

/// Prints that the guard quarantined the entry, which the result alone does not show.
pub(super) fn tell_quarantine(
    session: &mut Session<'_>,
    entry: &Entry,
) -> Result<(), CommandFailure> {
    if entry.quarantine.is_empty() {
        return Ok(());
    }
    let id = entry.id;
    let quarantined = session.read(|engine| Ok(engine.quarantined_entry(id)?))?;
    let why = quarantined.map_or_else(String::new, |it| it.reason);
    session.printer.note(&format!(
        "{id} is quarantined: {why}; a person can release it with `ken guard quarantine release {id} --reason TEXT`"
    ))
}
