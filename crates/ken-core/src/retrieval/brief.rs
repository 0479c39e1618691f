//! Briefings: the norms that apply to a task, and the holdout applied to its entries.

use std::collections::BTreeSet;

use crate::ledger::entry::Entry;
use crate::ledger::event::Arm;
use crate::ledger::workspace::WorkspaceState;
use crate::retrieval::ranking::SearchHit;
use crate::retrieval::score;
use crate::retrieval::surface::{DetailTier, EntrySelection, HitView, SelectionLimits};
use crate::trust::facts::EntryFacts;
use crate::trust::rediscovery::RediscoveryPolicy;
use crate::trust::run::HoldoutAssignment;
use crate::values::condition::Glob;
use crate::values::content::KindDetail;
use crate::values::id::EntryId;
use crate::values::kind::IdPrefix;
use crate::values::time::Timestamp;

/// Maximum number of norms in a briefing, one line each.
pub const NORMS_MAX: usize = 7;

/// Limits of the norms section, independent of the token budget of the rest.
const NORM_LIMITS: SelectionLimits = SelectionLimits {
    cap: NORMS_MAX,
    // Norms are binding, so a token budget must not omit them.
    budget: usize::MAX,
    tier: Some(DetailTier::Summary),
    role: None,
};

/// The way a norm applies to a task. The variant order is the display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NormMatch {
    TaskPaths,
    Everywhere,
}

/// Returns the visible norms that apply to the repository or to `paths`, path-specific ones first.
fn applicable_norms(
    norms: Vec<Entry>,
    workspace: &WorkspaceState,
    paths: &[String],
    now: Timestamp,
) -> Vec<(Entry, EntryFacts)> {
    let mut hold: Vec<(Entry, EntryFacts)> = Vec::new();
    for entry in norms {
        let mut facts = EntryFacts::from_entry(&entry, None, now);
        facts.revoked = workspace.is_revoked(&entry);
        if score::hidden_reason(&entry, &facts).is_none() && norm_match(&entry, paths).is_some() {
            hold.push((entry, facts));
        }
    }
    // The id makes the order total, so that two clones brief the same norms in the same order.
    hold.sort_by_key(|(entry, _)| (norm_match(entry, paths), entry.kind(), entry.id));
    hold
}

/// Returns whether a norm is about one of `paths`.
pub fn is_norm_for(entry: &Entry, paths: &[String]) -> bool {
    norm_match(entry, paths) == Some(NormMatch::TaskPaths)
}

/// Returns how a norm applies to `paths`, or `None` if it is about other files.
///
/// The files of a norm are its anchors, its globs and the paths of its check.
fn norm_match(entry: &Entry, paths: &[String]) -> Option<NormMatch> {
    let content = entry.content.as_ref()?;
    let mut globs = content.applies_to.clone();
    if let Some(KindDetail::Norm(norm)) = &content.detail {
        let checked = norm.check.paths().iter();
        globs.extend(checked.filter_map(|it| it.parse::<Glob>().ok()));
    }
    // A norm without files is a rule for the whole repository.
    if content.anchors.is_empty() && globs.is_empty() {
        return Some(NormMatch::Everywhere);
    }
    let covers = |path: &String| {
        let mut anchors = content.anchors.iter();
        anchors.any(|anchor| anchor.at.overlaps(path)) || globs.iter().any(|it| it.overlaps(path))
    };
    paths.iter().any(covers).then_some(NormMatch::TaskPaths)
}

/// Returns whether an entry applies to one of `paths`: it names no globs, or one of them matches.
/// Without paths, every entry applies.
pub fn applies_to_paths(entry: &Entry, paths: &[String]) -> bool {
    let globs = entry.content.as_ref().map(|it| &it.applies_to[..]);
    let globs = globs.unwrap_or_default();
    let mut all = paths.iter();
    globs.is_empty() || paths.is_empty() || all.any(|path| globs.iter().any(|it| it.overlaps(path)))
}

/// Removes norms that are about files other than `paths`.
///
/// The words of a norm such as "Changes to `src/pay/` must be reviewed" match many prompts. Outside
/// of its files it is noise.
pub fn drop_norms_about_other_files(hits: &mut Vec<SearchHit>, paths: &[String]) {
    hits.retain(|hit| {
        hit.entry.id.prefix() != IdPrefix::Norm || norm_match(&hit.entry, paths).is_some()
    });
}

