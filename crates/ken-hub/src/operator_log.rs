//! Operator log: one line per refused or failed request, and per change of the process state.
//!
//! Lines contain routes, statuses, ids and fixed words. They never contain tokens, bodies, entry
//! text or database messages, which may quote any of these. `KEN_LOG` enables a trace log with the
//! full error under the same id.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ken_core::values::time::Timestamp;

use uuid::Uuid;

use crate::ids::OrganizationId;

/// Maximum request lines per second. Further lines are only counted.
const LINES_MAX: u64 = 200;

/// Verbosity of the operator log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogVerbosity {
    /// No lines.
    Quiet,
    /// Refused and failed requests, and the state of the process and its database.
    #[default]
    Problems,
    /// All of `Problems`, and every successful request.
    Requests,
}

/// Destination and verbosity of the operator log.
#[derive(Clone)]
pub struct OperatorLog {
    verbosity: LogVerbosity,
    write: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<OperatorLogState>,
}

/// State shared by the clones of a log.
#[derive(Debug, Default)]
struct OperatorLogState {
    /// Set if the last logged state of the database is that it does not respond.
    is_database_down: AtomicBool,
    /// Current second, lines written in it, and lines omitted since the last written one.
    line_counts: Mutex<(u64, u64, u64)>,
}

/// An answered request.
#[derive(Debug)]
pub(crate) struct RequestLogLine<'a> {
    pub(crate) method: &'static str,
    /// Route pattern, never the path itself, which may contain tenant data.
    pub(crate) route: &'a str,
    pub(crate) status: u16,
    pub(crate) took: Duration,
    /// Organization of the caller. `None` if the request was not authenticated.
    pub(crate) organization: Option<OrganizationId>,
    /// Id of the caller's token, never its secret.
    pub(crate) token: Option<Uuid>,
    pub(crate) problem: Option<&'a ProblemLog>,
}

/// The part of a problem that the operator's log contains: fixed words and an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemLog {
    pub slug: &'static str,
    pub failure: Option<Box<LoggedFailure>>,
}

/// An internal failure as it is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedFailure {
    /// Id under which the trace log has the error chain.
    pub instance: String,
    /// Class of the error in fixed words. Not part of the response.
    pub cause: String,
}

impl RequestLogLine<'_> {
    /// Returns whether an internal failure caused the response. With status 503, that is the
    /// database.
    pub(crate) fn is_internal_failure(&self) -> bool {
        self.problem.is_some_and(|it| it.failure.is_some())
    }
}

impl Default for OperatorLog {
    /// Creates a log that discards everything.
    fn default() -> Self {
        Self::new(LogVerbosity::Quiet, |_| {})
    }
}

impl fmt::Debug for OperatorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.verbosity).finish()
    }
}

impl OperatorLog {
    /// Creates a log that passes each line to `write`, without a line break.
    pub fn new(verbosity: LogVerbosity, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            verbosity,
            write: Arc::new(write),
            state: Arc::default(),
        }
    }

    /// Writes a line about the process. Such lines are rare and not limited in number.
    pub(crate) fn log_process(&self, now: Timestamp, text: fmt::Arguments<'_>) {
        if self.verbosity >= LogVerbosity::Problems {
            (self.write)(&format!("{now} {text}"));
        }
    }

    /// Writes a line when the state of the database changes.
    pub(crate) fn log_database_state(&self, now: Timestamp, is_away: bool) {
        // `swap` makes one of several concurrent requests responsible for the line.
        if self.state.is_database_down.swap(is_away, Ordering::Relaxed) != is_away {
            let text = if is_away {
                "the database does not respond"
            } else {
                "the database responds again"
            };
            self.log_process(now, format_args!("{text}"));
        }
    }

    /// Writes a line about a request, if the verbosity includes it.
    pub(crate) fn log_request(&self, now: Timestamp, line: &RequestLogLine<'_>) {
        let needed = match line.status {
            400.. => LogVerbosity::Problems,
            _ => LogVerbosity::Requests,
        };
        if self.verbosity < needed {
            return;
        }
        if let Some(omitted) = self.count_line(now) {
            if omitted > 0 {
                (self.write)(&format!("{now} {omitted} more requests were not logged"));
            }
            (self.write)(&format!("{now} {line}"));
        }
    }

    /// Counts a line. Returns the number of lines omitted before it, or `None` to omit it, too.
    ///
    /// The limit keeps a client that sends invalid requests from filling the operator's disk.
    fn count_line(&self, now: Timestamp) -> Option<u64> {
        let counted = self.state.line_counts.lock();
        let mut counted = counted.unwrap_or_else(PoisonError::into_inner);
        let (second, lines, omitted) = &mut *counted;
        if *second != now.seconds() {
            (*second, *lines) = (now.seconds(), 0);
        }
        *lines += 1;
        if *lines > LINES_MAX {
            *omitted += 1;
            return None;
        }
        Some(std::mem::take(omitted))
    }
}

