//! `ken_record` and `ken_feedback`: what an agent found, and whether what it was shown helped, in the words of the tools.
//!
//! What becomes of it is the engine's to decide.

use ken_core::decide::Refusal;
use ken_core::event::Feedback;
use ken_core::id::EntryId;
use ken_engine::Error;
use ken_engine::runs::Recorded;
use ken_mcp::Reply;
use ken_mcp::ask::{FeedbackAsk, Format, RecordAsk};
use ken_mcp::words::{self, FeedbackObject};
use serde_json::json;

use super::Desk;
use crate::commands::EntryInput;
use crate::failure::Failure;

pub(super) fn record(desk: &mut Desk<'_>, ask: &RecordAsk) -> Result<Reply, Failure> {
    let input = json!({
        "kind": ask.kind,
        "statement": ask.statement,
        "cite": ask.cites,
        "anchors": ask.anchors,
        "verify": ask.verify,
        "tags": ask.tags,
    });
    let proposal = EntryInput::parse(&input.to_string())
        .and_then(|input| input.proposal(desk.engine, &desk.reader.agent));
    // What to do about a wrong field is told by its own words; the rest is of the command line.
    let proposal = proposal.map_err(|failure| Failure {
        hint: None,
        ..failure
    })?;
    let apart = desk.apart();
    let recorded = desk.engine.record_for(desk.reader, apart, proposal)?;
    let told = match &recorded {
        Recorded::Noted(seen) => words::Recorded::Noted(*seen),
        Recorded::Entry(entry) => words::Recorded::Entry(entry),
    };
    match ask.format {
        Format::Text => Ok(Reply::Text(told.text(way_out))),
        Format::Json => super::json(&told.object()),
    }
}

/// Returns how a person lets out what was set apart.
fn way_out(id: EntryId) -> String {
    format!("`ken quarantine lift {id} --reason TEXT` lets it out")
}

pub(super) fn feedback(desk: &mut Desk<'_>, ask: &FeedbackAsk) -> Result<Reply, Failure> {
    let id = desk.engine.find(&ask.id)?.id;
    let verdict = match ask.helpful {
        true => Feedback::Helpful,
        false => Feedback::Unhelpful,
    };
    let given = desk.engine.feedback_for(desk.reader, id, verdict);
    given.map_err(in_the_tools_words)?;
    let told = FeedbackObject::new(id, ask.helpful);
    match ask.format {
        Format::Text => Ok(Reply::Text(told.text())),
        Format::Json => super::json(&told),
    }
}

fn in_the_tools_words(error: Error) -> Failure {
    let Error::Refused(Refusal::NotShown { entry, .. }) = &error else {
        return error.into();
    };
    let message = format!("you were not shown {entry} in this conversation");
    let hint =
        format!("read it first: ken_get {entry}; only who had an entry can say whether it helped");
    Failure {
        message,
        ..Failure::from(error)
    }
    .with_hint(hint)
}
