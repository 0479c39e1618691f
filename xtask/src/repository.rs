//! The checkout a chore works on: its files, and what a chore found in them.
//!
//! Paths are relative to the root and written with `/` on every system, as git writes them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1; 1 also stands for the file as a whole.
    pub line: usize,
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Exit code for a command line we do not understand, or for a chore that could not run.
const EXIT_UNUSABLE: u8 = 2;

/// Prints the findings or the error of a chore and returns its exit code.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores report on the terminal"
)]
pub fn report(outcome: Result<Vec<Finding>, String>) -> ExitCode {
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                println!("{finding}");
            }
            eprintln!("{} to mend", findings.len());
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(EXIT_UNUSABLE)
        }
    }
}

/// Returns cargo, to be run at `root` without the variables it sets for what it runs itself.
///
/// A build script that reads one of them is run again when it differs, and what depends on its
/// crate is built again: a chore would undo the build before it.
pub fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(root);
    cargo
}

/// A checkout of Ken.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The checkout this binary was built from.
    ///
    /// Cargo names it anew on each run: a target directory shared by two checkouts may hand one
    /// of them a binary that the other one built.
    pub fn of_this_build() -> Self {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .map_or_else(|| manifest.clone(), Path::to_path_buf);
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(path))
            .map_err(|error| format!("cannot read `{path}`: {error}"))
    }

    pub fn write(&self, path: &str, text: &str) -> Result<(), String> {
        fs::write(self.root.join(path), text)
            .map_err(|error| format!("cannot write `{path}`: {error}"))
    }

    /// Runs a program at the root and returns what it printed.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<String, String> {
        let output = Command::new(program)
            .args(args)
            .current_dir(&self.root)
            .output()
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        if !output.status.success() {
            let talk = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{program} {}` failed: {talk}", args.join(" ")));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| format!("`{program}` printed something that is not UTF-8"))
    }

    /// The files git tracks or would track: what is ignored or deleted is left out.
    pub fn files(&self) -> Result<Vec<String>, String> {
        let listed = self.run(
            "git",
            &[
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
                "--deduplicate",
            ],
        )?;
        Ok(listed
            .split_terminator('\0')
            .filter(|path| self.root.join(path).is_file())
            .map(str::to_owned)
            .collect())
    }

    /// The file's text, or `None` if it is not text.
    pub fn text(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = fs::read(self.root.join(path))
            .map_err(|error| format!("cannot read `{path}`: {error}"))?;
        if bytes.contains(&0) {
            return Ok(None);
        }
        Ok(String::from_utf8(bytes).ok())
    }
}
