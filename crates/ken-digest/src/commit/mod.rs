//! Claims in commit messages: rules, reasons, and reverts with their reason.
//!
//! A claim is understandable alone: the subject of its commit precedes the sentence. A sentence
//! that leans on another one, hedges, or reports what the code once did is left out. Few good
//! claims matter more than many: a person reviews each of them.

mod message;
mod words;

use std::collections::BTreeSet;

use ken_core::values::kind::EntryKind;
use serde::{Deserialize, Serialize};

pub use message::{clean_subject, fixed_bug, reverted_commits};

use crate::modality::{Modality, normalize_words};
use crate::words::{DEPENDENT_OPENINGS, contains_phrase, is_listed, starts_with_phrase};
use message::{message_sentences, strip_commit_type};
use words::{
    BINDING, CAUSAL, COMMON, DEFECTIVE, EXPLAINING, HEDGING, LEANING_ANYWHERE, MISHAPS,
    NOT_BINDING, PAST, PURPOSE, ROUTINE, WEAK_OPENINGS,
};

/// Minimum and maximum number of words of a sentence.
const SENTENCE_WORDS: std::ops::RangeInclusive<usize> = 6..=45;

/// Maximum bytes of a sentence.
const SENTENCE_BYTES_MAX: usize = 320;

/// Minimum number of words of a subject: fewer name nothing.
const SUBJECT_WORDS_MIN: usize = 3;

/// Maximum bytes of a subject.
const SUBJECT_BYTES_MAX: usize = 120;

/// Maximum number of sentences of the reason of a revert.
const REASON_SENTENCES_MAX: usize = 2;

/// Minimum length of a word that carries meaning.
const TELLING_CHARS_MIN: usize = 4;

/// Characters of a word that are compared, so that `copies` and `copied` are one word.
const STEM_CHARS: usize = 5;

/// Share of the words of a subject, in percent, that a sentence repeats if it needs no subject.
const REPEATED_PERCENT: usize = 80;

/// The rule that found a claim in the history of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryRule {
    /// A habit that most commits follow.
    Norm,
    /// A commit says what must, must not or should never be done.
    Obligation,
    /// A commit says why the code is as it is.
    Reason,
    /// A commit takes another one back and says why.
    Revert,
    /// Several commits fixed bugs of one symbol.
    RepeatedFix,
    /// Two files change in the same commits.
    ChangeTogether,
}

impl HistoryRule {
    /// Every rule, in the order of the inbox.
    pub const ALL: [Self; 6] = [
        Self::Norm,
        Self::Revert,
        Self::RepeatedFix,
        Self::Obligation,
        Self::Reason,
        Self::ChangeTogether,
    ];

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Norm => "norm",
            Self::Obligation => "obligation",
            Self::Reason => "reason",
            Self::Revert => "revert",
            Self::RepeatedFix => "repeated-fix",
            Self::ChangeTogether => "change-together",
        }
    }
}

/// Claim found in a commit message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitClaim {
    pub rule: HistoryRule,
    pub kind: EntryKind,
    pub text: String,
}

/// Returns the claims of a commit message, the best first.
pub fn extract_commit_claims(subject: &str, body: &str) -> Vec<CommitClaim> {
    let Some(subject) = telling_subject(subject) else {
        return Vec::new();
    };
    // The present tense of a fix describes the bug, which is gone.
    if fixed_bug(&subject).is_some() {
        return Vec::new();
    }
    let mut found: Vec<CommitClaim> = message_sentences(body)
        .iter()
        .filter_map(|sentence| claim_from_sentence(&subject, sentence))
        .collect();
    // A rule says what to do, so it comes before a reason.
    found.sort_by_key(|it| it.rule);
    found
}

