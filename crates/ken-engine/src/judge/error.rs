//! Why a judge gave no answer, and what to do about it.

use std::io;

/// Why there is no answer. None of these changes anything.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("no judge is configured")]
    NotConfigured,
    #[error("your {file} cannot be read: {why}")]
    File { file: &'static str, why: String },
    #[error("this ken was built without a way to ask an endpoint")]
    NotInBuild,
    #[error("the judge cannot be used: {0}")]
    Setting(String),
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
    Cut,
    #[error("the answer is not what was asked for: {why}")]
    Malformed { why: String },
}

impl JudgeError {
    /// The answer does not fit.
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::Malformed { why: why.into() }
    }

    /// Returns what to do next, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotConfigured => {
                Some("`ken judge set command -- claude -p` sets one; without one, people decide")
            }
            Self::File { .. } => Some("`ken judge set none` writes it anew"),
            Self::NotInBuild => Some(
                "releases have it; `cargo install --path crates/ken-cli --features http` builds it",
            ),
            Self::Start { .. } | Self::Failed { .. } => {
                Some("run it by hand: it must read a question on stdin and print JSON")
            }
            Self::TimedOut { .. } => Some("`ken judge set` takes --timeout SECONDS"),
            Self::Setting(_)
            | Self::PromptTooLong { .. }
            | Self::TooMany { .. }
            | Self::TooLong
            | Self::Call(_)
            | Self::Declined
            | Self::Cut
            | Self::Malformed { .. } => None,
        }
    }
}
