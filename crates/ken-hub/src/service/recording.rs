//! Adding entries: a claim becomes a new entry, or an observation of an entry that already states
//! it.
//!
//! The response names no entry the agent has not been shown. Otherwise it would prime the agent for
//! the entry it is about to confirm independently.

use std::collections::BTreeSet;

use ken_core::decide::retracted_claims::RetractedClaims;
use ken_core::decide::{self, Proposal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Origin, SourceRun};
use ken_core::trust::run::existing_claim::{ExistingClaim, find_existing_claim};
use ken_core::trust::run::{Run, RunFinding, RunNote};
use ken_core::values::actor::Actor;
use ken_core::values::anchor::Anchor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::text::{Body, Statement, Step, Tag};

use super::{EntryReader, ObservedFinding, ServiceError, WorkspaceSession, record_finding};
use crate::clock::random_u128;
use crate::database::audit::AuditAction;
use crate::ids::Role;

pub use ken_core::trust::run::existing_claim::RecordOutcome;

/// Attempts to generate an unused entry id. Two collisions in a row are already next to impossible.
const ID_TRIES: usize = 8;

/// A claim to add, with its citations and anchors.
#[derive(Clone, Debug)]
pub struct AddEntryRequest {
    pub reader: EntryReader,
    pub statement: Statement,
    pub body: Option<Body>,
    pub kind: EntryKind,
    pub anchors: Vec<Anchor>,
    pub cites: Vec<CitationSource>,
    pub verify: Vec<Step>,
    pub tags: BTreeSet<Tag>,
}

/// Adds a claim as an entry, or records an observation if an entry already states it.
pub async fn add_entry(
    session: &mut WorkspaceSession,
    request: AddEntryRequest,
) -> Result<RecordOutcome, ServiceError> {
    session.require_role(Role::Agent, "adding an entry")?;
    session.ensure_may_write_as(&request.reader.agent)?;
    // Locked before the comparison: two agents that send the same claim at once must not both
    // create an entry.
    session.lock().await?;
    let matching = session.find_equivalent_entries(&request.statement).await?;
    let matching: Vec<EntryId> = matching.into_iter().collect();
    let equivalent = session.tx.entries(&matching).await?;
    let run = session.load_reader_run(&request.reader).await?;
    let (agent, statement) = (&request.reader.agent, &request.statement);
    match find_existing_claim(run.as_ref(), agent, statement, &equivalent) {
        Some(ExistingClaim::Added(id)) => Ok(RecordOutcome::Entry(Box::new(
            session.load_entry(id).await?,
        ))),
        Some(ExistingClaim::Found(seen)) => Ok(RecordOutcome::Noted(seen)),
        Some(ExistingClaim::Elsewhere(seen)) => {
            let reader = request.reader.clone();
            let finding = RunFinding::new(request.statement, request.anchors, request.verify);
            record_finding(session, ObservedFinding { reader, finding }).await?;
            Ok(RecordOutcome::Noted(seen))
        }
        None => {
            let entry = session.add_reader_entry(request, run).await?;
            Ok(RecordOutcome::Entry(Box::new(entry)))
        }
    }
}

impl WorkspaceSession {
    /// Adds an entry in its reader's name, as part of the reader's run.
    async fn add_reader_entry(
        &mut self,
        request: AddEntryRequest,
        run: Option<Run>,
    ) -> Result<Entry, ServiceError> {
        let agent = request.reader.agent.clone();
        let now = self.now;
        let mut content = Content::new(request.statement);
        content.body = request.body;
        content.anchors = request.anchors;
        content.verify = request.verify;
        content.tags = request.tags;
        let citations = request.cites.into_iter().map(|cite| cite.cite(&agent, now));
        let origin = Origin::from_actor(&agent);
        let mut proposal = Proposal::new(request.kind, content, citations.collect(), origin);
        if let Some(run) = &run {
            proposal.thread.clone_from(&run.thread);
            let (id, outcome) = (run.id.clone(), None);
            proposal.run = Some(SourceRun { id, outcome });
        }
        let entry = self.add_proposal(proposal, &agent).await?;
        if let Some(run) = run {
            let entries = vec![entry.id];
            let note = RunNote::Added {
                agent: agent.clone(),
                entries,
            };
            self.append_run_note(&run.id, note, &agent).await?;
        }
        Ok(entry)
    }

    /// Adds an entry unless the same claim was retracted before.
    pub(super) async fn add_proposal(
        &mut self,
        proposal: Proposal,
        by: &Actor,
    ) -> Result<Entry, ServiceError> {
        self.lock().await?;
        let stones = self.load_retracted_claims().await?;
        stones.check(&proposal.content.statement, proposal.overrides, by)?;
        // The entry's id derives from its event's id, so the event id is chosen here and not by the
        // clock.
        let (event, entry) = self.generate_entry_id(proposal.kind).await?;
        let draft = decide::propose(event, proposal)?;
        let record = (AuditAction::EventsRecorded, &*entry.to_string());
        self.append_drafts(vec![(Some(event), draft)], by, record)
            .await?;
        self.load_entry(entry).await
    }

    pub(super) async fn load_retracted_claims(&mut self) -> Result<RetractedClaims, ServiceError> {
        Ok(RetractedClaims::new(self.tx.tombstones().await?))
    }

    async fn generate_entry_id(
        &mut self,
        kind: EntryKind,
    ) -> Result<(EventId, EntryId), ServiceError> {
        for _ in 0..ID_TRIES {
            let event = EventId::new(self.now, random_u128());
            let entry = EntryId::created_by(event, kind);
            if self.tx.entry(entry).await?.is_none() {
                return Ok((event, entry));
            }
        }
        Err(ServiceError::Conflict(
            "no unused entry id was found; send the request again".to_owned(),
        ))
    }
}
