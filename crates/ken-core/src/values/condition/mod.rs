//! Conditions: the only parser of `depends_on`.
//!
//! A ledger stores conditions as text (`crate::values::text::ParsedCondition`) and keeps text that
//! this build cannot parse. [`ParsedCondition`] is the parsed form; it prints exactly the text that
//! was parsed. Evaluating a condition is the job of `ken-anchor`. This module knows only which
//! files a condition may depend on, so that a diff can be matched to conditions without reading
//! files.

mod glob;
mod key;
mod language;
mod lockfile;
mod package;
mod truth;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use crate::values::anchor::{CodeLocation, FilePart};
use crate::values::text::{self, TextError};

pub use glob::{Glob, GlobError};
pub use key::{ConfigKey, ConfigKeyError};
pub use language::PatternLanguage;
pub use lockfile::{Ecosystem, Lockfile};
pub use package::{
    PackageError, PackageRequirement, VersionComparator, VersionConstraint, VersionRange,
};
pub use truth::TruthValue;

/// A requirement of an entry, optionally negated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParsedCondition {
    pub sense: ConditionSense,
    pub clause: ConditionClause,
}

/// States whether the clause must hold or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionSense {
    Plain,
    /// Written with the prefix `not `.
    Negated,
}

/// A statement that can be checked against a tree of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionClause {
    /// A tracked file matches the glob.
    File(Glob),
    /// The symbol exists and, if there is a fingerprint, is unchanged.
    Symbol(SymbolClause),
    /// A matching file contains a match of the regular expression.
    Text { files: Glob, regex: String },
    /// A structural pattern matches in some file.
    Code {
        language: PatternLanguage,
        pattern: String,
    },
    /// A key of a configuration file has the value.
    Config {
        path: String,
        key: ConfigKey,
        value: String,
    },
    /// The package is used in a version within the range.
    Package(PackageRequirement),
    /// The workspace declares the fact.
    Fact(String),
}

/// A named symbol in a file, with an optional fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolClause {
    pub path: String,
    pub name: String,
    pub fingerprint: Option<String>,
}

/// The files a clause may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClauseFiles<'a> {
    Path(&'a str),
    Paths(&'a Glob),
    /// Every file in the language.
    Language(PatternLanguage),
    /// Every lockfile of the ecosystem.
    Lockfiles(Ecosystem),
}

/// The file that declares the facts of a workspace.
pub const FACTS_PATH: &str = ".ken/config.toml";

/// Minimum number of fingerprint digits. A shorter suffix after `@` belongs to the symbol name.
const FINGERPRINT_DIGITS_MIN: usize = 16;

/// The reason a text is not a valid condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("condition `{text}`: {why}")]
    Glob { text: String, why: GlobError },
    #[error("condition `{text}`: {why}")]
    Package { text: String, why: PackageError },
    #[error("condition `{text}`: {why}")]
    Key { text: String, why: ConfigKeyError },
    #[error("condition `{0}`: write symbol:PATH#NAME, such as symbol:src/pay.rs#Ledger::charge")]
    Symbol(String),
    #[error("condition `{0}`: write text:GLOB~REGEX, such as text:src/**/*.rs~unsafe")]
    Search(String),
    #[error("condition `{0}`: write code:LANGUAGE~PATTERN, such as code:rust~$X.unwrap()")]
    Code(String),
    #[error(
        "condition `{text}`: `{found}` is not a supported language; {}",
        list_languages()
    )]
    Language { text: String, found: String },
    #[error(
        "condition `{0}`: write config:PATH#KEY=VALUE, such as config:Cargo.toml#package.edition=2024"
    )]
    Config(String),
    #[error("condition `{0}`: config reads files ending in .toml, .json, .yaml or .yml")]
    ConfigFormat(String),
    #[error("condition `{0}`: a fact has only lowercase letters, digits and . _ - /")]
    Fact(String),
}

