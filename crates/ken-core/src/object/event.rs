//! One event as an object for programs, `ken.event.v1`, and in a few words.

use serde::Serialize;
use serde_json::Value;

use crate::event::{
    ApprovalGranted, Archived, Body, Cited, Confirmed, EventBlanked, KnowledgeDistilled, Linked,
    OverlaySet, Proposed, QuarantineLifted, Recorded, Restored, Retracted, RetrievalMissed,
    Revised, ScopeChanged, StatusChanged, Superseded,
};
use crate::text::{Note, word};

/// An event as programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct EventObject {
    schema: &'static str,
    id: String,
    at: String,
    by: String,
    #[serde(rename = "type")]
    type_name: String,
    about: Vec<String>,
    data: Value,
}

impl EventObject {
    /// Tells an event.
    #[must_use]
    pub fn new(recorded: &Recorded) -> Self {
        let event = &recorded.event;
        let line: Value = serde_json::from_str(recorded.line()).unwrap_or_default();
        Self {
            schema: "ken.event.v1",
            id: event.id.to_string(),
            at: event.at.to_string(),
            by: event.by.to_string(),
            type_name: event.body.type_name().to_owned(),
            about: event.about.iter().map(ToString::to_string).collect(),
            data: line.get("data").cloned().unwrap_or_default(),
        }
    }
}

/// Returns what an event did, in a few words.
pub fn words(recorded: &Recorded) -> String {
    let event = &recorded.event;
    if let Some(data) = event.get::<Proposed>() {
        return format!("proposed: {}", one_line(data.content.statement.as_str()));
    }
    if let Some(data) = event.get::<Revised>() {
        let fields = data.changes.fields().join(", ");
        let text = data.changes.statement.as_ref();
        let text = text
            .map(|it| format!(": {}", one_line(it.as_str())))
            .unwrap_or_default();
        return format!("revised {fields}{}{text}", because(data.reason.as_ref()));
    }
    if let Some(data) = event.get::<Cited>() {
        return format!("cited {}", data.citation);
    }
    if let Some(data) = event.get::<Confirmed>() {
        return if data.withdraws.is_empty() {
            format!("confirmed on {} ({})", data.on, word(&data.provenance))
        } else {
            "took a confirmation back".to_owned()
        };
    }
    if let Some(data) = event.get::<StatusChanged>() {
        return format!("status {}{}", data.to, because(data.reason.as_ref()));
    }
    if let Some(data) = event.get::<Linked>() {
        return if data.withdraws.is_empty() {
            format!("linked: {} {}", word(&data.rel), data.to)
        } else {
            format!("took back the link to {}", data.to)
        };
    }
    shelf_words(recorded)
}

/// Events that take an entry out of sight or bring it back, and all the rest.
fn shelf_words(recorded: &Recorded) -> String {
    let event = &recorded.event;
    if let Some(data) = event.get::<Archived>() {
        return format!("archived ({})", word(&data.because));
    }
    if let Some(data) = event.get::<Restored>() {
        return format!("restored{}", because(data.reason.as_ref()));
    }
    if let Some(data) = event.get::<Retracted>() {
        return format!(
            "retracted as {}{}",
            word(&data.reason),
            because(data.note.as_ref())
        );
    }
    if let Some(data) = event.get::<QuarantineLifted>() {
        return format!("let out of quarantine{}", because(Some(&data.reason)));
    }
    if let Some(data) = event.get::<ApprovalGranted>() {
        let how = match data.signature {
            Some(_) => "approved and signed",
            None => "approved",
        };
        return format!("{how}: artifact {}", one_line(data.artifact.as_str()));
    }
    if let Some(data) = event.get::<ScopeChanged>() {
        return format!("promoted: {} scope", word(&data.to));
    }
    if let Some(data) = event.get::<OverlaySet>() {
        return format!("mark {} {}", word(&data.overlay), word(&data.state));
    }
    if let Some(data) = event.get::<Superseded>() {
        return format!("superseded by {}", data.new);
    }
    if event.get::<RetrievalMissed>().is_some() {
        return "came first for a question it does not answer".to_owned();
    }
    if let Some(data) = event.get::<KnowledgeDistilled>() {
        let sources: Vec<String> = data.sources.iter().map(ToString::to_string).collect();
        return format!("distilled {} from {}", data.entry, sources.join(", "));
    }
    if let Some(data) = event.get::<EventBlanked>() {
        return format!("blanked event {} ({})", data.event, word(&data.reason));
    }
    if let Body::Blanked { type_name } = &event.body {
        return format!("{type_name}, its data was blanked");
    }
    if let Body::Unknown { type_name } = &event.body {
        return format!("{type_name}, written by a newer ken");
    }
    event.body.type_name().to_owned()
}

fn because(note: Option<&Note>) -> String {
    note.map(|note| format!(" ({})", one_line(note.as_str())))
        .unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
