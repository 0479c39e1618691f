//! The rules over two sentences, each behind a floor of how much they must have in common.

use std::collections::BTreeSet;

use super::alternatives::{self, Choice};
use super::sentence::{Number, Sentence, is_listed};
use super::{Rule, Why, jaccard};
use crate::likeness::{Claim, HARVEST_COSINE, has_contrary, is_swapped};

/// Share of either subject in common that makes two sentences about one thing.
const SUBJECT_JACCARD: f64 = 0.5;

/// Share of the shorter subject that does, where at least [`CONTAINED_MIN`] stems are common.
const SUBJECT_CONTAINMENT: f64 = 0.75;

/// Stems in common from which containment counts.
const CONTAINED_MIN: usize = 2;

/// Share of either subject in common where only one word gave way to its contrary, or the order did.
const WORDING_JACCARD: f64 = 0.6;

/// Returns why two sentences cannot both be followed, if so.
pub(super) fn opposed(a: &Sentence, b: &Sentence, cosine: Option<f64>) -> Option<Why> {
    if is_exception(a, b) || is_exception(b, a) {
        return None;
    }
    let near = cosine.is_some_and(|it| HARVEST_COSINE <= it);
    let found = by_choice(a, b).or_else(|| by_preference(a, b));
    let found = found.or_else(|| by_measure(a, b));
    if found.is_some() || !(a.leads && b.leads) {
        return found;
    }
    by_number(a, b, near)
        .or_else(|| by_modality(a, b, near))
        .or_else(|| by_wording(a, b))
}

/// Returns whether `b` is about what `a` excepts.
fn is_exception(a: &Sentence, b: &Sentence) -> bool {
    let mut excepted = a.excepted.iter();
    excepted.any(|it| b.subject.contains(it) && !a.subject.contains(it))
}

fn why(rule: Rule, differs: String) -> Option<Why> {
    Some(Why { rule, differs })
}

/// One project, two choices of one kind.
fn by_choice(a: &Sentence, b: &Sentence) -> Option<Why> {
    let pairs = a.choices.iter().flat_map(|one| {
        let others = b.choices.iter().filter(|it| it.group == one.group);
        others.map(move |other| (one, other))
    });
    for (one, other) in pairs {
        if !limits_meet(&one.limits, &other.limits) {
            continue;
        }
        if let Some((ours, theirs)) = differing(one, other) {
            return why(
                Rule::Alternative,
                format!("{}: {ours} or {theirs}", alternatives::name(one.group)),
            );
        }
    }
    None
}

/// Returns what either chooses, where both cannot be had.
fn differing(one: &Choice, other: &Choice) -> Option<(String, String)> {
    let named = |of: &Choice, it: usize| alternatives::member(of.group, it);
    let clash = |a: &Choice, b: &Choice| {
        let found = a.chosen.intersection(&b.rejected).next();
        found.map(|it| (named(a, *it), format!("not {}", named(a, *it))))
    };
    if let Some(found) = clash(one, other).or_else(|| clash(other, one)) {
        return Some(found);
    }
    let apart = one.chosen.is_disjoint(&other.chosen);
    let (ours, theirs) = (one.chosen.first()?, other.chosen.first()?);
    apart.then(|| (named(one, *ours), named(other, *theirs)))
}

/// Returns whether two limitations may cover the same: one has none, or they share most.
fn limits_meet(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.is_empty() || b.is_empty() || SUBJECT_JACCARD <= jaccard(a, b)
}

/// What one prefers the other leaves aside.
fn by_preference(a: &Sentence, b: &Sentence) -> Option<Why> {
    let words = |of: &BTreeSet<String>| of.iter().cloned().collect::<Vec<_>>().join(" ");
    let turned = !a.rejected.is_empty()
        && !b.rejected.is_empty()
        && a.rejected.is_subset(&b.preferred)
        && b.rejected.is_subset(&a.preferred);
    if turned && a.denied == b.denied {
        let differs = format!("{} or {} first", words(&b.rejected), words(&a.rejected));
        return why(Rule::Order, differs);
    }
    let asked_anyway = |rejecting: &Sentence, asking: &Sentence| {
        !rejecting.rejected.is_empty()
            && !rejecting.denied
            && !asking.denied
            && rejecting.rejected.is_subset(&asking.subject)
            && SUBJECT_JACCARD <= jaccard(&rejecting.rejected, &asking.subject)
            && asking.rejected.is_empty()
            && asking.subject.is_disjoint(&rejecting.preferred)
    };
    let left = match (asked_anyway(a, b), asked_anyway(b, a)) {
        (true, _) => &a.rejected,
        (false, true) => &b.rejected,
        (false, false) => return None,
    };
    why(
        Rule::Order,
        format!("{} left aside, and asked for", words(left)),
    )
}

