//! Contradiction rules over two sentences, each with a minimum overlap of their subjects.

use std::collections::BTreeSet;

use super::alternatives::{self, SentenceChoice};
use super::sentence::{NumberMention, ParsedSentence, is_listed};
use super::{ContradictionReason, ContradictionRule, jaccard};
use crate::trust::similarity::{BATCH_COSINE, TokenizedStatement, has_antonym, is_swapped};

/// Jaccard index from which two sentences have the same subject.
const SUBJECT_JACCARD: f64 = 0.5;

/// Share of the shorter subject that is enough if at least [`CONTAINED_MIN`] stems are shared.
const SUBJECT_CONTAINMENT: f64 = 0.75;

/// Shared stems from which containment counts.
const CONTAINED_MIN: usize = 2;

/// Jaccard index required by the wording rules: antonyms and reversed order.
const WORDING_JACCARD: f64 = 0.6;

/// Returns the reason why two sentences cannot both be followed, if so.
pub(super) fn find_opposition(
    a: &ParsedSentence,
    b: &ParsedSentence,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    if is_exception(a, b) || is_exception(b, a) {
        return None;
    }
    let near = cosine.is_some_and(|it| it >= BATCH_COSINE);
    let found = by_choice(a, b).or_else(|| by_preference(a, b));
    let found = found.or_else(|| by_measure(a, b));
    // The rules above name the conflicting things. Those below compare whole sentences and would
    // misread explanations, so they need two leading sentences.
    if found.is_some() || !(a.leads && b.leads) {
        return found;
    }
    by_number(a, b, near)
        .or_else(|| by_modality(a, b, near))
        .or_else(|| by_wording(a, b))
}

/// Returns whether `b` is about the exception of `a`.
fn is_exception(a: &ParsedSentence, b: &ParsedSentence) -> bool {
    let mut excepted = a.excepted.iter();
    excepted.any(|it| b.subject.contains(it) && !a.subject.contains(it))
}

fn reason(rule: ContradictionRule, differs: String) -> Option<ContradictionReason> {
    Some(ContradictionReason { rule, differs })
}

/// Detects different members of one exclusive choice.
fn by_choice(a: &ParsedSentence, b: &ParsedSentence) -> Option<ContradictionReason> {
    let pairs = a.choices.iter().flat_map(|one| {
        let others = b.choices.iter().filter(|it| it.group == one.group);
        others.map(move |other| (one, other))
    });
    for (one, other) in pairs {
        if !restrictions_overlap(&one.limits, &other.limits) {
            continue;
        }
        if let Some((ours, theirs)) = conflicting_members(one, other) {
            return reason(
                ContradictionRule::Alternative,
                format!(
                    "{}: {ours} or {theirs}",
                    alternatives::group_name(one.group)
                ),
            );
        }
    }
    None
}

/// Returns the conflicting members of two choices, if any.
fn conflicting_members(one: &SentenceChoice, other: &SentenceChoice) -> Option<(String, String)> {
    let named = |of: &SentenceChoice, it: usize| alternatives::member_name(of.group, it);
    let clash = |a: &SentenceChoice, b: &SentenceChoice| {
        let found = a.chosen.intersection(&b.rejected).next();
        found.map(|it| (named(a, *it), format!("not {}", named(a, *it))))
    };
    if let Some(found) = clash(one, other).or_else(|| clash(other, one)) {
        return Some(found);
    }
    // A common member is compatible: "npm or pnpm" agrees with "pnpm".
    let is_disjoint = one.chosen.is_disjoint(&other.chosen);
    let (ours, theirs) = (one.chosen.first()?, other.chosen.first()?);
    is_disjoint.then(|| (named(one, *ours), named(other, *theirs)))
}

/// Returns whether two restrictions may overlap: one is empty, or they share most stems.
fn restrictions_overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.is_empty() || b.is_empty() || jaccard(a, b) >= SUBJECT_JACCARD
}

