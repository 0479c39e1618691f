//! What a sentence asks for: its subject, whether it is denied, numbers, choices and preferences.
//!
//! Only the main clause speaks: reasons and purposes behind it often deny something else ("use X,
//! because Y does not work"). What stands behind "except" or "unless" is kept apart as the exception.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::alternatives::{self, Choice};
use crate::likeness::{Claim, is_negation, stem};

/// Sentences of one statement that are looked at.
const SENTENCES_MAX: usize = 8;

/// Tokens of one sentence that are looked at.
const TOKENS_MAX: usize = 80;

/// Tokens behind a marker that name what is left aside.
const REJECTED_TOKENS_MAX: usize = 4;

/// Words that carry no subject: they bind, oblige, or stand for the whole project.
const EMPTY_WORDS: &str = "\
    a about across adopt all also always an and any are as at be been by can choose code \
    codebase could default do does each encourage encouraged enforce enforces ensure every \
    everything everywhere everyone favor favour fine for from generally good has have here how \
    i if in into is it its just keep make may might must need needed needs new of ok okay on \
    one only or our ours over own please prefer preferred prefers project recommend \
    recommended repo repository require required requires shall should standard standardise \
    standardize stick strictly sure team than that the their them there these they this those \
    to try us use used uses using want was we when whenever where will with within would you \
    your allow allowed allows permit permitted acceptable mandatory throughout whole entire \
    through via under most least maximum max minimum min up above below more fewer less longer \
    exceed exceeds enough";

/// The same, looked up for every word.
static EMPTY: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| EMPTY_WORDS.split(' ').collect());

/// Words besides the plain negations that forbid or let go.
const FORBIDDING: &str = "\
    ban banned bans disallowed discourage discouraged forbidden needless optional prohibited \
    skip unacceptable unnecessary omit";

/// Beginnings of words that oblige.
const OBLIGING: &str = "\
    always use using prefer requir enforc recommend encourag allow";

/// Words that a sentence which orders something begins with.
const ORDERING: &str = "\
    always never use do don't avoid prefer must keep only ensure run write";

/// Words behind which a reason or a purpose follows.
const REASONS: &str = "\
    because since otherwise which whereas although";

/// Words behind which an exception follows.
const EXCEPTIONS: &str = "\
    except unless excepting";

/// What a purpose begins with, behind "to".
const PURPOSES: &str = "\
    avoid prevent stop reduce forbid refuse";

/// Words that end the name of what is left aside.
const ENDS: &str = "\
    , for in when because on if whenever inside at by";

/// One sentence, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sentence {
    /// Its main clause, for the rules of likeness.
    pub(super) claim: Claim,
    /// Stems of what it is about.
    pub(super) subject: BTreeSet<String>,
    /// Whether it is what the statement claims: its first sentence, or one that orders something. The others
    /// explain, and what they deny is something else.
    pub(super) leads: bool,
    /// Whether it forbids.
    pub(super) denied: bool,
    pub(super) numbers: Vec<Number>,
    /// What it prefers, and what it leaves aside for it.
    pub(super) preferred: BTreeSet<String>,
    pub(super) rejected: BTreeSet<String>,
    /// Stems of what it excepts.
    pub(super) excepted: BTreeSet<String>,
    pub(super) choices: Vec<Choice>,
}

/// A number and the words beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Sentence {
    /// Takes a statement apart, sentence by sentence.
    pub(super) fn all(text: &str) -> Vec<Self> {
        let sentences = split(text).into_iter().enumerate();
        let sentences = sentences.map(|(place, text)| Self::of(text, place));
        let spoken = sentences.filter(|it| !it.subject.is_empty() || !it.choices.is_empty());
        spoken.take(SENTENCES_MAX).collect()
    }

    fn of(text: &str, place: usize) -> Self {
        let tokens = lex(text);
        let orders = tokens.first().is_some_and(|it| is_listed(it, ORDERING));
        let (main, exception) = main_clause(&tokens);
        let (kept, preferred, rejected) = preference(main);
        let denied = kept.iter().filter(|it| denies(it)).count() % 2 == 1;
        let subject = subject(&kept);
        Self {
            claim: Claim::of(&bare(&kept)),
            choices: alternatives::choices(main, denied, &subject),
            numbers: numbers(&kept),
            excepted: self::subject(exception),
            leads: place == 0 || orders,
            subject,
            denied,
            preferred,
            rejected,
        }
    }
}

/// Cuts a text into sentences; lines and bullets are sentences too.
fn split(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_start_matches(['-', '*', '+', '#', '>', ' ']);
        while let Some(end) = sentence_end(rest) {
            found.push(rest[..end].trim());
            rest = rest[end..].trim_start_matches(['.', '!', '?', ';', ' ']);
        }
        found.push(rest.trim());
    }
    found.retain(|it| !it.is_empty());
    found
}

fn sentence_end(text: &str) -> Option<usize> {
    let mut ends = text.match_indices(['.', '!', '?', ';']);
    ends.find_map(|(place, sign)| {
        let rest = &text[place + sign.len()..];
        // "e.g. this" goes on.
        let abbreviated = text[..place].ends_with(".g") || text[..place].ends_with(".e");
        (rest.starts_with(char::is_whitespace) && !abbreviated).then_some(place)
    })
}

