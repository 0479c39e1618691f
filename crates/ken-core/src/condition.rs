//! What an entry rests on, understood: the one parser of `depends_on`.
//!
//! A ledger stores conditions as text ([`crate::text::Condition`]) and keeps text this build does not
//! understand. [`Condition`] is such a text taken apart; it prints exactly what was read. Whether a
//! condition holds is asked elsewhere; here is only what it may depend on, so that a diff can be
//! matched to conditions without looking at files.

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

use crate::anchor::{Spot, Target};
use crate::text::{self, TextError};

pub use glob::{Glob, GlobError};
pub use key::{Key, KeyError};
pub use language::Language;
pub use lockfile::{Ecosystem, Lockfile};
pub use package::{Comparator, Constraint, Package, PackageError, Range};
pub use truth::Truth;

/// Something a claim rests on, or, negated, must not be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    pub sense: Sense,
    pub clause: Clause,
}

/// Whether a clause shall hold or shall not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sense {
    Plain,
    /// Written with `not ` in front.
    Negated,
}

/// What can be looked up in a tree of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clause {
    /// A tracked file matches.
    File(Glob),
    /// The symbol exists; with a fingerprint, unchanged.
    Symbol(Symbol),
    /// Some matching file contains what the regular expression describes.
    Text { files: Glob, regex: String },
    /// A structural pattern matches somewhere.
    Code { language: Language, pattern: String },
    /// A key of a configuration file has the value.
    Config {
        path: String,
        key: Key,
        value: String,
    },
    /// The package is used, in that range of versions.
    Package(Package),
    /// The workspace declares the fact.
    Fact(String),
}

/// A named symbol of a file, perhaps as it once was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    pub path: String,
    pub name: String,
    pub fingerprint: Option<String>,
}

/// The files a clause may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    Path(&'a str),
    Paths(&'a Glob),
    /// Every file in that language.
    Language(Language),
    /// Every lockfile of that ecosystem.
    Lockfiles(Ecosystem),
}

/// Where the facts of a workspace are declared.
pub const FACTS_PATH: &str = ".ken/config.toml";

/// Digits of a fingerprint, at the least: what is shorter behind an `@` belongs to the name.
const FINGERPRINT_DIGITS_MIN: usize = 16;

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("condition `{text}`: {why}")]
    Glob { text: String, why: GlobError },
    #[error("condition `{text}`: {why}")]
    Package { text: String, why: PackageError },
    #[error("condition `{text}`: {why}")]
    Key { text: String, why: KeyError },
    #[error("condition `{0}`: write symbol:PATH#NAME, such as symbol:src/pay.rs#Ledger::charge")]
    Symbol(String),
    #[error("condition `{0}`: write text:GLOB~REGEX, such as text:src/**/*.rs~unsafe")]
    Search(String),
    #[error("condition `{0}`: write code:LANGUAGE~PATTERN, such as code:rust~$X.unwrap()")]
    Code(String),
    #[error(
        "condition `{text}`: `{found}` is no language for patterns; {}",
        languages()
    )]
    Language { text: String, found: String },
    #[error(
        "condition `{0}`: write config:PATH#KEY=VALUE, such as config:Cargo.toml#package.edition=2024"
    )]
    Config(String),
    #[error("condition `{0}`: config reads files ending in .toml, .json, .yaml or .yml")]
    ConfigFormat(String),
    #[error("condition `{0}`: a fact is lowercase letters, digits and . _ - / only")]
    Fact(String),
}

fn languages() -> String {
    let names: Vec<&str> = Language::ALL.into_iter().map(Language::name).collect();
    format!("known are {}", names.join(", "))
}

impl Condition {
    /// Returns whether a change to the file at `path` may make it hold or break.
    pub fn may_depend_on(&self, path: &str) -> bool {
        self.clause.may_depend_on(path)
    }
}

impl Clause {
    /// Returns the files it may depend on.
    pub fn reach(&self) -> Reach<'_> {
        match self {
            Self::File(files) | Self::Text { files, .. } => Reach::Paths(files),
            Self::Symbol(Symbol { path, .. }) | Self::Config { path, .. } => Reach::Path(path),
            Self::Code { language, .. } => Reach::Language(*language),
            Self::Package(package) => Reach::Lockfiles(package.ecosystem()),
            Self::Fact(_) => Reach::Path(FACTS_PATH),
        }
    }

    /// Returns whether a change to the file at `path` may make it hold or break.
    pub fn may_depend_on(&self, path: &str) -> bool {
        self.reach().covers(path)
    }
}

impl Reach<'_> {
    /// Returns whether the file at `path` is among those.
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::Path(one) => *one == path,
            Self::Paths(glob) => glob.matches(path),
            Self::Language(language) => language.claims(path),
            Self::Lockfiles(ecosystem) => {
                Lockfile::at(path).is_some_and(|lockfile| lockfile.ecosystem() == *ecosystem)
            }
        }
    }
}

