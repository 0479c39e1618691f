//! Operating a hub: configuration in layers, backup, restore, drill, plan, and people.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use ken_testkit::postgres::PostgresServer;
use ken_testkit::served::HubProcess;
use serde_json::Value;

use crate::site::{HubTestEnvironment, KEN, ORGANIZATION, WORKSPACE, add_entry, run_hub};

/// Runs `ken` with variables and nothing else of the environment; returns exit code and output.
fn run_ken(variables: &[(&str, &str)], words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(KEN);
    command
        .args(words)
        .env_clear()
        .envs(variables.iter().copied());
    let folder = tempfile::tempdir().unwrap();
    command.current_dir(folder.path());
    let out = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        out.status.code().unwrap(),
        text(out.stdout),
        text(out.stderr),
    )
}

#[test]
fn variables_beat_the_file_and_no_secret_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.toml");
    let config = path.to_str().unwrap();
    let url = folder.path().join("url");
    fs::write(&url, "postgres://ken:hunter2@localhost/ken\n").unwrap();
    fs::write(
        &path,
        "bind = \"127.0.0.1:1\"\nconnections = 5\nlog = \"quiet\"\ndatabase_file = \"url\"\n\
         trusted_proxy = [\"10.0.0.1\"]\n",
    )
    .unwrap();
    let variables = [
        ("KEN_SERVE_CONNECTIONS", "6"),
        ("KEN_SERVE_TRUSTED_PROXY", "10.0.0.2, 10.0.0.3"),
    ];
    let (exit, out, _) = run_ken(&variables, &["hub", "config", "check", config, "--json"]);
    assert_eq!(exit, 0);
    let all: Vec<Value> = out
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let of = |key: &str| {
        let found = all.iter().find(|it| it["key"] == key).unwrap();
        (
            found["values"].to_string(),
            found["source"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(of("bind"), (r#"["127.0.0.1:1"]"#.into(), "file".into()));
    assert_eq!(of("connections"), (r#"["6"]"#.into(), "environment".into()));
    assert_eq!(
        of("trusted_proxy"),
        (r#"["10.0.0.2","10.0.0.3"]"#.into(), "environment".into())
    );
    assert_eq!(
        of("connections_per_address"),
        (r#"["256"]"#.into(), "default".into())
    );
    assert!(!out.contains("hunter2"), "{out}");
    // A variable replaces the file with the URL, and its value is not printed.
    let (_, out, _) = run_ken(
        &[("KEN_DATABASE_URL", "postgres://other:hidden@localhost/ken")],
        &["hub", "config", "check", config],
    );
    assert!(
        out.contains("database = (set)  (environment)") && !out.contains("hidden"),
        "{out}"
    );
}

#[test]
fn each_mistake_of_a_configuration_names_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.toml");
    let config = path.to_str().unwrap();
    fs::write(folder.path().join("url"), "postgres://ken@localhost/ken\n").unwrap();
    for (variables, text, said) in [
        (vec![], "bnd = \"x\"", "unknown key `bnd`"),
        (
            vec![],
            "connections = \"many\"",
            "`connections`: invalid value 'many'",
        ),
        (
            vec![("KEN_SERVE_BNID", "x")],
            "",
            "`KEN_SERVE_BNID` is not a setting",
        ),
        (
            vec![("KEN_SERVE_BIND", "x")],
            "",
            "KEN_SERVE_BIND: invalid value 'x'",
        ),
        (
            vec![],
            "[oidc]\nissuer = \"https://id.example.org\"",
            "--oidc-issuer requires --oidc-audience",
        ),
        (vec![], "database_file = \"nothing\"", "cannot read"),
        (
            vec![],
            "public_url = \"http://hub.example.org\"\ndatabase_file = \"url\"",
            "`public_url` must start with https://",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let (exit, _, err) = run_ken(&variables, &["hub", "config", "check", config]);
        assert_eq!(exit, 2, "{text}");
        assert!(err.contains(said), "{text}: {err}");
        // `ken serve` refuses the same.
        if said != "cannot read" {
            let (exit, _, err) = run_ken(&variables, &["serve", "--config", config]);
            assert_eq!(exit, 2, "{text}");
            assert!(err.contains(said), "{text}: {err}");
        }
    }
}

#[test]
fn a_hub_starts_from_a_file_with_its_database_in_another() {
    let site = HubTestEnvironment::new();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("url"), site.database.url()).unwrap();
    let config = folder.path().join("hub.toml");
    fs::write(
        &config,
        "bind = \"127.0.0.1:1\"\nconnections = 3\ndatabase_file = \"url\"\n",
    )
    .unwrap();
    let mut command = Command::new(KEN);
    command.env_clear().env("KEN_SERVE_CONFIG", &config);
    // The test names the address with an option, which beats the file.
    let hub = HubProcess::begin(command, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    assert_ne!(hub.address().port(), 1);
    hub.end();
    let words = [
        "hub",
        "config",
        "check",
        config.to_str().unwrap(),
        "--connect",
    ];
    let (exit, _, err) = run_ken(&[], &words);
    assert_eq!(exit, 0, "{err}");
    assert!(err.contains("the database is ready"), "{err}");
}

#[test]
fn a_backup_is_restored_verified_and_drilled_and_its_tokens_wait_for_the_operator() {
    let site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ken.backup");
    let file = path.to_str().unwrap();
    // The hub serves meanwhile.
    let told = site.administer(&["backup", file]);
    assert!(told.contains("1 workspace, 1 event,"), "{told}");
    assert!(
        told.contains("last acknowledged event: ") && told.contains("acme/payments"),
        "{told}"
    );
    let again = run_hub(site.database.url(), &["backup", file]);
    assert_eq!(again.exit, 2, "an existing file is kept: {again}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let drilled = site.administer(&["drill", file]);
    for said in [
        "checksums match",
        "1 workspace folded to 1 entry",
        "recovery time: ",
        "last acknowledged event: ",
    ] {
        assert!(drilled.contains(said), "{drilled}");
    }
    let target = PostgresServer::shared().database();
    let restored = run_hub(target.url(), &["restore", file, "--verify", "--json"]);
    assert_eq!(restored.exit, 0, "{restored}");
    let report: Value = serde_json::from_str(&restored.stdout).unwrap();
    assert_eq!(report["events"], 1);
    assert_eq!(report["damaged"], serde_json::json!([]));
    let twice = run_hub(target.url(), &["restore", file]);
    assert_eq!(twice.exit, 2);
    assert!(
        twice.stderr.contains("the database is not empty"),
        "{twice}"
    );
    // A clone finds its event in the restored hub, once the operator accepted it.
    let mut command = Command::new(KEN);
    command.env_clear().env("KEN_DATABASE_URL", target.url());
    let hub = HubProcess::begin(command, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listed = run_hub(target.url(), &["token", "list", ORGANIZATION, "--json"]);
    assert!(listed.stdout.contains("human:ada@example.org"), "{listed}");
    let accepted = run_hub(target.url(), &["accept-restore", "--keep-tokens"]);
    assert_eq!(accepted.exit, 0, "{accepted}");
    let noted = run_hub(target.url(), &["audit", ORGANIZATION, "--json"]);
    assert!(noted.stdout.contains("restore.accepted"), "{noted}");
    assert!(noted.stdout.contains("tokens kept"), "{noted}");
    let url = format!("http://{}/{WORKSPACE}", hub.address());
    let token = site_token(target.url());
    let two = site.create_clone_as(2, &site.token("reader", "human:eve@example.org"));
    let _ = two.run(["remote", "remove", "hub"]).success();
    let added = two.run_with(&token, ["remote", "add", &url, "--token-stdin"]);
    assert_eq!(added.exit, 0, "{added}");
    assert_eq!(two.run(["pull"]).stderr, "1 new event\n");
    hub.end();
}

/// Creates a token on a restored database.
fn site_token(url: &str) -> String {
    let words = "token create acme --role curator --actor human:eve@example.org";
    let words: Vec<&str> = words.split(' ').collect();
    let made = run_hub(url, &words);
    assert_eq!(made.exit, 0, "{made}");
    made.stdout.trim().to_owned()
}

#[test]
fn a_plan_names_migrations_and_runs_none() {
    let database = PostgresServer::shared().database();
    let planned = run_hub(database.url(), &["migrate", "--plan"]);
    assert_eq!(planned.exit, 0, "{planned}");
    assert!(
        planned
            .stdout
            .contains("0001_directory  expand: running hubs keep serving\n"),
        "{planned}"
    );
    assert_eq!(database.sql("SELECT to_regnamespace('ken')"), "");
    let migrated = run_hub(database.url(), &["migrate"]);
    assert_eq!(migrated.exit, 0, "{migrated}");
    let planned = run_hub(database.url(), &["migrate", "--plan"]);
    assert_eq!(planned.stderr, "the database schema is up to date\n");
}

#[test]
fn a_blocked_account_has_no_token_and_gets_none() {
    let site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let _ = one.run(["push"]).success();
    let ada = "human:ada@example.org";
    site.administer(&[
        "account",
        "describe",
        ORGANIZATION,
        "ci:main",
        "--owner",
        ada,
        "--text",
        "builds",
    ]);
    site.token("agent", "ci:main");
    let blocked = run_hub(
        site.database.url(),
        &["account", "block", ORGANIZATION, ada],
    );
    assert_eq!(blocked.exit, 0, "{blocked}");
    assert!(
        blocked
            .stderr
            .contains("blocked human:ada@example.org, 1 token revoked"),
        "{blocked}"
    );
    assert!(
        blocked.stderr.contains("is responsible for ci:main"),
        "{blocked}"
    );
    assert_ne!(one.run(["pull"]).exit, 0, "the token ended");
    let words = [
        "token",
        "create",
        ORGANIZATION,
        "--role",
        "member",
        "--actor",
        ada,
    ];
    let refused = run_hub(site.database.url(), &words);
    assert_eq!(refused.exit, 2);
    assert!(
        refused.stderr.contains("is blocked; unblock it first"),
        "{refused}"
    );
    let listed = site.administer(&["account", "list", ORGANIZATION]);
    assert!(
        listed.contains("blocked") && listed.contains("its owner is blocked"),
        "{listed}"
    );
    site.administer(&["account", "unblock", ORGANIZATION, ada]);
    site.token("member", ada);
    assert_ne!(one.run(["pull"]).exit, 0, "a revoked token stays revoked");
    assert_eq!(site.administer(&["session", "list", ORGANIZATION]), "");
}

#[test]
fn a_token_has_a_stronger_role_in_one_workspace_only() {
    let site = HubTestEnvironment::new();
    site.administer(&["workspace", "add", ORGANIZATION, "search"]);
    let words = [
        "token",
        "create",
        ORGANIZATION,
        "--role",
        "reader",
        "--actor",
        "human:ben@example.org",
        "--workspace-role",
        "payments=member",
    ];
    let token = site.administer(&words);
    let one = site.create_clone_as(1, &token);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let pushed = one.run(["push"]);
    assert_eq!(pushed.exit, 0, "{pushed}");
    let mut client = ken_testkit::http::TestHttpClient::new(&token);
    let hub = SocketAddr::from(([127, 0, 0, 1], site.port));
    for (workspace, status) in [("payments", 200), ("search", 403)] {
        let path = format!("/v1/workspaces/{workspace}/events");
        let answer = client.post(hub, &path, "{\"events\":[]}").unwrap();
        assert_eq!(answer.status, status, "{workspace}: {answer:?}");
    }
    let wrong = [
        "token",
        "create",
        ORGANIZATION,
        "--role",
        "reader",
        "--actor",
        "human:x@example.org",
        "--workspace-role",
        "payments=admin",
    ];
    let refused = run_hub(site.database.url(), &wrong);
    assert!(
        refused.stderr.contains("concerns the whole organization"),
        "{refused}"
    );
}
