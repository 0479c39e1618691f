//! Norms that a change must follow: each example violated and satisfied, and attempts to evade
//! them.

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use crate::gates::{add_entry, commit_all, gate_findings, repository_with_ledger};

const GATE: &str = "procedural.norm";

/// Returns a repository on branch `work` in which the example norm `name` is in force, and the
/// norm's id.
fn repository_with_norm(name: &str) -> (TestEnvironment, String) {
    let env = repository_with_ledger();
    let id = env.run(["norms", "add", name]).success().line();
    commit_all(&env, "feat: a norm");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    (env, id)
}

fn verify_change(env: &TestEnvironment) -> CommandRun {
    env.run(["verify", "--base", "main"])
}

/// Applies `wrong` and expects one finding that starts with `says`; applies `right` on top and
/// expects none.
fn check_example(
    name: &str,
    wrong: impl Fn(&TestEnvironment),
    says: &str,
    right: impl Fn(&TestEnvironment),
) {
    let (env, id) = repository_with_norm(name);
    wrong(&env);
    let run = verify_change(&env);
    let told = gate_findings(&run, GATE);
    assert_eq!((run.exit, told.len()), (1, 1), "{name}: {run}");
    assert!(
        told[0].starts_with(&format!("error {says}")),
        "{name}: {told:?}"
    );
    assert!(
        told[0].contains(&format!("; violates {id}: ")),
        "{name}: {told:?}"
    );
    let (env, _) = repository_with_norm(name);
    right(&env);
    let run = verify_change(&env);
    assert_eq!(run.exit, 0, "{name}: {run}");
    assert!(gate_findings(&run, GATE).is_empty(), "{name}: {run}");
}

#[test]
fn conventional_commits() {
    let act = |message: &'static str| {
        move |env: &TestEnvironment| {
            env.write("a.txt", "a\n");
            commit_all(env, message);
        }
    };
    check_example(
        "conventional-commits",
        act("did things"),
        "commit:",
        act("fix(pay): charge once"),
    );
}

#[test]
fn changelog() {
    let source = |env: &TestEnvironment| env.write("src/pay.rs", "fn charge() {}\n");
    let both = |env: &TestEnvironment| {
        source(env);
        env.write("CHANGELOG.md", "- charges\n");
    };
    check_example(
        "changelog",
        source,
        "src/pay.rs: this file changes, but no file of CHANGELOG.md",
        both,
    );
}

#[test]
fn tests_with_source() {
    let source = |env: &TestEnvironment| {
        env.write("src/pay.rs", "fn charge() {}\n");
        commit_all(env, "feat: charge");
    };
    let both = |env: &TestEnvironment| {
        source(env);
        env.write("tests/pay.rs", "fn charges() {}\n");
        commit_all(env, "test: charge");
    };
    check_example(
        "tests-with-source",
        source,
        "src/pay.rs: this file changes",
        both,
    );
}

#[test]
fn no_debug_output() {
    let wrong = |env: &TestEnvironment| env.write("web/a.js", "let a = 1;\nconsole.log(a);\n");
    let right = |env: &TestEnvironment| {
        env.write("web/a.js", "let a = 1;\n");
        env.write("notes.md", "use console.log( here\n");
    };
    check_example(
        "no-debug-output",
        wrong,
        "web/a.js:2: added: `console.log(a);`",
        right,
    );
    for line in [
        "print(total)",
        "breakpoint()",
        "import pdb; pdb.set_trace()",
    ] {
        let wrong =
            |env: &TestEnvironment| env.write("app/pay.py", &format!("def f():\n    {line}\n"));
        let right = |env: &TestEnvironment| env.write("app/pay.py", "def f():\n    pprint(1)\n");
        let found = format!("app/pay.py:2: added: `{line}`");
        check_example("no-debug-output", wrong, &found, right);
    }
}

#[test]
fn no_unwrap() {
    let wrong =
        |env: &TestEnvironment| env.write("src/a.rs", "fn a() {\n    b()\n        .unwrap();\n}\n");
    let right = |env: &TestEnvironment| {
        env.write(
            "src/a.rs",
            "fn a() {\n    b().expect(\"it is there\");\n}\n",
        );
        env.write("tests/a.rs", "fn a() { b().unwrap(); }\n");
    };
    check_example(
        "no-unwrap",
        wrong,
        "src/a.rs:2: added: `b()`, which matches `$X.unwrap()`",
        right,
    );
}

