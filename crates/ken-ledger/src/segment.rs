//! Parser for segments: events, torn tails and damaged lines.
//!
//! The last bytes of a file may lack their newline. A complete event is accepted; anything else is
//! a torn tail, which is reported and not fatal. Everything that ends with a newline was once
//! written completely, so an invalid line is damage and stops the reader with file and line.

use ken_core::ledger::event::{LineError, LineHeader, RecordedEvent};

use crate::pack::PackError;

/// The events of one segment and its torn tail.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentContents {
    pub events: Vec<RecordedEvent>,
    pub torn: Option<TornTail>,
}

/// Bytes after the last newline that are not a valid event: an interrupted write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// 1-based line number.
    pub line: u64,
    pub bytes: Vec<u8>,
}

/// Failure to read a segment.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    #[error("`{file}` is damaged at line {line}")]
    Damaged {
        file: String,
        line: u64,
        source: LineDamage,
    },
    #[error("`{file}` is damaged")]
    Pack { file: String, source: PackError },
}

/// Reason a line is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineDamage {
    #[error(
        "the line ends with a carriage return: git converted the file; \
         `.gitattributes` must contain `.ken/**/*.jsonl -text`"
    )]
    CarriageReturn,
    #[error(transparent)]
    Line(#[from] LineError),
}

/// A segment split at its newlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitSegment<'a> {
    /// Complete lines.
    pub whole: &'a str,
    pub torn: Option<TornTail>,
    /// Set if the last line is a valid event without its newline.
    pub newline_missing: bool,
}

impl<'a> SplitSegment<'a> {
    /// Returns the lines with their 1-based numbers.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &'a str)> + use<'a> {
        (1..).zip(self.whole.lines())
    }
}

/// Yields every line with its 1-based number and its ending.
pub fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8], LineEnding)> {
    (1..)
        .zip(bytes.split_inclusive(|byte| *byte == b'\n'))
        .map(|(number, line)| {
            line.strip_suffix(b"\n")
                .map_or((number, line, LineEnding::None), |line| {
                    (number, line, LineEnding::Newline)
                })
        })
}

/// LineEnding of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnding {
    Newline,
    None,
}

/// Parses every event of a segment; `file` is its name in error messages.
pub fn read_segment(file: &str, bytes: &[u8]) -> Result<SegmentContents, SegmentError> {
    let mut contents = SegmentContents {
        events: Vec::new(),
        torn: None,
    };
    for (line, text, ending) in raw_lines(bytes) {
        match (parse_line(text), ending) {
            (Ok(event), _) => contents.events.push(event),
            (Err(_), LineEnding::None) => {
                contents.torn = Some(TornTail {
                    line,
                    bytes: text.to_owned(),
                });
            }
            (Err(source), LineEnding::Newline) => return Err(damage_error(file, line, source)),
        }
    }
    Ok(contents)
}

/// Splits a segment into lines without parsing events, for callers that parse them.
///
/// Performs only the cheap checks: torn tail, carriage returns and UTF-8.
pub fn split_segment<'a>(file: &str, bytes: &'a [u8]) -> Result<SplitSegment<'a>, SegmentError> {
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let (mut kept, tail) = bytes.split_at(end);
    // Only the last bytes are parsed: they alone can be torn.
    let newline_missing = !tail.is_empty() && parse_line(tail).is_ok();
    let torn = (!tail.is_empty() && !newline_missing).then(|| TornTail {
        line: line_at(bytes, end),
        bytes: tail.to_owned(),
    });
    if newline_missing {
        kept = bytes;
    }
    let whole = std::str::from_utf8(kept).map_err(|error| {
        damage_error(
            file,
            line_at(bytes, error.valid_up_to()),
            LineError::NotUtf8.into(),
        )
    })?;
    // Canonical JSON escapes carriage returns, so one can only come from a line-ending conversion.
    if let Some(at) = whole.find('\r') {
        return Err(damage_error(
            file,
            line_at(bytes, at),
            LineDamage::CarriageReturn,
        ));
    }
    Ok(SplitSegment {
        whole,
        torn,
        newline_missing,
    })
}

/// Parses one line; a carriage return at its end is reported as such.
pub(crate) fn parse_line(text: &[u8]) -> Result<RecordedEvent, LineDamage> {
    Ok(RecordedEvent::parse(reject_carriage_return(text)?)?)
}

/// Checks one line like [`parse_line`], without parsing its data.
pub(crate) fn check_line(text: &[u8]) -> Result<LineHeader, LineDamage> {
    Ok(RecordedEvent::check(reject_carriage_return(text)?)?)
}

fn reject_carriage_return(text: &[u8]) -> Result<&[u8], LineDamage> {
    if text.ends_with(b"\r") {
        Err(LineDamage::CarriageReturn)
    } else {
        Ok(text)
    }
}

pub(crate) fn damage_error(file: &str, line: u64, source: LineDamage) -> SegmentError {
    SegmentError::Damaged {
        file: file.to_owned(),
        line,
        source,
    }
}

fn line_at(bytes: &[u8], offset: usize) -> u64 {
    1 + bytes[..offset]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn two_lines() -> (RecordedEvent, RecordedEvent, String) {
        let (a, b) = (sample::event(1), sample::event(2));
        let text = format!("{}\n{}\n", a.line(), b.line());
        (a, b, text)
    }

    #[test]
    fn every_cut_gives_the_whole_events_before_it() {
        let (a, b, text) = two_lines();
        let first_whole = a.line().len();
        for cut in 0..=text.len() {
            let read = read_segment("f", &text.as_bytes()[..cut]).unwrap();
            let split = split_segment("f", &text.as_bytes()[..cut]).unwrap();
            let expected = if cut < first_whole {
                0
            } else if cut < text.len() - 1 {
                1
            } else {
                2
            };
            assert_eq!(read.events.len(), expected, "cut at {cut}");
            assert_eq!(split.lines().count(), expected, "cut at {cut}");
            assert_eq!(read.torn, split.torn, "cut at {cut}");
            assert!([a.clone(), b.clone()].starts_with(&read.events));
        }
    }

    #[test]
    fn every_flipped_byte_is_named_with_its_line_or_is_a_torn_tail() {
        let (a, _, text) = two_lines();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 0x20;
            let first = at <= a.line().len();
            match read_segment("f", &bytes) {
                Err(SegmentError::Damaged { line, .. }) => {
                    assert_eq!(line, if first { 1 } else { 2 }, "flip at {at}");
                }
                Ok(contents) => {
                    assert_eq!(at, text.len() - 1, "flip at {at} was not seen");
                    assert!(contents.torn.is_some());
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn a_carriage_return_points_to_gitattributes() {
        let (.., text) = two_lines();
        let converted = text.replace('\n', "\r\n");
        for error in [
            read_segment("f", converted.as_bytes()).unwrap_err(),
            split_segment("f", converted.as_bytes()).unwrap_err(),
        ] {
            let SegmentError::Damaged {
                line: 1, source, ..
            } = error
            else {
                panic!("{error}")
            };
            assert!(source.to_string().contains(".gitattributes"));
        }
    }

    #[test]
    fn a_bad_last_line_with_its_newline_is_damage() {
        let (.., text) = two_lines();
        let error = read_segment("f", format!("{text}{{}}\n").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "`f` is damaged at line 3");
    }

    #[test]
    fn an_empty_line_is_damage() {
        let (.., text) = two_lines();
        assert!(read_segment("f", format!("{text}\n").as_bytes()).is_err());
    }
}
