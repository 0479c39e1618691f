//! Isolated environment for tests of the `ken` program: folder, home, clock and seed.
//!
//! Nothing of the machine is visible: the environment is cleared, the clock starts at a fixed time
//! and advances one minute per run, ids follow from the seed, and the folder's path is replaced
//! with `[root]` in the output. A snapshot that varies is a bug in Ken's determinism.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ken_core::values::time::Timestamp;
use tempfile::TempDir;

/// Milliseconds the clock advances per run.
const STEP_MS: u64 = 60_000;
/// Environment variables that programs need to start.
const INHERITED_VARIABLES: [&str; 3] = ["PATH", "SYSTEMROOT", "TMPDIR"];

/// An isolated environment to run `ken` in.
#[derive(Debug)]
pub struct TestEnvironment {
    binary: PathBuf,
    dir: TempDir,
    now: Cell<Timestamp>,
    seed: Cell<u64>,
    variables: Vec<(OsString, OsString)>,
}

/// A commit whose hash starts with `3fce3b5`: its number was searched for that.
const CITED_COMMIT: &str = "\
tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
author Ada <ada@example.org> 1767323045 +0000
committer Ada <ada@example.org> 1767323045 +0000

The commit that examples cite: 0389898199
";

/// Exit code and output of one run.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRun {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnvironment {
    /// Creates an empty folder outside git; `binary` is `env!("CARGO_BIN_EXE_ken")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        // A separate home keeps the user's configuration out.
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

    /// Initializes a git repository owned by `ada@example.org`.
    pub fn in_git(self) -> Self {
        let _ = self.git(["init", "-q", "-b", "main"]);
        for (key, value) in [("user.email", "ada@example.org"), ("user.name", "Ada")] {
            let _ = self.git(["config", key, value]);
        }
        self.write_cited_commit();
        self
    }

    /// Writes the commit `3fce3b5`, which examples cite, as an object that no branch has.
    fn write_cited_commit(&self) {
        let mut git = self.command(Path::new("git"));
        git.args(["hash-object", "-w", "-t", "commit", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = git.spawn().expect("git runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(CITED_COMMIT.as_bytes()).expect("git reads");
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        assert!(
            text(&output.stdout).starts_with("3fce3b5"),
            "the known hash"
        );
    }

    /// Sets the clock.
    pub fn at(self, now: &str) -> Self {
        self.now
            .set(now.parse().expect("a time such as 2026-01-02T03:04:05Z"));
        self
    }

    /// Sets the seed of the generated ids.
    pub fn seed(self, seed: u64) -> Self {
        self.seed.set(seed);
        self
    }

    /// Sets an environment variable for the following runs.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.variables.push((key.into(), value.into()));
        self
    }

    /// Uses another binary for the following runs.
    pub fn use_binary(&mut self, binary: impl Into<PathBuf>) {
        self.binary = binary.into();
    }

    /// Advances the clock by whole days.
    pub fn wait_days(&self, days: u64) {
        self.now.set(
            self.now
                .get()
                .plus_millis(days * ken_core::values::time::DAY_MS),
        );
    }

    /// Returns the root folder.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Writes a file below the root, creating its parent folders.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Reads a file below the root.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Returns the sorted names in a folder below the root.
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

    /// Runs git in the root and returns its stdout. Panics if it fails.
    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let mut git = self.git_command(args);
        let output = git.output().expect("git runs");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{git:?}: {out}{err}");
        out
    }

    /// Runs git in the root and returns whether it succeeded.
    pub fn git_succeeds<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> bool {
        let output = self.git_command(args).output().expect("git runs");
        output.status.success()
    }

    fn git_command<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        // Fixed dates make commit hashes reproducible.
        let date = format!("@{} +0000", self.now.get().seconds());
        let mut git = self.command(Path::new("git"));
        git.args(args)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date);
        git
    }

    /// Runs `ken` in the root, one minute after the last run.
    pub fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> CommandRun {
        self.run_with("", args)
    }

    /// Runs `ken` with `input` on stdin.
    pub fn run_with<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        input: &str,
        args: I,
    ) -> CommandRun {
        let mut ken = self.ken();
        ken.args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = ken.spawn().expect("ken starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program may exit without reading its input, which breaks the pipe.
        let _ = stdin.write_all(input.as_bytes());
        // Closes stdin, so that a program that reads to the end does not hang.
        drop(stdin);
        self.finish(&child.wait_with_output().expect("ken ends"))
    }

    /// Creates the publication `partners` with a new key of `ssh-keygen`, and returns its folder
    /// beside the repository.
    pub fn create_publication(&self) -> String {
        let key = self.root().join("../key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
            .arg(&key)
            .status();
        assert!(made.expect("ssh-keygen").success(), "it makes a key");
        let folder = std::path::absolute(self.root().join("../published")).expect("a folder");
        let folder = folder.display().to_string();
        let create = ["remote", "publication", "create", "partners", &folder];
        let policy = [
            "--topic",
            "rust",
            "--license",
            "CC-BY-4.0",
            "--key",
            "../key",
        ];
        let _ = self.run(create.iter().chain(&policy)).success();
        folder
    }

    /// Returns the command of the next run, for tests that drive the process themselves.
    pub fn ken(&self) -> Command {
        let mut ken = self.command(&self.binary);
        let (now, seed) = (self.now.get(), self.seed.get());
        self.now.set(now.plus_millis(STEP_MS));
        // A new seed per run, or two runs would create the same ids.
        self.seed.set(seed + 1);
        ken.env("KEN_NOW", now.to_string())
            .env("KEN_SEED", seed.to_string());
        // Last, so that a test can override the clock and the seed.
        ken.envs(self.variables.iter().map(|(key, value)| (key, value)));
        ken
    }

    fn command(&self, program: &Path) -> Command {
        let home = self.dir.path().join("home");
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear();
        command.envs(
            INHERITED_VARIABLES
                .iter()
                .filter_map(|key| std::env::var_os(key).map(|value| (key, value))),
        );
        command
            .env("HOME", &home)
            .env("USER", "ada")
            .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Keeps git from finding a repository around the temporary folder.
            .env("GIT_CEILING_DIRECTORIES", self.dir.path());
        command
    }

    fn finish(&self, output: &Output) -> CommandRun {
        // On some systems the temporary folder is a symbolic link, and git prints the real path.
        let real = fs::canonicalize(self.root()).unwrap_or_else(|_| self.root());
        let named = |bytes: &[u8]| {
            let text = text(bytes).replace(&real.display().to_string(), "[root]");
            text.replace(&self.root().display().to_string(), "[root]")
        };
        CommandRun {
            // A process killed by a signal has no exit code.
            exit: output.status.code().unwrap_or(-1),
            stdout: named(&output.stdout),
            stderr: named(&output.stderr),
        }
    }
}

impl CommandRun {
    /// Returns the run if it succeeded; panics with its output otherwise.
    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.exit, 0, "{self}");
        self
    }

    /// Parses stdout as JSON; panics if it is invalid.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    /// Returns the first line of stdout, such as the id of an added entry.
    pub fn line(&self) -> String {
        self.stdout.lines().next().unwrap_or_default().to_owned()
    }
}

impl fmt::Display for CommandRun {
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
