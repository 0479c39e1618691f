//! Which turns of a long conversation answer a question about it (LoCoMo): evidence retrieval.
//!
//! A store for each conversation, an entry for each turn. Questions without an answer in the
//! conversation are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_index::Embedder;
use serde::Deserialize;
use serde_json::Value;

use super::data::{Asked, Lesson, proposals, read};
use super::figures::Mean;
use super::{DEPTH, Library};

/// Questions of this category cannot be answered from the conversation.
const UNANSWERABLE: u8 = 5;

#[derive(Deserialize)]
struct Conversation {
    /// Sessions by name, among other things.
    conversation: BTreeMap<String, Value>,
    qa: Vec<Question>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    category: u8,
    #[serde(default)]
    evidence: Vec<String>,
}

/// Prints how many of the turns that answer are among the first ten.
pub(super) fn report(dir: &Path, embedder: Option<&dyn Embedder>) -> Result<String, String> {
    let path = dir.join("locomo10.json");
    let conversations: Vec<Conversation> = serde_json::from_str(&read(&path)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let mut recalls = Vec::new();
    for conversation in &conversations {
        let turns = conversation.turns();
        let names: BTreeSet<String> = turns.iter().map(|turn| turn.id.clone()).collect();
        let mut library = Library::filled(proposals(&turns)?)?;
        library.prepare(embedder)?;
        for asked in conversation.asked(&names) {
            let found = library.found(&asked, embedder)?;
            let held = found.iter().filter(|name| asked.relevant.contains(**name));
            recalls.push(100.0 * held.count() as f64 / asked.relevant.len() as f64);
        }
    }
    let mean = Mean::of(&recalls);
    Ok(format!(
        "recall@{DEPTH} {mean}  ({} questions)",
        recalls.len()
    ))
}

impl Conversation {
    fn turns(&self) -> Vec<Lesson> {
        let is_session = |name: &str| {
            let number = name.strip_prefix("session_");
            number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
        };
        let sessions = self
            .conversation
            .iter()
            .filter(|(name, _)| is_session(name));
        let turns =
            sessions.flat_map(|(_, turns)| Vec::<Turn>::deserialize(turns).unwrap_or_default());
        turns.map(Turn::into_lesson).collect()
    }

    fn asked(&self, names: &BTreeSet<String>) -> Vec<Asked> {
        let answerable = self.qa.iter().filter(|it| it.category != UNANSWERABLE);
        let asked = answerable.map(|it| Asked {
            text: it.question.clone(),
            relevant: it
                .evidence
                .iter()
                .flat_map(|text| turn_names(text))
                .collect(),
            split: None,
            overlap: None,
        });
        let known = asked.map(|mut it| {
            it.relevant.retain(|name| names.contains(name));
            it
        });
        known.filter(|it| !it.relevant.is_empty()).collect()
    }
}

impl Turn {
    fn into_lesson(self) -> Lesson {
        let image = self
            .blip_caption
            .map(|caption| format!(" [image: {caption}]"));
        Lesson {
            id: self.dia_id,
            statement: format!(
                "{}: {}{}",
                self.speaker,
                self.text,
                image.unwrap_or_default()
            ),
        }
    }
}

/// Returns the turns a text names: `D1:3; D2:8`.
fn turn_names(text: &str) -> Vec<String> {
    let names = text.split(|c: char| !c.is_alphanumeric() && c != ':');
    let is_name = |name: &&str| {
        let parts = name.strip_prefix('D').and_then(|rest| rest.split_once(':'));
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        parts.is_some_and(|(session, turn)| digits(session) && digits(turn))
    };
    names.filter(is_name).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_names_turns_in_several_spellings() {
        assert_eq!(turn_names("D1:3; D2:8"), ["D1:3", "D2:8"]);
        assert_eq!(turn_names("D10:12"), ["D10:12"]);
        assert_eq!(turn_names("D, x:1"), [""; 0]);
    }
}
