//! What git loses, what a hub loses, and what only stands elsewhere.

use ken_engine::remote::Again;
use ken_testkit::build::Scribe;
use ken_testkit::memory_hub::MemoryHub;

use crate::clone::Clone;

#[test]
fn what_a_reset_took_from_every_branch_is_noticed_and_comes_back() {
    let one = Clone::new(1);
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
            .healed
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>(),
        lost
    );
    assert_eq!((pulled.new, pulled.gone.len()), (0, 0));
    assert_eq!(one.lines(), before);
    // Once is enough.
    let again = one.pull(&mut hub);
    assert_eq!(again.healed, []);
    assert_eq!(one.lines(), before);
}

#[test]
fn knowledge_of_another_branch_stays_there_until_the_branch_is_gone() {
    let one = Clone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.git(&["checkout", "-q", "-b", "feature"]);
    let event = one.add("The new queue needs a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["checkout", "-q", "main"]);
    // Neither as news nor as a loss, whatever is remembered.
    for _ in 0..2 {
        let pulled = one.pull(&mut hub);
        assert_eq!((pulled.new, pulled.healed.len()), (0, 0));
        assert_eq!(one.ids().len(), 1);
    }
    one.forget_local();
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.new, pulled.elsewhere), (0, 1));
    assert_eq!(one.ids().len(), 1);
    // A stash is somewhere, too; a branch nobody has is not.
    one.git(&["branch", "-q", "-D", "feature"]);
    let pulled = one.pull(&mut hub);
    assert_eq!(pulled.healed, [event]);
    assert_eq!(one.ids().len(), 2);
}

#[test]
fn uncommitted_knowledge_in_a_stash_or_another_worktree_is_not_lost() {
    let one = Clone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.add("The new queue needs a key");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["stash", "-q", "--include-untracked"]);
    let pulled = one.pull(&mut hub);
    assert_eq!(
        (pulled.new, pulled.healed.len(), one.ids().len()),
        (0, 0, 1)
    );
    one.git(&["stash", "drop", "-q"]);
    assert_eq!(one.pull(&mut hub).healed.len(), 1);
}

#[test]
fn what_the_hub_lost_too_is_said_once() {
    let one = Clone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    let lost = one.add("Retries need a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    hub.restore(1);
    let pulled = one.pull(&mut hub);
    assert_eq!(pulled.gone, [lost]);
    assert_eq!(one.pull(&mut hub).gone, []);
}

#[test]
fn a_hub_restored_from_an_older_backup_gets_everything_again() {
    let (one, other, third) = (Clone::new(1), Clone::new(2), Clone::new(3));
    for n in 0..4 {
        one.add(&format!("Shard {n} is read only"));
    }
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    other.pull(&mut hub);
    hub.restore(2);
    // Somebody else wrote to it meanwhile, so that its log is as long as it was.
    for n in 0..2 {
        third.add(&format!("The queue {n} drops messages"));
    }
    third.try_push(&mut hub, Again::Refused).unwrap();
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
        let one = Clone::new(1);
        one.add("Charging twice is safe");
        let mut hub = MemoryHub::default();
        one.pull(&mut hub);
        one.push(&mut hub);
        one.pull(&mut hub);
        // As `sync` does: what was pushed lies behind the place that was read.
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
    let (one, other) = (Clone::new(1), Clone::new(2));
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
    let (one, other) = (Clone::new(1), Clone::new(2));
    let mut scribe = Scribe::new(3);
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
    let one = Clone::new(1);
    one.add("Charging twice is safe");
    one.commit();
    one.add("Retries need a key");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    // Something here says that it holds one more, which it never had.
    let wrong = one.add("The queue drops messages");
    let mut held = std::fs::read(one.held_file()).unwrap();
    let line = one.line_of(wrong);
    held.extend(wrong.to_bytes());
    held.extend(&blake3::hash(line.as_bytes()).as_bytes()[..8]);
    std::fs::write(one.held_file(), held).unwrap();
    assert_eq!(one.push(&mut hub).admitted, 0);
    one.git(&["stash", "-q", "--include-untracked"]);
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    one.git(&["stash", "pop", "-q"]);
    assert_eq!(one.pull(&mut hub).healed.len(), 1);
    assert_eq!(one.push(&mut hub).admitted, 1);
}
