//! Several entries condensed into one: what they say together, in words somebody chose.

use std::collections::BTreeSet;

use crate::actor::Actor;
use crate::citation::Citation;
use crate::content::{Content, DecayClass, Scope};
use crate::entry::Entry;
use crate::event::{Body, Effect, KnowledgeDistilled, Linked, Origin, Relation};
use crate::facts::{Beta, Validity};
use crate::id::{EntryId, EventId};
use crate::kind::{Kind, Memory};
use crate::maintenance::{Category, Policy};
use crate::text::Statement;
use crate::time::Date;
use crate::together::{EDGE_WEIGHT, Edge, clusters};

use super::{CITATIONS_MAX, Draft, Proposal, Refusal, effects, propose, writable};

/// Entries it takes to condense anything.
pub const SOURCES_MIN: usize = 2;

/// Entries that may be condensed into one.
pub const SOURCES_MAX: usize = 32;

/// What a distilled entry is believed at most, as alpha.
pub const DISTILLED_ALPHA_MAX: f64 = 30.0;

/// How the name of the run begins that hands over what the sources earned.
const RUN_PREFIX: &str = "distilled-";

/// Entries to be condensed, and the words for it.
#[derive(Clone, Debug)]
pub struct Distillation<'a> {
    pub sources: &'a [Entry],
    pub statement: Statement,
    pub kind: Kind,
    /// How the sources are used together; empty where they never were.
    pub edges: &'a [Edge],
    pub policy: &'a Policy,
    pub today: Date,
}

/// Returns the proposal of a distilled entry: it rests on all its sources rest on, and is trusted as the least of them.
///
/// A person may condense what they like. Anybody else needs the policy's leave, and sources that are used
/// together densely.
pub fn distilled(it: &Distillation<'_>, by: &Actor) -> Result<Proposal, Refusal> {
    check_sources(it.sources)?;
    if !by.is_human() {
        check_leave(it, by)?;
    }
    let mut content = Content::new(it.statement.clone());
    let (mut citations, mut origins): (Vec<Citation>, Vec<Origin>) = (Vec::new(), Vec::new());
    let mut scope = Scope::Global;
    for source in it.sources {
        let theirs = source.content.as_ref();
        let theirs = theirs.ok_or(Refusal::NoContent(source.id))?;
        content.tags.extend(theirs.tags.iter().cloned());
        for anchor in &theirs.evidence {
            if !content.evidence.contains(anchor) && content.evidence.len() < Content::ANCHORS_MAX {
                content.evidence.push(anchor.clone());
            }
        }
        for citation in &source.citations {
            if !citations.contains(citation) && citations.len() < CITATIONS_MAX {
                citations.push(citation.clone());
            }
        }
        origins.extend(source.created.as_ref().map(|created| created.origin));
        scope = scope.min(source.scope.value);
    }
    while Content::TAGS_MAX < content.tags.len() {
        content.tags.pop_last();
    }
    content.decay = DecayClass::Stable;
    let origin = origins.into_iter().fold(Origin::of(by), Origin::least);
    let mut proposal = Proposal::new(it.kind, content, citations, origin);
    proposal.scope = scope;
    Ok(proposal)
}

