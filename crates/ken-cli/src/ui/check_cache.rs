//! Results that need every entry, kept between requests.
//!
//! The check of all entries against the code is repeated after [`CHECK_MAX_AGE`]. If it takes
//! long, the page shows the last result and a check in the background follows, less often the
//! longer it takes. Comparisons and overviews hold until the ledger changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ken_core::values::id::EntryId;
use ken_core::values::time::{Date, Timestamp};
use ken_engine::Engine;
use ken_engine::contradictions::Contradiction;
use ken_engine::duplicates::LISTED_MAX;
use ken_engine::live::LiveState;
use ken_engine::validity::EntryCheck;
use ken_ui::address::InboxLane;
use ken_ui::view::{HealthView, ImpactView, InboxItem, PeopleView};

use super::{entries, health, runs};
use crate::failure::CommandFailure;

/// Minimum time after which the code is checked again.
const CHECK_MAX_AGE: Duration = Duration::from_secs(2);

/// Minimum time between two checks, as a multiple of the time of the first: checks in the
/// background use at most a fifth of a core, whatever the number of entries.
const CHECK_PAUSE: u32 = 4;

/// Time of a check for which a page waits.
const CHECK_WAIT: Duration = Duration::from_millis(40);

/// The last checks of all entries, shared by the threads that show, compare and decide.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckCache(Arc<Mutex<CachedChecks>>);

#[derive(Debug, Default)]
struct CachedChecks {
    /// Time of the last check of the code.
    at: Option<Timestamp>,
    /// End and duration of that check.
    ended: Option<Instant>,
    took: Duration,
    /// Shared with the pages that show it: there may be thousands.
    invalid: Arc<Vec<EntryCheck>>,
    compared: Option<ComparedLanes>,
    /// Number of comparisons and background checks so far, so that live pages learn about one.
    comparisons: u64,
    /// Number of decisions so far: a check that began before one must not bring its item back.
    decisions: u64,
    /// Number of items of the whole inbox, as of its last page.
    pending: Option<u64>,
    health: Option<CachedView<HealthView>>,
    impact: Option<CachedView<ImpactView>>,
    people: Option<CachedView<PeopleView>>,
}

/// An overview, as of one state of the ledger and one day.
#[derive(Clone, Debug)]
struct CachedView<T> {
    state: LiveState,
    on: Date,
    view: T,
}

/// The lanes that compare all entries with each other, as of one state of the ledger.
#[derive(Clone, Debug)]
struct ComparedLanes {
    state: LiveState,
    lanes: BTreeMap<InboxLane, LaneItems>,
    /// The first contradictions, for the JSON of the inbox.
    contradictions: Vec<Contradiction>,
}

/// The first items of a lane, and the number of all.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneItems {
    pub(super) items: Vec<InboxItem>,
    pub(super) total: u64,
}

/// Returns the age at which a check that took this long is repeated.
fn max_age(took: Duration) -> Duration {
    CHECK_MAX_AGE.max(took * CHECK_PAUSE)
}

impl CachedChecks {
    fn is_old(&self) -> bool {
        let age = max_age(self.took);
        self.ended.is_none_or(|it| it.elapsed() >= age)
    }
}

impl CheckCache {
    fn lock(&self) -> MutexGuard<'_, CachedChecks> {
        // A panic elsewhere leaves the cache valid: its parts are replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of items as of the last look at the inbox.
    pub(super) fn pending(&self) -> Option<u64> {
        self.lock().pending
    }

    pub(super) fn set_pending(&self, pending: u64) {
        self.lock().pending = Some(pending);
    }

    /// Returns the number of comparisons and background checks so far.
    pub(super) fn comparisons(&self) -> u64 {
        self.lock().comparisons
    }

