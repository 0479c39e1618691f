//! Pages that count or list across entries, runs and workspaces: revocation, injection log, audit
//! export, start page, JSON.

use ken_core::ledger::event::AdmissionVerdict;
use ken_core::values::content::EntryScope;
use ken_core::values::kind::EntryKind;
use ken_hub::ids::Role;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::hub::ApiHubEnvironment;

fn writer(hub: &ApiHubEnvironment, seed: u64) -> EventWriter {
    let mut scribe = EventWriter::new(seed);
    scribe.now = hub.app.clock.now();
    scribe
}

#[track_caller]
fn post(hub: &ApiHubEnvironment, token: &str, path: &str, body: &Value) {
    let path = format!("/v1/workspaces/shop{path}");
    let answer = hub.post(&path, token, &body.to_string());
    assert!(answer.status < 300, "{path}: {}", answer.text());
}

/// Returns the number before a label on the page of a revocation.
fn number_of(page: &str, label: &str) -> String {
    let before = page.split(label).next().unwrap_or_default();
    let number = before.rsplit("<strong>").next().unwrap_or_default();
    number.split('<').next().unwrap_or_default().to_owned()
}

#[test]
fn a_preview_counts_the_runs_that_were_shown_the_entries() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = writer(&hub, 31);
    let (entry, copy) = scribe
        .by("agent:tester/7f3a")
        .propose("Refunds are idempotent");
    let (_, other) = scribe
        .by("agent:tester2")
        .propose("Charges are not idempotent");
    let pushed = hub.push(&hub.acme, &hub.acme.curator, &[copy, other]);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    let curator = Browser::signed_in(&hub, &hub.acme.curator);
    let preview = |source: &str| curator.get(&format!("/revocation?source={source}")).text();
    for (run, shows) in [("R-1", true), ("R-2", false)] {
        let open = json!({"id": run, "agents": [{"agent": "agent:tester"}]});
        post(&hub, &hub.acme.agent, "/runs", &open);
        if shows {
            let path = format!("/v1/workspaces/shop/entries/{entry}?run={run}&agent=agent:tester");
            let shown = hub.get(&path, &hub.acme.agent);
            assert_eq!(shown.status, 200, "{}", shown.text());
            // While the run is open, the page of the entry says who was shown it.
            let page = curator.get(&format!("/w/shop/e/{entry}")).text();
            assert!(page.contains("R-1"), "{page}");
        }
        let close = json!({"outcome": "succeeded"});
        post(&hub, &hub.acme.agent, &format!("/runs/{run}/close"), &close);
    }
    let page = preview("agent:tester");
    assert_eq!(number_of(&page, "live entries"), "1", "{page}");
    assert_eq!(number_of(&page, "runs that were shown them"), "1", "{page}");
    // The agent took part in both runs, and neither was shown an entry of this one.
    let page = preview("agent:tester2");
    assert_eq!(number_of(&page, "live entries"), "1", "{page}");
    assert_eq!(number_of(&page, "runs that were shown them"), "0", "{page}");
    assert!(preview("origin:human").contains("idempotent"));
}

#[test]
fn a_revocation_continues_after_a_workspace() {
    let hub = ApiHubEnvironment::start();
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"zoo"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let curator = Browser::signed_in(&hub, &hub.acme.curator);
    let done = curator.post("/revocation", "source=agent:scraper&after=shop");
    let page = done.text();
    assert!(page.contains("zoo: changed"), "{page}");
    assert!(!page.contains("shop: "), "{page}");
    let refused = curator.post("/revocation", "source=agent:scraper&after=NOT+A+NAME");
    assert_eq!(refused.status, 422);
}

