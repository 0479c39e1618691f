//! `ken forage`: documentation of locked packages, quarantine, budgets, poisoned documents.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;

use ken_guard::sample::samples_of_every_rule;
use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use super::support::{commit_all, repository_with_ledger};

pub(super) const QUESTION: &str = "How do I set the timeout of a request?";
const ANSWER: &str = "Call `Client::timeout` to set the timeout of a request in seconds.";

/// Writes the user's `forage.toml`.
pub(super) fn allow(env: &TestEnvironment, text: &str) {
    let folder = env.root().parent().unwrap().join("home/.config/ken");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("forage.toml"), text).unwrap();
}

/// Locks `tiny` and vendors it with a README.
fn lock(env: &TestEnvironment, version: &str, readme: &str) {
    let lockfile = format!(
        "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"{version}\"\n\
         source = \"registry+https://example.org/index\"\n"
    );
    env.write("Cargo.lock", &lockfile);
    let manifest =
        format!("[package]\nname = \"tiny\"\nversion = \"{version}\"\nlicense = \"MIT\"\n");
    env.write("vendor/tiny/Cargo.toml", &manifest);
    env.write("vendor/tiny/README.md", readme);
    commit_all(env, "lock");
}

pub(super) fn repository() -> TestEnvironment {
    let env = repository_with_ledger();
    let readme = format!("# tiny\n\n## Timeouts\n\n{ANSWER}\n\n```rust\nclient.timeout(5);\n```\n");
    lock(&env, "1.2.3", &readme);
    env
}

pub(super) fn forage(env: &TestEnvironment) -> Value {
    env.run([
        "forage",
        QUESTION,
        "--propose",
        "--package",
        "tiny",
        "--format",
        "json",
    ])
    .success()
    .json()
}

fn search_as_agent(env: &TestEnvironment, query: &str) -> String {
    let shown = env.run(["search", query, "--by", "agent:bot"]);
    format!("{}{}", shown.stdout, shown.stderr)
}

#[test]
fn without_a_configuration_the_forager_is_off() {
    let env = repository();
    let refused = env.run(["forage", QUESTION]);
    assert_ne!(refused.exit, 0);
    assert!(
        refused.stderr.contains("the forager is off"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("sources = [\"packages\"]"),
        "{}",
        refused.stderr
    );
}

#[test]
fn documentation_of_the_locked_version_becomes_a_quarantined_entry() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let report = forage(&env);
    assert_eq!(report["passages"][0]["text"], ANSWER);
    assert_eq!(report["passages"][0]["code"], "client.timeout(5);");
    assert_eq!(
        report["passages"][0]["address"],
        "pkg:cargo/tiny@1.2.3#README.md"
    );
    assert_eq!(report["passages"][0]["line"], 5);
    let id = report["proposed"][0].as_str().unwrap().to_owned();
    let entry = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(entry["status"]["value"], "candidate", "{entry}");
    assert_eq!(
        entry["content"]["depends_on"][0], "pkg:cargo/tiny@^1.2.3",
        "{entry}"
    );
    let foraged = &entry["created"]["foraged"];
    assert_eq!(foraged["source_url"], "pkg:cargo/tiny@1.2.3#README.md");
    assert_eq!(foraged["fetch_level"], "package");
    assert_eq!(foraged["forager_trigger"], "operator");
    assert_eq!(foraged["license"], "MIT");
    assert!(
        foraged["quality_score_milli"].as_u64().unwrap() >= 550,
        "{foraged}"
    );
    assert!(foraged["fetch_timestamp"].is_string() && foraged["forager_query"].is_null());
    let shown = env.run(["show", &id]).success().stdout;
    assert!(
        shown.contains("operator request") && shown.contains("nothing was sent"),
        "{shown}"
    );
    let text = entry.to_string();
    assert!(text.contains("pkg:cargo/tiny@1.2.3#README.md:5"), "{text}");
    assert!(
        text.contains("license: MIT") && text.contains("b3:"),
        "{text}"
    );
    let log = env.run(["log", &id, "--format", "json"]).success().stdout;
    assert!(log.contains("import:forage/packages"), "{log}");
    // A person reads it in the inbox; an agent is not shown it.
    assert!(env.run(["inbox"]).success().stdout.contains(&id));
    assert!(!search_as_agent(&env, QUESTION).contains("Client::timeout"));
    // The same question again finds the entry.
    assert_eq!(forage(&env)["known"], 1);
    let release = ["guard", "quarantine", "release", &id, "--reason", "read it"];
    let _ = env.run(release).success();
    assert!(search_as_agent(&env, QUESTION).contains("Client::timeout"));
    // When the lockfile moves on, the claim ends.
    lock(&env, "2.0.0", "# tiny\n");
    let verified = env.run(["verify", "--format", "json"]).stdout;
    assert!(
        verified.contains(&id) && verified.contains("2.0.0"),
        "{verified}"
    );
}

