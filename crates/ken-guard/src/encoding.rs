//! Decodes one level of base64, hexadecimal and URL encoding.
//!
//! Decoded text is scanned and discarded; a finding in it applies to the whole encoded run.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Minimum run lengths; shorter runs are too short for a secret.
const BASE64_CHARS_MIN: usize = 24;
const HEX_CHARS_MIN: usize = 32;

/// Maximum run length; longer runs are binary data and ignored.
const RUN_CHARS_MAX: usize = 16 * 1024;

/// Maximum number of decoded runs per text; bounds the time a hostile text can take. The raw text
/// is always scanned.
const RUNS_MAX: usize = 64;

/// A run of encoded text and its decoded form.
#[derive(Debug)]
pub(crate) struct DecodedRun {
    pub(crate) text: String,
    /// Byte range of the whole run in the original text.
    pub(crate) span: Range<usize>,
}

/// Returns the runs of a text that decode to text.
pub(crate) fn decode_runs(text: &str) -> Vec<DecodedRun> {
    let mut found = Vec::new();
    for run in find_runs(text, is_base64) {
        if found.len() >= RUNS_MAX {
            return found;
        }
        let encoded = &text[run.clone()];
        // Hex digits are valid base64 too, so hexadecimal is tried first.
        let readable = decode_hex(encoded).or_else(|| decode_base64(encoded));
        found.extend(readable.map(|text| DecodedRun { text, span: run }));
    }
    // Percent-encoding may cover any character, so its runs are delimited by whitespace.
    if text.contains('%') {
        for run in find_runs(text, |byte| !byte.is_ascii_whitespace()) {
            if found.len() >= RUNS_MAX {
                break;
            }
            let readable = decode_percent(&text[run.clone()]);
            found.extend(readable.map(|text| DecodedRun { text, span: run }));
        }
    }
    found
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// Returns the maximal runs of matching bytes that are long enough.
fn find_runs(text: &str, belongs: impl Fn(u8) -> bool) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            while at < bytes.len() && belongs(bytes[at]) {
                at += 1;
            }
            let run = start..at;
            // An empty run means that the byte at `at` does not belong to any run: skip it.
            at += usize::from(run.is_empty());
            if (BASE64_CHARS_MIN..=RUN_CHARS_MAX).contains(&run.len()) {
                return Some(run);
            }
        }
        None
    })
}

fn decode_base64(run: &str) -> Option<String> {
    // Padding and trailing bits are often lost when a value is copied.
    const INDIFFERENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    // A name before it (`KEY=`) is part of the run but not of the encoded value.
    let body = run.trim_end_matches('=');
    let body = body.rsplit('=').next().unwrap_or(body);
    if body.len() < BASE64_CHARS_MIN {
        return None;
    }
    // The URL-safe alphabet differs in two characters, so one decoder serves both.
    let standard: Vec<u8> = body
        .bytes()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    // One leftover character encodes fewer than eight bits and is dropped.
    let whole = if standard.len() % 4 == 1 {
        standard.len() - 1
    } else {
        standard.len()
    };
    into_readable_text(INDIFFERENT.decode(&standard[..whole]).ok()?)
}

fn decode_hex(run: &str) -> Option<String> {
    let body = run.rsplit('=').next().unwrap_or(run);
    let body = body.strip_prefix("0x").unwrap_or(body);
    let digits = body.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits || body.len() < HEX_CHARS_MIN || !body.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[u8]| Some(hex_value(pair[0])? << 4 | hex_value(pair[1])?);
    into_readable_text(body.as_bytes().chunks(2).map(pair).collect::<Option<_>>()?)
}

fn decode_percent(run: &str) -> Option<String> {
    let bytes = run.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(byte) = bytes.get(at) {
        let pair = || Some(hex_value(*bytes.get(at + 1)?)? << 4 | hex_value(*bytes.get(at + 2)?)?);
        if let Some(decoded) = (*byte == b'%').then(pair).flatten() {
            plain.push(decoded);
            at += 3;
            changed = true;
        } else {
            plain.push(*byte);
            at += 1;
        }
    }
    if changed {
        into_readable_text(plain)
    } else {
        None
    }
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Returns decoded bytes that are text; random bytes that happen to be UTF-8 contain control
/// characters.
fn into_readable_text(bytes: Vec<u8>) -> Option<String> {
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
                let found = decode_runs(&text);
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
            assert!(
                decode_runs(text).is_empty(),
                "{text}: {:?}",
                decode_runs(text)
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in any::<String>(), run in "[A-Za-z0-9+/=%-]{0,80}") {
            let text = format!("{text}{run}");
            for it in decode_runs(&text) {
                prop_assert!(text.get(it.span.clone()).is_some(), "{:?}", it.span);
            }
        }
    }
}
