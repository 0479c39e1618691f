//! `ken capture FILE`: extracts claims from a transcript or notes into the inbox.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ken_engine::import::{
    CaptureMaterial, CaptureSource, InboxClaim, ReduceOutcome, TRANSCRIPT_BYTES_MAX,
    TranscriptAgent,
};
use ken_engine::llm::{LlmUsage, TranscriptClaim, split_transcript};
use ken_engine::{Engine, EngineError};
use serde::Serialize;

use super::llm as llm_claims;
use crate::commands::Session;
use crate::commands::capture::{CaptureAgent, CaptureArgs};
use crate::commands::config::llm;
use crate::commands::inbox::claims::amendment_notes;
use crate::commands::inbox::collect;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{DIM, escape_invisible, pluralize, styled, wrap};

/// Columns of the indentation before a statement.
const INDENT: usize = 4;

#[derive(Serialize)]
struct CaptureObject<'a> {
    schema: &'static str,
    /// `claude-code`, `codex`, `gemini-cli`, `opencode` or `notes`.
    source: &'static str,
    digest: &'a str,
    session: Option<&'a str>,
    /// Number of lines; `skipped` counts those that could not be parsed.
    lines: usize,
    skipped: usize,
    staged: &'a [InboxClaim],
    waiting: usize,
    known: usize,
    rejected: usize,
    refused: usize,
    tokens: Tokens,
}

/// Tokens used by the LLM; zero without one.
#[derive(Serialize)]
struct Tokens {
    calls: u64,
    sent: u64,
    received: u64,
    estimated: bool,
}

/// Reads a transcript or notes.
pub(super) fn read_source(
    args: &CaptureArgs,
    file: &Path,
) -> Result<CaptureSource, CommandFailure> {
    let agent = args.agent.map(|agent| match agent {
        CaptureAgent::ClaudeCode => TranscriptAgent::ClaudeCode,
        CaptureAgent::Codex => TranscriptAgent::Codex,
        CaptureAgent::GeminiCli => TranscriptAgent::GeminiCli,
        CaptureAgent::Opencode => TranscriptAgent::OpenCode,
    });
    Ok(CaptureSource::parse(&bytes(file)?, agent)?)
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &CaptureArgs,
    capture: &CaptureSource,
) -> Result<CommandExit, CommandFailure> {
    let (reduced, spent, exit) = if args.llm {
        extract_with_llm(session, capture)?
    } else {
        let reduced = session.read(|engine| Ok(engine.capture(capture)?))?;
        (reduced, LlmUsage::default(), CommandExit::Fine)
    };
    if session.is_json() {
        session.printer.json(&object(capture, &reduced, spent))?;
        return Ok(exit);
    }
    for staged in &reduced.staged {
        show(session, staged)?;
    }
    tell(session, capture, &reduced, spent)?;
    Ok(exit)
}

/// Prints a claim in full, because a person has to decide about it.
fn show(session: &mut Session<'_>, staged: &InboxClaim) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    let (id, kind) = (&staged.id, staged.kind.name());
    let seen = escape_invisible(&staged.findings.join("; "));
    session
        .printer
        .line(format_args!("{id}  {kind}  {}", styled(DIM, seen)))?;
    for line in wrap(
        &escape_invisible(&staged.statement),
        width.saturating_sub(INDENT),
    ) {
        session.printer.line(format_args!("{:INDENT$}{line}", ""))?;
    }
    for part in staged.exchange.iter().flat_map(|it| it.lines()) {
        for line in wrap(&escape_invisible(part), width.saturating_sub(INDENT)) {
            let line = format!("{:INDENT$}{line}", "");
            session.printer.line(styled(DIM, line))?;
        }
    }
    for note in amendment_notes(staged) {
        session.printer.line(format_args!("{:INDENT$}{note}", ""))?;
    }
    Ok(())
}

