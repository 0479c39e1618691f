//! Capture: extracts inbox claims from an agent's transcript or the notes of a finished task.
//!
//! Nothing is written to the ledger. Secrets are removed before anything is stored, and claims that
//! an entry or another inbox claim already states are dropped. The id of a claim depends on its
//! text only: capturing a transcript again, or a longer one of the same session, adds nothing
//! twice, and rejected claims stay rejected.

use std::path::Path;

use ken_core::trust::similarity::{TokenizedStatement, classify_similarity};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::citation::{CitationSource, CitationType};
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use ken_digest::transcript::{self, ExtractedClaim, Transcript};
use ken_digest::{SourceKind, extract_claims};
use ken_guard::{TextMode, redact};
use tracing::field::Empty;

use super::amendments::OlderDecisions;
use super::{InboxClaim, ReduceOutcome};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::import;
use crate::llm::TranscriptClaim;

pub use ken_digest::transcript::{ExtractionKind, TRANSCRIPT_BYTES_MAX, TranscriptAgent};

/// Maximum bytes of notes.
pub const NOTES_BYTES_MAX: usize = 1 << 20;

/// Number of hexadecimal digits in the citation of a source.
pub(super) const DIGEST_DIGITS: usize = 32;

/// Number of these digits shown to people.
const SHORT_DIGITS: usize = 8;

/// Source name in the ids of captured claims. It is the same for all, so that rejections persist.
const ID_SOURCE: &str = "capture";

/// Source from which claims are captured.
#[derive(Clone, Debug)]
pub struct CaptureSource {
    /// Hash by which the source is cited.
    pub digest: String,
    pub material: CaptureMaterial,
}

/// Parsed content of a source.
#[derive(Clone, Debug)]
pub enum CaptureMaterial {
    Transcript(Transcript),
    /// Notes in Markdown.
    Notes(String),
}

impl CaptureSource {
    /// Parses bytes as a transcript of `agent`, of a recognized agent, or else as notes.
    pub fn parse(bytes: &[u8], agent: Option<TranscriptAgent>) -> Result<Self, EngineError> {
        if bytes.len() > TRANSCRIPT_BYTES_MAX {
            let max = TRANSCRIPT_BYTES_MAX >> 20;
            return Err(EngineError::Usage(format!(
                "the transcript is larger than {max} MiB; pass only the relevant part"
            )));
        }
        // The hash is the citation, because transcripts have no stable path.
        let digest = blake3::hash(bytes).to_hex()[..DIGEST_DIGITS].to_owned();
        let material = match agent.or_else(|| transcript::detect_agent(bytes)) {
            Some(agent) => CaptureMaterial::Transcript(transcript::parse_transcript(agent, bytes)),
            // Notes are Markdown: JSON here is most likely a transcript in an unknown format.
            None if bytes.trim_ascii_start().starts_with(b"{") => {
                return Err(EngineError::Usage(
                    "this JSON is not a transcript of a known agent; to parse it anyway, use `--agent claude-code`, `codex`, `gemini-cli` or `opencode`".to_owned(),
                ));
            }
            None if bytes.len() > NOTES_BYTES_MAX => {
                let max = NOTES_BYTES_MAX >> 20;
                return Err(EngineError::Usage(format!(
                    "the notes are larger than {max} MiB; pass only the relevant part"
                )));
            }
            None => match std::str::from_utf8(bytes) {
                Ok(text) => CaptureMaterial::Notes(text.to_owned()),
                Err(_) => {
                    return Err(EngineError::Usage(
                        "the input is neither a transcript nor UTF-8 text".to_owned(),
                    ));
                }
            },
        };
        Ok(Self { digest, material })
    }

    /// Returns the text for a llm.
    pub fn llm_text(&self) -> String {
        match &self.material {
            CaptureMaterial::Transcript(transcript) => transcript.told(),
            CaptureMaterial::Notes(text) => text.clone(),
        }
    }

    /// Returns the author of a transcript: the agent, with its session.
    pub fn author(&self) -> Option<Actor> {
        let CaptureMaterial::Transcript(transcript) = &self.material else {
            return None;
        };
        let agent = transcript.agent.name();
        let name = match &transcript.session {
            Some(session) => format!("{agent}/{session}"),
            None => agent.to_owned(),
        };
        Some(Actor::from_claim(ActorRole::Agent, &name))
    }

