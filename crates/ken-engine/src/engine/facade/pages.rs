//! Methods that only web pages need.

use std::sync::Arc;

use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::EntryFacts;
use ken_core::trust::run::RunRecord;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{git, impact, runs, validity};

impl Engine {
    /// Returns the facts of entries in their order, with a quick check against the code.
    pub fn entry_facts(&mut self, entries: &[Entry]) -> Result<Vec<EntryFacts>, EngineError> {
        impact::entry_facts(self, entries)
    }

    /// Returns the notes of a run with their times; empty if they are not on this machine.
    pub fn run_records(&self, id: &str) -> Result<Vec<RunRecord>, EngineError> {
        runs::run_records(self, id)
    }

    /// Returns the files of the work tree that git tracks or would track, sorted.
    pub fn listed_files(&self) -> Result<Arc<[String]>, EngineError> {
        validity::listed_files(self)
    }

    /// Returns the checked-out branch.
    pub fn branch(&self) -> Option<String> {
        git::current_branch(&self.place)
    }

    /// Returns the revision that changes of this repository start from.
    pub fn default_base(&self) -> String {
        git::default_base(&self.place)
    }
}
