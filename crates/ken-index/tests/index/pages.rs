//! Pages visit every entry of a list once, in order, in both directions; facets count them.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EventData as _, RunEffects};
use ken_core::ledger::page::{EntrySort, PageFilter, PageQuery, PageStart};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, EventDelta, LifecycleFilter};
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;
use ken_core::values::time::Date;
use ken_index::Index;
use ken_testkit::any_event::{STEPS, WriterStyle, generate_history};
use proptest::prelude::*;

/// Histories per index; each has up to three entries.
const HISTORIES: u64 = 8;

fn filled_index(seed: u64) -> Index {
    let mut index = Index::open_in_memory().unwrap();
    for history in 0..HISTORIES {
        let mix = |n: u64| {
            (seed.wrapping_mul(HISTORIES).wrapping_add(history) << 20 | n)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let numbers: Vec<u64> = (0..STEPS as u64).map(mix).collect();
        let written = generate_history(WriterStyle::Honest, &numbers);
        let delta = EventDelta {
            added: &written.copies,
            ..EventDelta::default()
        };
        index.apply(delta).unwrap();
    }
    index
}

fn filter(lifecycle: LifecycleFilter) -> PageFilter {
    PageFilter {
        entries: EntryFilter {
            lifecycle,
            ..EntryFilter::default()
        },
        ..PageFilter::default()
    }
}

/// Returns the ids on all pages, following `after` or `before`.
fn walk(index: &mut Index, query: &PageQuery) -> Vec<EntryId> {
    let is_backward = matches!(query.start, PageStart::Before(_));
    let (mut query, mut found) = (query.clone(), Vec::new());
    loop {
        let page = index.page(&query).unwrap();
        assert!(page.entries.len() <= query.limit);
        let ids = page.entries.iter().map(|it| it.id);
        if is_backward {
            found.extend(ids.rev());
        } else {
            found.extend(ids);
        }
        let next = if is_backward { page.before } else { page.after };
        let Some(next) = next else { return found };
        // The text form is what an address carries.
        let next = next.to_string().parse().unwrap();
        query.start = if is_backward {
            PageStart::Before(next)
        } else {
            PageStart::After(next)
        };
    }
}

fn sort_key(sort: EntrySort, entry: &Entry, today: Date) -> (u128, String) {
    let key = match sort {
        EntrySort::Newest => entry.created.as_ref().map_or(0, |it| {
            u128::from(it.at.wall.millis()) << 16 | u128::from(it.at.counter)
        }),
        EntrySort::Confirmed => {
            let last = entry.confirmation.last;
            last.map_or(0, |it| u128::from(it.start().millis()))
        }
        EntrySort::Trust => {
            let mean = entry.posterior(Validity::default(), today).mean();
            (mean * 1_000_000.0).round() as u128
        }
        EntrySort::Shown => u128::from(entry.tallies.shown),
        EntrySort::Silent => u128::from(entry.exposures_since_confirmation().blind),
    };
    (key, entry.id.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pages_visit_every_entry_once_in_order(seed in any::<u32>(), limit in 1..6_usize, days in 0..900_u32) {
        let mut index = filled_index(u64::from(seed));
        let today: Date = "2028-06-01".parse().unwrap();
        let today = today.minus_days(days);
        for lifecycle in [LifecycleFilter::Live, LifecycleFilter::All] {
            let filter = filter(lifecycle);
            let listed = index.list(&filter.entries).unwrap();
            for sort in EntrySort::ALL {
                let mut query = PageQuery { filter: filter.clone(), sort, limit, today, ..PageQuery::default() };
                let visited = walk(&mut index, &query);
                let mut wanted: Vec<&Entry> = listed.iter().collect();
                wanted.sort_by_key(|it| std::cmp::Reverse(sort_key(sort, it, today)));
                // Entries of one clock reading are ordered by the node of its author.
                if sort == EntrySort::Newest {
                    let ids: Vec<EntryId> = listed.iter().map(|it| it.id).collect();
                    prop_assert_eq!(&visited, &ids);
                } else {
                    let ids: Vec<EntryId> = wanted.iter().map(|it| it.id).collect();
                    prop_assert_eq!(&visited, &ids, "{:?}", sort);
                }
                query.limit = 1;
                if let Some(last) = last_cursor(&mut index, &query) {
                    query.limit = limit;
                    query.start = PageStart::Before(last);
                    let mut backward = walk(&mut index, &query);
                    backward.reverse();
                    prop_assert_eq!(&backward[..], &visited[..visited.len() - 1], "{:?}", sort);
                }
            }
            let counts = index.facet_counts(&filter).unwrap();
            prop_assert_eq!(counts.total as usize, listed.len());
            let sum = |counts: &[ken_core::ledger::page::FacetCount]| -> usize {
                counts.iter().map(|it| it.entries as usize).sum()
            };
            prop_assert_eq!(sum(&counts.statuses), listed.len());
            for kind in &counts.kinds {
                let kind_name = kind.value.as_str();
                let found = listed.iter().filter(|it| it.kind().is_some_and(|it| it.name() == kind_name));
                prop_assert_eq!(found.count(), kind.entries as usize);
            }
        }
        let live = index.facet_counts(&PageFilter::default()).unwrap();
        prop_assert_eq!(index.status_counts().unwrap(), live.statuses);
    }
}

/// Returns a cursor at the last entry of a list, if it has more than one.
fn last_cursor(index: &mut Index, query: &PageQuery) -> Option<ken_core::ledger::page::PageCursor> {
    let mut query = query.clone();
    let mut last = None;
    loop {
        let page = index.page(&query).unwrap();
        match page.after {
            Some(after) => query.start = PageStart::After(after),
            // The last page begins with the last entry, because pages have one entry.
            None => {
                last = page.before.or(last);
                return last;
            }
        }
    }
}

#[test]
fn author_origin_and_path_select_entries() {
    let checked: usize = (0..8).map(check_selections).sum();
    assert!(checked > 0, "no entry has an anchor");
}

/// Selects the entries of a random index by author, origin and path of each; returns the number of
/// entries with a path.
fn check_selections(seed: u64) -> usize {
    let mut index = filled_index(seed);
    let all = index.list(&filter(LifecycleFilter::Live).entries).unwrap();
    let mut checked = 0;
    for entry in &all {
        let Some(created) = &entry.created else {
            continue;
        };
        let anchors = &entry.content.as_ref().unwrap().anchors;
        let path = anchors.first().map(|it| it.at.path().to_owned());
        let wanted = PageFilter {
            author: Some(created.by.clone()),
            origin: Some(created.origin),
            path: path.clone(),
            ..filter(LifecycleFilter::Live)
        };
        let query = PageQuery {
            filter: wanted.clone(),
            limit: 100,
            ..PageQuery::default()
        };
        let found: Vec<EntryId> = walk(&mut index, &query);
        assert!(found.contains(&entry.id), "{wanted:?}");
        let fits = |other: &&Entry| {
            let origin = other.created.as_ref();
            let anchors = &other.content.as_ref().unwrap().anchors;
            let below = |at: &str, path: &str| {
                at.strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let is_there = |path: &String| anchors.iter().any(|it| below(it.at.path(), path));
            origin.is_some_and(|it| it.by == created.by && it.origin == created.origin)
                && path.as_ref().is_none_or(is_there)
        };
        assert_eq!(found.len(), all.iter().filter(fits).count(), "{wanted:?}");
        checked += usize::from(path.is_some());
    }
    checked
}

#[test]
fn a_cursor_of_another_order_is_no_error() {
    let mut index = filled_index(3);
    for key in [
        "",
        "0",
        "ff",
        "00000000000000000000000000000000",
        "99999999999999999999",
    ] {
        for sort in EntrySort::ALL {
            let cursor = format!("{key}.L-00000000").parse().unwrap();
            let query = PageQuery {
                sort,
                start: PageStart::After(cursor),
                limit: 10,
                ..PageQuery::default()
            };
            assert!(index.page(&query).is_ok(), "{key} {sort:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The index of quarantined entries has exactly the entries of the list that are quarantined.
    #[test]
    fn quarantined_entries_are_those_of_the_list(seed in any::<u64>()) {
        let index = filled_index(seed);
        let all = index.list(&filter(LifecycleFilter::All).entries).unwrap();
        let listed: Vec<Entry> = all.into_iter().filter(|it| !it.quarantine.is_empty()).collect();
        prop_assert_eq!(index.quarantined().unwrap(), listed);
    }

    /// The index of events about runs has exactly the events of each type.
    #[test]
    fn events_of_runs_are_those_of_the_ledger(seed in any::<u64>()) {
        let index = filled_index(seed);
        let mut effects = Vec::new();
        index
            .for_each_event(&mut |event| {
                if event.body.type_name() == RunEffects::TYPE {
                    effects.push(event.id);
                }
            })
            .unwrap();
        let found = index.of_type::<RunEffects>().unwrap();
        let found: Vec<_> = found.iter().map(|it| it.event.id).collect();
        prop_assert_eq!(found, effects);
    }
}

#[test]
fn histories_have_quarantined_entries_and_events_of_runs() {
    let indexes: Vec<Index> = (0..8).map(filled_index).collect();
    assert!(
        indexes
            .iter()
            .any(|it| !it.quarantined().unwrap().is_empty())
    );
    assert!(
        indexes
            .iter()
            .any(|it| !it.of_type::<RunEffects>().unwrap().is_empty())
    );
}
