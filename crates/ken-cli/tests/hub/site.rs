//! Hub environment of one test: a database, a server process, an organization with a workspace, and
//! clones.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::EventSet;
use ken_testkit::postgres::{PostgresServer, TestDatabase};
use ken_testkit::served::HubProcess;
use ken_testkit::test_env::{CommandRun, TestEnvironment};

pub(crate) const KEN: &str = env!("CARGO_BIN_EXE_ken");
pub(crate) const ORGANIZATION: &str = "acme";
pub(crate) const WORKSPACE: &str = "payments";

/// A hub and its database.
pub(crate) struct HubTestEnvironment {
    pub(crate) database: TestDatabase,
    pub(crate) server: PostgresServer,
    hub: Option<HubProcess>,
    pub(crate) port: u16,
    /// Name of the backup database.
    backup: Option<String>,
}

impl HubTestEnvironment {
    /// Creates a database with an organization and a workspace, and starts a hub on it.
    pub(crate) fn new() -> Self {
        let server = PostgresServer::shared();
        // Released migrations are never edited, so their names and texts identify the migrated
        // schema.
        let key = format!("ken hub migrate {:?}", ken_hub::database::MIGRATIONS);
        let database = server.create_database_from(&key, |url| {
            let migrated = run_hub(url, &["migrate"]);
            assert_eq!(migrated.exit, 0, "{migrated}");
        });
        let mut site = Self {
            database,
            server,
            hub: None,
            port: 0,
            backup: None,
        };
        site.administer(&["organization", "add", ORGANIZATION]);
        site.administer(&["workspace", "add", ORGANIZATION, WORKSPACE]);
        site.start();
        site
    }

    /// Runs `ken hub …` and returns its output.
    pub(crate) fn administer(&self, words: &[&str]) -> String {
        let run = run_hub(self.database.url(), words);
        assert_eq!(run.exit, 0, "{run}");
        run.stdout.trim().to_owned()
    }

    /// Starts the hub, on its previous port if it had one.
    pub(crate) fn start(&mut self) {
        let bind = SocketAddr::from(([127, 0, 0, 1], self.port));
        let hub = HubProcess::begin(operator_command(self.database.url()), bind).unwrap();
        self.port = hub.address().port();
        self.hub = Some(hub);
    }

    /// Stops the hub and waits until it exits.
    pub(crate) fn stop(&mut self) {
        self.hub.take().into_iter().for_each(HubProcess::end);
    }

    /// Copies the database; the hub is stopped meanwhile.
    pub(crate) fn back_up(&mut self) {
        self.stop();
        let name = self.database.name();
        let backup = format!("{name}_backup");
        let copy = format!("create database {backup} template {name}");
        self.server.sql("postgres", &copy);
        self.backup = Some(backup);
        self.start();
    }

    /// Replaces the database with the backup; the backup is kept.
    pub(crate) fn restore(&mut self) {
        self.stop();
        let backup = self.backup.as_ref().unwrap();
        let name = self.database.name();
        let sql = |text: String| self.server.sql("postgres", &text);
        sql(format!("drop database {name}"));
        sql(format!("create database {name} template {backup}"));
        // Its tokens are refused until then.
        self.administer(&["accept-restore", "--keep-tokens"]);
        self.start();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{WORKSPACE}", self.port)
    }

    /// Creates a token.
    pub(crate) fn token(&self, role: &str, actor: &str) -> String {
        let words = [
            "token",
            "create",
            ORGANIZATION,
            "--role",
            role,
            "--actor",
            actor,
        ];
        self.administer(&words)
    }

    /// Creates a repository whose owner is a curator of the hub.
    pub(crate) fn clone(&self, seed: u64) -> TestEnvironment {
        self.create_clone_as(seed, &self.token("curator", "human:ada@example.org"))
    }

    /// Creates a repository that uses `token` for the hub.
    pub(crate) fn create_clone_as(&self, seed: u64, token: &str) -> TestEnvironment {
        let env = TestEnvironment::new(KEN).in_git().seed(seed << 20);
        let _ = env.run(["init"]).success();
        let _ = env.git(["add", "-A"]);
        let _ = env.git(["commit", "-q", "-m", "ledger"]);
        let added = env
            .run_with(token, ["remote", "add", &self.url(), "--token-stdin"])
            .success();
        assert!(!added.to_string().contains(token));
        env
    }

    /// Returns the number of events the hub stores.
    pub(crate) fn events(&self) -> usize {
        let status = self.administer(&["status", ORGANIZATION, "--format", "json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        usize::try_from(status["events"].as_u64().unwrap()).unwrap()
    }
}

impl Drop for HubTestEnvironment {
    fn drop(&mut self) {
        drop(self.hub.take());
        if let Some(backup) = &self.backup {
            let gone = format!("drop database if exists {backup} with (force)");
            self.server.sql("postgres", &gone);
        }
    }
}

/// Returns a `ken` command as an operator runs it, without the test clock and seed.
fn operator_command(database: &str) -> Command {
    let mut ken = Command::new(KEN);
    ken.env_clear().env("KEN_DATABASE_URL", database);
    ken.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ken
}

/// Runs `ken hub …` on a database.
pub(crate) fn run_hub(database: &str, words: &[&str]) -> CommandRun {
    let mut ken = operator_command(database);
    ken.arg("hub").args(words);
    let output = ken
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    CommandRun {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Adds an entry to a repository and returns its id.
pub(crate) fn add_entry(env: &TestEnvironment, statement: &str) -> String {
    let words = [
        "add",
        "--kind",
        "learning",
        "--statement",
        statement,
        "--cite",
        "pr:142",
    ];
    env.run(words).success().line()
}

/// Writes lines into a repository's worktree as a merge would.
pub(crate) fn write_merged_lines(env: &TestEnvironment, copies: &[RecordedEvent]) {
    for (n, copies) in copies.chunks(500).enumerate() {
        for memory in ["semantic", "procedural", "episodic"] {
            let of = |it: &&RecordedEvent| it.event.memory().name() == memory;
            let lines = copies
                .iter()
                .filter(of)
                .map(|it| format!("{}\n", it.line()));
            let text: String = lines.collect();
            if !text.is_empty() {
                let path = format!(".ken/{memory}/v1/2026-01-01t00-00-aaaa{:02}.jsonl", n + 10);
                env.write(&path, &text);
            }
        }
    }
}

/// Returns every line of a repository's segments and packs, sorted.
pub(crate) fn ledger_lines(env: &TestEnvironment) -> Vec<String> {
    let mut lines = Vec::new();
    for memory in ["semantic", "procedural", "episodic"] {
        for name in env.names(&format!(".ken/{memory}/v1")) {
            let path = format!(".ken/{memory}/v1/{name}");
            let text = if name.ends_with(".pack") {
                env.run(["ledger", "cat", &path]).success().stdout
            } else {
                env.read(&path)
            };
            lines.extend(text.lines().map(ToOwned::to_owned));
        }
    }
    lines.sort();
    lines
}

/// Returns the hash of the state that a repository's lines fold to.
pub(crate) fn state_hash(env: &TestEnvironment) -> String {
    let mut set = EventSet::default();
    for line in ledger_lines(env) {
        set.add(RecordedEvent::parse(line.as_bytes()).unwrap());
    }
    set.fold().hash()
}
