//! The hub's store on a real PostgreSQL: store contract, properties, tenancy, schema and concurrent
//! writers.

#![cfg(test)]

mod audit_chain;
mod backup;
mod concurrency;
mod cursors;
mod environment;
mod fast_append;
mod large;
mod laws;
mod migrations;
mod pool;
mod quarantine;
mod removal;
mod restore;
mod run_notes;
mod schema;
mod search;
mod story;
mod tenancy;
