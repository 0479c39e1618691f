//! `ken health duplicates`: lists and merges entries that seem to make the same claim.

use clap::Args;
use ken_core::trust::run::ExposureChannel;
use ken_core::trust::similarity::MergeDecision;
use ken_engine::Engine;
use ken_engine::duplicates::{DuplicatePair, DuplicatePairs, LISTED_MAX};
use ken_engine::llm::LlmPairOutcome;
use serde::Serialize;

use super::{dismiss_pair, note_more};
use crate::commands::Session;
use crate::commands::capture::llm::note_missing_answer;
use crate::commands::config::llm;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::{pluralize, truncate_columns};

/// `ken health duplicates`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken health duplicates\n  ken health duplicates --merge")]
pub(crate) struct DuplicatesArgs {
    /// Maximum pairs to list, or to ask the LLM about, most similar first
    #[arg(long, value_name = "N", default_value_t = LISTED_MAX)]
    pub(crate) limit: usize,
    /// Merge entries with identical statements; opposite claims are never merged
    #[arg(long, conflicts_with_all = ["llm", "dismiss"])]
    pub(crate) merge: bool,
    /// Ask the configured LLM about the other pairs: merge duplicates, never list the rest again
    #[arg(long, conflicts_with = "dismiss")]
    pub(crate) llm: bool,
    /// Never list these two entries again: they are not duplicates
    #[arg(long, value_name = "ID", num_args = 2)]
    pub(crate) dismiss: Vec<String>,
}

/// Maximum columns of a claim.
const CLAIM_WIDTH: usize = 84;

/// Consecutive calls without a valid answer after which the LLM is no longer asked.
const NO_ANSWERS_MAX: u64 = 3;

#[derive(Serialize)]
struct PairObject {
    schema: &'static str,
    first: String,
    second: String,
    cosine: Option<f64>,
    /// Probability that both make the same claim.
    score: f64,
    /// Whether both certainly make the same claim.
    sure: bool,
    may_be_opposites: bool,
    /// The outcome, if the pair was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &DuplicatesArgs,
) -> Result<CommandExit, CommandFailure> {
    if let [one, other] = &args.dismiss[..] {
        return dismiss_pair(session, one, other, Engine::dismiss_duplicate);
    }
    if args.llm {
        return ask(session, args.limit);
    }
    if args.merge {
        return merge(session);
    }
    list(session, args.limit)
}

fn list(session: &mut Session<'_>, limit: usize) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "comparing entries", None);
    let DuplicatePairs { pairs, total } = session.read_shown(
        ExposureChannel::Pull,
        move |engine| Ok(progress.during(|_| engine.duplicate_pairs(limit))?),
        |found| {
            let ids = found.pairs.iter().map(|it| [it.first.id, it.second.id]);
            ids.flatten().collect()
        },
    )?;
    for pair in &pairs {
        one(session, pair, None)?;
    }
    if session.is_json() {
        return note_more(session, pairs.len(), total);
    }
    let Some(top) = pairs.first() else {
        session.printer.talk("no duplicates found")?;
        return Ok(CommandExit::Fine);
    };
    let count = pluralize(total as u64, "pair", "pairs");
    if pairs.len() < total {
        session.printer.talk(format_args!(
            "{} of {count}, most similar first; --limit {total} lists all",
            pairs.len()
        ))?;
    } else {
        session.printer.talk(count)?;
    }
    // Merging opposite claims is never suggested.
    let shown = pairs.iter().find(|it| !it.may_be_opposites);
    let DuplicatePair { first, second, .. } = shown.unwrap_or(top);
    let (first, second) = (first.id, second.id);
    let dismiss = format!("`ken health duplicates --dismiss {first} {second}` dismisses the pair");
    let hint = match shown {
        Some(_) => format!("`ken entry merge {second} --into {first}` merges the pair, {dismiss}"),
        None => dismiss,
    };
    session.printer.hint(hint)?;
    Ok(CommandExit::Fine)
}

/// Merges entries with identical statements.
fn merge(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (mut engine, by) = session.surroundings.open_to_write()?;
    let progress = ProgressIndicator::start(session.printer, "merging entries", None);
    let merged = progress.during(|_| engine.merge_identical(&by))?;
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    for pair in &merged {
        one(session, pair, Some("merged"))?;
    }
    let count = pluralize(merged.len() as u64, "pair", "pairs");
    session
        .printer
        .talk(format_args!("{count} merged; review the others"))?;
    Ok(CommandExit::Fine)
}

/// Counts of the LLM's decisions.
#[derive(Default)]
struct Tally {
    merged: u64,
    dismissed: u64,
    people: u64,
    refused: u64,
    unanswered: u64,
}

