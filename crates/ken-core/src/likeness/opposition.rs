//! Whether two claims about one thing say the contrary of each other.
//!
//! Opposites share nearly every word, so neither overlap nor an embedding tells them apart: what
//! differs is a negation, a word that gave way to its contrary, a number, or which of two things
//! comes first.

use super::claim::{Claim, stem};

/// Words that mean the contrary of each other.
const CONTRARIES: &[(&str, &str)] = &[
    ("above", "below"),
    ("accept", "reject"),
    ("add", "remove"),
    ("allow", "disallow"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("always", "never"),
    ("before", "after"),
    ("correct", "wrong"),
    ("early", "late"),
    ("encode", "decode"),
    ("encourage", "discourage"),
    ("enable", "disable"),
    ("enforce", "avoid"),
    ("enforce", "disallow"),
    ("enforce", "forbid"),
    ("explicit", "implicit"),
    ("fast", "slow"),
    ("first", "last"),
    ("import", "export"),
    ("include", "exclude"),
    ("increase", "decrease"),
    ("inside", "outside"),
    ("left", "right"),
    ("local", "remote"),
    ("lock", "unlock"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("missing", "redundant"),
    ("more", "fewer"),
    ("more", "less"),
    ("most", "least"),
    ("on", "off"),
    ("open", "close"),
    ("optional", "required"),
    ("prefer", "avoid"),
    ("prefer", "disallow"),
    ("public", "private"),
    ("push", "pull"),
    ("read", "write"),
    ("recommend", "discourage"),
    ("require", "avoid"),
    ("require", "disallow"),
    ("require", "forbid"),
    ("same", "different"),
    ("show", "hide"),
    ("single", "double"),
    ("start", "stop"),
    ("success", "failure"),
    ("succeed", "fail"),
    ("sync", "async"),
    ("tabs", "spaces"),
    ("true", "false"),
    ("uppercase", "lowercase"),
    ("use", "avoid"),
    ("with", "without"),
];

/// Beginnings that turn a word into its contrary.
const DENYING: [&str; 7] = ["un", "in", "im", "ir", "non", "dis", "de"];

/// Bytes of a stem that such a beginning can turn.
const TURNED_BYTES_MIN: usize = 3;

/// Words that say when or where; a claim with one and a claim without it are two.
const PLACES: [&str; 13] = [
    "before", "after", "first", "last", "inside", "outside", "above", "below", "always", "only",
    "unless", "until", "except",
];

/// Words whose two sides cannot change places.
const MARKERS: [&str; 8] = [
    "over", "than", "instead", "before", "after", "from", "into", "against",
];

/// Returns whether the claims, taken to be about the same thing, contradict each other.
pub(super) fn is_opposed(a: &Claim, b: &Claim) -> bool {
    let negated = a.negations.abs_diff(b.negations) % 2 == 1;
    let turned = negated || has_contrary(a, b);
    // "a before b" is "b after a": turned twice, nothing can be told.
    turned != is_swapped(a, b) || differing_numbers(a, b)
}

/// Returns whether nothing at all speaks for opposition: what a match asks for.
pub(super) fn agrees(a: &Claim, b: &Claim) -> bool {
    a.negations == b.negations
        && a.leading_negations == b.leading_negations
        && a.numbers == b.numbers
        && a.symbols == b.symbols
        && !has_contrary(a, b)
        && !has_contrary_nearby(a, b)
        && !is_swapped(a, b)
        && has_places_in_common(a, b)
}

/// Returns whether each has a number the other lacks.
fn differing_numbers(a: &Claim, b: &Claim) -> bool {
    !a.numbers.is_subset(&b.numbers) && !b.numbers.is_subset(&a.numbers)
}

/// Returns whether one says a word more often, and the other its contrary.
fn has_contrary(a: &Claim, b: &Claim) -> bool {
    any_contrary(a, b, |word, contrary| {
        let (more, less) = (word.0.cmp(&word.1), contrary.0.cmp(&contrary.1));
        more.is_ne() && more == less.reverse()
    })
}

/// Returns whether one has a word the other lacks, and the other has its contrary.
fn has_contrary_nearby(a: &Claim, b: &Claim) -> bool {
    any_contrary(a, b, |word, contrary| {
        let ours = 0 < word.0 && word.1 == 0 && 0 < contrary.1;
        let theirs = 0 < word.1 && word.0 == 0 && 0 < contrary.0;
        let turned = 0 < contrary.0 && contrary.1 == 0 && 0 < word.1;
        let turned_theirs = 0 < contrary.1 && contrary.0 == 0 && 0 < word.0;
        ours || theirs || turned || turned_theirs
    })
}

/// How often a word stands in either claim.
type Often = (usize, usize);

/// Returns whether `test` holds for how often some word and its contrary stand in each.
fn any_contrary(a: &Claim, b: &Claim, test: impl Fn(Often, Often) -> bool) -> bool {
    let often = |word: &str| {
        let of = |claim: &Claim| claim.counts.get(word).copied().unwrap_or_default();
        (of(a), of(b))
    };
    let listed = CONTRARIES
        .iter()
        .any(|(word, contrary)| test(often(&stem(word)), often(&stem(contrary))));
    let long = |word: &&String| TURNED_BYTES_MIN <= word.len();
    let words = a.counts.keys().chain(b.counts.keys()).filter(long);
    listed
        || words.into_iter().any(|word| {
            DENYING.iter().any(|beginning| {
                let contrary = often(&format!("{beginning}{word}"));
                contrary != (0, 0) && test(often(word), contrary)
            })
        })
}

/// Returns whether the words behind a marker changed places with others both claims use:
/// "tabs over spaces", "spaces over tabs".
fn is_swapped(a: &Claim, b: &Claim) -> bool {
    MARKERS.iter().any(|marker| {
        let (Some(behind_a), Some(behind_b)) = (a.after(marker), b.after(marker)) else {
            return false;
        };
        let (Some(first_a), Some(first_b)) = (behind_a.first(), behind_b.first()) else {
            return false;
        };
        let in_both = b.counts.contains_key(first_a) && a.counts.contains_key(first_b);
        in_both && !behind_b.contains(first_a) && !behind_a.contains(first_b)
    })
}

fn has_places_in_common(a: &Claim, b: &Claim) -> bool {
    PLACES.iter().all(|word| {
        let has = |claim: &Claim| claim.counts.contains_key(&stem(word));
        has(a) == has(b)
    })
}
