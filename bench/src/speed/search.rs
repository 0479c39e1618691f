//! `ken search` from process start to exit, held against a program that prints a line and against
//! `rg`; and in one process against its bare parts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_core::ledger::store::EntryFilter;
use ken_engine::Engine;
use ken_engine::search::SearchQuery;
use rusqlite::{Connection, OpenFlags};

use super::fixture::{self, Cut, Fixture, said};
use super::instructions::Counted;
use super::measure::{Took, in_children, median, median_took, on_this_thread, run_quietly};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::{Bench, Size};

/// How much longer `ken search` may take, by entries.
const BARS: [(u64, Duration); 2] = [
    (10_000, Duration::from_millis(25)),
    (100_000, Duration::from_millis(60)),
];

/// How much longer a search may take than its bare parts together.
const OF_PARTS_MAX: f64 = 1.5;

/// Components of the built-in model's vectors.
const DIMENSION: usize = 256;

const INDEX: &str = ".ken/.index/knowledge.db";

/// Measures both sizes.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let programs = Programs::build(bench)?;
    let mut report = Report::default();
    for (entries, bar) in BARS {
        let (entries, laps) = match bench.size {
            Size::Full => (entries, 50),
            Size::Quick => (entries / 100, 5),
        };
        let fixture = fixture::ledger(&bench.cache, entries, Cut::Lessons)?;
        let lap = Laps {
            programs: &programs,
            files: files(bench, &fixture)?,
            fixture: &fixture,
            count: laps,
        };
        lap.prepare(&mut report)?;
        lap.outside(bar, &mut report)?;
        lap.inside(&mut report)?;
    }
    report.note(
        "search: lessons of 12 to 50 words out of 30,000, as often as in real text; questions of seven words of a lesson, \
         another one each lap; CPU is the mean of as many runs in a row. `rg -c` looks for the longest word of the \
         question in as many Markdown files.",
    );
    report.note(
        "bare parts: FTS5 alone, `MATCH` of all words but stop words, `ORDER BY rank LIMIT 100`; and one pass over as many \
         vectors in memory.",
    );
    Ok(report)
}

struct Laps<'a> {
    programs: &'a Programs,
    fixture: &'a Fixture,
    /// The same lessons as Markdown files.
    files: PathBuf,
    count: usize,
}

impl Laps<'_> {
    fn query(&self, lap: usize) -> &str {
        let queries = &self.fixture.queries;
        &queries[(lap * 7) % queries.len()]
    }

    fn named(&self, what: &str) -> String {
        format!("search, {} entries: {what}", self.fixture.entries)
    }

    /// The first search after many writes makes words and vectors.
    fn prepare(&self, report: &mut Report) -> Result<(), String> {
        // What an earlier run prepared would be there already.
        let index = self.fixture.root.join(INDEX);
        if index.exists() {
            fs::remove_file(index).map_err(said("cannot remove the index"))?;
        }
        let mut engine = fixture::open(&self.fixture.root)?;
        let (found, took) = on_this_thread(|| search(&mut engine, self.query(0)));
        if found? == 0 {
            return Err("a search for the words of a lesson finds nothing".to_owned());
        }
        report.took(self.named("the first one, which prepares all"), took);
        Ok(())
    }

    fn outside(&self, bar: Duration, report: &mut Report) -> Result<(), String> {
        let line = || run_quietly(&self.programs.print_line, &[], &self.fixture.root);
        let ken = |lap: usize| {
            let args = ["search", self.query(lap)];
            run_quietly(&self.programs.ken, &args, &self.fixture.root)
        };
        let has_rg = run_quietly(Path::new("rg"), &["--version"], &self.files).is_ok();
        // `rg` ends with 1 where nothing matches; every word asked for is in a lesson.
        let rg = |lap: usize| {
            run_quietly(
                Path::new("rg"),
                &["-c", longest(self.query(lap))],
                &self.files,
            )
        };
        let mut walls = [Vec::new(), Vec::new(), Vec::new()];
        for lap in 0..self.count {
            let mut push = |at: usize, run: &dyn Fn() -> Result<(), String>| {
                let (ran, took) = in_children(run);
                walls[at].push(took.wall.as_secs_f64());
                ran
            };
            push(0, &line)?;
            push(1, &|| ken(lap))?;
            if has_rg {
                push(2, &|| rg(lap))?;
            }
        }
        let took = |walls: &[f64], run: &dyn Fn(usize) -> Result<(), String>| {
            let (ran, many) = in_children(|| (0..self.count).try_for_each(run));
            ran?;
            let count = u32::try_from(self.count).unwrap_or(u32::MAX);
            let wall = Duration::from_secs_f64(median(walls));
            Ok::<_, String>(Took {
                wall,
                cpu: many.cpu / count,
            })
        };
        let bare = took(&walls[0], &|_| line())?;
        let searched = took(&walls[1], &ken)?;
        report.took(self.named("a program that prints a line"), bare);
        report.took(self.named("`ken search`"), searched);
        let above = searched.wall.saturating_sub(bare.wall);
        report.push(
            self.named("above the program that prints a line, median"),
            shown(above),
            shown(searched.cpu.saturating_sub(bare.cpu)),
            Verdict::of(above <= bar, format!("<= {}", shown(bar))),
        );
        if has_rg {
            let grepped = took(&walls[2], &rg)?;
            report.took(self.named("`rg -c`"), grepped);
            let ratio = searched.wall.as_secs_f64() / grepped.wall.as_secs_f64();
            let by_cpu = searched.cpu.as_secs_f64() / grepped.cpu.as_secs_f64();
            report.push(
                self.named("`ken search` to `rg -c`"),
                format!("{ratio:.2}"),
                format!("{by_cpu:.2}"),
                Verdict::of(ratio < 1.0, "< 1".to_owned()),
            );
        } else {
            report.note("search: no `rg` here to compare with");
        }
        self.instructions(report);
        Ok(())
    }

    /// Counts the instructions of one search, where valgrind is there to.
    fn instructions(&self, report: &mut Report) {
        let root = &self.fixture.root;
        let ken = instructions(&self.programs.ken, &["search", self.query(1)], root);
        let line = instructions(&self.programs.print_line, &[], root);
        if let (Some(ken), Some(line)) = (ken, line) {
            let millions = |count: u64| format!("{:.1} M", count as f64 / 1e6);
            report.push(
                self.named("instructions, `ken search` and the line"),
                format!("{} and {}", millions(ken), millions(line)),
                "",
                Verdict::Told,
            );
        }
    }

    /// Compares a search in this process with what it cannot do without.
    fn inside(&self, report: &mut Report) -> Result<(), String> {
        let mut engine = fixture::open(&self.fixture.root)?;
        let index = self.fixture.root.join(INDEX);
        let db = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(said("cannot open the index"))?;
        let vectors = vec![7_i8; self.fixture.entries as usize * DIMENSION];
        let (mut searches, mut words, mut scans) = (Vec::new(), Vec::new(), Vec::new());
        for lap in 0..self.count {
            let query = self.query(lap);
            let (found, took) = on_this_thread(|| search(&mut engine, query));
            found?;
            searches.push(took);
            let (found, took) = on_this_thread(|| fts5(&db, query));
            found?;
            words.push(took);
            let ((), took) = on_this_thread(|| scan(&vectors));
            scans.push(took);
        }
        let (whole, words, scan) = (
            median_took(&searches),
            median_took(&words),
            median_took(&scans),
        );
        report.took(self.named("in one process"), whole);
        report.took(self.named("FTS5 alone"), words);
        report.took(self.named("one pass over the vectors alone"), scan);
        let parts = words.wall + scan.wall;
        let ratio = whole.wall.as_secs_f64() / parts.as_secs_f64();
        let by_cpu = whole.cpu.as_secs_f64() / (words.cpu + scan.cpu).as_secs_f64();
        report.push(
            self.named("in one process to its bare parts"),
            format!("{ratio:.2}"),
            format!("{by_cpu:.2}"),
            Verdict::of(ratio <= OF_PARTS_MAX, format!("<= {OF_PARTS_MAX}")),
        );
        Ok(())
    }
}

