//! Events that a pull declines, and the report about accepted ones.

use std::fs;

use ken_core::ledger::event::{
    ApprovalGranted, EventBody, FrictionRecorded, Origin, RecordedEvent,
};
use ken_core::values::content::FrictionType;
use ken_core::values::kind::EntryKind;
use ken_engine::remote::{DecisionCounts, HubClient, HubError};
use ken_remote::wire::{LogCursor, PullResponse, PushResponse};
use ken_testkit::build::EventWriter;
use ken_testkit::memory_hub::MemoryHub;
use serde_json::value::RawValue;

use crate::clone::RemoteTestClone;

#[test]
fn what_would_wait_for_a_person_here_stays_out() {
    let one = RemoteTestClone::new(1);
    let mut scribe = EventWriter::new(3);
    let (_, foreign) =
        scribe.propose_with(EntryKind::Learning, "Shards are read only at night", |it| {
            it.origin = Origin::Peer;
        });
    let (_, norm) = scribe.by("agent:builder").propose_with(
        EntryKind::CommitNorm,
        "Commits name a ticket",
        |_| {},
    );
    let mut hub = MemoryHub::default();
    hub.append_unchecked(foreign.clone());
    hub.append_unchecked(norm.clone());
    let pulled = one.pull(&mut hub);
    let declined: Vec<_> = pulled.declined.iter().map(|it| it.event).collect();
    assert_eq!(declined, [foreign.event.id, norm.event.id]);
    assert!(pulled.declined[0].reason.contains("outside this workspace"));
    assert_eq!((pulled.new, one.ids().len()), (0, 0));
    // They neither count as lost nor are fetched again.
    let again = one.pull(&mut hub);
    assert_eq!((again.recovered.len(), again.lost.len()), (0, 0));
}

#[test]
fn another_event_under_a_known_id_takes_no_place() {
    let one = RemoteTestClone::new(1);
    let mut scribe = EventWriter::new(3);
    let (entry, own) = scribe.propose("Charging twice is safe");
    one.merge_in(std::slice::from_ref(&own));
    let friction = EventBody::FrictionRecorded(FrictionRecorded {
        friction: FrictionType::ToolError,
        context: serde_json::json!({}),
    });
    let forger = scribe.at("2026-01-02T03:04:05Z").by("agent:forger");
    let forged = forger.write_as(own.event.id, vec![entry.into()], friction);
    let wins = own.preferred_copy(forged.clone());
    assert_eq!(wins.line(), forged.line(), "else the test shows nothing");
    let before = one.state_hash();
    let mut hub = MemoryHub::default();
    hub.append_unchecked(forged);
    let pulled = one.pull(&mut hub);
    assert_eq!((pulled.updated, pulled.declined.len()), (0, 1));
    assert_eq!(
        pulled.declined[0].reason,
        "another local event has the same id"
    );
    assert_eq!(one.state_hash(), before);
}

#[test]
fn decisions_of_people_are_taken_and_counted() {
    let (one, other) = (RemoteTestClone::new(1), RemoteTestClone::new(2));
    let mut scribe = EventWriter::new(3);
    let (entry, proposed) = scribe.propose("Charging twice is safe");
    let approval = |covers: &RecordedEvent| {
        EventBody::ApprovalGranted(ApprovalGranted {
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
    let wanted = DecisionCounts {
        approvals: 2,
        ..DecisionCounts::default()
    };
    assert_eq!(pulled.decisions.get(&ada), Some(&wanted));
}

/// A hub whose first page contains a line in an unknown format.
struct NewerFormatHub(MemoryHub);

impl HubClient for NewerFormatHub {
    fn push(&mut self, lines: &[&str]) -> Result<PushResponse, HubError> {
        self.0.push(lines)
    }

    fn pull(&mut self, after: LogCursor, limit: u32) -> Result<PullResponse, HubError> {
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
    let one = RemoteTestClone::new(1);
    let mut hub = NewerFormatHub(MemoryHub::default());
    hub.0
        .append_unchecked(EventWriter::new(3).propose("Charging twice is safe").1);
    let remote = one.remote();
    let pull = |hub: &mut NewerFormatHub| one.engine().pull_events(&remote, hub, &mut |_, _| {});
    assert_eq!(pull(&mut hub).unwrap().unreadable, 1);
    assert_eq!(pull(&mut hub).unwrap().unreadable, 0);
    assert_eq!(hub.0.pulls, [0, 1]);
    // The state file as an older version would have left it.
    let state = one.root().join(".ken/.local/remotes/hub/state.json");
    let text = fs::read_to_string(&state).unwrap();
    let here = format!(r#""unread_by":"{}""#, env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&here), "{text}");
    fs::write(&state, text.replace(&here, r#""unread_by":"0.0.1""#)).unwrap();
    assert_eq!(pull(&mut hub).unwrap().unreadable, 1);
    // The pull also fetches at the stored cursor, because the hub's log may have been reset behind
    // it.
    assert_eq!(hub.0.pulls, [0, 1, 1, 0]);
    assert_eq!(one.ids().len(), 1);
}

/// A hub that always announces more events and never sends any.
struct EndlessHub;

impl HubClient for EndlessHub {
    fn push(&mut self, _: &[&str]) -> Result<PushResponse, HubError> {
        Ok(PushResponse {
            events: Vec::new(),
            cursor: None,
        })
    }

    fn pull(&mut self, after: LogCursor, _: u32) -> Result<PullResponse, HubError> {
        let last = Some(EventWriter::new(after.seq).next_id());
        let seq = after.seq + 1;
        Ok(PullResponse {
            events: Vec::new(),
            cursor: LogCursor { seq, last },
            more: true,
        })
    }
}

#[test]
fn pages_without_end_end() {
    let one = RemoteTestClone::new(1);
    let remote = one.remote();
    let failed = one
        .engine()
        .pull_events(&remote, &mut EndlessHub, &mut |_, _| {});
    assert!(failed.unwrap_err().to_string().contains("do not advance"));
}