/// Reads a condition; the only parser there is.
pub fn parse(text: &str) -> Result<Condition, ConditionError> {
    understand(&text.parse()?)
}

/// Takes a stored condition apart.
pub fn understand(stored: &text::Condition) -> Result<Condition, ConditionError> {
    let text = stored.as_str();
    let (sense, rest) = match text.strip_prefix("not ") {
        Some(rest) => (Sense::Negated, rest),
        None => (Sense::Plain, text),
    };
    let owned = || text.to_owned();
    let (scheme, rest) = rest
        .split_once(':')
        .ok_or_else(|| TextError::Condition(owned()))?;
    let clause = match scheme {
        "file" => Clause::File(glob(text, rest)?),
        "symbol" => Clause::Symbol(symbol(rest).ok_or_else(|| ConditionError::Symbol(owned()))?),
        "text" => {
            let parts = rest.split_once('~').filter(|(_, regex)| !regex.is_empty());
            let (files, regex) = parts.ok_or_else(|| ConditionError::Search(owned()))?;
            Clause::Text {
                files: glob(text, files)?,
                regex: regex.to_owned(),
            }
        }
        "code" => code(text, rest)?,
        "config" => config(text, rest)?,
        "pkg" => {
            let wrap = |why| ConditionError::Package { text: owned(), why };
            Clause::Package(Package::parse(rest).map_err(wrap)?)
        }
        "fact" if is_fact(rest) => Clause::Fact(rest.to_owned()),
        "fact" => return Err(ConditionError::Fact(owned())),
        _ => return Err(TextError::Condition(owned()).into()),
    };
    Ok(Condition { sense, clause })
}

fn glob(text: &str, rest: &str) -> Result<Glob, ConditionError> {
    let wrap = |why| ConditionError::Glob {
        text: text.to_owned(),
        why,
    };
    rest.parse().map_err(wrap)
}

fn symbol(rest: &str) -> Option<Symbol> {
    let (target, fingerprint) = match rest.rsplit_once('@') {
        Some((target, end)) if is_fingerprint(end) => (target, Some(end.to_owned())),
        Some(_) | None => (rest, None),
    };
    let parsed: Target = target.parse().ok()?;
    match parsed.spot() {
        Spot::Symbol(name) if parsed.to_string() == target => Some(Symbol {
            path: parsed.path().to_owned(),
            name: name.clone(),
            fingerprint,
        }),
        Spot::Symbol(_) | Spot::File | Spot::Lines { .. } => None,
    }
}

/// Returns whether a text reads as hexadecimal digits, with a word such as `s1:` in front or not.
fn is_fingerprint(text: &str) -> bool {
    let (method, digits) = text.split_once(':').unwrap_or(("", text));
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    FINGERPRINT_DIGITS_MIN <= digits.len()
        && digits.bytes().all(hex)
        && method
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn code(text: &str, rest: &str) -> Result<Clause, ConditionError> {
    let parts = rest
        .split_once('~')
        .filter(|(_, pattern)| !pattern.trim().is_empty());
    let (name, pattern) = parts.ok_or_else(|| ConditionError::Code(text.to_owned()))?;
    let language = name.parse().map_err(|()| ConditionError::Language {
        text: text.to_owned(),
        found: name.to_owned(),
    })?;
    Ok(Clause::Code {
        language,
        pattern: pattern.to_owned(),
    })
}

fn config(text: &str, rest: &str) -> Result<Clause, ConditionError> {
    let form = || ConditionError::Config(text.to_owned());
    let (path, rest) = rest.split_once('#').ok_or_else(form)?;
    let (key, value) = Key::split_value(rest).ok_or_else(form)?;
    let target: Target = path.parse().map_err(|_| form())?;
    if *target.spot() != Spot::File || target.to_string() != path {
        return Err(form());
    }
    if ConfigFormat::of(path).is_none() {
        return Err(ConditionError::ConfigFormat(text.to_owned()));
    }
    let wrap = |why| ConditionError::Key {
        text: text.to_owned(),
        why,
    };
    let key = key.parse().map_err(wrap)?;
    Ok(Clause::Config {
        path: path.to_owned(),
        key,
        value: value.to_owned(),
    })
}

/// How a configuration file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    Json,
    Toml,
    Yaml,
}

impl ConfigFormat {
    /// Returns the format of the file at `path`, by how its name ends.
    pub fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        match ending {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

fn is_fact(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-/".contains(&b);
    !name.is_empty() && name.bytes().all(allowed)
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        parse(text)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sense {
            Sense::Plain => {}
            Sense::Negated => f.write_str("not ")?,
        }
        write!(f, "{}", self.clause)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(files) => write!(f, "file:{files}"),
            Self::Symbol(Symbol {
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
