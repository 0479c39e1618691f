//! Events a policy writes at the end of a run.
//!
//! The core closes the run for every policy. Ken writes the core's decisions. The other policies
//! replace the decisions on confirmation and archiving with their own rule and keep the rest.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::{self, Draft};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    ArchiveReason, Channel, EventBody, Outcome, Provenance, Reanchored, RetractReason,
};
use ken_core::trust::facts::Validity;
use ken_core::trust::rediscovery::RediscoveryMode;
use ken_core::trust::run::Run;
use ken_core::trust::run::accumulation::AcceptedFinding;
use ken_core::trust::run::closing::{RunClosing, RunEnding, TouchedEntry, close_run};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::values::anchor::Anchor;
use ken_core::values::id::EntryId;
use ken_core::values::status::EntryStatus;

use super::{SimulatedRun, Simulation};
use crate::accumulation::accept_findings;
use crate::memory::{EntrySource, PolicyEntry};
use crate::policy::{ExpiryRenewal, KnowledgePolicy};
use crate::world::ClaimId;

impl Simulation {
    /// Closes the run and writes the resulting events.
    pub(super) fn close(&mut self, work: &SimulatedRun) {
        let run = self.build_run(work);
        // A run succeeds if at least half of its agents do.
        let outcome = if 2 * work.succeeded >= self.agents.len() {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        };
        let ending = RunEnding {
            outcome,
            quality_milli: None,
            rounds: 1,
            cost_micros: 0,
            strategy: None,
        };
        let touched = self.touched(work);
        let now = self.memory.now;
        let mut closing = close_run(
            &run,
            &ending,
            &touched,
            &|_| ExposureSet::default(),
            self.review,
            now,
        );
        self.apply_policy(&touched, &run, outcome, work, &mut closing);
        self.write(&touched, &closing);
        self.add_new_entries(&run, outcome, work);
    }

    /// Archives entries that are too old for the policy.
    pub(super) fn archive_expired(&mut self) {
        let today = self.memory.now.date();
        let old = self.memory.all().filter(|stored| {
            let last = stored.entry.confirmation.last;
            let age = last.map_or(0, |last| today.days_since(last));
            stored.entry.is_live() && self.policy.is_too_old(age)
        });
        let old: Vec<Entry> = old.map(|stored| stored.entry.clone()).collect();
        for entry in old {
            self.tell(decide::archive(&entry, ArchiveReason::Age).map(|it| [it]));
        }
        self.memory.settle();
    }

    /// Writes that an agent pointed an entry at changed code, where the policy reads it.
    pub(super) fn record_new_anchor(&mut self, id: EntryId, run: usize) {
        let stored = self.memory.get(id);
        let changed = stored.filter(|it| self.validity(it) == Some(Validity::Changed));
        let entry = changed.map(|stored| stored.entry.clone());
        let Some(entry) = entry.filter(|_| self.policy.mode() != RediscoveryMode::Observe) else {
            return;
        };
        let anchor = Anchor {
            at: "src/lib.rs".parse().expect("a path"),
            // Other code has another fingerprint; its value has no meaning here.
            fingerprint: Some(format!("run-{run}")),
        };
        let draft = Draft {
            about: vec![id.into()],
            body: EventBody::Reanchored(Reanchored {
                anchors: vec![anchor],
                replaces: entry.revision,
                origin: None,
            }),
        };
        self.memory.tell(draft, &self.agents[0]);
    }

    /// Retracts a claim as a person.
    pub(super) fn retract(&mut self, claim: ClaimId) {
        let stored = self.memory.entry_of_claim(claim);
        let Some(entry) = stored.map(|stored| stored.entry.clone()) else {
            return;
        };
        let retracted = decide::retract(&entry, RetractReason::False, Channel::Command, None);
        self.tell(retracted.map(|it| [it]));
        // Without tombstones the claim may be added again.
        if !self.policy.has_tombstones() {
            self.memory.delete(claim);
        }
        self.retracted.insert(claim);
    }

    /// Returns the entries that matched an agent's work or were found.
    fn touched(&self, work: &SimulatedRun) -> Vec<TouchedEntry> {
        let found = work
            .found
            .keys()
            .filter_map(|id| self.memory.entry_of_claim(*id));
        let found = found.map(|stored| stored.entry.id);
        let ids: BTreeSet<EntryId> = found.chain(work.fitted.iter().copied()).collect();
        let stored = ids.into_iter().filter_map(|id| self.memory.get(id));
        stored.map(|stored| self.touch(stored, work)).collect()
    }

    fn touch(&self, stored: &PolicyEntry, work: &SimulatedRun) -> TouchedEntry {
        let findings = work.found.get(&stored.claim).into_iter().flatten();
        TouchedEntry {
            entry: stored.entry.clone(),
            validity: self.validity(stored).unwrap_or(Validity::Unverifiable),
            // Every claim has at most one entry, so there are no duplicates.
            same: BTreeSet::from([stored.entry.id]),
            found_by: findings
                .map(|(agent, _)| self.agents[*agent].clone())
                .collect(),
            authors: BTreeSet::new(),
        }
    }

