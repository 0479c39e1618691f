//! `ken health stats`: queries are counted as numbers only, and counting never breaks an answer.

use ken_testkit::test_env::TestEnvironment;

use crate::digest::repository_with_documents;

fn repository_with_charges() -> TestEnvironment {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    for statement in [
        "A retried charge needs its key",
        "Charges are rounded to cents",
        "A charge is refused above the limit",
    ] {
        let add = [
            "add",
            "--kind",
            "learning",
            "--statement",
            statement,
            "--cite",
            "pr:1",
        ];
        let _ = env.run(add).success();
    }
    env
}

#[test]
fn what_is_asked_is_counted_by_day_and_surface() {
    let env = repository_with_charges();
    let _ = env.run(["search", "retried charge key"]).success();
    env.wait_days(1);
    let _ = env.run(["search", "how are penguins fed in winter"]);
    let _ = env
        .run(["brief", "change how charges are retried", "--by", "agent:x"])
        .success();
    let told = env
        .run(["health", "stats", "--format", "json"])
        .success()
        .json();
    assert_eq!(told["schema"], "ken.stats.v1");
    let all = &told["all"];
    assert_eq!((&all["searches"], &all["briefs"]), (&2.into(), &1.into()));
    assert!(all["empty"].as_u64().unwrap() >= 1, "{told}");
    assert!(all["shown"].as_u64().unwrap() >= 1, "{told}");
    assert_eq!(told["by_surface"]["cli"], *all);
    assert_eq!(told["by_surface"]["hook"]["searches"], 0);
    let days = told["days"].as_array().unwrap();
    assert_eq!(days.len(), 2, "{told}");
    assert_eq!(
        (&days[0]["searches"], &days[1]["searches"]),
        (&1.into(), &1.into())
    );
    let today = env
        .run(["health", "stats", "--since", "1d", "--format", "json"])
        .success()
        .json();
    assert_eq!(today["all"]["searches"], 1);
    let counted = env.names(".ken/.local/usage");
    assert_eq!(counted.len(), 2);
    let line = env.read(&format!(".ken/.local/usage/{}", counted[0]));
    assert!(
        line.starts_with("cli search ") && !line.contains("charge"),
        "{line}"
    );
    assert_eq!(env.git(["status", "--porcelain", "--", ".ken/.local"]), "");
}

#[test]
fn tokens_not_shown_are_those_of_relevant_entries_and_no_others() {
    let env = repository_with_charges();
    let _ = env.run(["search", "charge", "--by", "agent:x"]).success();
    let told = env
        .run(["health", "stats", "--format", "json"])
        .success()
        .json();
    let all = &told["all"];
    let (hits, shown) = (
        all["hits"].as_u64().unwrap(),
        all["tokens_shown"].as_u64().unwrap(),
    );
    let spared = all["tokens_not_shown"].as_u64().unwrap();
    assert!((1..=3).contains(&hits) && shown > 0, "{told}");
    // Three short entries cannot save more tokens than they have.
    assert!(spared < 1000, "{told}");
}

#[test]
fn a_counter_that_cannot_be_written_harms_no_answer() {
    let env = repository_with_charges();
    env.write(".ken/.local/usage", "in the way");
    let found = env.run(["search", "retried charge key"]).success();
    assert!(
        found.stdout.contains("A retried charge needs its key"),
        "{found}"
    );
}

#[test]
fn a_damaged_counter_is_read_as_far_as_it_goes() {
    let env = repository_with_charges();
    let _ = env.run(["search", "retried charge key"]).success();
    let name = env.names(".ken/.local/usage").remove(0);
    let path = format!(".ken/.local/usage/{name}");
    let good = env.read(&path);
    env.write(
        &path,
        &format!("{good}\u{0}\u{1}rubbish\n{good}cli search 1 1 0"),
    );
    env.write(".ken/.local/usage/notes.md", "not a day");
    let told = env
        .run(["health", "stats", "--format", "json"])
        .success()
        .json();
    assert_eq!(told["all"]["searches"], 2);
}

#[test]
fn a_counter_is_bounded() {
    let env = repository_with_charges();
    let _ = env.run(["search", "retried charge key"]).success();
    let name = env.names(".ken/.local/usage").remove(0);
    let path = format!(".ken/.local/usage/{name}");
    let line = env.read(&path);
    env.write(&path, &line.repeat((256 << 10) / line.len() + 1));
    let before = env.read(&path).len();
    let _ = env.run(["search", "retried charge key"]).success();
    assert_eq!(env.read(&path).len(), before, "the day is full");
    let told = env.run(["health", "stats"]).success();
    assert!(
        told.stderr
            .contains("a day had more queries than Ken counts"),
        "{told}"
    );
    env.wait_days(500);
    let _ = env.run(["search", "retried charge key"]).success();
    assert_eq!(
        env.names(".ken/.local/usage").len(),
        1,
        "old days are forgotten"
    );
}

#[test]
fn people_read_numbers_with_what_they_mean() {
    let env = repository_with_charges();
    insta::assert_snapshot!(env.run(["health", "stats"]), @"
    exit: 0
    ----- stdout -----
    2025-12-27 to 2026-01-02, this machine

    queries           0  0 searches, 0 briefings
    answered          0  with 0 entries of 0 relevant hits
    no hits           0  queries without a relevant hit
    withheld          0  relevant but hidden, such as entries whose code changed
    tokens            0  shown
                      0  saved by limits, detail tiers and summaries

    cli               0
    mcp               0
    hook              0
    ui                0

    runs              0
    impact    not enough runs yet (n = 0)
    ");
    assert_eq!(env.run(["health", "stats", "--since", "soon"]).exit, 2);
}
