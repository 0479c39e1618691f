//! `ken search`, in text and JSON.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

fn ledger_with_lessons() -> (TestEnvironment, Vec<String>) {
    let env = folder_with_ledger();
    let ids = [
        "A retried payment is charged twice unless the key of the request is kept.",
        "handleRequest takes the session lock before it writes the cache.",
        "Color themes are read once, when the window opens.",
    ];
    let ids = ids.map(|statement| add_lesson(&env, statement)).to_vec();
    (env, ids)
}

#[test]
fn people_see_how_sure_it_is_and_why_it_matched() {
    let (env, _) = ledger_with_lessons();
    insta::assert_snapshot!(env.run(["search", "--mean", "session", "lock"]), @"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9  learning  candidate  ▮▮▮▯▯ 0.50  ? unchecked, added today
      handleRequest takes the session lock before it writes the cache.
      matches every word, similarity 0.57
    ----- stderr -----
    hint: `ken show L-h9xr3ac9` shows the whole entry
    ");
}

#[test]
fn a_person_sees_weak_matches_and_an_agent_none() {
    let (env, _) = ledger_with_lessons();
    let query = "an elephant in the zoo drinks from a window of the lake";
    let found = env.run(["search", query]).success();
    assert!(
        found
            .stdout
            .starts_with("checked knowledge base, no relevant entries found")
    );
    assert!(found.stdout.contains("weak matches:\nL-"), "{found}");
    let found = env.run(["search", query, "--by", "agent:codex"]).success();
    assert!(!found.stdout.contains("weak matches"), "{found}");
    let found = env.run(["search", query, "--format", "json"]).success();
    assert_eq!(found.json()["results"], serde_json::json!([]));
}

#[test]
fn a_search_explores_only_in_a_run() {
    let (env, _) = ledger_with_lessons();
    let scores = |args: &[&str]| {
        let found = env.run(["search", "payment", "--format", "json"].iter().chain(args));
        let hits = found.success().json()["results"].clone();
        let hits = hits.as_array().cloned().expect("results");
        hits.iter()
            .map(|hit| hit["score"].to_string())
            .collect::<Vec<_>>()
    };
    let mean = scores(&["--mean"]);
    assert!(!mean.is_empty());
    assert_eq!(scores(&[]), mean, "a person sees the same order every time");
    let _ = env.run(["run", "open", "work"]).success();
    assert_ne!(scores(&["--run", "work"]), mean);
    assert_eq!(scores(&["--run", "work", "--mean"]), mean);
}

#[test]
fn nothing_relevant_is_said_in_so_many_words() {
    let (env, _) = ledger_with_lessons();
    insta::assert_snapshot!(env.run(["search", "banana", "bread", "recipe"]), @"
    exit: 0
    ----- stdout -----
    checked knowledge base, no relevant entries found
    ");
    let json = env.run(["search", "banana bread recipe", "--format", "json"]);
    assert_eq!(json.success().json()["results"], serde_json::json!([]));
}

#[test]
fn programs_get_every_summand_and_the_rung_that_served() {
    let (env, ids) = ledger_with_lessons();
    let answer = env.run(["search", "handle request", "--format", "json"]);
    let answer = answer.success().json();
    assert_eq!(answer["schema"], "ken.search.v1");
    assert_eq!(answer["served_by"], "static");
    let first = &answer["results"][0];
    assert_eq!(first["id"], ids[1].as_str());
    let parts = first["signals"]["parts"].as_array().unwrap();
    let sum: f64 = parts
        .iter()
        .map(|part| part["adds"].as_f64().unwrap())
        .sum();
    assert!((sum - first["score"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn the_same_run_and_query_give_the_same_answer_byte_for_byte() {
    let (env, _) = ledger_with_lessons();
    let ask = |run: &str| {
        let args = [
            "search",
            "the cache",
            "--run",
            run,
            "--format",
            "json",
            "--threshold",
            "none",
        ];
        env.run(args).success().stdout
    };
    assert_eq!(ask("one"), ask("one"));
    assert_ne!(ask("one"), ask("two"));
}

#[test]
fn what_is_rejected_is_withheld_and_tags_match_from_above() {
    let (env, ids) = ledger_with_lessons();
    let _ = env
        .run(["edit", &ids[1], "--tag", "cache/session"])
        .success();
    let _ = env.run(["entry", "status", &ids[1], "rejected"]).success();
    let args = [
        "search",
        "session lock",
        "--tag",
        "cache",
        "--format",
        "json",
    ];
    let answer = env.run(args).success().json();
    assert_eq!(answer["results"], serde_json::json!([]));
    assert_eq!(answer["withheld"][0]["id"], ids[1].as_str());
    assert_eq!(answer["withheld"][0]["why"], "rejected");
}

#[test]
fn a_floor_that_is_none_shows_the_best_of_a_bad_lot() {
    let (env, _) = ledger_with_lessons();
    let args = [
        "search",
        "banana bread recipe",
        "--threshold",
        "none",
        "--format",
        "json",
    ];
    assert!(
        !env.run(args).success().json()["results"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let wrong = env.run(["search", "x", "--threshold", "much"]);
    insta::assert_snapshot!(wrong, @"
    exit: 2
    ----- stderr -----
    error: invalid value 'much' for '--threshold <FLOOR>': write none, relevant, strict or a number from -1 to 1

    For more information, try '--help'.
    ");
}

#[test]
fn a_workspace_has_its_own_weights() {
    let (env, _) = ledger_with_lessons();
    let default = env.run(["config", "weights"]);
    insta::assert_snapshot!(default, @"
    exit: 0
    ----- stdout -----
    semantic       0.38
    thompson       0.25
    freshness      0.15
    status         0.10
    thread         0.07
    cooccurrence   0.05
    ----- stderr -----
    default weights
    ");
    let set = |shares: &[&str]| {
        let args = ["config", "weights", "set"].into_iter();
        env.run(args.chain(shares.iter().copied()))
    };
    insta::assert_snapshot!(set(&["semantic=1"]), @"
    exit: 2
    ----- stderr -----
    error: weights need exactly these six numbers: semantic, thompson, freshness, status, thread, cooccurrence (missing field `thompson`)

    hint: set all six weights, such as semantic=0.38 thompson=0.25 freshness=0.15 status=0.10 thread=0.07 cooccurrence=0.05
    ");
    let mut all = [
        "semantic=0.9",
        "thompson=0",
        "freshness=0",
        "status=0",
        "thread=0",
        "cooccurrence=0",
    ];
    let short = set(&all);
    assert!(
        short.stderr.contains("sum to 0.9; they must sum to 1"),
        "{short}"
    );
    all[0] = "semantic=1";
    let _ = set(&all).success();
    let answer = env.run(["search", "session lock", "--format", "json"]);
    let answer = answer.success().json();
    let first = &answer["results"][0];
    assert_eq!(first["score"], first["relevance"]);

    let agent = ["config", "weights", "reset", "--by", "agent:reviewer"];
    assert_eq!(env.run(agent).exit, 1);
    let _ = env.run(["config", "weights", "reset"]).success();
    assert_eq!(env.run(["config", "weights"]).stdout, default.stdout);
}

#[test]
fn a_pin_raises_and_a_mute_withholds_and_neither_changes_what_is_true() {
    let (env, ids) = ledger_with_lessons();
    let ask = || {
        let args = [
            "search",
            "the session cache and the window",
            "--mean",
            "--threshold",
            "none",
        ];
        let answer = env.run(args.into_iter().chain(["--format", "json"]));
        answer.success().json()
    };
    let before = ask();
    let score = |answer: &serde_json::Value, id: &str| {
        let results = answer["results"].as_array().unwrap().clone();
        let hit = results.into_iter().find(|hit| hit["id"] == id);
        hit.map(|hit| hit["score"].as_f64().unwrap())
    };
    let _ = env
        .run(["entry", "pin", &ids[2], "--note", "for the release"])
        .success();
    let _ = env.run(["entry", "mute", &ids[1]]).success();
    let after = ask();
    let raised = score(&after, &ids[2]).unwrap() - score(&before, &ids[2]).unwrap();
    assert!((raised - 0.15).abs() < 1e-9, "{raised}");
    assert_eq!(score(&after, &ids[1]), None);
    assert_eq!(after["withheld"][0]["why"], "muted");
    let _ = env.run(["entry", "pin", &ids[2], "--off"]).success();
    let _ = env.run(["entry", "mute", &ids[1], "--off"]).success();
    assert_eq!(ask()["results"][0]["score"], before["results"][0]["score"]);
}

#[test]
fn an_entry_of_two_fields_ranks_higher_where_both_are_asked_for() {
    let (env, ids) = ledger_with_lessons();
    let _ = env
        .run(["edit", &ids[1], "--tag", "auth", "--tag", "database/prisma"])
        .success();
    let boost = |query: &str| {
        let answer = env
            .run(["search", query, "--format", "json"])
            .success()
            .json();
        let parts = answer["results"][0]["signals"]["parts"]
            .as_array()
            .unwrap()
            .clone();
        let part = parts
            .into_iter()
            .find(|part| part["name"] == "cross_domain");
        part.unwrap()["adds"].as_f64().unwrap()
    };
    assert!(boost("session lock in auth").abs() < 1e-12);
    assert!((boost("session lock in auth and database") - 0.05).abs() < 1e-12);
}

#[test]
fn a_question_without_a_good_answer_is_noted_here_and_nowhere_else() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "A retried payment is charged twice.");
    insta::assert_snapshot!(env.run(["search", "--unanswered"]), @"
    exit: 0
    ----- stdout -----
    Every query had a relevant hit.
    ");
    commit_all(&env, "a lesson");
    let _ = env.run(["search", "retried payment charged"]).success();
    for _ in 0..2 {
        let _ = env.run(["search", "dark color theme of windows"]).success();
    }
    let weak = ["search", "--threshold", "none", "elephants in the zoo"];
    let _ = env.run(weak).success();
    // Neither a secret nor pasted text is written to disk.
    let token = format!("ghp_{}", "Zk3vQ9xW7bN2mL5cR8tY1uP4sD6fG0hJaKeX");
    let _ = env.run(["search", &token]).success();
    let _ = env.run(["search", &"zebra ".repeat(60)]).success();
    assert_eq!(env.git(["status", "--porcelain"]), "");
    let listed = env.run(["search", "--unanswered", "--format", "json"]);
    let listed = listed.success().json();
    let questions = listed["questions"].as_array().expect("a list");
    let of = |query: &str| {
        questions
            .iter()
            .find(|it| it["query"] == query)
            .expect("noted")
    };
    assert_eq!(questions.len(), 2, "{listed}");
    assert_eq!(of("dark color theme of windows")["times"], 2);
    assert_eq!(of("elephants in the zoo")["top"], id.as_str());
}

/// Returns a repository with an entry anchored in `sdk/transport.py` and others that only share a
/// word with its path.
fn repository_with_sdk() -> (TestEnvironment, String) {
    let env = repository_with_ledger();
    env.write("sdk/transport.py", "def parse_limits():\n    pass\n");
    env.write("sdk/consts.py", "LIMIT = 1\n");
    commit_all(&env, "sdk");
    for number in 1..7 {
        let _ = add_lesson(
            &env,
            &format!("Rule {number} of the sdk: keep the transport of sdk small."),
        );
    }
    let norm = [
        "add",
        "The sdk needs two reviewers.",
        "--kind",
        "commit-norm",
    ];
    let _ = env
        .run(norm.iter().chain(&["--anchor", "sdk/consts.py"]))
        .success();
    let bug = ["add", "Header values may lack a scope.", "--kind", "bug"];
    let anchor = ["--anchor", "sdk/transport.py#parse_limits"];
    let id = env.run(bug.iter().chain(&anchor)).success().line();
    (env, id)
}

#[test]
fn entries_anchored_in_a_file_come_before_entries_that_share_its_words() {
    let (env, id) = repository_with_sdk();
    for args in [
        &["search", "--paths", "sdk/transport.py", "--json"][..],
        &["search", "--file", "sdk/transport.py", "--json"],
    ] {
        let found = env.run(args).success().json();
        assert_eq!(found["results"][0]["id"], id.as_str(), "{found}");
    }
    let found = env.run(["search", "--paths", "sdk/transport.py", "--explain"]);
    assert!(!found.success().stderr.contains(&format!("left out: {id}")));
}

#[test]
fn the_name_of_a_folder_is_no_word_of_the_query() {
    let (env, id) = repository_with_sdk();
    let found = env
        .run(["search", "--paths", "sdk", "--json"])
        .success()
        .json();
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "only what is anchored below it: {found}");
    assert!(results.iter().any(|it| it["id"] == id.as_str()));
}

#[test]
fn a_path_counts_from_the_folder_or_else_from_the_root() {
    let (env, id) = repository_with_sdk();
    for path in ["transport.py", "sdk/transport.py"] {
        let found = env.run(["-C", "sdk", "search", "--paths", path, "--json"]);
        let found = found.success().json();
        assert_eq!(found["results"][0]["id"], id.as_str(), "{path}");
        let anchor = format!("{path}#parse_limits");
        let text = format!("Found from {}.", path.len());
        let added = env.run(["-C", "sdk", "add", &text, "--anchor", &anchor]);
        let added = added.success().line();
        let shown = env.run(["show", &added]).success().stdout;
        assert!(
            shown.contains("anchors    sdk/transport.py#parse_limits"),
            "{shown}"
        );
    }
    let missing = env
        .run(["-C", "sdk", "search", "--paths", "gone.py"])
        .success();
    let hint = "hint: `gone.py`: not found in this folder or at the repository root";
    assert!(missing.stderr.contains(hint), "{missing}");
}
