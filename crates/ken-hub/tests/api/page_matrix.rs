//! Permission matrix of the web pages: every page and form × role × tenant, from one table.
//!
//! The routes come from the hub itself, the pages and actions of a workspace from `ken-ui`. A route
//! without a row fails the test, and so does a row without a route.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::AdmissionVerdict;
use ken_core::values::kind::EntryKind;
use ken_hub::ids::Role;
use ken_hub::ui::{PageAccess, page_routes};

use crate::browser::Browser;
use crate::hub::ApiHubEnvironment;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RequiredPageRole {
    Nobody,
    Reader,
    Member,
    Curator,
    Admin,
}

use RequiredPageRole::{Admin, Curator, Member, Nobody, Reader};

/// Every route with the role that it needs.
const PAGE_ROLES: &[(&str, &str, RequiredPageRole)] = &[
    ("GET", "/", Reader),
    ("GET", "/search", Reader),
    ("GET", "/review", Curator),
    ("GET", "/revocation", Curator),
    ("POST", "/revocation", Curator),
    ("GET", "/peers", Curator),
    ("GET", "/peers/{peer}", Curator),
    ("POST", "/peers/{peer}/{action}", Curator),
    ("GET", "/audit", Admin),
    ("GET", "/audit/export", Admin),
    ("GET", "/tokens", Admin),
    ("POST", "/tokens/create", Admin),
    ("POST", "/tokens/rotate", Admin),
    ("POST", "/tokens/revoke", Admin),
    ("POST", "/tokens/revoke-actor", Admin),
    ("GET", "/account", Reader),
    ("POST", "/account/settings", Reader),
    ("POST", "/sign-out", Reader),
    ("GET", "/device", Reader),
    ("POST", "/device/decide", Reader),
    ("GET", "/w/{workspace}/inbox", Curator),
    ("POST", "/w/{workspace}/review/{action}", Curator),
    ("GET", "/w/{workspace}", Reader),
    ("GET", "/w/{workspace}/", Reader),
    ("GET", "/w/{workspace}/{*page}", Reader),
    ("POST", "/w/{workspace}/{*page}", Reader),
    ("GET", "/sign-in", Nobody),
    ("POST", "/sign-in", Nobody),
    ("GET", "/sign-in/provider", Nobody),
    ("GET", "/sign-in/callback", Nobody),
    ("GET", "/static/{file}", Nobody),
    ("GET", "/favicon.ico", Nobody),
    ("POST", "/sign-in/logout", Nobody),
    ("POST", "/oauth/device_authorization", Nobody),
    ("POST", "/oauth/token", Nobody),
];

/// Name of a peer that no organization has.
const NO_PEER: &str = "nobody";

/// Pages of a workspace below its address, and the status for a person who may read it.
const WORKSPACE_PAGES: &[(&str, u16)] = &[
    ("", 200),
    ("entries", 200),
    ("entries?q=canary", 200),
    ("add", 200),
    ("runs", 200),
    ("brief", 200),
    ("brief?task=canary", 200),
    ("impact", 200),
    ("health", 200),
    ("stats", 200),
    ("norms", 200),
    ("people", 200),
    ("settings", 200),
    ("at/src/pay.rs", 404),
    ("change", 404),
    ("documents", 404),
    ("forage", 404),
    ("peers", 404),
    ("peers/acme", 404),
    ("nowhere", 404),
];

