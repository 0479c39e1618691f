//! What the forager did and may do here: budgets, decisions about domains, questions and the log.
//!
//! `ken forage status`, `ken forage log` and the page `/forage` all read these documents, so they
//! cannot disagree.

use ken_core::ledger::event::{DomainAction, ForageCompleted, ForageMode};
use ken_core::values::time::Timestamp;
use ken_engine::Engine;
use ken_engine::forage::{DomainStatus, ForageConfig, ForageRecord, ForageSetup};
use serde::Serialize;

use crate::failure::CommandFailure;
use crate::world::{forage_home, package_folders};

/// JSON view of the sources, the budgets and what is known of domains.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForageStatusJson {
    schema: &'static str,
    pub(crate) sources: Vec<String>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) entries_today: u32,
    pub(crate) entries_per_day: u32,
    pub(crate) waiting: usize,
    pub(crate) waiting_max: u32,
    pub(crate) searches_today: u32,
    pub(crate) searches_per_day: u32,
    /// Whether maintenance may forage at the end of a run.
    pub(crate) unasked: bool,
    pub(crate) domains: Vec<DomainStatusJson>,
}

/// What the workspace says about one domain.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DomainStatusJson {
    pub(crate) domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<DomainAction>,
    /// The form in which its pages gave passages; `nothing` pauses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<&'static str>,
    /// When that was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

impl From<DomainStatus> for DomainStatusJson {
    fn from(status: DomainStatus) -> Self {
        Self {
            domain: status.domain,
            decision: status.decision,
            strategy: status.learned.map(|it| it.strategy.name()),
            since: status.learned.map(|it| it.since),
        }
    }
}

/// JSON view of one line of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForageLogJson {
    schema: &'static str,
    /// Milliseconds since the Unix epoch.
    pub(crate) at: u64,
    /// A package with its version, or a host.
    pub(crate) source: String,
    /// `read`, or the reason why it was not.
    pub(crate) verdict: String,
    pub(crate) bytes: u64,
    pub(crate) millis: u64,
}

/// JSON view of a question that entries were proposed for. The ledger has none of its words.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForageRecordJson {
    request: String,
    at: Timestamp,
    by: String,
    mode: ForageMode,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed: Option<ForageCompletedJson>,
}

#[derive(Clone, Debug, Serialize)]
struct ForageCompletedJson {
    fetched: u32,
    admitted: u32,
    rejected: u32,
    duration_ms: u64,
}

impl From<ForageRecord> for ForageRecordJson {
    fn from(record: ForageRecord) -> Self {
        let counts = |it: ForageCompleted| ForageCompletedJson {
            fetched: it.fetched,
            admitted: it.admitted,
            rejected: it.rejected,
            duration_ms: it.duration_ms,
        };
        Self {
            request: record.request.to_string(),
            at: record.at,
            by: record.by.to_string(),
            mode: record.mode,
            reason: record.reason.to_string(),
            completed: record.completed.map(counts),
        }
    }
}

/// Loads the user's settings; `None` if the forager is off.
pub(crate) fn forage_setup() -> Result<Option<ForageSetup>, CommandFailure> {
    let config = forage_home()?.load()?;
    Ok(config.map(|config| ForageSetup {
        config,
        folders: package_folders(),
    }))
}

/// Returns what `ken forage status` prints.
pub(crate) fn forage_status_object(
    engine: &Engine,
    config: &ForageConfig,
) -> Result<ForageStatusJson, CommandFailure> {
    let numbers = engine.forage_status()?;
    let sources = config.sources.iter().map(|it| it.name().to_owned());
    Ok(ForageStatusJson {
        schema: "ken.forage-status.v1",
        sources: sources.collect(),
        allowed_hosts: config.egress.allow.clone(),
        entries_today: numbers.entries_today,
        entries_per_day: config.budget.entries_per_day,
        waiting: numbers.waiting,
        waiting_max: config.budget.waiting,
        searches_today: numbers.searches_today,
        searches_per_day: config.budget.searches_per_day,
        unasked: config.unasked,
        domains: forage_domains(engine)?,
    })
}

/// Returns what this workspace says about domains. It needs no settings of the user.
pub(crate) fn forage_domains(engine: &Engine) -> Result<Vec<DomainStatusJson>, CommandFailure> {
    let domains = engine.domain_statuses()?.into_iter();
    Ok(domains.map(DomainStatusJson::from).collect())
}

/// Returns what `ken forage log` prints, oldest first.
pub(crate) fn forage_log_objects(engine: &Engine) -> Result<Vec<ForageLogJson>, CommandFailure> {
    let lines = engine.forage_log()?.into_iter();
    let objects = lines.map(|line| ForageLogJson {
        schema: "ken.forage-log.v1",
        at: line.at,
        source: line.source,
        verdict: line.verdict,
        bytes: line.bytes,
        millis: line.millis,
    });
    Ok(objects.collect())
}

/// Returns what was decided about a domain, in one sentence.
pub(crate) fn describe_domain_decision(host: &str, action: DomainAction) -> String {
    let decided = match action {
        DomainAction::Trust => "trusted",
        DomainAction::Distrust => "distrusted",
        DomainAction::Reset => "no longer decided",
    };
    format!("{host} is {decided} in this workspace")
}
