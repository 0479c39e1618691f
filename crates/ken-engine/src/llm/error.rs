//! Errors of a judge, with hints on how to fix them.

use std::io;

/// Reason why a judge gave no usable answer. None of these changes the ledger.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("no judge is configured")]
    NotConfigured,
    #[error("your {file} cannot be read: {why}")]
    File { file: &'static str, why: String },
    #[error("this ken was built without a way to ask an endpoint")]
    NotInBuild,
    #[error("the judge cannot be used: {0}")]
    InvalidSetting(String),
    #[error("the question has {bytes} bytes; at most {max} are sent", max = super::PROMPT_BYTES_MAX)]
    PromptTooLong { bytes: usize },
    #[error("{count} texts are too many for one question; at most {max} are sent")]
    TooMany { count: usize, max: usize },
    #[error("cannot start `{program}`")]
    Start { program: String, source: io::Error },
    #[error("`{program}` did not answer within {seconds} s and was ended")]
    TimedOut { program: String, seconds: u64 },
    #[error("`{program}` ended with {status}")]
    Failed { program: String, status: String },
    #[error("the answer has more than {max} bytes", max = super::ANSWER_BYTES_MAX)]
    TooLong,
    #[error("{0}")]
    Call(String),
    #[error("it declined to answer")]
    Declined,
    #[error("the answer was cut short")]
    Truncated,
    #[error("the answer is not what was asked for: {why}")]
    Malformed { why: String },
}

impl JudgeError {
    /// Creates an error for an answer that does not match its schema.
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::Malformed { why: why.into() }
    }

    /// Returns the suggested next step, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotConfigured => Some(
                "`ken config llm set command -- claude -p` sets one; without one, people decide",
            ),
            Self::File { .. } => Some("`ken config llm set none` writes it anew"),
            Self::NotInBuild => Some(
                "releases have it; `cargo install --path crates/ken-cli --features http` builds it",
            ),
            Self::Start { .. } | Self::Failed { .. } => {
                Some("run it by hand: it must read a question on stdin and print JSON")
            }
            Self::TimedOut { .. } => Some("`ken config llm set` takes --timeout SECONDS"),
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
