//! What git loses, what a hub loses, and what only stands elsewhere.

use ken_engine::remote::Again;
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
    let (one, other) = (Clone::new(1), Clone::new(2));
    for n in 0..4 {
        one.add(&format!("Shard {n} is read only"));
    }
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    one.pull(&mut hub);
    other.pull(&mut hub);
    hub.restore(2);
    // Somebody else wrote to it meanwhile, so that its log is as long as it was.
    other.add("The queue drops messages");
    other.try_push(&mut hub, Again::Refused).unwrap();
    for clone in [&one, &other] {
        let pulled = clone.pull(&mut hub);
        assert!(pulled.restarted);
        clone.push(&mut hub);
    }
    assert_eq!(hub.events().len(), 5);
    one.pull(&mut hub);
    assert_eq!(one.state_hash(), other.state_hash());
    assert!(!one.pull(&mut hub).restarted);
}

#[test]
fn offering_everything_again_heals_a_hub_nobody_pulls_from() {
    let one = Clone::new(1);
    one.add("Charging twice is safe");
    one.add("Retries need a key");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    hub.restore(0);
    assert_eq!(one.push(&mut hub).admitted, 0);
    assert_eq!(
        one.try_push(&mut hub, Again::Everything).unwrap().admitted,
        2
    );
}
