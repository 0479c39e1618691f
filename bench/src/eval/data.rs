//! The evaluation set: lessons, queries whose answers are known, and questions about other things.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ken_core::decide::{Draft, EventStamper, SCHEMA_VERSION};
use ken_core::ledger::event::{EventBody, Origin, Proposed, RecordedEvent};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::content::Content;
use ken_core::values::id::{EntryId, EventId, IdSource as _, NodeId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::speed::story::{Dice, admission};

/// Everything that is asked and may answer.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) lessons: Vec<Lesson>,
    pub(super) prose: Vec<Asked>,
    pub(super) code: Vec<Asked>,
    /// Questions about other things altogether.
    pub(super) strangers: Vec<Asked>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lesson {
    pub(super) id: String,
    pub(super) statement: String,
}

/// A query.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) relevant: BTreeSet<String>,
    pub(super) split: Option<Split>,
    /// What part of its words its answer has.
    pub(super) overlap: Option<f64>,
}

/// An entry, the name of what it tells, and the event that proposes it.
pub(super) type Told = (EntryId, String, RecordedEvent);

/// Queries to tune on, and queries to judge by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Split {
    Dev,
    Test,
}

#[derive(Deserialize)]
struct Conversation {
    qa: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

impl Split {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Dev, Self::Test]
            .into_iter()
            .find(|it| it.name() == name)
    }
}

impl Set {
    pub(super) fn load(dir: &Path) -> Result<Self, String> {
        let both = |name: &str| -> Result<Vec<Asked>, String> {
            let mut asked = lines(&dir.join(format!("{name}.jsonl")))?;
            asked.extend(lines(&dir.join(format!("{name}.copyleft.jsonl")))?);
            Ok(asked)
        };
        Ok(Self {
            lessons: lines(&dir.join("entries.jsonl"))?,
            prose: both("queries")?,
            code: both("queries_code")?,
            strangers: strangers(&dir.join("locomo10.json"))?,
        })
    }
}

/// Returns the lessons as events, each with its entry and its own name.
pub(super) fn proposals(lessons: &[Lesson]) -> Result<Vec<Told>, String> {
    let mut dice = Dice::new(1);
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
    let node = NodeId::new(dice.random());
    let by = Actor::from_claim(ActorRole::Import, "eval");
    let mut seen = None;
    let mut events = Vec::with_capacity(lessons.len());
    for lesson in lessons {
        let id = EventId::new(now, dice.random());
        let entry = EntryId::created_by(id, EntryKind::Learning);
        let draft = Draft {
            about: vec![entry.into()],
            body: EventBody::Proposed(proposed(lesson)?),
        };
        let mut clock = EventStamper {
            node,
            now,
            seen,
            ids: &mut dice,
        };
        let event = clock.stamp_with_id(id, draft, &by, admission());
        seen = clock.seen;
        events.push((entry, lesson.id.clone(), RecordedEvent::new(event)));
    }
    Ok(events)
}

fn proposed(lesson: &Lesson) -> Result<Proposed, String> {
    let statement = lesson.statement.parse();
    let statement = statement.map_err(|error| format!("lesson {}: {error}", lesson.id))?;
    Ok(Proposed {
        kind: EntryKind::Learning,
        content: Content::new(statement),
        citations: Vec::new(),
        status: ken_core::values::status::EntryStatus::Candidate,
        origin: Origin::Import,
        scope: ken_core::values::content::EntryScope::Workspace,
        schema_version: SCHEMA_VERSION.to_owned(),
        alias: None,
        thread: None,
        run: None,
        overrides: None,
        copied_from: None,
        foraged: None,
        promoted_from: Vec::new(),
    })
}

fn strangers(path: &Path) -> Result<Vec<Asked>, String> {
    let text = read(path)?;
    let conversations: Vec<Conversation> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let questions = conversations.into_iter().flat_map(|it| it.qa);
    let asked = questions.map(|it| Asked {
        text: it.question,
        relevant: BTreeSet::new(),
        split: None,
        overlap: None,
    });
    Ok(asked.collect())
}

pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let wrong = |error: serde_json::Error| format!("{}: {error}", path.display());
    let text = read(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).map_err(wrong))
        .collect()
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