#[test]
fn small_changes() {
    let lines = |count: usize| "x\n".repeat(count);
    let wrong = move |env: &TestEnvironment| {
        env.write("a.txt", &lines(401));
        commit_all(env, "feat: much");
    };
    let right = move |env: &TestEnvironment| {
        env.write("a.txt", &lines(400));
        env.write("Cargo.lock", &lines(900));
        commit_all(env, "feat: less");
    };
    check_example(
        "small-changes",
        wrong,
        "a.txt: the change adds or removes 401 lines; at most 400",
        right,
    );
}

#[test]
fn reviewed_pipeline() {
    let act = |trailer: &'static str| {
        move |env: &TestEnvironment| {
            env.write(".github/ci.yml", "on: push\n");
            commit_all(env, &format!("ci: run\n\n{trailer}"));
        }
    };
    check_example(
        "reviewed-pipeline",
        act("Reviewed-by: Ada <ada@example.org>"),
        ".github/ci.yml: a change needs 1 reviewer; its commits name 0",
        act("Reviewed-by: Bo <bo@example.org>"),
    );
}

#[test]
fn high_risk() {
    let act = |trailers: &'static str| {
        move |env: &TestEnvironment| {
            env.write("src/auth/login.rs", "fn login() {}\n");
            commit_all(env, &format!("feat: log in\n\n{trailers}"));
        }
    };
    check_example(
        "high-risk",
        act("Reviewed-by: Bo <bo@example.org>\nReviewed-by: Bo B <BO@example.org>"),
        "src/auth/login.rs: a change of risk tier high needs 2 reviewers; its commits name 1",
        act("Reviewed-by: Bo <bo@example.org>\nApproved-by: Cy <cy@example.org>"),
    );
}

#[test]
fn a_change_neither_softens_nor_escapes_the_norms_of_its_base() {
    let (env, id) = repository_with_norm("no-debug-output");
    env.write("a.js", "debugger;\n");
    let _ = env.run(["retract", &id, "--reason", "unwanted"]).success();
    env.write(
        ".ken/config.toml",
        "schema = \"ken.config.v1\"\n[verify]\nfail_on = \"nothing\"\n",
    );
    commit_all(&env, "feat: softer");
    let run = verify_change(&env);
    assert_eq!((run.exit, gate_findings(&run, GATE).len()), (1, 1), "{run}");
    let bare = env.run(["verify", "--base", "main", "--head", "work"]);
    assert_eq!(
        (bare.exit, gate_findings(&bare, GATE).len()),
        (1, 1),
        "{bare}"
    );
}

#[test]
fn a_norm_a_change_brings_binds_the_next_one() {
    let env = repository_with_ledger();
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.run(["norms", "add", "no-debug-output"]).success();
    env.write("a.js", "debugger;\n");
    commit_all(&env, "feat: a norm");
    assert_eq!(verify_change(&env).exit, 0);
    let _ = env.git(["checkout", "-q", "-b", "next"]);
    env.write("b.js", "debugger;\n");
    commit_all(&env, "feat: b");
    let run = env.run(["verify", "--base", "work"]);
    assert_eq!((run.exit, gate_findings(&run, GATE).len()), (1, 1), "{run}");
}

#[test]
fn a_release_is_checked_from_the_tag_before_it() {
    let (env, _) = repository_with_norm("no-debug-output");
    let _ = env.git(["tag", "v1"]);
    env.write("a.js", "debugger;\n");
    commit_all(&env, "feat: a");
    env.write("b.js", "run();\n");
    commit_all(&env, "feat: b");
    let _ = env.git(["tag", "v2"]);
    let since = |base: &str| env.run(["verify", "--base", base, "--head", "v2"]);
    let run = since("v1");
    assert_eq!((run.exit, gate_findings(&run, GATE).len()), (1, 1), "{run}");
    assert_eq!(since("v2~1").exit, 0, "the last commit alone breaks none");
}

#[test]
fn an_example_is_added_once() {
    let env = repository_with_ledger();
    let id = env
        .run(["norms", "add", "no-debug-output"])
        .success()
        .line();
    let again = env.run(["norms", "add", "no-debug-output"]);
    assert_eq!(again.exit, 2, "{again}");
    let message = format!("error: {id} is this norm already\n");
    assert_eq!(again.stderr, message);
}

