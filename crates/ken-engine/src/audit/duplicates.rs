//! Duplicate and contradicting claims.

use std::collections::{BTreeSet, HashMap};

use ken_core::trust::contradiction::{
    self, ContradictionReason, ContradictionRule, ContradictionSide, find_certain_contradiction,
};
use ken_core::trust::similarity::{SimilarityVerdict, TokenizedStatement, classify_similarity};

use super::file_lookup::parent_folder;
use super::{AuditFinding, AuditedClaim, FindingKind, OtherClaim};
use crate::duplicates;

/// Returns a finding for each pair of claims that duplicate or contradict each other.
pub(super) fn check(claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let mut findings = find_duplicates(claims);
    findings.extend(find_contradictions(claims));
    findings
}

/// Returns a finding for each pair of duplicates.
fn find_duplicates(claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let compared: Vec<TokenizedStatement> = claims
        .iter()
        .map(|it| TokenizedStatement::parse(&it.found.text))
        .collect();
    let mut pairs = duplicates::candidate_pairs(&compared);
    pairs.extend(identical_word_pairs(claims, &compared));
    let same = pairs.into_iter().filter(|(one, other)| {
        apply_together(&claims[*one].document, &claims[*other].document)
            && is_duplicate(&compared[*one], &compared[*other])
    });
    same.map(|it| pair_finding(claims, it, FindingKind::Duplicate, "repeats"))
        .collect()
}

/// Returns true if one claim repeats the other. It may add words but must not replace any.
fn is_duplicate(one: &TokenizedStatement, other: &TokenizedStatement) -> bool {
    match classify_similarity(one, other, None) {
        SimilarityVerdict::Same => true,
        // Reworded claims may differ in detail, so one must contain all words of the other.
        SimilarityVerdict::Reworded => {
            let of = |it: &TokenizedStatement| it.words().iter().cloned().collect::<BTreeSet<_>>();
            let (one, other) = (of(one), of(other));
            one.is_subset(&other) || other.is_subset(&one)
        }
        SimilarityVerdict::Alike | SimilarityVerdict::Opposed | SimilarityVerdict::Different => {
            false
        }
    }
}

/// Pairs each claim with an earlier claim of identical words that applies together with it.
///
/// Candidate generation skips words that occur in many claims, so it can miss identical claims.
fn identical_word_pairs(
    claims: &[AuditedClaim],
    compared: &[TokenizedStatement],
) -> Vec<(usize, usize)> {
    let mut seen: HashMap<Vec<&String>, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (place, claim) in compared.iter().enumerate() {
        let mut words: Vec<&String> = claim.words().iter().collect();
        words.sort();
        let before = seen.entry(words).or_default();
        let together =
            |it: &&usize| apply_together(&claims[**it].document, &claims[place].document);
        pairs.extend(before.iter().find(together).map(|it| (*it, place)));
        before.push(place);
    }
    pairs
}

/// Returns a finding for each pair of instructions that certainly contradict each other.
fn find_contradictions(claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let sides: Vec<ContradictionSide> = claims
        .iter()
        .map(|it| ContradictionSide::from_text(&it.found.text))
        .collect();
    let pairs = contradiction::candidate_pairs(&sides).into_iter();
    let bound = pairs.filter(|(one, other)| {
        let (one, other) = (&claims[*one], &claims[*other]);
        // Descriptions are not followed, so only two instructions can contradict each other.
        let asks = one.found.modality.asks() && other.found.modality.asks();
        asks && apply_together(&one.document, &other.document)
    });
    bound
        .filter_map(|(one, other)| {
            let why = find_certain_contradiction(&sides[one], &sides[other], None)?;
            if are_siblings(&claims[one], &claims[other]) && !is_direct_negation(&why) {
                return None;
            }
            let how = format!("contradicts ({why})");
            Some(pair_finding(
                claims,
                (one, other),
                FindingKind::Contradiction,
                &how,
            ))
        })
        .collect()
}

/// Returns true if one claim requires what the other forbids: "always use pnpm", "never use pnpm".
fn is_direct_negation(why: &ContradictionReason) -> bool {
    match why.rule {
        ContradictionRule::Modality => true,
        // "pnpm or not pnpm" negates one choice; "pnpm or npm" names two alternatives.
        ContradictionRule::Alternative => why.differs.contains(" or not "),
        ContradictionRule::Number
        | ContradictionRule::Order
        | ContradictionRule::Contrary
        | ContradictionRule::Polarity
        | ContradictionRule::FalsePositive => false,
    }
}

/// Returns true for claims under the same heading, which are usually alternatives or steps.
fn are_siblings(one: &AuditedClaim, other: &AuditedClaim) -> bool {
    one.document == other.document && one.found.headings == other.found.headings
}

/// Returns true if both documents apply to the same files: the folder of one contains the other's.
fn apply_together(one: &str, other: &str) -> bool {
    let (one, other) = (governed_folder(one), governed_folder(other));
    let within = |inner: &str, outer: &str| {
        // `website` starts with `web` but is not below it: a slash must follow.
        let rest = inner.strip_prefix(outer);
        outer.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// Returns the folder a document applies to. A document in a hidden folder applies to its parent.
fn governed_folder(document: &str) -> &str {
    let folder = parent_folder(document);
    let hidden = folder
        .match_indices('.')
        .map(|(at, _)| at)
        .find(|at| *at == 0 || folder[..*at].ends_with('/'));
    hidden.map_or(folder, |at| folder[..at].trim_end_matches('/'))
}

/// Creates a finding about two claims, located at the later one.
fn pair_finding(
    claims: &[AuditedClaim],
    (one, other): (usize, usize),
    kind: FindingKind,
    how: &str,
) -> AuditFinding {
    // The later claim is the one to remove, so the finding belongs there.
    let (earlier, later) = (one.min(other), one.max(other));
    let first = &claims[earlier];
    let message = format!("{how} {}:{}", first.document, first.found.line);
    let mut finding = AuditFinding::for_claim(kind, claims, later, message);
    finding.claim_indexes = vec![earlier, later];
    finding.other = Some(OtherClaim {
        document: first.document.clone(),
        line: first.found.line,
        claim: first.found.text.clone(),
    });
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_bind_together_where_one_stands_above_the_other() {
        assert!(apply_together("CLAUDE.md", "web/AGENTS.md"));
        assert!(apply_together("web/AGENTS.md", "web/src/AGENTS.md"));
        assert!(!apply_together("web/AGENTS.md", "website/AGENTS.md"));
        assert!(!apply_together("web/AGENTS.md", "api/AGENTS.md"));
        assert!(apply_together(
            "web/.cursor/rules/a.mdc",
            "web/src/AGENTS.md"
        ));
        assert!(apply_together(".github/CONTRIBUTING.md", "web/AGENTS.md"));
    }
}
