//! Citations: the sources that support an entry.
//!
//! Every semantic and procedural entry has at least one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::actor::Actor;
use crate::values::text_form::text_form;
use crate::values::time::Timestamp;

/// One citation. Immutable once recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    pub evidence_type: CitationType,
    pub evidence_ref: CitationRef,
    pub cited_by: Actor,
    /// Seconds since the Unix epoch.
    pub cited_at: u64,
}

/// Defines the citation types. The enum, its names, the parser and every help text follow from
/// this one list.
macro_rules! citation_types {
    ($first:ident $first_name:literal $first_ref:literal
     $(, $variant:ident $name:literal $reference:literal)* $(,)?) => {
        /// The type of the cited artifact.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum CitationType {
            #[serde(rename = $first_name)] $first,
            $(#[serde(rename = $name)] $variant),*
        }

        impl CitationType {
            /// Every type, in the order of requirement PRV-09.
            pub const ALL: &[Self] = &[Self::$first, $(Self::$variant),*];

            /// The forms of a citation, for help texts.
            pub const FORMS: &str = concat!(
                $first_name, ":", $first_ref $(, ", ", $name, ":", $reference)*
            );

            /// The message for an entry that must have a citation and has none.
            pub const REQUIRED: &str = concat!(
                "provenance required: cite at least one of ", $first_name $(, ", ", $name)*
            );

            /// Returns the name used in text and JSON.
            pub fn name(self) -> &'static str {
                match self { Self::$first => $first_name, $(Self::$variant => $name),* }
            }
        }
    };
}

citation_types! {
    Commit "commit" "HASH",
    Pr "pr" "NUMBER",
    Doc "doc" "PATH",
    Test "test" "NAME",
    Transcript "transcript" "HASH",
}

/// A commit hash, pull request number, document path, test artifact or transcript hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CitationRef(String);

/// A citation as typed by a user, before author and time are known: `commit:3fce3b5`, `pr:142`,
/// `doc:docs/adr/0007.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitationSource {
    pub evidence_type: CitationType,
    pub evidence_ref: CitationRef,
}

/// The reason a text is not a valid citation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CitationError {
    #[error("`{0}` is not a valid citation; write one of {forms}", forms = CitationType::FORMS)]
    Type(String),
    #[error("a citation reference has 1 to {max} visible characters on one line", max = CitationRef::BYTES_MAX)]
    Ref,
    #[error("`pr:{0}` is not a pull request; write pr:NUMBER, pr:OWNER/REPO#NUMBER or pr:URL")]
    PullRequest(String),
    #[error("`{0}` is not a valid URL; write https://HOST/PATH")]
    Url(String),
    #[error("`commit:{0}` is not a commit; write commit:HASH, commit:BRANCH or commit:HEAD")]
    Commit(String),
}

impl CitationSource {
    /// Creates a citation source, if the reference has a form that its type allows.
    ///
    /// Whether the cited artifact exists is checked elsewhere.
    pub fn new(
        evidence_type: CitationType,
        evidence_ref: CitationRef,
    ) -> Result<Self, CitationError> {
        let text = evidence_ref.as_str();
        if evidence_ref.looks_like_url() {
            if !is_url(text) {
                return Err(CitationError::Url(text.to_owned()));
            }
        } else {
            match evidence_type {
                CitationType::Pr if !is_pull_request(text) => {
                    return Err(CitationError::PullRequest(text.to_owned()));
                }
                CitationType::Commit if text.contains(char::is_whitespace) => {
                    return Err(CitationError::Commit(text.to_owned()));
                }
                CitationType::Commit
                | CitationType::Pr
                | CitationType::Doc
                | CitationType::Test
                | CitationType::Transcript => {}
            }
        }
        Ok(Self {
            evidence_type,
            evidence_ref,
        })
    }

    /// Returns the citation of this source by `by` at `now`.
    pub fn cite(self, by: &Actor, now: Timestamp) -> Citation {
        Citation {
            evidence_type: self.evidence_type,
            evidence_ref: self.evidence_ref,
            cited_by: by.clone(),
            // PRV-12 requires epoch seconds.
            cited_at: now.seconds(),
        }
    }
}

