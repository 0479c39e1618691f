//! Handoffs of this repository: written to the ledger, shown to the next session, taken once.
//!
//! The ledger has the text and who took it, so that a colleague who checks out the branch gets
//! both. Which sessions were shown a handoff is noted on this machine only.

use ken_core::decide::Draft;
use ken_core::ledger::event::{EventBody, HandoffTaken, HandoffWritten};
use ken_core::retrieval::agent_texts;
use ken_core::retrieval::surface::delimit;
use ken_core::trust::handoff::{Handoff, HandoffState, SHOWN_MAX, handoffs_of};
use ken_core::values::id::EventId;
use ken_core::values::text::Note;

use super::reader::EntryReader;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{append_bounded, open_ken_dir, read_text};
use crate::{git, runs};

/// Sessions that were shown a handoff, below `.ken`: a line per handoff and run.
const SHOWN_FILE: &str = ".local/handoffs";

/// Maximum bytes of this file; later lines are dropped.
const SHOWN_BYTES_MAX: u64 = 64 * 1024;

/// The points of a handoff.
#[derive(Clone, Debug, Default)]
pub struct HandoffPoints {
    pub unfinished: Vec<Note>,
    pub tried: Vec<Note>,
    pub open: Vec<Note>,
}

/// Returns every handoff, oldest first.
pub(crate) fn handoffs(engine: &Engine) -> Result<Vec<Handoff>, EngineError> {
    Ok(handoffs_of(&engine.index.handoff_events()?))
}

/// Returns the handoffs that wait on the current branch, newest first.
pub(crate) fn waiting_handoffs(engine: &Engine) -> Result<Vec<Handoff>, EngineError> {
    let mut all = handoffs(engine)?;
    if !all.is_empty() {
        let branch = git::current_branch(&engine.place);
        let now = engine.now();
        all.retain(|it| it.waits_on(branch.as_deref(), now));
        all.reverse();
    }
    Ok(all)
}

/// Writes a handoff on the current branch. A session that was shown earlier ones there continued
/// their work, so it takes them.
pub(crate) fn write_handoff(
    engine: &mut Engine,
    points: HandoffPoints,
    reader: &EntryReader,
) -> Result<Handoff, EngineError> {
    let run = reader_run(engine, reader)?;
    let written = HandoffWritten {
        branch: git::current_branch(&engine.place),
        unfinished: points.unfinished,
        tried: points.tried,
        open: points.open,
        run: run.clone(),
    };
    written
        .check()
        .map_err(|it| EngineError::Usage(it.to_string()))?;
    // Only what this run was shown: a handoff that it never saw still waits for somebody.
    let shown = shown_handoffs(engine)?;
    let was_shown = |it: &Handoff| {
        let seen =
            |(id, to): &(String, String)| *id == it.id.to_string() && Some(to) == run.as_ref();
        shown.iter().any(seen)
    };
    let mut drafts: Vec<Draft> = waiting_handoffs(engine)?
        .iter()
        .filter(|it| was_shown(it))
        .map(|it| taking(it.id, run.clone()))
        .collect();
    drafts.push(Draft {
        about: Vec::new(),
        body: EventBody::HandoffWritten(written),
    });
    let recorded = engine.record(drafts, &reader.agent)?;
    let id = recorded.last().map(|it| it.event.id);
    let mut own = handoffs(engine)?.into_iter().filter(|it| Some(it.id) == id);
    // The guard may quarantine what an agent writes.
    own.next().ok_or_else(|| {
        EngineError::Usage("the guard quarantined the handoff; nobody is shown it".to_owned())
    })
}

/// Takes a handoff: the one with this id, or the newest that waits on the current branch.
///
/// Two sessions may take it at the same time. Both events are kept, and the first in canonical
/// order has it, in this clone as in every other; so the other one is refused.
pub(crate) fn take_handoff(
    engine: &mut Engine,
    wanted: Option<&str>,
    reader: &EntryReader,
) -> Result<Handoff, EngineError> {
    let handoff = find_handoff(engine, wanted)?;
    let run = reader_run(engine, reader)?;
    if let Some(taken) = &handoff.taken {
        // Taking it twice in a session changes nothing.
        let is_own = taken.by == reader.agent && taken.run == run;
        return if is_own {
            Ok(handoff)
        } else {
            Err(already_taken(&handoff))
        };
    }
    let recorded = engine.record(vec![taking(handoff.id, run)], &reader.agent)?;
    let own = recorded.first().map(|it| it.event.id);
    // Read again: another session may have taken it since, and the earlier event has it.
    let handoff = find_handoff(engine, Some(&handoff.id.to_string()))?;
    if handoff.taken.as_ref().map(|it| it.event) == own {
        Ok(handoff)
    } else {
        Err(already_taken(&handoff))
    }
}

