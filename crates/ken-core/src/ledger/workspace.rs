//! Workspace state: settings, revoked sources, dismissed pairs, contradictions, peers and domains.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::causal::CausalGraph;
use crate::ledger::entry::{BetaTally, Entry};
use crate::ledger::event::{
    ConfigChanged, ContradictionFlagged, ContradictionResolved, DomainAction, DomainOverridden,
    DomainStrategyChanged, Event, EventBody, EventOrder, OriginRevoked, PairDismissed, PairKind,
    PeerTrustChanged, Restored, Switch,
};
use crate::ledger::source::ContributionSource;
use crate::values::actor::Actor;
use crate::values::id::{EntryId, EventId};
use crate::values::time::Timestamp;

/// The state of a workspace that belongs to no single entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceState {
    /// Settings, domain strategies and domain overrides by `kind/key`.
    pub settings: BTreeMap<String, WorkspaceSetting>,
    /// Revoked authors and origins; their entries are hidden.
    pub revoked: BTreeSet<ContributionSource>,
    pub dismissed: BTreeSet<(EntryId, EntryId, PairKind)>,
    /// Unresolved contradictions.
    pub contradictions: BTreeMap<EventId, (EntryId, EntryId)>,
    pub peers: BTreeMap<Actor, BetaTally>,
    /// Number of events that this build cannot read, by type.
    pub unknown: BTreeMap<String, u32>,
}

/// A value and the events that the next change replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceSetting {
    pub value: Value,
    pub heads: Vec<EventId>,
}

impl WorkspaceState {
    /// Returns whether the author or origin of the entry is revoked.
    pub fn is_revoked(&self, entry: &Entry) -> bool {
        self.revoked
            .iter()
            .any(|source| source.matches_entry(entry))
    }

    /// Returns the unresolved flags of contradictions that nobody dismissed, with the lower id
    /// first.
    pub fn open_flags(&self) -> impl Iterator<Item = (EventId, EntryId, EntryId)> + '_ {
        let flags = self.contradictions.iter();
        // Flags written by other builds may name the pair in either order.
        let pairs = flags.map(|(flag, (a, b))| (*flag, *a.min(b), *a.max(b)));
        pairs.filter(|(_, first, second)| {
            let pair = (*first, *second, PairKind::Contradiction);
            !self.dismissed.contains(&pair)
        })
    }

    /// Returns the flagged, unresolved contradictions of each entry, in both directions.
    pub fn open_contradictions(&self) -> BTreeMap<EntryId, BTreeSet<EntryId>> {
        let mut open: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
        for (_, one, other) in self.open_flags() {
            open.entry(one).or_default().insert(other);
            // Both directions, because a search may return either entry.
            open.entry(other).or_default().insert(one);
        }
        open
    }

    /// Returns the setting of the workspace under `key`.
    pub fn config(&self, key: &str) -> Option<&WorkspaceSetting> {
        self.settings.get(&format!("config/{key}"))
    }

    /// Returns a person's decision about a host: its own, or else that of the closest domain above
    /// it. A decision that was reset counts as none.
    pub fn domain_override(&self, host: &str) -> Option<DomainAction> {
        let mut domain = host;
        loop {
            let own = self.settings.get(&domain_key(domain));
            match own.and_then(|it| DomainAction::deserialize(&it.value).ok()) {
                Some(action @ (DomainAction::Trust | DomainAction::Distrust)) => {
                    return Some(action);
                }
                Some(DomainAction::Reset) | None => domain = domain.split_once('.')?.1,
            }
        }
    }

    /// Returns the decisions of people about domains, without those that were reset.
    pub fn domain_overrides(&self) -> impl Iterator<Item = (&str, DomainAction)> {
        self.settings.iter().filter_map(|(key, setting)| {
            let domain = key.strip_prefix(DOMAIN_PREFIX)?;
            let action = DomainAction::deserialize(&setting.value).ok()?;
            (action != DomainAction::Reset).then_some((domain, action))
        })
    }

    /// Returns what was learned about fetching from a host, and when.
    pub fn fetch_strategy(&self, host: &str) -> Option<LearnedStrategy> {
        let setting = self.settings.get(&strategy_key(host))?;
        learned_strategy(setting)
    }

    /// Returns what was learned about each host.
    pub fn fetch_strategies(&self) -> impl Iterator<Item = (&str, LearnedStrategy)> {
        self.settings.iter().filter_map(|(key, setting)| {
            let host = key.strip_prefix(STRATEGY_PREFIX)?;
            Some((host, learned_strategy(setting)?))
        })
    }

    /// Returns the setting under `key` as `T`, if this build can deserialize it.
    pub fn configured<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let own = self.config(key)?;
        T::deserialize(&own.value).ok()
    }
}

