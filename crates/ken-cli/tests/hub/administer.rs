//! `ken hub`: what an operator does, and what goes wrong.

use crate::site::{ORGANISATION, Site, WORKSPACE, add, hub_command};

#[test]
fn names_that_are_taken_or_unknown_are_said() {
    let site = Site::new();
    let run = |words: &[&str]| hub_command(site.database.url(), words);
    for (words, exit, said) in [
        (
            &["organisation", "add", ORGANISATION][..],
            2,
            "there is one called `acme` already",
        ),
        (&["organisation", "add", "Not A Name"], 2, "Not A Name"),
        (
            &["workspace", "add", "nobody", "w"],
            2,
            "there is no organisation `nobody`",
        ),
        (
            &["workspace", "add", ORGANISATION, WORKSPACE],
            2,
            "there is one called `payments` already",
        ),
        (
            &["rebuild", ORGANISATION, "nothing"],
            2,
            "the organisation has no workspace `nothing`",
        ),
        (
            &["token", "revoke", ORGANISATION, "x"],
            2,
            "the organisation has no token `x`",
        ),
        (
            &[
                "token",
                "create",
                ORGANISATION,
                "--role",
                "agent",
                "--actor",
                "human:ada@example.org",
            ],
            2,
            "readers and agents write in no person's name",
        ),
        (
            &[
                "token",
                "create",
                ORGANISATION,
                "--role",
                "admin",
                "--actor",
                "agent:claude",
            ],
            2,
            "agents never approve",
        ),
        (&["migrate"], 0, "the database is at this build's version"),
    ] {
        let run = run(words);
        assert_eq!(run.exit, exit, "{words:?}: {run}");
        assert!(run.stderr.contains(said), "{words:?}: {run}");
    }
}

#[test]
fn a_workspace_is_rebuilt_and_evicted_and_nobody_notices() {
    let site = Site::new();
    let (one, other) = (site.clone(1), site.clone(2));
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    site.administer(&["rebuild", ORGANISATION, WORKSPACE]);
    site.administer(&["evict", ORGANISATION, WORKSPACE]);
    let status = site.administer(&["status", ORGANISATION]);
    assert!(
        status.starts_with("payments ") && status.ends_with("evicted"),
        "{status}"
    );
    assert_eq!(other.run(["pull"]).stderr, "1 event is new here\n");
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
    let run = hub_command("", &["status", "acme"]);
    assert!(run.stderr.contains("set KEN_DATABASE_URL"), "{run}");
}
