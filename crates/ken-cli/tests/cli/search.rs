//! `ken search`, in text and JSON.

use ken_testkit::test_env::TestEnvironment;
use serde_json::json;

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};
use crate::mcp::client::McpTestClient;

pub(super) fn ledger_with_lessons() -> (TestEnvironment, Vec<String>) {
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
    let asked = |mut client: McpTestClient| {
        client.shake_hands("claude-code");
        let found = client.call("ken_search", json!({"query": "payment", "format": "json"}));
        let _ = client.end();
        found["structuredContent"]["results"][0]["score"].to_string()
    };
    let named = McpTestClient::start(env.ken().arg("mcp").env("KEN_RUN", "work"));
    assert_eq!(asked(named), scores(&["--run", "work"])[0]);
    let conversation = McpTestClient::start(env.ken().arg("mcp"));
    assert_eq!(asked(conversation), mean[0], "nobody opened this run");
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
    let count = |tag: &str| {
        let args = ["search", "session lock", "--tag", tag, "--format", "json"];
        let answer = env.run(args).success().json();
        answer["results"].as_array().map(Vec::len)
    };
    assert_eq!(["cache", "cache/session"].map(count), [Some(1); 2]);
    assert_eq!(["cach", "payments"].map(count), [Some(0); 2]);
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
    let segments = ["semantic", "procedural", "episodic"].map(|memory| {
        let folder = format!(".ken/{memory}/v1");
        let read = |name: &String| env.read(&format!("{folder}/{name}"));
        env.names(&folder).iter().map(read).collect::<String>()
    });
    let segments = segments.concat();
    let mut events = segments
        .lines()
        .filter(|it| it.contains("\"config.changed\""));
    let event = events.next().expect("an event");
    assert!(event.contains("\"key\":\"scoring\""), "{event}");
    assert_eq!(events.next(), None, "one");
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
    let best = |query: &str, more: &[&str]| ranked(&env, query, more)[0].clone();
    for tag in ["auth", "database"] {
        assert_eq!(best(tag, &[]).0, ids[1], "{tag}");
        assert_eq!(best("session lock", &["--tag", tag]).0, ids[1], "{tag}");
        let one = best(&format!("session lock in {tag}"), &[]);
        let both = best("session lock in auth and database", &[]);
        assert!(one.1 < both.1, "{one:?} {both:?}");
    }
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

/// Returns the hits of a search, best first, as id and score.
fn ranked(env: &TestEnvironment, query: &str, more: &[&str]) -> Vec<(String, f64)> {
    let args = ["search", query, "--mean", "--format", "json"];
    let answer = env.run(args.iter().chain(more)).success().json();
    let results = answer["results"].as_array().expect("results");
    let hit = |it: &serde_json::Value| {
        let score = it["score"].as_f64().expect("a number");
        (it["id"].as_str().expect("an id").to_owned(), score)
    };
    results.iter().map(hit).collect()
}

#[test]
fn the_nearest_entry_comes_first_and_a_partial_match_after_it() {
    let env = folder_with_ledger();
    let state = add_lesson(&env, "React state management needs one store per page");
    let speed = add_lesson(&env, "React performance suffers from large lists");
    for (query, wanted) in [
        ("React state management", [&state, &speed]),
        ("React performance of large lists", [&speed, &state]),
    ] {
        let found = ranked(&env, query, &["--threshold", "none"]);
        let ids: Vec<&String> = found.iter().map(|(id, _)| id).collect();
        assert_eq!(ids, wanted, "{query}");
        assert!(found[0].1 > found[1].1, "{found:?}");
    }
    let found = ranked(&env, "React state management", &[]);
    assert_eq!(found.len(), 2, "a partial match is found, too: {found:?}");
}

#[test]
fn a_role_ranks_its_kinds_first() {
    let env = folder_with_ledger();
    let learning = add_lesson(&env, "SQLite is fast enough for a ledger");
    let detail = r#"{"question":"Is SQLite fast?","answer":"yes","confidence":"conclusive"}"#;
    let spike = [
        "add",
        "SQLite is fast enough for our ledger",
        "--kind",
        "spike",
    ];
    let spike = spike
        .into_iter()
        .chain(["--cite", "pr:7", "--detail", detail]);
    let spike = env.run(spike).success().line();
    let role_part = |role: &str, id: &str| {
        let args = ["search", "SQLite fast ledger", "--for", role, "--mean"];
        let answer = env.run(args.into_iter().chain(["--format", "json"]));
        let answer = answer.success().json();
        let mut results = answer["results"].as_array().expect("results").iter();
        let hit = results.find(|it| it["id"] == id).expect("a hit");
        let mut parts = hit["signals"]["parts"].as_array().expect("parts").iter();
        let part = parts.find(|it| it["name"] == "role").expect("a part");
        part["adds"].as_f64().expect("a number")
    };
    for (role, wanted) in [
        ("researcher", [0.0, 0.05]),
        ("planner", [0.05, 0.0]),
        ("debugger", [0.0, 0.0]),
        ("executor", [0.0, 0.0]),
    ] {
        for (id, wanted) in [&learning, &spike].into_iter().zip(wanted) {
            assert!((role_part(role, id) - wanted).abs() < 1e-12, "{role} {id}");
        }
    }
    let more = [
        "Payments are retried once",
        "Tests run in parallel",
        "Logs are JSON",
        "Dates are in UTC",
        "The cache is warm after a start",
    ];
    for statement in more {
        let _ = add_lesson(&env, statement);
    }
    let first = |role: &str| {
        ranked(&env, "SQLite fast enough ledger", &["--for", role])[0]
            .0
            .clone()
    };
    // With the default weights, among entries that match alike.
    assert_eq!(
        (first("researcher"), first("planner")),
        (spike.clone(), learning.clone())
    );
    let briefed = |role: &str| {
        let brief = ["brief", "SQLite fast enough ledger", "--for", role];
        let text = env.run(brief).success().stdout;
        let first = text.lines().find(|it| it.starts_with('['));
        first.expect("an entry").to_owned()
    };
    assert!(briefed("researcher").starts_with(&format!("[{spike}]")));
    assert!(briefed("planner").starts_with(&format!("[{learning}]")));
    // Without relevance both are equal, so the role decides.
    let equal = "semantic=0 thompson=1 freshness=0 status=0 thread=0 cooccurrence=0";
    let weights = ["config", "weights", "set"].into_iter();
    let _ = env.run(weights.chain(equal.split(' '))).success();
    let first = |role: &str| {
        ranked(&env, "SQLite fast ledger", &["--for", role])[0]
            .0
            .clone()
    };
    assert_eq!((first("researcher"), first("planner")), (spike, learning));
}

#[test]
fn rejected_and_stale_entries_are_withheld_and_the_others_found() {
    let (env, ids) = ledger_with_lessons();
    for (status, is_found) in [
        ("candidate", true),
        ("active", true),
        ("verified", true),
        ("stale", false),
        ("rejected", false),
    ] {
        let _ = env.run(["entry", "status", &ids[1], status]);
        let answer = env.run(["search", "session lock", "--format", "json"]);
        let answer = answer.success().json();
        if is_found {
            assert_eq!(answer["results"][0]["id"], ids[1].as_str(), "{status}");
            let text = answer["results"][0]["text"].as_str().expect("text");
            assert!(text.contains(&format!("learning, {status},")), "{text}");
            let parts = answer["results"][0]["signals"]["parts"].as_array();
            let mut parts = parts.expect("parts").iter();
            let bonus = parts.find(|it| it["name"] == "status").expect("a part");
            let bonus = (status, bonus["value"].as_f64().expect("a number"));
            let wanted = [("candidate", 0.5), ("active", 0.8), ("verified", 1.0)];
            assert!(wanted.contains(&bonus), "{bonus:?}");
        } else {
            assert_eq!(answer["results"], serde_json::json!([]), "{status}");
            assert_eq!(answer["withheld"][0]["why"], status);
        }
    }
}

#[test]
fn the_files_of_a_project_add_nothing_to_a_query() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "A retried payment is charged twice.");
    let before = env
        .run(["search", "payment", "--mean", "--format", "json"])
        .stdout;
    env.write("package.json", r#"{"dependencies":{"react":"19"}}"#);
    env.write("Cargo.toml", "[package]\nname = \"till\"\n");
    commit_all(&env, "stack");
    let after = env
        .run(["search", "payment", "--mean", "--format", "json"])
        .stdout;
    assert!(before.contains("\"query\":\"payment\""), "{before}");
    assert_eq!(after, before);
}

