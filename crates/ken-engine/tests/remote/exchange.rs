//! Push and pull between clones: batches, responses, interruptions and redaction.

use std::fs;

use ken_core::ledger::event::{BlankReason, EventBlanked, EventBody, RecordedEvent};
use ken_core::ledger::state::redaction_target;
use ken_engine::EngineError;
use ken_engine::remote::{HubToken, PushSelection, RejectionKind, RemoteError};
use ken_remote::wire::{PUSH_EVENTS_MAX, PushVerdict};
use ken_testkit::build::EventWriter;
use ken_testkit::memory_hub::MemoryHub;

use crate::clone::RemoteTestClone;

/// Redactions that a clone pulls at once.
const MANY: usize = 30;

fn proposals(count: usize) -> Vec<RecordedEvent> {
    let mut scribe = EventWriter::new(9);
    (0..count)
        .map(|n| scribe.propose(&format!("Shard {n} is read only")).1)
        .collect()
}

#[test]
fn two_clones_exchange_what_each_learned() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    one.add("Charging twice is safe");
    other.add("The ledger is append only");
    let mut hub = MemoryHub::default();
    assert_eq!(one.push(&mut hub).admitted, 1);
    let pulled = other.pull(&mut hub);
    assert_eq!((pulled.new, pulled.recovered.len()), (1, 0));
    assert_eq!(other.push(&mut hub).admitted, 1);
    assert_eq!(one.pull(&mut hub).new, 1);
    assert_eq!(one.lines(), other.lines());
    assert_eq!(one.state_hash(), other.state_hash());
    // The pull renders the files of new entries, as a merge does.
    let files = fs::read_dir(one.root().join(".ken/entries")).unwrap();
    assert_eq!(files.count(), 2);
    // No event is sent twice.
    assert_eq!(one.push(&mut hub).known, 0);
    assert_eq!(hub.pushes, [1, 1]);
}

