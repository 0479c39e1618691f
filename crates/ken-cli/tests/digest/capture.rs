//! `ken capture FILE`: claims from transcripts and notes go to the inbox once, without secrets,
//! with the agent as author.

use std::fs;
use std::path::Path;

use ken_guard::ScanAxis;
use ken_guard::sample::samples_of_every_rule;
use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use crate::digest::repository_with_documents;

const CLAUDE: &str = include_str!("../../../ken-digest/tests/fixtures/claude.jsonl");
const CODEX: &str = include_str!("../../../ken-digest/tests/fixtures/codex.jsonl");

fn repository_with_transcripts() -> TestEnvironment {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    env.write("tsconfig.json", "{}\n");
    env.write("claude.jsonl", CLAUDE);
    env.write("codex.jsonl", CODEX);
    env
}

fn capture_json(env: &TestEnvironment, file: &str) -> Value {
    env.run(["capture", file, "--format", "json"])
        .success()
        .json()
}

fn inbox_statements(told: &Value) -> Vec<&str> {
    let staged = told["staged"].as_array().expect("claims");
    staged
        .iter()
        .map(|it| it["statement"].as_str().expect("a text"))
        .collect()
}

#[test]
fn a_transcript_becomes_claims_that_wait_and_nothing_else() {
    let env = repository_with_transcripts();
    insta::assert_snapshot!(env.run(["capture", "claude.jsonl"]), @r#"
    exit: 0
    ----- stdout -----
    c-c5a83b3321  convention  correction in transcript 432a8194 of claude-code, line 7
        Use pnpm, not npm.
        Asked: The webhook test fails on my machine, please find out why. Always be brief.
        Proposed: I'll run the tests.
        Decided: no, use pnpm
    c-244670891b  technique  fix in transcript 432a8194 of claude-code, line 14
        `pnpm test` failed with `Error: connect ECONNREFUSED 127.0.0.1:5432` until `docker compose up -d
        db` was run.
    c-4138e57c86  convention  correction in transcript 432a8194 of claude-code, line 16
        Never edit files under `src/generated` by hand.
        Proposed: I'll run the tests.
        Asked: no, use pnpm
        Decided: Great, thanks. Never edit files under `src/generated` by hand.
        Restated: Understood.
    c-7dad25e68f  bug  fix in transcript 432a8194 of claude-code, line 24
        `pnpm build` failed with `src/pay.ts(3,21): error TS2307: Cannot find module '@/lib/money' or
        its corresponding type declarations.` until `tsconfig.json` got the line `"paths": { "@/*":
        ["src/*"] },`.
    c-31eecdea8d  convention  habit in transcript 432a8194 of claude-code, line 39
        Run the tests with `pnpm test`.
    ----- stderr -----
    transcript of claude-code (49 lines, 2 of them unreadable): 5 new claims; 0 already pending, 0 known, 0 rejected before, 0 refused by the guard
    0 tokens: no LLM was called
    hint: review them: `ken inbox accept ID …` turns claims into entries, `ken add --from ID "TEXT"` records one in fewer words, `ken inbox reject ID …` rejects claims permanently
    hint: to record a lesson of your own, run `ken capture --problem … --solution … --cite …`
    "#);
    assert_eq!(
        env.run(["list"]).success().stdout,
        "",
        "nothing is in the ledger"
    );
}

#[test]
fn the_same_transcript_or_a_longer_one_brings_nothing_twice() {
    let env = repository_with_transcripts();
    let first = capture_json(&env, "claude.jsonl");
    assert_eq!(inbox_statements(&first).len(), 5);
    let again = capture_json(&env, "claude.jsonl");
    assert_eq!(
        (inbox_statements(&again).len(), &again["waiting"]),
        (0, &5.into())
    );
    let more = json!({"type": "user", "uuid": "later", "message": {"role": "user", "content": "Always pin images by digest in this repo."}});
    env.write("claude.jsonl", &format!("{CLAUDE}{more}\n"));
    let longer = capture_json(&env, "claude.jsonl");
    assert_eq!(
        inbox_statements(&longer),
        ["Always pin images by digest in this repo."]
    );
}

#[test]
fn what_was_rejected_or_is_known_does_not_come_again() {
    let env = repository_with_transcripts();
    let known = [
        "add",
        "--kind",
        "convention",
        "--statement",
        "Use pnpm, not npm",
        "--cite",
        "pr:1",
    ];
    let _ = env.run(known).success();
    let first = capture_json(&env, "claude.jsonl");
    assert_eq!(
        (inbox_statements(&first).len(), &first["known"]),
        (4, &1.into())
    );
    let id = first["staged"][0]["id"].as_str().unwrap();
    let rejected = env.run(["inbox", "reject", id]).success();
    assert!(
        rejected
            .stderr
            .contains("`ken capture` will not add them again"),
        "{rejected}"
    );
    let again = capture_json(&env, "claude.jsonl");
    assert_eq!(
        (
            &again["rejected"],
            &again["waiting"],
            inbox_statements(&again).len()
        ),
        (&1.into(), &3.into(), 0)
    );
}

#[test]
fn what_is_accepted_cites_the_transcript_in_the_agents_name_and_is_not_approved() {
    let env = repository_with_transcripts();
    let told = capture_json(&env, "codex.jsonl");
    assert_eq!(
        (&told["source"], &told["tokens"]["sent"]),
        (&"codex".into(), &0.into())
    );
    let digest = told["digest"].as_str().unwrap();
    let accepted = env
        .run(["inbox", "accept", "--format", "json"])
        .success()
        .json();
    assert_eq!(accepted["entries"].as_array().unwrap().len(), 4);
    let listed = env.run(["list", "--format", "json"]).success().stdout;
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].clone();
    let mut kinds: Vec<String> = listed.lines().map(|it| kind(it).to_string()).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds.join(" "),
        r#""bug" "convention" "convention" "technique""#
    );
    for id in accepted["entries"].as_array().unwrap() {
        let entry = env
            .run(["show", id.as_str().unwrap(), "--format", "json"])
            .success()
            .json();
        let citation = &entry["citations"][0];
        assert_eq!(citation["evidence_type"], "transcript");
        let reference = citation["evidence_ref"].as_str().unwrap();
        assert!(reference.starts_with(digest), "{reference}");
        assert_eq!(
            citation["cited_by"],
            "agent:codex/019bce9f-0a40-79e2-8351-8818e8487fb6"
        );
        assert_eq!(
            (&entry["created"]["origin"], &entry["status"]["value"]),
            (&"import".into(), &"candidate".into())
        );
    }
}

