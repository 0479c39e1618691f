//! Format-valid secrets and attacks, put together at run time from the templates beside the rules.
//!
//! None of them may stand whole in the repository: push protection and other scanners would stop it.

use std::ops::Range;

use crate::rules::RULES;

/// A text that one rule must find.
#[derive(Clone, Debug)]
pub struct Sample {
    pub rule: String,
    /// As in the marker that redaction writes.
    pub kind: String,
    pub axis: crate::Axis,
    pub text: String,
    /// The made-up parts of it, in bytes: none may survive redaction.
    pub parts: Vec<Range<usize>>,
}

impl Sample {
    /// Returns the longest made-up part.
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

/// Returns one sample of every template of every rule; another seed gives other secrets.
pub fn of_every_rule(seed: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for rule in RULES.iter() {
        for template in &rule.samples {
            let mut chance = Chance(seed ^ fold(rule.id.as_bytes()) ^ fold(template.as_bytes()));
            let (text, parts) = filled(template, &mut chance);
            samples.push(Sample {
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

/// Looks random and is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn characters(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut one = || char::from(alphabet[self.below(alphabet.len())]);
        // The ends are letters or digits: a delimiter there would belong to the sentence.
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

fn fold(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Fills `{class:count}`, `{uuid}` and `{word:literal}`; returns where made-up characters stand.
fn filled(template: &str, chance: &mut Chance) -> (String, Vec<Range<usize>>) {
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
            "uuid" => text.push_str(&uuid(chance)),
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

fn uuid(chance: &mut Chance) -> String {
    let mut hex = |count| chance.characters(b"0123456789abcdef", count);
    format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))
}
