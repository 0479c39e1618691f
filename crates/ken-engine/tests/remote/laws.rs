//! Properties of push and pull for any history.

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::EventSet;
use ken_engine::remote::PushSelection;
use ken_guard::{Guard, ReceiveVerdict};
use ken_testkit::any_event::{EventHistory, any_histories, honest_histories};
use ken_testkit::memory_hub::MemoryHub;
use proptest::prelude::*;

use crate::clone::RemoteTestClone;

/// Steps per history.
const STEPS: usize = 24;

fn property_config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn fold_hash(copies: &[RecordedEvent]) -> String {
    let mut set = EventSet::default();
    copies.iter().for_each(|copy| set.add(copy.clone()));
    set.fold().hash()
}

/// Returns the events of a history that a guard accepts from any sender.
fn accepted_events(history: EventHistory) -> Vec<RecordedEvent> {
    let guard = Guard::default();
    let taken = |copy: &RecordedEvent| guard.receive(copy) == ReceiveVerdict::Taken;
    history.copies.into_iter().filter(taken).collect()
}

proptest! {
    #![proptest_config(property_config(12))]

    /// After a push and a pull, another clone has the same lines and the same state.
    #[test]
    fn a_clone_that_pulls_everything_folds_to_the_same_state(history in any_histories(STEPS)) {
        let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
        one.merge_in(&accepted_events(history));
        let mut hub = MemoryHub::default();
    hub.page_max = 7;
        let pushed = one.push(&mut hub);
        prop_assert_eq!(pushed.refused, vec![]);
        let pulled = other.pull(&mut hub);
        prop_assert_eq!(pulled.unreadable, 0);
        prop_assert_eq!(&pulled.declined, &vec![]);
        prop_assert_eq!(fold_hash(&hub.events()), one.state_hash());
        prop_assert_eq!(other.state_hash(), one.state_hash());
        // Nothing is left to send.
        let before = hub.pushes.len();
        other.push(&mut hub);
        one.push(&mut hub);
        prop_assert_eq!(hub.pushes.len(), before);
        let again = other.pull(&mut hub);
        prop_assert_eq!((again.new, again.updated, again.recovered.len()), (0, 0, 0));
    }

    /// Clones that push and pull in any order, interrupted anywhere, end with the same state.
    #[test]
    fn clones_converge_however_often_they_are_cut_off(
        history in honest_histories(STEPS),
        turns in prop::collection::vec((0..3usize, any::<bool>(), 0..4usize), 0..12),
    ) {
        let clones = [RemoteTestClone::new(1), RemoteTestClone::new(2), RemoteTestClone::new(3)];
        let copies = accepted_events(history);
        let third = copies.len().div_ceil(3).max(1);
        for (clone, part) in clones.iter().zip(copies.chunks(third)) {
            clone.merge_in(part);
        }
        let mut hub = MemoryHub::default();
        hub.page_max = 5;
        for (clone, is_push, breaks_after) in turns {
            hub.breaks_after = Some(breaks_after);
            let _ = if is_push {
                clones[clone].try_push(&mut hub, PushSelection::New).map(drop)
            } else {
                clones[clone].try_pull(&mut hub).map(drop)
            };
        }
        hub.breaks_after = None;
        for _ in 0..2 {
            for clone in &clones {
                clone.pull(&mut hub);
                clone.push(&mut hub);
            }
        }
        let wanted = fold_hash(&copies);
        for clone in &clones {
            prop_assert_eq!(clone.state_hash(), wanted.clone());
        }
        let ids = hub.events().len();
        let mut unique: Vec<_> = hub.events().iter().map(|it| it.event.id).collect();
        unique.sort();
        unique.dedup();
        prop_assert_eq!(unique.len(), ids);
    }
}
