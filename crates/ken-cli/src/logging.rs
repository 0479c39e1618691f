//! Tracing for whoever asks for it; nothing is set up, and nothing costs, where nobody does.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEN_LOG` | how much is told: `error`, `warn`, `info`, `debug`, `trace`, and for a part alone `ken_engine=debug` |
//! | `KEN_LOG_FILE` | where, instead of standard error |
//!
//! One line an event, and one for every span when it ends, with how long it took. Spans hold counts, durations and fixed
//! words, never a question, a text or a name. Crates of others are not asked: what they would say is not in our hands.

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

/// What every part of Ken is called, to begin with.
const OURS: &str = "ken";

/// What was set up; whatever still has to be sent is sent when this ends.
#[derive(Debug, Default)]
pub(crate) struct Logging {
    #[cfg(feature = "otel")]
    _export: Option<crate::otel::Export>,
}

/// Sets up what the environment asks for.
pub(crate) fn start() -> Logging {
    let asked = env::var("KEN_LOG").ok().filter(|it| !it.is_empty());
    #[cfg(feature = "otel")]
    let (layer, export) = crate::otel::start().unzip();
    #[cfg(feature = "otel")]
    let nobody = asked.is_none() && layer.is_none();
    #[cfg(not(feature = "otel"))]
    let nobody = asked.is_none();
    if nobody {
        return Logging::default();
    }
    let lines = asked.and_then(|asked| match targets(&asked) {
        Ok(targets) => Some(targets),
        Err(wrong) => {
            tell(&format!(
                "KEN_LOG: `{wrong}` is no level; write error, warn, info, debug or trace, or ken_engine=debug"
            ));
            None
        }
    });
    let lines = lines.map(|targets| {
        let layer = tracing_subscriber::fmt::layer().compact();
        let layer = layer.with_ansi(false).with_writer(writer());
        layer.with_span_events(FmtSpan::CLOSE).with_filter(targets)
    });
    let subscriber = tracing_subscriber::registry().with(lines);
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(layer.map(|it| {
        let ours = Targets::new().with_target(OURS, LevelFilter::INFO);
        it.with_filter(ours)
    }));
    // Somebody who set one up before us keeps it.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Logging {
        #[cfg(feature = "otel")]
        _export: export,
    }
}

/// Reads what is asked for; `Err` is the part that says nothing.
fn targets(asked: &str) -> Result<Targets, String> {
    let mut targets = Targets::new();
    for part in asked.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let (target, level) = part.split_once('=').unwrap_or((OURS, part));
        let level = Some(level).filter(|it| !it.is_empty());
        let level = level.and_then(|it| LevelFilter::from_str(it).ok());
        let level = level.ok_or_else(|| part.to_owned())?;
        // Crates of others may put into their events what passes through them.
        if target.starts_with(OURS) {
            targets = targets.with_target(target, level);
        }
    }
    Ok(targets)
}

fn writer() -> BoxMakeWriter {
    let Some(path) = env::var_os("KEN_LOG_FILE").filter(|it| !it.is_empty()) else {
        return BoxMakeWriter::new(io::stderr);
    };
    match OpenOptions::new().create(true).append(true).open(&path) {
        Ok(file) => BoxMakeWriter::new(Mutex::new(file)),
        Err(error) => {
            let shown = path.to_string_lossy();
            tell(&format!("KEN_LOG_FILE: cannot open `{shown}`: {error}"));
            BoxMakeWriter::new(io::sink)
        }
    }
}

/// Says what is wrong with the environment; the command goes on.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_asked_for_all_of_ken_or_a_part() {
        let asked = targets("info,ken_engine=debug").unwrap();
        assert!(asked.would_enable("ken", &Level::INFO));
        assert!(asked.would_enable("ken_cli", &Level::INFO));
        assert!(!asked.would_enable("ken_cli", &Level::DEBUG));
        assert!(asked.would_enable("ken_engine::search", &Level::DEBUG));
        let off = targets("off").unwrap();
        assert!(!off.would_enable("ken", &Level::ERROR));
    }

    #[test]
    fn crates_of_others_say_nothing_even_where_they_are_asked() {
        let asked = targets("trace,rmcp=trace,hyper=debug").unwrap();
        for other in ["rmcp", "hyper::client", "tokio"] {
            assert!(!asked.would_enable(other, &Level::ERROR), "{other}");
        }
    }

    #[test]
    fn what_is_no_level_is_named() {
        assert_eq!(targets("info,loud").unwrap_err(), "loud");
        assert_eq!(targets("ken=").unwrap_err(), "ken=");
    }
}
