//! Learned strategies: in which form the pages of a host gave passages, or that they gave none.
//!
//! What a question showed is kept in this clone and becomes an event with the next proposal, and
//! only if it differs from what the ledger says: a reading list writes nothing.

use std::collections::BTreeMap;

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::ledger::workspace::FetchStrategy;
#[cfg(any(test, feature = "http"))]
use ken_core::ledger::workspace::{LearnedStrategy, WorkspaceState};
use ken_core::values::actor::Actor;
#[cfg(any(test, feature = "http"))]
use ken_core::values::time::DAY_MS;
use ken_core::values::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{self, ForageState};
use crate::engine::Engine;
use crate::error::EngineError;

/// Pages in a row without a passage after which a host is not asked for a while.
const FRUITLESS_PAGES: u32 = 3;
/// Days after which such a host is asked again.
#[cfg(any(test, feature = "http"))]
const PAUSE_DAYS: u64 = 30;
/// Maximum number of hosts that are remembered.
const HOSTS_MAX: usize = 200;

/// What was seen of a host since the ledger was last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HostLesson {
    /// Pages in a row without a passage.
    fruitless: u32,
    /// What follows, and since when.
    strategy: Option<FetchStrategy>,
    since: Timestamp,
}

/// Pages of one host that were read for a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostPages {
    pub(super) pages: u32,
    /// The form of a page that gave a passage.
    pub(super) useful: Option<FetchStrategy>,
}

/// Returns what is known of a host: in this clone, or else in the ledger.
#[cfg(any(test, feature = "http"))]
pub(super) fn known_strategy(
    workspace: &WorkspaceState,
    state: &ForageState,
    host: &str,
) -> Option<LearnedStrategy> {
    let recorded = workspace.fetch_strategy(host);
    let own = state.hosts.get(host).and_then(|it| {
        let (strategy, since) = (it.strategy?, it.since);
        Some(LearnedStrategy { strategy, since })
    });
    // The newer one: another clone may have learned something in the meantime.
    [recorded, own]
        .into_iter()
        .flatten()
        .max_by_key(|it| it.since)
}

/// Returns whether a host gave nothing recently.
#[cfg(any(test, feature = "http"))]
pub(super) fn is_paused(known: Option<LearnedStrategy>, now: Timestamp) -> bool {
    known.is_some_and(|it| {
        it.strategy == FetchStrategy::Nothing && now < it.since.plus_millis(PAUSE_DAYS * DAY_MS)
    })
}

/// Notes what a question showed of each host.
pub(super) fn note_pages(
    state: &mut ForageState,
    seen: &BTreeMap<String, HostPages>,
    now: Timestamp,
) {
    for (host, seen) in seen {
        if !state.hosts.contains_key(host) && state.hosts.len() >= HOSTS_MAX {
            let oldest = state.hosts.iter().min_by_key(|(_, it)| it.since);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                state.hosts.remove(&name);
            }
        }
        let lesson = state.hosts.entry(host.clone()).or_default();
        match seen.useful {
            Some(strategy) => {
                *lesson = HostLesson {
                    fruitless: 0,
                    strategy: Some(strategy),
                    since: now,
                }
            }
            None if seen.pages > 0 => {
                lesson.fruitless = lesson.fruitless.saturating_add(seen.pages);
                if lesson.fruitless >= FRUITLESS_PAGES {
                    // The count starts again, so that a host gets three pages after each pause.
                    *lesson = HostLesson {
                        fruitless: 0,
                        strategy: Some(FetchStrategy::Nothing),
                        since: now,
                    };
                }
            }
            None => {}
        }
    }
}

/// Records what was learned as events, if it differs from the ledger.
pub(super) fn record_strategies(engine: &mut Engine, by: &Actor) -> Result<(), EngineError> {
    let state = state::load(engine)?;
    let workspace = engine.index.workspace()?;
    let mut drafts: Vec<Draft> = Vec::new();
    for (host, lesson) in &state.hosts {
        let Some(strategy) = lesson.strategy else {
            continue;
        };
        // The ledger was told later than this clone learned it.
        let recorded = workspace.fetch_strategy(host);
        if recorded.is_some_and(|it| it.since >= lesson.since) {
            continue;
        }
        match decide::learn_strategy(&workspace, host, strategy) {
            Ok(draft) => drafts.push(draft),
            Err(Refusal::NothingChanges) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    if drafts.is_empty() {
        return Ok(());
    }
    engine.record(drafts, by)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u64) -> Timestamp {
        Timestamp::from_millis(day * DAY_MS)
    }

    fn note(state: &mut ForageState, pages: u32, useful: Option<FetchStrategy>, at: u64) {
        let seen = BTreeMap::from([("a.org".to_owned(), HostPages { pages, useful })]);
        note_pages(state, &seen, day(at));
    }

    #[test]
    fn three_pages_without_a_passage_pause_a_host_for_thirty_days() {
        let mut state = ForageState::default();
        let workspace = WorkspaceState::default();
        let paused = |state: &ForageState, at| {
            is_paused(known_strategy(&workspace, state, "a.org"), day(at))
        };
        note(&mut state, 2, None, 1);
        assert!(!paused(&state, 1));
        // A passage in between starts the count again.
        note(&mut state, 1, Some(FetchStrategy::Html), 2);
        note(&mut state, 2, None, 3);
        assert!(!paused(&state, 3));
        note(&mut state, 1, None, 4);
        assert!(paused(&state, 4) && paused(&state, 33));
        assert!(!paused(&state, 34), "tried again");
        note(&mut state, 2, None, 40);
        assert!(!paused(&state, 40));
        note(&mut state, 1, None, 41);
        assert!(paused(&state, 70) && !paused(&state, 71));
    }

    #[test]
    fn a_host_that_was_not_read_teaches_nothing() {
        let mut state = ForageState::default();
        for at in 0..9 {
            note(&mut state, 0, None, at);
        }
        let workspace = WorkspaceState::default();
        assert_eq!(known_strategy(&workspace, &state, "a.org"), None);
    }
}
