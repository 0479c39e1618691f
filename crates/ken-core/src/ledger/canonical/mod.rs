//! RFC 8785 canonical JSON: a writer, and a check that a text is already canonical.
//!
//! The check is a single pass that builds no value. It rejects whitespace between tokens, keys out
//! of order (which includes duplicate keys), unnecessary escapes, numbers in a non-canonical
//! spelling or outside the exact range of a double, and nesting deeper than [`DEPTH_MAX`].

mod members;

use serde::Serialize;

pub(crate) use members::count as count_members;

/// Maximum nesting depth. Bounds recursion, so a hostile line cannot overflow the stack.
pub const DEPTH_MAX: usize = 32;

/// The largest integer a double holds exactly.
pub const INTEGER_MAX: u64 = 1 << 53;

/// The first violation of the canonical form, with its byte offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not canonical JSON at byte {at}: {why}")]
pub struct CanonicalError {
    pub at: usize,
    pub why: &'static str,
}

/// Serializes `value` as canonical JSON.
pub fn to_string(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value)
        .expect("ledger values have string keys and finite numbers")
}

/// Number of members in the objects of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberCount {
    /// Members of the outermost object.
    pub outer: usize,
    /// Members of all objects at any depth.
    pub all: usize,
}

/// Checks that `text` is exactly one canonical JSON value.
pub fn check(text: &str) -> Result<MemberCount, CanonicalError> {
    let mut scan = CanonicalScanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        members: 0,
    };
    let outer = scan.scan_value(0)?;
    if scan.at != text.len() {
        return Err(scan.error_here("text after the value"));
    }
    Ok(MemberCount {
        outer,
        all: scan.members,
    })
}

struct CanonicalScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Members of all objects scanned so far.
    members: usize,
}

impl<'a> CanonicalScanner<'a> {
    fn error_here(&self, why: &'static str) -> CanonicalError {
        CanonicalError { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect_byte(&mut self, byte: u8, why: &'static str) -> Result<(), CanonicalError> {
        if self.peek() != Some(byte) {
            return Err(self.error_here(why));
        }
        self.at += 1;
        Ok(())
    }

    fn scan_value(&mut self, depth: usize) -> Result<usize, CanonicalError> {
        if depth > DEPTH_MAX {
            return Err(self.error_here("nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => return self.scan_object(depth),
            Some(b'[') => self.scan_array(depth)?,
            Some(b'"') => {
                self.scan_string()?;
            }
            Some(b'-' | b'0'..=b'9') => self.scan_number()?,
            Some(_) => self.scan_literal()?,
            None => return Err(self.error_here("a value is missing")),
        }
        Ok(0)
    }

    fn scan_object(&mut self, depth: usize) -> Result<usize, CanonicalError> {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(0);
        }
        let mut members = 0;
        let mut last: Option<&'a str> = None;
        loop {
            let start = self.at;
            let key = self.scan_string()?;
            // A strict order also rejects duplicate keys, which parsers resolve differently.
            if last.is_some_and(|last| !is_key_before(last, key)) {
                return Err(CanonicalError {
                    at: start,
                    why: "keys out of order or duplicate",
                });
            }
            last = Some(key);
            members += 1;
            self.expect_byte(b':', "a colon is missing")?;
            self.scan_value(depth + 1)?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                // Added at the end of the object, so nested objects have counted their own already.
                self.members += members;
                return Ok(members);
            }
            self.expect_byte(b',', "a comma is missing")?;
        }
    }

    fn scan_array(&mut self, depth: usize) -> Result<(), CanonicalError> {
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.scan_value(depth + 1)?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
            self.expect_byte(b',', "a comma is missing")?;
        }
    }

    /// Scans a string and returns the text between its quotes, with escapes as written.
    fn scan_string(&mut self) -> Result<&'a str, CanonicalError> {
        self.expect_byte(b'"', "a string is missing")?;
        let start = self.at;
        loop {
            let rest = self.bytes[self.at..].iter();
            // Works on bytes: the bytes of a multi-byte UTF-8 character are above 0x7f, so none is
            // a delimiter.
            let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
            self.at += rest.take_while(|byte| plain(byte)).count();
            match self.peek() {
                None => return Err(self.error_here("an unterminated string")),
                Some(b'"') => {
                    let inner = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(inner);
                }
                Some(b'\\') => self.scan_escape()?,
                Some(_) => return Err(self.error_here("an unescaped control character")),
            }
        }
    }

