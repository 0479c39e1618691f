//! Handoffs: shown to the next session on the branch, taken once, expired in the end.

use crate::hooks::{HookTestEnvironment, context_text};

const POINT: &str = "Refunds lack tests";

impl HookTestEnvironment {
    /// Leaves a handoff as session `session`, which has started.
    fn leave(&self, session: &str) {
        let write = [
            "handoff",
            "write",
            "--unfinished",
            POINT,
            "--tried",
            "A mutex deadlocks",
        ];
        self.as_agent(session, &write);
    }

    fn started(&self, session: &str) -> String {
        context_text(&self.start(session))
    }
}

#[test]
fn the_next_session_is_shown_a_handoff_until_one_takes_it() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.leave("s1");
    let said = house.started("s2");
    assert!(
        said.contains("## Handoff") && said.contains(POINT),
        "{said}"
    );
    assert!(said.contains("It is data"), "{said}");
    house.as_agent("s2", &["handoff", "take"]);
    let said = house.started("s3");
    assert!(!said.contains(POINT), "s2 has it: {said}");
    assert!(!house.started("s1").contains(POINT), "its own");
}

#[test]
fn a_handoff_is_no_knowledge() {
    let house = HookTestEnvironment::new();
    let before = house.env.run(["list"]).success().stdout;
    let _ = house
        .env
        .run(["handoff", "write", "--open", "Why do refunds lack tests?"])
        .success();
    let found = house.env.run(["search", "refunds lack tests"]);
    assert!(!found.stdout.contains("Why do refunds"), "{found}");
    assert_eq!(house.env.run(["list"]).success().stdout, before);
    assert!(house.env.run(["ledger", "check"]).success().exit == 0);
    let briefed = house.env.run(["brief", "refunds"]).success().stdout;
    assert!(briefed.contains("## Handoff"), "{briefed}");
}

#[test]
fn another_branch_is_shown_nothing() {
    let house = HookTestEnvironment::new();
    let _ = house.env.git(["checkout", "-q", "-b", "refunds"]);
    let _ = house
        .env
        .run(["handoff", "write", "--unfinished", POINT])
        .success();
    let _ = house.env.git(["checkout", "-q", "-b", "other"]);
    assert!(!house.started("s1").contains(POINT));
    let shown = house.env.run(["handoff"]).success();
    assert!(
        shown.stdout.is_empty() && shown.stderr.contains("1 handoff waits on other branches"),
        "{shown}"
    );
    let all = house.env.run(["handoff", "--all"]).success().stdout;
    assert!(all.contains("refunds") && all.contains("waiting"), "{all}");
    let _ = house.env.git(["checkout", "-q", "refunds"]);
    assert!(house.started("s2").contains(POINT));
}

#[test]
fn three_sessions_that_do_not_take_it_are_enough() {
    let house = HookTestEnvironment::new();
    let _ = house
        .env
        .run(["handoff", "write", "--unfinished", POINT])
        .success();
    let shown: Vec<bool> = ["s1", "s2", "s3", "s4"]
        .iter()
        .map(|it| house.started(it).contains(POINT))
        .collect();
    assert_eq!(shown, [true, true, true, false]);
    assert!(
        house.env.run(["handoff"]).success().stdout.contains(POINT),
        "it still waits"
    );
}

#[test]
fn only_the_first_taker_has_it() {
    let house = HookTestEnvironment::new();
    let _ = house
        .env
        .run(["handoff", "write", "--unfinished", POINT])
        .success();
    let _ = (house.start("s1"), house.start("s2"));
    let id = house
        .env
        .run(["handoff", "--format", "json"])
        .success()
        .json()["id"]
        .clone();
    let id = id.as_str().unwrap();
    house.as_agent("s1", &["handoff", "take", id]);
    house.as_agent("s1", &["handoff", "take", id]);
    let late = house.env.run(["handoff", "take", id]);
    assert_eq!(late.exit, 2, "{late}");
    assert!(
        late.stderr.contains("was already taken by agent:"),
        "{late}"
    );
}

#[test]
fn a_session_that_leaves_its_own_takes_what_it_was_shown() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.leave("s1");
    let _ = house.start("s2");
    house.as_agent(
        "s2",
        &[
            "handoff",
            "write",
            "--unfinished",
            "Only the partial refunds",
        ],
    );
    let said = house.started("s3");
    assert!(
        said.contains("Only the partial") && !said.contains(POINT),
        "{said}"
    );
}

#[test]
fn limits_and_secrets_are_refused() {
    let house = HookTestEnvironment::new();
    let nothing = house.env.run(["handoff", "write"]);
    assert!(
        nothing.stderr.contains("needs at least one point"),
        "{nothing}"
    );
    let long = "x ".repeat(1_000);
    let much = house
        .env
        .run(["handoff", "write", "--open", &long, "--tried", &long]);
    assert!(much.stderr.contains("at most 2400"), "{much}");
    let many = ["handoff", "write"]
        .into_iter()
        .chain(["--open", "a"].repeat(9));
    assert!(house.env.run(many).stderr.contains("at most 8 points"));
    let key = concat!("AKIA", "QYLPMN5HXR7TDWFG");
    let secret = house.env.run(["handoff", "write", "--tried", key]);
    assert_ne!(secret.exit, 0, "{secret}");
    assert!(
        !house
            .env
            .run(["handoff", "--all"])
            .success()
            .stdout
            .contains(key)
    );
}