#[test]
fn only_norms_in_force_bind() {
    let by_agent = ["--by", "agent:helper", "norms", "add", "no-debug-output"];
    for (what, binds) in [
        ("agent", false),
        ("lifted", true),
        // A mute hides it in one clone, and the gate must say the same everywhere.
        ("muted", true),
        ("stale", false),
    ] {
        let env = repository_with_ledger();
        let id = match what {
            "agent" | "lifted" => env.run(by_agent).success().line(),
            _ => env
                .run(["norms", "add", "no-debug-output"])
                .success()
                .line(),
        };
        match what {
            "lifted" => {
                let lift = [
                    "guard",
                    "quarantine",
                    "release",
                    &id,
                    "--reason",
                    "looked at it",
                ];
                let _ = env.run(lift).success();
                let _ = env.run(["entry", "status", &id, "active"]).success();
            }
            "muted" => drop(env.run(["entry", "mute", &id]).success()),
            "stale" => drop(env.run(["entry", "status", &id, "stale"]).success()),
            _ => {}
        }
        commit_all(&env, "feat: a norm");
        let _ = env.git(["checkout", "-q", "-b", "work"]);
        env.write("a.js", "debugger;\n");
        let run = verify_change(&env);
        assert_eq!(
            gate_findings(&run, GATE).len(),
            usize::from(binds),
            "{what}: {run}"
        );
        assert_eq!(run.exit, i32::from(binds), "{what}: {run}");
    }
}

#[test]
fn facts_never_block_a_change() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "learning", "Never add console.log calls");
    commit_all(&env, "feat: known");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write("a.js", "console.log(1);\n");
    assert_eq!(verify_change(&env).exit, 0);
}

#[test]
fn a_change_that_breaks_an_entity_is_told_and_friction_never_blocks() {
    let env = repository_with_ledger();
    env.write("src/pay.rs", "pub fn charge() {}\n");
    commit_all(&env, "feat: pay");
    let entity = [
        "add",
        "--kind",
        "entity",
        "--statement",
        "Charges cards",
        "--detail",
        "{\"name\":\"Payments\"}",
        "--cite",
        "pr:1",
        "--depends-on",
        "file:src/pay.rs",
    ];
    let id = env.run(entity).success().line();
    let context = ["--type", "tool_error", "--context", "{\"tool\":\"cargo\"}"];
    let record = ["health", "friction", "record"].into_iter().chain(context);
    let _ = env.run(record).success();
    commit_all(&env, "feat: known");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.git(["rm", "-q", "src/pay.rs"]);
    commit_all(&env, "feat: no pay");
    let run = verify_change(&env);
    assert_eq!(run.exit, 0, "{run}");
    let told = gate_findings(&run, "knowledge.validity");
    assert!(
        told.iter()
            .any(|it| it.starts_with(&format!("warning {id}"))),
        "{run}"
    );
    let run = env.run(["verify"]);
    assert_eq!(run.exit, 0, "{run}");
}

#[test]
fn norms_of_every_kind_carry_a_check_and_only_they_do() {
    let env = repository_with_ledger();
    let content = r#"{"kind":"KIND","rule":"A change is small","cite":["pr:1"],"check":{"kind":"diff-size","lines":10}}"#;
    for kind in [
        "commit-norm",
        "pr-expectation",
        "user-expectation",
        "risk-tier",
    ] {
        let id = env
            .run(["add", "--content", &content.replace("KIND", kind)])
            .success()
            .line();
        let shown = env.run(["show", &id, "--format", "json"]).success();
        assert!(shown.stdout.contains("\"diff-size\""), "{shown}");
    }
    commit_all(&env, "feat: norms");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write("a.txt", &"x\n".repeat(11));
    let run = verify_change(&env);
    let told = gate_findings(&run, GATE).len();
    assert_eq!((run.exit, told), (1, 4), "every kind blocks: {run}");
    env.write("a.txt", &"x\n".repeat(10));
    assert_eq!(verify_change(&env).exit, 0);
    let run = env.run(["add", "--content", &content.replace("KIND", "learning")]);
    assert_ne!(run.exit, 0, "{run}");
    let wrong = content.replace("KIND", "commit-norm").replace(
        "\"diff-size\",\"lines\":10",
        "\"forbidden-text\",\"pattern\":\"(\"",
    );
    let run = env.run(["add", "--content", &wrong]);
    assert_ne!(run.exit, 0, "{run}");
    assert!(
        run.stderr.contains("is not a valid regular expression"),
        "{run}"
    );
    let huge = wrong.replace("\"(\"", "\"(a{1000}){1000}\"");
    let run = env.run(["add", "--content", &huge]);
    assert!(
        run.stderr
            .contains("the regular expression `(a{1000}){1000}` is too large"),
        "{run}"
    );
}

#[test]
fn what_is_too_large_to_look_at_does_not_pass() {
    let (env, _) = repository_with_norm("no-debug-output");
    env.write("a.js", &"let a = 1;\n".repeat(50_001));
    commit_all(&env, "feat: much");
    let run = verify_change(&env);
    let told = gate_findings(&run, GATE);
    assert_eq!((run.exit, told.len()), (1, 1), "{run}");
    assert!(
        told[0].contains("this file cannot be checked: it adds 50001 lines"),
        "{told:?}"
    );
}