fn taking(handoff: EventId, run: Option<String>) -> Draft {
    Draft {
        about: Vec::new(),
        body: EventBody::HandoffTaken(HandoffTaken { handoff, run }),
    }
}

fn already_taken(handoff: &Handoff) -> EngineError {
    let taken = handoff.taken.as_ref();
    let by = taken.map(|it| format!(" by {} on {}", it.by, it.at.date()));
    EngineError::Usage(format!(
        "handoff {} was already taken{}",
        handoff.id,
        by.unwrap_or_default()
    ))
}

fn find_handoff(engine: &Engine, wanted: Option<&str>) -> Result<Handoff, EngineError> {
    let Some(wanted) = wanted else {
        return waiting_handoffs(engine)?.into_iter().next().ok_or_else(|| {
            EngineError::Usage(
                "no handoff waits on this branch; run `ken handoff --all`".to_owned(),
            )
        });
    };
    let wanted = wanted.to_uppercase();
    let mut fitting = handoffs(engine)?
        .into_iter()
        .filter(|it| it.id.to_string().starts_with(&wanted));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(EngineError::Usage(format!(
            "no handoff has an id that starts with `{wanted}`; run `ken handoff --all`"
        ))),
        (Some(_), Some(_)) => Err(EngineError::Usage(format!(
            "`{wanted}` is ambiguous: several handoffs start with it"
        ))),
    }
}

/// Returns the block about the handoff that waits for this session, and notes that it was shown.
///
/// Empty for the session that wrote it, and after [`SHOWN_MAX`] sessions that did not take it.
pub(crate) fn show_handoff(
    engine: &Engine,
    run: Option<&str>,
    repeats: bool,
) -> Result<Option<String>, EngineError> {
    let mut waiting = waiting_handoffs(engine)?;
    waiting.retain(|it| run.is_none() || it.written.run.as_deref() != run);
    if waiting.is_empty() {
        return Ok(None);
    }
    let shown = shown_handoffs(engine)?;
    waiting.retain(|it| {
        let id = it.id.to_string();
        let to: Vec<&str> = shown
            .iter()
            .filter(|(shown, _)| *shown == id)
            .map(|(_, run)| run.as_str())
            .collect();
        let is_known = run.is_some_and(|run| to.contains(&run));
        if is_known {
            repeats
        } else {
            to.len() < SHOWN_MAX
        }
    });
    let Some(newest) = waiting.first() else {
        return Ok(None);
    };
    if let Some(run) = run {
        note_shown(engine, newest.id, run);
    }
    Ok(Some(handoff_block(newest, waiting.len() - 1)))
}

/// Like [`show_handoff`], for a reader that asks for it and so may see it again.
pub(crate) fn show_handoff_to(
    engine: &Engine,
    reader: Option<&EntryReader>,
) -> Result<Option<String>, EngineError> {
    let run = reader.map(|it| reader_run(engine, it)).transpose()?;
    show_handoff(engine, run.flatten().as_deref(), true)
}

/// Renders a handoff as delimited data, with the number of others that wait.
fn handoff_block(handoff: &Handoff, others: usize) -> String {
    let mut text = agent_texts::handoff_header(handoff);
    text.push_str(&delimit(&handoff.written.to_text()));
    if others > 0 {
        text.push_str(&agent_texts::more_handoffs_line(others));
    }
    text
}

/// Returns whether the run wrote a handoff that still waits.
pub(crate) fn has_written(engine: &Engine, run: &str) -> Result<bool, EngineError> {
    let now = engine.now();
    let is_own = |it: &Handoff| {
        it.written.run.as_deref() == Some(run) && it.state(now) == HandoffState::Waiting
    };
    Ok(handoffs(engine)?.iter().any(is_own))
}

/// Returns the run that the reader works in, without opening one.
fn reader_run(engine: &Engine, reader: &EntryReader) -> Result<Option<String>, EngineError> {
    if reader.run.is_some() {
        return Ok(reader.run.clone());
    }
    // People work without runs; to them a handoff is shown as often as they ask.
    if reader.agent.is_human() {
        return Ok(None);
    }
    if let Some(run) = engine.open_run_for(reader)? {
        return Ok(Some(run.id));
    }
    runs::session::only_session_run(engine, &reader.agent)
}

fn note_shown(engine: &Engine, handoff: EventId, run: &str) {
    let Ok(dir) = open_ken_dir(&engine.place) else {
        return;
    };
    let line = format!("{handoff} {run}\n");
    // A lost line shows the handoff once more, which is better than a failed start.
    let _ = append_bounded(&dir, SHOWN_FILE, line.as_bytes(), SHOWN_BYTES_MAX);
}

/// Returns the handoffs and the runs that were shown them.
fn shown_handoffs(engine: &Engine) -> Result<Vec<(String, String)>, EngineError> {
    let text = read_text(&*engine.ken, SHOWN_FILE)?.unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs
        .map(|(id, run)| (id.to_owned(), run.to_owned()))
        .collect())
}
