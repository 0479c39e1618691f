//! Durable adds, held against bare writes and fsyncs of the same lines.
//!
//! Three sides take turns on one disk: the engine adds entries; a bare file takes the same lines,
//! each written and synced; a ledger without engine and index takes the same events through
//! directories that count their syncs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ken_core::decide::Proposal;
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use ken_engine::Engine;
use ken_engine::runtime::{Runtime as _, SystemRuntime};
use ken_ledger::git::RealGit;
use ken_ledger::layout::{GIT_STATE_DIR, KEN_DIR};
use ken_ledger::{Dir, GitDirs, GitEnv, Ledger, LedgerParts, RealDir, discover};

use super::counting::{Count, CountingDir, Syncs};
use super::fixture::{self, Cut, said};
use super::measure::{Took, median, on_this_thread};
use super::report::{Report, Verdict, ratio_of_rates};
use super::story::{self, Dice};
use super::{Bench, Size};

/// The adds' rate as a part of the bare writes'.
const RATIO_MIN: f64 = 0.5;
/// Adds in one turn of a side, and entries in one batch.
const PER_ROUND: usize = 100;
/// Adds that `strace` looks at.
const TRACED: usize = 50;

/// The three sides in one folder.
struct Sides {
    dice: Dice,
    by: Actor,
    engine: Engine,
    bare: File,
    ledger: Ledger,
    syncs: Arc<Syncs>,
}

/// What one side did in all its turns.
#[derive(Default)]
struct Totals {
    engine: Took,
    bare: Took,
    ledger: Took,
    /// Rate of the engine as a part of the bare file's, turn by turn.
    ratios: Vec<f64>,
    bytes: usize,
    first: Count,
    rest: Count,
}

/// Measures single adds and batches, first into an empty ledger, then into a large one.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let rounds = match bench.size {
        Size::Full => 10,
        Size::Quick => 2,
    };
    let folder = tempfile::tempdir_in(&bench.cache).map_err(said("cannot create a folder"))?;
    let mut report = Report::default();
    let mut sides = Sides::new(folder.path())?;
    report_singles(&mut report, rounds, &sides.singles(rounds)?);
    report_batches(&mut report, rounds, &sides.batches(rounds)?);
    drop(sides);
    if let Some(note) = traced(folder.path()) {
        report.note(note);
    }
    into_large(bench, &mut report)?;
    Ok(report)
}

fn report_singles(report: &mut Report, rounds: usize, totals: &Totals) {
    let count = (rounds * PER_ROUND) as u64;
    report.rate(
        "adds: bare write and fsync of each line",
        count,
        totals.bare,
        "lines",
    );
    report.rate(
        "adds: Ledger::append of each event",
        count,
        totals.ledger,
        "events",
    );
    report.rate(
        "adds: Engine::add, one at a time",
        count,
        totals.engine,
        "adds",
    );
    let ratio = totals.bare.wall.as_secs_f64() / totals.engine.wall.as_secs_f64();
    let cpu = ratio_of_rates(totals.engine.cpu, totals.bare.cpu);
    let what = "adds: rate, adds to bare writes";
    report.push(
        what,
        format!("{ratio:.2}"),
        cpu,
        Verdict::at_least(ratio, RATIO_MIN),
    );
    let (least, most) = totals
        .ratios
        .iter()
        .fold((f64::MAX, 0.0_f64), |(least, most), ratio| {
            (least.min(*ratio), most.max(*ratio))
        });
    report.note(format!(
        "adds: {count} lines of {} bytes in {rounds} turns; the ratio was {:.2} in the median turn, {least:.2} in the \
         worst, {most:.2} in the best. The bare side needs one fsync a line.",
        totals.bytes as u64 / count,
        median(&totals.ratios),
    ));
    report.note(format!(
        "adds: syncs of the ledger's first event: {}; of the next {}: {}. An add needs one: its record in the \
         journal, after which it cannot be lost; the segment is written without waiting because the journal can \
         mend it, and index and views can be made again. Folders, `node` and `open.json` are synced when a journal \
         file or segment is begun.",
        totals.first,
        count - 1,
        totals.rest,
    ));
}

