//! Made-up texts of the length and shape people write.

use std::collections::BTreeSet;

use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::text::{Statement, Step, Tag};

use super::story::Dice;

/// Bytes a statement has at the least and at the most, about.
const STATEMENT_BYTES: (usize, usize) = (60, 400);
/// Bytes after which a sentence ends; three of them make the longest statement.
const SENTENCE_BYTES: usize = 140;

const WORDS: &str = "\
    the a of to in when after before every which never always request response payment ledger \
    cache index worker queue retry timeout transaction migration schema column client server \
    handler parser token session router module crate package build release branch commit merge \
    review test fixture snapshot mock clock thread lock mutex channel buffer stream socket file \
    folder path config flag option default limit batch page cursor offset checksum digest event \
    entry anchor citation status policy reader writer is are must should may returns holds breaks \
    keeps drops copies blocks waits fails closes opens because unless until while without with \
    under over empty stale slow large small second first last idempotent concurrent durable";

const TAGS: [&str; 10] = [
    "auth/jwt",
    "payments",
    "storage/sqlite",
    "concurrency",
    "ci",
    "api/http",
    "testing",
    "performance",
    "build/cargo",
    "security",
];

/// Makes a claim of one to three sentences.
pub(crate) fn statement(dice: &mut Dice) -> Statement {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let (least, most) = STATEMENT_BYTES;
    let wanted = least + dice.below(most - least);
    let mut text = String::with_capacity(most + 32);
    let mut sentence = 0;
    while text.len() < wanted {
        let word = dice.pick(&words);
        if text.is_empty() {
            text.push_str("The ");
        } else if text.len() - sentence > SENTENCE_BYTES {
            text.push_str(". It ");
            sentence = text.len();
        } else {
            text.push(' ');
        }
        text.push_str(word);
    }
    text.push('.');
    text.parse().expect("a statement")
}

/// Words a [`Vocabulary`] has.
const VOCABULARY: usize = 30_000;

/// Words of a lesson, at the least and at the most.
const LESSON_WORDS: (usize, usize) = (12, 50);

/// Words of a question.
const QUERY_WORDS: usize = 7;

const SYLLABLES: &str = "\
    ba be bi bo bu da de di do fa fe ga ge go ka ke ki ko la le li lo ma me mi mo na ne no pa pe po \
    ra re ri ro sa se si so ta te ti to va ve vi vo za ze";

/// Words as often as in real text: the second half as often as the first, the third a third, and so
/// on.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<String>,
    /// How often each word and those before it stand in a text, as whole numbers.
    sums: Vec<u64>,
}

impl Vocabulary {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let syllables: Vec<&str> = SYLLABLES.split_whitespace().collect();
        let mut words: Vec<String> = WORDS.split_whitespace().map(str::to_owned).collect();
        let mut known: BTreeSet<String> = words.iter().cloned().collect();
        while words.len() < VOCABULARY {
            let count = 2 + dice.below(4);
            let word: String = (0..count).map(|_| *dice.pick(&syllables)).collect();
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0;
        let often = |rank: usize| {
            sum += 1_000_000_000 / (rank as u64 + 3);
            sum
        };
        let sums = (0..words.len()).map(often).collect();
        Self { words, sums }
    }

    fn word(&self, dice: &mut Dice) -> &str {
        let last = self.sums.last().copied().unwrap_or(1);
        let drawn = dice.below(last as usize) as u64;
        &self.words[self.sums.partition_point(|sum| *sum <= drawn)]
    }

    /// Makes a claim of one sentence.
    pub(crate) fn lesson(&self, dice: &mut Dice) -> Statement {
        let (least, most) = LESSON_WORDS;
        let count = least + dice.below(most - least);
        let words: Vec<&str> = (0..count).map(|_| self.word(dice)).collect();
        let text = format!("The {}.", words.join(" "));
        text.parse().expect("a statement")
    }
}

/// Asks for a claim with some of its words.
pub(crate) fn query(dice: &mut Dice, statement: &Statement) -> String {
    let words: Vec<&str> = statement
        .as_str()
        .trim_end_matches('.')
        .split(' ')
        .skip(1)
        .collect();
    let chosen: Vec<&str> = (0..QUERY_WORDS).map(|_| *dice.pick(&words)).collect();
    chosen.join(" ")
}

pub(crate) fn tag(dice: &mut Dice) -> Tag {
    dice.pick(&TAGS).parse().expect("a tag")
}

pub(crate) fn anchor(dice: &mut Dice) -> Anchor {
    let (module, number) = (dice.pick(&TAGS), dice.below(300));
    let path = format!("src/{module}/part{number}.rs");
    let text = if dice.below(2) == 0 {
        format!("{path}#Part::handle")
    } else {
        format!("{path}:{}-{}", 10 + number, 30 + number)
    };
    let at: CodeLocation = text.parse().expect("an anchor");
    // Somebody took it where the code is; here there is none.
    let fingerprint = Some(format!("s1:{number:032x}"));
    Anchor { at, fingerprint }
}

pub(crate) fn step(dice: &mut Dice) -> Step {
    let text = format!("cargo test -p part{} handles_it", dice.below(300));
    text.parse().expect("a step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_words_stand_everywhere_and_most_hardly_anywhere() {
        let mut dice = Dice::new(6);
        let vocabulary = Vocabulary::new(&mut dice);
        let drawn: Vec<&str> = (0..10_000).map(|_| vocabulary.word(&mut dice)).collect();
        let first = drawn.iter().filter(|word| **word == "the").count();
        let distinct: BTreeSet<&&str> = drawn.iter().collect();
        assert!((200..900).contains(&first), "{first}");
        assert!(
            (2_000..7_000).contains(&distinct.len()),
            "{}",
            distinct.len()
        );
    }

    #[test]
    fn statements_are_as_long_as_people_write_and_have_at_most_three_sentences() {
        let mut dice = Dice::new(5);
        for _ in 0..1000 {
            let statement = statement(&mut dice);
            assert!(
                (60..=440).contains(&statement.as_str().len()),
                "{statement}"
            );
            assert!(
                statement.sentence_count() <= Statement::SENTENCES_MAX,
                "{statement}"
            );
        }
    }
}
