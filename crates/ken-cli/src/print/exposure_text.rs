//! Lines of the injection log.

use ken_core::trust::run::exposure_log::{ExposureDecision, ExposureRecord};
use ken_engine::runs::RunElsewhere;

use super::escape_invisible;
use super::event_text::to_minute;

/// Renders one exposure: time, agent, entry, decision, whether it was used, and run.
pub(crate) fn exposure_line(record: &ExposureRecord) -> String {
    let entry = record
        .entry
        .map_or_else(|| "every entry".to_owned(), |id| id.to_string());
    let decision = match record.decision {
        ExposureDecision::Shown(how) => format!("shown {}", how.description()),
        ExposureDecision::Withheld { propensity_milli } => {
            format!("withheld by chance ({} %)", propensity_milli / 10)
        }
        ExposureDecision::Omitted => "omitted for lack of room".to_owned(),
    };
    let task = record.task.as_ref().map_or_else(String::new, |task| {
        format!(": {}", escape_invisible(task.as_str()))
    });
    let agent = escape_invisible(&record.agent.to_string());
    let used = if record.was_used { ", used" } else { "" };
    let at = to_minute(record.at);
    format!(
        "{at}  {agent}  {entry}  {decision}{used}, run {}{task}",
        record.run
    )
}

/// Renders a run whose notes are not on this machine.
pub(crate) fn elsewhere_line(run: &RunElsewhere) -> String {
    let at = to_minute(run.closed);
    format!(
        "{at}  run {} showed it; its notes are not on this machine",
        run.run
    )
}
