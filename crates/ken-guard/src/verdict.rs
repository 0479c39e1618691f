//! Verdict on a write.
//!
//! A secret is rejected, never stored and hidden later. Text with invisible characters, or
//! addressed to a model, is stored but quarantined. Everything else is admitted with its findings
//! recorded.
//!
//! Invariant: a verdict names position and kind, never the text itself.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;

use crate::axis::ScanAxis;
use crate::policy::GuardPolicy;
use crate::scan::{self, TextMode};

/// Maximum number of findings in a verdict, most severe first; its status takes all findings into
/// account.
pub const FINDINGS_MAX: usize = 64;

/// One free-text field of a write.
#[derive(Clone, Copy)]
pub struct ScannedField<'a> {
    /// Field name in messages: `statement`, `verify[0]`, `tags`, `evidence_ref`. Never user text,
    /// because the verdict repeats it.
    pub name: &'a str,
    pub text: &'a str,
    pub mode: TextMode,
}

/// Severity of storing the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    Low,
    Medium,
    High,
    Critical,
}

/// A match in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardFinding {
    pub field: String,
    pub rule: &'static str,
    /// As in the marker that [`crate::redact`] writes.
    pub kind: &'static str,
    pub axis: ScanAxis,
    pub severity: FindingSeverity,
    /// Byte range in the raw text of the field.
    pub span: Range<usize>,
}

/// Highest severity of a scan, or `Safe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanLevel {
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

/// Decision about a write; recorded in its event with [`crate::RULE_SET`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardVerdict {
    /// May be stored.
    Admit {
        scan: ScanLevel,
        findings: Vec<GuardFinding>,
    },
    /// May be stored, but is hidden from agents until a person releases it.
    Quarantine {
        scan: ScanLevel,
        findings: Vec<GuardFinding>,
        why: String,
    },
    /// Must not reach the disk.
    Reject {
        scan: ScanLevel,
        findings: Vec<GuardFinding>,
    },
}