/// Selects the norms that apply to `paths`, one line each, path-specific ones first.
pub fn select_norms(
    norms: Vec<Entry>,
    workspace: &WorkspaceState,
    paths: &[String],
    now: Timestamp,
    lay_out: impl Fn(&[HitView<'_>], SelectionLimits) -> EntrySelection,
) -> EntrySelection {
    let norms = applicable_norms(norms, workspace, paths, now);
    let findings: Vec<HitView<'_>> = norms
        .iter()
        .map(|(entry, facts)| HitView {
            entry,
            facts,
            // Norms are already ordered, and selection reads scores only to choose a tier.
            score: 0.0,
            is_about_paths: false,
            conflicts: &[],
        })
        .collect();
    lay_out(&findings, NORM_LIMITS)
}

/// Removes hits that a briefing does not list as knowledge: norms, which have their own section,
/// and unproven claims. Returns the ids of the latter.
pub fn drop_norms_and_unproven_hits(
    hits: &mut Vec<SearchHit>,
    policy: &RediscoveryPolicy,
) -> Vec<EntryId> {
    hits.retain(|hit| hit.entry.id.prefix() != IdPrefix::Norm);
    drop_unproven_hits(hits, policy)
}

/// Removes claims that are shown only on request and returns their ids: those that rest on one
/// agent's report, and those that the gate holds back.
pub fn drop_unproven_hits(hits: &mut Vec<SearchHit>, policy: &RediscoveryPolicy) -> Vec<EntryId> {
    let unproven = hits.extract_if(.., |hit| !policy.may_push(&hit.entry));
    unproven.map(|hit| hit.entry.id).collect()
}

/// Removes hits that only share words with a prompt if others name its code: nobody asked, and they
/// would fill space.
pub fn drop_unnamed_beside_named(hits: &mut Vec<SearchHit>) {
    if hits.iter().any(|it| it.named) {
        hits.retain(|it| it.named || it.anchored);
    }
}

/// The entries an agent receives after the holdout, and the assignments to record.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldoutResult {
    pub page: EntrySelection,
    /// Selected entries that were not subject to the holdout.
    pub shown: Vec<EntryId>,
    /// Holdout assignments of the entries that are, or would have been, selected.
    pub offers: Vec<HoldoutAssignment>,
    /// Relevant entries that were omitted for lack of room or as unproven.
    pub passed: Vec<EntryId>,
}

/// Selects from `hits` and removes withheld entries until the selection contains none.
///
/// `dropped` are relevant entries that were removed before, such as unproven claims.
pub fn apply_holdout(
    hits: &mut Vec<SearchHit>,
    offers: Vec<HoldoutAssignment>,
    dropped: &[EntryId],
    select: impl Fn(&[SearchHit]) -> EntrySelection,
) -> HoldoutResult {
    let is_withheld = |id: EntryId| {
        let mut offers = offers.iter();
        offers.any(|it| it.entry == id && it.arm == Arm::Withheld)
    };
    let mut decided = BTreeSet::new();
    // Removing a withheld entry makes room for the next one, which may be withheld as well.
    // Withheld entries that never reach the selection stay undecided: they would not have been
    // shown anyway, so counting them would bias the comparison of the two arms.
    let page = loop {
        let selection = select(hits);
        decided.extend(selection.ids());
        if !selection.shown.iter().any(|it| is_withheld(it.id)) {
            break selection;
        }
        hits.retain(|hit| !(decided.contains(&hit.entry.id) && is_withheld(hit.entry.id)));
    };
    let remaining = hits.iter().map(|hit| hit.entry.id);
    let omitted = remaining.filter(|id| !decided.contains(id));
    let passed = omitted.chain(dropped.iter().copied()).collect();
    let by_chance: BTreeSet<EntryId> = offers.iter().map(|it| it.entry).collect();
    let mut shown = page.ids();
    shown.retain(|id| !by_chance.contains(id));
    let mut offers = offers;
    offers.retain(|it| decided.contains(&it.entry));
    HoldoutResult {
        page,
        shown,
        offers,
        passed,
    }
}
