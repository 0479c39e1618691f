//! The guard alone: what it finds in a text that nobody wants to write.

use std::ops::Range;

use super::Guard;
use crate::{Axis, Field, ScanStatus, Severity, TextMode, Verdict, admit};

/// One thing found, with where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFinding {
    pub rule: &'static str,
    pub kind: &'static str,
    pub axis: Axis,
    pub severity: Severity,
    /// Bytes in the text.
    pub span: Range<usize>,
    /// Counted from 1.
    pub line: usize,
    pub column: usize,
}

/// What a scan came to.
#[derive(Clone, Debug)]
pub struct Scanned {
    pub status: ScanStatus,
    /// By position.
    pub findings: Vec<ScanFinding>,
    /// Whether a write with this text would be refused.
    pub refused: bool,
}

impl Guard {
    /// Scans a text and changes nothing.
    pub fn scan(&self, text: &str, mode: TextMode) -> Scanned {
        let field = Field {
            name: "text",
            text,
            mode,
        };
        let verdict = admit(&self.policy, &[field]);
        let mut findings: Vec<ScanFinding> = verdict
            .findings()
            .iter()
            .map(|it| {
                let before = &text[..it.span.start];
                let line_start = before.rfind('\n').map_or(0, |at| at + 1);
                ScanFinding {
                    rule: it.rule,
                    kind: it.kind,
                    axis: it.axis,
                    severity: it.severity,
                    span: it.span.clone(),
                    line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
                    column: before[line_start..].chars().count() + 1,
                }
            })
            .collect();
        findings.sort_by_key(|it| (it.span.start, it.span.end));
        Scanned {
            status: verdict.scan(),
            findings,
            refused: matches!(verdict, Verdict::Reject { .. }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_say_where_they_stand() {
        let text = "fine\né postgres://a:hunter2x@db.corp.io/x\n";
        let scanned = Guard::default().scan(text, TextMode::Prose);
        assert!(scanned.refused);
        let found = &scanned.findings[0];
        assert_eq!((found.line, found.column), (2, 16));
        assert_eq!(&text[found.span.clone()], "hunter2x");
    }
}
