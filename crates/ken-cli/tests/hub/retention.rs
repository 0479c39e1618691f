//! Retention and legal holds, over clones and a hub.

use serde_json::Value;

use crate::site::{HubTestEnvironment, ORGANIZATION, WORKSPACE, add_entry, run_hub};

const OLD: &str = "The nightly job of the invoice importer needs the flag legacy-tax.";
const CURRENT: &str = "Charging twice is safe: the key makes it one charge.";

fn apply(site: &HubTestEnvironment, words: &[&str]) -> Vec<Value> {
    let mut all = vec!["retention", "apply", ORGANIZATION, "--format", "json"];
    all.extend(words);
    let lines = site.administer(&all);
    let objects = lines.lines().map(|it| serde_json::from_str(it).unwrap());
    objects.collect()
}

/// Returns how many rows of the hub contain a text of the archived entry.
fn rows_with_text(site: &HubTestEnvironment) -> String {
    let tables = ["events.line", "entries.json"];
    let count = |it: &str| {
        let (table, column) = it.split_once('.').unwrap();
        let sql = format!("select count(*) from ken.{table} where {column} like '%legacy-tax%'");
        site.database.sql(&sql).trim().to_owned()
    };
    tables.map(count).join(" ")
}

#[test]
fn an_archived_entry_is_redacted_everywhere_after_its_time_unless_a_hold_keeps_it() {
    let site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let old = add_entry(&one, OLD);
    add_entry(&one, CURRENT);
    let _ = one.run(["archive", &old]).success();
    let _ = one.run(["push"]).success();
    let _ = other.run(["pull"]).success();
    assert!(other.run(["show", &old]).stdout.contains("legacy-tax"));
    let set = |days: &str| {
        site.administer(&[
            "retention",
            "set",
            ORGANIZATION,
            "--kind",
            "learning",
            "--days",
            days,
        ]);
    };
    // The tests' clock is some months before the hub's.
    set("20000");
    assert_eq!(apply(&site, &["--dry-run"])[0]["count"], 0);
    set("30");
    // The date of the event is its author's claim; the days count from its arrival.
    assert_eq!(apply(&site, &["--dry-run"])[0]["count"], 0);
    let _ = site
        .database
        .sql("update ken.events set received_at = received_at - 30 * 86400000::bigint");
    let trial = apply(&site, &["--dry-run"]);
    assert_eq!(
        (&trial[0]["count"], &trial[0]["workspace"]),
        (&1.into(), &WORKSPACE.into())
    );
    assert_ne!(rows_with_text(&site), "0 0");
    // A program does not redact.
    let refused = run_hub(site.database.url(), &["retention", "apply", ORGANIZATION]);
    assert_ne!(refused.exit, 0, "{refused}");
    assert!(refused.stderr.contains("--by human:NAME"), "{refused}");
    let by = ["--by", "human:ada@example.org"];
    let hold = site.administer(&["hold", "add", ORGANIZATION, WORKSPACE, "--reason", "Case 7"]);
    let held = apply(&site, &by);
    assert_eq!(
        (&held[0]["count"], &held[0]["held"]),
        (&0.into(), &true.into())
    );
    assert_ne!(rows_with_text(&site), "0 0");
    site.administer(&["hold", "release", ORGANIZATION, &hold]);
    let applied = apply(&site, &by);
    assert_eq!(
        (&applied[0]["count"], &applied[0]["held"]),
        (&1.into(), &false.into())
    );
    assert_eq!(rows_with_text(&site), "0 0");
    assert_eq!(apply(&site, &by)[0]["count"], 0, "nothing is left");
    // A clone that pulls deletes the text, too; the entry in use stays.
    let _ = other.run(["pull"]).success();
    let shown = other.run(["list", "--all"]);
    assert!(!shown.stdout.contains("legacy-tax"), "{shown}");
    assert!(shown.stdout.contains("Charging twice"), "{shown}");
    let found = other.run(["search", "nightly job of the invoice importer"]);
    assert!(!found.stdout.contains("legacy-tax"), "{found}");
    let acts = site.administer(&["audit", ORGANIZATION, "--format", "json"]);
    for act in ["retention.changed", "hold.placed", "hold.released"] {
        assert!(acts.contains(act), "{act}: {acts}");
    }
    let acts = site.administer(&["audit", ORGANIZATION, WORKSPACE, "--format", "json"]);
    assert!(acts.contains("retention.applied"), "{acts}");
}

#[test]
fn a_held_workspace_is_not_erased_before_the_hold_is_released() {
    let site = HubTestEnvironment::new();
    let clone = site.clone(1);
    add_entry(&clone, CURRENT);
    let _ = clone.run(["push"]).success();
    site.administer(&["workspace", "remove", ORGANIZATION, WORKSPACE]);
    // A removed workspace can still be held.
    let hold = site.administer(&["hold", "add", ORGANIZATION, WORKSPACE, "--reason", "Case 7"]);
    let purge = ["workspace", "purge", ORGANIZATION, WORKSPACE];
    let refused = run_hub(site.database.url(), &purge);
    assert_ne!(refused.exit, 0, "{refused}");
    assert!(
        refused.stderr.contains("a legal hold keeps this"),
        "{refused}"
    );
    let events = "select count(*) from ken.events";
    assert_eq!(site.database.sql(events).trim(), "1");
    site.administer(&["hold", "release", ORGANIZATION, &hold]);
    site.administer(&purge);
    assert_eq!(site.database.sql(events).trim(), "0");
}