#[test]
fn a_start_page_counts_what_waits_for_an_approval() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = writer(&hub, 37);
    let (_, promoted) = scribe.propose_with(EntryKind::Learning, "Refunds are idempotent", |it| {
        it.scope = EntryScope::Global;
    });
    scribe.verdict = AdmissionVerdict::Quarantined;
    let (_, quarantined) = scribe.propose("Charges are not idempotent");
    let pushed = hub.push(&hub.acme, &hub.acme.curator, &[promoted, quarantined]);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    let token = hub.token_of(Role::Curator, "human:cur@example.org");
    let curator = Browser::signed_in(&hub, &token);
    let inbox = curator.get("/w/shop/inbox?format=json").json();
    let number = |list: &str| inbox[list].as_array().expect("a list").len();
    assert_eq!(number("quarantined_entries"), 1, "{inbox}");
    assert_eq!(number("approvals"), 1, "{inbox}");
    let start = curator.get("/").text();
    assert!(start.contains("/w/shop/inbox\">2<"), "{start}");
}

#[test]
fn an_export_has_every_record_and_is_recorded() {
    let hub = ApiHubEnvironment::start();
    hub.database.sql(&format!(
        "insert into ken.audit (workspace_id, id, at, by, role, act, subject)
         select '{}', gen_random_uuid(), 1, 'human:old@example.org', 'admin', 'test.written', n::text
         from generate_series(1, 2500) n",
        hub.acme.organization.0
    ));
    let (_, copy) = writer(&hub, 41).propose("Refunds are idempotent");
    let event = copy.event.id.to_string();
    assert_eq!(hub.push(&hub.acme, &hub.acme.admin, &[copy]).status, 200);
    let admin = Browser::signed_in(&hub, &hub.acme.admin);
    let csv = admin
        .get("/audit/export?format=csv&act=test.written")
        .text();
    assert_eq!(csv.lines().count(), 1 + 2_500);
    let lines = admin
        .get("/audit/export?format=jsonl&act=test.written")
        .text();
    assert_eq!(lines.lines().count(), 2_500);
    let pushes = admin
        .get("/audit/export?workspace=shop&act=events.pushed")
        .text();
    let head = pushes.lines().next().unwrap_or_default();
    assert!(head.ends_with(",entries,events"), "{head}");
    assert!(pushes.contains(&event), "{pushes}");
    let log = hub
        .get("/v1/audit?act=audit.exported", &hub.acme.admin)
        .json();
    let items = log["items"].as_array().expect("records");
    assert_eq!(items.len(), 3, "{log}");
    assert_eq!(items[2]["subject"], "format=csv&act=test.written");
    assert_eq!(items[2]["by"], "human:ada@example.org");
}

#[test]
fn every_page_of_a_workspace_links_to_its_json() {
    let hub = ApiHubEnvironment::start();
    let (entry, copy) = writer(&hub, 43).propose("Refunds are idempotent");
    assert_eq!(hub.push(&hub.acme, &hub.acme.admin, &[copy]).status, 200);
    let run = json!({"id": "R-1", "agents": [{"agent": "agent:tester"}]});
    post(&hub, &hub.acme.agent, "/runs", &run);
    let curator = Browser::signed_in(&hub, &hub.acme.curator);
    let pages = [
        "",
        "inbox",
        "entries",
        "entries?q=refunds",
        "add",
        "runs",
        "runs/id/R-1",
        "brief",
        "brief?task=refunds",
        "impact",
        "health",
        "stats",
        "norms",
        "people",
        "settings",
    ]
    .map(str::to_owned);
    let of_entry = ["", "/history", "/near"].map(|it| format!("e/{entry}{it}"));
    for page in pages.into_iter().chain(of_entry) {
        let html = curator.get(&format!("/w/shop/{page}"));
        assert_eq!(html.status, 200, "{page}");
        let text = html.text();
        let link = text.split('"').find(|it| it.contains("format=json"));
        let link = link
            .unwrap_or_else(|| panic!("{page} has no link"))
            .replace("&amp;", "&");
        let document = curator.get(&link);
        assert_eq!(document.status, 200, "{link}: {}", document.text());
        assert!(
            document
                .header("content-type")
                .starts_with("application/json"),
            "{link}"
        );
        document.json();
    }
    for page in [
        "/",
        "/search",
        "/review",
        "/revocation",
        "/account",
        "/device",
    ] {
        let text = curator.get(page).text();
        assert!(!text.contains("format=json"), "{page}");
    }
}
