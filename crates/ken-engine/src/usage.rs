//! How much was asked on this machine: one short line an answer, one file a day, below `.ken/.local/usage`.
//!
//! Numbers only: no question, no entry, no name. A line is appended without waiting for the disk, and where it cannot be
//! written the answer is worth no less. A day's file and the number of days are bounded; what did not fit is told.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use ken_core::surface::Page;
use ken_core::time::Date;
use ken_ledger::{Dir, DiskError};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::search::Answer;

/// Where the files lie, below `.ken`.
const FOLDER: &str = ".local/usage";

/// Bytes of a day's file; some ten thousand answers.
const DAY_BYTES_MAX: u64 = 256 << 10;

/// Days that are kept.
pub const DAYS_MAX: u32 = 400;

/// Through what somebody asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    #[default]
    Cli,
    Mcp,
    Hook,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Search,
    Brief,
}

/// One answer, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    pub asked: Asked,
    /// Entries that were relevant.
    pub hits: usize,
    /// Those that were shown.
    pub shown: usize,
    /// Those that were relevant and kept back, because the code contradicts them or nobody approved them.
    pub withheld: usize,
    /// Tokens of what was shown.
    pub tokens: usize,
    /// Tokens that all relevant entries would have taken in full.
    pub whole: usize,
}

/// Answers, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub searches: u64,
    pub briefs: u64,
    /// Of both, those that showed nothing.
    pub empty: u64,
    pub hits: u64,
    pub shown: u64,
    pub withheld: u64,
    pub tokens_shown: u64,
    /// Tokens that relevant entries would have taken in full and did not: by the cap, the tiers, one-liners.
    pub tokens_not_shown: u64,
}

/// One day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    pub date: Date,
    pub by: BTreeMap<Surface, Counts>,
    /// Whether there was more than a day's file holds.
    pub is_full: bool,
}

impl Surface {
    /// Every surface.
    pub const ALL: [Self; 3] = [Self::Cli, Self::Mcp, Self::Hook];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
        }
    }
}

impl Counts {
    /// Returns how often anything was asked.
    pub fn asked(&self) -> u64 {
        self.searches + self.briefs
    }
}

impl AddAssign for Counts {
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

impl Answered {
    /// Returns the numbers of an answer that was shown on `pages`.
    pub fn of(asked: Asked, answer: &Answer, pages: &[&Page]) -> Self {
        let shown = || pages.iter().flat_map(|page| &page.shown);
        let found = shown().filter(|it| answer.hit(it.id).is_some()).count();
        // Norms and what the global ledger adds are shown as they are: nothing of them is spared.
        let others = shown().filter(|it| answer.hit(it.id).is_none());
        let others: usize = others.map(|it| it.tokens).sum();
        let in_full = match answer.hits.is_empty() {
            true => 0,
            false => answer.whole_tokens(),
        };
        Self {
            asked,
            hits: answer.hits.len() + shown().count() - found,
            shown: shown().count(),
            withheld: answer.withheld.len(),
            tokens: pages.iter().map(|page| page.tokens).sum(),
            whole: in_full + others,
        }
    }

    fn line(self, surface: Surface) -> String {
        let asked = match self.asked {
            Asked::Search => "search",
            Asked::Brief => "brief",
        };
        let Self {
            hits,
            shown,
            withheld,
            tokens,
            whole,
            ..
        } = self;
        format!(
            "{} {asked} {hits} {shown} {withheld} {tokens} {whole}\n",
            surface.name()
        )
    }
}

impl Engine {
    /// Counts an answer. Where that fails, nobody is told: the answer is worth no less.
    pub fn count(&self, surface: Surface, answered: Answered) {
        let _ = self.append_use(&answered.line(surface));
    }

    fn append_use(&self, line: &str) -> Result<(), Error> {
        let dir = &*self.ken;
        let path = format!("{FOLDER}/{}.txt", self.now().date());
        let on = || DiskError::on("write", &path);
        match dir.stat(&path).map_err(on())? {
            Some(stat) if DAY_BYTES_MAX <= stat.len => Ok(()),
            Some(_) => Ok(dir.append(&path, line.as_bytes()).map_err(on())?),
            None => {
                dir.create_dirs(".local").map_err(on())?;
                dir.create_dirs(FOLDER).map_err(on())?;
                self.forget_old_use(dir)?;
                // Somebody else may have begun the day meanwhile.
                match dir.create_new(&path, line.as_bytes()) {
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                        Ok(dir.append(&path, line.as_bytes()).map_err(on())?)
                    }
                    created => Ok(created.map_err(on())?),
                }
            }
        }
    }

    fn forget_old_use(&self, dir: &dyn Dir) -> Result<(), Error> {
        let oldest = self.now().date().minus_days(DAYS_MAX);
        let names = dir.list(FOLDER).map_err(DiskError::on("list", FOLDER))?;
        for (name, _) in names {
            if date_of(&name).is_some_and(|date| date < oldest) {
                let path = format!("{FOLDER}/{name}");
                dir.remove(&path).map_err(DiskError::on("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Returns what was counted from `since` on, the oldest day first; days nobody asked on are left out.
    pub fn usage(&self, since: Date) -> Result<Vec<Day>, Error> {
        let dir = &*self.ken;
        let names = dir.list(FOLDER).map_err(DiskError::on("list", FOLDER))?;
        let mut days = Vec::new();
        for (name, stat) in names {
            let Some(date) = date_of(&name).filter(|date| since <= *date) else {
                continue;
            };
            let path = format!("{FOLDER}/{name}");
            let bytes = dir.read(&path).map_err(DiskError::on("read", &path))?;
            let mut day = Day {
                date,
                by: BTreeMap::new(),
                is_full: DAY_BYTES_MAX <= stat.len,
            };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A line that was torn or that a newer build wrote says nothing.
                if let Some((surface, counts)) = parsed(line) {
                    *day.by.entry(surface).or_default() += counts;
                }
            }
            days.push(day);
        }
        days.sort_by_key(|day| day.date);
        Ok(days)
    }
}

fn date_of(name: &str) -> Option<Date> {
    name.strip_suffix(".txt")?.parse().ok()
}

fn parsed(line: &str) -> Option<(Surface, Counts)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let surface = Surface::ALL.into_iter().find(|it| it.name() == name)?;
    let asked = words.next()?;
    let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    let [hits, shown, withheld, tokens, whole] = numbers?.try_into().ok()?;
    let (searches, briefs) = match asked {
        "search" => (1, 0),
        "brief" => (0, 1),
        _ => return None,
    };
    let counts = Counts {
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
        let answered = Answered {
            asked: Asked::Search,
            hits: 7,
            shown: 5,
            withheld: 1,
            tokens: 300,
            whole: 900,
        };
        let line = answered.line(Surface::Hook);
        assert_eq!(line, "hook search 7 5 1 300 900\n");
        let (surface, counts) = parsed(line.trim_end()).unwrap();
        assert_eq!(
            (surface, counts.asked(), counts.tokens_not_shown),
            (Surface::Hook, 1, 600)
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
            assert_eq!(parsed(line), None, "{line}");
        }
    }
}
