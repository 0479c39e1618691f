//! What setup remembers of a file it wrote to, so that all of it can be taken out again.
//!
//! One record a file, kept below `.ken/setup/` and shared through git: two branches that set up different agents write different
//! records. A record says what is Ken's; an entry that no record knows was written by a person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::BOM;
use crate::Agent;

const SCHEMA: &str = "ken.setup.record.v1";

/// What was put into a file, and what the file was like before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    pub(super) schema: String,
    /// The file, from the top of the repository.
    pub path: String,
    /// The agents it was written for, by name.
    pub(super) agents: Vec<String>,
    /// The file did not exist.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) created: bool,
    /// Folders that were made for it, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// What was in the file where that was nothing but blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blank: Option<String>,
    /// What was written between the text and a block behind it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) lead: String,
    /// Entries of a JSON file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) entries: Vec<Written>,
    /// Objects and arrays that were made for entries, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) made: Vec<String>,
    /// Members of the top that a new file needs, such as `version`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extras: Vec<String>,
    /// The blanks that were in objects and arrays without members.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) inner: BTreeMap<String, String>,
}

/// An entry of a JSON file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// The object or array it is in, as in `/hooks/Stop`.
    pub(super) at: String,
    /// Its name in an object; none in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The hash of its value.
    pub(super) sum: String,
}

impl Record {
    /// Reads a record; `None` if the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(text).ok()?;
        let is_sound = record.schema == SCHEMA && record.has_only_blanks();
        is_sound.then_some(record)
    }

    /// Returns the folders that were made for the file, outermost first.
    pub fn folders(&self) -> impl DoubleEndedIterator<Item = &str> {
        let above = |folder: &&String| self.path.starts_with(&format!("{folder}/"));
        self.folders.iter().filter(above).map(String::as_str)
    }

    /// Returns whether a removal would write nothing but blanks.
    ///
    /// Records are shared: one that would have other text written than was there is nobody's.
    fn has_only_blanks(&self) -> bool {
        let texts = self.blank.iter().chain([&self.lead]);
        let mut texts = texts.chain(self.inner.values());
        texts.all(|text| text.chars().all(|c| c.is_whitespace() || c == BOM))
    }

    /// Returns the text to keep.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings, lists and flags always become JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the name of the file that keeps the record of `path`.
    #[must_use]
    pub fn file_name(path: &str) -> String {
        format!("{}.json", path.replace('/', "+"))
    }

    /// Returns the agents it was written for.
    #[must_use]
    pub fn agents(&self) -> Vec<Agent> {
        let named = self.agents.iter().filter_map(|name| Agent::named(name));
        named.collect()
    }

    /// Returns this record for the remaining agents; `None` if there are none.
    #[must_use]
    pub fn without(&self, leaving: &[Agent]) -> Option<Self> {
        let gone = |name: &String| leaving.iter().any(|it| it.name() == name);
        let agents: Vec<String> = self.agents.iter().filter(|it| !gone(it)).cloned().collect();
        (!agents.is_empty()).then(|| Self {
            agents,
            ..self.clone()
        })
    }

    /// Says which file it is about and for which agents, beside those it names already.
    pub(super) fn name(&mut self, path: &str, agents: &[Agent]) {
        SCHEMA.clone_into(&mut self.schema);
        path.clone_into(&mut self.path);
        let known = Agent::ALL.into_iter().filter(|agent| {
            agents.contains(agent) || self.agents.iter().any(|name| name == agent.name())
        });
        self.agents = known.map(|agent| agent.name().to_owned()).collect();
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
        assert!(Record::parse(sound).is_some());
        for text in [
            r#"{"schema": "ken.setup.record.v1", "blank": "{\"hooks\": {}}"}"#,
            r#"{"schema": "ken.setup.record.v1", "lead": "x"}"#,
            r#"{"schema": "ken.setup.record.v1", "inner": {"": "\"x\": 1"}}"#,
            r#"{"schema": "ken.setup.record.v2"}"#,
            "<<<<<<< HEAD",
        ] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_folders_above_the_file_are_its_folders() {
        let text = r#"{"schema": "ken.setup.record.v1", "path": ".claude/skills/ken/SKILL.md",
            "folders": [".claude", "src", ".claude/skills", ".claude/skills/kenx"]}"#;
        let record = Record::parse(text).expect("a record");
        assert_eq!(
            record.folders().collect::<Vec<_>>(),
            [".claude", ".claude/skills"]
        );
    }
}
