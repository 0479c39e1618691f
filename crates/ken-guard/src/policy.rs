//! User configuration of the guard: listed names and fingerprints of known secrets.
//!
//! A known secret is stored only as a keyed fingerprint. The key stays with the user, never in a
//! repository: without a key, a short password could be guessed from its fingerprint.

use std::collections::BTreeSet;
use std::fmt;

use aho_corasick::AhoCorasick;

use crate::axis::ScanAxis;
use crate::scan::{RuleHit, TextMode};
use crate::verdict::FindingSeverity;

/// Minimum length of a known secret; shorter words are too common.
const KNOWN_CHARS_MIN: usize = 6;

/// Stored bytes of a fingerprint: enough to avoid collisions, too few to be useful elsewhere.
const FINGERPRINT_BYTES: usize = 8;

/// A user's key for fingerprints.
#[derive(Clone)]
pub struct FingerprintKey([u8; 32]);

/// Fingerprint of a secret: a keyed hash in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretFingerprint(String);

/// User configuration; empty by default.
#[derive(Clone, Debug, Default)]
pub struct GuardPolicy {
    names: Option<AhoCorasick>,
    key: Option<FingerprintKey>,
    known: BTreeSet<SecretFingerprint>,
}

impl FingerprintKey {
    /// Creates a key from 32 secret bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the fingerprint of `secret`.
    pub fn fingerprint(&self, secret: &str) -> SecretFingerprint {
        let hash = blake3::keyed_hash(&self.0, secret.as_bytes());
        let kept = &hash.as_bytes()[..FINGERPRINT_BYTES];
        SecretFingerprint(kept.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl SecretFingerprint {
    /// Parses a stored fingerprint.
    pub fn parse(text: &str) -> Option<Self> {
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let whole = text.len() == FINGERPRINT_BYTES * 2 && text.bytes().all(hexadecimal);
        whole.then(|| Self(text.to_owned()))
    }

    /// Returns the text that [`Self::parse`] accepts.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl GuardPolicy {
    /// Sets names of organizations, customers and projects that no statement, body or verification
    /// step may contain.
    #[must_use]
    pub fn with_names<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<String> = names
            .into_iter()
            .map(|name| collapse_spaces(name.trim()).0)
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

    /// Sets the user's key and the fingerprints of known secrets.
    #[must_use]
    pub fn with_known(mut self, key: FingerprintKey, known: BTreeSet<SecretFingerprint>) -> Self {
        self.key = Some(key);
        self.known = known;
        self
    }

    /// Returns the user's key.
    pub fn key(&self) -> Option<&FingerprintKey> {
        self.key.as_ref()
    }

    /// Returns a token that changes with the rules and the known secrets: text redacted under
    /// another token must be redacted again.
    pub fn redaction_token(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(crate::RULE_SET.as_bytes());
        for print in &self.known {
            hasher.update(print.as_str().as_bytes());
        }
        hasher.finalize().to_hex()[..FINGERPRINT_BYTES * 2].to_owned()
    }

    /// Returns whether the user lists no names and no known secrets.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_none() && self.known.is_empty()
    }

    pub(crate) fn hits(&self, text: &str, mode: TextMode) -> Vec<RuleHit> {
        let mut hits = self.find_known_secrets(text);
        if mode.is_shared() {
            hits.extend(self.named(text));
        }
        hits
    }

    fn named(&self, text: &str) -> Vec<RuleHit> {
        let Some(names) = &self.names else {
            return Vec::new();
        };
        let (text, offsets) = collapse_spaces(text);
        // Whole words only: a short name occurs inside many others.
        let word = |c: char| c.is_alphanumeric();
        let whole = |start: usize, end: usize| {
            !text[..start].ends_with(word) && !text[end..].starts_with(word)
        };
        names
            .find_overlapping_iter(&text)
            .filter(|found| {
                text.is_char_boundary(found.start()) && text.is_char_boundary(found.end())
            })
            .filter(|found| whole(found.start(), found.end()))
            .map(|found| RuleHit {
                rule: "listed-name",
                kind: "listed-name",
                severity: FindingSeverity::High,
                axis: ScanAxis::Sanitization,
                span: offsets[found.start()]..offsets[found.end() - 1] + 1,
            })
            .collect()
    }

    /// Finds known secrets regardless of their context.
    fn find_known_secrets(&self, text: &str) -> Vec<RuleHit> {
        // Hashing every word is costly, so it happens only with known secrets.
        let Some(key) = self.key.as_ref().filter(|_| !self.known.is_empty()) else {
            return Vec::new();
        };
        let mut hits = Vec::new();
        for (start, word) in split_words(text) {
            // A secret is often written after a name or before a full stop.
            let bare = word.trim_end_matches(['.', ':', '!', '?']);
            let value = bare.rsplit(['=', ':']).next().unwrap_or(bare);
            let behind = start + bare.len() - value.len();
            // Longest first, because the secret itself may contain these characters.
            let candidates = [(start, word), (start, bare), (behind, value)];
            let known = |(_, value): &(usize, &str)| {
                value.len() >= KNOWN_CHARS_MIN && self.known.contains(&key.fingerprint(value))
            };
            hits.extend(
                candidates
                    .into_iter()
                    .find(known)
                    .map(|(start, value)| RuleHit {
                        rule: "known-secret",
                        kind: "known-secret",
                        severity: FindingSeverity::Critical,
                        axis: ScanAxis::CredentialLeakage,
                        span: start..start + value.len(),
                    }),
            );
        }
        hits
    }
}

/// Returns the text with each run of spaces and line breaks as one space, and for each of its bytes
/// the offset in the original.
fn collapse_spaces(text: &str) -> (String, Vec<usize>) {
    let mut collapsed = String::with_capacity(text.len());
    let mut offsets = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if !c.is_whitespace() {
            collapsed.push(c);
            offsets.extend(at..at + c.len_utf8());
        } else if !collapsed.ends_with(' ') {
            collapsed.push(' ');
            offsets.push(at);
        }
    }
    (collapsed, offsets)
}

/// Returns the words between spaces, quotes and brackets, with their offsets.
fn split_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    let between = |c: char| c.is_whitespace() || "\"'`()<>,;[]{}".contains(c);
    text.split_inclusive(between).map(move |word| {
        let at = start;
        start += word.len();
        (at, word.trim_end_matches(between))
    })
}

/// Omits the key.
impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(policy: &GuardPolicy, text: &str, mode: TextMode) -> Vec<&'static str> {
        policy.hits(text, mode).iter().map(|hit| hit.rule).collect()
    }

    #[test]
    fn listed_names_are_found_as_whole_words_in_statements() {
        let policy = GuardPolicy::default().with_names(["Umbrella Corp", "ACME", " "]);
        for text in [
            "ask acme first",
            "Umbrella  Corp's gate",
            "Umbrella\nCorp",
            "(ACME)",
        ] {
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
    fn a_secret_seen_before_is_recognized_without_its_surroundings() {
        let key = FingerprintKey::new([7; 32]);
        let known = BTreeSet::from([key.fingerprint("tulip-from-amsterdam")]);
        let policy = GuardPolicy::default().with_known(key, known);
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
        assert_eq!(SecretFingerprint::parse(print.as_str()), Some(print));
        assert_eq!(SecretFingerprint::parse("zz"), None);
        assert_eq!(format!("{one:?}"), "FingerprintKey");
    }
}