/// Returns the claim of a commit that reverts `tried`, the subject of another commit.
pub fn revert_claim(tried: &str, body: &str) -> Option<CommitClaim> {
    let tried = telling_subject(tried)?;
    let mut reason = String::new();
    let sentences = message_sentences(body);
    let telling = sentences
        .iter()
        .filter(|it| reverted_commits(it).is_empty() && is_whole(it));
    for sentence in telling.take(REASON_SENTENCES_MAX) {
        let words = normalize_words(sentence);
        if contains_phrase(&words, MISHAPS) {
            return None;
        }
        reason.push(' ');
        reason.push_str(sentence);
    }
    let words = normalize_words(&reason);
    let explains = is_reason(&reason, &words) || contains_phrase(&words, EXPLAINING);
    let fits = !reason.is_empty() && reason.len() <= 2 * SENTENCE_BYTES_MAX;
    (explains && fits).then(|| CommitClaim {
        rule: HistoryRule::Revert,
        kind: EntryKind::AntiPattern,
        text: format!("Tried and taken back: \"{tried}\".{reason}"),
    })
}

/// Returns a subject that names what the commit changed, or `None` for routine commits.
fn telling_subject(subject: &str) -> Option<String> {
    let subject = clean_subject(subject);
    let words = normalize_words(strip_commit_type(&subject));
    let telling = words.split_whitespace().count() >= SUBJECT_WORDS_MIN
        && subject.len() <= SUBJECT_BYTES_MAX
        && !subject.ends_with(['…', ':', ','])
        && !contains_phrase(&normalize_words(&subject), ROUTINE);
    telling.then_some(subject)
}

/// Returns the claim of one sentence below `subject`.
fn claim_from_sentence(subject: &str, sentence: &str) -> Option<CommitClaim> {
    let words = normalize_words(sentence);
    // The subject names what the commit changes, but not what "this" or "however" refer to.
    let leans = starts_with_phrase(&words, DEPENDENT_OPENINGS) && !warns(sentence)
        || contains_phrase(&words, "this, that, it");
    let is_over = contains_phrase(&words, PAST) || contains_phrase(&words, DEFECTIVE);
    if !is_whole(sentence) || leans || is_over && !warns(sentence) {
        return None;
    }
    let (rule, kind) = if is_obligation(sentence, &words) {
        (HistoryRule::Obligation, EntryKind::Convention)
    } else if is_reason(sentence, &words) {
        (HistoryRule::Reason, EntryKind::Decision)
    } else {
        return None;
    };
    let text = if repeats(subject, &words) {
        sentence.to_owned()
    } else {
        with_subject(subject, sentence)
    };
    Some(CommitClaim { rule, kind, text })
}

/// Puts the subject of a commit before a sentence of its body.
fn with_subject(subject: &str, sentence: &str) -> String {
    let subject = strip_commit_type(subject);
    let mut letters = subject.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    // A name of code keeps its spelling.
    let is_word = letters
        .clone()
        .take_while(|it| *it != ' ')
        .all(char::is_lowercase);
    let capital = if is_word {
        first.unwrap_or_default() + letters.as_str()
    } else {
        subject.to_owned()
    };
    format!("{capital}. {sentence}")
}

/// Returns whether the words of a sentence contain most words of the subject.
fn repeats(subject: &str, words: &str) -> bool {
    let subject = normalize_words(strip_commit_type(subject));
    let all: Vec<&str> = subject.split_whitespace().collect();
    let shared = all.iter().filter(|it| words.contains(&format!(" {it} ")));
    shared.count() * 100 >= all.len() * REPEATED_PERCENT
}

/// Returns whether a sentence says what must or must not be done.
fn is_obligation(sentence: &str, words: &str) -> bool {
    if contains_phrase(words, NOT_BINDING) || starts_with_phrase(words, WEAK_OPENINGS) {
        return false;
    }
    let forbids = Modality::of(sentence) == Modality::MustNot;
    forbids || contains_phrase(words, BINDING)
}

/// Returns whether a sentence gives a reason.
fn is_reason(sentence: &str, words: &str) -> bool {
    contains_phrase(words, CAUSAL) || contains_phrase(words, PURPOSE) || warns(sentence)
}

/// Returns whether a sentence says what happens otherwise.
fn warns(sentence: &str) -> bool {
    sentence.starts_with("Otherwise")
        || sentence.contains(", otherwise ")
        || sentence.contains("; otherwise ")
}

