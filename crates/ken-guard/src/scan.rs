//! Finds secrets and hidden characters in one text.
//!
//! The raw text and its normalised copy are both searched: a token split by a zero-width space is
//! whole only in the copy, a token glued to a word by one has its boundary only in the raw text.
//!
//! Invariant: spans are non-empty, lie on character boundaries of the raw text and are in order.

use std::cmp::Reverse;
use std::ops::Range;

use crate::likeness::Likeness;
use crate::normalise;
use crate::rules;
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
    /// Source, configuration and commands; all rules are asked.
    Code,
}

/// One thing found, before it is given the name of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: &'static str,
    pub(crate) secret_type: &'static str,
    pub(crate) severity: Severity,
    pub(crate) concern: Concern,
    /// Bytes in the raw text.
    pub(crate) span: Range<usize>,
}

/// What a hit is about, which decides its remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concern {
    Secret,
    /// Characters no reader sees.
    Hidden,
    /// Too long to look into.
    Unscanned,
}

/// Returns everything found in a text, by position.
pub(crate) fn scan(text: &str, mode: TextMode) -> Vec<Hit> {
    if FIELD_BYTES_MAX < text.len() {
        return vec![Hit {
            rule: "field-bytes-max",
            secret_type: "unscanned",
            severity: Severity::High,
            concern: Concern::Unscanned,
            span: 0..text.len(),
        }];
    }
    let mut hits = secrets(text, mode);
    let normalised = normalise::normalise(text);
    if let Some(copy) = normalised.differing_text() {
        let in_copy = secrets(copy, mode);
        hits.extend(in_copy.into_iter().map(|hit| Hit {
            span: normalised.raw_span(hit.span),
            ..hit
        }));
        hits = without_nested(hits);
    }
    hits.extend(normalised.strays().iter().map(|stray| Hit {
        rule: stray.class.rule(),
        secret_type: stray.class.kind(),
        severity: Severity::Medium,
        concern: Concern::Hidden,
        span: stray.span.clone(),
    }));
    hits.sort_by_key(|hit| (hit.span.start, Reverse(hit.span.end)));
    hits
}

/// Searches one form of the text; spans are those of that form.
fn secrets(text: &str, mode: TextMode) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (rule, expression) in rules::concerning(text, mode) {
        for found in expression.captures_iter(text) {
            let severity = match (rule.judge)(&found) {
                Likeness::Real => rule.severity,
                Likeness::Example => Severity::Low,
                Likeness::Placeholder => continue,
            };
            if let Some(secret) = found.name("secret") {
                hits.push(Hit {
                    rule: rule.id,
                    secret_type: rule.secret_type,
                    severity,
                    concern: Concern::Secret,
                    span: secret.range(),
                });
            }
        }
    }
    hits
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
