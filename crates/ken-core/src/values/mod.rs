//! Validated values without behavior over time: ids, text, anchors, citations, conditions, time.
//!
//! Each type accepts only valid text and prints the text it was parsed from. No value depends on
//! an event or an entry.

pub mod actor;
pub mod anchor;
pub(crate) mod base32;
pub mod check;
pub mod citation;
pub mod condition;
pub mod content;
pub mod hlc;
pub mod id;
pub mod kind;
pub mod mention;
pub mod person;
pub mod status;
pub mod text;
pub(crate) mod text_form;
pub mod time;
