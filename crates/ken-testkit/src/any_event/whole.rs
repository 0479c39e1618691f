//! Changes that belong to no single entry.

use std::collections::BTreeMap;

use ken_core::content::FrictionType;
use ken_core::decide::Draft;
use ken_core::event::{
    ApprovalGranted, Body, ConfigChanged, ContradictionFlagged, ContradictionResolved,
    DomainAction, DomainOverridden, DomainStrategyChanged, ForageCompleted, ForageMode,
    ForageRequested, FrictionRecorded, Keep, KnowledgeDistilled, OriginRevoked, Outcome,
    PairDismissed, PairKind, PeerTrustChanged, RetrievalMissed, RunClosed, Subject, Switch,
};
use ken_core::id::{EntryId, EventId};
use serde_json::json;

use super::{Play, Turn};

/// Writes some of one kind, each based on all, one or none of its like the replica knows.
pub(super) fn change(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let kind = turn.choice.below(9);
    for _ in 0..=turn.choice.below(3) {
        let body = match kind {
            0 => config(play, turn),
            1 => strategy(play, turn),
            2 => domain(play, turn),
            3 => origin(play, turn),
            4 => pair(play, turn)?,
            5 => flag(play, turn)?,
            6 => resolution(play, turn)?,
            7 => peer(turn),
            _ => run(play, turn),
        };
        let about = vec![Subject::Other("workspace".to_owned())];
        play.write(turn, Draft { about, body });
    }
    Some(())
}

fn known(play: &Play, turn: &mut Turn, type_name: &str) -> Vec<EventId> {
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

fn config(play: &mut Play, turn: &mut Turn) -> Body {
    let value = match turn.choice.below(2) {
        0 => json!(10),
        _ => json!({ "said": play.word() }),
    };
    Body::ConfigChanged(ConfigChanged {
        key: "decay/runs".parse().expect("a tag"),
        value,
        replaces: known(play, turn, "config.changed"),
    })
}

fn strategy(play: &mut Play, turn: &mut Turn) -> Body {
    Body::DomainStrategyChanged(DomainStrategyChanged {
        domain: "docs.rs".to_owned(),
        strategy: play.text("plain/{}"),
        replaces: known(play, turn, "domain.strategy_changed"),
    })
}

fn domain(play: &mut Play, turn: &mut Turn) -> Body {
    let actions = [
        DomainAction::Trust,
        DomainAction::Distrust,
        DomainAction::Reset,
    ];
    Body::DomainOverridden(DomainOverridden {
        domain: "docs.rs".to_owned(),
        action: turn.choice.pick(&actions),
        replaces: known(play, turn, "domain.overridden"),
    })
}

fn origin(play: &mut Play, turn: &mut Turn) -> Body {
    Body::OriginRevoked(OriginRevoked {
        source: turn
            .choice
            .pick(&["peer:other", "origin:web", "agent:one"])
            .parse()
            .expect("a source"),
        state: turn.choice.pick(&[Switch::On, Switch::Off]),
        replaces: known(play, turn, "origin.revoked"),
    })
}

fn pair(play: &mut Play, turn: &mut Turn) -> Option<Body> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let as_what = turn
        .choice
        .pick(&[PairKind::Duplicate, PairKind::Contradiction]);
    Some(Body::PairDismissed(PairDismissed {
        first,
        second,
        as_what,
    }))
}

fn flag(play: &mut Play, turn: &mut Turn) -> Option<Body> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    let why = play.text("both say {}");
    Some(Body::ContradictionFlagged(ContradictionFlagged {
        first,
        second,
        why,
    }))
}

fn resolution(play: &mut Play, turn: &mut Turn) -> Option<Body> {
    let (first, second) = (play.pick_entry(turn)?.id, play.pick_entry(turn)?.id);
    Some(Body::ContradictionResolved(ContradictionResolved {
        first,
        second,
        keep: Keep::Both,
        flags: known(play, turn, "contradiction.flagged"),
    }))
}

fn peer(turn: &mut Turn) -> Body {
    Body::PeerTrustChanged(PeerTrustChanged {
        peer: "peer:other".parse().expect("an actor"),
        alpha_milli: turn.choice.below(2000) as u32,
        beta_milli: turn.choice.below(2000) as u32,
    })
}

/// What changes no state yet but must pass through.
fn run(play: &mut Play, turn: &mut Turn) -> Body {
    let entry: EntryId = "L-00000000".parse().expect("an entry id");
    match turn.choice.below(7) {
        0 => Body::RunClosed(RunClosed {
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
        1 => Body::RetrievalMissed(RetrievalMissed {
            query: play.text("how does {} work"),
            top_milli: 120,
        }),
        2 => Body::FrictionRecorded(FrictionRecorded {
            friction: FrictionType::ToolError,
            context: json!({ "said": [play.word(), 0.5, null] }),
        }),
        3 => Body::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: play.text("read {}"),
            signature: None,
            covers: Vec::new(),
        }),
        4 => Body::KnowledgeDistilled(KnowledgeDistilled {
            entry,
            sources: vec![entry],
            cluster_weight_milli: 3100,
        }),
        5 => Body::ForageRequested(ForageRequested {
            mode: ForageMode::Operator,
            reason: play.text("missing {}"),
        }),
        _ => Body::ForageCompleted(ForageCompleted {
            request: play.fresh_id(turn),
            fetched: 3,
            admitted: 1,
            rejected: 2,
            duration_ms: 40,
        }),
    }
}
