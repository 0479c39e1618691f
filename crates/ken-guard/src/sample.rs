//! Samples: format-valid secrets and attacks, generated at run time from templates in the rule
//! files.
//!
//! No sample may be in the repository as a whole, because push protection and other scanners would
//! block it.

use std::ops::Range;

use crate::rules::RULES;

/// A text that one rule must find.
#[derive(Clone, Debug)]
pub struct RuleSample {
    pub rule: String,
    /// As in the marker that redaction writes.
    pub kind: String,
    pub axis: crate::ScanAxis,
    pub text: String,
    /// Byte ranges of the generated parts; none may survive redaction.
    pub parts: Vec<Range<usize>>,
}

impl RuleSample {
    /// Returns the longest generated part.
    pub fn secret(&self) -> &str {
        let longest = self.parts.iter().max_by_key(|part| part.len());
        longest.map_or("", |part| &self.text[part.clone()])
    }
}

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const ALPHABETS: &[(&str, &[u8])] = &[
    (
        "alnum",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    ),
    (
        "alpha",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    ("lower", LOWER),
    ("upper", UPPER),
    ("base32", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    ("digit", b"0123456789"),
    ("hex", b"0123456789abcdef"),
    (
        "base64",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    ),
    (
        "base64url",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ),
];

/// Returns one sample per template of every rule; the seed determines the secrets.
pub fn samples_of_every_rule(seed: u64) -> Vec<RuleSample> {
    let mut samples = Vec::new();
    for rule in RULES.iter() {
        for template in &rule.samples {
            // Seeded by rule and template, so that adding a rule does not change other samples.
            let mut chance =
                SampleRng(seed ^ fnv1a(rule.id.as_bytes()) ^ fnv1a(template.as_bytes()));
            let (text, parts) = fill_template(template, &mut chance);
            samples.push(RuleSample {
                rule: rule.id.clone(),
                kind: rule.kind.clone(),
                axis: rule.axis,
                text,
                parts,
            });
        }
    }
    samples
}

/// Deterministic pseudo-random generator (LCG).
struct SampleRng(u64);

impl SampleRng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            // Knuth's MMIX constants; the upper bits, used below, are the random ones.
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn characters(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut one = || char::from(alphabet[self.below(alphabet.len())]);
        // Starts and ends with a letter or digit: a delimiter there would belong to the sentence.
        let mut text = String::with_capacity(count);
        while text.len() < count {
            let c = one();
            let end = text.is_empty() || text.len() + 1 == count;
            if c.is_ascii_alphanumeric() || !end {
                text.push(c);
            }
        }
        text
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    // FNV-1a.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Expands `{class:count}`, `{uuid}` and `{word:literal}`; also returns the ranges of
/// generated characters.
fn fill_template(template: &str, chance: &mut SampleRng) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        let close = rest.find('}').expect("a template closes its braces");
        let (class, count) = rest[..close]
            .split_once(':')
            .unwrap_or((&rest[..close], ""));
        let start = text.len();
        match class {
            "word" => text.push_str(count),
            "uuid" => text.push_str(&random_uuid(chance)),
            class => {
                let (_, alphabet) = ALPHABETS
                    .iter()
                    .find(|(name, _)| *name == class)
                    .expect("a template names an alphabet");
                let count = count.parse().expect("a template counts");
                text.push_str(&chance.characters(alphabet, count));
            }
        }
        if class != "word" {
            parts.push(start..text.len());
        }
        rest = &rest[close + 1..];
    }
    text.push_str(rest);
    (text, parts)
}

fn random_uuid(chance: &mut SampleRng) -> String {
    let mut hex = |count| chance.characters(b"0123456789abcdef", count);
    format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))
}
