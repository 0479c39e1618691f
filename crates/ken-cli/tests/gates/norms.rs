//! Norms a change must keep: each example violated and satisfied, and what a change cannot do about them.

use ken_testkit::test_env::{Run, TestEnv};

use crate::{add, commit, house, told};

const GATE: &str = "procedural.norm";

/// A repository where the example `name` binds, on a branch `work`; with the norm's id.
fn bound_by(name: &str) -> (TestEnv, String) {
    let env = house();
    let id = env.run(["norms", "add", name]).success().line();
    commit(&env, "feat: a norm");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    (env, id)
}

fn verify(env: &TestEnv) -> Run {
    env.run(["verify", "--base", "main"])
}

/// Does `wrong`, expects one finding that begins so; does `right` on top, or instead, and expects none.
fn holds(name: &str, wrong: impl Fn(&TestEnv), says: &str, right: impl Fn(&TestEnv)) {
    let (env, id) = bound_by(name);
    wrong(&env);
    let run = verify(&env);
    let told = told(&run, GATE);
    assert_eq!((run.exit, told.len()), (1, 1), "{name}: {run}");
    assert!(
        told[0].starts_with(&format!("error {says}")),
        "{name}: {told:?}"
    );
    assert!(
        told[0].contains(&format!(", against {id}: ")),
        "{name}: {told:?}"
    );
    let (env, _) = bound_by(name);
    right(&env);
    let run = verify(&env);
    assert_eq!(run.exit, 0, "{name}: {run}");
    assert!(crate::told(&run, GATE).is_empty(), "{name}: {run}");
}

#[test]
fn ent_23_conventional_commits() {
    let act = |message: &'static str| {
        move |env: &TestEnv| {
            env.write("a.txt", "a\n");
            commit(env, message);
        }
    };
    holds(
        "conventional-commits",
        act("did things"),
        "commit:",
        act("fix(pay): charge once"),
    );
}

#[test]
fn ent_23_changelog() {
    let source = |env: &TestEnv| env.write("src/pay.rs", "fn charge() {}\n");
    let both = |env: &TestEnv| {
        source(env);
        env.write("CHANGELOG.md", "- charges\n");
    };
    holds(
        "changelog",
        source,
        "src/pay.rs: this changes, but nothing of CHANGELOG.md",
        both,
    );
}

#[test]
fn ent_23_tests_with_source() {
    let source = |env: &TestEnv| {
        env.write("src/pay.rs", "fn charge() {}\n");
        commit(env, "feat: charge");
    };
    let both = |env: &TestEnv| {
        source(env);
        env.write("tests/pay.rs", "fn charges() {}\n");
        commit(env, "test: charge");
    };
    holds(
        "tests-with-source",
        source,
        "src/pay.rs: this changes",
        both,
    );
}

#[test]
fn ent_23_no_debug_output() {
    let wrong = |env: &TestEnv| env.write("web/a.js", "let a = 1;\nconsole.log(a);\n");
    let right = |env: &TestEnv| {
        env.write("web/a.js", "let a = 1;\n");
        env.write("notes.md", "use console.log( here\n");
    };
    holds(
        "no-debug-output",
        wrong,
        "web/a.js:2: `console.log(a);` is added",
        right,
    );
}

#[test]
fn ent_23_no_unwrap() {
    let wrong = |env: &TestEnv| env.write("src/a.rs", "fn a() {\n    b()\n        .unwrap();\n}\n");
    let right = |env: &TestEnv| {
        env.write(
            "src/a.rs",
            "fn a() {\n    b().expect(\"it is there\");\n}\n",
        );
        env.write("tests/a.rs", "fn a() { b().unwrap(); }\n");
    };
    holds(
        "no-unwrap",
        wrong,
        "src/a.rs:2: `b()` is added, which `$X.unwrap()` matches",
        right,
    );
}

#[test]
fn ent_23_small_changes() {
    let lines = |count: usize| "x\n".repeat(count);
    let wrong = move |env: &TestEnv| {
        env.write("a.txt", &lines(401));
        commit(env, "feat: much");
    };
    let right = move |env: &TestEnv| {
        env.write("a.txt", &lines(400));
        env.write("Cargo.lock", &lines(900));
        commit(env, "feat: less");
    };
    holds(
        "small-changes",
        wrong,
        "a.txt: 401 lines are added or removed; at most 400",
        right,
    );
}

#[test]
fn ent_23_reviewed_pipeline() {
    let act = |trailer: &'static str| {
        move |env: &TestEnv| {
            env.write(".github/ci.yml", "on: push\n");
            commit(env, &format!("ci: run\n\n{trailer}"));
        }
    };
    holds(
        "reviewed-pipeline",
        act("Reviewed-by: Ada <ada@example.org>"),
        ".github/ci.yml: a change needs 1 reviewer; its commits name 0",
        act("Reviewed-by: Bo <bo@example.org>"),
    );
}

#[test]
fn ent_23_high_risk() {
    let act = |trailers: &'static str| {
        move |env: &TestEnv| {
            env.write("src/auth/login.rs", "fn login() {}\n");
            commit(env, &format!("feat: log in\n\n{trailers}"));
        }
    };
    holds(
        "high-risk",
        act("Reviewed-by: Bo <bo@example.org>\nReviewed-by: Bo B <BO@example.org>"),
        "src/auth/login.rs: a change of risk tier high needs 2 reviewers; its commits name 1",
        act("Reviewed-by: Bo <bo@example.org>\nApproved-by: Cy <cy@example.org>"),
    );
}

