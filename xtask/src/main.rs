//! Repository chores of Ken: `cargo xtask <chore>`.
//!
//! Chores check or write files of this repository. They never run as part of `ken`, and nothing
//! that ships depends on this crate.

mod bench;
mod conformance;
mod eval;
mod hook_cost;
mod packages;
mod purity;
mod repository;
mod tidy;
mod validity;

use std::process::ExitCode;

use repository::{Finding, Repository};

/// The one `ken` uses, so that what is measured here is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: cargo xtask <chore>

chores:
  bench ledger          measure rebuild, adds, show and git status; `--help` lists the options
  bench close           measure `ken run close` in a large workspace
  bench search          measure `ken search` beside its bare parts and `rg`
  bench verify          measure `ken verify` of a change, and of everything beside parsing
  conformance           write docs/conformance.md from docs/conformance.toml
  conformance --check   check the table, its tests and the written document
  eval                  measure the search on lessons whose answers are known
  eval duplicates       measure how well the same claim is told from its opposite
  bench hook            measure every moment of `ken hook` beside a bare program
  bench hub             measure the hub's store beside bare statements; `--help` lists the options
  hook-cost --check     count the instructions of two hooks and compare; `--write` keeps the figures
  purity                check what ken-core reaches and which crate uses which
  tidy                  check the rules on source files that no other tool checks
  validity              hold verdicts on real edits against parsers that fingerprints are not made with
";

/// Exit code for a command line we do not understand, or for a chore that could not run.
const EXIT_UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let repository = Repository::of_this_build();
    let outcome = match args.as_slice() {
        ["bench", "ledger", options @ ..] => bench::ledger(&repository, options),
        ["bench", name, options @ ..] => bench::other(&repository, name, options),
        ["eval", options @ ..] => eval::run(&repository, options),
        ["conformance"] => conformance::write(&repository).map(|()| Vec::new()),
        ["conformance", "--check"] => conformance::check(&repository),
        ["hook-cost", options @ ..] => hook_cost::run(&repository, options),
        ["purity"] => purity::check(&repository),
        ["validity", options @ ..] => validity::run(&repository, options),
        ["tidy"] => tidy::check(&repository),
        _ => Err(USAGE.to_owned()),
    };
    report(outcome)
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores report on the terminal"
)]
fn report(outcome: Result<Vec<Finding>, String>) -> ExitCode {
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
