//! Spellings of the same string, number or stretch of text.

use std::borrow::Cow;

/// Returns text with every run of whitespace as one space, and none at the ends.
pub(crate) fn collapse(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::with_capacity(text.len());
    for word in text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
    {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
    if out == text {
        return Cow::Borrowed(text);
    }
    Cow::Owned(out)
}

/// Returns text with `\n` wherever there was `\r\n`.
pub(crate) fn with_plain_breaks(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.windows(2).any(|pair| pair == b"\r\n") {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            out.push(*byte);
        }
    }
    Cow::Owned(out)
}

/// Returns the inside of a string without the backslashes before quotes, which depend on the quotes around it.
pub(crate) fn unescape_quotes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(quote @ (b'"' | b'\'')) => out.push(quote),
            Some(other) => out.extend_from_slice(&[b'\\', other]),
            None => out.push(b'\\'),
        }
    }
    out
}

/// Returns one spelling of a decimal number: `1.50E+05` and `1.5e5` are the same.
///
/// Numbers of other bases only lose their capitals.
pub(crate) fn decimal(text: &[u8]) -> Vec<u8> {
    let text = text.to_ascii_lowercase();
    let is_plain = text
        .iter()
        .all(|b| b.is_ascii_digit() || b".e+-".contains(b));
    let is_octal = text.len() > 1 && text[0] == b'0' && text[1].is_ascii_digit();
    if !is_plain || is_octal {
        return text;
    }
    let cut = text.iter().position(|b| *b == b'e').unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(cut);
    let mut out = mantissa.to_vec();
    if out.contains(&b'.') {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
        if out.first() == Some(&b'.') || out.is_empty() {
            out.insert(0, b'0');
        }
    }
    let digits = exponent.strip_prefix(b"e").unwrap_or_default();
    let (sign, digits) = match digits.split_first() {
        Some((b'-', rest)) => (&b"-"[..], rest),
        Some((b'+', rest)) => (&b""[..], rest),
        Some(_) | None => (&b""[..], digits),
    };
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    let digits = &digits[zeros..];
    if !digits.is_empty() {
        out.push(b'e');
        out.extend_from_slice(sign);
        out.extend_from_slice(digits);
    }
    out
}

/// Returns whether text can be a name in JavaScript without being quoted.
pub(crate) fn is_plain_name(text: &[u8]) -> bool {
    let is_first = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b'$';
    let mut bytes = text.iter().copied();
    bytes.next().is_some_and(is_first) && bytes.all(|b| is_first(b) || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling() {
        for (one, other) in [
            ("1.50E+05", "1.5e5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1.0", "1"),
            ("0.0", "0"),
            ("1e-07", "1e-7"),
            ("1e0", "1"),
            ("0XFF", "0xff"),
            ("100", "100"),
        ] {
            let shown = |text: &str| String::from_utf8(decimal(text.as_bytes())).unwrap();
            assert_eq!(shown(one), shown(other));
        }
    }

    #[test]
    fn different_numbers_stay_different() {
        for (one, other) in [
            ("10", "1"),
            ("100", "10"),
            ("1e10", "1e1"),
            ("1e5", "1e-5"),
            ("0.05", "0.5"),
            ("010", "10"),
            ("1n", "1"),
        ] {
            assert_ne!(decimal(one.as_bytes()), decimal(other.as_bytes()));
        }
    }

    #[test]
    fn only_quotes_lose_their_backslash() {
        assert_eq!(unescape_quotes(br#"it\'s \"a\"\n\\"#), br#"it's "a"\n\\"#);
    }
}
