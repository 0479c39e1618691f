//! What a replica of this build does: through `ken_core::decide` where there is a function for it.

use std::collections::BTreeSet;

use ken_core::citation::Evidence;
use ken_core::content::Scope;
use ken_core::decide::{self, Proposal};
use ken_core::event::{
    ArchiveReason, Arm, BlankReason, Body, Channel, ConfidenceReset, Confirmed, Effect, Event,
    Feedback, FeedbackGiven, MergeStrategy, Merged, Origin, Outcome, Overlay, Provenance,
    Reanchored, Relation, RetractReason, RunEffects, ScopeChanged, SourceRun, Superseded, Switch,
    Trial,
};
use ken_core::kind::{Kind, Memory};
use ken_core::status::Status;

use super::texts::Keep;
use super::whole;
use super::{Action, ENTRIES_MAX, Play, Rewording, Turn};

/// Listed as often as they shall happen.
pub(super) const ACTIONS: &[Action] = &[
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
    find,
    find,
    find,
    status,
    status,
    archive,
    archive,
    recur,
    restore,
    restore,
    retract,
    link,
    overlay,
    overlay,
    blank,
    undo,
    undo,
    lift,
    approve,
    merge,
    succeed,
    reanchor,
    scope,
    effects,
    effects,
    whole::change,
    whole::change,
];

fn propose(play: &mut Play, turn: &mut Turn) -> Option<()> {
    const KINDS: [Kind; 8] = [
        Kind::Learning,
        Kind::Pattern,
        Kind::CommitNorm,
        Kind::Friction,
        Kind::Spike,
        Kind::Entity,
        Kind::Relationship,
        Kind::Incident,
    ];
    if play.entries.len() >= ENTRIES_MAX {
        return revise(play, turn);
    }
    let kind = turn.choice.pick(&KINDS);
    let evidence: Evidence = play.text("commit:{}");
    let mut citations = vec![evidence.cite(&turn.by, play.now(turn.replica))];
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
        scope: Scope::Workspace,
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
    };
    let id = play.fresh_id(turn);
    let draft = decide::propose(id, proposal).ok()?;
    play.write_as(id, turn, draft);
    Some(())
}

fn revise(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let changes = play.changes(&mut turn.choice, Keep::Nothing);
    let channel = turn.choice.pick(&[Channel::Command, Channel::HandEdit]);
    let draft = decide::revise(&entry, changes, None, channel, None).ok()?;
    let seen: Vec<_> = play.view(turn.replica, entry.id);
    let seen = seen.iter().map(|event| event.id).collect();
    let event = play.write(turn, draft);
    play.written.rewordings.push(Rewording {
        entry: entry.id,
        event,
        seen,
    });
    Some(())
}

/// Takes about half of what another replica has.
fn pull_half(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let other = turn.choice.below(play.replicas.len());
    let bits = turn.choice.0;
    for place in 0..play.written.copies.len() {
        if play.replicas[other].holds(place) && bits >> (place % 16) & 1 == 1 {
            play.replicas[turn.replica].take(place);
        }
    }
    Some(())
}

fn cite(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let evidence: Evidence = play.text("pr:{}");
    let citation = evidence.cite(&turn.by, play.now(turn.replica));
    let draft = decide::cite(&entry, citation).ok()?;
    play.write(turn, draft);
    Some(())
}

fn confirm(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let on = play.now(turn.replica).date();
    let draft = decide::confirm(&entry, &turn.by, on).ok()?;
    play.write(turn, draft);
    Some(())
}

/// A run found the claim again, today or some days ago.
fn find(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let days = turn.choice.pick(&[0, 0, 1, 3]);
    let body = Confirmed {
        provenance: turn.choice.pick(&[
            Provenance::Independent,
            Provenance::Primed,
            Provenance::Unwitnessed,
        ]),
        on: play.now(turn.replica).date().minus_days(days),
        run: Some("run-1".to_owned()),
        withdraws: Vec::new(),
    };
    play.write_about(turn, entry.id, Body::Confirmed(body));
    Some(())
}

fn status(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let to = turn.choice.pick(&Status::ALL);
    let draft = decide::set_status(&entry, to, &turn.by, Some(play.text("because {}"))).ok()?;
    play.write(turn, draft);
    Some(())
}