/// Forms of a workspace with valid fields, and the role that they need. A form that a repository
/// has and a hub does not is refused to everybody.
const WORKSPACE_FORMS: &[(&str, &str, Option<RequiredPageRole>)] = &[
    ("overlay", "overlay=pin&state=on", Some(Reader)),
    ("confirm", "", Some(Member)),
    ("edit", "statement=The+canary+sings+at+noon", Some(Member)),
    ("cite", "citation=pr:7", Some(Member)),
    ("feedback", "verdict=helpful", Some(Member)),
    (
        "add",
        "kind=learning&statement=A+new+claim+about+tides&citations=pr:8",
        Some(Member),
    ),
    ("revoke", "source=agent:nobody&state=on", Some(Curator)),
    ("keep-both", "first=ENTRY&second=ENTRY", Some(Member)),
    ("keep-one", "first=ENTRY&second=ENTRY", Some(Member)),
    (
        "keep-scoped",
        "first=ENTRY&second=ENTRY&first_tag=a&second_tag=b",
        Some(Member),
    ),
    ("retract", "reason=obsolete", Some(Member)),
    ("accept-code", "", None),
    ("reanchor", "to=src/pay.rs", None),
    ("restore", "", None),
    ("archive", "", None),
    ("status", "status=verified", None),
    ("link", "to=ENTRY&relation=refines", None),
    ("release", "reason=x", None),
    ("approve", "digest=x", None),
    ("promote", "", None),
    ("dismiss-contradiction", "first=ENTRY&second=ENTRY", None),
    ("merge", "first=ENTRY&second=ENTRY", None),
    ("supersede", "first=ENTRY&second=ENTRY", None),
    ("dismiss-duplicate", "first=ENTRY&second=ENTRY", None),
    ("reanchor-moved", "", None),
    ("accept-claims", "claim=x", None),
    ("reject-claims", "claim=x", None),
    ("maintain", "service=stale_sweep", None),
    ("import-documents", "", None),
    ("forage-domain", "host=a.example&decision=trust", None),
    (
        "approve-peer-entries",
        "peer=acme&words=L-7k2f5qm3+b3:00",
        None,
    ),
    ("reject-peer-entry", "peer=acme&reason=false", None),
    ("suspend-peer", "peer=acme", None),
    ("resume-peer", "peer=acme", None),
    ("undo", "step=01JCPQ3W6M7Y2K8T4D5F6G7H8J", None),
];

/// A person per role, signed in.
fn people<'h>(hub: &'h ApiHubEnvironment) -> Vec<(RequiredPageRole, Browser<'h>)> {
    let roles = [
        (Reader, Role::Reader, "human:rea@example.org"),
        (Member, Role::Member, "human:mel@example.org"),
        (Curator, Role::Curator, "human:cur@example.org"),
        (Admin, Role::Admin, "human:ada@example.org"),
    ];
    let signed_in = roles.map(|(needs, role, actor)| {
        let token = hub.token_of(role, actor);
        (needs, Browser::signed_in(hub, &token))
    });
    signed_in.into()
}

