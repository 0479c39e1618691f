//! Sentence parser: subject, negation, numbers, choices and preferences of a rule.
//!
//! Only the main clause counts: reasons and purposes after it often deny something else ("use X,
//! because Y does not work"). The words after "except" or "unless" are stored as the exception.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::alternatives::{self, SentenceChoice};
use crate::trust::similarity::{TokenizedStatement, is_negation, stem};

/// Sentences parsed per statement.
const SENTENCES_MAX: usize = 8;

/// Tokens parsed per sentence.
const TOKENS_MAX: usize = 80;

/// Tokens after a marker that can name the rejected alternative.
const REJECTED_TOKENS_MAX: usize = 4;

/// Stop words: function words, words of obligation, and names of the whole project.
const STOP_WORDS: &str = "\
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

/// [`STOP_WORDS`] as a set, because every word is looked up.
static STOP_WORD_SET: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| STOP_WORDS.split(' ').collect());

/// Words other than plain negations that forbid or waive.
const FORBIDDING: &str = "\
    ban banned bans disallowed discourage discouraged forbidden needless optional prohibited \
    skip unacceptable unnecessary omit";

/// Prefixes of words that oblige.
const OBLIGATION_PREFIXES: &str = "\
    always use using prefer requir enforc recommend encourag allow";

/// First words of imperative sentences.
const IMPERATIVES: &str = "\
    always never use do don't avoid prefer must keep only ensure run write";

/// Words that introduce a reason or a purpose.
const REASON_MARKERS: &str = "\
    because since otherwise which whereas although";

/// Words that introduce an exception.
const EXCEPTION_MARKERS: &str = "\
    except unless excepting";

/// Verbs that introduce a purpose after "to".
const PURPOSE_VERBS: &str = "\
    avoid prevent stop reduce forbid refuse";

/// Words that end the name of the rejected alternative.
const REJECTED_END_MARKERS: &str = "\
    , for in when because on if whenever inside at by";

/// One parsed sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ParsedSentence {
    /// The main clause without words of obligation, for the similarity rules.
    pub(super) claim: TokenizedStatement,
    /// Stems of the content words.
    pub(super) subject: BTreeSet<String>,
    /// Set for the first sentence and for imperatives. Other sentences explain the claim, and their
    /// negations usually deny something else.
    pub(super) leads: bool,
    /// Set if the sentence forbids.
    pub(super) denied: bool,
    pub(super) numbers: Vec<NumberMention>,
    /// Stems of the preferred alternative.
    pub(super) preferred: BTreeSet<String>,
    /// Stems of the alternative rejected in favor of it.
    pub(super) rejected: BTreeSet<String>,
    /// Stems of the exception.
    pub(super) excepted: BTreeSet<String>,
    pub(super) choices: Vec<SentenceChoice>,
}

/// A number and the content words next to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumberMention {
    pub(super) value: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl ParsedSentence {
    /// Parses the sentences of a statement.
    pub(super) fn parse_all(text: &str) -> Vec<Self> {
        let texts = split_sentences(text).into_iter().enumerate();
        let sentences = texts.map(|(place, text)| Self::parse(text, place));
        let useful = sentences.filter(|it| !it.subject.is_empty() || !it.choices.is_empty());
        useful.take(SENTENCES_MAX).collect()
    }

    fn parse(text: &str, place: usize) -> Self {
        let tokens = tokenize(text);
        let orders = tokens.first().is_some_and(|it| is_listed(it, IMPERATIVES));
        let (main, exception) = main_clause(&tokens);
        let (kept, preferred, rejected) = split_preference(main);
        // Two negations cancel each other: "never skip" requires.
        let denied = kept.iter().filter(|it| denies(it)).count() % 2 == 1;
        let subject = subject_stems(&kept);
        Self {
            claim: TokenizedStatement::parse(&without_modality(&kept)),
            // Choices read `main`: `kept` has lost the rejected member of "pnpm instead of npm".
            choices: alternatives::find_choices(main, denied, &subject),
            numbers: find_numbers(&kept),
            excepted: subject_stems(exception),
            leads: place == 0 || orders,
            subject,
            denied,
            preferred,
            rejected,
        }
    }
}

/// Splits a text into sentences; lines and bullets are sentences, too.
fn split_sentences(text: &str) -> Vec<&str> {
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
        // "e.g." and "i.e." do not end a sentence.
        let abbreviated = text[..place].ends_with(".g") || text[..place].ends_with(".e");
        (rest.starts_with(char::is_whitespace) && !abbreviated).then_some(place)
    })
}

/// Splits a text into lowercase tokens; a comma, colon, parenthesis or dash becomes `,`.
pub(super) fn tokenize(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.replace('’', "'").chars().collect();
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    for (place, &c) in letters.iter().enumerate() {
        let next = letters.get(place + 1);
        let is_inner = next.is_some_and(|it| it.is_alphanumeric())
            && letters[..place]
                .last()
                .is_some_and(|it| it.is_alphanumeric());
        // Keeps "moment.js" and "don't" in one token.
        let joins = matches!(c, '.' | '\'') && is_inner;
        let is_operator = "=<>&|!".contains(c);
        let was_operator = word.starts_with(|it| "=<>&|!".contains(it));
        if !word.is_empty() && is_operator != was_operator {
            push_token(&mut tokens, &mut word);
        }
        if c.is_alphanumeric() || c == '_' || joins || is_operator {
            word.extend(c.to_lowercase());
            continue;
        }
        push_token(&mut tokens, &mut word);
        if matches!(c, ',' | ':' | '(' | ')' | '–' | '—') {
            tokens.push(",".to_owned());
        }
    }
    push_token(&mut tokens, &mut word);
    // Bounds the work per pair of sentences: one endless line must not stall a check.
    tokens.truncate(TOKENS_MAX);
    tokens
}

