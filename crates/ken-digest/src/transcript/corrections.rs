//! Corrections by people: "no, use pnpm", "never edit generated files".
//!
//! Most messages are about the current task. A sentence is kept if it contradicts the agent or
//! holds in general, names its subject, and is understandable without earlier messages. Of a
//! message without such a sentence, the model of [`super::lesson_score`] decides whether it teaches
//! something.

use ken_core::values::text::Statement;

use super::command::{is_family, parse_command_line};
use super::extraction::{ExtractedClaim, ExtractionKind};
use super::lesson_score::LessonModel;
use crate::modality::{Modality, normalize_words};
use crate::sentence::split_sentences;
use crate::source::SourceKind;
use crate::topic;
use crate::words::{
    PROGRAMS, REPOSITORY_NOUNS, contains_phrase, is_listed, split_phrases, starts_with_phrase,
};

/// Maximum number of words of a correction; a longer message is a task.
const TURN_WORDS_MAX: usize = 80;

/// Maximum number of inspected sentences per message.
const SENTENCES_MAX: usize = 4;

/// Number of words of a rule.
const RULE_WORDS: std::ops::RangeInclusive<usize> = 2..=30;

/// Openings that contradict the agent.
const CONTRADICTING: &str = "no, nope, nah, wait, stop, actually, wrong, not quite";

/// Openings that announce a lasting rule.
const LASTING_OPENINGS: &str = "from now on, in the future, in future, next time, going forward, remember, remember that, remember to, note, for the record, in general, as a rule";

/// Openings without meaning.
const FILLER_OPENINGS: &str = "please, ok, okay, hey, hmm, sorry, btw, also, and, so, but, oh, just, well, again, fyi, then, yes, sure, thanks, listen";

/// Words that generalize a sentence to a rule.
const GENERAL: &str = "always, never, every, everywhere, any, all, must, prefer, whenever, unless, only, we, our, project, repo, repository, codebase, monorepo, convention, rather than, instead of";

/// Words that refer to earlier messages or to the speaker.
const DEPENDENT_WORDS: &str = "it, its, that, those, these, them, they, he, she, here, there, above, below, again, yet, now, today, tomorrow, tonight, still, anymore, same, \
    i, i'm, i'll, i'd, i've, me, my, mine, you, you're, you'll, you've, your, yours, first, second, next, other, last, previous, one, ones, both, for now, so far, \
    too, either, wrong, right, line, button, screenshot, currently";

/// Verbs of instructions for the current task.
const TASK_VERBS: &str = "fix, revert, undo, commit, push, continue, proceed, go, try, retry, run, rerun, look, check, show, tell, explain, add, remove, delete, \
    write, create, update, change, rename, make, let's, let, move, open, read, stop, wait, touch, worry, forget, bother, do, ask, merge, start, finish, give, put, implement, \
    rewrite, refactor, keep, leave, skip, think, assume, guess, need, want, see, get, set, modify, edit, restart, mind";

/// Phrases that generalize even such an instruction.
const BINDING: &str = "directly, without, before, after, to main, to master, by hand, ever, unless";

/// A claim of one message.
pub(super) struct MessageClaim {
    pub(super) claim: ExtractedClaim,
    /// True if a sentence states a rule; otherwise the model found that the message teaches.
    pub(super) is_rule: bool,
}

/// Returns the programs of a command.
pub(super) fn programs_of(line: &str, folder: Option<&str>) -> Vec<String> {
    let simples = parse_command_line(line, folder).map(|it| it.simples);
    let simples = simples.unwrap_or_default();
    simples.iter().map(|it| it.program().to_owned()).collect()
}

/// Returns the sentences of a message, without the marks of lists.
pub(super) fn message_sentences(text: &str) -> Vec<&str> {
    let lines = text
        .lines()
        .map(|it| it.trim().trim_start_matches(['-', '*', '•', '#']).trim());
    lines.flat_map(split_sentences).collect()
}

