//! Decides whether a write may be stored.
//!
//! A secret is refused, never stored and hidden later. Text with characters no reader can see, or that speaks to a
//! model, is stored but withheld from agents until a person has looked. Everything else is let in with what was
//! found written beside it.
//!
//! Invariant: a verdict says where and what kind, never the text itself.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;

use crate::axis::Axis;
use crate::policy::Policy;
use crate::scan::{self, TextMode};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    pub kind: &'static str,
    pub axis: Axis,
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
pub fn admit(policy: &Policy, fields: &[Field<'_>]) -> Verdict {
    let mut findings = Vec::new();
    let mut held_for = None;
    for field in fields {
        for hit in scan::scan(policy, field.text, field.mode) {
            if hit.axis.is_quarantined() {
                held_for = held_for.or(Some((hit.axis, field.name, hit.kind)));
            }
            findings.push(Finding {
                field: field.name.to_owned(),
                rule: hit.rule,
                kind: hit.kind,
                axis: hit.axis,
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
    match (scan, held_for) {
        (ScanStatus::High | ScanStatus::Critical, _) => Verdict::Reject { scan, findings },
        (ScanStatus::Safe | ScanStatus::Low | ScanStatus::Medium, Some((axis, field, kind))) => {
            let what = match axis {
                Axis::Hidden => "text that no reader can see",
                Axis::Injection => "text that speaks to a model",
                Axis::Exfiltration => "advice that sends data away",
                Axis::Credential
                | Axis::CredentialLeakage
                | Axis::UnsafeCode
                | Axis::Sanitisation
                | Axis::Unscanned => "text to look at",
            };
            let why = format!("{what} ({kind}) in `{field}`");
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
    use crate::FIELD_BYTES_MAX;
    use crate::sample::{self, Sample};

    fn statement(text: &str) -> Field<'_> {
        Field {
            name: "statement",
            text,
            mode: TextMode::Prose,
        }
    }

    fn admit(fields: &[Field<'_>]) -> Verdict {
        super::admit(&Policy::default(), fields)
    }

    fn a(rule: &str) -> Sample {
        let mut samples = sample::of_every_rule(1).into_iter();
        samples.find(|sample| sample.rule == rule).unwrap()
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
        let step = format!("curl -H 'PRIVATE-TOKEN: {}'", a("gitlab-token").text);
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
        let text = format!("a\u{200b}b {}", a("github-token").text);
        assert!(matches!(admit(&[statement(&text)]), Verdict::Reject { .. }));
    }

    #[test]
    fn a_medium_secret_is_admitted_and_noted() {
        let text = a("high-entropy-string").text;
        let code = Field {
            mode: TextMode::Code,
            ..statement(&text)
        };
        let verdict = admit(&[code]);
        assert!(matches!(
            verdict,
            Verdict::Admit {
                scan: ScanStatus::Medium,
                ..
            }
        ));
        assert_eq!(rules(&verdict), ["high-entropy-string"]);
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
        let mut text =
            format!("{} ", a("google-service-account-key-id").text).repeat(FINDINGS_MAX + 1);
        text.push_str(&a("github-token").text);
        let verdict = admit(&[statement(&text)]);
        assert_eq!(verdict.findings().len(), FINDINGS_MAX);
        assert_eq!(rules(&verdict)[0], "github-token");
    }

    #[test]
    fn no_debug_output_contains_the_secret() {
        for sample in sample::of_every_rule(3) {
            let text = format!("before {} after", sample.text);
            let field = statement(&text);
            let shown = format!("{field:?} {:?} {:#?}", admit(&[field]), admit(&[field]));
            let secret = sample.secret();
            assert!(
                secret.is_empty() || !shown.contains(secret),
                "{}",
                sample.rule
            );
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
