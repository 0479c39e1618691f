//! Usage counters on this machine: one line per answer, one file per day, below
//! `.ken/.local/usage`.
//!
//! The files contain only numbers: no query, entry or name. Lines are appended without a sync, and
//! write errors are ignored, because counters must not fail an answer. The size of a file and the
//! number of days are limited; a full day is reported.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use ken_core::retrieval::surface::EntrySelection;
use ken_core::values::time::Date;
use ken_ledger::{Dir, DiskError};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::search::SearchOutcome;

/// Directory of the files, below `.ken`.
const USAGE_DIR: &str = ".local/usage";

/// Maximum bytes of a day's file, about ten thousand answers.
const DAY_BYTES_MAX: u64 = 256 << 10;

/// Number of days kept.
pub const DAYS_MAX: u32 = 400;

/// Interface a query came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageSurface {
    #[default]
    Cli,
    Mcp,
    Hook,
    /// The web pages of `ken ui`.
    Ui,
}

/// Kind of query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    Search,
    Brief,
}

/// Numbers of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerUsage {
    pub kind: QueryKind,
    /// Number of relevant entries.
    pub hits: usize,
    /// Number of entries shown.
    pub shown: usize,
    /// Number of relevant entries withheld because the code contradicts them or approval is
    /// missing.
    pub withheld: usize,
    /// Tokens of the entries shown.
    pub tokens: usize,
    /// Tokens of all relevant entries in full length.
    pub full_tokens: usize,
}

/// Sums over answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageCounts {
    pub searches: u64,
    pub briefs: u64,
    /// Number of searches and briefings that showed nothing.
    pub empty: u64,
    pub hits: u64,
    pub shown: u64,
    pub withheld: u64,
    pub tokens_shown: u64,
    /// Tokens saved compared to showing relevant entries in full: by cap, tiers and summaries.
    pub tokens_not_shown: u64,
}

/// Counters of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageDay {
    pub date: Date,
    pub by_surface: BTreeMap<UsageSurface, UsageCounts>,
    /// True if the file is full, so that the counters are incomplete.
    pub is_full: bool,
}

impl UsageSurface {
    /// Every interface.
    pub const ALL: [Self; 4] = [Self::Cli, Self::Mcp, Self::Hook, Self::Ui];

    /// Returns the name used in the files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
            Self::Ui => "ui",
        }
    }
}

impl UsageCounts {
    /// Returns the number of queries.
    pub fn queries(&self) -> u64 {
        self.searches + self.briefs
    }
}

impl AddAssign for UsageCounts {
    fn add_assign(&mut self, other: Self) {
        self.searches += other.searches;
        self.briefs += other.briefs;
        self.empty += other.empty;
        self.hits += other.hits;
        self.shown += other.shown;
        self.withheld += other.withheld;
        self.tokens_shown += other.tokens_shown;
        self.tokens_not_shown += other.tokens_not_shown;
    }
}

impl AnswerUsage {
    /// Computes the numbers of an answer shown on `pages`.
    pub fn from_answer(kind: QueryKind, answer: &SearchOutcome, pages: &[&EntrySelection]) -> Self {
        let shown = || pages.iter().flat_map(|page| &page.shown);
        let found = shown().filter(|it| answer.hit(it.id).is_some()).count();
        // Norms and global entries are always shown in full: they save no tokens.
        let others = shown().filter(|it| answer.hit(it.id).is_none());
        let other_tokens: usize = others.map(|it| it.tokens).sum();
        let in_full = if answer.hits.is_empty() {
            0
        } else {
            answer.full_token_count()
        };
        Self {
            kind,
            hits: answer.hits.len() + shown().count() - found,
            shown: shown().count(),
            withheld: answer.withheld.len(),
            tokens: pages.iter().map(|page| page.tokens).sum(),
            full_tokens: in_full + other_tokens,
        }
    }

    /// Formats the numbers as a line.
    fn to_line(self, surface: UsageSurface) -> String {
        let asked = match self.kind {
            QueryKind::Search => "search",
            QueryKind::Brief => "brief",
        };
        let Self {
            hits,
            shown,
            withheld,
            tokens,
            full_tokens: whole,
            ..
        } = self;
        format!(
            "{} {asked} {hits} {shown} {withheld} {tokens} {whole}\n",
            surface.name()
        )
    }
}

/// Counts an answer. Errors are ignored, because the answer is valid without it.
pub(crate) fn count_answer(engine: &Engine, surface: UsageSurface, answered: AnswerUsage) {
    let _ = append_usage(engine, &answered.to_line(surface));
}

