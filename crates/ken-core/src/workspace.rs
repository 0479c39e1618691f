//! State that belongs to no single entry: policy, revoked sources, judged pairs, peers, domains.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::causal::Causal;
use crate::entry::{Entry, Tally};
use crate::event::{
    Body, ConfigChanged, ContradictionFlagged, ContradictionResolved, DomainOverridden,
    DomainStrategyChanged, Event, Order, OriginRevoked, PairDismissed, PairKind, PeerTrustChanged,
    Switch,
};
use crate::id::{EntryId, EventId};
use crate::source::Source;

/// What the events say about the workspace as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    /// Policy, domain strategies and domain overrides by `kind/key`.
    pub settings: BTreeMap<String, Setting>,
    /// Authors and origins whose entries nobody is shown.
    pub revoked: BTreeSet<Source>,
    pub dismissed: BTreeSet<(EntryId, EntryId, PairKind)>,
    /// Contradictions nobody has resolved.
    pub contradictions: BTreeMap<EventId, (EntryId, EntryId)>,
    pub peers: BTreeMap<Actor, Tally>,
    /// Events this build cannot read, by type.
    pub unknown: BTreeMap<String, u32>,
}

/// A value and the events the next change replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub value: Value,
    pub heads: Vec<EventId>,
}

impl Workspace {
    /// Returns whether whoever made an entry, or where it came from, was revoked.
    pub fn is_revoked(&self, entry: &Entry) -> bool {
        self.revoked.iter().any(|source| source.made(entry))
    }

    /// Returns who contradicts whom where nobody has decided yet.
    pub fn open_contradictions(&self) -> BTreeMap<EntryId, BTreeSet<EntryId>> {
        let mut open: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
        for (one, other) in self.contradictions.values() {
            open.entry(*one).or_default().insert(*other);
            open.entry(*other).or_default().insert(*one);
        }
        open
    }

    /// Returns what the workspace configured under `key`.
    pub fn config(&self, key: &str) -> Option<&Setting> {
        self.settings.get(&format!("config/{key}"))
    }

    /// Returns what the workspace configured under `key`, if this build can make something of it.
    pub fn configured<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let own = self.config(key)?;
        T::deserialize(&own.value).ok()
    }
}

/// An event that sets a value, the value, and the events it was based on.
type Write<'a, T> = (&'a Event, T, &'a [EventId]);

/// Returns whether the workspace's state depends on `event`.
pub fn concerns_workspace(event: &Event) -> bool {
    matches!(
        event.body,
        Body::ConfigChanged(_)
            | Body::DomainStrategyChanged(_)
            | Body::DomainOverridden(_)
            | Body::OriginRevoked(_)
            | Body::PairDismissed(_)
            | Body::ContradictionFlagged(_)
            | Body::ContradictionResolved(_)
            | Body::PeerTrustChanged(_)
            | Body::Unknown { .. }
    )
}

/// Folds the events that concern the workspace; others are left out.
pub fn fold_workspace<'a>(events: impl IntoIterator<Item = &'a Event>) -> Workspace {
    let ordered: BTreeMap<Order, &Event> = events
        .into_iter()
        .filter(|event| concerns_workspace(event))
        .map(|event| (event.order(), event))
        .collect();
    let mut state = Workspace {
        settings: settings(&ordered),
        ..Workspace::default()
    };
    let mut revoked: BTreeMap<&Source, Vec<Write<'_, Switch>>> = BTreeMap::new();
    let mut resolved = BTreeSet::new();
    for event in ordered.values() {
        if let Some(data) = event.get::<OriginRevoked>() {
            revoked
                .entry(&data.source)
                .or_default()
                .push((event, data.state, &data.replaces));
        } else if let Some(data) = event.get::<PairDismissed>() {
            let (a, b) = (data.first.min(data.second), data.first.max(data.second));
            state.dismissed.insert((a, b, data.as_what));
        } else if let Some(data) = event.get::<ContradictionFlagged>() {
            state
                .contradictions
                .insert(event.id, (data.first, data.second));
        } else if let Some(data) = event.get::<ContradictionResolved>() {
            resolved.extend(data.flags.iter().copied());
        } else if let Some(data) = event.get::<PeerTrustChanged>() {
            let tally = state.peers.entry(data.peer.clone()).or_default();
            tally.alpha_milli += u64::from(data.alpha_milli);
            tally.beta_milli += u64::from(data.beta_milli);
        } else if let Body::Unknown { type_name } = &event.body {
            *state.unknown.entry(type_name.clone()).or_default() += 1;
        }
    }
    state
        .contradictions
        .retain(|flag, _| !resolved.contains(flag));
    state.revoked = revoked
        .into_iter()
        .filter(|(_, writes)| standing(writes.iter().copied()) == Some(Switch::On))
        .map(|(source, _)| source.clone())
        .collect();
    state
}

fn settings(events: &BTreeMap<Order, &Event>) -> BTreeMap<String, Setting> {
    let mut writes: BTreeMap<String, Vec<Write<'_, Value>>> = BTreeMap::new();
    for event in events.values() {
        let Some((key, value, replaces)) = setting_write(event) else {
            continue;
        };
        writes
            .entry(key)
            .or_default()
            .push((event, value, replaces));
    }
    writes
        .into_iter()
        .filter_map(|(key, writes)| {
            let heads = causal(writes.iter().map(|(e, _, r)| (*e, *r))).heads();
            let value = standing(writes.into_iter())?;
            Some((key, Setting { value, heads }))
        })
        .collect()
}

/// Returns the key, value and basis if `event` sets something.
fn setting_write(event: &Event) -> Option<(String, Value, &[EventId])> {
    if let Some(data) = event.get::<ConfigChanged>() {
        return Some((
            format!("config/{}", data.key),
            data.value.clone(),
            &data.replaces,
        ));
    }
    if let Some(data) = event.get::<DomainStrategyChanged>() {
        let value = Value::String(data.strategy.to_string());
        return Some((format!("strategy/{}", data.domain), value, &data.replaces));
    }
    let data = event.get::<DomainOverridden>()?;
    let value = serde_json::to_value(data.action).expect("a word");
    Some((format!("domain/{}", data.domain), value, &data.replaces))
}

/// Returns the value that stands among writes to one key.
fn standing<'a, T>(writes: impl Iterator<Item = Write<'a, T>>) -> Option<T> {
    let mut writes: Vec<_> = writes.collect();
    let causal = causal(
        writes
            .iter()
            .map(|(event, _, replaces)| (*event, *replaces)),
    );
    let winner = causal.winner_among(&causal.heads())?;
    let place = writes.iter().position(|(event, _, _)| event.id == winner)?;
    Some(writes.swap_remove(place).1)
}

fn causal<'a>(writes: impl Iterator<Item = (&'a Event, &'a [EventId])>) -> Causal<'a> {
    let mut causal = Causal::default();
    for (event, replaces) in writes {
        causal.add(event.order(), replaces);
    }
    causal
}
