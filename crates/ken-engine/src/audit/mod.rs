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
mod staleness;

use std::collections::BTreeSet;
use std::path::Path;

use ken_digest::{DocumentClaim, SourceKind};
use ken_ledger::{GitEnv, LedgerLocation, discover};
use serde::Serialize;

use crate::error::EngineError;
use crate::guard::{FindingSeverity, Guard, Mode};
use file_lookup::FileLookup;

/// Documents of a repository, their claims and the findings about them.
#[derive(Clone, Debug)]
pub struct AuditReport {
    pub documents: Vec<AuditedDocument>,
    /// Ordered by document.
    pub claims: Vec<AuditedClaim>,
    /// Ordered by document and line.
    pub findings: Vec<AuditFinding>,
    /// Number of files in the repository.
    pub files: usize,
}

/// Document that instructs agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditedDocument {
    pub path: String,
    pub kind: SourceKind,
    pub claims: usize,
    /// Document with identical text. The claims of a copy are not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// Claim and the document it appears in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditedClaim {
    pub document: String,
    #[serde(flatten)]
    pub found: DocumentClaim,
    /// Files of the repository that the claim cites.
    pub cites: Vec<String>,
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
    /// The claim is unchanged although the code it cites changed.
    Stale,
}

impl FindingKind {
    /// Every kind, most severe first.
    pub const ALL: [Self; 7] = [
        Self::Secret,
        Self::DeadCitation,
        Self::DeadSymbol,
        Self::BrokenRule,
        Self::Contradiction,
        Self::Duplicate,
        Self::Stale,
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
            Self::Stale => ("may be stale", "may be stale"),
        }
    }

    /// Returns true if a claim with this finding is not imported.
    pub fn blocks_import(self) -> bool {
        match self {
            Self::DeadCitation
            | Self::DeadSymbol
            | Self::BrokenRule
            | Self::Contradiction
            | Self::Secret => true,
            // The first of two duplicates is still imported, and a stale claim is checked by its
            // anchors from then on.
            Self::Duplicate | Self::Stale => false,
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
                | FindingKind::Stale => {}
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

    /// Returns true if there are no findings, apart from stale claims, which only need a look.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|it| it.kind == FindingKind::Stale)
    }
}

/// Audits the documents of the repository around `start`, or those in or below the paths in `only`.
pub fn audit(
    start: &Path,
    git: &GitEnv,
    guard: &Guard,
    only: &[String],
) -> Result<AuditReport, EngineError> {
    // An audit works outside git too; only the checks that need history find nothing there.
    let place = discover(start, git)?.unwrap_or_else(|| LedgerLocation::plain(start));
    audit_at(&place, guard, only)
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
    only: &[String],
) -> Result<AuditReport, EngineError> {
    let files = FileLookup::new(place)?;
    let read = claims::load_documents(&files, only)?;
    let mut claims = read.claims;
    let mut findings = Vec::new();
    for document in &read.texts {
        findings.extend(find_secrets(document, guard, &claims));
    }
    // Must run before the age check: it fills in the files that each claim cites.
    findings.extend(citations::check(&files, place, &mut claims));
    findings.extend(contradicted::check(&files, &claims));
    findings.extend(duplicates::check(&claims));
    findings.extend(staleness::check(place, &claims, &read.documents));
    // The checks run one after another, but readers fix a document from top to bottom.
    findings.sort_by(|a, b| {
        (&a.document, a.line, a.kind, &a.message).cmp(&(&b.document, b.line, b.kind, &b.message))
    });
    Ok(AuditReport {
        documents: read.documents,
        claims,
        findings,
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

/// Returns findings for text that the guard refuses, without repeating the text.
fn find_secrets(
    document: &claims::DocumentText,
    guard: &Guard,
    claims: &[AuditedClaim],
) -> Vec<AuditFinding> {
    let scanned = guard.scan(&document.text, Mode::Prose);
    let severe = scanned
        .findings
        .iter()
        .filter(|it| it.severity >= FindingSeverity::High);
    severe
        .map(|hit| {
            // A secret outside any claim is still reported; it then concerns no claim.
            let places = claims.iter().enumerate().filter(|(_, claim)| {
                claim.document == document.path
                    && (claim.found.line..=claim.found.last_line).contains(&hit.line)
            });
            AuditFinding {
                kind: FindingKind::Secret,
                document: document.path.clone(),
                line: hit.line,
                message: format!("the guard refuses this text: {} ({})", hit.kind, hit.rule),
                claim: None,
                other: None,
                claim_indexes: places.map(|(place, _)| place).collect(),
            }
        })
        .collect()
}
