//! Looks behind one level of base64, hexadecimal and URL encoding.
//!
//! What is decoded is scanned and thrown away; a finding in it is a finding about the encoded run as a whole.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Shorter runs cannot hold a secret worth the name.
const BASE64_CHARS_MIN: usize = 24;
const HEX_CHARS_MIN: usize = 32;

/// Longer runs are binary data and left alone.
const RUN_CHARS_MAX: usize = 16 * 1024;

/// At most this many runs of one text are looked into; the raw text is searched whatever it holds.
const RUNS_MAX: usize = 64;

/// A run of encoded text and what it says.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// Bytes of the whole run in the text it was found in.
    pub(crate) span: Range<usize>,
}

/// Returns the runs of a text that decode to text.
pub(crate) fn decoded(text: &str) -> Vec<Decoded> {
    let mut found = Vec::new();
    for run in runs(text, is_base64) {
        if RUNS_MAX <= found.len() {
            return found;
        }
        let encoded = &text[run.clone()];
        let readable = from_hex(encoded).or_else(|| from_base64(encoded));
        found.extend(readable.map(|text| Decoded { text, span: run }));
    }
    if text.contains('%') {
        for run in runs(text, |byte| !byte.is_ascii_whitespace()) {
            if RUNS_MAX <= found.len() {
                break;
            }
            let readable = from_percent(&text[run.clone()]);
            found.extend(readable.map(|text| Decoded { text, span: run }));
        }
    }
    found
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// Returns the maximal runs of such bytes that are long enough to matter.
fn runs(text: &str, belongs: impl Fn(u8) -> bool) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            while at < bytes.len() && belongs(bytes[at]) {
                at += 1;
            }
            let run = start..at;
            at += usize::from(run.is_empty());
            if BASE64_CHARS_MIN <= run.len() && run.len() <= RUN_CHARS_MAX {
                return Some(run);
            }
        }
        None
    })
}

fn from_base64(run: &str) -> Option<String> {
    const INDIFFERENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    // A name before it (`KEY=`) is part of the run, but not of what is encoded.
    let body = run.trim_end_matches('=');
    let body = body.rsplit('=').next().unwrap_or(body);
    if body.len() < BASE64_CHARS_MIN {
        return None;
    }
    let standard: Vec<u8> = body
        .bytes()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    // A run cut by four has no meaning in its last character.
    let whole = if standard.len() % 4 == 1 {
        standard.len() - 1
    } else {
        standard.len()
    };
    readable(INDIFFERENT.decode(&standard[..whole]).ok()?)
}

fn from_hex(run: &str) -> Option<String> {
    let body = run.rsplit('=').next().unwrap_or(run);
    let body = body.strip_prefix("0x").unwrap_or(body);
    let digits = body.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits || body.len() < HEX_CHARS_MIN || !body.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[u8]| Some(hex(pair[0])? << 4 | hex(pair[1])?);
    readable(body.as_bytes().chunks(2).map(pair).collect::<Option<_>>()?)
}

fn from_percent(run: &str) -> Option<String> {
    let bytes = run.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(byte) = bytes.get(at) {
        let pair = || Some(hex(*bytes.get(at + 1)?)? << 4 | hex(*bytes.get(at + 2)?)?);
        if let Some(decoded) = (*byte == b'%').then(pair).flatten() {
            plain.push(decoded);
            at += 3;
            changed = true;
        } else {
            plain.push(*byte);
            at += 1;
        }
    }
    if changed { readable(plain) } else { None }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|it| u8::try_from(it).ok())
}

/// Returns decoded bytes that are text: noise that happens to be UTF-8 has control characters in it.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let noise = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    (!text.chars().any(noise)).then_some(text)
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    const SENTENCE: &str = "what nobody should read, in some words?>";

    #[test]
    fn one_level_is_looked_behind() {
        let hexadecimal: String = SENTENCE.bytes().map(|b| format!("{b:02x}")).collect();
        let percent: String = SENTENCE.bytes().map(|b| format!("%{b:02X}")).collect();
        for encoded in [
            BASE64_STANDARD.encode(SENTENCE),
            BASE64_URL_SAFE_NO_PAD.encode(SENTENCE),
            hexadecimal,
            percent,
        ] {
            for around in [("", ""), ("see (", ") é"), ("KEY=", "\n")] {
                let text = format!("{}{encoded}{}", around.0, around.1);
                let found = decoded(&text);
                let it = found.iter().find(|it| it.text.contains(SENTENCE));
                let it = it.unwrap_or_else(|| panic!("{text}: {found:?}"));
                assert!(text[it.span.clone()].contains(&encoded), "{text}");
            }
        }
    }

    #[test]
    fn words_numbers_and_binary_data_are_left_alone() {
        for text in [
            "InternationalizationAndLocalization",
            "171e84fd57f430fc59afa8fad3dbda2a171e84fd57f430fc59afa8fad3dbda2a",
            "100 % of it",
            "/usr/share/doc/package/with-a-long-name",
        ] {
            assert!(decoded(text).is_empty(), "{text}: {:?}", decoded(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in any::<String>(), run in "[A-Za-z0-9+/=%-]{0,80}") {
            let text = format!("{text}{run}");
            for it in decoded(&text) {
                prop_assert!(text.get(it.span.clone()).is_some(), "{:?}", it.span);
            }
        }
    }
}
