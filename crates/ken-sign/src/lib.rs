//! Allowed signers in OpenSSH format, and verification of SSH signatures.
//!
//! A line that cannot be parsed adds no signer. Users sign with `ssh-keygen -Y sign`; Ken holds no
//! key. Opens no file: a repository reads `.ken/allowed_signers`, a hub its database.

mod publisher_key;

use ken_core::ledger::event::Event;
use ken_core::values::time::Timestamp;
use ssh_key::public::{EcdsaPublicKey, KeyData};
use ssh_key::{HashAlg, PublicKey, SshSig};

pub use publisher_key::PublisherKey;

/// Required namespace of signatures of decisions.
pub const NAMESPACE: &str = "ken";

/// Maximum bytes of a signature; those of Ed25519 and P-256 keys have a few hundred.
const SIGNATURE_BYTES_MAX: usize = 4096;

/// Maximum number of lines read.
const LINES_MAX: usize = 10_000;

/// Signers allowed to approve.
#[derive(Clone, Debug, Default)]
pub struct AllowedSigners {
    signers: Vec<AllowedSigner>,
    /// Numbers of invalid lines, starting at 1.
    pub invalid_lines: Vec<usize>,
}

/// Line of the file.
#[derive(Clone, Debug)]
struct AllowedSigner {
    /// Patterns; a leading `!` excludes.
    principals: Vec<String>,
    key: KeyData,
    options: SignerOptions,
}