/// Scans every field of a write and decides. Call it before anything is written.
pub fn admit(policy: &GuardPolicy, fields: &[ScannedField<'_>]) -> GuardVerdict {
    let mut findings = Vec::new();
    let mut held_for = None;
    for field in fields {
        for hit in scan::scan_text(policy, field.text, field.mode) {
            if hit.axis.is_quarantined() {
                // The first field names the reason; later ones appear in the findings.
                held_for = held_for.or(Some((hit.axis, field.name, hit.kind)));
            }
            findings.push(GuardFinding {
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
        .unwrap_or(ScanLevel::Safe);
    // A stable sort keeps the order of fields and positions within one severity.
    findings.sort_by_key(|finding| Reverse(finding.severity));
    // After the status was computed, so that truncation cannot lower it.
    findings.truncate(FINDINGS_MAX);
    match (scan, held_for) {
        // A rejection outweighs a quarantine.
        (ScanLevel::High | ScanLevel::Critical, _) => GuardVerdict::Reject { scan, findings },
        (ScanLevel::Safe | ScanLevel::Low | ScanLevel::Medium, Some((axis, field, kind))) => {
            let description = match axis {
                ScanAxis::Hidden => "invisible text",
                ScanAxis::Injection => "instructions to a model",
                ScanAxis::Exfiltration => "advice to send data to another system",
                // `is_quarantined` excludes these axes; listed so that a new axis must be
                // considered.
                ScanAxis::Credential
                | ScanAxis::CredentialLeakage
                | ScanAxis::UnsafeCode
                | ScanAxis::Sanitization
                | ScanAxis::Unscanned => "text to review",
            };
            let why = format!("{description} ({kind}) in `{field}`");
            GuardVerdict::Quarantine {
                scan,
                findings,
                why,
            }
        }
        (ScanLevel::Safe | ScanLevel::Low | ScanLevel::Medium, None) => {
            GuardVerdict::Admit { scan, findings }
        }
    }
}

impl GuardVerdict {
    /// Returns the highest severity found, regardless of the decision.
    pub fn scan(&self) -> ScanLevel {
        match self {
            Self::Admit { scan, .. }
            | Self::Quarantine { scan, .. }
            | Self::Reject { scan, .. } => *scan,
        }
    }

    /// Returns the findings, most severe first, at most [`FINDINGS_MAX`].
    pub fn findings(&self) -> &[GuardFinding] {
        match self {
            Self::Admit { findings, .. }
            | Self::Quarantine { findings, .. }
            | Self::Reject { findings, .. } => findings,
        }
    }
}

impl ScanLevel {
    /// Returns the name used in events, output and columns.
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

impl fmt::Display for ScanLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ScanLevel::from(*self).fmt(f)
    }
}

impl From<FindingSeverity> for ScanLevel {
    fn from(severity: FindingSeverity) -> Self {
        match severity {
            FindingSeverity::Low => Self::Low,
            FindingSeverity::Medium => Self::Medium,
            FindingSeverity::High => Self::High,
            FindingSeverity::Critical => Self::Critical,
        }
    }
}

/// Omits the text: a field logged before the scan must not leak a secret.
impl fmt::Debug for ScannedField<'_> {
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
    use crate::sample::{self, RuleSample};

    fn statement(text: &str) -> ScannedField<'_> {
        ScannedField {
            name: "statement",
            text,
            mode: TextMode::Prose,
        }
    }

    fn admit(fields: &[ScannedField<'_>]) -> GuardVerdict {
        super::admit(&GuardPolicy::default(), fields)
    }

    fn a(rule: &str) -> RuleSample {
        let mut samples = sample::samples_of_every_rule(1).into_iter();
        samples.find(|sample| sample.rule == rule).unwrap()
    }

    fn rules(verdict: &GuardVerdict) -> Vec<&'static str> {
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
            GuardVerdict::Admit {
                scan: ScanLevel::Safe,
                findings: vec![]
            }
        );
        assert_eq!(admit(&[]).scan(), ScanLevel::Safe);
    }

    #[test]
    fn a_secret_in_any_field_rejects_the_write_and_names_the_field() {
        let step = format!("curl -H 'PRIVATE-TOKEN: {}'", a("gitlab-token").text);
        let verify = ScannedField {
            name: "verify[1]",
            text: &step,
            mode: TextMode::Code,
        };
        let verdict = admit(&[statement("Lists projects"), verify]);
        assert!(matches!(
            verdict,
            GuardVerdict::Reject {
                scan: ScanLevel::Critical,
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
                GuardVerdict::Quarantine { scan, why, .. } => {
                    assert_eq!(scan, ScanLevel::Medium);
                    assert!(why.contains("`statement`"), "{why}");
                }
                other @ (GuardVerdict::Admit { .. } | GuardVerdict::Reject { .. }) => {
                    panic!("{text:?}: {other:?}")
                }
            }
        }
    }

    #[test]
    fn a_secret_outweighs_hidden_characters() {
        let text = format!("a\u{200b}b {}", a("github-token").text);
        assert!(matches!(
            admit(&[statement(&text)]),
            GuardVerdict::Reject { .. }
        ));
    }

    #[test]
    fn a_medium_secret_is_admitted_and_noted() {
        let text = a("high-entropy-string").text;
        let code = ScannedField {
            mode: TextMode::Code,
            ..statement(&text)
        };
        let verdict = admit(&[code]);
        assert!(matches!(
            verdict,
            GuardVerdict::Admit {
                scan: ScanLevel::Medium,
                ..
            }
        ));
        assert_eq!(rules(&verdict), ["high-entropy-string"]);
    }

    #[test]
    fn a_field_too_long_to_scan_is_rejected() {
        let longest = "a".repeat(FIELD_BYTES_MAX);
        assert_eq!(admit(&[statement(&longest)]).scan(), ScanLevel::Safe);
        let verdict = admit(&[statement(&(longest + "a"))]);
        assert!(matches!(verdict, GuardVerdict::Reject { .. }));
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
        for sample in sample::samples_of_every_rule(3) {
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
            ScanLevel::Safe,
            ScanLevel::Low,
            ScanLevel::Medium,
            ScanLevel::High,
            ScanLevel::Critical,
        ];
        assert!(all.is_sorted());
        assert_eq!(
            all.map(|status| status.to_string()),
            ["safe", "low", "medium", "high", "critical"]
        );
    }
}
