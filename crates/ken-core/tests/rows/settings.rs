//! What a workspace configured, and what the rules about it are told, as repository and hub both read it.

use std::collections::BTreeMap;

use ken_core::event::{Body, ConfigChanged, Event, Origin};
use ken_core::fold::fold_entry;
use ken_core::health::disappointments;
use ken_core::kind::Kind;
use ken_core::maintenance::{MAINTENANCE_KEY, Mode, Policy};
use ken_core::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::score::{SCORING_KEY, Weights};
use ken_core::workspace::{Workspace, fold_workspace};
use ken_testkit::build::Scribe;
use serde_json::{Value, json};

/// A workspace in which somebody set this.
fn workspace(key: &str, value: Value) -> Workspace {
    let body = Body::ConfigChanged(ConfigChanged {
        key: key.parse().unwrap(),
        value,
        replaces: Vec::new(),
    });
    let event: Event = Scribe::new(1).write(Vec::new(), body).event;
    fold_workspace([&event])
}

#[test]
fn a_setting_holds_where_it_is_sound_and_the_default_everywhere_else() {
    let default = ReviewPolicy::default();
    let three = ReviewPolicy {
        reviews: 3,
        ..default
    };
    for (key, value, wanted) in [
        (REVIEW_KEY, json!({"reviews": 3}), three),
        (REVIEW_KEY, json!({}), default),
        (REVIEW_KEY, Value::Null, default),
        (REVIEW_KEY, json!({"reviews": "3"}), default),
        (REVIEW_KEY, json!({"reviews": 3, "newer": 1}), default),
        ("reviews", json!({"reviews": 3}), default),
    ] {
        assert_eq!(
            ReviewPolicy::of(&workspace(key, value.clone())),
            wanted,
            "{key} {value}"
        );
    }
    for (value, mode) in [
        (json!({"mode": "autonomous"}), Mode::Autonomous),
        (json!({"mode": "frantic"}), Mode::Suggest),
        (Value::Null, Mode::Suggest),
    ] {
        let policy = Policy::of(&workspace(MAINTENANCE_KEY, value.clone()));
        assert_eq!(policy.mode, mode, "{value}");
    }
    assert_eq!(Policy::of(&Workspace::default()), Policy::default());
}

#[test]
fn weights_are_a_workspaces_own_only_where_they_are_sound() {
    let own = Weights::default().to_json();
    let mut beyond = own.clone();
    beyond["semantic"] = json!(0.5);
    for (value, is_own) in [
        (own, true),
        (beyond, false),
        (Value::Null, false),
        (json!({}), false),
    ] {
        let told = Weights::of(&workspace(SCORING_KEY, value.clone()));
        assert_eq!(told.is_some(), is_own, "{value}");
    }
    assert_eq!(Weights::of(&Workspace::default()), None);
}

#[test]
fn what_came_from_a_peer_and_is_still_here_is_inbound() {
    let here = |origin: Origin| {
        let mut scribe = Scribe::new(2);
        let (id, copy) = scribe.propose_with(Kind::Learning, "Clocks stand still", |it| {
            it.origin = origin;
        });
        fold_entry(id, [&copy.event]).unwrap()
    };
    for (origin, inbound) in [
        (Origin::Peer, true),
        (Origin::Agent, false),
        (Origin::Human, false),
        (Origin::Web, false),
    ] {
        assert_eq!(here(origin).is_inbound(), inbound, "{origin:?}");
    }
    let mut merged = here(Origin::Peer);
    merged.merged_into = Some("L-00000001".parse().unwrap());
    assert!(!merged.is_inbound());
    let mut replaced = here(Origin::Peer);
    replaced.superseded_by = Some("L-00000001".parse().unwrap());
    assert!(!replaced.is_inbound());
}

#[test]
fn disappointments_are_misses_and_verdicts_together() {
    let mut scribe = Scribe::new(3);
    let mut entry = |unhelpful: u64| {
        let (id, copy) = scribe.propose("Clocks of tests stand still");
        let mut entry = fold_entry(id, [&copy.event]).unwrap();
        entry.tallies.unhelpful = unhelpful;
        entry
    };
    let (both, called, missed, fine) = (entry(2), entry(1), entry(0), entry(0));
    let misses = [both.id, missed.id, both.id];
    let wanted = BTreeMap::from([(both.id, 4), (called.id, 1), (missed.id, 1)]);
    let entries = [both, called, missed, fine];
    assert_eq!(disappointments(misses, &entries), wanted);
    assert_eq!(disappointments([], &entries[3..]), BTreeMap::new());
}
