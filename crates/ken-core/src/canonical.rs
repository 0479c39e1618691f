//! RFC 8785 canonical JSON: writing it, and checking that a text is already in that form.
//!
//! The check is one pass without building a value. It refuses whitespace between tokens, keys out
//! of order (and with them duplicate keys), needless escapes, numbers in another spelling or
//! beyond what a double holds exactly, and nesting deeper than [`DEPTH_MAX`].

mod members;

use serde::Serialize;

pub(crate) use members::count as count_members;

/// How deep values may nest.
pub const DEPTH_MAX: usize = 32;

/// The largest integer a double holds exactly.
pub const INTEGER_MAX: u64 = 1 << 53;

/// What is not canonical, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not canonical JSON at byte {at}: {why}")]
pub struct Flaw {
    pub at: usize,
    pub why: &'static str,
}

/// Writes `value` as canonical JSON.
pub fn to_string(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value)
        .expect("ledger values have string keys and finite numbers")
}

/// How many members a value's objects have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Of the outermost object.
    pub outer: usize,
    /// Of all objects together.
    pub all: usize,
}

/// Checks that `text` is one canonical value.
pub fn check(text: &str) -> Result<Members, Flaw> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        at: 0,
        members: 0,
    };
    let outer = scan.value(0)?;
    if scan.at != text.len() {
        return Err(scan.flaw("text after the value"));
    }
    Ok(Members {
        outer,
        all: scan.members,
    })
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Members of all objects so far.
    members: usize,
}

impl<'a> Scan<'a> {
    fn flaw(&self, why: &'static str) -> Flaw {
        Flaw { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), Flaw> {
        if self.peek() != Some(byte) {
            return Err(self.flaw(why));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<usize, Flaw> {
        if depth > DEPTH_MAX {
            return Err(self.flaw("nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => return self.object(depth),
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
            None => return Err(self.flaw("a value is missing")),
        }
        Ok(0)
    }

    fn object(&mut self, depth: usize) -> Result<usize, Flaw> {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(0);
        }
        let mut members = 0;
        let mut last: Option<&'a str> = None;
        loop {
            let start = self.at;
            let key = self.string()?;
            if last.is_some_and(|last| !key_less(last, key)) {
                return Err(Flaw {
                    at: start,
                    why: "keys out of order or doubled",
                });
            }
            last = Some(key);
            members += 1;
            self.expect(b':', "a colon is missing")?;
            self.value(depth + 1)?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                self.members += members;
                return Ok(members);
            }
            self.expect(b',', "a comma is missing")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Flaw> {
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
            self.expect(b',', "a comma is missing")?;
        }
    }

    /// Reads a string and returns what stands between its quotes, escapes as written.
    fn string(&mut self) -> Result<&'a str, Flaw> {
        self.expect(b'"', "a string is missing")?;
        let start = self.at;
        loop {
            let rest = self.bytes[self.at..].iter();
            let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
            self.at += rest.take_while(|byte| plain(byte)).count();
            match self.peek() {
                None => return Err(self.flaw("a string does not end")),
                Some(b'"') => {
                    let inner = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(inner);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.flaw("a bare control character")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        let rest = &self.bytes[self.at + 1..];
        match rest {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low, ..] => {
                let code = match low {
                    b'0'..=b'9' => low - b'0',
                    b'a'..=b'f' => low - b'a' + 10,
                    _ => return Err(self.flaw("an escape in another spelling")),
                } + 16 * (high - b'0');
                if matches!(code, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d) {
                    return Err(self.flaw("an escape in another spelling"));
                }
                self.at += 6;
            }
            _ => return Err(self.flaw("a needless or unknown escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let wrong = Flaw {
            at: start,
            why: "a number in another spelling or out of range",
        };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            let spelled = !digits.is_empty() && (!digits.starts_with('0') || text == "0");
            let fits = digits.len() <= 16 && digits.parse().is_ok_and(|n: u64| n <= INTEGER_MAX);
            return if spelled && fits { Ok(()) } else { Err(wrong) };
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && to_string(&number) == text => Ok(()),
            Ok(_) | Err(_) => Err(wrong),
        }
    }

    fn word(&mut self) -> Result<(), Flaw> {
        for word in ["true", "false", "null"] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.flaw("not a value"))
    }
}

/// Orders keys by UTF-16 code units, as RFC 8785 asks.
fn key_less(a: &str, b: &str) -> bool {
    let plain = |key: &str| key.bytes().all(|b| b.is_ascii() && b != b'\\');
    if plain(a) && plain(b) {
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
        let members = Members { outer: 2, all: 6 };
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
