//! The secret of a token: shown once, kept as a digest.
//!
//! 160 bits of chance need no slow digest: nobody guesses them, however fast.

use std::fmt;

use crate::world;

/// How every secret begins, so that scanners of other people's making can know one.
pub const PREFIX: &str = "ken_";

/// Characters behind the beginning: five bits each.
const CHARS: usize = 32;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A token's secret. It is printed nowhere, not even for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes one nobody else has.
    #[must_use]
    pub fn generate() -> Self {
        let chance = [world::random(), world::random()];
        let digit = |n: usize| {
            let word = chance[n / 16] >> (5 * (n % 16));
            char::from(ALPHABET[(word & 31) as usize])
        };
        let digits: String = (0..CHARS).map(digit).collect();
        Self(format!("{PREFIX}{digits}"))
    }

    /// Reads one that was shown.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let fits = digits.len() == CHARS && digits.bytes().all(|it| ALPHABET.contains(&it));
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns what is kept of it.
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

impl fmt::Debug for Secret {
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
        let made: Vec<Secret> = (0..1_000).map(|_| Secret::generate()).collect();
        let texts: BTreeSet<&str> = made.iter().map(Secret::reveal).collect();
        assert_eq!(texts.len(), made.len());
        for secret in &made {
            assert_eq!(Secret::parse(secret.reveal()).as_ref(), Some(secret));
            assert_eq!(format!("{secret:?}"), "Secret");
        }
        // Every character occurs at every place: no bit is lost on the way.
        for place in PREFIX.len()..PREFIX.len() + CHARS {
            let seen: BTreeSet<u8> = texts.iter().map(|it| it.as_bytes()[place]).collect();
            assert_eq!(seen.len(), 32, "place {place}");
        }
    }

    #[test]
    fn what_is_no_secret_is_not_looked_up() {
        let whole = Secret::generate().reveal().to_owned();
        let long = format!("{whole}0");
        for wrong in [
            "",
            "ken_",
            &whole[1..],
            &long,
            "ken_00000000000000000000000000000u00",
        ] {
            assert!(Secret::parse(wrong).is_none(), "{wrong}");
        }
    }
}
