//! Second opinions: what symbols say according to parsers that fingerprints are not made with.
//!
//! Rust is read by `syn` in this process, Python by its own `ast` and JavaScript and TypeScript by
//! the compiler of TypeScript in scripts (`tools/oracle`). Names follow the rules of anchors, so
//! that both sides speak of one thing.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::corpus::{Release, Tongue, Tools};
use super::syn_oracle;

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Functions and methods.
    Function,
    Type,
    /// Constants, variants, modules: told so that namesakes count, not sampled.
    Other,
}

/// One symbol.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) hash: String,
    /// Words that were hashed.
    pub(super) size: usize,
}

/// What one release says: the symbols of every file that could be read, in the order of the source.
#[derive(Debug, Default)]
pub(super) struct Opinion {
    pub(super) files: BTreeMap<String, Vec<Told>>,
    pub(super) unreadable: BTreeMap<String, String>,
}

/// One line of a script's answer.
#[derive(Deserialize)]
struct Line {
    path: String,
    symbols: Option<Vec<Told>>,
    error: Option<String>,
}

impl Told {
    pub(super) fn new(name: String, kind: Kind, said: &str, size: usize) -> Self {
        let hash = blake3::hash(said.as_bytes()).to_hex()[..32].to_owned();
        Self {
            name,
            kind,
            hash,
            size,
        }
    }
}

impl Opinion {
    /// Asks for the symbols of a release.
    pub(super) fn of(tools: &Tools, tongue: Tongue, release: &Release) -> Result<Self, String> {
        match tongue {
            Tongue::Rust => Ok(Self::of_rust(release)),
            Tongue::Python => {
                let mut command = Command::new(&tools.python);
                command.arg(tools.scripts.join("python.py"));
                Self::of_script(command, release)
            }
            Tongue::TypeScript | Tongue::JavaScript => {
                let mut command = Command::new("node");
                command.arg(tools.scripts.join("script.mjs"));
                command.env("KEN_TYPESCRIPT", &tools.typescript);
                Self::of_script(command, release)
            }
        }
    }

    fn of_rust(release: &Release) -> Self {
        let mut opinion = Self::default();
        for (path, bytes) in &release.files {
            let read = std::str::from_utf8(bytes).map_err(|error| error.to_string());
            match read.and_then(syn_oracle::read) {
                Ok(symbols) => drop(opinion.files.insert(path.clone(), symbols)),
                Err(why) => drop(opinion.unreadable.insert(path.clone(), why)),
            }
        }
        opinion
    }

    fn of_script(command: Command, release: &Release) -> Result<Self, String> {
        let paths: Vec<&str> = release.files.keys().map(String::as_str).collect();
        let mut opinion = Self::default();
        for line in ask(command, &release.root, &paths)?.lines() {
            let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
            match line.symbols {
                Some(symbols) => drop(opinion.files.insert(line.path, symbols)),
                None => drop(
                    opinion
                        .unreadable
                        .insert(line.path, line.error.unwrap_or_default()),
                ),
            }
        }
        Ok(opinion)
    }

    /// Returns all that a name means in a file, in the order of the source.
    pub(super) fn find(&self, path: &str, name: &str) -> Vec<&Told> {
        let symbols = self.files.get(path).into_iter().flatten();
        symbols.filter(|told| told.name == name).collect()
    }
}

/// Runs a script with paths on its standard input.
fn ask(mut command: Command, root: &Path, paths: &[&str]) -> Result<String, String> {
    let mut child = command
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let text = paths.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let written = writer.join().map_err(|_| "a writer stopped")?;
    written.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
