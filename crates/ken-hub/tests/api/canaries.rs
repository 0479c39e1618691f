//! Tenant isolation: two tenants with unique texts and thousands of interleaved requests over few
//! connections. No response to one tenant contains the other's text.

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::IdSource as _;
use ken_testkit::build::{EventWriter, SeededIds};

use crate::hub::{ApiHubEnvironment, TenantFixture, bearer};

/// Number of requests; ten thousand under `KEN_LONG=1`.
fn request_count() -> usize {
    if ken_testkit::laws::is_long() {
        10_000
    } else {
        2_000
    }
}

const CANARIES: [&str; 2] = ["canarymarigold", "canaryhawthorn"];

fn push_canaries(hub: &ApiHubEnvironment, tenant: &TenantFixture, canary: &str, seed: u64) {
    let mut scribe = EventWriter::new(seed);
    let copies: Vec<RecordedEvent> = (0..20)
        .map(|n| {
            let told =
                format!("The {canary} service answers slowly while job {n} of the importer runs");
            scribe.propose(&told).1
        })
        .collect();
    let answer = hub.push(tenant, &tenant.curator, &copies);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Returns paths of both tenants, and some that match no tenant.
fn tenant_paths(hub: &ApiHubEnvironment) -> Vec<String> {
    let mut paths = vec![
        "/v1/workspaces".to_owned(),
        "/v1/tokens".to_owned(),
        "/v1/audit".to_owned(),
    ];
    for tenant in [&hub.acme, &hub.other] {
        for name in [tenant.name.clone(), tenant.workspace.0.to_string()] {
            let tails = [
                "",
                "/events",
                "/events?limit=3",
                "/audit",
                "/entries",
                "/search",
                "/runs",
                "/quarantined-events",
                "/quarantined-entries",
                "/promotions",
                "/outcomes?period=7d",
            ];
            paths.extend(tails.map(|tail| format!("/v1/workspaces/{name}{tail}")));
            paths.push(format!("/v1/briefing/{name}"));
        }
    }
    paths
}

#[test]
fn no_answer_holds_another_tenants_text() {
    // Two connections in total, so that transactions of both tenants share a connection.
    let hub = ApiHubEnvironment::start_with(|settings| settings.connections = 2);
    push_canaries(&hub, &hub.acme, CANARIES[0], 1);
    push_canaries(&hub, &hub.other, CANARIES[1], 2);
    let paths = tenant_paths(&hub);
    let (mut own, mut leaks) = (0, 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|n| {
                let (hub, paths) = (&hub, &paths);
                scope.spawn(move || send_random_requests(hub, paths, n))
            })
            .collect();
        for thread in threads {
            let (seen, leaked) = thread.join().expect("a thread");
            own += seen;
            leaks += leaked;
        }
    });
    assert_eq!(leaks, 0);
    // Each tenant must see its own text; otherwise the absence of leaks would prove nothing.
    assert!(own > request_count() / 20, "{own}");
}

fn send_random_requests(hub: &ApiHubEnvironment, paths: &[String], seed: u64) -> (usize, usize) {
    let agent = crate::hub::http_agent();
    let mut ids = SeededIds::new(seed);
    let mut any = |count: usize| ids.random() as usize % count;
    let (mut own, mut leaks) = (0, 0);
    for _ in 0..request_count() / 4 {
        let who = any(2);
        let tenant = [&hub.acme, &hub.other][who];
        let token = [
            &tenant.reader,
            &tenant.agent,
            &tenant.curator,
            &tenant.admin,
        ][any(4)];
        let token = bearer(token);
        let path = &paths[any(paths.len())];
        let headers = [
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "the-same-for-both"),
        ];
        let answer = match any(4) {
            // Both tenants use the same key and the same body.
            0 if path.ends_with("/events") => {
                let body = Some(&br#"{"events":[]}"#[..]);
                crate::hub::send(&agent, &hub.url, "POST", path, &headers, body)
            }
            _ if path.ends_with("/search") => {
                let body = Some(&br#"{"query":"which service answers slowly"}"#[..]);
                crate::hub::send(&agent, &hub.url, "POST", path, &headers[..2], body)
            }
            _ => crate::hub::send(&agent, &hub.url, "GET", path, &headers[..1], None),
        };
        assert!(answer.status < 500, "{path}: {}", answer.text());
        let told = answer.text();
        own += usize::from(told.contains(CANARIES[who]));
        let others = [&hub.other, &hub.acme][who];
        let foreign = [
            CANARIES[1 - who],
            &others.admin_id,
            &others.workspace.0.to_string(),
        ];
        if foreign.iter().any(|it| told.contains(*it)) {
            leaks += 1;
        }
    }
    (own, leaks)
}

#[test]
fn the_applications_role_sees_nothing_while_no_tenant_is_named() {
    let hub = ApiHubEnvironment::start();
    push_canaries(&hub, &hub.acme, CANARIES[0], 3);
    let tables = hub.database.sql(
        "select string_agg(relname, ' ') from pg_class join pg_namespace n on n.oid = relnamespace
         where nspname = 'ken' and relkind in ('r', 'p') and relname not in ('migrations', 'instance', 'compatibility') and not relispartition",
    );
    let mut looked = 0;
    for table in tables.split_whitespace() {
        let seen = hub.database.sql(&format!(
            "set role ken_app; select count(*) from ken.{table}"
        ));
        assert_eq!(seen.lines().last(), Some("0"), "{table}");
        looked += 1;
    }
    assert!(looked > 8, "{tables}");
    let there = hub.database.sql("select count(*) from ken.events");
    assert_eq!(there.trim(), "20", "there is something to be seen");
}
