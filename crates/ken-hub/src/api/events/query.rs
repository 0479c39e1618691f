//! Where a reader of events begins.

use ken_remote::wire::{Cursor, PULL_EVENTS_MAX};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

use crate::api::page;

/// Where a pull begins, and how far it goes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct PullQuery {
    /// The `cursor` of the page before; `0`, or none, for the beginning of the log.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = String, required = false, pattern = "^(0|[1-9][0-9]{0,17}\\.[0-7][0-9A-HJKMNP-TV-Z]{25})$")]
    pub(super) after: Cursor,
    /// Events the page holds at most.
    #[serde(default = "limit_default", deserialize_with = "limit")]
    #[param(minimum = 1, maximum = 1000, default = 1000, required = false)]
    pub(super) limit: u32,
}

/// Where a stream begins.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// A cursor; the beginning of the log without. `Last-Event-ID` goes before it.
    #[serde(default)]
    #[param(required = false, nullable = false, max_length = 64)]
    pub(super) after: Option<String>,
}

fn limit_default() -> u32 {
    PULL_EVENTS_MAX
}

fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    page::limit(from).map(|limit| limit.min(PULL_EVENTS_MAX))
}

fn cursor<'de, D: Deserializer<'de>>(from: D) -> Result<Cursor, D::Error> {
    let text = String::deserialize(from)?;
    text.parse()
        .map_err(|_| serde::de::Error::custom("`after` is not a cursor of this hub"))
}
