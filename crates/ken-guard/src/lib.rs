//! The one door every write passes: secrets and hidden characters, found before anything is stored.
//!
//! Callers hand every free-text field of a write to [`admit`] and record the [`Verdict`] in the
//! event; text that leaves by another way (tool output, logs) goes through [`redact`].
//!
//! Does not read files, clocks or configuration, and does not judge whether advice is good: poisoned
//! advice has no signature, so that defence is structural and lives with trust.
//!
//! Invariant: nothing this crate returns contains a secret it found, `Debug` output included.

mod hidden;
mod likeness;
mod normalise;
mod redact;
mod rules;
mod scan;
mod verdict;

#[cfg(test)]
mod sample;

pub use redact::redact;
pub use scan::{FIELD_BYTES_MAX, TextMode};
pub use verdict::{FINDINGS_MAX, Field, Finding, ScanStatus, Severity, Verdict, admit};

/// Names the rules a verdict was reached with; a change of what they find is a new number.
///
/// Recorded in the event beside the verdict, so that a later rescan knows what was asked then.
pub const RULE_SET: &str = "ken-guard/1";
