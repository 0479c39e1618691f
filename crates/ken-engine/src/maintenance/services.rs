//! What each service does. All are deterministic: what takes judgement is listed, with the command that decides it.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::decide::{self, Draft};
use ken_core::entry::Entry;
use ken_core::event::{Body, Effect, Outcome, RunClosed};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::likeness::Merging;
use ken_core::maintenance::{STRATEGY_PREFIX, Service, Stale, sweep, task};
use ken_core::posterior::outcome_weight;
use ken_core::status::Status;
use ken_core::store::{Filter, Store as _};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;

/// Who acts in a run that a service made.
const KEEPER: &str = "agent:ken/maintenance";

/// What a service did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Served {
    pub service: Service,
    pub task: String,
    /// The run it was, where it changed something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub changed: Vec<Change>,
    /// What it leaves to a person.
    pub left: Vec<Left>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub entry: EntryId,
    pub what: String,
    /// The exact command that takes it back or shows it.
    pub command: String,
}

/// Something a person decides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Left {
    pub entries: Vec<EntryId>,
    pub what: String,
    /// The exact command that decides it.
    pub command: String,
}

/// What a service wants to change, before anything is.
enum Plan {
    Merge { target: EntryId, source: EntryId },
    Sweep { entry: EntryId, why: Stale },
    Reset { entry: EntryId },
}

