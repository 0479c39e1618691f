//! Made-up texts of the length and shape people write.

use ken_core::anchor::{Anchor, Target};
use ken_core::text::{Statement, Step, Tag};

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
        } else if SENTENCE_BYTES < text.len() - sentence {
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
    let target: Target = text.parse().expect("an anchor");
    target.into()
}

pub(crate) fn step(dice: &mut Dice) -> Step {
    let text = format!("cargo test -p part{} handles_it", dice.below(300));
    text.parse().expect("a step")
}

#[cfg(test)]
mod tests {
    use super::*;

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
                statement.sentences() <= Statement::SENTENCES_MAX,
                "{statement}"
            );
        }
    }
}