fn list_languages() -> String {
    let names: Vec<&str> = PatternLanguage::ALL
        .into_iter()
        .map(PatternLanguage::name)
        .collect();
    format!("known: {}", names.join(", "))
}

impl ParsedCondition {
    /// Returns whether a change to the file at `path` may change the result.
    pub fn may_depend_on(&self, path: &str) -> bool {
        self.clause.may_depend_on(path)
    }
}

impl ConditionClause {
    /// Returns the files the clause may depend on.
    pub fn files(&self) -> ClauseFiles<'_> {
        match self {
            Self::File(files) | Self::Text { files, .. } => ClauseFiles::Paths(files),
            Self::Symbol(SymbolClause { path, .. }) | Self::Config { path, .. } => {
                ClauseFiles::Path(path)
            }
            Self::Code { language, .. } => ClauseFiles::Language(*language),
            Self::Package(package) => ClauseFiles::Lockfiles(package.ecosystem()),
            // Facts are declared in a single file.
            Self::Fact(_) => ClauseFiles::Path(FACTS_PATH),
        }
    }

    /// Returns whether a change to the file at `path` may change the result.
    pub fn may_depend_on(&self, path: &str) -> bool {
        self.files().contains(path)
    }
}

impl ClauseFiles<'_> {
    /// Returns whether the file at `path` is one of these.
    pub fn contains(&self, path: &str) -> bool {
        match self {
            Self::Path(one) => *one == path,
            Self::Paths(glob) => glob.matches(path),
            Self::Language(language) => language.matches_path(path),
            Self::Lockfiles(ecosystem) => {
                Lockfile::from_path(path).is_some_and(|lockfile| lockfile.ecosystem() == *ecosystem)
            }
        }
    }
}

/// Parses a condition from text.
pub fn parse(text: &str) -> Result<ParsedCondition, ConditionError> {
    parse_stored(&text.parse()?)
}

/// Parses a stored condition.
pub fn parse_stored(stored: &text::Condition) -> Result<ParsedCondition, ConditionError> {
    let text = stored.as_str();
    // Stripped once: `not not file:a` then has no known scheme and is rejected.
    let (sense, rest) = match text.strip_prefix("not ") {
        Some(rest) => (ConditionSense::Negated, rest),
        None => (ConditionSense::Plain, text),
    };
    let owned = || text.to_owned();
    // Splits at the first `:` only; regular expressions and patterns contain more.
    let (scheme, rest) = rest
        .split_once(':')
        .ok_or_else(|| TextError::Condition(owned()))?;
    let clause = match scheme {
        "file" => ConditionClause::File(parse_glob(text, rest)?),
        "symbol" => ConditionClause::Symbol(
            parse_symbol(rest).ok_or_else(|| ConditionError::Symbol(owned()))?,
        ),
        "text" => {
            // Splits at the first `~`, so a glob cannot contain one but a regular expression can.
            let parts = rest.split_once('~').filter(|(_, regex)| !regex.is_empty());
            let (files, regex) = parts.ok_or_else(|| ConditionError::Search(owned()))?;
            ConditionClause::Text {
                files: parse_glob(text, files)?,
                regex: regex.to_owned(),
            }
        }
        "code" => parse_code(text, rest)?,
        "config" => parse_config(text, rest)?,
        "pkg" => {
            let wrap = |why| ConditionError::Package { text: owned(), why };
            ConditionClause::Package(PackageRequirement::parse(rest).map_err(wrap)?)
        }
        "fact" if is_valid_fact(rest) => ConditionClause::Fact(rest.to_owned()),
        "fact" => return Err(ConditionError::Fact(owned())),
        _ => return Err(TextError::Condition(owned()).into()),
    };
    Ok(ParsedCondition { sense, clause })
}

fn parse_glob(text: &str, rest: &str) -> Result<Glob, ConditionError> {
    let wrap = |why| ConditionError::Glob {
        text: text.to_owned(),
        why,
    };
    rest.parse().map_err(wrap)
}

