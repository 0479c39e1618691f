//! Events: what happened, past tense, never edited.
//!
//! [`Event`] is the typed view, [`Recorded`] the event together with the exact line it stands on.
//! A type, field or value this build does not know is kept word for word in that line; the typed
//! view then says so ([`Body::Unknown`], [`Event::unknown_fields`]) and touched entries become
//! read-only for this build.

mod data;
mod line;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::hlc::Hlc;
use crate::id::{EntryId, EventId, Salt};
use crate::kind::Memory;
use crate::text_form::text_form;

pub(crate) use data::each_schema;
pub use data::*;
pub use line::{BlankForm, Head, LINE_BYTES_MAX, LineError, Recorded, TooLong, blank_form};

/// What a fold orders by: the clock, then the id.
pub type Order = (Hlc, EventId);

/// One event, typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub at: Hlc,
    pub by: Actor,
    /// The aggregates it touches.
    pub about: Vec<Subject>,
    /// Keeps a blanked secret from being guessed; absent once blanked or unknown.
    pub salt: Option<Salt>,
    pub admission: Option<Admission>,
    pub body: Body,
    /// Fields of a known type that this build has no name for.
    pub unknown_fields: u32,
}

/// What an event touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Entry(EntryId),
    /// A run, a peer, a domain, or something a newer build knows.
    Other(String),
}

/// What the guard decided when the event was written; the fold never decides it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Admission {
    pub scan: ScanStatus,
    /// The rule set that scanned, such as `ken-guard/1`.
    pub rules: String,
    pub verdict: AdmissionVerdict,
    /// Rules that found something, by id.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub findings: BTreeSet<String>,
    /// What a new entry's seven signals came to, in thousandths, where that decided something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_milli: Option<u16>,
    /// What secrets that were replaced before writing are recognised by, with the author's own key.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redacted: BTreeSet<String>,
    /// Why it was quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_for: Option<String>,
}

impl Admission {
    /// Returns an admission by rule set `rules` that found nothing.
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

/// How bad the worst finding was.
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

/// Admitted freely, or only as quarantined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdmissionVerdict {
    #[default]
    Admitted,
    Quarantined,
}

impl Event {
    /// Returns the place of the event in the canonical order.
    pub fn order(&self) -> Order {
        (self.at, self.id)
    }

    /// Returns the entries the event touches.
    pub fn entries(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.about.iter().filter_map(|subject| match subject {
            Subject::Entry(id) => Some(*id),
            Subject::Other(_) => None,
        })
    }

    /// Returns the memory whose folder the event is written to.
    pub fn memory(&self) -> Memory {
        self.entries()
            .next()
            .map_or_else(|| self.body.home(), |id| id.prefix().memory())
    }

    /// Returns the event's data if it is of type `T`.
    pub fn get<T: EventData>(&self) -> Option<&T> {
        T::of(&self.body)
    }

    /// Returns whether the guard admitted the event only as quarantined.
    pub fn is_quarantined(&self) -> bool {
        self.admission
            .as_ref()
            .is_some_and(|a| a.verdict == AdmissionVerdict::Quarantined)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(id) => id.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl FromStr for Subject {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text
            .parse()
            .map_or_else(|_| Self::Other(text.to_owned()), Self::Entry))
    }
}

text_form!(Subject, "Subject", r"^.{1,256}$");

impl From<EntryId> for Subject {
    fn from(id: EntryId) -> Self {
        Self::Entry(id)
    }
}
