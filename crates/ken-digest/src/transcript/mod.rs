//! Transcripts of coding agents: messages, actions and their outcomes.
//!
//! Claude Code, Codex and Gemini CLI write one JSON object per line, opencode exports one document;
//! the formats change with every release. Parts that are not understood are skipped and counted; no
//! input causes an error. [`extract_transcript_claims`] finds the parts worth keeping,
//! [`split_exchanges`] what was said.

mod amendments;
mod claude;
mod codex;
mod command;
mod corrections;
mod decisions;
mod exchanges;
mod extraction;
mod fixes;
mod gemini;
mod habits;
pub mod lesson_score;
mod opencode;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::time::Timestamp;
use serde_json::Value;

use gemini::GeminiMessages;

pub use amendments::{DecisionText, find_amended};
pub use decisions::{message_decides, sums_up};
pub use exchanges::{Exchange, split_exchanges};
pub use extraction::{
    EXTRACTED_CLAIMS_MAX, ExtractedClaim, ExtractionKind, extract_transcript_claims,
};

/// Maximum size of a transcript.
pub const TRANSCRIPT_BYTES_MAX: usize = 64 << 20;

/// Maximum size of a parsed line; longer lines contain images.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Maximum size of a kept text.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// Maximum number of kept turns.
const TURNS_MAX: usize = 200_000;

/// Number of lines inspected to detect the agent.
const LINES_RECOGNIZED: usize = 50;

/// Maximum size of one message in a summary, and of one that sums up: half of a rule misleads.
const SUMMARY_BYTES_MAX: usize = 600;
const RECAP_BYTES_MAX: usize = 4096;

/// Maximum length of a session id in bytes.
const SESSION_BYTES_MAX: usize = 64;

/// The agent that wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptAgent {
    ClaudeCode,
    Codex,
    GeminiCli,
    OpenCode,
}

/// A parsed transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    pub agent: TranscriptAgent,
    /// The agent's id of the conversation.
    pub session: Option<String>,
    /// The agent's working directory, a path on the machine it ran on.
    pub folder: Option<String>,
    pub turns: Vec<TranscriptTurn>,
    /// Number of non-empty lines.
    pub lines: usize,
    /// Number of lines that could not be parsed.
    pub skipped: usize,
}

/// One message or action, with its line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptTurn {
    pub line: usize,
    /// When it was written, if the transcript says so.
    pub at: Option<Timestamp>,
    pub what: TurnContent,
}

/// Content of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnContent {
    /// A message of the user.
    Asked(String),
    /// A message of the agent.
    Told(String),
    /// An action of the agent.
    Did(AgentAction),
}

/// An action of the agent and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAction {
    pub deed: ActionKind,
    pub outcome: ActionOutcome,
    /// The end of the output.
    pub output: String,
}

/// Kind of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// A shell command.
    Command(String),
    /// Written files.
    Edit(Vec<FileEdit>),
    /// Any other tool, by name.
    Other(String),
}

/// A written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The path as the agent wrote it.
    pub path: String,
    /// The added line, if exactly one was added.
    pub added: Option<String>,
}

/// Outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    Succeeded,
    Failed,
    /// The action was stopped, refused or sent to the background, or has no result.
    Unknown,
}

impl TranscriptAgent {
    /// Returns the agent's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
        }
    }
}

/// Detects the agent that wrote a transcript.
pub fn detect_agent(bytes: &[u8]) -> Option<TranscriptAgent> {
    let (mut claude, mut codex, mut gemini) = (0, 0, 0);
    let lines = non_empty_lines(bytes).filter_map(|(_, line)| parse_line(line));
    // Counting tolerates lines of unknown types.
    for value in lines.take(LINES_RECOGNIZED) {
        claude += usize::from(claude::is_line(&value));
        codex += usize::from(codex::is_line(&value));
        gemini += usize::from(gemini::is_line(&value));
    }
    let counts = [
        (claude, TranscriptAgent::ClaudeCode),
        (codex, TranscriptAgent::Codex),
        (gemini, TranscriptAgent::GeminiCli),
    ];
    // Of equal counts the last one wins: Codex before Claude Code, as its lines are more specific.
    let most = counts.into_iter().max_by_key(|(count, _)| *count);
    let by_lines = most.filter(|(count, _)| *count > 0).map(|(_, agent)| agent);
    by_lines.or_else(|| detect_document(bytes))
}

/// Detects the agent that wrote one JSON document.
fn detect_document(bytes: &[u8]) -> Option<TranscriptAgent> {
    let document = parse_document(bytes)?;
    if opencode::is_document(&document) {
        Some(TranscriptAgent::OpenCode)
    } else {
        gemini::is_line(&document).then_some(TranscriptAgent::GeminiCli)
    }
}

