//! Versions of numbers and words, where no published order is followed to the letter.
//!
//! Maven, RubyGems and Composer differ in corners; this order is what they share. Numbers compare by
//! value and trailing zeros do not count. Words such as `alpha` and `rc` come before the release,
//! `final` and its like are the release, and others (`jre`, `p1`) come after it; in RubyGems every
//! word comes before.

use std::cmp::Ordering;

use ken_core::condition::Ecosystem;

/// Parts a version may have.
const PARTS_MAX: usize = 32;

/// A version as numbers and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dotted(Vec<Part>);

/// Declared in their order: what ends a version stands between early words and late ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Early(u8, String),
    End,
    Late(String),
    Number(u64),
}

impl Dotted {
    pub(super) fn parse(ecosystem: Ecosystem, text: &str) -> Option<Self> {
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let text = text.split('+').next().unwrap_or(text).to_ascii_lowercase();
        let mut parts = Vec::new();
        for word in text.split(['.', '-', '_']).flat_map(runs) {
            let Some(part) = part(ecosystem, word)? else {
                continue;
            };
            match part {
                Part::Number(_) => {}
                Part::Early(..) | Part::Late(_) | Part::End => drop_zeros(&mut parts),
            }
            parts.push(part);
        }
        drop_zeros(&mut parts);
        (parts.len() <= PARTS_MAX).then_some(Self(parts))
    }
}

/// Drops zeros that say nothing: at the end, and before a word, so that 1.0-rc1 is 1-rc1.
fn drop_zeros(parts: &mut Vec<Part>) {
    while parts.last() == Some(&Part::Number(0)) {
        parts.pop();
    }
}

/// Splits `rc1` into `rc` and `1`.
fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let digit = first.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != digit)
            .unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        runs.push(run);
        rest = behind;
    }
    runs
}

/// Returns what a run stands for; `Some(None)` for a word that says nothing.
fn part(ecosystem: Ecosystem, run: &str) -> Option<Option<Part>> {
    if run.starts_with(|c: char| c.is_ascii_digit()) {
        return run.parse().ok().map(|number| Some(Part::Number(number)));
    }
    let early = |rank| Some(Some(Part::Early(rank, String::new())));
    match run {
        "final" | "ga" | "release" | "stable" => Some(None),
        "dev" | "snapshot" => early(0),
        "a" | "alpha" => early(1),
        "b" | "beta" => early(2),
        "m" | "milestone" | "preview" | "pre" => early(3),
        "rc" | "cr" => early(4),
        word if ecosystem == Ecosystem::Gem => Some(Some(Part::Early(5, word.to_owned()))),
        word => Some(Some(Part::Late(word.to_owned()))),
    }
}

impl Ord for Dotted {
    fn cmp(&self, other: &Self) -> Ordering {
        let longest = self.0.len().max(other.0.len());
        let part = |of: &Self, at| of.0.get(at).cloned().unwrap_or(Part::End);
        let orders = (0..longest).map(|at| part(self, at).cmp(&part(other, at)));
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

impl PartialOrd for Dotted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_this_order() {
        let order = |ecosystem, versions: &[&str]| {
            let read = |text: &&str| Dotted::parse(ecosystem, text).unwrap();
            let read: Vec<Dotted> = versions.iter().map(read).collect();
            assert!(read.is_sorted_by(|one, other| one < other), "{versions:?}");
        };
        order(
            Ecosystem::Maven,
            &[
                "1-SNAPSHOT",
                "1-alpha-1",
                "1-alpha-2",
                "1-beta",
                "1-M1",
                "1-rc1",
                "1",
                "1-jre",
                "1.1",
                "1.10",
            ],
        );
        order(
            Ecosystem::Gem,
            &[
                "7.0.0.beta1",
                "7.0.0.rc1",
                "7.0.0.x",
                "7",
                "7.0.1",
                "7.0.10",
            ],
        );
        order(
            Ecosystem::Composer,
            &["v1.0.0-beta2", "1.0.0-RC1", "1.0.0", "1.0.0-p1", "1.0.1"],
        );
    }

    #[test]
    fn zeros_at_the_end_and_words_for_a_release_do_not_count() {
        let read = |text| Dotted::parse(Ecosystem::Maven, text).unwrap();
        for (one, other) in [
            ("1", "1.0.0"),
            ("1.0.Final", "1"),
            ("1.0-ga", "1.0"),
            ("1.0-rc1", "1-rc-1"),
            ("1+b", "1"),
        ] {
            assert_eq!(
                read(one).cmp(&read(other)),
                Ordering::Equal,
                "{one} {other}"
            );
        }
        assert_eq!(Dotted::parse(Ecosystem::Composer, "dev-main"), None);
        assert_eq!(Dotted::parse(Ecosystem::Maven, &"9".repeat(60)), None);
        assert_eq!(Dotted::parse(Ecosystem::Maven, &"1.1".repeat(60)), None);
    }
}
