//! Pushing and pulling between clones: batches, answers, interruptions, blanking.

use std::fs;

use ken_core::event::{BlankReason, Recorded};
use ken_core::state::blanks;
use ken_engine::Error;
use ken_engine::remote::{Again, RemoteError, Why};
use ken_remote::wire::{PUSH_EVENTS_MAX, Verdict};
use ken_testkit::build::Scribe;
use ken_testkit::memory_hub::MemoryHub;

use crate::clone::Clone;

fn many(count: usize) -> Vec<Recorded> {
    let mut scribe = Scribe::new(9);
    (0..count)
        .map(|n| scribe.propose(&format!("Shard {n} is read only")).1)
        .collect()
}

#[test]
fn two_clones_exchange_what_each_learned() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    one.add("Charging twice is safe");
    other.add("The ledger is append only");
    let mut hub = MemoryHub::default();
    assert_eq!(one.push(&mut hub).admitted, 1);
    let pulled = other.pull(&mut hub);
    assert_eq!((pulled.new, pulled.healed.len()), (1, 0));
    assert_eq!(other.push(&mut hub).admitted, 1);
    assert_eq!(one.pull(&mut hub).new, 1);
    assert_eq!(one.lines(), other.lines());
    assert_eq!(one.state_hash(), other.state_hash());
    // Files of what came are there as after a merge.
    let files = fs::read_dir(one.root().join(".ken/entries")).unwrap();
    assert_eq!(files.count(), 2);
    // Nothing is said twice.
    assert_eq!(one.push(&mut hub).known, 0);
    assert_eq!(hub.pushes, [1, 1]);
}

#[test]
fn a_push_that_was_cut_off_goes_on_where_it_ended() {
    let one = Clone::new(1);
    let ledger = many(2 * PUSH_EVENTS_MAX + 10);
    let text: String = ledger.iter().map(|it| format!("{}\n", it.line())).collect();
    let segment = one
        .root()
        .join(".ken/semantic/v1/2026-11-14t22-51-k3f9w2.jsonl");
    fs::write(segment, text).unwrap();
    let mut hub = MemoryHub::default();
    hub.breaks_after = Some(1);
    let failed = one.try_push(&mut hub, Again::No).unwrap_err();
    let Error::Remote(RemoteError::Hub { done, .. }) = &failed else {
        panic!("{failed}")
    };
    assert_eq!(*done, PUSH_EVENTS_MAX);
    assert!(
        failed.to_string().ends_with("(after 1000 events)"),
        "{failed}"
    );
    hub.breaks_after = None;
    let pushed = one.push(&mut hub);
    assert_eq!((pushed.admitted, pushed.known), (PUSH_EVENTS_MAX + 10, 0));
    assert_eq!(hub.pushes, [PUSH_EVENTS_MAX, PUSH_EVENTS_MAX, 10]);
    assert_eq!(hub.events().len(), ledger.len());
}

#[test]
fn an_answer_that_never_came_costs_one_more_round() {
    let one = Clone::new(1);
    one.merge_in(&many(3));
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    // As if the program had been killed between the hub's answer and its note of it.
    fs::write(one.held_file(), b"").unwrap();
    let pushed = one.push(&mut hub);
    assert_eq!((pushed.admitted, pushed.known), (0, 3));
    // Cut off in the middle of a record.
    let held = fs::read(one.held_file()).unwrap();
    fs::write(one.held_file(), &held[..held.len() - 5]).unwrap();
    let pushed = one.push(&mut hub);
    assert_eq!((pushed.admitted, pushed.known), (0, 1));
    assert_eq!(fs::read(one.held_file()).unwrap().len(), held.len());
    assert_eq!(hub.events().len(), 3);
}

#[test]
fn a_pull_that_was_cut_off_writes_nothing_twice() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    one.merge_in(&many(25));
    let mut hub = MemoryHub::default();
    hub.page_max = 10;
    one.push(&mut hub);
    hub.breaks_after = Some(2);
    assert!(other.try_pull(&mut hub).is_err());
    assert_eq!(other.ids().len(), 20);
    hub.breaks_after = None;
    assert_eq!(other.pull(&mut hub).new, 5);
    assert_eq!(hub.pulls, [0, 10, 20]);
    other.forget_local();
    assert_eq!(other.pull(&mut hub).new, 0);
    assert_eq!(other.lines(), one.lines());
}