    /// Returns the anchored paths of each entry whose code changed or is gone, as of the last
    /// check; `None` before it.
    pub(super) fn invalid_paths(&self) -> Option<Vec<BTreeSet<String>>> {
        let cached = self.lock();
        cached.at?;
        let paths = |check: &EntryCheck| {
            let anchors = check.entry.content.iter().flat_map(|it| &it.anchors);
            anchors.map(|it| it.at.path().to_owned()).collect()
        };
        Some(cached.invalid.iter().map(paths).collect())
    }

    /// Returns the number of entries whose code changed or is gone; `None` before the first check.
    pub(super) fn known_invalid(&self) -> Option<u64> {
        let cached = self.lock();
        cached.at.map(|_| cached.invalid.len() as u64)
    }

    /// Forgets all checks, so that the next look at the inbox repeats them.
    pub(super) fn invalidate(&self) {
        let mut cached = self.lock();
        cached.decisions += 1;
        cached.at = None;
        cached.compared = None;
        cached.health = None;
        cached.impact = None;
        cached.people = None;
    }

    /// Returns the health page, computed again if the ledger or the day changed.
    pub(super) fn health(&self, engine: &mut Engine) -> Result<HealthView, CommandFailure> {
        self.view(engine, |it| &mut it.health, health::health)
    }

    /// Returns the impact page, computed again if the ledger or the day changed.
    pub(super) fn impact(&self, engine: &mut Engine) -> Result<ImpactView, CommandFailure> {
        self.view(engine, |it| &mut it.impact, runs::impact)
    }

    /// Returns the page of sources, computed again if the ledger or the day changed.
    pub(super) fn people(&self, engine: &mut Engine) -> Result<PeopleView, CommandFailure> {
        self.view(engine, |it| &mut it.people, entries::people)
    }

    fn view<T: Clone>(
        &self,
        engine: &mut Engine,
        slot: fn(&mut CachedChecks) -> &mut Option<CachedView<T>>,
        compute: fn(&mut Engine) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let state = engine.live_state(&BTreeSet::new())?;
        let on = engine.now().date();
        if let Some(cached) = slot(&mut self.lock())
            && cached.on == on
            && !state.changes_since(&cached.state).entries
        {
            return Ok(cached.view.clone());
        }
        let view = compute(engine)?;
        let kept = view.clone();
        *slot(&mut self.lock()) = Some(CachedView {
            state,
            on,
            view: kept,
        });
        Ok(view)
    }

    /// Removes what was decided: every item about `entry`, or the pair of `entry` and `other`.
    pub(super) fn decided(&self, entry: EntryId, other: Option<EntryId>) {
        let mut cached = self.lock();
        cached.decisions += 1;
        if other.is_none() {
            Arc::make_mut(&mut cached.invalid).retain(|it| it.entry.id != entry);
        }
        if let Some(compared) = &mut cached.compared {
            compared.contradictions.retain(|it| {
                let ids = [it.first.id, it.second.id];
                !(ids.contains(&entry) && other.is_none_or(|it| ids.contains(&it)))
            });
        }
        let lanes = cached
            .compared
            .iter_mut()
            .flat_map(|it| it.lanes.values_mut());
        for lane in lanes {
            let before = lane.items.len();
            lane.items.retain(|it| !is_about(it, entry, other));
            lane.total = lane
                .total
                .saturating_sub((before - lane.items.len()) as u64);
        }
        if let Some(pending) = &mut cached.pending {
            *pending = pending.saturating_sub(1);
        }
    }

    /// Returns whether the last check is old, and so slow that no page should wait for the next.
    pub(super) fn needs_background_check(&self) -> bool {
        let cached = self.lock();
        cached.at.is_some() && cached.took > CHECK_WAIT && cached.is_old()
    }

    /// Returns the entries whose code changed or is gone, and the time of that check.
    pub(super) fn invalid(
        &self,
        engine: &mut Engine,
    ) -> Result<(Timestamp, Arc<Vec<EntryCheck>>), CommandFailure> {
        let cached = self.lock();
        let is_kept = cached.took > CHECK_WAIT || !cached.is_old();
        if let Some(at) = cached.at.filter(|_| is_kept) {
            return Ok((at, Arc::clone(&cached.invalid)));
        }
        drop(cached);
        self.check(engine)
    }