/// Parses a transcript, skipping lines that are not understood.
pub fn parse_transcript(agent: TranscriptAgent, bytes: &[u8]) -> Transcript {
    parse_part(agent, bytes, TranscriptPart::Everything, 0)
}

/// Parses what was said in a transcript, without the actions of the agent; `lines_before` lines
/// precede `bytes`.
///
/// Lines with nothing but actions are recognized without parsing them: they are the larger part of
/// most transcripts.
pub fn parse_speech(agent: TranscriptAgent, bytes: &[u8], lines_before: usize) -> Transcript {
    parse_part(agent, bytes, TranscriptPart::Speech, lines_before)
}

/// The part of a transcript to parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TranscriptPart {
    Everything,
    Speech,
}

fn parse_part(
    agent: TranscriptAgent,
    bytes: &[u8],
    part: TranscriptPart,
    lines_before: usize,
) -> Transcript {
    let mut builder = TranscriptBuilder::default();
    let (count, skipped) = match agent {
        TranscriptAgent::ClaudeCode | TranscriptAgent::Codex => {
            let is_codex = agent == TranscriptAgent::Codex;
            let is_silent = if is_codex {
                codex::is_silent
            } else {
                claude::is_silent
            };
            let read = if is_codex {
                codex::read_line
            } else {
                claude::read_line
            };
            let skip = |line: &[u8]| part == TranscriptPart::Speech && is_silent(line);
            read_lines(bytes, lines_before, skip, &mut builder, |value, into| {
                read(&value, into);
            })
        }
        TranscriptAgent::GeminiCli => {
            let mut messages = GeminiMessages::default();
            let mut read = |value, into: &mut TranscriptBuilder| messages.read_line(value, into);
            let counts = match parse_document(bytes) {
                Some(document) => {
                    read(document, &mut builder);
                    (1, 0)
                }
                None => read_lines(bytes, lines_before, |_| false, &mut builder, read),
            };
            messages.finish(&mut builder);
            counts
        }
        TranscriptAgent::OpenCode => match parse_document(bytes) {
            Some(document) => opencode::read_document(&document, &mut builder),
            None => (1, 1),
        },
    };
    Transcript {
        agent,
        session: builder.session,
        folder: builder.folder,
        turns: builder.turns,
        lines: count,
        skipped,
    }
}

/// Reads JSON lines; returns the number of non-empty lines and of those not understood.
fn read_lines(
    bytes: &[u8],
    lines_before: usize,
    skip: impl Fn(&[u8]) -> bool,
    builder: &mut TranscriptBuilder,
    mut read: impl FnMut(Value, &mut TranscriptBuilder),
) -> (usize, usize) {
    let (mut count, mut skipped) = (0, 0);
    for (number, line) in non_empty_lines(bytes) {
        count += 1;
        if skip(line) {
            continue;
        }
        let Some(value) = parse_line(line) else {
            skipped += 1;
            continue;
        };
        builder.line = lines_before + number;
        builder.at = rfc3339_value(&value["timestamp"]);
        read(value, builder);
    }
    (count, skipped)
}

impl Transcript {
    /// Returns a shortened text of the transcript for a judge.
    pub fn told(&self) -> String {
        let mut out = String::new();
        let mut add = |label: &str, text: &str| {
            let text = text.trim();
            if !text.is_empty() {
                let max = if sums_up(text, true) {
                    RECAP_BYTES_MAX
                } else {
                    SUMMARY_BYTES_MAX
                };
                let cut = text.floor_char_boundary(max.min(text.len()));
                out.push_str(label);
                out.push_str(&text[..cut]);
                out.push('\n');
            }
        };
        for turn in &self.turns {
            match &turn.what {
                TurnContent::Asked(text) => add("user: ", text),
                TurnContent::Told(text) => add("agent: ", text),
                TurnContent::Did(action) => {
                    match &action.deed {
                        ActionKind::Command(line) => add("command: ", line),
                        ActionKind::Edit(edits) => {
                            let paths: Vec<&str> =
                                edits.iter().map(|it| it.path.as_str()).collect();
                            add("edited: ", &paths.join(", "));
                        }
                        ActionKind::Other(_) => {}
                    }
                    if action.outcome == ActionOutcome::Failed {
                        let why = trouble::find_error_line(&action.output).unwrap_or_default();
                        add("failed: ", &why);
                    }
                }
            }
        }
        out
    }
}

/// Returns the non-empty lines with their numbers.
fn non_empty_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let numbered = lines.map(|(at, line)| (at + 1, line.trim_ascii()));
    numbered.filter(|(_, line)| !line.is_empty())
}

