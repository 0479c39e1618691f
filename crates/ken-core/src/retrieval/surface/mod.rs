//! Selection of hits to show: cap, diversity, detail tier and token budget.
//!
//! The steps, in this order: the best hit of every category, at most [`SelectionContext::cap`]
//! entries, one tier for all, one-liners if the budget requires it, then omission of the last. The
//! cap is hard. The budget is soft: the best entry and critical entries stay.
//!
//! Invariant: selection uses neither randomness nor the clock; equal hits give an equal selection.

pub mod budget_shares;
mod context_block;
mod limits;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ledger::entry::Entry;
use crate::ledger::event::{Origin, Overlay};
use crate::ledger::source::ContributionSource;
use crate::retrieval::score::ReaderRole;
use crate::trust::facts::EntryFacts;
use crate::values::id::EntryId;
use crate::values::kind::EntryKind;
use crate::values::status::EntryStatus;

pub use crate::retrieval::agent_texts::{KNOWLEDGE_APPLIED, NOTHING_FOUND};
pub use context_block::{
    delimit, delimited_block, render_briefing_block, render_conclusions, render_context_block,
    render_overview_block, render_unasked_block, single_line, spike_rules,
};
pub use limits::SelectionLimits;

/// Default maximum number of entries.
pub const ENTRIES_MAX: usize = 5;
/// Percentage of the cap that one non-human author, or one foreign origin, may fill before others.
pub const SOURCE_SHARE_PERCENT: usize = 60;
/// Default token budget.
pub const TOKEN_BUDGET: usize = 500;
/// Score above which the best of several sources is shown as a one-liner.
const SUMMARY_SCORE: f64 = 0.5;
/// Sources required for one-liners.
const SUMMARY_SOURCES: usize = 2;
/// Score above which the best entry is shown as a preview.
const STANDARD_SCORE: f64 = 0.35;

/// The level of detail of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DetailTier {
    /// One line.
    Summary,
    /// The best entry in full, with the others that prescribe the same code and follow it, and one
    /// line for each other.
    Lead,
    /// A preview with tags and decay class.
    Standard,
    /// The full content.
    Full,
}

/// A hit with the facts that its presentation reads.
#[derive(Clone, Debug)]
pub struct HitView<'a> {
    pub entry: &'a Entry,
    pub facts: &'a EntryFacts,
    pub score: f64,
    /// Set if the query asked about paths and the entry is anchored there.
    pub is_about_paths: bool,
    /// Entries that contradict it.
    pub conflicts: &'a [EntryId],
}

/// The limits and environment of a selection.
#[derive(Clone, Copy)]
pub struct SelectionContext<'a> {
    pub cap: usize,
    pub budget: usize,
    /// `None` chooses the tier by score and number of sources.
    pub tier: Option<DetailTier>,
    pub role: Option<ReaderRole>,
    /// The folder of entry files.
    pub folder: &'a str,
    /// Estimates the number of tokens of a text.
    pub tokens: &'a dyn Fn(&str) -> usize,
}

/// The selected entries and the omitted ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntrySelection {
    pub tier: DetailTier,
    /// Best first; contradicting entries are adjacent.
    pub shown: Vec<SelectedEntry>,
    pub left_out: Vec<OmittedEntry>,
    /// Total tokens of the selected entries.
    pub tokens: usize,
}

/// One selected entry, rendered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectedEntry {
    pub id: EntryId,
    /// The rendered text, safe to insert between other lines.
    pub text: String,
    pub tokens: usize,
    /// Entries that contradict it, selected or not.
    pub conflicts: Vec<EntryId>,
    /// Title and confidence of those entries; empty for one-liners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub competing_with: Vec<CompetingEntry>,
}

/// An entry that contradicts a selected one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompetingEntry {
    pub id: EntryId,
    pub title: String,
    /// Posterior mean.
    pub confidence: f64,
}

/// A relevant entry that was omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedEntry {
    pub id: EntryId,
    pub why: OmissionReason,
}

/// The limit that omitted an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OmissionReason {
    Cap,
    Budget,
    /// The match is weaker than the relevance floor; listed on request only.
    Threshold,
}

