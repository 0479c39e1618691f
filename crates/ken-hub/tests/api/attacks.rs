//! The attacks of the load test (`cargo ken-bench hub --attacks`) in a short form: another tenant
//! keeps being answered, and probes at once.
//!
//! The bars are wide: a test machine is busy with other tests. The load test has the real ones.
//! `KEN_LONG=1` runs the attacks at full strength.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_testkit::attacks::{AttackTarget, HubAttack, TenantView, WatchedTenant};
use ken_testkit::build::EventWriter;

use crate::hub::{ApiHubEnvironment, TenantFixture};

/// How strong the attacks are.
struct Strength {
    /// Part of the full number of connections.
    part: usize,
    /// Duration of an attack.
    lasts: Duration,
    /// Entries of the attacked workspace.
    entries: usize,
}

impl Strength {
    fn chosen() -> Self {
        let (part, lasts, entries) = if ken_testkit::laws::is_long() {
            (1, Duration::from_secs(10), 12_000)
        } else {
            (4, Duration::from_millis(2_500), ENTRIES)
        };
        Self {
            part,
            lasts,
            entries,
        }
    }
}

/// Longest probe and search under an attack. Before the limits, a search took 9 to 22 s.
const PROBE_MAX: Duration = Duration::from_secs(1);
const SEARCH_P95_MAX: Duration = Duration::from_secs(2);

/// Entries of the other tenant.
const ENTRIES: usize = 300;

fn fill(hub: &ApiHubEnvironment, tenant: &TenantFixture, seed: u64, entries: usize) {
    let mut scribe = EventWriter::new(seed);
    let copies: Vec<RecordedEvent> = (0..entries)
        .map(|n| {
            let told = format!("Gateway {n} times out while worker {n} of the importer retries");
            scribe.propose(&told).1
        })
        .collect();
    for batch in copies.chunks(ENTRIES) {
        let answer = hub.push(tenant, &tenant.curator, batch);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[test]
fn an_attack_of_one_tenant_leaves_another_and_the_probes_alone() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let probes = free.local_addr().expect("bound");
    drop(free);
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.metrics = Some(probes);
        // The real limits, which tests that are not about them lift.
        settings.limits = ken_hub::limits::HubLimits::default();
    });
    let strength = Strength::chosen();
    fill(&hub, &hub.acme, 21, strength.entries);
    fill(&hub, &hub.other, 22, ENTRIES);
    let search = |query: &str| serde_json::json!({ "query": query }).to_string();
    let watched = WatchedTenant {
        hub: hub.address,
        probes,
        token: hub.other.reader.clone(),
        path: "/v1/workspaces/vault/search".to_owned(),
        bodies: vec![
            search("gateway times out"),
            search("worker of the importer"),
        ],
    };
    let target = AttackTarget {
        hub: hub.address,
        token: hub.acme.agent.clone(),
        workspace: "/v1/workspaces/shop".to_owned(),
        // Every number occurs in an entry.
        words: (0..2_500).map(|n| format!("{n} ")).collect(),
    };
    let _ = watched.watch(strength.lasts / 5);
    for attack in HubAttack::ALL {
        let calm = watched.watch(strength.lasts).search_p95();
        let stop = Arc::new(AtomicBool::new(false));
        let (view, counts) = std::thread::scope(|scope| {
            let attacking = scope.spawn(|| attack.run(&target, strength.part, &stop));
            let view = watched.watch(strength.lasts);
            stop.store(true, Ordering::Relaxed);
            (view, attacking.join().expect("a thread"))
        });
        let TenantView {
            failed_searches,
            failed_probes,
            ..
        } = view;
        assert_eq!((failed_searches, failed_probes), (0, 0), "{attack:?}");
        let (p95, (_, probe)) = (view.search_p95(), view.probe_times());
        println!("{attack:?}: p95 {calm:?} -> {p95:?}, /readyz at most {probe:?}; {counts:?}");
        // A busy machine is slow without an attack, too.
        let limit = SEARCH_P95_MAX.max(calm * 3);
        assert!(p95 < limit, "{attack:?}: {p95:?}, {counts:?}");
        assert!(probe < PROBE_MAX, "{attack:?}: {probe:?}, {counts:?}");
        assert!(!counts.is_empty(), "{attack:?} did nothing");
    }
}