/// Detects an alternative that one sentence rejects and the other prefers or requires.
fn by_preference(a: &ParsedSentence, b: &ParsedSentence) -> Option<ContradictionReason> {
    let words = |of: &BTreeSet<String>| of.iter().cloned().collect::<Vec<_>>().join(" ");
    let turned = !a.rejected.is_empty()
        && !b.rejected.is_empty()
        && a.rejected.is_subset(&b.preferred)
        && b.rejected.is_subset(&a.preferred);
    if turned && a.denied == b.denied {
        let differs = format!("{} or {} first", words(&b.rejected), words(&a.rejected));
        return reason(ContradictionRule::Order, differs);
    }
    // The requiring sentence must be about little else: a mere mention of the rejected name is no
    // rule.
    let is_required = |rejecting: &ParsedSentence, requiring: &ParsedSentence| {
        !rejecting.rejected.is_empty()
            && !rejecting.denied
            && !requiring.denied
            && rejecting.rejected.is_subset(&requiring.subject)
            && jaccard(&rejecting.rejected, &requiring.subject) >= SUBJECT_JACCARD
            && requiring.rejected.is_empty()
            && requiring.subject.is_disjoint(&rejecting.preferred)
    };
    let rejected = match (is_required(a, b), is_required(b, a)) {
        (true, _) => &a.rejected,
        (false, true) => &b.rejected,
        (false, false) => return None,
    };
    reason(
        ContradictionRule::Order,
        format!("{} rejected and required", words(rejected)),
    )
}

/// A named measure, recognized by stems, whose numbers are comparable across sentences.
struct NamedMeasure {
    name: &'static str,
    /// The subject must contain at least one stem of each list.
    all_of: &'static [&'static [&'static str]],
}

const MEASURES: &[NamedMeasure] = &[
    NamedMeasure {
        name: "line length",
        all_of: &[&["lin", "line"], &["length", "character", "wrap", "limit"]],
    },
    NamedMeasure {
        name: "indentation",
        all_of: &[&["indent", "spac", "space"]],
    },
    NamedMeasure {
        name: "test coverage",
        all_of: &[&["coverag", "coverage"]],
    },
    NamedMeasure {
        name: "approvals",
        all_of: &[&["approval", "reviewer", "approv"]],
    },
];

/// Stems that describe a bound or its unit rather than the bounded subject.
const BOUND_WORDS: &str = "\
    most least max maximum minimum min limit exce exceed under abov below up more character \
    length wrap percent size per merg pull request than level source fil width";

/// Detects different numbers for a named measure.
fn by_measure(a: &ParsedSentence, b: &ParsedSentence) -> Option<ContradictionReason> {
    let mut measures = MEASURES.iter();
    let measure = measures.find(|it| it.applies_to(a) && it.applies_to(b))?;
    let (one, other) = (a.numbers.first()?, b.numbers.first()?);
    let meet = restrictions_overlap(&measure.restrictions(a), &measure.restrictions(b));
    if one.value == other.value || a.denied != b.denied || !meet {
        return None;
    }
    let differs = format!("{}: {} or {}", measure.name, one.value, other.value);
    reason(ContradictionRule::Number, differs)
}

/// Detects different numbers that count the same noun.
fn by_number(a: &ParsedSentence, b: &ParsedSentence, near: bool) -> Option<ContradictionReason> {
    // `by_measure` already decided named measures, with restrictions of its own.
    let measured = MEASURES
        .iter()
        .any(|it| it.applies_to(a) && it.applies_to(b));
    if measured || a.denied != b.denied || !have_same_subject(a, b, near) {
        return None;
    }
    let lacks = |number: &NumberMention, of: &ParsedSentence| {
        of.numbers.iter().all(|it| it.value != number.value)
    };
    let ours: Vec<&NumberMention> = a.numbers.iter().filter(|it| lacks(it, b)).collect();
    let theirs: Vec<&NumberMention> = b.numbers.iter().filter(|it| lacks(it, a)).collect();
    for one in &ours {
        for other in &theirs {
            if counts_the_same(one, other) {
                return reason(
                    ContradictionRule::Number,
                    format!("{} or {}", one.value, other.value),
                );
            }
        }
    }
    None
}

/// Returns the index of the measure that a sentence gives a number for.
pub(super) fn measure_index(sentence: &ParsedSentence) -> Option<usize> {
    MEASURES.iter().position(|it| it.applies_to(sentence))
}

/// Returns whether two numbers count the same noun, or follow the same word if a noun is missing.
fn counts_the_same(one: &NumberMention, other: &NumberMention) -> bool {
    match (&one.after, &other.after) {
        (Some(ours), Some(theirs)) => ours == theirs,
        (None, _) | (_, None) => one.before.is_some() && one.before == other.before,
    }
}

impl NamedMeasure {
    fn applies_to(&self, sentence: &ParsedSentence) -> bool {
        // With several numbers it is unclear which one belongs to the measure.
        let [number] = &sentence.numbers[..] else {
            return false;
        };
        let named = |word: &Option<String>| {
            let word = word.as_deref().unwrap_or_default();
            self.all_of.iter().any(|of| of.contains(&word))
        };
        let any = |of: &&[&str]| of.iter().any(|it| sentence.subject.contains(*it));
        self.all_of.iter().all(any) && (named(&number.before) || named(&number.after))
    }

