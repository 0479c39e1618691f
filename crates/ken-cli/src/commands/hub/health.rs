//! `ken hub health`: asks a running hub whether it is alive, or ready for requests.
//!
//! The image of the hub has no shell and no HTTP client; this is its health check. It needs neither
//! a token nor the database.

use std::time::Duration;

use clap::Args;
use ken_http::FileHost;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// Timeout of the probe; the hub's own query of the database has a shorter one.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum bytes of the response.
const RESPONSE_BYTES_MAX: u64 = 1 << 16;

/// `ken hub health`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken hub health\n  ken hub health --ready")]
pub(crate) struct HealthArgs {
    /// Metrics address of the hub, or its public one; plain `http` only on this machine
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9750")]
    url: String,
    /// Also require that the database responds and the hub is not shutting down
    #[arg(long)]
    ready: bool,
}

#[derive(Serialize)]
struct HubHealthObject {
    schema: &'static str,
    /// `ok`; a hub that does not respond is an error.
    status: &'static str,
    /// True if readiness was checked as well.
    ready: bool,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &HealthArgs,
) -> Result<CommandExit, CommandFailure> {
    let probe = if args.ready { "readyz" } else { "healthz" };
    let url = format!("{}/{probe}", args.url.trim_end_matches('/'));
    let host = FileHost::open(&url, TIMEOUT)
        .map_err(|error| CommandFailure::usage(format_args!("--url: {error}")))?;
    let mut body = Vec::new();
    let answer = host.download(&url, RESPONSE_BYTES_MAX, &mut body, &mut |_, _| ());
    let state = if args.ready { "ready" } else { "alive" };
    match answer {
        Ok(true) => {}
        Ok(false) => {
            let message = format!("`{}` is not a hub: it has no `/{probe}`", args.url);
            return Err(CommandFailure::refused("not_a_hub", message));
        }
        Err(error) => {
            let mut failure =
                CommandFailure::refused("unhealthy", format_args!("the hub is not {state}"));
            failure.causes.push(error.to_string());
            return Err(failure);
        }
    }
    if session.is_json() {
        session.printer.json(&HubHealthObject {
            schema: "ken.hub.health.v1",
            status: "ok",
            ready: args.ready,
        })?;
    } else {
        session.printer.line(format_args!("the hub is {state}"))?;
    }
    Ok(CommandExit::Fine)
}
