//! The hub's store against a real PostgreSQL: the story, the laws, tenants, the schema, writers beside each other.

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