    fn scan_escape(&mut self) -> Result<(), CanonicalError> {
        let rest = &self.bytes[self.at + 1..];
        match rest {
            // RFC 8785 requires the short escapes where they exist.
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
            // Only control characters may use `\u`, in lowercase hexadecimal.
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low, ..] => {
                let code = match low {
                    b'0'..=b'9' => low - b'0',
                    b'a'..=b'f' => low - b'a' + 10,
                    _ => return Err(self.error_here("an escape in a non-canonical spelling")),
                } + 16 * (high - b'0');
                // These codes have a short escape such as `\n`, so `\u000a` is not canonical.
                if matches!(code, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d) {
                    return Err(self.error_here("an escape in a non-canonical spelling"));
                }
                self.at += 6;
            }
            _ => return Err(self.error_here("an unnecessary or unknown escape")),
        }
        Ok(())
    }

    fn scan_number(&mut self) -> Result<(), CanonicalError> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let error = CanonicalError {
            at: start,
            why: "a number in a non-canonical spelling or out of range",
        };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            // Compares `text`, not `digits`: `-0` is not canonical.
            let spelled = !digits.is_empty() && (!digits.starts_with('0') || text == "0");
            // An integer of more than 16 digits exceeds 2^53.
            let fits = digits.len() <= 16 && digits.parse().is_ok_and(|n: u64| n <= INTEGER_MAX);
            return if spelled && fits { Ok(()) } else { Err(error) };
        }
        // Re-serializing is the simplest complete test: RFC 8785 defines one spelling per double.
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && to_string(&number) == text => Ok(()),
            Ok(_) | Err(_) => Err(error),
        }
    }

    fn scan_literal(&mut self) -> Result<(), CanonicalError> {
        for word in ["true", "false", "null"] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.error_here("not a JSON value"))
    }
}

/// Returns whether `a` sorts before `b` by UTF-16 code units, as RFC 8785 requires.
fn is_key_before(a: &str, b: &str) -> bool {
    // For ASCII without escapes, byte order equals UTF-16 order. This is nearly every key.
    let is_plain = |key: &str| key.bytes().all(|b| b.is_ascii() && b != b'\\');
    if is_plain(a) && is_plain(b) {
        return a < b;
    }
    let units = |key: &str| -> Vec<u16> {
        let text: String = serde_json::from_str(&format!("\"{key}\"")).unwrap_or_default();
        text.encode_utf16().collect()
    };
    units(a) < units(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_we_write_passes_our_own_check() {
        let value = json!({
            "b": [1, -2, 0, 0.5, 1e30, true, null, "é\u{1F600}\n\u{1}\"\\"],
            "a": {"\u{e000}": 1, "\u{1F600}": 2, "": 3, "\n": 4},
        });
        let text = to_string(&value);
        let members = MemberCount { outer: 2, all: 6 };
        assert_eq!(check(&text), Ok(members), "{text}");
    }

    #[test]
    fn other_spellings_are_refused_where_they_begin() {
        for (text, at) in [
            (r#"{"a": 1}"#, 5),
            (r#"{"b":1,"a":2}"#, 7),
            (r#"{"a":1,"a":2}"#, 7),
            (r#"["\u0041"]"#, 2),
            (r#"["\/"]"#, 2),
            (r#"["\u000a"]"#, 2),
            (r#"["\u001F"]"#, 2),
            ("[1.0]", 1),
            ("[-0]", 1),
            ("[01]", 1),
            ("[1e400]", 1),
            ("[9007199254740993]", 1),
            ("[1] ", 3),
            ("[tru]", 1),
            ("", 0),
            ("[\"\t\"]", 2),
        ] {
            assert_eq!(check(text).unwrap_err().at, at, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(check(&deep(DEPTH_MAX + 1)).is_ok());
        assert!(check(&deep(DEPTH_MAX + 2)).is_err());
    }
}
