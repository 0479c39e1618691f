//! Digestion: documents and history become claims that wait, claims that wait become entries.
//!
//! `reduce` and `capture` land in staging and never in the ledger; `reflect` says what staging would add, repeat or contradict;
//! `accept` takes claims through the guard; `reweave` gives an entry new evidence. Each step reads what it needs from
//! disk and can be run again: the same source gives the same claims under the same names.

mod capture;
mod history;
mod near;
mod reflect;
mod staging;
mod take;

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::citation::Evidence;
use ken_core::content::Changes;
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::store::{Filter, Shelf, Store as _};
use ken_core::text::{Statement, comparison_words};

use crate::audit::{Audit, audit_at};
use crate::engine::Engine;
use crate::error::Error;

pub use capture::{Agent, Capture, Material, MomentKind, NOTES_BYTES_MAX, TRANSCRIPT_BYTES_MAX};
pub use near::Neighbours;
pub use reflect::{Known, Reflection, Relation, Seen, reflect};
pub use staging::Staged;
pub use take::{Accepted, Refused};

/// What `reduce` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduced {
    /// Documents and histories that were read.
    pub sources: usize,
    /// Claims that wait now and did not before.
    pub staged: Vec<Staged>,
    /// Claims that waited already.
    pub waiting: usize,
    /// Claims an entry makes already.
    pub known: usize,
    /// Claims somebody rejected.
    pub rejected: usize,
    /// Claims the guard would refuse; they are not written anywhere.
    pub refused: usize,
}

/// What claims are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Every claim the guard lets pass, with what the audit found about it.
    All,
    /// Those the audit found nothing against.
    Sound,
}

impl Engine {
    /// Audits the documents of this repository; see [`crate::audit`].
    pub fn audit(&self, only: &[String]) -> Result<Audit, Error> {
        audit_at(&self.place, &self.guard, only)
    }

    /// Puts what documents claim into staging.
    pub fn reduce(&mut self, audit: &Audit, take: Take) -> Result<Reduced, Error> {
        let commit = crate::git::head_commit(&self.place);
        let staged = staging::of_audit(audit, take, commit.as_deref());
        let sources = audit.documents.iter().filter(|it| it.copy_of.is_none());
        let reduced = Reduced {
            sources: sources.count(),
            ..Reduced::default()
        };
        self.stage(staged, reduced)
    }

    /// Puts norms that the history of this branch keeps into staging, with how often it keeps them.
    pub fn reduce_history(&mut self) -> Result<Reduced, Error> {
        let staged = history::norms(&self.place)?;
        let reduced = Reduced {
            sources: 1,
            ..Reduced::default()
        };
        self.stage(staged, reduced)
    }

    /// Writes claims that neither wait nor are known nor were rejected.
    fn stage(&mut self, claims: Vec<Staged>, mut reduced: Reduced) -> Result<Reduced, Error> {
        let known = self.known_words()?;
        let (waiting, rejected) = (self.staged_ids()?, self.rejected_ids()?);
        for staged in claims {
            if rejected.contains(&staged.id) {
                reduced.rejected += 1;
            } else if known.contains(&comparison_words(&staged.statement)) {
                reduced.known += 1;
            } else if waiting.contains(&staged.id) {
                reduced.waiting += 1;
            } else if self
                .guard
                .scan(&staged.statement, crate::guard::Mode::Statement)
                .refused
            {
                reduced.refused += 1;
            } else {
                self.put_staged(&staged)?;
                reduced.staged.push(staged);
            }
        }
        Ok(reduced)
    }

    /// Returns the words of every entry, laid aside and taken back ones included.
    fn known_words(&self) -> Result<BTreeSet<Vec<String>>, Error> {
        let all = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        Ok(all
            .iter()
            .map(|entry| comparison_words(entry.said()))
            .collect())
    }

    /// Gives an entry new evidence, and new words where `statement` has some.
    pub fn reweave(
        &mut self,
        id: EntryId,
        evidence: Evidence,
        statement: Option<Statement>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        let cited = self.cite(id, evidence, by)?;
        let Some(statement) = statement.filter(|it| it.as_str() != cited.said()) else {
            return Ok(cited);
        };
        let changes = Changes {
            statement: Some(statement),
            ..Changes::default()
        };
        self.revise(id, changes, None, by)
    }
}

/// Returns the folder a memory's claims wait in.
fn folder(memory: Memory) -> String {
    format!("{}/{}", staging::FOLDER, memory.name())
}
