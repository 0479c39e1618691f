//! Claims that say the same, and claims that say the contrary of each other.

use std::collections::{BTreeSet, HashMap};

use ken_core::contradiction::{self, Side, certain_contradiction};
use ken_core::likeness::{self, Likeness, likeness};

use super::tree::folder_of;
use super::{AuditFinding, Claim, FindingKind, Other};
use crate::pairs;

/// Returns each pair of claims that are one, or contrary.
pub(super) fn check(claims: &[Claim]) -> Vec<AuditFinding> {
    let mut findings = duplicates(claims);
    findings.extend(contradictions(claims));
    findings
}

fn duplicates(claims: &[Claim]) -> Vec<AuditFinding> {
    let taken: Vec<likeness::Claim> = claims
        .iter()
        .map(|it| likeness::Claim::of(&it.found.text))
        .collect();
    let mut pairs = pairs::candidates(&taken);
    pairs.extend(with_the_same_words(claims, &taken));
    let same = pairs.into_iter().filter(|(one, other)| {
        hold_together(&claims[*one].document, &claims[*other].document)
            && is_repeated(&taken[*one], &taken[*other])
    });
    same.map(|it| pair(claims, it, FindingKind::Duplicate, "says the same as"))
        .collect()
}

/// Returns whether one claim repeats the other: it may say a little more, but not something else.
fn is_repeated(one: &likeness::Claim, other: &likeness::Claim) -> bool {
    match likeness(one, other, None) {
        Likeness::Same => true,
        Likeness::Reworded => {
            let of = |it: &likeness::Claim| it.words().iter().cloned().collect::<BTreeSet<_>>();
            let (one, other) = (of(one), of(other));
            one.is_subset(&other) || other.is_subset(&one)
        }
        Likeness::Alike | Likeness::Opposed | Likeness::Different => false,
    }
}

/// Returns claims with just the same words, each with the one before it that binds together with it: words that stand in
/// many claims lead nowhere otherwise.
fn with_the_same_words(claims: &[Claim], taken: &[likeness::Claim]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<Vec<&String>, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (place, claim) in taken.iter().enumerate() {
        let mut words: Vec<&String> = claim.words().iter().collect();
        words.sort();
        let before = seen.entry(words).or_default();
        let together = |it: &&usize| hold_together(&claims[**it].document, &claims[place].document);
        pairs.extend(before.iter().find(together).map(|it| (*it, place)));
        before.push(place);
    }
    pairs
}

fn contradictions(claims: &[Claim]) -> Vec<AuditFinding> {
    let sides: Vec<Side> = claims.iter().map(|it| Side::said(&it.found.text)).collect();
    let pairs = contradiction::candidates(&sides).into_iter();
    let bound = pairs.filter(|(one, other)| {
        let (one, other) = (&claims[*one], &claims[*other]);
        let asks = one.found.modality.asks() && other.found.modality.asks();
        asks && hold_together(&one.document, &other.document) && !are_siblings(one, other)
    });
    bound
        .filter_map(|(one, other)| {
            let why = certain_contradiction(&sides[one], &sides[other], None)?;
            let how = format!("contradicts ({why})");
            Some(pair(claims, (one, other), FindingKind::Contradiction, &how))
        })
        .collect()
}

/// Items of one list are alternatives or steps.
fn are_siblings(one: &Claim, other: &Claim) -> bool {
    one.document == other.document && one.found.headings == other.found.headings
}

/// Returns whether both documents bind somebody at once: the folder of one lies in that of the other.
fn hold_together(one: &str, other: &str) -> bool {
    let (one, other) = (scope_of(one), scope_of(other));
    let within = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        outer.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// Returns the folder a document speaks for: what lies in a hidden folder speaks for the one around it.
fn scope_of(document: &str) -> &str {
    let folder = folder_of(document);
    let hidden = folder
        .match_indices('.')
        .map(|(at, _)| at)
        .find(|at| *at == 0 || folder[..*at].ends_with('/'));
    hidden.map_or(folder, |at| folder[..at].trim_end_matches('/'))
}

/// Makes a finding about two claims; it stands at the later one.
fn pair(
    claims: &[Claim],
    (one, other): (usize, usize),
    kind: FindingKind,
    how: &str,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_bind_together_where_one_stands_above_the_other() {
        assert!(hold_together("CLAUDE.md", "web/AGENTS.md"));
        assert!(hold_together("web/AGENTS.md", "web/src/AGENTS.md"));
        assert!(!hold_together("web/AGENTS.md", "website/AGENTS.md"));
        assert!(!hold_together("web/AGENTS.md", "api/AGENTS.md"));
        assert!(hold_together(
            "web/.cursor/rules/a.mdc",
            "web/src/AGENTS.md"
        ));
        assert!(hold_together(".github/CONTRIBUTING.md", "web/AGENTS.md"));
    }
}
