//! The start of a conversation: what holds, what is known about what is in hand, and how to ask.
//!
//! The room is shared out by `ken_core::surface::shares`: what is known about the work, what was found lately, norms, how
//! earlier runs ended, what this conversation wrote down before its context was condensed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ken_core::entry::Entry;
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::kind::{Memory, Prefix};
use ken_core::run::blind::is_one_agents_word;
use ken_core::run::{Run, Witness};
use ken_core::score::{self, Explained};
use ken_core::store::{Filter, Store as _};
use ken_core::surface::shares::share_out;
use ken_core::surface::{self, CAP, Page, Tier};
use ken_core::text::{Tag, visible, word};
use ken_index::{Rung, count_tokens};
use ken_ledger::Dir as _;
use serde::Deserialize;

use super::{AGAINST_THE_PLAN, Attendee};
use crate::engine::Engine;
use crate::error::Error;
use crate::git;
use crate::health::HEALTH_FILE;
use crate::search::{Answer, Floor, Hit, Portion, Search};
use crate::usage::Asked;

/// Tokens of everything that is said when a conversation starts.
pub const BRIEFING_TOKENS_MAX: usize = 1_500;

/// Entries found lately that are told, of so many newest ones.
const LATELY_MAX: usize = 3;
const NEWEST_LOOKED_AT: usize = 20;

/// Runs whose end is told, looked for among so many last events.
const RUNS_MAX: usize = 3;
const LAST_EVENTS: u32 = 500;

/// Lines of what this conversation wrote down.
const OWN_LINES_MAX: usize = 8;

/// Branches that are no thread of work, and words that say nothing about one.
const TRUNKS: [&str; 6] = ["main", "master", "trunk", "develop", "dev", "head"];
const EMPTY_WORDS: [&str; 14] = [
    "feature", "feat", "fix", "bugfix", "hotfix", "chore", "wip", "release", "claude", "codex",
    "cursor", "copilot", "gemini", "agent",
];
/// Letters from which on a word of a branch says something.
const WORD_CHARS_MIN: usize = 3;

/// How a conversation comes to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Nothing was said before.
    Fresh,
    /// It goes on with what it had.
    Resumed,
    /// It goes on, and most of what it had is gone.
    Condensed,
    /// Nobody knows.
    Unknown,
}

/// Returns who knows everything an agent saw: its hooks, if they were there from the beginning.
///
/// One that goes on may have read anything while nobody watched. A run that is still open keeps its witness.
fn witness_at(who: &Attendee, beginning: Beginning) -> Witness {
    match beginning {
        Beginning::Fresh => who.witness,
        Beginning::Resumed | Beginning::Condensed | Beginning::Unknown => Witness::Nobody,
    }
}

impl Engine {
    /// Opens the conversation's run and says what to know before work begins.
    pub fn attend_start(
        &mut self,
        who: &Attendee,
        beginning: Beginning,
    ) -> Result<Option<String>, Error> {
        let branch = git::branch(&self.place);
        let thread = thread_of(branch.as_deref());
        let is_open = self.open_run_of(&who.reader())?.is_some();
        // Nobody starts what is going on: its context must have been condensed.
        let goes_on = is_open && who.run.is_none() && beginning == Beginning::Fresh;
        let beginning = if goes_on {
            Beginning::Condensed
        } else {
            beginning
        };
        let witness = witness_at(who, beginning);
        let run = self.join_conversation(who, witness, thread.clone())?;
        if !who.listens || self.index.list(&any_one())?.is_empty() {
            return Ok(None);
        }
        let paths = match &self.place.git {
            Some(_) => git::files_in_hand(&self.place).unwrap_or_default(),
            None => Vec::new(),
        };
        let search = Search {
            query: branch_words(branch.as_deref()).join(" "),
            paths,
            thread,
            run: who.run(),
            floor: Floor::Strict,
            ..Search::default()
        };
        self.briefing(who, beginning, run.as_ref(), &search)
    }

