//! Audit of the documents that instruct agents, before anything is imported.
//!
//! Reads documents such as `CLAUDE.md`, splits them into claims (`ken_digest`) and checks the
//! claims against the files of the repository, against each other and against the guard. An audit
//! needs no ledger and changes nothing.

mod citations;
mod claims;
mod contradicted;
mod duplicates;
mod file_lookup;
mod history;
mod staleness;
mod symbols;

use std::collections::BTreeSet;
use std::path::Path;

use ken_digest::{DocumentClaim, DocumentReference, SourceKind};
use ken_ledger::{GitEnv, LedgerLocation, discover};
use serde::Serialize;

use crate::error::EngineError;
use crate::guard::{FindingSeverity, Guard, Mode, ScanAxis};
pub(crate) use duplicates::governed_folder;
use file_lookup::FileLookup;
use history::History;

/// Documents of a repository, their claims and the findings about them.
#[derive(Clone, Debug)]
pub struct AuditReport {
    pub documents: Vec<AuditedDocument>,
    /// Ordered by document.
    pub claims: Vec<AuditedClaim>,
    /// Ordered by document and line.
    pub findings: Vec<AuditFinding>,
    /// Documents that could not be read.
    pub unreadable: Vec<UnreadableDocument>,
    /// Number of files in the repository.
    pub files: usize,
}

/// Scope of an audit.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Documents or folders; every document if empty.
    pub only: Vec<String>,
    /// Whether to report claims whose cited files merely changed.
    pub with_changed: bool,
}

/// Document that instructs agents but cannot be read as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableDocument {
    pub path: String,
    pub reason: &'static str,
}

/// Document that instructs agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditedDocument {
    pub path: String,
    pub kind: SourceKind,
    pub claims: usize,
    /// Number of claims beyond the maximum per document, which are not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Document with identical text. The claims of a copy are not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Claim and the document it appears in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditedClaim {
    pub document: String,
    #[serde(flatten)]
    pub found: DocumentClaim,
    /// Files of the repository that the claim cites.
    pub cites: Vec<String>,
    /// Whether a program wrote the claim, between marks such as `<!-- tool start -->`.
    #[serde(skip)]
    pub(crate) is_generated: bool,
}

/// Reference and the document it appears in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AuditedReference {
    document: String,
    found: DocumentReference,
    /// Lines of the document that the reference spans, to find the line of a mention.
    lines: Vec<String>,
}

/// Problem of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    pub kind: FindingKind,
    pub document: String,
    /// Line number, starting at 1.
    pub line: usize,
    pub message: String,
    /// Text of the claim; absent if it must not be repeated, such as a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The other claim of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherClaim>,
    /// Indexes of the claims concerned.
    #[serde(skip)]
    pub(crate) claim_indexes: Vec<usize>,
}

/// Location and text of the other claim of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherClaim {
    pub document: String,
    pub line: usize,
    pub claim: String,
}

/// Kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The claim cites a file or folder that does not exist.
    DeadCitation,
    /// The claim names a symbol that does not occur in the code.
    DeadSymbol,
    /// The claim requires something that the repository does differently.
    BrokenRule,
    /// Another claim states the opposite.
    Contradiction,
    /// Another claim states the same.
    Duplicate,
    /// The guard refuses the text.
    Secret,
    /// The text is addressed to the reader's model instead of the reader.
    Injection,
    /// The claim cites a file for a symbol that has moved elsewhere.
    Stale,
    /// The claim is unchanged although the files it cites changed.
    Changed,
}

impl FindingKind {
    /// Every kind, most severe first.
    pub const ALL: [Self; 9] = [
        Self::Secret,
        Self::Injection,
        Self::DeadCitation,
        Self::DeadSymbol,
        Self::BrokenRule,
        Self::Contradiction,
        Self::Duplicate,
        Self::Stale,
        Self::Changed,
    ];

