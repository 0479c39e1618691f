//! `ken capture FILE`: what a transcript shows, or notes say, waits for a decision.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ken_engine::digest::{Agent, Capture, Material, Reduced, Staged, TRANSCRIPT_BYTES_MAX};
use ken_engine::judge::{Found, Spent, pieces};
use ken_engine::{Engine, Error};
use serde::Serialize;

use crate::args::{CaptureAgent, CaptureArgs};
use crate::commands::{Session, extract, judge, reduce};
use crate::failure::{Exit, Failure};
use crate::print::{DIM, counted, styled, visible, wrap};

/// Columns before a statement.
const INDENT: usize = 4;

#[derive(Serialize)]
struct CaptureObject<'a> {
    schema: &'static str,
    /// `claude-code`, `codex` or `notes`.
    source: &'static str,
    digest: &'a str,
    session: Option<&'a str>,
    /// Lines of a transcript, and those that could not be read.
    lines: usize,
    skipped: usize,
    staged: &'a [Staged],
    waiting: usize,
    known: usize,
    rejected: usize,
    refused: usize,
    tokens: Tokens,
}

/// What a judge took; nothing without one.
#[derive(Serialize)]
struct Tokens {
    calls: u64,
    sent: u64,
    received: u64,
    estimated: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &CaptureArgs,
    file: &Path,
) -> Result<Exit, Failure> {
    let agent = args.agent.map(|agent| match agent {
        CaptureAgent::ClaudeCode => Agent::ClaudeCode,
        CaptureAgent::Codex => Agent::Codex,
    });
    let capture = Capture::read(&bytes(file)?, agent)?;
    let (reduced, spent, exit) = match args.judge {
        true => judged(session, &capture)?,
        false => {
            let reduced = session.read(|engine| Ok(engine.capture(&capture)?))?;
            (reduced, Spent::default(), Exit::Fine)
        }
    };
    if session.is_json() {
        session.printer.json(&object(&capture, &reduced, spent))?;
        return Ok(exit);
    }
    for staged in &reduced.staged {
        show(session, staged)?;
    }
    tell(session, &capture, &reduced, spent)?;
    Ok(exit)
}

/// Shows a claim whole: somebody has to decide about it.
fn show(session: &mut Session<'_>, staged: &Staged) -> Result<(), Failure> {
    let width = session.printer.width();
    let (id, kind) = (&staged.id, staged.kind.name());
    let seen = visible(&staged.findings.join("; "));
    session
        .printer
        .line(format_args!("{id}  {kind}  {}", styled(DIM, seen)))?;
    for line in wrap(&visible(&staged.statement), width.saturating_sub(INDENT)) {
        session.printer.line(format_args!("{:INDENT$}{line}", ""))?;
    }
    Ok(())
}

/// Lets the judge say what there is; where it gives no answer, what Ken finds by itself waits.
fn judged(session: &mut Session<'_>, capture: &Capture) -> Result<(Reduced, Spent, Exit), Failure> {
    let told = capture.told();
    let pieces = pieces(&told).map_err(Error::from)?;
    let mut judge = judge::open(session)?;
    let mut found: Vec<Found> = Vec::new();
    let mut exit = Exit::Fine;
    for piece in pieces {
        let answer = judge.claims_in(piece);
        judge::tell_tokens(session, &judge)?;
        match answer {
            Ok(claims) => found.extend(claims.found),
            Err(error) => {
                exit = Exit::Refused;
                extract::tell_silence(session, &error)?;
            }
        }
    }
    let by = judge.actor();
    let stage = |engine: &mut Engine| -> Result<Reduced, Error> {
        let mut reduced = engine.capture_judged(capture, &found, &by)?;
        if exit != Exit::Fine {
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
    Ok((reduced, judge.spent().1, exit))
}

fn tell(
    session: &mut Session<'_>,
    capture: &Capture,
    reduced: &Reduced,
    spent: Spent,
) -> Result<(), Failure> {
    let source = match &capture.material {
        Material::Notes(_) => "notes".to_owned(),
        Material::Transcript(it) => {
            let lines = counted(it.lines as u64, "line", "lines");
            let skipped = match it.skipped {
                0 => String::new(),
                count => format!(", {count} of them not readable"),
            };
            format!("transcript of {} ({lines}{skipped})", it.agent.name())
        }
    };
    session.printer.talk(reduce::told(&source, reduced))?;
    if spent.calls == 0 {
        session.printer.talk("0 tokens: no model was asked")?;
    }
    if !reduced.staged.is_empty() {
        session.printer.hint(
            "look them through: `ken stage accept ID …` makes entries, `ken stage reject ID …` turns them down for good",
        )?;
    }
    session.printer.hint(
        "what you learned yourself is best told by you: `ken capture --problem … --solution … --cite …`",
    )
}

fn object<'a>(capture: &'a Capture, reduced: &'a Reduced, spent: Spent) -> CaptureObject<'a> {
    let (source, session, lines, skipped) = match &capture.material {
        Material::Transcript(it) => (it.agent.name(), it.session.as_deref(), it.lines, it.skipped),
        Material::Notes(text) => ("notes", None, text.lines().count(), 0),
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

/// Reads one byte more than a transcript may have, so that a longer one is told apart.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let most = TRANSCRIPT_BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => {
            let file = File::open(path)
                .map_err(|e| Failure::io(format_args!("cannot open `{shown}`"), &e))?;
            file.take(most).read_to_end(&mut bytes)
        }
    };
    read.map_err(|e| Failure::io(format_args!("cannot read `{shown}`"), &e))?;
    Ok(bytes)
}