impl Engine {
    /// Runs a service, which changes at most `most` entries.
    pub(super) fn run_service(
        &mut self,
        service: Service,
        most: u32,
        by: &Actor,
    ) -> Result<Served, Error> {
        self.absorb_before_writing()?;
        let (plans, left) = match service {
            Service::Dedup => self.plan_dedup(by)?,
            Service::StaleSweep => (self.plan_sweep()?, Vec::new()),
            Service::Contradiction => (Vec::new(), self.list_contradictions()?),
            Service::ConfidenceReset => (self.plan_reset(by)?, Vec::new()),
        };
        let mut served = Served {
            service,
            task: task(service.name(), service.purpose()),
            run: None,
            changed: Vec::new(),
            left,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut outcome = Outcome::Succeeded;
        for plan in plans.iter().take(most) {
            match self.carry_out(plan, by) {
                Ok(change) => served.changed.push(change),
                // One entry that must stay as it is does not stop the others.
                Err(Error::Refused(_) | Error::Guarded(_)) => outcome = Outcome::Failed,
                Err(other) => return Err(other),
            }
        }
        if !served.changed.is_empty() || outcome == Outcome::Failed {
            served.run = Some(self.close_service(&served, outcome, by)?);
        }
        self.remember(service)?;
        Ok(served)
    }

    fn carry_out(&mut self, plan: &Plan, by: &Actor) -> Result<Change, Error> {
        match plan {
            Plan::Merge { target, source } => {
                self.merge(*target, &[*source], None, by)?;
                Ok(Change {
                    entry: *target,
                    what: format!("{source} became part of it"),
                    command: format!("ken log {source}"),
                })
            }
            Plan::Sweep { entry, why } => {
                let before = self.entry(*entry)?.status.value;
                let reason = task(Service::StaleSweep.name(), &why.to_string());
                let reason = reason.parse().expect("a short line is a note");
                self.set_status(*entry, Status::Stale, Some(reason), by)?;
                Ok(Change {
                    entry: *entry,
                    what: format!("stale: {why}"),
                    command: format!("ken status {entry} {before}"),
                })
            }
            Plan::Reset { entry } => {
                let reason = task(
                    Service::ConfidenceReset.name(),
                    "much was observed, nothing learnt",
                );
                let reason = reason.parse().expect("a short line is a note");
                self.reset_confidence(*entry, reason, by)?;
                Ok(Change {
                    entry: *entry,
                    what: "back to where it began".to_owned(),
                    command: format!("ken log {entry}"),
                })
            }
        }
    }

    /// Writes down that a service ran and how that ended; entries others were found to agree with gain by it.
    fn close_service(
        &mut self,
        served: &Served,
        outcome: Outcome,
        by: &Actor,
    ) -> Result<String, Error> {
        let service = served.service;
        let run = format!("M-{:010x}", self.world.random() >> 88);
        let mut drafts = Vec::new();
        if service == Service::Dedup {
            let targets: BTreeSet<EntryId> = served.changed.iter().map(|it| it.entry).collect();
            // An event each: they were not used together.
            drafts.extend(
                targets
                    .iter()
                    .map(|id| decide::effects(&run, &[effect(*id, outcome)])),
            );
        }
        let changes = u32::try_from(served.changed.len()).unwrap_or(u32::MAX);
        let strategy = format!("{STRATEGY_PREFIX}{service}");
        let keeper: Actor = KEEPER.parse().expect("an agent's name");
        let role = "maintenance".parse().expect("a tag");
        drafts.push(Draft {
            about: Vec::new(),
            body: Body::RunClosed(RunClosed {
                run: run.clone(),
                outcome,
                quality_milli: None,
                rounds: changes,
                cost_micros: 0,
                strategy: Some(strategy.parse().expect("a tag")),
                agents: vec![keeper],
                roles: [(role, 1)].into(),
                thread: None,
                duration_ms: 0,
                accessed: changes,
                extracted: 0,
            }),
        });
        self.record(drafts, by)?;
        Ok(run)
    }

    /// Sure pairs become one; a person or a judge decides about the others, and about norms.
    fn plan_dedup(&mut self, by: &Actor) -> Result<(Vec<Plan>, Vec<Left>), Error> {
        let (mut plans, mut left) = (Vec::new(), Vec::new());
        let mut taken = BTreeSet::new();
        for pair in self.duplicates()? {
            // The older one has been shown, cited and linked for longer.
            let born = |it: &Entry| (it.history.first, it.id);
            let (target, source) = match born(&pair.first) <= born(&pair.second) {
                true => (pair.first.id, pair.second.id),
                false => (pair.second.id, pair.first.id),
            };
            let is_norm = target.prefix().memory() == Memory::Procedural;
            if pair.merging != Merging::Merge || is_norm && !by.is_human() {
                left.push(Left {
                    entries: vec![target, source],
                    what: "seem to say the same".to_owned(),
                    command: format!("ken merge {source} --into {target}"),
                });
            } else if !taken.contains(&target) && !taken.contains(&source) {
                // What became part of another cannot take part again today; the next run sees to it.
                taken.extend([target, source]);
                plans.push(Plan::Merge { target, source });
            }
        }
        Ok((plans, left))
    }

    fn plan_sweep(&mut self) -> Result<Vec<Plan>, Error> {
        let today = self.now().date();
        let entries = self.index.list(&Filter::default())?;
        let errors = self.prediction_errors(&entries)?;
        let of = |entry: &Entry| errors.get(&entry.id).copied().unwrap_or_default();
        // The code is asked only about what would be swept without its word.
        let suspects = entries.iter();
        let suspects = suspects.filter(|it| sweep(it, of(it), false, today).is_some());
        let validity = self.validity_of(suspects.clone())?;
        let plan = |entry: &Entry| {
            let holds = validity.get(&entry.id) == Some(&ken_core::facts::Validity::Holds);
            let why = sweep(entry, of(entry), holds, today)?;
            let entry = entry.id;
            Some(Plan::Sweep { entry, why })
        };
        Ok(suspects.filter_map(plan).collect())
    }

    /// Only a person begins anew with what was learnt; asked of others, nothing is planned.
    fn plan_reset(&mut self, by: &Actor) -> Result<Vec<Plan>, Error> {
        if !by.is_human() {
            let what = "resetting confidence";
            let by = by.clone();
            return Err(decide::Refusal::PersonNeeded { what, by }.into());
        }
        let today = self.now().date();
        let entries = self.index.list(&Filter::default())?;
        let observed = entries.iter().filter(|it| !it.tallies.days.is_empty());
        let validity = self.validity_of(observed.clone())?;
        let is_stuck = |it: &&Entry| {
            let validity = validity.get(&it.id).copied().unwrap_or_default();
            it.posterior(validity, today).is_stuck()
        };
        let stuck = observed.filter(is_stuck).map(|it| it.id);
        Ok(stuck.map(|entry| Plan::Reset { entry }).collect())
    }

    fn list_contradictions(&mut self) -> Result<Vec<Left>, Error> {
        let found = self.contradictions()?.into_iter();
        let left = found.map(|it| Left {
            entries: vec![it.first.id, it.second.id],
            what: format!("contradict each other ({})", it.why),
            command: format!(
                "ken contradictions --dismiss {} {}",
                it.first.id, it.second.id
            ),
        });
        Ok(left.collect())
    }
}

/// Returns what an outcome adds to an entry that a service relied on.
fn effect(entry: EntryId, outcome: Outcome) -> Effect {
    let weight = outcome_weight(outcome, None);
    let milli = |it: f64| (it * 1000.0) as u32;
    Effect {
        entry,
        alpha_milli: milli(weight.alpha),
        beta_milli: milli(weight.beta),
        shown: 0,
        blind: 0,
        since: None,
        trials: Vec::new(),
    }
}
