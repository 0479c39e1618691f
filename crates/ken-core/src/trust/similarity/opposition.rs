//! Detection of opposite statements on the same subject.
//!
//! Opposites share nearly every word, so neither overlap nor an embedding distinguishes them. They
//! differ in a negation, an antonym, a number or the order of two things.

use std::sync::LazyLock;

use super::claim::{TokenizedStatement, stem};

/// Pairs of antonyms.
const ANTONYMS: &[(&str, &str)] = &[
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

/// The stems of [`ANTONYMS`], because the counts of a statement hold stems.
static ANTONYM_STEMS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let pairs = ANTONYMS.iter();
    pairs
        .map(|(word, contrary)| (stem(word), stem(contrary)))
        .collect()
});

/// Prefixes that turn a word into its antonym.
const NEGATING_PREFIXES: [&str; 7] = ["un", "in", "im", "ir", "non", "dis", "de"];

/// Minimum length, in bytes, of a stem that a prefix can negate.
const NEGATED_STEM_BYTES_MIN: usize = 3;

/// Words of time, place and condition; a statement with one differs from a statement without it.
const QUALIFIERS: [&str; 13] = [
    "before", "after", "first", "last", "inside", "outside", "above", "below", "always", "only",
    "unless", "until", "except",
];

/// Words whose left and right side cannot be swapped.
const ORDER_MARKERS: [&str; 8] = [
    "over", "than", "instead", "before", "after", "from", "into", "against",
];

/// Returns whether two statements on the same subject contradict each other.
pub(super) fn is_opposed(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    // Two negations cancel out, so only an odd difference reverses the claim.
    let negated = a.negations.abs_diff(b.negations) % 2 == 1;
    let reversed = negated || has_antonym(a, b);
    // Reversed and swapped at once cancels out: such a pair is not reported as opposed.
    reversed != is_swapped(a, b) || have_different_numbers(a, b)
}

/// Returns whether there is no sign of opposition at all, which every match requires.
pub(super) fn has_no_opposition(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    a.negations == b.negations
        && a.leading_negations == b.leading_negations
        && a.numbers == b.numbers
        && a.symbols == b.symbols
        && !has_antonym(a, b)
        && !has_antonym_nearby(a, b)
        && !is_swapped(a, b)
        && share_qualifiers(a, b)
}

/// Returns whether each statement has a number that the other lacks.
fn have_different_numbers(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    !a.numbers.is_subset(&b.numbers) && !b.numbers.is_subset(&a.numbers)
}

/// Returns whether one statement uses a word more often and the other its antonym.
pub(crate) fn has_antonym(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    any_antonym(a, b, |word, contrary| {
        let (more, less) = (word.0.cmp(&word.1), contrary.0.cmp(&contrary.1));
        more.is_ne() && more == less.reverse()
    })
}

/// Returns whether one statement has a word that the other lacks, and the other has its antonym.
fn has_antonym_nearby(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    // Weaker than `has_antonym`: the antonym may also occur in the first statement.
    any_antonym(a, b, |word, contrary| {
        let ours = word.0 > 0 && word.1 == 0 && contrary.1 > 0;
        let theirs = word.1 > 0 && word.0 == 0 && contrary.0 > 0;
        let turned = contrary.0 > 0 && contrary.1 == 0 && word.1 > 0;
        let turned_theirs = contrary.1 > 0 && contrary.0 == 0 && word.0 > 0;
        ours || theirs || turned || turned_theirs
    })
}

/// Occurrences of a word in the first and in the second statement.
type WordCounts = (usize, usize);

/// Returns whether `test` holds for the occurrences of some word and its antonym.
fn any_antonym(
    a: &TokenizedStatement,
    b: &TokenizedStatement,
    test: impl Fn(WordCounts, WordCounts) -> bool,
) -> bool {
    let often = |word: &str| {
        let of = |claim: &TokenizedStatement| claim.counts.get(word).copied().unwrap_or_default();
        (of(a), of(b))
    };
    let listed = ANTONYM_STEMS
        .iter()
        .any(|(word, contrary)| test(often(word), often(contrary)));
    // Looks for the longer word and strips its prefix: most words have none, so this is far cheaper
    // than looking for every word with every prefix.
    let mut words = a.counts.keys().chain(b.counts.keys());
    listed
        || words.any(|contrary| {
            let words = NEGATING_PREFIXES.iter();
            let words = words.filter_map(|prefix| contrary.strip_prefix(prefix));
            let mut words = words.filter(|it| it.len() >= NEGATED_STEM_BYTES_MIN);
            words.any(|word| often(word) != (0, 0) && test(often(word), often(contrary)))
        })
}

/// Returns whether the words around a marker are swapped: "tabs over spaces", "spaces over tabs".
pub(crate) fn is_swapped(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    ORDER_MARKERS.iter().any(|marker| {
        let (Some(behind_a), Some(behind_b)) = (a.stems_after(marker), b.stems_after(marker))
        else {
            return false;
        };
        let (Some(first_a), Some(first_b)) = (behind_a.first(), behind_b.first()) else {
            return false;
        };
        // Both words must occur in both statements, or one was replaced rather than swapped.
        let in_both = b.counts.contains_key(first_a) && a.counts.contains_key(first_b);
        in_both && !behind_b.contains(first_a) && !behind_a.contains(first_b)
    })
}

fn share_qualifiers(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    QUALIFIERS.iter().all(|word| {
        let has = |claim: &TokenizedStatement| claim.counts.contains_key(&stem(word));
        has(a) == has(b)
    })
}
