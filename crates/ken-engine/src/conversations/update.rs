//! Incremental update of the index.
//!
//! Transcripts of Claude Code and Codex only grow, so they are read from their last exchange on, in
//! chunks. Those of the others are small and read whole. A transcript that is gone leaves the
//! index: Ken keeps no conversation longer than its agent does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Instant;

use ken_core::values::time::{DAY_MS, Timestamp};
use ken_digest::transcript::{
    self, Exchange, TRANSCRIPT_BYTES_MAX, TranscriptAgent, parse_speech, split_exchanges,
};
use ken_guard::{GuardPolicy, TextMode, redact};
use ken_index::conversations::opencode::OpencodeDatabase;
use ken_index::conversations::{CleanExchange, ConversationIndex, TranscriptState};

use super::transcripts::{
    FoundTranscript, TranscriptContent, WorkTrees, find_transcripts, storage_document,
};
use super::{ConversationHome, commits, permission};
use crate::engine::Engine;
use crate::error::EngineError;

/// Bytes of a transcript read at once; more if one exchange is longer.
const CHUNK_BYTES: u64 = 4 << 20;

/// Bytes of transcripts stored in one transaction.
const BATCH_BYTES: u64 = 16 << 20;

/// Bytes of a transcript that tell its working directory.
const HEAD_BYTES: u64 = 256 << 10;

/// Limits of the index: bytes, exchanges and their age.
const INDEX_BYTES_MAX: u64 = 512 << 20;
const EXCHANGES_MAX: u64 = 200_000;
const AGE_DAYS_MAX: u64 = 730;

/// Share of the exchanges that stay if the index has too many bytes, in percent.
const PERCENT_KEPT: u64 = 90;

/// Name of the meta row with the token of the rules that redacted the texts.
const META_RULES: &str = "rules";

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Transcripts of this repository.
    pub transcripts: usize,
    /// Bytes of transcripts that were read.
    pub bytes: u64,
    /// True if something is left for the next time.
    pub is_partial: bool,
}

/// Brings the index up to date until `deadline`.
pub(super) fn update_index(
    engine: &Engine,
    home: &ConversationHome,
    index: &mut ConversationIndex,
    deadline: Option<Instant>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<IndexProgress, EngineError> {
    let policy = &engine.guard.policy;
    let rules = policy.redaction_token();
    let redacted_by = index.meta(META_RULES)?;
    if redacted_by.as_ref() != Some(&rules) {
        // Older texts may have secrets that only the current rules recognize.
        if redacted_by.is_some() {
            index.clear()?;
        }
        index.change(|it| it.set_meta(META_RULES, &rules))?;
    }
    // Commits first: they need no permission and answer even if the transcripts take too long.
    let mut is_complete = commits::update_commits(&engine.place, index, policy)?;
    while !is_complete && deadline.is_none() {
        is_complete = commits::update_commits(&engine.place, index, policy)?;
    }
    let mut done = IndexProgress {
        is_partial: !is_complete,
        ..IndexProgress::default()
    };
    if permission(&home.folder(&engine.place)).is_some() {
        let trees = WorkTrees::of(&engine.place);
        let mut update = TranscriptUpdate {
            trees: &trees,
            policy,
            oldest: engine.now().minus_millis(AGE_DAYS_MAX * DAY_MS),
            deadline,
            waiting: Vec::new(),
            waiting_bytes: 0,
        };
        update.run(home, index, &mut done, progress)?;
    }
    Ok(done)
}

/// An update of all transcripts.
struct TranscriptUpdate<'a> {
    trees: &'a WorkTrees,
    policy: &'a GuardPolicy,
    oldest: Timestamp,
    deadline: Option<Instant>,
    /// Steps that are not stored yet. One transaction for many saves FTS5 many small segments.
    waiting: Vec<(String, ReadStep)>,
    waiting_bytes: u64,
}

