//! Finds what should not be written, in one text.
//!
//! The raw text, its normalised copy and what its encoded runs say are all searched: a token split by a zero-width
//! space is whole only in the copy, a token glued to a word by one has its boundary only in the raw text.
//!
//! Invariant: spans are non-empty, lie on character boundaries of the raw text and are in order.

use std::cmp::Reverse;
use std::ops::Range;

use crate::axis::Axis;
use crate::encoding;
use crate::judge::{Likeness, Match};
use crate::normalise;
use crate::policy::Policy;
use crate::redact::MARKER_START;
use crate::rules::{RULES, Rule};
use crate::verdict::Severity;

/// A field above this many bytes is refused unread.
///
/// Far above any limit of an entry; it bounds the time a hostile import can take.
pub const FIELD_BYTES_MAX: usize = 1 << 20;

/// What kind of text this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    /// Sentences; rules that rest on entropy alone are not asked.
    Prose,
    /// Sentences that are meant to be shared: what belongs to one organisation is looked for as well.
    Statement,
    /// Source, configuration and commands; all rules about them are asked.
    Code,
}

/// One thing found, before it is given the name of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) severity: Severity,
    pub(crate) axis: Axis,
    /// Bytes in the raw text.
    pub(crate) span: Range<usize>,
}

/// Returns everything found in a text, by position.
pub(crate) fn scan(policy: &Policy, text: &str, mode: TextMode) -> Vec<Hit> {
    if FIELD_BYTES_MAX < text.len() {
        return vec![Hit {
            rule: "field-bytes-max",
            kind: "unscanned",
            severity: Severity::High,
            axis: Axis::Unscanned,
            span: 0..text.len(),
        }];
    }
    let mut hits = in_one_form(policy, text, mode);
    let normalised = normalise::normalise(text);
    if let Some(copy) = normalised.differing_text() {
        let in_copy = in_one_form(policy, copy, mode);
        hits.extend(in_copy.into_iter().map(|hit| Hit {
            span: normalised.raw_span(hit.span),
            ..hit
        }));
        hits = without_nested(hits);
    }
    hits.extend(normalised.strays().iter().map(|stray| Hit {
        rule: stray.class.rule(),
        kind: stray.class.kind(),
        severity: Severity::Medium,
        axis: Axis::Hidden,
        span: stray.span.clone(),
    }));
    hits.sort_by_key(|hit| (hit.span.start, Reverse(hit.span.end)));
    hits
}

/// Searches one form of the text and what it encodes; spans are those of that form.
fn in_one_form(policy: &Policy, text: &str, mode: TextMode) -> Vec<Hit> {
    let mut hits = by_rules(text, mode);
    hits.extend(policy.hits(text, mode));
    for run in encoding::decoded(text) {
        let inside = by_rules(&run.text, mode);
        // One finding a run: its parts have no place in the text.
        hits.extend(
            inside
                .into_iter()
                .max_by_key(|hit| hit.severity)
                .map(|hit| Hit {
                    span: run.span,
                    ..hit
                }),
        );
    }
    hits
}

fn by_rules(text: &str, mode: TextMode) -> Vec<Hit> {
    let concerning = RULES.concerning(text, mode).into_iter();
    concerning.flat_map(|rule| by_rule(rule, text)).collect()
}

fn by_rule(rule: &'static Rule, text: &str) -> Vec<Hit> {
    let expression = rule.expression();
    let mut hits = Vec::new();
    for found in expression.captures_iter(text.as_bytes()) {
        let names = expression.capture_names().flatten();
        let Some((it, span)) = Match::of(text, &found, names) else {
            continue;
        };
        let rest = without_markers(it.secret);
        if rest.as_deref().is_some_and(is_little) {
            continue;
        }
        let it = rest.as_deref().map_or(it, |rest| it.with_secret(rest));
        let severity = match rule.judge.of(it) {
            Likeness::Real => rule.severity,
            Likeness::Example => Severity::Low,
            Likeness::Placeholder => continue,
        };
        if !span.is_empty() {
            hits.push(Hit {
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

/// Returns a match without our own markers: what a secret was replaced by shields nothing beside it.
fn without_markers(secret: &str) -> Option<String> {
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

/// Returns whether what is left beside markers is only the punctuation, or the cut word, around them.
fn is_little(rest: &str) -> bool {
    const WORD_CHARS_MAX: usize = 5;
    let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    words.all(|word| word.len() <= WORD_CHARS_MAX)
}

/// Drops what one rule found twice, in the raw text and in the copy, keeping the wider span.
fn without_nested(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| {
        (
            hit.rule,
            hit.span.start,
            Reverse(hit.span.end),
            Reverse(hit.severity),
        )
    });
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept.last_mut() {
            Some(wider) if wider.rule == hit.rule && hit.span.end <= wider.span.end => {
                wider.severity = wider.severity.max(hit.severity);
            }
            Some(_) | None => kept.push(hit),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
