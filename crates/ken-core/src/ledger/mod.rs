//! The ledger model: events, their canonical lines, and the fold that turns them into entries.
//!
//! Events are immutable. Every other structure here is computed from them, so that any machine
//! with the same events has the same state. [`store`] is the interface of derived stores, [`page`]
//! the form of paged lists.

pub mod canonical;
pub(crate) mod causal;
pub mod cooccurrence;
pub mod entry;
pub mod event;
pub mod fold;
pub mod page;
pub mod rediscovery;
pub mod schema;
pub mod source;
pub mod state;
pub mod step;
pub mod store;
pub mod workspace;
