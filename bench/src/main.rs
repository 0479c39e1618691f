//! Measurements of Ken: `cargo ken-bench <measurement>`.
//!
//! Each prints figures and fails if a figure misses its bar; with `--write` they go into a document
//! of this repository. Nothing that ships depends on this crate. Chores that check files are in
//! `xtask`, which builds without Ken's own crates.

mod eval;
mod hook_cost;
mod packages;
mod speed;
mod validity;

use std::process::ExitCode;

use xtask::repository::{Repository, report};

/// The allocator of `ken`, so that measurements inside this process show what `ken` does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: cargo ken-bench <measurement>

measurements:
  close                 measure `ken run close` in a large workspace
  conversations         measure indexing of transcripts, and `ken search` beside many of them
  eval                  measure the search on lessons whose answers are known
  eval audit            measure `ken audit` on documents of public packages, or with
                        `--repositories DIR` on the clones in a folder
  eval contradictions   measure how many pairs of statements are flagged
  eval corrections      measure how many corrections of people `ken capture` finds
  eval decisions        measure what prompts get of recorded decisions: `--data DIR --ken PATH`
  eval duplicates       measure how well the same claim is told from its opposite
  eval guard            measure the guard on labeled data
  eval unrecorded       measure the search in conversations and commits: `--data DIR`,
                        `--repositories DIR`, `--histories DIR`, `--grid`
  hook                  measure every moment of `ken hook` beside a bare program
  hook-cost --check     count the instructions of two hooks and compare; `--write` keeps the figures
  hub                   measure the hub's store beside bare statements; `--help` lists the options
  ledger                measure rebuild, adds, show and git status; `--help` lists the options
  reflect               measure comparing captured claims with a large ledger
  search                measure `ken search` beside its bare parts and `rg`
  validity              hold verdicts on real edits against parsers that fingerprints are not made with
  verify                measure `ken verify` of a change, and of everything beside parsing
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let repository = Repository::of_this_build();
    report(match args.as_slice() {
        ["eval", options @ ..] => eval::run(&repository, options),
        ["hook-cost", options @ ..] => hook_cost::run(&repository, options),
        ["ledger", options @ ..] => speed::ledger(&repository, options),
        ["validity", options @ ..] => validity::run(&repository, options),
        [
            name @ ("close" | "conversations" | "hook" | "hub" | "reflect" | "search" | "verify"),
            options @ ..,
        ] => speed::other(&repository, name, options),
        _ => Err(USAGE.to_owned()),
    })
}
