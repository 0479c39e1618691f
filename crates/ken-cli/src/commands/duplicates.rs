//! `ken duplicates`: entries that seem to say the same.

use ken_core::likeness::Merging;
use ken_core::run::How;
use ken_engine::judge::Judged;
use ken_engine::pairs::Pair;
use serde::Serialize;

use super::extract::tell_silence;
use super::{Session, judge};
use crate::args::DuplicatesArgs;
use crate::failure::{Exit, Failure};
use crate::print::{counted, cut};

/// Columns of a claim.
const CLAIM_WIDTH: usize = 84;

/// Questions in a row without an answer before a judge is taken for gone.
const SILENCES_MAX: u64 = 3;

#[derive(Serialize)]
struct PairObject {
    schema: &'static str,
    first: String,
    second: String,
    cosine: Option<f64>,
    /// How likely they are one in other words.
    score: f64,
    /// Whether they say the same without doubt.
    sure: bool,
    may_be_opposites: bool,
    /// What became of it, where something was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

pub(super) fn run(session: &mut Session<'_>, args: &DuplicatesArgs) -> Result<Exit, Failure> {
    if let [one, other] = &args.dismiss[..] {
        session.write(|engine, by| {
            let (one, other) = (engine.find(one)?.id, engine.find(other)?.id);
            Ok(engine.dismiss_duplicate(one, other, by)?)
        })?;
        session
            .printer
            .talk("they stay two, and are not listed again")?;
        return Ok(Exit::Fine);
    }
    if args.judge {
        return ask(session, args.limit);
    }
    if args.merge {
        return merge(session);
    }
    list(session, args.limit)
}

fn list(session: &mut Session<'_>, limit: usize) -> Result<Exit, Failure> {
    let (pairs, all) = session.read_shown(
        How::Pull,
        |engine| {
            let mut pairs = engine.duplicates()?;
            let all = pairs.len();
            pairs.truncate(limit);
            Ok((pairs, all))
        },
        |(pairs, _)| {
            pairs
                .iter()
                .flat_map(|it| [it.first.id, it.second.id])
                .collect()
        },
    )?;
    for pair in &pairs {
        one(session, pair, None)?;
    }
    if session.is_json() {
        return Ok(Exit::Fine);
    }
    let Some(likeliest) = pairs.first() else {
        session
            .printer
            .talk("no two entries seem to say the same")?;
        return Ok(Exit::Fine);
    };
    let count = counted(all as u64, "pair", "pairs");
    match pairs.len() < all {
        true => session.printer.talk(format_args!(
            "{} of {count}, likeliest first; --limit {all} lists all",
            pairs.len()
        ))?,
        false => session.printer.talk(count)?,
    }
    // Nobody is advised to make opposites one.
    let shown = pairs.iter().find(|it| !it.may_be_opposites);
    let Pair { first, second, .. } = shown.unwrap_or(likeliest);
    let (first, second) = (first.id, second.id);
    let apart = format!("`ken duplicates --dismiss {first} {second}` keeps them apart");
    let hint = match shown {
        Some(_) => format!("`ken merge {second} --into {first}` makes two one, {apart}"),
        None => apart,
    };
    session.printer.hint(hint)?;
    Ok(Exit::Fine)
}

/// Merges what is the same word for word.
fn merge(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (mut engine, by) = session.surroundings.open_to_write()?;
    let merged = engine.merge_equal(&by)?;
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    for pair in &merged {
        one(session, pair, Some("merged"))?;
    }
    let count = counted(merged.len() as u64, "pair", "pairs");
    session
        .printer
        .talk(format_args!("{count} merged; the others need a look"))?;
    Ok(Exit::Fine)
}

/// What became of the pairs a judge was asked about.
#[derive(Default)]
struct Tally {
    merged: u64,
    apart: u64,
    people: u64,
    refused: u64,
    silent: u64,
}

/// Asks a judge about the likeliest pairs.
fn ask(session: &mut Session<'_>, limit: usize) -> Result<Exit, Failure> {
    let mut judge = judge::open(session)?;
    let (mut engine, _) = session.surroundings.open_to_write()?;
    let mut pairs = engine.duplicates()?;
    pairs.retain(|it| it.merging == Merging::Judge);
    pairs.truncate(limit);
    let mut tally = Tally::default();
    let mut in_a_row = 0;
    for pair in &pairs {
        let calls = judge.spent().1.calls;
        // An entry of an earlier pair may be part of another by now.
        let is_whole = |id| Ok::<_, Failure>(engine.entry(id)?.merged_into.is_none());
        if !is_whole(pair.first.id)? || !is_whole(pair.second.id)? {
            continue;
        }
        let judged = engine.judge_pair(&mut judge, pair)?;
        if calls < judge.spent().1.calls {
            judge::tell_tokens(session, &judge)?;
        }
        in_a_row = match &judged {
            Judged::NoAnswer(_) => in_a_row + 1,
            Judged::Merged { .. }
            | Judged::Dismissed
            | Judged::Norm
            | Judged::LeftToPeople
            | Judged::Refused(_) => 0,
        };
        told(session, pair, &judged, &mut tally)?;
        if in_a_row == SILENCES_MAX {
            let why =
                format!("{SILENCES_MAX} questions in a row got no answer: the rest is not asked");
            session.printer.note(&why)?;
            break;
        }
    }
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    let asked = counted(pairs.len() as u64, "pair", "pairs");
    session.printer.talk(format_args!(
        "{asked}: {} merged, {} told apart, {} left to people, {} refused, {} without an answer",
        tally.merged, tally.apart, tally.people, tally.refused, tally.silent
    ))?;
    match tally.refused + tally.silent {
        0 => Ok(Exit::Fine),
        _ => Ok(Exit::Refused),
    }
}

fn told(
    session: &mut Session<'_>,
    pair: &Pair,
    judged: &Judged,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let (word, count) = match judged {
        Judged::Merged { .. } => ("merged", &mut tally.merged),
        Judged::Dismissed => ("told apart", &mut tally.apart),
        Judged::Norm | Judged::LeftToPeople => ("left to people", &mut tally.people),
        Judged::Refused(_) => ("refused", &mut tally.refused),
        Judged::NoAnswer(_) => ("no answer", &mut tally.silent),
    };
    *count += 1;
    one(session, pair, Some(word))?;
    match judged {
        Judged::NoAnswer(error) => tell_silence(session, error),
        Judged::Refused(error) => session.printer.note(&format!("not merged: {error}")),
        Judged::Merged { .. } | Judged::Dismissed | Judged::Norm | Judged::LeftToPeople => Ok(()),
    }
}

fn one(
    session: &mut Session<'_>,
    pair: &Pair,
    outcome: Option<&'static str>,
) -> Result<(), Failure> {
    let sure = pair.merging == Merging::Merge;
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
    let mut head = match sure {
        true => "the same".to_owned(),
        false => format!("alike {:.2}", pair.score),
    };
    if pair.may_be_opposites {
        head.push_str(", may be opposites");
    }
    if let Some(outcome) = outcome {
        head = format!("{outcome}: {head}");
    }
    session.printer.line(head)?;
    for entry in [&pair.first, &pair.second] {
        let line = format!("  {}  {}", entry.id, cut(&entry.title(), CLAIM_WIDTH));
        session.printer.line(line)?;
    }
    Ok(())
}
