//! Events written when a run is closed, their order and their ids.
//!
//! Ids are derived from the run, so that closing it again adds nothing. The `run.closed` event
//! comes last: its presence proves that all others were written.

use super::{Draft, Proposal, Refusal, changes_after_run, record_run_effects};
use crate::ledger::event::{EntryEffect, EventBody, Origin, SourceRun};
use crate::trust::run::Run;
use crate::trust::run::accumulation::AcceptedFinding;
use crate::trust::run::closed::known_outcome;
use crate::trust::run::closing::{RunClosing, RunEnding, TouchedEntry};
use crate::trust::run::name::SESSION_PREFIX;
use crate::values::citation::{CitationError, CitationSource, CitationType};
use crate::values::content::Content;
use crate::values::id::EventId;
use crate::values::time::{Date, Timestamp};

/// Maximum effects per event: a ledger line has at most 64 KiB.
const EFFECTS_MAX: usize = 100;

/// Maximum trials per event; the first effect of an event may exceed it.
const TRIALS_MAX: usize = 500;

/// Domain separation of the hash.
const DOMAIN: &[u8] = b"ken run closed 1";

/// Number of the event that closes the run.
const CLOSING_NUMBER: u64 = u64::MAX;

/// Number of the event with what hooks saw of the run.
const OBSERVED_NUMBER: u64 = u64::MAX - 1;

/// Number of the first event about an unanswered query, far beyond the numbers of effects.
const FIRST_UNANSWERED_NUMBER: u64 = 1 << 32;

/// A draft, with a fixed event id if it needs one.
pub type DraftWithId = (Option<EventId>, Draft);

/// Returns the id of the event that closes a run.
pub fn closing_id(run: &Run) -> EventId {
    closing_event_id(run, CLOSING_NUMBER)
}

/// Returns the drafts in order: effects on entries, resulting changes, unanswered queries, what
/// hooks saw, and the closing event.
///
/// Effects have fixed ids, so that they count once even if the run is closed twice.
pub fn closing_drafts(
    run: &Run,
    closing: &RunClosing,
    touched: &[TouchedEntry],
    missed: Vec<Draft>,
    today: Date,
) -> Result<Vec<DraftWithId>, Refusal> {
    let mut effects = closing.effects.clone();
    // Used entries come first and share an event: co-occurrence pairs the entries of one event.
    effects.sort_by_key(|it| (it.alpha_milli == 0, it.entry));
    let effects = split_effects(&effects).into_iter().zip(0..);
    let effects = effects.map(|(part, number)| {
        let id = closing_event_id(run, number);
        (Some(id), record_run_effects(&run.id, part))
    });
    let mut drafts: Vec<DraftWithId> = effects.collect();
    for it in touched {
        let changes = changes_after_run(&it.entry, closing, today)?;
        drafts.extend(changes.into_iter().map(|draft| (None, draft)));
    }
    let missed = missed.into_iter().zip(FIRST_UNANSWERED_NUMBER..);
    drafts.extend(missed.map(|(it, number)| (Some(closing_event_id(run, number)), it)));
    if let Some(facts) = &run.facts {
        // Outcomes of a run with several agents are not those of its main agent.
        let is_session = run.id.starts_with(SESSION_PREFIX);
        let drawn = if is_session {
            run.drawn_entries()
        } else {
            Vec::new()
        };
        let observed = Draft {
            // No subject: a build that does not know the type makes its subjects read-only.
            about: Vec::new(),
            body: EventBody::RunObserved(facts.to_event(&run.id, drawn)),
        };
        drafts.push((Some(closing_event_id(run, OBSERVED_NUMBER)), observed));
    }
    let ended = Draft {
        about: Vec::new(),
        body: EventBody::RunClosed(closing.closed.clone()),
    };
    drafts.push((Some(closing_id(run)), ended));
    Ok(drafts)
}

/// Splits effects into parts that fit into one event.
fn split_effects(mut effects: &[EntryEffect]) -> Vec<&[EntryEffect]> {
    let mut parts = Vec::new();
    while !effects.is_empty() {
        let trials = effects.iter().scan(0, |sum, it| {
            *sum += it.trials.len();
            Some(*sum)
        });
        let fit = trials.take_while(|sum| *sum <= TRIALS_MAX).count();
        // At least one effect per part, or an effect with too many trials would loop forever.
        let (part, rest) = effects.split_at(fit.clamp(1, EFFECTS_MAX.min(effects.len())));
        parts.push(part);
        effects = rest;
    }
    parts
}

/// Returns the proposal for an accepted finding, which cites the run as its transcript.
pub fn proposal_for(
    gained: &AcceptedFinding,
    run: &Run,
    ending: &RunEnding,
    now: Timestamp,
) -> Result<Proposal, CitationError> {
    let finding = &gained.finding;
    let mut content = Content::new(finding.statement.clone());
    content.anchors.clone_from(&finding.anchors);
    content.verify.clone_from(&finding.verify);
    // Several finders may have different lenses; the first in name order is a stable choice.
    let finder = gained.found_by.first();
    let member = finder
        .and_then(|it| run.agents.get(it))
        .map(|it| &it.member);
    content.lens = member.and_then(|it| it.lens.clone());
    let evidence = CitationSource {
        evidence_type: CitationType::Transcript,
        evidence_ref: run.id.parse()?,
    };
    let cited = evidence.cite(finder.unwrap_or(&run.by), now);
    let mut proposal = Proposal::new(gained.kind, content, vec![cited], Origin::Agent);
    proposal.run = Some(SourceRun {
        id: run.id.clone(),
        // A session that simply ended reported no outcome; "abandoned" would count as a failure.
        outcome: known_outcome(&run.id, ending.outcome),
    });
    proposal.thread.clone_from(&run.thread);
    Ok(proposal)
}

/// Returns the id of a closing event, which is the same each time the run is closed.
fn closing_event_id(run: &Run, number: u64) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(DOMAIN);
    hasher.update(run.id.as_bytes());
    // The opening time separates runs that reuse a name.
    for part in [run.opened.millis(), number] {
        hasher.update(&part.to_le_bytes());
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    // The time of closing differs between attempts, so the id uses the opening time.
    EventId::new(run.opened, u128::from_le_bytes(bytes))
}
