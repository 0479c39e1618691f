//! Transcripts of coding agents: what was asked, what was done and how it ended.
//!
//! Claude Code and Codex write one JSON object a line, in forms that change with every release. Whatever is not understood
//! is passed over and counted; nothing here fails on bytes it is given. [`moments()`] says what of it is worth keeping.

mod claude;
mod codex;
mod command;
mod corrections;
mod fixes;
mod habits;
mod moments;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use moments::{MOMENTS_MAX, Moment, MomentKind, moments};

/// Bytes of a transcript that may be read.
pub const TRANSCRIPT_BYTES_MAX: usize = 64 << 20;

/// Bytes of a line that are parsed; longer ones carry pictures.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Bytes of one text that are kept.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// Turns that are kept.
const TURNS_MAX: usize = 200_000;

/// Lines by which a transcript is recognised.
const LINES_RECOGNISED: usize = 50;

/// Bytes of what an agent said that are told to a judge, a turn.
const TOLD_BYTES_MAX: usize = 600;

/// Bytes a session's name may have.
const SESSION_BYTES_MAX: usize = 64;

/// Who wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    ClaudeCode,
    Codex,
}

/// A transcript, as far as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    pub agent: Agent,
    /// What the agent calls the conversation.
    pub session: Option<String>,
    /// Where the agent worked: a path of the machine it ran on.
    pub folder: Option<String>,
    pub turns: Vec<Turn>,
    /// Lines with something on them.
    pub lines: usize,
    /// Those that could not be read.
    pub skipped: usize,
}

/// One thing that happened, with the line it stands on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub line: usize,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A person said something.
    Asked(String),
    /// The agent said something.
    Told(String),
    /// The agent did something.
    Did(Action),
}

/// What the agent did and how that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub deed: Deed,
    pub outcome: Outcome,
    /// The end of what came back.
    pub output: String,
}

/// What the agent did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A line for a shell.
    Command(String),
    /// Files that were written.
    Edit(Vec<Edit>),
    /// Anything else, by the tool's name.
    Other(String),
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// As the agent wrote it.
    pub path: String,
    /// The one line that was added, where it was one.
    pub added: Option<String>,
}

/// How a deed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed,
    /// It was stopped, refused, sent to the background, or nothing came back.
    Unknown,
}

impl Agent {
    /// Returns the agent's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }
}

/// Returns whose transcript `bytes` are, if one's.
pub fn recognise(bytes: &[u8]) -> Option<Agent> {
    let (mut claude, mut codex) = (0, 0);
    let lines = lines(bytes).filter_map(|(_, line)| parse(line));
    for value in lines.take(LINES_RECOGNISED) {
        claude += usize::from(claude::is_line(&value));
        codex += usize::from(codex::is_line(&value));
    }
    match (claude, codex) {
        (0, 0) => None,
        (claude, codex) if codex < claude => Some(Agent::ClaudeCode),
        (_, _) => Some(Agent::Codex),
    }
}

/// Reads a transcript; whatever is not understood is passed over.
pub fn read(agent: Agent, bytes: &[u8]) -> Transcript {
    let mut builder = Builder::default();
    let (mut count, mut skipped) = (0, 0);
    for (number, line) in lines(bytes) {
        count += 1;
        let Some(value) = parse(line) else {
            skipped += 1;
            continue;
        };
        builder.line = number;
        match agent {
            Agent::ClaudeCode => claude::line(&value, &mut builder),
            Agent::Codex => codex::line(&value, &mut builder),
        }
    }
    Transcript {
        agent,
        session: builder.session,
        folder: builder.folder,
        turns: builder.turns,
        lines: count,
        skipped,
    }
}

