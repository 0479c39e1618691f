//! Opt-in tracing. Without configuration nothing is set up and there is no cost.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEN_LOG` | `error`, `warn`, `info`, `debug` or `trace`; for one crate `ken_engine=debug` |
//! | `KEN_LOG_FILE` | output file instead of standard error |
//!
//! The output has one line per event and one per finished span with its duration. Spans contain
//! counts, durations and fixed words, never a query, a text or a name. Other crates are excluded
//! because their events are not under our control.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::str::FromStr as _;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// The common prefix of Ken's crates.
const CRATE_PREFIX: &str = "ken";

/// The active logging setup; flushes pending telemetry when dropped.
#[derive(Debug, Default)]
pub(crate) struct LoggingSetup {
    #[cfg(feature = "otel")]
    _export: Option<crate::otel::SpanExport>,
}

/// Sets up logging as configured in the environment.
pub(crate) fn start() -> LoggingSetup {
    let filter = env::var("KEN_LOG").ok().filter(|it| !it.is_empty());
    #[cfg(feature = "otel")]
    let (layer, export) = crate::otel::start_export().unzip();
    #[cfg(feature = "otel")]
    let is_disabled = filter.is_none() && layer.is_none();
    #[cfg(not(feature = "otel"))]
    let is_disabled = filter.is_none();
    if is_disabled {
        return LoggingSetup::default();
    }
    let enabled = filter.and_then(|text| match parse_filter(&text) {
        Ok(targets) => Some(targets),
        Err(wrong) => {
            warn(&format!(
                "KEN_LOG: `{wrong}` is not a valid level; use error, warn, info, debug or trace, or ken_engine=debug"
            ));
            None
        }
    });
    let line_layer = enabled.map(|targets| {
        tracing_subscriber::fmt::layer()
            .compact()
            .with_ansi(false)
            .with_writer(log_writer())
            .with_span_events(FmtSpan::CLOSE)
            .with_filter(targets)
    });
    let subscriber = tracing_subscriber::registry().with(line_layer);
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(layer.map(|export_layer| {
        let ours = Targets::new().with_target(CRATE_PREFIX, LevelFilter::INFO);
        export_layer.with_filter(ours)
    }));
    // Fails only if a subscriber is already set; then it stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    LoggingSetup {
        #[cfg(feature = "otel")]
        _export: export,
    }
}

/// Parses a filter; the error is the invalid part.
fn parse_filter(filter: &str) -> Result<Targets, String> {
    let mut targets = Targets::new();
    for part in filter.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let (target, level) = part.split_once('=').unwrap_or((CRATE_PREFIX, part));
        let named_level = Some(level).filter(|it| !it.is_empty());
        let parsed = named_level.and_then(|it| LevelFilter::from_str(it).ok());
        let level = parsed.ok_or_else(|| part.to_owned())?;
        // Other crates may log the data that passes through them, so they are never enabled.
        if target.starts_with(CRATE_PREFIX) {
            targets = targets.with_target(target, level);
        }
    }
    Ok(targets)
}

fn log_writer() -> BoxMakeWriter {
    let Some(path) = env::var_os("KEN_LOG_FILE").filter(|it| !it.is_empty()) else {
        return BoxMakeWriter::new(io::stderr);
    };
    // Appending, because several processes of Ken may log to the same file.
    match OpenOptions::new().create(true).append(true).open(&path) {
        Ok(file) => BoxMakeWriter::new(Mutex::new(file)),
        Err(error) => {
            let shown = path.to_string_lossy();
            warn(&format!("KEN_LOG_FILE: cannot open `{shown}`: {error}"));
            // The user asked for a file, so the lines do not go to stderr instead.
            BoxMakeWriter::new(io::sink)
        }
    }
}

/// Prints a warning about the environment; the command continues.
fn warn(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_asked_for_all_of_ken_or_a_part() {
        let enabled = parse_filter("info,ken_engine=debug").unwrap();
        assert!(enabled.would_enable("ken", &Level::INFO));
        assert!(enabled.would_enable("ken_cli", &Level::INFO));
        assert!(!enabled.would_enable("ken_cli", &Level::DEBUG));
        assert!(enabled.would_enable("ken_engine::search", &Level::DEBUG));
        let off = parse_filter("off").unwrap();
        assert!(!off.would_enable("ken", &Level::ERROR));
    }

    #[test]
    fn crates_of_others_say_nothing_even_where_they_are_asked() {
        let enabled = parse_filter("trace,rmcp=trace,hyper=debug").unwrap();
        for other in ["rmcp", "hyper::client", "tokio"] {
            assert!(!enabled.would_enable(other, &Level::ERROR), "{other}");
        }
    }

    #[test]
    fn what_is_no_level_is_named() {
        assert_eq!(parse_filter("info,loud").unwrap_err(), "loud");
        assert_eq!(parse_filter("ken=").unwrap_err(), "ken=");
    }
}
