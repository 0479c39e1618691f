//! Maintenance: services by name, when each is due, and what the policy lets happen unasked.
//!
//! Nothing runs by a clock. When work begins and when it ends, `keep_house` asks which services are due;
//! unless people set another policy, that is all. A service changes entries through the same verbs as everybody,
//! and where it changed something that is a run in the ledger, with an outcome like any other.

mod services;

use std::collections::BTreeMap;

use ken_core::actor::Actor;
use ken_core::health::Outcome;
use ken_core::maintenance::{Category, Leave, MAINTENANCE_KEY, Policy, Service, Spent, task};
use ken_core::store::Store as _;
use ken_core::time::{DAY_MS, Timestamp};
use ken_ledger::Dir as _;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::Error;
use crate::notice::Notice;
use crate::runs::closing_lock;

pub use services::{Change, Left, Served};

/// When services last ran on this machine, and on what.
const MEMORY_FILE: &str = ".local/maintenance.json";

/// Where maintenance stands.
#[derive(Clone, Debug, Serialize)]
pub struct Maintenance {
    pub policy: Policy,
    /// What was done within the last day.
    pub spent: Spent,
    pub services: Vec<ServiceState>,
}

/// Where one service stands.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceState {
    pub service: Service,
    pub name: String,
    pub due: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Whether it runs unasked when it is due.
    pub automatic: bool,
    /// What it would be asked to do, as a run's task says it.
    pub task: String,
    /// The exact command that runs it.
    pub command: String,
}

/// What is remembered of a service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    at: Timestamp,
    /// The ledger as it left it.
    ledger: String,
}

type Memory = BTreeMap<Service, Remembered>;

impl Engine {
    /// Returns where maintenance stands.
    pub fn maintenance(&self) -> Result<Maintenance, Error> {
        self.maintenance_after(&self.outcomes()?)
    }

    pub(crate) fn maintenance_after(&self, outcomes: &[Outcome]) -> Result<Maintenance, Error> {
        let (policy, memory) = (self.maintenance_policy()?, self.memory());
        let (ledger, now) = (self.ledger_state()?, self.now());
        let state = |service: Service| {
            let known = memory.get(&service);
            let told = last_told(outcomes, service);
            let last = known.map(|it| it.at).max(told);
            let is_dirty = known.is_none_or(|it| it.ledger != ledger);
            ServiceState {
                service,
                name: service.full_name(),
                due: service.is_due(last, is_dirty, now),
                last,
                automatic: service.category().is_some_and(|it| policy.allows(it)),
                task: task(service.name(), service.purpose()),
                command: format!("ken maintain {service}"),
            }
        };
        Ok(Maintenance {
            services: Service::ALL.map(state).into(),
            spent: spent(outcomes, now),
            policy,
        })
    }

    /// Returns the policy of this workspace, or the default one where its own is not sound.
    pub fn maintenance_policy(&self) -> Result<Policy, Error> {
        Ok(Policy::of(&self.index.workspace()?))
    }

    /// Sets the policy of this workspace; without one, the default holds again. Only a person may.
    pub fn set_maintenance_policy(
        &mut self,
        policy: Option<&Policy>,
        by: &Actor,
    ) -> Result<Policy, Error> {
        self.configure(MAINTENANCE_KEY, serde_json::json!(policy), by)?;
        self.maintenance_policy()
    }

    /// Runs a service because somebody asked for it, due or not.
    pub fn maintain(&mut self, service: Service, by: &Actor) -> Result<Served, Error> {
        self.run_service(service, u32::MAX, by)
    }

    /// Runs what is due and what the policy lets run unasked. Never in the way of whoever works.
    pub(crate) fn keep_house(&mut self, by: &Actor) {
        let served = self.serve_due(by);
        if let Err(error) = served {
            let why = error.to_string();
            self.notices.push(Notice::MaintenanceFailed { why });
        }
    }

    fn serve_due(&mut self, by: &Actor) -> Result<(), Error> {
        let policy = self.maintenance_policy()?;
        if !Category::ALL.iter().any(|it| policy.allows(*it)) {
            return Ok(());
        }
        // Two that end at once would do everything twice.
        let _lock = closing_lock(&self.place)?;
        self.refresh()?;
        for state in self.maintenance()?.services {
            let Some(category) = state.service.category().filter(|_| state.due) else {
                continue;
            };
            match policy.leave(category, spent(&self.outcomes()?, self.now())) {
                Leave::Granted(most) => {
                    let served = self.run_service(state.service, most, by)?;
                    let (changed, left) = (served.changed.len(), served.left.len());
                    if 0 < changed + left {
                        let task = served.task;
                        self.notices.push(Notice::Maintained {
                            task,
                            changed,
                            left,
                        });
                    }
                }
                Leave::NotAllowed | Leave::BudgetSpent | Leave::TooManyRuns => {}
            }
        }
        Ok(())
    }

    /// Returns what is remembered here; what cannot be read is forgotten.
    fn memory(&self) -> Memory {
        let read = self.ken.read(MEMORY_FILE).ok();
        let read = read.and_then(|it| serde_json::from_slice(&it).ok());
        read.unwrap_or_default()
    }

    fn remember(&self, service: Service) -> Result<(), Error> {
        let mut memory = self.memory();
        let (at, ledger) = (self.now(), self.ledger_state()?);
        memory.insert(service, Remembered { at, ledger });
        self.write_local(MEMORY_FILE, &memory)
    }
}

/// Returns when a service last changed something, on any machine.
fn last_told(outcomes: &[Outcome], service: Service) -> Option<Timestamp> {
    let mut own = outcomes.iter().rev();
    let last = own.find(|it| it.maintenance() == Some(service.name()));
    last.map(|it| it.at)
}

/// Returns what maintenance did within the last day: the rounds of its runs are the entries it changed.
fn spent(outcomes: &[Outcome], now: Timestamp) -> Spent {
    let mut spent = Spent::default();
    let is_late = |it: &&Outcome| now < it.at.plus_millis(DAY_MS);
    let own = outcomes.iter().filter(|it| it.maintenance().is_some());
    for outcome in own.filter(is_late) {
        spent.changes = spent.changes.saturating_add(outcome.closed.rounds);
        spent.runs += 1;
    }
    spent
}
