//! What of the entries found is shown, and how much of each: the cap, diversity, tiers, the budget.
//!
//! In this order, and no other: the best of every category, at most [`Room::cap`] entries, one tier
//! for all, one-liners if the budget asks for it, then leaving out the last. The cap is hard, the
//! budget soft: the best entry and critical ones stay.
//!
//! Invariant: nothing here is random or depends on the clock; the same findings give the same page.

mod block;
mod portion;
pub mod shares;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::entry::Entry;
use crate::event::{Origin, Outcome, Overlay};
use crate::facts::EntryFacts;
use crate::id::EntryId;
use crate::kind::Kind;
use crate::score::Role;
use crate::source::Source;
use crate::status::Status;

pub use block::{KNOWLEDGE_APPLIED, NOTHING_FOUND, between_marks, brief, context, inline, marked};
pub use portion::Portion;

/// Entries one agent is shown at most.
pub const CAP: usize = 5;
/// Of the places of an answer, in hundredths, how many one author who is no person, or one origin outside this
/// workspace, may fill before others had theirs.
pub const SHARE_PERCENT: usize = 60;
/// Tokens that what is shown should stay below.
pub const BUDGET: usize = 500;
/// From here on the best entry of several sources is good enough for one-liners.
const SUMMARY_SCORE: f64 = 0.5;
/// Sources that one-liners need.
const SUMMARY_SOURCES: usize = 2;
/// From here on the best entry is good enough for a preview.
const STANDARD_SCORE: f64 = 0.35;

/// How much of an entry is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// One line.
    Summary,
    /// A preview, tags, how fast it fades.
    Standard,
    /// Everything.
    Full,
}

/// An entry that was found, with what its presentation needs to know.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    pub entry: &'a Entry,
    pub facts: &'a EntryFacts,
    pub score: f64,
    /// Entries that say the opposite.
    pub conflicts: &'a [EntryId],
}

/// How much may be shown, and to whom.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub cap: usize,
    pub budget: usize,
    /// `None` lets the findings decide.
    pub tier: Option<Tier>,
    pub role: Option<Role>,
    /// Where entry files lie.
    pub folder: &'a str,
    /// Estimates the tokens of a text.
    pub tokens: &'a dyn Fn(&str) -> usize,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    pub tier: Tier,
    /// Best first; entries that contradict each other stand side by side.
    pub shown: Vec<Shown>,
    pub left_out: Vec<LeftOut>,
    /// Of everything shown.
    pub tokens: usize,
}

/// One entry on the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    pub id: EntryId,
    /// Its text, safe to put between other lines.
    pub text: String,
    pub tokens: usize,
    /// Entries that say the opposite, shown or not.
    pub conflicts: Vec<EntryId>,
    /// Who they are and how far they are trusted; of one-liners none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub competing_with: Vec<Competitor>,
}

/// An entry that says the opposite of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Competitor {
    pub id: EntryId,
    pub title: String,
    /// The mean of its posterior.
    pub confidence: f64,
}

/// An entry that was relevant and had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub id: EntryId,
    pub why: Reason,
}

/// What there was no room in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Cap,
    Budget,
}