/// Numbers of one measure that are told apart by a subject of their own.
struct Measure {
    name: &'static str,
    /// Stems of which one must stand there for each list.
    all_of: &'static [&'static [&'static str]],
}

const MEASURES: &[Measure] = &[
    Measure {
        name: "line length",
        all_of: &[&["lin", "line"], &["length", "character", "wrap", "limit"]],
    },
    Measure {
        name: "indentation",
        all_of: &[&["indent", "spac", "space"]],
    },
    Measure {
        name: "test coverage",
        all_of: &[&["coverag", "coverage"]],
    },
    Measure {
        name: "approvals",
        all_of: &[&["approval", "reviewer", "approv"]],
    },
];

/// Stems that say how a number bounds something, not what.
const BOUNDING: &str = "\
    most least max maximum minimum min limit exce exceed under abov below up more character \
    length wrap percent size per merg pull request than level source fil width";

/// Another number of a measure that is known by name.
fn by_measure(a: &Sentence, b: &Sentence) -> Option<Why> {
    let mut measures = MEASURES.iter();
    let measure = measures.find(|it| it.measured(a) && it.measured(b))?;
    let (one, other) = (a.numbers.first()?, b.numbers.first()?);
    let meet = limits_meet(&measure.limits(a), &measure.limits(b));
    if one.value == other.value || a.denied != b.denied || !meet {
        return None;
    }
    let differs = format!("{}: {} or {}", measure.name, one.value, other.value);
    why(Rule::Number, differs)
}

/// Another number for the same thing.
fn by_number(a: &Sentence, b: &Sentence, near: bool) -> Option<Why> {
    let measured = MEASURES.iter().any(|it| it.measured(a) && it.measured(b));
    if measured || a.denied != b.denied || !is_one_subject(a, b, near) {
        return None;
    }
    let lacks =
        |number: &Number, of: &Sentence| of.numbers.iter().all(|it| it.value != number.value);
    let ours: Vec<&Number> = a.numbers.iter().filter(|it| lacks(it, b)).collect();
    let theirs: Vec<&Number> = b.numbers.iter().filter(|it| lacks(it, a)).collect();
    for one in &ours {
        for other in &theirs {
            if counts_the_same(one, other) {
                return why(Rule::Number, format!("{} or {}", one.value, other.value));
            }
        }
    }
    None
}

/// Returns which measure a sentence gives a number for.
pub(super) fn measure(sentence: &Sentence) -> Option<usize> {
    MEASURES.iter().position(|it| it.measured(sentence))
}

/// Returns whether two numbers stand beside the same word, and count no different things.
fn counts_the_same(one: &Number, other: &Number) -> bool {
    match (&one.after, &other.after) {
        (Some(ours), Some(theirs)) => ours == theirs,
        (None, _) | (_, None) => one.before.is_some() && one.before == other.before,
    }
}

impl Measure {
    fn measured(&self, sentence: &Sentence) -> bool {
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

    fn limits(&self, sentence: &Sentence) -> BTreeSet<String> {
        let own = |it: &&String| {
            let word = it.as_str();
            let named = self.all_of.iter().any(|of| of.contains(&word));
            !named && !is_listed(word, BOUNDING)
        };
        sentence.subject.iter().filter(own).cloned().collect()
    }
}

/// The same thing, asked for and forbidden.
fn by_modality(a: &Sentence, b: &Sentence, near: bool) -> Option<Why> {
    if a.denied == b.denied || !is_one_subject(a, b, near) {
        return None;
    }
    // Denied, and turned by a contrary as well: that says the same again.
    if is_turned_twice(a, b) {
        return None;
    }
    let common: Vec<&str> = a
        .subject
        .intersection(&b.subject)
        .map(String::as_str)
        .collect();
    why(
        Rule::Modality,
        format!("asked for and forbidden: {}", common.join(" ")),
    )
}

/// Returns whether a contrary stands in the subjects themselves.
fn is_turned_twice(a: &Sentence, b: &Sentence) -> bool {
    let (only_a, only_b): (Vec<&String>, Vec<&String>) = (
        a.subject.difference(&b.subject).collect(),
        b.subject.difference(&a.subject).collect(),
    );
    let claim = |words: &[&String]| {
        let words: Vec<&str> = words.iter().map(|it| it.as_str()).collect();
        Claim::of(&words.join(" "))
    };
    has_contrary(&claim(&only_a), &claim(&only_b))
}

/// One word gave way to its contrary, or two changed places.
fn by_wording(a: &Sentence, b: &Sentence) -> Option<Why> {
    if a.denied != b.denied {
        return None;
    }
    let common = a.subject.intersection(&b.subject).count();
    let swapped = is_swapped(&a.claim, &b.claim);
    if swapped && SUBJECT_CONTAINMENT <= jaccard(&a.subject, &b.subject) {
        return why(Rule::Order, "the other way round".to_owned());
    }
    let left = |x: &Sentence, y: &Sentence| x.subject.difference(&y.subject).count();
    let (only_a, only_b) = (left(a, b), left(b, a));
    let nearly = only_a <= 1 && only_b <= 1 && CONTAINED_MIN <= common;
    let enough = nearly || WORDING_JACCARD <= jaccard(&a.subject, &b.subject);
    if swapped || !enough || common == 0 || !has_contrary(&a.claim, &b.claim) {
        return None;
    }
    let differs = |x: &Sentence, y: &Sentence| {
        let words: Vec<&str> = x
            .subject
            .difference(&y.subject)
            .map(String::as_str)
            .collect();
        words.join(" ")
    };
    why(
        Rule::Contrary,
        format!("{} / {}", differs(a, b), differs(b, a)),
    )
}

/// Returns whether two sentences are about one thing.
fn is_one_subject(a: &Sentence, b: &Sentence, near: bool) -> bool {
    let common = a.subject.intersection(&b.subject).count();
    let shorter = a.subject.len().min(b.subject.len()).max(1);
    let containment = common as f64 / shorter as f64;
    let contained = CONTAINED_MIN <= common && SUBJECT_CONTAINMENT <= containment;
    0 < common && (near || contained || SUBJECT_JACCARD <= jaccard(&a.subject, &b.subject))
}
