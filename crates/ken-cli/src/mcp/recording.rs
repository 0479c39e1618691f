//! `ken_add` and `ken_feedback`: findings of an agent, and its feedback on entries.
//!
//! The engine decides the outcome; this module converts arguments and replies.

use ken_core::decide::Refusal;
use ken_core::ledger::event::Feedback;
use ken_core::values::id::EntryId;
use ken_engine::EngineError;
use ken_engine::duplicates::{EntryRelation, RelatedEntry};
use ken_engine::runs::RecordOutcome;
use ken_mcp::ToolReply;
use ken_mcp::ask::{FeedbackArguments, RecordArguments, ReplyFormat};
use ken_mcp::words::{self, FeedbackJson};
use serde_json::json;

use super::CallContext;
use crate::commands::{EntryInput, RelatedJson};
use crate::failure::CommandFailure;

pub(super) fn record(
    context: &mut CallContext<'_>,
    arguments: &RecordArguments,
) -> Result<ToolReply, CommandFailure> {
    // The same parser as `ken add`, so that both accept and refuse the same input.
    let input = json!({
        "kind": arguments.kind,
        "statement": arguments.statement,
        "cite": arguments.cites,
        "anchors": arguments.anchors,
        "verify": arguments.verify,
        "tags": arguments.tags,
    });
    let parsed = EntryInput::parse(&input.to_string())
        .and_then(|input| input.proposal(context.engine, &context.reader.agent));
    // The message names the wrong field; the hint would name options of the command line.
    let proposal = parsed.map_err(|failure| CommandFailure {
        hint: None,
        ..failure
    })?;
    let old = arguments.supersedes.iter();
    let old = old.map(|it| context.engine.find_supersedable(it, &context.reader.agent));
    let old = old.collect::<Result<Vec<_>, _>>()?;
    let separate = context.apart();
    let recorded = context
        .engine
        .record_finding(context.reader, separate, proposal)?;
    let outcome = match &recorded {
        RecordOutcome::Noted(seen) => words::RecordReply::Noted(*seen),
        RecordOutcome::Entry(entry) => words::RecordReply::Entry(entry),
    };
    if let RecordOutcome::Entry(entry) = &recorded {
        for old in old {
            // Repeating the call is how an agent links afterwards, so a second link is no error.
            if context.engine.entry(old)?.superseded_by != Some(entry.id) {
                let by = context.reader.agent.clone();
                context.engine.supersede(old, entry.id, &by)?;
            }
        }
    }
    // Ids only: the text of the entries would be an exposure.
    let related = match &recorded {
        RecordOutcome::Entry(entry) => context.engine.related_entries(entry.id)?,
        RecordOutcome::Noted(_) => Vec::new(),
    };
    match arguments.format {
        ReplyFormat::Text => {
            let related = related_text(&related);
            Ok(ToolReply::Text(outcome.text(release_hint) + &related))
        }
        ReplyFormat::Json => {
            if related.is_empty() {
                return super::json_reply(&outcome.object());
            }
            let related: Vec<_> = related.iter().map(RelatedJson::new).collect();
            let mut object = json!(outcome.object());
            object["related"] = json!(related);
            super::json_reply(&object)
        }
    }
}

/// Names the entries that a new one may repeat or contradict.
fn related_text(related: &[RelatedEntry]) -> String {
    let line = |relation: EntryRelation, what: &str| {
        let of_kind = related.iter().filter(|it| it.relation == relation);
        let ids: Vec<String> = of_kind.map(|it| format!("[{}]", it.entry.id)).collect();
        if ids.is_empty() {
            return String::new();
        }
        format!("{what} {}; read them with ken_show\n", ids.join(", "))
    };
    let mut text = line(EntryRelation::Similar, "similar to")
        + &line(EntryRelation::Opposed, "may contradict")
        + &line(EntryRelation::SameCode, "about the same code as");
    if let Some(first) = related.first() {
        let id = first.entry.id;
        text += &format!(
            "if the new entry replaces one of them, repeat this call with \"supersedes\": [\"{id}\"]\n"
        );
    }
    text
}

/// Returns the command with which a person releases a quarantined entry.
fn release_hint(id: EntryId) -> String {
    format!("`ken guard quarantine release {id} --reason TEXT` releases it")
}

pub(super) fn feedback(
    context: &mut CallContext<'_>,
    arguments: &FeedbackArguments,
) -> Result<ToolReply, CommandFailure> {
    let id = context.engine.find(&arguments.id)?.id;
    let verdict = if arguments.helpful {
        Feedback::Helpful
    } else {
        Feedback::Unhelpful
    };
    let given = context.engine.record_feedback(context.reader, id, verdict);
    given.map_err(to_tool_failure)?;
    let json = FeedbackJson::new(id, arguments.helpful);
    match arguments.format {
        ReplyFormat::Text => Ok(ToolReply::Text(json.text())),
        ReplyFormat::Json => super::json_reply(&json),
    }
}

fn to_tool_failure(error: EngineError) -> CommandFailure {
    let EngineError::Refused(Refusal::NotShown { entry, .. }) = &error else {
        return error.into();
    };
    let message = format!("you were not shown {entry} in this session");
    let hint =
        format!("read it first: ken_show {entry}; feedback needs an entry that you were shown");
    CommandFailure {
        message,
        ..CommandFailure::from(error)
    }
    .with_hint(hint)
}
