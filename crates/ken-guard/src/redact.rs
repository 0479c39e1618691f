//! Redaction: replaces secrets in a text that is displayed or stored.
//!
//! Invariant: the result scans clean, so redacting it again changes nothing.

use std::ops::Range;

use crate::axis::ScanAxis;
use crate::match_check;
use crate::policy::{GuardPolicy, SecretFingerprint};
use crate::scan::{self, RuleHit, TextMode};
use crate::verdict::FindingSeverity;

/// Start of every marker; the text in a marker is not a secret.
pub(crate) const MARKER_START: &str = "[REDACTED:";

/// Maximum number of passes; a replacement can expose a match that its neighbor concealed, so the
/// text is scanned again.
const PASSES_MAX: usize = 8;

/// Replaces a text that does not come clean.
const UNSCANNED: &str = "[REDACTED:unscanned]";

/// A span to replace; overlapping hits become one, named after the most severe.
struct RedactionSpan {
    span: Range<usize>,
    severity: FindingSeverity,
    marker: Option<&'static str>,
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedText {
    pub text: String,
    /// Kind and, if the policy has a key, fingerprint of each replaced secret.
    pub replaced: Vec<(&'static str, Option<SecretFingerprint>)>,
    /// True if the text has instructions to a model or advice to send data away, for which a write
    /// is quarantined.
    pub is_quarantined: bool,
}

/// Replaces every secret with `[REDACTED:type]`; the result contains no secret the guard can find.
///
/// Stray invisible characters are removed. A text that is too long to scan, or that keeps producing
/// new findings, is replaced as a whole. Advice stays: it is quarantined or rejected, not
/// rewritten.
pub fn redact(policy: &GuardPolicy, text: &str, mode: TextMode) -> RedactedText {
    let mut redacted = RedactedText {
        text: text.to_owned(),
        replaced: Vec::new(),
        is_quarantined: false,
    };
    for _ in 0..PASSES_MAX {
        let mut hits = scan::scan_text(policy, &redacted.text, mode);
        // Hidden characters quarantine a write too, but here they are removed.
        let advises = |hit: &RuleHit| hit.axis.is_quarantined() && hit.axis != ScanAxis::Hidden;
        redacted.is_quarantined = hits.iter().any(advises);
        hits.retain(is_replaceable);
        if hits.is_empty() {
            return redacted;
        }
        let holes = merge_hits(&redacted.text, &hits);
        for hole in &holes {
            let secret = &redacted.text[hole.span.clone()];
            let key = policy
                .key()
                .filter(|_| is_worth_fingerprinting(hole, secret));
            // Taken before the text is replaced.
            let print = key.map(|key| key.fingerprint(secret));
            let replaced = hole.marker.map(|kind| (kind, print));
            redacted.replaced.extend(replaced);
        }
        redacted.text = apply_markers(&redacted.text, &holes);
    }
    // Hostile text could alternate forever; losing it is better than storing a secret.
    if !find_replaceable(policy, &redacted.text, mode).is_empty() {
        UNSCANNED.clone_into(&mut redacted.text);
    }
    redacted
}

/// Returns the hits to replace: secrets, hidden characters and unscanned text.
fn find_replaceable(policy: &GuardPolicy, text: &str, mode: TextMode) -> Vec<RuleHit> {
    let mut hits = scan::scan_text(policy, text, mode);
    hits.retain(is_replaceable);
    hits
}

fn is_replaceable(hit: &RuleHit) -> bool {
    hit.axis.is_secret() || matches!(hit.axis, ScanAxis::Hidden | ScanAxis::Unscanned)
}

/// Returns whether to fingerprint a secret: an ordinary word also occurs for other reasons.
fn is_worth_fingerprinting(hole: &RedactionSpan, secret: &str) -> bool {
    hole.severity >= FindingSeverity::High && match_check::is_uncommon_word(secret)
}

/// Returns the end of the unbroken run that a secret is part of, because an expression may stop at
/// its maximum length.
fn run_end(text: &str, end: usize) -> usize {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '/' | '=' | '-');
    // A secret that ends with punctuation is complete; only an unbroken run may continue.
    let inside = text[..end].ends_with(goes_on);
    let rest = text[end..]
        .find(|c| !goes_on(c))
        .unwrap_or(text.len() - end);
    if inside { end + rest } else { end }
}

/// Merges hits, ordered by position, into non-overlapping spans.
fn merge_hits(text: &str, hits: &[RuleHit]) -> Vec<RedactionSpan> {
    let mut holes: Vec<RedactionSpan> = Vec::with_capacity(hits.len());
    for hit in hits {
        let mut hit = hit.clone();
        if hit.axis.is_secret() {
            hit.span.end = run_end(text, hit.span.end);
        }
        // Hidden characters are deleted without a marker, as a reader never saw them.
        let marker = (hit.axis != ScanAxis::Hidden).then_some(hit.kind);
        match holes.last_mut() {
            Some(hole) if hit.span.start < hole.span.end => {
                hole.span.end = hole.span.end.max(hit.span.end);
                // A hidden character inside a secret must not decide the name of the marker.
                if hole.marker.is_none() || (marker.is_some() && hole.severity < hit.severity) {
                    hole.marker = marker;
                    hole.severity = hit.severity;
                }
            }
            Some(_) | None => {
                holes.push(RedactionSpan {
                    span: hit.span.clone(),
                    severity: hit.severity,
                    marker,
                });
            }
        }
    }
    holes
}

fn apply_markers(text: &str, holes: &[RedactionSpan]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for hole in holes {
        result.push_str(&text[copied..hole.span.start]);
        if let Some(kind) = hole.marker {
            result.push_str(MARKER_START);
            result.push_str(kind);
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
    use crate::FIELD_BYTES_MAX;
    use crate::policy::FingerprintKey;
    use crate::sample::{self, RuleSample};

    fn redact(text: &str, mode: TextMode) -> String {
        super::redact(&GuardPolicy::default(), text, mode).text
    }

    fn secrets() -> Vec<RuleSample> {
        let mut samples = sample::samples_of_every_rule(5);
        samples.retain(|sample| sample.axis.is_secret());
        samples
    }

    fn github_token() -> String {
        let mut samples = secrets().into_iter();
        samples.find(|it| it.rule == "github-token").unwrap().text
    }

    #[test]
    fn no_made_up_part_of_any_sample_survives() {
        for sample in secrets() {
            let text = format!("before {} after", sample.text);
            let redacted = redact(&text, TextMode::Code);
            assert!(
                redacted.contains(MARKER_START),
                "{}: {redacted}",
                sample.rule
            );
            assert!(
                !redacted.contains(sample.secret()),
                "{}: {redacted}",
                sample.rule
            );
            assert!(redacted.starts_with("before ") && redacted.len() < text.len() + 40);
        }
    }

    #[test]
    fn a_secret_is_removed_together_with_what_split_it() {
        let token = github_token();
        let split = format!("x {}\u{200b}{}\u{202e} y", &token[..9], &token[9..]);
        assert_eq!(
            redact(&split, TextMode::Prose),
            "x [REDACTED:github-token] y"
        );
    }

    #[test]
    fn full_width_letters_hide_nothing() {
        let wide: String = github_token()
            .chars()
            .map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap())
            .collect();
        let text = format!("x {wide} y");
        assert_eq!(
            redact(&text, TextMode::Prose),
            "x [REDACTED:github-token] y"
        );
    }

    #[test]
    fn a_marker_shields_nothing_that_stands_beside_it() {
        let block = secrets()
            .into_iter()
            .find(|it| it.rule == "private-key-block")
            .unwrap();
        for text in [
            format!(
                "-----BEGIN PRIVATE KEY----- [REDACTED:private-key]\n{}",
                block.text
            ),
            "password = \"[REDACTED:x]Tr0ub4dor33\"".to_owned(),
            "postgres://u:[REDACTED:x]hunter2x9@db.corp.io".to_owned(),
        ] {
            let redacted = redact(&text, TextMode::Code);
            for left in [block.secret(), "Tr0ub4dor33", "hunter2x9"] {
                assert!(!redacted.contains(left), "{redacted}");
            }
        }
    }

    #[test]
    fn a_secret_longer_than_any_bound_goes_whole() {
        let long = "a1B2".repeat(60);
        let redacted = redact(&format!("APP_PASSWORD={long} next"), TextMode::Code);
        assert_eq!(redacted, "APP_PASSWORD=[REDACTED:password] next");
    }

    #[test]
    fn a_word_that_was_somebodys_password_is_not_remembered() {
        let policy =
            GuardPolicy::default().with_known(FingerprintKey::new([9; 32]), Default::default());
        let text = "POSTGRES_PASSWORD=postgres";
        let redacted = super::redact(&policy, text, TextMode::Code);
        assert_eq!(redacted.replaced, [("password", None)]);
    }

    #[test]
    fn overlapping_secrets_become_one_marker() {
        let text = format!("https://bot:{}@git.corp.io/x", github_token());
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

    #[test]
    fn what_was_replaced_can_be_recognized_again() {
        let token = github_token();
        let key = FingerprintKey::new([9; 32]);
        let print = key.fingerprint(&token);
        let policy = GuardPolicy::default().with_known(key, Default::default());
        let redacted = super::redact(&policy, &format!("x {token} y"), TextMode::Prose);
        assert_eq!(redacted.replaced, [("github-token", Some(print))]);
    }

    fn any_mode() -> impl Strategy<Value = TextMode> {
        prop_oneof![
            Just(TextMode::Prose),
            Just(TextMode::Statement),
            Just(TextMode::Code)
        ]
    }

    /// Generates secrets, parts of secrets, words, separators and hidden characters in any order.
    fn any_text() -> impl Strategy<Value = String> {
        let secrets = secrets();
        let piece = prop_oneof![
            (0..secrets.len(), 0..3u8, 0..400usize).prop_map(move |(which, part, at)| {
                let text = &secrets[which].text;
                let at = text.floor_char_boundary(at.min(text.len()));
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
            Just("password is ".to_owned()),
            Just("[REDACTED:x]".to_owned()),
            any::<String>(),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Every result is free of secrets, and redacting it again changes nothing.
        #[test]
        fn a_redacted_text_is_clean_and_stays_as_it_is(text in any_text(), mode in any_mode()) {
            let once = redact(&text, mode);
            let left = find_replaceable(&GuardPolicy::default(), &once, mode);
            prop_assert!(left.is_empty(), "{once:?}: {left:?}");
            prop_assert_eq!(redact(&once, mode), once);
        }

        /// No complete token survives, wherever hidden characters are inserted.
        #[test]
        fn no_split_secret_survives(which in 0..secrets().len(), cuts in proptest::collection::vec(0..400usize, 0..6)) {
            let sample = secrets().swap_remove(which);
            let mut text = sample.text.clone();
            for cut in cuts {
                let at = text.floor_char_boundary(cut.min(text.len()));
                text.insert(at, '\u{200b}');
            }
            let redacted = redact(&text, TextMode::Code);
            prop_assert!(!redacted.contains(sample.secret()), "{redacted}");
            prop_assert!(redacted.contains(MARKER_START), "{redacted}");
        }
    }
}
