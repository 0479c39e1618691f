//! How often a verdict is right: `cargo ken-bench validity`, on releases of packages that others
//! wrote.
//!
//! Anchors are set in an older release and verified in a newer one; what became of the code is
//! decided by parsers that fingerprints are not made with. The packages are fetched by the ordinary
//! clients and never copied into the repository.

#![expect(clippy::print_stdout, reason = "tables are its answer")]

mod corpus;
mod edits;
mod formatting;
mod oracle;
mod report;
mod sample;
mod syn_oracle;

use std::fs;
use std::path::PathBuf;

use corpus::{PACKAGES, Tools};
use edits::Judged;
use report::Report;
use xtask::repository::{Finding, Repository};

const USAGE: &str = "usage: cargo ken-bench validity [--fetch DIR] [--write]";

const DOCUMENT: &str = "docs/validity.md";

/// Everything after this line of the document is written by `--write`.
const MARK: &str = "<!-- Written by `cargo ken-bench validity --write`. -->\n";

pub(crate) fn run(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    let (dir, is_written) = parse(repository, options)?;
    fs::create_dir_all(&dir).map_err(|error| crate::packages::said(&dir, &error))?;
    let tools = Tools::fetch(&dir, repository.root().join("tools/oracle"))?;
    let mut judged = Judged::default();
    let mut formatted = Vec::new();
    for package in PACKAGES {
        let of_package = edits::judge(&tools, *package)?;
        judged.cases.extend(of_package.cases);
        judged.missed += of_package.missed;
        judged.unread += of_package.unread;
        formatted.extend(formatting::measure(&tools, *package)?);
    }
    let report = Report { judged, formatted };
    println!("{}", report.listed());
    let text = report.to_string();
    println!("{text}");
    if is_written {
        let document = repository.read(DOCUMENT)?;
        let (front, _) = document
            .split_once(MARK)
            .ok_or("docs/validity.md has no mark")?;
        let path = repository.root().join(DOCUMENT);
        let written = fs::write(&path, format!("{front}{MARK}{text}"));
        written.map_err(|error| crate::packages::said(&path, &error))?;
    }
    Ok(report.findings())
}

fn parse(repository: &Repository, options: &[&str]) -> Result<(PathBuf, bool), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| repository.root().join("target"));
    let (mut dir, mut is_written) = (target.join("validity"), false);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--write" => is_written = true,
            "--fetch" => dir = PathBuf::from(options.next().ok_or(USAGE)?),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((dir, is_written))
}