/// Prefixes that keep the three kinds of settings apart in one map.
const DOMAIN_PREFIX: &str = "domain/";
const STRATEGY_PREFIX: &str = "strategy/";

/// The form in which a host's pages gave passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchStrategy {
    Markdown,
    Html,
    /// No page gave a passage, so the host is not asked for a while.
    Nothing,
}

/// A strategy and the day it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedStrategy {
    pub strategy: FetchStrategy,
    pub since: Timestamp,
}

impl FetchStrategy {
    /// Returns the name used in the ledger, text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Nothing => "nothing",
        }
    }
}

pub(crate) fn domain_key(domain: &str) -> String {
    format!("{DOMAIN_PREFIX}{domain}")
}

pub(crate) fn strategy_key(domain: &str) -> String {
    format!("{STRATEGY_PREFIX}{domain}")
}

/// Returns the strategy of a setting; `None` if a newer build wrote one that this build does not
/// know.
fn learned_strategy(setting: &WorkspaceSetting) -> Option<LearnedStrategy> {
    Some(LearnedStrategy {
        strategy: FetchStrategy::deserialize(&setting.value).ok()?,
        // Ids carry the wall time of their event.
        since: setting.heads.iter().max()?.timestamp(),
    })
}

/// A write: the event, the value, and the events it is based on.
type SettingWrite<'a, T> = (&'a Event, T, &'a [EventId]);

/// Returns whether the workspace state depends on `event`.
pub fn concerns_workspace(event: &Event) -> bool {
    // Must list every type that `fold_workspace` and `setting_write` read; others never reach the
    // fold.
    // A restoration about a single entry undoes no decision about a pair.
    let restores_pair =
        matches!(event.body, EventBody::Restored(_)) && event.entries().nth(1).is_some();
    restores_pair
        || matches!(
            event.body,
            EventBody::ConfigChanged(_)
                | EventBody::DomainStrategyChanged(_)
                | EventBody::DomainOverridden(_)
                | EventBody::OriginRevoked(_)
                | EventBody::PairDismissed(_)
                | EventBody::ContradictionFlagged(_)
                | EventBody::ContradictionResolved(_)
                | EventBody::PeerTrustChanged(_)
                | EventBody::Unknown { .. }
        )
}

