//! What closing a run writes down, in which order and under which ids.
//!
//! Ids follow from the run, so that closing it again writes nothing more. The run's end stays last: it says that
//! everything before it is written.

use std::collections::BTreeSet;

use super::accumulate::Gain;
use super::close::{Closing, Ending, Touched};
use super::{Finding, Run};
use crate::actor::Actor;
use crate::citation::{CitationError, Evidence, EvidenceType};
use crate::content::Content;
use crate::decide::{self, Draft, Proposal, Refusal};
use crate::entry::Entry;
use crate::event::{Body, Effect, Origin, Outcome, Recorded, RunClosed, SourceRun};
use crate::id::{EntryId, EventId};
use crate::time::{Date, Timestamp};

/// Effects in one event: a line of the ledger has at most 64 KiB.
const EFFECTS_MAX: usize = 100;

/// Trials in one event, beside those of its first effect.
const TRIALS_MAX: usize = 500;

/// Keeps the ids of a run's events apart from any other use of the hash.
const DOMAIN: &[u8] = b"ken run closed 1";

/// The number of the event that says how the run ended.
const LAST: u64 = u64::MAX;

/// The numbers of events that say which entries did not answer a question begin here: far beyond those of effects.
const FIRST_MISSED: u64 = 1 << 32;

/// What shall happen, under an id of its own choice where it has one.
pub type Stamped = (Option<EventId>, Draft);

/// What closing a run did.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    pub run: Run,
    pub closing: Closing,
    /// Entries its findings became.
    pub gained: Vec<EntryId>,
    /// Findings that were not taken up, and why.
    pub refused: Vec<(Finding, String)>,
}

/// What findings became.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub gained: Vec<EntryId>,
    pub refused: Vec<(Finding, String)>,
}

/// A run that ended, as the ledger tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    pub closed: RunClosed,
    pub at: Timestamp,
    pub by: Actor,
}

impl PastRun {
    /// Returns the run whose end an event tells.
    pub fn of(recorded: &Recorded) -> Option<Self> {
        let closed = recorded.event.get::<RunClosed>()?.clone();
        Some(Self {
            closed,
            at: recorded.event.at.wall,
            by: recorded.event.by.clone(),
        })
    }
}

/// Returns the id of the event that says how a run ended.
pub fn ending_id(run: &Run) -> EventId {
    event_of(run, LAST)
}

/// Returns what is written down: what happened to entries, counted once by its id, what follows, questions that
/// had no answer, and last of all that the run ended.
pub fn drafts(
    run: &Run,
    closing: &Closing,
    touched: &[Touched],
    missed: Vec<Draft>,
    today: Date,
) -> Result<Vec<Stamped>, Refusal> {
    let mut effects = closing.effects.clone();
    // Those that were used stand together, so that they are known to go together.
    effects.sort_by_key(|it| (it.alpha_milli == 0, it.entry));
    let effects = parts(&effects).into_iter().zip(0..);
    let effects = effects.map(|(part, number)| {
        let id = event_of(run, number);
        (Some(id), decide::effects(&run.id, part))
    });
    let mut drafts: Vec<Stamped> = effects.collect();
    for it in touched {
        let follows = decide::after_run(&it.entry, closing, today)?;
        drafts.extend(follows.into_iter().map(|draft| (None, draft)));
    }
    let missed = missed.into_iter().zip(FIRST_MISSED..);
    drafts.extend(missed.map(|(it, number)| (Some(event_of(run, number)), it)));
    let ended = Draft {
        about: Vec::new(),
        body: Body::RunClosed(closing.closed.clone()),
    };
    drafts.push((Some(ending_id(run)), ended));
    Ok(drafts)
}

/// Returns effects in parts that an event has room for.
fn parts(mut effects: &[Effect]) -> Vec<&[Effect]> {
    let mut parts = Vec::new();
    while !effects.is_empty() {
        let trials = effects.iter().scan(0, |sum, it| {
            *sum += it.trials.len();
            Some(*sum)
        });
        let fit = trials.take_while(|sum| *sum <= TRIALS_MAX).count();
        let (part, rest) = effects.split_at(fit.clamp(1, EFFECTS_MAX.min(effects.len())));
        parts.push(part);
        effects = rest;
    }
    parts
}

/// Returns the entry a finding becomes; its grounds are what the finding names and the run itself.
pub fn proposal(
    gained: &Gain,
    run: &Run,
    ending: &Ending,
    now: Timestamp,
) -> Result<Proposal, CitationError> {
    let finding = &gained.finding;
    let mut content = Content::new(finding.statement.clone());
    content.evidence.clone_from(&finding.evidence);
    content.verify.clone_from(&finding.verify);
    let finder = gained.found_by.first();
    let member = finder
        .and_then(|it| run.agents.get(it))
        .map(|it| &it.member);
    content.lens = member.and_then(|it| it.lens.clone());
    let evidence = Evidence {
        evidence_type: EvidenceType::Transcript,
        evidence_ref: run.id.parse()?,
    };
    let cited = evidence.cite(finder.unwrap_or(&run.by), now);
    let mut proposal = Proposal::new(gained.kind, content, vec![cited], Origin::Agent);
    // Of a conversation that simply ended nobody said how it went.
    let is_told = ending.outcome != Outcome::Abandoned || !run.is_seen_out(ending.outcome);
    proposal.run = Some(SourceRun {
        id: run.id.clone(),
        outcome: is_told.then_some(ending.outcome),
    });
    proposal.thread.clone_from(&run.thread);
    Ok(proposal)
}

/// Returns an entry and all that say the same: what it was made of, what it became, what it is linked to, and
/// what a finding was taken for together with it.
pub fn same_claim(run: &Run, entry: &Entry) -> BTreeSet<EntryId> {
    let mut same = BTreeSet::from([entry.id]);
    same.extend(&entry.merged_from);
    same.extend(entry.merged_into);
    same.extend(entry.superseded_by);
    same.extend(entry.links.iter().map(|link| link.to));
    let findings = run.agents.values().flat_map(|agent| &agent.findings);
    for found in findings.filter(|it| it.says.contains(&entry.id)) {
        same.extend(&found.says);
    }
    same
}

/// Returns the id of an event that closing a run writes: closing it again would write the same.
fn event_of(run: &Run, number: u64) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(DOMAIN);
    hasher.update(run.id.as_bytes());
    for part in [run.opened.millis(), number] {
        hasher.update(&part.to_le_bytes());
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    EventId::new(run.opened, u128::from_le_bytes(bytes))
}
