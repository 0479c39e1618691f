//! An index brought up to date step by step equals one built from nothing, and the fold.

use std::cell::Cell;
use std::collections::BTreeSet;

use ken_core::event::Recorded;
use ken_core::store::Store;
use ken_index::{Appended, Index};
use ken_testkit::any_event::{History, STEPS_LIGHT, any_histories};
use ken_testkit::laws::{self, Share};
use proptest::prelude::*;

use crate::branch::Branch;

/// One change of the segments.
#[derive(Clone, Debug)]
enum Step {
    /// Some copies appear in a segment, which may be new.
    Append {
        segment: u8,
        take: usize,
    },
    /// The same by a writer, who tells the index what it appended.
    Write {
        segment: u8,
        take: usize,
    },
    /// A segment is replaced by other copies.
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
    /// Everything moves into one segment.
    Pack,
    /// The machine learns which ids are blanked, or forgets them.
    Remember,
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let segment = 0..4_u8;
    let step = prop_oneof![
        3 => (segment.clone(), 1..12_usize).prop_map(|(segment, take)| Step::Append { segment, take }),
        2 => (segment.clone(), 1..6_usize).prop_map(|(segment, take)| Step::Write { segment, take }),
        2 => (segment.clone(), any::<usize>(), 0..12_usize)
            .prop_map(|(segment, from, take)| Step::Replace { segment, from, take }),
        1 => segment.clone().prop_map(|segment| Step::Remove { segment }),
        1 => segment.prop_map(|segment| Step::Touch { segment }),
        1 => Just(Step::Pack),
        1 => Just(Step::Remember),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..8)
}

/// A branch that takes copies from a history.
struct Player<'a> {
    history: &'a History,
    copies: Vec<Recorded>,
    branch: Branch,
}

impl Player<'_> {
    fn next(&mut self, take: usize) -> Vec<Recorded> {
        let at = self.copies.len().saturating_sub(take);
        self.copies.split_off(at)
    }

    /// Appends some copies to a segment; returns what its writer would tell.
    fn append(&mut self, name: &str, take: usize) -> Appended {
        let events = self.next(take);
        let file = self.branch.files.get(name);
        let before = file.map_or(0, |file| file.text.len());
        if file.is_some() {
            self.branch.append(name, &events);
        } else {
            self.branch.put(name, &events);
        }
        let stat = self.branch.listing().into_iter().find(|it| it.name == name);
        Appended {
            stat: stat.unwrap(),
            before: before as u64,
            text: self.branch.files[name].text[before..].to_vec(),
            events,
        }
    }

    /// Changes the segments; returns what a writer tells the index of it.
    fn play(&mut self, step: &Step) -> Option<Appended> {
        match step {
            Step::Append { segment, take } => {
                self.append(&segment.to_string(), *take);
            }
            Step::Write { segment, take } => {
                return Some(self.append(&segment.to_string(), *take));
            }
            Step::Replace {
                segment,
                from,
                take,
            } => {
                let all = &self.history.copies;
                let from = from % all.len().max(1);
                let copies = all.iter().skip(from).take(*take).cloned();
                let copies: Vec<Recorded> = copies.collect();
                self.branch.put(&segment.to_string(), &copies);
            }
            Step::Remove { segment } => {
                self.branch.files.remove(&segment.to_string());
            }
            Step::Touch { segment } => {
                if self.branch.files.contains_key(&segment.to_string()) {
                    self.branch.touch(&segment.to_string());
                }
            }
            Step::Pack => {
                let files = std::mem::take(&mut self.branch.files);
                let text: Vec<u8> = files.into_values().flat_map(|file| file.text).collect();
                self.branch.put_text("pack", &text);
            }
            Step::Remember => self.branch.blanked.clone_from(&self.history.remembered),
            Step::Forget => self.branch.blanked.clear(),
        }
        None
    }
}

thread_local! {
    /// The index of the history before, unless that failed: a case that fails starts from nothing
    /// when it is tried again.
    static USED: Cell<Option<Index>> = const { Cell::new(None) };
}

/// Returns an index that has seen other histories and shall have forgotten them.
fn emptied() -> Index {
    let used = USED.take();
    let mut index = used.unwrap_or_else(|| Index::open_in_memory().unwrap());
    let nothing = Branch::default();
    nothing.refresh(&mut index).unwrap();
    assert_eq!(index.state().unwrap(), nothing.folded());
    index
}

fn check(history: &History, seed: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut index = emptied();
    let mut player = Player {
        history,
        copies: laws::deliveries(history, seed),
        branch: Branch::default(),
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
    #![proptest_config(laws::config(Share::percent(25), "tests/incremental.regressions"))]

    #[test]
    fn incremental_equals_rebuild_1(history in any_histories(STEPS_LIGHT), seed: u64, steps in steps()) {
        check(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_2(history in any_histories(STEPS_LIGHT), seed: u64, steps in steps()) {
        check(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_3(history in any_histories(STEPS_LIGHT), seed: u64, steps in steps()) {
        check(&history, seed, &steps)?;
    }

    #[test]
    fn incremental_equals_rebuild_4(history in any_histories(STEPS_LIGHT), seed: u64, steps in steps()) {
        check(&history, seed, &steps)?;
    }
}
