//! `ken add`: adds one entry from flags or JSON, or many from JSON lines.

mod input;
mod lines;

use std::io::{self, Read as _};
use std::path::PathBuf;

use clap::Args;
use ken_core::json::EntryJson;
use ken_core::ledger::entry::Entry;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::EntryScope;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::{Alias, Tag};
use ken_engine::Engine;
use ken_engine::contradictions::Contradiction;
use ken_engine::conversations::EXCHANGE_PREFIX;
use ken_engine::duplicates::{EntryRelation, RelatedEntry};
use ken_engine::import::{InboxClaim, SupersedeOutcome};
use serde::Serialize;

use crate::args::fields::EntryFieldArgs;
use crate::args::filter::NormType;
use crate::args::values;
use crate::commands::Session;
use crate::commands::inbox::claims::tell_superseded;
use crate::editor;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::escape_invisible;
use crate::world;

pub(crate) use input::EntryInput;

/// Maximum size of a claim on standard input.
const STDIN_BYTES_MAX: u64 = 64 << 10;

const TEMPLATE: &str = "\
# Write what you learned: one to three sentences that hold beyond a single case.
# Further sentences and paragraphs become the body of the entry.
# Lines that start with # are ignored. An empty text records nothing.
";

const ADD_EXAMPLES: &str = "\
Examples:
  Add a learning that cites the current commit:
    ken add \"Charging twice is safe: the key is idempotent\"

  Write it in your editor:
    ken add

  Add a lesson that points at code:
    ken add --kind learning --statement \"Charging twice is safe: the key is idempotent\" \\
        --anchor src/pay.rs#charge --verify \"cargo test pay\" --cite commit:3fce3b5 --tag payments

  Add a finding of a review:
    ken add --kind anti-pattern --statement \"Never log the session cookie\" \\
        --cite pr:142 --lens security --polarity negative

  Add a decision that amends an older one:
    ken add --kind decision --supersedes L-7k2f \\
        \"Retries stop after seven attempts, no longer five\"

  Record what a captured conversation decided, in your own words:
    ken add --kind decision --from c-3fce3b5a01 \\
        \"Retries stop after seven attempts: the eighth trips the rate limit\"

  Add many entries, one JSON object per line:
    ken add --from-jsonl lessons.jsonl

A statement is one to three sentences that hold beyond a single case; a longer text becomes a
statement and a body. Every entry of the semantic and procedural memory needs at least one citation.
Ken checks that a cited commit or document exists, and names similar and contradicting entries.";

/// `ken add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
#[command(group = clap::ArgGroup::new("input").args(["text", "statement", "content", "from_jsonl"]))]
pub(crate) struct AddArgs {
    /// The claim, `-` for standard input. Kind and citation then default to learning and the
    /// current commit [default: the text you write in $VISUAL or $EDITOR]
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Write the claim in $VISUAL or $EDITOR; a TEXT is the first draft
    #[arg(short, long, conflicts_with_all = ["statement", "content", "from_jsonl"])]
    pub(crate) editor: bool,
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
    /// Older entry that this one replaces; may be repeated
    #[arg(long, value_name = "ID", conflicts_with = "from_jsonl")]
    pub(crate) supersedes: Vec<String>,
    /// Claim in the inbox that this entry states in fewer words: cites its exchange and takes it
    /// out of the inbox; or an exchange that `ken search` found
    #[arg(long, value_name = "EXCHANGE", conflicts_with = "from_jsonl")]
    pub(crate) from: Option<String>,
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
    let is_plain = args.fields.statement.is_none() && args.content.is_none();
    if is_plain {
        input.set_statement(plain_text(session, args)?);
    }
    let start = session.surroundings.start.clone();
    let mut superseded = SupersedeOutcome::default();
    let (entry, against, related) = session.write_as(|engine, reader| {
        input.resolve_anchors(engine, &start, args.fields.anchor.len());
        let said = args.from.iter().find(|it| it.starts_with(EXCHANGE_PREFIX));
        if let Some(said) = said {
            let home = world::require_conversation_home()?;
            input.cite_also(engine.cite_exchange(&home, said)?);
        }
        let exchange = match said {
            Some(_) => &[],
            None => args.from.as_slice(),
        };
        let claims = claims_of(engine, exchange)?;
        input.cite_claims(&claims);
        if is_plain {
            input.apply_defaults(engine);
        }
        let proposal = input.proposal(engine, &reader.agent)?;
        let old = args.supersedes.iter();
        let old = old.map(|it| engine.find_supersedable(it, &reader.agent));
        let old = old.collect::<Result<Vec<_>, _>>()?;
        let added = engine.add_in_run(reader, vec![proposal])?;
        for old in old {
            engine.supersede(old, added[0], &reader.agent)?;
        }
        if !exchange.is_empty() {
            // The claim is recorded in other words: capturing the transcript again must not add it.
            engine.reject_inbox_claims(exchange)?;
            superseded = engine.supersede_amended(added[0], &claims, &reader.agent)?;
        }
        Ok((
            engine.entry(added[0])?,
            engine.contradicting_norms(added[0])?,
            engine.related_entries(added[0])?,
        ))
    })?;
    tell_quarantine(session, &entry)?;
    if session.is_json() {
        let mut object = EntryJson::new(&entry);
        if !related.is_empty() {
            let related: Vec<_> = related.iter().map(RelatedJson::new).collect();
            object = object.with("related", serde_json::json!(related));
        }
        session.printer.json(&object)?;
        return Ok(CommandExit::Fine);
    }
    tell_superseded(session, &superseded)?;
    tell_related(session, &entry, &related)?;
    tell_contradictions(session, &against)?;
    let file = entry.file_name().unwrap_or_default();
    session.written(
        &entry,
        format_args!("added as {}: .ken/entries/{file}", entry.status.value),
    )
}

