//! What a hub takes from whom, and where a token goes.

use ken_core::event::{ApprovalGranted, Body};
use ken_testkit::build::Scribe;

use crate::site::{Site, add, lines, merge_in};

#[test]
fn a_secret_is_refused_there_although_nobody_looked_here() {
    let site = Site::new();
    let one = site.clone(1);
    let secret = ["AKIA", "Q3EGRIZ7", "TSWY5PLX"].concat();
    let mut scribe = Scribe::new(3);
    let (_, leaked) = scribe.propose(&format!("Deploy with {secret} and be done."));
    let (_, fine) = scribe.propose("Deploys wait for the nightly job.");
    merge_in(&one, &[leaked.clone(), fine]);
    let pushed = one.run(["push"]);
    assert_eq!(pushed.exit, 1, "{pushed}");
    let id = leaked.event.id;
    assert!(
        pushed.stdout.starts_with(&format!("refused {id} ")),
        "{pushed}"
    );
    assert!(
        pushed
            .stderr
            .starts_with("sent 2 events to `hub`: 1 new to it, 1 refused\n"),
        "{pushed}"
    );
    assert!(!pushed.to_string().contains(&secret), "{pushed}");
    assert_eq!(site.events(), 1);
    for table in ["events", "held", "audit"] {
        let found = site.database.sql(&format!(
            "select count(*) from ken.{table} as it where it::text like '%{secret}%'"
        ));
        assert_eq!(found.trim(), "0", "{table}");
    }
    // It is remembered, shown and offered again only when somebody says so.
    let again = one.run(["push"]);
    assert_eq!(again.exit, 0, "{again}");
    assert!(
        again.stderr.contains("1 event was not taken before"),
        "{again}"
    );
    let shown = one.run(["remote", "show"]).success();
    assert!(
        shown.stdout.contains(&format!("refused    {id} ")),
        "{shown}"
    );
    assert_eq!(one.run(["push", "--again"]).exit, 1);
}

#[test]
fn an_agents_token_speaks_for_no_person() {
    let site = Site::new();
    let token = site.token("agent", "agent:builder");
    let one = site.clone_as(1, &token);
    // What a person wrote, an approval among it, and what the agent itself found.
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let mut scribe = Scribe::new(5);
    let (entry, own) = scribe
        .by("agent:builder")
        .propose("The queue drops messages after a day.");
    let approval = ApprovalGranted {
        entry,
        artifact: "b3:0".parse().unwrap(),
        signature: None,
        covers: vec![own.event.id],
    };
    let approved = scribe
        .by("human:ada@example.org")
        .about(entry, Body::ApprovalGranted(approval));
    merge_in(&one, &[own, approved]);
    let pushed = one.run(["push", "--format", "json"]);
    assert_eq!(pushed.exit, 1, "{pushed}");
    let pushed = pushed.json();
    assert_eq!(pushed["admitted"], 1);
    assert_eq!(pushed["refused"].as_array().unwrap().len(), 2);
    assert_eq!(site.events(), 1);
}

#[test]
fn a_token_nobody_knows_says_what_to_do() {
    let site = Site::new();
    let unknown = format!("ken_{}", "a".repeat(40));
    let one = site.clone_as(1, &unknown);
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let pushed = one.run(["push"]);
    assert_eq!(pushed.exit, 2, "{pushed}");
    assert!(
        pushed.stderr.contains("does not accept this token"),
        "{pushed}"
    );
    assert!(pushed.stderr.contains("--token-stdin"), "{pushed}");
    assert!(!pushed.to_string().contains(&unknown), "{pushed}");
    // A reader takes and does not give.
    let reader = site.clone_as(2, &site.token("reader", "agent:reader"));
    assert_eq!(reader.run(["pull"]).exit, 0);
    add(&reader, "The nightly job locks the ledger for a minute.");
    let pushed = reader.run(["push"]);
    assert_eq!(pushed.exit, 2, "{pushed}");
    assert!(pushed.stderr.contains("may not do that"), "{pushed}");
    assert_eq!(lines(&reader).len(), 1);
}

#[test]
fn a_revoked_token_opens_nothing() {
    let site = Site::new();
    let one = site.clone(1);
    assert_eq!(one.run(["pull"]).exit, 0);
    let listed = site.administer(&["token", "list", "acme", "--format", "json"]);
    let token: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert!(token.get("secret").is_none());
    site.administer(&["token", "revoke", "acme", token["id"].as_str().unwrap()]);
    assert_eq!(one.run(["pull"]).exit, 2);
}