fn report_batches(report: &mut Report, rounds: usize, totals: &Totals) {
    let count = (rounds * PER_ROUND) as u64;
    report.rate(
        "adds: bare writes, one fsync for 100 lines",
        count,
        totals.bare,
        "lines",
    );
    report.rate(
        "adds: Engine::add_many, batches of 100",
        count,
        totals.engine,
        "adds",
    );
    report.push(
        "adds: rate, batches to bare batches",
        ratio_of_rates(totals.engine.wall, totals.bare.wall),
        ratio_of_rates(totals.engine.cpu, totals.bare.cpu),
        Verdict::Told,
    );
}

impl Sides {
    fn new(folder: &Path) -> Result<Self, String> {
        let (engine_root, ledger_root) = (folder.join("engine"), folder.join("ledger"));
        fixture::repository(&engine_root)?;
        fixture::repository(&ledger_root)?;
        let syncs = Arc::new(Syncs::default());
        Ok(Self {
            dice: Dice::new(7),
            by: story::actor("agent:bench"),
            engine: fixture::open(&engine_root)?,
            bare: File::create_new(folder.join("bare.jsonl")).map_err(said("cannot create"))?,
            ledger: counted_ledger(&ledger_root, &syncs)?,
            syncs,
        })
    }

    fn singles(&mut self, rounds: usize) -> Result<Totals, String> {
        let mut totals = Totals::default();
        let before = self.syncs.count();
        for round in 0..rounds {
            let proposals = self.proposals();
            let (ids, engine) = on_this_thread(|| add_each(&mut self.engine, proposals, &self.by));
            let events = self.recorded(&ids?)?;
            let (written, bare) = on_this_thread(|| write_each(&mut self.bare, &events));
            written.map_err(said("cannot write a bare line"))?;
            let now = SystemRuntime.now();
            for (number, event) in events.iter().enumerate() {
                let (appended, took) = on_this_thread(|| append(&self.ledger, event, now));
                appended?;
                totals.ledger += took;
                if round == 0 && number == 0 {
                    totals.first = self.syncs.count().since(before);
                }
            }
            totals.take(engine, bare, &events);
        }
        totals.rest = self.syncs.count().since(before).since(totals.first);
        Ok(totals)
    }

    fn batches(&mut self, rounds: usize) -> Result<Totals, String> {
        let mut totals = Totals::default();
        for _ in 0..rounds {
            let proposals = self.proposals();
            let (ids, engine) = on_this_thread(|| self.engine.add_many(proposals, &self.by));
            let events = self.recorded(&ids.map_err(said("cannot add a batch"))?)?;
            let bytes: Vec<u8> = events.iter().flat_map(line_bytes).collect();
            let (written, bare) = on_this_thread(|| {
                self.bare.write_all(&bytes)?;
                self.bare.sync_data()
            });
            written.map_err(said("cannot write a bare batch"))?;
            totals.take(engine, bare, &events);
        }
        Ok(totals)
    }

    fn proposals(&mut self) -> Vec<Proposal> {
        proposals(&mut self.dice, &self.by, PER_ROUND)
    }

    /// Returns the events that created `ids`.
    fn recorded(&self, ids: &[EntryId]) -> Result<Vec<RecordedEvent>, String> {
        let mut events = Vec::with_capacity(ids.len());
        for id in ids {
            events.extend(self.engine.history(*id).map_err(said("cannot read back"))?);
        }
        Ok(events)
    }
}

impl Totals {
    fn take(&mut self, engine: Took, bare: Took, events: &[RecordedEvent]) {
        self.engine += engine;
        self.bare += bare;
        self.ratios
            .push(bare.wall.as_secs_f64() / engine.wall.as_secs_f64());
        self.bytes += events
            .iter()
            .map(|event| event.line().len() + 1)
            .sum::<usize>();
    }
}

fn proposals(dice: &mut Dice, by: &Actor, count: usize) -> Vec<Proposal> {
    let now = SystemRuntime.now();
    (0..count).map(|_| story::proposal(dice, by, now)).collect()
}

fn add_each(
    engine: &mut Engine,
    proposals: Vec<Proposal>,
    by: &Actor,
) -> Result<Vec<EntryId>, String> {
    let mut ids = Vec::with_capacity(proposals.len());
    for proposal in proposals {
        ids.push(engine.add(proposal, by).map_err(said("cannot add"))?.id);
    }
    Ok(ids)
}

fn write_each(file: &mut File, events: &[RecordedEvent]) -> std::io::Result<()> {
    for event in events {
        file.write_all(&line_bytes(event))?;
        file.sync_data()?;
    }
    Ok(())
}

