//! Evaluation of conditions against a file tree.
//!
//! Reads only through [`FileTree`], and every file within a named limit. A condition whose input
//! cannot be read, parsed or compared is unverifiable, never broken.

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

use ken_core::values::condition::{
    self, ConditionClause, Ecosystem, Glob, ParsedCondition, SymbolClause,
};
use ken_core::values::text::Condition as Stored;

use crate::FileTree;

pub use outcome::{ConditionOutcome, FileLine};
pub use packages::{PinnedPackage, pinned_packages};
pub(crate) use text::REGEX_BYTES_MAX;

/// Symbol lookup, implemented by the crate that parses source files.
pub trait SymbolResolver {
    /// Returns the current state of a symbol, `None` if the file or symbol does not exist, or one
    /// sentence on why the lookup failed.
    fn look_up(&self, path: &str, name: &str) -> Result<Option<SymbolState>, String>;
}

/// Current state of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolState {
    pub fingerprint: String,
    /// First line, counted from 1.
    pub line: u32,
}

/// Evaluator of conditions over one version of the files, its symbols and the workspace's facts.
///
/// Lockfiles are read once, when the first condition needs them.
pub struct ConditionEvaluator<'a> {
    tree: &'a dyn FileTree,
    symbols: &'a dyn SymbolResolver,
    facts: &'a BTreeSet<String>,
    packages: RefCell<BTreeMap<Ecosystem, Rc<packages::LockedPackages>>>,
}

impl std::fmt::Debug for ConditionEvaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evidence")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<'a> ConditionEvaluator<'a> {
    /// Creates an evaluator; reads nothing yet.
    pub fn new(
        tree: &'a dyn FileTree,
        symbols: &'a dyn SymbolResolver,
        facts: &'a BTreeSet<String>,
    ) -> Self {
        Self {
            tree,
            symbols,
            facts,
            packages: RefCell::default(),
        }
    }

    /// Evaluates a condition.
    pub fn evaluate(&self, condition: &ParsedCondition) -> ConditionOutcome {
        let outcome = match &condition.clause {
            ConditionClause::File(files) => self.file(files),
            ConditionClause::Symbol(symbol) => self.symbol(symbol),
            ConditionClause::Text { files, regex } => text::evaluate(self, files, regex),
            ConditionClause::Code { language, pattern } => code::evaluate(self, *language, pattern),
            ConditionClause::Config { path, key, value } => {
                config::evaluate(self, path, key, value)
            }
            ConditionClause::Package(package) => packages::evaluate(self, package),
            ConditionClause::Fact(name) => self.fact(name),
        };
        // Negation comes last, so that clauses only state their finding.
        outcome.apply_sense(condition.sense)
    }

    /// Evaluates a stored condition. One that this build cannot parse is unverifiable.
    pub fn evaluate_stored(&self, stored: &Stored) -> ConditionOutcome {
        match condition::parse_stored(stored) {
            Ok(condition) => self.evaluate(&condition),
            Err(error) => ConditionOutcome::unverifiable(error.to_string()),
        }
    }

    fn file(&self, files: &Glob) -> ConditionOutcome {
        match self.tree.paths() {
            Err(error) => ConditionOutcome::unverifiable(error.to_string()),
            Ok(paths) => match paths.iter().find(|path| files.matches(path)) {
                Some(path) => ConditionOutcome::holds(format!("`{path}` exists")).at(path, 1),
                None => ConditionOutcome::broken(format!("no tracked file matches `{files}`")),
            },
        }
    }

    fn symbol(&self, symbol: &SymbolClause) -> ConditionOutcome {
        let SymbolClause {
            path,
            name,
            fingerprint,
        } = symbol;
        let seen = match self.symbols.look_up(path, name) {
            Err(why) => return ConditionOutcome::unverifiable(why),
            Ok(None) => return ConditionOutcome::broken(format!("`{path}` has no `{name}`")),
            Ok(Some(seen)) => seen,
        };
        let outcome = match fingerprint {
            None => ConditionOutcome::holds(format!("`{path}` has `{name}`")),
            Some(taken) if *taken == seen.fingerprint => {
                ConditionOutcome::holds(format!("`{name}` in `{path}` is unchanged"))
            }
            // A fingerprint of other normalization rules is not evidence of a change.
            Some(taken) if fingerprint_method(taken) != fingerprint_method(&seen.fingerprint) => {
                ConditionOutcome::unverifiable(format!(
                    "the fingerprint of `{name}` has another method"
                ))
            }
            Some(_) => ConditionOutcome::broken(format!("`{name}` in `{path}` has changed")),
        };
        outcome.at(path, seen.line)
    }

    fn fact(&self, name: &str) -> ConditionOutcome {
        if self.facts.contains(name) {
            ConditionOutcome::holds(format!("`{name}` is declared"))
        } else {
            ConditionOutcome::broken(format!("`{name}` is not declared"))
        }
    }
}

/// Returns the method of a fingerprint: the `s1` of `s1:0123…`.
fn fingerprint_method(fingerprint: &str) -> Option<&str> {
    fingerprint.split_once(':').map(|(method, _)| method)
}