#[test]
fn a_push_that_was_cut_off_goes_on_where_it_ended() {
    let one = RemoteTestClone::new(1);
    let ledger = proposals(2 * PUSH_EVENTS_MAX + 10);
    let text: String = ledger.iter().map(|it| format!("{}\n", it.line())).collect();
    let segment = one
        .root()
        .join(".ken/semantic/v1/2026-11-14t22-51-k3f9w2.jsonl");
    fs::write(segment, text).unwrap();
    let mut hub = MemoryHub::default();
    hub.breaks_after = Some(1);
    let failed = one.try_push(&mut hub, PushSelection::New).unwrap_err();
    let EngineError::Remote(RemoteError::Hub { done, .. }) = &failed else {
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
    let one = RemoteTestClone::new(1);
    one.merge_in(&proposals(3));
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    // As if the process had been killed before it recorded the hub's response.
    fs::write(one.hub_events_file(), b"").unwrap();
    let pushed = one.push(&mut hub);
    assert_eq!((pushed.admitted, pushed.known), (0, 3));
    // As if the record had been truncated midway.
    let held = fs::read(one.hub_events_file()).unwrap();
    fs::write(one.hub_events_file(), &held[..held.len() - 5]).unwrap();
    let pushed = one.push(&mut hub);
    assert_eq!((pushed.admitted, pushed.known), (0, 1));
    assert_eq!(fs::read(one.hub_events_file()).unwrap().len(), held.len());
    assert_eq!(hub.events().len(), 3);
}

#[test]
fn a_pull_that_was_cut_off_writes_nothing_twice() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    one.merge_in(&proposals(25));
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
    let one = RemoteTestClone::new(1);
    let copies = proposals(3);
    one.merge_in(&copies);
    let mut hub = MemoryHub::default();
    hub.set_rule(|copy| {
        let says = |word: &str| copy.line().contains(word);
        match (says("Shard 0"), says("Shard 1")) {
            (true, _) => Some((
                PushVerdict::Refused,
                "an agent's token speaks for no person",
            )),
            (_, true) => Some((PushVerdict::Quarantined, "it waits for a curator")),
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
    let why: Vec<RejectionKind> = again.rejected_before.iter().map(|it| it.kind).collect();
    assert_eq!(why, [RejectionKind::Refused, RejectionKind::Quarantined]);
    assert_eq!(hub.pushes, [3]);
    // On request the event is sent again; accepted events are no longer remembered.
    hub.set_rule(|copy| {
        copy.line()
            .contains("Shard 0")
            .then_some((PushVerdict::Refused, "still"))
    });
    let again = one.try_push(&mut hub, PushSelection::Rejected).unwrap();
    assert_eq!((again.admitted, again.refused.len()), (1, 1));
    let last = one.push(&mut hub);
    assert_eq!(last.rejected_before.len(), 1);
    assert_eq!(last.rejected_before[0].reason, "still");
    // A changed line is sent again as a new event.
    hub.set_rule(|_| None);
    let mut engine = one.engine();
    let by = "human:ada@example.org".parse().unwrap();
    let id = copies[0].event.id.to_string();
    engine.redact(&id, BlankReason::Secret, &by).unwrap();
    drop(engine);
    let last = one.push(&mut hub);
    assert_eq!((last.admitted, last.rejected_before.len()), (2, 0));
}

#[test]
fn another_token_forgets_what_was_refused_to_the_one_before() {
    let one = RemoteTestClone::new(1);
    one.merge_in(&proposals(2));
    let mut hub = MemoryHub::default();
    let token = |text: &str| HubToken::parse(text).ok();
    hub.token = token("ken_of_a_reader");
    hub.set_rule(|copy| {
        Some(if copy.line().contains("Shard 0") {
            (
                PushVerdict::Refused,
                "an agent's token speaks for no person",
            )
        } else {
            (PushVerdict::Quarantined, "it waits for a curator")
        })
    });
    assert!(one.push(&mut hub).leaves_events_behind());
    let again = one.push(&mut hub);
    assert_eq!(again.rejected_before.len(), 2);
    assert!(again.leaves_events_behind(), "{again:?}");
    // The secret is in no file of the clone.
    assert!(!one.local_files_contain("ken_of_a_reader"));
    hub.set_rule(|_| None);
    hub.token = token("ken_of_a_member");
    let last = one.push(&mut hub);
    // What waits for a curator is not sent again and fails no push.
    assert_eq!((last.admitted, last.rejected_before.len()), (1, 1));
    assert!(!last.leaves_events_behind(), "{last:?}");
}

#[test]
fn a_quarantined_event_that_a_curator_released_is_held() {
    let one = RemoteTestClone::new(1);
    let copies = proposals(1);
    one.merge_in(&copies);
    let mut hub = MemoryHub::default();
    hub.set_rule(|_| Some((PushVerdict::Quarantined, "it waits")));
    one.push(&mut hub);
    hub.append_unchecked(copies[0].clone());
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.new, pulled.updated), (0, 0));
    assert_eq!(one.push(&mut hub).rejected_before, []);
    assert_eq!(hub.pushes, [1]);
}

#[test]
fn a_blanked_event_never_comes_back() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
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
        .redact(&event.to_string(), BlankReason::Secret, &by)
        .unwrap();
    one.push(&mut hub);
    other.pull(&mut hub);
    let holds =
        |clone: &RemoteTestClone| clone.lines().iter().any(|it| it.contains("swordfish42x"));
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
            .any(|it| redaction_target(&it.event) == Some(event))
    );
    // Neither a hub that sends the full copy nor one that forgot the redaction brings it back.
    hub.append_unchecked(full.clone());
    for clone in [&one, &other] {
        clone.pull(&mut hub);
        assert!(!holds(clone));
    }
    let mut fresh = MemoryHub::default();
    fresh.append_unchecked(full);
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
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    let event = one.add("The staging host is called swordfish42x");
    one.commit();
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    let full = hub.events()[0].clone();
    let by = "human:ada@example.org".parse().unwrap();
    one.engine()
        .redact(&event.to_string(), BlankReason::Secret, &by)
        .unwrap();
    one.push(&mut hub);
    hub.append_unchecked(full);
    other.pull(&mut hub);
    let journal = other.root().join(".git/ken");
    let mut found = Vec::new();
    collect_files_with(&journal, "swordfish42x", &mut found);
    collect_files_with(&other.root().join(".ken"), "swordfish42x", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// Collects the files below `folder` that contain `text`.
fn collect_files_with(folder: &std::path::Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files_with(&path, text, found);
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
    let other = RemoteTestClone::new(2);
    let secret = ["AKIA", "IOSFODNN7", "EXAMPLQ"].concat();
    let (_, leaked) = EventWriter::new(3).propose(&format!("Deploy with {secret} and be done"));
    let mut hub = MemoryHub::default();
    hub.append_unchecked(leaked.clone());
    hub.append_unchecked(proposals(1)[0].clone());
    let pulled = other.pull(&mut hub);
    assert_eq!(pulled.new, 1);
    assert_eq!(pulled.declined[0].event, leaked.event.id);
    assert!(!pulled.declined[0].reason.contains(&secret));
    let mut found = Vec::new();
    collect_files_with(other.root(), &secret, &mut found);
    assert_eq!(found, Vec::<String>::new());
    // The declined event does not count as lost at the next pull.
    let again = other.pull(&mut hub);
    assert_eq!(
        (
            again.recovered.len(),
            again.lost.len(),
            again.declined.len()
        ),
        (0, 0, 0)
    );
    assert_eq!(hub.pulls, [0, 2]);
}

#[test]
fn an_answer_about_other_events_is_believed_in_nothing() {
    struct LyingHub;
    impl ken_engine::remote::HubClient for LyingHub {
        fn push(
            &mut self,
            lines: &[&str],
        ) -> Result<ken_remote::wire::PushResponse, ken_remote::HubError> {
            let other = EventWriter::new(77).next_id();
            let answered = ken_remote::wire::EventVerdict {
                awaits: None,
                id: Some(other),
                verdict: PushVerdict::Admitted,
                reason: None,
            };
            Ok(ken_remote::wire::PushResponse {
                events: vec![answered; lines.len()],
                cursor: None,
            })
        }
        fn pull(
            &mut self,
            after: ken_remote::wire::LogCursor,
            _: u32,
        ) -> Result<ken_remote::wire::PullResponse, ken_remote::HubError> {
            Ok(ken_remote::wire::PullResponse {
                events: Vec::new(),
                cursor: after,
                more: true,
            })
        }
    }
    let one = RemoteTestClone::new(1);
    one.merge_in(&proposals(2));
    let remote = one.remote();
    let failed =
        one.engine()
            .push_events(&remote, &mut LyingHub, PushSelection::New, &mut |_, _| {});
    assert!(
        failed
            .unwrap_err()
            .to_string()
            .contains("does not match the events")
    );
    assert_eq!(one.engine().remote_status(&remote).unwrap().to_push, 2);
    let failed = one
        .engine()
        .pull_events(&remote, &mut LyingHub, &mut |_, _| {});
    assert!(failed.unwrap_err().to_string().contains("do not advance"));
}

#[test]
fn what_was_blanked_behind_the_place_that_was_read_is_blanked_here() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    let event = one.add("The staging host is called swordfish-nine");
    one.add("Charging twice is safe");
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    assert_eq!(other.pull(&mut hub).new, 2);
    one.engine()
        .redact(
            &event.to_string(),
            BlankReason::Personal,
            &"human:ada@example.org".parse().unwrap(),
        )
        .unwrap();
    one.push(&mut hub);
    let news = hub.pulls.len();
    let pulled = other.pull(&mut hub);
    // The pull fetches only events after the cursor: the redaction and the redacted form.
    assert_eq!(hub.pulls[news..], [2]);
    assert_eq!((pulled.new, pulled.declined.len()), (1, 0));
    assert_eq!(other.lines(), one.lines());
    assert!(other.lines().iter().all(|it| !it.contains("swordfish")));
    // The clone has recorded that the hub stores exactly this form.
    let pushes = hub.pushes.len();
    other.push(&mut hub);
    one.push(&mut hub);
    assert_eq!(hub.pushes.len(), pushes);
    let again = other.pull(&mut hub);
    assert_eq!((again.new, again.updated), (0, 0));
}

