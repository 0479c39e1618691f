//! Judge: the optional LLM or program that is asked when rules cannot decide.
//!
//! A llm is a command, an OpenAI-compatible endpoint or Anthropic's, configured only in the
//! user's own folder (`config`). Each call asks one question (`question`): our instructions, plus
//! texts of others as data with secrets removed. An answer must match its schema exactly; anything
//! else counts as no answer. The caller decides which changes an answer may cause (`pairs`,
//! `extraction`), and these pass the guard like all others.
//!
//! Every call is counted: in tokens reported by the endpoint, or in marked estimates for a command.

mod command;
mod config;
mod error;
pub(crate) mod extraction;
#[cfg(feature = "http")]
mod http;
pub(crate) mod pairs;
mod question;

use std::fmt;
use std::ops::AddAssign;

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::text::{Statement, escape_invisible};
use ken_guard::{TextMode, redact};
use ken_index::count_tokens;

use crate::guard::Guard;

pub use config::{
    LlmChoice, LlmEndpoint, LlmHome, PASSED_VARIABLES, TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX,
};
pub use error::LlmError;
pub use extraction::{ExtractionOutcome, PIECE_BYTES_MAX, PIECES_MAX, split_transcript};
pub use pairs::LlmPairOutcome;
pub use question::{KeptStatement, SameClaim, TranscriptClaim, TranscriptClaims};

use question::LlmQuestion;

/// Maximum bytes of a question, including instructions and schema.
pub const PROMPT_BYTES_MAX: usize = 128 << 10;

/// Maximum bytes of an answer.
pub const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Maximum tokens of an answer, for endpoints whose protocol can limit them.
pub const ANSWER_TOKENS_MAX: u32 = 4096;

/// Maximum number of statements per distillation.
pub const DISTILLED_MAX: usize = 64;

/// Transport that delivers a question and returns the answer.
trait LlmBackend: fmt::Debug {
    /// Asks a question and waits for the answer.
    fn ask(&self, question: &LlmQuestion) -> Result<LlmAnswer, LlmError>;
}

/// Raw answer, expected to be JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LlmAnswer {
    text: String,
    /// Tokens sent and received as reported by the endpoint; `None` if it reports none.
    tokens: Option<(u64, u64)>,
}

/// Number of calls and tokens used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlmUsage {
    pub calls: u64,
    pub sent: u64,
    pub received: u64,
    /// True if some of the numbers are estimates, because the llm did not report them.
    pub estimated: bool,
}

impl AddAssign for LlmUsage {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.sent += other.sent;
        self.received += other.received;
        self.estimated |= other.estimated;
    }
}

/// Configured llm.
#[derive(Debug)]
pub struct LlmClient {
    name: String,
    backend: Box<dyn LlmBackend>,
    guard: Guard,
    last: LlmUsage,
    total: LlmUsage,
}

impl LlmClient {
    /// Creates a llm that has made no calls yet.
    fn new(name: String, backend: Box<dyn LlmBackend>, guard: &Guard) -> Self {
        Self {
            name,
            backend,
            guard: guard.clone(),
            last: LlmUsage::default(),
            total: LlmUsage::default(),
        }
    }

    /// Returns the display name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the actor of events caused by its answers. It is never a person.
    pub fn actor(&self) -> Actor {
        // With another role, an answer could count as a person's confirmation.
        Actor::from_claim(ActorRole::Agent, &format!("judge/{}", self.name))
    }

    /// Returns the usage of the last call and of all calls.
    pub fn usage(&self) -> (LlmUsage, LlmUsage) {
        (self.last, self.total)
    }

    /// Checks that the llm answers.
    pub fn probe(&mut self) -> Result<(), LlmError> {
        let text = self.ask(&LlmQuestion::probe())?;
        question::parse_ready(&text)
    }

    /// Asks whether two statements make the same claim, and which statement to keep.
    pub fn compare_claims(&mut self, first: &str, second: &str) -> Result<SameClaim, LlmError> {
        let (first, second) = (self.redact_text(first), self.redact_text(second));
        let text = self.ask(&LlmQuestion::same_claim(&first, &second))?;
        question::parse_same_claim(&text)
    }

    /// Asks for the claims in a piece of a transcript, each with a quote from it.
    pub fn extract_claims(&mut self, piece: &str) -> Result<TranscriptClaims, LlmError> {
        // Quotes are compared with the redacted text, because the llm sees no other.
        let piece = self.redact_text(piece);
        let text = self.ask(&LlmQuestion::claims_in(&piece))?;
        question::parse_claims(&text, &piece)
    }

    /// Asks for the heuristic that several statements have in common, if there is one.
    ///
    /// Nothing is written; the caller decides how to use the statement.
    pub fn distill(&mut self, texts: &[&str]) -> Result<Option<Statement>, LlmError> {
        if texts.len() > DISTILLED_MAX {
            return Err(LlmError::TooMany {
                count: texts.len(),
                max: DISTILLED_MAX,
            });
        }
        let texts: Vec<String> = texts.iter().map(|text| self.redact_text(text)).collect();
        let text = self.ask(&LlmQuestion::distill(&texts))?;
        question::parse_distilled(&text)
    }

    /// Returns a text that may leave this machine: secrets removed, hidden characters made visible.
    fn redact_text(&self, text: &str) -> String {
        let redacted = redact(&self.guard.policy, text, TextMode::Prose).text;
        escape_invisible(&redacted)
    }

    /// Asks a question and counts the usage, even if the call fails.
    fn ask(&mut self, question: &LlmQuestion) -> Result<String, LlmError> {
        let prompt = question.as_json();
        // Rejected before the call, so that it costs nothing.
        if prompt.len() > PROMPT_BYTES_MAX {
            return Err(LlmError::PromptTooLong {
                bytes: prompt.len(),
            });
        }
        let answer = self.backend.ask(question);
        // A failed call may still have been billed, so it is counted with an estimate.
        let reported = answer.as_ref().ok().and_then(|it| it.tokens);
        let received = answer.as_ref().map_or("", |it| it.text.as_str());
        let estimate = || (token_count(&prompt), token_count(received));
        let (sent, received) = reported.unwrap_or_else(estimate);
        self.last = LlmUsage {
            calls: 1,
            sent,
            received,
            estimated: reported.is_none(),
        };
        self.total += self.last;
        answer.map(|it| it.text)
    }
}

/// Counts the tokens of a text.
fn token_count(text: &str) -> u64 {
    count_tokens(text) as u64
}

#[cfg(test)]
mod tests;
