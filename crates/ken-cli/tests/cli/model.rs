//! `ken config model`: the active embedding model, the models of this build, and that no repository
//! selects one.

use std::path::Path;
use std::process::Command;

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

/// Model configuration that a hostile or careless repository might contain.
const MODEL_CONFIG: &str = "rung = \"http\"\n[http]\ndialect = \"ollama\"\nurl = \"http://127.0.0.1:9\"\nmodel = \"m\"\ndimension = 2\n";

fn add_lessons(env: &TestEnvironment) {
    add_lesson(
        env,
        "A retried payment is charged twice unless the key of the request is kept.",
    );
    add_lesson(env, "Color themes are read once, when the window opens.");
}

fn search_json(env: &TestEnvironment) -> String {
    let args = ["search", "--mean", "payment", "--format", "json"];
    env.run(args).success().stdout
}

#[test]
fn what_is_built_in_serves_until_somebody_chooses() {
    let env = repository_with_ledger();
    add_lessons(&env);
    insta::assert_snapshot!(env.run(["config", "model", "show"]), @"
    exit: 0
    ----- stdout -----
    type       static
    model      ken-static-256/2
    dimension  256
    vectors    for 0 of 2 entries; the next search computes 2
    ");
    search_json(&env);
    insta::assert_snapshot!(env.run(["config", "model", "show", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.model.v1","chosen":"static","served_by":"static","trouble":null,"id":"ken-static-256/2","dimension":256,"added":{"folder":null,"url":null,"model":null},"entries":2,"waiting":0}
    "#);
}

#[test]
fn changing_the_model_and_back_gives_the_same_answer_byte_for_byte() {
    let env = folder_with_ledger();
    add_lessons(&env);
    let before = search_json(&env);
    insta::assert_snapshot!(env.run(["config", "model", "use", "none"]), @"
    exit: 0
    ----- stdout -----
    type       none
    ");
    assert!(search_json(&env).contains(r#""served_by":"none""#));
    insta::assert_snapshot!(env.run(["config", "model", "use", "static"]), @"
    exit: 0
    ----- stdout -----
    type       static
    model      ken-static-256/2
    dimension  256
    vectors    for 0 of 2 entries; the next search computes 2
    ----- stderr -----
    hint: the next search computes vectors for 2 entries
    ");
    assert_eq!(search_json(&env), before);
}

#[cfg(not(any(feature = "transformer", feature = "http")))]
#[test]
fn a_build_without_a_rung_says_how_to_get_one() {
    let env = repository_with_ledger();
    env.write("folder/config.json", "{}");
    insta::assert_snapshot!(env.run(["config", "model", "add", "folder"]), @"
    exit: 2
    ----- stderr -----
    error: this build of Ken does not support the embedding model `transformer`

    hint: use a release, or build with `cargo install --path crates/ken-cli --features transformer,http`
    ");
    let refused = env.run(["config", "model", "add", "folder"]);
    let name = "sentence-transformers/all-MiniLM-L6-v2";
    assert_eq!(env.run(["config", "model", "add", name]), refused);
    let endpoint = [
        "--http",
        "http://127.0.0.1:9",
        "--dialect",
        "ollama",
        "--model",
        "m",
    ];
    let added = env.run([&["config", "model", "add"], &endpoint[..]].concat());
    insta::assert_snapshot!(added, @"
    exit: 2
    ----- stderr -----
    error: this build of Ken does not support the embedding model `http`

    hint: use a release, or build with `cargo install --path crates/ken-cli --features transformer,http`
    ");
    assert_eq!(env.run(["config", "model", "use", "transformer"]), refused);
}

#[test]
fn an_endpoint_needs_its_dialect_and_its_model() {
    let env = repository_with_ledger();
    let run = env.run(["config", "model", "add", "--http", "http://127.0.0.1:9"]);
    assert_eq!(run.exit, 2);
    assert!(run.stderr.contains("--dialect"), "{}", run.stderr);
}

#[test]
fn a_choice_that_cannot_serve_is_told_and_breaks_nothing() {
    let env = repository_with_ledger();
    add_lessons(&env);
    let before = search_json(&env);
    for (text, why) in [
        (
            "rung = \"onnx\"\n",
            "`onnx` is not a valid embedding model (write static, none, transformer or http)",
        ),
        (
            "rung = \n",
            "cannot read the model configuration `model.toml`",
        ),
        ("rung = \"static\"\nurl = \"x\"\n", "unknown field `url`"),
        (
            "rung = \"transformer\"\n",
            "no embedding model `transformer` was added",
        ),
        (MODEL_CONFIG, "the model was configured in another clone"),
        (
            "rung = \"transformer\"\n",
            "no embedding model `transformer` was added",
        ),
    ] {
        env.write(".git/ken/model.toml", text);
        let run = env.run(["search", "--mean", "payment", "--format", "json"]);
        assert_eq!((run.exit, &run.stdout), (0, &before));
        assert!(run.stderr.contains(why), "{}", run.stderr);
        assert!(
            run.stderr.contains("search uses the built-in model"),
            "{}",
            run.stderr
        );
    }
    insta::assert_snapshot!(env.run(["config", "model", "show"]), @"
    exit: 0
    ----- stdout -----
    type       static, instead of transformer
    problem    no embedding model `transformer` was added (add one with `ken config model add FOLDER`)
    model      ken-static-256/2
    dimension  256
    vectors    for 2 entries
    ");
    let _ = env.run(["config", "model", "use", "static"]).success();
    assert_eq!(
        env.run(["search", "--mean", "payment"])
            .stderr
            .matches("note")
            .count(),
        0
    );
}

#[test]
fn no_file_of_the_repository_chooses_the_model() {
    let env = repository_with_ledger();
    add_lessons(&env);
    let before = search_json(&env);
    for path in [
        ".ken/model.toml",
        ".ken/.local/model.toml",
        ".ken/.index/model.toml",
        "model.toml",
    ] {
        env.write(path, MODEL_CONFIG);
    }
    let config = env.read(".ken/config.toml");
    env.write(".ken/config.toml", &format!("{config}{MODEL_CONFIG}"));
    let _ = env.git(["add", "-Af"]);
    commit_all(&env, "a model for everybody");
    let run = env.run(["search", "--mean", "payment", "--format", "json"]);
    assert_eq!((run.exit, run.stdout), (0, before));
    assert!(!run.stderr.contains("model"), "{}", run.stderr);
}

#[test]
fn outside_git_where_the_choice_travels_with_the_folder_it_cannot_name_a_model() {
    let env = folder_with_ledger();
    add_lessons(&env);
    env.write(".ken/.local/model.toml", MODEL_CONFIG);
    let run = env.run(["search", "--mean", "payment", "--format", "json"]);
    assert_eq!(run.exit, 0);
    assert!(run.stdout.contains(r#""served_by":"static""#));
    assert!(
        run.stderr.contains("can only be added in a git repository"),
        "{}",
        run.stderr
    );
}

/// Returns a command prefix that runs `ken` without network and, where possible, traces its
/// sockets.
fn sandbox_command(ken: &Path, trace: &Path) -> Option<Vec<String>> {
    let works = |words: &[String]| {
        let (program, rest) = words.split_first().expect("a program");
        let ran = Command::new(program).args(rest).arg("true").output();
        ran.is_ok_and(|it| it.status.success())
    };
    let words = |text: &str| -> Vec<String> { text.split(' ').map(ToOwned::to_owned).collect() };
    let apart = words("unshare -rn");
    if !works(&apart) {
        return None;
    }
    let traced = words("unshare -rn strace -f -qq -e trace=socket,connect -A -o");
    let traced = [traced, vec![trace.display().to_string()]].concat();
    let mut command = if works(&traced) { traced } else { apart };
    command.push(ken.display().to_string());
    Some(command)
}

#[test]
fn nothing_is_asked_of_any_network_in_the_default_configuration() {
    let env = repository_with_ledger();
    let trace = env.root().join("../sockets");
    let Some(command) = sandbox_command(Path::new(env!("CARGO_BIN_EXE_ken")), &trace) else {
        eprintln!("not run: this machine lets nobody have a namespace without a network");
        return;
    };
    let run = |args: &[&str]| {
        let plain = env.ken();
        let mut ken = Command::new(&command[0]);
        ken.args(&command[1..]).args(args).current_dir(env.root());
        ken.env_clear();
        ken.envs(
            plain
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        );
        ken.env_remove("CLAUDECODE");
        let ran = ken.output().expect("ken starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{args:?}: {said}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    run(&["init"]);
    let statement = "A retried payment is charged twice unless its key is kept.";
    run(&[
        "add",
        "--kind",
        "learning",
        "--statement",
        statement,
        "--cite",
        "commit:3fce3b5",
    ]);
    assert!(run(&["search", "payment"]).contains(statement));
    run(&["brief", "handle payments"]);
    run(&["config", "model", "show"]);
    let sockets = std::fs::read_to_string(&trace).unwrap_or_default();
    assert!(!sockets.contains("AF_INET"), "{sockets}");
}
