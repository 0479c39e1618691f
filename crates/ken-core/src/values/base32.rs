//! Crockford base 32, the alphabet of every id.
//!
//! Decoding rejects characters outside the alphabet (`i`, `l`, `o`, `u`) and accepts either case.
//! Each id type decides which case it prints.

const LOWER: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Digit value per byte. A lookup table, because loading a million events decodes about a hundred
/// million characters.
const DIGITS: [u8; 256] = build_digit_table();
const NOT_A_DIGIT: u8 = u8::MAX;

const fn build_digit_table() -> [u8; 256] {
    let mut digits = [NOT_A_DIGIT; 256];
    let mut value = 0;
    // `while`, because `for` is not available in a `const fn`.
    while value < LOWER.len() {
        let byte = LOWER[value];
        digits[byte as usize] = value as u8;
        // For a decimal digit this is the same slot again.
        digits[byte.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    digits
}

/// Encodes the low `5 * N` bits of `value` as `N` lowercase characters, most significant first.
pub(crate) fn encode<const N: usize>(value: u128) -> [u8; N] {
    let mut out = [b'0'; N];
    for (i, slot) in out.iter_mut().enumerate() {
        let shift = 5 * (N - 1 - i);
        *slot = LOWER[(value >> shift) as usize & 31];
    }
    out
}

/// Decodes characters of either case. Returns `None` for a character outside the alphabet or a
/// value that overflows 128 bits.
pub(crate) fn decode(text: &str) -> Option<u128> {
    let mut value: u128 = 0;
    for byte in text.bytes() {
        // The next shift by five bits would push set bits out of the 128.
        if value >> 123 != 0 {
            return None;
        }
        value = value << 5 | u128::from(digit_value(byte)?);
    }
    Some(value)
}

/// Returns whether `byte` is a digit of the alphabet in lowercase.
pub(crate) fn is_lower_digit(byte: u8) -> bool {
    !byte.is_ascii_uppercase() && digit_value(byte).is_some()
}

fn digit_value(byte: u8) -> Option<u8> {
    Some(DIGITS[usize::from(byte)]).filter(|digit| *digit != NOT_A_DIGIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_round_trips() {
        for (value, byte) in LOWER.iter().enumerate() {
            assert_eq!(digit_value(*byte), Some(value as u8));
            assert_eq!(encode::<1>(value as u128), [*byte]);
        }
        for bad in b"iloILOuU-_ " {
            assert_eq!(digit_value(*bad), None);
        }
    }

    #[test]
    fn a_value_beyond_128_bits_is_refused() {
        assert!(decode("7zzzzzzzzzzzzzzzzzzzzzzzzz").is_some());
        assert!(decode("8zzzzzzzzzzzzzzzzzzzzzzzzz").is_none());
    }
}