/// Returns whether a text is one whole sentence that leans on nothing but the subject.
fn is_whole(sentence: &str) -> bool {
    let words = normalize_words(sentence);
    let count = words.split_whitespace().count();
    let begins = sentence.starts_with(|it: char| it.is_uppercase() || it == '`' || it == '_')
        || sentence.split(' ').next().is_some_and(is_code_name);
    let closed = |open, close| sentence.matches(open).count() == sentence.matches(close).count();
    let even = |mark| sentence.matches(mark).count() % 2 == 0;
    SENTENCE_WORDS.contains(&count)
        && sentence.len() <= SENTENCE_BYTES_MAX
        && begins
        && sentence.ends_with('.')
        && !sentence.ends_with("..")
        && !sentence.contains("://")
        && !sentence.contains(['?', '\u{1}'])
        && !names_issue(sentence)
        // A sentence about a test is not about the code.
        && !words.contains(" test_")
        && closed('(', ')')
        && closed('[', ']')
        && even('`')
        && even('"')
        && !contains_phrase(&words, HEDGING)
        && !contains_phrase(&words, LEANING_ANYWHERE)
}

/// Returns whether a sentence refers to an issue by number.
fn names_issue(sentence: &str) -> bool {
    let mut after = sentence.split('#').skip(1);
    after.any(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
}

/// Returns the names of code in a text, without calls and marks.
pub fn code_names(text: &str) -> Vec<&str> {
    let words = text.split(|it: char| it.is_whitespace() || matches!(it, ',' | ';' | '"'));
    let named = words.filter(|it| is_code_name(it));
    named
        .flat_map(|it| it.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|it| it.len() > 2 && it.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .collect()
}

/// Returns the words of a text that carry its meaning, in lower case and without endings.
pub fn telling_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_alphanumeric());
    words
        .map(str::to_lowercase)
        .filter(|it| it.len() >= TELLING_CHARS_MIN && !is_listed(it, COMMON))
        .map(|it| it.chars().take(STEM_CHARS).collect())
        .collect()
}

/// Returns whether a text names something of the code, or one of `names`.
pub fn names_code(text: &str, names: &[&str]) -> bool {
    let mut words = text.split(|it: char| it.is_whitespace() || matches!(it, ',' | ';' | '"'));
    words.any(|word| {
        let bare = word.trim_matches(|it: char| !it.is_alphanumeric());
        let named = |name: &&str| name.len() > 2 && name.eq_ignore_ascii_case(bare);
        is_code_name(word) || names.iter().any(named)
    })
}

