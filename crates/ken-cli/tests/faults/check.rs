//! Comparison of a hub's log with the writers' record and with a fold of the writers' copies.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::EventSet;
use ken_core::values::id::EventId;
use ken_remote::wire::PullResponse;
use ken_testkit::http::TestHttpClient;
use ken_testkit::postgres::PostgresServer;

use crate::hubs::{DATABASE, PushTenant, SupervisedHubs, state_hash};
use crate::writers::{PushRecord, WorkspacePushes, events_path};

/// Events per page; small, so that there are several pages.
const PAGE_EVENTS: u32 = 100;

/// Interval without changes that counts as settled, and the maximum number of attempts.
const SETTLE_INTERVAL: Duration = Duration::from_millis(300);
const SETTLE_ATTEMPTS_MAX: u32 = 200;

/// Asserts for every workspace, through every hub: each acknowledged event is in the log, each
/// event of the log was sent, none is in it twice, every line is as its writer wrote it (or
/// redacted), and the state is the fold of these lines.
pub(crate) fn check_logs(
    server: &PostgresServer,
    hubs: &SupervisedHubs,
    tenant: &PushTenant,
    log: &PushRecord,
) {
    assert!(log.acknowledged() > 0, "nobody wrote anything");
    hubs.wait();
    wait_until_settled(server);
    for workspace in &tenant.workspaces {
        let sent = log.of(workspace);
        let mut states = BTreeSet::new();
        for number in 0..2 {
            let held = pull_log(hubs, number, tenant, workspace);
            states.insert(compare_log(workspace, &sent, &held));
        }
        states.insert(state_hash(server, workspace));
        assert_eq!(
            states.len(),
            1,
            "{workspace}: hubs and the oracle fold alike"
        );
    }
    #[expect(
        clippy::print_stderr,
        reason = "figures for docs/explanation/reliability.md"
    )]
    {
        use std::sync::atomic::Ordering::Relaxed;
        eprintln!(
            "{} events acknowledged, 0 lost, 0 doubled; {} requests cut, {} unanswered",
            log.acknowledged(),
            log.cut.load(Relaxed),
            log.unanswered.load(Relaxed),
        );
    }
}

/// Waits until abandoned requests have completed or failed, so that every comparison sees the same
/// log.
fn wait_until_settled(server: &PostgresServer) {
    let heads = || {
        let busy = "select count(*) from pg_stat_activity where application_name = 'ken-hub' and state <> 'idle'";
        let heads = "select sum(head) from ken.workspaces";
        (server.sql(DATABASE, busy), server.sql(DATABASE, heads))
    };
    for _ in 0..SETTLE_ATTEMPTS_MAX {
        let before = heads();
        std::thread::sleep(SETTLE_INTERVAL);
        if before.0 == "0" && before == heads() {
            return;
        }
    }
    panic!("requests do not end: {:?}", heads());
}

/// Compares a log with the sent events and returns the hash of the state that follows from the
/// writers' copies.
fn compare_log(
    workspace: &str,
    sent: &WorkspacePushes,
    held: &BTreeMap<EventId, RecordedEvent>,
) -> String {
    let lost: Vec<_> = sent
        .acknowledged
        .iter()
        .filter(|id| !held.contains_key(id))
        .collect();
    assert!(
        lost.is_empty(),
        "{workspace}: acknowledged and gone: {lost:?}"
    );
    let strange: Vec<_> = held
        .keys()
        .filter(|id| !sent.events.contains_key(id))
        .collect();
    assert!(strange.is_empty(), "{workspace}: nobody wrote {strange:?}");
    let mut oracle = EventSet::default();
    for id in held.keys() {
        oracle.add(sent.events[id].clone());
    }
    for copy in oracle.events() {
        assert_eq!(held[&copy.event.id].line(), copy.line(), "{workspace}");
    }
    oracle.fold().hash()
}

fn pull_log(
    hubs: &SupervisedHubs,
    number: usize,
    tenant: &PushTenant,
    workspace: &str,
) -> BTreeMap<EventId, RecordedEvent> {
    let mut client = TestHttpClient::new(&tenant.token);
    let hub = hubs.addresses()[number];
    let (mut held, mut cursor) = (BTreeMap::new(), "0".to_owned());
    loop {
        let page = format!(
            "{}?after={cursor}&limit={PAGE_EVENTS}",
            events_path(workspace)
        );
        let answer = client.get(hub, &page).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let page: PullResponse = serde_json::from_str(&answer.body).unwrap();
        for line in &page.events {
            let copy = RecordedEvent::parse(line.get().as_bytes()).unwrap();
            let twice = held.insert(copy.event.id, copy);
            assert!(twice.is_none(), "{workspace}: twice in the log: {twice:?}");
        }
        if !page.more {
            return held;
        }
        cursor = page.cursor.to_string();
    }
}