    /// Replaces the core's decisions with the policy's own rule, except for Ken.
    fn apply_policy(
        &self,
        touched: &[TouchedEntry],
        run: &Run,
        outcome: Outcome,
        work: &SimulatedRun,
        closing: &mut RunClosing,
    ) {
        if let KnowledgePolicy::Ken { .. } = self.policy {
            return;
        }
        let mut confirmed = BTreeSet::new();
        let mut restored = Vec::new();
        for it in touched {
            let id = it.entry.id;
            let is_archived = it.entry.archived.is_some();
            // An archived entry needs as much support as a new one.
            if is_archived && self.is_restored(it, run, outcome, work) {
                restored.push(id);
                confirmed.insert(id);
            }
            if !is_archived && self.confirms(it, run) {
                confirmed.insert(id);
            }
        }
        // The core archived without knowing the policy's confirmations.
        closing.archived.retain(|id| !confirmed.contains(id));
        closing.promoted = match self.policy {
            KnowledgePolicy::Reinforcement { .. } => {
                let is_new = |it: &&TouchedEntry| it.entry.status.value != EntryStatus::Verified;
                let ids = touched.iter().filter(is_new).map(|it| it.entry.id);
                let rising = ids.filter(|id| confirmed.contains(id));
                rising.map(|id| (id, EntryStatus::Verified)).collect()
            }
            KnowledgePolicy::Ken { .. }
            | KnowledgePolicy::KeepEverything { .. }
            | KnowledgePolicy::TimeDecay { .. }
            | KnowledgePolicy::Citation { .. } => BTreeMap::new(),
        };
        let independent = confirmed
            .into_iter()
            .map(|id| (id, Provenance::Independent));
        closing.found = independent.collect();
        closing.restored = restored;
    }

    /// Returns whether the run confirms an entry under a policy other than Ken.
    fn confirms(&self, it: &TouchedEntry, run: &Run) -> bool {
        let id = it.entry.id;
        let mut agents = run.agents.values();
        match self.policy {
            KnowledgePolicy::Ken { .. } | KnowledgePolicy::KeepEverything { .. } => false,
            KnowledgePolicy::Reinforcement { .. } => !it.found_by.is_empty(),
            KnowledgePolicy::TimeDecay { .. } => agents.any(|agent| agent.shown.contains_key(&id)),
            KnowledgePolicy::Citation { renewal, .. } => match renewal {
                ExpiryRenewal::Never => false,
                ExpiryRenewal::Use => {
                    it.validity != Validity::Changed && agents.any(|agent| agent.used.contains(&id))
                }
            },
        }
    }

    /// Returns whether the findings restore an archived entry under a policy other than Ken.
    fn is_restored(
        &self,
        it: &TouchedEntry,
        run: &Run,
        outcome: Outcome,
        work: &SimulatedRun,
    ) -> bool {
        let claim = self.memory.get(it.entry.id).map(|stored| stored.claim);
        claim.is_some_and(|claim| self.gains(claim, run, outcome, work).is_some())
    }

    fn gains(
        &self,
        claim: ClaimId,
        run: &Run,
        outcome: Outcome,
        work: &SimulatedRun,
    ) -> Option<AcceptedFinding> {
        let findings = work.found.get(&claim)?;
        let findings = findings
            .iter()
            .map(|(agent, finding)| (&self.agents[*agent], finding));
        let findings: Vec<_> = findings.collect();
        accept_findings(run, outcome, &findings, self.policy.gate())
    }

    /// Creates entries from findings that no entry states yet.
    fn add_new_entries(&mut self, run: &Run, outcome: Outcome, work: &SimulatedRun) {
        for claim in work.found.keys().copied() {
            if self.memory.entry_of_claim(claim).is_some() {
                continue;
            }
            let Some(gained) = self.gains(claim, run, outcome, work) else {
                continue;
            };
            let finder = gained.found_by.first();
            let source = EntrySource {
                by: finder.expect("somebody found it"),
                run: &work.name,
                number: work.number,
                outcome,
            };
            let claim_state = &self.code.claims[claim];
            let entry = self.memory.propose(claim, claim_state, gained.kind, source);
            // Events after an accepted finding are part of Ken's lifecycle only.
            if let KnowledgePolicy::Ken { .. } = self.policy {
                let today = self.memory.now.date();
                self.tell(decide::changes_after_gain(
                    &entry, &gained, run, outcome, today,
                ));
            }
        }
    }

    /// Writes the events of a closing.
    fn write(&mut self, touched: &[TouchedEntry], closing: &RunClosing) {
        let today = self.memory.now.date();
        let effects = decide::record_run_effects(&closing.closed.run, &closing.effects);
        self.tell(Ok([effects]));
        for it in touched {
            self.tell(decide::changes_after_run(&it.entry, closing, today));
        }
    }

    fn tell(&mut self, drafts: Result<impl IntoIterator<Item = Draft>, decide::Refusal>) {
        for draft in drafts.expect("the core decided it") {
            self.memory.tell(draft, &self.person);
        }
    }
}