fn line_bytes(event: &RecordedEvent) -> Vec<u8> {
    [event.line().as_bytes(), b"\n"].concat()
}

fn append(ledger: &Ledger, event: &RecordedEvent, now: Timestamp) -> Result<(), String> {
    let appended = ledger.append(std::slice::from_ref(event), now, &mut SystemRuntime);
    appended.map(|_| ()).map_err(said("cannot append"))
}

/// Opens a ledger as [`Ledger::open`] does, over directories that count.
fn counted_ledger(root: &Path, syncs: &Arc<Syncs>) -> Result<Ledger, String> {
    let counting = |at: &Path, prefix: &str| -> Result<Arc<dyn Dir>, String> {
        let dir = RealDir::below(at, prefix).map_err(said("cannot open a folder"))?;
        let syncs = Arc::clone(syncs);
        Ok(Arc::new(CountingDir { dir, syncs }))
    };
    let place = discover(root, &GitEnv::default()).map_err(said("cannot find the ledger"))?;
    let dirs: GitDirs = place
        .and_then(|place| place.git)
        .ok_or_else(|| "the ledger is in no repository".to_owned())?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    Ok(Ledger::with_parts(LedgerParts {
        ken: counting(root, KEN_DIR)?,
        local: counting(&dirs.common_dir, GIT_STATE_DIR)?,
        worktree: counting(&dirs.git_dir, GIT_STATE_DIR)?,
        git: Some(Arc::new(RealGit::new(root, &dirs))),
        boot: boot.map(|text| text.trim().to_owned()),
    }))
}

/// Adds to the ledger the rebuild is measured on: what an add costs beside 100,000 others.
fn into_large(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let events = match bench.size {
        Size::Full => 1_000_000,
        Size::Quick => 20_000,
    };
    let large = fixture::ledger(&bench.cache, events, Cut::Full)?;
    let by = story::actor("agent:bench");
    let mut dice = Dice::new(8);
    // The first writing command after a rebuild renders every view, which belongs to the rebuild.
    add_each(
        &mut fixture::open(&large.root)?,
        proposals(&mut dice, &by, 1),
        &by,
    )?;
    let mut engine = fixture::open(&large.root)?;
    let one = proposals(&mut dice, &by, 1);
    let (added, first) = on_this_thread(|| add_each(&mut engine, one, &by));
    added?;
    let rest = proposals(&mut dice, &by, PER_ROUND);
    let (added, took) = on_this_thread(|| add_each(&mut engine, rest, &by));
    added?;
    let entries = large.entries;
    report.took(
        format!("adds: first of a process, beside {entries} entries"),
        first,
    );
    let what = format!("adds: Engine::add, beside {entries} entries");
    report.rate(what, PER_ROUND as u64, took, "adds");
    Ok(())
}

/// Counts the syncs of a whole process that adds, where `strace` is there to count them.
fn traced(folder: &Path) -> Option<String> {
    let root = folder.join("traced");
    fixture::repository(&root).ok()?;
    let program = std::env::current_exe().ok()?;
    let log = folder.join("strace.txt");
    let status = Command::new("strace")
        .args([
            "-f",
            "-e",
            "trace=fsync,fdatasync,sync_file_range,msync,syncfs",
            "-o",
        ])
        .arg(&log)
        .arg(program)
        .args(["ledger", "--child", "adds"])
        .arg(&root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    if !status.success() {
        return None;
    }
    let log = fs::read_to_string(log).ok()?;
    let syncs = log.lines().filter(|line| line.contains("sync(")).count();
    Some(format!(
        "adds: `strace` sees {syncs} syncs in a process that makes {TRACED} adds into a new repository, views and \
         index included."
    ))
}

/// What the process that `strace` looks at does.
pub(crate) fn child(root: &Path) -> Result<(), String> {
    let mut dice = Dice::new(9);
    let by = story::actor("agent:bench");
    let proposals = proposals(&mut dice, &by, TRACED);
    add_each(&mut fixture::open(root)?, proposals, &by).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_needs_one_sync_once_a_segment_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let totals = Sides::new(folder.path()).unwrap().singles(1).unwrap();
        let each = (PER_ROUND - 1) as u64;
        // Norms have a segment of their own, which is begun by the first of them.
        assert!(
            (each..each + 4).contains(&totals.rest.files),
            "{}",
            totals.rest
        );
        assert!(totals.rest.folders < 4, "{}", totals.rest);
    }
}
