//! Contradiction detection between two entries, without a language model.
//!
//! Two sides contradict each other if they have the same subject and cannot both be followed:
//! different members of an exclusive choice, required and forbidden, different numbers, reversed
//! order, opposite polarity in one domain, or a pattern and a false positive on the same file. A
//! similarity floor precedes every rule, so that a shared topic is not enough.
//!
//! Pure: the cosine of an embedding model is an optional input. Detection never decides which side
//! is right; a person does.

mod alternatives;
mod candidates;
mod certainty;
mod rules;
mod sentence;
pub mod unresolved;

use std::collections::BTreeSet;
use std::fmt;

pub use candidates::{SideCosine, candidate_pairs};
pub use certainty::find_certain_contradiction;
use sentence::ParsedSentence;

use crate::ledger::entry::Entry;
use crate::trust::similarity::{SimilarityVerdict, TokenizedStatement, classify_similarity};
use crate::values::anchor::FilePart;
use crate::values::content::{Content, Polarity};
use crate::values::kind::EntryKind;

/// Jaccard index of tags above which two tagged entries belong to the same domain.
pub const DOMAIN_JACCARD: f64 = 0.3;

/// Cosine from which sides of opposite polarity in one domain need only one shared stem.
pub const POLARITY_COSINE: f64 = 0.6;

/// Share of the shorter subject that sides of opposite polarity must share without such a cosine.
const POLARITY_CONTAINMENT: f64 = 0.4;

/// One side of a possible contradiction: an analyzed statement with its tags and anchors.
#[derive(Clone, Debug, Default)]
pub struct ContradictionSide {
    text: String,
    claim: TokenizedStatement,
    sentences: Vec<ParsedSentence>,
    /// Set for a short rule of one sentence, the only kind whose wording can contradict.
    is_plain: bool,
    polarity: Option<Polarity>,
    /// Tags and their ancestors: `auth/jwt` also counts as `auth`.
    tags: BTreeSet<String>,
    paths: BTreeSet<String>,
    symbols: BTreeSet<String>,
    kind: Option<EntryKind>,
}

/// The rule that found a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContradictionRule {
    /// Different members of an exclusive choice.
    Alternative,
    /// Required by one side, forbidden by the other.
    Modality,
    /// Different numbers for the same measure.
    Number,
    /// Reversed preference or order.
    Order,
    /// A word replaced by its antonym.
    Contrary,
    /// Opposite polarity in the same domain.
    Polarity,
    /// A pattern and a false positive about the same file or pattern.
    FalsePositive,
}

/// The reason why two sides contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContradictionReason {
    pub rule: ContradictionRule,
    /// The difference, in a few words.
    pub differs: String,
}

impl ContradictionRule {
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

impl fmt::Display for ContradictionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name(), self.differs)
    }
}

impl ContradictionSide {
    /// Analyzes plain text, such as a sentence of a document, without tags or anchors.
    pub fn from_text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            claim: TokenizedStatement::parse(text),
            sentences: ParsedSentence::parse_all(text),
            is_plain: certainty::is_plain(text),
            ..Self::default()
        }
    }

    /// Returns whether both sides declare the same polarity.
    pub fn shares_polarity(&self, other: &Self) -> bool {
        self.polarity.is_some() && self.polarity == other.polarity
    }

    /// Analyzes the content of an entry.
    pub fn from_content(kind: EntryKind, content: &Content) -> Self {
        let mut side = Self::from_text(content.statement.as_str());
        side.kind = Some(kind);
        side.polarity = content.polarity;
        for tag in &content.tags {
            let ends = tag.as_str().match_indices('/').map(|(end, _)| end);
            let ends = ends.chain([tag.as_str().len()]);
            side.tags
                .extend(ends.map(|end| tag.as_str()[..end].to_owned()));
        }
        for anchor in &content.anchors {
            side.paths.insert(anchor.at.path().to_owned());
            // Line ranges shift with every edit, so only symbols refine the path.
            if let FilePart::Symbol(_) = anchor.at.part() {
                side.symbols.insert(anchor.at.to_string());
            }
        }
        side
    }

    /// Analyzes an entry; `None` if its statement is unknown.
    pub fn from_entry(entry: &Entry) -> Option<Self> {
        let created = entry.created.as_ref()?;
        Some(Self::from_content(created.kind, entry.content.as_ref()?))
    }

    /// Returns the subject stems of all sentences.
    fn subject(&self) -> BTreeSet<&String> {
        self.sentences.iter().flat_map(|it| &it.subject).collect()
    }

    fn shares_anchor(&self, other: &Self) -> bool {
        if !self.symbols.is_disjoint(&other.symbols) {
            return true;
        }
        // Two different symbols of the same file are different anchors, although they share a path.
        let both_named = !self.symbols.is_empty() && !other.symbols.is_empty();
        !both_named && !self.paths.is_disjoint(&other.paths)
    }

    /// Returns the Jaccard index of the tags; `None` if either side has none.
    fn domain_overlap(&self, other: &Self) -> Option<f64> {
        if self.tags.is_empty() || other.tags.is_empty() {
            return None;
        }
        Some(jaccard(&self.tags, &other.tags))
    }
}

