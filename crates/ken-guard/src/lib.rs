//! The one door every write passes: secrets, attacks and hidden characters, found before anything is stored.
//!
//! A [`Guard`] takes every draft: it hands each of its texts to [`admit`], weighs what a new entry is worth
//! ([`admission`]) and returns what is to be recorded in the event. Text that leaves by another way (tool output, logs)
//! goes through [`redact`].
//!
//! Does not read files, clocks or configuration, and does not judge whether advice is good: poisoned
//! advice has no signature, so that defence is structural and lives with trust.
//!
//! Invariant: nothing this crate returns contains a secret it found, `Debug` output included.

pub mod admission;
mod axis;
mod door;
mod encoding;
mod hidden;
mod judge;
mod normalise;
mod policy;
mod redact;
mod rules;
#[cfg(any(test, feature = "samples"))]
pub mod sample;
mod scan;
mod verdict;

pub use axis::Axis;
pub use door::{
    Guard, Rescanned, ScanFinding, Scanned, TooLong, Turned, Written, is_about_norm,
    refused_because, without_secrets,
};
pub use policy::{Fingerprint, FingerprintKey, Policy};
pub use redact::{Redacted, redact};
pub use scan::{FIELD_BYTES_MAX, TextMode};
pub use verdict::{FINDINGS_MAX, Field, Finding, ScanStatus, Severity, Verdict, admit};

/// Names the rules a verdict was reached with; a change of what they find is a new number.
///
/// Recorded in the event beside the verdict, so that a later rescan knows what was asked then.
pub const RULE_SET: &str = "ken-guard/2";
