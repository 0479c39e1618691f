//! `cargo ken-bench hub`: the hub's store beside bare statements on the same server, and what
//! grows with the number of tenants.
//!
//! The server is begun for the run, with `fsync` and `synchronous_commit` on, and ended with it.
//! Both sides of a ratio are measured in turn. Everything may be interrupted: nothing is kept but
//! what was printed.

mod append;
mod attacks;
mod growth;
mod http;
mod large;
mod rows;
mod search;
mod server;
mod world;

use super::report::{self, Report};
use super::{Bench, Size, fixture::said, in_release, machine};
use world::World;
use xtask::repository::{Finding, Repository};

const SCALE: &str = "docs/scale.md";
/// Part of the attacks' connections and entries in a smaller run.
const QUICK_PART: usize = 8;
const USAGE: &str = "\
usage: cargo ken-bench hub [options]

options:
  --entries N      entries to load; 100,000 unless said
  --workspaces N   workspaces they are in; 1,000 unless said
  --attacks        instead measure what another tenant sees while one attacks; with --entries a
                   part of the connections
  --growth         also load ten times as much, step by step, and measure at each
  --large          only search in one workspace of 1,000, 50,000 and 200,000 entries
  --share N        with --large, load one in N entries
  --write          put the figures into docs/performance.md, and with --growth into docs/scale.md
";

/// How much is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    entries: usize,
    workspaces: usize,
}

impl Sizes {
    const FULL: Self = Self {
        entries: 100_000,
        workspaces: 1_000,
    };
    /// Of the growth to the rest.
    const GROWTH: usize = 10;

    /// Returns the entries of one workspace.
    fn each(self) -> usize {
        (self.entries / self.workspaces).max(1)
    }

    fn entries(self) -> usize {
        self.each() * self.workspaces
    }

    fn grown(self) -> Self {
        Self {
            entries: self.entries * Self::GROWTH,
            workspaces: self.workspaces * Self::GROWTH,
        }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Options {
    sizes: Sizes,
    attacks: bool,
    grows: bool,
    /// One in how many entries is loaded, where only large workspaces are measured.
    large: Option<usize>,
    writes: bool,
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            sizes: Sizes::FULL,
            attacks: false,
            grows: false,
            large: None,
            writes: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = || {
                let number = args.next().and_then(|text| text.parse().ok());
                number.filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned())
            };
            match *arg {
                "--entries" => options.sizes.entries = number()?,
                "--workspaces" => options.sizes.workspaces = number()?,
                "--attacks" => options.attacks = true,
                "--large" => options.large = options.large.or(Some(1)),
                "--share" => options.large = Some(number()?),
                "--growth" => options.grows = true,
                "--write" => options.writes = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        if options.writes && options.sizes != Sizes::FULL {
            return Err("only a run of full size is worth writing down".to_owned());
        }
        Ok(options)
    }
}

/// Measures; a missed bar is a finding, except in a smaller run, which proves nothing.
pub(crate) fn run(repository: &Repository, args: &[&str]) -> Result<Vec<Finding>, String> {
    let options = Options::parse(args)?;
    if let Some(share) = options.large {
        return measure_large(repository, share, options.writes);
    }
    // A smaller run shows that it works, which a debug build shows as well.
    if cfg!(debug_assertions) && options.sizes == Sizes::FULL {
        return in_release(repository, "hub", args).map(|()| Vec::new());
    }
    let size = if options.sizes == Sizes::FULL {
        Size::Full
    } else {
        Size::Quick
    };
    let bench = Bench::new(repository, size)?;
    if options.attacks {
        let part = if size == Size::Full { 1 } else { QUICK_PART };
        let mut report = Report::default();
        attacks::run(part, &mut report)?;
        return bench.tell(repository, "hub-attacks", &report, options.writes);
    }
    let described = machine::described(repository, &bench.cache);
    let runtime = tokio::runtime::Runtime::new().map_err(said("cannot begin a runtime"))?;
    let mut report = Report::default();
    runtime.block_on(throughput(&bench, options.sizes, &mut report))?;
    let findings = bench.tell(repository, "hub", &report, options.writes)?;
    if options.grows {
        let mut report = Report::default();
        let model = runtime.block_on(async {
            let mut world = World::begin().await?;
            let steps = growth::run(&mut world, options.sizes.grown(), &mut report).await?;
            Ok::<_, String>(growth::model(&steps))
        })?;
        let findings = [
            findings,
            bench.tell(repository, "hub-growth", &report, options.writes)?,
        ]
        .concat();
        let section = format!("`cargo ken-bench hub --growth`. {described}\n\n{model}");
        tell_model(repository, &section, options.writes)?;
        return Ok(findings);
    }
    Ok(findings)
}

/// Measures large workspaces only. Not in release: the server does the work, and both sides of
/// each ratio are built alike.
fn measure_large(
    repository: &Repository,
    share: usize,
    writes: bool,
) -> Result<Vec<Finding>, String> {
    let size = if share == 1 { Size::Full } else { Size::Quick };
    let bench = Bench::new(repository, size)?;
    let runtime = tokio::runtime::Runtime::new().map_err(said("cannot begin a runtime"))?;
    let mut report = Report::default();
    runtime.block_on(async {
        let mut world = World::begin().await?;
        large::run(&mut world, large::Share(1.0 / share as f64), &mut report).await
    })?;
    bench.tell(repository, "hub-large", &report, writes)
}

async fn throughput(bench: &Bench, sizes: Sizes, report: &mut Report) -> Result<(), String> {
    let mut world = World::begin().await?;
    let questions = append::batches(&mut world, sizes, report).await?;
    append::singles(&mut world, report).await?;
    search::run(&mut world, &questions, report).await?;
    http::run(bench, &mut world, &questions, report).await
}

fn tell_model(repository: &Repository, section: &str, writes: bool) -> Result<(), String> {
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{section}").map_err(said("cannot print"))?;
    if writes {
        let document = report::with_section(&repository.read(SCALE)?, "hub-scale", section)?;
        repository.write(SCALE, &document)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_full_unless_said_and_only_those_are_written_down() {
        let options = Options::parse(&["--growth", "--write"]).unwrap();
        assert_eq!(
            (options.sizes, options.grows, options.writes),
            (Sizes::FULL, true, true)
        );
        let small = Options::parse(&["--entries", "2000", "--workspaces", "50"]).unwrap();
        assert_eq!(small.sizes.each(), 40);
        for args in [
            &["--entries"][..],
            &["--entries", "0"],
            &["--entries", "9", "--write"],
            &["--quick"],
        ] {
            assert!(Options::parse(args).is_err(), "{args:?}");
        }
    }
}
