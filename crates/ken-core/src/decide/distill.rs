//! Distillation: one new entry that summarizes several.

use std::collections::BTreeSet;

use crate::health::maintenance::{MaintenanceCategory, MaintenancePolicy};
use crate::ledger::cooccurrence::{CooccurrenceEdge, EDGE_WEIGHT, find_clusters};
use crate::ledger::entry::Entry;
use crate::ledger::event::{EntryEffect, EventBody, KnowledgeDistilled, Linked, Origin, Relation};
use crate::trust::facts::{BetaPosterior, Validity};
use crate::values::actor::Actor;
use crate::values::citation::Citation;
use crate::values::content::{Content, DecayClass, EntryScope};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, Memory};
use crate::values::text::Statement;
use crate::values::time::Date;

use super::{
    CITATIONS_MAX, Draft, Proposal, Refusal, ensure_writable, propose, record_run_effects,
};

/// Minimum number of sources.
pub const SOURCES_MIN: usize = 2;

/// Maximum number of sources.
pub const SOURCES_MAX: usize = 32;

/// Maximum alpha of a distilled entry.
pub const DISTILLED_ALPHA_MAX: f64 = 30.0;

/// Prefix of the run id under which the sources' evidence is transferred.
const RUN_PREFIX: &str = "distilled-";

/// The sources and the statement of a distillation.
#[derive(Clone, Debug)]
pub struct DistillRequest<'a> {
    pub sources: &'a [Entry],
    pub statement: Statement,
    pub kind: EntryKind,
    /// Co-occurrence of the sources; empty if they were never used together.
    pub edges: &'a [CooccurrenceEdge],
    pub policy: &'a MaintenancePolicy,
    pub today: Date,
}

