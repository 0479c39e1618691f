//! Repository chores of Ken: `cargo xtask <chore>`.
//!
//! Chores check or write files of this repository. They never run as part of `ken`, and nothing
//! that ships depends on this crate. Measurements are in `ken-bench`.

mod conformance;
mod dist;
mod language;
mod purity;
mod referee;
mod tidy;

use std::process::ExitCode;

use xtask::repository::{Repository, report};

const USAGE: &str = "\
usage: cargo xtask <chore>

chores:
  conformance           write docs/conformance.md from docs/conformance.toml
  conformance --check   check the table, its tests and the written document
  dist                  build, pack and describe a release; `dist help` lists its commands
  language              measure names, comments and documents; `--check` fails on a missed bar
  purity                check what ken-core reaches, which crate uses which, and layers in a crate
  referee               run public acceptance tests for agent memory against a `ken` program
  tidy                  check the rules on source files that no other tool checks
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let repository = Repository::of_this_build();
    // Its report is the table or JSON, not a list of places to mend.
    if let ["referee", options @ ..] = args.as_slice() {
        return referee::run(&repository, options);
    }
    report(match args.as_slice() {
        ["conformance"] => conformance::write(&repository).map(|()| Vec::new()),
        ["conformance", "--check"] => conformance::check(&repository),
        ["dist", options @ ..] => dist::run(&repository, options),
        ["language", options @ ..] => language::run(&repository, options),
        ["purity"] => purity::check(&repository),
        ["tidy"] => tidy::check(&repository),
        _ => Err(USAGE.to_owned()),
    })
}
