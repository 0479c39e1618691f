//! Fingerprints: short hashes of normalized code.
//!
//! The letter names the method, the digit after it the version of the normalization rules. Changed
//! rules take a new digit, because a fingerprint of other rules is not evidence of a change.

use std::fmt;
use std::str::FromStr;

/// Method a fingerprint was computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FingerprintMethod {
    /// `s1`: the syntax of a symbol, without comments and layout.
    Syntax,
    /// `l1`: non-empty lines, trimmed and with single blanks inside.
    Lines,
    /// `f1`: the lines of a whole file, normalized as for `l1`.
    File,
}

/// Hash of normalized code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    method: FingerprintMethod,
    digest: [u8; Fingerprint::BYTES],
}

/// A text that is not a valid fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fingerprint `{0}`: write `s1:`, `l1:` or `f1:` and 32 hexadecimal digits")]
pub struct FingerprintError(pub String);

impl FingerprintMethod {
    const ALL: [Self; 3] = [Self::Syntax, Self::Lines, Self::File];

    fn prefix(self) -> &'static str {
        match self {
            Self::Syntax => "s1:",
            Self::Lines => "l1:",
            Self::File => "f1:",
        }
    }
}

impl Fingerprint {
    /// Bytes kept of the hash; 128 bits make accidental collisions negligible.
    pub const BYTES: usize = 16;

    /// Returns the method.
    pub fn method(self) -> FingerprintMethod {
        self.method
    }

    /// Hashes consecutive pieces.
    pub(crate) fn of<'a>(
        method: FingerprintMethod,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Separates the domains: equal bytes under two methods have different digests.
        hasher.update(method.prefix().as_bytes());
        for piece in pieces {
            hasher.update(piece);
        }
        let mut digest = [0; Self::BYTES];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..Self::BYTES]);
        Self { method, digest }
    }

    /// Combines the fingerprints of symbols of one name, in source order.
    pub(crate) fn combined(all: &[Self]) -> Option<Self> {
        match all {
            [] => None,
            // One symbol keeps its own fingerprint, so `name` and `name[1]` compare equal.
            [only] => Some(*only),
            [first, ..] => Some(Self::of(first.method, all.iter().map(|it| &it.digest[..]))),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method.prefix())?;
        for byte in self.digest {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        parse(text).ok_or_else(|| FingerprintError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Fingerprint> {
    let (method, digits) = FingerprintMethod::ALL
        .into_iter()
        .find_map(|method| Some((method, text.strip_prefix(method.prefix())?)))?;
    // Capitals are rejected: text equality must be fingerprint equality.
    let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if digits.len() != 2 * Fingerprint::BYTES || !digits.bytes().all(plain) {
        return None;
    }
    let mut digest = [0; Fingerprint::BYTES];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(Fingerprint { method, digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_reads_back() {
        for method in FingerprintMethod::ALL {
            let taken = Fingerprint::of(method, [&b"x"[..]]);
            assert_eq!(taken.to_string().parse(), Ok(taken));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let good = Fingerprint::of(FingerprintMethod::Syntax, []).to_string();
        for bad in [
            "",
            "s1:",
            "s2:00000000000000000000000000000000",
            "s1:0000000000000000000000000000000",
            "s1:000000000000000000000000000000000",
            "s1:0000000000000000000000000000000G",
            "s1:éééééééééééééééé",
            &good.to_uppercase(),
        ] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }
}
