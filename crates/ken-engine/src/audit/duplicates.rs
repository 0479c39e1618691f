//! Duplicate and contradicting claims.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ken_core::trust::contradiction::{
    self, ContradictionReason, ContradictionRule, ContradictionSide, find_certain_contradiction,
};
use ken_core::trust::similarity::{
    SimilarityVerdict, StatementSet, StatementSketch, TokenizedStatement, classify_similarity,
};
use ken_digest::MentionKind;

use super::citations::prose_words;
use super::file_lookup::{FileLookup, parent_folder};
use super::{AuditFinding, AuditedClaim, FindingKind, OtherClaim};

/// Returns a finding for each pair of claims that duplicate or contradict each other.
pub(super) fn check(files: &FileLookup, claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let mut findings = find_duplicates(files, claims);
    findings.extend(find_contradictions(claims));
    findings
}

/// Returns a finding for each pair of duplicates.
fn find_duplicates(files: &FileLookup, claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let compared: Vec<TokenizedStatement> = claims
        .iter()
        .map(|it| TokenizedStatement::parse(&it.found.text))
        .collect();
    let sketches: Vec<StatementSketch> = compared.iter().map(|it| it.sketch().clone()).collect();
    let set = StatementSet {
        sketches: &sketches,
        near: None,
    };
    let mut pairs: BTreeSet<(usize, usize)> = set.candidate_pairs().into_iter().collect();
    pairs.extend(identical_word_pairs(claims, &compared));
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for (one, other) in pairs {
        let (one, other) = (one.min(other), one.max(other));
        let is_same = apply_together(&claims[one], &claims[other])
            && !run_in_different_packages(files, &claims[one], &claims[other])
            && is_duplicate(
                (&claims[one], &compared[one]),
                (&claims[other], &compared[other]),
            );
        // The third of three equal claims repeats the first; once is enough.
        if is_same {
            let earliest = first.entry(other).or_insert(one);
            *earliest = one.min(*earliest);
        }
    }
    let mut shared: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let documents = |one: usize, other: usize| {
        (
            claims[one].document.as_str(),
            claims[other].document.as_str(),
        )
    };
    for (&later, &earlier) in &first {
        *shared.entry(documents(earlier, later)).or_default() += 1;
    }
    // Two documents may describe one thing in the same few words. Several such lines are a copy.
    let is_copied = |(earlier, later): &(usize, usize)| {
        let (one, other) = documents(*earlier, *later);
        one == other
            || !is_description(&claims[*later])
            || shared[&(one, other)] >= COPIED_DESCRIPTIONS_MIN
    };
    let same = first.iter().map(|(later, earlier)| (*earlier, *later));
    same.filter(is_copied)
        .map(|it| pair_finding(claims, it, FindingKind::Duplicate, "repeats"))
        .collect()
}

/// Minimum number of words of a rule, or of a fact, that means the same under another heading.
const FREE_RULE_WORDS_MIN: usize = 8;
const FREE_FACT_WORDS_MIN: usize = 12;

/// Minimum number of repeated claims that two documents share if one is a mere description.
const COPIED_DESCRIPTIONS_MIN: usize = 3;

/// Words of headings and lead sentences whose items illustrate instead of stating.
const EXAMPLE_WORDS: [&str; 8] = [
    "example", "examples", "good", "bad", "before", "after", "wrong", "avoid",
];