/// Returns the claims of a message. `programs` are those of the agent's last command, to which the
/// person reacts.
pub(super) fn claims_from_message(
    text: &str,
    programs: &[String],
    line: usize,
) -> Vec<MessageClaim> {
    let is_long = text.split_whitespace().count() > TURN_WORDS_MAX;
    // Code and links come with pasted material, not with corrections.
    if is_long || text.contains("```") || text.contains("://") {
        return Vec::new();
    }
    let all = message_sentences(text);
    let mut found = Vec::new();
    let (mut turns, mut lasts) = (false, false);
    for sentence in all.iter().take(SENTENCES_MAX) {
        let (body, turned, lasting) = strip_openings(sentence);
        turns |= turned;
        lasts |= lasting;
        if body.is_empty() {
            continue;
        }
        if let Some(rule) = parse_rule(body, turns, lasts) {
            let claim = correction_claim(&rule, programs, line);
            found.push(MessageClaim {
                claim,
                is_rule: true,
            });
        }
        // A bare "no" applies to the next sentence, but not further.
        turns = turned && body.split_whitespace().count() <= 3;
        lasts = false;
    }
    if found.is_empty() {
        found.extend(stated_lesson(text, &all).map(|lesson| MessageClaim {
            claim: correction_claim(&lesson, &[], line),
            is_rule: false,
        }));
    }
    found
}

/// Returns the sentences of a message that state a lesson, if the model finds that it teaches one.
fn stated_lesson(text: &str, sentences: &[&str]) -> Option<String> {
    let model = LessonModel::built_in();
    if model.score_message(text) < model.threshold {
        return None;
    }
    let stated = sentences.iter().filter(|it| !it.ends_with('?'));
    let mut scored: Vec<(usize, &str, f64)> = stated
        .enumerate()
        .map(|(place, it)| (place, strip_openings(it).0, model.score_sentence(it)))
        .filter(|(_, body, _)| body.split_whitespace().count() >= *RULE_WORDS.start())
        .collect();
    // Requests around the lesson ("can you take those out") are left out, and the rest fits into
    // one statement.
    scored.sort_by(|a, b| b.2.total_cmp(&a.2));
    let best = scored.first()?.2;
    scored.retain(|(_, _, score)| *score >= best.min(0.0));
    scored.truncate(Statement::SENTENCES_MAX);
    scored.sort_by_key(|(place, _, _)| *place);
    let parts = scored
        .iter()
        .map(|(_, body, _)| body.trim_end_matches(['.', '!', ' ', ',']));
    let lesson = parts.map(capitalize).collect::<Vec<_>>().join(". ");
    (!lesson.is_empty()).then_some(lesson)
}

/// Returns a text with an uppercase first letter.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.as_str().chars()).collect()
}

/// Strips the openings of a sentence. Returns whether they contradict and whether they announce a
/// lasting rule.
fn strip_openings(sentence: &str) -> (&str, bool, bool) {
    let (mut rest, mut turns, mut lasts) = (sentence.trim(), false, false);
    loop {
        let low = rest.to_lowercase();
        let cut = |list: &str| {
            let mut fitting: Vec<&str> = split_phrases(list)
                .filter(|it| {
                    let behind = low.strip_prefix(it);
                    behind.is_some_and(|behind| {
                        !behind.starts_with(|c: char| c.is_alphanumeric() || c == '\'')
                    })
                })
                .collect();
            // The longest match: "remember that" before "remember".
            fitting.sort_by_key(|it| it.len());
            fitting.pop().map(str::len)
        };
        let (length, turning, lasting) = match (
            cut(CONTRADICTING),
            cut(LASTING_OPENINGS),
            cut(FILLER_OPENINGS),
        ) {
            (Some(length), _, _) => (length, true, false),
            (None, Some(length), _) => (length, false, true),
            (None, None, Some(length)) => (length, false, false),
            (None, None, None) => return (rest, turns, lasts),
        };
        // "No tests" forbids tests; "No, tests …" does not.
        let behind = &rest[length..];
        let is_word = turning && behind.starts_with(' ') && low.starts_with("no ");
        if is_word && !starts_new_sentence(behind) || rest.get(..length).is_none() {
            return (rest, turns, lasts);
        }
        turns |= turning;
        lasts |= lasting;
        rest = behind.trim_start_matches([',', '.', '!', ':', ';', '-', '—', '–', ' ']);
    }
}

