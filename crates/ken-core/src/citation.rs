//! Where a claim comes from: the four fields every semantic and procedural entry carries.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::text_form::text_form;
use crate::time::Timestamp;

/// One piece of evidence, never changed once recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    pub evidence_type: EvidenceType,
    pub evidence_ref: EvidenceRef,
    pub cited_by: Actor,
    /// Seconds since 1970.
    pub cited_at: u64,
}

/// What kind of artifact is cited.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceType {
    Commit,
    Pr,
    Doc,
    Test,
    Transcript,
}

/// A commit hash, pull-request number, document path, test artifact or transcript hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvidenceRef(String);

/// A citation as typed: `commit:3fce3b5`, `pr:142`, `doc:docs/adr/0007.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub evidence_type: EvidenceType,
    pub evidence_ref: EvidenceRef,
}

/// Why a text is no citation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CitationError {
    #[error("`{0}` is no citation; write commit:…, pr:…, doc:…, test:… or transcript:…")]
    Type(String),
    #[error("an evidence reference is 1 to {max} visible characters on one line", max = EvidenceRef::BYTES_MAX)]
    Ref,
}

impl Evidence {
    /// Returns the citation `by` makes of this evidence at `now`.
    pub fn cite(self, by: &Actor, now: Timestamp) -> Citation {
        Citation {
            evidence_type: self.evidence_type,
            evidence_ref: self.evidence_ref,
            cited_by: by.clone(),
            cited_at: now.seconds(),
        }
    }
}

impl EvidenceType {
    /// Every type, in the order of the requirement.
    pub const ALL: [Self; 5] = [
        Self::Commit,
        Self::Pr,
        Self::Doc,
        Self::Test,
        Self::Transcript,
    ];

    /// Returns the word used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Pr => "pr",
            Self::Doc => "doc",
            Self::Test => "test",
            Self::Transcript => "transcript",
        }
    }
}

impl EvidenceRef {
    /// Bytes a reference may have.
    pub const BYTES_MAX: usize = 512;

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EvidenceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.evidence_type.name(), self.evidence_ref)
    }
}

impl FromStr for EvidenceRef {
    type Err = CitationError;

    fn from_str(text: &str) -> Result<Self, CitationError> {
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= Self::BYTES_MAX;
        if !fits || text.chars().any(char::is_control) {
            return Err(CitationError::Ref);
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Evidence {
    type Err = CitationError;

    fn from_str(text: &str) -> Result<Self, CitationError> {
        let wrong = || CitationError::Type(text.to_owned());
        let (name, reference) = text.split_once(':').ok_or_else(wrong)?;
        let evidence_type = EvidenceType::ALL
            .into_iter()
            .find(|t| t.name() == name)
            .ok_or_else(wrong)?;
        Ok(Self {
            evidence_type,
            evidence_ref: reference.parse()?,
        })
    }
}

text_form!(EvidenceRef, "EvidenceRef", r"^\S(.{0,510}\S)?$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prv_09_prv_10_evidence_has_five_types_and_a_reference() {
        for good in [
            "commit:3fce3b5",
            "pr:142",
            "doc:docs/a.md",
            "test:ci/17",
            "transcript:ab12",
        ] {
            assert!(good.parse::<Evidence>().is_ok(), "{good}");
        }
        for bad in [
            "3fce3b5",
            "hearsay:bob",
            "commit:",
            "commit: ",
            "commit:a\nb",
        ] {
            assert!(bad.parse::<Evidence>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn prv_08_prv_11_prv_12_a_citation_has_its_four_fields() {
        let by: Actor = "agent:test".parse().unwrap();
        let evidence: Evidence = "commit:abc123".parse().unwrap();
        let citation = evidence.cite(&by, Timestamp::from_seconds(1_700_000_000));
        assert_eq!(
            serde_json::to_value(&citation).unwrap(),
            serde_json::json!({
                "evidence_type": "commit", "evidence_ref": "abc123",
                "cited_by": "agent:test", "cited_at": 1_700_000_000,
            })
        );
    }
}