    /// Checks all entries in the background, unless another request did meanwhile.
    pub(super) fn check_again(&self, engine: &mut Engine) -> Result<(), CommandFailure> {
        if !self.needs_background_check() {
            return Ok(());
        }
        let before = self.ids_of_invalid();
        self.check(engine)?;
        if self.ids_of_invalid() != before {
            self.lock().comparisons += 1;
        }
        Ok(())
    }

    fn ids_of_invalid(&self) -> Vec<EntryId> {
        self.lock().invalid.iter().map(|it| it.entry.id).collect()
    }

    fn check(
        &self,
        engine: &mut Engine,
    ) -> Result<(Timestamp, Arc<Vec<EntryCheck>>), CommandFailure> {
        let (now, began) = (engine.now(), Instant::now());
        let decisions = self.lock().decisions;
        let invalid = Arc::new(engine.invalid_entries()?);
        let mut cached = self.lock();
        if cached.decisions != decisions {
            return Ok((now, invalid));
        }
        cached.at = Some(now);
        cached.ended = Some(Instant::now());
        cached.took = began.elapsed();
        cached.invalid.clone_from(&invalid);
        Ok((now, invalid))
    }

    /// Returns whether there is a comparison, and whether it is of the current ledger.
    pub(super) fn comparison(&self, engine: &Engine) -> Result<(bool, bool), CommandFailure> {
        let now = engine.live_state(&BTreeSet::new())?;
        let cached = self.lock();
        let compared = cached.compared.as_ref();
        let is_current = compared.is_some_and(|it| !now.changes_since(&it.state).entries);
        Ok((compared.is_some(), is_current))
    }

    /// Keeps a comparison of the ledger at `state`.
    pub(super) fn keep(
        &self,
        state: LiveState,
        lanes: BTreeMap<InboxLane, LaneItems>,
        mut contradictions: Vec<Contradiction>,
    ) {
        contradictions.truncate(LISTED_MAX);
        let mut cached = self.lock();
        cached.compared = Some(ComparedLanes {
            state,
            lanes,
            contradictions,
        });
        cached.comparisons += 1;
    }

    /// Returns the first contradictions of the last comparison; none before the first.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let cached = self.lock();
        let compared = cached.compared.as_ref();
        compared.map_or_else(Vec::new, |it| it.contradictions.clone())
    }

    /// Returns a compared lane; `None` before the first comparison.
    pub(super) fn compared(&self, lane: InboxLane) -> Option<LaneItems> {
        let cached = self.lock();
        let lanes = &cached.compared.as_ref()?.lanes;
        Some(lanes.get(&lane).cloned().unwrap_or_default())
    }

    /// Returns the number of items of every compared lane.
    pub(super) fn compared_totals(&self) -> Vec<(InboxLane, u64)> {
        let cached = self.lock();
        let lanes = cached.compared.iter().flat_map(|it| &it.lanes);
        lanes.map(|(lane, items)| (*lane, items.total)).collect()
    }
}

/// Returns whether a decision about `entry`, or about it and `other`, settles an item.
fn is_about(item: &InboxItem, entry: EntryId, other: Option<EntryId>) -> bool {
    if let InboxItem::Versions(versions) = item {
        return other.is_none() && versions.row.entry.id == entry;
    }
    let (InboxItem::Contradiction(pair) | InboxItem::Duplicate(pair)) = item else {
        return false;
    };
    let ids = [pair.first.entry.id, pair.second.entry.id];
    ids.contains(&entry) && other.is_none_or(|it| ids.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_check_takes_the_later_it_is_repeated() {
        for (took, age) in [(0, 2_000), (500, 2_000), (1_000, 4_000), (10_000, 40_000)] {
            let found = max_age(Duration::from_millis(took));
            assert_eq!(found, Duration::from_millis(age), "{took} ms");
        }
    }
}
