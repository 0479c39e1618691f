//! The command `ken-lab`: runs the experiment and writes the results.
//!
//! Files go to the folder given by `--out`: `results.csv`, `differences.csv`, `tuning.csv`,
//! `curves.csv`, `results.json` and plots. The tables of `docs/explanation/lab.md` go to stdout,
//! progress to stderr.

mod plots;
mod tables;

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Parser;
use ken_lab::experiment::{CellResult, TriedSetting, chosen_policies, run_cells, tune};
use ken_lab::grid::{
    CONFIRMATION_SEEDS, NamedCell, TEST_SEEDS, TUNING_SEEDS, cells, chosen, confirmation_cells,
    confirmation_policies, is_contender, open_gate, open_gate_cells, recurrence_cells, shipped,
    shipped_cells, world_cells,
};
use ken_lab::poisoning::poisoning_tables;
use ken_lab::policy::KnowledgePolicy;
use serde::Serialize;

/// Number of seeds of a quick run, for tuning and for results.
const QUICK_SEEDS: (u64, u64) = (2, 4);

/// Marks in a document that enclose the tables.
const MARKS: [&str; 2] = ["<!-- tables: begin -->", "<!-- tables: end -->"];

/// Shows whether knowledge that agents repeat to each other confirms itself.
#[derive(Debug, Parser)]
#[command(name = "ken-lab")]
struct LabArguments {
    /// Folder the files are written to.
    #[arg(long)]
    out: PathBuf,
    /// Document whose tables are replaced, between its two marks.
    #[arg(long)]
    document: Option<PathBuf>,
    /// Looks at the middle cell with a few seeds; its figures are no results.
    #[arg(long)]
    quick: bool,
    /// Decides the default mode of rediscovery, on seeds of its own, instead of the experiment.
    #[arg(long, conflicts_with_all = ["document", "quick", "tune"])]
    confirm: bool,
    /// Runs the experiment on poisoning by other organizations instead.
    #[arg(long, conflicts_with_all = ["quick", "tune", "confirm"])]
    poisoning: bool,
    /// Chooses the settings again instead of using those of the second edition.
    #[arg(long)]
    tune: bool,
}

/// Errors of the experiment command.
#[derive(Debug, thiserror::Error)]
enum LabError {
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has no marks between which tables could stand", path.display())]
    NoMarks { path: PathBuf },
    #[error("cannot plot `{}`: {message}", path.display())]
    Plot { path: PathBuf, message: String },
}

/// Results of the experiment.
#[derive(Debug, Serialize)]
struct ExperimentOutcome {
    tuning: Vec<TriedSetting>,
    cells: Vec<CellResult>,
    recurrence: Vec<CellResult>,
    worlds: Vec<CellResult>,
    /// Ken with default settings, in some of the cells.
    shipped: Vec<CellResult>,
    /// The gate of Ken with every finding as an entry, in some of the cells.
    open_gate: Vec<CellResult>,
}

fn main() -> Result<(), LabError> {
    let arguments = LabArguments::parse();
    if arguments.confirm {
        return confirm_mode(&arguments.out);
    }
    if arguments.poisoning {
        let tables = poisoning_tables();
        create_folder(&arguments.out)?;
        write_file(&arguments.out.join("poisoning.md"), &tables)?;
        return publish_tables(arguments.document.as_deref(), &tables);
    }
    let outcome = run_experiment(arguments.quick, arguments.tune);
    write_all(&arguments.out, &outcome)?;
    publish_tables(arguments.document.as_deref(), &tables::summary(&outcome))
}

/// Writes tables into a document, or to stdout without one.
fn publish_tables(document: Option<&Path>, summary: &str) -> Result<(), LabError> {
    match document {
        Some(path) => replace_tables(path, summary),
        None => {
            print_summary(summary);
            Ok(())
        }
    }
}