/// Returns whether the text after a bare "no" is a sentence of its own.
fn starts_new_sentence(behind: &str) -> bool {
    starts_with_phrase(
        &normalize_words(behind),
        "use, don't, do not, we, never, always, please, it's, run, prefer, avoid",
    )
}

/// Returns the sentence as a rule, if it is one.
fn parse_rule(body: &str, turns: bool, lasts: bool) -> Option<String> {
    let body = body.trim_end_matches(['.', '!', ' ']);
    let normalized = normalize_words(body);
    let words: Vec<&str> = normalized.split_whitespace().collect();
    if !RULE_WORDS.contains(&words.len()) || body.ends_with(['?', ':', ',']) || body.contains('?') {
        return None;
    }
    let leans = words.iter().enumerate().any(|(at, word)| {
        let here = *word == "this"
            && !words
                .get(at + 1)
                .is_some_and(|next| is_listed(next, REPOSITORY_NOUNS));
        here || is_listed(word, DEPENDENT_WORDS)
    }) || contains_phrase(&normalized, DEPENDENT_WORDS);
    if leans {
        return None;
    }
    // "In this repo we …" counts like "We …".
    let at_home = normalized
        .strip_prefix(" in ")
        .and_then(|rest| rest.split_once(" we "));
    let at_home = at_home.filter(|(place, _)| place.split_whitespace().count() <= 3);
    let body_words = at_home.map_or_else(|| normalized.clone(), |(_, rest)| format!(" we {rest}"));
    let ours = starts_with_phrase(
        &body_words,
        "we use, we don't, we do not, we never, we always, we only, we keep, we put, we write, we prefer, we avoid, our",
    );
    let against = starts_with_phrase(&normalized, "don't, do not, never, avoid, always, prefer");
    let chooses = starts_with_phrase(
        &normalized,
        "use, don't use, do not use, never use, always use, we use, we don't use, prefer",
    );
    let contrast = contains_phrase(&normalized, "instead of, rather than, not");
    let names = names_something(body);
    let general = lasts || contains_phrase(&normalized, GENERAL);
    let is_marked = turns || lasts || ours || against || chooses && contrast;
    if !is_marked || !(Modality::of(body).asks() || ours) {
        return None;
    }
    let verb = words
        .iter()
        .find(|it| !is_listed(it, "don't, do, not, never, always, please"));
    let momentary = verb.is_some_and(|it| is_listed(it, TASK_VERBS));
    // "Commit it" is for now; "never commit directly to main" is a rule despite its verb.
    let holds = if momentary {
        general && !starts_with_phrase(&normalized, "we, our") && words.len() >= 4
            || against && contains_phrase(&normalized, BINDING) && words.len() >= 4
    } else {
        general || chooses && names
    };
    holds.then(|| body.to_owned())
}

/// Returns whether a sentence names a program or a symbol.
fn names_something(body: &str) -> bool {
    body.split_whitespace().any(|word| {
        let word = word.trim_matches([',', '.', ';', ':', '(', ')', '"', '\'']);
        let inner = word.chars().collect::<Vec<_>>();
        let coded =
            word.contains('`') || word.contains("::") || word.contains('_') || word.contains('/');
        let dotted = inner
            .windows(3)
            .any(|it| it[0].is_alphanumeric() && it[1] == '.' && it[2].is_alphanumeric());
        let camel = inner
            .windows(2)
            .any(|it| it[0].is_lowercase() && it[1].is_uppercase());
        coded
            || dotted
            || camel
            || is_listed(&word.to_lowercase(), PROGRAMS)
            || is_listed(&word.to_lowercase(), TOOLS)
    })
}

