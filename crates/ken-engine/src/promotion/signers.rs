//! `.ken/allowed_signers`: whose SSH signatures approve, as OpenSSH writes it, and whether a signature is good.
//!
//! The file is policy, so the committed version counts: an edit nobody committed adds no signer. A line this build
//! cannot read adds nobody. Signatures are made with the user's own `ssh-keygen -Y sign`; Ken holds no key.

use ken_anchor::Tree;
use ken_core::time::Timestamp;
use ken_ledger::Place;
use ken_ledger::layout::KEN_DIR;
use ssh_key::public::{EcdsaPublicKey, KeyData};
use ssh_key::{PublicKey, SshSig};

use crate::error::Error;
use crate::validity::{CommitTree, WorkTree};

/// The file's name below `.ken/`.
pub const SIGNERS_FILE: &str = "allowed_signers";

/// What a signature must say it is for.
pub const NAMESPACE: &str = "ken";

/// Bytes a signature may have; those of Ed25519 and P-256 keys have a few hundred.
const SIGNATURE_BYTES_MAX: usize = 4096;

/// Lines that are read; more is no list of people.
const LINES_MAX: usize = 10_000;

/// Who may sign.
#[derive(Clone, Debug, Default)]
pub struct Signers {
    signers: Vec<Signer>,
    /// Lines that could not be read, counted from one.
    pub unread: Vec<usize>,
}

/// One line of the file.
#[derive(Clone, Debug)]
struct Signer {
    /// Patterns; one with `!` before it takes away.
    principals: Vec<String>,
    key: KeyData,
    options: Options,
}

/// What a line says about its key.
#[derive(Clone, Debug, Default)]
struct Options {
    /// Patterns; any namespace without them.
    namespaces: Option<Vec<String>>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Options {
    /// Reads options; `None` for one that cannot be honoured, such as a certificate authority's.
    fn parse(text: &str) -> Option<Self> {
        let mut options = Self::default();
        for option in split_outside_quotes(text, ',') {
            let (name, value) = option.split_once('=')?;
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            match name.to_ascii_lowercase().as_str() {
                "namespaces" => options.namespaces = Some(patterns(value)),
                "valid-after" => options.after = Some(time(value)?),
                "valid-before" => options.before = Some(time(value)?),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Why a signature does not approve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("this repository wants approvals signed")]
    Missing,
    #[error("this is no SSH signature")]
    Malformed,
    #[error("the signature is for `{0}`, not for `{NAMESPACE}`")]
    Namespace(String),
    #[error("the key is of type {0}, which ken cannot check; use an Ed25519 or ECDSA P-256 key")]
    Unsupported(String),
    #[error("nobody in `.ken/allowed_signers` has this key")]
    Unknown,
    #[error("the key is not {0}'s")]
    SomebodyElse(String),
    #[error("the key was not allowed at that time")]
    OutOfTime,
    #[error("the signature is not over this artifact, or is broken")]
    Altered,
}

impl Signers {
    /// Reads who may sign in the last commit, or in the folder outside git; `None` where there is no such file.
    pub(crate) fn in_force(place: &Place) -> Result<Option<Self>, Error> {
        if place.git.is_none() {
            return Self::of(&WorkTree::new(place)?);
        }
        match CommitTree::named(place, "HEAD") {
            Ok(tree) => Self::of(&tree),
            // Before the first commit nothing is decided.
            Err(Error::Usage(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads who may sign in one version.
    pub(crate) fn of(tree: &dyn Tree) -> Result<Option<Self>, Error> {
        let read = tree.read(&format!("{KEN_DIR}/{SIGNERS_FILE}"))?;
        Ok(read.map(|bytes| Self::parse(&String::from_utf8_lossy(&bytes))))
    }

    /// Reads the file's text.
    pub fn parse(text: &str) -> Self {
        let mut read = Self::default();
        for (at, line) in text.lines().enumerate().take(LINES_MAX) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match Signer::parse(line) {
                Some(signer) => read.signers.push(signer),
                None => read.unread.push(at + 1),
            }
        }
        read
    }

    /// Checks that `name` signed `bytes`, with a key that was allowed at `at`.
    pub fn check(
        &self,
        signature: &str,
        bytes: &[u8],
        name: &str,
        at: Timestamp,
    ) -> Result<(), SignatureError> {
        if SIGNATURE_BYTES_MAX < signature.len() {
            return Err(SignatureError::Malformed);
        }
        let signature =
            SshSig::from_pem(signature.trim_end()).map_err(|_| SignatureError::Malformed)?;
        if signature.namespace() != NAMESPACE {
            let namespace = signature.namespace().to_owned();
            return Err(SignatureError::Namespace(namespace));
        }
        let key = signature.public_key();
        if !is_checked(key) {
            let kind = key.algorithm().to_string();
            return Err(SignatureError::Unsupported(kind));
        }
        let known: Vec<&Signer> = self.signers.iter().filter(|it| it.has(key)).collect();
        if known.is_empty() {
            return Err(SignatureError::Unknown);
        }
        let known: Vec<&Signer> = known.into_iter().filter(|it| it.is(name)).collect();
        if known.is_empty() {
            return Err(SignatureError::SomebodyElse(name.to_owned()));
        }
        if !known.iter().any(|it| it.is_allowed_at(at)) {
            return Err(SignatureError::OutOfTime);
        }
        let verified = PublicKey::from(key.clone()).verify(NAMESPACE, bytes, &signature);
        verified.map_err(|_| SignatureError::Altered)
    }
}

impl Signer {
    /// Reads one line: principals, options if any, key type, key, comment.
    fn parse(line: &str) -> Option<Self> {
        let (principals, rest) = field(line)?;
        let (second, after) = field(rest)?;
        let (options, key) = match is_key_type(&second) {
            true => (Options::default(), rest),
            false => (Options::parse(&second)?, after),
        };
        let principals = patterns(&principals);
        let key = PublicKey::from_openssh(key.trim()).ok()?;
        (!principals.is_empty()).then(|| Self {
            principals,
            key: key.key_data().clone(),
            options,
        })
    }

    fn has(&self, key: &KeyData) -> bool {
        let here = self.options.namespaces.as_ref();
        self.key == *key && here.is_none_or(|it| matches(it, NAMESPACE))
    }

    fn is(&self, name: &str) -> bool {
        matches(&self.principals, name)
    }

    fn is_allowed_at(&self, at: Timestamp) -> bool {
        let Options { after, before, .. } = self.options;
        after.is_none_or(|after| after <= at) && before.is_none_or(|before| at < before)
    }
}

/// Returns whether signatures of such a key can be checked. RSA is left out: the one library there is for it has an open
/// advisory, and a new key is made in a second.
fn is_checked(key: &KeyData) -> bool {
    matches!(
        key,
        KeyData::Ed25519(_)
            | KeyData::SkEd25519(_)
            | KeyData::Ecdsa(EcdsaPublicKey::NistP256(_))
            | KeyData::SkEcdsaSha2NistP256(_)
    )
}

/// Splits off the first field, which may stand in quotes or hold some.
fn field(text: &str) -> Option<(String, &str)> {
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

fn split_outside_quotes(text: &str, at: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c == at && !quoted
    })
    .collect()
}

fn is_key_type(word: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|it| word.starts_with(it))
}

fn patterns(text: &str) -> Vec<String> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Returns whether a list of patterns takes in `text`: one matches, and none with `!` before it.
fn matches(patterns: &[String], text: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(not) if is_like(not, text) => return false,
            Some(_) => {}
            None => found |= is_like(pattern, text),
        }
    }
    found
}

/// Returns whether `text` is like `pattern`, in which `*` stands for anything and `?` for one character.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // Which beginnings of `text` the pattern read so far fits.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for wanted in pattern {
        if wanted == '*' {
            for at in 1..fits.len() {
                fits[at] |= fits[at - 1];
            }
            continue;
        }
        for at in (1..fits.len()).rev() {
            fits[at] = fits[at - 1] && (wanted == '?' || wanted == text[at - 1]);
        }
        fits[0] = false;
    }
    fits[text.len()]
}

