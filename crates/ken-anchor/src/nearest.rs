//! Suggestions for a symbol name that was not found.

use crate::fingerprint::Fingerprint;
use crate::language::Language;
use crate::outline::Outline;

/// Maximum number of suggested names.
const NAMES_MAX: usize = 3;

/// Symbols above which names are not compared by edit distance; larger files match only equal last
/// parts.
const SYMBOLS_MAX: usize = 5000;

/// Characters of a name that are compared.
const LETTERS_MAX: usize = 64;

/// Returns the symbol names most similar to `name`, the best first. A symbol with the code `taken`
/// comes before all others.
pub(crate) fn suggest_names(
    outline: &Outline,
    name: &str,
    taken: Option<Fingerprint>,
) -> Vec<String> {
    let separator = outline.language().map_or(".", Language::separator);
    let last = last_part(name, separator);
    let mut ranked: Vec<(bool, usize, usize, &str)> = Vec::new();
    let compares = outline.symbols().len() <= SYMBOLS_MAX;
    for (at, symbol) in outline.symbols().iter().enumerate() {
        let end = last_part(&symbol.name, separator);
        let is_same_code = taken == Some(symbol.fingerprint);
        let distance = if is_same_code || end.eq_ignore_ascii_case(last) {
            // The right name in the wrong type or module is the most common mistake.
            0
        } else if compares {
            edit_distance(end, last).min(edit_distance(&symbol.name, name))
        } else {
            continue;
        };
        // A name that differs in more than half of its letters is a different name.
        if 2 * distance <= last.chars().count().min(LETTERS_MAX) {
            ranked.push((!is_same_code, distance, at, &symbol.name));
        }
    }
    // The index breaks ties, so equal distances keep source order.
    ranked.sort_unstable();
    let mut names: Vec<String> = Vec::new();
    for (_, _, _, name) in ranked {
        if names.len() < NAMES_MAX && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn last_part<'a>(name: &'a str, separator: &str) -> &'a str {
    name.rsplit(separator).next().unwrap_or(name)
}

/// Returns the Levenshtein distance of two names, ignoring case.
fn edit_distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| -> Vec<char> {
        text.chars()
            .flat_map(char::to_lowercase)
            .take(LETTERS_MAX)
            .collect()
    };
    let (one, other) = (letters(one), letters(other));
    // One row of the dynamic programming table suffices; `corner` keeps the overwritten diagonal.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::outline;

    #[test]
    fn distance_counts_letters() {
        for (one, other, count) in [
            ("", "", 0),
            ("a", "", 1),
            ("charge", "change", 1),
            ("ab", "ba", 2),
        ] {
            assert_eq!(edit_distance(one, other), count);
        }
    }

    #[test]
    fn misspelled_and_misplaced_names_are_offered() {
        let source = b"struct Ledger; impl Ledger { fn charge(&self) {} fn refund(&self) {} }";
        let outline = outline("a.rs", source);
        assert_eq!(
            suggest_names(&outline, "Ledger::chrage", None),
            ["Ledger::charge"]
        );
        let suggested = suggest_names(&outline, "Book::charge", None);
        assert_eq!(suggested, ["Ledger::charge"]);
        assert!(suggest_names(&outline, "unrelated_thing", None).is_empty());
    }

    #[test]
    fn a_symbol_with_the_same_code_is_offered_first() {
        let old = outline("a.py", b"def scrub_dict(d):\n    return clean(d)\n");
        let new = b"def scrub_list(d):\n    pass\n\ndef tidy(d):\n    return clean(d)\n";
        let taken = old.find("scrub_dict")[0].fingerprint;
        assert_eq!(
            suggest_names(&outline("a.py", new), "scrub_dict", Some(taken)),
            ["tidy", "scrub_list"]
        );
    }
}