impl fmt::Display for RequestLogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            route,
            status,
            took,
            ..
        } = self;
        write!(f, "{status} {method} {route} {} ms", took.as_millis())?;
        if let Some(organization) = self.organization {
            write!(f, " organization {}", organization.0)?;
        }
        if let Some(token) = self.token {
            write!(f, " token {token}")?;
        }
        let Some(trouble) = self.problem else {
            return Ok(());
        };
        write!(f, " {}", trouble.slug)?;
        match &trouble.failure {
            None => Ok(()),
            Some(failed) => write!(f, " {}: {}", failed.instance, failed.cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(telling: LogVerbosity) -> (OperatorLog, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = Arc::clone(&lines);
        let log = OperatorLog::new(telling, move |line| {
            to.lock().expect("lines").push(line.to_owned());
        });
        (log, lines)
    }

    fn line(status: u16, trouble: Option<&ProblemLog>) -> RequestLogLine<'_> {
        RequestLogLine {
            method: "GET",
            route: "/v1/workspaces/{workspace}",
            status,
            took: Duration::from_millis(7),
            organization: None,
            token: None,
            problem: trouble,
        }
    }

    #[test]
    fn as_much_is_told_as_was_asked_for() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        for (telling, told) in [
            (LogVerbosity::Quiet, 0),
            (LogVerbosity::Problems, 2),
            (LogVerbosity::Requests, 3),
        ] {
            let (log, lines) = kept(telling);
            for status in [200, 403, 500] {
                log.log_request(now, &line(status, None));
            }
            assert_eq!(lines.lock().expect("lines").len(), told, "{telling:?}");
        }
    }

    #[test]
    fn a_line_says_what_happened_and_under_which_id() {
        let (log, lines) = kept(LogVerbosity::Problems);
        let trouble = ProblemLog {
            slug: "internal",
            failure: Some(Box::new(LoggedFailure {
                instance: "urn:uuid:1".to_owned(),
                cause: "PostgreSQL 42P01".to_owned(),
            })),
        };
        let now = Timestamp::from_millis(1_800_000_000_000);
        log.log_request(now, &line(500, Some(&trouble)));
        assert_eq!(
            *lines.lock().expect("lines"),
            [
                "2027-01-15T08:00:00.000Z 500 GET /v1/workspaces/{workspace} 7 ms internal urn:uuid:1: PostgreSQL 42P01"
            ]
        );
    }

    #[test]
    fn a_flood_is_counted_and_the_database_is_said_once() {
        let (log, lines) = kept(LogVerbosity::Problems);
        let now = Timestamp::from_millis(1_800_000_000_000);
        for _ in 0..LINES_MAX + 5 {
            log.log_request(now, &line(401, None));
        }
        assert_eq!(lines.lock().expect("lines").len() as u64, LINES_MAX);
        log.log_request(now.plus_millis(1_000), &line(401, None));
        let said = lines.lock().expect("lines")[LINES_MAX as usize].clone();
        assert!(said.ends_with(" 5 more requests were not logged"));
        for is_away in [false, true, true, false] {
            log.log_database_state(now, is_away);
        }
        let lines = lines.lock().expect("lines");
        let said: Vec<&str> = lines.iter().rev().take(2).map(|it| &it[25..]).collect();
        assert_eq!(
            said,
            [
                "the database responds again",
                "the database does not respond"
            ]
        );
    }
}
