//! What answers a question: what is asked, what may answer, and which of it is shown, for a repository and for a hub.
//!
//! Whether anything is relevant at all is decided before scores are blended: the best of a bad lot
//! would otherwise look perfect. Finding candidates is the store's part, laying out the answer that of `surface`.

mod beneath;
mod judged;
mod scorer;

use crate::entry::Entry;
use crate::facts::EntryFacts;
use crate::id::EntryId;
use crate::score::{Explained, Role};
use crate::store::Filter;
use crate::surface::Finding;
use crate::text::Tag;
use crate::words::without_command;
use serde::Deserialize;

pub use beneath::beneath;
pub use judged::{Against, Answer};
pub use scorer::Scorer;

/// From here on an entry's words alone answer a query a person typed: `cargo xtask eval` finds one in
/// a hundred unrelated questions there, and three quarters of the prose queries.
pub const COVERAGE_RELEVANT: f64 = 0.4;

/// From here on they answer somebody who did not ask: no unrelated question in two hundred.
const COVERAGE_STRICT: f64 = 0.5;

/// What is looked for, and for whom.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub query: String,
    /// Which live entries count.
    pub filter: Filter,
    /// Files and folders in hand: what is known about them answers, whatever its words.
    pub paths: Vec<String>,
    pub role: Option<Role>,
    /// The thread of work the query comes from.
    pub thread: Option<Tag>,
    /// The run whose draws serve; the posterior's mean without one.
    pub run: Option<String>,
    pub floor: Floor,
    /// Whether what the code contradicts is shown, too.
    pub include_stale: bool,
}

/// How relevant an entry must be to be shown at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Floor {
    /// Everything found, best first.
    None,
    /// For somebody who asked.
    #[default]
    Relevant,
    /// For somebody who did not.
    Strict,
    /// A cosine of the caller's choosing.
    Cosine(f64),
}

/// Who is shown an entry that reaches no further than its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadVisibility {
    /// Everybody; its own thread sooner.
    #[default]
    Boost,
    /// Its own thread only.
    Strict,
}

/// Cosines from which on a model's nearness means something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// An entry may answer a query a person typed.
    pub relevant: f64,
    /// An entry may be shown to somebody who did not ask.
    pub strict: f64,
}

/// How well an entry must answer to be a candidate: by its meaning or by its words.
#[derive(Clone, Copy, Debug)]
pub struct Least {
    pub cosine: f64,
    pub coverage: f64,
}

/// An entry that may answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub entry: Entry,
    /// BM25 of its words; 0 if it has none of the query's.
    pub keywords: f64,
    /// What part of the query its words are, rare ones counting more; 1 if it has them all.
    pub coverage: f64,
    /// Cosine of its meaning with the query's; 0 without a model.
    pub cosine: f64,
    /// Both, each stretched to [0, 1] over all entries, blended as the model asks.
    pub relevance: f64,
    /// Whether it is about one of the query's paths.
    pub anchored: bool,
}

impl Least {
    /// Lets everything through.
    pub const NOTHING: Self = Self {
        cosine: f64::NEG_INFINITY,
        coverage: f64::NEG_INFINITY,
    };

    /// Returns whether an entry answers well enough.
    #[must_use]
    pub fn is_met(self, cosine: f64, coverage: f64) -> bool {
        self.cosine <= cosine || self.coverage <= coverage
    }
}

/// An entry that answers.
#[derive(Clone, Debug)]
pub struct Hit {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// How well its text answers, beside the others.
    pub relevance: f64,
    /// How near its meaning is, by itself.
    pub cosine: f64,
    /// What part of the query its words are.
    pub coverage: f64,
    /// Whether it is about one of the paths in hand.
    pub anchored: bool,
    /// Entries that say the opposite.
    pub conflicts: Vec<EntryId>,
    pub explained: Explained,
}

impl Search {
    /// Returns the search of a briefing: nobody asked for these entries by name, so only what surely fits is told.
    ///
    /// The verb a task begins with says what is done, not what it is done to, and no entry is about it.
    #[must_use]
    pub fn unasked(task: &str, paths: Vec<String>, role: Option<Role>, run: String) -> Self {
        Self {
            query: without_command(task).to_owned(),
            paths,
            role,
            run: Some(run),
            floor: Floor::Strict,
            ..Self::default()
        }
    }
}

impl Floor {
    /// Returns how well an entry must answer to be shown: by its meaning or by its words.
    #[must_use]
    pub fn least(self, model: Option<Near>) -> Least {
        let (near, coverage) = match self {
            Self::None => return Least::NOTHING,
            Self::Cosine(least) => (Some(least), f64::INFINITY),
            Self::Relevant => (model.map(|it| it.relevant), COVERAGE_RELEVANT),
            Self::Strict => (model.map(|it| it.strict), COVERAGE_STRICT),
        };
        let cosine = near.unwrap_or(f64::INFINITY);
        Least { cosine, coverage }
    }
}

impl Hit {
    /// Returns what laying it out needs.
    #[must_use]
    pub fn as_finding(&self) -> Finding<'_> {
        Finding {
            entry: &self.entry,
            facts: &self.facts,
            score: self.explained.score,
            conflicts: &self.conflicts,
        }
    }
}

impl Candidate {
    /// Takes an entry that no search found but that must stand beside one it did.
    #[must_use]
    pub fn beside(entry: Entry) -> Self {
        Self {
            entry,
            keywords: 0.0,
            coverage: 0.0,
            cosine: 0.0,
            relevance: 0.0,
            anchored: false,
        }
    }
}

/// Puts hits in order, best first.
pub fn sort(hits: &mut [Hit]) {
    hits.sort_by(|a, b| {
        let by_score = b.explained.score.total_cmp(&a.explained.score);
        by_score.then(a.entry.id.cmp(&b.entry.id))
    });
}
