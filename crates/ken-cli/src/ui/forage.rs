//! The forager's page: the documents of `ken forage status` and `ken forage log`, and what the
//! ledger records of questions.

use ken_core::values::time::Timestamp;
use ken_engine::Engine;
use ken_ui::view::{ForageBudgets, ForageDomain, ForageLogEntry, ForageQuestionLine, ForageView};
use serde_json::{Value, json};

use crate::commands::{
    DomainStatusJson, ForageLogJson, ForageRecordJson, ForageStatusJson, forage_domains,
    forage_log_objects, forage_setup, forage_status_object,
};
use crate::failure::CommandFailure;
use crate::world::forage_home;

/// Questions on the page.
const QUESTIONS_SHOWN: usize = 50;

/// Lines of the log on the page.
const LINES_SHOWN: usize = 200;

/// Verdict of a source that was read.
const READ: &str = "read";

/// Source of a line about the question as a whole.
const NO_SOURCE: &str = "-";

/// Returns whether the person has settings for the forager. Without a home folder there are none.
pub(super) fn is_configured() -> bool {
    forage_home().is_ok_and(|it| it.path().is_file())
}

pub(super) fn forage(engine: &mut Engine) -> Result<ForageView, CommandFailure> {
    let (status, domains) = load_status(engine)?;
    let questions = engine.forage_records(QUESTIONS_SHOWN)?.into_iter();
    let mut log = forage_log_objects(engine)?;
    log.reverse();
    let omitted = log.len().saturating_sub(LINES_SHOWN) as u64;
    log.truncate(LINES_SHOWN);
    Ok(ForageView {
        status: status.map(budgets),
        settings_file: forage_home()?.path().display().to_string(),
        questions: questions
            .map(|it| ForageQuestionLine {
                at: it.at,
                by: it.by,
                reason: it.reason.to_string(),
                completed: it.completed,
            })
            .collect(),
        log: log.into_iter().map(log_line).collect(),
        log_omitted: omitted,
        domains: domains.into_iter().map(domain).collect(),
    })
}

/// Returns the JSON of the page: what the commands print, and the questions of the ledger.
pub(super) fn document(engine: &mut Engine) -> Result<Value, CommandFailure> {
    let questions = engine.forage_records(QUESTIONS_SHOWN)?.into_iter();
    let questions: Vec<ForageRecordJson> = questions.map(ForageRecordJson::from).collect();
    let (status, domains) = load_status(engine)?;
    Ok(json!({
        "status": status,
        "domains": domains,
        "questions": questions,
        "log": forage_log_objects(engine)?,
    }))
}

/// Returns what `ken forage status` prints, which is nothing if the forager is off, and what this
/// workspace says about domains.
fn load_status(
    engine: &Engine,
) -> Result<(Option<ForageStatusJson>, Vec<DomainStatusJson>), CommandFailure> {
    let Some(setup) = forage_setup()? else {
        return Ok((None, forage_domains(engine)?));
    };
    let status = forage_status_object(engine, &setup.config)?;
    let domains = status.domains.clone();
    Ok((Some(status), domains))
}

fn budgets(status: ForageStatusJson) -> ForageBudgets {
    ForageBudgets {
        sources: status.sources,
        allowed_hosts: status.allowed_hosts,
        entries: (status.entries_today.into(), status.entries_per_day.into()),
        searches: (status.searches_today.into(), status.searches_per_day.into()),
        waiting: (status.waiting as u64, status.waiting_max.into()),
        unasked: status.unasked,
    }
}

fn log_line(line: ForageLogJson) -> ForageLogEntry {
    ForageLogEntry {
        at: Timestamp::from_millis(line.at),
        source: Some(line.source).filter(|it| it != NO_SOURCE),
        refusal: Some(line.verdict).filter(|it| it != READ),
        bytes: line.bytes,
        millis: line.millis,
    }
}

fn domain(status: DomainStatusJson) -> ForageDomain {
    let strategy = status.strategy.map(ToOwned::to_owned);
    ForageDomain {
        domain: status.domain,
        decision: status.decision,
        learned: strategy.zip(status.since.map(|it| it.date())),
    }
}
