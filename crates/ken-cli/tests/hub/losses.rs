//! Recovery from data loss in git and at a hub.

use crate::site::{HubTestEnvironment, add_entry, ledger_lines, state_hash};

#[test]
fn what_a_force_push_took_away_is_noticed_and_comes_back() {
    let site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.git(["add", "-A"]);
    let _ = one.git(["commit", "-q", "-m", "first"]);
    add_entry(&one, "The nightly job locks the ledger for a minute.");
    let _ = one.git(["add", "-A"]);
    let _ = one.git(["commit", "-q", "-m", "second"]);
    let _ = one.run(["sync", "--remote"]).success();
    let before = ledger_lines(&one);
    // A colleague force-pushed an older commit, and this clone reset to it.
    let _ = one.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(ledger_lines(&one).len(), 1);
    let pulled = one.run(["pull"]).success();
    assert!(pulled.stdout.starts_with("restored "), "{pulled}");
    assert_eq!(pulled.stderr, "1 event was recovered from the hub\n");
    assert_eq!(ledger_lines(&one), before);
    assert_eq!(one.run(["pull"]).stderr, "no new events on `hub`\n");
}

#[test]
fn knowledge_of_a_branch_stays_on_it() {
    let site = HubTestEnvironment::new();
    let one = site.clone(1);
    let _ = one.git(["checkout", "-q", "-b", "feature"]);
    add_entry(&one, "The new queue needs a key.");
    let _ = one.git(["add", "-A"]);
    let _ = one.git(["commit", "-q", "-m", "feature"]);
    let _ = one.run(["push"]).success();
    let _ = one.git(["checkout", "-q", "main"]);
    let pulled = one.run(["pull"]).success();
    assert_eq!(
        pulled.stderr,
        "1 event belongs to another branch and was skipped\n"
    );
    assert!(ledger_lines(&one).is_empty());
}

#[test]
fn a_blanked_event_never_comes_back() {
    let site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let entry = add_entry(&one, "The staging host is called swordfish-nine.");
    let _ = one.run(["push"]).success();
    let _ = other.run(["pull"]).success();
    let _ = other.git(["add", "-A"]);
    let _ = other.git(["commit", "-q", "-m", "taken over"]);
    let log = one.run(["log", &entry, "--format", "json"]).success();
    let log: serde_json::Value = serde_json::from_str(log.stdout.lines().next().unwrap()).unwrap();
    let event = find_event_id(&log);
    let _ = one
        .run(["ledger", "redact", &event, "--reason", "personal"])
        .success();
    let _ = one.run(["push"]).success();
    let stored = |what: &str| {
        site.database.sql(&format!(
            "select count(*) from ken.events where line like '%{what}%'"
        ))
    };
    assert_eq!(stored("swordfish").trim(), "0");
    let _ = other.run(["pull"]).success();
    let holds = |env: &ken_testkit::test_env::TestEnvironment| {
        ledger_lines(env).iter().any(|it| it.contains("swordfish"))
    };
    assert!(!holds(&one) && !holds(&other));
    // Git brings a full copy back; neither the hub nor the clone accepts it.
    let _ = other.git(["checkout", "-q", "HEAD~1", "--", ".ken"]);
    let _ = other.run(["sync", "--remote"]);
    assert!(!holds(&other));
    assert_eq!(stored("swordfish").trim(), "0");
    assert_eq!(state_hash(&one), state_hash(&other));
}

/// Returns the id of the event that proposed an entry, from the output of `ken log`.
fn find_event_id(log: &serde_json::Value) -> String {
    let text = log.to_string();
    let found = text
        .split('"')
        .find(|it| it.len() == 26 && it.starts_with("01"));
    found
        .unwrap_or_else(|| panic!("no event in {text}"))
        .to_owned()
}

#[test]
fn a_hub_restored_from_an_older_backup_gets_back_what_it_lacks() {
    let mut site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["sync", "--remote"]).success();
    let _ = other.run(["sync", "--remote"]).success();
    site.back_up();
    add_entry(&one, "The nightly job locks the ledger for a minute.");
    add_entry(&other, "Retries without a key charge twice.");
    for _ in 0..2 {
        let _ = one.run(["sync", "--remote"]).success();
        let _ = other.run(["sync", "--remote"]).success();
    }
    assert_eq!(site.events(), 3);
    site.restore();
    assert_eq!(site.events(), 1);
    let synced = one.run(["sync", "--remote"]).success();
    assert!(
        synced.stderr.contains("was restored from an older backup"),
        "{synced}"
    );
    assert!(synced.stderr.contains(": 2 new"), "{synced}");
    let _ = other.run(["sync", "--remote"]).success();
    assert_eq!(site.events(), 3);
    assert_eq!(state_hash(&one), state_hash(&other));
    assert_eq!(one.run(["pull"]).stderr, "no new events on `hub`\n");
}

#[test]
fn a_restored_hub_gets_back_what_one_clone_alone_had_pushed_since() {
    let mut site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["sync", "--remote"]).success();
    site.back_up();
    let lost = "The nightly job locks the ledger for a minute.";
    add_entry(&one, lost);
    let _ = one.run(["sync", "--remote"]).success();
    site.restore();
    assert_eq!(site.events(), 1);
    insta::assert_snapshot!(one.run(["sync", "--remote"]), @"
    exit: 0
    ----- stderr -----
    recorded 0 hand edits; entry files are up to date
    `hub` was restored from an older backup: its log was read from the beginning
    no new events on `hub`
    pushed 1 event to `hub`: 1 new
    ");
    assert_eq!(site.events(), 2);
    // The hub is complete again, and a second sync reports no restore.
    insta::assert_snapshot!(one.run(["sync", "--remote"]), @"
    exit: 0
    ----- stderr -----
    recorded 0 hand edits; entry files are up to date
    no new events on `hub`
    `hub` is up to date
    ");
    // A push without a pull detects the restore as well.
    site.restore();
    insta::assert_snapshot!(one.run(["push"]), @"
    exit: 0
    ----- stderr -----
    `hub` was restored from an older backup: every event was pushed again
    pushed 2 events to `hub`: 1 new, 1 already known
    ");
    assert_eq!(site.events(), 2);
}