    fn restrictions(&self, sentence: &ParsedSentence) -> BTreeSet<String> {
        let restricts = |stem: &&String| {
            let word = stem.as_str();
            let named = self.all_of.iter().any(|of| of.contains(&word));
            !named && !is_listed(word, BOUND_WORDS)
        };
        sentence.subject.iter().filter(restricts).cloned().collect()
    }
}

/// Detects a subject that one sentence requires and the other forbids.
fn by_modality(a: &ParsedSentence, b: &ParsedSentence, near: bool) -> Option<ContradictionReason> {
    if a.denied == b.denied || !have_same_subject(a, b, near) {
        return None;
    }
    // A negation plus an antonym is a double negation, which agrees: "enable" and "do not disable".
    if has_antonym_in_subject(a, b) {
        return None;
    }
    let common: Vec<&str> = a
        .subject
        .intersection(&b.subject)
        .map(String::as_str)
        .collect();
    reason(
        ContradictionRule::Modality,
        format!("required and forbidden: {}", common.join(" ")),
    )
}

/// Returns whether the differing subject words are antonyms.
fn has_antonym_in_subject(a: &ParsedSentence, b: &ParsedSentence) -> bool {
    let (only_a, only_b): (Vec<&String>, Vec<&String>) = (
        a.subject.difference(&b.subject).collect(),
        b.subject.difference(&a.subject).collect(),
    );
    let claim = |words: &[&String]| {
        let words: Vec<&str> = words.iter().map(|it| it.as_str()).collect();
        TokenizedStatement::parse(&words.join(" "))
    };
    has_antonym(&claim(&only_a), &claim(&only_b))
}

/// Detects a word replaced by its antonym, or two words swapped.
fn by_wording(a: &ParsedSentence, b: &ParsedSentence) -> Option<ContradictionReason> {
    if a.denied != b.denied {
        return None;
    }
    let common = a.subject.intersection(&b.subject).count();
    let swapped = is_swapped(&a.claim, &b.claim);
    if swapped && jaccard(&a.subject, &b.subject) >= SUBJECT_CONTAINMENT {
        return reason(ContradictionRule::Order, "reverse order".to_owned());
    }
    let only_in = |x: &ParsedSentence, y: &ParsedSentence| x.subject.difference(&y.subject).count();
    let (only_a, only_b) = (only_in(a, b), only_in(b, a));
    // In short sentences one replaced word already costs much of the Jaccard index.
    let nearly = only_a <= 1 && only_b <= 1 && common >= CONTAINED_MIN;
    let enough = nearly || jaccard(&a.subject, &b.subject) >= WORDING_JACCARD;
    // A swap below the required overlap proves nothing, with or without an antonym.
    if swapped || !enough || common == 0 || !has_antonym(&a.claim, &b.claim) {
        return None;
    }
    let differs = |x: &ParsedSentence, y: &ParsedSentence| {
        let words: Vec<&str> = x
            .subject
            .difference(&y.subject)
            .map(String::as_str)
            .collect();
        words.join(" ")
    };
    reason(
        ContradictionRule::Contrary,
        format!("{} / {}", differs(a, b), differs(b, a)),
    )
}

/// Returns whether two sentences have the same subject.
fn have_same_subject(a: &ParsedSentence, b: &ParsedSentence, near: bool) -> bool {
    let common = a.subject.intersection(&b.subject).count();
    let shorter = a.subject.len().min(b.subject.len()).max(1);
    let containment = common as f64 / shorter as f64;
    let contained = common >= CONTAINED_MIN && containment >= SUBJECT_CONTAINMENT;
    common > 0 && (near || contained || jaccard(&a.subject, &b.subject) >= SUBJECT_JACCARD)
}
