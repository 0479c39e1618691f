//! Transcripts as agents write them: extracted moments, false positives, and robustness against any
//! bytes.

mod hostile;
mod planted;
mod recorded;
mod spoken;