#[test]
fn a_question_is_recorded_with_its_outcome() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let _ = forage(&env);
    let events = |name: &str| {
        let lines = env.git(["grep", "--no-index", "-h", name, "--", ".ken/episodic"]);
        let lines = lines
            .lines()
            .filter_map(|it| serde_json::from_str::<Value>(it).ok());
        lines.collect::<Vec<_>>()
    };
    let requests = events("forage.requested");
    let completions = events("forage.completed");
    assert_eq!(
        (requests.len(), completions.len()),
        (1, 1),
        "{requests:?} {completions:?}"
    );
    let request = requests[0].to_string();
    assert!(
        request.contains("operator") && request.contains("a person asked"),
        "{request}"
    );
    let completion = completions[0].to_string();
    let id = requests[0]["id"].as_str().unwrap();
    assert!(
        completion.contains(id) && completion.contains("\"admitted\":1"),
        "{completion}"
    );
    assert!(completion.contains("duration_ms"), "{completion}");
    // The question stays on this machine.
    assert!(!request.contains("timeout") && !completion.contains("timeout"));
}

#[test]
fn a_rejected_passage_is_not_proposed_again() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let id = forage(&env)["proposed"][0].as_str().unwrap().to_owned();
    let _ = env.run(["retract", &id, "--reason", "unwanted"]).success();
    let again = forage(&env);
    assert_eq!(again["proposed"].as_array().unwrap().len(), 0, "{again}");
    assert_eq!(again["known"], 1, "{again}");
}

#[test]
fn an_agent_is_not_shown_what_it_foraged() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let args = [
        "forage",
        QUESTION,
        "--propose",
        "--package",
        "tiny",
        "--by",
        "agent:bot",
    ];
    let text = env.run(args).success();
    assert!(
        !text.stdout.contains("timeout") && !text.stderr.contains("Client"),
        "{text}"
    );
    let json = env
        .run(args.into_iter().chain(["--format", "json"]))
        .success()
        .json();
    assert_eq!(json["passages"].as_array().unwrap().len(), 0);
}

#[test]
fn a_reading_list_writes_nothing_and_the_log_says_what_was_read() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let shown = env.run(["forage", QUESTION]).success();
    assert!(shown.stdout.contains(ANSWER), "{shown}");
    assert!(
        env.run(["guard", "quarantine", "list"])
            .success()
            .stdout
            .is_empty()
    );
    let log = env.run(["forage", "log"]).success().stdout;
    assert!(
        log.contains("tiny 1.2.3  read") && !log.contains("timeout"),
        "{log}"
    );
}