#[test]
fn code_that_only_moved_is_not_added() {
    let env = repository_with_ledger();
    env.write(
        "src/a.js",
        "let a = 1;\ndebugger;\nlet b = 2;\nlet c = 3;\n",
    );
    let _ = env.run(["norms", "add", "no-debug-output"]).success();
    commit_all(&env, "feat: before");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.git(["mv", "src/a.js", "src/b.js"]);
    commit_all(&env, "refactor: a name");
    let run = verify_change(&env);
    assert_eq!(run.exit, 0, "{run}");
}

#[test]
#[cfg(unix)]
fn attributes_of_a_change_hide_nothing() {
    let (env, _) = repository_with_norm("no-debug-output");
    env.write(".gitattributes", "*.js binary\n");
    env.write("a.js", "let a = 1;\ndebugger;\n");
    env.write("b\"q.js", "debugger;\n");
    commit_all(&env, "feat: hidden");
    for args in [
        vec!["verify", "--base", "main"],
        vec!["verify", "--base", "main", "--head", "work"],
    ] {
        let run = env.run(args);
        assert_eq!((run.exit, gate_findings(&run, GATE).len()), (1, 2), "{run}");
    }
}

#[test]
fn code_that_departs_from_a_decision_is_a_finding_of_its_own_class() {
    let env = repository_with_ledger();
    env.write("src/pay.rs", "fn charge() {\n    once()\n}\n");
    commit_all(&env, "feat: pay");
    let decide = [
        "add",
        "A payment is charged exactly once",
        "--kind",
        "decision",
        "--anchor",
        "src/pay.rs#charge",
    ];
    let id = env.run(decide).success().line();
    commit_all(&env, "feat: decided");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write("src/pay.rs", "fn charge() {\n    twice()\n}\n");
    commit_all(&env, "feat: another way");
    let run = verify_change(&env);
    assert_eq!(run.exit, 0, "{run}");
    assert!(
        gate_findings(&run, "knowledge.validity").is_empty(),
        "{run}"
    );
    let told = gate_findings(&run, "knowledge.decisions");
    assert_eq!(told.len(), 1, "{run}");
    assert!(told[0].starts_with("warning src/pay.rs"), "{told:?}");
    assert!(told[0].contains(&id), "{told:?}");

    let commit = env.git(["rev-parse", "--short=10", "HEAD"]);
    let found = env.run(["search", "charged once"]).success();
    let mark = format!(
        "the code changed after this was decided (commit {}): check that it still follows",
        commit.trim()
    );
    assert!(found.stdout.contains(&mark), "{found}");
}

#[test]
fn a_search_before_the_first_commit_finds_a_decision_whose_code_changed() {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    env.write("src/pay.rs", "fn charge() {\n    once()\n}\n");
    let decide = [
        "add",
        "A payment is charged exactly once",
        "--kind",
        "decision",
        "--anchor",
        "src/pay.rs#charge",
        // Without a commit there is none to cite.
        "--cite",
        "pr:3",
    ];
    let id = env.run(decide).success().line();
    env.write("src/pay.rs", "fn charge() {\n    twice()\n}\n");
    let found = env.run(["search", "charged once"]).success();
    assert!(found.stdout.contains(&id), "{found}");
    assert!(found.stdout.contains("the code changed"), "{found}");
    let _ = env.run(["inbox"]).success();
}

#[test]
fn a_repository_can_let_changed_decisions_block() {
    let env = repository_with_ledger();
    env.write(".ken/config.toml", "[verify]\nfail_on = \"decisions\"\n");
    env.write(
        "src/pay.rs",
        "fn charge() {\n    once()\n}\nfn refund() {}\n",
    );
    commit_all(&env, "feat: pay");
    for (kind, anchor) in [
        ("decision", "src/pay.rs#charge"),
        ("learning", "src/pay.rs#refund"),
    ] {
        let claim = format!("The {kind} about money holds for {anchor}");
        let add = ["add", &claim, "--kind", kind, "--anchor", anchor];
        let _ = env.run(add).success();
    }
    commit_all(&env, "feat: known");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write(
        "src/pay.rs",
        "fn charge() {\n    once()\n}\nfn refund() { no() }\n",
    );
    commit_all(&env, "feat: the fact changes");
    assert_eq!(verify_change(&env).exit, 0);
    env.write(
        "src/pay.rs",
        "fn charge() {\n    twice()\n}\nfn refund() { no() }\n",
    );
    commit_all(&env, "feat: the decision's code changes");
    let run = verify_change(&env);
    assert_eq!(run.exit, 1, "{run}");
    assert_eq!(gate_findings(&run, "knowledge.decisions").len(), 1, "{run}");
}
