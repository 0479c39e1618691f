//! `ken add --from-jsonl`: adds many entries from JSON lines, in durable batches.
//!
//! The error of an invalid line names its number. Nothing of its batch is written; earlier batches
//! stay.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use ken_core::decide::Proposal;
use ken_core::json::EntryJson;
use ken_core::values::actor::Actor;
use ken_core::values::text::Alias;
use ken_engine::Engine;
use ken_engine::entries::BATCH_MAX;

use super::super::Session;
use super::input::EntryInput;
use crate::commands::add::AddArgs;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

/// Maximum bytes of a line: the largest event plus the field names.
const LINE_BYTES_MAX: u64 = 256 * 1024;

/// Proposals that are written together.
#[derive(Default)]
struct Batch {
    first: u64,
    last: u64,
    proposals: Vec<Proposal>,
}

/// Source of the lines.
struct Lines {
    reader: Box<dyn BufRead>,
    number: u64,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &AddArgs,
    path: &Path,
) -> Result<CommandExit, CommandFailure> {
    let (mut lines, bytes) = Lines::open(path)?;
    let (mut engine, by) = session.surroundings.open_to_write()?;
    let progress = ProgressIndicator::start(session.printer, "adding entries", bytes);
    let mut added = 0;
    let mut names = BTreeSet::new();
    let outcome = loop {
        let batch = match next_batch(&mut lines, args, &engine, &by, (&mut names, &progress)) {
            Ok(batch) if batch.proposals.is_empty() => break Ok(CommandExit::Fine),
            Ok(batch) => batch,
            Err(failure) => break Err(failure),
        };
        let place = (batch.first, batch.last);
        match write_batch(session, &mut engine, batch, (&by, &progress)) {
            Ok(count) => added += count,
            Err(failure) => break Err(failure.at(format_args!("lines {} to {}", place.0, place.1))),
        }
    };
    drop(progress);
    session.printer.notices(&engine.take_notices())?;
    let added = pluralize(added, "entry", "entries");
    match outcome {
        Ok(exit) => {
            session.printer.talk(format_args!("added {added}"))?;
            Ok(exit)
        }
        Err(failure) => {
            let kept = format!(
                "added {added} before this batch; fix the line, then add this batch and the remaining lines"
            );
            Err(if failure.is_closed_pipe {
                failure
            } else {
                failure.with_hint(kept)
            })
        }
    }
}

/// Reads up to [`BATCH_MAX`] proposals; an empty batch means the end.
fn next_batch(
    lines: &mut Lines,
    args: &AddArgs,
    engine: &Engine,
    by: &Actor,
    (names, progress): (&mut BTreeSet<Alias>, &ProgressIndicator),
) -> Result<Batch, CommandFailure> {
    let mut batch = Batch::default();
    while batch.proposals.len() < BATCH_MAX {
        let Some((number, line)) = lines.next()? else {
            break;
        };
        progress.advance(line.len() as u64);
        if line.trim().is_empty() {
            continue;
        }
        let one = || -> Result<Proposal, CommandFailure> {
            let mut input = EntryInput::parse(&line).map_err(|failure| {
                if line.contains("\"events\":[") {
                    CommandFailure::usage("this is a line of an export: run `ken import FILE`")
                } else {
                    failure
                }
            })?;
            input.apply(args)?;
            let proposal = input.proposal(engine, by)?;
            // Checks that need no ledger run here, where the line number is known.
            ken_core::decide::propose(
                ken_core::values::id::EventId::from_bytes([0; 16]),
                proposal.clone(),
            )?;
            Ok(proposal)
        };
        let proposal = one().map_err(|failure| failure.at(format_args!("line {number}")))?;
        if let Some(name) = &proposal.alias
            && !names.insert(name.clone())
        {
            let message = format!("line {number}: an earlier line already has the alias `{name}`");
            return Err(CommandFailure::refused("alias_taken", message));
        }
        if batch.proposals.is_empty() {
            batch.first = number;
        }
        batch.last = number;
        batch.proposals.push(proposal);
    }
    Ok(batch)
}

/// Writes a batch, then prints its entries.
fn write_batch(
    session: &mut Session<'_>,
    engine: &mut Engine,
    batch: Batch,
    (by, progress): (&Actor, &ProgressIndicator),
) -> Result<u64, CommandFailure> {
    let reader = session.surroundings.as_reader(by);
    let ids = engine.add_in_run(&reader, batch.proposals)?;
    for id in &ids {
        if session.is_json() {
            let entry = engine.entry(*id)?;
            session.printer.json(&EntryJson::new(&entry))?;
        } else {
            session.printer.line(id)?;
        }
    }
    progress.aside(|| session.printer.flush())?;
    Ok(ids.len() as u64)
}

impl Lines {
    /// Opens `path`, or standard input for `-`; returns the size in bytes if it is known.
    fn open(path: &Path) -> Result<(Self, Option<u64>), CommandFailure> {
        if path.as_os_str() == "-" {
            return Ok((
                Self {
                    reader: Box::new(BufReader::new(io::stdin())),
                    number: 0,
                },
                None,
            ));
        }
        let file = File::open(path).map_err(|e| {
            CommandFailure::io(format_args!("cannot open `{}`", path.display()), &e)
        })?;
        let bytes = file.metadata().ok().map(|meta| meta.len());
        Ok((
            Self {
                reader: Box::new(BufReader::new(file)),
                number: 0,
            },
            bytes,
        ))
    }

    fn next(&mut self) -> Result<Option<(u64, String)>, CommandFailure> {
        let number = self.number + 1;
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line);
        read.map_err(|e| CommandFailure::io(format_args!("cannot read line {number}"), &e))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() as u64 >= LINE_BYTES_MAX && !line.ends_with(b"\n") {
            let message = format!("line {number} has more than {LINE_BYTES_MAX} bytes");
            return Err(CommandFailure::usage(message));
        }
        self.number = number;
        let line = String::from_utf8(line)
            .map_err(|_| CommandFailure::usage(format_args!("line {number} is not UTF-8")))?;
        Ok(Some((number, line)))
    }
}
