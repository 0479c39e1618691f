//! Scan of a single text without writing it.

use std::ops::Range;

use super::Guard;
use crate::{FindingSeverity, GuardVerdict, ScanAxis, ScanLevel, ScannedField, TextMode, admit};

/// A finding with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFinding {
    pub rule: &'static str,
    pub kind: &'static str,
    pub axis: ScanAxis,
    pub severity: FindingSeverity,
    /// Byte range in the text.
    pub span: Range<usize>,
    /// 1-based.
    pub line: usize,
    pub column: usize,
}

/// Result of a scan.
#[derive(Clone, Debug)]
pub struct ScanReport {
    pub status: ScanLevel,
    /// Ordered by position.
    pub findings: Vec<ScanFinding>,
    /// Set if a write with this text would be rejected.
    pub refused: bool,
}

impl Guard {
    /// Scans a text without changing anything.
    pub fn scan(&self, text: &str, mode: TextMode) -> ScanReport {
        let field = ScannedField {
            name: "text",
            text,
            mode,
        };
        let verdict = admit(&self.policy, &[field]);
        let mut findings: Vec<ScanFinding> = verdict
            .findings()
            .iter()
            .map(|finding| {
                // Computed from the raw text: spans refer to it even for a hit in decoded text.
                let before = &text[..finding.span.start];
                let line_start = before.rfind('\n').map_or(0, |at| at + 1);
                ScanFinding {
                    rule: finding.rule,
                    kind: finding.kind,
                    axis: finding.axis,
                    severity: finding.severity,
                    span: finding.span.clone(),
                    line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
                    column: before[line_start..].chars().count() + 1,
                }
            })
            .collect();
        findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
        ScanReport {
            status: verdict.scan(),
            findings,
            refused: matches!(verdict, GuardVerdict::Reject { .. }),
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
