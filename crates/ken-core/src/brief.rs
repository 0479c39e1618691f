//! The start of work: which norms hold for what is in hand, and which entries chance keeps from an agent.

use std::collections::BTreeSet;

use crate::answer::Hit;
use crate::entry::Entry;
use crate::event::Arm;
use crate::facts::EntryFacts;
use crate::id::EntryId;
use crate::kind::Prefix;
use crate::run::Offer;
use crate::run::blind::is_one_agents_word;
use crate::score;
use crate::surface::{Finding, Page, Portion, Tier};
use crate::time::Timestamp;
use crate::workspace::Workspace;

/// Norms that are told at most, a line each.
pub const NORMS_MAX: usize = 7;

/// How much of the norms is told, whatever the rest takes.
const NORMS: Portion = Portion {
    cap: NORMS_MAX,
    budget: usize::MAX,
    tier: Some(Tier::Summary),
    role: None,
};

/// How near a norm is to what is in hand; nearer ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    InHand,
    Everywhere,
}

/// Returns those of `norms` that hold for the whole repository or for `paths` and may be shown, the nearest first.
fn norms_for(
    norms: Vec<Entry>,
    workspace: &Workspace,
    paths: &[String],
    now: Timestamp,
) -> Vec<(Entry, EntryFacts)> {
    let mut hold: Vec<(Entry, EntryFacts)> = Vec::new();
    for entry in norms {
        let mut facts = EntryFacts::of(&entry, None, now);
        facts.revoked = workspace.is_revoked(&entry);
        if score::withheld(&entry, &facts).is_none() && reach(&entry, paths).is_some() {
            hold.push((entry, facts));
        }
    }
    hold.sort_by_key(|(entry, _)| (reach(entry, paths), entry.kind(), entry.id));
    hold
}

/// Returns whether a norm is about one of `paths`.
pub fn is_norm_for(entry: &Entry, paths: &[String]) -> bool {
    reach(entry, paths) == Some(Reach::InHand)
}

/// Returns whether a norm holds for `paths`: it names one of them, or no place at all.
fn reach(entry: &Entry, paths: &[String]) -> Option<Reach> {
    let content = entry.content.as_ref()?;
    if content.evidence.is_empty() {
        return Some(Reach::Everywhere);
    }
    let mut anchors = content.evidence.iter();
    let covers = anchors.any(|anchor| paths.iter().any(|path| anchor.at.covers(path)));
    covers.then_some(Reach::InHand)
}

/// Lays the norms that hold for `paths` out, a line each, the nearest first.
pub fn norms_page(
    norms: Vec<Entry>,
    workspace: &Workspace,
    paths: &[String],
    now: Timestamp,
    lay_out: impl Fn(&[Finding<'_>], Portion) -> Page,
) -> Page {
    let norms = norms_for(norms, workspace, paths, now);
    let findings: Vec<Finding<'_>> = norms
        .iter()
        .map(|(entry, facts)| Finding {
            entry,
            facts,
            score: 0.0,
            conflicts: &[],
        })
        .collect();
    lay_out(&findings, NORMS)
}

/// Takes out of `hits` what a briefing does not tell as knowledge: norms, which stand apart, and what is only heard.
/// Returns the latter.
pub fn set_apart(hits: &mut Vec<Hit>) -> Vec<EntryId> {
    hits.retain(|hit| hit.entry.id.prefix() != Prefix::Norm);
    take_heard(hits)
}

/// Takes out of `hits` what rests on one agent's word: nobody is told who did not ask. Returns which entries.
pub fn take_heard(hits: &mut Vec<Hit>) -> Vec<EntryId> {
    let heard = hits.extract_if(.., |hit| is_one_agents_word(&hit.entry));
    heard.map(|hit| hit.entry.id).collect()
}

/// What somebody is given of what was found, and what has to be written down about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dealt {
    pub page: Page,
    /// What is on the page without chance having decided so.
    pub shown: Vec<EntryId>,
    /// What chance decided: about what is on the page and what would have been.
    pub offers: Vec<Offer>,
    /// What fitted and is not told: there was no room, or it rests on one agent's word.
    pub passed: Vec<EntryId>,
}

/// Lays `hits` out and takes those away that chance keeps back, until none of them is on the page.
///
/// `unsaid` fitted as well and was taken out before.
pub fn deal(
    hits: &mut Vec<Hit>,
    offers: Vec<Offer>,
    unsaid: &[EntryId],
    page: impl Fn(&[Hit]) -> Page,
) -> Dealt {
    let withheld = |id: EntryId| {
        let mut offers = offers.iter();
        offers.any(|it| it.entry == id && it.arm == Arm::Withheld)
    };
    let mut decided = BTreeSet::new();
    let page = loop {
        let laid_out = page(hits);
        decided.extend(laid_out.ids());
        if !laid_out.shown.iter().any(|it| withheld(it.id)) {
            break laid_out;
        }
        hits.retain(|hit| !(decided.contains(&hit.entry.id) && withheld(hit.entry.id)));
    };
    let fitted = hits.iter().map(|hit| hit.entry.id);
    let fitted = fitted.filter(|id| !decided.contains(id));
    let passed = fitted.chain(unsaid.iter().copied()).collect();
    let by_chance: BTreeSet<EntryId> = offers.iter().map(|it| it.entry).collect();
    let mut shown = page.ids();
    shown.retain(|id| !by_chance.contains(id));
    let mut offers = offers;
    offers.retain(|it| decided.contains(&it.entry));
    Dealt {
        page,
        shown,
        offers,
        passed,
    }
}