    /// Returns the label, singular and plural.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::DeadCitation => ("dead citation", "dead citations"),
            Self::DeadSymbol => ("dead symbol", "dead symbols"),
            Self::BrokenRule => ("broken rule", "broken rules"),
            Self::Contradiction => ("contradiction", "contradictions"),
            Self::Duplicate => ("duplicate", "duplicates"),
            Self::Secret => ("secret", "secrets"),
            Self::Injection => ("prompt injection", "prompt injections"),
            Self::Stale => ("out of date", "out of date"),
            Self::Changed => ("cited file changed", "cited files changed"),
        }
    }

    /// Returns true if a claim with this finding is not imported.
    pub fn blocks_import(self) -> bool {
        match self {
            Self::DeadCitation
            | Self::DeadSymbol
            | Self::BrokenRule
            | Self::Contradiction
            | Self::Secret
            | Self::Injection
            | Self::Stale => true,
            // The first of two duplicates is still imported, and a claim about a changed file is
            // checked by its anchors from then on.
            Self::Duplicate | Self::Changed => false,
        }
    }
}

impl AuditReport {
    /// Returns the claims to import: without a blocking finding and not a duplicate of an earlier
    /// one.
    pub fn importable_claims(&self) -> Vec<&AuditedClaim> {
        let mut spoilt: BTreeSet<usize> = BTreeSet::new();
        for finding in &self.findings {
            match finding.kind {
                // Only the later duplicate is dropped, so that one of the two remains.
                FindingKind::Duplicate => spoilt.extend(finding.claim_indexes.iter().max()),
                kind if kind.blocks_import() => spoilt.extend(&finding.claim_indexes),
                FindingKind::DeadCitation
                | FindingKind::DeadSymbol
                | FindingKind::BrokenRule
                | FindingKind::Contradiction
                | FindingKind::Secret
                | FindingKind::Injection
                | FindingKind::Stale
                | FindingKind::Changed => {}
            }
        }
        let places = self.claims.iter().enumerate();
        let sound = places.filter(|(place, _)| !spoilt.contains(place));
        sound.map(|(_, claim)| claim).collect()
    }

    /// Counts the findings by kind, most severe first, without kinds that do not occur.
    pub fn count_findings(&self) -> Vec<(FindingKind, usize)> {
        let count = |kind: FindingKind| self.findings.iter().filter(|it| it.kind == kind).count();
        let counts = FindingKind::ALL.iter().map(|kind| (*kind, count(*kind)));
        counts.filter(|(_, count)| *count != 0).collect()
    }

    /// Returns true if every document was read and no claim needs more than a look.
    pub fn is_clean(&self) -> bool {
        let fine = |it: &AuditFinding| it.kind == FindingKind::Changed;
        self.unreadable.is_empty() && self.findings.iter().all(fine)
    }
}

/// Audits the documents of the repository around `start`.
pub fn audit(
    start: &Path,
    git: &GitEnv,
    guard: &Guard,
    options: &AuditOptions,
) -> Result<AuditReport, EngineError> {
    // An audit works outside git too; only the checks that need history find nothing there.
    let place = discover(start, git)?.unwrap_or_else(|| LedgerLocation::plain(start));
    audit_at(&place, guard, options)
}

/// Lists the documents that instruct agents, without reading them.
pub fn list_documents(start: &Path, git: &GitEnv) -> Result<Vec<String>, EngineError> {
    let place = discover(start, git)?.unwrap_or_else(|| LedgerLocation::plain(start));
    let files = FileLookup::new(&place)?;
    let documents = files
        .all()
        .iter()
        .filter(|path| ken_digest::source_kind(path).is_some());
    Ok(documents.cloned().collect())
}

/// Audits a repository that was already discovered.
pub(crate) fn audit_at(
    place: &LedgerLocation,
    guard: &Guard,
    options: &AuditOptions,
) -> Result<AuditReport, EngineError> {
    let files = FileLookup::new(place)?;
    let history = History::new(place);
    let read = claims::load_documents(&files, &options.only)?;
    let mut claims = read.claims;
    let mut findings = Vec::new();
    for document in &read.texts {
        findings.extend(find_unsafe_text(document, guard, &claims));
    }
    // Must run before the checks of symbols and changes: it fills in the files that claims cite.
    findings.extend(citations::check(
        &files,
        &history,
        &read.references,
        &mut claims,
    ));
    findings.extend(symbols::check(&files, &history, &claims));
    findings.extend(contradicted::check(&files, &read.references, &claims));
    findings.extend(duplicates::check(&files, &claims));
    if options.with_changed {
        findings.extend(staleness::check(&history, &claims, &read.documents));
    }
    // The checks run one after another, but readers fix a document from top to bottom.
    findings.sort_by(|a, b| {
        (&a.document, a.line, a.kind, &a.message).cmp(&(&b.document, b.line, b.kind, &b.message))
    });
    // A path and its link on one line are one finding.
    findings.dedup_by(|a, b| {
        (&a.document, a.line, a.kind, &a.message) == (&b.document, b.line, b.kind, &b.message)
    });
    Ok(AuditReport {
        documents: read.documents,
        claims,
        findings,
        unreadable: read.unreadable,
        files: files.count(),
    })
}