#[test]
fn gat_08_a_change_neither_softens_nor_escapes_the_norms_of_its_base() {
    let (env, id) = bound_by("no-debug-output");
    env.write("a.js", "debugger;\n");
    let _ = env.run(["retract", &id, "--reason", "unwanted"]).success();
    env.write(
        ".ken/config.toml",
        "schema = \"ken.config.v1\"\n[verify]\nfail_on = \"nothing\"\n",
    );
    commit(&env, "feat: softer");
    let run = verify(&env);
    assert_eq!((run.exit, told(&run, GATE).len()), (1, 1), "{run}");
    let bare = env.run(["verify", "--base", "main", "--head", "work"]);
    assert_eq!((bare.exit, told(&bare, GATE).len()), (1, 1), "{bare}");
}

#[test]
fn gat_08_a_norm_a_change_brings_binds_the_next_one() {
    let env = house();
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.run(["norms", "add", "no-debug-output"]).success();
    env.write("a.js", "debugger;\n");
    commit(&env, "feat: a norm");
    assert_eq!(verify(&env).exit, 0);
    let _ = env.git(["checkout", "-q", "-b", "next"]);
    env.write("b.js", "debugger;\n");
    commit(&env, "feat: b");
    let run = env.run(["verify", "--base", "work"]);
    assert_eq!((run.exit, told(&run, GATE).len()), (1, 1), "{run}");
}

#[test]
fn only_norms_in_force_bind() {
    let by_agent = ["--by", "agent:helper", "norms", "add", "no-debug-output"];
    for (what, binds) in [
        ("agent", false),
        ("lifted", true),
        ("muted", false),
        ("stale", false),
    ] {
        let env = house();
        let id = match what {
            "agent" | "lifted" => env.run(by_agent).success().line(),
            _ => env
                .run(["norms", "add", "no-debug-output"])
                .success()
                .line(),
        };
        match what {
            "lifted" => {
                let lift = ["quarantine", "lift", &id, "--reason", "looked at it"];
                let _ = env.run(lift).success();
                let _ = env.run(["status", &id, "active"]).success();
            }
            "muted" => drop(env.run(["mark", &id, "mute"]).success()),
            "stale" => drop(env.run(["status", &id, "stale"]).success()),
            _ => {}
        }
        commit(&env, "feat: a norm");
        let _ = env.git(["checkout", "-q", "-b", "work"]);
        env.write("a.js", "debugger;\n");
        let run = verify(&env);
        assert_eq!(told(&run, GATE).len(), usize::from(binds), "{what}: {run}");
        assert_eq!(run.exit, i32::from(binds), "{what}: {run}");
    }
}

#[test]
fn gat_07_gat_12_facts_never_block_a_change() {
    let env = house();
    let _ = add(&env, "learning", "Never add console.log calls");
    commit(&env, "feat: known");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write("a.js", "console.log(1);\n");
    assert_eq!(verify(&env).exit, 0);
}

#[test]
fn ent_22_norms_of_every_kind_carry_a_check_and_only_they_do() {
    let env = house();
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
    let run = env.run(["add", "--content", &content.replace("KIND", "learning")]);
    assert_ne!(run.exit, 0, "{run}");
    let wrong = content.replace("KIND", "commit-norm").replace(
        "\"diff-size\",\"lines\":10",
        "\"forbidden-text\",\"pattern\":\"(\"",
    );
    let run = env.run(["add", "--content", &wrong]);
    assert_ne!(run.exit, 0, "{run}");
    assert!(run.stderr.contains("no regular expression"), "{run}");
    let huge = wrong.replace("\"(\"", "\"(a{1000}){1000}\"");
    let run = env.run(["add", "--content", &huge]);
    assert!(
        run.stderr.contains("too large a regular expression"),
        "{run}"
    );
}

#[test]
fn what_is_too_large_to_look_at_does_not_pass() {
    let (env, _) = bound_by("no-debug-output");
    env.write("a.js", &"let a = 1;\n".repeat(50_001));
    commit(&env, "feat: much");
    let run = verify(&env);
    let told = told(&run, GATE);
    assert_eq!((run.exit, told.len()), (1, 1), "{run}");
    assert!(
        told[0].contains("this cannot be checked: it adds 50001 lines"),
        "{told:?}"
    );
}

#[test]
fn code_that_only_moved_is_not_added() {
    let env = house();
    env.write(
        "src/a.js",
        "let a = 1;\ndebugger;\nlet b = 2;\nlet c = 3;\n",
    );
    let _ = env.run(["norms", "add", "no-debug-output"]).success();
    commit(&env, "feat: before");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.git(["mv", "src/a.js", "src/b.js"]);
    commit(&env, "refactor: a name");
    let run = verify(&env);
    assert_eq!(run.exit, 0, "{run}");
}

#[test]
#[cfg(unix)]
fn attributes_of_a_change_hide_nothing() {
    let (env, _) = bound_by("no-debug-output");
    env.write(".gitattributes", "*.js binary\n");
    env.write("a.js", "let a = 1;\ndebugger;\n");
    env.write("b\"q.js", "debugger;\n");
    commit(&env, "feat: hidden");
    for args in [
        vec!["verify", "--base", "main"],
        vec!["verify", "--base", "main", "--head", "work"],
    ] {
        let run = env.run(args);
        assert_eq!((run.exit, told(&run, GATE).len()), (1, 2), "{run}");
    }
}
