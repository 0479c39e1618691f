//! What can be asked: the arguments of the five tools, which are also their schemas, and the limits they keep to.
//!
//! What stands above a field is what an agent reads about it, on every turn: so it is short.

use ken_core::score::Role;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::port::Trouble;

/// Bytes a query may have: a log's last screens, not the log.
pub const QUERY_BYTES_MAX: usize = 16 << 10;
/// Bytes any other text may have.
pub const TEXT_BYTES_MAX: usize = 8 << 10;
/// Bytes one of several may have: a path, a tag, a citation.
pub const ITEM_BYTES_MAX: usize = 1 << 10;
/// Paths, tags, kinds and so on that may be given at once.
pub const ITEMS_MAX: usize = 50;
/// Entries a search may ask for.
pub const LIMIT_MAX: u32 = 20;

/// Arguments of a tool.
pub(crate) trait Ask: DeserializeOwned + JsonSchema {
    /// Returns what is too much, or nothing at all, before anybody works on it.
    fn check(&self) -> Result<(), Trouble>;
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// How much of each entry is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    #[default]
    Concise,
    Full,
}

/// Arguments of `ken_search`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchAsk {
    /// Goal, technology and problem in your words, or an error
    pub query: String,
    /// Files or folders in hand, below the repository
    #[serde(default)]
    pub paths: Vec<String>,
    /// Only these, such as bug, decision, incident, spike
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Only under one of these
    #[serde(default)]
    pub tags: Vec<String>,
    /// concise is a line each
    #[serde(default)]
    pub detail: Detail,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub limit: u32,
    /// Also what the code contradicts
    #[serde(default)]
    pub include_stale: bool,
    #[serde(default)]
    pub format: Format,
}

/// Arguments of `ken_get`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAsk {
    /// L-7k2f5qm3, or ken://entry/L-7k2f5qm3
    pub id: String,
    /// Also what happened to it
    #[serde(default)]
    pub history: bool,
    #[serde(default)]
    pub format: Format,
}

/// Arguments of `ken_record`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordAsk {
    /// One to three sentences, general, without secrets
    pub statement: String,
    /// learning, decision, convention, bug, pattern, anti-pattern, technique, incident
    #[serde(default = "learning")]
    pub kind: String,
    /// Code it rests on: path#symbol, path:10-20 or path
    #[serde(default)]
    pub anchors: Vec<String>,
    /// What shows it: commit:HASH, pr:N, test:NAME, doc:PATH, transcript:ID
    pub cites: Vec<String>,
    /// Steps that check it
    #[serde(default)]
    pub verify: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub format: Format,
}

/// Arguments of `ken_feedback`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackAsk {
    pub id: String,
    pub helpful: bool,
    #[serde(default)]
    pub format: Format,
}

/// Arguments of `ken_check`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckAsk {
    #[serde(default)]
    pub paths: Vec<String>,
    /// Revision the change begins at
    #[serde(default)]
    pub base: String,
    #[serde(default)]
    pub format: Format,
}

/// What a briefing is for; resources and prompts ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefAsk {
    /// What is going to be done; may be empty.
    pub task: String,
    pub role: Option<Role>,
    /// The revision a change begins at; without one, what is not committed yet is in hand.
    pub base: Option<String>,
    /// Whose briefing; this workspace's where none is named.
    pub workspace: Option<String>,
}

fn five() -> u32 {
    5
}

fn learning() -> String {
    "learning".to_owned()
}

impl Ask for SearchAsk {
    fn check(&self) -> Result<(), Trouble> {
        said("query", &self.query, QUERY_BYTES_MAX)?;
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            let limit = self.limit;
            let said = format!("limit is {limit}");
            return Err(Trouble::asked(said, format!("give 1 to {LIMIT_MAX}")));
        }
        items("paths", &self.paths)?;
        items("kinds", &self.kinds)?;
        items("tags", &self.tags)
    }
}

impl Ask for GetAsk {
    fn check(&self) -> Result<(), Trouble> {
        said("id", &self.id, ITEM_BYTES_MAX)
    }
}

impl Ask for RecordAsk {
    fn check(&self) -> Result<(), Trouble> {
        said("statement", &self.statement, TEXT_BYTES_MAX)?;
        said("kind", &self.kind, ITEM_BYTES_MAX)?;
        items("anchors", &self.anchors)?;
        items("cites", &self.cites)?;
        items("verify", &self.verify)?;
        items("tags", &self.tags)
    }
}

impl Ask for FeedbackAsk {
    fn check(&self) -> Result<(), Trouble> {
        said("id", &self.id, ITEM_BYTES_MAX)
    }
}

impl Ask for CheckAsk {
    fn check(&self) -> Result<(), Trouble> {
        items("paths", &self.paths)?;
        fits("base", &self.base, ITEM_BYTES_MAX)
    }
}

impl BriefAsk {
    /// Returns what is too much.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        fits("task", &self.task, QUERY_BYTES_MAX)?;
        for (name, text) in [("base", &self.base), ("workspace", &self.workspace)] {
            fits(name, text.as_deref().unwrap_or_default(), ITEM_BYTES_MAX)?;
        }
        Ok(())
    }
}

/// Refuses a text that is missing or too long.
fn said(name: &str, text: &str, max: usize) -> Result<(), Trouble> {
    if text.trim().is_empty() {
        return Err(Trouble::asked(format!("{name} is empty"), "give it"));
    }
    fits(name, text, max)
}

fn fits(name: &str, text: &str, max: usize) -> Result<(), Trouble> {
    match text.len() <= max {
        true => Ok(()),
        false => {
            let said = format!("{name} has {} bytes; at most {max} are read", text.len());
            Err(Trouble::asked(said, "shorten it"))
        }
    }
}

fn items(name: &str, all: &[String]) -> Result<(), Trouble> {
    if ITEMS_MAX < all.len() {
        let said = format!(
            "{} {name} are given; at most {ITEMS_MAX} are read",
            all.len()
        );
        return Err(Trouble::asked(said, "give fewer"));
    }
    all.iter().try_for_each(|it| said(name, it, ITEM_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn search(arguments: serde_json::Value) -> SearchAsk {
        serde_json::from_value(arguments).expect("arguments")
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_with_what_to_do() {
        let long = "x".repeat(QUERY_BYTES_MAX + 1);
        for (arguments, said) in [
            (json!({"query": " "}), "query is empty\nnext: give it"),
            (
                json!({"query": "a", "limit": 21}),
                "limit is 21\nnext: give 1 to 20",
            ),
            (
                json!({"query": "a", "limit": 0}),
                "limit is 0\nnext: give 1 to 20",
            ),
            (
                json!({"query": "a", "paths": vec!["p"; 51]}),
                "51 paths are given; at most 50 are read\nnext: give fewer",
            ),
            (
                json!({"query": "a", "tags": [""]}),
                "tags is empty\nnext: give it",
            ),
            (
                json!({"query": long}),
                "query has 16385 bytes; at most 16384 are read\nnext: shorten it",
            ),
        ] {
            let told = search(arguments).check().map_err(|it| it.text());
            assert_eq!(told, Err(said.to_owned()));
        }
        assert_eq!(search(json!({"query": "a", "limit": 20})).check(), Ok(()));
    }
}