impl AuditFinding {
    /// Creates a finding about the claim at index `place`.
    fn for_claim(
        kind: FindingKind,
        claims: &[AuditedClaim],
        place: usize,
        message: String,
    ) -> Self {
        let claim = &claims[place];
        Self {
            kind,
            document: claim.document.clone(),
            line: claim.found.line,
            message,
            claim: Some(claim.found.text.clone()),
            other: None,
            claim_indexes: vec![place],
        }
    }
}

impl AuditedReference {
    /// Creates a finding about `named`, which the reference mentions.
    fn finding(
        &self,
        kind: FindingKind,
        claims: &[AuditedClaim],
        named: &str,
        message: String,
    ) -> AuditFinding {
        // A paragraph spans lines; the reader looks for the one with the name.
        let within = self.lines.iter().position(|line| line.contains(named));
        AuditFinding {
            kind,
            document: self.document.clone(),
            line: self.found.line + within.unwrap_or(0),
            message,
            claim: Some(self.found.text.clone()),
            other: None,
            claim_indexes: claims_on_lines(
                claims,
                &self.document,
                (self.found.line, self.found.last_line),
                named,
            ),
        }
    }
}

/// Returns the claims on lines of a document that contain `named`.
fn claims_on_lines(
    claims: &[AuditedClaim],
    document: &str,
    (first, last): (usize, usize),
    named: &str,
) -> Vec<usize> {
    let concerned = claims.iter().enumerate().filter(|(_, claim)| {
        let found = &claim.found;
        let mentions = || found.mentions.iter().any(|it| it.text.contains(named));
        claim.document == document
            && found.line <= last
            && first <= found.last_line
            && (found.text.contains(named) || mentions())
    });
    concerned.map(|(place, _)| place).collect()
}

/// Returns true if the text at `place` is in code or in quotation marks.
fn is_quoted(text: &str, place: usize) -> bool {
    let before = &text[..place];
    let fences = before
        .lines()
        .filter(|line| line.trim_start().starts_with("```"));
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_open = |mark: char| line.matches(mark).count() % 2 == 1;
    let curly = line.matches('“').count() > line.matches('”').count();
    fences.count() % 2 == 1 || is_open('`') || is_open('"') || curly
}

/// Returns findings for secrets and prompt injections, without repeating the text.
fn find_unsafe_text(
    document: &claims::DocumentText,
    guard: &Guard,
    claims: &[AuditedClaim],
) -> Vec<AuditFinding> {
    let scanned = guard.scan(&document.text, Mode::Prose);
    let unsafe_text = scanned.findings.iter().filter_map(|hit| {
        let kind = match hit.axis {
            // A quoted attack is an example; the guard still judges it when it is written.
            ScanAxis::Injection if is_quoted(&document.text, hit.span.start) => return None,
            ScanAxis::Injection => FindingKind::Injection,
            ScanAxis::Credential
            | ScanAxis::CredentialLeakage
            | ScanAxis::Exfiltration
            | ScanAxis::UnsafeCode
            | ScanAxis::Sanitization
            | ScanAxis::Hidden
            | ScanAxis::Unscanned => {
                (hit.severity >= FindingSeverity::High).then_some(FindingKind::Secret)?
            }
        };
        Some((hit, kind))
    });
    unsafe_text
        .map(|(hit, kind)| {
            let place = (hit.line, hit.line);
            AuditFinding {
                kind,
                document: document.path.clone(),
                line: hit.line,
                message: format!("the guard refuses this text: {} ({})", hit.kind, hit.rule),
                claim: None,
                other: None,
                // A secret outside any claim is still reported; it then concerns no claim.
                claim_indexes: claims_on_lines(claims, &document.path, place, ""),
            }
        })
        .collect()
}