#[test]
fn a_weak_match_below_the_floor_is_noted_as_what_did_not_answer() {
    let (env, ids) = ledger_with_lessons();
    let weak = "an elephant in the zoo drinks from a window of the lake";
    let unrelated = "quetzalcoatl ziggurat";
    for query in [weak, weak, unrelated] {
        let _ = env.run(["search", query, "--by", "agent:codex"]).success();
    }
    let listed = env.run(["search", "--unanswered", "--format", "json"]);
    let listed = listed.success().json();
    let of = |query: &str| {
        let mut all = listed["questions"].as_array().expect("a list").iter();
        all.find(|it| it["query"] == query).expect("noted").clone()
    };
    assert_eq!(of(weak)["top"], ids[2].as_str(), "{listed}");
    assert_eq!(of(weak)["times"], 2);
    assert_eq!(of(unrelated)["top"], serde_json::Value::Null, "{listed}");
}

#[test]
fn an_explanation_lists_what_was_considered_and_too_weak() {
    let (env, ids) = ledger_with_lessons();
    let query = ["search", "session lock of the house", "--mean"];
    let told = env.run(query.into_iter().chain(["--explain"])).success();
    assert!(told.stdout.starts_with(&ids[1]), "{told}");
    let line = format!("left out: {}, score 0.", ids[2]);
    let below = told.stderr.lines().find(|it| it.starts_with(&line));
    assert!(
        below.is_some_and(|it| it.ends_with(", threshold")),
        "{told}"
    );
    let json = env.run(query.into_iter().chain(["--explain", "--format", "json"]));
    let left_out = json.success().json()["left_out"].to_string();
    assert!(left_out.contains("\"threshold\""), "{left_out}");
    let plain = env.run(query).success();
    assert!(!plain.stderr.contains("left out"), "{plain}");
}