/// Names the norms that the new one contradicts.
fn tell_contradictions(
    session: &mut Session<'_>,
    against: &[Contradiction],
) -> Result<(), CommandFailure> {
    for it in against {
        let (one, other) = (it.first.id, it.second.id);
        session.printer.note(&format!(
            "{one} and {other} contradict each other ({}); `ken verify` fails until you run `ken inbox resolve {one} {other} --keep ID`",
            it.why
        ))?;
    }
    Ok(())
}

/// Returns the claims of the inbox that an entry is recorded from. No id means no claim.
fn claims_of(engine: &Engine, ids: &[String]) -> Result<Vec<InboxClaim>, CommandFailure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(engine.find_inbox_claims(ids)?)
}

/// Returns the claim from the command line, standard input or the editor.
fn plain_text(session: &Session<'_>, args: &AddArgs) -> Result<String, CommandFailure> {
    let missing = |message: &str| {
        CommandFailure::usage(message)
            .with_hint("`ken add \"TEXT\"` adds a claim; `ken add --help` shows other ways")
    };
    match args.text.as_deref() {
        Some("-") => {
            let text = io::read_to_string(io::stdin().take(STDIN_BYTES_MAX));
            return text.map_err(|e| CommandFailure::io("cannot read standard input", &e));
        }
        Some(text) if !args.editor => return Ok(text.to_owned()),
        Some(_) => {}
        None if args.editor || editor::is_interactive() => {}
        None => return Err(missing("the claim is missing")),
    }
    let root = session.surroundings.open_to_read()?.root().to_owned();
    let draft = args.text.as_deref().unwrap_or_default();
    let path = root.join(format!(".ken/.local/ADD_ENTRY.{}.md", std::process::id()));
    let text = editor::compose(&path, &format!("{draft}\n\n{TEMPLATE}"))?;
    if text.is_empty() {
        return Err(missing("nothing was recorded: the text is empty"));
    }
    Ok(text)
}

/// Names entries that the new one may repeat or contradict. The entry is recorded all the same.
fn tell_related(
    session: &mut Session<'_>,
    entry: &Entry,
    related: &[RelatedEntry],
) -> Result<(), CommandFailure> {
    // Agents get ids only: the text would be an exposure.
    let is_agent = session.surroundings.reader().is_some();
    for it in related {
        let (new, old) = (entry.id, it.entry.id);
        let title = if is_agent {
            String::new()
        } else {
            format!(" (\"{}\")", escape_invisible(&it.entry.title()))
        };
        session.printer.note(&match it.relation {
            EntryRelation::Similar => format!(
                "similar to {old}{title}; `ken entry merge {new} --into {old}` merges them, `ken entry supersede {old} {new}` replaces it, `ken undo` removes the new one"
            ),
            EntryRelation::Opposed => format!(
                "may contradict {old}{title}; `ken inbox resolve {new} {old}` decides, `ken entry supersede {old} {new}` replaces it"
            ),
            EntryRelation::SameCode => format!(
                "{old}{title} is about the same code; if the new entry replaces it, run `ken entry supersede {old} {new}`; next time add it with --supersedes {old}"
            ),
        })?;
    }
    Ok(())
}

/// A similar or contradicting entry in the JSON output.
#[derive(Debug, Serialize)]
pub(crate) struct RelatedJson {
    id: String,
    relation: EntryRelation,
}

impl RelatedJson {
    pub(crate) fn new(related: &RelatedEntry) -> Self {
        Self {
            id: related.entry.id.to_string(),
            relation: related.relation,
        }
    }
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
