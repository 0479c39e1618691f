//! Errors of a llm, with hints on how to fix them.

use std::io;

/// Reason why a llm gave no usable answer. None of these changes the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    #[error("no LLM is configured")]
    NotConfigured,
    #[error("cannot read your {file}: {why}")]
    File { file: &'static str, why: String },
    #[error("this build of Ken cannot call an LLM endpoint")]
    NotInBuild,
    #[error("the LLM configuration is invalid: {0}")]
    InvalidSetting(String),
    #[error("the prompt has {bytes} bytes; at most {max} are allowed", max = super::PROMPT_BYTES_MAX)]
    PromptTooLong { bytes: usize },
    #[error("{count} texts are too many for one prompt; at most {max} are allowed")]
    TooMany { count: usize, max: usize },
    #[error("cannot start `{program}`")]
    Start { program: String, source: io::Error },
    #[error("`{program}` timed out after {seconds} s and was stopped")]
    TimedOut { program: String, seconds: u64 },
    #[error("`{program}` failed with {status}")]
    Failed { program: String, status: String },
    #[error("the answer has more than {max} bytes", max = super::ANSWER_BYTES_MAX)]
    TooLong,
    #[error("{0}")]
    Call(String),
    #[error("the LLM declined to answer")]
    Declined,
    #[error("the answer was truncated")]
    Truncated,
    #[error("the answer does not match the schema: {why}")]
    Malformed { why: String },
}

impl LlmError {
    /// Creates an error for an answer that does not match its schema.
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::Malformed { why: why.into() }
    }

    /// Returns the suggested next step, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotConfigured => {
                Some("configure one, such as `ken config llm set command -- claude -p`")
            }
            Self::File { .. } => Some("run `ken config llm set none` to rewrite the file"),
            Self::NotInBuild => Some(
                "use a release, or build with `cargo install --path crates/ken-cli --features http`",
            ),
            Self::Start { .. } | Self::Failed { .. } => {
                Some("run it by hand: it must read a prompt on stdin and print JSON")
            }
            Self::TimedOut { .. } => {
                Some("raise the limit with `ken config llm set … --timeout SECONDS`")
            }
            Self::InvalidSetting(_)
            | Self::PromptTooLong { .. }
            | Self::TooMany { .. }
            | Self::TooLong
            | Self::Call(_)
            | Self::Declined
            | Self::Truncated
            | Self::Malformed { .. } => None,
        }
    }
}
