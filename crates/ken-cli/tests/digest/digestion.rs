//! `reduce`, `reflect`, `reweave` and `stage`: from sources to the inbox, and from the inbox to the
//! ledger.

use crate::digest::repository_with_documents;
use ken_testkit::test_env::TestEnvironment;

fn repository_with_ledger() -> TestEnvironment {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    env
}

/// Adds an entry as a person and returns its id.
fn add_claim(env: &TestEnvironment, kind: &str, statement: &str) -> String {
    let args = [
        "add",
        "--kind",
        kind,
        "--cite",
        "pr:1",
        "--statement",
        statement,
    ];
    env.run(args).success().line()
}

fn inbox_claims(env: &TestEnvironment) -> Vec<serde_json::Value> {
    let listed = env
        .run(["inbox", "list", "--format", "json"])
        .success()
        .stdout;
    listed
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect()
}

#[test]
fn reduce_lands_in_staging_and_never_in_the_ledger() {
    let env = repository_with_ledger();
    let reduce = ["knowledge", "reduce", "--sources", "CLAUDE.md"];
    let told = env.run(reduce.into_iter().chain(["--format", "json"]));
    let told = told.success().json();
    assert_eq!(told["schema"], "ken.inbox.collect.v1");
    assert_eq!(told["staged"].as_array().unwrap().len(), 7);
    assert_eq!(env.names(".ken/.local/staging/semantic").len(), 7);
    assert_eq!(env.run(["list"]).success().stdout, "");
    let again = env
        .run(["import", "--review", "CLAUDE.md", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        (again["staged"].as_array().unwrap().len(), &again["waiting"]),
        (0, &7.into())
    );
    let both = reduce.into_iter().chain([".github/CONTRIBUTING.md"]);
    let both = env.run(both.chain(["--format", "json"])).success().json();
    assert_eq!(both["sources"], 2);
    let cite = both["staged"][0]["cite"].as_str().unwrap();
    assert!(cite.starts_with("doc:.github/CONTRIBUTING.md#L"), "{cite}");
    let ignored = env.git(["status", "--porcelain", "--", ".ken/.local"]);
    assert_eq!(ignored, "", "what waits is nobody else's business");
}

#[test]
fn history_is_a_source_with_its_count_as_evidence() {
    let env = repository_with_ledger();
    let none = env
        .run(["import", "--history", "--format", "json"])
        .success()
        .json();
    assert!(
        none["staged"].as_array().unwrap().is_empty(),
        "one commit shows no habit"
    );
    for number in 0..24 {
        env.write("src/pay.rs", &format!("// {number}\n"));
        let message = if number == 5 {
            "Oops".to_owned()
        } else {
            format!("fix(pay): number {number}")
        };
        let _ = env.git(["commit", "-aqm", &message]);
    }
    let told = env
        .run(["import", "--history", "--format", "json"])
        .success()
        .json();
    let said: Vec<&str> = told["staged"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["statement"].as_str().unwrap())
        .collect();
    let conventional = "Commit subjects follow Conventional Commits: `type(scope): what changed` (23 of the last 25 commits do).";
    assert!(said.contains(&conventional), "{said:?}");
    assert!(!said.iter().any(|it| it.contains("tests")), "{said:?}");
    env.write("src/pay.rs", "// more\n");
    let _ = env.git(["commit", "-aqm", "fix: more"]);
    let again = env
        .run(["import", "--review", "--commits", "--format", "json"])
        .success()
        .json();
    assert!(
        again["staged"].as_array().unwrap().is_empty(),
        "the same norm, one commit later"
    );
}

/// Commits `content` as `path` with a message and returns the commit's short id.
fn commit(env: &TestEnvironment, path: &str, content: &str, message: &str) -> String {
    env.write(path, content);
    let _ = env.git(["add", path]);
    let _ = env.git(["commit", "-qm", message]);
    env.git(["rev-parse", "--short=12", "HEAD"])
        .trim()
        .to_owned()
}

/// Runs `ken import --history` and returns the claims that are not norms.
fn history(env: &TestEnvironment) -> Vec<serde_json::Value> {
    let told = env.run(["import", "--history", "--all", "--format", "json"]);
    let staged = told.success().json()["staged"]
        .as_array()
        .expect("a list")
        .clone();
    staged
        .into_iter()
        .filter(|it| it["rule"] != "norm")
        .collect()
}

#[test]
fn reasons_in_the_history_wait_in_the_inbox_with_commit_and_anchor() {
    let env = repository_with_ledger();
    let code =
        "fn flush() {}\n\nfn abort() {\n    write_header_at_once();\n    stop_the_answer();\n}\n";
    let id = commit(
        &env,
        "src/answer.rs",
        code,
        "Write the header at once in abort()\n\nOtherwise, the caller needs to invoke flush() on every connection of the gateway.",
    );
    // A rule about code that is gone is worthless.
    let _ = commit(
        &env,
        "src/gone.rs",
        "fn send_it_twice() {}\n",
        "Keep the socket in send()\n\nThe socket must be closed before send() returns.",
    );
    let _ = commit(
        &env,
        "src/gone.rs",
        "fn another_function() {}\n",
        "Replace it all",
    );
    let planned = env
        .run([
            "import",
            "--history",
            "--all",
            "--dry-run",
            "--format",
            "json",
        ])
        .success();
    assert!(
        planned.stdout.contains("write the header") || planned.stdout.contains("Write the header")
    );
    assert!(
        env.names(".ken/.local/staging/semantic").is_empty(),
        "a dry run writes nothing"
    );
    let found = history(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    let claim = &found[0];
    assert_eq!(
        claim["statement"],
        "Write the header at once in abort(). Otherwise, the caller needs to invoke flush() on every connection of the gateway."
    );
    assert_eq!(claim["kind"], "decision");
    assert_eq!(claim["cite"], format!("commit:{id}"));
    assert_eq!(claim["anchors"][0], "src/answer.rs#abort");
    assert!(history(&env).is_empty(), "offered once");
    let accepted = env
        .run(["inbox", "accept", "--format", "json"])
        .success()
        .json();
    let entry = accepted["entries"][0].as_str().unwrap();
    let shown = env.run(["show", entry]).success().stdout;
    assert!(
        shown.contains("src/answer.rs#abort") && shown.contains(&id),
        "{shown}"
    );
    let _ = env
        .run(["edit", entry, "--statement", "Abort writes the header."])
        .success();
    assert!(
        history(&env).is_empty(),
        "an edited entry is not offered again"
    );
}

#[test]
fn a_rejected_claim_of_the_history_stays_rejected() {
    let env = repository_with_ledger();
    let _ = commit(
        &env,
        "src/lock.rs",
        "fn open_the_journal() {}\n",
        "Lock before open_the_journal\n\nThe lock must be taken before the journal is opened.",
    );
    let found = history(&env);
    let _ = env
        .run(["inbox", "reject", found[0]["id"].as_str().unwrap()])
        .success();
    assert!(history(&env).is_empty());
}

#[test]
fn a_revert_tells_what_was_tried_and_why_not() {
    let env = repository_with_ledger();
    let before = "fn parse_headers() {}\n";
    let _ = commit(&env, "src/headers.rs", before, "Parse headers of requests");
    let tried = commit(
        &env,
        "src/headers.rs",
        "fn parse_headers() { cache_the_parsed_headers(); }\n",
        "Cache parsed headers in parse_headers",
    );
    let full = env.git(["rev-parse", &tried]);
    let message = format!(
        "Revert \"Cache parsed headers in parse_headers\"\n\nThis reverts commit {}.\n\nThe cache breaks every request that changes its headers.",
        full.trim()
    );
    let _ = commit(&env, "src/headers.rs", before, &message);
    let found = history(&env);
    let reverts: Vec<_> = found.iter().filter(|it| it["rule"] == "revert").collect();
    assert_eq!(reverts.len(), 1, "{found:?}");
    assert_eq!(reverts[0]["kind"], "anti-pattern");
    assert_eq!(reverts[0]["anchors"][0], "src/headers.rs");
}

#[test]
fn a_symbol_fixed_three_times_is_named_with_its_fixes() {
    let env = repository_with_ledger();
    let mut body = String::new();
    for (number, bug) in [
        "crash on an empty header",
        "wrong size of a long header",
        "leak of a header with folded lines",
    ]
    .iter()
    .enumerate()
    {
        body.push_str(&format!("    check_the_case_number({number});\n"));
        let code = format!("fn read_header() {{\n{body}}}\n");
        let _ = commit(&env, "src/header.rs", &code, &format!("Fix {bug}"));
    }
    let few = env.run(["import", "--history", "--dry-run"]).success();
    assert!(!few.stdout.contains("read_header"), "{}", few.stdout);
    let found = history(&env);
    let fixes: Vec<_> = found
        .iter()
        .filter(|it| it["rule"] == "repeated-fix")
        .collect();
    assert_eq!(fixes.len(), 1, "{found:?}");
    assert_eq!(fixes[0]["anchors"][0], "src/header.rs#read_header");
    assert_eq!(fixes[0]["also_cites"].as_array().unwrap().len(), 2);
    let said = fixes[0]["statement"].as_str().unwrap();
    assert!(
        said.starts_with(
            "`read_header` in header.rs was fixed 3 times: \"Fix leak of a header with folded lines\";"
        ),
        "{said}"
    );
}

#[test]
fn files_that_change_together_are_told_once() {
    let env = repository_with_ledger();
    for number in 0..9 {
        env.write("src/wire.rs", &format!("const VERSION: u32 = {number};\n"));
        let _ = commit(
            &env,
            "web/client.ts",
            &format!("export const version = {number};\n"),
            "Raise the version",
        );
        let _ = env.git(["add", "."]);
        let _ = env.git(["commit", "-q", "--amend", "--no-edit"]);
    }
    let found = history(&env);
    let pairs: Vec<_> = found
        .iter()
        .filter(|it| it["rule"] == "change-together")
        .collect();
    assert_eq!(pairs.len(), 1, "{found:?}");
    let said = pairs[0]["statement"].as_str().unwrap();
    assert!(
        said.starts_with("`src/wire.rs` and `web/client.ts` change together: 9 of the 9 commits"),
        "{said}"
    );
    assert!(history(&env).is_empty());
}

#[test]
fn each_step_starts_from_what_is_on_disk() {
    let env = repository_with_ledger();
    let _ = env.run(["import", "--review"]).success();
    let before = inbox_claims(&env);
    // A half-written file of a killed process is not a claim.
    env.write(".ken/.local/staging/semantic/c-half.tmp", "{");
    assert_eq!(inbox_claims(&env), before);
    let victim = before[0]["id"].as_str().unwrap();
    std::fs::remove_file(
        env.root()
            .join(format!(".ken/.local/staging/semantic/{victim}.json")),
    )
    .unwrap();
    let reflect = ["knowledge", "reflect", "--format", "json"];
    let reflected = env.run(reflect).success().json();
    assert_eq!(reflected["staged"], before.len() - 1, "what was removed");
    let _ = env.run(["import", "--review"]).success();
    assert_eq!(
        inbox_claims(&env),
        before,
        "the same source gives the same claims under the same names"
    );
    let known = add_claim(&env, "learning", "Parcels are weighed before they leave.");
    let forget = || std::fs::remove_dir_all(env.root().join(".ken/.index")).unwrap();
    for step in [reflect, ["knowledge", "verify", "--format", "json"]] {
        let told = env.run(step).stdout;
        forget();
        assert_eq!(env.run(step).stdout, told, "{step:?}");
    }
    forget();
    let reweave = ["knowledge", "reweave", "--entry", known.as_str()];
    let reweave = reweave.into_iter().chain(["--evidence", "pr:9"]);
    let _ = env.run(reweave).success();
    env.wait_days(91);
    forget();
    let archive = ["knowledge", "archive", "--older-than", "90"];
    let archived = env.run(archive).success().stdout;
    assert!(archived.contains(&known), "{archived}");
}

#[test]
fn reflect_links_dedupes_and_finds_contradictions() {
    let env = repository_with_ledger();
    let known = add_claim(&env, "convention", "Use tabs for indentation, everywhere.");
    let charge = env
        .run([
            "add",
            "--kind",
            "learning",
            "--statement",
            "Charging twice needs a key.",
            "--cite",
            "pr:2",
            "--depends-on",
            "file:src/pay.rs",
        ])
        .success()
        .line();
    let _ = env.run(["import", "--review", "CLAUDE.md"]).success();
    // Added after the claim was collected: an entry that is known is not collected.
    let again = add_claim(&env, "convention", "never log  the CARD number!");
    let spaces = add_claim(
        &env,
        "convention",
        "Use spaces for indentation, everywhere.",
    );
    let report = env
        .run(["knowledge", "reflect", "--format", "json"])
        .success()
        .json();
    assert_eq!(report["schema"], "ken.reflect.v1");
    let seen = report["seen"].as_array().unwrap();
    let has = |relation: &str, with: &str| {
        seen.iter()
            .any(|it| it["relation"] == relation && it["with"] == with)
    };
    assert!(has("contradiction", &known), "{seen:?}");
    assert!(has("link", &charge), "{seen:?}");
    assert!(has("duplicate", &again), "{seen:?}");
    let duplicates = seen.iter().filter(|it| it["relation"] == "duplicate");
    assert_eq!(
        duplicates.count(),
        1,
        "the audit named the repeated line already, and it has the same name"
    );
    // Entries of the ledger that contradict each other are in the report, too.
    let sides = [known.as_str(), spaces.as_str()];
    let of_ledger = seen.iter().filter(|it| {
        let ends = [&it["staged"], &it["with"]];
        it["relation"] == "contradiction"
            && ends.iter().all(|it| sides.iter().any(|id| **it == *id))
    });
    assert_eq!(of_ledger.count(), 1, "{seen:?}");
    let kept: serde_json::Value =
        serde_json::from_str(&env.read(".ken/.local/reflect/report.json")).unwrap();
    assert_eq!(kept, report);
    let compared = env.run(["inbox", "compare", "--format", "json"]);
    assert_eq!(compared.success().json(), report);
}

#[test]
fn reweave_adds_evidence_and_words() {
    let env = repository_with_ledger();
    let id = env
        .run([
            "add",
            "--kind",
            "learning",
            "--statement",
            "Charging needs a key.",
            "--cite",
            "pr:1",
        ])
        .success()
        .line();
    let _ = env
        .run([
            "knowledge",
            "reweave",
            "--entry",
            &id,
            "--evidence",
            "commit:3fce3b5",
        ])
        .success();
    let told = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(told["citations"].as_array().unwrap().len(), 2, "{told}");
    let added = &told["provenance"][1];
    assert_eq!(
        (&added["evidence_type"], &added["evidence_ref"]),
        (&"commit".into(), &"3fce3b5".into())
    );
    assert_eq!(told["citations"][1]["evidence_type"], "commit");
    assert_eq!(told["citations"][1]["evidence_ref"], "3fce3b5");
    let _ = env
        .run([
            "knowledge",
            "reweave",
            "--entry",
            &id,
            "--evidence",
            "pr:9",
            "--statement",
            "Charging twice needs a key.",
        ])
        .success();
    let told = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(told["statement"], "Charging twice needs a key.");
    assert_eq!(told["citations"].as_array().unwrap().len(), 3);
    assert_eq!(told["provenance"][2]["evidence_ref"], "9");
}

#[test]
fn claims_that_wait_are_accepted_or_rejected_for_good() {
    let env = repository_with_ledger();
    let _ = env.run(["import", "--review", "CLAUDE.md"]).success();
    let all = inbox_claims(&env);
    let id_of = |text: &str| {
        let claim = all
            .iter()
            .find(|it| it["statement"].as_str().unwrap().contains(text))
            .unwrap();
        claim["id"].as_str().unwrap().to_owned()
    };
    let dead = id_of("refund");
    let rejected = env.run(["inbox", "reject", &dead]).success();
    assert!(
        rejected
            .stderr
            .contains("1 claim rejected; `ken import` will not add them again"),
        "{rejected}"
    );
    let _ = env
        .run(["inbox", "accept", &id_of("card number")])
        .success();
    assert_eq!(inbox_claims(&env).len(), all.len() - 2);
    let again = env
        .run(["import", "--review", "CLAUDE.md", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        (&again["rejected"], &again["known"]),
        (&1.into(), &1.into())
    );
    let unknown = env.run(["inbox", "accept", "c-nothing"]);
    assert_eq!(unknown.exit, 2);
    assert!(
        unknown
            .stderr
            .contains("no claim in the inbox has an id that starts with `c-nothing`"),
        "{unknown}"
    );
}

#[test]
fn an_accepted_claim_rests_on_what_it_cites() {
    let env = repository_with_ledger();
    let _ = env.run(["import", "--review", "CLAUDE.md"]).success();
    let all = inbox_claims(&env);
    let claim = all
        .iter()
        .find(|it| it["statement"] == "The charge lives in `src/pay.rs`.")
        .unwrap();
    assert_eq!(claim["depends_on"][0], "file:src/pay.rs");
    let cite = claim["cite"].as_str().unwrap();
    assert!(cite.starts_with("doc:CLAUDE.md#L14@"), "{cite}");
    let id = env
        .run(["inbox", "accept", claim["id"].as_str().unwrap()])
        .success()
        .line();
    std::fs::remove_file(env.root().join("src/pay.rs")).unwrap();
    let verified = env.run(["verify"]);
    assert!(verified.stdout.contains(&id), "{verified}");
}