#[test]
fn what_means_the_same_is_found_without_a_common_word() {
    let (env, _) = ledger_with_lessons();
    let id = add_lesson(&env, "The cat sleeps on the sofa");
    let found = |more: &[&str]| {
        let args = ["search", "kitten naps", "--mean", "--format", "json"];
        let answer = env.run(args.iter().chain(more)).success().json();
        answer["results"].as_array().expect("results").clone()
    };
    let near = found(&[]);
    assert_eq!(near.len(), 1, "{near:?}");
    assert_eq!(near[0]["id"], id.as_str());
    assert_eq!(near[0]["coverage"], 0.0, "no word in common");
    let cosine = |hit: &serde_json::Value| hit["cosine"].as_f64().expect("a number");
    assert!(cosine(&near[0]) > 0.3, "{near:?}");
    let all = found(&["--threshold", "none"]);
    assert_eq!((all.len(), &all[0]["id"]), (4, &json!(id)), "{all:?}");
    assert!(all[1..].iter().all(|hit| cosine(hit) < cosine(&all[0])));
    let mut client = McpTestClient::older(&env, "claude-code");
    let said = client.said("ken_search", json!({"query": "kitten naps"}));
    assert!(said.contains(&format!("[{id}]")), "{said}");
    let _ = env.run(["config", "model", "use", "none"]).success();
    assert!(found(&[]).is_empty(), "words alone find nothing");
}

