//! `ken hub`: operator commands and their errors.

use crate::site::{HubTestEnvironment, ORGANIZATION, WORKSPACE, add_entry, run_hub};

#[test]
fn names_that_are_taken_or_unknown_are_said() {
    let site = HubTestEnvironment::new();
    let an_id = "0193324e-7a3b-7c00-8000-000000000001";
    let token = format!("token create {ORGANIZATION}");
    for (words, exit, said) in [
        (
            format!("organization add {ORGANIZATION}"),
            0,
            "organization `acme` already exists",
        ),
        ("organization add Not-A-Name".into(), 2, "Not-A-Name"),
        (
            "workspace add nobody w".into(),
            2,
            "there is no organization `nobody`",
        ),
        (
            format!("workspace add {ORGANIZATION} {WORKSPACE}"),
            0,
            "workspace `payments` already exists",
        ),
        (
            format!("workspace add {ORGANIZATION} {an_id}"),
            2,
            "must not have the form of an id",
        ),
        (
            format!("rebuild {ORGANIZATION} nothing"),
            2,
            "the organization has no workspace `nothing`",
        ),
        (
            format!("token revoke {ORGANIZATION} x"),
            2,
            "the organization has no token `x`",
        ),
        (
            format!("{token} --role agent --actor human:ada@example.org"),
            2,
            "cannot act as a person",
        ),
        (
            format!("{token} --role reader --actor human:ada@example.org --workspace nothing"),
            2,
            "`ken hub workspace list ORGANIZATION`",
        ),
        (
            format!("{token} --role admin --actor agent:claude"),
            2,
            "agents never approve",
        ),
        ("migrate".into(), 0, "the database schema is up to date"),
    ] {
        let split: Vec<&str> = words.split(' ').collect();
        let run = run_hub(site.database.url(), &split);
        assert_eq!(run.exit, exit, "{words}: {run}");
        assert!(run.stderr.contains(said), "{words}: {run}");
    }
}

#[test]
fn a_workspace_is_rebuilt_and_evicted_and_nobody_notices() {
    let site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    let rebuilt = site.administer(&["rebuild", ORGANIZATION, WORKSPACE]);
    assert!(
        rebuilt.starts_with("payments: 1 event, 1 entry, "),
        "{rebuilt}"
    );
    let evicted = site.administer(&["evict", ORGANIZATION, WORKSPACE]);
    assert_eq!(evicted, "payments: evicted, 1 event kept");
    let status = site.administer(&["status", ORGANIZATION]);
    assert!(
        status.starts_with("WORKSPACE  EVENTS  BYTES  LAST")
            && status.contains("\npayments   1 ")
            && status.ends_with("evicted"),
        "{status}"
    );
    assert_eq!(other.run(["pull"]).stderr, "1 new event\n");
}

#[test]
fn what_is_made_twice_is_made_once_and_everything_is_listed() {
    let site = HubTestEnvironment::new();
    let [first, again] = [(); 2].map(|()| site.administer(&["workspace", "add", "acme", "search"]));
    assert_eq!(first, again);
    let listed = site.administer(&["organization", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["name"], "acme");
    assert_eq!(listed["workspaces"], 2);
    let known = site.administer(&["organization", "add", "acme"]);
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
    let wanted = [
        "ID",
        "ROLE",
        "ACTOR",
        "WORKSPACES",
        "LAST",
        "USED",
        "EXPIRES",
    ];
    assert_eq!(heads, wanted);
    let row: Vec<&str> = tokens.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[1..4], ["reader", "human:eve", "search"]);
    for said in ["revoked the reader token", "already revoked at"] {
        let revoke = ["token", "revoke", "acme", row[0]];
        let run = run_hub(site.database.url(), &revoke);
        assert!(run.stderr.contains(said), "{run}");
    }
}

