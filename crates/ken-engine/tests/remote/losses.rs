//! Recovery from losses in git and at the hub, and events that exist only on other branches.

use ken_engine::remote::PushSelection;
use ken_testkit::build::EventWriter;
use ken_testkit::memory_hub::MemoryHub;

use crate::clone::RemoteTestClone;

#[test]
fn what_a_reset_took_from_every_branch_is_noticed_and_comes_back() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    let second = one.add("The queue drops messages after a day");
    let third = one.add("Retries need a key");
    one.commit();
    let before = one.lines();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(one.ids().len(), 1);
    let pulled = one.pull(&mut hub);
    let lost = std::collections::BTreeSet::from([second, third]);
    assert_eq!(
        pulled
            .recovered
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>(),
        lost
    );
    assert_eq!((pulled.new, pulled.lost.len()), (0, 0));
    assert_eq!(one.lines(), before);
    // The events are restored only once.
    let again = one.pull(&mut hub);
    assert_eq!(again.recovered, []);
    assert_eq!(one.lines(), before);
}

#[test]
fn knowledge_of_another_branch_stays_there_until_the_branch_is_gone() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.git(&["checkout", "-q", "-b", "feature"]);
    let event = one.add("The new queue needs a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["checkout", "-q", "main"]);
    // The event counts neither as new nor as lost, with or without local state.
    for _ in 0..2 {
        let pulled = one.pull(&mut hub);
        assert_eq!((pulled.new, pulled.recovered.len()), (0, 0));
        assert_eq!(one.ids().len(), 1);
    }
    one.forget_local();
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.new, pulled.elsewhere), (0, 1));
    assert_eq!(one.ids().len(), 1);
    // A stash would count as another location; a deleted branch does not.
    one.git(&["branch", "-q", "-D", "feature"]);
    let pulled = one.pull(&mut hub);
    assert_eq!(pulled.recovered, [event]);
    assert_eq!(one.ids().len(), 2);
}

#[test]
fn uncommitted_knowledge_in_a_stash_or_another_worktree_is_not_lost() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.add("The new queue needs a key");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["stash", "-q", "--include-untracked"]);
    let pulled = one.pull(&mut hub);
    assert_eq!(
        (pulled.new, pulled.recovered.len(), one.ids().len()),
        (0, 0, 1)
    );
    one.git(&["stash", "drop", "-q"]);
    assert_eq!(one.pull(&mut hub).recovered.len(), 1);
}

#[test]
fn what_the_hub_lost_too_is_said_once() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    let lost = one.add("Retries need a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    hub.restore(1);
    let pulled = one.pull(&mut hub);
    assert_eq!(pulled.lost, [lost]);
    assert_eq!(one.pull(&mut hub).lost, []);
}

#[test]
fn a_hub_restored_from_an_older_backup_gets_everything_again() {
    let (one, other, third) = (
        RemoteTestClone::new(1),
        RemoteTestClone::new(2),
        RemoteTestClone::new(3),
    );
    for n in 0..4 {
        one.add(&format!("Shard {n} is read only"));
    }
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    other.pull(&mut hub);
    hub.restore(2);
    // Another clone pushed meanwhile, so the log is as long as before.
    for n in 0..2 {
        third.add(&format!("The queue {n} drops messages"));
    }
    third.try_push(&mut hub, PushSelection::Rejected).unwrap();
    for clone in [&one, &other] {
        let pulled = clone.pull(&mut hub);
        assert!(pulled.restarted);
        clone.push(&mut hub);
    }
    assert_eq!(hub.events().len(), 6);
    one.pull(&mut hub);
    assert_eq!(one.state_hash(), other.state_hash());
    assert!(!one.pull(&mut hub).restarted);
}

#[test]
fn a_hub_that_lost_only_what_was_pushed_last_gets_it_back_once() {
    for pulls_first in [true, false] {
        let one = RemoteTestClone::new(1);
        one.add("Charging twice is safe");
        let mut hub = MemoryHub::default();
        one.pull(&mut hub);
        one.push(&mut hub);
        one.pull(&mut hub);
        // Pull before push, as in `sync`: the pushed event is after the cursor.
        one.add("Retries need a key");
        one.pull(&mut hub);
        one.push(&mut hub);
        hub.restore(1);
        let pulled = pulls_first.then(|| one.pull(&mut hub));
        let pushed = one.push(&mut hub);
        assert_eq!(pulled.is_some_and(|it| it.restarted), pulls_first);
        assert_eq!(pushed.restarted, !pulls_first);
        assert_eq!(pushed.admitted, 1);
        assert_eq!(hub.events().len(), 2);
        let before = hub.pushes.len();
        assert!(!one.pull(&mut hub).restarted);
        assert!(!one.push(&mut hub).restarted);
        assert_eq!(hub.pushes.len(), before);
    }
}

#[test]
fn a_hub_that_went_back_and_grew_again_is_noticed() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    one.add("Charging twice is safe");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    one.add("Retries need a key");
    one.push(&mut hub);
    hub.restore(1);
    for n in 0..3 {
        other.add(&format!("Shard {n} is read only"));
    }
    other.push(&mut hub);
    assert!(one.pull(&mut hub).restarted);
    assert_eq!(one.push(&mut hub).admitted, 1);
    assert_eq!(hub.events().len(), 5);
}

#[test]
fn what_the_hub_answered_as_known_is_missed_as_well() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    let mut scribe = EventWriter::new(3);
    let shared = [scribe.propose("Charging twice is safe").1];
    let mut hub = MemoryHub::default();
    for clone in [&one, &other] {
        clone.merge_in(&shared);
        clone.push(&mut hub);
    }
    assert_eq!(hub.pushes, [1, 1]);
    hub.restore(0);
    assert_eq!(other.push(&mut hub).admitted, 1);
}

#[test]
fn reading_a_whole_log_tells_what_the_hub_does_not_hold_after_all() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.add("Retries need a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    // The local record wrongly claims that the hub has one more event.
    let wrong = one.add("The queue drops messages");
    let mut held = std::fs::read(one.hub_events_file()).unwrap();
    let line = one.line_of(wrong);
    held.extend(wrong.to_bytes());
    held.extend(&blake3::hash(line.as_bytes()).as_bytes()[..8]);
    std::fs::write(one.hub_events_file(), held).unwrap();
    assert_eq!(one.push(&mut hub).admitted, 0);
    one.git(&["stash", "-q", "--include-untracked"]);
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    one.git(&["stash", "pop", "-q"]);
    assert_eq!(one.pull(&mut hub).recovered.len(), 1);
    assert_eq!(one.push(&mut hub).admitted, 1);
}
