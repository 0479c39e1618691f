//! Failures of commands as errors of pages.

use ken_core::values::text::truncate;
use ken_ui::KnowledgeError;
use ken_ui::source::KnowledgeErrorCause;

use crate::failure::{CommandExit, CommandFailure};

/// Maximum characters of an error message.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// Converts a failure. Pages show hints of the command line as they are: a person can run them.
pub(super) fn to_knowledge_error(failure: CommandFailure) -> KnowledgeError {
    // A message may repeat what was typed, and a person may have typed a secret.
    let failure = failure.without_secrets();
    let cause = match (failure.exit, failure.code) {
        (_, "not_found" | "no_such_event" | "ambiguous") => KnowledgeErrorCause::NotFound,
        (_, "no_identity") => KnowledgeErrorCause::Forbidden,
        (_, "busy") => KnowledgeErrorCause::Busy,
        (_, "conflict" | "other_artifact") => KnowledgeErrorCause::Conflict,
        (CommandExit::Failed, "io" | "internal")
        | (CommandExit::Damaged | CommandExit::Fine, _) => KnowledgeErrorCause::Internal,
        (CommandExit::Failed | CommandExit::Refused, _) => KnowledgeErrorCause::Refused,
    };
    let sentences = std::iter::once(failure.message).chain(failure.causes);
    let message = sentences.collect::<Vec<_>>().join(": ");
    KnowledgeError {
        cause,
        message: truncate(&message, MESSAGE_CHARS_MAX),
        hint: failure.hint,
        candidates: failure.candidates,
    }
}
