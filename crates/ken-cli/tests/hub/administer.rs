//! `ken hub`: what an operator does, and what goes wrong.

use crate::site::{ORGANISATION, Site, WORKSPACE, add, hub_command};

#[test]
fn names_that_are_taken_or_unknown_are_said() {
    let site = Site::new();
    let an_id = "0193324e-7a3b-7c00-8000-000000000001";
    let token = format!("token create {ORGANISATION}");
    for (words, exit, said) in [
        (
            format!("organisation add {ORGANISATION}"),
            0,
            "there is one called `acme` already",
        ),
        ("organisation add Not-A-Name".into(), 2, "Not-A-Name"),
        (
            "workspace add nobody w".into(),
            2,
            "there is no organisation `nobody`",
        ),
        (
            format!("workspace add {ORGANISATION} {WORKSPACE}"),
            0,
            "there is one called `payments` already",
        ),
        (
            format!("workspace add {ORGANISATION} {an_id}"),
            2,
            "a name that reads as an id",
        ),
        (
            format!("rebuild {ORGANISATION} nothing"),
            2,
            "the organisation has no workspace `nothing`",
        ),
        (
            format!("token revoke {ORGANISATION} x"),
            2,
            "the organisation has no token `x`",
        ),
        (
            format!("{token} --role agent --actor human:ada@example.org"),
            2,
            "agents write in no person's name",
        ),
        (
            format!("{token} --role reader --actor human:ada@example.org --workspace nothing"),
            2,
            "`ken hub workspace list ORGANISATION`",
        ),
        (
            format!("{token} --role admin --actor agent:claude"),
            2,
            "agents never approve",
        ),
        (
            "migrate".into(),
            0,
            "the database is at this build's version",
        ),
    ] {
        let split: Vec<&str> = words.split(' ').collect();
        let run = hub_command(site.database.url(), &split);
        assert_eq!(run.exit, exit, "{words}: {run}");
        assert!(run.stderr.contains(said), "{words}: {run}");
    }
}

#[test]
fn a_workspace_is_rebuilt_and_evicted_and_nobody_notices() {
    let site = Site::new();
    let (one, other) = (site.clone(1), site.clone(2));
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    let rebuilt = site.administer(&["rebuild", ORGANISATION, WORKSPACE]);
    assert!(
        rebuilt.starts_with("payments: 1 event, 1 entry, "),
        "{rebuilt}"
    );
    let evicted = site.administer(&["evict", ORGANISATION, WORKSPACE]);
    assert_eq!(evicted, "payments: evicted, 1 event kept");
    let status = site.administer(&["status", ORGANISATION]);
    assert!(
        status.starts_with("WORKSPACE  EVENTS  BYTES  LAST")
            && status.contains("\npayments   1 ")
            && status.ends_with("evicted"),
        "{status}"
    );
    assert_eq!(other.run(["pull"]).stderr, "1 event is new here\n");
}

#[test]
fn what_is_made_twice_is_made_once_and_everything_is_listed() {
    let site = Site::new();
    let [first, again] = [(); 2].map(|()| site.administer(&["workspace", "add", "acme", "search"]));
    assert_eq!(first, again);
    let listed = site.administer(&["organisation", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["name"], "acme");
    assert_eq!(listed["workspaces"], 2);
    let known = site.administer(&["organisation", "add", "acme"]);
    assert_eq!(listed["id"], known.as_str());
    let held = [
        "token",
        "create",
        "acme",
        "--role",
        "reader",
        "--actor",
        "human:eve",
        "--workspace",
        "search",
    ];
    site.administer(&held);
    let tokens = site.administer(&["token", "list", "acme"]);
    let heads: Vec<&str> = tokens.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads, ["ID", "ROLE", "ACTOR", "WORKSPACES", "ENDS"]);
    let row: Vec<&str> = tokens.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[1..4], ["reader", "human:eve", "search"]);
    for said in ["opens nothing any more", "it was revoked before"] {
        let revoke = ["token", "revoke", "acme", row[0]];
        let run = hub_command(site.database.url(), &revoke);
        assert!(run.stderr.contains(said), "{run}");
    }
}

#[test]
fn quotas_are_shown_set_obeyed_and_given_back() {
    let site = Site::new();
    let shown = |words: &[&str]| {
        let words = [&["quota", ORGANISATION, "--format", "json"], words].concat();
        let told = site.administer(&words);
        serde_json::from_str::<serde_json::Value>(&told).unwrap()
    };
    assert_eq!(shown(&[])["own"], serde_json::json!([]));
    let set = shown(&["--events", "1", "--workspaces", "1"]);
    assert_eq!((&set["events"], &set["workspaces"]), (&1.into(), &1.into()));
    assert_eq!(set["own"], serde_json::json!(["workspaces", "events"]));
    let run = hub_command(site.database.url(), &["workspace", "add", "acme", "more"]);
    assert_eq!(run.exit, 2, "{run}");
    assert!(run.stderr.contains("`ken hub quota ORGANISATION`"), "{run}");
    let one = site.clone(1);
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    add(&one, "Refunds are booked on the day they are asked for.");
    assert_ne!(one.run(["push"]).exit, 0);
    assert_eq!(site.events(), 1);
    let given_back = shown(&["--events", "default"]);
    assert_eq!(given_back["own"], serde_json::json!(["workspaces"]));
    let _ = one.run(["push"]).success();
    assert_eq!(site.events(), 2);
    let id = site.administer(&["organisation", "add", ORGANISATION]);
    let log = "select subject from ken.audit where act = 'quota.changed' order by at limit 1";
    let log = site
        .database
        .sql(&format!("set ken.organisation = '{id}'; {log}"));
    assert_eq!(
        log.trim().lines().last(),
        Some("workspaces 1, events 1, bytes default, requests-per-minute default")
    );
}

#[test]
fn an_address_that_leads_nowhere_is_said_without_its_password() {
    let run = hub_command(
        "postgres://ken:sesame-7x@127.0.0.1:1/ken",
        &["status", "acme"],
    );
    assert_eq!(run.exit, 2, "{run}");
    assert!(
        run.stderr.contains("cannot connect to the database"),
        "{run}"
    );
    assert!(!run.stderr.contains("sesame"), "{run}");
    assert_eq!(run.stderr.matches("refused").count(), 1, "{run}");
    let run = hub_command("mysql://ken@127.0.0.1/ken", &["status", "acme"]);
    assert!(run.stderr.contains("begin it with postgres://"), "{run}");
    let run = hub_command("", &["status", "acme"]);
    assert!(run.stderr.contains("set KEN_DATABASE_URL"), "{run}");
}
