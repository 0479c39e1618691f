//! Capture: a transcript of an agent, or a finished task's notes, becomes claims that wait.
//!
//! Nothing goes to the ledger from here. Secrets are taken out before anything is written; what an entry or another waiting
//! claim says already is left out. Claims are named by what they say, so the same transcript, or a longer one of the same
//! conversation, brings nothing twice, and what somebody rejected stays rejected.

use std::path::Path;

use ken_core::actor::{Actor, Role};
use ken_core::kind::Kind;
use ken_core::likeness::{Claim, likeness};
use ken_core::text::Statement;
use ken_digest::transcript::{self, Moment, Transcript};
use ken_digest::{SourceKind, claims};
use ken_guard::{TextMode, redact};
use tracing::field::Empty;

use super::{Reduced, Staged};
use crate::engine::Engine;
use crate::error::Error;
use crate::judge::Found;

pub use ken_digest::transcript::{Agent, MomentKind, TRANSCRIPT_BYTES_MAX};

/// Bytes of notes that are read.
pub const NOTES_BYTES_MAX: usize = 1 << 20;

/// Hexadecimal digits a source is cited by.
const DIGEST_DIGITS: usize = 32;

/// Digits of it that people are told.
const SHORT_DIGITS: usize = 8;

/// Stands for the source in the names of captured claims: one for all, so that what was rejected once stays so.
const SOURCE: &str = "capture";

/// Something claims are captured from.
#[derive(Clone, Debug)]
pub struct Capture {
    /// What it is cited by.
    pub digest: String,
    pub material: Material,
}

/// What it is.
#[derive(Clone, Debug)]
pub enum Material {
    Transcript(Transcript),
    /// Notes in Markdown.
    Notes(String),
}

impl Capture {
    /// Reads bytes as a transcript of `agent`, of whoever's they are recognised to be, or else as notes.
    pub fn read(bytes: &[u8], agent: Option<Agent>) -> Result<Self, Error> {
        if TRANSCRIPT_BYTES_MAX < bytes.len() {
            let max = TRANSCRIPT_BYTES_MAX >> 20;
            return Err(Error::Usage(format!(
                "a transcript has at most {max} MiB; give the part that matters"
            )));
        }
        let digest = blake3::hash(bytes).to_hex()[..DIGEST_DIGITS].to_owned();
        let material = match agent.or_else(|| transcript::recognise(bytes)) {
            Some(agent) => Material::Transcript(transcript::read(agent, bytes)),
            None if bytes.trim_ascii_start().starts_with(b"{") => {
                return Err(Error::Usage(
                    "this is JSON, and no transcript of an agent Ken knows; `--agent claude-code` or `--agent codex` reads it as one all the same".to_owned(),
                ));
            }
            None if NOTES_BYTES_MAX < bytes.len() => {
                let max = NOTES_BYTES_MAX >> 20;
                return Err(Error::Usage(format!(
                    "notes have at most {max} MiB; give the part that matters"
                )));
            }
            None => match std::str::from_utf8(bytes) {
                Ok(text) => Material::Notes(text.to_owned()),
                Err(_) => {
                    return Err(Error::Usage(
                        "this is neither a transcript nor text".to_owned(),
                    ));
                }
            },
        };
        Ok(Self { digest, material })
    }

    /// Returns what it says, for a judge.
    pub fn told(&self) -> String {
        match &self.material {
            Material::Transcript(transcript) => transcript.told(),
            Material::Notes(text) => text.clone(),
        }
    }

    /// Returns whose words it holds: the agent's, in its conversation.
    pub fn author(&self) -> Option<Actor> {
        let Material::Transcript(transcript) = &self.material else {
            return None;
        };
        let agent = transcript.agent.name();
        let name = match &transcript.session {
            Some(session) => format!("{agent}/{session}"),
            None => agent.to_owned(),
        };
        Some(Actor::from_claim(Role::Agent, &name))
    }

    /// Returns how a line of it is cited.
    fn cite(&self, line: Option<usize>) -> String {
        let digest = &self.digest;
        match line {
            Some(line) => format!("transcript:{digest}#L{line}"),
            None => format!("transcript:{digest}"),
        }
    }

    /// Says where a claim was seen.
    fn seen(&self, what: &str, line: Option<usize>) -> String {
        let short = &self.digest[..SHORT_DIGITS];
        let line = line.map(|it| format!(", line {it}")).unwrap_or_default();
        match &self.material {
            Material::Transcript(it) => {
                format!("{what} in transcript {short} of {}{line}", it.agent.name())
            }
            Material::Notes(_) => format!("{what} in notes {short}{line}"),
        }
    }
}