fn search(engine: &mut Engine, query: &str) -> Result<usize, String> {
    let search = SearchQuery {
        query: query.to_owned(),
        ..SearchQuery::default()
    };
    let answer = engine.search(&search, &mut |_, _| {});
    Ok(answer.map_err(said("cannot search"))?.hits.len())
}

fn fts5(db: &Connection, query: &str) -> Result<usize, String> {
    const STOP: [&str; 4] = ["the", "a", "of", "to"];
    let words = query.split(' ').filter(|word| !STOP.contains(word));
    let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    let sql = "SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank LIMIT 100";
    let count = || {
        let mut statement = db.prepare_cached(sql)?;
        let rows = statement.query_map([words.join(" OR ")], |row| row.get::<_, i64>(0))?;
        Ok::<_, rusqlite::Error>(rows.count())
    };
    count().map_err(said("cannot ask FTS5"))
}

fn scan(vectors: &[i8]) {
    let to = [3_i8; DIMENSION];
    let mut best = i32::MIN;
    for vector in vectors.chunks_exact(DIMENSION) {
        let pairs = vector.iter().zip(&to);
        let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        best = best.max(dot);
    }
    std::hint::black_box(best);
}

fn longest(query: &str) -> &str {
    let words = query.split(' ');
    words.max_by_key(|word| word.len()).unwrap_or(query)
}

/// Returns the instructions a program takes, where valgrind is there to count them.
fn instructions(program: &Path, args: &[&str], folder: &Path) -> Option<u64> {
    let counted = Counted {
        program,
        args,
        folder,
        input: "",
        variables: &[],
    };
    counted.instructions().ok()
}

/// Writes the lessons as Markdown files, unless they are there.
fn files(bench: &Bench, fixture: &Fixture) -> Result<PathBuf, String> {
    let folder = bench.cache.join(format!("files-{}", fixture.entries));
    let done = folder.join("done.txt");
    if done.exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).map_err(said("cannot create a folder"))?;
    let engine = fixture::open(&fixture.root)?;
    let entries = engine
        .list(&EntryFilter::default())
        .map_err(said("cannot list entries"))?;
    for entry in entries {
        let Some(content) = &entry.content else {
            continue;
        };
        let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
        let text = format!(
            "---\nid: {}\ntags: {}\n---\n\n{}\n",
            entry.id,
            tags.join(", "),
            content.statement
        );
        let file = folder.join(format!("{}.md", entry.id));
        fs::write(file, text).map_err(said("cannot write a file"))?;
    }
    fs::write(done, "").map_err(said("cannot write a file"))?;
    Ok(folder)
}