#[test]
fn a_fix_rests_on_the_files_that_are_there() {
    let env = repository_with_transcripts();
    let told = capture_json(&env, "claude.jsonl");
    let staged = told["staged"].as_array().unwrap();
    let fix = staged
        .iter()
        .find(|it| it["kind"] == "bug")
        .expect("a fix by an edit");
    assert_eq!(fix["depends_on"], json!(["file:tsconfig.json"]));
    assert_eq!(fix["verify"], json!(["pnpm build"]));
}

#[test]
fn notes_are_taken_apart_like_documents() {
    let env = repository_with_transcripts();
    env.write(
        "notes.md",
        "# What I learned\n\n- The charge lives in `src/pay.rs`.\n- Never log the card number.\n\nThanks for reading!\n",
    );
    let told = capture_json(&env, "notes.md");
    assert_eq!(
        inbox_statements(&told),
        [
            "The charge lives in `src/pay.rs`.",
            "Never log the card number."
        ]
    );
    assert_eq!(told["source"], "notes");
}

#[test]
fn notes_that_differ_from_an_entry_in_case_and_punctuation_are_known() {
    let env = repository_with_transcripts();
    let known = [
        "add",
        "--kind",
        "convention",
        "--statement",
        "Never log the card number",
        "--cite",
        "pr:1",
    ];
    let _ = env.run(known).success();
    env.write(
        "notes.md",
        "# What I learned\n\n- never LOG the card number!\n",
    );
    let told = capture_json(&env, "notes.md");
    assert_eq!(
        (inbox_statements(&told).len(), &told["known"]),
        (0, &1.into())
    );
}

#[test]
fn what_is_no_transcript_is_refused_with_a_way_on() {
    let env = repository_with_transcripts();
    env.write("other.jsonl", "{\"a\":1}\n{\"b\":2}\n");
    let run = env.run(["capture", "other.jsonl"]);
    assert_eq!(run.exit, 2, "{run}");
    assert!(run.stderr.contains("--agent claude-code"), "{run}");
    let forced = env
        .run(["capture", "other.jsonl", "--agent", "codex"])
        .success();
    assert!(forced.stderr.contains("0 new claims"), "{forced}");
    assert_eq!(env.run(["capture", "nowhere.jsonl"]).exit, 2);
    assert_eq!(env.run(["capture"]).exit, 2, "something must be told");
    assert_eq!(env.run(["capture", "x", "--problem", "y"]).exit, 2);
    let large = env.root().join("large.jsonl");
    fs::File::create(&large)
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    let run = env.run(["capture", "large.jsonl"]);
    assert!(run.exit == 2 && run.stderr.contains("64 MiB"), "{run}");
}

