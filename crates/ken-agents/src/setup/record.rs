//! Setup records: the data needed to remove everything that setup wrote to a file.
//!
//! Each file has its own record below `.ken/setup/`, shared through git, so that two branches that
//! set up different agents write different files. A record lists the entries that belong to Ken;
//! an entry missing from every record was written by a person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::BOM;
use crate::CodingAgent;

const SCHEMA: &str = "ken.setup.record.v1";

/// The parts written to a file, and the state of the file before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetupRecord {
    pub(super) schema: String,
    /// The file's path, relative to the repository root.
    pub path: String,
    /// Names of the agents the file was written for.
    pub(super) agents: Vec<String>,
    /// True if the file did not exist.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) created: bool,
    /// Folders created for the file, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The original text of a file that contained only whitespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blank: Option<String>,
    /// The separator written between the existing text and an appended block.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) lead: String,
    /// Entries written to a JSON file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) entries: Vec<RecordedEntry>,
    /// Objects and arrays created for entries, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) made: Vec<String>,
    /// Top-level members that a new file requires, such as `version`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extras: Vec<String>,
    /// The original whitespace inside empty objects and arrays, by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) inner: BTreeMap<String, String>,
}

/// An entry written to a JSON file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedEntry {
    /// The object or array that contains it, as in `/hooks/Stop`.
    pub(super) at: String,
    /// Its key in an object; `None` in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The hash of its value.
    pub(super) sum: String,
}

impl SetupRecord {
    /// Parses a record; returns `None` if the text is not a valid one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(text).ok()?;
        // A record comes from git and may be written by anyone, so it is validated before use.
        let is_sound = record.schema == SCHEMA && record.restores_only_whitespace();
        is_sound.then_some(record)
    }

    /// Returns the folders created for the file, outermost first.
    pub fn folders(&self) -> impl DoubleEndedIterator<Item = &str> {
        // A forged record must not make a removal delete unrelated folders.
        let above = |folder: &&String| self.path.starts_with(&format!("{folder}/"));
        self.folders.iter().filter(above).map(String::as_str)
    }

    /// Returns true if a removal would write nothing but whitespace.
    ///
    /// Records are shared through git. Without this check a forged record could insert any text
    /// into a file on removal.
    fn restores_only_whitespace(&self) -> bool {
        let edges = self.blank.iter().chain([&self.lead]);
        let mut texts = edges.chain(self.inner.values());
        texts.all(|text| text.chars().all(|c| c.is_whitespace() || c == BOM))
    }

    /// Serializes the record.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings, lists and booleans always serialize, so the default is never used.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the file name of the record for `path`.
    #[must_use]
    pub fn file_name(path: &str) -> String {
        format!("{}.json", path.replace('/', "+"))
    }

    /// Returns the agents the file was written for.
    #[must_use]
    pub fn agents(&self) -> Vec<CodingAgent> {
        // A name from a newer Ken is skipped: this build has no targets for it.
        let known = self
            .agents
            .iter()
            .filter_map(|name| CodingAgent::named(name));
        known.collect()
    }

    /// Returns the record without some agents, or `None` if no agent remains.
    #[must_use]
    pub fn without(&self, leaving: &[CodingAgent]) -> Option<Self> {
        let is_leaving = |name: &String| leaving.iter().any(|it| it.name() == name);
        let remaining = self.agents.iter().filter(|it| !is_leaving(it));
        let agents: Vec<String> = remaining.cloned().collect();
        (!agents.is_empty()).then(|| Self {
            agents,
            ..self.clone()
        })
    }

    /// Sets the path and adds agents to those already recorded.
    pub(super) fn name(&mut self, path: &str, agents: &[CodingAgent]) {
        SCHEMA.clone_into(&mut self.schema);
        path.clone_into(&mut self.path);
        // Iterating `ALL` gives a fixed order, so that two branches produce the same bytes.
        let recorded = CodingAgent::ALL.into_iter().filter(|agent| {
            agents.contains(agent) || self.agents.iter().any(|name| name == agent.name())
        });
        self.agents = recorded.map(|agent| agent.name().to_owned()).collect();
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_false(it: &bool) -> bool {
    !it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_would_write_a_strangers_text_is_none() {
        let sound = r#"{"schema": "ken.setup.record.v1", "path": ".mcp.json", "blank": " \n"}"#;
        assert!(SetupRecord::parse(sound).is_some());
        for text in [
            r#"{"schema": "ken.setup.record.v1", "blank": "{\"hooks\": {}}"}"#,
            r#"{"schema": "ken.setup.record.v1", "lead": "x"}"#,
            r#"{"schema": "ken.setup.record.v1", "inner": {"": "\"x\": 1"}}"#,
            r#"{"schema": "ken.setup.record.v2"}"#,
            "<<<<<<< HEAD",
        ] {
            assert_eq!(SetupRecord::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_folders_above_the_file_are_its_folders() {
        let text = r#"{"schema": "ken.setup.record.v1", "path": ".claude/skills/ken/SKILL.md",
            "folders": [".claude", "src", ".claude/skills", ".claude/skills/kenx"]}"#;
        let record = SetupRecord::parse(text).expect("a record");
        assert_eq!(
            record.folders().collect::<Vec<_>>(),
            [".claude", ".claude/skills"]
        );
    }
}
