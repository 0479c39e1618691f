//! The `ken` program: arguments in, an exit code out.
//!
//! Nothing is decided here. [`args`] says what can be typed, [`commands`] asks the engine ([`asking`] where entries are sought,
//! [`mcp`] where an agent asks),
//! [`mod@print`] is the only road to stdout and stderr but for [`browse`], which has the screen, [`failure`] sorts what went wrong, [`logging`] sets up what the environment asks for, [`world`]
//! turns the environment into what the engine needs.

mod args;
mod asking;
mod browse;
mod commands;
mod failure;
mod logging;
mod mcp;
#[cfg(feature = "otel")]
mod otel;
mod print;
mod world;

use std::process::ExitCode;

/// Large indexes fill sooner than with the system's allocator; commands start in the same time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Ends after the command: what is left to be sent is sent then.
    let _logging = logging::start();
    commands::run(&arguments).into()
}