/// Returns the words in lower case; a comma, colon, bracket or dash stays as `,`.
pub(super) fn lex(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.replace('’', "'").chars().collect();
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    for (place, &c) in letters.iter().enumerate() {
        let next = letters.get(place + 1);
        let is_inner = next.is_some_and(|it| it.is_alphanumeric())
            && letters[..place]
                .last()
                .is_some_and(|it| it.is_alphanumeric());
        let joins = matches!(c, '.' | '\'') && is_inner;
        let is_operator = "=<>&|!".contains(c);
        let was_operator = word.starts_with(|it| "=<>&|!".contains(it));
        if !word.is_empty() && is_operator != was_operator {
            push(&mut tokens, &mut word);
        }
        if c.is_alphanumeric() || c == '_' || joins || is_operator {
            word.extend(c.to_lowercase());
            continue;
        }
        push(&mut tokens, &mut word);
        if matches!(c, ',' | ':' | '(' | ')' | '–' | '—') {
            tokens.push(",".to_owned());
        }
    }
    push(&mut tokens, &mut word);
    tokens.truncate(TOKENS_MAX);
    tokens
}

fn push(tokens: &mut Vec<String>, word: &mut String) {
    let word = std::mem::take(word);
    if !word.is_empty() && word != "!" && word != "_" {
        tokens.push(word);
    }
}

/// Returns the main clause and what it excepts.
fn main_clause(tokens: &[String]) -> (&[String], &[String]) {
    for (place, token) in tokens.iter().enumerate().skip(1) {
        let next = tokens.get(place + 1).map(String::as_str);
        let word = token.as_str();
        if is_listed(word, EXCEPTIONS) {
            return (&tokens[..place], &tokens[place + 1..]);
        }
        let purpose = word == "to" && next.is_some_and(|it| is_listed(it, PURPOSES));
        let behind_comma = tokens[place - 1] == ",";
        let consequence = word == "so" || (behind_comma && word == "or");
        if purpose || consequence || is_listed(word, REASONS) {
            return (&tokens[..place], &[]);
        }
    }
    (tokens, &[])
}

/// Returns the clause without what it leaves aside, what it prefers, and what it leaves aside.
fn preference(main: &[String]) -> (Vec<String>, BTreeSet<String>, BTreeSet<String>) {
    let prefers = main
        .iter()
        .any(|it| it.starts_with("prefer") || it == "favor" || it == "favour");
    for (place, token) in main.iter().enumerate().skip(1) {
        let next = main.get(place + 1).map(String::as_str);
        let width = match (token.as_str(), next) {
            ("instead", Some("of")) | ("rather", Some("than")) => 2,
            ("over", _) => 1,
            ("to", _) if prefers => 1,
            ("not" | "never", Some(word)) if main[place - 1] == "," && !is_empty(word) => 1,
            ("not", Some("with")) => 2,
            _ => continue,
        };
        let from = place + width;
        let rest = &main[from..];
        let named = rest.iter().take(REJECTED_TOKENS_MAX);
        let named = named.take_while(|it| !is_listed(it, ENDS)).count();
        let rejected = subject(&rest[..named]);
        if rejected.is_empty() {
            continue;
        }
        let preferred = subject(&main[..place]);
        let kept = main[..place].iter().chain(&rest[named..]).cloned();
        return (kept.collect(), preferred, rejected);
    }
    (main.to_vec(), BTreeSet::new(), BTreeSet::new())
}

/// Returns whether `word` is one of `words`, which spaces set apart.
pub(super) fn is_listed(word: &str, words: &str) -> bool {
    words.split(' ').any(|it| it == word)
}

/// Returns whether a word forbids.
pub(super) fn denies(word: &str) -> bool {
    is_negation(word) || is_listed(word, FORBIDDING)
}

/// Returns the clause without the words that only say how far it obliges: those are weighed apart.
fn bare(tokens: &[String]) -> String {
    let says = |it: &&String| !denies(it) && !OBLIGING.split(' ').any(|with| it.starts_with(with));
    let words: Vec<&str> = tokens.iter().filter(says).map(String::as_str).collect();
    words.join(" ")
}

fn is_empty(word: &str) -> bool {
    EMPTY.contains(word)
}

fn subject(tokens: &[String]) -> BTreeSet<String> {
    let words = tokens.iter().filter(|it| carries(it));
    words.map(|it| root(it)).collect()
}

fn carries(word: &str) -> bool {
    let is_word = word.contains(char::is_alphabetic) || 1 < word.len();
    is_word && value(word).is_none() && !is_empty(word) && !denies(word)
}

/// Returns the stem; words for one measure count as one.
pub(super) fn root(word: &str) -> String {
    let root = stem(word);
    let root = match root.as_str() {
        "char" | "column" | "col" => "character",
        "width" | "long" => "length",
        "dir" | "directori" | "director" => "folder",
        other => other,
    };
    root.to_owned()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn numbers(tokens: &[String]) -> Vec<Number> {
    let counted = tokens.iter().enumerate().filter_map(|(place, token)| {
        let value = value(token)?;
        let before = tokens[..place].iter().rev().find(|it| carries(it));
        let mut after = tokens[place + 1..].iter().take_while(|it| *it != ",");
        let after = match token.as_str() {
            "once" | "twice" => Some(root("times")),
            _ => after.find(|it| carries(it)).map(|it| root(it)),
        };
        Some(Number {
            value,
            before: before.map(|it| root(it)),
            after,
        })
    });
    counted.collect()
}

/// Returns a number as digits, also where it is written out.
fn value(token: &str) -> Option<String> {
    const WRITTEN: [&str; 11] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    if is_number(token) {
        let digits = token.trim_end_matches(|c: char| c.is_alphabetic());
        return Some(digits.to_owned());
    }
    let token = match token {
        "once" => "one",
        "twice" => "two",
        other => other,
    };
    let place = WRITTEN.iter().position(|it| *it == token)?;
    Some(place.to_string())
}
