//! Whether two entries contradict each other, found without a model.
//!
//! Two sides contradict where they are about one thing and cannot both be followed: an exclusive
//! choice made differently, the same thing asked for and forbidden, another number, two things in
//! the other order, opposite polarity in one domain, or a pattern against a false positive on one
//! file. A similarity floor stands before every rule, so that sharing a topic is not enough.
//!
//! Pure: the cosine of a model comes in as a value and is never needed. Nothing here decides who is
//! right; that is a person's part.

mod alternatives;
mod candidates;
mod certainty;
pub mod dominance;
mod rules;
mod sentence;
pub mod standing;

use std::collections::BTreeSet;
use std::fmt;

pub use candidates::candidates;
pub use certainty::certain_contradiction;
use sentence::Sentence;

use crate::anchor::Spot;
use crate::content::{Content, Polarity};
use crate::entry::Entry;
use crate::kind::Kind;
use crate::likeness::{Claim, Likeness, likeness};

/// Share of tags two entries must have in common, where both have any, to be of one domain.
pub const DOMAIN_JACCARD: f64 = 0.3;

/// Cosine from which two sides of one domain are taken to be near enough without shared words.
pub const NEAR_COSINE: f64 = 0.6;

/// Share of the shorter subject that sides of opposite polarity must have in common.
const POLARITY_CONTAINMENT: f64 = 0.4;

/// One side of a possible contradiction.
#[derive(Clone, Debug, Default)]
pub struct Side {
    text: String,
    claim: Claim,
    sentences: Vec<Sentence>,
    polarity: Option<Polarity>,
    /// Tags with what stands above them: `auth/jwt` also counts as `auth`.
    tags: BTreeSet<String>,
    paths: BTreeSet<String>,
    symbols: BTreeSet<String>,
    kind: Option<Kind>,
}

/// Which rule found a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Two choices that exclude each other.
    Alternative,
    /// Asked for here, forbidden there.
    Modality,
    /// Another number for the same thing.
    Number,
    /// The other of two things is preferred, or comes first.
    Order,
    /// A word gave way to its contrary.
    Contrary,
    /// One speaks for it, the other against it, in the same domain.
    Polarity,
    /// A pattern here, a false positive there, about the same file or pattern.
    FalsePositive,
}

/// Why two sides contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    pub rule: Rule,
    /// What differs, in a few words.
    pub differs: String,
}

impl Rule {
    /// Returns the name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alternative => "alternative",
            Self::Modality => "modality",
            Self::Number => "number",
            Self::Order => "order",
            Self::Contrary => "contrary",
            Self::Polarity => "polarity",
            Self::FalsePositive => "false-positive",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name(), self.differs)
    }
}

impl Side {
    /// Takes a bare text apart: a sentence of a document, without tags or anchors.
    pub fn said(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            claim: Claim::of(text),
            sentences: Sentence::all(text),
            ..Self::default()
        }
    }

    /// Takes an entry's content apart.
    pub fn of(kind: Kind, content: &Content) -> Self {
        let mut side = Self::said(content.statement.as_str());
        side.kind = Some(kind);
        side.polarity = content.polarity;
        for tag in &content.tags {
            let ends = tag.as_str().match_indices('/').map(|(end, _)| end);
            let ends = ends.chain([tag.as_str().len()]);
            side.tags
                .extend(ends.map(|end| tag.as_str()[..end].to_owned()));
        }
        for anchor in &content.evidence {
            side.paths.insert(anchor.at.path().to_owned());
            if let Spot::Symbol(_) = anchor.at.spot() {
                side.symbols.insert(anchor.at.to_string());
            }
        }
        side
    }

    /// Takes an entry apart; `None` where no wording is known.
    pub fn of_entry(entry: &Entry) -> Option<Self> {
        let created = entry.created.as_ref()?;
        Some(Self::of(created.kind, entry.content.as_ref()?))
    }

    /// Returns every stem the sentences are about.
    fn subject(&self) -> BTreeSet<&String> {
        self.sentences.iter().flat_map(|it| &it.subject).collect()
    }

    fn shares_anchor(&self, other: &Self) -> bool {
        if !self.symbols.is_disjoint(&other.symbols) {
            return true;
        }
        // Two symbols of one file are two places.
        let both_named = !self.symbols.is_empty() && !other.symbols.is_empty();
        !both_named && !self.paths.is_disjoint(&other.paths)
    }

    /// Returns the share of tags in common; `None` where either has none.
    fn domain_overlap(&self, other: &Self) -> Option<f64> {
        if self.tags.is_empty() || other.tags.is_empty() {
            return None;
        }
        Some(jaccard(&self.tags, &other.tags))
    }
}