impl std::fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room")
            .field("cap", &self.cap)
            .field("budget", &self.budget)
            .field("tier", &self.tier)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// Lays `findings`, best first, out in `room`.
    pub fn of(findings: &[Finding<'_>], room: &Room<'_>) -> Self {
        let mut chosen = choose(findings, room.cap);
        let mut left_out: Vec<LeftOut> = (0..findings.len())
            .filter(|at| !chosen.contains(at))
            .map(|at| left_out(&findings[at], Reason::Cap))
            .collect();
        let mut tier = room
            .tier
            .unwrap_or_else(|| fitting_tier(findings, &chosen, room.role));
        let mut shown = lay_out(findings, &chosen, tier, room);
        if room.budget < tokens(&shown) && tier != Tier::Summary {
            tier = Tier::Summary;
            shown = lay_out(findings, &chosen, tier, room);
        }
        while room.budget < tokens(&shown) {
            let Some(last) = least_needed(findings, &chosen) else {
                break;
            };
            left_out.push(self::left_out(&findings[chosen[last]], Reason::Budget));
            chosen.remove(last);
            shown.remove(last);
        }
        let tokens = tokens(&shown);
        Self {
            tier,
            shown,
            left_out,
            tokens,
        }
    }

    /// Returns a page with nothing on it.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            tier: Tier::Full,
            shown: Vec::new(),
            left_out: Vec::new(),
            tokens: 0,
        }
    }

    /// Returns the entries on it, as shown.
    pub fn ids(&self) -> Vec<EntryId> {
        self.shown.iter().map(|it| it.id).collect()
    }

    /// Returns whether `beneath`, which was laid out in what `portion` left, is worth telling behind it: the best of it
    /// may go beyond the budget only where nothing else is told.
    pub fn admits(&self, beneath: &Self, left: Portion) -> bool {
        let fits = self.shown.is_empty() || beneath.tokens <= left.budget;
        fits && !beneath.shown.is_empty()
    }

    /// Returns it with what another page shows behind its own.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.shown.extend(other.shown.iter().cloned());
        self.tokens += other.tokens;
        self
    }
}

fn left_out(finding: &Finding<'_>, why: Reason) -> LeftOut {
    let id = finding.entry.id;
    LeftOut { id, why }
}

fn tokens(shown: &[Shown]) -> usize {
    shown.iter().map(|it| it.tokens).sum()
}

fn lay_out(findings: &[Finding<'_>], chosen: &[usize], tier: Tier, room: &Room<'_>) -> Vec<Shown> {
    let show = |at: &usize| {
        let finding = &findings[*at];
        let competing_with = match tier {
            Tier::Summary => Vec::new(),
            Tier::Standard | Tier::Full => competitors(finding, findings),
        };
        let text = block::entry_text(finding, &competing_with, tier, room.folder);
        Shown {
            id: finding.entry.id,
            tokens: (room.tokens)(&text),
            text,
            conflicts: finding.conflicts.to_vec(),
            competing_with,
        }
    };
    chosen.iter().map(show).collect()
}

/// Returns who contradicts a finding, with what a reader needs to weigh them.
pub fn competitors(finding: &Finding<'_>, among: &[Finding<'_>]) -> Vec<Competitor> {
    let others = among
        .iter()
        .filter(|it| finding.conflicts.contains(&it.entry.id));
    let competitor = |it: &Finding<'_>| Competitor {
        id: it.entry.id,
        title: it.entry.title(),
        confidence: it.facts.posterior.mean(),
    };
    others.map(competitor).collect()
}

/// Chooses at most `cap` findings: the best of every category first, then the best of the rest;
/// whoever comes brings along who contradicts it. Returns places in `findings`, as shown.
fn choose(findings: &[Finding<'_>], cap: usize) -> Vec<usize> {
    let places: BTreeMap<EntryId, usize> = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| (finding.entry.id, at))
        .collect();
    let against = |at: usize| {
        let conflicts = findings[at].conflicts.iter();
        conflicts.filter_map(|id| places.get(id).copied())
    };
    let mut chosen = BTreeSet::new();
    for at in shared_out(findings, by_category(findings), cap) {
        for one in std::iter::once(at).chain(against(at)) {
            if chosen.len() < cap {
                chosen.insert(one);
            }
        }
    }
    let mut order = Vec::with_capacity(chosen.len());
    for at in &chosen {
        for one in std::iter::once(*at).chain(against(*at)) {
            if chosen.contains(&one) && !order.contains(&one) {
                order.push(one);
            }
        }
    }
    order
}

