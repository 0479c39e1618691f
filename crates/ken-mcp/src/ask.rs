//! Arguments of the tools, their JSON schemas and their limits.
//!
//! The doc comment of a field is its description in the schema. Agents read it on every turn, so
//! it is short.

use ken_core::retrieval::score::ReaderRole;
use ken_core::values::citation::CitationType;
use ken_core::values::kind::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::port::ToolError;

/// Maximum bytes of a query: enough for the end of a log, not for the whole log.
pub const QUERY_BYTES_MAX: usize = 16 << 10;
/// Maximum bytes of any other text.
pub const TEXT_BYTES_MAX: usize = 8 << 10;
/// Maximum size of a claim: a statement and a body.
pub const CLAIM_BYTES_MAX: usize = 20 << 10;
/// Maximum bytes of a list item: a path, a tag, a citation.
pub const ITEM_BYTES_MAX: usize = 1 << 10;
/// Maximum items per list.
pub const ITEMS_MAX: usize = 50;
/// Maximum entries per search.
pub const LIMIT_MAX: u32 = 20;

/// Arguments of a tool.
pub(crate) trait ToolArguments: DeserializeOwned + JsonSchema {
    /// A valid call, shown with the error about an invalid one.
    const EXAMPLE: &'static str;

    /// Checks the limits before any work is done.
    fn check(&self) -> Result<(), ToolError>;
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplyFormat {
    #[default]
    Text,
    Json,
}

/// The amount of text per entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DetailLevel {
    #[default]
    Concise,
    Full,
}

