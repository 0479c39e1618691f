//! Query parameters of event reads.

use ken_remote::wire::{LogCursor, PULL_EVENTS_MAX};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

use crate::api::page;

/// Query parameters of a pull.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct PullQuery {
    /// `cursor` of the previous page. `0` or absent starts at the beginning of the log.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = String, required = false, pattern = "^(0|[1-9][0-9]{0,17}\\.[0-7][0-9A-HJKMNP-TV-Z]{25})$")]
    pub(super) after: LogCursor,
    /// Maximum number of events.
    #[serde(default = "default_limit", deserialize_with = "deserialize_limit")]
    #[param(minimum = 1, maximum = 1000, default = 1000, required = false)]
    pub(super) limit: u32,
}

/// Query parameters of an event stream.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// Cursor to start after. Absent starts at the beginning. `Last-Event-ID` takes precedence.
    #[serde(default)]
    #[param(required = false, nullable = false, max_length = 64)]
    // Parsed by the handler, because a browser's `EventSource` reconnects with the same URL and
    // the header decides where both are present.
    pub(super) after: Option<String>,
}

fn default_limit() -> u32 {
    PULL_EVENTS_MAX
}

fn deserialize_limit<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    page::deserialize_limit(from).map(|limit| limit.min(PULL_EVENTS_MAX))
}

fn cursor<'de, D: Deserializer<'de>>(from: D) -> Result<LogCursor, D::Error> {
    let text = String::deserialize(from)?;
    text.parse()
        .map_err(|_| serde::de::Error::custom("`after` is not a valid cursor"))
}
