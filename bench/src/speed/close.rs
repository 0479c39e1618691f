//! What closing a run costs in a large workspace.

use std::path::Path;
use std::time::Duration;

use ken_core::trust::run::{ExposureChannel, RunFinding, RunMember, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_engine::Engine;
use ken_engine::runs::{EntryReader, OpenRunRequest};

use super::fixture::{self, Cut, Fixture, said};
use super::measure::{Took, in_children, run_quietly};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::story::actor;
use super::{Bench, Size};

/// The most processor time closing a run may take.
const CPU_MAX: Duration = Duration::from_millis(50);

/// Entries the run showed, and of those the ones it used.
const TOUCHED: usize = 200;
const USED: usize = 20;

/// What its agents found; some of it is in the ledger, some is new.
const FINDINGS: usize = 3;

/// Measures the program from its start to its end.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let programs = Programs::build(bench)?;
    let (entries, laps) = match bench.size {
        Size::Full => (100_000, 20),
        Size::Quick => (1_000, 3),
    };
    let fixture = fixture::ledger(&bench.cache, entries, Cut::Lessons)?;
    let mut report = Report::default();
    for (what, findings) in [("nothing found", 0), ("three findings", FINDINGS)] {
        let runs = prepare(&fixture, what, laps, findings)?;
        let (closed, took) = in_children(|| {
            let mut runs = runs.iter();
            runs.try_for_each(|run| close(&programs.ken, &fixture.root, run))
        });
        closed?;
        let count = u32::try_from(laps).unwrap_or(u32::MAX);
        let each = Took {
            wall: took.wall / count,
            cpu: took.cpu / count,
        };
        report.took(format!("close: `ken run close`, {what}"), each);
        let verdict = Verdict::of(each.cpu <= CPU_MAX, format!("<= {}", shown(CPU_MAX)));
        let name = format!("close: processor time, {what}");
        report.push(name, "–", shown(each.cpu), verdict);
    }
    let (ran, line) = in_children(|| {
        let mut laps = 0..laps;
        laps.try_for_each(|_| run_quietly(&programs.print_line, &[], &fixture.root))
    });
    ran?;
    let count = u32::try_from(laps).unwrap_or(u32::MAX);
    report.took(
        "close: a program that prints a line",
        Took {
            wall: line.wall / count,
            cpu: line.cpu / count,
        },
    );
    report.note(format!(
        "close: {entries} entries; each run showed {TOUCHED} and used {USED} of them; mean of {laps} runs closed one after another.",
    ));
    Ok(report)
}

/// Opens runs and lets their agent see, use and find things; returns their names.
fn prepare(
    fixture: &Fixture,
    what: &str,
    laps: usize,
    findings: usize,
) -> Result<Vec<String>, String> {
    let mut engine = fixture::open(&fixture.root)?;
    let ids: Vec<EntryId> = fixture
        .ids
        .iter()
        .filter_map(|id| id.parse().ok())
        .collect();
    let mut names = Vec::with_capacity(laps);
    for lap in 0..laps {
        let name = format!("bench-{}-{lap}", what.replace(' ', "-"));
        let shown: Vec<EntryId> = (0..TOUCHED)
            .map(|n| ids[(lap * 37 + n) % ids.len()])
            .collect();
        let work = Work {
            reader: EntryReader {
                agent: actor("agent:bench"),
                run: Some(name.clone()),
                session: None,
            },
            shown: &shown,
            findings: findings_of(&engine, fixture, lap, findings)?,
        };
        work.note(&mut engine, &name)
            .map_err(said("cannot write notes"))?;
        names.push(name);
    }
    Ok(names)
}

struct Work<'a> {
    reader: EntryReader,
    shown: &'a [EntryId],
    findings: Vec<RunFinding>,
}

impl Work<'_> {
    fn note(self, engine: &mut Engine, name: &str) -> Result<(), ken_engine::EngineError> {
        let lead: Actor = actor("human:bench");
        let wish = OpenRunRequest {
            id: Some(name.to_owned()),
            agents: vec![(self.reader.agent.clone(), RunMember::default())],
            witness: RunWitness::Orchestrator,
            ..OpenRunRequest::default()
        };
        engine.open_run(wish, &lead)?;
        engine.record_exposures(&self.reader, self.shown, ExposureChannel::Pull)?;
        let used = RunNote::Used {
            agent: self.reader.agent.clone(),
            entries: self.shown[..USED].to_vec(),
        };
        engine.record_note(name, used, &lead)?;
        for finding in self.findings {
            engine.observe(&self.reader, finding)?;
        }
        Ok(())
    }
}

/// Returns findings that say what entries say, and the last one something new.
fn findings_of(
    engine: &Engine,
    fixture: &Fixture,
    lap: usize,
    count: usize,
) -> Result<Vec<RunFinding>, String> {
    let mut findings = Vec::new();
    for number in 0..count {
        let id = &fixture.ids[(lap * 101 + number * 13) % fixture.ids.len()];
        let entry = engine.find(id).map_err(said("cannot find an entry"))?;
        let known = entry.content.map(|it| it.statement.to_string());
        let new = format!("Nobody has said in lap {lap} that the moon is made of number {number}");
        let text = known.filter(|_| number + 1 < count).unwrap_or(new);
        findings.push(RunFinding {
            statement: text.parse().map_err(said("cannot word a finding"))?,
            anchors: Vec::new(),
            verify: Vec::new(),
            severity_milli: 0,
            confidence_milli: 0,
            dismissed: false,
        });
    }
    Ok(findings)
}

fn close(ken: &Path, root: &Path, run: &str) -> Result<(), String> {
    run_quietly(ken, &["run", "close", run, "--outcome", "succeeded"], root)
}