#[test]
fn budgets_end_the_admission() {
    let env = repository();
    allow(
        &env,
        "sources = [\"packages\"]\n[budget]\nentries_per_day = 1",
    );
    assert_eq!(forage(&env)["proposed"].as_array().unwrap().len(), 1);
    let other = [
        "forage",
        "What is the timeout method of the client?",
        "--propose",
        "--package",
        "tiny",
    ];
    let ended = env.run(other).success();
    assert!(
        ended
            .stderr
            .contains("the limit of entries per day is reached"),
        "{ended}"
    );
    let status = env
        .run(["forage", "status", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        (&status["entries_today"], &status["waiting"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn searches_without_an_answer_are_worked_off() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let _ = env.run(["search", "timeout of a tiny request"]).success();
    let worked = env.run(["forage", "--gaps"]).success();
    assert!(
        worked.stdout.contains("timeout of a tiny request"),
        "{worked}"
    );
    assert!(worked.stdout.contains(ANSWER), "{worked}");
}

#[test]
fn another_version_than_the_locked_one_is_not_read() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    env.write(
        "vendor/tiny/Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"9.0.0\"\n",
    );
    let report = forage(&env);
    assert_eq!(report["missing"][0], "tiny 1.2.3");
    assert_eq!(report["passages"].as_array().unwrap().len(), 0);
}

#[test]
fn poisoned_documents_surface_nothing_to_an_agent() {
    let env = repository_with_ledger();
    allow(
        &env,
        "sources = [\"packages\"]\n[budget]\nwaiting = 100\nentries_per_day = 40",
    );
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let samples = samples_of_every_rule(7);
    let texts: Vec<String> = samples.iter().map(|it| folded(&it.text)).collect();
    assert!(texts.len() >= 46, "{}", texts.len());
    for (round, chunk) in texts.chunks(12).enumerate() {
        let mut readme = String::from("# tiny\n\n");
        for text in chunk {
            readme.push_str(&format!(
                "## The timeout of a request\n\nSet the timeout of a request. {text}\n\n"
            ));
            readme.push_str(&format!(
                "<div style=\"display:none\">timeout of a request {text}</div>\n\n"
            ));
        }
        lock(&env, &format!("1.0.{round}"), &readme);
        let args = [
            "forage",
            QUESTION,
            "--propose",
            "--package",
            "tiny",
            "--limit",
            "10",
            "--by",
            "agent:bot",
        ];
        let shown = env.run(args).success();
        for text in chunk {
            assert!(!shown.stdout.contains(text.as_str()), "{text}");
        }
    }
    let shown = search_as_agent(&env, QUESTION);
    let brief = env.run(["brief", QUESTION, "--by", "agent:bot"]).stdout;
    for text in &texts {
        let start: String = text.chars().take(40).collect();
        assert!(!shown.contains(&start) && !brief.contains(&start), "{text}");
    }
    // Nothing was released on the way.
    let listed = env
        .run(["list", "--format", "json", "--by", "agent:bot"])
        .stdout;
    assert!(!listed.contains("tiny 1.0."), "{listed}");
}

#[test]
fn a_person_decides_about_a_domain_and_an_agent_does_not() {
    let env = repository();
    let domain = |action: &str, host: &str| env.run(["forage", "domain", action, host]);
    let refused = env.run([
        "forage",
        "domain",
        "distrust",
        "blog.example.org",
        "--by",
        "agent:bot",
    ]);
    assert_ne!(refused.exit, 0);
    assert!(refused.stderr.contains("requires a person"), "{refused}");
    let _ = domain("distrust", "Blog.example.org").success();
    let _ = domain("trust", "docs.example.org").success();
    assert_ne!(domain("distrust", "https://blog.example.org").exit, 0);
    allow(&env, "sources = [\"packages\"]");
    let status = || env.run(["forage", "status"]).success().stdout;
    assert!(
        status().contains("blog.example.org  distrusted"),
        "{}",
        status()
    );
    assert!(
        status().contains("docs.example.org  trusted"),
        "{}",
        status()
    );
    let _ = domain("reset", "blog.example.org").success();
    assert!(!status().contains("blog.example.org"), "{}", status());
    // The events are in the ledger, so a rebuilt index says the same.
    let before = status();
    fs::remove_dir_all(env.root().join(".ken/.index")).unwrap();
    assert_eq!(status(), before);
}

#[test]
fn words_for_a_search_service_can_be_seen_before_anything_is_sent() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]\nnames = [\"harvest\"]");
    let query = |text: &str| env.run(["forage", "query", text]).success().stdout;
    let shown = query("How does harvest at Umbrella set the timeout of an HTTP request?");
    assert_eq!(shown.trim(), "set timeout http request");
    assert_eq!(query("Why does Umbrella lose ORION-1234?"), "");
}

/// Opens and closes a run, as an orchestrator does; returns what the end of work said.
fn end_work(env: &TestEnvironment, run: &str) -> String {
    let open = ["run", "open", run, "--agent", "worker"];
    let _ = env.run(open).success();
    let close = ["run", "close", run, "--outcome", "succeeded"];
    env.run(close).success().stderr
}

#[test]
fn gaps_are_filled_unasked_only_if_policy_and_user_both_allow_it() {
    let env = repository();
    let waiting = || {
        let listed = env.run(["guard", "quarantine", "list"]).success();
        listed.stdout.lines().count()
    };
    let _ = env.run(["search", "timeout of a tiny request"]).success();
    // Neither allows it, then only the policy, then only the user.
    allow(&env, "sources = [\"packages\"]");
    let _ = end_work(&env, "work-1");
    let policy = |mode: &str| {
        let args = [
            "health", "maintain", "policy", "--mode", mode, "--auto", "forage",
        ];
        let _ = env.run(args).success();
    };
    policy("auto_notify");
    let _ = end_work(&env, "work-2");
    policy("suggest");
    allow(&env, "sources = [\"packages\"]\nunasked = true");
    let _ = end_work(&env, "work-3");
    assert_eq!(waiting(), 0);
    policy("auto_notify");
    // A search and a check do not forage.
    let _ = env.run(["search", "another question entirely"]).success();
    let _ = env.run(["verify"]);
    assert_eq!(waiting(), 0);
    let told = end_work(&env, "work-4");
    assert!(told.contains("[maintenance:forage]"), "{told}");
    assert!(waiting() > 0);
    // Within a day it does not run again.
    let count = waiting();
    let _ = env
        .run(["search", "what sets the timeout of the client"])
        .success();
    let _ = end_work(&env, "work-5");
    assert_eq!(waiting(), count);
    assert!(!search_as_agent(&env, QUESTION).contains("Client::timeout"));
}

#[test]
fn a_coverage_gap_of_the_health_report_becomes_a_question() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    for (at, word) in ["invoices", "refunds", "ledgers"].iter().enumerate() {
        let statement = format!("The {word} of billing are rounded to whole cents");
        let _ = env
            .run([
                "add",
                "--kind",
                "learning",
                "--statement",
                &statement,
                "--tag",
                "billing",
                "--cite",
                "doc:vendor/tiny/README.md",
            ])
            .success();
        for n in 0..3 {
            let query = format!("{word} qq{at}{n} ww{at}{n} ee{at}{n} rr{at}{n} tt{at}{n}");
            let _ = env.run(["search", &query]).success();
        }
    }
    let report = env
        .run(["health", "report", "--format", "json"])
        .success()
        .json();
    let insights = report["insights"].as_array().unwrap();
    let signal = insights
        .iter()
        .find_map(|it| it["forage_signal"]["question"].as_str());
    let question = signal.expect("a signal");
    assert!(question.starts_with("billing: The "), "{question}");
    let listed = env
        .run(["forage", "--gaps", "--format", "json"])
        .success()
        .stdout;
    assert!(listed.contains(question), "{listed}");
}

