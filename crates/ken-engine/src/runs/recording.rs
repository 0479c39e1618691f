//! Records findings and feedback as part of the reader's run.

use ken_core::decide::{self, Proposal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Feedback;
use ken_core::trust::run::existing_claim::{ExistingClaim, RecordOutcome, find_existing_claim};
use ken_core::trust::run::{Run, RunFinding, RunNote, RunWitness};
use ken_core::values::id::EntryId;

use super::EntryReader;
use super::store::RunStore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Records a finding as an entry, or as an observation if an entry already states it.
///
/// `apart` is a separate session for the observation, used when the reader's session is
/// unknown: another program of the same agent may have been shown the entry without a hook
/// noticing, so the observation must not confirm it.
pub(crate) fn record_finding(
    engine: &mut Engine,
    reader: &EntryReader,
    apart: Option<&str>,
    proposal: Proposal,
) -> Result<RecordOutcome, EngineError> {
    let _lock = RunStore::new(&engine.place)?.lock_findings()?;
    // What another process recorded while this one waited.
    engine.refresh()?;
    let statement = &proposal.content.statement;
    let ids = engine.entries_stating(statement)?.into_iter();
    let says = ids
        .map(|id| engine.entry(id))
        .collect::<Result<Vec<_>, _>>()?;
    let run = engine.open_run_for(reader)?;
    match find_existing_claim(run.as_ref(), &reader.agent, statement, &says) {
        Some(ExistingClaim::Added(id)) => Ok(RecordOutcome::Entry(Box::new(engine.entry(id)?))),
        Some(ExistingClaim::Found(seen)) => Ok(RecordOutcome::Noted(seen)),
        Some(ExistingClaim::Elsewhere(seen)) => {
            // Closing the run decides whether this rediscovery confirms the entry.
            observe_once(engine, reader, apart, proposal)?;
            Ok(RecordOutcome::Noted(seen))
        }
        None => {
            let added = engine.add_in_run(reader, vec![proposal])?;
            Ok(RecordOutcome::Entry(Box::new(engine.entry(added[0])?)))
        }
    }
}

/// Records an observation unless the agent already has it in this run.
fn observe_once(
    engine: &mut Engine,
    reader: &EntryReader,
    apart: Option<&str>,
    proposal: Proposal,
) -> Result<(), EngineError> {
    let finder = match apart {
        Some(session) => EntryReader {
            agent: reader.agent.clone(),
            run: Some(
                engine
                    .ensure_session_run(&reader.agent, session, RunWitness::Nobody)?
                    .id,
            ),
            session: Some(session.to_owned()),
        },
        None => reader.clone(),
    };
    let content = proposal.content;
    let run = engine.open_run_for(&finder)?;
    if run.is_some_and(|it| it.has_found(&finder.agent, &content.statement)) {
        return Ok(());
    }
    let finding = RunFinding::new(content.statement, content.anchors, content.verify);
    engine.observe(&finder, finding)?;
    Ok(())
}

/// Records feedback about an entry that `reader` was shown. Returns false for a repetition.
pub(crate) fn record_feedback(
    engine: &mut Engine,
    reader: &EntryReader,
    id: EntryId,
    verdict: Feedback,
) -> Result<bool, EngineError> {
    let (by, open) = (&reader.agent, engine.open_run_for(reader)?);
    // Within one run, the same feedback counts once. A person without a run may give it again on
    // another day.
    let today = || engine.now().date().start();
    let since = open.as_ref().map(|it| it.opened);
    let since = since.or_else(|| by.is_human().then(today));
    let run = match open {
        Some(run) => Some(run),
        // Outside an open run, exposures are in the implicit run.
        None => open_implicit_run(engine, reader)?,
    };
    let sight = run.map(|it| it.exposures(by)).unwrap_or_default();
    // Feedback about an unseen entry would be invented, so it is refused.
    decide::check_was_shown(by, &sight, id)?;
    let is_new = !decide::is_repeated_feedback(&engine.history(id)?, by, verdict, since);
    if is_new {
        feedback_in_run(engine, reader, id, verdict)?;
    }
    Ok(is_new)
}

/// Records feedback and notes it in the agent's run, if one is open: feedback is a result.
fn feedback_in_run(
    engine: &mut Engine,
    reader: &EntryReader,
    entry: EntryId,
    verdict: Feedback,
) -> Result<Entry, EngineError> {
    let rated = engine.feedback(entry, verdict, &reader.agent)?;
    let open = engine.open_run_for(reader)?;
    if let Some(run) = open.filter(|_| reader.is_recorded()) {
        let note = RunNote::Feedback {
            agent: reader.agent.clone(),
            entry,
            verdict,
        };
        engine.record_note(&run.id, note, &reader.agent)?;
    }
    Ok(rated)
}

/// Returns the reader's implicit run if it is open.
fn open_implicit_run(engine: &Engine, reader: &EntryReader) -> Result<Option<Run>, EngineError> {
    let id = reader.implicit_run();
    let is_open = RunStore::new(&engine.place)?.is_open(&id)?;
    is_open.then(|| engine.run(&id)).transpose()
}