/// Appends a line to today's file.
fn append_usage(engine: &Engine, line: &str) -> Result<(), EngineError> {
    let dir = &*engine.ken;
    let path = format!("{USAGE_DIR}/{}.txt", engine.now().date());
    let on = || DiskError::on("write", &path);
    match dir.stat(&path).map_err(on())? {
        Some(stat) if stat.len >= DAY_BYTES_MAX => Ok(()),
        Some(_) => Ok(dir.append(&path, line.as_bytes()).map_err(on())?),
        None => {
            dir.create_dirs(".local").map_err(on())?;
            dir.create_dirs(USAGE_DIR).map_err(on())?;
            // Once per day is enough, and the first answer of a day gets here.
            delete_old_usage(engine, dir)?;
            // Another process may have created the file in the meantime.
            match dir.create_new(&path, line.as_bytes()) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    Ok(dir.append(&path, line.as_bytes()).map_err(on())?)
                }
                created => Ok(created.map_err(on())?),
            }
        }
    }
}

/// Deletes files older than the number of days kept.
fn delete_old_usage(engine: &Engine, dir: &dyn Dir) -> Result<(), EngineError> {
    let oldest = engine.now().date().minus_days(DAYS_MAX);
    let names = dir
        .list(USAGE_DIR)
        .map_err(DiskError::on("list", USAGE_DIR))?;
    for (name, _) in names {
        if parse_file_date(&name).is_some_and(|date| date < oldest) {
            let path = format!("{USAGE_DIR}/{name}");
            dir.remove(&path).map_err(DiskError::on("remove", &path))?;
        }
    }
    Ok(())
}

/// Returns the counters since a date, oldest day first, without days that have none.
pub(crate) fn usage_since(engine: &Engine, since: Date) -> Result<Vec<UsageDay>, EngineError> {
    let dir = &*engine.ken;
    let names = dir
        .list(USAGE_DIR)
        .map_err(DiskError::on("list", USAGE_DIR))?;
    let mut days = Vec::new();
    for (name, stat) in names {
        let Some(date) = parse_file_date(&name).filter(|date| since <= *date) else {
            continue;
        };
        let path = format!("{USAGE_DIR}/{name}");
        let bytes = dir.read(&path).map_err(DiskError::on("read", &path))?;
        let mut day = UsageDay {
            date,
            by_surface: BTreeMap::new(),
            is_full: stat.len >= DAY_BYTES_MAX,
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            // Torn lines and lines of newer versions are skipped.
            if let Some((surface, counts)) = parse_line(line) {
                *day.by_surface.entry(surface).or_default() += counts;
            }
        }
        days.push(day);
    }
    days.sort_by_key(|day| day.date);
    Ok(days)
}

/// Parses the date in a file name.
fn parse_file_date(name: &str) -> Option<Date> {
    name.strip_suffix(".txt")?.parse().ok()
}

/// Parses a line.
fn parse_line(line: &str) -> Option<(UsageSurface, UsageCounts)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let surface = UsageSurface::ALL.into_iter().find(|it| it.name() == name)?;
    let asked = words.next()?;
    let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    // More or fewer numbers mean a torn line or another version.
    let [hits, shown, withheld, tokens, whole] = numbers?.try_into().ok()?;
    let (searches, briefs) = match asked {
        "search" => (1, 0),
        "brief" => (0, 1),
        _ => return None,
    };
    let counts = UsageCounts {
        searches,
        briefs,
        empty: u64::from(shown == 0),
        hits,
        shown,
        withheld,
        tokens_shown: tokens,
        tokens_not_shown: whole.saturating_sub(tokens),
    };
    Some((surface, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_it_was_counted() {
        let answered = AnswerUsage {
            kind: QueryKind::Search,
            hits: 7,
            shown: 5,
            withheld: 1,
            tokens: 300,
            full_tokens: 900,
        };
        let line = answered.to_line(UsageSurface::Hook);
        assert_eq!(line, "hook search 7 5 1 300 900\n");
        let (surface, counts) = parse_line(line.trim_end()).unwrap();
        assert_eq!(
            (surface, counts.queries(), counts.tokens_not_shown),
            (UsageSurface::Hook, 1, 600)
        );
    }

    #[test]
    fn lines_nobody_wrote_say_nothing() {
        for line in [
            "",
            "cli",
            "cli search",
            "cli search 1 2 3 4",
            "cli search 1 2 3 4 5 6",
            "cli search 1 -2 3 4 5",
            "web search 1 2 3 4 5",
            "cli stroll 1 2 3 4 5",
            "cli search 1 2 3 4 99999999999999999999",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}
