//! Scan of one text for secrets, attacks and hidden characters.
//!
//! The raw text, its normalized copy and its decoded runs are all searched. A token split by a
//! zero-width space is complete only in the copy; a token joined to a word by one has its boundary
//! only in the raw text.
//!
//! Invariant: spans are non-empty, lie on character boundaries of the raw text and are in order.

use std::cmp::Reverse;
use std::ops::Range;

use crate::axis::ScanAxis;
use crate::encoding;
use crate::match_check::{MatchClass, RuleMatch};
use crate::normalize;
use crate::policy::GuardPolicy;
use crate::redact::MARKER_START;
use crate::rules::{GuardRule, RULES};
use crate::verdict::FindingSeverity;

/// Maximum field size in bytes; a larger field is rejected without a scan.
///
/// Far above any limit of an entry; it bounds the time a hostile import can take.
pub const FIELD_BYTES_MAX: usize = 1 << 20;

/// Kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    /// Sentences; rules based on entropy alone do not apply.
    Prose,
    /// Sentences meant to be shared; rules about organization-specific content apply too.
    Statement,
    /// Bodies and verification steps: they may name files and lines of the project, but no machine
    /// or customer.
    Explanation,
    /// Source code, configuration and commands.
    Code,
}

impl TextMode {
    /// Returns whether the text is shared beyond the project with its entry.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::Statement | Self::Explanation)
    }
}

/// A match before it is assigned to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleHit {
    pub(crate) rule: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) severity: FindingSeverity,
    pub(crate) axis: ScanAxis,
    /// Byte range in the raw text.
    pub(crate) span: Range<usize>,
}

/// Returns all matches in a text, ordered by position.
pub(crate) fn scan_text(policy: &GuardPolicy, text: &str, mode: TextMode) -> Vec<RuleHit> {
    if text.len() > FIELD_BYTES_MAX {
        return vec![RuleHit {
            rule: "field-bytes-max",
            kind: "unscanned",
            severity: FindingSeverity::High,
            axis: ScanAxis::Unscanned,
            span: 0..text.len(),
        }];
    }
    let mut hits = scan_form(policy, text, mode);
    let normalized = normalize::normalize(text);
    if let Some(copy) = normalized.differing_text() {
        let in_copy = scan_form(policy, copy, mode);
        hits.extend(in_copy.into_iter().map(|hit| RuleHit {
            span: normalized.raw_span(hit.span),
            ..hit
        }));
        // Most matches occur in both forms.
        hits = drop_nested(hits);
    }
    // Strays come last: they have rules of their own and cannot duplicate other hits.
    hits.extend(normalized.strays().iter().map(|stray| RuleHit {
        rule: stray.class.rule(),
        kind: stray.class.kind(),
        severity: FindingSeverity::Medium,
        axis: ScanAxis::Hidden,
        span: stray.span.clone(),
    }));
    hits.sort_by_key(|hit| (hit.span.start, Reverse(hit.span.end)));
    hits
}

/// Searches one form of the text and its decoded runs; spans refer to that form.
fn scan_form(policy: &GuardPolicy, text: &str, mode: TextMode) -> Vec<RuleHit> {
    let mut hits = apply_rules(text, mode);
    hits.extend(policy.hits(text, mode));
    for run in encoding::decode_runs(text) {
        let inside = apply_rules(&run.text, mode);
        // One finding per run, because positions inside the decoded text have no counterpart.
        hits.extend(
            inside
                .into_iter()
                .max_by_key(|hit| hit.severity)
                .map(|hit| RuleHit {
                    span: run.span,
                    ..hit
                }),
        );
    }
    hits
}

fn apply_rules(text: &str, mode: TextMode) -> Vec<RuleHit> {
    let concerning = RULES.concerning(text, mode).into_iter();
    concerning.flat_map(|rule| apply_rule(rule, text)).collect()
}

fn apply_rule(rule: &'static GuardRule, text: &str) -> Vec<RuleHit> {
    let expression = rule.expression();
    let mut hits = Vec::new();
    for found in expression.captures_iter(text.as_bytes()) {
        let names = expression.capture_names().flatten();
        let Some((matched, span)) = RuleMatch::of(text, &found, names) else {
            continue;
        };
        // A text that was redacted before may contain a marker next to a new secret.
        let rest = strip_markers(matched.secret);
        // Without this, redacting a text twice would find its own markers.
        if rest.as_deref().is_some_and(is_marker_residue) {
            continue;
        }
        let matched = rest
            .as_deref()
            .map_or(matched, |rest| matched.with_secret(rest));
        let severity = match rule.judge.of(matched) {
            MatchClass::Real => rule.severity,
            MatchClass::Example => FindingSeverity::Low,
            MatchClass::Placeholder => continue,
        };
        // An expression may match an empty group; the invariant excludes empty spans.
        if !span.is_empty() {
            hits.push(RuleHit {
                rule: &rule.id,
                kind: &rule.kind,
                severity,
                axis: rule.axis,
                span,
            });
        }
    }
    hits
}

/// Returns a match without our own markers, `None` if it has none. A marker does not protect the
/// text next to it.
fn strip_markers(secret: &str) -> Option<String> {
    if !secret.contains(MARKER_START) {
        return None;
    }
    let mut parts = secret.split(MARKER_START);
    let mut rest = parts.next().unwrap_or("").to_owned();
    for part in parts {
        rest.push_str(part.split_once(']').map_or("", |(_, behind)| behind));
    }
    Some(rest)
}

/// Returns whether the text next to markers is only punctuation or the remainder of a word.
fn is_marker_residue(rest: &str) -> bool {
    const WORD_CHARS_MAX: usize = 5;
    let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    words.all(|word| word.len() <= WORD_CHARS_MAX)
}

/// Drops duplicates of one rule from the raw text and the copy, keeping the wider span.
fn drop_nested(mut hits: Vec<RuleHit>) -> Vec<RuleHit> {
    hits.sort_by_key(|hit| {
        (
            hit.rule,
            hit.span.start,
            Reverse(hit.span.end),
            Reverse(hit.severity),
        )
    });
    let mut kept: Vec<RuleHit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept.last_mut() {
            Some(wider) if wider.rule == hit.rule && hit.span.end <= wider.span.end => {
                // The copy may classify the same match as more severe.
                wider.severity = wider.severity.max(hit.severity);
            }
            Some(_) | None => kept.push(hit),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
