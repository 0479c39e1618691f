//! `ken capture`: records a solved problem, or extracts claims from a transcript.

pub(super) mod llm;
mod transcript;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Tag;
use serde_json::json;

use super::add::{EntryInput, tell_quarantine};
use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

const CAPTURE_EXAMPLES: &str = "\
Examples:
  Record a problem you solved:
    ken capture --problem \"Retried payments were charged twice\" \\
        --solution \"Send the request's key with every retry\" \\
        --anchor src/pay.rs#charge --verify \"cargo test pay\" --cite commit:3fce3b5

  Extract claims from a transcript into the inbox:
    ken capture ~/.claude/projects/PROJECT/SESSION.jsonl
    opencode export SESSION | ken capture -

Problem and solution become one claim of at most three sentences. From a transcript, Ken extracts
failures that were followed by a fix, decisions and corrections by people with the exchange around
them, and repeated commands. The claims wait in `ken inbox`. Secrets are removed before anything is
written.";

/// `ken capture`.
#[derive(Debug, Args)]
#[command(after_help = CAPTURE_EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// A transcript of Claude Code, Codex, Gemini CLI or opencode, or notes in Markdown; `-` reads
    /// standard input
    #[arg(conflicts_with_all = ["problem", "solution", "cite", "anchor", "verify", "tag", "lens", "kind"])]
    pub(crate) file: Option<PathBuf>,
    /// Read FILE as a transcript of this agent instead of detecting the format
    #[arg(long, value_name = "AGENT", requires = "file")]
    pub(crate) agent: Option<CaptureAgent>,
    /// Let the configured LLM extract the claims (see `ken config llm`)
    #[arg(long, requires = "file")]
    pub(crate) llm: bool,
    /// Add the LLM's claims as candidate entries instead of putting them into the inbox
    #[arg(long, requires = "llm")]
    pub(crate) add: bool,
    /// With --llm --add: print the claims without adding them
    #[arg(long, requires = "add")]
    pub(crate) dry_run: bool,
    /// The problem, in one sentence
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    pub(crate) problem: Option<String>,
    /// The solution, in one or two sentences
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    pub(crate) solution: Option<String>,
    #[arg(
        long,
        help = values::cite_help("Citation; may be repeated"),
        visible_alias = "evidence",
        value_name = "TYPE:REF",
        required_unless_present = "file"
    )]
    pub(crate) cite: Vec<CitationSource>,
    /// Anchor in the code: PATH, PATH#SYMBOL or PATH:FIRST-LAST
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<CodeLocation>,
    /// Step that verifies the claim; at most three
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<String>,
    /// Tag, such as auth/jwt
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// Review perspective: security, correctness, performance, …
    #[arg(long, value_name = "LENS")]
    pub(crate) lens: Option<Tag>,
    /// Kind of the entry
    #[arg(long, value_name = "KIND", default_value = "learning", value_parser = values::capture_kind())]
    pub(crate) kind: EntryKind,
}

/// Agents whose transcripts can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureAgent {
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &CaptureArgs,
) -> Result<CommandExit, CommandFailure> {
    if let Some(file) = &args.file {
        let capture = transcript::read_source(args, file)?;
        if args.add {
            return llm::run(session, &capture, args.dry_run);
        }
        return transcript::run(session, args, &capture);
    }
    let text_of = |text: &Option<String>| sentence(text.as_deref().unwrap_or_default());
    let statement = format!("{} {}", text_of(&args.problem)?, text_of(&args.solution)?);
    let cite: Vec<String> = args
        .cite
        .iter()
        .map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref))
        .collect();
    let input = json!({
        "kind": args.kind.name(),
        "statement": statement,
        "cite": cite,
        "anchors": args.anchor,
        "verify": args.verify,
        "tags": args.tag,
        "lens": args.lens,
    });
    let mut input = EntryInput::parse(&input.to_string())?;
    let start = session.surroundings.start.clone();
    let claim = statement.parse().map_err(CommandFailure::usage)?;
    let entry = session.write_as(|engine, reader| {
        if let Some(known) = engine.live_entry_stating(&claim)? {
            let id = known.id;
            return Err(CommandFailure::refused(
                "known_already",
                format!("{id} makes the same claim"),
            )
            .with_hint(format!(
                "`ken entry cite {id} TYPE:REF` adds a citation; `ken show {id}` shows the entry"
            )));
        }
        input.resolve_anchors(engine, &start, args.anchor.len());
        let proposal = input.proposal(engine, &reader.agent)?;
        let added = engine.add_in_run(reader, vec![proposal])?;
        Ok(engine.entry(added[0])?)
    })?;
    tell_quarantine(session, &entry)?;
    let file = entry.file_name().unwrap_or_default();
    session.written(
        &entry,
        format_args!("captured as {}: .ken/entries/{file}", entry.status.value),
    )
}

/// Returns a text as a sentence: one line that ends with punctuation.
fn sentence(text: &str) -> Result<String, CommandFailure> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(CommandFailure::usage(
            "--problem and --solution must not be empty",
        ));
    }
    let is_ended = text.ends_with(['.', '!', '?']);
    Ok(if is_ended { text } else { format!("{text}.") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_sentence_and_nothing_is_refused() {
        assert_eq!(sentence(" it\n broke ").unwrap(), "it broke.");
        assert_eq!(sentence("Really?").unwrap(), "Really?");
        assert!(sentence(" \n").is_err());
    }
}