/// Returns the reason why two sides contradict each other, if they do.
///
/// `cosine` is their similarity according to an embedding model.
pub fn find_contradiction(
    a: &ContradictionSide,
    b: &ContradictionSide,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    // Checked before the domain filter: the two kinds make the conflict, whatever the tags are.
    if let Some(why) = find_false_positive_conflict(a, b, cosine) {
        return Some(why);
    }
    let anchored = a.shares_anchor(b);
    let overlap = a.domain_overlap(b);
    // Missing tags say nothing about the domain, so untagged entries pass this filter.
    let one_domain = anchored || overlap.is_none_or(|share| share > DOMAIN_JACCARD);
    if !one_domain {
        return None;
    }
    let opposed = a.sentences.iter().flat_map(|one| {
        let others = b.sentences.iter();
        others.filter_map(move |other| rules::find_opposition(one, other, cosine))
    });
    // Two copies of one statement agree, even if its own sentences oppose each other.
    let opposed = opposed.filter(|_| a.claim != b.claim);
    let denies = |why: &ContradictionReason| matches!(why.rule, ContradictionRule::Modality);
    let found = opposed
        .into_iter()
        .find(|why| !(denies(why) && share_sentence(a, b)));
    found.or_else(|| find_declared_contradiction(a, b, cosine))
}

/// Returns the contradiction that follows from the polarity declared by the authors, in one domain.
fn find_declared_contradiction(
    a: &ContradictionSide,
    b: &ContradictionSide,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    let overlap = a.domain_overlap(b);
    // Polarity is weak evidence, so the shared domain must be proven: `is_some_and`, not
    // `is_none_or`.
    let one_domain = a.shares_anchor(b) || overlap.is_some_and(|share| share > DOMAIN_JACCARD);
    one_domain
        .then(|| find_polarity_conflict(a, b, cosine))
        .flatten()
}

/// Returns the reason why two plain texts contradict each other, if they do.
pub fn find_text_contradiction(a: &str, b: &str) -> Option<ContradictionReason> {
    find_contradiction(
        &ContradictionSide::from_text(a),
        &ContradictionSide::from_text(b),
        None,
    )
}

/// Returns whether the sides share a sentence with the same subject and polarity.
///
/// A negated sentence elsewhere is then a remark on the shared claim, not a contradiction.
fn share_sentence(a: &ContradictionSide, b: &ContradictionSide) -> bool {
    a.sentences.iter().any(|one| {
        let mut others = b.sentences.iter();
        others.any(|other| one.subject == other.subject && one.denied == other.denied)
    })
}

/// Detects a pattern and a false positive on the same file, or about the same pattern.
fn find_false_positive_conflict(
    a: &ContradictionSide,
    b: &ContradictionSide,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    let is_false = |side: &ContradictionSide| side.kind == Some(EntryKind::FalsePositive);
    let facing = (is_pattern(a.kind) && is_false(b)) || (is_pattern(b.kind) && is_false(a));
    if !facing {
        return None;
    }
    let path = a.paths.intersection(&b.paths).next();
    let differs = match (a.shares_anchor(b), path) {
        (true, Some(path)) => format!("a pattern and a false positive on {path}"),
        (true, None) | (false, _) => {
            let alike = classify_similarity(&a.claim, &b.claim, cosine);
            if !matches!(
                alike,
                SimilarityVerdict::Same | SimilarityVerdict::Reworded | SimilarityVerdict::Alike
            ) {
                return None;
            }
            "the same pattern is also a false positive".to_owned()
        }
    };
    Some(ContradictionReason {
        rule: ContradictionRule::FalsePositive,
        differs,
    })
}

fn is_pattern(kind: Option<EntryKind>) -> bool {
    matches!(kind, Some(EntryKind::Pattern | EntryKind::AntiPattern))
}

/// Detects opposite polarity on a shared subject.
fn find_polarity_conflict(
    a: &ContradictionSide,
    b: &ContradictionSide,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    let (one, other) = (a.polarity?, b.polarity?);
    if one == other {
        return None;
    }
    let (ours, theirs) = (a.subject(), b.subject());
    let common: Vec<&str> = ours.intersection(&theirs).map(|it| it.as_str()).collect();
    let shorter = ours.len().min(theirs.len()).max(1);
    let near = cosine.is_some_and(|it| it >= POLARITY_COSINE);
    let enough = common.len() as f64 / shorter as f64 >= POLARITY_CONTAINMENT;
    if common.is_empty() || !(near || enough) {
        return None;
    }
    Some(ContradictionReason {
        rule: ContradictionRule::Polarity,
        differs: format!("opposite polarity: {}", common.join(", ")),
    })
}

/// Returns the Jaccard index of two sets.
fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> f64 {
    let common = a.intersection(b).count();
    let either = a.len() + b.len() - common;
    // `max` avoids a division by zero: two empty sets share nothing.
    common as f64 / either.max(1) as f64
}
