//! The rules, read from the data files in `rules/`.
//!
//! Every expression is our own, written from what the provider documents (`source` names where). It names
//! the group `secret` (or `secret2`, `secret3` … one for each alternative), which is what gets redacted, and
//! the groups its judge reads. A rule costs nothing until one of its keywords occurs in a text: only then
//! is its expression compiled, once per process.
//!
//! Invariant: every match of a rule's expression contains one of its keywords (tested by example).

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::axis::Axis;
use crate::judge::Judge;
use crate::scan::TextMode;
use crate::verdict::Severity;

/// The files, in the order in which their rules are asked.
const FILES: [(&str, &str); 7] = [
    ("cloud", include_str!("../rules/cloud.toml")),
    ("code", include_str!("../rules/code.toml")),
    ("models", include_str!("../rules/models.toml")),
    ("saas", include_str!("../rules/saas.toml")),
    ("generic", include_str!("../rules/generic.toml")),
    ("attacks", include_str!("../rules/attacks.toml")),
    ("leaks", include_str!("../rules/leaks.toml")),
];

/// One thing to look for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) id: String,
    /// What the redaction marker and the refusal call it; several rules may share one.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) severity: Severity,
    #[serde(default)]
    pub(crate) axis: Axis,
    #[serde(default)]
    applies: Applies,
    /// Where the format is documented.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the file"))]
    source: String,
    /// What a text must have beside a keyword to be searched.
    #[serde(default)]
    needs: Option<Need>,
    /// A text with none of them is not searched. One with a capital letter is meant letter for letter.
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    pub(crate) judge: Judge,
    /// Templates of what the rule must find; see [`crate::sample`].
    #[cfg_attr(
        not(any(test, feature = "samples")),
        expect(dead_code, reason = "for tests")
    )]
    #[serde(default)]
    pub(crate) samples: Vec<String>,
    #[serde(skip)]
    compiled: OnceLock<Regex>,
}

/// Which kinds of text a rule is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Applies {
    #[default]
    Everywhere,
    /// Rests on disorder rather than on a format, which prose full of hashes and ids would set off.
    Code,
    /// Sentences that are meant to be shared: what belongs into evidence does not belong here.
    Statement,
}

/// What no match of a rule can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Need {
    Digit,
    Quote,
}

impl Need {
    fn is_met(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::Digit => bytes.iter().any(u8::is_ascii_digit),
            // The curly ones begin with this byte, as do many other signs.
            Self::Quote => bytes
                .iter()
                .any(|b| matches!(b, b'"' | b'\'' | b'`' | 0xe2)),
        }
    }
}

#[derive(Deserialize)]
struct File {
    rule: Vec<Rule>,
}

/// All rules, with the automaton that says which of them a text concerns.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// For each keyword: its rule, and whether it is meant letter for letter.
    owners: Vec<(usize, Option<String>)>,
}

impl Rule {
    /// Returns the expression, compiled on first use.
    pub(crate) fn expression(&self) -> &Regex {
        let compile = || {
            // Without Unicode classes an expression compiles in microseconds; the scan mends what it cuts.
            let built = RegexBuilder::new(&self.pattern).unicode(false).build();
            built.expect("a test compiles every rule of the files")
        };
        self.compiled.get_or_init(compile)
    }

    fn is_asked(&self, mode: TextMode) -> bool {
        match self.applies {
            Applies::Everywhere => true,
            Applies::Code => mode == TextMode::Code,
            Applies::Statement => mode == TextMode::Statement,
        }
    }
}

impl RuleSet {
    fn read() -> Self {
        let read = |(name, text): &(&str, &str)| -> Vec<Rule> {
            let file: File =
                toml::from_str(text).unwrap_or_else(|e| panic!("rules/{name}.toml: {e}"));
            file.rule
        };
        let rules: Vec<Rule> = FILES.iter().flat_map(read).collect();
        let owners: Vec<(usize, &String)> = rules
            .iter()
            .enumerate()
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |keyword| (at, keyword)))
            .collect();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(owners.iter().map(|(_, keyword)| keyword))
            .expect("a few hundred short keywords");
        let exact = |keyword: &str| keyword.bytes().any(|byte| byte.is_ascii_uppercase());
        let owners = owners
            .into_iter()
            .map(|(at, keyword)| (at, exact(keyword).then(|| keyword.clone())))
            .collect();
        Self {
            rules,
            keywords,
            owners,
        }
    }

    /// Returns the rules to search a text of this mode for, in the order of the files.
    pub(crate) fn concerning(&self, text: &str, mode: TextMode) -> Vec<&Rule> {
        let mut asked = vec![false; self.rules.len()];
        for found in self.keywords.find_overlapping_iter(text) {
            let (at, exact) = &self.owners[found.pattern().as_usize()];
            let meant = exact
                .as_deref()
                .is_none_or(|keyword| text.as_bytes()[found.range()] == *keyword.as_bytes());
            asked[*at] |= meant;
        }
        let asked = self.rules.iter().zip(asked);
        asked
            .filter(|(rule, asked)| *asked && rule.is_asked(mode))
            .filter(|(rule, _)| rule.needs.is_none_or(|need| need.is_met(text)))
            .map(|(rule, _)| rule)
            .collect()
    }

    #[cfg(any(test, feature = "samples"))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }
}

/// The rule set named by [`crate::RULE_SET`].
pub(crate) static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::read);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_expression_compiles_and_names_its_secret() {
        let mut ids = BTreeSet::new();
        for rule in RULES.iter() {
            let names = rule.expression().capture_names();
            assert!(
                names.flatten().any(|name| name.starts_with("secret")),
                "{}",
                rule.id
            );
            assert!(
                !rule.source.is_empty() && !rule.keywords.is_empty(),
                "{}",
                rule.id
            );
            assert!(ids.insert(&rule.id), "{} twice", rule.id);
        }
        assert!(80 < ids.len(), "{} rules", ids.len());
    }

    #[test]
    fn a_clean_sentence_compiles_no_rule() {
        let sentence = "Retries are safe because the charge carries an idempotency header.";
        assert!(RULES.concerning(sentence, TextMode::Prose).is_empty());
    }

    #[test]
    fn a_keyword_with_a_capital_is_meant_letter_for_letter() {
        let asked = |text: &str| -> Vec<String> {
            let rules = RULES.concerning(text, TextMode::Prose);
            rules.iter().map(|rule| rule.id.clone()).collect()
        };
        assert!(asked("SK0123").contains(&"twilio-key".to_owned()));
        assert!(!asked("a task").contains(&"twilio-key".to_owned()));
    }
}