#[test]
fn a_workspace_is_renamed_removed_restored_and_erased() {
    let site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    let id = site.administer(&["workspace", "rename", ORGANIZATION, WORKSPACE, "billing"]);
    // Another hub process may know the former name for a minute; a new one does not.
    let run = run_hub(site.database.url(), &["rebuild", ORGANIZATION, WORKSPACE]);
    assert!(run.stderr.contains("was renamed to `billing`"), "{run}");
    let removed = run_hub(
        site.database.url(),
        &["workspace", "remove", ORGANIZATION, "billing"],
    );
    assert_eq!(removed.stdout.trim(), id, "{removed}");
    assert!(removed.stderr.contains("will be erased on"), "{removed}");
    let left = site.administer(&["workspace", "list", ORGANIZATION]);
    assert_eq!(left, "");
    let listed = site.administer(&["workspace", "list", ORGANIZATION, "--removed"]);
    assert!(listed.contains("billing"), "{listed}");
    assert_eq!(one.run(["push", "--everything"]).exit, 2);
    assert_eq!(
        site.administer(&["workspace", "restore", ORGANIZATION, "billing"]),
        id
    );
    assert_eq!(site.events(), 1);
    let words = ["workspace", "purge", ORGANIZATION, "billing"];
    let run = run_hub(site.database.url(), &words);
    assert_eq!(run.exit, 2, "only what was removed is erased: {run}");
    site.administer(&["workspace", "remove", ORGANIZATION, "billing"]);
    assert_eq!(site.administer(&words), id);
    let events = site.database.sql("select count(*) from ken.events");
    assert_eq!(events.trim(), "0");
}

#[test]
fn a_clone_of_a_renamed_workspace_is_told_its_new_name() {
    let mut site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    site.administer(&["workspace", "rename", ORGANIZATION, WORKSPACE, "billing"]);
    site.stop();
    site.start();
    let pushed = one.run(["push"]);
    assert_eq!(pushed.exit, 2, "{pushed}");
    assert!(
        pushed
            .stderr
            .contains("has renamed the workspace `payments` to `billing`"),
        "{pushed}"
    );
}

#[test]
fn an_organization_is_renamed_removed_restored_and_erased() {
    let site = HubTestEnvironment::new();
    let id = site.administer(&["organization", "rename", ORGANIZATION, "acme-labs"]);
    site.administer(&["organization", "add", ORGANIZATION]);
    let taken = run_hub(
        site.database.url(),
        &["organization", "rename", ORGANIZATION, "acme-labs"],
    );
    assert_eq!(taken.exit, 2, "{taken}");
    assert_eq!(
        site.administer(&["organization", "remove", "acme-labs"]),
        id
    );
    for words in [
        ["workspace", "list", "acme-labs"],
        ["organization", "add", "acme-labs"],
    ] {
        let run = run_hub(site.database.url(), &words);
        assert_eq!(run.exit, 2, "{run}");
        assert!(
            run.stderr.contains("`ken hub organization restore NAME`"),
            "{run}"
        );
    }
    assert_eq!(
        site.administer(&["organization", "restore", "acme-labs"]),
        id
    );
    let listed = site.administer(&["workspace", "list", "acme-labs"]);
    assert!(listed.contains(WORKSPACE), "{listed}");
    site.administer(&["organization", "remove", "acme-labs"]);
    assert_eq!(site.administer(&["organization", "purge", "acme-labs"]), id);
    let left = site.database.sql("select name from ken.organizations");
    assert_eq!(left.trim(), ORGANIZATION);
}

