//! Knowledge that reaches further than where it was learned: from a thread to its workspace, from there to the global
//! ledger, and, with an artifact and a person's approval, from one memory to another.
//!
//! Reading order: this file puts knowledge forward, `approval` lets people decide about it, `signers` says whose
//! signature counts, `global` keeps what more than one project knows.

mod approval;
mod global;
mod signers;

use ken_core::actor::Actor;
use ken_core::anchor::Anchor;
use ken_core::citation::{Citation, Evidence, EvidenceType};
use ken_core::content::{Content, Scope};
use ken_core::decide::{self, CITATIONS_MAX, Proposal, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{Body, Linked, Origin, Relation};
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::kind::{Kind, Memory};
use ken_core::store::Filter;
use ken_core::text::{Statement, Tag};

use crate::engine::Engine;
use crate::error::Error;

pub(crate) use approval::brought_approvals;
pub use approval::{Approving, PROMOTIONS_DIR, Standing, Waiting};
pub use global::{GlobalHome, Globally, Overlay};
pub use signers::{NAMESPACE, SIGNERS_FILE, SignatureError, Signers};

/// Entries one promotion may be made from.
pub const SOURCES_MAX: usize = 16;

/// Whether a person says that knowledge goes further all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The rules decide.
    Rules,
    /// A person takes upon themselves what is a matter of judgement.
    Person,
}

/// What shall become an entry of another memory.
#[derive(Clone, Debug)]
pub struct Forward {
    /// What it is made from.
    pub sources: Vec<EntryId>,
    /// What it shall be.
    pub kind: Kind,
    /// What it shall say; the words of its only source without it.
    pub statement: Option<Statement>,
    pub evidence: Vec<Anchor>,
    pub cite: Vec<Evidence>,
}

impl Engine {
    /// Lets an entry of a thread reach the whole workspace.
    pub fn promote_to_workspace(
        &mut self,
        id: EntryId,
        judgement: Judgement,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.widen(id, Scope::Workspace, judgement, by)
    }

    /// Returns why an entry may not reach as far as `to`, as a refusal.
    fn fit(
        &mut self,
        id: EntryId,
        to: Scope,
        judgement: Judgement,
        by: &Actor,
    ) -> Result<(), Error> {
        self.widening(id, to, judgement, by).map(drop)
    }

    /// Writes down that an entry reaches as far as `to`.
    fn widen(
        &mut self,
        id: EntryId,
        to: Scope,
        judgement: Judgement,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let draft = self.widening(id, to, judgement, by)?;
        self.record(vec![draft], by)?;
        self.render_due()?;
        self.entry(id)
    }

    /// Returns the draft that lets an entry reach as far as `to`, if it may.
    fn widening(
        &mut self,
        id: EntryId,
        to: Scope,
        judgement: Judgement,
        by: &Actor,
    ) -> Result<decide::Draft, Error> {
        let entry = self.entry(id)?;
        let looked = self.validity_of([&entry])?.get(&id).copied();
        let facts = EntryFacts::of(&entry, looked, self.now());
        let against = self.contradicts(id)?;
        let overridden = match judgement {
            Judgement::Rules => None,
            Judgement::Person => Some(by),
        };
        Ok(decide::widen(&entry, &facts, against, to, overridden)?)
    }

