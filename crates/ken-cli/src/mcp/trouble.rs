//! Failures as tool errors: phrased for an agent, which has arguments instead of options.

use ken_core::values::text::{escape_invisible, truncate};
use ken_mcp::ToolError;
use ken_mcp::port::ErrorCause;

use crate::failure::{CommandExit, CommandFailure};

/// Maximum characters of an error message.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// Phrases of the command line and their equivalents for the tools.
const TOOL_PHRASES: &[(&str, &str)] = &[
    (
        "or use --redact",
        "or start the server as `ken mcp --redact`",
    ),
    ("add --cite with one of", "give `cites`, each one of"),
    ("--anchor and --cite", "`anchors` and `cites`"),
    ("`ken show ", "`ken_show "),
];

/// Converts a failure to a tool error.
pub(super) fn to_tool_error(failure: CommandFailure) -> ToolError {
    // A message may repeat an argument, and an agent may have passed a secret.
    let failure = failure.without_secrets();
    let whose = match (failure.exit, failure.code) {
        (CommandExit::Failed, "not_found" | "no_workspace") => ErrorCause::Missing,
        // `Fine` cannot accompany a failure, except for a closed pipe, which no caller can correct.
        (CommandExit::Failed, "io" | "internal")
        | (CommandExit::Damaged | CommandExit::Fine, _) => ErrorCause::Ours,
        (CommandExit::Failed | CommandExit::Refused, _) => ErrorCause::Caller,
    };
    let next = tool_hint(&failure);
    let sentences = std::iter::once(failure.message).chain(failure.causes);
    let message = sentences.collect::<Vec<_>>().join(": ");
    ToolError {
        whose,
        // Text of others may be part of the message; escaped and short, it cannot pose as a reply.
        said: truncate(&escape_invisible(&message), MESSAGE_CHARS_MAX),
        next,
    }
}

/// Returns the hint for an agent.
fn tool_hint(failure: &CommandFailure) -> Option<String> {
    // Hints of the command line name commands that an agent cannot run over MCP.
    let own = match failure.code {
        "not_found" => Some("`ken_search` finds entries and their ids"),
        "worthless" => Some("add `cites`, `anchors` or a `verify` step"),
        "person_needed" => Some("ask a person to do this"),
        "too_many" => Some("split it into several calls"),
        "usage" if failure.message.ends_with("is not in this repository") => {
            Some("give paths inside the repository")
        }
        "usage" if failure.message.starts_with("git does not know the commit") => {
            Some("give a branch, a tag or a commit")
        }
        _ => None,
    };
    let hint = own.map(ToOwned::to_owned).or_else(|| failure.hint.clone());
    hint.map(|hint| {
        let in_words = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
        TOOL_PHRASES.iter().fold(hint, in_words)
    })
}
