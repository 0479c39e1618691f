//! `ken extract`: claims out of a transcript, by a judge.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ken_engine::judge::{
    Extraction, Found, JudgeError, PIECE_BYTES_MAX, PIECES_MAX, evidence_of, pieces,
};
use ken_engine::{Engine, Error};
use serde::Serialize;

use super::{Session, judge};
use crate::args::ExtractArgs;
use crate::failure::{Exit, Failure};
use crate::print::{counted, cut};

/// Bytes of a transcript.
const BYTES_MAX: u64 = (PIECE_BYTES_MAX * PIECES_MAX) as u64;

/// Columns of a claim.
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

/// What came of it.
#[derive(Default)]
struct Tally {
    added: u64,
    known: u64,
    refused: u64,
    groundless: u64,
    unanswered: u64,
}

pub(super) fn run(session: &mut Session<'_>, args: &ExtractArgs) -> Result<Exit, Failure> {
    let text = transcript(&args.file)?;
    let pieces = pieces(&text).map_err(Error::from)?;
    let evidence = evidence_of(&text);
    let mut judge = judge::open(session)?;
    let by = judge.actor();
    let (mut engine, _) = session.surroundings.open_to_write()?;
    let mut tally = Tally::default();
    for piece in pieces {
        let answer = judge.claims_in(piece);
        judge::tell_tokens(session, &judge)?;
        let claims = match answer {
            Ok(claims) => claims,
            Err(error) => {
                tally.unanswered += 1;
                tell_silence(session, &error)?;
                continue;
            }
        };
        tally.groundless += claims.groundless as u64;
        for found in &claims.found {
            let outcome = match args.dry_run {
                true => None,
                false => Some(engine.record_found(found, &evidence, &by)?),
            };
            one(session, &engine, found, outcome.as_ref())?;
            match outcome {
                None => {}
                Some(Extraction::Added(_)) => tally.added += 1,
                Some(Extraction::Known(_)) => tally.known += 1,
                Some(Extraction::Refused(_)) => tally.refused += 1,
            }
        }
    }
    session.surroundings.remember(&mut engine)?;
    session.printer.notices(&engine.take_notices())?;
    tell(session, &tally)
}

/// Says that a question got no answer that counts; what it would have changed stays as it is.
pub(super) fn tell_silence(session: &mut Session<'_>, error: &JudgeError) -> Result<(), Failure> {
    let mut why = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        why = format!("{why}: {source}");
    }
    session
        .printer
        .note(&format!("no answer that counts: {why}"))?;
    match error.hint() {
        Some(hint) => session.printer.hint(hint),
        None => Ok(()),
    }
}

fn tell(session: &mut Session<'_>, tally: &Tally) -> Result<Exit, Failure> {
    let added = counted(tally.added, "candidate", "candidates");
    let mut said = format!("{added} added");
    for (count, what) in [
        (tally.known, "known already"),
        (tally.refused, "refused"),
        (
            tally.groundless,
            "left out that the transcript does not say",
        ),
    ] {
        if 0 < count {
            said = format!("{said}, {count} {what}");
        }
    }
    if 0 < tally.unanswered {
        let pieces = counted(tally.unanswered, "piece", "pieces");
        said = format!("{said}, {pieces} of it without an answer");
    }
    session.printer.talk(said)?;
    match tally.refused + tally.unanswered {
        0 => Ok(Exit::Fine),
        _ => Ok(Exit::Refused),
    }
}

fn one(
    session: &mut Session<'_>,
    engine: &Engine,
    found: &Found,
    outcome: Option<&Extraction>,
) -> Result<(), Failure> {
    let (word, entries, why) = match outcome {
        None => ("proposed", Vec::new(), None),
        Some(Extraction::Added(id)) => {
            let is_held = !engine.entry(*id)?.quarantine.is_empty();
            let why = is_held.then(|| "it waits in quarantine".to_owned());
            ("added", vec![id.to_string()], why)
        }
        Some(Extraction::Known(ids)) => {
            let ids = ids.iter().map(ToString::to_string);
            ("known", ids.collect(), None)
        }
        Some(Extraction::Refused(error)) => ("refused", Vec::new(), Some(error.to_string())),
    };
    if session.is_json() {
        return session.printer.json(&ClaimObject {
            schema: "ken.extract.v1",
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
    let claim = cut(&found.statement.title(), CLAIM_WIDTH);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let line = match entries.is_empty() {
        true => format!("{word}  {kind}  {claim}{why}"),
        false => format!("{word}  {entries}  {kind}  {claim}{why}"),
    };
    session.printer.line(line)
}

fn transcript(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let read = |reader: &mut dyn Read| {
        let mut text = String::new();
        let read = reader.take(BYTES_MAX + 1).read_to_string(&mut text);
        read.map(|_| text)
            .map_err(|e| Failure::io(format_args!("cannot read `{shown}`"), &e))
    };
    let text = match path == Path::new("-") {
        true => read(&mut io::stdin().lock())?,
        false => {
            let opened = File::open(path);
            let mut file =
                opened.map_err(|e| Failure::io(format_args!("cannot open `{shown}`"), &e))?;
            read(&mut file)?
        }
    };
    match text.len() as u64 <= BYTES_MAX {
        true => Ok(text),
        false => Err(
            Failure::usage(format_args!("`{shown}` has more than {BYTES_MAX} bytes"))
                .with_hint("give the part that matters, or several parts one after the other"),
        ),
    }
}