/// Returns the proposal of a distilled entry, with all citations and anchors of its sources and
/// their least trusted origin.
///
/// A person may distill any sources. An agent needs permission from the policy, and sources that
/// form a dense cluster.
pub fn distilled_proposal(request: &DistillRequest<'_>, by: &Actor) -> Result<Proposal, Refusal> {
    check_sources(request.sources)?;
    if !by.is_human() {
        check_policy(request, by)?;
    }
    let mut content = Content::new(request.statement.clone());
    let (mut citations, mut origins): (Vec<Citation>, Vec<Origin>) = (Vec::new(), Vec::new());
    // The widest scope is the neutral start; the narrowest source decides.
    let mut scope = EntryScope::Global;
    for source in request.sources {
        let theirs = source
            .content
            .as_ref()
            .ok_or(Refusal::NoContent(source.id))?;
        content.tags.extend(theirs.tags.iter().cloned());
        for anchor in &theirs.anchors {
            if !content.anchors.contains(anchor) && content.anchors.len() < Content::ANCHORS_MAX {
                content.anchors.push(anchor.clone());
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
    while content.tags.len() > Content::TAGS_MAX {
        content.tags.pop_last();
    }
    content.decay = DecayClass::Stable;
    let origin = origins
        .into_iter()
        .fold(Origin::from_actor(by), Origin::least_trusted);
    let mut proposal = Proposal::new(request.kind, content, citations, origin);
    proposal.scope = scope;
    Ok(proposal)
}

/// Turns a proposal from [`distilled_proposal`] into the drafts of event `id` and its companions:
/// the distillation record, the transferred evidence and the links to the sources.
pub fn distill(
    id: EventId,
    proposal: Proposal,
    request: &DistillRequest<'_>,
) -> Result<Vec<Draft>, Refusal> {
    let entry = EntryId::created_by(id, proposal.kind);
    let sources: Vec<EntryId> = request.sources.iter().map(|source| source.id).collect();
    let about = [entry].into_iter().chain(sources.iter().copied());
    let record = Draft {
        about: about.map(Into::into).collect(),
        body: EventBody::KnowledgeDistilled(KnowledgeDistilled {
            entry,
            sources: sources.clone(),
            cluster_weight_milli: mean_weight_milli(request.edges),
        }),
    };
    // Only the evidence beyond the prior is stored: the new entry's posterior adds the prior again.
    let earned = distilled_posterior(request.sources, request.today);
    let effect = EntryEffect {
        entry,
        alpha_milli: to_milli(earned.alpha - BetaPosterior::PRIOR.alpha),
        beta_milli: to_milli(earned.beta - BetaPosterior::PRIOR.beta),
        shown: 0,
        blind: 0,
        unseen: 0,
        since: None,
        source_outcome: None,
        trials: Vec::new(),
    };
    let has_earned = effect.alpha_milli + effect.beta_milli > 0;
    let mut drafts = vec![propose(id, proposal)?, record];
    let run = format!("{RUN_PREFIX}{entry}");
    drafts.extend(has_earned.then(|| record_run_effects(&run, &[effect])));
    // Links, not a merge: the sources stay live and can be read on their own.
    for to in sources {
        let rel = Relation::DerivedFrom;
        let withdraws = Vec::new();
        drafts.push(Draft {
            about: vec![entry.into(), to.into()],
            body: EventBody::Linked(Linked { to, rel, withdraws }),
        });
    }
    Ok(drafts)
}

/// Returns the posterior of a distilled entry: the evidence of all its sources at their mean, with
/// an alpha of at most [`DISTILLED_ALPHA_MAX`].
///
/// The mean stays within the range of the sources: one run may have confirmed them all, so their
/// sum is more evidence but no better evidence.
pub fn distilled_posterior(sources: &[Entry], today: Date) -> BetaPosterior {
    let prior = BetaPosterior::PRIOR;
    let (mut alpha, mut beta) = (0.0, 0.0);
    let (mut alpha_evidence, mut beta_evidence) = (0.0, 0.0);
    for source in sources {
        let posterior = source.posterior(Validity::Unverifiable, today);
        alpha += posterior.alpha;
        beta += posterior.beta;
        alpha_evidence += posterior.alpha - prior.alpha;
        beta_evidence += posterior.beta - prior.beta;
    }
    let observations = prior.alpha + prior.beta + alpha_evidence + beta_evidence;
    let distilled_alpha = (observations * alpha / (alpha + beta)).min(DISTILLED_ALPHA_MAX);
    BetaPosterior {
        alpha: distilled_alpha,
        beta: distilled_alpha * beta / alpha,
    }
}

fn check_sources(sources: &[Entry]) -> Result<(), Refusal> {
    let ids: BTreeSet<EntryId> = sources.iter().map(|source| source.id).collect();
    // A source named twice would count its evidence twice.
    if ids.len() < SOURCES_MIN || ids.len() != sources.len() {
        return Err(Refusal::TooFewSources { count: ids.len() });
    }
    if sources.len() > SOURCES_MAX {
        return Err(Refusal::TooMany {
            what: "sources",
            count: sources.len(),
            max: SOURCES_MAX,
        });
    }
    for source in sources {
        ensure_writable(source)?;
        if !source.quarantine.is_empty() {
            return Err(Refusal::Quarantined(source.id));
        }
        // Only people create norms, and episodic entries are raw observations.
        match source.id.prefix().memory() {
            Memory::Semantic if source.is_live() => {}
            Memory::Semantic | Memory::Procedural | Memory::Episodic => {
                return Err(Refusal::NotDistillable(source.id));
            }
        }
    }
    Ok(())
}

fn check_policy(request: &DistillRequest<'_>, by: &Actor) -> Result<(), Refusal> {
    let ids: BTreeSet<EntryId> = request.sources.iter().map(|source| source.id).collect();
    let is_dense = find_clusters(request.edges)
        .into_iter()
        .any(|cluster| cluster.is_worth_distilling() && ids.is_subset(&cluster.entries));
    if request.policy.allows(MaintenanceCategory::Distillation) && is_dense {
        Ok(())
    } else {
        Err(Refusal::PersonNeeded {
            what: "distilling entries that no policy allows to distill",
            by: by.clone(),
        })
    }
}

/// Returns the mean weight of the strong edges between the sources, in thousandths.
fn mean_weight_milli(edges: &[CooccurrenceEdge]) -> u32 {
    let weights = edges.iter().map(|edge| edge.weight);
    let strong: Vec<f64> = weights.filter(|weight| *weight > EDGE_WEIGHT).collect();
    let count = u32::try_from(strong.len()).unwrap_or(u32::MAX);
    to_milli(strong.iter().sum::<f64>() / f64::from(count.max(1)))
}

/// Converts a small non-negative value to thousandths.
fn to_milli(value: f64) -> u32 {
    // `libm` instead of the platform's math library, so every machine writes the same event.
    libm::round(value.max(0.0) * 1000.0) as u32
}
