//! Removes what the scan found from a text that is to be shown or kept.
//!
//! Invariant: the result scans clean, so redacting it again changes nothing.

use std::ops::Range;

use crate::scan::{self, Concern, Hit, TextMode};
use crate::verdict::Severity;

/// A replacement can lay bare what its neighbour hid, so the text is scanned again, at most this often.
const PASSES_MAX: usize = 8;

/// What remains of a text that does not come clean.
const UNSCANNED: &str = "[REDACTED:unscanned]";

/// A stretch of text to replace: overlapping hits become one, named after the gravest.
struct Hole {
    span: Range<usize>,
    severity: Severity,
    marker: Option<&'static str>,
}

/// Replaces every found secret by `[REDACTED:type]`; the result rescans clean.
///
/// Stray invisible characters are dropped. A text too long to scan, or one that keeps yielding new
/// findings, is replaced as a whole.
pub fn redact(text: &str, mode: TextMode) -> String {
    let mut text = text.to_owned();
    for _ in 0..PASSES_MAX {
        let hits = scan::scan(&text, mode);
        if hits.is_empty() {
            return text;
        }
        text = replace(&text, &holes(&hits));
    }
    if scan::scan(&text, mode).is_empty() {
        text
    } else {
        UNSCANNED.to_owned()
    }
}

/// Merges hits, given by position, into stretches that do not overlap.
fn holes(hits: &[Hit]) -> Vec<Hole> {
    let mut holes: Vec<Hole> = Vec::with_capacity(hits.len());
    for hit in hits {
        let marker = match hit.concern {
            Concern::Secret | Concern::Unscanned => Some(hit.secret_type),
            Concern::Hidden => None,
        };
        match holes.last_mut() {
            Some(hole) if hit.span.start < hole.span.end => {
                hole.span.end = hole.span.end.max(hit.span.end);
                if hole.marker.is_none() || (marker.is_some() && hole.severity < hit.severity) {
                    hole.marker = marker;
                    hole.severity = hit.severity;
                }
            }
            Some(_) | None => {
                holes.push(Hole {
                    span: hit.span.clone(),
                    severity: hit.severity,
                    marker,
                });
            }
        }
    }
    holes
}

fn replace(text: &str, holes: &[Hole]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for hole in holes {
        result.push_str(&text[copied..hole.span.start]);
        if let Some(secret_type) = hole.marker {
            result.push_str("[REDACTED:");
            result.push_str(secret_type);
            result.push(']');
        }
        copied = hole.span.end;
    }
    result.push_str(&text[copied..]);
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FIELD_BYTES_MAX, Field, ScanStatus, admit, sample};

    fn status(text: &str, mode: TextMode) -> ScanStatus {
        admit(&[Field {
            name: "text",
            text,
            mode,
        }])
        .scan()
    }

    #[test]
    fn every_sample_is_replaced_by_its_type() {
        for sample in sample::all() {
            let text = format!("before {} after", sample.text);
            let redacted = redact(&text, TextMode::Code);
            let expected = format!(
                "before {} after",
                sample.text.replace(&sample.secret, &sample.marker())
            );
            assert_eq!(redacted, expected, "{}", sample.rule);
        }
    }

    #[test]
    fn a_secret_is_removed_together_with_what_split_it() {
        let token = sample::token(&["gh", "p_"], 36);
        let split = format!("x {}\u{200b}{}\u{202e} y", &token[..9], &token[9..]);
        assert_eq!(
            redact(&split, TextMode::Prose),
            "x [REDACTED:github-token] y"
        );
    }

    #[test]
    fn overlapping_secrets_become_one_marker() {
        let text = format!(
            "https://bot:{}@git.corp.io/x",
            sample::token(&["gh", "p_"], 36)
        );
        assert_eq!(
            redact(&text, TextMode::Prose),
            "https://bot:[REDACTED:github-token]@git.corp.io/x"
        );
    }

    #[test]
    fn clean_text_is_returned_as_it_was() {
        let text = "naïve 👨\u{200d}👩\u{200d}👧\r\n\tpostgres://user:<password>@db";
        assert_eq!(redact(text, TextMode::Code), text);
    }

    #[test]
    fn text_too_long_to_scan_is_replaced_whole() {
        assert_eq!(
            redact(&"a".repeat(FIELD_BYTES_MAX + 1), TextMode::Prose),
            UNSCANNED
        );
    }

    fn any_mode() -> impl Strategy<Value = TextMode> {
        prop_oneof![Just(TextMode::Prose), Just(TextMode::Code)]
    }

    /// Secrets, pieces of secrets, words, separators and hidden characters, glued in any order.
    fn any_text() -> impl Strategy<Value = String> {
        let secrets = sample::all();
        let piece = prop_oneof![
            (0..secrets.len(), 0..3u8, 0..400usize).prop_map(move |(which, part, at)| {
                let text = &secrets[which].text;
                let at = at.min(text.len());
                match part {
                    0 => text.clone(),
                    1 => text[..at].to_owned(),
                    _ => text[at..].to_owned(),
                }
            }),
            "[a-z]{1,8}",
            "[ \n:@/\"'=._-]{1,3}",
            "[\u{200b}\u{200d}\u{202e}\u{feff}\u{e0041}😀می]{1,3}",
            Just("://user:".to_owned()),
            Just("[REDACTED:x]".to_owned()),
            any::<String>(),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Whatever goes in, what comes out is safe, and redacting it again changes nothing.
        #[test]
        fn a_redacted_text_is_clean_and_stays_as_it_is(text in any_text(), mode in any_mode()) {
            let once = redact(&text, mode);
            prop_assert_eq!(status(&once, mode), ScanStatus::Safe);
            prop_assert_eq!(redact(&once, mode), once);
        }

        /// No whole secret survives, wherever hidden characters are put into it.
        #[test]
        fn no_split_secret_survives(which in 0..sample::all().len(), cuts in proptest::collection::vec(0..400usize, 0..6)) {
            let sample = sample::all().swap_remove(which);
            let mut text = sample.text.clone();
            for cut in cuts {
                let at = text.floor_char_boundary(cut.min(text.len()));
                text.insert(at, '\u{200b}');
            }
            let redacted = redact(&text, TextMode::Code);
            prop_assert!(!redacted.contains(&sample.secret));
            prop_assert!(redacted.contains(&sample.marker()), "{redacted}");
        }
    }
}
