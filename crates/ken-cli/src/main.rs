//! The `ken` program.
//!
//! No logic lives here. [`args`] defines the shared arguments, [`commands`] every command. Commands
//! call the engine, through [`asking`] for queries and [`mcp`] for agents. [`mod@print`] is the
//! only way to stdout and stderr, except for [`browse`], which owns the screen. [`failure`]
//! classifies errors, [`logging`] configures logging and [`world`] provides the environment to the
//! engine.

mod args;
mod asking;
mod browse;
mod commands;
mod editor;
mod failure;
mod logging;
mod mcp;
#[cfg(feature = "otel")]
mod otel;
mod print;
mod ui;
mod world;

use std::process::ExitCode;

/// Builds large indexes faster than the system allocator, with the same startup time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Dropped after the command has run, which flushes pending telemetry.
    let _logging = logging::start();
    commands::run(&arguments).into()
}