fn push_token(tokens: &mut Vec<String>, word: &mut String) {
    let word = std::mem::take(word);
    if !word.is_empty() && word != "!" && word != "_" {
        tokens.push(word);
    }
}

/// Returns the main clause and its exception.
fn main_clause(tokens: &[String]) -> (&[String], &[String]) {
    // Skips the first token: a marker there opens the sentence and leaves no main clause before it.
    for (place, token) in tokens.iter().enumerate().skip(1) {
        let next = tokens.get(place + 1).map(String::as_str);
        let word = token.as_str();
        if is_listed(word, EXCEPTION_MARKERS) {
            return (&tokens[..place], &tokens[place + 1..]);
        }
        let purpose = word == "to" && next.is_some_and(|it| is_listed(it, PURPOSE_VERBS));
        let behind_comma = tokens[place - 1] == ",";
        let consequence = word == "so" || (behind_comma && word == "or");
        if purpose || consequence || is_listed(word, REASON_MARKERS) {
            return (&tokens[..place], &[]);
        }
    }
    (tokens, &[])
}

/// Returns the clause without the rejected alternative, the preferred stems and the rejected stems.
fn split_preference(main: &[String]) -> (Vec<String>, BTreeSet<String>, BTreeSet<String>) {
    let prefers = main
        .iter()
        .any(|it| it.starts_with("prefer") || it == "favor" || it == "favour");
    for (place, token) in main.iter().enumerate().skip(1) {
        let next = main.get(place + 1).map(String::as_str);
        let width = match (token.as_str(), next) {
            ("instead", Some("of")) | ("rather", Some("than")) => 2,
            ("over", _) => 1,
            ("to", _) if prefers => 1,
            // "pnpm, not npm" rejects; "pnpm, not the old way" has no name to reject.
            ("not" | "never", Some(word)) if main[place - 1] == "," && !is_stop_word(word) => 1,
            ("not", Some("with")) => 2,
            _ => continue,
        };
        let from = place + width;
        let rest = &main[from..];
        let named = rest.iter().take(REJECTED_TOKENS_MAX);
        let named = named
            .take_while(|it| !is_listed(it, REJECTED_END_MARKERS))
            .count();
        let rejected = subject_stems(&rest[..named]);
        if rejected.is_empty() {
            continue;
        }
        let preferred = subject_stems(&main[..place]);
        let kept = main[..place].iter().chain(&rest[named..]).cloned();
        return (kept.collect(), preferred, rejected);
    }
    (main.to_vec(), BTreeSet::new(), BTreeSet::new())
}

/// Returns whether `word` is one of the space-separated `words`.
pub(super) fn is_listed(word: &str, words: &str) -> bool {
    words.split(' ').any(|it| it == word)
}

/// Returns whether a word forbids.
pub(super) fn denies(word: &str) -> bool {
    is_negation(word) || is_listed(word, FORBIDDING)
}

/// Returns the clause without words of negation and obligation, which the rules weigh separately.
fn without_modality(tokens: &[String]) -> String {
    let says = |it: &&String| {
        !denies(it)
            && !OBLIGATION_PREFIXES
                .split(' ')
                .any(|with| it.starts_with(with))
    };
    let words: Vec<&str> = tokens.iter().filter(says).map(String::as_str).collect();
    words.join(" ")
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORD_SET.contains(word)
}

fn subject_stems(tokens: &[String]) -> BTreeSet<String> {
    let words = tokens.iter().filter(|it| is_content_word(it));
    words.map(|it| normalized_stem(it)).collect()
}

fn is_content_word(word: &str) -> bool {
    // Operators such as `==` count; single punctuation marks do not.
    let is_word = word.contains(char::is_alphabetic) || word.len() > 1;
    is_word && parse_number(word).is_none() && !is_stop_word(word) && !denies(word)
}

/// Returns the stem, with synonyms of one measure unified.
pub(super) fn normalized_stem(word: &str) -> String {
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

/// Words before a number that names one of several things instead of counting.
const NUMBERED: [&str; 11] = [
    "number", "no", "issue", "pr", "ticket", "rule", "step", "chapter", "section", "phase", "case",
];

fn find_numbers(tokens: &[String]) -> Vec<NumberMention> {
    let counted = tokens.iter().enumerate().filter_map(|(place, token)| {
        let value = parse_number(token)?;
        let label = place.checked_sub(1).map(|it| tokens[it].as_str());
        if label.is_some_and(|it| NUMBERED.contains(&it)) {
            return None;
        }
        let before = tokens[..place].iter().rev().find(|it| is_content_word(it));
        // A comma ends the counted noun phrase: in "2, lines" the number does not count lines.
        let mut after = tokens[place + 1..].iter().take_while(|it| *it != ",");
        let after = match token.as_str() {
            "once" | "twice" => Some(normalized_stem("times")),
            _ => after
                .find(|it| is_content_word(it))
                .map(|it| normalized_stem(it)),
        };
        Some(NumberMention {
            value,
            before: before.map(|it| normalized_stem(it)),
            after,
        })
    });
    counted.collect()
}

/// Returns a number as digits, including numbers written as words.
fn parse_number(token: &str) -> Option<String> {
    const WRITTEN: [&str; 11] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    if is_number(token) {
        // Drops a unit: "80px" and "80" are the same number.
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
