//! A hub of one test: a database, a process, an organisation with a workspace, and clones that know it.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use ken_core::event::Recorded;
use ken_core::state::EventSet;
use ken_testkit::postgres::{Database, Postgres};
use ken_testkit::served::Served;
use ken_testkit::test_env::{Run, TestEnv};

pub(crate) const KEN: &str = env!("CARGO_BIN_EXE_ken");
pub(crate) const ORGANISATION: &str = "acme";
pub(crate) const WORKSPACE: &str = "payments";

/// A hub and its database.
pub(crate) struct Site {
    pub(crate) database: Database,
    pub(crate) server: Postgres,
    hub: Option<Served>,
    pub(crate) port: u16,
    /// A copy of the database as it was once.
    backup: Option<String>,
}

impl Site {
    /// Makes a database with an organisation and a workspace, and serves it.
    pub(crate) fn new() -> Self {
        let server = Postgres::shared();
        // A migration is never edited once it is released, so their names and texts name what they make.
        let key = format!("ken hub migrate {:?}", ken_hub::database::MIGRATIONS);
        let database = server.database_from(&key, |url| {
            let migrated = hub_command(url, &["migrate"]);
            assert_eq!(migrated.exit, 0, "{migrated}");
        });
        let mut site = Self {
            database,
            server,
            hub: None,
            port: 0,
            backup: None,
        };
        site.administer(&["organisation", "add", ORGANISATION]);
        site.administer(&["workspace", "add", ORGANISATION, WORKSPACE]);
        site.start();
        site
    }

    /// Runs `ken hub …` and returns what it printed.
    pub(crate) fn administer(&self, words: &[&str]) -> String {
        let run = hub_command(self.database.url(), words);
        assert_eq!(run.exit, 0, "{run}");
        run.stdout.trim().to_owned()
    }

    /// Begins the hub, on the port it had before if it had one.
    pub(crate) fn start(&mut self) {
        let bind = SocketAddr::from(([127, 0, 0, 1], self.port));
        let hub = Served::begin(ken(self.database.url()), bind).unwrap();
        self.port = hub.address().port();
        self.hub = Some(hub);
    }

    /// Asks the hub to end and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.hub.take().into_iter().for_each(Served::end);
    }

    /// Copies the database as it is now; the hub is away meanwhile.
    pub(crate) fn back_up(&mut self) {
        self.stop();
        let name = self.database.name();
        let backup = format!("{name}_backup");
        let copy = format!("create database {backup} template {name}");
        self.server.sql("postgres", &copy);
        self.backup = Some(backup);
        self.start();
    }

    /// Puts a copy in the database's place; it may be put there again.
    pub(crate) fn restore(&mut self) {
        self.stop();
        let backup = self.backup.as_ref().unwrap();
        let name = self.database.name();
        let sql = |text: String| self.server.sql("postgres", &text);
        sql(format!("drop database {name}"));
        sql(format!("create database {name} template {backup}"));
        self.start();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{WORKSPACE}", self.port)
    }

    /// Makes a token.
    pub(crate) fn token(&self, role: &str, actor: &str) -> String {
        let words = [
            "token",
            "create",
            ORGANISATION,
            "--role",
            role,
            "--actor",
            actor,
        ];
        self.administer(&words)
    }

    /// Makes a repository whose owner is a curator here.
    pub(crate) fn clone(&self, seed: u64) -> TestEnv {
        self.clone_as(seed, &self.token("curator", "human:ada@example.org"))
    }

    /// Makes a repository that shows `token` here.
    pub(crate) fn clone_as(&self, seed: u64, token: &str) -> TestEnv {
        let env = TestEnv::new(KEN).in_git().seed(seed << 20);
        let _ = env.run(["init"]).success();
        let _ = env.git(["add", "-A"]);
        let _ = env.git(["commit", "-q", "-m", "ledger"]);
        let added = env
            .run_with(token, ["remote", "add", &self.url(), "--token-stdin"])
            .success();
        assert!(!added.to_string().contains(token));
        env
    }

    /// Returns how many events the hub holds.
    pub(crate) fn events(&self) -> usize {
        let status = self.administer(&["status", ORGANISATION, "--format", "json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        usize::try_from(status["events"].as_u64().unwrap()).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.hub.take());
        if let Some(backup) = &self.backup {
            let gone = format!("drop database if exists {backup} with (force)");
            self.server.sql("postgres", &gone);
        }
    }
}

/// Returns `ken` as an operator has it: no clock or dice of a test.
fn ken(database: &str) -> Command {
    let mut ken = Command::new(KEN);
    ken.env_clear().env("KEN_DATABASE_URL", database);
    ken.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ken
}

/// Runs `ken hub …` on a database.
pub(crate) fn hub_command(database: &str, words: &[&str]) -> Run {
    let mut ken = ken(database);
    ken.arg("hub").args(words);
    let output = ken
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    Run {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Adds an entry to a repository; returns its id.
pub(crate) fn add(env: &TestEnv, statement: &str) -> String {
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

/// Puts lines into a repository's tree as a merge would.
pub(crate) fn merge_in(env: &TestEnv, copies: &[Recorded]) {
    for (n, copies) in copies.chunks(500).enumerate() {
        for memory in ["semantic", "procedural", "episodic"] {
            let of = |it: &&Recorded| it.event.memory().name() == memory;
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

/// Returns every line of a repository's segments and packs.
pub(crate) fn lines(env: &TestEnv) -> Vec<String> {
    let mut lines = Vec::new();
    for memory in ["semantic", "procedural", "episodic"] {
        for name in env.names(&format!(".ken/{memory}/v1")) {
            let path = format!(".ken/{memory}/v1/{name}");
            let text = match name.ends_with(".pack") {
                true => env.run(["ledger", "cat", &path]).success().stdout,
                false => env.read(&path),
            };
            lines.extend(text.lines().map(ToOwned::to_owned));
        }
    }
    lines.sort();
    lines
}

/// Returns the hash of what a repository's lines fold to.
pub(crate) fn state_hash(env: &TestEnv) -> String {
    let mut set = EventSet::default();
    for line in lines(env) {
        set.add(Recorded::parse(line.as_bytes()).unwrap());
    }
    set.fold().hash()
}
