//! Laws of the protocol over random worlds: edits, withdrawals, redactions, restores from backups,
//! copies through carriers, and carriers that lie.

use std::collections::BTreeSet;

use ken_core::federation::{BatchRejection, Freshness, GRACE_DAYS};
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::LedgerState;
use ken_core::values::id::EventId;
use ken_core::values::time::{DAY_MS, Timestamp};
use proptest::prelude::*;

use crate::support::{Folder, Publisher, Receiver, start};

/// Number of receivers in a world.
const RECEIVERS: usize = 3;

/// One step of a world.
#[derive(Clone, Debug)]
enum WorldStep {
    /// Sets the words of a source.
    Word(u8, u8),
    /// Stops publishing a source.
    Withdraw(u8),
    /// Redacts everything that came from a source.
    Redact(u8),
    /// Writes the folder.
    Update,
    /// Keeps a copy of the folder.
    Backup,
    /// Puts the copy back.
    Restore,
    /// A receiver reads the publisher's folder.
    Pull(usize),
    /// A receiver reads what another one passes on.
    Relay(usize, usize),
    /// A receiver reads a copy that a carrier changed.
    Lie(usize, Lie),
    Hours(u8),
}

/// What a lying carrier changes.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// Puts words into a line.
    Reword,
    /// Leaves out the orders.
    HideOrders,
    /// Serves the folder as it was before.
    OldCopy,
    /// Signs with a key of its own.
    OtherKey,
    /// Leaves out the last line of each batch.
    DropLine,
    /// Renames the number of the batches.
    Renumber,
}

fn steps() -> impl Strategy<Value = Vec<WorldStep>> {
    let lie = prop_oneof![
        Just(Lie::Reword),
        Just(Lie::HideOrders),
        Just(Lie::OldCopy),
        Just(Lie::OtherKey),
        Just(Lie::DropLine),
        Just(Lie::Renumber),
    ];
    let step = prop_oneof![
        5 => (0..6u8, 0..4u8).prop_map(|(source, text)| WorldStep::Word(source, text)),
        2 => (0..6u8).prop_map(WorldStep::Withdraw),
        2 => (0..6u8).prop_map(WorldStep::Redact),
        5 => Just(WorldStep::Update),
        1 => Just(WorldStep::Backup),
        1 => Just(WorldStep::Restore),
        4 => (0..RECEIVERS).prop_map(WorldStep::Pull),
        3 => (0..RECEIVERS, 0..RECEIVERS).prop_map(|(to, from)| WorldStep::Relay(to, from)),
        3 => (0..RECEIVERS, lie).prop_map(|(to, lie)| WorldStep::Lie(to, lie)),
        1 => (1..48u8).prop_map(WorldStep::Hours),
    ];
    prop::collection::vec(step, 1..60)
}

/// A finished world.
#[derive(Debug)]
struct World {
    publisher: Publisher,
    receivers: Vec<Receiver>,
    now: Timestamp,
    /// Lines that were ordered to be redacted, with their words.
    ordered: BTreeSet<EventId>,
}

fn apply_lie(folder: &Folder, old: &Folder, lie: Lie) -> Folder {
    let mut copy = folder.clone();
    for batch in copy.batches.values_mut() {
        match lie {
            Lie::Reword => {
                for line in &mut batch.lines {
                    *line = line.replace("Lesson", "Evil");
                }
            }
            Lie::OtherKey => batch.signature = crate::support::sign(99, &batch.manifest.bytes()),
            Lie::DropLine => {
                batch.lines.pop();
            }
            Lie::Renumber => batch.manifest.number += 1,
            Lie::HideOrders | Lie::OldCopy => {}
        }
    }
    match lie {
        Lie::HideOrders => copy.orders.clear(),
        Lie::OldCopy => return old.clone(),
        Lie::Reword | Lie::OtherKey | Lie::DropLine | Lie::Renumber => {}
    }
    copy
}

