//! Exchanges of a conversation: what the person said, and the agent's answer until the person spoke
//! again.
//!
//! Tool calls and their output are no part of an exchange.

use ken_core::values::time::Timestamp;

use super::{Transcript, TurnContent};

/// Maximum bytes of the person's words, and of the agent's, in one exchange.
const ASKED_BYTES_MAX: usize = 8 << 10;
const ANSWERED_BYTES_MAX: usize = 8 << 10;

/// One exchange, message by message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// First line in the transcript.
    pub line: usize,
    /// Time of the person's message, if the transcript has one.
    pub at: Option<Timestamp>,
    pub asked: Vec<String>,
    pub answered: Vec<String>,
}

/// Splits a transcript into exchanges. Words of the agent before the first message of a person
/// belong to no exchange.
pub fn split_exchanges(transcript: Transcript) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for turn in transcript.turns {
        match turn.what {
            TurnContent::Asked(text) => match exchanges.last_mut() {
                // A person who adds a message before the agent answered goes on speaking.
                Some(last) if last.answered.is_empty() => last.asked.push(text),
                Some(_) | None => exchanges.push(Exchange {
                    line: turn.line,
                    at: turn.at,
                    asked: vec![text],
                    answered: Vec::new(),
                }),
            },
            TurnContent::Told(text) => {
                if let Some(last) = exchanges.last_mut() {
                    last.answered.push(text);
                }
            }
            TurnContent::Did(_) => {}
        }
    }
    exchanges
}

impl Exchange {
    /// Returns the words of the person and of the agent, each message passed through `clean`.
    ///
    /// Messages are cleaned before they are shortened: half of a secret would not be recognized. A
    /// request starts with what is wanted, so its start is kept; an answer ends with the result, so
    /// its end is kept.
    pub fn condense(&self, mut clean: impl FnMut(&str) -> String) -> (String, String) {
        let mut asked = String::new();
        for text in &self.asked {
            if asked.len() >= ASKED_BYTES_MAX {
                break;
            }
            join(&mut asked, &clean(text));
        }
        asked.truncate(asked.floor_char_boundary(ASKED_BYTES_MAX));
        let (mut told, mut bytes) = (Vec::new(), 0);
        for text in self.answered.iter().rev() {
            if bytes >= ANSWERED_BYTES_MAX {
                break;
            }
            let text = clean(text);
            bytes += text.len() + 1;
            told.push(text);
        }
        told.reverse();
        let answered = told.join("\n");
        let from = answered.len().saturating_sub(ANSWERED_BYTES_MAX);
        let answered = answered[answered.ceil_char_boundary(from)..].to_owned();
        (asked, answered)
    }
}

fn join(to: &mut String, text: &str) {
    if !to.is_empty() {
        to.push('\n');
    }
    to.push_str(text);
}