fn propose(hub: &ApiHubEnvironment) -> String {
    let mut scribe = ken_testkit::build::EventWriter::new(17);
    scribe.now = hub.app.clock.now();
    let (entry, copy) = scribe.propose("The canary of the shop sings in the morning");
    let answer = hub.push(&hub.acme, &hub.acme.admin, &[copy]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    entry.to_string()
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let routes: BTreeSet<(&str, &str)> = page_routes()
        .iter()
        .map(|it| (it.method, it.path))
        .collect();
    let rows: BTreeSet<(&str, &str)> = PAGE_ROLES
        .iter()
        .map(|(method, path, _)| (*method, *path))
        .collect();
    assert_eq!(routes, rows);
    assert_eq!(rows.len(), PAGE_ROLES.len(), "a row stands twice");
    let needs: BTreeMap<(&str, &str), RequiredPageRole> = PAGE_ROLES
        .iter()
        .map(|(method, path, role)| ((*method, *path), *role))
        .collect();
    for route in page_routes() {
        let is_public = needs[&(route.method, route.path)] == Nobody;
        assert_eq!(is_public, route.access == PageAccess::Public, "{route:?}");
    }
}

#[test]
fn every_action_and_page_of_a_workspace_has_a_row() {
    let rows: BTreeSet<&str> = WORKSPACE_FORMS.iter().map(|(name, ..)| *name).collect();
    let known: BTreeSet<&str> = ken_ui::action::ACTION_NAMES.iter().copied().collect();
    assert_eq!(rows, known);
    assert_eq!(rows.len(), WORKSPACE_FORMS.len(), "a row stands twice");
    for (page, _) in WORKSPACE_PAGES
        .iter()
        .filter(|(page, _)| *page != "nowhere")
    {
        let address = ken_ui::address::PageAddress::parse_href(&format!("/{page}"));
        assert!(address.is_some(), "{page}");
    }
}

#[test]
fn roles_times_pages_times_tenants() {
    let hub = ApiHubEnvironment::start();
    let entry = propose(&hub);
    let people = people(&hub);
    let stranger = Browser::new(&hub);
    let mut asked = 0;
    let pages = PAGE_ROLES
        .iter()
        .filter(|(method, _, role)| *method == "GET" && *role != Nobody);
    for (_, pattern, needs) in pages {
        let is_in_workspace = pattern.contains("{workspace}");
        let mut paths = vec![pattern.replace("{*page}", "entries")];
        if pattern.contains("{*page}") {
            let below = WORKSPACE_PAGES
                .iter()
                .map(|(page, _)| pattern.replace("{*page}", page));
            paths.extend(below.filter(|it| !it.ends_with('/')));
            paths.extend(
                ["", "/history", "/near"]
                    .map(|it| pattern.replace("{*page}", &format!("e/{entry}{it}"))),
            );
        }
        for path in paths {
            let own = path
                .replace("{workspace}", "shop")
                .replace("{peer}", NO_PEER);
            let answer = stranger.get(&own);
            assert_eq!(answer.status, 303, "{own}");
            assert!(
                answer.header("location").starts_with("/sign-in?target="),
                "{own}"
            );
            for (role, browser) in &people {
                let answer = browser.get(&own);
                let expected = expected_status(&own);
                if role < needs {
                    assert_eq!(answer.status, 403, "{role:?} {own}: {}", answer.text());
                } else {
                    assert_eq!(answer.status, expected, "{role:?} {own}: {}", answer.text());
                    assert!(!answer.text().contains("vault"), "{role:?} {own}");
                }
                asked += 1;
                if is_in_workspace {
                    asked += check_foreign_page(&hub, browser, &path);
                }
            }
        }
    }
    assert!(asked > 300, "{asked}");
}

/// Pages that count entries or list them, with and without those that are not live.
const COUNTING_PAGES: &[&str] = &[
    "",
    "entries",
    "entries?show=all",
    "entries?show=archived",
    "entries?show=all&format=json",
    "norms",
    "people",
    "health",
    "stats",
];

#[test]
fn readers_see_nothing_of_quarantined_entries() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = ken_testkit::build::EventWriter::new(23);
    scribe.now = hub.app.clock.now();
    scribe.verdict = AdmissionVerdict::Quarantined;
    let (entry, copy) =
        scribe.propose_with(EntryKind::Spike, "The unseen claim about the shop", |it| {
            it.content.tags.insert("unseen-tag".parse().expect("a tag"));
        });
    let pushed = hub.push(&hub.acme, &hub.acme.curator, &[copy]);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    for (role, browser) in &people(&hub) {
        let mut is_seen = false;
        for page in COUNTING_PAGES {
            let text = browser.get(&format!("/w/shop/{page}")).text();
            for hidden in ["unseen-tag", "unseen claim", &entry.to_string()] {
                is_seen |= text.contains(hidden);
                let is_hidden = *role >= Curator || !text.contains(hidden);
                assert!(is_hidden, "{role:?} {page} {hidden}: {text}");
            }
        }
        // The pages do show it to people who may see it, so its absence means something.
        assert_eq!(is_seen, *role >= Curator, "{role:?}");
    }
}

fn expected_status(path: &str) -> u16 {
    if path == "/w/shop" {
        return 303;
    }
    // `peer_pages` has the pages of a peer that exists.
    if path == format!("/peers/{NO_PEER}") {
        return 404;
    }
    let page = path.strip_prefix("/w/shop/").unwrap_or_default();
    let row = WORKSPACE_PAGES.iter().find(|(name, _)| *name == page);
    row.map_or(200, |(_, status)| *status)
}

/// In another tenant's workspace: the page equals that of a missing workspace.
fn check_foreign_page(hub: &ApiHubEnvironment, browser: &Browser<'_>, path: &str) -> usize {
    let by_id = hub.other.workspace.0.to_string();
    let missing = browser.get(&path.replace("{workspace}", "nowhere"));
    assert_eq!(missing.status, 404, "{path}");
    for workspace in ["vault", &by_id] {
        let answer = browser.get(&path.replace("{workspace}", workspace));
        assert_eq!(answer.status, 404, "{path} {workspace}");
        assert_eq!(
            answer.without_tokens(),
            missing.without_tokens(),
            "{path} {workspace}"
        );
    }
    2
}

