//! The judge: a language model that is asked where Ken cannot tell, if the user has one.
//!
//! A judge is a command, an OpenAI-compatible endpoint or Anthropic's, named in the user's own folder and
//! nowhere else (`home`). It is asked one question a call (`question`): instructions of ours, and texts of
//! others as data, secrets taken out. Its answer must fit a schema to the letter; anything else
//! is no answer. What an answer may change is decided by whoever asked (`pairs`, `extract`), and passes
//! the guard like everything else.
//!
//! Every call is counted: tokens as the endpoint reports them, for a command an estimate that says so.

mod command;
mod error;
mod extract;
mod home;
mod pairs;
mod question;
#[cfg(feature = "http")]
mod wire;

use std::fmt;
use std::ops::AddAssign;

use ken_core::actor::{Actor, Role};
use ken_core::text::{Statement, visible};
use ken_guard::{TextMode, redact};
use ken_index::count_tokens;

use crate::guard::Guard;

pub use error::JudgeError;
pub use extract::{Extraction, PIECE_BYTES_MAX, PIECES_MAX, evidence_of, pieces};
pub use home::{Choice, Endpoint, JudgeHome, TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX};
pub use pairs::Judged;
pub use question::{Claims, Found, Keep, Same};

use question::Question;

/// Bytes of a question, instructions and schema included.
pub const PROMPT_BYTES_MAX: usize = 128 << 10;

/// Bytes of an answer that are read.
pub const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Tokens an endpoint may answer with, where its language has a word for that.
pub const ANSWER_TOKENS_MAX: u32 = 4096;

/// Texts one distillation takes.
pub const DISTILLED_MAX: usize = 64;

/// Somebody who answers questions.
trait Port: fmt::Debug {
    fn ask(&self, question: &Question) -> Result<Answer, JudgeError>;
}

/// What came back, as text that should be JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    text: String,
    /// What the endpoint says it took; nothing where nobody counted.
    tokens: Option<(u64, u64)>,
}

/// What calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u64,
    pub sent: u64,
    pub received: u64,
    /// Whether some of it was estimated here, because nobody reported it.
    pub estimated: bool,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.sent += other.sent;
        self.received += other.received;
        self.estimated |= other.estimated;
    }
}

/// A judge that can be asked.
#[derive(Debug)]
pub struct Judge {
    name: String,
    port: Box<dyn Port>,
    guard: Guard,
    last: Spent,
    total: Spent,
}

impl Judge {
    fn new(name: String, port: Box<dyn Port>, guard: &Guard) -> Self {
        Self {
            name,
            port,
            guard: guard.clone(),
            last: Spent::default(),
            total: Spent::default(),
        }
    }

    /// Returns who it is, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whom what follows from its answers is by: never a person.
    pub fn actor(&self) -> Actor {
        Actor::from_claim(Role::Agent, &format!("judge/{}", self.name))
    }

    /// Returns what the last call took, and all of them.
    pub fn spent(&self) -> (Spent, Spent) {
        (self.last, self.total)
    }

    /// Asks whether it is there.
    pub fn probe(&mut self) -> Result<(), JudgeError> {
        let text = self.ask(&Question::probe())?;
        question::ready(&text)
    }

    /// Asks whether two statements make the same claim, and whose words to keep.
    pub fn same_claim(&mut self, first: &str, second: &str) -> Result<Same, JudgeError> {
        let (first, second) = (self.shown(first), self.shown(second));
        let text = self.ask(&Question::same_claim(&first, &second))?;
        question::same(&text)
    }

    /// Asks which claims a piece of a transcript holds. Each comes with words of the piece.
    pub fn claims_in(&mut self, piece: &str) -> Result<Claims, JudgeError> {
        let piece = self.shown(piece);
        let text = self.ask(&Question::claims_in(&piece))?;
        question::claims(&text, &piece)
    }

    /// Asks for the one heuristic several statements have in common; nothing where there is none.
    ///
    /// Nothing is written: whoever asks decides what becomes of it.
    pub fn distil(&mut self, texts: &[&str]) -> Result<Option<Statement>, JudgeError> {
        if DISTILLED_MAX < texts.len() {
            return Err(JudgeError::TooMany {
                count: texts.len(),
                max: DISTILLED_MAX,
            });
        }
        let texts: Vec<String> = texts.iter().map(|text| self.shown(text)).collect();
        let text = self.ask(&Question::distil(&texts))?;
        question::distilled(&text)
    }

    /// Returns a text as it may leave this machine: without secrets, with nothing hidden in it.
    fn shown(&self, text: &str) -> String {
        let redacted = redact(&self.guard.policy, text, TextMode::Prose).text;
        visible(&redacted)
    }

    /// Asks, and counts what that took whatever comes of it.
    fn ask(&mut self, question: &Question) -> Result<String, JudgeError> {
        let prompt = question.as_json();
        if PROMPT_BYTES_MAX < prompt.len() {
            return Err(JudgeError::PromptTooLong {
                bytes: prompt.len(),
            });
        }
        let answer = self.port.ask(question);
        let reported = answer.as_ref().ok().and_then(|it| it.tokens);
        let received = answer.as_ref().map_or("", |it| it.text.as_str());
        let estimate = || (tokens(&prompt), tokens(received));
        let (sent, received) = reported.unwrap_or_else(estimate);
        self.last = Spent {
            calls: 1,
            sent,
            received,
            estimated: reported.is_none(),
        };
        self.total += self.last;
        answer.map(|it| it.text)
    }
}

fn tokens(text: &str) -> u64 {
    count_tokens(text) as u64
}

#[cfg(test)]
mod tests;
