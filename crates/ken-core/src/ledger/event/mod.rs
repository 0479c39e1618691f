//! Events: immutable records of changes.
//!
//! [`Event`] is the typed view, [`RecordedEvent`] the event together with its exact line. A type,
//! field or value that this build does not know is kept verbatim in the line; the typed view
//! reports it ([`EventBody::Unknown`], [`Event::unknown_fields`]) and the entries involved become
//! read-only for this build.

mod data;
mod line;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::canonical;
use crate::values::actor::Actor;
use crate::values::hlc::Hlc;
use crate::values::id::{EntryId, EventId, Salt};
use crate::values::kind::Memory;
use crate::values::text_form::text_form;

pub(crate) use data::each_schema;
pub use data::*;
pub use line::{
    LINE_BYTES_MAX, LineError, LineHeader, LineTooLong, RecordedEvent, RedactedLine, redact_line,
};

/// Sort key of the canonical order: the clock, then the id.
pub type EventOrder = (Hlc, EventId);

/// One typed event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub at: Hlc,
    pub by: Actor,
    /// The entries, runs and other subjects it concerns.
    pub about: Vec<EventSubject>,
    /// Prevents guessing a redacted secret from its digest. Absent if the event is redacted or
    /// unknown.
    pub salt: Option<Salt>,
    pub admission: Option<Admission>,
    pub body: EventBody,
    /// The author's SSH signature over [`Self::decision_bytes`]. The fold does not verify it.
    pub signature: Option<String>,
    /// Number of fields in a known type that this build does not know.
    pub unknown_fields: u32,
}

/// The subject of an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventSubject {
    Entry(EntryId),
    /// A run, a peer, a domain, or a subject of a newer build.
    Other(String),
}

/// The guard's decision at the time of writing. The fold never repeats it, so later rules do not
/// change old state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Admission {
    pub scan: ScanStatus,
    /// The rule set that scanned the event, such as `ken-guard/1`.
    pub rules: String,
    pub verdict: AdmissionVerdict,
    /// Ids of the rules with findings.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub findings: BTreeSet<String>,
    /// The admission score of a new entry in thousandths, if it affected the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_milli: Option<u16>,
    /// Keyed digests of secrets that were replaced before writing, made with the author's own key.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redacted: BTreeSet<String>,
    /// The reason for the quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_for: Option<String>,
}

impl Admission {
    /// Returns an admission by the rule set `rules` without findings.
    pub fn clean(rules: &str) -> Self {
        Self {
            scan: ScanStatus::Safe,
            rules: rules.to_owned(),
            verdict: AdmissionVerdict::Admitted,
            findings: BTreeSet::new(),
            score_milli: None,
            redacted: BTreeSet::new(),
            held_for: None,
        }
    }
}

/// Severity of the worst finding.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ScanStatus {
    #[default]
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

/// The guard's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdmissionVerdict {
    #[default]
    Admitted,
    Quarantined,
}

impl Event {
    /// Returns the event's sort key in the canonical order.
    pub fn order(&self) -> EventOrder {
        (self.at, self.id)
    }

    /// Returns the entries that the event is about.
    pub fn entries(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.about.iter().filter_map(|subject| match subject {
            EventSubject::Entry(id) => Some(*id),
            EventSubject::Other(_) => None,
        })
    }

    /// Returns the memory whose folder stores the event.
    pub fn memory(&self) -> Memory {
        self.entries()
            .next()
            // The first subject decides, so all events of an entry are stored in the folder of its
            // memory.
            .map_or_else(|| self.body.home(), |id| id.prefix().memory())
    }

    /// Returns the bytes that an author signs to stand by an event: one line of canonical JSON.
    ///
    /// They contain everything that gives the event its meaning, and neither salt nor admission,
    /// which say nothing about the author's will. `None` if only the line has the data.
    pub fn decision_bytes(&self) -> Option<Vec<u8>> {
        #[derive(Serialize)]
        struct SignedDecision<'e> {
            schema: &'static str,
            id: EventId,
            at: Hlc,
            by: &'e Actor,
            about: &'e [EventSubject],
            #[serde(rename = "type")]
            type_name: &'e str,
            body: serde_json::Value,
        }
        let decision = SignedDecision {
            schema: "ken.decision.v1",
            id: self.id,
            at: self.at,
            by: &self.by,
            about: &self.about,
            type_name: self.body.type_name(),
            body: self.body.to_json()?,
        };
        Some((canonical::to_string(&decision) + "\n").into_bytes())
    }

    /// Returns the event's data if it has type `T`.
    pub fn get<T: EventData>(&self) -> Option<&T> {
        T::of(&self.body)
    }

    /// Returns whether the guard quarantined the event.
    pub fn is_quarantined(&self) -> bool {
        self.admission
            .as_ref()
            .is_some_and(|a| a.verdict == AdmissionVerdict::Quarantined)
    }
}

impl fmt::Display for EventSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(id) => id.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl FromStr for EventSubject {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Never fails: an id in a newer format must not make the whole line unreadable.
        Ok(text
            .parse()
            .map_or_else(|_| Self::Other(text.to_owned()), Self::Entry))
    }
}

text_form!(EventSubject, "Subject", r"^.{1,256}$");

impl From<EntryId> for EventSubject {
    fn from(id: EntryId) -> Self {
        Self::Entry(id)
    }
}
