//! `ken capture --llm --add`: the LLM's claims become candidate entries.

use ken_engine::import::CaptureSource;
use ken_engine::llm::{ExtractionOutcome, LlmError, TranscriptClaim, split_transcript};
use ken_engine::{Engine, EngineError};
use serde::Serialize;

use crate::commands::Session;
use crate::commands::config::llm;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{pluralize, truncate_columns};

/// Maximum columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
struct ClaimObject<'a> {
    schema: &'static str,
    /// `proposed`, `added`, `known` or `refused`.
    outcome: &'static str,
    entries: Vec<String>,
    why: Option<String>,
    kind: &'static str,
    statement: &'a str,
    quote: &'a str,
}

/// Counts of the outcomes.
#[derive(Default)]
struct Tally {
    added: u64,
    known: u64,
    refused: u64,
    groundless: u64,
    unanswered: u64,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    capture: &CaptureSource,
    dry_run: bool,
) -> Result<CommandExit, CommandFailure> {
    // The conversation without tool output: the lines of a transcript are mostly noise.
    let text = capture.llm_text();
    let pieces = split_transcript(&text).map_err(EngineError::from)?;
    let evidence = capture.evidence();
    let mut llm = llm::open(session)?;
    let by = llm.actor();
    let (mut engine, _) = session.surroundings.open_to_write()?;
    let mut tally = Tally::default();
    for piece in pieces {
        let answer = llm.extract_claims(piece);
        llm::tell_tokens(session, &llm)?;
        let claims = match answer {
            Ok(claims) => claims,
            Err(error) => {
                tally.unanswered += 1;
                note_missing_answer(session, &error)?;
                continue;
            }
        };
        tally.groundless += claims.groundless as u64;
        for found in &claims.claims {
            let outcome = if dry_run {
                None
            } else {
                Some(engine.add_extracted_claim(found, &evidence, &by)?)
            };
            one(session, &engine, found, outcome.as_ref())?;
            match outcome {
                None => {}
                Some(ExtractionOutcome::Added(_)) => tally.added += 1,
                Some(ExtractionOutcome::Known(_)) => tally.known += 1,
                Some(ExtractionOutcome::Refused(_)) => tally.refused += 1,
            }
        }
    }
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    tell(session, &tally)
}

/// Prints that the LLM gave no valid answer, so nothing was changed.
pub(in crate::commands) fn note_missing_answer(
    session: &mut Session<'_>,
    error: &LlmError,
) -> Result<(), CommandFailure> {
    let mut why = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        why = format!("{why}: {source}");
    }
    session
        .printer
        .note(&format!("no valid answer from the LLM: {why}"))?;
    match error.hint() {
        Some(hint) => session.printer.hint(hint),
        None => Ok(()),
    }
}

fn tell(session: &mut Session<'_>, tally: &Tally) -> Result<CommandExit, CommandFailure> {
    let added = pluralize(tally.added, "candidate", "candidates");
    let mut summary = format!("{added} added");
    for (count, what) in [
        (tally.known, "already known"),
        (tally.refused, "refused"),
        (
            tally.groundless,
            "left out because the transcript does not contain them",
        ),
    ] {
        if count > 0 {
            summary = format!("{summary}, {count} {what}");
        }
    }
    if tally.unanswered > 0 {
        let parts = pluralize(tally.unanswered, "part", "parts");
        summary = format!("{summary}, {parts} without an answer");
    }
    session.printer.talk(summary)?;
    match tally.refused + tally.unanswered {
        0 => Ok(CommandExit::Fine),
        _ => Ok(CommandExit::Refused),
    }
}

fn one(
    session: &mut Session<'_>,
    engine: &Engine,
    found: &TranscriptClaim,
    outcome: Option<&ExtractionOutcome>,
) -> Result<(), CommandFailure> {
    let (word, entries, why) = match outcome {
        None => ("proposed", Vec::new(), None),
        Some(ExtractionOutcome::Added(id)) => {
            let is_quarantined = !engine.entry(*id)?.quarantine.is_empty();
            let why = is_quarantined.then(|| "quarantined".to_owned());
            ("added", vec![id.to_string()], why)
        }
        Some(ExtractionOutcome::Known(ids)) => {
            let ids = ids.iter().map(ToString::to_string);
            ("known", ids.collect(), None)
        }
        Some(ExtractionOutcome::Refused(error)) => ("refused", Vec::new(), Some(error.to_string())),
    };
    if session.is_json() {
        return session.printer.json(&ClaimObject {
            schema: "ken.capture.llm.v1",
            outcome: word,
            entries,
            why,
            kind: found.kind.name(),
            statement: found.statement.as_str(),
            quote: &found.quote,
        });
    }
    let entries = entries.join(", ");
    let kind = found.kind.name();
    let claim = truncate_columns(&found.statement.title(), CLAIM_WIDTH);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let line = if entries.is_empty() {
        format!("{word}  {kind}  {claim}{why}")
    } else {
        format!("{word}  {entries}  {kind}  {claim}{why}")
    };
    session.printer.line(line)
}
