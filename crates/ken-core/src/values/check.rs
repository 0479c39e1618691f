//! Machine-readable checks of norms.
//!
//! This module defines and validates a check; `ken-engine` runs it against the diff and the commits
//! of a change. A check never names a program to run, and every part of it has a size limit,
//! because checks arrive with the ledger from other people.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::condition::{Glob, PatternLanguage};
use crate::values::text::Tag;

/// A requirement that a norm imposes on a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// Unknown fields are errors: a check that ignored one would enforce less than the norm states.
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NormCheck {
    /// The subject (or the whole message) of every commit matches. Merge commits are exempt.
    CommitMessage {
        /// A regular expression.
        pattern: String,
        #[serde(default, skip_serializing_if = "MessagePart::is_subject")]
        part: MessagePart,
    },
    /// If a path in `when` changes, a path in `then` changes too.
    ChangedTogether {
        when: Vec<String>,
        then: Vec<String>,
    },
    /// No added line matches the pattern.
    ForbiddenText {
        /// A regular expression.
        pattern: String,
        /// Globs; empty means every file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Globs of exempt files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// No added code matches a structural pattern, as in a `code:` condition.
    ForbiddenCode {
        // Text instead of an enum: an entry with a language of a newer build must stay readable.
        language: String,
        pattern: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// A change to these paths names this many reviewers other than its authors.
    Reviewers {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        count: u32,
        /// Accepted names or addresses; empty means any reviewer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<String>,
    },
    /// A change adds and removes at most this many lines.
    DiffSize {
        lines: u32,
        /// Globs of files excluded from the count.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// A change to these paths belongs to this risk tier and needs the tier's number of reviewers.
    RiskTier {
        tier: Tag,
        paths: Vec<String>,
        reviewers: u32,
    },
}

/// The part of a commit message that a pattern applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessagePart {
    #[default]
    Subject,
    Message,
}

/// The reason a check is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NormCheckError {
    #[error("check: `{glob}` is not a valid glob: {why}")]
    Glob { glob: String, why: String },
    #[error("check: {what} is missing")]
    Missing { what: &'static str },
    #[error("check: {what} has {count}; at most {max} are allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        max: usize,
    },
    #[error("check: `{0}` is not a supported language")]
    Language(String),
}

impl MessagePart {
    fn is_subject(&self) -> bool {
        match self {
            Self::Subject => true,
            Self::Message => false,
        }
    }
}

impl NormCheck {
    /// Maximum length of a pattern in bytes.
    pub const PATTERN_BYTES_MAX: usize = 1024;
    /// Maximum number of globs or names in one list.
    pub const LIST_MAX: usize = 32;

    /// Returns the name used in text and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CommitMessage { .. } => "commit-message",
            Self::ChangedTogether { .. } => "changed-together",
            Self::ForbiddenText { .. } => "forbidden-text",
            Self::ForbiddenCode { .. } => "forbidden-code",
            Self::Reviewers { .. } => "reviewers",
            Self::DiffSize { .. } => "diff-size",
            Self::RiskTier { .. } => "risk-tier",
        }
    }

    /// Returns the globs of the files whose change the check is about; empty means every file.
    pub fn paths(&self) -> &[String] {
        match self {
            Self::ChangedTogether { when, .. } => when,
            Self::ForbiddenText { paths, .. }
            | Self::ForbiddenCode { paths, .. }
            | Self::Reviewers { paths, .. }
            | Self::RiskTier { paths, .. } => paths,
            Self::CommitMessage { .. } | Self::DiffSize { .. } => &[],
        }
    }

    /// Validates the check, except that it does not compile patterns.
    ///
    /// This crate has no regular expression engine; `ken-engine` compiles patterns when it runs the
    /// check.
    pub fn validate(&self) -> Result<(), NormCheckError> {
        match self {
            Self::CommitMessage { pattern, .. } => check_pattern(pattern),
            Self::ChangedTogether { when, then } => {
                check_required_globs("when", when)?;
                check_required_globs("then", then)
            }
            Self::ForbiddenText {
                pattern,
                paths,
                except,
            } => {
                check_pattern(pattern)?;
                check_globs("paths", paths)?;
                check_globs("except", except)
            }
            Self::ForbiddenCode {
                language,
                pattern,
                paths,
                except,
            } => {
                parse_language(language)?;
                check_pattern(pattern)?;
                check_globs("paths", paths)?;
                check_globs("except", except)
            }
            Self::Reviewers { paths, count, from } => {
                check_at_least_one("count", *count)?;
                // Names are not globs, so only their number is checked.
                check_at_most("from", from.len(), Self::LIST_MAX)?;
                check_globs("paths", paths)
            }
            Self::DiffSize { lines, except } => {
                check_at_least_one("lines", *lines)?;
                check_globs("except", except)
            }
            Self::RiskTier {
                paths, reviewers, ..
            } => {
                check_at_least_one("reviewers", *reviewers)?;
                check_required_globs("paths", paths)
            }
        }
    }
}