#[test]
fn roles_times_forms_times_tenants() {
    let hub = ApiHubEnvironment::start();
    let entry = propose(&hub);
    let people = people(&hub);
    let mut asked = 0;
    for (name, fields, needs) in WORKSPACE_FORMS {
        let fields = format!("entry={entry}&{}", fields.replace("ENTRY", &entry));
        for workspace in ["shop", "vault", "nowhere"] {
            let path = format!("/w/{workspace}/do/{name}");
            let stranger = Browser::new(&hub).post(&path, &fields);
            assert_eq!(stranger.status, 401, "{path}");
        }
        for (role, browser) in &people {
            let path = format!("/w/shop/do/{name}");
            assert_eq!(
                browser.post_without_token(&path, &fields).status,
                403,
                "{path}"
            );
            let missing = browser.post(&format!("/w/nowhere/do/{name}"), &fields);
            let foreign = browser.post(&format!("/w/vault/do/{name}"), &fields);
            assert_eq!((missing.status, foreign.status), (404, 404), "{path}");
            assert_eq!(missing.without_tokens(), foreign.without_tokens(), "{path}");
            let answer = browser.post(&path, &fields);
            let may = needs.is_some_and(|needs| *role >= needs);
            match (may, needs) {
                // Done, or refused because of the entry and not of the person.
                (true, _) => assert!(
                    [303, 409, 422].contains(&answer.status),
                    "{role:?} {path}: {} {}",
                    answer.status,
                    answer.text()
                ),
                (false, Some(_)) => {
                    assert_eq!(answer.status, 403, "{role:?} {path}: {}", answer.text());
                }
                (false, None) => assert!(
                    [403, 422].contains(&answer.status),
                    "{role:?} {path}: {} {}",
                    answer.status,
                    answer.text()
                ),
            }
            asked += 4;
        }
    }
    assert!(asked > 400, "{asked}");
}

#[test]
fn forms_above_workspaces_need_their_role_and_their_token() {
    let hub = ApiHubEnvironment::start();
    let people = people(&hub);
    let forms = PAGE_ROLES.iter().filter(|(method, path, role)| {
        *method == "POST" && *role != Nobody && !path.contains("{*page}")
    });
    for (_, pattern, needs) in forms {
        if *pattern == "/sign-out" {
            continue;
        }
        let path = pattern
            .replace("{workspace}", "shop")
            .replace("{peer}", NO_PEER)
            .replace("{action}", "approve");
        let fields = "source=agent:x&name=n&role=reader&actor=human:other@example.org&token=x&subject=L-7k2f5qm3&decision=refuse&code=BCDF-GHJK&theme=dark";
        assert_eq!(Browser::new(&hub).post(&path, fields).status, 401, "{path}");
        for (role, browser) in &people {
            assert_eq!(
                browser.post_without_token(&path, fields).status,
                403,
                "{role:?} {path}"
            );
            assert_eq!(
                browser.post_from_other_site(&path, fields).status,
                403,
                "{role:?} {path}"
            );
            let answer = browser.post(&path, fields);
            if role < needs {
                assert_eq!(answer.status, 403, "{role:?} {path}: {}", answer.text());
            } else {
                assert!(
                    [200, 303, 404, 422].contains(&answer.status),
                    "{role:?} {path}: {} {}",
                    answer.status,
                    answer.text()
                );
            }
        }
    }
}

#[test]
fn a_restricted_person_sees_their_workspaces_only() {
    let hub = ApiHubEnvironment::start();
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"second"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let workspaces = Some(vec![hub.acme.workspace]);
    let made = crate::hub::create_token(
        &hub.app,
        hub.acme.organization,
        Role::Admin,
        workspaces,
        None,
    );
    let (_, secret) = hub.runtime.block_on(made);
    let browser = Browser::signed_in(&hub, secret.reveal());
    let start = browser.get("/").text();
    assert!(
        start.contains("/w/shop/") && !start.contains("second"),
        "{start}"
    );
    assert_eq!(browser.get("/w/second/entries").status, 404);
    for page in ["/tokens", "/audit", "/audit/export"] {
        assert_eq!(browser.get(page).status, 403, "{page}");
        assert!(!start.contains(&format!("href=\"{page}\"")), "{page}");
    }
}
