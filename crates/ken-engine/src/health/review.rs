//! The slow loop: everything counted, the code asked, and a proposal written only where a limit is reached.

use std::collections::BTreeSet;
use std::io;

use ken_core::drift::Signal;
use ken_core::health::history::summary;
use ken_core::health::thresholds::{Counts, Thresholds, Tripped};
use ken_core::health::{Insight, Severity, insights};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::store::{Filter, Store as _};
use ken_core::time::Timestamp;
use ken_ledger::{Dir as _, DiskError};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;

/// Where a proposal lies, below `.ken/`.
pub const PROPOSAL_FILE: &str = ".local/review/proposal.json";

/// Days for which friction counts.
const FRICTION_DAYS: u32 = 7;

/// Runs that must have ended before the share of failures says anything.
const FAILED_RUNS_MIN: u64 = 5;

/// What a review found.
#[derive(Clone, Debug, Serialize)]
pub struct Review {
    pub schema: &'static str,
    pub counts: Counts,
    pub tripped: Vec<Tripped>,
    /// The file the proposal was written to; none where no limit is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
}

/// What should be done, for a person to decide.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal<'a> {
    pub schema: &'static str,
    pub at: Timestamp,
    pub thresholds: &'a Thresholds,
    pub counts: &'a Counts,
    pub tripped: &'a [Tripped],
    pub insights: Vec<Insight>,
}

impl Engine {
    /// Counts everything, and writes a proposal where a limit is reached; removes an older one where none is.
    pub fn health_review(&mut self, thresholds: &Thresholds) -> Result<Review, Error> {
        let facts = self.health_facts()?;
        let found = insights(&facts);
        let ended = summary(&facts);
        let counts = Counts {
            action_required: count(&found, Severity::ActionRequired),
            attention: count(&found, Severity::Attention),
            stale_entries: self.count_stale()?,
            invalid_entries: self.invalid()?.len() as u64,
            contradictions: self.contradictions()?.len() as u64,
            duplicate_pairs: self.duplicates()?.len() as u64,
            friction_week: self.count_friction()?,
            missed_questions: self.missed()?.len() as u64,
            failed_percent: match ended.runs {
                runs if runs < FAILED_RUNS_MIN => 0,
                runs => 100 * ended.failed / runs,
            },
        };
        let tripped = thresholds.tripped(&counts);
        let is_reached = !tripped.is_empty();
        if is_reached {
            self.write_local(
                PROPOSAL_FILE,
                &Proposal {
                    schema: "ken.health_proposal.v1",
                    at: facts.now,
                    thresholds,
                    counts: &counts,
                    tripped: &tripped,
                    insights: found,
                },
            )?;
        } else {
            self.withdraw_proposal()?;
        }
        Ok(Review {
            schema: "ken.health_review.v1",
            counts,
            tripped,
            proposal: is_reached.then(|| format!(".ken/{PROPOSAL_FILE}")),
        })
    }

    /// A proposal that no limit stands behind any more would mislead.
    fn withdraw_proposal(&self) -> Result<(), Error> {
        let removed = self.ken.remove(PROPOSAL_FILE);
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => Ok(other.map_err(DiskError::on("remove", PROPOSAL_FILE))?),
        }
    }

    fn count_stale(&mut self) -> Result<u64, Error> {
        let drifting = self.drift()?.into_iter();
        let stale = drifting.filter(|it| it.signal == Signal::Stale);
        let stale: BTreeSet<EntryId> = stale.flat_map(|it| it.entries).collect();
        Ok(stale.len() as u64)
    }

    fn count_friction(&self) -> Result<u64, Error> {
        let filter = Filter {
            kind: Some(Kind::Friction),
            ..Filter::default()
        };
        let today = self.now().date();
        let is_late = |on: ken_core::time::Date| today.days_since(on) <= FRICTION_DAYS;
        let all = self.index.list(&filter)?.into_iter();
        let late = all.filter(|it| is_late(it.history.first.wall.date()));
        Ok(late.count() as u64)
    }
}

fn count(insights: &[Insight], severity: Severity) -> u64 {
    insights.iter().filter(|it| it.severity == severity).count() as u64
}