fn parse_line(line: &[u8]) -> Option<Value> {
    // All formats write objects, so other lines need no parser.
    if line.len() > LINE_BYTES_MAX || !line.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// Parses a transcript that is one JSON document.
fn parse_document(bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.trim_ascii();
    if !bytes.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}

/// Returns the time in an RFC 3339 string.
fn rfc3339_value(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Returns the time in a number of milliseconds since 1970.
fn millis_value(value: &Value) -> Option<Timestamp> {
    value.as_u64().map(Timestamp::from_millis)
}

/// Collects turns and assigns results to their calls.
#[derive(Debug, Default)]
struct TranscriptBuilder {
    line: usize,
    /// Time of the current line.
    at: Option<Timestamp>,
    session: Option<String>,
    folder: Option<String>,
    turns: Vec<TranscriptTurn>,
    /// Turn index of each call, by call id.
    open: BTreeMap<String, usize>,
    /// Ids of lines that were read; a resumed conversation repeats its beginning.
    seen: BTreeSet<String>,
}

impl TranscriptBuilder {
    fn session(&mut self, name: Option<&str>) {
        let plain = |name: &&str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.len() <= SESSION_BYTES_MAX && name.chars().all(fits)
        };
        if self.session.is_none() {
            self.session = name.filter(plain).map(str::to_owned);
        }
    }

    fn folder(&mut self, path: Option<&str>) {
        if self.folder.is_none() {
            let path = path.filter(|it| !it.is_empty() && it.len() <= TEXT_BYTES_MAX);
            self.folder = path.map(|it| it.replace('\\', "/"));
        }
    }

    fn push(&mut self, what: TurnContent) {
        if self.turns.len() < TURNS_MAX {
            let (line, at) = (self.line, self.at);
            self.turns.push(TranscriptTurn { line, at, what });
        }
    }

    fn asked(&mut self, text: &str) {
        let text = keep_head(text.trim());
        // Codex writes each user message twice, once for itself and once for the model.
        let again = matches!(self.turns.last(), Some(TranscriptTurn { what: TurnContent::Asked(before), .. }) if *before == text);
        if !text.is_empty() && !again {
            self.push(TurnContent::Asked(text));
        }
    }

    fn told(&mut self, text: &str) {
        let text = keep_head(text.trim());
        let again = matches!(self.turns.last(), Some(TranscriptTurn { what: TurnContent::Told(before), .. }) if *before == text);
        if !text.is_empty() && !again {
            self.push(TurnContent::Told(text));
        }
    }

    /// Records a call whose result comes later.
    fn began(&mut self, call: Option<&str>, deed: ActionKind) {
        if let Some(call) = call {
            // Codex reports one call both as an item and as an event.
            if self.open.contains_key(call) {
                return;
            }
            // At the turn limit the index is past the end, and the result is ignored.
            self.open.insert(call.to_owned(), self.turns.len());
        }
        self.push(TurnContent::Did(AgentAction {
            deed,
            outcome: ActionOutcome::Unknown,
            output: String::new(),
        }));
    }

    /// Records the outcome of a call; the first known outcome wins.
    fn ended(&mut self, call: Option<&str>, outcome: ActionOutcome, output: &str) {
        let place = call.and_then(|call| self.open.get(call));
        let turn = place.and_then(|place| self.turns.get_mut(*place));
        if let Some(TranscriptTurn {
            what: TurnContent::Did(action),
            ..
        }) = turn
            // Of two reports about one call, one may lack the exit code.
            && action.outcome == ActionOutcome::Unknown
        {
            action.outcome = outcome;
            action.output = keep_tail(output);
        }
    }
}

/// Returns the beginning of a text, within the size limit.
fn keep_head(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    // Between words: half of a secret would not be recognized as one.
    let end = head.rfind(char::is_whitespace).unwrap_or(head.len());
    head[..end].to_owned()
}

/// Returns the end of a text, within the size limit; errors come last.
fn keep_tail(text: &str) -> String {
    let from = text.len().saturating_sub(TEXT_BYTES_MAX);
    text[text.ceil_char_boundary(from)..].to_owned()
}

/// Returns the text of a result: a string, or the texts of its blocks.
fn result_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|it| it["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(_) => value["content"].as_str().unwrap_or_default().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Returns the line that `new` has and `old` has not, if there is exactly one.
fn single_added_line(old: &str, new: &str) -> Option<String> {
    let before: BTreeSet<&str> = old.lines().map(str::trim).collect();
    let mut added = new
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !before.contains(line));
    match (added.next(), added.next()) {
        (Some(line), None) => Some(line.to_owned()),
        (Some(_), Some(_)) | (None, _) => None,
    }
}
