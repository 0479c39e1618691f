//! Symbols, fingerprints and verdicts in every supported language, on realistic sources.

mod changes;
mod formatting;
mod highlighting;
mod names;
mod properties;
mod samples;
mod tags;
mod verdicts;