#[test]
fn many_redactions_of_one_pull_remove_their_files_and_no_other() {
    let other = RemoteTestClone::new(2);
    let mut hub = MemoryHub::default();
    let mut writer = EventWriter::new(9);
    let word = |n: usize| format!("swordfish{n}x");
    let proposals: Vec<RecordedEvent> = (0..MANY)
        .map(|n| {
            writer
                .propose(&format!("The host of shard {n} is {}", word(n)))
                .1
        })
        .collect();
    for proposal in &proposals {
        hub.append_unchecked(proposal.clone());
    }
    other.pull(&mut hub);
    let files = || {
        fs::read_dir(other.root().join(".ken/entries"))
            .unwrap()
            .count()
    };
    assert_eq!(files(), MANY);
    let (redacted, kept) = proposals.split_at(MANY - 2);
    for proposal in redacted {
        let body = EventBody::EventBlanked(EventBlanked {
            event: proposal.event.id,
            reason: BlankReason::Legal,
        });
        hub.append_unchecked(proposal.clone().redacted());
        hub.append_unchecked(writer.write(proposal.event.about.clone(), body));
    }
    other.pull(&mut hub);
    assert_eq!(files(), kept.len());
    let quotes = |n: usize| {
        let mut found = Vec::new();
        collect_files_with(&other.root().join(".ken"), &word(n), &mut found);
        collect_files_with(&other.root().join(".git/ken"), &word(n), &mut found);
        !found.is_empty()
    };
    assert!((0..redacted.len()).step_by(7).all(|n| !quotes(n)));
    assert!(quotes(MANY - 1));
}