/// Arguments of `ken_search`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    /// Goal, technology and problem in your words, or an error
    pub query: String,
    /// Repository paths of the task
    #[serde(default)]
    pub paths: Vec<String>,
    /// Only these kinds, such as bug, decision, incident, spike
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Only these tags and tags below them
    #[serde(default)]
    pub tags: Vec<String>,
    /// concise: one line per entry
    #[serde(default)]
    pub detail: DetailLevel,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub limit: u32,
    /// Include entries whose code changed
    #[serde(default)]
    pub include_stale: bool,
    /// Every workspace you may read; ken_show reads this one only, so ask for full detail
    #[serde(default)]
    pub all_workspaces: bool,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_show`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetArguments {
    /// L-7k2f5qm3, or ken://entry/L-7k2f5qm3
    pub id: String,
    /// Include its events
    #[serde(default)]
    pub history: bool,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_add`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordArguments {
    /// One to three sentences, without secrets; further ones become the body
    pub statement: String,
    #[schemars(description = EntryKind::lesson_names())]
    #[serde(default = "learning")]
    pub kind: String,
    /// Code it is about: path#symbol, path:10-20 or path
    #[serde(default)]
    pub anchors: Vec<String>,
    #[schemars(description = format!("Sources that support it: {}", CitationType::FORMS))]
    pub cites: Vec<String>,
    /// Steps that verify it
    #[serde(default)]
    pub verify: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Ids it replaces
    #[serde(default)]
    pub supersedes: Vec<String>,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_feedback`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackArguments {
    pub id: String,
    pub helpful: bool,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_edit`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArguments {
    pub id: String,
    #[serde(default)]
    pub statement: String,
    /// Replace its code locations
    #[serde(default)]
    pub anchors: Vec<String>,
    /// Replace its steps
    #[serde(default)]
    pub verify: Vec<String>,
    /// Tags to add
    #[serde(default)]
    pub tags: Vec<String>,
    /// Tags to remove
    #[serde(default)]
    pub untag: Vec<String>,
    /// Reason
    #[serde(default)]
    pub note: String,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_cite`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CiteArguments {
    pub id: String,
    /// As in ken_add
    pub cites: Vec<String>,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// Arguments of `ken_check`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckArguments {
    #[serde(default)]
    pub paths: Vec<String>,
    /// Revision at which the change starts
    #[serde(default)]
    pub base: String,
    #[serde(default)]
    pub format: ReplyFormat,
}

/// The parameters of a briefing requested through a resource or prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefingArguments {
    /// The planned task; may be empty.
    pub task: String,
    pub role: Option<ReaderRole>,
    /// The revision a change starts at; without it, uncommitted work is the change.
    pub base: Option<String>,
    /// The workspace; `None` for the default one.
    pub workspace: Option<String>,
}

fn five() -> u32 {
    5
}

fn learning() -> String {
    "learning".to_owned()
}

impl ToolArguments for SearchArguments {
    const EXAMPLE: &'static str = r#"{"query": "retry of a failed payment"}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("query", &self.query, QUERY_BYTES_MAX)?;
        // The schema states the range, but not every client validates against it.
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            let limit = self.limit;
            let problem = format!("limit is {limit}");
            return Err(ToolError::asked(problem, format!("use 1 to {LIMIT_MAX}")));
        }
        check_items("paths", &self.paths)?;
        check_items("kinds", &self.kinds)?;
        check_items("tags", &self.tags)
    }
}

impl ToolArguments for GetArguments {
    const EXAMPLE: &'static str = r#"{"id": "L-7k2f5qm3"}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("id", &self.id, ITEM_BYTES_MAX)
    }
}

impl ToolArguments for RecordArguments {
    const EXAMPLE: &'static str = r#"{"statement": "A retry is charged once.", "anchors": ["src/pay.rs#charge"], "cites": ["commit:3fce3b5"]}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("statement", &self.statement, CLAIM_BYTES_MAX)?;
        check_text("kind", &self.kind, ITEM_BYTES_MAX)?;
        // An empty list of citations is not rejected here: the engine's refusal explains why it is
        // needed.
        check_items("anchors", &self.anchors)?;
        check_items("cites", &self.cites)?;
        check_items("verify", &self.verify)?;
        check_items("supersedes", &self.supersedes)?;
        check_items("tags", &self.tags)
    }
}

impl ToolArguments for FeedbackArguments {
    const EXAMPLE: &'static str = r#"{"id": "L-7k2f5qm3", "helpful": true}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("id", &self.id, ITEM_BYTES_MAX)
    }
}

impl ToolArguments for EditArguments {
    const EXAMPLE: &'static str =
        r#"{"id": "L-7k2f5qm3", "statement": "A retry is charged once."}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("id", &self.id, ITEM_BYTES_MAX)?;
        check_length("statement", &self.statement, CLAIM_BYTES_MAX)?;
        check_length("note", &self.note, TEXT_BYTES_MAX)?;
        check_items("anchors", &self.anchors)?;
        check_items("verify", &self.verify)?;
        check_items("tags", &self.tags)?;
        check_items("untag", &self.untag)
    }
}

impl ToolArguments for CiteArguments {
    const EXAMPLE: &'static str = r#"{"id": "L-7k2f5qm3", "cites": ["commit:3fce3b5"]}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_text("id", &self.id, ITEM_BYTES_MAX)?;
        check_items("cites", &self.cites)
    }
}

impl ToolArguments for CheckArguments {
    const EXAMPLE: &'static str = r#"{"paths": ["src/pay.rs"]}"#;

    fn check(&self) -> Result<(), ToolError> {
        check_items("paths", &self.paths)?;
        // Paths and base may be empty: the change is then the uncommitted work.
        check_length("base", &self.base, ITEM_BYTES_MAX)
    }
}

impl BriefingArguments {
    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        check_length("task", &self.task, QUERY_BYTES_MAX)?;
        for (name, text) in [("base", &self.base), ("workspace", &self.workspace)] {
            check_length(name, text.as_deref().unwrap_or_default(), ITEM_BYTES_MAX)?;
        }
        Ok(())
    }
}

/// Returns an error if a text is empty or too long.
fn check_text(name: &str, text: &str, max: usize) -> Result<(), ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::asked(format!("{name} is empty"), "provide it"));
    }
    check_length(name, text, max)
}

fn check_length(name: &str, text: &str, max: usize) -> Result<(), ToolError> {
    if text.len() <= max {
        return Ok(());
    }
    let problem = format!("{name} has {} bytes; at most {max} are allowed", text.len());
    Err(ToolError::asked(problem, "shorten it"))
}

fn check_items(name: &str, all: &[String]) -> Result<(), ToolError> {
    if all.len() > ITEMS_MAX {
        let problem = format!(
            "{} {name} given; at most {ITEMS_MAX} are allowed",
            all.len()
        );
        return Err(ToolError::asked(problem, "pass fewer"));
    }
    // Checked here, before the backend opens the ledger.
    all.iter()
        .try_for_each(|it| check_text(name, it, ITEM_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn search(arguments: serde_json::Value) -> SearchArguments {
        serde_json::from_value(arguments).expect("arguments")
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_with_what_to_do() {
        let long = "x".repeat(QUERY_BYTES_MAX + 1);
        for (arguments, expected) in [
            (json!({"query": " "}), "query is empty\nnext: provide it"),
            (
                json!({"query": "a", "limit": 21}),
                "limit is 21\nnext: use 1 to 20",
            ),
            (
                json!({"query": "a", "limit": 0}),
                "limit is 0\nnext: use 1 to 20",
            ),
            (
                json!({"query": "a", "paths": vec!["p"; 51]}),
                "51 paths given; at most 50 are allowed\nnext: pass fewer",
            ),
            (
                json!({"query": "a", "tags": [""]}),
                "tags is empty\nnext: provide it",
            ),
            (
                json!({"query": long}),
                "query has 16385 bytes; at most 16384 are allowed\nnext: shorten it",
            ),
        ] {
            let message = search(arguments).check().map_err(|it| it.text());
            assert_eq!(message, Err(expected.to_owned()));
        }
        assert_eq!(search(json!({"query": "a", "limit": 20})).check(), Ok(()));
    }
}