    /// Returns an entry in use that contradicts this one, where nobody has decided yet.
    fn contradicts(&self, id: EntryId) -> Result<Option<EntryId>, Error> {
        let mut open = self.workspace()?.open_contradictions();
        let mut linked = self.index.contradicting([id])?;
        let mut against = open.remove(&id).unwrap_or_default();
        against.extend(linked.remove(&id).unwrap_or_default());
        for other in against {
            if self.entry(other).is_ok_and(|it| it.is_live()) {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// Returns the entries of a thread that would stand being promoted: worth keeping before the thread is archived.
    pub fn worth_promoting(&mut self, thread: &Tag, by: &Actor) -> Result<Vec<EntryId>, Error> {
        let mut worth = Vec::new();
        for entry in self.list(&Filter::default())? {
            let is_its = entry.scope.value == Scope::Thread && entry.thread() == Some(thread);
            let fit = |it: &mut Self| it.fit(entry.id, Scope::Workspace, Judgement::Rules, by);
            if is_its && fit(self).is_ok() {
                worth.push(entry.id);
            }
        }
        Ok(worth)
    }

    /// Puts knowledge of one memory forward for another; it waits there for a person's approval.
    pub fn put_forward(&mut self, wish: Forward, by: &Actor) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        if wish.sources.is_empty() || SOURCES_MAX < wish.sources.len() {
            return Err(Error::Usage(format!(
                "name the entries it is made from, 1 to {SOURCES_MAX}"
            )));
        }
        let sources = wish.sources.iter().map(|id| self.entry(*id));
        let sources = sources.collect::<Result<Vec<Entry>, _>>()?;
        for source in &sources {
            self.may_be_source(source, wish.kind)?;
        }
        let proposal = self.proposal(wish, &sources, by)?;
        let ids = self.add_linked(proposal, &sources, by)?;
        self.entry(ids)
    }

    /// Refuses sources that say nothing, or that are where they shall go already.
    fn may_be_source(&self, source: &Entry, to: Kind) -> Result<(), Error> {
        if source.content.is_none() {
            return Err(Refusal::NoContent(source.id).into());
        }
        if source.retracted.is_some() {
            return Err(Refusal::AlreadyRetracted(source.id).into());
        }
        if !source.quarantine.is_empty() {
            return Err(Refusal::Quarantined(source.id).into());
        }
        let (from, into) = (source.id.prefix().memory(), to.memory());
        if from == into || into == Memory::Episodic {
            return Err(Error::Usage(format!(
                "{} is {} already; promoting leads from episodic to semantic, and from both to procedural",
                source.id,
                from.name()
            )));
        }
        if from == Memory::Procedural {
            return Err(Error::Usage(format!(
                "{} is a norm; nothing becomes less than that by promotion",
                source.id
            )));
        }
        if let Some(other) = self.contradicts(source.id)? {
            let why = ken_core::promotion::Unfit::Contradicted(other);
            let entry = source.id;
            return Err(Refusal::Unfit { entry, why }.into());
        }
        Ok(())
    }

    fn proposal(&self, wish: Forward, sources: &[Entry], by: &Actor) -> Result<Proposal, Error> {
        let statement = match (wish.statement, sources) {
            (Some(statement), _) => statement,
            (None, [one]) if one.id.prefix().memory() == Memory::Semantic => {
                let content = one.content.as_ref().ok_or(Refusal::NoContent(one.id))?;
                content.statement.clone()
            }
            (None, _) => {
                return Err(Error::Usage(
                    "say what it teaches: --statement TEXT".to_owned(),
                ));
            }
        };
        let now = self.now();
        let given = wish.cite.into_iter().map(|it| it.cite(by, now));
        let mut citations: Vec<Citation> = given.collect();
        citations.extend(sources.iter().flat_map(|it| it.citations.iter().cloned()));
        for source in sources {
            let evidence = Evidence {
                evidence_type: EvidenceType::Transcript,
                evidence_ref: source.id.to_string().parse().expect("an id is a reference"),
            };
            citations.push(evidence.cite(by, now));
        }
        citations.truncate(CITATIONS_MAX);
        let own = Origin::of(by);
        let origins = sources.iter().filter_map(|it| it.created.as_ref());
        let origin = origins.fold(own, |least, it| least.least(it.origin));
        let mut content = Content::new(statement);
        content.evidence = wish.evidence;
        let tags = sources.iter().filter_map(|it| it.content.as_ref());
        let tags = tags.flat_map(|it| it.tags.iter().cloned());
        content.tags = tags.take(Content::TAGS_MAX).collect();
        let mut proposal = Proposal::new(wish.kind, content, citations, origin);
        proposal.promoted_from = wish.sources;
        Ok(proposal)
    }

    /// Adds an entry and its links to what it is made from, in one step.
    fn add_linked(
        &mut self,
        mut proposal: Proposal,
        sources: &[Entry],
        by: &Actor,
    ) -> Result<EntryId, Error> {
        self.ground(&mut proposal.content, &mut None)?;
        let (event, entry) = self.admissible(&proposal, by)?;
        let mut drafts = vec![(Some(event), decide::propose(event, proposal)?)];
        for source in sources {
            let body = Body::Linked(Linked {
                to: source.id,
                rel: Relation::DerivedFrom,
                withdraws: Vec::new(),
            });
            let about = vec![entry.into(), source.id.into()];
            drafts.push((None, decide::Draft { about, body }));
        }
        self.record_as(drafts, by)?;
        self.render_due()?;
        Ok(entry)
    }
}