#[test]
fn the_hand_made_capture_is_recommended_wherever_entries_come_by_themselves() {
    let env = repository_with_transcripts();
    let hint = "ken capture --problem … --solution … --cite …";
    let told = env.run(["capture", "claude.jsonl"]).success();
    assert!(told.stderr.contains(hint), "{told}");
    let help = env.run(["capture", "--help"]).success().stdout;
    assert!(help.contains("Record a problem you solved:"), "{help}");
    // Findings of agents that became entries automatically.
    let _ = env
        .run(["run", "open", "review-1", "--agent", "one"])
        .success();
    let finding = "A retried webhook is charged twice by the gateway";
    let observe = [
        "run",
        "observe",
        "--statement",
        finding,
        "--severity",
        "9.2",
        "--anchor",
        "src/pay.rs",
        "--by",
        "agent:one",
        "--run",
        "review-1",
    ];
    let _ = env.run(observe).success();
    let closed = env
        .run(["run", "close", "review-1", "--outcome", "succeeded"])
        .success();
    assert!(closed.stderr.contains(" new\n"), "{closed}");
    assert!(closed.stderr.contains(hint), "{closed}");
}

/// Configures a script as the judge; it appends its input to `../asked` and prints `answer`.
fn set_judge(env: &TestEnvironment, answer: &str) {
    let folder = env.root().join("..");
    let asked = folder.join("asked");
    let script = format!("cat >> {}\nprintf '%s' '{answer}'\n", asked.display());
    env.write("../judge.sh", &script);
    let path = folder.join("judge.sh").display().to_string();
    let set = [
        "config",
        "llm",
        "set",
        "command",
        "--timeout",
        "20",
        "--",
        "/bin/sh",
    ];
    let _ = env.run(set.into_iter().chain([path.as_str()])).success();
}

#[test]
fn a_judge_words_what_waits_and_where_it_is_silent_kens_own_findings_wait() {
    let env = repository_with_transcripts();
    let none = env.run(["capture", "claude.jsonl", "--llm"]);
    assert_eq!(none.exit, 2, "without a judge: {none}");
    let quote = "Never edit files under `src/generated` by hand";
    let answer = json!({"claims": [{
        "kind": "convention",
        "statement": "Files below `src/generated` are written by a program and never by hand.",
        "quote": quote,
    }]});
    set_judge(&env, &answer.to_string());
    let told = env
        .run(["capture", "claude.jsonl", "--llm", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        inbox_statements(&told),
        ["Files below `src/generated` are written by a program and never by hand."]
    );
    let by = told["staged"][0]["by"].as_str().expect("who said so");
    assert!(by.starts_with("agent:judge/"), "{by}");
    assert_eq!(
        (&told["tokens"]["calls"], &told["tokens"]["estimated"]),
        (&1.into(), &true.into())
    );
    assert!(told["tokens"]["sent"].as_u64().expect("a number") > 0);
    let asked = fs::read_to_string(env.root().join("../asked")).expect("a question");
    assert!(
        asked.contains("ECONNREFUSED") && !asked.contains("CONTAINER ID"),
        "{asked}"
    );
    assert_eq!(
        env.run(["list"]).success().stdout,
        "",
        "nothing is in the ledger"
    );
    set_judge(&env, "no idea");
    let silent = env.run(["capture", "codex.jsonl", "--llm", "--format", "json"]);
    assert_eq!(silent.exit, 1, "{silent}");
    assert_eq!(inbox_statements(&silent.json()).len(), 4);
}

#[test]
fn claims_added_at_once_come_from_the_same_short_conversation() {
    let env = repository_with_transcripts();
    set_judge(&env, "{\"claims\":[]}");
    let _ = env
        .run(["capture", "claude.jsonl", "--llm", "--add"])
        .success();
    let asked = fs::read_to_string(env.root().join("../asked")).expect("a question");
    assert!(asked.contains("ECONNREFUSED"), "{asked}");
    assert!(
        !asked.contains("CONTAINER ID") && !asked.contains("sessionId"),
        "the lines of the transcript stay here: {asked}"
    );
}

#[test]
fn lessons_and_spikes_answer_and_raw_signals_and_waiting_claims_do_not() {
    let env = repository_with_transcripts();
    let _ = capture_json(&env, "claude.jsonl");
    let lesson = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "Webhook tests need the database container",
        "--cite",
        "pr:1",
    ];
    let _ = env.run(lesson).success();
    let spike = [
        "add",
        "--kind",
        "spike",
        "--statement",
        "Webhook tests run against a database in memory as well",
        "--detail",
        r#"{"question":"Can webhook tests do without the container?","answer":"Yes","confidence":"conclusive"}"#,
        "--cite",
        "pr:2",
    ];
    let _ = env.run(spike).success();
    let context = r#"{"tool":"pnpm","output":"webhook tests: connection to the database refused"}"#;
    let friction = [
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
        context,
    ];
    let _ = env.run(friction).success();
    let found = env
        .run(["search", "webhook tests database", "--format", "json"])
        .success()
        .stdout;
    assert!(found.contains("\"L-") && found.contains("\"S-"), "{found}");
    assert!(
        !found.contains("ECONNREFUSED"),
        "a claim that waits: {found}"
    );
    assert!(
        !found.contains("connection to the database refused"),
        "{found}"
    );
    let brief = env.run(["brief", "webhook tests database"]);
    let brief = brief.success().stdout;
    assert!(brief.contains("[L-") && brief.contains("[S-"), "{brief}");
    assert!(brief.contains(", conclusive: "), "{brief}");
    for raw in ["ECONNREFUSED", "connection to the database refused"] {
        assert!(!brief.contains(raw), "{brief}");
    }
}

