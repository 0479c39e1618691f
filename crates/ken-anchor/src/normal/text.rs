//! Canonical spelling of strings, numbers and whitespace.

use std::borrow::Cow;

/// Replaces every run of whitespace with one space and trims the ends.
pub(crate) fn collapse_blanks(text: &[u8]) -> Cow<'_, [u8]> {
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

/// Replaces `\r\n` with `\n`.
pub(crate) fn normalize_breaks(text: &[u8]) -> Cow<'_, [u8]> {
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

/// Removes the backslashes before quotes, which depend on the quotes around a string.
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

/// Returns the canonical spelling of a decimal number: `1.50E+05` becomes `1.5e5`.
///
/// Numbers of other bases are only lowercased.
pub(crate) fn normalize_decimal(text: &[u8]) -> Vec<u8> {
    let text = text.to_ascii_lowercase();
    let is_plain = text
        .iter()
        .all(|b| b.is_ascii_digit() || b".e+-".contains(b));
    // `010` is octal in sloppy mode, so its zero must stay.
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
    let (sign, magnitude) = match digits.split_first() {
        Some((b'-', rest)) => (&b"-"[..], rest),
        Some((b'+', rest)) => (&b""[..], rest),
        Some(_) | None => (&b""[..], digits),
    };
    let zeros = magnitude.iter().take_while(|b| **b == b'0').count();
    let significant = &magnitude[zeros..];
    // An exponent of zero has no significant digits and is dropped.
    if !significant.is_empty() {
        out.push(b'e');
        out.extend_from_slice(sign);
        out.extend_from_slice(significant);
    }
    out
}

/// Returns whether a property key needs no quotes in JavaScript.
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
            let shown = |text: &str| String::from_utf8(normalize_decimal(text.as_bytes())).unwrap();
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
            assert_ne!(
                normalize_decimal(one.as_bytes()),
                normalize_decimal(other.as_bytes())
            );
        }
    }

    #[test]
    fn only_quotes_lose_their_backslash() {
        assert_eq!(unescape_quotes(br#"it\'s \"a\"\n\\"#), br#"it's "a"\n\\"#);
    }
}
