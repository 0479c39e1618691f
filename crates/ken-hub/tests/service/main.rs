//! Use cases of a hub on a real PostgreSQL, over HTTP and MCP.

#![cfg(test)]

mod abandoned_runs;
mod endpoints;
mod environment;
mod inbox;
mod mcp;
mod reading;
mod roles;
mod runs;