fn archive(play: &mut Play, turn: &mut Turn) -> Option<()> {
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

/// Decay archives what another run has just found again.
fn recur(play: &mut Play, turn: &mut Turn) -> Option<()> {
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
    play.write_about(turn, entry.id, Body::Confirmed(body));
    Some(())
}

fn restore(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let draft = decide::restore(&entry, Some(play.text("because {}"))).ok()?;
    play.write(turn, draft);
    Some(())
}

fn retract(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let reason = turn
        .choice
        .pick(&[RetractReason::False, RetractReason::Duplicate]);
    let note = Some(play.text("because {}"));
    let draft = decide::retract(&entry, reason, Channel::Command, note).ok()?;
    play.write(turn, draft);
    Some(())
}

fn link(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let (from, to) = (play.pick_entry(turn)?, play.pick_entry(turn)?);
    let rel = turn.choice.pick(&[Relation::RelatesTo, Relation::Refines]);
    let draft = decide::link(&from, &to, rel).ok()?;
    play.write(turn, draft);
    Some(())
}

fn overlay(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let overlay = turn.choice.pick(&[Overlay::Pin, Overlay::Annotate]);
    let state = turn.choice.pick(&[Switch::On, Switch::Off]);
    let note = turn.choice.one_in(2).then(|| play.text("note {}"));
    let draft = decide::set_overlay(&entry, overlay, state, note).ok()?;
    play.write(turn, draft);
    Some(())
}

fn blank(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let target = play.pick_copy(turn)?;
    let draft = decide::blank(&target, &turn.by, BlankReason::Secret).ok()?;
    play.write(turn, draft);
    Some(())
}

fn undo(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let view = play.view(turn.replica, entry.id);
    let history: Vec<Event> = view.into_iter().cloned().collect();
    // The later half is what somebody would want to undo.
    let back = turn.choice.below(history.len().div_ceil(2));
    let event = history[history.len() - 1 - back].clone();
    let draft = decide::undo(&entry, &event, &history).ok()?;
    play.write(turn, draft);
    Some(())
}

fn lift(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let reason = play.text("looked at {}");
    let draft = decide::lift_quarantine(&entry, &turn.by, reason).ok()?;
    play.write(turn, draft);
    Some(())
}

fn approve(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    // Now and then somebody approves their own words: the fold must not count that.
    let draft = decide::approve(&entry, &BTreeSet::new(), &turn.by, None).ok()?;
    play.write(turn, draft);
    Some(())
}

fn merge(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let (target, source) = (play.pick_entry(turn)?, play.pick_entry(turn)?);
    let body = Body::Merged(Merged {
        target: target.id,
        sources: vec![source.id],
        strategy: MergeStrategy::KeepTarget,
        changes: play.changes(&mut turn.choice, Keep::Nothing),
        replaces: target.revision,
        origin: turn
            .choice
            .pick(&[None, Some(Origin::Agent), Some(Origin::Web)]),
    });
    let about = vec![target.id.into(), source.id.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}

fn succeed(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let (old, new) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let body = Body::Superseded(Superseded { old, new });
    let about = vec![old.into(), new.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}

fn reanchor(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let target: ken_core::anchor::Target = play.text("src/{}.rs:1-9");
    let body = Body::Reanchored(Reanchored {
        evidence: vec![target.into()],
        replaces: entry.revision,
    });
    play.write_about(turn, entry.id, body);
    Some(())
}

fn scope(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = play.pick_entry(turn)?;
    let body = Body::ScopeChanged(ScopeChanged {
        to: turn.choice.pick(&[Scope::Thread, Scope::Global]),
        replaces: entry.scope.heads,
    });
    play.write_about(turn, entry.id, body);
    Some(())
}

fn effects(play: &mut Play, turn: &mut Turn) -> Option<()> {
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
        play.write_about(turn, entry, Body::FeedbackGiven(body));
        return Some(());
    }
    if turn.choice.one_in(4) {
        let reason = play.text("stuck at {}");
        play.write_about(
            turn,
            entry,
            Body::ConfidenceReset(ConfidenceReset { reason }),
        );
        return Some(());
    }
    let trial = Trial {
        arm: turn.choice.pick(&[Arm::Shown, Arm::Withheld]),
        propensity_milli: turn.choice.pick(&[100, 300]),
        succeeded: turn.choice.one_in(2),
    };
    let effect = |entry| Effect {
        entry,
        alpha_milli: weight,
        beta_milli: weight / 2,
        shown: 2,
        blind: 1,
        since,
        trials: vec![trial],
    };
    let body = Body::RunEffects(RunEffects {
        run: "run-1".to_owned(),
        effects: vec![effect(entry), effect(other)],
    });
    let about = vec![entry.into(), other.into()];
    play.write(turn, decide::Draft { about, body });
    Some(())
}
