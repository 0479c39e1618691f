//! The hub's store on a real PostgreSQL: store contract, properties, tenancy, schema and concurrent
//! writers.

#![cfg(test)]

mod laws;
mod migrations;
mod pool;
mod schema;
mod search;
mod short;
mod story;
mod tenancy;
mod together;
mod waiting;
mod world;
