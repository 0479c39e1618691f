//! Whether a condition holds in a tree of files.
//!
//! Reads through [`Tree`] only. Every file is read within a named limit; what cannot be read, parsed or
//! compared makes a condition unverifiable, never broken.

pub(crate) mod code;
mod config;
mod outcome;
mod packages;
mod text;
mod value;
mod versions;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ken_core::condition::{self, Clause, Condition, Ecosystem, Glob, Symbol};
use ken_core::text::Condition as Stored;

use crate::Tree;

pub use outcome::{Outcome, Place};
pub(crate) use text::REGEX_BYTES_MAX;

/// Looks up symbols; implemented where source files are parsed.
pub trait Symbols {
    /// Returns a symbol as it stands, nothing where the file or the symbol is not there, or, in one
    /// sentence, why it cannot be told.
    fn look_up(&self, path: &str, name: &str) -> Result<Option<Seen>, String>;
}

/// A symbol as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub fingerprint: String,
    /// Where it begins, counted from 1.
    pub line: u32,
}

/// What conditions are held against: one version of the files, its symbols, the workspace's facts.
///
/// Lockfiles are read once, when the first condition asks for them.
pub struct Evidence<'a> {
    tree: &'a dyn Tree,
    symbols: &'a dyn Symbols,
    facts: &'a BTreeSet<String>,
    packages: RefCell<BTreeMap<Ecosystem, Rc<packages::Used>>>,
}

impl std::fmt::Debug for Evidence<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evidence")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<'a> Evidence<'a> {
    pub fn new(tree: &'a dyn Tree, symbols: &'a dyn Symbols, facts: &'a BTreeSet<String>) -> Self {
        Self {
            tree,
            symbols,
            facts,
            packages: RefCell::default(),
        }
    }

    /// Returns whether a condition holds, and why.
    pub fn evaluate(&self, condition: &Condition) -> Outcome {
        let outcome = match &condition.clause {
            Clause::File(files) => self.file(files),
            Clause::Symbol(symbol) => self.symbol(symbol),
            Clause::Text { files, regex } => text::evaluate(self, files, regex),
            Clause::Code { language, pattern } => code::evaluate(self, *language, pattern),
            Clause::Config { path, key, value } => config::evaluate(self, path, key, value),
            Clause::Package(package) => packages::evaluate(self, package),
            Clause::Fact(name) => self.fact(name),
        };
        outcome.in_sense(condition.sense)
    }

    /// Like [`Self::evaluate`] for a condition as stored; one this build cannot read is unverifiable.
    pub fn evaluate_stored(&self, stored: &Stored) -> Outcome {
        match condition::understand(stored) {
            Ok(condition) => self.evaluate(&condition),
            Err(error) => Outcome::unverifiable(error.to_string()),
        }
    }

    fn file(&self, files: &Glob) -> Outcome {
        match self.tree.paths() {
            Err(error) => Outcome::unverifiable(error.to_string()),
            Ok(paths) => match paths.iter().find(|path| files.matches(path)) {
                Some(path) => Outcome::holds(format!("`{path}` is there")).at(path, 1),
                None => Outcome::broken(format!("no tracked file matches `{files}`")),
            },
        }
    }

    fn symbol(&self, symbol: &Symbol) -> Outcome {
        let Symbol {
            path,
            name,
            fingerprint,
        } = symbol;
        let seen = match self.symbols.look_up(path, name) {
            Err(why) => return Outcome::unverifiable(why),
            Ok(None) => return Outcome::broken(format!("`{path}` has no `{name}`")),
            Ok(Some(seen)) => seen,
        };
        let outcome = match fingerprint {
            None => Outcome::holds(format!("`{path}` has `{name}`")),
            Some(taken) if *taken == seen.fingerprint => {
                Outcome::holds(format!("`{name}` in `{path}` is unchanged"))
            }
            // Fingerprints of other rules are no sign of a change.
            Some(taken) if method(taken) != method(&seen.fingerprint) => {
                Outcome::unverifiable(format!("the fingerprint of `{name}` was taken another way"))
            }
            Some(_) => Outcome::broken(format!("`{name}` in `{path}` has changed")),
        };
        outcome.at(path, seen.line)
    }

    fn fact(&self, name: &str) -> Outcome {
        if self.facts.contains(name) {
            Outcome::holds(format!("`{name}` is declared"))
        } else {
            Outcome::broken(format!("`{name}` is not declared"))
        }
    }
}

/// Returns how a fingerprint was taken: the `s1` of `s1:0123…`.
fn method(fingerprint: &str) -> Option<&str> {
    fingerprint.split_once(':').map(|(method, _)| method)
}
