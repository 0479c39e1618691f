//! What is wrong with the knowledge a repository keeps already, told before anything is written.
//!
//! Reads the documents agents are given (`ken_digest`), takes them apart into claims and holds those against the tree,
//! against each other and against the guard. Needs no ledger and changes nothing.

mod age;
mod citations;
mod claims;
mod promises;
mod same;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use ken_digest::{Found, SourceKind};
use ken_ledger::{GitEnv, Place, discover};
use serde::Serialize;

use crate::error::Error;
use crate::guard::{Guard, Mode, Severity};
use tree::Files;

/// What a repository's documents claim and what is wrong with that.
#[derive(Clone, Debug)]
pub struct Audit {
    pub documents: Vec<Document>,
    /// In the order of the documents.
    pub claims: Vec<Claim>,
    /// By document and line.
    pub findings: Vec<AuditFinding>,
    /// Files of the tree.
    pub files: usize,
}

/// A document that holds knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Document {
    pub path: String,
    pub kind: SourceKind,
    pub claims: usize,
    /// The document it is a copy of; its claims are not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// A claim and the document it stands in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub document: String,
    #[serde(flatten)]
    pub found: Found,
    /// Files of the tree it points at.
    pub cites: Vec<String>,
}

/// Something wrong with a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    pub kind: FindingKind,
    pub document: String,
    /// Counted from 1.
    pub line: usize,
    pub message: String,
    /// What the claim says; absent where it must not be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The other side, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Other>,
    /// Which claims it is about.
    #[serde(skip)]
    pub(crate) about: Vec<usize>,
}

/// Where the other of two claims stands and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    pub document: String,
    pub line: usize,
    pub claim: String,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// It cites a file or folder that is not here.
    DeadCitation,
    /// It names something in code that is nowhere any more.
    DeadSymbol,
    /// It asks for what the repository itself does otherwise.
    BrokenRule,
    /// Another claim says the contrary.
    Contradiction,
    /// Another claim says the same.
    Duplicate,
    /// The guard would refuse it.
    Secret,
    /// Nobody touched it while the code it cites changed.
    Stale,
}

impl FindingKind {
    /// Every kind, worst first.
    pub const ALL: [Self; 7] = [
        Self::Secret,
        Self::DeadCitation,
        Self::DeadSymbol,
        Self::BrokenRule,
        Self::Contradiction,
        Self::Duplicate,
        Self::Stale,
    ];

    /// Returns the word people read, for one and for many.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::DeadCitation => ("dead citation", "dead citations"),
            Self::DeadSymbol => ("dead name", "dead names"),
            Self::BrokenRule => ("broken rule", "broken rules"),
            Self::Contradiction => ("contradiction", "contradictions"),
            Self::Duplicate => ("duplicate", "duplicates"),
            Self::Secret => ("secret", "secrets"),
            Self::Stale => ("may be stale", "may be stale"),
        }
    }

    /// Returns whether a claim with this finding is not taken in.
    pub fn spoils(self) -> bool {
        match self {
            Self::DeadCitation
            | Self::DeadSymbol
            | Self::BrokenRule
            | Self::Contradiction
            | Self::Secret => true,
            // The first of two that say the same is sound; what may be stale is checked by its anchors from now on.
            Self::Duplicate | Self::Stale => false,
        }
    }
}

impl Audit {
    /// Returns which claims are sound: nothing spoils them, and no earlier one says the same.
    pub fn sound(&self) -> Vec<&Claim> {
        let mut spoilt: BTreeSet<usize> = BTreeSet::new();
        for finding in &self.findings {
            match finding.kind {
                // The later one goes, whichever document it stands in.
                FindingKind::Duplicate => spoilt.extend(finding.about.iter().max()),
                kind if kind.spoils() => spoilt.extend(&finding.about),
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

    /// Returns how often each kind of finding occurs, worst first, without those that do not.
    pub fn counts(&self) -> Vec<(FindingKind, usize)> {
        let count = |kind: FindingKind| self.findings.iter().filter(|it| it.kind == kind).count();
        let counts = FindingKind::ALL.iter().map(|kind| (*kind, count(*kind)));
        counts.filter(|(_, count)| *count != 0).collect()
    }

    /// Returns whether something is wrong; what may be stale is only worth a look.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|it| it.kind == FindingKind::Stale)
    }
}

/// Audits the documents of the repository `start` lies in; `only` names some of them or folders above them.
pub fn audit(start: &Path, git: &GitEnv, guard: &Guard, only: &[String]) -> Result<Audit, Error> {
    let place = discover(start, git)?.unwrap_or_else(|| Place::plain(start));
    audit_at(&place, guard, only)
}

/// Returns the documents that hold knowledge, without reading them.
pub fn documents(start: &Path, git: &GitEnv) -> Result<Vec<String>, Error> {
    let place = discover(start, git)?.unwrap_or_else(|| Place::plain(start));
    let files = Files::new(&place)?;
    let held = files
        .all()
        .iter()
        .filter(|path| ken_digest::source_kind(path).is_some());
    Ok(held.cloned().collect())
}

/// Like [`audit`], where the place is known.
pub(crate) fn audit_at(place: &Place, guard: &Guard, only: &[String]) -> Result<Audit, Error> {
    let files = Files::new(place)?;
    let read = claims::read(&files, only)?;
    let mut claims = read.claims;
    let mut findings = Vec::new();
    for document in &read.texts {
        findings.extend(secrets(document, guard, &claims));
    }
    findings.extend(citations::check(&files, place, &mut claims));
    findings.extend(promises::check(&files, &claims));
    findings.extend(same::check(&claims));
    findings.extend(age::check(place, &claims, &read.documents));
    findings.sort_by(|a, b| {
        (&a.document, a.line, a.kind, &a.message).cmp(&(&b.document, b.line, b.kind, &b.message))
    });
    Ok(Audit {
        documents: read.documents,
        claims,
        findings,
        files: files.count(),
    })
}

impl AuditFinding {
    /// Makes a finding about the claim at `place`.
    fn about(kind: FindingKind, claims: &[Claim], place: usize, message: String) -> Self {
        let claim = &claims[place];
        Self {
            kind,
            document: claim.document.clone(),
            line: claim.found.line,
            message,
            claim: Some(claim.found.text.clone()),
            other: None,
            about: vec![place],
        }
    }
}

/// Returns what the guard would refuse in a document. The text is not repeated.
fn secrets(document: &claims::Text, guard: &Guard, claims: &[Claim]) -> Vec<AuditFinding> {
    let scanned = guard.scan(&document.text, Mode::Prose);
    let grave = scanned
        .findings
        .iter()
        .filter(|it| Severity::High <= it.severity);
    grave
        .map(|it| {
            let places = claims.iter().enumerate().filter(|(_, claim)| {
                claim.document == document.path
                    && (claim.found.line..=claim.found.last_line).contains(&it.line)
            });
            AuditFinding {
                kind: FindingKind::Secret,
                document: document.path.clone(),
                line: it.line,
                message: format!("the guard refuses this: {} ({})", it.kind, it.rule),
                claim: None,
                other: None,
                about: places.map(|(place, _)| place).collect(),
            }
        })
        .collect()
}