impl std::fmt::Debug for SelectionContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room")
            .field("cap", &self.cap)
            .field("budget", &self.budget)
            .field("tier", &self.tier)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl EntrySelection {
    /// Selects and renders `findings`, which must be sorted best first.
    pub fn of(findings: &[HitView<'_>], room: &SelectionContext<'_>) -> Self {
        let mut chosen = choose_hits(findings, room.cap);
        let mut left_out: Vec<OmittedEntry> = (0..findings.len())
            .filter(|at| !chosen.contains(at))
            .map(|at| omitted_entry(&findings[at], OmissionReason::Cap))
            .collect();
        let mut tier = room
            .tier
            .unwrap_or_else(|| fitting_tier(findings, &chosen, room.role));
        let mut shown = render_entries(findings, &chosen, tier, room);
        // Shortening all entries loses less than omitting one, so it is tried first.
        // A rule that is cut before its exception misleads, so the lead stays whole.
        let may_shorten = !matches!(tier, DetailTier::Summary | DetailTier::Lead);
        if total_tokens(&shown) > room.budget && may_shorten {
            tier = DetailTier::Summary;
            shown = render_entries(findings, &chosen, tier, room);
        }
        while total_tokens(&shown) > room.budget {
            let Some(last) = next_to_omit(findings, &chosen) else {
                break;
            };
            left_out.push(omitted_entry(
                &findings[chosen[last]],
                OmissionReason::Budget,
            ));
            chosen.remove(last);
            shown.remove(last);
        }
        let tokens = total_tokens(&shown);
        Self {
            tier,
            shown,
            left_out,
            tokens,
        }
    }

    /// Returns an empty selection.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            tier: DetailTier::Full,
            shown: Vec::new(),
            left_out: Vec::new(),
            tokens: 0,
        }
    }

    /// Returns the ids of the selected entries, in order.
    pub fn ids(&self) -> Vec<EntryId> {
        self.shown.iter().map(|it| it.id).collect()
    }

    /// Returns whether the selection of global hits may follow this one within the limits `left`.
    ///
    /// Global hits may exceed the budget only if this selection is empty.
    pub fn admits(&self, global: &Self, left: SelectionLimits) -> bool {
        let fits = self.shown.is_empty() || global.tokens <= left.budget;
        fits && !global.shown.is_empty()
    }

    /// Appends the entries of another selection.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.shown.extend(other.shown.iter().cloned());
        self.tokens += other.tokens;
        self
    }
}

fn omitted_entry(finding: &HitView<'_>, why: OmissionReason) -> OmittedEntry {
    let id = finding.entry.id;
    OmittedEntry { id, why }
}

fn total_tokens(shown: &[SelectedEntry]) -> usize {
    shown.iter().map(|it| it.tokens).sum()
}

fn render_entries(
    findings: &[HitView<'_>],
    chosen: &[usize],
    tier: DetailTier,
    room: &SelectionContext<'_>,
) -> Vec<SelectedEntry> {
    let leading = leading_entries(findings, chosen);
    let show = |(place, at): (usize, &usize)| {
        let finding = &findings[*at];
        let tier = match tier {
            DetailTier::Lead if place < leading => DetailTier::Full,
            DetailTier::Lead | DetailTier::Summary => DetailTier::Summary,
            DetailTier::Standard => DetailTier::Standard,
            DetailTier::Full => DetailTier::Full,
        };
        // One line has no room for them; the header still names the conflicting ids.
        let competing_with = match tier {
            DetailTier::Summary | DetailTier::Lead => Vec::new(),
            DetailTier::Standard | DetailTier::Full => competing_entries(finding, findings),
        };
        let text = context_block::render_entry(finding, &competing_with, tier, room.folder);
        SelectedEntry {
            id: finding.entry.id,
            tokens: (room.tokens)(&text),
            text,
            conflicts: finding.conflicts.to_vec(),
            competing_with,
        }
    };
    chosen.iter().enumerate().map(show).collect()
}

/// Returns the number of first entries that are one rule: the best one, and those behind it that
/// prescribe the same code. Half of a rule misleads.
fn leading_entries(findings: &[HitView<'_>], chosen: &[usize]) -> usize {
    let symbols = |at: &usize| {
        let entry = findings[*at].entry;
        let prescribed = entry.content.iter().filter(|_| entry.is_prescriptive());
        let anchors = prescribed.flat_map(|it| &it.anchors);
        let symbols = anchors.filter(|it| it.at.symbol().is_some());
        symbols.map(|it| &it.at).collect::<BTreeSet<_>>()
    };
    let Some(first) = chosen.first().map(symbols) else {
        return 0;
    };
    let rest = chosen.iter().skip(1);
    1 + rest
        .take_while(|at| !symbols(at).is_disjoint(&first))
        .count()
}

/// Returns the entries among `among` that contradict a hit, with title and confidence.
pub fn competing_entries(finding: &HitView<'_>, among: &[HitView<'_>]) -> Vec<CompetingEntry> {
    let others = among
        .iter()
        .filter(|it| finding.conflicts.contains(&it.entry.id));
    let competitor = |it: &HitView<'_>| CompetingEntry {
        id: it.entry.id,
        title: it.entry.title(),
        confidence: it.facts.posterior.mean(),
    };
    others.map(competitor).collect()
}