#[test]
fn a_cosine_as_floor_keeps_the_words_as_second_way() {
    let (env, ids) = ledger_with_lessons();
    let found = |args: &[&str]| {
        let search = ["search", "--format", "json", "--mean"].iter().chain(args);
        let answer = env.run(search).success().json();
        let results = answer["results"].as_array().expect("results").clone();
        let ids = results.iter().filter_map(|it| it["id"].as_str());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let cosine = |query: &str| {
        let args = ["search", query, "--format", "json", "--threshold", "none"];
        let answer = env.run(args).success().json();
        let results = answer["results"].as_array().expect("results").clone();
        let hit = results.iter().find(|it| it["id"] == ids[1].as_str());
        hit.expect("a hit")["cosine"].as_f64().expect("a number")
    };
    // Half of the words: the cosine decides, on both sides of the floor.
    let half = "session giraffe";
    let near = cosine(half);
    let (above, below) = (
        format!("{:.3}", near + 0.001),
        format!("{:.3}", near - 0.001),
    );
    assert_eq!(found(&[half, "--threshold", &above]), [""; 0]);
    assert_eq!(found(&[half, "--threshold", &below]), [ids[1].as_str()]);
    // All words: no floor keeps them out, with a model or without one.
    let all = ["session lock cache", "--threshold", "0.95"];
    assert_eq!(found(&all), [ids[1].as_str()]);
    let _ = env.run(["config", "model", "use", "none"]).success();
    assert_eq!(
        found(&["session lock cache", "--threshold", "0.3"]),
        [ids[1].as_str()]
    );
    assert_eq!(
        found(&["giraffe zoo lake lock", "--threshold", "0.3"]),
        [""; 0]
    );
}

#[test]
fn an_experiment_says_how_sure_it_is_wherever_it_is_listed() {
    let env = folder_with_ledger();
    let detail = r#"{"question":"Is SQLite fast?","answer":"maybe","confidence":"inconclusive"}"#;
    let spike = [
        "add",
        "SQLite may be fast enough.",
        "--kind",
        "spike",
        "--cite",
        "pr:7",
    ];
    let _ = env
        .run(spike.into_iter().chain(["--detail", detail]))
        .success();
    let certainty = "inconclusive: check before you adopt it";
    let rule = "adopt one if technology, constraints and scale match your question and its code did not change much; you decide. \
        Name its ID and the reason. If it answers only a part, adopt that part and name the gap; give an incidental answer less weight and say so.";
    let plain = env.run(["search", "--for", "researcher", "SQLite fast enough"]);
    let plain = plain.success().stdout;
    assert!(plain.contains(&format!("spike ({certainty})")), "{plain}");
    let index = env.read(".ken/index.md");
    assert!(index.contains(&format!("spike ({certainty})")), "{index}");
    let context = env.run(["search", "--context", "SQLite fast enough"]);
    let overview = env.run(["brief", "--by", "agent:x"]);
    let mut client = McpTestClient::older(&env, "claude-code");
    let tool = client.said("ken_search", json!({"query": "SQLite fast enough"}));
    let brief = env.run(["brief", "SQLite fast enough"]);
    let review = client.prompt("review", json!({"task": "SQLite fast enough"}));
    let prompted = json!({
        "session_id": "s1", "cwd": env.root(), "prompt": "SQLite fast enough",
    });
    let prompted = env.run_with(&prompted.to_string(), ["hook", "claude-code", "prompt"]);
    for text in [
        context.stdout,
        overview.stdout,
        tool,
        brief.stdout,
        review,
        prompted.stdout,
    ] {
        assert!(text.contains(certainty) && text.contains(rule), "{text}");
    }
    let listed = client.read("ken://index");
    assert!(listed.contains(certainty), "{listed}");
    // One query finds lessons and experiments alike.
    let lesson = add_lesson(&env, "SQLite is fast enough for small ledgers.");
    let both = client.said("ken_search", json!({"query": "SQLite fast enough"}));
    assert!(both.contains(&lesson) && both.contains("[S-"), "{both}");
    let detail = r#"{"question":"Is it durable?","answer":"yes","confidence":"conclusive"}"#;
    let spike = ["add", "Zebra ledgers survive a crash.", "--kind", "spike"];
    let spike = spike
        .into_iter()
        .chain(["--cite", "pr:8", "--detail", detail]);
    let _ = env.run(spike).success();
    let sure = env.run(["search", "--context", "zebra ledgers survive a crash"]);
    let sure = sure.success().stdout;
    assert!(sure.contains(", conclusive: Zebra ledgers"), "{sure}");
    let other = folder_with_ledger();
    let _ = add_lesson(&other, "SQLite is fast enough.");
    let plain = other.run(["search", "--context", "SQLite fast enough"]);
    assert!(!plain.success().stdout.contains("Experiments"));
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
        "--cite",
        "pr:9",
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