fn run(steps: &[WorldStep]) -> World {
    let mut publisher = Publisher::new(7);
    let mut receivers = vec![Receiver::new(&publisher); RECEIVERS];
    let (mut now, mut backup, mut earlier) = (start(), Folder::default(), Folder::default());
    for step in steps {
        now = now.plus_millis(1_000);
        match step {
            WorldStep::Word(source, text) => {
                let words = format!("Lesson {source} in wording {text}");
                publisher.words.insert(*source, words);
            }
            WorldStep::Withdraw(source) => {
                publisher.words.remove(source);
            }
            WorldStep::Redact(source) => publisher.redact(*source),
            WorldStep::Update => {
                earlier = publisher.folder.clone();
                publisher.update(now);
            }
            WorldStep::Backup => backup = publisher.folder.clone(),
            WorldStep::Restore => publisher.folder = backup.clone(),
            WorldStep::Pull(to) => {
                let _ = receivers[*to].pull(&publisher.folder, now);
            }
            WorldStep::Relay(to, from) => {
                let folder = receivers[*from].folder.clone();
                let _ = receivers[*to].pull(&folder, now);
            }
            WorldStep::Lie(to, lie) => {
                let folder = apply_lie(&publisher.folder, &earlier, *lie);
                let _ = receivers[*to].pull(&folder, now);
            }
            WorldStep::Hours(hours) => now = now.plus_millis(u64::from(*hours) * 3_600_000),
        }
        for receiver in &receivers {
            assert!(
                receiver.replica.fork.is_none(),
                "an honest publisher forked"
            );
        }
    }
    // Everything is written and everybody reads: the world becomes quiet.
    now = now.plus_millis(1_000);
    publisher.update(now);
    for receiver in &mut receivers {
        now = now.plus_millis(1_000);
        assert_eq!(receiver.pull(&publisher.folder, now), None);
    }
    let ordered = publisher.log(now).redacted().clone();
    World {
        publisher,
        receivers,
        now,
        ordered,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// L1: everybody who can read the folder holds the same manifests and shows the same words.
    #[test]
    fn receivers_converge_on_the_publisher(steps in steps()) {
        let world = run(&steps);
        let own = world.publisher.log(world.now);
        for receiver in &world.receivers {
            prop_assert_eq!(
                receiver.replica.head.as_ref().map(|it| &it.place),
                own.head.as_ref().map(|it| &it.place)
            );
            prop_assert_eq!(receiver.shown(), world.receivers[0].shown());
            let shown: BTreeSet<EventId> = receiver.shown().into_keys().collect();
            let wanted = own.lines().map(|(id, _)| id).filter(|id| own.is_shown(*id));
            prop_assert_eq!(shown, wanted.collect::<BTreeSet<EventId>>());
        }
    }

    /// L2: every stored line that still has its words is one that the publisher signed.
    #[test]
    fn nobody_speaks_for_another(steps in steps()) {
        let world = run(&steps);
        for receiver in &world.receivers {
            for (id, copy) in &receiver.stored {
                let signed = world.publisher.signed_lines.get(id).map(String::as_str);
                if copy.is_redacted() {
                    let original = signed.map(|it| RecordedEvent::parse(it.as_bytes()).unwrap());
                    prop_assert_eq!(original.map(|it| it.redacted()), Some(copy.clone()));
                } else {
                    prop_assert_eq!(Some(copy.line()), signed);
                }
            }
        }
    }

    /// L4, first half: words that were ordered to be redacted are in no copy of anybody who reads.
    #[test]
    fn redacted_words_are_in_no_copy(steps in steps()) {
        let world = run(&steps);
        for receiver in &world.receivers {
            for id in &world.ordered {
                prop_assert!(receiver.stored.get(id).is_none_or(RecordedEvent::is_redacted));
            }
            for batch in receiver.folder.batches.values() {
                for line in &batch.lines {
                    let copy = RecordedEvent::parse(line.as_bytes()).unwrap();
                    prop_assert!(!world.ordered.contains(&copy.event.id) || copy.is_redacted());
                }
            }
        }
    }

    /// L4, second half: a receiver that is cut off stops showing within a known time.
    #[test]
    fn a_receiver_that_is_cut_off_hides_what_it_has(steps in steps(), days in 0..80u64) {
        let world = run(&steps);
        for receiver in &world.receivers {
            let head = receiver.replica.head.as_ref().unwrap();
            let later = world.now.plus_millis(days * DAY_MS);
            let hidden = head.expires.plus_millis(u64::from(GRACE_DAYS) * DAY_MS);
            let expected = if later < head.expires {
                Freshness::Fresh
            } else if later < hidden {
                Freshness::Stale
            } else {
                Freshness::Lapsed
            };
            prop_assert_eq!(receiver.replica.freshness(later), expected);
        }
    }

    /// L7: a publisher whose folder was restored begins a new epoch and publishes nothing again
    /// that it redacted. `run` asserts that no receiver ever sees a fork.
    #[test]
    fn a_restore_contradicts_nothing_and_brings_nothing_back(steps in steps()) {
        let mut world = run(&steps);
        let redacted = world.ordered.clone();
        let before = world.publisher.log(world.now).head.unwrap().place;
        world.publisher.folder = Folder::default();
        let later = world.now.plus_millis(5_000);
        world.publisher.update(later);
        let head = world.publisher.folder.head.clone().unwrap().manifest;
        prop_assert!(head.epoch > before.epoch);
        for receiver in &mut world.receivers {
            prop_assert_eq!(receiver.pull(&world.publisher.folder, later), None);
            for id in &redacted {
                prop_assert!(!receiver.shown().contains_key(id));
            }
        }
        for batch in world.publisher.folder.batches.values() {
            for line in &batch.lines {
                let id = RecordedEvent::parse(line.as_bytes()).unwrap().event.id;
                prop_assert!(!redacted.contains(&id));
            }
        }
    }

    /// L10: a batch that is accepted again after a crash changes nothing.
    #[test]
    fn a_batch_may_come_again(steps in steps()) {
        let world = run(&steps);
        for receiver in &world.receivers {
            let mut again = receiver.clone();
            prop_assert_eq!(again.pull(&world.publisher.folder, world.now), None);
            prop_assert_eq!(&again.replica, &receiver.replica);
            prop_assert_eq!(&again.stored, &receiver.stored);
        }
    }

    /// L11: the same words give the same bytes, in any order and after any history.
    #[test]
    fn a_line_is_a_function_of_its_words(texts in prop::collection::btree_map(0..20u8, 0..5u8, 1..12)) {
        let mut one = Publisher::new(7);
        let mut other = Publisher::new(7);
        for (source, text) in &texts {
            one.words.insert(*source, format!("Lesson {source} in wording {text}"));
        }
        one.update(start());
        for (source, text) in texts.iter().rev() {
            other.words.insert(*source, format!("Lesson {source} in wording {text}"));
            other.update(start().plus_millis(u64::from(*source) * 1_000));
        }
        prop_assert_eq!(one.signed_lines, other.signed_lines);
    }

    /// L12: without an approval, no accepted line is an entry that may be shown.
    #[test]
    fn nothing_is_live_before_a_person_approved_it(steps in steps()) {
        let world = run(&steps);
        for receiver in &world.receivers {
            let events: Vec<_> = receiver.stored.values().map(|it| it.event.clone()).collect();
            let state = LedgerState::from_events(&events);
            for entry in state.entries.values() {
                prop_assert!(!entry.is_live(), "{}", entry.id);
            }
        }
    }
}

/// L6: a fork hides everything of the publication, and a newer epoch ends it.
#[test]
fn two_batches_for_one_place_are_proof_of_a_fork() {
    let mut publisher = Publisher::new(7);
    publisher.words.insert(1, "Lesson 1".to_owned());
    publisher.update(start());
    let mut receiver = Receiver::new(&publisher);
    assert_eq!(receiver.pull(&publisher.folder, start()), None);
    assert_eq!(receiver.shown().len(), 1);

    // The same place, other rows, both signed.
    let mut twin = publisher.clone();
    let head = publisher.folder.head.clone().unwrap().manifest;
    let mut other = head;
    other.license = "MIT".parse().unwrap();
    other.rows.clear();
    let batch = ken_core::federation::PublicationBatch {
        signature: publisher.sign_manifest(&other),
        manifest: other,
        lines: Vec::new(),
    };
    assert_eq!(receiver.accept(&batch, start()), Err(BatchRejection::Fork));
    assert!(receiver.replica.fork.is_some());
    assert_eq!(receiver.shown().len(), 0);

    // A publisher that lost its folder begins a newer epoch.
    twin.folder = Folder::default();
    let later = start().plus_millis(1_000);
    twin.update(later);
    assert_eq!(receiver.pull(&twin.folder, later), None);
    assert!(receiver.replica.fork.is_none());
    assert_eq!(receiver.shown().len(), 1);
}
