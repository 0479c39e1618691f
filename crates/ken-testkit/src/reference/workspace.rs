//! Reference fold of the workspace: settings, revoked sources, judged pairs, peers, unknown events.

use std::collections::BTreeMap;

use ken_core::ledger::event::{
    ConfigChanged, ContradictionFlagged, ContradictionResolved, DomainOverridden,
    DomainStrategyChanged, Event, EventBody, OriginRevoked, PairDismissed, PeerTrustChanged,
    Restored, Switch,
};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::workspace::{WorkspaceSetting, WorkspaceState};
use ken_core::values::id::EntryId;
use serde_json::Value;

use super::causality::{CausalWrite, resolve_writes};
use super::events_of_type;

pub(super) fn fold_workspace(events: &[Event]) -> WorkspaceState {
    let events: Vec<&Event> = events.iter().collect();
    let mut state = WorkspaceState {
        settings: settings(&events),
        ..WorkspaceState::default()
    };
    for (_, data) in events_of_type::<OriginRevoked>(&events) {
        if is_revoked(&data.source, &events) {
            state.revoked.insert(data.source.clone());
        }
    }
    for (event, data) in events_of_type::<PairDismissed>(&events) {
        if is_undone(event, data.first, data.second, &events) {
            continue;
        }
        let mut pair = [data.first, data.second];
        // A pair has no direction.
        pair.sort();
        state.dismissed.insert((pair[0], pair[1], data.as_what));
    }
    let mut resolutions = events_of_type::<ContradictionResolved>(&events);
    resolutions.retain(|(event, it)| !is_undone(event, it.first, it.second, &events));
    for (event, data) in events_of_type::<ContradictionFlagged>(&events) {
        if is_undone(event, data.first, data.second, &events) {
            continue;
        }
        if !resolutions.iter().any(|(_, r)| r.flags.contains(&event.id)) {
            let pair = (data.first, data.second);
            state.contradictions.insert(event.id, pair);
        }
    }
    for (_, data) in events_of_type::<PeerTrustChanged>(&events) {
        let tally = state.peers.entry(data.peer.clone()).or_default();
        tally.alpha_milli += u64::from(data.alpha_milli);
        tally.beta_milli += u64::from(data.beta_milli);
    }
    for event in &events {
        if let EventBody::Unknown { type_name } = &event.body {
            *state.unknown.entry(type_name.clone()).or_default() += 1;
        }
    }
    state
}

/// Returns whether an event about both entries of a pair names the decision as undone.
fn is_undone(decision: &Event, first: EntryId, second: EntryId, events: &[&Event]) -> bool {
    let all = events_of_type::<Restored>(events);
    let mut of_pair = all.into_iter().filter(|(event, _)| {
        let about: Vec<EntryId> = event.entries().collect();
        // About one entry, it restores that entry and decides nothing about a pair.
        about.len() > 1 && about.contains(&first) && about.contains(&second)
    });
    of_pair.any(|(_, data)| data.undoes.contains(&decision.id))
}

fn is_revoked(source: &ContributionSource, events: &[&Event]) -> bool {
    let writes: Vec<CausalWrite<Switch>> = events_of_type::<OriginRevoked>(events)
        .into_iter()
        .filter(|(_, data)| data.source == *source)
        .map(|(event, data)| CausalWrite::new(event, &data.replaces, data.state))
        .collect();
    resolve_writes(&writes, &writes).is_some_and(|stands| stands.value == Switch::On)
}

fn settings(events: &[&Event]) -> BTreeMap<String, WorkspaceSetting> {
    let mut keyed: Vec<(String, CausalWrite<Value>)> = Vec::new();
    for (event, data) in events_of_type::<ConfigChanged>(events) {
        let write = CausalWrite::new(event, &data.replaces, data.value.clone());
        keyed.push((format!("config/{}", data.key), write));
    }
    for (event, data) in events_of_type::<DomainStrategyChanged>(events) {
        let write = CausalWrite::new(event, &data.replaces, Value::from(data.strategy.as_str()));
        keyed.push((format!("strategy/{}", data.domain), write));
    }
    for (event, data) in events_of_type::<DomainOverridden>(events) {
        let value = serde_json::to_value(data.action).expect("a word");
        let write = CausalWrite::new(event, &data.replaces, value);
        keyed.push((format!("domain/{}", data.domain), write));
    }
    let mut settings = BTreeMap::new();
    for (key, _) in &keyed {
        let writes: Vec<CausalWrite<Value>> = keyed
            .iter()
            .filter(|(other, _)| other == key)
            .map(|(_, write)| write.clone())
            .collect();
        let stands = resolve_writes(&writes, &writes).expect("at least this write");
        let setting = WorkspaceSetting {
            value: stands.value,
            heads: stands.heads,
        };
        settings.insert(key.clone(), setting);
    }
    settings
}
