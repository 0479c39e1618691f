//! JSON view of an event, `ken.event.v1`, and its one-line description.

use serde::Serialize;
use serde_json::Value;

use crate::ledger::event::{
    ApprovalGranted, Archived, Cited, Confirmed, ContradictionFlagged, ContradictionResolved,
    EventBlanked, EventBody, FeedbackGiven, HandoffTaken, HandoffWritten, Keep, KnowledgeDistilled,
    Linked, Merged, OverlaySet, PairDismissed, Proposed, QuarantineLifted, RecordedEvent, Restored,
    Retracted, RetrievalMissed, Revised, RunObserved, ScopeChanged, StatusChanged, Superseded,
};
use crate::trust::outcome::RunFacts;
use crate::values::text::{Note, enum_label, one_line};

/// The JSON view of an event.
#[derive(Clone, Debug, Serialize)]
pub struct EventJson {
    schema: &'static str,
    id: String,
    at: String,
    by: String,
    #[serde(rename = "type")]
    type_name: String,
    about: Vec<String>,
    data: Value,
}

impl EventJson {
    /// Builds the view of an event.
    #[must_use]
    pub fn new(recorded: &RecordedEvent) -> Self {
        let event = &recorded.event;
        // From the line, not the typed event, so that fields of a newer build are included.
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

/// Describes the event in one line.
pub fn describe_event(recorded: &RecordedEvent) -> String {
    let event = &recorded.event;
    if let Some(data) = event.get::<Proposed>() {
        return format!("proposed: {}", one_line(data.content.statement.as_str()));
    }
    if let Some(data) = event.get::<Revised>() {
        let fields = data.changes.fields().join(", ");
        let statement = data.changes.statement.as_ref();
        let suffix = statement
            .map(|statement| format!(": {}", one_line(statement.as_str())))
            .unwrap_or_default();
        return format!(
            "edited {fields}{}{suffix}",
            format_reason(data.reason.as_ref())
        );
    }
    if let Some(data) = event.get::<Cited>() {
        return format!("cited {}", data.citation);
    }
    if let Some(data) = event.get::<Confirmed>() {
        return if data.withdraws.is_empty() {
            format!(
                "confirmed on {} ({})",
                data.on,
                enum_label(&data.provenance)
            )
        } else {
            "withdrew a confirmation".to_owned()
        };
    }
    if let Some(data) = event.get::<StatusChanged>() {
        return format!("status {}{}", data.to, format_reason(data.reason.as_ref()));
    }
    if let Some(data) = event.get::<Linked>() {
        return if data.withdraws.is_empty() {
            format!("linked: {} {}", enum_label(&data.rel), data.to)
        } else {
            format!("removed the link to {}", data.to)
        };
    }
    describe_lifecycle_event(recorded)
}

/// Describes events of the lifecycle, and others.
fn describe_lifecycle_event(recorded: &RecordedEvent) -> String {
    let event = &recorded.event;
    if let Some(data) = event.get::<FeedbackGiven>() {
        return format!("rated {}", enum_label(&data.verdict));
    }
    if let Some(data) = event.get::<Archived>() {
        return format!("archived ({})", enum_label(&data.because));
    }
    if let Some(data) = event.get::<Restored>() {
        return format!("restored{}", format_reason(data.reason.as_ref()));
    }
    if let Some(data) = event.get::<Retracted>() {
        return format!(
            "retracted as {}{}",
            enum_label(&data.reason),
            format_reason(data.note.as_ref())
        );
    }
    if let Some(data) = event.get::<QuarantineLifted>() {
        return format!(
            "released from quarantine{}",
            format_reason(Some(&data.reason))
        );
    }
    if let Some(data) = event.get::<ApprovalGranted>() {
        let how = match data.signature {
            Some(_) => "approved and signed",
            None => "approved",
        };
        return format!("{how}: artifact {}", one_line(data.artifact.as_str()));
    }
    if let Some(data) = event.get::<ScopeChanged>() {
        return format!("promoted: {} scope", enum_label(&data.to));
    }
    if let Some(data) = event.get::<OverlaySet>() {
        return format!(
            "annotation {} {}",
            enum_label(&data.overlay),
            enum_label(&data.state)
        );
    }
    if let Some(data) = event.get::<Superseded>() {
        return format!("superseded by {}", data.new);
    }
    if let Some(text) = describe_pair_event(recorded) {
        return text;
    }
    describe_other_event(recorded)
}

/// Describes events about no entry, and all remaining types.
fn describe_other_event(recorded: &RecordedEvent) -> String {
    let event = &recorded.event;
    if event.get::<RetrievalMissed>().is_some() {
        return "was the top hit for a query it does not answer".to_owned();
    }
    if let Some(data) = event.get::<KnowledgeDistilled>() {
        let sources: Vec<String> = data.sources.iter().map(ToString::to_string).collect();
        return format!("distilled {} from {}", data.entry, sources.join(", "));
    }
    if let Some(data) = event.get::<EventBlanked>() {
        return format!(
            "redacted event {} ({})",
            data.event,
            enum_label(&data.reason)
        );
    }
    if let Some(data) = event.get::<HandoffWritten>() {
        let branch = data.branch.as_deref().unwrap_or("no branch");
        return format!("left a handoff on {}", one_line(branch));
    }
    if let Some(data) = event.get::<HandoffTaken>() {
        return format!("took handoff {}", data.handoff);
    }
    if let Some(data) = event.get::<RunObserved>() {
        let facts = RunFacts::from_event(data).to_string();
        return format!("{} observed: {facts}", enum_label(&data.observer));
    }
    if let EventBody::Blanked { type_name } = &event.body {
        return format!("{type_name}, its data was redacted");
    }
    if let EventBody::Unknown { type_name } = &event.body {
        return format!("{type_name}, written by a newer version of Ken");
    }
    event.body.type_name().to_owned()
}

/// Describes a decision about several entries.
fn describe_pair_event(recorded: &RecordedEvent) -> Option<String> {
    let event = &recorded.event;
    if let Some(data) = event.get::<Merged>() {
        let sources: Vec<String> = data.sources.iter().map(ToString::to_string).collect();
        return Some(format!(
            "merged {} into {}",
            sources.join(", "),
            data.target
        ));
    }
    if let Some(data) = event.get::<ContradictionResolved>() {
        let (first, second) = (data.first, data.second);
        let how = match data.keep {
            Keep::First => format!("kept {first}"),
            Keep::Second => format!("kept {second}"),
            Keep::Both => "kept both".to_owned(),
        };
        return Some(format!(
            "resolved the contradiction between {first} and {second}: {how}"
        ));
    }
    if let Some(data) = event.get::<ContradictionFlagged>() {
        return Some(format!(
            "flagged a contradiction between {} and {}",
            data.first, data.second
        ));
    }
    let data = event.get::<PairDismissed>()?;
    Some(format!(
        "dismissed {} and {} as a {}",
        data.first,
        data.second,
        enum_label(&data.as_what)
    ))
}

fn format_reason(note: Option<&Note>) -> String {
    note.map(|note| format!(" ({})", one_line(note.as_str())))
        .unwrap_or_default()
}