/// Returns a transcript with `text` wherever a person, a shell or a file supplies text.
fn transcript_with_text(text: &str) -> String {
    let failing = format!("Exit code 1\nError: cannot connect with {text} to the database");
    let mut lines = vec![
        json!({"type": "user", "sessionId": "s", "cwd": "/w", "message": {"role": "user", "content": "go on"}}),
    ];
    let mut tool = |id: &str, name: &str, input: Value, result: &str, failed: bool| {
        lines.push(json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}}));
        lines.push(json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": result}]}}));
    };
    let export = json!({"command": format!("npm install --token {text}")});
    tool("a", "Bash", json!({"command": "npm test"}), &failing, true);
    tool("b", "Bash", export, "ok", false);
    tool("c", "Bash", json!({"command": "npm test"}), "ok", false);
    tool(
        "d",
        "Bash",
        json!({"command": "npm run build"}),
        "Error: missing setting in config file",
        true,
    );
    let edit = json!({"file_path": "/w/config.env", "old_string": "a", "new_string": format!("a\nKEY={text}")});
    tool("e", "Edit", edit, "updated", false);
    tool(
        "f",
        "Bash",
        json!({"command": "npm run build"}),
        "ok",
        false,
    );
    lines.push(json!({"type": "user", "message": {"role": "user", "content": format!("no, always use {text} for staging")}}));
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn no_secret_of_a_transcript_is_left_anywhere() {
    let env = repository_with_transcripts();
    let mut planted = Vec::new();
    let mut said = String::new();
    for (at, sample) in samples_of_every_rule(41).into_iter().enumerate() {
        let secret = matches!(
            sample.axis,
            ScanAxis::Credential | ScanAxis::CredentialLeakage
        );
        if !secret || sample.secret().len() < 8 {
            continue;
        }
        let name = format!("t-{at}.jsonl");
        env.write(&name, &transcript_with_text(&sample.text));
        let run = env.run(["capture", &name]);
        assert_eq!(run.exit, 0, "{run}");
        said.push_str(&run.to_string());
        fs::remove_file(env.root().join(&name)).unwrap();
        planted.push(sample);
    }
    assert!(planted.len() > 50, "{}", planted.len());
    let seen = said
        + &read_all_files(&env.root())
        + &read_all_files(&env.root().parent().unwrap().join("home"));
    let left: Vec<&str> = planted
        .iter()
        .filter(|it| seen.contains(it.secret()))
        .map(|it| it.rule.as_str())
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(seen.contains("[REDACTED:"), "some waits without its secret");
}

fn read_all_files(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.push_str(&read_all_files(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(
                &fs::read(&path).unwrap_or_default(),
            ));
        }
    }
    all
}

#[test]
fn a_decision_waits_with_its_exchange_and_is_recorded_in_fewer_words() {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    let asked = |text: &str| json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}});
    let told = |text: &str| json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": text}]}});
    let lines = [
        asked("the upstream blocks us"),
        told("The window fits several attempts. How many should I allow?"),
        asked("Seven. Eight trips it."),
        told("Got it: at most 7 attempts, never 8."),
    ];
    let transcript: String = lines.iter().map(|it| format!("{it}\n")).collect();
    env.write("chat.jsonl", &transcript);
    let captured = capture_json(&env, "chat.jsonl");
    let claim = &captured["staged"][0];
    assert_eq!(claim["kind"], "decision", "{captured}");
    let exchange = claim["exchange"].as_str().expect("an exchange");
    assert!(
        exchange.contains("Decided: Seven. Eight trips it."),
        "{exchange}"
    );
    let id = claim["id"].as_str().expect("an id");
    let rule = "Retries stop after seven attempts: the eighth trips the rate limit";
    let add = [
        "add", rule, "--kind", "decision", "--from", id, "--format", "json",
    ];
    let entry = env.run(add).success().json();
    assert!(entry.to_string().contains("#L2-3"), "{entry}");
    let again = capture_json(&env, "chat.jsonl");
    assert_eq!(inbox_statements(&again), [""; 0], "{again}");
    assert_eq!(again["rejected"], 1, "{again}");
}
