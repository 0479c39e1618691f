//! How long `git status` takes with many committed segments, and with the same events packed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::fixture::{self, Cut, git, said};
use super::measure::{Took, in_children, median};
use super::report::Report;
use super::{Bench, Size};

/// Events in one segment: what somebody writes between two commits.
const EVENTS_PER_SEGMENT: usize = 20;

/// Measures a repository without ledger, one with segments and one with packs in turn.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let (segments, laps) = match bench.size {
        Size::Full => (2000, 20),
        Size::Quick => (100, 5),
    };
    let events = (segments * EVENTS_PER_SEGMENT) as u64;
    let many = fixture::ledger(&bench.cache, events, Cut::Events(EVENTS_PER_SEGMENT))?;
    let folder = many.root.with_file_name("status");
    let (packed, without) = (folder.join("packed"), folder.join("without"));
    if !folder.join("done").exists() {
        prepare(&folder, &many.root)?;
    }
    let roots = [without.as_path(), &many.root, &packed];
    let mut walls = [const { Vec::new() }; 3];
    for _ in 0..laps {
        for (root, walls) in roots.iter().zip(&mut walls) {
            let (ran, took) = in_children(|| status(root));
            ran?;
            walls.push(took.wall.as_secs_f64());
        }
    }
    let packs = files(&packed)?;
    let names = [
        "status: `git status` without a ledger".to_owned(),
        format!("status: `git status`, {} segments", files(&many.root)?),
        format!("status: `git status`, the same in {packs} packs"),
    ];
    let mut report = Report::default();
    for ((name, root), walls) in names.into_iter().zip(roots).zip(&walls) {
        let (ran, many) = in_children(|| (0..laps).try_for_each(|_| status(root)));
        ran?;
        let took = Took {
            wall: Duration::from_secs_f64(median(walls)),
            cpu: many.cpu / laps,
        };
        report.took(name, took);
    }
    report.note(format!(
        "status: {events} events, everything committed, no entry files; median of {laps} runs in turn. \
         `ken doctor` advises packing above 2000 segments."
    ));
    Ok(report)
}

/// Commits the segments, and makes the other two repositories.
fn prepare(folder: &Path, many: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(said("cannot remove half a repository"))?;
    }
    let without = folder.join("without");
    fs::create_dir_all(&without).map_err(said("cannot create a folder"))?;
    git(&without, &["init", "--quiet"])?;
    git(many, &["add", "--all"])?;
    git(
        many,
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "segments",
        ],
    )?;
    let from = many.display().to_string();
    git(folder, &["clone", "--quiet", &from, "packed"])?;
    let packed = folder.join("packed");
    for (key, value) in [("user.name", "bench"), ("user.email", "bench@example.org")] {
        git(&packed, &["config", key, value])?;
    }
    let replaced = fixture::open(&packed)?
        .pack()
        .map_err(said("cannot pack"))?;
    if !replaced.committed || replaced.removed.is_empty() {
        return Err("packing did not replace the segments".to_owned());
    }
    fs::write(folder.join("done"), "").map_err(said("cannot write a mark"))
}

fn status(root: &Path) -> Result<(), String> {
    git(root, &["status", "--porcelain"])
}

/// Counts segments and packs.
fn files(root: &Path) -> Result<usize, String> {
    let place = ken_ledger::LedgerLocation::plain(root);
    let ledger = ken_ledger::Ledger::open(&place).map_err(said("cannot open a ledger"))?;
    Ok(ledger.list().map_err(said("cannot list segments"))?.len())
}