    fn briefing(
        &mut self,
        who: &Attendee,
        beginning: Beginning,
        run: Option<&Run>,
        search: &Search,
    ) -> Result<Option<String>, Error> {
        let before = self.shown_before(who)?;
        let mut norms = self.norms_for(&search.paths)?;
        if beginning != Beginning::Condensed {
            norms.shown.retain(|it| !before.contains(&it.id));
        }
        let known = self.known_at_start(search, &before)?;
        let lately = self.found_lately(&before, &known)?;
        let ended = self.how_runs_ended(search.thread.as_ref())?;
        let own = run.map(|it| self.own_lines(it, who)).transpose()?;
        let own = own.filter(|_| beginning == Beginning::Condensed);
        let own = own.unwrap_or_default();
        let frame = self.frame(&before, beginning);
        let mut parts = Parts {
            known: portion(CAP, None),
            lately: portion(LATELY_MAX, Some(Tier::Summary)),
            norms,
            ended,
            own,
        };
        let served_by = known.served_by.name();
        let is_new = beginning == Beginning::Fresh || beginning == Beginning::Unknown;
        let any = !known.hits.is_empty() || !lately.hits.is_empty() || parts.has_lines();
        if !any && !is_new {
            return Ok(None);
        }
        parts.fit(
            &known,
            &lately,
            BRIEFING_TOKENS_MAX - count_tokens(&frame).min(BRIEFING_TOKENS_MAX),
        );
        let (known_portion, lately_portion) = (parts.known, parts.lately);
        let norms = std::mem::replace(&mut parts.norms, Page::empty());
        let known = self.hand_to(
            who,
            Some(Asked::Brief),
            (norms.clone(), known),
            known_portion,
        )?;
        let lately = self.hand_to(who, None, (Page::empty(), lately), lately_portion)?;
        parts.norms = norms;
        let body = parts.body(&known, &lately);
        let block = match body.is_empty() {
            true => String::new(),
            false => surface::marked(&body, served_by),
        };
        Ok(Some(format!("{block}{frame}")))
    }

    /// Returns what is known about what is in hand; nobody asks where nothing is.
    fn known_at_start(
        &mut self,
        search: &Search,
        before: &BTreeSet<EntryId>,
    ) -> Result<Answer, Error> {
        let mut known = match search.query.is_empty() && search.paths.is_empty() {
            true => unasked(),
            false => self.search_at_once(search)?,
        };
        known
            .hits
            .retain(|hit| hit.entry.id.prefix() != Prefix::Norm && !before.contains(&hit.entry.id));
        Ok(known)
    }

    /// Returns the newest entries that came out of runs here and rest on more than one agent's word.
    fn found_lately(&self, before: &BTreeSet<EntryId>, known: &Answer) -> Result<Answer, Error> {
        let newest = self.index.list(&Filter {
            memory: Some(Memory::Semantic),
            limit: Some(NEWEST_LOOKED_AT),
            ..Filter::default()
        })?;
        let workspace = self.workspace()?;
        let mut lately = unasked();
        for entry in newest {
            let is_found = entry.created.as_ref().is_some_and(|it| it.run.is_some());
            let is_known = before.contains(&entry.id) || known.hit(entry.id).is_some();
            if !is_found || is_known || is_one_agents_word(&entry) {
                continue;
            }
            let mut facts = EntryFacts::of(&entry, None, self.now());
            facts.revoked = workspace.is_revoked(&entry);
            if score::withheld(&entry, &facts).is_none() {
                lately.hits.push(bare(entry, facts));
            }
        }
        lately.hits.truncate(LATELY_MAX);
        Ok(lately)
    }

