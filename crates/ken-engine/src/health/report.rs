//! The fast loop: what the rules say about the state as it is, written where whoever begins work finds it.

use std::collections::BTreeMap;

use ken_core::health::history::{Advice, Summary, escalations, recommendations, summary};
use ken_core::health::{Facts, Insight, Severity, insights};
use ken_core::status::Status;
use ken_core::time::Timestamp;
use ken_ledger::{Dir as _, DiskError};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::put;
use crate::maintenance::Maintenance;
use crate::notice::Notice;

/// Where the latest report lies, below `.ken/`.
pub const HEALTH_FILE: &str = ".local/health/latest.json";

/// Bytes of ledger up to which a briefing brings the report up too: no more than a blink.
const LEDGER_BYTES_ON_BRIEF_MAX: u64 = 4 * 1024 * 1024;

/// How knowledge fares.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub at: Timestamp,
    /// What it was told from; the same state gives the same report.
    pub state: String,
    /// Entries in use, by status.
    pub entries: BTreeMap<&'static str, u64>,
    pub insights: Vec<Insight>,
    pub outcomes: Summary,
    /// What a person should look at because work keeps failing.
    pub escalations: Vec<Advice>,
    /// What outcomes say about settings; nothing is set by them.
    pub recommendations: Vec<Advice>,
    pub maintenance: Maintenance,
}

/// The member of a written report that says what it was told from.
#[derive(Deserialize)]
struct Written {
    state: String,
}

impl Engine {
    /// Tells how knowledge fares and writes it down on this machine.
    pub fn health_report(&mut self) -> Result<Report, Error> {
        let facts = self.health_facts()?;
        self.report_from(&facts)
    }

    pub(super) fn report_from(&mut self, facts: &Facts) -> Result<Report, Error> {
        let mut entries = Status::ALL.map(|status| (status.name(), 0));
        for entry in &facts.entries {
            entries[entry.status.value as usize].1 += 1;
        }
        let mut recommended = recommendations(facts);
        recommended.extend(super::plateau::plateaus(facts));
        let report = Report {
            schema: "ken.health_report.v1",
            at: facts.now,
            state: self.health_state()?,
            entries: entries.into(),
            insights: insights(facts),
            outcomes: summary(facts),
            escalations: escalations(facts),
            recommendations: recommended,
            maintenance: self.maintenance_after(&facts.outcomes)?,
        };
        self.write_local(HEALTH_FILE, &report)?;
        Ok(report)
    }

    /// Brings the report up when work begins, if anything changed since, and tells what cannot wait.
    pub(crate) fn note_health(&mut self) {
        let urgent = self.bring_health_up();
        if 0 < urgent {
            self.notices
                .push(Notice::ActionRequired { matters: urgent });
        }
    }

    /// Writes a new report if anything changed; returns how much of it requires action. Never in the way of the work.
    fn bring_health_up(&mut self) -> usize {
        if self.health_state().is_ok_and(|now| self.is_told(&now)) {
            return 0;
        }
        // A tree nobody may write to is still worked in.
        let insights = self.health_report().map(|it| it.insights);
        let mut found = insights.unwrap_or_default();
        found.retain(|it| it.severity == Severity::ActionRequired);
        found.len()
    }

    /// Brings the report up where somebody waits for an answer, if that is no matter of time.
    pub(crate) fn note_health_quickly(&mut self) {
        let listed = self.ledger.list().unwrap_or_default();
        if listed.iter().map(|it| it.len).sum::<u64>() <= LEDGER_BYTES_ON_BRIEF_MAX {
            self.bring_health_up();
        }
    }

    fn is_told(&self, state: &str) -> bool {
        let read = self.ken.read(HEALTH_FILE).ok();
        let written = read.and_then(|it| serde_json::from_slice::<Written>(&it).ok());
        written.is_some_and(|it| it.state == state)
    }

    /// Returns what a report is told from: the ledger's files, and the day.
    fn health_state(&self) -> Result<String, Error> {
        let day = self.now().date();
        Ok(format!("{}/{day}", self.ledger_state()?))
    }

    /// Returns a hash of which segments there are and how long they are.
    pub(crate) fn ledger_state(&self) -> Result<String, Error> {
        let mut hasher = blake3::Hasher::new();
        for stat in self.ledger.list()? {
            hasher.update(stat.name.path().as_bytes());
            hasher.update(&stat.len.to_le_bytes());
        }
        let hash = hasher.finalize().to_hex();
        Ok(format!("b3:{}", &hash[..16]))
    }

    /// Writes one object to a file of this machine.
    pub(crate) fn write_local(
        &self,
        path: &'static str,
        object: &impl Serialize,
    ) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(object).expect("reports are plain data");
        text.push('\n');
        let dir = &*self.ken;
        Ok(put(dir, path, text.as_bytes()).map_err(DiskError::on("write", path))?)
    }
}
