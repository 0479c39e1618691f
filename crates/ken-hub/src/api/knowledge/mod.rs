//! Knowledge under `/v1`: searching, reading, runs, reports, what waits for a person.
//!
//! A handler opens a [`Desk`](crate::service::Desk), asks one use case and keeps what it wrote before anything is told. It
//! decides nothing: roles are asked for by its arguments and once more by the use case.

mod brief;
mod entries;
mod held;
mod reports;
mod runs;
mod search;
mod waiting;

use std::fmt::Display;
use std::str::FromStr;

use ken_core::actor::Actor;
use ken_core::decide::Refusal;
use ken_core::score::Role as Work;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;

use super::App;
use super::caller::InWorkspace;
use super::problem::{Kind, Problem};
use crate::service::{self, Desk, Failure, Reader, raw};

/// Returns the routes of knowledge.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(search::routes())
        .merge(entries::routes())
        .merge(brief::routes())
        .merge(runs::routes())
        .merge(reports::routes())
        .merge(waiting::routes())
        .merge(held::routes())
}

/// Takes the three members every body has itself: `deny_unknown_fields` and `flatten` exclude each other.
macro_rules! reading {
    ($body:ident) => {
        $crate::api::knowledge::Reading {
            run: $body.run,
            agent: $body.agent,
            session: $body.session,
        }
    };
}
use reading;

/// On whose behalf something is read: what an agent is shown is written down.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    /// The run it is read in; one that Ken makes without.
    #[serde(default)]
    #[param(max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$", nullable = false)]
    run: Option<String>,
    /// The agent it is read for; the caller without.
    #[serde(default)]
    #[param(max_length = 256, nullable = false, example = "agent:reviewer-1")]
    agent: Option<String>,
    /// The conversation it is read in.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

impl Reading {
    fn reader(self, caller: &Actor) -> Result<Reader, Problem> {
        let agent = parsed("agent", self.agent.as_deref())?;
        Ok(service::reader(caller, agent, self.run, self.session)?)
    }
}

/// Says of what is wrong in an address that the request cannot be read: there is no body that could make sense.
fn in_query<T>(read: Result<T, Problem>) -> Result<T, Problem> {
    read.map_err(|problem| match problem.kind() == Kind::Invalid {
        true => Problem::new(Kind::Malformed, problem.detail()),
        false => problem,
    })
}

/// Begins to work in the workspace of a request.
async fn desk<N>(app: &App, it: InWorkspace<N>) -> Result<Desk, Problem> {
    Ok(Desk::begin(&app.database, &app.house(), it.caller, it.workspace).await?)
}

/// Reads a word of ours out of a text that may be left out.
fn parsed<T: FromStr<Err: Display>>(name: &str, text: Option<&str>) -> Result<Option<T>, Problem> {
    let read = text.map(|text| raw::one(name, text)).transpose();
    Ok(read?)
}

/// Returns an object as it is told.
fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).expect("what is told is plain data")
}

/// Refuses a text that is longer than anybody needs.
fn check_text(name: &str, text: &str, max: usize) -> Result<(), Problem> {
    match text.len() <= max {
        true => Ok(()),
        false => Err(Problem::invalid(format!(
            "`{name}` has at most {max} bytes"
        ))),
    }
}

/// Reads for whom an answer is meant.
fn work(text: Option<&str>) -> Result<Option<Work>, Problem> {
    let Some(text) = text else {
        return Ok(None);
    };
    let all = [
        ("researcher", Work::Researcher),
        ("planner", Work::Planner),
        ("debugger", Work::Debugger),
        ("executor", Work::Executor),
        ("reviewer", Work::Reviewer),
    ];
    let found = all.into_iter().find(|(name, _)| *name == text);
    let found = found.ok_or_else(|| {
        Problem::invalid("`role` is researcher, planner, debugger, executor or reviewer")
    })?;
    Ok(Some(found.1))
}

/// Takes paths below a repository, and nothing else.
fn places(paths: Vec<String>) -> Result<Vec<String>, Problem> {
    raw::check_items("paths", &paths)?;
    let is_outside = |path: &String| {
        path.is_empty()
            || path.starts_with('/')
            || path.chars().any(char::is_control)
            || path.split('/').any(|part| part == "..")
    };
    match paths.iter().any(is_outside) {
        true => Err(Problem::invalid(
            "`paths` are below the repository's root, such as src/pay.rs",
        )),
        false => Ok(paths),
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let told = failure.to_string();
        match failure {
            Failure::Forbidden { .. } | Failure::PersonNeeded { .. } => {
                Self::new(Kind::Forbidden, format!("{told}; ask a curator"))
            }
            Failure::NotYours { .. } => Self::new(Kind::Forbidden, told),
            Failure::Quota { .. } => Self::new(Kind::Quota, told),
            Failure::Refused(Refusal::Unfit { why, .. }) if why.may_be_overridden() => {
                let told = format!("{told}; `despite` says that it goes further all the same");
                Self::new(Kind::Refused, told)
            }
            Failure::Refused(_) | Failure::Turned(_) => Self::new(Kind::Refused, told),
            Failure::Usage(_) => Self::invalid(told),
            Failure::NotFound { what, .. } => Self::not_found(what),
            Failure::Ambiguous { candidates, .. } => {
                let candidates = candidates.iter().map(ToString::to_string).collect();
                let told = format!("{told}; give one of `candidates`");
                Self::new(Kind::Conflict, told).with("candidates", candidates)
            }
            Failure::Conflict(_) => Self::new(Kind::Conflict, told),
            Failure::SetApart(_) => Self::new(Kind::Forbidden, told),
            Failure::Store(error) => error.into(),
            Failure::Database(error) => error.into(),
            Failure::BrokenOff(error) => error.into(),
        }
    }
}