impl fmt::Display for NormCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the name of a pattern language.
pub fn parse_language(name: &str) -> Result<PatternLanguage, NormCheckError> {
    let found = PatternLanguage::ALL
        .into_iter()
        .find(|language| language.name() == name);
    found.ok_or_else(|| NormCheckError::Language(name.to_owned()))
}

/// Checks that every text is a valid glob. An empty list is valid.
pub fn check_globs(what: &'static str, texts: &[String]) -> Result<(), NormCheckError> {
    check_at_most(what, texts.len(), NormCheck::LIST_MAX)?;
    for text in texts {
        text.parse::<Glob>().map_err(|error| NormCheckError::Glob {
            glob: text.clone(),
            why: error.to_string(),
        })?;
    }
    Ok(())
}

// For lists where an empty list would disable the check silently.
fn check_required_globs(what: &'static str, texts: &[String]) -> Result<(), NormCheckError> {
    if texts.is_empty() {
        return Err(NormCheckError::Missing { what });
    }
    check_globs(what, texts)
}

fn check_pattern(pattern: &str) -> Result<(), NormCheckError> {
    if pattern.is_empty() {
        return Err(NormCheckError::Missing { what: "pattern" });
    }
    check_at_most("pattern", pattern.len(), NormCheck::PATTERN_BYTES_MAX)
}

// A requirement of zero is always met, so it is most likely a mistake in the norm.
fn check_at_least_one(what: &'static str, count: u32) -> Result<(), NormCheckError> {
    if count == 0 {
        return Err(NormCheckError::Missing { what });
    }
    Ok(())
}

fn check_at_most(what: &'static str, count: usize, max: usize) -> Result<(), NormCheckError> {
    if count > max {
        return Err(NormCheckError::TooMany { what, count, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<(), String> {
        let check: NormCheck = serde_json::from_str(json).map_err(|error| error.to_string())?;
        assert_eq!(
            serde_json::from_str::<NormCheck>(&serde_json::to_string(&check).unwrap()).unwrap(),
            check
        );
        check.validate().map_err(|error| error.to_string())
    }

    #[test]
    fn checks_are_read_and_wrong_ones_say_why() {
        for good in [
            r#"{"kind":"commit-message","pattern":"^feat"}"#,
            r#"{"kind":"commit-message","pattern":"^feat","part":"message"}"#,
            r#"{"kind":"changed-together","when":["src/**"],"then":["CHANGELOG.md"]}"#,
            r#"{"kind":"forbidden-text","pattern":"TODO","paths":["**/*.rs"]}"#,
            r#"{"kind":"forbidden-code","language":"rust","pattern":"$X.unwrap()"}"#,
            r#"{"kind":"reviewers","count":2,"paths":["src/pay/**"],"from":["ana@example.com"]}"#,
            r#"{"kind":"diff-size","lines":400}"#,
            r#"{"kind":"risk-tier","tier":"high","paths":["src/pay/**"],"reviewers":2}"#,
        ] {
            assert_eq!(read(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            (
                r#"{"kind":"commit-message","pattern":""}"#,
                "pattern is missing",
            ),
            (
                r#"{"kind":"changed-together","when":[],"then":["a"]}"#,
                "when is missing",
            ),
            (
                r#"{"kind":"forbidden-text","pattern":"a","paths":["[z"]}"#,
                "is not a valid glob",
            ),
            (
                r#"{"kind":"forbidden-code","language":"cobol","pattern":"a"}"#,
                "is not a supported language",
            ),
            (r#"{"kind":"diff-size","lines":0}"#, "lines is missing"),
            (
                r#"{"kind":"diff-size","lines":1,"run":"sh"}"#,
                "unknown field",
            ),
            (r#"{"kind":"program","run":"sh"}"#, "unknown variant"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(why), "{bad}: {said}");
        }
        let long = "a".repeat(NormCheck::PATTERN_BYTES_MAX + 1);
        let long = format!(r#"{{"kind":"commit-message","pattern":"{long}"}}"#);
        assert!(read(&long).unwrap_err().contains("at most 1024"));
    }
}