/// Options of a line.
#[derive(Clone, Debug, Default)]
struct SignerOptions {
    /// Allowed namespaces as patterns; `None` allows any.
    namespaces: Option<Vec<String>>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl SignerOptions {
    /// Parses options; `None` for an unsupported one, such as `cert-authority`.
    fn parse(text: &str) -> Option<Self> {
        let mut options = Self::default();
        for option in split_outside_quotes(text, ',') {
            let (name, value) = option.split_once('=')?;
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            match name.to_ascii_lowercase().as_str() {
                "namespaces" => options.namespaces = Some(split_patterns(value)),
                "valid-after" => options.after = Some(parse_time(value)?),
                "valid-before" => options.before = Some(parse_time(value)?),
                // Ignoring an unknown option could widen the permission it restricts.
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Reason why a signature is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("this repository requires signed approvals")]
    Missing,
    #[error("this is not a valid SSH signature")]
    Malformed,
    #[error("the signature is for `{0}`, not for `{NAMESPACE}`")]
    Namespace(String),
    #[error("keys of type {0} are not supported; use an Ed25519 or ECDSA P-256 key")]
    Unsupported(String),
    #[error("this key is not in `.ken/allowed_signers`")]
    Unknown,
    #[error("the key does not belong to {0}")]
    WrongPrincipal(String),
    #[error("the key was not valid at that time")]
    NotValidThen,
    #[error("the signature does not match this artifact")]
    Altered,
}

impl AllowedSigners {
    /// Verifies that the author of an event stands by it: the event carries their signature.
    pub fn verify_event(&self, event: &Event) -> Result<(), SignatureError> {
        let signature = event.signature.as_ref().ok_or(SignatureError::Missing)?;
        let bytes = event.decision_bytes().ok_or(SignatureError::Altered)?;
        // A key is judged by the time of the event: it may have expired since.
        self.verify(signature, &bytes, event.by.name(), event.at.wall)
    }

    /// Parses the text of the file.
    pub fn parse(text: &str) -> Self {
        let mut read = Self::default();
        for (at, line) in text.lines().enumerate().take(LINES_MAX) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match AllowedSigner::parse(line) {
                Some(signer) => read.signers.push(signer),
                None => read.invalid_lines.push(at + 1),
            }
        }
        read
    }

    /// Verifies that `name` signed `bytes` with a key that was allowed at time `at`.
    pub fn verify(
        &self,
        signature: &str,
        bytes: &[u8],
        name: &str,
        at: Timestamp,
    ) -> Result<(), SignatureError> {
        if signature.len() > SIGNATURE_BYTES_MAX {
            return Err(SignatureError::Malformed);
        }
        let signature =
            SshSig::from_pem(signature.trim_end()).map_err(|_| SignatureError::Malformed)?;
        // A signature made for another purpose, such as a git commit, must not approve.
        if signature.namespace() != NAMESPACE {
            let namespace = signature.namespace().to_owned();
            return Err(SignatureError::Namespace(namespace));
        }
        let key = signature.public_key();
        if !is_supported_key(key) {
            let kind = key.algorithm().to_string();
            return Err(SignatureError::Unsupported(kind));
        }
        // Checked in this order so that the error names the first requirement that fails.
        let known: Vec<&AllowedSigner> = self
            .signers
            .iter()
            .filter(|it| it.matches_key(key))
            .collect();
        if known.is_empty() {
            return Err(SignatureError::Unknown);
        }
        let own: Vec<&AllowedSigner> = known
            .into_iter()
            .filter(|it| it.matches_principal(name))
            .collect();
        if own.is_empty() {
            return Err(SignatureError::WrongPrincipal(name.to_owned()));
        }
        if !own.iter().any(|it| it.is_allowed_at(at)) {
            return Err(SignatureError::NotValidThen);
        }
        // The key comes from the signature itself and counts only because it is in the list.
        let verified = PublicKey::from(key.clone()).verify(NAMESPACE, bytes, &signature);
        verified.map_err(|_| SignatureError::Altered)
    }
}

/// Public key of a single signer, such as the key of releases.
#[derive(Clone, Debug)]
pub struct SignerKey(PublicKey);

impl SignerKey {
    /// Parses the line of a `.pub` file; `None` if it is not a key that Ken supports.
    pub fn parse(line: &str) -> Option<Self> {
        let key = PublicKey::from_openssh(line.trim()).ok()?;
        is_supported_key(key.key_data()).then_some(Self(key))
    }

    /// Returns whether the key is an Ed25519 key in a file or an agent.
    #[must_use]
    pub fn is_ed25519(&self) -> bool {
        matches!(self.0.key_data(), KeyData::Ed25519(_))
    }

    /// Returns the SHA-256 digest of the public key.
    #[must_use]
    pub fn fingerprint_bytes(&self) -> [u8; 32] {
        let fingerprint = self.0.fingerprint(HashAlg::Sha256);
        // A SHA-256 fingerprint was asked for.
        fingerprint.sha256().unwrap_or_default()
    }

    /// Returns the fingerprint as `ssh-keygen -l` prints it: `SHA256:…`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// Returns whether this key signed `bytes` for the purpose `namespace`.
    #[must_use]
    pub fn has_signed(&self, signature: &str, namespace: &str, bytes: &[u8]) -> bool {
        signature.len() <= SIGNATURE_BYTES_MAX
            && SshSig::from_pem(signature.trim_end())
                .is_ok_and(|it| self.0.verify(namespace, bytes, &it).is_ok())
    }
}

impl AllowedSigner {
    /// Parses a line: principals, optional options, key type, key, comment.
    fn parse(line: &str) -> Option<Self> {
        let (principals, rest) = split_field(line)?;
        let (second, after) = split_field(rest)?;
        let (options, key) = if is_key_type(&second) {
            (SignerOptions::default(), rest)
        } else {
            (SignerOptions::parse(&second)?, after)
        };
        let principals = split_patterns(&principals);
        let key = PublicKey::from_openssh(key.trim()).ok()?;
        (!principals.is_empty()).then(|| Self {
            principals,
            key: key.key_data().clone(),
            options,
        })
    }

    /// Returns true if the line is for this key and for our namespace.
    fn matches_key(&self, key: &KeyData) -> bool {
        let here = self.options.namespaces.as_ref();
        self.key == *key && here.is_none_or(|it| matches_patterns(it, NAMESPACE))
    }

    /// Returns true if the line is for this principal.
    fn matches_principal(&self, name: &str) -> bool {
        matches_patterns(&self.principals, name)
    }

    /// Returns true if the key is valid at a time; the end is exclusive.
    fn is_allowed_at(&self, at: Timestamp) -> bool {
        let SignerOptions { after, before, .. } = self.options;
        after.is_none_or(|after| after <= at) && before.is_none_or(|before| at < before)
    }
}

/// Returns true for supported key types. RSA is not supported, because the only library for it has
/// an open security advisory, and a new key is quickly made.
fn is_supported_key(key: &KeyData) -> bool {
    matches!(
        key,
        KeyData::Ed25519(_)
            | KeyData::SkEd25519(_)
            | KeyData::Ecdsa(EcdsaPublicKey::NistP256(_))
            | KeyData::SkEcdsaSha2NistP256(_)
    )
}

/// Splits off the first field, which may be quoted or contain quoted parts.
fn split_field(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let mut quoted = false;
    let end = text.find(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    let (first, rest) = text.split_at(end.unwrap_or(text.len()));
    let whole = first.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let first = whole.unwrap_or(first).to_owned();
    (!first.is_empty()).then_some((first, rest))
}

/// Splits a text at a character outside double quotes.
fn split_outside_quotes(text: &str, at: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c == at && !quoted
    })
    .collect()
}

/// Returns true if a field is a key type, not options.
fn is_key_type(word: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|it| word.starts_with(it))
}

