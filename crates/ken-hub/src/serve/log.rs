//! What whoever operates a hub reads: a line for a request that was refused or failed, and for what becomes of the process.
//!
//! Routes, statuses, ids and words of ours stand in it. No token, no body, no text of an entry and nothing a database said
//! does: the latter may quote anything, and is told to whoever asks for it by `KEN_LOG`, under the same id.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ken_core::time::Timestamp;

use crate::api::problem::Trouble;
use crate::identity::OrganisationId;

/// Lines that are written in one second; those beyond are counted.
const LINES_MAX: u64 = 200;

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    /// Nothing.
    Quiet,
    /// What was refused or failed, and what becomes of the process and its database.
    #[default]
    Problems,
    /// Every request as well.
    Requests,
}

/// Where lines go, and how many of them.
#[derive(Clone)]
pub struct Log {
    telling: Telling,
    write: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether it was said that the database does not answer.
    is_away: AtomicBool,
    /// The second that is counted, the lines in it, and those that were left out.
    counted: Mutex<(u64, u64, u64)>,
}

/// A request that was answered.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) method: &'static str,
    /// The pattern its address fits, never the address itself.
    pub(super) route: &'a str,
    pub(super) status: u16,
    pub(super) took: Duration,
    /// Whose it was, once that was known.
    pub(super) organisation: Option<OrganisationId>,
    pub(super) trouble: Option<&'a Trouble>,
}

impl Line<'_> {
    /// Returns whether the database did not answer it.
    pub(super) fn is_databases(&self) -> bool {
        self.trouble.is_some_and(|it| it.failed.is_some())
    }
}

impl Default for Log {
    /// Tells nobody anything.
    fn default() -> Self {
        Self::new(Telling::Quiet, |_| {})
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.telling).finish()
    }
}

impl Log {
    /// Gives lines to `write`, each without its end.
    pub fn new(telling: Telling, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            telling,
            write: Arc::new(write),
            state: Arc::default(),
        }
    }

    /// Says what becomes of the process.
    pub(super) fn say(&self, now: Timestamp, text: fmt::Arguments<'_>) {
        if Telling::Problems <= self.telling {
            (self.write)(&format!("{now} {text}"));
        }
    }

    /// Says that the database went, or came back; once each.
    pub(super) fn database(&self, now: Timestamp, is_away: bool) {
        if self.state.is_away.swap(is_away, Ordering::Relaxed) != is_away {
            let told = match is_away {
                true => "the database does not answer",
                false => "the database answers again",
            };
            self.say(now, format_args!("{told}"));
        }
    }

    /// Tells of a request, where that much is told.
    pub(super) fn answered(&self, now: Timestamp, line: &Line<'_>) {
        let needs = match line.status {
            400.. => Telling::Problems,
            _ => Telling::Requests,
        };
        if self.telling < needs {
            return;
        }
        if let Some(left_out) = self.counted(now) {
            if left_out > 0 {
                (self.write)(&format!(
                    "{now} {left_out} more requests were not written down"
                ));
            }
            (self.write)(&format!("{now} {line}"));
        }
    }

    /// Returns how many lines were left out before this one; nothing where it is to be left out, too.
    fn counted(&self, now: Timestamp) -> Option<u64> {
        let counted = self.state.counted.lock();
        let mut counted = counted.unwrap_or_else(PoisonError::into_inner);
        let (second, lines, left_out) = &mut *counted;
        if *second != now.seconds() {
            (*second, *lines) = (now.seconds(), 0);
        }
        *lines += 1;
        match *lines <= LINES_MAX {
            true => Some(std::mem::take(left_out)),
            false => {
                *left_out += 1;
                None
            }
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            route,
            status,
            took,
            ..
        } = self;
        write!(f, "{status} {method} {route} {} ms", took.as_millis())?;
        if let Some(organisation) = self.organisation {
            write!(f, " organisation {}", organisation.0)?;
        }
        let Some(trouble) = self.trouble else {
            return Ok(());
        };
        write!(f, " {}", trouble.slug)?;
        match &trouble.failed {
            None => Ok(()),
            Some(failed) => write!(f, " {}: {}", failed.instance, failed.cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::problem::Failed;

    fn kept(telling: Telling) -> (Log, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = Arc::clone(&lines);
        let log = Log::new(telling, move |line| {
            to.lock().expect("lines").push(line.to_owned());
        });
        (log, lines)
    }

    fn line(status: u16, trouble: Option<&Trouble>) -> Line<'_> {
        Line {
            method: "GET",
            route: "/v1/workspaces/{workspace}",
            status,
            took: Duration::from_millis(7),
            organisation: None,
            trouble,
        }
    }

    #[test]
    fn as_much_is_told_as_was_asked_for() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        for (telling, told) in [
            (Telling::Quiet, 0),
            (Telling::Problems, 2),
            (Telling::Requests, 3),
        ] {
            let (log, lines) = kept(telling);
            for status in [200, 403, 500] {
                log.answered(now, &line(status, None));
            }
            assert_eq!(lines.lock().expect("lines").len(), told, "{telling:?}");
        }
    }

    #[test]
    fn a_line_says_what_happened_and_under_which_id() {
        let (log, lines) = kept(Telling::Problems);
        let trouble = Trouble {
            slug: "internal",
            failed: Some(Box::new(Failed {
                instance: "urn:uuid:1".to_owned(),
                cause: "PostgreSQL 42P01".to_owned(),
            })),
        };
        let now = Timestamp::from_millis(1_800_000_000_000);
        log.answered(now, &line(500, Some(&trouble)));
        assert_eq!(
            *lines.lock().expect("lines"),
            [
                "2027-01-15T08:00:00.000Z 500 GET /v1/workspaces/{workspace} 7 ms internal urn:uuid:1: PostgreSQL 42P01"
            ]
        );
    }

    #[test]
    fn a_flood_is_counted_and_the_database_is_said_once() {
        let (log, lines) = kept(Telling::Problems);
        let now = Timestamp::from_millis(1_800_000_000_000);
        for _ in 0..LINES_MAX + 5 {
            log.answered(now, &line(401, None));
        }
        assert_eq!(lines.lock().expect("lines").len() as u64, LINES_MAX);
        log.answered(now.plus_millis(1_000), &line(401, None));
        let said = lines.lock().expect("lines")[LINES_MAX as usize].clone();
        assert!(said.ends_with(" 5 more requests were not written down"));
        for is_away in [false, true, true, false] {
            log.database(now, is_away);
        }
        let lines = lines.lock().expect("lines");
        let said: Vec<&str> = lines.iter().rev().take(2).map(|it| &it[25..]).collect();
        assert_eq!(
            said,
            ["the database answers again", "the database does not answer"]
        );
    }
}
