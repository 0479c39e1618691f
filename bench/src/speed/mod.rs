//! `cargo ken-bench ledger`, `search` and others: how fast Ken is, against what the machine can do.
//!
//! Every figure with a bar is a ratio or a difference of two sides measured in turn in the same
//! run, so that a slow machine or a busy hour changes both. Only release builds are measured; a
//! debug build starts itself again as one. Ledgers to measure are kept beside the build output.

mod adds;
mod close;
mod conversations;
mod counting;
pub(crate) mod fixture;
pub(crate) mod hook;
mod hub;
pub(crate) mod instructions;
mod machine;
mod measure;
mod programs;
mod rebuild;
mod reflect;
mod report;
mod search;
mod show;
mod status;
pub(crate) mod story;
mod verify;
mod words;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fixture::said;
use report::Report;
use xtask::repository::{Finding, Repository, cargo};

const DOCUMENT: &str = "docs/performance.md";
const COMMAND: &str = "cargo ken-bench";
const OTHER_USAGE: &str = "\
usage: cargo ken-bench NAME [options]

options:
  --quick       small sizes: shows that it works, says nothing about speed
  --write       put the figures into docs/performance.md
";
const USAGE: &str = "\
usage: cargo ken-bench ledger [options]

options:
  --only PART   rebuild, adds, show or status; may be given several times
  --quick       small sizes: shows that it works, says nothing about speed
  --write       put the figures into docs/performance.md
";

/// What a measure needs to know.
#[derive(Debug)]
pub(crate) struct Bench {
    size: Size,
    /// The checkout.
    root: PathBuf,
    /// Build output.
    target: PathBuf,
    /// Ledgers kept between runs.
    cache: PathBuf,
}

/// How large the ledgers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Full,
    Quick,
}

/// One of the things measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Rebuild,
    Adds,
    Show,
    Status,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    parts: Vec<Part>,
    size: Size,
    writes: bool,
}

impl Part {
    const ALL: [Self; 4] = [Self::Rebuild, Self::Adds, Self::Show, Self::Status];

    fn parse(name: &str) -> Option<Self> {
        match name {
            "rebuild" => Some(Self::Rebuild),
            "adds" => Some(Self::Adds),
            "show" => Some(Self::Show),
            "status" => Some(Self::Status),
            _ => None,
        }
    }

    fn run(self, bench: &Bench) -> Result<Report, String> {
        match self {
            Self::Rebuild => rebuild::run(bench),
            Self::Adds => adds::run(bench),
            Self::Show => show::run(bench),
            Self::Status => status::run(bench),
        }
    }
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            parts: Vec::new(),
            size: Size::Full,
            writes: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--quick" => options.size = Size::Quick,
                "--write" => options.writes = true,
                "--only" => {
                    let part = args.next().and_then(|name| Part::parse(name));
                    options.parts.push(part.ok_or_else(|| USAGE.to_owned())?);
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        if options.parts.is_empty() {
            options.parts = Part::ALL.to_vec();
        }
        if options.writes && (options.size == Size::Quick || options.parts != Part::ALL) {
            return Err("only a whole run of full size is worth writing down".to_owned());
        }
        Ok(options)
    }
}

/// Measures; a missed bar is a finding, except in a quick run, which proves nothing.
pub(crate) fn ledger(repository: &Repository, args: &[&str]) -> Result<Vec<Finding>, String> {
    match args {
        ["--child", "adds", root] => return adds::child(Path::new(root)).map(|()| Vec::new()),
        ["--child", side, root] => {
            return rebuild::child(side, Path::new(root)).map(|()| Vec::new());
        }
        _ => {}
    }
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) {
        return in_release(repository, "ledger", args).map(|()| Vec::new());
    }
    let bench = Bench::new(repository, options.size)?;
    let mut report = Report::default();
    for part in options.parts {
        report.append(part.run(&bench)?);
    }
    bench.tell(repository, "ledger", &report, options.writes)
}

/// Measures the search, the gate or the closing of runs in the same way.
pub(crate) fn other(
    repository: &Repository,
    name: &str,
    args: &[&str],
) -> Result<Vec<Finding>, String> {
    if name == "hub" {
        return hub::run(repository, args);
    }
    let usage = || OTHER_USAGE.replace("NAME", name);
    let measure = match name {
        "conversations" => conversations::run,
        "search" => search::run,
        "verify" => verify::run,
        "close" => close::run,
        "reflect" => reflect::run,
        "hook" => hook::run,
        _ => return Err(usage()),
    };
    let (size, writes) = match args {
        [] => (Size::Full, false),
        ["--write"] => (Size::Full, true),
        ["--quick"] => (Size::Quick, false),
        _ => return Err(usage()),
    };
    if cfg!(debug_assertions) {
        return in_release(repository, name, args).map(|()| Vec::new());
    }
    let bench = Bench::new(repository, size)?;
    let report = measure(&bench)?;
    bench.tell(repository, name, &report, writes)
}

impl Bench {
    fn new(repository: &Repository, size: Size) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(said("cannot tell which program this is"))?;
        // The program lies in `<target>/release/`.
        let target = program
            .ancestors()
            .nth(2)
            .ok_or_else(|| "the program lies in no build folder".to_owned())?
            .to_owned();
        let cache = target.join("ken-bench");
        fs::create_dir_all(&cache).map_err(said("cannot create the cache"))?;
        Ok(Self {
            size,
            root: repository.root().to_owned(),
            target,
            cache,
        })
    }

    /// Prints what was measured and writes it down; missed bars are findings.
    fn tell(
        &self,
        repository: &Repository,
        name: &str,
        report: &Report,
        writes: bool,
    ) -> Result<Vec<Finding>, String> {
        let described = machine::described(repository, &self.cache);
        // `hub-growth` is what `hub --growth` measures.
        let command = name.replace('-', " --");
        let section = format!("`{COMMAND} {command}`. {described}\n\n{}", report.text());
        writeln!(std::io::stdout(), "{section}").map_err(said("cannot print"))?;
        if writes {
            let document = report::with_section(&repository.read(DOCUMENT)?, name, &section)?;
            repository.write(DOCUMENT, &document)?;
        }
        let missed = match self.size {
            Size::Full => report.missed().collect(),
            Size::Quick => Vec::new(),
        };
        let finding = |message: String| Finding::new(DOCUMENT, 1, message);
        Ok(missed.into_iter().map(finding).collect())
    }
}

/// Starts the same command again, built for release.
fn in_release(repository: &Repository, name: &str, args: &[&str]) -> Result<(), String> {
    let status = cargo(repository.root())
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "ken-bench",
            "--bin",
            "ken-bench",
            "--",
        ])
        .arg(name)
        .args(args)
        .status()
        .map_err(said("cannot start cargo"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "the release build of `{COMMAND} {name}` ended with {status}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_unless_some_are_named() {
        let options = Options::parse(&["--quick"]).unwrap();
        assert_eq!(
            (options.parts, options.size),
            (Part::ALL.to_vec(), Size::Quick)
        );
        let options = Options::parse(&["--only", "show", "--only", "adds"]).unwrap();
        assert_eq!(options.parts, [Part::Show, Part::Adds]);
    }

    #[test]
    fn what_is_not_understood_or_not_worth_writing_is_refused() {
        for args in [
            &["--only"][..],
            &["--only", "everything"],
            &["--fast"],
            &["--write", "--quick"],
            &["--write", "--only", "show"],
        ] {
            assert!(Options::parse(args).is_err(), "{args:?}");
        }
    }
}