/// Names of tools people choose between that are not in [`PROGRAMS`].
const TOOLS: &str = "\
    vitest, jest, mocha, playwright, cypress, eslint, biome, prettier, black, isort, tabs, spaces, tailwind, postgres, sqlite, mysql, redis, zod, react, vue, svelte, \
    axios, fetch, lodash, nextest, clippy, tokio, anyhow, thiserror, serde, sqlx, rspec, minitest, typescript, javascript, graphql, rest, kubectl, helm, terraform, \
    esbuild, webpack, vite, rollup, unittest, conda, pipenv, gofmt, testify, kotlin, junit, maven, tsx";

fn correction_claim(rule: &str, programs: &[String], line: usize) -> ExtractedClaim {
    let mut text = rule.to_owned();
    let normalized = normalize_words(rule);
    // "Use pnpm" is clearer with the program the agent had used.
    let named = normalized
        .split_whitespace()
        .find_map(|word| programs.iter().find(|it| is_family(word, it)));
    if let Some(instead) = named
        && starts_with_phrase(&normalized, "use, always use, we use")
        && !contains_phrase(&normalized, instead)
        && !contains_phrase(&normalized, "not, instead of, rather than")
    {
        text = format!("{text}, not {instead}");
    }
    let text = format!("{}.", capitalize(&text));
    let modality = Modality::of(&text);
    ExtractedClaim {
        found: ExtractionKind::Correction,
        kind: topic::classify_kind(SourceKind::Instructions, modality, &text, &[]),
        tags: topic::assign_tags(&text, &[]),
        paths: Vec::new(),
        verify: Vec::new(),
        exchange: None,
        amends: false,
        first_line: line,
        line,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str, program: &str) -> Vec<String> {
        let found = claims_from_message(text, &[program.to_owned()], 1);
        found.into_iter().map(|it| it.claim.text).collect()
    }

    #[test]
    fn what_people_correct_is_kept_in_a_sentence_of_its_own() {
        for (message, program, expected) in [
            ("no, use pnpm", "npm", "Use pnpm, not npm."),
            ("No. Use pnpm.", "npm", "Use pnpm, not npm."),
            ("no use pnpm not npm", "npm", "Use pnpm not npm."),
            (
                "Don't edit generated files by hand",
                "",
                "Don't edit generated files by hand.",
            ),
            (
                "never commit directly to main",
                "git",
                "Never commit directly to main.",
            ),
            (
                "Actually, we use vitest for unit tests",
                "",
                "We use vitest for unit tests.",
            ),
            (
                "always run `make gen` after changing a proto file",
                "",
                "Always run `make gen` after changing a proto file.",
            ),
            (
                "From now on, write commit messages in the imperative",
                "",
                "Write commit messages in the imperative.",
            ),
            (
                "In this repo we never mock the database!",
                "",
                "In this repo we never mock the database.",
            ),
        ] {
            assert_eq!(rules(message, program), [expected], "{message}");
        }
    }

    #[test]
    fn what_people_say_about_the_task_is_left() {
        for message in [
            "no",
            "No, that's wrong",
            "no, don't do that",
            "don't commit yet",
            "Actually, can you also add a test?",
            "stop",
            "Use the other helper",
            "no, revert that",
            "don't change the tests",
            "fix the failing test",
            "Add a login page with a form",
            "don't worry about it",
            "always the same problem, hm",
            "wait, why did you use npm?",
            "No tests are failing for me",
            "I never said to use jest",
            "use the existing function for this",
            "actually it works now, thanks",
            "no, the button should be blue",
            "Run the tests again",
            "continue",
            "never mind",
            "we are almost there",
            "we should talk about it",
            "no, make the header smaller",
            "actually let's go with the second option",
            "don't forget to push",
        ] {
            assert_eq!(rules(message, "npm"), [""; 0], "{message}");
        }
    }

    #[test]
    fn rules_get_the_kind_documents_give_them() {
        let kind = |text| claims_from_message(text, &[], 1)[0].claim.kind;
        use ken_core::values::kind::EntryKind;
        assert_eq!(
            kind("never use tabs in this project"),
            EntryKind::Convention
        );
        assert_eq!(
            kind("from now on, commit messages must be in the imperative"),
            EntryKind::CommitNorm
        );
        assert_eq!(
            kind("always run `make lint` before committing"),
            EntryKind::UserExpectation
        );
    }
}
