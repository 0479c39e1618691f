//! Ken's pure domain: ids, events, entries, their fold and the decisions over them.
//!
//! Nothing here reads a file, a clock, a random number or the environment: time, ids and
//! randomness come in as values, and the same events give the same state everywhere.
//!
//! Reading order: [`kind`] and [`content`] say what an entry is, [`event`] what can happen to it,
//! [`fold`] what state follows, [`decide`] which events a wish turns into, [`run`] what agent work
//! does to entries, [`store`] what a derived store must offer.

pub mod actor;
pub mod anchor;
pub mod answer;
mod base32;
pub mod brief;
pub mod canonical;
mod causal;
pub mod check;
pub mod citation;
pub mod condition;
pub mod content;
pub mod contradiction;
pub mod decide;
pub mod drift;
pub mod entry;
pub mod event;
pub mod facts;
pub mod fold;
pub mod gates;
pub mod health;
pub mod hlc;
pub mod id;
pub mod kind;
pub mod lift;
pub mod likeness;
pub mod maintenance;
pub mod object;
pub mod posterior;
pub mod promotion;
pub mod review;
pub mod run;
pub mod schema;
pub mod score;
pub mod source;
pub mod state;
pub mod status;
pub mod store;
pub mod surface;
pub mod text;
mod text_form;
pub mod time;
pub mod together;
pub mod tombstone;
pub mod words;
pub mod workspace;
