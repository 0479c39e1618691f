//! Runs the `git` program.
//!
//! Every call removes variables that a hook or alias may have set, prompts for nothing, takes no
//! optional locks, runs no hook, and treats paths literally.

use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::GitError;
use crate::place::GitDirs;

/// Environment variables that would direct git to another worktree or change path matching.
const CLEARED_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
];

/// Options of every call; no program from the configuration is run.
const GLOBAL_OPTIONS: &[&str] = &[
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
];

/// Runs git in one worktree.
#[derive(Clone, Debug)]
pub struct GitRunner {
    root: PathBuf,
    /// Set if the environment named the directory, which git would not find by itself.
    git_dir: Option<PathBuf>,
}

impl GitRunner {
    /// Creates a runner for the worktree whose top is `root`.
    pub fn new(root: &Path, dirs: &GitDirs) -> Self {
        let git_dir = dirs.named_by_environment.then(|| dirs.git_dir.clone());
        Self {
            root: root.to_owned(),
            git_dir,
        }
    }

    /// Runs `git` with `arguments` and returns its output.
    pub fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output_with(arguments, &[])
    }

    /// Runs `git` with `input` on standard input and returns its output.
    pub(super) fn output_with(
        &self,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let failed = |source| GitError::Run {
            command: display_command(arguments),
            source,
        };
        let mut child = self.start(arguments, Stdio::piped())?;
        let output = std::thread::scope(|scope| {
            let stdin = child.stdin.take();
            // Written on a thread, because both pipes could fill up. A git that fails early closes
            // its input; the exit status is more informative than the broken pipe.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            child.wait_with_output().map_err(failed)
        })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(GitError::Failed {
                command: display_command(arguments),
                message,
            });
        }
        Ok(output.stdout)
    }

    /// Runs `git`; returns `None` if it exits with an error status.
    pub(super) fn answer(&self, arguments: &[&str]) -> Result<Option<String>, GitError> {
        match self.output(arguments) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Calls `visit` with the content of each of `ids` that exists in this clone.
    pub(super) fn for_each_object(
        &self,
        ids: &[&str],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), GitError> {
        let arguments = ["cat-file", "--batch"];
        let failed = |source| GitError::Run {
            command: display_command(&arguments),
            source,
        };
        let mut child = self.start(&arguments, Stdio::null())?;
        let result = std::thread::scope(|scope| {
            let stdin = child.stdin.take();
            scope.spawn(move || {
                let mut stdin = stdin?;
                // A git that fails early closes its input; the reader notices the end.
                ids.iter().try_for_each(|id| writeln!(stdin, "{id}")).ok()
            });
            let output = child.stdout.take().map(BufReader::new);
            output.map_or(Ok(()), |mut output| read_objects(&mut output, ids, visit))
        });
        child.wait().map_err(failed)?;
        result
    }

    /// Starts git with pipes for the caller; standard error is discarded.
    pub(super) fn spawn_quietly(&self, arguments: &[&str]) -> Result<Child, GitError> {
        self.start(arguments, Stdio::null())
    }

    fn start(&self, arguments: &[&str], stderr: Stdio) -> Result<Child, GitError> {
        let mut command = Command::new("git");
        for variable in CLEARED_VARIABLES {
            command.env_remove(variable);
        }
        if let Some(git_dir) = &self.git_dir {
            command
                .env("GIT_DIR", git_dir)
                .env("GIT_WORK_TREE", &self.root);
        }
        // `git check-ignore` takes plain paths and refuses the option.
        let literal = arguments.first() != Some(&"check-ignore");
        command
            // Untranslated messages, no prompts, no index refresh, no network access in partial
            // clones.
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .arg("-C")
            .arg(&self.root)
            .args(GLOBAL_OPTIONS)
            .args(literal.then_some("--literal-pathspecs"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|source| GitError::Run {
                command: display_command(arguments),
                source,
            })
    }
}

/// Returns whether the repository at `git_dir` has a ref with this full name.
pub(super) fn has_ref(git_dir: &Path, name: &str) -> bool {
    let mut command = Command::new("git");
    for variable in CLEARED_VARIABLES {
        command.env_remove(variable);
    }
    let ended = command
        .arg("--git-dir")
        .arg(git_dir)
        .args(["rev-parse", "--verify", "--quiet", name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}

/// Reads the output of `git cat-file --batch` one object at a time.
fn read_objects(
    output: &mut impl std::io::BufRead,
    ids: &[&str],
    visit: &mut dyn FnMut(usize, &[u8]),
) -> Result<(), GitError> {
    let command = || "cat-file --batch".to_owned();
    let failed = |source| GitError::Run {
        command: command(),
        source,
    };
    for at in 0..ids.len() {
        let mut header = String::new();
        output.read_line(&mut header).map_err(failed)?;
        let mut words = header.split_whitespace().skip(1);
        let (Some(kind), size) = (words.next(), words.next()) else {
            return Err(GitError::Answer { command: command() });
        };
        if kind == "missing" {
            continue;
        }
        let size = size.and_then(|size| size.parse().ok());
        let size: usize = size.ok_or_else(|| GitError::Answer { command: command() })?;
        // Git adds a newline after the content.
        let mut content = vec![0; size + 1];
        output.read_exact(&mut content).map_err(failed)?;
        visit(at, &content[..size]);
    }
    Ok(())
}

/// Returns the part of a command line that identifies it in error messages.
fn display_command(arguments: &[&str]) -> String {
    let mut settings = false;
    let words = arguments.iter().filter(|word| {
        let skip = settings || **word == "-c";
        settings = **word == "-c";
        !skip
    });
    words.take(2).copied().collect::<Vec<_>>().join(" ")
}
