//! The rules, loaded from the data files in `rules/`.
//!
//! Every expression is our own, written from the provider's documentation (`source` names it). It
//! has a group `secret` (or `secret2`, `secret3` …, one per alternative), which is redacted, and
//! the groups its match check reads. A rule costs nothing until one of its keywords occurs in a
//! text: only then is its expression compiled, once per process.
//!
//! Invariant: every match of a rule's expression contains one of its keywords (tested by example).

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::axis::ScanAxis;
use crate::match_check::MatchCheck;
use crate::scan::TextMode;
use crate::verdict::FindingSeverity;

/// The files, in the order in which their rules apply.
const RULE_FILES: [(&str, &str); 7] = [
    ("cloud", include_str!("../rules/cloud.toml")),
    ("code", include_str!("../rules/code.toml")),
    ("models", include_str!("../rules/models.toml")),
    ("saas", include_str!("../rules/saas.toml")),
    ("generic", include_str!("../rules/generic.toml")),
    ("attacks", include_str!("../rules/attacks.toml")),
    ("leaks", include_str!("../rules/leaks.toml")),
];

/// One detection rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardRule {
    pub(crate) id: String,
    /// Kind in markers and messages; several rules may share one.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) severity: FindingSeverity,
    #[serde(default)]
    pub(crate) axis: ScanAxis,
    #[serde(default)]
    applies: RuleApplicability,
    /// Documentation of the format.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the file"))]
    source: String,
    /// Additional requirement a text must meet to be searched.
    #[serde(default)]
    needs: Option<TextRequirement>,
    /// Keywords; a text with none of them is not searched. A keyword with a capital letter is
    /// case-sensitive.
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    pub(crate) judge: MatchCheck,
    /// Templates of texts the rule must find; see [`crate::sample`].
    #[cfg_attr(
        not(any(test, feature = "samples")),
        expect(dead_code, reason = "for tests")
    )]
    #[serde(default)]
    pub(crate) samples: Vec<String>,
    #[serde(skip)]
    compiled: OnceLock<Regex>,
}

/// Kinds of text a rule applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RuleApplicability {
    #[default]
    Everywhere,
    /// Code only: the rule is based on entropy instead of a format, so prose with hashes and ids
    /// would trigger it.
    Code,
    /// Statements only: content that is allowed in citations but not in shared sentences.
    Statement,
    /// Statements, bodies and verification steps: content that is allowed in citations only.
    Shared,
}

/// Property that every match of a rule has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TextRequirement {
    Digit,
    Quote,
}

impl TextRequirement {
    fn is_met(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::Digit => bytes.iter().any(u8::is_ascii_digit),
            // The UTF-8 form of curly quotes begins with 0xe2, as do many other symbols.
            Self::Quote => bytes
                .iter()
                .any(|b| matches!(b, b'"' | b'\'' | b'`' | 0xe2)),
        }
    }
}

/// Contents of a rule file.
#[derive(Deserialize)]
struct RuleFile {
    rule: Vec<GuardRule>,
}

/// All rules, with the automaton that selects those relevant to a text.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Vec<GuardRule>,
    keywords: AhoCorasick,
    /// For each keyword: its rule, and the keyword itself if it is case-sensitive.
    owners: Vec<(usize, Option<String>)>,
}

impl GuardRule {
    /// Returns the expression, compiled on first use.
    pub(crate) fn expression(&self) -> &Regex {
        let compile = || {
            // Without Unicode classes an expression compiles in microseconds; the scan widens spans
            // that end inside a character.
            let built = RegexBuilder::new(&self.pattern).unicode(false).build();
            built.expect("a test compiles every rule of the files")
        };
        self.compiled.get_or_init(compile)
    }

    fn is_asked(&self, mode: TextMode) -> bool {
        match self.applies {
            RuleApplicability::Everywhere => true,
            RuleApplicability::Code => mode == TextMode::Code,
            RuleApplicability::Statement => mode == TextMode::Statement,
            RuleApplicability::Shared => mode.is_shared(),
        }
    }
}

impl RuleSet {
    fn read() -> Self {
        let read = |(name, text): &(&str, &str)| -> Vec<GuardRule> {
            let file: RuleFile =
                toml::from_str(text).unwrap_or_else(|e| panic!("rules/{name}.toml: {e}"));
            file.rule
        };
        let rules: Vec<GuardRule> = RULE_FILES.iter().flat_map(read).collect();
        let owners: Vec<(usize, &String)> = rules
            .iter()
            .enumerate()
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |keyword| (at, keyword)))
            .collect();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            // Built in every process that scans: an NFA is much faster to build than a DFA.
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

    /// Returns the rules to apply to a text of this mode, in file order.
    pub(crate) fn concerning(&self, text: &str, mode: TextMode) -> Vec<&GuardRule> {
        // One pass over the text for all rules; most texts select none.
        let mut asked = vec![false; self.rules.len()];
        // Overlapping, because keywords of different rules may share characters.
        for found in self.keywords.find_overlapping_iter(text) {
            // The automaton ignores case, so case-sensitive keywords are compared again here.
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = &GuardRule> {
        self.rules.iter()
    }
}

/// The rule set identified by [`crate::RULE_SET`].
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
        assert!(ids.len() > 80, "{} rules", ids.len());
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
