//! Claims that say the same, and claims that say the contrary of each other.

use ken_core::likeness::{self, Likeness, likeness};

use super::{AuditFinding, Claim, FindingKind, Other};
use crate::pairs::sharing_words;

/// Returns each pair of claims that are one, or contrary.
pub(super) fn check(claims: &[Claim]) -> Vec<AuditFinding> {
    let taken: Vec<likeness::Claim> = claims
        .iter()
        .map(|it| likeness::Claim::of(&it.found.text))
        .collect();
    let mut findings = Vec::new();
    for (one, other) in sharing_words(&taken) {
        let told = match likeness(&taken[one], &taken[other], None) {
            Likeness::Same | Likeness::Reworded => {
                (FindingKind::Duplicate, "says the same as".to_owned())
            }
            Likeness::Opposed
                if claims[one].found.modality.asks() && claims[other].found.modality.asks() =>
            {
                (FindingKind::Contradiction, "contradicts".to_owned())
            }
            Likeness::Opposed | Likeness::Alike | Likeness::Different => continue,
        };
        findings.push(pair(claims, (one, other), told));
    }
    findings
}

/// Makes a finding about two claims; it stands at the later one.
fn pair(
    claims: &[Claim],
    (one, other): (usize, usize),
    (kind, how): (FindingKind, String),
) -> AuditFinding {
    let (earlier, later) = (one.min(other), one.max(other));
    let first = &claims[earlier];
    let message = format!("{how} {}:{}", first.document, first.found.line);
    let mut finding = AuditFinding::about(kind, claims, later, message);
    finding.about = vec![earlier, later];
    finding.other = Some(Other {
        document: first.document.clone(),
        line: first.found.line,
        claim: first.found.text.clone(),
    });
    finding
}
