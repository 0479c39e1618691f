//! What a hub has, held against the outside log and against a fold of the writers' own copies.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::state::EventSet;
use ken_remote::wire::Pulled;
use ken_testkit::http::Client;
use ken_testkit::postgres::Postgres;

use crate::hubs::{DATABASE, Hubs, Tenant, state_hash};
use crate::writers::{Log, Sent, path};

/// Events of a page; small, so that there are several.
const PAGE: u32 = 100;

/// How long nothing must have changed, and how often that is tried.
const SETTLE: Duration = Duration::from_millis(300);
const SETTLE_MAX: u32 = 200;

/// Asserts, for every workspace and through every hub: what was acknowledged is in the log, what is in the log was sent, nothing
/// is in it twice, every line is what its writer wrote (or its blanked form), and the state is the fold of that.
pub(crate) fn check(server: &Postgres, hubs: &Hubs, tenant: &Tenant, log: &Log) {
    assert!(0 < log.acknowledged(), "nobody wrote anything");
    hubs.wait();
    settle(server);
    for workspace in &tenant.workspaces {
        let sent = log.of(workspace);
        let mut states = BTreeSet::new();
        for number in 0..2 {
            let held = pull(hubs, number, tenant, workspace);
            states.insert(compare(workspace, &sent, &held));
        }
        states.insert(state_hash(server, workspace));
        assert_eq!(
            states.len(),
            1,
            "{workspace}: hubs and the oracle fold alike"
        );
    }
    #[expect(clippy::print_stderr, reason = "figures for docs/reliability.md")]
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

/// Waits until what nobody waits for any more is done or given up, so that every look sees the same.
fn settle(server: &Postgres) {
    let heads = || {
        let busy = "select count(*) from pg_stat_activity where application_name = 'ken-hub' and state <> 'idle'";
        let heads = "select sum(head) from ken.workspaces";
        (server.sql(DATABASE, busy), server.sql(DATABASE, heads))
    };
    for _ in 0..SETTLE_MAX {
        let before = heads();
        std::thread::sleep(SETTLE);
        if before.0 == "0" && before == heads() {
            return;
        }
    }
    panic!("requests do not end: {:?}", heads());
}

/// Compares a log with what was sent and returns the hash of the state that follows from the writers' copies.
fn compare(workspace: &str, sent: &Sent, held: &BTreeMap<EventId, Recorded>) -> String {
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

fn pull(
    hubs: &Hubs,
    number: usize,
    tenant: &Tenant,
    workspace: &str,
) -> BTreeMap<EventId, Recorded> {
    let mut client = Client::new(&tenant.token);
    let hub = hubs.addresses()[number];
    let (mut held, mut cursor) = (BTreeMap::new(), "0".to_owned());
    loop {
        let page = format!("{}?after={cursor}&limit={PAGE}", path(workspace));
        let answer = client.get(hub, &page).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let page: Pulled = serde_json::from_str(&answer.body).unwrap();
        for line in &page.events {
            let copy = Recorded::parse(line.get().as_bytes()).unwrap();
            let twice = held.insert(copy.event.id, copy);
            assert!(twice.is_none(), "{workspace}: twice in the log: {twice:?}");
        }
        if !page.more {
            return held;
        }
        cursor = page.cursor.to_string();
    }
}
