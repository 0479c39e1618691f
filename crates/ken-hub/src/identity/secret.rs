//! Secret of a token: shown once, stored as a digest.
//!
//! A secret has 160 random bits and cannot be guessed, so a fast digest is sufficient.

use std::fmt;

use crate::clock;

/// Prefix of every secret, so that secret scanners can recognize it.
pub const PREFIX: &str = "ken_";

/// Characters after the prefix, five bits each.
const CHARS: usize = 32;

/// Crockford's base 32 alphabet: without the easily confused letters i, l, o and u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Secret of a token. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// Generates a secret.
    #[must_use]
    pub fn generate() -> Self {
        let bits = [clock::random_u128(), clock::random_u128()];
        let digit = |n: usize| {
            // Each of the two 128-bit numbers provides 16 digits of five bits; the remaining 48
            // bits are unused.
            let word = bits[n / 16] >> (5 * (n % 16));
            char::from(ALPHABET[(word & 31) as usize])
        };
        let digits: String = (0..CHARS).map(digit).collect();
        Self(format!("{PREFIX}{digits}"))
    }

    /// Parses a secret; `None` if the format is wrong.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let fits = digits.len() == CHARS && digits.bytes().all(|it| ALPHABET.contains(&it));
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the digest that is stored.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(self.0.as_bytes()).as_bytes()
    }

    /// Returns the secret itself, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn secrets_differ_are_read_again_and_are_printed_nowhere() {
        let made: Vec<TokenSecret> = (0..1_000).map(|_| TokenSecret::generate()).collect();
        let texts: BTreeSet<&str> = made.iter().map(TokenSecret::reveal).collect();
        assert_eq!(texts.len(), made.len());
        for secret in &made {
            assert_eq!(TokenSecret::parse(secret.reveal()).as_ref(), Some(secret));
            assert_eq!(format!("{secret:?}"), "Secret");
        }
        // Every character occurs at every position, so no bit is lost.
        for place in PREFIX.len()..PREFIX.len() + CHARS {
            let seen: BTreeSet<u8> = texts.iter().map(|it| it.as_bytes()[place]).collect();
            assert_eq!(seen.len(), 32, "place {place}");
        }
    }

    #[test]
    fn what_is_no_secret_is_not_looked_up() {
        let whole = TokenSecret::generate().reveal().to_owned();
        let long = format!("{whole}0");
        for wrong in [
            "",
            "ken_",
            &whole[1..],
            &long,
            "ken_00000000000000000000000000000u00",
        ] {
            assert!(TokenSecret::parse(wrong).is_none(), "{wrong}");
        }
    }
}
