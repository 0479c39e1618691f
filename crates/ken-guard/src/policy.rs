//! What the guard knows beside its rules: names not to be written, and secrets it has seen.
//!
//! A seen secret is kept as a keyed fingerprint only. The key lives with the user, never in a repository: without
//! it, a short password could be guessed from its fingerprint.

use std::collections::BTreeSet;
use std::fmt;

use aho_corasick::AhoCorasick;

use crate::axis::Axis;
use crate::scan::{Hit, TextMode};
use crate::verdict::Severity;

/// Shorter words are too common to be recognised again.
const KNOWN_CHARS_MIN: usize = 6;

/// Bytes of a fingerprint that are kept: enough that two secrets never meet, too few to be worth keeping elsewhere.
const FINGERPRINT_BYTES: usize = 8;

/// A user's key for fingerprints.
#[derive(Clone)]
pub struct FingerprintKey([u8; 32]);

/// What a secret is recognised by: a keyed hash, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(String);

/// What a user configured; the default knows nothing.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    names: Option<AhoCorasick>,
    key: Option<FingerprintKey>,
    known: BTreeSet<Fingerprint>,
}

impl FingerprintKey {
    /// Takes 32 bytes that nobody else has.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns what `secret` is recognised by.
    pub fn fingerprint(&self, secret: &str) -> Fingerprint {
        let hash = blake3::keyed_hash(&self.0, secret.as_bytes());
        let kept = &hash.as_bytes()[..FINGERPRINT_BYTES];
        Fingerprint(kept.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl Fingerprint {
    /// Reads a fingerprint written before.
    pub fn parse(text: &str) -> Option<Self> {
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let whole = text.len() == FINGERPRINT_BYTES * 2 && text.bytes().all(hexadecimal);
        whole.then(|| Self(text.to_owned()))
    }

    /// Returns the text that [`Self::parse`] reads.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Policy {
    /// Takes names of organisations, customers and projects that no statement may carry.
    #[must_use]
    pub fn with_names<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        let build = || {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(&names)
                .ok()
        };
        self.names = (!names.is_empty()).then(build).flatten();
        self
    }

    /// Takes the user's key and the fingerprints of secrets seen before.
    #[must_use]
    pub fn with_known(mut self, key: FingerprintKey, known: BTreeSet<Fingerprint>) -> Self {
        self.key = Some(key);
        self.known = known;
        self
    }

    /// Returns the user's key.
    pub fn key(&self) -> Option<&FingerprintKey> {
        self.key.as_ref()
    }

    pub(crate) fn hits(&self, text: &str, mode: TextMode) -> Vec<Hit> {
        let mut hits = self.known_secrets(text);
        if mode == TextMode::Statement {
            hits.extend(self.named(text));
        }
        hits
    }

    fn named(&self, text: &str) -> Vec<Hit> {
        let Some(names) = &self.names else {
            return Vec::new();
        };
        let word = |c: char| c.is_alphanumeric();
        let whole = |start: usize, end: usize| {
            !text[..start].ends_with(word) && !text[end..].starts_with(word)
        };
        names
            .find_overlapping_iter(text)
            .filter(|found| {
                text.is_char_boundary(found.start()) && text.is_char_boundary(found.end())
            })
            .filter(|found| whole(found.start(), found.end()))
            .map(|found| Hit {
                rule: "listed-name",
                kind: "listed-name",
                severity: Severity::High,
                axis: Axis::Sanitisation,
                span: found.range(),
            })
            .collect()
    }

    /// Finds words that are secrets seen before, whatever stands around them now.
    fn known_secrets(&self, text: &str) -> Vec<Hit> {
        let Some(key) = self.key.as_ref().filter(|_| !self.known.is_empty()) else {
            return Vec::new();
        };
        let mut hits = Vec::new();
        for (start, word) in words(text) {
            // A secret is often written behind a name or in front of a full stop.
            let bare = word.trim_end_matches(['.', ':', '!', '?']);
            let value = bare.rsplit(['=', ':']).next().unwrap_or(bare);
            let behind = start + bare.len() - value.len();
            let candidates = [(start, word), (start, bare), (behind, value)];
            let known = |(_, it): &(usize, &str)| {
                KNOWN_CHARS_MIN <= it.len() && self.known.contains(&key.fingerprint(it))
            };
            hits.extend(candidates.into_iter().find(known).map(|(start, it)| Hit {
                rule: "known-secret",
                kind: "known-secret",
                severity: Severity::Critical,
                axis: Axis::CredentialLeakage,
                span: start..start + it.len(),
            }));
        }
        hits
    }
}

/// Returns what stands between blanks, quotes and brackets, with where it starts.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    let between = |c: char| c.is_whitespace() || "\"'`()<>,;[]{}".contains(c);
    text.split_inclusive(between).map(move |word| {
        let at = start;
        start += word.len();
        (at, word.trim_end_matches(between))
    })
}

/// Leaves the key out.
impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(policy: &Policy, text: &str, mode: TextMode) -> Vec<&'static str> {
        policy.hits(text, mode).iter().map(|hit| hit.rule).collect()
    }

    #[test]
    fn sec_04_listed_names_are_found_as_whole_words_in_statements() {
        let policy = Policy::default().with_names(["Umbrella Corp", "ACME", " "]);
        for text in ["ask acme first", "Umbrella Corp's gate", "(ACME)"] {
            assert_eq!(
                rules(&policy, text, TextMode::Statement),
                ["listed-name"],
                "{text}"
            );
            assert!(
                rules(&policy, text, TextMode::Prose).is_empty(),
                "evidence may: {text}"
            );
        }
        assert!(rules(&policy, "acmeism is no name", TextMode::Statement).is_empty());
    }

    #[test]
    fn a_secret_seen_before_is_recognised_without_its_surroundings() {
        let key = FingerprintKey::new([7; 32]);
        let known = BTreeSet::from([key.fingerprint("tulip-from-amsterdam")]);
        let policy = Policy::default().with_known(key, known);
        for text in [
            "use tulip-from-amsterdam.",
            "x=tulip-from-amsterdam",
            "(tulip-from-amsterdam)",
        ] {
            let hits = policy.hits(text, TextMode::Prose);
            assert_eq!(
                &text[hits[0].span.clone()],
                "tulip-from-amsterdam",
                "{text}"
            );
        }
        assert!(rules(&policy, "use tulip-from-rotterdam", TextMode::Prose).is_empty());
    }

    #[test]
    fn fingerprints_depend_on_the_key_and_are_read_back() {
        let (one, other) = (FingerprintKey::new([1; 32]), FingerprintKey::new([2; 32]));
        let print = one.fingerprint("secret");
        assert_ne!(print, other.fingerprint("secret"));
        assert_eq!(Fingerprint::parse(print.as_str()), Some(print));
        assert_eq!(Fingerprint::parse("zz"), None);
        assert_eq!(format!("{one:?}"), "FingerprintKey");
    }
}
