//! Closing of runs: loads the touched entries, lets `ken_core` decide, and appends the result, all
//! in one transaction.

use std::collections::BTreeMap;

use ken_core::decide;
use ken_core::decide::closing_events::{closing_drafts, proposal_for};
use ken_core::trust::facts::Validity;
use ken_core::trust::run::Run;
use ken_core::trust::run::accumulation::{AcceptedFinding, accept_findings};
use ken_core::trust::run::closed::{ClosedRun, FindingOutcomes};
use ken_core::trust::run::closing::{
    RunClosing, RunEnding, TouchedEntry, close_run, collect_touched_entries, entry_authors,
};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::status::EntryStatus;

use crate::database::audit::AuditAction;
use crate::ids::Role;
use crate::service::{ServiceError, WorkspaceSession};

impl WorkspaceSession {
    /// Closes a run. The caller must hold the workspace's lock: two concurrent closings would count
    /// everything twice.
    pub(super) async fn end_run(
        &mut self,
        mut run: Run,
        ending: &RunEnding,
        by: &Actor,
    ) -> Result<ClosedRun, ServiceError> {
        let FindingOutcomes { gained, refused } = self.accumulate(&mut run, ending, by).await?;
        let touched = self.load_touched(&run).await?;
        let mut closing = self.decide_closing(&run, ending, &touched).await?;
        closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
        let drafts = closing_drafts(&run, &closing, &touched, Vec::new(), self.now.date())?;
        // Deterministic event ids protect a repository that crashes between appending and deleting
        // the run. Here both are one transaction, and predictable ids could be taken by an attacker
        // who knows the run.
        let drafts = drafts.into_iter().map(|(_, draft)| (None, draft)).collect();
        let record = (AuditAction::EventsRecorded, &*run.id);
        self.append_drafts(drafts, by, record).await?;
        self.remove_run(&run).await?;
        Ok(ClosedRun {
            run,
            closing,
            gained,
            refused,
        })
    }

    async fn decide_closing(
        &mut self,
        run: &Run,
        ending: &RunEnding,
        touched: &[TouchedEntry],
    ) -> Result<RunClosing, ServiceError> {
        let agents: Vec<&Actor> = run.agents.keys().collect();
        let outside = self.load_implicit_runs(&agents).await?;
        let mut before = BTreeMap::new();
        for agent in run.agents.keys() {
            before.insert(
                agent,
                self.load_prior_exposures(run, agent, &outside).await?,
            );
        }
        let before = |agent: &Actor| before.get(agent).cloned().unwrap_or_default();
        let policy = self.review_policy().await?;
        let mut closing = close_run(run, ending, touched, &before, policy, self.now);
        // An agent names the participants of its runs, so what they found cannot verify anything:
        // it confirms. Pushed, the same decision would need a curator's token, too.
        if self.caller.role < Role::Curator {
            closing
                .promoted
                .retain(|_, to| *to != EntryStatus::Verified);
        }
        Ok(closing)
    }

    /// Loads every entry a run showed, withheld, used, wrote or found again. Without source code
    /// their validity is unverifiable.
    async fn load_touched(&mut self, run: &Run) -> Result<Vec<TouchedEntry>, ServiceError> {
        let ids: Vec<EntryId> = run.touched_entries().into_iter().collect();
        let entries = self.tx.entries(&ids).await?;
        let mut touched = collect_touched_entries(run, entries, |_| Validity::Unverifiable);
        // Only findings need the authors: an author cannot confirm its own entry. Each is a query.
        for found in touched.iter_mut().filter(|it| !it.found_by.is_empty()) {
            let history = self.tx.history(found.entry.id).await?;
            found.authors = entry_authors(&found.entry, &history);
        }
        Ok(touched)
    }

    /// Loads an agent's exposures before a run: in its session, and in implicit runs.
    async fn load_prior_exposures(
        &mut self,
        run: &Run,
        agent: &Actor,
        outside: &[Run],
    ) -> Result<ExposureSet, ServiceError> {
        let in_session = match run.session_of(agent) {
            Some(session) => self.load_session_exposures(session).await?,
            None => ExposureSet::default(),
        };
        Ok(run.prior_exposures(agent, in_session, outside))
    }

    /// Adds entries for new findings, and notes which entries already state the others.
    async fn accumulate(
        &mut self,
        run: &mut Run,
        ending: &RunEnding,
        by: &Actor,
    ) -> Result<FindingOutcomes, ServiceError> {
        for found in run.unmatched_findings() {
            // Another agent may have added the entry since the finding was recorded.
            found.says = self
                .find_equivalent_entries(&found.finding.statement)
                .await?;
        }
        let mut results = FindingOutcomes::default();
        for gained in accept_findings(run, ending.outcome) {
            match self.add_finding(&gained, run, ending, by).await {
                Ok(id) => results.gained.push(id),
                // A finding that the rules or the guard refuse must not keep the run from closing;
                // it is reported instead.
                Err(
                    why @ (ServiceError::Refused(_)
                    | ServiceError::GuardRejected(_)
                    | ServiceError::InvalidRequest(_)),
                ) => {
                    results.refused.push((gained.finding, why.to_string()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(results)
    }

    /// Adds an entry for a finding, with the same checks as any other entry.
    async fn add_finding(
        &mut self,
        gained: &AcceptedFinding,
        run: &Run,
        ending: &RunEnding,
        by: &Actor,
    ) -> Result<EntryId, ServiceError> {
        let proposal =
            proposal_for(gained, run, ending, self.now).map_err(ServiceError::invalid_request)?;
        // The finder is the author, not the actor that closes the run, provided the caller may
        // write in the finder's name.
        let finder = gained.found_by.first().filter(|it| self.may_act_as(it));
        let author = finder.unwrap_or(by);
        let entry = self.add_proposal(proposal, author).await?;
        let drafts =
            decide::changes_after_gain(&entry, gained, run, ending.outcome, self.now.date())?;
        let drafts = drafts.into_iter().map(|draft| (None, draft)).collect();
        let record = (AuditAction::EventsRecorded, &*entry.id.to_string());
        self.append_drafts(drafts, by, record).await?;
        Ok(entry.id)
    }
}