/// Returns true if one claim repeats the other. It may add words but must not replace any.
fn is_duplicate(
    (one, one_words): (&AuditedClaim, &TokenizedStatement),
    (other, other_words): (&AuditedClaim, &TokenizedStatement),
) -> bool {
    if illustrates(one) || illustrates(other) {
        return false;
    }
    // "Such tests" are other tests below another heading.
    if refers_back(&one.found.text) && one.found.headings != other.found.headings {
        return false;
    }
    // In one document, a step or a fact is about what its heading or the item above it names: two
    // procedures share steps, and "404: key not found" belongs to its route.
    let is_elsewhere = one.document == other.document
        && !(are_siblings(one, other) && one.found.lead == other.found.lead);
    match classify_similarity(one_words, other_words, None) {
        SimilarityVerdict::Same => {
            let length = one.found.text.split_whitespace().count();
            let least = if one.found.modality.asks() {
                FREE_RULE_WORDS_MIN
            } else {
                FREE_FACT_WORDS_MIN
            };
            // "Run `make` in the first terminal" is a step of each procedure that needs it.
            let is_step = one.found.text.starts_with("Run `");
            !is_elsewhere || length >= least && !code_spans(one).is_empty() && !is_step
        }
        // Reworded claims may differ in detail, so one must contain all words of the other, and a
        // row of a table or a list of names differs in exactly the word that matters.
        SimilarityVerdict::Reworded => {
            let of = |it: &TokenizedStatement| it.words().iter().cloned().collect::<BTreeSet<_>>();
            let (few, many) = (of(one_words), of(other_words));
            let is_named = one.found.text.contains(": ") && code_spans(one).is_empty();
            let is_part = few.is_subset(&many) || many.is_subset(&few);
            is_part && code_spans(one) == code_spans(other) && !is_named && !is_elsewhere
        }
        SimilarityVerdict::Alike | SimilarityVerdict::Opposed | SimilarityVerdict::Different => {
            false
        }
    }
}

/// Openings that refer to what stands before a claim.
const REFERRING_OPENINGS: [&str; 7] = ["such", "this", "these", "those", "it", "they", "both"];

fn refers_back(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    REFERRING_OPENINGS.contains(&first.to_lowercase().as_str())
}

/// Returns true if a claim is part of an example, a quotation or a text that a program keeps.
pub(super) fn illustrates(claim: &AuditedClaim) -> bool {
    let text = &claim.found.text;
    if claim.is_generated || text.starts_with(['"', '“']) || text.contains(['✅', '❌']) {
        return true;
    }
    let heading = claim.found.headings.last().map_or("", String::as_str);
    let lead = claim.found.lead.as_deref().unwrap_or_default();
    let words = prose_words(heading).chain(prose_words(lead));
    words
        .into_iter()
        .any(|word| EXAMPLE_WORDS.contains(&word.as_str()))
}

/// Returns true for a short line that says what a name stands for: "`DEPS`: versions and paths".
fn is_description(claim: &AuditedClaim) -> bool {
    let found = &claim.found;
    let is_short = found.text.split_whitespace().count() < FREE_FACT_WORDS_MIN;
    is_short && !found.modality.asks() && found.text.starts_with('`')
}

fn code_spans(claim: &AuditedClaim) -> Vec<&str> {
    claim.found.text.split('`').skip(1).step_by(2).collect()
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
        let together = |it: &&usize| apply_together(&claims[**it], &claims[place]);
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
    let pairs = contradiction::candidate_pairs(&sides, None).into_iter();
    let bound = pairs.filter(|(one, other)| {
        let (one, other) = (&claims[*one], &claims[*other]);
        // Descriptions are not followed, so only two instructions can contradict each other.
        let asks = one.found.modality.asks() && other.found.modality.asks();
        asks && apply_together(one, other)
    });
    let mut first: BTreeMap<(usize, String), (usize, String)> = BTreeMap::new();
    for (one, other) in bound {
        let (one, other) = (one.min(other), one.max(other));
        let Some(why) = find_certain_contradiction(&sides[one], &sides[other], None) else {
            continue;
        };
        if are_siblings(&claims[one], &claims[other]) && !is_direct_negation(&why) {
            continue;
        }
        if why.rule == ContradictionRule::Modality && !is_plain_negation(claims, one, other) {
            continue;
        }
        // The versions of `tool@1.2.3` in two examples are no rule.
        if why.rule == ContradictionRule::Number && why.differs.matches('.').count() > 1 {
            continue;
        }
        // "Install with npm" and "start the project with pnpm" are about different steps.
        if why.rule == ContradictionRule::Alternative && !have_shared_subject(claims, one, other) {
            continue;
        }
        let how = format!("contradicts ({why})");
        // A rule that contradicts several others on the same point is one problem.
        first
            .entry((other, why.differs.clone()))
            .or_insert((one, how));
    }
    first
        .into_iter()
        .map(|((other, _), (one, how))| {
            pair_finding(claims, (one, other), FindingKind::Contradiction, &how)
        })
        .collect()
}

