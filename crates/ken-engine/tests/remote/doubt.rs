//! What a pull does not take, and what it says about what it takes.

use std::fs;

use ken_core::content::FrictionType;
use ken_core::event::{ApprovalGranted, Body, FrictionRecorded, Origin, Recorded};
use ken_core::kind::Kind;
use ken_engine::remote::{Decisions, Hub, HubError};
use ken_remote::wire::{Cursor, Pulled, Pushed};
use ken_testkit::build::Scribe;
use ken_testkit::memory_hub::MemoryHub;
use serde_json::value::RawValue;

use crate::clone::Clone;

#[test]
fn what_would_wait_for_a_person_here_stays_out() {
    let one = Clone::new(1);
    let mut scribe = Scribe::new(3);
    let (_, foreign) = scribe.propose_with(Kind::Learning, "Shards are read only at night", |it| {
        it.origin = Origin::Peer;
    });
    let (_, norm) =
        scribe
            .by("agent:builder")
            .propose_with(Kind::CommitNorm, "Commits name a ticket", |_| {});
    let mut hub = MemoryHub::default();
    hub.slip_in(foreign.clone());
    hub.slip_in(norm.clone());
    let pulled = one.pull(&mut hub);
    let declined: Vec<_> = pulled.declined.iter().map(|it| it.event).collect();
    assert_eq!(declined, [foreign.event.id, norm.event.id]);
    assert!(pulled.declined[0].reason.contains("outside this workspace"));
    assert_eq!((pulled.new, one.ids().len()), (0, 0));
    // They are neither lost nor asked for again.
    let again = one.pull(&mut hub);
    assert_eq!((again.healed.len(), again.gone.len()), (0, 0));
}

#[test]
fn another_event_under_a_known_id_takes_no_place() {
    let one = Clone::new(1);
    let mut scribe = Scribe::new(3);
    let (entry, own) = scribe.propose("Charging twice is safe");
    one.merge_in(std::slice::from_ref(&own));
    let friction = Body::FrictionRecorded(FrictionRecorded {
        friction: FrictionType::ToolError,
        context: serde_json::json!({}),
    });
    let forger = scribe.at("2026-01-02T03:04:05Z").by("agent:forger");
    let forged = forger.write_as(own.event.id, vec![entry.into()], friction);
    let wins = own.better_copy(forged.clone());
    assert_eq!(wins.line(), forged.line(), "else the test shows nothing");
    let before = one.state_hash();
    let mut hub = MemoryHub::default();
    hub.slip_in(forged);
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.better, pulled.declined.len()), (0, 1));
    assert_eq!(
        pulled.declined[0].reason,
        "another event stands here under its id"
    );
    assert_eq!(one.state_hash(), before);
}

#[test]
fn decisions_of_people_are_taken_and_counted() {
    let (one, other) = (Clone::new(1), Clone::new(2));
    let mut scribe = Scribe::new(3);
    let (entry, proposed) = scribe.propose("Charging twice is safe");
    let approval = |covers: &Recorded| {
        Body::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: "b3:0".parse().unwrap(),
            signature: None,
            covers: vec![covers.event.id],
        })
    };
    let first = scribe.about(entry, approval(&proposed));
    let second = scribe.about(entry, approval(&first));
    one.merge_in(&[proposed, first, second]);
    let mut hub = MemoryHub::default();
    one.push(&mut hub);
    let pulled = other.pull(&mut hub);
    let ada = "human:ada@example.org".parse().unwrap();
    let wanted = Decisions {
        approvals: 2,
        ..Decisions::default()
    };
    assert_eq!(pulled.decisions.get(&ada), Some(&wanted));
}

/// A hub whose pages hold a line of a form nobody knows yet.
struct Newer(MemoryHub);

impl Hub for Newer {
    fn push(&mut self, lines: &[&str]) -> Result<Pushed, HubError> {
        self.0.push(lines)
    }

    fn pull(&mut self, after: Cursor, limit: u32) -> Result<Pulled, HubError> {
        let mut page = self.0.pull(after, limit)?;
        if after.seq == 0 {
            let line = r#"{"form":"of a later version"}"#.to_owned();
            page.events.push(RawValue::from_string(line).unwrap());
        }
        Ok(page)
    }
}

#[test]
fn lines_nobody_could_read_are_asked_for_again_by_a_newer_version() {
    let one = Clone::new(1);
    let mut hub = Newer(MemoryHub::default());
    hub.0
        .slip_in(Scribe::new(3).propose("Charging twice is safe").1);
    let remote = one.remote();
    let pull = |hub: &mut Newer| one.engine().pull_events(&remote, hub, &mut |_, _| {});
    assert_eq!(pull(&mut hub).unwrap().unreadable, 1);
    assert_eq!(pull(&mut hub).unwrap().unreadable, 0);
    assert_eq!(hub.0.pulls, [0, 1]);
    // As an older version would have left it.
    let state = one.root().join(".ken/.local/remotes/hub/state.json");
    let text = fs::read_to_string(&state).unwrap();
    let here = format!(r#""unread_by":"{}""#, env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&here), "{text}");
    fs::write(&state, text.replace(&here, r#""unread_by":"0.0.1""#)).unwrap();
    assert_eq!(pull(&mut hub).unwrap().unreadable, 1);
    // The hub is asked for the place that was reached, too: it may have gone back behind it.
    assert_eq!(hub.0.pulls, [0, 1, 1, 0]);
    assert_eq!(one.ids().len(), 1);
}

/// A hub that always has more and never sends any.
struct Endless;

impl Hub for Endless {
    fn push(&mut self, _: &[&str]) -> Result<Pushed, HubError> {
        Ok(Pushed {
            events: Vec::new(),
            cursor: None,
        })
    }

    fn pull(&mut self, after: Cursor, _: u32) -> Result<Pulled, HubError> {
        let last = Some(Scribe::new(after.seq).next_id());
        let seq = after.seq + 1;
        Ok(Pulled {
            events: Vec::new(),
            cursor: Cursor { seq, last },
            more: true,
        })
    }
}

#[test]
fn pages_without_end_end() {
    let one = Clone::new(1);
    let remote = one.remote();
    let failed = one
        .engine()
        .pull_events(&remote, &mut Endless, &mut |_, _| {});
    assert!(failed.unwrap_err().to_string().contains("do not go on"));
}
