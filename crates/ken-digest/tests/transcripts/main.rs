//! Transcripts as agents write them: what is found in each, what is not, and that no bytes do harm.

mod hostile;
mod planted;
mod recorded;
