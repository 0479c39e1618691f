//! Use cases of a hub on a real PostgreSQL, over HTTP and MCP.

#![cfg(test)]

mod endpoints;
mod mcp;
mod place;
mod reading;
mod roles;
mod runs;
mod silent;
mod waiting;