/// Places in `findings`: the best of every category, then everything else, both best first.
fn by_category(findings: &[Finding<'_>]) -> Vec<usize> {
    let mut categories = BTreeSet::new();
    let (mut first, rest): (Vec<usize>, Vec<usize>) =
        (0..findings.len()).partition(|at| categories.insert(findings[*at].entry.id.prefix()));
    first.extend(rest);
    first
}

/// Lets nobody fill an answer alone, by whatever name below its own: whoever has had a full share comes after everybody else, and what comes from
/// outside this workspace not at all. People share without limit.
fn shared_out(findings: &[Finding<'_>], order: Vec<usize>, cap: usize) -> Vec<usize> {
    let most = (cap * SHARE_PERCENT / 100).max(1);
    let mut filled: BTreeMap<Source, usize> = BTreeMap::new();
    let (mut first, mut late) = (Vec::with_capacity(order.len()), Vec::new());
    for at in order {
        let created = findings[at].entry.created.as_ref();
        let Some(created) = created.filter(|it| it.origin != Origin::Human) else {
            first.push(at);
            continue;
        };
        let foreign = created.origin.is_foreign();
        let source = if foreign {
            Source::Origin(created.origin)
        } else {
            Source::Author(created.by.family())
        };
        let count = filled.entry(source).or_default();
        *count += 1;
        match (*count <= most, foreign) {
            (true, _) => first.push(at),
            (false, false) => late.push(at),
            (false, true) => {}
        }
    }
    first.extend(late);
    first
}

/// One-liners where several sources agree on something that fits well; more the thinner it is.
fn fitting_tier(findings: &[Finding<'_>], chosen: &[usize], role: Option<Role>) -> Tier {
    let sources: BTreeSet<String> = chosen
        .iter()
        .filter_map(|at| source(&findings[*at]))
        .collect();
    let top = chosen
        .iter()
        .map(|at| findings[*at].score)
        .fold(0.0, f64::max);
    let tier = if SUMMARY_SOURCES <= sources.len() && SUMMARY_SCORE < top {
        Tier::Summary
    } else if !sources.is_empty() && STANDARD_SCORE < top {
        Tier::Standard
    } else {
        Tier::Full
    };
    match role {
        Some(Role::Researcher) => tier.max(Tier::Standard),
        Some(Role::Executor) => Tier::Summary,
        Some(Role::Planner | Role::Debugger | Role::Reviewer) | None => tier,
    }
}

/// The run an entry comes from, or whoever wrote it outside of one.
fn source(finding: &Finding<'_>) -> Option<String> {
    let created = finding.entry.created.as_ref()?;
    let run = created.run.as_ref().map(|run| run.id.clone());
    Some(run.unwrap_or_else(|| created.by.to_string()))
}

/// Returns which of `chosen` goes first when tokens run out: the lowest score, never the best one
/// and never a critical one.
fn least_needed(findings: &[Finding<'_>], chosen: &[usize]) -> Option<usize> {
    let best = chosen.iter().min()?;
    let spare = |(_, at): &(usize, &usize)| *at != best && !is_critical(&findings[**at]);
    let spare = chosen.iter().enumerate().filter(spare);
    spare.max_by_key(|(_, at)| **at).map(|(place, _)| place)
}

/// Whether an entry may go beyond the budget: somebody pinned it here, or it is an incident that
/// was verified.
fn is_critical(finding: &Finding<'_>) -> bool {
    let incident = finding.entry.kind() == Some(Kind::Incident);
    finding.entry.is_marked(Overlay::Pin) || (incident && finding.facts.status == Status::Verified)
}

/// Whether the run an entry comes from did not reach its goal.
fn from_failed_run(entry: &Entry) -> bool {
    let run = entry
        .created
        .as_ref()
        .and_then(|created| created.run.as_ref());
    matches!(
        run.and_then(|run| run.outcome),
        Some(Outcome::Failed | Outcome::Abandoned)
    )
}