    /// Returns how the last runs ended: on this thread of work, or anywhere without one.
    fn how_runs_ended(&self, thread: Option<&Tag>) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for run in self.last_runs(LAST_EVENTS)? {
            let closed = &run.closed;
            if thread.is_some() && closed.thread.as_ref() != thread {
                continue;
            }
            let mut line = format!("- {} {}", run.at.date(), word(&closed.outcome));
            if let Some(quality) = closed.quality_milli {
                let _ = write!(line, ", quality {:.2}", f64::from(quality) / 1000.0);
            }
            let (agents, new) = (closed.agents.len(), closed.extracted);
            let _ = writeln!(line, ", agents: {agents}, entries written: {new}");
            lines.push(line);
        }
        lines.truncate(RUNS_MAX);
        Ok(lines)
    }

    /// Returns what this conversation wrote down itself.
    fn own_lines(&self, run: &Run, who: &Attendee) -> Result<Vec<String>, Error> {
        let Some(agent) = run.agents.get(&who.agent) else {
            return Ok(Vec::new());
        };
        let mut lines = Vec::new();
        for id in &agent.added {
            if let Some(entry) = self.index.entry(*id)? {
                lines.push(format!("- wrote [{id}] {}\n", visible(&entry.title())));
            }
        }
        for found in agent.findings.iter().rev() {
            let said = visible(found.finding.statement.as_str());
            let said: Vec<&str> = said.split_whitespace().collect();
            lines.push(format!("- found: {}\n", said.join(" ")));
        }
        lines.truncate(OWN_LINES_MAX);
        Ok(lines)
    }

    /// Returns what is said around what was recorded: how to ask, and what needs a person.
    fn frame(&self, before: &BTreeSet<EntryId>, beginning: Beginning) -> String {
        if beginning == Beginning::Resumed && !before.is_empty() {
            return String::new();
        }
        let mut frame = ASK.to_owned();
        frame.push_str(AGAINST_THE_PLAN);
        let urgent = self.urgent_matters();
        if 0 < urgent {
            let _ = writeln!(
                frame,
                "What is known here needs a person in {urgent} matters (`ken health report`): say so before you rely on it."
            );
        }
        frame
    }

    /// Returns how many matters the last health report calls urgent.
    fn urgent_matters(&self) -> usize {
        let read = self.ken.read(HEALTH_FILE).ok();
        let report = read.and_then(|it| serde_json::from_slice::<Report>(&it).ok());
        let insights = report.map(|it| it.insights).unwrap_or_default();
        let urgent = insights
            .iter()
            .filter(|it| it.severity == "action_required");
        urgent.count()
    }
}

const ASK: &str = "\
Before you decide something, meet an error or change direction, ask what is known: `ken_search`, or `ken search \"goal, technology, \
problem\"`. Cite what you use as [ID]. What will help whoever comes next: `ken_record`, or `ken observe --statement …`.
";

/// What a written health report says that matters here.
#[derive(Deserialize)]
struct Report {
    insights: Vec<Matter>,
}

#[derive(Deserialize)]
struct Matter {
    severity: String,
}

/// What is told, and how much of each.
struct Parts {
    known: Portion,
    lately: Portion,
    norms: Page,
    ended: Vec<String>,
    own: Vec<String>,
}

impl Parts {
    fn has_lines(&self) -> bool {
        !(self.norms.shown.is_empty() && self.ended.is_empty() && self.own.is_empty())
    }

    /// Gives each part its share of `room` tokens.
    fn fit(&mut self, known: &Answer, lately: &Answer, room: usize) {
        let headings: usize = HEADINGS.iter().map(|it| count_tokens(it)).sum();
        let marks = count_tokens(&surface::marked("x", Rung::ALL[0].name()));
        let room = room.saturating_sub(headings + marks + SPARE_TOKENS);
        let lines = |lines: &[String]| lines.iter().map(|it| count_tokens(it)).sum::<usize>();
        let wanted = [
            known.page(self.known).tokens,
            lately.page(self.lately).tokens,
            self.norms.shown.iter().map(|it| it.tokens).sum(),
            lines(&self.ended),
            lines(&self.own),
        ];
        let [known, lately, norms, ended, own] = share_out(room, wanted);
        self.known.budget = known;
        self.lately.budget = lately;
        let mut left = norms;
        self.norms.shown.retain(|it| take(&mut left, it.tokens));
        let cut = |lines: &mut Vec<String>, mut left: usize| {
            lines.retain(|it| take(&mut left, count_tokens(it)));
        };
        cut(&mut self.ended, ended);
        cut(&mut self.own, own);
    }