/// Returns whether a word is spelled as a name of code: `a_b`, `a.b`, `a::b`, `aB`, `f()`,
/// `--flag`.
fn is_code_name(word: &str) -> bool {
    let word = word.trim_matches(|it: char| matches!(it, '.' | ',' | ':' | ';' | '!' | '"' | '\''));
    let is_call = word.split_once('(').is_some_and(|(name, _)| {
        let is_name = name.ends_with(|it: char| it.is_alphanumeric() || it == '_');
        is_name && (name.len() > 1 || word.contains("()"))
    });
    if is_call || word.starts_with('`') || word.starts_with("--") || word.contains("::") {
        return true;
    }
    let inner = |mark: char| {
        word.split_once(mark).is_some_and(|(before, behind)| {
            before.ends_with(char::is_alphanumeric) && behind.starts_with(char::is_alphabetic)
        })
    };
    let is_abbreviation = matches!(word, "e.g" | "i.e" | "etc");
    let letters: Vec<char> = word.chars().collect();
    let camel = letters
        .windows(2)
        .any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    !is_abbreviation && (inner('_') || inner('.') || camel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(subject: &str, body: &str) -> Vec<(HistoryRule, String)> {
        let claims = extract_commit_claims(subject, body).into_iter();
        claims.map(|it| (it.rule, it.text)).collect()
    }

    #[test]
    fn a_claim_is_a_whole_sentence_below_its_subject() {
        use HistoryRule::{Obligation, Reason};
        for (subject, body, expected) in [
            (
                "Write the header at once in abort() (#512)",
                "Otherwise, the caller needs to invoke flush() after abort(), which is\nerror-prone.\n\nSigned-off-by: A <a@example.org>",
                vec![(
                    Reason,
                    "Write the header at once in abort(). Otherwise, the caller needs to invoke flush() after abort(), which is error-prone.",
                )],
            ),
            (
                "ledger: keep the journal open",
                "The lock must be taken before the journal is opened",
                vec![(
                    Obligation,
                    "ledger: keep the journal open. The lock must be taken before the journal is opened.",
                )],
            ),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(rule, text)| (rule, text.to_owned()))
                .collect();
            assert_eq!(told(subject, body), expected, "{subject}");
        }
    }

    #[test]
    fn talk_guesses_and_the_past_are_no_claims() {
        for (subject, body) in [
            (
                "Keep the journal open",
                "I think this is needed because of the lock in open().",
            ),
            (
                "Keep the journal open",
                "Previously the lock was taken twice because open() called itself.",
            ),
            (
                "Keep the journal open",
                "These are needed because the lock in open() is shared.",
            ),
            (
                "Keep the journal open",
                "* do not call open() twice\n* add tests",
            ),
            (
                "Keep the journal open",
                "    open() must be called because of the lock.",
            ),
            (
                "Fix the panic of open_journal",
                "The lock must be taken before the journal is opened.",
            ),
            (
                "Keep the journal open",
                "However, the lock must be taken because open() shares it.",
            ),
            (
                "Fix typo in the journal",
                "The journal must be opened before the lock is taken.",
            ),
            (
                "Journal",
                "The journal must be opened before the lock is taken.",
            ),
            (
                "Keep the journal open",
                "The journal fails to open because the lock is shared.",
            ),
            (
                "Keep the journal open",
                "There is no need to open() it, so the lock does not have to be taken.",
            ),
            (
                "Keep the journal open",
                "See https://example.org/1 because the lock must be taken.",
            ),
        ] {
            assert_eq!(told(subject, body), [], "{body}");
        }
    }

    #[test]
    fn a_revert_needs_a_reason_about_the_code() {
        let reverts = "This reverts commit 0123456789abcdef0123456789abcdef01234567.";
        let tried = "Cache parsed headers in Request (#12)";
        let told = revert_claim(
            tried,
            &format!("{reverts}\n\nThe cache breaks requests that change their headers later."),
        );
        assert_eq!(told, None, "`later` is a promise");
        let told = revert_claim(
            tried,
            &format!("{reverts}\n\nThe cache breaks every request that changes its headers."),
        )
        .unwrap();
        assert_eq!(
            told.text,
            "Tried and taken back: \"Cache parsed headers in Request\". The cache breaks every request that changes its headers."
        );
        assert_eq!(told.kind, EntryKind::AntiPattern);
        for body in [
            "",
            "It was merged by accident and breaks the build of others.",
        ] {
            assert_eq!(
                revert_claim(tried, &format!("{reverts}\n\n{body}")),
                None,
                "{body}"
            );
        }
        assert_eq!(
            reverted_commits(reverts),
            ["0123456789abcdef0123456789abcdef01234567"]
        );
        assert!(reverted_commits("Revert the change of defaced headers").is_empty());
    }

    #[test]
    fn subjects_lose_their_numbers() {
        for (subject, clean) in [
            ("Fix x in y (#12)", "Fix x in y"),
            ("Fix x in y, fixes #12", "Fix x in y"),
            ("GH-12: Fix x", "Fix x"),
            ("Use #[derive] in y.", "Use #[derive] in y"),
        ] {
            assert_eq!(clean_subject(subject), clean);
        }
    }

    #[test]
    fn a_fix_says_what_it_fixed() {
        for (subject, fixed) in [
            (
                "fix(tree): panic in find_child (#12)",
                Some("panic in find_child"),
            ),
            (
                "Fix crash when the header is empty",
                Some("Fix crash when the header is empty"),
            ),
            ("fix #12", None),
            ("Fix typo in header", None),
            ("Fix the tests", None),
            ("Add a header to the answer", None),
        ] {
            assert_eq!(fixed_bug(subject).as_deref(), fixed, "{subject}");
        }
    }

    #[test]
    fn names_of_code_are_recognized() {
        for named in [
            "`x`",
            "a_b",
            "req.fresh",
            "a::b",
            "FormFile",
            "f()",
            "--flag",
            "len(x)",
        ] {
            assert!(names_code(&format!("Use {named} always"), &[]), "{named}");
        }
        for plain in ["Header", "HTTP", "e.g.", "end."] {
            assert!(!names_code(&format!("Use {plain} always"), &[]), "{plain}");
        }
        assert!(names_code("Use the Tree always", &["tree"]));
    }
}
