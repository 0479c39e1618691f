//! The hub's store against a real PostgreSQL: the story, the laws, tenants, the schema, writers beside each other.

#![cfg(test)]

mod laws;
mod story;
mod world;