/// Returns why two sides contradict each other, if they do; `cosine` is how near a model finds them.
pub fn contradiction(a: &Side, b: &Side, cosine: Option<f64>) -> Option<Why> {
    if let Some(why) = against_false_positive(a, b, cosine) {
        return Some(why);
    }
    let anchored = a.shares_anchor(b);
    let overlap = a.domain_overlap(b);
    let one_domain = anchored || overlap.is_none_or(|share| DOMAIN_JACCARD < share);
    if !one_domain {
        return None;
    }
    let said = a.sentences.iter().flat_map(|one| {
        let others = b.sentences.iter();
        others.filter_map(move |other| rules::opposed(one, other, cosine))
    });
    // Two copies of one statement contradict nothing, whatever it says of itself.
    let said = said.filter(|_| a.claim != b.claim);
    let denies = |why: &Why| matches!(why.rule, Rule::Modality);
    let found = said
        .into_iter()
        .find(|why| !(denies(why) && agrees_elsewhere(a, b)));
    found.or_else(|| as_their_authors_say(a, b, cosine))
}

/// Returns why two sides of one domain contradict each other by the polarity their authors gave them.
fn as_their_authors_say(a: &Side, b: &Side, cosine: Option<f64>) -> Option<Why> {
    let overlap = a.domain_overlap(b);
    let grounds = a.shares_anchor(b) || overlap.is_some_and(|share| DOMAIN_JACCARD < share);
    grounds
        .then(|| of_opposite_polarity(a, b, cosine))
        .flatten()
}

/// Returns why two bare texts contradict each other, if they do.
pub fn contradicting_texts(a: &str, b: &str) -> Option<Why> {
    contradiction(&Side::said(a), &Side::said(b), None)
}

/// Returns whether some sentence of either says just what one of the other says: then a denial
/// elsewhere is an aside both make.
fn agrees_elsewhere(a: &Side, b: &Side) -> bool {
    a.sentences.iter().any(|one| {
        let mut others = b.sentences.iter();
        others.any(|other| one.subject == other.subject && one.denied == other.denied)
    })
}

/// A pattern and a false positive on the same file, or about the same pattern.
fn against_false_positive(a: &Side, b: &Side, cosine: Option<f64>) -> Option<Why> {
    let is_pattern = |side: &Side| matches!(side.kind, Some(Kind::Pattern | Kind::AntiPattern));
    let is_false = |side: &Side| side.kind == Some(Kind::FalsePositive);
    let facing = (is_pattern(a) && is_false(b)) || (is_pattern(b) && is_false(a));
    if !facing {
        return None;
    }
    let path = a.paths.intersection(&b.paths).next();
    let differs = match (a.shares_anchor(b), path) {
        (true, Some(path)) => format!("a pattern and a false positive on {path}"),
        (true, None) | (false, _) => {
            let alike = likeness(&a.claim, &b.claim, cosine);
            if !matches!(alike, Likeness::Same | Likeness::Reworded | Likeness::Alike) {
                return None;
            }
            "one pattern, also recorded as a false positive".to_owned()
        }
    };
    Some(Why {
        rule: Rule::FalsePositive,
        differs,
    })
}

/// Opposite polarity in one domain, and near enough to be about one thing.
fn of_opposite_polarity(a: &Side, b: &Side, cosine: Option<f64>) -> Option<Why> {
    let (one, other) = (a.polarity?, b.polarity?);
    if one == other {
        return None;
    }
    let (ours, theirs) = (a.subject(), b.subject());
    let common: Vec<&str> = ours.intersection(&theirs).map(|it| it.as_str()).collect();
    let shorter = ours.len().min(theirs.len()).max(1);
    let near = cosine.is_some_and(|it| NEAR_COSINE <= it);
    let enough = POLARITY_CONTAINMENT <= common.len() as f64 / shorter as f64;
    if common.is_empty() || !(near || enough) {
        return None;
    }
    Some(Why {
        rule: Rule::Polarity,
        differs: format!("one speaks for, one against: {}", common.join(", ")),
    })
}

/// Returns the share of two sets that both have.
fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> f64 {
    let common = a.intersection(b).count();
    let either = a.len() + b.len() - common;
    common as f64 / either.max(1) as f64
}
