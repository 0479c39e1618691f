//! What belongs to no entry: settings, revoked sources, judged pairs, peers, unread events.

use std::collections::BTreeMap;

use ken_core::event::{
    Body, ConfigChanged, ContradictionFlagged, ContradictionResolved, DomainOverridden,
    DomainStrategyChanged, Event, OriginRevoked, PairDismissed, PeerTrustChanged, Switch,
};
use ken_core::source::Source;
use ken_core::workspace::{Setting, Workspace};
use serde_json::Value;

use super::causality::{Write, standing};
use super::of_type;

pub(super) fn workspace(events: &[Event]) -> Workspace {
    let events: Vec<&Event> = events.iter().collect();
    let mut state = Workspace {
        settings: settings(&events),
        ..Workspace::default()
    };
    for (_, data) in of_type::<OriginRevoked>(&events) {
        if is_revoked(&data.source, &events) {
            state.revoked.insert(data.source.clone());
        }
    }
    for (_, data) in of_type::<PairDismissed>(&events) {
        let mut pair = [data.first, data.second];
        pair.sort();
        state.dismissed.insert((pair[0], pair[1], data.as_what));
    }
    let resolutions = of_type::<ContradictionResolved>(&events);
    for (event, data) in of_type::<ContradictionFlagged>(&events) {
        if !resolutions.iter().any(|(_, r)| r.flags.contains(&event.id)) {
            let pair = (data.first, data.second);
            state.contradictions.insert(event.id, pair);
        }
    }
    for (_, data) in of_type::<PeerTrustChanged>(&events) {
        let tally = state.peers.entry(data.peer.clone()).or_default();
        tally.alpha_milli += u64::from(data.alpha_milli);
        tally.beta_milli += u64::from(data.beta_milli);
    }
    for event in &events {
        if let Body::Unknown { type_name } = &event.body {
            *state.unknown.entry(type_name.clone()).or_default() += 1;
        }
    }
    state
}

fn is_revoked(source: &Source, events: &[&Event]) -> bool {
    let writes: Vec<Write<Switch>> = of_type::<OriginRevoked>(events)
        .into_iter()
        .filter(|(_, data)| data.source == *source)
        .map(|(event, data)| Write::new(event, &data.replaces, data.state))
        .collect();
    standing(&writes, &writes).is_some_and(|stands| stands.value == Switch::On)
}

fn settings(events: &[&Event]) -> BTreeMap<String, Setting> {
    let mut keyed: Vec<(String, Write<Value>)> = Vec::new();
    for (event, data) in of_type::<ConfigChanged>(events) {
        let write = Write::new(event, &data.replaces, data.value.clone());
        keyed.push((format!("config/{}", data.key), write));
    }
    for (event, data) in of_type::<DomainStrategyChanged>(events) {
        let write = Write::new(event, &data.replaces, Value::from(data.strategy.as_str()));
        keyed.push((format!("strategy/{}", data.domain), write));
    }
    for (event, data) in of_type::<DomainOverridden>(events) {
        let value = serde_json::to_value(data.action).expect("a word");
        let write = Write::new(event, &data.replaces, value);
        keyed.push((format!("domain/{}", data.domain), write));
    }
    let mut settings = BTreeMap::new();
    for (key, _) in &keyed {
        let writes: Vec<Write<Value>> = keyed
            .iter()
            .filter(|(other, _)| other == key)
            .map(|(_, write)| write.clone())
            .collect();
        let stands = standing(&writes, &writes).expect("at least this write");
        let setting = Setting {
            value: stands.value,
            heads: stands.heads,
        };
        settings.insert(key.clone(), setting);
    }
    settings
}