#[test]
fn what_a_hub_did_not_take_is_remembered_with_its_reason() {
    let one = Clone::new(1);
    let copies = many(3);
    one.merge_in(&copies);
    let mut hub = MemoryHub::default();
    hub.judging(|copy| {
        let says = |word: &str| copy.line().contains(word);
        match (says("Shard 0"), says("Shard 1")) {
            (true, _) => Some((Verdict::Refused, "an agent's token speaks for no person")),
            (_, true) => Some((Verdict::Quarantined, "it waits for a curator")),
            _ => None,
        }
    });
    let pushed = one.push(&mut hub);
    assert_eq!(pushed.admitted, 1);
    assert_eq!(pushed.refused[0].event, copies[0].event.id);
    assert_eq!(
        pushed.refused[0].reason,
        "an agent's token speaks for no person"
    );
    assert_eq!(pushed.quarantined[0].event, copies[1].event.id);
    let again = one.push(&mut hub);
    assert_eq!((again.refused.len(), again.quarantined.len()), (0, 0));
    let why: Vec<Why> = again.remembered.iter().map(|it| it.why).collect();
    assert_eq!(why, [Why::Refused, Why::Quarantined]);
    assert_eq!(hub.pushes, [3]);
    // Asked for once more, it is offered once more; what was taken is remembered no longer.
    hub.judging(|copy| {
        copy.line()
            .contains("Shard 0")
            .then_some((Verdict::Refused, "still"))
    });
    let again = one.try_push(&mut hub, Again::Refused).unwrap();
    assert_eq!((again.admitted, again.refused.len()), (1, 1));
    let last = one.push(&mut hub);
    assert_eq!(last.remembered.len(), 1);
    assert_eq!(last.remembered[0].reason, "still");
    // A line that changed is another offer.
    hub.judging(|_| None);
    let mut engine = one.engine();
    let by = "human:ada@example.org".parse().unwrap();
    let id = copies[0].event.id.to_string();
    engine.blank(&id, BlankReason::Secret, &by).unwrap();
    drop(engine);
    let last = one.push(&mut hub);
    assert_eq!((last.admitted, last.remembered.len()), (2, 0));
}

#[test]
fn a_quarantined_event_that_a_curator_released_is_held() {
    let one = Clone::new(1);
    let copies = many(1);
    one.merge_in(&copies);
    let mut hub = MemoryHub::default();
    hub.judging(|_| Some((Verdict::Quarantined, "it waits")));
    one.push(&mut hub);
    hub.slip_in(copies[0].clone());
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.new, pulled.better), (0, 0));
    assert_eq!(one.push(&mut hub).remembered, []);
    assert_eq!(hub.pushes, [1]);
}

#[test]
fn a_blanked_event_never_comes_back() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    let event = one.add("The staging host is called swordfish42x");
    one.commit();
    other.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    other.pull(&mut hub);
    other.commit();
    let full = hub.events()[0].clone();
    let by = "human:ada@example.org".parse().unwrap();
    one.engine()
        .blank(&event.to_string(), BlankReason::Secret, &by)
        .unwrap();
    one.push(&mut hub);
    other.pull(&mut hub);
    let holds = |clone: &Clone| clone.lines().iter().any(|it| it.contains("swordfish42x"));
    assert!(!holds(&one) && !holds(&other));
    assert!(
        other
            .lines()
            .iter()
            .any(|it| it.contains(&event.to_string()))
    );
    assert!(
        hub.events()
            .iter()
            .any(|it| blanks(&it.event) == Some(event))
    );
    // Not from a hub that sends it in full, and not to one that forgot.
    hub.slip_in(full.clone());
    for clone in [&one, &other] {
        clone.pull(&mut hub);
        assert!(!holds(clone));
    }
    let mut fresh = MemoryHub::default();
    fresh.slip_in(full);
    other.forget_local();
    other.pull(&mut fresh);
    other.push(&mut fresh);
    assert!(!holds(&other));
    assert!(
        fresh
            .events()
            .iter()
            .all(|it| !it.line().contains("swordfish42x"))
    );
    assert_eq!(one.state_hash(), other.state_hash());
}

