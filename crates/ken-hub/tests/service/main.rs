//! The use cases of a hub against a real PostgreSQL, over HTTP and over the Model Context Protocol.

#![cfg(test)]

mod endpoints;
mod mcp;
mod place;
mod reading;
mod roles;
mod runs;
mod silent;
mod waiting;