/// Returns true if one claim asks for exactly what the other forbids.
fn is_plain_negation(claims: &[AuditedClaim], one: usize, other: usize) -> bool {
    let (one, other) = (&claims[one].found, &claims[other].found);
    // "Add x" and "only add mocked x, no real y" both ask for x.
    let is_opposed = one.modality.polarity() != other.modality.polarity();
    let stems = |text: &str| TokenizedStatement::parse(text).stems().clone();
    // "Prefer semantic tokens" and "avoid legacy tokens" are about two kinds of tokens, and
    // "stop above 60 %" and "go on below 40 %" about two cases.
    let (few, many) = (stems(&one.text), stems(&other.text));
    let numbers = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        parts
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    is_opposed
        && (few.is_subset(&many) || many.is_subset(&few))
        && numbers(&one.text) == numbers(&other.text)
}

/// Returns true if two claims share a content word.
fn have_shared_subject(claims: &[AuditedClaim], one: usize, other: usize) -> bool {
    let stems = |at: usize| {
        TokenizedStatement::parse(&claims[at].found.text)
            .stems()
            .clone()
    };
    let generic = |stem: &String| ["use", "run", "always", "never"].contains(&stem.as_str());
    stems(one)
        .intersection(&stems(other))
        .any(|it| !generic(it))
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

/// Returns true if both claims apply to the same files. Rules for different files may repeat or
/// contradict each other, because an agent reads one of them at a time.
fn apply_together(one: &AuditedClaim, other: &AuditedClaim) -> bool {
    let (ours, theirs) = (&one.found.applies_to, &other.found.applies_to);
    let have_same_scope = ours.is_empty() || theirs.is_empty() || ours == theirs;
    have_same_scope && govern_together(&one.document, &other.document)
}

/// Manifests of packages, whose commands run in the folder of the manifest.
const MANIFESTS: [&str; 5] = [
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "Makefile",
];

/// Returns true if both claims name a command, and one of them is in a package of its own: `make
/// test` there is not `make test` at the root.
fn run_in_different_packages(files: &FileLookup, one: &AuditedClaim, other: &AuditedClaim) -> bool {
    let has_command = |it: &AuditedClaim| {
        let mut mentions = it.found.mentions.iter();
        mentions.any(|mention| mention.kind == MentionKind::Command)
    };
    let package = |it: &AuditedClaim| {
        let folder = governed_folder(&it.document);
        let of = |name: &&str| files.is_file(&format!("{folder}/{name}"));
        (!folder.is_empty() && MANIFESTS.iter().any(of)).then(|| folder.to_owned())
    };
    has_command(one) && has_command(other) && package(one) != package(other)
}

/// Returns true if the folder of one document contains the other's.
fn govern_together(one: &str, other: &str) -> bool {
    let (one, other) = (governed_folder(one), governed_folder(other));
    let within = |inner: &str, outer: &str| {
        // `website` starts with `web` but is not below it: a slash must follow.
        let rest = inner.strip_prefix(outer);
        outer.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// Returns the folder a document applies to. A document in a hidden folder applies to its parent.
pub(crate) fn governed_folder(document: &str) -> &str {
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
        assert!(govern_together("CLAUDE.md", "web/AGENTS.md"));
        assert!(govern_together("web/AGENTS.md", "web/src/AGENTS.md"));
        assert!(!govern_together("web/AGENTS.md", "website/AGENTS.md"));
        assert!(!govern_together("web/AGENTS.md", "api/AGENTS.md"));
        assert!(govern_together(
            "web/.cursor/rules/a.mdc",
            "web/src/AGENTS.md"
        ));
        assert!(govern_together(".github/CONTRIBUTING.md", "web/AGENTS.md"));
    }
}
