//! Knowledge endpoints: search, entries, briefings, runs, reports, approvals, quarantine.
//!
//! A handler opens a [`WorkspaceSession`](crate::service::WorkspaceSession), runs one use case and
//! commits before it builds the response. Handlers contain no rules: the role is required by the
//! handler's arguments and checked again by the use case.

mod approvals;
mod brief;
mod entries;
mod quarantine;
mod reports;
mod runs;
mod search;
mod verbs;

use std::fmt::Display;
use std::str::FromStr;

use ken_core::decide::Refusal;
use ken_core::retrieval::score::ReaderRole as Work;
use ken_core::values::actor::Actor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;

use super::AppState;
use super::caller::RequireWorkspaceRole;
use super::problem::{Kind, Problem};
use crate::service::{self, EntryReader, ServiceError, WorkspaceSession, parse};

pub(crate) use entries::{format_position, parse_position};
pub(crate) use search::everywhere_json;
pub(super) use search::{EVERYWHERE_ROUTE, SEARCH_ROUTE};

/// Roles of agents that results are ranked for.
pub(super) const AGENT_ROLES: [(&str, Work); 5] = [
    ("researcher", Work::Researcher),
    ("planner", Work::Planner),
    ("debugger", Work::Debugger),
    ("executor", Work::Executor),
    ("reviewer", Work::Reviewer),
];

/// Returns the knowledge routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(search::routes())
        .merge(entries::routes())
        .merge(brief::routes())
        .merge(runs::routes())
        .merge(reports::routes())
        .merge(approvals::routes())
        .merge(quarantine::routes())
        .merge(verbs::routes())
}

/// Moves the three reader fields out of a request. Every request type repeats them, because serde
/// does not support `deny_unknown_fields` together with `flatten`.
macro_rules! reader_params {
    ($body:ident) => {
        $crate::api::knowledge::ReaderParams {
            run: $body.run,
            agent: $body.agent,
            session: $body.session,
        }
    };
}
use reader_params;

/// Query parameters that identify the reader. Exposures are recorded for that agent and run.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ReaderParams {
    /// Run of the reader. Default: an implicit run that Ken creates.
    #[serde(default)]
    #[param(max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$", nullable = false)]
    run: Option<String>,
    /// Agent that reads. Default: the caller.
    #[serde(default)]
    #[param(max_length = 256, nullable = false, example = "agent:reviewer-1")]
    agent: Option<String>,
    /// Session of the reader.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

impl ReaderParams {
    fn into_reader(self, caller: &Actor) -> Result<EntryReader, Problem> {
        let agent = parse_optional("agent", self.agent.as_deref())?;
        Ok(service::build_reader(
            caller,
            agent,
            self.run,
            self.session,
        )?)
    }
}

/// Turns an invalid value (422) of a query parameter into a malformed request (400).
///
/// 422 means a body that was parsed, and a request with query parameters has none.
fn as_malformed<T>(result: Result<T, Problem>) -> Result<T, Problem> {
    result.map_err(|problem| {
        if problem.kind() == Kind::Invalid {
            Problem::new(Kind::Malformed, problem.detail())
        } else {
            problem
        }
    })
}

/// Opens a session in the workspace of a request.
async fn open_session<N>(
    app: &AppState,
    access: RequireWorkspaceRole<N>,
) -> Result<WorkspaceSession, Problem> {
    let context = app.service_context();
    Ok(WorkspaceSession::begin(&app.database, &context, access.caller, access.workspace).await?)
}

/// Parses an optional text.
fn parse_optional<T: FromStr<Err: Display>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, Problem> {
    let value = text.map(|text| parse::parse_field(name, text)).transpose();
    Ok(value?)
}

/// Serializes an object to a JSON value.
fn to_json(object: &impl Serialize) -> Value {
    // Views contain only strings, numbers, lists and maps with string keys.
    serde_json::to_value(object).expect("views serialize to JSON")
}

/// Rejects a text of more than `max` bytes.
pub(crate) fn check_length(name: &str, text: &str, max: usize) -> Result<(), Problem> {
    if text.len() > max {
        return Err(Problem::invalid(format!(
            "`{name}` must not be longer than {max} bytes"
        )));
    }
    Ok(())
}

/// Parses the agent role that results are ranked for.
fn parse_agent_role(text: Option<&str>) -> Result<Option<Work>, Problem> {
    let Some(text) = text else {
        return Ok(None);
    };
    let found = AGENT_ROLES.into_iter().find(|(name, _)| *name == text);
    let found = found.ok_or_else(|| {
        Problem::invalid("`role` must be researcher, planner, debugger, executor or reviewer")
    })?;
    Ok(Some(found.1))
}

/// Rejects paths that are not relative to the repository root.
fn check_paths(paths: Vec<String>) -> Result<Vec<String>, Problem> {
    parse::check_items("paths", &paths)?;
    // Entries are anchored to relative paths, so any other path is a mistake of the caller and
    // would silently match nothing.
    let is_outside = |path: &String| {
        path.is_empty()
            || path.starts_with('/')
            || path.chars().any(char::is_control)
            || path.split('/').any(|part| part == "..")
    };
    if paths.iter().any(is_outside) {
        return Err(Problem::invalid(
            "`paths` must be relative to the repository root, such as src/pay.rs",
        ));
    }
    Ok(paths)
}

impl From<ServiceError> for Problem {
    fn from(failure: ServiceError) -> Self {
        let text = failure.to_string();
        match failure {
            ServiceError::Forbidden { .. } | ServiceError::PersonNeeded { .. } => Self::new(
                Kind::Forbidden,
                format!("{text}; ask an admin for another token"),
            ),
            ServiceError::NotPermittedForAgent { .. }
            | ServiceError::SubmissionRefused(_)
            | ServiceError::Refused(
                Refusal::PersonNeeded { .. } | Refusal::ProtectedContent { .. },
            ) => Self::new(Kind::Forbidden, text),
            ServiceError::Quota { .. } => Self::new(Kind::Quota, text),
            ServiceError::Refused(Refusal::Unfit { why, .. }) if why.may_be_overridden() => {
                let detail = format!("{text}; set `despite` to true to approve it anyway");
                Self::new(Kind::Refused, detail)
            }
            ServiceError::Refused(_) | ServiceError::GuardRejected(_) => {
                Self::new(Kind::Refused, text)
            }
            ServiceError::InvalidRequest(_) => Self::invalid(text),
            // Without the requested name: the response is the same for a missing object and for
            // one of another organization.
            ServiceError::NotFound { what, .. } => Self::not_found(what),
            ServiceError::Ambiguous { candidates, .. } => {
                let candidates = candidates.iter().map(ToString::to_string).collect();
                let detail = format!("{text}; use one of `candidates`");
                Self::new(Kind::Conflict, detail).with_member("candidates", candidates)
            }
            ServiceError::Conflict(_) => Self::new(Kind::Conflict, text),
            ServiceError::Quarantined(_) => Self::new(Kind::Forbidden, text),
            ServiceError::Store(error) => error.into(),
            ServiceError::Database(error) => error.into(),
            ServiceError::BrokenOff(error) => error.into(),
        }
    }
}