#[test]
fn tokens_are_rotated_and_those_of_one_person_revoked_at_once() {
    let site = HubTestEnvironment::new();
    let old = site.token("member", "human:eve@example.org");
    let listed = site.administer(&["token", "list", ORGANIZATION, "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = listed["id"].as_str().unwrap();
    let again = run_hub(
        site.database.url(),
        &["token", "rotate", ORGANIZATION, id, "--overlap", "0"],
    );
    assert_eq!(again.exit, 0, "{again}");
    assert!(
        again.stdout.starts_with("ken_") && again.stdout.trim() != old,
        "{again}"
    );
    assert!(
        again
            .stderr
            .contains(&format!("replaces {id}, which is revoked")),
        "{again}"
    );
    // A second token for the same actor is pointed out.
    let words = "token create acme --role reader --actor human:eve@example.org";
    let words: Vec<&str> = words.split(' ').collect();
    let second = run_hub(site.database.url(), &words);
    assert!(
        second.stderr.contains("has 1 other valid token"),
        "{second}"
    );
    let revoke = [
        "token",
        "revoke",
        ORGANIZATION,
        "--actor",
        "human:eve@example.org",
    ];
    let revoked = run_hub(site.database.url(), &revoke);
    assert!(
        revoked
            .stderr
            .contains("revoked 2 tokens of human:eve@example.org"),
        "{revoked}"
    );
    assert_eq!(revoked.stdout.lines().count(), 2, "{revoked}");
}

#[test]
fn quotas_are_shown_set_obeyed_and_given_back() {
    let site = HubTestEnvironment::new();
    let shown = |words: &[&str]| {
        let words = [&["quota", ORGANIZATION, "--format", "json"], words].concat();
        let told = site.administer(&words);
        serde_json::from_str::<serde_json::Value>(&told).unwrap()
    };
    assert_eq!(shown(&[])["own"], serde_json::json!([]));
    let set = shown(&["--events", "1", "--workspaces", "1"]);
    assert_eq!((&set["events"], &set["workspaces"]), (&1.into(), &1.into()));
    assert_eq!(set["own"], serde_json::json!(["workspaces", "events"]));
    let run = run_hub(site.database.url(), &["workspace", "add", "acme", "more"]);
    assert_eq!(run.exit, 2, "{run}");
    assert!(run.stderr.contains("`ken hub quota ORGANIZATION`"), "{run}");
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    add_entry(&one, "Refunds are booked on the day they are asked for.");
    assert_ne!(one.run(["push"]).exit, 0);
    assert_eq!(site.events(), 1);
    let given_back = shown(&["--events", "default"]);
    assert_eq!(given_back["own"], serde_json::json!(["workspaces"]));
    let _ = one.run(["push"]).success();
    assert_eq!(site.events(), 2);
    let id = site.administer(&["organization", "add", ORGANIZATION]);
    let log = "select subject from ken.audit where act = 'quota.changed' order by at limit 1";
    let log = site
        .database
        .sql(&format!("set ken.organization = '{id}'; {log}"));
    assert_eq!(
        log.trim().lines().last(),
        Some("workspaces 1, events 1, bytes default, requests-per-minute default")
    );
}

#[test]
fn an_address_that_leads_nowhere_is_said_without_its_password() {
    let run = run_hub(
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
    let run = run_hub("mysql://ken@127.0.0.1/ken", &["status", "acme"]);
    assert!(
        run.stderr.contains("it must start with postgres://"),
        "{run}"
    );
    let run = run_hub("", &["status", "acme"]);
    assert!(run.stderr.contains("set KEN_DATABASE_URL"), "{run}");
}

#[test]
fn health_tells_a_running_hub_from_a_stopped_one_without_a_database() {
    let mut site = HubTestEnvironment::new();
    let url = format!("http://127.0.0.1:{}", site.port);
    let health = |ready: &[&str]| {
        // No database URL: a health check has no password.
        let words = ["health", "--url", &url];
        run_hub("", &[&words, ready].concat())
    };
    assert_eq!(health(&[]).stdout, "the hub is alive\n");
    assert_eq!(health(&["--ready"]).stdout, "the hub is ready\n");
    site.stop();
    let stopped = health(&["--ready"]);
    assert_eq!(stopped.exit, 1, "{stopped}");
    assert!(stopped.stderr.contains("the hub is not ready"), "{stopped}");
    assert!(stopped.stderr.contains("connection refused"), "{stopped}");
    let far = run_hub("", &["health", "--url", "http://hub.example"]);
    assert_eq!(far.exit, 2, "{far}");
}