/// Asks the LLM about the most similar pairs.
fn ask(session: &mut Session<'_>, limit: usize) -> Result<CommandExit, CommandFailure> {
    let mut llm = llm::open(session)?;
    let (mut engine, _) = session.surroundings.open_to_write()?;
    let progress = ProgressIndicator::start(session.printer, "comparing entries", None);
    let pairs = progress.during(|_| engine.undecided_pairs(limit))?;
    let mut tally = Tally::default();
    let mut in_a_row = 0;
    for pair in &pairs {
        let calls = llm.usage().1.calls;
        // An earlier pair may have merged one of these entries already.
        let is_whole = |id| Ok::<_, CommandFailure>(engine.entry(id)?.merged_into.is_none());
        if !is_whole(pair.first.id)? || !is_whole(pair.second.id)? {
            continue;
        }
        let judged = engine.llm_pair(&mut llm, pair)?;
        if calls < llm.usage().1.calls {
            llm::tell_tokens(session, &llm)?;
        }
        in_a_row = match &judged {
            LlmPairOutcome::NoAnswer(_) => in_a_row + 1,
            LlmPairOutcome::Merged { .. }
            | LlmPairOutcome::Dismissed
            | LlmPairOutcome::Norm
            | LlmPairOutcome::NeedsPerson
            | LlmPairOutcome::Refused(_) => 0,
        };
        print_outcome(session, pair, &judged, &mut tally)?;
        if in_a_row == NO_ANSWERS_MAX {
            let why = format!(
                "{NO_ANSWERS_MAX} calls in a row got no valid answer; the other pairs were not sent"
            );
            session.printer.note(&why)?;
            break;
        }
    }
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    let count = pluralize(pairs.len() as u64, "pair", "pairs");
    session.printer.talk(format_args!(
        "{count}: {} merged, {} dismissed, {} left to a person, {} refused, {} without an answer",
        tally.merged, tally.dismissed, tally.people, tally.refused, tally.unanswered
    ))?;
    match tally.refused + tally.unanswered {
        0 => Ok(CommandExit::Fine),
        _ => Ok(CommandExit::Refused),
    }
}

fn print_outcome(
    session: &mut Session<'_>,
    pair: &DuplicatePair,
    judged: &LlmPairOutcome,
    tally: &mut Tally,
) -> Result<(), CommandFailure> {
    let (word, count) = match judged {
        LlmPairOutcome::Merged { .. } => ("merged", &mut tally.merged),
        LlmPairOutcome::Dismissed => ("dismissed", &mut tally.dismissed),
        LlmPairOutcome::Norm | LlmPairOutcome::NeedsPerson => {
            ("left to a person", &mut tally.people)
        }
        LlmPairOutcome::Refused(_) => ("refused", &mut tally.refused),
        LlmPairOutcome::NoAnswer(_) => ("no answer", &mut tally.unanswered),
    };
    *count += 1;
    one(session, pair, Some(word))?;
    match judged {
        LlmPairOutcome::NoAnswer(error) => note_missing_answer(session, error),
        LlmPairOutcome::Refused(error) => session.printer.note(&format!("not merged: {error}")),
        LlmPairOutcome::Merged { .. }
        | LlmPairOutcome::Dismissed
        | LlmPairOutcome::Norm
        | LlmPairOutcome::NeedsPerson => Ok(()),
    }
}

fn one(
    session: &mut Session<'_>,
    pair: &DuplicatePair,
    outcome: Option<&'static str>,
) -> Result<(), CommandFailure> {
    let sure = pair.merging == MergeDecision::Merge;
    if session.is_json() {
        return session.printer.json(&PairObject {
            schema: "ken.duplicates.v1",
            first: pair.first.id.to_string(),
            second: pair.second.id.to_string(),
            cosine: pair.cosine,
            score: pair.score,
            sure,
            may_be_opposites: pair.may_be_opposites,
            outcome,
        });
    }
    let mut head = if sure {
        "same claim".to_owned()
    } else {
        format!("same claim with probability {:.2}", pair.score)
    };
    if pair.may_be_opposites {
        head.push_str(", may be opposites");
    }
    if let Some(outcome) = outcome {
        head = format!("{outcome}: {head}");
    }
    session.printer.line(head)?;
    for entry in [&pair.first, &pair.second] {
        let line = format!(
            "  {}  {}",
            entry.id,
            truncate_columns(&entry.title(), CLAIM_WIDTH)
        );
        session.printer.line(line)?;
    }
    Ok(())
}
