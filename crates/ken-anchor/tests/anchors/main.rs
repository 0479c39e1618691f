//! Symbols, fingerprints and verdicts over every language, on sources like those people write.

mod changes;
mod formatting;
mod names;
mod properties;
mod samples;
mod tags;
mod verdicts;