fn parse_symbol(rest: &str) -> Option<SymbolClause> {
    let (location, fingerprint) = match rest.rsplit_once('@') {
        Some((location, end)) if is_fingerprint(end) => (location, Some(end.to_owned())),
        Some(_) | None => (rest, None),
    };
    let parsed: CodeLocation = location.parse().ok()?;
    match parsed.part() {
        // A location in another spelling, such as `./a.rs#x`, would not print as written.
        FilePart::Symbol(name) if parsed.to_string() == location => Some(SymbolClause {
            path: parsed.path().to_owned(),
            name: name.clone(),
            fingerprint,
        }),
        FilePart::Symbol(_) | FilePart::File | FilePart::Lines { .. } => None,
    }
}

/// Returns whether a text is a fingerprint: hexadecimal digits, optionally after a method such as
/// `s1:`.
fn is_fingerprint(text: &str) -> bool {
    let (method, digits) = text.split_once(':').unwrap_or(("", text));
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    digits.len() >= FINGERPRINT_DIGITS_MIN
        && digits.bytes().all(is_hex)
        && method
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn parse_code(text: &str, rest: &str) -> Result<ConditionClause, ConditionError> {
    let parts = rest
        .split_once('~')
        // A blank pattern has no syntax tree to match.
        .filter(|(_, pattern)| !pattern.trim().is_empty());
    let (name, pattern) = parts.ok_or_else(|| ConditionError::Code(text.to_owned()))?;
    let language = name.parse().map_err(|()| ConditionError::Language {
        text: text.to_owned(),
        found: name.to_owned(),
    })?;
    Ok(ConditionClause::Code {
        language,
        pattern: pattern.to_owned(),
    })
}

fn parse_config(text: &str, rest: &str) -> Result<ConditionClause, ConditionError> {
    let form = || ConditionError::Config(text.to_owned());
    let (path, assignment) = rest.split_once('#').ok_or_else(form)?;
    // The value may be empty and may contain `=`.
    let (key, value) = ConfigKey::split_value(assignment).ok_or_else(form)?;
    // The anchor parser rejects paths outside the repository.
    let location: CodeLocation = path.parse().map_err(|_| form())?;
    if *location.part() != FilePart::File || location.to_string() != path {
        return Err(form());
    }
    if ConfigFormat::from_path(path).is_none() {
        return Err(ConditionError::ConfigFormat(text.to_owned()));
    }
    let wrap = |why| ConditionError::Key {
        text: text.to_owned(),
        why,
    };
    let key = key.parse().map_err(wrap)?;
    Ok(ConditionClause::Config {
        path: path.to_owned(),
        key,
        value: value.to_owned(),
    })
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    Json,
    Toml,
    Yaml,
}

impl ConfigFormat {
    /// Returns the format of the file at `path` by its extension.
    pub fn from_path(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        match extension {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

fn is_valid_fact(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-/".contains(&b);
    !name.is_empty() && name.bytes().all(allowed)
}

impl FromStr for ParsedCondition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        parse(text)
    }
}

impl fmt::Display for ParsedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sense {
            ConditionSense::Plain => {}
            ConditionSense::Negated => f.write_str("not ")?,
        }
        write!(f, "{}", self.clause)
    }
}

impl fmt::Display for ConditionClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(files) => write!(f, "file:{files}"),
            Self::Symbol(SymbolClause {
                path,
                name,
                fingerprint,
            }) => {
                write!(f, "symbol:{path}#{name}")?;
                fingerprint.iter().try_for_each(|it| write!(f, "@{it}"))
            }
            Self::Text { files, regex } => write!(f, "text:{files}~{regex}"),
            Self::Code { language, pattern } => write!(f, "code:{}~{pattern}", language.name()),
            Self::Config { path, key, value } => write!(f, "config:{path}#{key}={value}"),
            Self::Package(package) => write!(f, "pkg:{package}"),
            Self::Fact(name) => write!(f, "fact:{name}"),
        }
    }
}