impl TranscriptUpdate<'_> {
    fn run(
        &mut self,
        home: &ConversationHome,
        index: &mut ConversationIndex,
        done: &mut IndexProgress,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), EngineError> {
        let found = find_transcripts(home, self.trees);
        let mut states = index.transcript_states()?;
        let mut has_changed = remove_gone(index, &states, &found)?;
        for (place, transcript) in found.iter().enumerate() {
            let reader = TranscriptReader {
                trees: self.trees,
                policy: self.policy,
                oldest: self.oldest,
                transcript,
            };
            let mut state = states.remove(&transcript.name).unwrap_or_default();
            while !reader.is_current(&state) {
                // Checked between steps, so that one long transcript cannot exceed the time.
                if self.deadline.is_some_and(|it| Instant::now() >= it) {
                    done.is_partial = true;
                    break;
                }
                let Some(step) = reader.read_step(&state) else {
                    break;
                };
                done.bytes += step.bytes;
                has_changed |= !step.exchanges.is_empty();
                state = step.state.clone();
                self.waiting_bytes += step.bytes;
                self.waiting.push((transcript.name.clone(), step));
                if self.waiting_bytes >= BATCH_BYTES {
                    self.store(index)?;
                }
            }
            progress(place + 1, found.len());
        }
        self.store(index)?;
        // Counting all exchanges takes longer than an update that found nothing new.
        if has_changed {
            prune(index, self.oldest)?;
        }
        done.transcripts = found.len();
        Ok(())
    }

    /// Stores the steps that wait. If another process is writing, that process reads the same.
    fn store(&mut self, index: &mut ConversationIndex) -> Result<(), EngineError> {
        let steps = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if steps.is_empty() {
            return Ok(());
        }
        index.change(|writer| {
            for (name, step) in &steps {
                writer.count_left_out(step.left_out)?;
                writer.store_transcript(name, &step.state, step.first_line, &step.exchanges)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Removes transcripts that are gone. Returns whether there were any.
fn remove_gone(
    index: &mut ConversationIndex,
    states: &BTreeMap<String, TranscriptState>,
    found: &[FoundTranscript],
) -> Result<bool, EngineError> {
    let names: BTreeSet<&str> = found.iter().map(|it| it.name.as_str()).collect();
    let known = states.keys().map(String::as_str);
    let gone: Vec<&str> = known.filter(|it| !names.contains(it)).collect();
    if gone.is_empty() {
        return Ok(false);
    }
    index.change(|writer| gone.iter().try_for_each(|it| writer.remove_transcript(it)))?;
    Ok(true)
}

/// Keeps the index within its limits.
fn prune(index: &mut ConversationIndex, oldest: Timestamp) -> Result<(), EngineError> {
    let totals = index.totals()?;
    let max = if totals.bytes > INDEX_BYTES_MAX {
        (totals.exchanges * PERCENT_KEPT / 100).min(EXCHANGES_MAX)
    } else {
        EXCHANGES_MAX
    };
    index.change(|writer| writer.prune(oldest, max))?;
    Ok(())
}

/// Reads one transcript step by step.
struct TranscriptReader<'a> {
    trees: &'a WorkTrees,
    policy: &'a GuardPolicy,
    oldest: Timestamp,
    transcript: &'a FoundTranscript,
}

/// One step of reading a transcript.
struct ReadStep {
    state: TranscriptState,
    /// Exchanges from this line on are replaced.
    first_line: u64,
    exchanges: Vec<CleanExchange>,
    left_out: u64,
    bytes: u64,
}

impl TranscriptReader<'_> {
    /// Returns whether nothing is left to read.
    fn is_current(&self, state: &TranscriptState) -> bool {
        let FoundTranscript {
            size, modified_ns, ..
        } = self.transcript;
        let is_same = (state.size, state.modified_ns) == (*size, *modified_ns);
        // A transcript of another repository stays one, however long it grows.
        let is_foreign = state.agent.is_none() && state.modified_ns != 0 && state.size <= *size;
        is_same || is_foreign
    }

    /// Reads the next part; `None` if the transcript cannot be read.
    fn read_step(&self, state: &TranscriptState) -> Option<ReadStep> {
        match &self.transcript.content {
            TranscriptContent::Database(path, session) => {
                let document = OpencodeDatabase::open(path).and_then(|it| it.document(session));
                Some(self.read_whole(document.ok()?.as_bytes()))
            }
            TranscriptContent::Storage { folder, session } => {
                let document = storage_document(folder, self.transcript, session);
                Some(self.read_whole(document.as_bytes()))
            }
            TranscriptContent::File(path) => match self.transcript.agent {
                TranscriptAgent::ClaudeCode | TranscriptAgent::Codex => {
                    self.read_lines(path, state).ok()
                }
                TranscriptAgent::GeminiCli | TranscriptAgent::OpenCode => {
                    let bytes = read_range(path, 0, TRANSCRIPT_BYTES_MAX as u64).ok()?;
                    Some(self.read_whole(&bytes))
                }
            },
        }
    }

    /// Returns the state at the end of the transcript as it was found.
    fn final_state(&self) -> TranscriptState {
        TranscriptState {
            size: self.transcript.size,
            modified_ns: self.transcript.modified_ns,
            agent: Some(self.transcript.agent.name().to_owned()),
            ..TranscriptState::default()
        }
    }

    fn read_whole(&self, bytes: &[u8]) -> ReadStep {
        let exchanges = split_exchanges(parse_speech(self.transcript.agent, bytes, 0));
        let (exchanges, left_out) = self.clean(&exchanges);
        ReadStep {
            state: self.final_state(),
            first_line: 0,
            exchanges,
            left_out,
            bytes: bytes.len() as u64,
        }
    }

    /// Reads JSON lines from the last exchange on.
    fn read_lines(&self, path: &Path, state: &TranscriptState) -> io::Result<ReadStep> {
        // A shorter file is another one.
        let is_new = state.modified_ns == 0 || self.transcript.size < state.taken;
        if is_new && !self.is_ours(path)? {
            return Ok(ReadStep {
                state: TranscriptState {
                    agent: None,
                    ..self.final_state()
                },
                first_line: 0,
                exchanges: Vec::new(),
                left_out: 0,
                bytes: 0,
            });
        }
        let (taken, lines) = if is_new {
            (0, 0)
        } else {
            (state.taken, state.lines)
        };
        let mut chunk = CHUNK_BYTES;
        loop {
            let bytes = read_range(path, taken, chunk)?;
            let is_end = taken + bytes.len() as u64 >= self.transcript.size;
            // The last line may not be complete yet.
            let is_closed = is_end && bytes.trim_ascii_end().ends_with(b"}");
            let end = if is_closed {
                bytes.len()
            } else {
                complete_lines(&bytes)
            };
            let bytes = &bytes[..end];
            let before = usize::try_from(lines).unwrap_or(usize::MAX);
            let speech = parse_speech(self.transcript.agent, bytes, before);
            let exchanges = split_exchanges(speech);
            // The last exchange may go on behind the chunk, so the next step starts with it.
            let last = exchanges
                .last()
                .map_or(0, |it| it.line.saturating_sub(before + 1));
            let is_stuck = !is_end && last == 0;
            if is_stuck && chunk < TRANSCRIPT_BYTES_MAX as u64 {
                chunk *= 2;
                continue;
            }
            let (skipped, skipped_lines) = if is_stuck {
                (end, count_lines(bytes))
            } else {
                (line_start(bytes, last), last)
            };
            let next = TranscriptState {
                taken: taken + skipped as u64,
                lines: lines + skipped_lines as u64,
                ..self.final_state()
            };
            let (exchanges, left_out) = self.clean(&exchanges);
            return Ok(ReadStep {
                state: TranscriptState {
                    // Smaller than the file until its end was reached.
                    size: if is_end { next.size } else { next.taken },
                    ..next
                },
                first_line: lines + 1,
                exchanges,
                left_out,
                bytes: bytes.len() as u64,
            });
        }
    }

    /// Returns whether a transcript belongs to the repository.
    fn is_ours(&self, path: &Path) -> io::Result<bool> {
        let mut folder = self.transcript.folder.clone();
        for bytes in [HEAD_BYTES, CHUNK_BYTES] {
            if folder.is_none() {
                let head = read_range(path, 0, bytes)?;
                let head = &head[..complete_lines(&head)];
                folder = transcript::parse_transcript(self.transcript.agent, head).folder;
            }
        }
        Ok(folder.is_some_and(|it| self.trees.contain(&it)))
    }

    /// Removes secrets; exchanges that address a model, or are too old, are left out. Returns the
    /// number of the former.
    fn clean(&self, exchanges: &[Exchange]) -> (Vec<CleanExchange>, u64) {
        let written =
            Timestamp::from_millis(self.transcript.modified_ns.unsigned_abs() / 1_000_000);
        let (mut clean, mut left_out) = (Vec::new(), 0);
        for exchange in exchanges {
            let at = exchange.at.unwrap_or(written);
            if at < self.oldest {
                continue;
            }
            let mut is_quarantined = false;
            let (asked, answered) = exchange.condense(|text| {
                // Transcripts contain commands and their output, so all rules for code apply.
                let redacted = redact(self.policy, text, TextMode::Code);
                is_quarantined |= redacted.is_quarantined;
                redacted.text
            });
            if is_quarantined {
                left_out += 1;
                continue;
            }
            clean.push(CleanExchange {
                line: exchange.line as u64,
                at,
                asked,
                answered,
            });
        }
        (clean, left_out)
    }
}

fn read_range(path: &Path, from: u64, max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes of the complete lines.
fn complete_lines(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|byte| *byte == b'\n');
    last.map_or(0, |it| it + 1)
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Returns the first byte of a line, counted from 0.
fn line_start(bytes: &[u8], line: usize) -> usize {
    let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut starts = std::iter::once(0).chain(breaks.map(|(place, _)| place + 1));
    starts.nth(line).unwrap_or(bytes.len())
}