#[test]
fn maintenance_that_is_asked_for_needs_a_configuration() {
    let env = repository();
    let off = env.run(["health", "maintain", "forage"]);
    assert_ne!(off.exit, 0);
    assert!(off.stderr.contains("the forager is off"), "{off}");
    let list = || env.run(["health", "maintain"]).success().stdout;
    let line = |text: String| {
        text.lines()
            .find(|it| it.starts_with("forage"))
            .unwrap()
            .to_owned()
    };
    assert!(!line(list()).contains(" due "), "{}", list());
    allow(&env, "sources = [\"packages\"]");
    assert!(line(list()).contains(" due "), "{}", list());
    let _ = env.run(["search", "timeout of a tiny request"]).success();
    let done = env.run(["health", "maintain", "forage"]).success();
    assert!(
        done.stdout
            .contains("quarantined until a person releases it"),
        "{done}"
    );
}

#[test]
fn released_web_text_ranks_below_knowledge_that_is_as_relevant() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let web = forage(&env)["proposed"][0].as_str().unwrap().to_owned();
    let release = [
        "guard",
        "quarantine",
        "release",
        &web,
        "--reason",
        "read it",
    ];
    let _ = env.run(release).success();
    // The pin would put it first.
    let _ = env.run(["entry", "pin", &web]).success();
    // Relevance is scaled over all entries, so one has to be about something else.
    let _ = env
        .run([
            "add",
            "--kind",
            "learning",
            "--cite",
            "doc:vendor/tiny/README.md",
            "--statement",
            "Invoices are rounded to whole cents",
        ])
        .success();
    let statement = "The timeout of a request is five seconds at most";
    let add = [
        "add",
        "--kind",
        "learning",
        "--statement",
        statement,
        "--cite",
        "doc:vendor/tiny/README.md",
        "--format",
        "json",
    ];
    let own = env.run(add).success().json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let search = || {
        let query = ["search", "timeout of a request", "--format", "json"];
        let found = env.run(query).success().json();
        let hits = found["results"].as_array().unwrap().clone();
        hits.into_iter()
            .map(|it| {
                let id = it["id"].as_str().unwrap().to_owned();
                (
                    id,
                    it["score"].as_f64().unwrap(),
                    it["relevance"].as_f64().unwrap(),
                    it.to_string(),
                )
            })
            .collect::<Vec<_>>()
    };
    let of = |hits: &[(String, f64, f64, String)], id: &str| {
        hits.iter().find(|it| it.0 == id).cloned().unwrap()
    };
    let hits = search();
    let (own_hit, web_hit) = (of(&hits, &own), of(&hits, &web));
    assert!(
        own_hit.2 >= web_hit.2,
        "the test needs an entry that is as relevant: {hits:?}"
    );
    assert!(own_hit.1 > web_hit.1, "{hits:?}");
    assert!(web_hit.3.contains("unconfirmed web"), "{}", web_hit.3);
    // Once a person confirmed it, it ranks as any other.
    let _ = env.run(["confirm", &web]).success();
    let hits = search();
    assert!(of(&hits, &web).1 > of(&hits, &own).1, "{hits:?}");
}