/// Turns a proposal made by [`distilled`] into the event with id `id`, and what goes with it: that it was distilled,
/// what the sources earned, and where it came from.
pub fn distil(
    id: EventId,
    proposal: Proposal,
    it: &Distillation<'_>,
) -> Result<Vec<Draft>, Refusal> {
    let entry = EntryId::created_by(id, proposal.kind);
    let sources: Vec<EntryId> = it.sources.iter().map(|source| source.id).collect();
    let about = [entry].into_iter().chain(sources.iter().copied());
    let noted = Draft {
        about: about.map(Into::into).collect(),
        body: Body::KnowledgeDistilled(KnowledgeDistilled {
            entry,
            sources: sources.clone(),
            cluster_weight_milli: weight_milli(it.edges),
        }),
    };
    let earned = earned(it.sources, it.today);
    let effect = Effect {
        entry,
        alpha_milli: milli(earned.alpha - Beta::PRIOR.alpha),
        beta_milli: milli(earned.beta - Beta::PRIOR.beta),
        shown: 0,
        blind: 0,
        since: None,
        trials: Vec::new(),
    };
    let has_earned = 0 < effect.alpha_milli + effect.beta_milli;
    let mut drafts = vec![propose(id, proposal)?, noted];
    let run = format!("{RUN_PREFIX}{entry}");
    drafts.extend(has_earned.then(|| effects(&run, &[effect])));
    for to in sources {
        let rel = Relation::DerivedFrom;
        let withdraws = Vec::new();
        drafts.push(Draft {
            about: vec![entry.into(), to.into()],
            body: Body::Linked(Linked { to, rel, withdraws }),
        });
    }
    Ok(drafts)
}

/// Returns what is believed of an entry that several were condensed into: all they earned, held to
/// [`DISTILLED_ALPHA_MAX`].
///
/// Alpha is raised, confidence is not: beta is scaled alike, so the mean lies among those of the sources.
pub fn earned(sources: &[Entry], today: Date) -> Beta {
    let (mut alpha, mut beta) = (0.0, 0.0);
    for source in sources {
        let believed = source.posterior(Validity::Unverifiable, today);
        alpha += believed.alpha - Beta::PRIOR.alpha;
        beta += believed.beta - Beta::PRIOR.beta;
    }
    let room = DISTILLED_ALPHA_MAX - Beta::PRIOR.alpha;
    let scale = if room < alpha { room / alpha } else { 1.0 };
    Beta {
        alpha: Beta::PRIOR.alpha + scale * alpha,
        beta: Beta::PRIOR.beta + scale * beta,
    }
}

fn check_sources(sources: &[Entry]) -> Result<(), Refusal> {
    let ids: BTreeSet<EntryId> = sources.iter().map(|it| it.id).collect();
    if ids.len() < SOURCES_MIN || ids.len() != sources.len() {
        return Err(Refusal::TooFewSources { count: ids.len() });
    }
    if SOURCES_MAX < sources.len() {
        return Err(Refusal::TooMany {
            what: "sources",
            count: sources.len(),
            max: SOURCES_MAX,
        });
    }
    for source in sources {
        writable(source)?;
        if !source.quarantine.is_empty() {
            return Err(Refusal::Quarantined(source.id));
        }
        match source.id.prefix().memory() {
            Memory::Semantic if source.is_live() => {}
            Memory::Semantic | Memory::Procedural | Memory::Episodic => {
                return Err(Refusal::NotDistillable(source.id));
            }
        }
    }
    Ok(())
}

fn check_leave(it: &Distillation<'_>, by: &Actor) -> Result<(), Refusal> {
    let ids: BTreeSet<EntryId> = it.sources.iter().map(|source| source.id).collect();
    let mut found = clusters(it.edges).into_iter();
    let is_dense = found.any(|it| it.is_worth_distilling() && ids.is_subset(&it.entries));
    match it.policy.allows(Category::Distillation) && is_dense {
        true => Ok(()),
        false => Err(Refusal::PersonNeeded {
            what: "condensing entries that no policy lets be condensed",
            by: by.clone(),
        }),
    }
}

/// Returns what the pairs that hold the sources together weigh on average, in thousandths.
fn weight_milli(edges: &[Edge]) -> u32 {
    let strong = edges.iter().map(|edge| edge.weight);
    let strong: Vec<f64> = strong.filter(|weight| EDGE_WEIGHT < *weight).collect();
    let count = u32::try_from(strong.len()).unwrap_or(u32::MAX);
    milli(strong.iter().sum::<f64>() / f64::from(count.max(1)))
}

/// Returns thousandths of what is not negative and small.
fn milli(value: f64) -> u32 {
    libm::round(value.max(0.0) * 1000.0) as u32
}