    /// Returns the citation of the whole source.
    pub fn evidence(&self) -> CitationSource {
        CitationSource {
            evidence_type: CitationType::Transcript,
            // Lower-case hexadecimal digits are always a valid reference.
            evidence_ref: self.digest.parse().expect("digits are a reference"),
        }
    }

    /// Returns the citation of the first to the last line, or of the whole source.
    fn cite(&self, lines: Option<(usize, usize)>) -> String {
        let digest = &self.digest;
        match lines {
            Some((first, last)) if first < last => format!("transcript:{digest}#L{first}-{last}"),
            Some((_, line)) => format!("transcript:{digest}#L{line}"),
            None => format!("transcript:{digest}"),
        }
    }

    /// Describes where a claim was found.
    fn describe_location(&self, label: &str, line: Option<usize>) -> String {
        let short = &self.digest[..SHORT_DIGITS];
        let line = line.map(|it| format!(", line {it}")).unwrap_or_default();
        match &self.material {
            CaptureMaterial::Transcript(it) => {
                format!("{label} in transcript {short} of {}{line}", it.agent.name())
            }
            CaptureMaterial::Notes(_) => format!("{label} in notes {short}{line}"),
        }
    }
}

/// Adds the claims of a transcript or of notes to the inbox.
pub(crate) fn capture(
    engine: &mut Engine,
    capture: &CaptureSource,
) -> Result<ReduceOutcome, EngineError> {
    let span = tracing::info_span!("capture", staged = Empty, known = Empty, refused = Empty);
    let _in = span.enter();
    let root = engine.place.root.clone();
    let drafts = match &capture.material {
        CaptureMaterial::Transcript(transcript) => {
            let top = root.to_str();
            let moments = transcript::extract_transcript_claims(transcript, top);
            moments
                .into_iter()
                .map(|it| claim_from_moment(capture, it, &root))
                .collect()
        }
        CaptureMaterial::Notes(text) => claims_from_notes(capture, text),
    };
    let reduced = stage_captured(engine, drafts)?;
    span.record("staged", reduced.staged.len());
    span.record("known", reduced.known);
    span.record("refused", reduced.refused);
    Ok(reduced)
}

/// Adds claims that a llm found in a transcript or in notes to the inbox.
pub(crate) fn capture_judged(
    engine: &mut Engine,
    capture: &CaptureSource,
    found: &[TranscriptClaim],
    llm: &Actor,
) -> Result<ReduceOutcome, EngineError> {
    let drafts = found.iter().map(|claim| {
        let mut draft =
            CapturedClaim::new(claim.kind, claim.statement.as_str(), capture.cite(None));
        // The llm is the author of the claim, not the agent in the transcript.
        draft.by = Some(llm.clone());
        draft.location = capture.describe_location("found by an LLM", None);
        draft
    });
    stage_captured(engine, drafts.collect())
}

/// Adds claims to the inbox unless an entry or another inbox claim states the same.
fn stage_captured(
    engine: &mut Engine,
    drafts: Vec<CapturedClaim>,
) -> Result<ReduceOutcome, EngineError> {
    let mut reduced = ReduceOutcome {
        sources: 1,
        ..ReduceOutcome::default()
    };
    let mut waiting: Vec<(String, TokenizedStatement)> = Vec::new();
    waiting.extend(
        engine
            .inbox_claims()?
            .into_iter()
            .map(|it| (it.id, TokenizedStatement::parse(&it.statement))),
    );
    let mut claims = Vec::new();
    let mut older = None;
    for draft in drafts {
        let amends = draft.amends;
        // Secrets go first: ids and comparisons must not depend on them.
        let mut staged = redact_draft(engine, draft);
        let Ok(statement) = staged.statement.parse::<Statement>() else {
            reduced.refused += 1;
            continue;
        };
        if amends && staged.kind.is_prescriptive() {
            if older.is_none() {
                older = Some(OlderDecisions::load(engine)?);
            }
            let older = older.as_ref();
            staged.supersedes = older.map_or_else(Vec::new, |it| it.amended_by(&staged, &claims));
        }
        let claim = TokenizedStatement::parse(&staged.statement);
        // The same id means the same claim, which `stage` counts itself. An amendment may repeat
        // most words of what it changes.
        let says_same = |(id, other): &(String, TokenizedStatement)| {
            *id != staged.id
                && !staged.supersedes.contains(id)
                && classify_similarity(&claim, other, None).is_match()
        };
        let mut stating = engine.entries_stating(&statement)?;
        stating.retain(|it| !staged.supersedes.contains(&it.to_string()));
        if !stating.is_empty() {
            reduced.known += 1;
        } else if waiting.iter().any(says_same) {
            reduced.waiting += 1;
        } else {
            waiting.push((staged.id.clone(), claim));
            claims.push(staged);
        }
    }
    import::add_to_inbox(engine, claims, reduced)
}

