//! The `ken` program as a child process: exit code, stdout and stderr of every command.
//!
//! One binary for all commands, because each test binary links the whole product. Tests that need
//! PostgreSQL are in `hub` and `faults`.

mod cli;
mod digest;
mod documents;
mod executed_suggestions;
mod gates;
mod guard;
mod hooks;
mod json_reference;
mod kill;
mod mcp;
mod setup;
mod suggested_commands;
