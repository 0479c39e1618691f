//! What a norm asks of a change, in a form that a program can decide.
//!
//! Here is only what a check says and whether it can be understood; `ken-engine` holds it against the
//! diff and the commits of a change. A check never names a program, and everything it may say is bounded.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{Glob, Language};
use crate::text::Tag;

/// What a change has to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Every commit's subject (or whole message) matches; merges are left alone.
    CommitMessage {
        /// A regular expression.
        pattern: String,
        #[serde(default, skip_serializing_if = "Part::is_subject")]
        part: Part,
    },
    /// Where something of `when` changes, something of `then` changes too.
    ChangedTogether {
        when: Vec<String>,
        then: Vec<String>,
    },
    /// No added line matches.
    ForbiddenText {
        /// A regular expression.
        pattern: String,
        /// Globs; none means every file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Globs of files that are left alone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// No added code matches a structural pattern, as in the condition `code:`.
    ForbiddenCode {
        language: String,
        pattern: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// A change of these paths names this many reviewers who are not its authors.
    Reviewers {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        count: u32,
        /// Names or addresses that count; none means anybody.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<String>,
    },
    /// A change adds and removes no more lines than this.
    DiffSize {
        lines: u32,
        /// Globs of files that do not count.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// What touches these paths is of this tier, and needs as many reviewers as the tier asks for.
    RiskTier {
        tier: Tag,
        paths: Vec<String>,
        reviewers: u32,
    },
}

/// What of a commit message is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    #[default]
    Subject,
    Message,
}

/// Why a check cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error("check: `{glob}` is no pattern for paths: {why}")]
    Glob { glob: String, why: String },
    #[error("check: {what} is missing")]
    Missing { what: &'static str },
    #[error("check: {what} has {count}; at most {max} are allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        max: usize,
    },
    #[error("check: `{0}` is no language that is parsed")]
    Language(String),
}

impl Part {
    fn is_subject(&self) -> bool {
        match self {
            Self::Subject => true,
            Self::Message => false,
        }
    }
}

impl Check {
    /// Bytes a pattern may have.
    pub const PATTERN_BYTES_MAX: usize = 1024;
    /// Globs, or names, in one list.
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

    /// Says what is wrong with a check, as far as it can be told without compiling a pattern.
    pub fn understand(&self) -> Result<(), CheckError> {
        match self {
            Self::CommitMessage { pattern, .. } => pattern_of(pattern),
            Self::ChangedTogether { when, then } => {
                needed("when", when)?;
                needed("then", then)
            }
            Self::ForbiddenText {
                pattern,
                paths,
                except,
            } => {
                pattern_of(pattern)?;
                globs("paths", paths)?;
                globs("except", except)
            }
            Self::ForbiddenCode {
                language,
                pattern,
                paths,
                except,
            } => {
                language_of(language)?;
                pattern_of(pattern)?;
                globs("paths", paths)?;
                globs("except", except)
            }
            Self::Reviewers { paths, count, from } => {
                at_least_one("count", *count)?;
                at_most("from", from.len(), Self::LIST_MAX)?;
                globs("paths", paths)
            }
            Self::DiffSize { lines, except } => {
                at_least_one("lines", *lines)?;
                globs("except", except)
            }
            Self::RiskTier {
                paths, reviewers, ..
            } => {
                at_least_one("reviewers", *reviewers)?;
                needed("paths", paths)
            }
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the language of that name.
pub fn language_of(name: &str) -> Result<Language, CheckError> {
    let found = Language::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| CheckError::Language(name.to_owned()))
}

/// Reads globs; none match nothing.
pub fn globs(what: &'static str, texts: &[String]) -> Result<(), CheckError> {
    at_most(what, texts.len(), Check::LIST_MAX)?;
    for text in texts {
        text.parse::<Glob>().map_err(|error| CheckError::Glob {
            glob: text.clone(),
            why: error.to_string(),
        })?;
    }
    Ok(())
}

fn needed(what: &'static str, texts: &[String]) -> Result<(), CheckError> {
    if texts.is_empty() {
        return Err(CheckError::Missing { what });
    }
    globs(what, texts)
}

fn pattern_of(pattern: &str) -> Result<(), CheckError> {
    if pattern.is_empty() {
        return Err(CheckError::Missing { what: "pattern" });
    }
    at_most("pattern", pattern.len(), Check::PATTERN_BYTES_MAX)
}

fn at_least_one(what: &'static str, count: u32) -> Result<(), CheckError> {
    if count == 0 {
        return Err(CheckError::Missing { what });
    }
    Ok(())
}

fn at_most(what: &'static str, count: usize, max: usize) -> Result<(), CheckError> {
    if max < count {
        return Err(CheckError::TooMany { what, count, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<(), String> {
        let check: Check = serde_json::from_str(json).map_err(|error| error.to_string())?;
        assert_eq!(
            serde_json::from_str::<Check>(&serde_json::to_string(&check).unwrap()).unwrap(),
            check
        );
        check.understand().map_err(|error| error.to_string())
    }

    #[test]
    fn ent_22_checks_are_read_and_wrong_ones_say_why() {
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
                "no pattern for paths",
            ),
            (
                r#"{"kind":"forbidden-code","language":"cobol","pattern":"a"}"#,
                "no language",
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
        let long = "a".repeat(Check::PATTERN_BYTES_MAX + 1);
        let long = format!(r#"{{"kind":"commit-message","pattern":"{long}"}}"#);
        assert!(read(&long).unwrap_err().contains("at most 1024"));
    }
}
