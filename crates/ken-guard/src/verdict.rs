//! Decides whether a write may be stored.
//!
//! A secret is refused, never stored and hidden later. Text with characters no reader can see is
//! stored but withheld from agents until a person has looked. Everything else is let in with what
//! was found written beside it.
//!
//! Invariant: a verdict says where and what kind, never the text itself.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use crate::scan::{self, Concern, TextMode};

/// At most this many findings are kept in a verdict, the gravest first; its status
/// takes all of them into account.
pub const FINDINGS_MAX: usize = 64;

/// One free-text field of a write.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// What the refusal calls it: `statement`, `verify[0]`, `tags`, `evidence_ref`. Never user text: it is
    /// repeated in the verdict.
    pub name: &'a str,
    pub text: &'a str,
    pub mode: TextMode,
}

/// How bad it would be to store what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

/// One thing found in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub field: String,
    pub rule: &'static str,
    /// As in the marker that [`crate::redact`] writes.
    pub secret_type: &'static str,
    pub severity: Severity,
    /// Bytes in the raw text of the field.
    pub span: Range<usize>,
}

/// The gravest severity of a scan, or that there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanStatus {
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

/// What becomes of a write; to be recorded in its event with [`crate::RULE_SET`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// May be stored.
    Admit {
        scan: ScanStatus,
        findings: Vec<Finding>,
    },
    /// May be stored, and is not shown to agents until a person lifts it.
    Quarantine {
        scan: ScanStatus,
        findings: Vec<Finding>,
        why: String,
    },
    /// Must not reach the disk.
    Reject {
        scan: ScanStatus,
        findings: Vec<Finding>,
    },
}

/// Scans every field of a write and decides. Call it before anything is written anywhere.
pub fn admit(fields: &[Field<'_>]) -> Verdict {
    let mut findings = Vec::new();
    let mut hidden_in = None;
    for field in fields {
        for hit in scan::scan(field.text, field.mode) {
            match hit.concern {
                Concern::Hidden => hidden_in = hidden_in.or(Some((field.name, hit.secret_type))),
                Concern::Secret | Concern::Unscanned => {}
            }
            findings.push(Finding {
                field: field.name.to_owned(),
                rule: hit.rule,
                secret_type: hit.secret_type,
                severity: hit.severity,
                span: hit.span,
            });
        }
    }
    let scan = findings
        .iter()
        .map(|finding| finding.severity.into())
        .max()
        .unwrap_or(ScanStatus::Safe);
    // Stable: within one severity the order of the fields and of the text remains.
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings.truncate(FINDINGS_MAX);
    match (scan, hidden_in) {
        (ScanStatus::High | ScanStatus::Critical, _) => Verdict::Reject { scan, findings },
        (ScanStatus::Safe | ScanStatus::Low | ScanStatus::Medium, Some((field, kind))) => {
            let why = format!("text that no reader can see ({kind}) in `{field}`");
            Verdict::Quarantine {
                scan,
                findings,
                why,
            }
        }
        (ScanStatus::Safe | ScanStatus::Low | ScanStatus::Medium, None) => {
            Verdict::Admit { scan, findings }
        }
    }
}

impl Verdict {
    /// Returns the gravest severity found, whatever became of the write.
    pub fn scan(&self) -> ScanStatus {
        match self {
            Self::Admit { scan, .. }
            | Self::Quarantine { scan, .. }
            | Self::Reject { scan, .. } => *scan,
        }
    }

    /// Returns what was found, the gravest first, at most [`FINDINGS_MAX`].
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Admit { findings, .. }
            | Self::Quarantine { findings, .. }
            | Self::Reject { findings, .. } => findings,
        }
    }
}

impl ScanStatus {
    /// Returns the word used in events, output and columns.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for ScanStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ScanStatus::from(*self).fmt(f)
    }
}

impl From<Severity> for ScanStatus {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Low => Self::Low,
            Severity::Medium => Self::Medium,
            Severity::High => Self::High,
            Severity::Critical => Self::Critical,
        }
    }
}

