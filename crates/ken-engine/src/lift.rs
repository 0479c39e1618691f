//! What entries are worth, and what is believed of one: questions about what runs taught.

use ken_core::entry::{Entry, Seen};
use ken_core::facts::{Beta, Validity};
use ken_core::lift::{Worth, lifts};
use ken_core::review::ReviewPolicy;
use ken_core::store::{Filter, Shelf, Store as _};

use crate::engine::Engine;
use crate::error::Error;

pub use ken_core::lift::Lifts;

/// What is believed of an entry, and what that rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounds {
    pub validity: Validity,
    pub posterior: Beta,
    /// What runs showed since somebody last found it.
    pub since: Seen,
    pub policy: ReviewPolicy,
    pub worth: Worth,
}

impl Engine {
    /// Returns what is believed of an entry, and why.
    pub fn grounds_of(&mut self, entry: &Entry) -> Result<Grounds, Error> {
        let validity = self.validity_of([entry])?;
        let validity = validity.get(&entry.id).copied().unwrap_or_default();
        Ok(Grounds {
            validity,
            posterior: entry.posterior(validity, self.now().date()),
            since: entry.since_confirmation(),
            policy: self.review_policy()?,
            worth: entry.tallies.worth(),
        })
    }

    /// Returns what entries are worth.
    pub fn lifts(&self) -> Result<Lifts, Error> {
        let filter = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        Ok(lifts(self.index.list(&filter)?))
    }
}