impl Transcript {
    /// Returns what was said and done, shortened, for somebody who is asked what of it to keep.
    pub fn told(&self) -> String {
        let mut out = String::new();
        let mut add = |who: &str, text: &str| {
            let text = text.trim();
            if !text.is_empty() {
                let cut = text.floor_char_boundary(TOLD_BYTES_MAX.min(text.len()));
                out.push_str(who);
                out.push_str(&text[..cut]);
                out.push('\n');
            }
        };
        for turn in &self.turns {
            match &turn.what {
                What::Asked(text) => add("user: ", text),
                What::Told(text) => add("agent: ", text),
                What::Did(action) => {
                    match &action.deed {
                        Deed::Command(line) => add("command: ", line),
                        Deed::Edit(edits) => {
                            let paths: Vec<&str> =
                                edits.iter().map(|it| it.path.as_str()).collect();
                            add("edited: ", &paths.join(", "));
                        }
                        Deed::Other(_) => {}
                    }
                    if action.outcome == Outcome::Failed {
                        let why = trouble::telling(&action.output).unwrap_or_default();
                        add("failed: ", &why);
                    }
                }
            }
        }
        out
    }
}

/// Returns the lines that have something on them, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let all = bytes.split(|byte| *byte == b'\n').enumerate();
    let all = all.map(|(at, line)| (at + 1, line.trim_ascii()));
    all.filter(|(_, line)| !line.is_empty())
}

fn parse(line: &[u8]) -> Option<Value> {
    if LINE_BYTES_MAX < line.len() || !line.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// Gathers turns; results find the calls they belong to.
#[derive(Debug, Default)]
struct Builder {
    line: usize,
    session: Option<String>,
    folder: Option<String>,
    turns: Vec<Turn>,
    /// Calls that have no result yet, by name.
    open: BTreeMap<String, usize>,
    /// Names of lines that were read; a conversation taken up again repeats its beginning.
    seen: BTreeSet<String>,
}

impl Builder {
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

    fn push(&mut self, what: What) {
        if self.turns.len() < TURNS_MAX {
            let line = self.line;
            self.turns.push(Turn { line, what });
        }
    }

    fn asked(&mut self, text: &str) {
        let text = head(text.trim());
        // Codex writes what a person said twice, once for itself and once for the model.
        let again = matches!(self.turns.last(), Some(Turn { what: What::Asked(before), .. }) if *before == text);
        if !text.is_empty() && !again {
            self.push(What::Asked(text));
        }
    }

    fn told(&mut self, text: &str) {
        let text = head(text.trim());
        let again = matches!(self.turns.last(), Some(Turn { what: What::Told(before), .. }) if *before == text);
        if !text.is_empty() && !again {
            self.push(What::Told(text));
        }
    }

    /// Notes a call whose result comes later.
    fn began(&mut self, call: Option<&str>, deed: Deed) {
        if let Some(call) = call {
            if self.open.contains_key(call) {
                return;
            }
            self.open.insert(call.to_owned(), self.turns.len());
        }
        self.push(What::Did(Action {
            deed,
            outcome: Outcome::Unknown,
            output: String::new(),
        }));
    }

    /// Notes how a call ended; who tells that it failed is believed before who tells nothing.
    fn ended(&mut self, call: Option<&str>, outcome: Outcome, output: &str) {
        let place = call.and_then(|call| self.open.get(call));
        let turn = place.and_then(|place| self.turns.get_mut(*place));
        if let Some(Turn {
            what: What::Did(action),
            ..
        }) = turn
            && action.outcome == Outcome::Unknown
        {
            action.outcome = outcome;
            action.output = tail(output);
        }
    }
}

/// Returns the beginning of a text.
fn head(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(text.len()))].to_owned()
}

/// Returns the end of a text.
fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(TEXT_BYTES_MAX);
    text[text.ceil_char_boundary(from)..].to_owned()
}

/// Returns the text of a result: a string, or the texts of blocks.
fn text_of(value: &Value) -> String {
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

/// Returns the one line `new` has and `old` has not, if it is one.
fn one_added(old: &str, new: &str) -> Option<String> {
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
