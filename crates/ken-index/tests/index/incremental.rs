//! An incrementally refreshed index equals a new one, and the fold.

use std::cell::Cell;
use std::collections::BTreeSet;

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::DerivedStore;
use ken_index::{Index, SegmentAppend};
use ken_testkit::any_event::{EventHistory, STEPS_LIGHT, any_histories};
use ken_testkit::laws::{self, CaseShare};
use proptest::prelude::*;

use crate::branch::MemoryBranch;

/// One change of the segments.
#[derive(Clone, Debug)]
enum SegmentChange {
    /// Adds copies to a segment, which may be new.
    Append {
        segment: u8,
        take: usize,
    },
    /// The same, reported to the index by the writer.
    Write {
        segment: u8,
        take: usize,
    },
    /// Replaces the copies of a segment.
    Replace {
        segment: u8,
        from: usize,
        take: usize,
    },
    Remove {
        segment: u8,
    },
    Touch {
        segment: u8,
    },
    /// Moves everything into one segment.
    Pack,
    /// The clone remembers redacted ids, or forgets them.
    RememberRedactions,
    ForgetRedactions,
}

fn any_changes() -> impl Strategy<Value = Vec<SegmentChange>> {
    let segment = 0..4_u8;
    let step = prop_oneof![
        3 => (segment.clone(), 1..12_usize).prop_map(|(segment, take)| SegmentChange::Append { segment, take }),
        2 => (segment.clone(), 1..6_usize).prop_map(|(segment, take)| SegmentChange::Write { segment, take }),
        2 => (segment.clone(), any::<usize>(), 0..12_usize)
            .prop_map(|(segment, from, take)| SegmentChange::Replace { segment, from, take }),
        1 => segment.clone().prop_map(|segment| SegmentChange::Remove { segment }),
        1 => segment.prop_map(|segment| SegmentChange::Touch { segment }),
        1 => Just(SegmentChange::Pack),
        1 => Just(SegmentChange::RememberRedactions),
        1 => Just(SegmentChange::ForgetRedactions),
    ];
    prop::collection::vec(step, 1..8)
}

/// A branch that consumes the copies of a history.
struct HistoryPlayer<'a> {
    history: &'a EventHistory,
    copies: Vec<RecordedEvent>,
    branch: MemoryBranch,
}

impl HistoryPlayer<'_> {
    fn next(&mut self, take: usize) -> Vec<RecordedEvent> {
        let at = self.copies.len().saturating_sub(take);
        self.copies.split_off(at)
    }

    /// Appends copies to a segment; returns the report of its writer.
    fn append(&mut self, name: &str, take: usize) -> SegmentAppend {
        let events = self.next(take);
        let file = self.branch.files.get(name);
        let before = file.map_or(0, |file| file.text.len());
        if file.is_some() {
            self.branch.append(name, &events);
        } else {
            self.branch.put(name, &events);
        }
        let stat = self.branch.listing().into_iter().find(|it| it.name == name);
        SegmentAppend {
            stat: stat.unwrap(),
            before: before as u64,
            text: self.branch.files[name].text[before..].to_vec(),
            events,
        }
    }

    /// Changes the segments; returns the writer's report to the index, if there is one.
    fn play(&mut self, step: &SegmentChange) -> Option<SegmentAppend> {
        match step {
            SegmentChange::Append { segment, take } => {
                self.append(&segment.to_string(), *take);
            }
            SegmentChange::Write { segment, take } => {
                return Some(self.append(&segment.to_string(), *take));
            }
            SegmentChange::Replace {
                segment,
                from,
                take,
            } => {
                let all = &self.history.copies;
                let from = from % all.len().max(1);
                let copies = all.iter().skip(from).take(*take).cloned();
                let copies: Vec<RecordedEvent> = copies.collect();
                self.branch.put(&segment.to_string(), &copies);
            }
            SegmentChange::Remove { segment } => {
                self.branch.files.remove(&segment.to_string());
            }
            SegmentChange::Touch { segment } => {
                if self.branch.files.contains_key(&segment.to_string()) {
                    self.branch.touch(&segment.to_string());
                }
            }
            SegmentChange::Pack => {
                let files = std::mem::take(&mut self.branch.files);
                let text: Vec<u8> = files.into_values().flat_map(|file| file.text).collect();
                self.branch.put_text("pack", &text);
            }
            SegmentChange::RememberRedactions => {
                self.branch.blanked.clone_from(&self.history.remembered);
            }
            SegmentChange::ForgetRedactions => self.branch.blanked.clear(),
        }
        None
    }
}

thread_local! {
    /// The index of the previous history, unless that case failed: a failing case starts with a new
    /// index when it is retried.
    static USED: Cell<Option<Index>> = const { Cell::new(None) };
}

/// Returns an index that held other histories and must have dropped them.
fn emptied_index() -> Index {
    let used = USED.take();
    let mut index = used.unwrap_or_else(|| Index::open_in_memory().unwrap());
    let nothing = MemoryBranch::default();
    nothing.refresh(&mut index).unwrap();
    assert_eq!(index.state().unwrap(), nothing.folded());
    index
}

fn check_equals_rebuild(
    history: &EventHistory,
    seed: u64,
    steps: &[SegmentChange],
) -> Result<(), TestCaseError> {
    let mut index = emptied_index();
    let mut player = HistoryPlayer {
        history,
        copies: laws::shuffle_deliveries(history, seed),
        branch: MemoryBranch::default(),
    };
    for step in steps {
        let told = player.play(step).map(|it| vec![it]);
        if let Some(appended) = told
            && index
                .append(appended, &player.branch.blanked)
                .unwrap()
                .is_some()
        {
            prop_assert_eq!(index.state().unwrap(), player.branch.folded());
        }
        player.branch.refresh(&mut index).unwrap();
        prop_assert_eq!(index.state().unwrap(), player.branch.folded());
    }
    let fresh = player.branch.check(&index);
    let held = |index: &Index| -> BTreeSet<String> {
        let ids = history.copies.iter().map(|copy| copy.event.id);
        let events = ids.filter_map(|id| index.event(id).unwrap());
        events.map(|copy| copy.line().to_owned()).collect()
    };
    prop_assert_eq!(held(&index), held(&fresh));
    USED.set(Some(index));
    Ok(())
}

proptest! {
    #![proptest_config(laws::proptest_config(CaseShare::percent(25), "tests/incremental.regressions"))]

    #[test]
    fn incremental_equals_rebuild_1(history in any_histories(STEPS_LIGHT), seed: u64, steps in any_changes()) {
        check_equals_rebuild(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_2(history in any_histories(STEPS_LIGHT), seed: u64, steps in any_changes()) {
        check_equals_rebuild(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_3(history in any_histories(STEPS_LIGHT), seed: u64, steps in any_changes()) {
        check_equals_rebuild(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_4(history in any_histories(STEPS_LIGHT), seed: u64, steps in any_changes()) {
        check_equals_rebuild(&history, seed, &steps)?;
    }
}
