//! The hub: a whole organisation's knowledge on one PostgreSQL.
//!
//! It takes the same events as a repository's ledger, folds them with the same core and answers the same questions.
//! Processes keep nothing: any number may run beside each other, and what one acknowledged is in the database.
//!
//! - [`database`]: connections, roles, migrations, and transactions that see one tenant;
//! - [`store`]: events in, entries out: the log, its projections, searching them, rebuilding them;
//! - [`identity`]: who calls, and what they may do;
//! - [`service`]: the use cases, one function a verb;
//! - [`administration`]: what an operator does with the database at hand;
//! - `mcp`: the same over the Model Context Protocol;
//! - [`api`]: REST under `/v1`, its description, problems;
//! - [`serve`]: the process: limits, health, metrics, an orderly end;
//! - [`away`]: work that takes its time, off the threads that answer;
//! - [`world`]: its clock and its dice.

pub mod administration;
pub mod api;
pub mod away;
pub mod database;
pub mod identity;
pub(crate) mod mcp;
pub mod serve;
pub mod service;
pub mod store;
pub mod world;