/// Chooses at most `cap` hits: the best of every category, then the best of the rest.
///
/// A chosen hit brings along the hits that contradict it. Returns indexes in display order.
fn choose_hits(findings: &[HitView<'_>], cap: usize) -> Vec<usize> {
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
    for at in limit_source_shares(findings, by_category(findings), cap) {
        for one in std::iter::once(at).chain(against(at)) {
            // The cap is hard: a conflicting hit may not fit, but its id is still listed.
            if chosen.len() < cap {
                chosen.insert(one);
            }
        }
    }
    // Second pass: orders by score but moves contradicting entries next to each other, so that a
    // reader cannot miss the conflict.
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

/// Returns indexes: the best hit of every category, then all others, both best first.
///
/// Hits about the paths of the query come before both: an entry of another category must not take
/// their place.
fn by_category(findings: &[HitView<'_>]) -> Vec<usize> {
    // `insert` is true for the first hit of a category, which is its best.
    let mut categories = BTreeSet::new();
    let (mut first, rest): (Vec<usize>, Vec<usize>) = (0..findings.len()).partition(|at| {
        let hit = &findings[*at];
        categories.insert(hit.entry.id.prefix()) || hit.is_about_paths
    });
    first.sort_by_key(|at| !findings[*at].is_about_paths);
    first.extend(rest);
    first
}

/// Limits the share of one source: excess hits of an author move to the end, and excess hits of a
/// foreign origin are dropped. People have no limit.
///
/// Authors are counted by family, so that session names do not evade the limit.
fn limit_source_shares(findings: &[HitView<'_>], order: Vec<usize>, cap: usize) -> Vec<usize> {
    // At least 1, or a cap of 1 would exclude every non-human source.
    let most = (cap * SOURCE_SHARE_PERCENT / 100).max(1);
    let mut filled: BTreeMap<ContributionSource, usize> = BTreeMap::new();
    let (mut first, mut late) = (Vec::with_capacity(order.len()), Vec::new());
    for at in order {
        let created = findings[at].entry.created.as_ref();
        let Some(created) = created.filter(|it| it.origin != Origin::Human) else {
            first.push(at);
            continue;
        };
        let foreign = created.origin.is_foreign();
        // One foreign origin counts as one source, whatever names its authors use.
        let source = if foreign {
            ContributionSource::Origin(created.origin)
        } else {
            ContributionSource::Author(created.by.without_session())
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

/// Returns the tier that fits the hits: less detail the better and more numerous the sources are.
fn fitting_tier(
    findings: &[HitView<'_>],
    chosen: &[usize],
    role: Option<ReaderRole>,
) -> DetailTier {
    let sources: BTreeSet<String> = chosen
        .iter()
        .filter_map(|at| source_of(&findings[*at]))
        .collect();
    let top = chosen
        .iter()
        .map(|at| findings[*at].score)
        .fold(0.0, f64::max);
    let tier = if sources.len() >= SUMMARY_SOURCES && top > SUMMARY_SCORE {
        DetailTier::Summary
    } else if !sources.is_empty() && top > STANDARD_SCORE {
        DetailTier::Standard
    } else {
        DetailTier::Full
    };
    match role {
        Some(ReaderRole::Researcher) => tier.max(DetailTier::Standard),
        Some(ReaderRole::Executor) => DetailTier::Summary,
        Some(ReaderRole::Planner | ReaderRole::Debugger | ReaderRole::Reviewer) | None => tier,
    }
}

/// Returns the source of an entry: its run, or else its author.
fn source_of(finding: &HitView<'_>) -> Option<String> {
    let created = finding.entry.created.as_ref()?;
    let run = created.run.as_ref().map(|run| run.id.clone());
    Some(run.unwrap_or_else(|| created.by.to_string()))
}

/// Returns the position in `chosen` to omit next: the lowest score, never the best or a critical
/// hit.
fn next_to_omit(findings: &[HitView<'_>], chosen: &[usize]) -> Option<usize> {
    // Indexes follow the score: the smallest index is the best hit, the largest the worst.
    let best = chosen.iter().min()?;
    let spare = |(_, at): &(usize, &usize)| *at != best && !is_critical(&findings[**at]);
    let spare = chosen.iter().enumerate().filter(spare);
    spare.max_by_key(|(_, at)| **at).map(|(place, _)| place)
}

/// Returns whether an entry may exceed the budget: it is pinned, or a verified incident.
fn is_critical(finding: &HitView<'_>) -> bool {
    let incident = finding.entry.kind() == Some(EntryKind::Incident);
    finding.entry.has_annotation(Overlay::Pin)
        || (incident && finding.facts.status == EntryStatus::Verified)
}