    fn body(&self, known: &Page, lately: &Page) -> String {
        let shown = |page: &Page| page.shown.iter().map(|it| it.text.as_str()).collect();
        let texts: [String; 5] = [
            shown(&self.norms),
            shown(known),
            shown(lately),
            self.ended.concat(),
            self.own.concat(),
        ];
        let mut body = String::new();
        for (heading, text) in HEADINGS.iter().zip(texts) {
            if !text.is_empty() {
                let _ = write!(body, "{heading}\n{text}");
            }
        }
        body
    }
}

/// Stand above the parts: norms, what is known, what was found, how runs ended, what this conversation wrote.
const HEADINGS: [&str; 5] = [
    "norms that hold:",
    "known about what is in hand:",
    "found here lately:",
    "how the last runs ended:",
    "written down in this conversation before:",
];

/// Tokens nobody counts on: texts side by side may have a few more than each alone.
const SPARE_TOKENS: usize = 20;

/// Takes `tokens` from what is left, if that is enough.
fn take(left: &mut usize, tokens: usize) -> bool {
    let fits = tokens <= *left;
    *left = match fits {
        true => *left - tokens,
        // What follows is less important: it does not slip in because it is short.
        false => 0,
    };
    fits
}

fn portion(cap: usize, tier: Option<Tier>) -> Portion {
    Portion {
        cap,
        budget: usize::MAX,
        tier,
        role: None,
    }
}

fn any_one() -> Filter {
    Filter {
        limit: Some(1),
        ..Filter::default()
    }
}

/// An answer nobody searched for.
fn unasked() -> Answer {
    Answer {
        served_by: Rung::ALL[0],
        hits: Vec::new(),
        withheld: Vec::new(),
    }
}

fn bare(entry: Entry, facts: EntryFacts) -> Hit {
    Hit {
        entry,
        facts,
        relevance: 0.0,
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        conflicts: Vec::new(),
        explained: Explained {
            score: 0.0,
            parts: Vec::new(),
        },
    }
}

/// Returns the thread of work a branch is.
fn thread_of(branch: Option<&str>) -> Option<Tag> {
    let branch = branch?.to_lowercase();
    (!TRUNKS.contains(&branch.as_str())).then(|| branch.parse().ok())?
}

/// Returns the words of a branch's name that say something.
pub(super) fn branch_words(branch: Option<&str>) -> Vec<String> {
    let Some(_) = thread_of(branch) else {
        return Vec::new();
    };
    let branch = branch.unwrap_or_default().to_lowercase();
    let words = branch.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|it| {
        let says = it.chars().any(char::is_alphabetic) && !EMPTY_WORDS.contains(it);
        says && WORD_CHARS_MIN <= it.chars().count()
    });
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_says_what_is_in_hand() {
        for (branch, words) in [
            ("feature/auth-retry-123", &["auth", "retry"][..]),
            ("main", &[]),
            ("Fix/PAY-17-double_charge", &["pay", "double", "charge"]),
            ("wip", &[]),
        ] {
            assert_eq!(branch_words(Some(branch)), words, "{branch}");
        }
        assert_eq!(thread_of(Some("fix/pay")).unwrap().as_str(), "fix/pay");
        assert_eq!(thread_of(Some("master")), None);
        assert_eq!(thread_of(None), None);
    }
}
