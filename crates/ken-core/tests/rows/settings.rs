//! Workspace settings and the facts that rules receive, read identically by repository and hub.

use std::collections::BTreeMap;

use ken_core::health::count_errors;
use ken_core::health::maintenance::{MAINTENANCE_KEY, MaintenanceMode, MaintenancePolicy};
use ken_core::ledger::event::{ConfigChanged, Event, EventBody, Origin};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::workspace::{WorkspaceState, fold_workspace};
use ken_core::retrieval::score::{RankingWeights, SCORING_KEY};
use ken_core::trust::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::values::kind::EntryKind;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

/// Returns a workspace with one setting.
pub(crate) fn workspace_with_setting(key: &str, value: Value) -> WorkspaceState {
    let body = EventBody::ConfigChanged(ConfigChanged {
        key: key.parse().unwrap(),
        value,
        replaces: Vec::new(),
    });
    let event: Event = EventWriter::new(1).write(Vec::new(), body).event;
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
            ReviewPolicy::from_workspace(&workspace_with_setting(key, value.clone())),
            wanted,
            "{key} {value}"
        );
    }
    for (value, mode) in [
        (json!({"mode": "autonomous"}), MaintenanceMode::Autonomous),
        (json!({"mode": "frantic"}), MaintenanceMode::Suggest),
        (Value::Null, MaintenanceMode::Suggest),
    ] {
        let policy = MaintenancePolicy::from_workspace(&workspace_with_setting(
            MAINTENANCE_KEY,
            value.clone(),
        ));
        assert_eq!(policy.mode, mode, "{value}");
    }
    assert_eq!(
        MaintenancePolicy::from_workspace(&WorkspaceState::default()),
        MaintenancePolicy::default()
    );
}

#[test]
fn weights_are_a_workspaces_own_only_where_they_are_sound() {
    let own = RankingWeights::default().to_json();
    let mut beyond = own.clone();
    beyond["semantic"] = json!(0.5);
    for (value, is_own) in [
        (own, true),
        (beyond, false),
        (Value::Null, false),
        (json!({}), false),
    ] {
        let told =
            RankingWeights::from_workspace(&workspace_with_setting(SCORING_KEY, value.clone()));
        assert_eq!(told.is_some(), is_own, "{value}");
    }
    assert_eq!(
        RankingWeights::from_workspace(&WorkspaceState::default()),
        None
    );
}

#[test]
fn what_came_from_a_peer_and_is_still_here_is_inbound() {
    let here = |origin: Origin| {
        let mut scribe = EventWriter::new(2);
        let (id, copy) = scribe.propose_with(EntryKind::Learning, "Clocks stand still", |it| {
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
    let mut scribe = EventWriter::new(3);
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
    assert_eq!(count_errors(misses, &entries), wanted);
    assert_eq!(count_errors([], &entries[3..]), BTreeMap::new());
}