/// Folds the events about the workspace; others are ignored.
pub fn fold_workspace<'a>(events: impl IntoIterator<Item = &'a Event>) -> WorkspaceState {
    // Sorted and deduplicated, so the fold does not depend on the order of arrival.
    let ordered: BTreeMap<EventOrder, &Event> = events
        .into_iter()
        .filter(|event| concerns_workspace(event))
        .map(|event| (event.order(), event))
        .collect();
    let mut state = WorkspaceState {
        settings: fold_settings(&ordered),
        ..WorkspaceState::default()
    };
    let mut revoked: BTreeMap<&ContributionSource, Vec<SettingWrite<'_, Switch>>> = BTreeMap::new();
    let mut resolved = BTreeSet::new();
    let restorations: Vec<(&Event, &Restored)> = ordered
        .values()
        .filter_map(|event| Some((*event, event.get()?)))
        .collect();
    for event in ordered.values() {
        if let Some(data) = event.get::<OriginRevoked>() {
            revoked
                .entry(&data.source)
                .or_default()
                .push((event, data.state, &data.replaces));
        } else if let Some(pair) = pair_of(event)
            && is_restored(event, pair, &restorations)
        {
            // An undone decision has no effect.
        } else if let Some(data) = event.get::<PairDismissed>() {
            // Ordered, because a writer may name the pair in either order.
            let (a, b) = (data.first.min(data.second), data.first.max(data.second));
            state.dismissed.insert((a, b, data.as_what));
        } else if let Some(data) = event.get::<ContradictionFlagged>() {
            state
                .contradictions
                .insert(event.id, (data.first, data.second));
        } else if let Some(data) = event.get::<ContradictionResolved>() {
            // Applied after the loop: a resolution may sort before the flag it names.
            resolved.extend(data.flags.iter().copied());
        } else if let Some(data) = event.get::<PeerTrustChanged>() {
            let tally = state.peers.entry(data.peer.clone()).or_default();
            // Integer additions commute, so trust needs no causal resolution.
            tally.alpha_milli += u64::from(data.alpha_milli);
            tally.beta_milli += u64::from(data.beta_milli);
        } else if let EventBody::Unknown { type_name } = &event.body {
            *state.unknown.entry(type_name.clone()).or_default() += 1;
        }
    }
    state
        .contradictions
        .retain(|flag, _| !resolved.contains(flag));
    state.revoked = revoked
        .into_iter()
        .filter(|(_, writes)| winning_value(writes.iter().copied()) == Some(Switch::On))
        .map(|(source, _)| source.clone())
        .collect();
    state
}

/// Returns the entries of a decision about a pair.
fn pair_of(event: &Event) -> Option<[EntryId; 2]> {
    let dismissed = event.get::<PairDismissed>();
    let flagged = event.get::<ContradictionFlagged>();
    let resolved = event.get::<ContradictionResolved>();
    let dismissed = dismissed.map(|it| [it.first, it.second]);
    let flagged = flagged.map(|it| [it.first, it.second]);
    dismissed
        .or(flagged)
        .or(resolved.map(|it| [it.first, it.second]))
}

/// Returns whether a restoration undoes `event`, a decision about the pair.
///
/// It must be about both entries, because its subjects decide who may write it.
fn is_restored(event: &Event, pair: [EntryId; 2], restorations: &[(&Event, &Restored)]) -> bool {
    restorations.iter().any(|(by, restored)| {
        restored.undoes.contains(&event.id)
            && pair.iter().all(|id| by.entries().any(|about| about == *id))
    })
}

fn fold_settings(events: &BTreeMap<EventOrder, &Event>) -> BTreeMap<String, WorkspaceSetting> {
    let mut writes: BTreeMap<String, Vec<SettingWrite<'_, Value>>> = BTreeMap::new();
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
            let heads = causal_graph(writes.iter().map(|(e, _, r)| (*e, *r))).heads();
            let value = winning_value(writes.into_iter())?;
            Some((key, WorkspaceSetting { value, heads }))
        })
        .collect()
}

/// Returns the key, value and replaced events if `event` sets a value.
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
        return Some((strategy_key(&data.domain), value, &data.replaces));
    }
    let data = event.get::<DomainOverridden>()?;
    let value = serde_json::to_value(data.action).expect("a word");
    Some((domain_key(&data.domain), value, &data.replaces))
}

/// Returns the winning value among writes to one key.
fn winning_value<'a, T>(writes: impl Iterator<Item = SettingWrite<'a, T>>) -> Option<T> {
    let mut writes: Vec<_> = writes.collect();
    let causal = causal_graph(
        writes
            .iter()
            .map(|(event, _, replaces)| (*event, *replaces)),
    );
    let winner = causal.winner_among(&causal.heads())?;
    let index = writes.iter().position(|(event, _, _)| event.id == winner)?;
    // Moves the value out instead of cloning it.
    Some(writes.swap_remove(index).1)
}

fn causal_graph<'a>(writes: impl Iterator<Item = (&'a Event, &'a [EventId])>) -> CausalGraph<'a> {
    let mut causal = CausalGraph::default();
    for (event, replaces) in writes {
        causal.add(event.order(), replaces);
    }
    causal
}