#[test]
fn an_order_holds_before_its_target_of_the_same_page_is_written() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    let event = one.add("The staging host is called swordfish42x");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    let full = hub.events()[0].clone();
    let by = "human:ada@example.org".parse().unwrap();
    one.engine()
        .blank(&event.to_string(), BlankReason::Secret, &by)
        .unwrap();
    one.push(&mut hub);
    hub.slip_in(full);
    other.pull(&mut hub);
    let journal = other.root().join(".git/ken");
    let mut found = Vec::new();
    holding(&journal, "swordfish42x", &mut found);
    holding(&other.root().join(".ken"), "swordfish42x", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// Collects the files below `folder` that hold `text`.
fn holding(folder: &std::path::Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holding(&path, text, found);
        } else if fs::read(&path)
            .unwrap()
            .windows(text.len())
            .any(|it| it == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn what_the_guard_refuses_is_not_written_whoever_sends_it() {
    let other = Clone::new(2);
    let secret = ["AKIA", "IOSFODNN7", "EXAMPLQ"].concat();
    let (_, leaked) = Scribe::new(3).propose(&format!("Deploy with {secret} and be done"));
    let mut hub = MemoryHub::default();
    hub.slip_in(leaked.clone());
    hub.slip_in(many(1)[0].clone());
    let pulled = other.pull(&mut hub);
    assert_eq!(pulled.new, 1);
    assert_eq!(pulled.declined[0].event, leaked.event.id);
    assert!(!pulled.declined[0].reason.contains(&secret));
    let mut found = Vec::new();
    holding(other.root(), &secret, &mut found);
    assert_eq!(found, Vec::<String>::new());
    // It is not taken for lost the next time.
    let again = other.pull(&mut hub);
    assert_eq!(
        (again.healed.len(), again.gone.len(), again.declined.len()),
        (0, 0, 0)
    );
    assert_eq!(hub.pulls, [0, 2]);
}

#[test]
fn an_answer_about_other_events_is_believed_in_nothing() {
    struct Liar;
    impl ken_engine::remote::Hub for Liar {
        fn push(
            &mut self,
            lines: &[&str],
        ) -> Result<ken_remote::wire::Pushed, ken_remote::HubError> {
            let other = Scribe::new(77).next_id();
            let answered = ken_remote::wire::Answered {
                id: Some(other),
                verdict: Verdict::Admitted,
                reason: None,
            };
            Ok(ken_remote::wire::Pushed {
                events: vec![answered; lines.len()],
                cursor: None,
            })
        }
        fn pull(
            &mut self,
            after: ken_remote::wire::Cursor,
            _: u32,
        ) -> Result<ken_remote::wire::Pulled, ken_remote::HubError> {
            Ok(ken_remote::wire::Pulled {
                events: Vec::new(),
                cursor: after,
                more: true,
            })
        }
    }
    let one = Clone::new(1);
    one.merge_in(&many(2));
    let remote = one.remote();
    let failed = one
        .engine()
        .push_events(&remote, &mut Liar, Again::No, &mut |_, _| {});
    assert!(failed.unwrap_err().to_string().contains("other events"));
    assert_eq!(one.engine().remote_standing(&remote).unwrap().waiting, 2);
    let failed = one.engine().pull_events(&remote, &mut Liar, &mut |_, _| {});
    assert!(failed.unwrap_err().to_string().contains("do not go on"));
}

#[test]
fn what_was_blanked_behind_the_place_that_was_read_is_blanked_here() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    let event = one.add("The staging host is called swordfish-nine");
    one.add("Charging twice is safe");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    assert_eq!(other.pull(&mut hub).new, 2);
    one.engine()
        .blank(
            &event.to_string(),
            BlankReason::Personal,
            &"human:ada@example.org".parse().unwrap(),
        )
        .unwrap();
    one.push(&mut hub);
    let news = hub.pulls.len();
    let pulled = other.pull(&mut hub);
    // Only what is behind the place: the order, and the form it left.
    assert_eq!(hub.pulls[news..], [2]);
    assert_eq!((pulled.new, pulled.declined.len()), (1, 0));
    assert_eq!(other.lines(), one.lines());
    assert!(other.lines().iter().all(|it| !it.contains("swordfish")));
    // The hub is known to hold it in just this form.
    let pushes = hub.pushes.len();
    other.push(&mut hub);
    one.push(&mut hub);
    assert_eq!(hub.pushes.len(), pushes);
    let again = other.pull(&mut hub);
    assert_eq!((again.new, again.better), (0, 0));
}
