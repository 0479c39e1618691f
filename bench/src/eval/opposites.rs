//! Opposites of a statement, made by rule: what a matcher of claims must not take for the same.
//!
//! A rule says the contrary in a way that shows in the words: a negation put in or taken out, a
//! word turned into its contrary, another number, two names swapped. [`Manner::Wrapped`] is kept
//! for the test split: nothing was chosen on it.

/// How a statement is turned into its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Manner {
    /// "Use X" becomes "Never use X", "is" becomes "is not".
    Negated,
    /// One word gives way to its contrary.
    Contrary,
    /// One number is another.
    Number,
    /// Two names in code change places.
    Swapped,
    /// The whole is denied before or after it.
    Wrapped,
}

/// Statements that begin so, and how the contrary begins.
const BEGINNINGS: &[(&str, &str)] = &[
    ("Do not use ", "Use "),
    ("Don't use ", "Use "),
    ("Do not ", "Always "),
    ("Don't ", "Always "),
    ("Never ", "Always "),
    ("Always ", "Never "),
    ("Avoid ", "Prefer "),
    ("Prefer ", "Avoid "),
    ("Disallow ", "Require "),
    ("Disallows ", "Requires "),
    ("Require ", "Disallow "),
    ("Requires ", "Disallows "),
    ("Enforce ", "Disallow "),
    ("Use ", "Never use "),
];

/// Words a negation follows, with and without it.
const NEGATED: &[(&str, &str)] = &[
    (" should not ", " should "),
    (" must not ", " must "),
    (" is not ", " is "),
    (" are not ", " are "),
    (" cannot ", " can "),
    (" does not ", " always does "),
    (" should ", " should not "),
    (" must ", " must not "),
    (" is ", " is not "),
    (" are ", " are not "),
    (" can ", " cannot "),
];

const CONTRARIES: &[(&str, &str)] = &[
    ("before", "after"),
    ("with", "without"),
    ("always", "never"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("necessary", "unnecessary"),
    ("missing", "redundant"),
    ("valid", "invalid"),
    ("empty", "non-empty"),
    ("inside", "outside"),
    ("first", "last"),
    ("more", "fewer"),
    ("true", "false"),
    ("uppercase", "lowercase"),
    ("mutable", "immutable"),
    ("safe", "unsafe"),
    ("add", "remove"),
    ("public", "private"),
];

/// What is put before a statement to deny it.
const DENIALS: &[&str] = &[
    "It is a mistake to follow this: ",
    "It is not true that ",
    "Stop doing this: ",
    "Refrain from this: ",
];

/// Returns the opposites of `statement`, as far as the rules reach.
pub(super) fn opposites(statement: &str, place: usize) -> Vec<(Manner, String)> {
    let denial = DENIALS[place % DENIALS.len()];
    let made = [
        (Manner::Negated, negated(statement)),
        (Manner::Contrary, contrary(statement)),
        (Manner::Number, renumbered(statement)),
        (Manner::Swapped, swapped(statement)),
        (
            Manner::Wrapped,
            Some(format!("{denial}{}", lowered(statement))),
        ),
    ];
    let made = made.into_iter();
    made.filter_map(|(manner, text)| Some((manner, text?)))
        .collect()
}

fn negated(statement: &str) -> Option<String> {
    for (from, to) in BEGINNINGS {
        if let Some(rest) = statement.strip_prefix(from) {
            return Some(format!("{to}{rest}"));
        }
    }
    let found = NEGATED.iter().find(|(from, _)| statement.contains(from));
    Some(match found {
        Some((from, to)) => statement.replacen(from, to, 1),
        None => format!("Never {}", lowered(statement)),
    })
}

fn contrary(statement: &str) -> Option<String> {
    let both = CONTRARIES.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    for (from, to) in both {
        let place = statement
            .match_indices(from)
            .map(|(place, _)| place)
            .find(|place| is_word(statement, *place, from.len()));
        if let Some(place) = place {
            let (before, rest) = statement.split_at(place);
            return Some(format!("{before}{to}{}", &rest[from.len()..]));
        }
    }
    None
}

fn renumbered(statement: &str) -> Option<String> {
    let start = statement.find(|c: char| c.is_ascii_digit())?;
    let rest = &statement[start..];
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let digits = &rest[..digits.unwrap_or(rest.len())];
    let number: u64 = digits.parse().ok()?;
    let (before, after) = (&statement[..start], &rest[digits.len()..]);
    Some(format!("{before}{}{after}", number + 3))
}

fn swapped(statement: &str) -> Option<String> {
    let parts: Vec<&str> = statement.split('`').collect();
    let names: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
    let first = *names.first()?;
    let second = names.iter().copied().find(|name| *name != first)?;
    let swap = |(place, part): (usize, &&str)| match *part {
        name if place % 2 == 1 && name == first => second.to_owned(),
        name if place % 2 == 1 && name == second => first.to_owned(),
        other => other.to_owned(),
    };
    let parts: Vec<String> = parts.iter().enumerate().map(swap).collect();
    Some(parts.join("`"))
}

fn is_word(text: &str, place: usize, length: usize) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let before = text[..place].chars().next_back();
    let after = text[place + length..].chars().next();
    !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
}

fn lowered(statement: &str) -> String {
    let mut letters = statement.chars();
    let first = letters.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(manner: Manner, statement: &str) -> Option<String> {
        let all = opposites(statement, 1);
        let found = all.into_iter().find(|(it, _)| *it == manner);
        found.map(|(_, text)| text)
    }

    #[test]
    fn every_manner_says_the_contrary() {
        let statement = "Use `a` with 2 of `b`";
        for (manner, wanted) in [
            (Manner::Negated, "Never use `a` with 2 of `b`"),
            (Manner::Contrary, "Use `a` without 2 of `b`"),
            (Manner::Number, "Use `a` with 5 of `b`"),
            (Manner::Swapped, "Use `b` with 2 of `a`"),
            (Manner::Wrapped, "It is not true that use `a` with 2 of `b`"),
        ] {
            assert_eq!(made(manner, statement).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn where_a_rule_finds_nothing_there_is_no_opposite() {
        for manner in [Manner::Contrary, Manner::Number, Manner::Swapped] {
            assert_eq!(made(manner, "Retry charges"), None);
        }
        assert_eq!(
            made(Manner::Negated, "Retry charges").as_deref(),
            Some("Never retry charges")
        );
    }
}
