//! Actions of an honest replica, through `ken_core::decide` where it has a function.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::{self, Proposal};
use ken_core::ledger::event::{
    ArchiveReason, Arm, BlankReason, Channel, ConfidenceReset, Confirmed, EntryEffect, Event,
    EventBody, Feedback, FeedbackGiven, FetchLevel, ForageMode, ForageProvenance, MergeStrategy,
    Merged, Origin, Outcome, Overlay, Provenance, Reanchored, Relation, RetractReason, RunEffects,
    ScopeChanged, SourceRun, Superseded, Switch, TrialResult,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::EntryScope;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;

use super::texts::UnchangedFields;
use super::whole;
use super::{ENTRIES_MAX, HistoryAction, HistoryGenerator, RecordedRevision, ReplicaTurn};

/// Actions, repeated according to their frequency.
pub(super) const ACTIONS: &[HistoryAction] = &[
    propose,
    revise,
    propose,
    revise,
    propose,
    revise,
    revise,
    pull_half,
    cite,
    confirm,
    confirm_by_run,
    confirm_by_run,
    confirm_by_run,
    change_status,
    change_status,
    archive,
    archive,
    confirm_after_decay,
    restore,
    restore,
    retract,
    link,
    set_overlay,
    set_overlay,
    redact,
    undo,
    undo,
    release_quarantine,
    approve,
    merge,
    supersede,
    reanchor,
    change_scope,
    record_effects,
    record_effects,
    whole::change_workspace,
    whole::change_workspace,
];

fn propose(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    const KINDS: [EntryKind; 8] = [
        EntryKind::Learning,
        EntryKind::Pattern,
        EntryKind::CommitNorm,
        EntryKind::Friction,
        EntryKind::Spike,
        EntryKind::Entity,
        EntryKind::Relationship,
        EntryKind::Incident,
    ];
    if play.entries.len() >= ENTRIES_MAX {
        // With enough entries, a revision makes better use of the step.
        return revise(play, turn);
    }
    let kind = turn.choice.pick(&KINDS);
    let evidence: CitationSource = play.text("commit:{}");
    let mut citations = vec![evidence.cite(&turn.by, play.now(turn.replica))];
    // Episodic entries need no citation, so they cover proposals without one.
    if kind.memory() == Memory::Episodic {
        citations.clear();
    }
    let proposal = Proposal {
        kind,
        content: play.content(turn, kind),
        citations,
        origin: turn
            .choice
            .pick(&[Origin::Human, Origin::Agent, Origin::Web]),
        scope: EntryScope::Workspace,
        alias: turn.choice.one_in(3).then(|| play.text("norm.{}")),
        thread: None,
        run: turn.choice.one_in(3).then(|| SourceRun {
            id: "run-1".to_owned(),
            outcome: Some(Outcome::Failed),
        }),
        overrides: None,
        promoted_from: match play.entries.first() {
            Some(source) if turn.choice.one_in(3) => vec![*source],
            Some(_) | None => Vec::new(),
        },
        copied_from: None,
        foraged: turn.choice.one_in(4).then(|| {
            Box::new(ForageProvenance {
                source_url: play.text("https://example.org/{}"),
                fetch_timestamp: play.now(turn.replica),
                fetch_level: FetchLevel::Markdown,
                forager_trigger: ForageMode::Operator,
                forager_query: None,
                quality_score_milli: 700,
                content: play.text("b3:{}"),
                license: None,
            })
        }),
    };
    let id = play.fresh_id(turn);
    let draft = decide::propose(id, proposal).ok()?;
    play.write_as(id, turn, draft);
    Some(())
}

fn revise(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let changes = play.changes(&mut turn.choice, UnchangedFields::Nothing);
    let channel = turn.choice.pick(&[Channel::Command, Channel::HandEdit]);
    let draft = decide::edit(&entry, changes, None, channel, None).ok()?;
    // Collected before writing, because the revision itself is not among them.
    let seen: Vec<_> = play.view(turn.replica, entry.id);
    let seen = seen.iter().map(|event| event.id).collect();
    let event = play.write(turn, draft);
    play.written.rewordings.push(RecordedRevision {
        entry: entry.id,
        event,
        seen,
    });
    Some(())
}

/// Copies about half of the events of another replica.
fn pull_half(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let other = turn.choice.below(play.replicas.len());
    let bits = turn.choice.0;
    for place in 0..play.written.copies.len() {
        if play.replicas[other].holds(place) && bits >> (place % 16) & 1 == 1 {
            play.replicas[turn.replica].take(place);
        }
    }
    Some(())
}

fn cite(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let evidence: CitationSource = play.text("test:{}");
    let citation = evidence.cite(&turn.by, play.now(turn.replica));
    let draft = decide::cite(&entry, citation).ok()?;
    play.write(turn, draft);
    Some(())
}

fn confirm(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let on = play.now(turn.replica).date();
    let draft = decide::confirm(&entry, &turn.by, on).ok()?;
    play.write(turn, draft);
    Some(())
}

/// Number of runs that effects and confirmations name.
const RUN_NAMES: usize = 5;

/// Returns the name of one of a few runs, so that several events name the same one.
fn any_run(number: usize) -> String {
    format!("run-{}", number % RUN_NAMES)
}

/// Confirms an entry as found by a run, today or some days ago.
fn confirm_by_run(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let days = turn.choice.pick(&[0, 0, 1, 3]);
    let body = Confirmed {
        provenance: turn.choice.pick(&[
            Provenance::Independent,
            Provenance::Primed,
            Provenance::Unwitnessed,
        ]),
        on: play.now(turn.replica).date().minus_days(days),
        run: Some(any_run(turn.choice.below(RUN_NAMES))),
        withdraws: Vec::new(),
    };
    play.write_about(turn, entry.id, EventBody::Confirmed(body));
    Some(())
}

fn change_status(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let to = turn.choice.pick(&EntryStatus::ALL);
    let draft = decide::set_status(&entry, to, &turn.by, Some(play.text("because {}"))).ok()?;
    play.write(turn, draft);
    Some(())
}

fn archive(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let because = turn.choice.pick(&[
        ArchiveReason::Decay,
        ArchiveReason::Decay,
        ArchiveReason::Age,
        ArchiveReason::Manual,
    ]);
    let draft = decide::archive(&entry, because).ok()?;
    play.write(turn, draft);
    Some(())
}

/// Archives an entry by decay, then confirms it, which voids the archival.
fn confirm_after_decay(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let draft = decide::archive(&entry, ArchiveReason::Decay).ok()?;
    play.write(turn, draft);
    let provenances = [Provenance::Independent, Provenance::Manual];
    let body = Confirmed {
        provenance: turn.choice.pick(&provenances),
        on: play.now(turn.replica).date(),
        run: None,
        withdraws: Vec::new(),
    };
    play.write_about(turn, entry.id, EventBody::Confirmed(body));
    Some(())
}

fn restore(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let history: Vec<Event> = play
        .view(turn.replica, entry.id)
        .into_iter()
        .cloned()
        .collect();
    let draft = decide::restore(&entry, &history, Some(play.text("because {}"))).ok()?;
    play.write(turn, draft);
    Some(())
}

fn retract(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let reason = turn
        .choice
        .pick(&[RetractReason::False, RetractReason::Duplicate]);
    let note = Some(play.text("because {}"));
    let draft = decide::retract(&entry, reason, Channel::Command, note).ok()?;
    play.write(turn, draft);
    Some(())
}

fn link(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let (from, to) = (play.pick_entry(turn)?, play.pick_entry(turn)?);
    let rel = turn.choice.pick(&[Relation::RelatesTo, Relation::Refines]);
    let draft = decide::link(&from, &to, rel).ok()?;
    play.write(turn, draft);
    Some(())
}

fn set_overlay(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let overlay = turn.choice.pick(&[Overlay::Pin, Overlay::Annotate]);
    let state = turn.choice.pick(&[Switch::On, Switch::Off]);
    let note = turn.choice.one_in(2).then(|| play.text("note {}"));
    let draft = decide::set_annotation(&entry, overlay, state, note).ok()?;
    play.write(turn, draft);
    Some(())
}

fn redact(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let target = play.pick_copy(turn)?;
    let draft = decide::redact(&target, &turn.by, BlankReason::Secret).ok()?;
    play.write(turn, draft);
    Some(())
}

fn undo(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let view = play.view(turn.replica, entry.id);
    let history: Vec<Event> = view.into_iter().cloned().collect();
    // Undo usually concerns recent events.
    let back = turn.choice.below(history.len().div_ceil(2));
    let event = history[history.len() - 1 - back].clone();
    let mut known = BTreeMap::new();
    for id in event.entries() {
        let view = play.view(turn.replica, id);
        let events: Vec<Event> = view.into_iter().cloned().collect();
        let entry = fold_entry(id, &events)?;
        known.insert(id, decide::EntryHistory { entry, events });
    }
    for draft in decide::undo(&[event], &known).ok()?.drafts {
        play.write(turn, draft);
    }
    Some(())
}

fn release_quarantine(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let reason = play.text("looked at {}");
    let draft = decide::release_quarantine(&entry, &turn.by, reason).ok()?;
    play.write(turn, draft);
    Some(())
}

fn approve(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    // Sometimes authors approve their own content, which the fold must not count.
    let draft = decide::approve(&entry, &BTreeSet::new(), &turn.by, None).ok()?;
    play.write(turn, draft);
    Some(())
}

fn merge(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    // Both may be the same entry, which the fold must survive.
    let (target, source) = (play.pick_entry(turn)?, play.pick_entry(turn)?);
    let body = EventBody::Merged(Merged {
        target: target.id,
        sources: vec![source.id],
        strategy: MergeStrategy::KeepTarget,
        changes: play.changes(&mut turn.choice, UnchangedFields::Nothing),
        replaces: target.revision,
        origin: turn
            .choice
            .pick(&[None, Some(Origin::Agent), Some(Origin::Web)]),
    });
    let about = vec![target.id.into(), source.id.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}

fn supersede(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let (old, new) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let body = EventBody::Superseded(Superseded { old, new });
    let about = vec![old.into(), new.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}

fn reanchor(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let target: ken_core::values::anchor::CodeLocation = play.text("src/{}.rs:1-9");
    let body = EventBody::Reanchored(Reanchored {
        anchors: vec![target.into()],
        replaces: entry.revision,
        origin: None,
    });
    play.write_about(turn, entry.id, body);
    Some(())
}

fn change_scope(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let body = EventBody::ScopeChanged(ScopeChanged {
        to: turn.choice.pick(&[EntryScope::Thread, EntryScope::Global]),
        replaces: entry.scope.heads,
    });
    play.write_about(turn, entry.id, body);
    Some(())
}

fn record_effects(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let since = entry.confirmation.by;
    let (entry, other) = (entry.id, play.pick_entry(turn)?.id);
    let weight = turn.choice.below(1500) as u32;
    if turn.choice.one_in(3) {
        let verdict = turn.choice.pick(&[Feedback::Helpful, Feedback::Unhelpful]);
        let body = FeedbackGiven {
            verdict,
            weight_milli: weight,
        };
        play.write_about(turn, entry, EventBody::FeedbackGiven(body));
        return Some(());
    }
    if turn.choice.one_in(4) {
        let reason = play.text("stuck at {}");
        play.write_about(
            turn,
            entry,
            EventBody::ConfidenceReset(ConfidenceReset { reason }),
        );
        return Some(());
    }
    let trial = TrialResult {
        arm: turn.choice.pick(&[Arm::Shown, Arm::Withheld]),
        propensity_milli: turn.choice.pick(&[100, 300]),
        succeeded: turn.choice.one_in(2),
    };
    let effect = |entry| EntryEffect {
        entry,
        alpha_milli: weight,
        beta_milli: weight / 2,
        shown: 2,
        blind: 1,
        unseen: weight % 3,
        since,
        source_outcome: weight.is_multiple_of(2).then_some(Outcome::Failed),
        trials: vec![trial],
    };
    let body = EventBody::RunEffects(RunEffects {
        run: any_run(weight as usize),
        effects: vec![effect(entry), effect(other)],
    });
    let about = vec![entry.into(), other.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}