/// Lets the LLM extract the claims. Without a valid answer, Ken's own extraction is used.
fn extract_with_llm(
    session: &mut Session<'_>,
    capture: &CaptureSource,
) -> Result<(ReduceOutcome, LlmUsage, CommandExit), CommandFailure> {
    let text = capture.llm_text();
    let pieces = split_transcript(&text).map_err(EngineError::from)?;
    let mut llm = llm::open(session)?;
    let mut found: Vec<TranscriptClaim> = Vec::new();
    let mut exit = CommandExit::Fine;
    for piece in pieces {
        let answer = llm.extract_claims(piece);
        llm::tell_tokens(session, &llm)?;
        match answer {
            Ok(claims) => found.extend(claims.claims),
            Err(error) => {
                exit = CommandExit::Refused;
                llm_claims::note_missing_answer(session, &error)?;
            }
        }
    }
    let by = llm.actor();
    let stage = |engine: &mut Engine| -> Result<ReduceOutcome, EngineError> {
        let mut reduced = engine.capture_judged(capture, &found, &by)?;
        if exit != CommandExit::Fine {
            let own = engine.capture(capture)?;
            reduced.staged.extend(own.staged);
            reduced.waiting += own.waiting;
            reduced.known += own.known;
            reduced.rejected += own.rejected;
            reduced.refused += own.refused;
        }
        Ok(reduced)
    };
    let reduced = session.read(|engine| Ok(stage(engine)?))?;
    Ok((reduced, llm.usage().1, exit))
}

fn tell(
    session: &mut Session<'_>,
    capture: &CaptureSource,
    reduced: &ReduceOutcome,
    spent: LlmUsage,
) -> Result<(), CommandFailure> {
    let source = match &capture.material {
        CaptureMaterial::Notes(_) => "notes".to_owned(),
        CaptureMaterial::Transcript(it) => {
            let lines = pluralize(it.lines as u64, "line", "lines");
            let skipped = match it.skipped {
                0 => String::new(),
                count => format!(", {count} of them unreadable"),
            };
            format!("transcript of {} ({lines}{skipped})", it.agent.name())
        }
    };
    session.printer.talk(collect::summary(&source, reduced))?;
    if spent.calls == 0 {
        session.printer.talk("0 tokens: no LLM was called")?;
    }
    if !reduced.staged.is_empty() {
        session.printer.hint(
            "review them: `ken inbox accept ID …` turns claims into entries, `ken add --from ID \"TEXT\"` records one in fewer words, `ken inbox reject ID …` rejects claims permanently",
        )?;
    }
    session
        .printer
        .hint("to record a lesson of your own, run `ken capture --problem … --solution … --cite …`")
}

fn object<'a>(
    capture: &'a CaptureSource,
    reduced: &'a ReduceOutcome,
    spent: LlmUsage,
) -> CaptureObject<'a> {
    let (source, session, lines, skipped) = match &capture.material {
        CaptureMaterial::Transcript(it) => {
            (it.agent.name(), it.session.as_deref(), it.lines, it.skipped)
        }
        CaptureMaterial::Notes(text) => ("notes", None, text.lines().count(), 0),
    };
    CaptureObject {
        schema: "ken.capture.v1",
        source,
        digest: &capture.digest,
        session,
        lines,
        skipped,
        staged: &reduced.staged,
        waiting: reduced.waiting,
        known: reduced.known,
        rejected: reduced.rejected,
        refused: reduced.refused,
        tokens: Tokens {
            calls: spent.calls,
            sent: spent.sent,
            received: spent.received,
            estimated: spent.estimated,
        },
    }
}

/// Reads at most one byte more than the maximum, so that a larger transcript is detected.
fn bytes(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let shown = path.display();
    let most = TRANSCRIPT_BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        let file = File::open(path)
            .map_err(|e| CommandFailure::io(format_args!("cannot open `{shown}`"), &e))?;
        file.take(most).read_to_end(&mut bytes)
    };
    read.map_err(|e| CommandFailure::io(format_args!("cannot read `{shown}`"), &e))?;
    Ok(bytes)
}
