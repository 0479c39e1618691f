//! A folder, a home, a clock and a seed of its own for every test of the `ken` program.
//!
//! Nothing of the machine shows through: the environment is cleared, the clock stands at a known
//! time and moves one minute with every run, ids follow from the seed, and the folder's path reads
//! `[root]` in what the program said. A snapshot that varies is a bug in our determinism.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ken_core::time::Timestamp;
use tempfile::TempDir;

/// Milliseconds the clock moves with every run.
const STEP_MS: u64 = 60_000;
/// Variables of the machine a program cannot start without.
const KEPT: [&str; 3] = ["PATH", "SYSTEMROOT", "TMPDIR"];

/// A place to run `ken` in.
#[derive(Debug)]
pub struct TestEnv {
    binary: PathBuf,
    dir: TempDir,
    now: Cell<Timestamp>,
    seed: Cell<u64>,
    variables: Vec<(OsString, OsString)>,
}

/// What one run of the program did.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnv {
    /// Makes an empty folder outside git; `binary` is `env!("CARGO_BIN_EXE_ken")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        for name in ["root", "home"] {
            fs::create_dir(dir.path().join(name)).expect("a new folder");
        }
        let now = "2026-01-02T03:04:05Z".parse().expect("a time");
        let (now, seed) = (Cell::new(now), Cell::new(1));
        Self {
            binary: binary.into(),
            dir,
            now,
            seed,
            variables: Vec::new(),
        }
    }

    /// Makes the folder a git repository whose owner is `ada@example.org`.
    pub fn in_git(self) -> Self {
        let _ = self.git(["init", "-q", "-b", "main"]);
        for (key, value) in [("user.email", "ada@example.org"), ("user.name", "Ada")] {
            let _ = self.git(["config", key, value]);
        }
        self
    }

    /// Sets the clock.
    pub fn at(self, now: &str) -> Self {
        self.now
            .set(now.parse().expect("a time such as 2026-01-02T03:04:05Z"));
        self
    }

    /// Sets where ids come from.
    pub fn seed(self, seed: u64) -> Self {
        self.seed.set(seed);
        self
    }

    /// Sets a variable for every run from here on.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.variables.push((key.into(), value.into()));
        self
    }

    /// Runs another build from here on.
    pub fn use_binary(&mut self, binary: impl Into<PathBuf>) {
        self.binary = binary.into();
    }

    /// Moves the clock on by whole days.
    pub fn wait_days(&self, days: u64) {
        self.now
            .set(self.now.get().plus_millis(days * ken_core::time::DAY_MS));
    }

    /// Returns the folder.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Writes a file below the folder, with the folders it needs.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Reads a file below the folder.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Returns the names in a folder below the folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root().join(path))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs git in the folder and returns what it printed; panics if it fails.
    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let date = format!("@{} +0000", self.now.get().seconds());
        let mut git = self.command(Path::new("git"));
        git.args(args)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date);
        let output = git.output().expect("git runs");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{git:?}: {out}{err}");
        out
    }

    /// Runs `ken` in the folder, a minute after the last run.
    pub fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Run {
        self.run_with("", args)
    }

    /// Runs `ken` and gives it `input`.
    pub fn run_with<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        input: &str,
        args: I,
    ) -> Run {
        let mut ken = self.ken();
        ken.args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = ken.spawn().expect("ken starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that does not read its input closes the pipe; that is its right.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        self.finish(&child.wait_with_output().expect("ken ends"))
    }

    /// Returns the next run of `ken`, for tests that drive the process themselves.
    pub fn ken(&self) -> Command {
        let mut ken = self.command(&self.binary);
        let (now, seed) = (self.now.get(), self.seed.get());
        self.now.set(now.plus_millis(STEP_MS));
        self.seed.set(seed + 1);
        ken.env("KEN_NOW", now.to_string())
            .env("KEN_SEED", seed.to_string());
        ken.envs(self.variables.iter().map(|(key, value)| (key, value)));
        ken
    }

    fn command(&self, program: &Path) -> Command {
        let home = self.dir.path().join("home");
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear();
        command.envs(
            KEPT.iter()
                .filter_map(|key| std::env::var_os(key).map(|value| (key, value))),
        );
        command
            .env("HOME", &home)
            .env("USER", "ada")
            .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.dir.path());
        command
    }

    fn finish(&self, output: &Output) -> Run {
        // On some systems the temporary folder is reached through a link, and git says so.
        let real = fs::canonicalize(self.root()).unwrap_or_else(|_| self.root());
        let named = |bytes: &[u8]| {
            let text = text(bytes).replace(&real.display().to_string(), "[root]");
            text.replace(&self.root().display().to_string(), "[root]")
        };
        Run {
            exit: output.status.code().unwrap_or(-1),
            stdout: named(&output.stdout),
            stderr: named(&output.stderr),
        }
    }
}

impl Run {
    /// Returns the run if the program ended well; panics with what it said otherwise.
    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.exit, 0, "{self}");
        self
    }

    /// Returns stdout as one JSON value; panics if it is none.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    /// Returns the first line of stdout, such as the id of an entry just added.
    pub fn line(&self) -> String {
        self.stdout.lines().next().unwrap_or_default().to_owned()
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit: {}", self.exit)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "----- {name} -----")?;
                f.write_str(text)?;
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
