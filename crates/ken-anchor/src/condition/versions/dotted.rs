//! Versions of numbers and words, compared by the rules Maven, RubyGems and Composer share.
//!
//! Numbers compare by value; trailing zeros do not count. Words such as `alpha` and `rc` precede
//! the release, `final` and its synonyms equal it, and other words (`jre`, `p1`) follow it. In
//! RubyGems every word precedes the release.

use std::cmp::Ordering;

use ken_core::values::condition::Ecosystem;

/// Maximum number of parts of a version.
const PARTS_MAX: usize = 32;

/// A version as numbers and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DottedVersion(Vec<VersionPart>);

/// Variants are declared in order: the end of a version sorts between early and late words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart {
    Early(u8, String),
    End,
    Late(String),
    Number(u64),
}

impl DottedVersion {
    pub(super) fn parse(ecosystem: Ecosystem, text: &str) -> Option<Self> {
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        // Build metadata after `+` does not affect the order.
        let text = text.split('+').next().unwrap_or(text).to_ascii_lowercase();
        let mut parts = Vec::new();
        for word in text.split(['.', '-', '_']).flat_map(split_runs) {
            let Some(part) = parse_part(ecosystem, word)? else {
                continue;
            };
            match part {
                VersionPart::Number(_) => {}
                VersionPart::Early(..) | VersionPart::Late(_) | VersionPart::End => {
                    drop_trailing_zeros(&mut parts);
                }
            }
            parts.push(part);
        }
        drop_trailing_zeros(&mut parts);
        (parts.len() <= PARTS_MAX).then_some(Self(parts))
    }
}

/// Drops insignificant zeros: at the end, and before a word, so that 1.0-rc1 equals 1-rc1.
fn drop_trailing_zeros(parts: &mut Vec<VersionPart>) {
    while parts.last() == Some(&VersionPart::Number(0)) {
        parts.pop();
    }
}

/// Splits `rc1` into `rc` and `1`.
fn split_runs(word: &str) -> Vec<&str> {
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

/// Parses a run; returns `Some(None)` for a word without meaning for the order.
fn parse_part(ecosystem: Ecosystem, run: &str) -> Option<Option<VersionPart>> {
    if run.starts_with(|c: char| c.is_ascii_digit()) {
        return run
            .parse()
            .ok()
            .map(|number| Some(VersionPart::Number(number)));
    }
    let early = |rank| Some(Some(VersionPart::Early(rank, String::new())));
    match run {
        "final" | "ga" | "release" | "stable" => Some(None),
        "dev" | "snapshot" => early(0),
        "a" | "alpha" => early(1),
        "b" | "beta" => early(2),
        "m" | "milestone" | "preview" | "pre" => early(3),
        "rc" | "cr" => early(4),
        // RubyGems treats every version with a letter as a pre-release.
        word if ecosystem == Ecosystem::Gem => Some(Some(VersionPart::Early(5, word.to_owned()))),
        word => Some(Some(VersionPart::Late(word.to_owned()))),
    }
}

impl Ord for DottedVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let longest = self.0.len().max(other.0.len());
        // Padding with `End` makes `1-rc1 < 1 < 1-jre` hold.
        let part = |of: &Self, at| of.0.get(at).cloned().unwrap_or(VersionPart::End);
        let orders = (0..longest).map(|at| part(self, at).cmp(&part(other, at)));
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

impl PartialOrd for DottedVersion {
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
            let read = |text: &&str| DottedVersion::parse(ecosystem, text).unwrap();
            let read: Vec<DottedVersion> = versions.iter().map(read).collect();
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
        let read = |text| DottedVersion::parse(Ecosystem::Maven, text).unwrap();
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
        assert_eq!(DottedVersion::parse(Ecosystem::Composer, "dev-main"), None);
        assert_eq!(
            DottedVersion::parse(Ecosystem::Maven, &"9".repeat(60)),
            None
        );
        assert_eq!(
            DottedVersion::parse(Ecosystem::Maven, &"1.1".repeat(60)),
            None
        );
    }
}
