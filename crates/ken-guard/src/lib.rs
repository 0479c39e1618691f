//! The guard: the single admission check for writes. Finds secrets, attacks and hidden characters
//! before anything is stored.
//!
//! A [`Guard`] takes every draft, passes each of its texts to [`admit`], scores the quality of a
//! new entry (`quality`) and returns the admission to record in the event. Text that leaves by
//! other routes (tool output, logs) goes through [`redact`].
//!
//! The crate reads no files, clocks or configuration. It does not judge whether advice is good:
//! poisoned advice has no signature, so that defense is structural and based on trust.
//!
//! Invariant: nothing this crate returns contains a secret it found, including `Debug` output.

mod admission;
mod axis;
mod encoding;
mod hidden;
mod match_check;
mod normalize;
mod policy;
pub mod quality;
mod redact;
mod rules;
#[cfg(any(test, feature = "samples"))]
pub mod sample;
mod scan;
mod verdict;

pub use admission::{
    Guard, ReasonTooLong, ReceiveVerdict, RescanFinding, ScanFinding, ScanReport, WriteRejection,
    describe_rejection, is_about_norm, without_secrets,
};
pub use axis::ScanAxis;
pub use policy::{FingerprintKey, GuardPolicy, SecretFingerprint};
pub use redact::{RedactedText, redact};
pub use scan::{FIELD_BYTES_MAX, TextMode};
pub use verdict::{
    FINDINGS_MAX, FindingSeverity, GuardFinding, GuardVerdict, ScanLevel, ScannedField, admit,
};

/// Identifies the rules behind a verdict; the number changes whenever their findings change.
///
/// Recorded in the event with the verdict, so that a later rescan knows which rules were applied.
pub const RULE_SET: &str = "ken-guard/5";
