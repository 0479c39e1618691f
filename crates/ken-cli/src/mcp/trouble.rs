//! What went wrong, in the words of the tools: an agent has arguments where a person has options.

use ken_core::text::{shortened, visible};
use ken_mcp::Trouble;
use ken_mcp::port::Whose;

use crate::failure::{Exit, Failure};

/// Characters of what is said about a failure.
const SAID_CHARS_MAX: usize = 1_000;

/// Words of the command line, and those of the tools.
const WORDS: &[(&str, &str)] = &[
    (
        "--redact does",
        "a server started as `ken mcp --redact` does",
    ),
    (
        "add --cite commit:HASH (or pr:, doc:, test:, transcript:)",
        "give `cites`: commit:HASH, pr:N, doc:PATH, test:NAME or transcript:ID",
    ),
    ("--anchor and --cite", "`anchors` and `cites`"),
    ("`ken show ", "`ken_get "),
];

/// Tells a failure to an agent.
pub(super) fn trouble(failure: Failure) -> Trouble {
    let failure = failure.without_secrets();
    let whose = match (failure.exit, failure.code) {
        (Exit::Failed, "not_found" | "no_workspace") => Whose::Missing,
        (Exit::Failed, "io" | "internal") | (Exit::Damaged | Exit::Fine, _) => Whose::Ours,
        (Exit::Failed | Exit::Refused, _) => Whose::Caller,
    };
    let next = next(&failure);
    let said = std::iter::once(failure.message).chain(failure.causes);
    let said = said.collect::<Vec<_>>().join(": ");
    Trouble {
        whose,
        said: shortened(&visible(&said), SAID_CHARS_MAX),
        next,
    }
}

/// Returns what to do next.
fn next(failure: &Failure) -> Option<String> {
    let own = match failure.code {
        "not_found" => Some("`ken_search` finds entries and their ids"),
        "worthless" => Some(
            "cite more in `cites`, name code in `anchors`, or a step in `verify` that checks it",
        ),
        "person_needed" => Some("leave that to a person"),
        "too_many" => Some("split it into several calls"),
        "usage" if failure.message.ends_with("is not in this repository") => {
            Some("give paths below the repository's root")
        }
        "usage" if failure.message.starts_with("git knows no commit") => {
            Some("give a branch, a tag or a commit")
        }
        _ => None,
    };
    let hint = own.map(ToOwned::to_owned).or_else(|| failure.hint.clone());
    hint.map(|hint| {
        let in_words = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
        WORDS.iter().fold(hint, in_words)
    })
}