impl Engine {
    /// Lets what a transcript shows or notes say wait for a decision.
    pub fn capture(&mut self, capture: &Capture) -> Result<Reduced, Error> {
        let span = tracing::info_span!("capture", staged = Empty, known = Empty, refused = Empty);
        let _in = span.enter();
        let root = self.place.root.clone();
        let drafts = match &capture.material {
            Material::Transcript(transcript) => {
                let top = root.to_str();
                let moments = transcript::moments(transcript, top);
                moments
                    .into_iter()
                    .map(|it| of_moment(capture, it, &root))
                    .collect()
            }
            Material::Notes(text) => of_notes(capture, text),
        };
        let reduced = self.stage_captured(drafts)?;
        span.record("staged", reduced.staged.len());
        span.record("known", reduced.known);
        span.record("refused", reduced.refused);
        Ok(reduced)
    }

    /// Lets what a judge found in a transcript or in notes wait for a decision.
    pub fn capture_judged(
        &mut self,
        capture: &Capture,
        found: &[Found],
        judge: &Actor,
    ) -> Result<Reduced, Error> {
        let drafts = found.iter().map(|it| {
            let mut draft = Draft::new(it.kind, it.statement.as_str(), capture.cite(None));
            draft.by = Some(judge.clone());
            draft.seen = capture.seen("found by a judge", None);
            draft
        });
        self.stage_captured(drafts.collect())
    }

    fn stage_captured(&mut self, drafts: Vec<Draft>) -> Result<Reduced, Error> {
        let mut reduced = Reduced {
            sources: 1,
            ..Reduced::default()
        };
        let mut waiting: Vec<(String, Claim)> = Vec::new();
        waiting.extend(
            self.staged()?
                .into_iter()
                .map(|it| (it.id, Claim::of(&it.statement))),
        );
        let mut claims = Vec::new();
        for draft in drafts {
            let staged = self.cleaned(draft);
            let Ok(statement) = staged.statement.parse::<Statement>() else {
                reduced.refused += 1;
                continue;
            };
            let claim = Claim::of(&staged.statement);
            let says_same = |(id, other): &(String, Claim)| {
                *id != staged.id && likeness(&claim, other, None).is_match()
            };
            if !self.entries_saying(&statement)?.is_empty() {
                reduced.known += 1;
            } else if waiting.iter().any(says_same) {
                reduced.waiting += 1;
            } else {
                waiting.push((staged.id.clone(), claim));
                claims.push(staged);
            }
        }
        self.stage(claims, reduced)
    }

    /// Returns a draft without secrets, as a claim that can wait.
    fn cleaned(&self, draft: Draft) -> Staged {
        // What a shell was told and what it answered is read as code: all rules are asked.
        let clean = |text: &str| redact(&self.guard.policy, text, TextMode::Code);
        let statement = clean(&draft.statement).text;
        let whole = |text: &String| clean(text).text == *text;
        let mut staged = Staged::new(draft.kind, statement, SOURCE, draft.cite);
        staged.tags = draft.tags;
        staged.verify = draft.verify.into_iter().filter(whole).collect();
        staged.depends_on = draft.depends_on.into_iter().filter(whole).collect();
        staged.by = draft.by;
        staged.findings = vec![draft.seen];
        staged
    }
}

/// A claim before its secrets are taken out.
struct Draft {
    kind: Kind,
    statement: String,
    tags: Vec<String>,
    verify: Vec<String>,
    depends_on: Vec<String>,
    cite: String,
    by: Option<Actor>,
    seen: String,
}

impl Draft {
    fn new(kind: Kind, statement: &str, cite: String) -> Self {
        Self {
            kind,
            statement: statement.to_owned(),
            tags: Vec::new(),
            verify: Vec::new(),
            depends_on: Vec::new(),
            cite,
            by: None,
            seen: String::new(),
        }
    }
}

fn of_moment(capture: &Capture, moment: Moment, root: &Path) -> Draft {
    let mut draft = Draft::new(moment.kind, &moment.text, capture.cite(Some(moment.line)));
    draft.tags = moment.tags.iter().map(|it| (*it).to_owned()).collect();
    draft.verify = moment.verify;
    let plain = |path: &&String| !path.contains(['[', ']', '*', '?', '{', '(', ' ']);
    let there = moment
        .paths
        .iter()
        .filter(plain)
        .filter(|it| root.join(it).is_file());
    draft.depends_on = there.map(|it| format!("file:{it}")).collect();
    draft.by = capture.author();
    draft.seen = capture.seen(moment.found.name(), Some(moment.line));
    draft
}

fn of_notes(capture: &Capture, text: &str) -> Vec<Draft> {
    let all = claims(SourceKind::Memory, text).into_iter();
    let drafts = all.map(|found| {
        let mut draft = Draft::new(found.kind, &found.text, capture.cite(Some(found.line)));
        draft.tags = found.tags.iter().map(|it| (*it).to_owned()).collect();
        draft.verify = found.verify;
        draft.seen = capture.seen("said", Some(found.line));
        draft
    });
    drafts.collect()
}
