//! Workspace actions, which concern no single entry.

use std::collections::BTreeMap;

use ken_core::decide::Draft;
use ken_core::ledger::event::{
    ApprovalGranted, Arm, CheckResult, ConfigChanged, ContradictionFlagged, ContradictionResolved,
    DomainAction, DomainOverridden, DomainStrategyChanged, EventBody, EventSubject,
    ForageCompleted, ForageMode, ForageRequested, FrictionRecorded, HandoffTaken, HandoffWritten,
    Keep, KnowledgeDistilled, OriginRevoked, Outcome, PairDismissed, PairKind, PeerTrustChanged,
    RetrievalMissed, RunAssignment, RunClosed, RunObserved, RunObserver, Switch,
};
use ken_core::values::content::FrictionType;
use ken_core::values::id::{EntryId, EventId};
use serde_json::json;

use super::{HistoryGenerator, ReplicaTurn};

/// Writes up to three events of one kind, each replacing all, one or none of the known events of
/// its kind.
pub(super) fn change_workspace(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let kind = turn.choice.below(9);
    for _ in 0..=turn.choice.below(3) {
        let body = match kind {
            0 => config_event(play, turn),
            1 => strategy_event(play, turn),
            2 => domain_event(play, turn),
            3 => origin_event(play, turn),
            4 => pair_event(play, turn)?,
            5 => flag_event(play, turn)?,
            6 => resolution_event(play, turn)?,
            7 => peer_event(turn),
            _ => passive_event(play, turn),
        };
        let about = vec![EventSubject::Other("workspace".to_owned())];
        play.write(turn, Draft { about, body });
    }
    Some(())
}

fn known_events(play: &HistoryGenerator, turn: &mut ReplicaTurn, type_name: &str) -> Vec<EventId> {
    let mut ids: Vec<EventId> = play
        .held(turn.replica)
        .filter(|copy| copy.event.body.type_name() == type_name)
        .map(|copy| copy.event.id)
        .collect();
    match turn.choice.below(3) {
        0 => ids,
        1 => ids.pop().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn config_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> EventBody {
    let value = match turn.choice.below(2) {
        0 => json!(10),
        _ => json!({ "said": play.word() }),
    };
    EventBody::ConfigChanged(ConfigChanged {
        key: "decay/runs".parse().expect("a tag"),
        value,
        replaces: known_events(play, turn, "config.changed"),
    })
}

fn strategy_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> EventBody {
    EventBody::DomainStrategyChanged(DomainStrategyChanged {
        domain: "docs.rs".to_owned(),
        strategy: play.text("plain/{}"),
        replaces: known_events(play, turn, "domain.strategy_changed"),
    })
}

fn domain_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> EventBody {
    let actions = [
        DomainAction::Trust,
        DomainAction::Distrust,
        DomainAction::Reset,
    ];
    EventBody::DomainOverridden(DomainOverridden {
        domain: "docs.rs".to_owned(),
        action: turn.choice.pick(&actions),
        replaces: known_events(play, turn, "domain.overridden"),
    })
}

fn origin_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> EventBody {
    EventBody::OriginRevoked(OriginRevoked {
        source: turn
            .choice
            .pick(&["peer:other", "origin:web", "agent:one"])
            .parse()
            .expect("a source"),
        state: turn.choice.pick(&[Switch::On, Switch::Off]),
        replaces: known_events(play, turn, "origin.revoked"),
    })
}

fn pair_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<EventBody> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let as_what = turn
        .choice
        .pick(&[PairKind::Duplicate, PairKind::Contradiction]);
    Some(EventBody::PairDismissed(PairDismissed {
        first,
        second,
        as_what,
    }))
}

fn flag_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<EventBody> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let why = play.text("both say {}");
    Some(EventBody::ContradictionFlagged(ContradictionFlagged {
        first,
        second,
        why,
    }))
}

fn resolution_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<EventBody> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    Some(EventBody::ContradictionResolved(ContradictionResolved {
        first,
        second,
        keep: Keep::Both,
        flags: known_events(play, turn, "contradiction.flagged"),
    }))
}

fn peer_event(turn: &mut ReplicaTurn) -> EventBody {
    EventBody::PeerTrustChanged(PeerTrustChanged {
        peer: "peer:other".parse().expect("an actor"),
        alpha_milli: turn.choice.below(2000) as u32,
        beta_milli: turn.choice.below(2000) as u32,
    })
}

/// Builds an event with what hooks saw of a run.
fn observed_event(play: &mut HistoryGenerator, entry: EntryId) -> EventBody {
    EventBody::RunObserved(RunObserved {
        run: Some(play.word()),
        observer: RunObserver::Hooks,
        prompts: Some(3),
        corrections: Some(1),
        test_runs: Some(2),
        tests_passed_at: Some(2),
        commits: vec!["0123456789ab".to_owned()],
        merged: Some(true),
        reverted: None,
        ci: Some(CheckResult::Passed),
        assigned: vec![RunAssignment {
            entry,
            arm: Arm::Withheld,
            propensity_milli: 100,
        }],
    })
}

/// Builds events that do not affect the fold but must be preserved.
fn passive_event(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> EventBody {
    let entry: EntryId = "L-00000000".parse().expect("an entry id");
    match turn.choice.below(10) {
        0 => EventBody::RunClosed(RunClosed {
            run: play.word(),
            outcome: Outcome::Abandoned,
            quality_milli: Some(700),
            rounds: 2,
            cost_micros: 1,
            strategy: None,
            agents: vec![turn.by.clone()],
            roles: BTreeMap::from([("reviewer".parse().expect("a tag"), 1)]),
            thread: None,
            duration_ms: 1,
            accessed: 2,
            extracted: 1,
        }),
        1 => EventBody::RetrievalMissed(RetrievalMissed {
            query: play.text("how does {} work"),
            top_milli: 120,
        }),
        2 => EventBody::FrictionRecorded(FrictionRecorded {
            friction: FrictionType::ToolError,
            context: json!({ "said": [play.word(), 0.5, null] }),
        }),
        3 => EventBody::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: play.text("read {}"),
            signature: None,
            covers: Vec::new(),
        }),
        4 => EventBody::KnowledgeDistilled(KnowledgeDistilled {
            entry,
            sources: vec![entry],
            cluster_weight_milli: 3100,
        }),
        5 => EventBody::ForageRequested(ForageRequested {
            mode: ForageMode::Operator,
            reason: play.text("missing {}"),
        }),
        6 => EventBody::HandoffWritten(HandoffWritten {
            branch: Some(play.word()),
            unfinished: vec![play.text("finish {}")],
            tried: Vec::new(),
            open: vec![play.text("why {}")],
            run: Some(play.word()),
        }),
        7 => EventBody::HandoffTaken(HandoffTaken {
            handoff: play.fresh_id(turn),
            run: None,
        }),
        8 => observed_event(play, entry),
        _ => EventBody::ForageCompleted(ForageCompleted {
            request: play.fresh_id(turn),
            fetched: 3,
            admitted: 1,
            rejected: 2,
            duration_ms: 40,
        }),
    }
}
