//! The start of work: which norms hold for what is in hand, and which entries chance keeps from an agent.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::Hit;
use crate::entry::Entry;
use crate::event::Arm;
use crate::facts::EntryFacts;
use crate::id::EntryId;
use crate::run::Offer;
use crate::score;
use crate::surface::Page;
use crate::time::Timestamp;
use crate::workspace::Workspace;

/// Norms that are told at most, a line each.
pub const NORMS_MAX: usize = 7;

/// How near a norm is to what is in hand; nearer ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    InHand,
    Everywhere,
}

/// Returns those of `norms` that hold for the whole repository or for `paths` and may be shown, the nearest first.
pub fn norms_for(
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

/// Lays hits out and takes those away that chance keeps back, until none of them is on the page.
///
/// Returns the page, and every entry chance decided about: what was shown, and what would have been.
pub fn deal(
    hits: &mut Vec<Hit>,
    offers: &BTreeMap<EntryId, Offer>,
    page: impl Fn(&[Hit]) -> Page,
) -> (Page, BTreeSet<EntryId>) {
    let withheld = |id: &EntryId| {
        let offer = offers.get(id);
        offer.is_some_and(|it| it.arm == Arm::Withheld)
    };
    let mut decided = BTreeSet::new();
    loop {
        let laid_out = page(hits);
        decided.extend(laid_out.shown.iter().map(|it| it.id));
        if !laid_out.shown.iter().any(|it| withheld(&it.id)) {
            return (laid_out, decided);
        }
        hits.retain(|hit| !(decided.contains(&hit.entry.id) && withheld(&hit.entry.id)));
    }
}