impl CitationRef {
    /// Maximum length of a reference in bytes.
    pub const BYTES_MAX: usize = 512;

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the reference is meant as a web address.
    pub fn looks_like_url(&self) -> bool {
        self.0.contains("://")
    }
}

impl fmt::Display for CitationRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.evidence_type.name(), self.evidence_ref)
    }
}

impl FromStr for CitationRef {
    type Err = CitationError;

    fn from_str(text: &str) -> Result<Self, CitationError> {
        let trimmed = text.trim();
        let fits = !trimmed.is_empty() && trimmed.len() <= Self::BYTES_MAX;
        // A reference is printed and stored on one line; a control character could forge another.
        if !fits || trimmed.chars().any(char::is_control) {
            return Err(CitationError::Ref);
        }
        Ok(Self(trimmed.to_owned()))
    }
}

impl FromStr for CitationSource {
    type Err = CitationError;

    fn from_str(text: &str) -> Result<Self, CitationError> {
        let error = || CitationError::Type(text.to_owned());
        // Only the first `:` separates: a reference such as a URL contains more.
        let (name, reference) = text.split_once(':').ok_or_else(error)?;
        let mut known = CitationType::ALL.iter().copied();
        let evidence_type = known.find(|it| it.name() == name).ok_or_else(error)?;
        Self::new(evidence_type, reference.parse()?)
    }
}

impl fmt::Display for CitationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.evidence_type.name(), self.evidence_ref)
    }
}

/// Returns whether `text` is a web address with a host.
fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty() && !rest.contains(char::is_whitespace)
    })
}

/// Returns whether `text` names a pull request: `142`, `#142`, `!142` or `OWNER/REPO#142`.
fn is_pull_request(text: &str) -> bool {
    let (repository, number) = text.rsplit_once(['#', '!']).unwrap_or(("", text));
    let is_number = number.parse::<u64>().is_ok();
    let mut parts = repository.split('/');
    let is_repository = repository.contains('/')
        && parts.all(|part| !part.is_empty() && !part.contains(char::is_whitespace));
    is_number && (repository.is_empty() || is_repository)
}

text_form!(CitationRef, "EvidenceRef", r"^\S(.{0,510}\S)?$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_has_five_types_and_a_reference() {
        for good in [
            "commit:3fce3b5",
            "pr:142",
            "doc:docs/a.md",
            "test:ci/17",
            "transcript:ab12",
        ] {
            assert!(good.parse::<CitationSource>().is_ok(), "{good}");
        }
        for bad in [
            "3fce3b5",
            "hearsay:bob",
            "commit:",
            "commit: ",
            "commit:a\nb",
        ] {
            assert!(bad.parse::<CitationSource>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn pull_requests_urls_and_commits_have_a_form() {
        for good in [
            "pr:#142",
            "pr:!7",
            "pr:owner/repo#142",
            "pr:group/sub/repo!7",
            "pr:https://github.com/owner/repo/pull/142",
            "doc:https://example.org/adr/7#context",
            "commit:release/2026-01",
        ] {
            assert!(good.parse::<CitationSource>().is_ok(), "{good}");
        }
        for (bad, accepted) in [
            ("pr:soon", "pr:NUMBER"),
            ("pr:repo#142", "pr:OWNER/REPO#NUMBER"),
            ("pr:owner/#142", "pr:URL"),
            ("doc:https:// example.org", "https://HOST/PATH"),
            ("doc:ftp://example.org/a", "https://HOST/PATH"),
            ("pr:https://", "https://HOST/PATH"),
            ("commit:the last one", "commit:HASH"),
        ] {
            let error = bad.parse::<CitationSource>().unwrap_err().to_string();
            assert!(error.contains(accepted), "{bad}: {error}");
        }
    }

    #[test]
    fn a_citation_has_its_four_fields() {
        let by: Actor = "agent:test".parse().unwrap();
        let evidence: CitationSource = "commit:abc123".parse().unwrap();
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
