//! Crockford base 32: the alphabet of every id Ken prints.
//!
//! Decoding is strict about the alphabet (no `i`, `l`, `o`, `u`) and takes either case; each id
//! type decides which case it prints.

const LOWER: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// What each byte stands for: a ledger of a million events has a hundred million of them.
const DIGITS: [u8; 256] = digits();
const NO_DIGIT: u8 = u8::MAX;

const fn digits() -> [u8; 256] {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < LOWER.len() {
        let byte = LOWER[value];
        digits[byte as usize] = value as u8;
        digits[byte.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    digits
}

/// Writes the low `5 * N` bits of `value` as `N` lowercase characters, most significant first.
pub(crate) fn encode<const N: usize>(value: u128) -> [u8; N] {
    let mut out = [b'0'; N];
    for (i, slot) in out.iter_mut().enumerate() {
        let shift = 5 * (N - 1 - i);
        *slot = LOWER[(value >> shift) as usize & 31];
    }
    out
}

/// Reads characters of either case; `None` if one is outside the alphabet or the value overflows.
pub(crate) fn decode(text: &str) -> Option<u128> {
    let mut value: u128 = 0;
    for byte in text.bytes() {
        if value >> 123 != 0 {
            return None;
        }
        value = value << 5 | u128::from(digit(byte)?);
    }
    Some(value)
}

/// Returns whether `byte` is a lowercase digit of the alphabet.
pub(crate) fn is_lower_digit(byte: u8) -> bool {
    !byte.is_ascii_uppercase() && digit(byte).is_some()
}

fn digit(byte: u8) -> Option<u8> {
    Some(DIGITS[usize::from(byte)]).filter(|digit| *digit != NO_DIGIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_round_trips() {
        for (value, byte) in LOWER.iter().enumerate() {
            assert_eq!(digit(*byte), Some(value as u8));
            assert_eq!(encode::<1>(value as u128), [*byte]);
        }
        for bad in b"iloILOuU-_ " {
            assert_eq!(digit(*bad), None);
        }
    }

    #[test]
    fn a_value_beyond_128_bits_is_refused() {
        assert!(decode("7zzzzzzzzzzzzzzzzzzzzzzzzz").is_some());
        assert!(decode("8zzzzzzzzzzzzzzzzzzzzzzzzz").is_none());
    }
}