/// Leaves the text out: a field that is logged before it was scanned must not leak.
impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field")
            .field("name", &self.name)
            .field("bytes", &self.text.len())
            .field("mode", &self.mode)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIELD_BYTES_MAX, sample};

    fn statement(text: &str) -> Field<'_> {
        Field {
            name: "statement",
            text,
            mode: TextMode::Prose,
        }
    }

    fn rules(verdict: &Verdict) -> Vec<&'static str> {
        verdict
            .findings()
            .iter()
            .map(|finding| finding.rule)
            .collect()
    }

    #[test]
    fn a_clean_write_is_admitted_as_safe() {
        let verdict = admit(&[
            statement("Check ctx.Err() after upstream calls"),
            statement(""),
        ]);
        assert_eq!(
            verdict,
            Verdict::Admit {
                scan: ScanStatus::Safe,
                findings: vec![]
            }
        );
        assert_eq!(admit(&[]).scan(), ScanStatus::Safe);
    }

    #[test]
    fn a_secret_in_any_field_rejects_the_write_and_names_the_field() {
        let step = format!(
            "curl -H 'PRIVATE-TOKEN: {}'",
            sample::token(&["glp", "at-"], 20)
        );
        let verify = Field {
            name: "verify[1]",
            text: &step,
            mode: TextMode::Code,
        };
        let verdict = admit(&[statement("Lists projects"), verify]);
        assert!(matches!(
            verdict,
            Verdict::Reject {
                scan: ScanStatus::Critical,
                ..
            }
        ));
        let finding = &verdict.findings()[0];
        assert_eq!(
            (finding.field.as_str(), finding.rule),
            ("verify[1]", "gitlab-token")
        );
        assert_eq!(finding.span, 24..step.len() - 1);
    }

    #[test]
    fn hidden_characters_quarantine() {
        for text in ["a\u{200b}b", "x\u{202e}y", "z\u{e0041}"] {
            match admit(&[statement(text)]) {
                Verdict::Quarantine { scan, why, .. } => {
                    assert_eq!(scan, ScanStatus::Medium);
                    assert!(why.contains("`statement`"), "{why}");
                }
                other @ (Verdict::Admit { .. } | Verdict::Reject { .. }) => {
                    panic!("{text:?}: {other:?}")
                }
            }
        }
    }

    #[test]
    fn a_secret_outweighs_hidden_characters() {
        let text = format!("a\u{200b}b {}", sample::token(&["gh", "p_"], 36));
        assert!(matches!(admit(&[statement(&text)]), Verdict::Reject { .. }));
    }

    #[test]
    fn a_medium_secret_is_admitted_and_noted() {
        let verdict = admit(&[statement(&sample::jwt())]);
        assert!(matches!(
            verdict,
            Verdict::Admit {
                scan: ScanStatus::Medium,
                ..
            }
        ));
        assert_eq!(rules(&verdict), ["json-web-token"]);
    }

    #[test]
    fn a_field_too_long_to_scan_is_rejected() {
        let longest = "a".repeat(FIELD_BYTES_MAX);
        assert_eq!(admit(&[statement(&longest)]).scan(), ScanStatus::Safe);
        let verdict = admit(&[statement(&(longest + "a"))]);
        assert!(matches!(verdict, Verdict::Reject { .. }));
        assert_eq!(rules(&verdict), ["field-bytes-max"]);
    }

    #[test]
    fn only_the_gravest_findings_are_kept() {
        let mut text = format!("{} ", sample::jwt()).repeat(FINDINGS_MAX + 1);
        text.push_str(&sample::token(&["gh", "p_"], 36));
        let verdict = admit(&[statement(&text)]);
        assert_eq!(verdict.findings().len(), FINDINGS_MAX);
        assert_eq!(rules(&verdict)[0], "github-token");
    }

    #[test]
    fn no_debug_output_contains_the_secret() {
        for sample in sample::all() {
            let text = format!("before {} after", sample.text);
            let field = statement(&text);
            let shown = format!("{field:?} {:?} {:#?}", admit(&[field]), admit(&[field]));
            assert!(!shown.contains(&sample.secret), "{}", sample.rule);
        }
    }

    #[test]
    fn statuses_are_ordered_and_written_in_lower_case() {
        let all = [
            ScanStatus::Safe,
            ScanStatus::Low,
            ScanStatus::Medium,
            ScanStatus::High,
            ScanStatus::Critical,
        ];
        assert!(all.is_sorted());
        assert_eq!(
            all.map(|status| status.to_string()),
            ["safe", "low", "medium", "high", "critical"]
        );
    }
}
