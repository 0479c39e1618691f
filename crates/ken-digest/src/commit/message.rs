//! Parts of a commit message: subject, sentences of the body, references to other commits.

use super::words::{HEDGING, ROUTINE};
use crate::modality::normalize_words;
use crate::sentence::split_sentences;
use crate::words::{contains_phrase, is_listed};

/// Types of Conventional Commits and other usual prefixes without a meaning for the reader.
const COMMIT_TYPES: &str = "\
    feat, fix, docs, style, refactor, perf, test, tests, build, ci, chore, revert, bug, bugfix, hotfix, \
    feature, types, dx, security, sec, enhancement";

/// Words that begin the subject of a fix.
const FIXING: &str = "fix, fixes, fixed, fixing, bugfix, hotfix, bug";

/// Words of subjects of fixes that name a failure.
const FAILURES: &str = "\
    fix, fixes, fixed, fixing, bug, crash, crashes, panic, panics, leak, leaks, deadlock, race, \
    regression, overflow, underflow, segfault, use-after-free, nontermination, infinite loop, hang, hangs";

/// Words that do not say what was fixed.
const UNTELLING: &str = "a, an, the, in, for, of, with, issue, issues, bugs";

/// Minimum number of words that say what was fixed.
const FIX_WORDS_MIN: usize = 3;

/// Minimum digits of an abbreviated commit id.
const COMMIT_DIGITS_MIN: usize = 7;

/// Maximum digits of a commit id.
const COMMIT_DIGITS_MAX: usize = 40;

/// Returns a subject without numbers of issues and pull requests.
pub fn clean_subject(subject: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for word in subject.split_whitespace() {
        let bare = word
            .trim_matches(|it: char| matches!(it, '(' | ')' | '[' | ']' | ',' | '.' | ';' | ':'));
        let number = bare.strip_prefix('#').or_else(|| strip_issue_prefix(bare));
        let is_number =
            number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number && word.starts_with('(') {
            // "Cache it in Request (#12)": nothing before the number belongs to it.
        } else if is_number {
            // "Fix x, closes #12": the verb belongs to the number.
            while kept.pop_if(|it| closes_issue(it)).is_some() {}
        } else {
            kept.push(word);
        }
    }
    let text = kept.join(" ");
    text.trim_end_matches(['.', ',', ';', '(', '-', ' '])
        .to_owned()
}

fn strip_issue_prefix(word: &str) -> Option<&str> {
    ["GH-", "gh-", "PR-", "gh#", "GH#"]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
}

fn closes_issue(word: &str) -> bool {
    let word = word
        .trim_matches(|it: char| !it.is_alphanumeric())
        .to_lowercase();
    is_listed(
        &word,
        "fixes, fix, fixed, closes, close, closed, resolves, resolve, refs, ref, see, issue, pr",
    )
}

/// Removes the type of a Conventional Commit, and keeps its scope: `fix(tree): x` is `tree: x`.
pub(super) fn strip_commit_type(subject: &str) -> &str {
    let Some((head, rest)) = subject.split_once(": ") else {
        return subject;
    };
    let name = head.trim_end_matches('!');
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    if is_listed(&name.to_lowercase(), COMMIT_TYPES) {
        rest.trim()
    } else {
        subject
    }
}

/// Returns what a commit fixed by its subject, or `None` for other commits and routine fixes.
pub fn fixed_bug(subject: &str) -> Option<String> {
    let subject = clean_subject(subject);
    let words = normalize_words(&subject);
    let first = words.split_whitespace().next().unwrap_or_default();
    let fixes = is_listed(first, FIXING) || contains_phrase(&words, FAILURES);
    let told = strip_commit_type(&subject);
    let told_words = normalize_words(told);
    let telling = told_words
        .split_whitespace()
        .filter(|it| !is_listed(it, FAILURES) && !is_listed(it, UNTELLING));
    // A name of code says what was fixed, even alone.
    let is_telling =
        telling.count() >= FIX_WORDS_MIN || told.split_whitespace().any(super::is_code_name);
    let is_talk = told.contains('?') || contains_phrase(&words, HEDGING);
    let is_wanted = fixes && is_telling && !is_talk && !contains_phrase(&words, ROUTINE);
    is_wanted.then(|| told.to_owned())
}

/// Returns the ids of the commits that a text says it reverts.
pub fn reverted_commits(text: &str) -> Vec<String> {
    let lowered = text.to_lowercase();
    let mut found = Vec::new();
    let mut rest = lowered.as_str();
    while let Some((_, behind)) = rest.split_once("revert") {
        rest = behind;
        let mut words = behind.split_whitespace();
        // "reverts commit X", "reverting X", "revert: X".
        let ids = words
            .by_ref()
            .take(4)
            .map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()));
        found.extend(ids.filter(|it| is_commit_id(it)).map(str::to_owned));
    }
    found
}

fn is_commit_id(word: &str) -> bool {
    (COMMIT_DIGITS_MIN..=COMMIT_DIGITS_MAX).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the sentences of a body, without code, quotes, trailers and headings.
pub(super) fn message_sentences(body: &str) -> Vec<String> {
    let mut paragraphs: Vec<(bool, String)> = Vec::new();
    let (mut current, mut in_code) = ((false, String::new()), false);
    for line in body.lines() {
        let text = line.trim();
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        in_code ^= is_fence;
        let breaks = is_fence || in_code || text.is_empty() || is_aside(line);
        let item = item_text(text);
        if breaks || item.is_some() {
            paragraphs.push(std::mem::take(&mut current));
            current.0 = item.is_some();
        }
        if breaks {
            continue;
        }
        if !current.1.is_empty() {
            current.1.push(' ');
        }
        current.1.push_str(item.unwrap_or(text));
    }
    paragraphs.push(current);
    for (is_item, text) in &mut paragraphs {
        // Many authors leave out the last full stop. Items without one are rarely sentences.
        if !*is_item && text.ends_with(|it: char| it.is_alphanumeric() || matches!(it, ')' | '`')) {
            text.push('.');
        }
    }
    let all = paragraphs.iter().flat_map(|(_, it)| split_sentences(it));
    all.map(str::to_owned).collect()
}

/// Returns whether a line is code, a quotation, a heading or a trailer.
fn is_aside(line: &str) -> bool {
    let text = line.trim();
    let is_code = line.starts_with("    ") || line.starts_with('\t');
    let is_trailer = text.split_once(": ").is_some_and(|(key, _)| {
        key.contains('-') && !key.contains(' ') && key.starts_with(|it: char| it.is_uppercase())
    });
    let closes = text.split_whitespace().count() <= 3 && text.contains('#');
    is_code
        || is_trailer
        || closes
        || text.starts_with(['>', '$', '#', '|', '+'])
        || text.starts_with("---")
        || text.starts_with("===")
        || text.starts_with("http")
}

/// Returns the text of a list item.
fn item_text(text: &str) -> Option<&str> {
    for mark in ["* ", "- ", "• "] {
        if let Some(rest) = text.strip_prefix(mark) {
            return Some(rest.trim_start());
        }
    }
    let rest = text.trim_start_matches(|it: char| it.is_ascii_digit());
    let is_numbered = rest.len() < text.len();
    rest.strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))
        .filter(|_| is_numbered)
}