/// Converts a draft to an inbox claim with secrets removed.
fn redact_draft(engine: &Engine, draft: CapturedClaim) -> InboxClaim {
    // Transcripts contain shell commands and their output, so all rules for code apply.
    let clean = |text: &str| redact(&engine.guard.policy, text, TextMode::Code);
    let statement = clean(&draft.statement).text;
    // A command or path with a part removed would be wrong, so it is dropped entirely.
    let whole = |text: &String| clean(text).text == *text;
    let mut staged = InboxClaim::new(draft.kind, statement, ID_SOURCE, draft.cite);
    staged.tags = draft.tags;
    staged.verify = draft.verify.into_iter().filter(whole).collect();
    staged.depends_on = draft.depends_on.into_iter().filter(whole).collect();
    staged.by = draft.by;
    staged.exchange = draft.exchange.map(|it| clean(&it).text);
    staged.findings = vec![draft.location];
    staged
}

/// Captured claim before secrets are removed.
struct CapturedClaim {
    kind: EntryKind,
    statement: String,
    tags: Vec<String>,
    verify: Vec<String>,
    depends_on: Vec<String>,
    cite: String,
    by: Option<Actor>,
    exchange: Option<String>,
    amends: bool,
    location: String,
}

impl CapturedClaim {
    /// Creates a claim without details.
    fn new(kind: EntryKind, statement: &str, cite: String) -> Self {
        Self {
            kind,
            statement: statement.to_owned(),
            tags: Vec::new(),
            verify: Vec::new(),
            depends_on: Vec::new(),
            cite,
            by: None,
            exchange: None,
            amends: false,
            location: String::new(),
        }
    }
}

/// Converts a moment of a transcript.
fn claim_from_moment(
    capture: &CaptureSource,
    moment: ExtractedClaim,
    root: &Path,
) -> CapturedClaim {
    let cite = capture.cite(Some((moment.first_line, moment.line)));
    let mut draft = CapturedClaim::new(moment.kind, &moment.text, cite);
    draft.tags = moment.tags.iter().map(|it| (*it).to_owned()).collect();
    draft.verify = moment.verify;
    draft.exchange = moment.exchange;
    draft.amends = moment.amends;
    // Only paths that exist become conditions: the agent may have deleted a file since.
    let plain = |path: &&String| !path.contains(['[', ']', '*', '?', '{', '(', ' ']);
    let there = moment
        .paths
        .iter()
        .filter(plain)
        .filter(|it| root.join(it).is_file());
    draft.depends_on = there.map(|it| format!("file:{it}")).collect();
    draft.by = capture.author();
    draft.location = capture.describe_location(moment.found.name(), Some(moment.line));
    draft
}

/// Extracts the claims of notes.
fn claims_from_notes(capture: &CaptureSource, text: &str) -> Vec<CapturedClaim> {
    let all = extract_claims(SourceKind::Memory, text).into_iter();
    let drafts = all.map(|found| {
        let cite = capture.cite(Some((found.line, found.line)));
        let mut draft = CapturedClaim::new(found.kind, &found.text, cite);
        draft.tags = found.tags.iter().map(|it| (*it).to_owned()).collect();
        draft.verify = found.verify;
        draft.location = capture.describe_location("said", Some(found.line));
        draft
    });
    drafts.collect()
}