/// Reads `YYYYMMDD` or `YYYYMMDDHHMM[SS]`, with or without a `Z`, as UTC: which zone a machine is in must not decide.
fn time(text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if !digits.bytes().all(|b| b.is_ascii_digit()) || ![8, 12, 14].contains(&digits.len()) {
        return None;
    }
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
            let read = Signers::parse(&line);
            assert_eq!((read.signers.len(), read.unread.len()), (1, 0), "{line}");
            assert!(read.signers[0].is("ada@example.org"), "{line}");
            assert!(!read.signers[0].is("eve@example.org"), "{line}");
        }
        let bad = [
            "ada@example.org".to_owned(),
            format!("ada@example.org cert-authority {KEY}"),
            format!("ada@example.org valid-before=\"soon\" {KEY}"),
            format!("ada@example.org valid-before=20270101 {KEY}"),
            "ada@example.org ssh-ed25519 AAAA".to_owned(),
        ];
        for line in bad {
            let read = Signers::parse(&format!("# people\n\n{line}\n"));
            assert_eq!((read.signers.len(), read.unread), (0, vec![3]), "{line}");
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
            assert_eq!(is_like(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_key_for_another_namespace_is_not_ours() {
        let read = Signers::parse(&format!("ada namespaces=\"git\" {KEY}"));
        let signer = &read.signers[0];
        assert!(!signer.has(&signer.key));
    }

    #[test]
    fn times_are_utc_and_end_before_their_end() {
        let read = Signers::parse(&format!(
            "ada valid-after=\"20260102\",valid-before=\"20260103\" {KEY}"
        ));
        let at = |text: &str| read.signers[0].is_allowed_at(text.parse().unwrap());
        assert!(!at("2026-01-01T23:59:59Z"));
        assert!(at("2026-01-02T00:00:00Z"));
        assert!(at("2026-01-02T23:59:59Z"));
        assert!(!at("2026-01-03T00:00:00Z"));
    }
}