/// Runs the confirmation and writes `confirmation.csv`; the tables go to stdout.
fn confirm_mode(out: &Path) -> Result<(), LabError> {
    // Nothing is tuned: the criterion judges the modes as they are shipped.
    let (cells, policies) = (confirmation_cells(), confirmation_policies());
    let results = run_cells(&cells, &policies, CONFIRMATION_SEEDS, &progress);
    create_folder(out)?;
    write_file(
        &out.join("confirmation.csv"),
        &tables::confirmation_csv(&results),
    )?;
    print_summary(&tables::confirmation(&results));
    Ok(())
}

fn run_experiment(is_quick: bool, is_tuned: bool) -> ExperimentOutcome {
    let (few_tuning, few) = QUICK_SEEDS;
    let start = |seeds: std::ops::Range<u64>, count| {
        if is_quick {
            seeds.start..seeds.start + count
        } else {
            seeds
        }
    };
    let (tuning_seeds, seeds) = (start(TUNING_SEEDS, few_tuning), start(TEST_SEEDS, few));
    let (tuning, policies) = if is_tuned {
        let tuning = tune(tuning_seeds, &progress);
        let policies = chosen_policies(&tuning);
        (tuning, policies)
    } else {
        (Vec::new(), chosen())
    };
    let contenders: Vec<KnowledgePolicy> = policies.iter().copied().filter(is_contender).collect();
    let look = |all: Vec<NamedCell>, count| -> Vec<NamedCell> {
        // A quick run covers the first cells only.
        let count = if is_quick { count } else { all.len() };
        all.into_iter().take(count).collect()
    };
    // The middle and the worlds first: they decide most.
    let (middle, others) = look(cells(), 1).split_at_checked(1).map_or_else(
        || (Vec::new(), Vec::new()),
        |(middle, others)| (middle.to_vec(), others.to_vec()),
    );
    let mut first = run_cells(&middle, &policies, seeds.clone(), &progress);
    ExperimentOutcome {
        worlds: run_cells(
            &look(world_cells(), 0),
            &contenders,
            seeds.clone(),
            &progress,
        ),
        shipped: run_cells(
            &look(shipped_cells(), 1),
            &[shipped()],
            seeds.clone(),
            &progress,
        ),
        open_gate: run_cells(
            &look(open_gate_cells(), 0),
            &[open_gate()],
            seeds.clone(),
            &progress,
        ),
        cells: {
            first.extend(run_cells(&others, &policies, seeds.clone(), &progress));
            first
        },
        recurrence: run_cells(&look(recurrence_cells(), 0), &contenders, seeds, &progress),
        tuning,
    }
}

fn write_all(out: &Path, outcome: &ExperimentOutcome) -> Result<(), LabError> {
    create_folder(out)?;
    let json = serde_json::to_string(outcome).expect("plain data");
    for (name, text) in [
        ("results.csv", tables::results_csv(outcome)),
        ("differences.csv", tables::differences_csv(outcome)),
        ("tuning.csv", tables::tuning_csv(outcome)),
        ("curves.csv", tables::curves_csv(outcome)),
        ("results.json", json),
    ] {
        write_file(&out.join(name), &text)?;
    }
    plots::draw(out, outcome)
}

fn create_folder(out: &Path) -> Result<(), LabError> {
    fs::create_dir_all(out).map_err(|source| LabError::Write {
        path: out.to_owned(),
        source,
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text).map_err(|source| LabError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Replaces the tables between the two marks of a document.
fn replace_tables(path: &Path, summary: &str) -> Result<(), LabError> {
    let text = fs::read_to_string(path).map_err(|source| LabError::Read {
        path: path.to_owned(),
        source,
    })?;
    let [begin, end] = MARKS;
    let parts = text.split_once(begin);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| LabError::NoMarks {
        path: path.to_owned(),
    })?;
    let text = format!("{before}{begin}\n\n{}\n\n{end}{after}", summary.trim());
    write_file(path, &text)
}

#[expect(clippy::print_stderr, reason = "progress is talk, not data")]
fn progress(message: &str) {
    eprintln!("{message}");
}

#[expect(clippy::print_stdout, reason = "the tables are what was asked for")]
fn print_summary(text: &str) {
    println!("{text}");
}
