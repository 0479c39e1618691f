//! Fingerprints: what something said, in a few characters that can be kept.
//!
//! The letters say how it was taken, the number after them which rules were used. Rules that change take a
//! new number: a fingerprint of other rules is no sign of a change.

use std::fmt;
use std::str::FromStr;

/// How a fingerprint was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `s1`: the syntax of a symbol, without comments and layout.
    Syntax,
    /// `l1`: lines, each without blanks at its ends and with single blanks inside; empty ones left out.
    Lines,
    /// `f1`: the lines of a whole file, taken the same way.
    File,
}

/// What something said when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    method: Method,
    digest: [u8; Fingerprint::BYTES],
}

/// Why a text is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fingerprint `{0}`: it reads `s1:`, `l1:` or `f1:` and 32 hexadecimal digits")]
pub struct FingerprintError(pub String);

impl Method {
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
    /// Bytes that are kept of the hash: enough that two texts never share one by chance.
    pub const BYTES: usize = 16;

    /// Returns how it was taken.
    pub fn method(self) -> Method {
        self.method
    }

    /// Takes the fingerprint of pieces that follow each other.
    pub(crate) fn of<'a>(method: Method, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(method.prefix().as_bytes());
        for piece in pieces {
            hasher.update(piece);
        }
        let mut digest = [0; Self::BYTES];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..Self::BYTES]);
        Self { method, digest }
    }

    /// Returns one for several things of the same name, in their order.
    pub(crate) fn combined(all: &[Self]) -> Option<Self> {
        match all {
            [] => None,
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
    let (method, digits) = Method::ALL
        .into_iter()
        .find_map(|method| Some((method, text.strip_prefix(method.prefix())?)))?;
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
        for method in Method::ALL {
            let taken = Fingerprint::of(method, [&b"x"[..]]);
            assert_eq!(taken.to_string().parse(), Ok(taken));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let good = Fingerprint::of(Method::Syntax, []).to_string();
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