/// Splits a comma-separated list of patterns.
fn split_patterns(text: &str) -> Vec<String> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Returns true if a pattern matches `text` and no pattern with a leading `!` does.
fn matches_patterns(patterns: &[String], text: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(not) if matches_glob(not, text) => return false,
            Some(_) => {}
            None => found |= matches_glob(pattern, text),
        }
    }
    found
}

/// Matches `text` against `pattern`, where `*` is any text and `?` is one character.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // `fits[n]` is true if the pattern so far matches the first `n` characters. This takes time
    // proportional to the product of the lengths, while backtracking over `*` is exponential.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for wanted in pattern {
        if wanted == '*' {
            for at in 1..fits.len() {
                fits[at] |= fits[at - 1];
            }
            continue;
        }
        // From the end: `fits[at - 1]` must still be the value for the previous pattern.
        for at in (1..fits.len()).rev() {
            fits[at] = fits[at - 1] && (wanted == '?' || wanted == text[at - 1]);
        }
        fits[0] = false;
    }
    fits[text.len()]
}

/// Parses `YYYYMMDD` or `YYYYMMDDHHMM[SS]`, with or without `Z`, as UTC. OpenSSH uses local time
/// without `Z`, but validity must not depend on the machine's time zone.
fn parse_time(text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if !digits.bytes().all(|b| b.is_ascii_digit()) || ![8, 12, 14].contains(&digits.len()) {
        return None;
    }
    // Missing hours, minutes and seconds are zero.
    let padded = format!("{digits:0<14}");
    let part = |from: usize, to: usize| &padded[from..to];
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let (hour, minute, second) = (part(8, 10), part(10, 12), part(12, 14));
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn lines_are_read_as_openssh_writes_them() {
        let good = [
            format!("ada@example.org {KEY}"),
            format!("ada@example.org,bob@example.org {KEY} a comment"),
            format!("\"ada@example.org\" namespaces=\"ken,git\" {KEY}"),
            format!(
                "*@example.org,!eve@example.org valid-after=\"20260101\",valid-before=\"202701011200Z\" {KEY}"
            ),
        ];
        for line in good {
            let read = AllowedSigners::parse(&line);
            assert_eq!(
                (read.signers.len(), read.invalid_lines.len()),
                (1, 0),
                "{line}"
            );
            assert!(
                read.signers[0].matches_principal("ada@example.org"),
                "{line}"
            );
            assert!(
                !read.signers[0].matches_principal("eve@example.org"),
                "{line}"
            );
        }
        let bad = [
            "ada@example.org".to_owned(),
            format!("ada@example.org cert-authority {KEY}"),
            format!("ada@example.org valid-before=\"soon\" {KEY}"),
            format!("ada@example.org valid-before=20270101 {KEY}"),
            "ada@example.org ssh-ed25519 AAAA".to_owned(),
        ];
        for line in bad {
            let read = AllowedSigners::parse(&format!("# people\n\n{line}\n"));
            assert_eq!(
                (read.signers.len(), read.invalid_lines),
                (0, vec![3]),
                "{line}"
            );
        }
    }

    #[test]
    fn patterns_take_in_and_leave_out() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("?", "", false),
            ("a?c", "abc", true),
            ("ada", "adam", false),
            ("*@example.org", "ada@example.org", true),
            ("*@example.org", "ada@example.org.evil", false),
        ] {
            assert_eq!(matches_glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_key_for_another_namespace_is_not_ours() {
        let read = AllowedSigners::parse(&format!("ada namespaces=\"git\" {KEY}"));
        let signer = &read.signers[0];
        assert!(!signer.matches_key(&signer.key));
    }

    #[test]
    fn times_are_utc_and_end_before_their_end() {
        let read = AllowedSigners::parse(&format!(
            "ada valid-after=\"20260102\",valid-before=\"20260103\" {KEY}"
        ));
        let at = |text: &str| read.signers[0].is_allowed_at(text.parse().unwrap());
        assert!(!at("2026-01-01T23:59:59Z"));
        assert!(at("2026-01-02T00:00:00Z"));
        assert!(at("2026-01-02T23:59:59Z"));
        assert!(!at("2026-01-03T00:00:00Z"));
    }
}
