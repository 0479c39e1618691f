//! What people told the agent about how things are done: "no, use pnpm", "never edit generated files".
//!
//! Most of what people say is about the task at hand. Kept is only what is said after the agent did something, turns it
//! around or holds in general, names what it is about, and can be understood without what was said before.

use super::command::{is_family, parse};
use super::moments::{MOMENTS_MAX, Moment, MomentKind};
use super::{Deed, Transcript, What};
use crate::modality::{Modality, spoken};
use crate::sentence::sentences;
use crate::source::SourceKind;
use crate::topic;
use crate::words::{HERE, PROGRAMS, each, has, is_one, starts};

/// Words of a turn beyond which it is a task and not a correction.
const TURN_WORDS_MAX: usize = 80;

/// Sentences of a turn that are looked at.
const SENTENCES_MAX: usize = 4;

/// Words a rule may have.
const RULE_WORDS: std::ops::RangeInclusive<usize> = 2..=30;

/// Beginnings that turn around what the agent did.
const TURNING: &str = "no, nope, nah, wait, stop, actually, wrong, not quite";

/// Beginnings that say that what follows holds from here on.
const LASTING: &str = "from now on, in the future, in future, next time, going forward, remember, remember that, remember to, note, for the record, in general, as a rule";

/// Beginnings that say nothing.
const FILLING: &str = "please, ok, okay, hey, hmm, sorry, btw, also, and, so, but, oh, just, well, again, fyi, then, yes, sure, thanks, listen";

/// Words that make a rule of a sentence.
const GENERAL: &str = "always, never, every, everywhere, any, all, must, prefer, whenever, unless, only, we, our, project, repo, repository, codebase, monorepo, convention, rather than, instead of";

/// Words for what was said or done before, or for whoever speaks.
const LEANING: &str = "it, its, that, those, these, them, they, he, she, here, there, above, below, again, yet, now, today, tomorrow, tonight, still, anymore, same, \
    i, i'm, i'll, i'd, i've, me, my, mine, you, you're, you'll, you've, your, yours, first, second, next, other, last, previous, one, ones, both, for now, so far, \
    too, either, wrong, right, line, button, screenshot, currently";

/// Words an instruction for the moment begins with.
const MOMENTARY: &str = "fix, revert, undo, commit, push, continue, proceed, go, try, retry, run, rerun, look, check, show, tell, explain, add, remove, delete, \
    write, create, update, change, rename, make, let's, let, move, open, read, stop, wait, touch, worry, forget, bother, do, ask, merge, start, finish, give, put, implement, \
    rewrite, refactor, keep, leave, skip, think, assume, guess, need, want, see, get, set, modify, edit, restart, mind";

/// Phrases that let even such an instruction hold in general.
const BINDING: &str = "directly, without, before, after, to main, to master, by hand, ever, unless";

/// Returns what people corrected.
pub(super) fn corrections(transcript: &Transcript) -> Vec<Moment> {
    let mut found: Vec<Moment> = Vec::new();
    let mut acted = false;
    let mut programs: Vec<String> = Vec::new();
    for turn in &transcript.turns {
        match &turn.what {
            What::Told(_) => acted = true,
            What::Did(action) => {
                acted = true;
                if let Deed::Command(line) = &action.deed {
                    let parsed = parse(line, transcript.folder.as_deref());
                    let simples = parsed.map(|it| it.simples).unwrap_or_default();
                    programs = simples.iter().map(|it| it.program().to_owned()).collect();
                }
            }
            What::Asked(text) if acted && found.len() < MOMENTS_MAX => {
                for moment in of_turn(text, &programs, turn.line) {
                    if !found.iter().any(|it| it.text == moment.text) {
                        found.push(moment);
                    }
                }
            }
            What::Asked(_) => {}
        }
    }
    found
}

fn of_turn(text: &str, programs: &[String], line: usize) -> Vec<Moment> {
    let is_long = TURN_WORDS_MAX < text.split_whitespace().count();
    if is_long || text.contains("```") || text.contains("://") {
        return Vec::new();
    }
    let lines = text
        .lines()
        .map(|it| it.trim().trim_start_matches(['-', '*', '•']).trim());
    let all: Vec<&str> = lines.flat_map(sentences).collect();
    let mut found = Vec::new();
    let (mut turns, mut lasts) = (false, false);
    for sentence in all.into_iter().take(SENTENCES_MAX) {
        let (body, turned, lasting) = opened(sentence);
        turns |= turned;
        lasts |= lasting;
        if body.is_empty() {
            continue;
        }
        if let Some(rule) = rule(body, turns, lasts) {
            found.push(moment(&rule, programs, line));
        }
        // What somebody objected to is told in the sentence behind it, and not further on.
        turns = turned && body.split_whitespace().count() <= 3;
        lasts = false;
    }
    found
}

/// Returns a sentence without what it opens with, whether that turns something around, and whether it is to last.
fn opened(sentence: &str) -> (&str, bool, bool) {
    let (mut rest, mut turns, mut lasts) = (sentence.trim(), false, false);
    loop {
        let low = rest.to_lowercase();
        let cut = |list: &str| {
            let mut fitting: Vec<&str> = each(list)
                .filter(|it| {
                    let behind = low.strip_prefix(it);
                    behind.is_some_and(|behind| {
                        !behind.starts_with(|c: char| c.is_alphanumeric() || c == '\'')
                    })
                })
                .collect();
            fitting.sort_by_key(|it| it.len());
            fitting.pop().map(str::len)
        };
        let (length, turning, lasting) = match (cut(TURNING), cut(LASTING), cut(FILLING)) {
            (Some(length), _, _) => (length, true, false),
            (None, Some(length), _) => (length, false, true),
            (None, None, Some(length)) => (length, false, false),
            (None, None, None) => return (rest, turns, lasts),
        };
        // "No tests" forbids tests; "No, tests …" does not.
        let behind = &rest[length..];
        let is_word = turning && behind.starts_with(' ') && low.starts_with("no ");
        if is_word && !begins_anew(behind) || rest.get(..length).is_none() {
            return (rest, turns, lasts);
        }
        turns |= turning;
        lasts |= lasting;
        rest = behind.trim_start_matches([',', '.', '!', ':', ';', '-', '—', '–', ' ']);
    }
}

/// Returns whether what stands behind a bare "no" is a sentence of its own.
fn begins_anew(behind: &str) -> bool {
    starts(
        &spoken(behind),
        "use, don't, do not, we, never, always, please, it's, run, prefer, avoid",
    )
}

/// Returns the sentence as a rule, if it is one.
fn rule(body: &str, turns: bool, lasts: bool) -> Option<String> {
    let body = body.trim_end_matches(['.', '!', ' ']);
    let told = spoken(body);
    let words: Vec<&str> = told.split_whitespace().collect();
    if !RULE_WORDS.contains(&words.len()) || body.ends_with(['?', ':', ',']) || body.contains('?') {
        return None;
    }
    let leans = words.iter().enumerate().any(|(at, word)| {
        let here = *word == "this" && !words.get(at + 1).is_some_and(|next| is_one(next, HERE));
        here || is_one(word, LEANING)
    }) || has(&told, LEANING);
    if leans {
        return None;
    }
    // "In this repo we …"
    let at_home = told
        .strip_prefix(" in ")
        .and_then(|rest| rest.split_once(" we "));
    let at_home = at_home.filter(|(place, _)| place.split_whitespace().count() <= 3);
    let body_told = at_home.map_or_else(|| told.clone(), |(_, rest)| format!(" we {rest}"));
    let ours = starts(
        &body_told,
        "we use, we don't, we do not, we never, we always, we only, we keep, we put, we write, we prefer, we avoid, our",
    );
    let against = starts(&told, "don't, do not, never, avoid, always, prefer");
    let chooses = starts(
        &told,
        "use, don't use, do not use, never use, always use, we use, we don't use, prefer",
    );
    let contrast = has(&told, "instead of, rather than, not");
    let names = names_something(body);
    let general = lasts || has(&told, GENERAL);
    let is_marked = turns || lasts || ours || against || chooses && contrast;
    if !is_marked || !(Modality::of(body).asks() || ours) {
        return None;
    }
    let verb = words
        .iter()
        .find(|it| !is_one(it, "don't, do, not, never, always, please"));
    let momentary = verb.is_some_and(|it| is_one(it, MOMENTARY));
    let holds = match momentary {
        true => {
            general && !starts(&told, "we, our") && 4 <= words.len()
                || against && has(&told, BINDING) && 4 <= words.len()
        }
        false => general || chooses && names,
    };
    holds.then(|| body.to_owned())
}

/// Returns whether a sentence names a program or something in code.
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
            || is_one(&word.to_lowercase(), PROGRAMS)
            || is_one(&word.to_lowercase(), TOOLS)
    })
}

/// Names of tools people choose between that are no programs of [`PROGRAMS`].
const TOOLS: &str = "\
    vitest, jest, mocha, playwright, cypress, eslint, biome, prettier, black, isort, tabs, spaces, tailwind, postgres, sqlite, mysql, redis, zod, react, vue, svelte, \
    axios, fetch, lodash, nextest, clippy, tokio, anyhow, thiserror, serde, sqlx, rspec, minitest, typescript, javascript, graphql, rest, kubectl, helm, terraform, \
    esbuild, webpack, vite, rollup, unittest, conda, pipenv, gofmt, testify, kotlin, junit, maven, tsx";

fn moment(rule: &str, programs: &[String], line: usize) -> Moment {
    let mut text = rule.to_owned();
    let told = spoken(rule);
    // "Use pnpm" says more beside what it was said against.
    let named = told
        .split_whitespace()
        .find_map(|word| programs.iter().find(|it| is_family(word, it)));
    if let Some(instead) = named
        && starts(&told, "use, always use, we use")
        && !has(&told, instead)
        && !has(&told, "not, instead of, rather than")
    {
        text = format!("{text}, not {instead}");
    }
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let text = format!("{first}{}.", letters.as_str());
    let modality = Modality::of(&text);
    Moment {
        found: MomentKind::Correction,
        kind: topic::kind(SourceKind::Instructions, modality, &text, &[]),
        tags: topic::tags(&text, &[]),
        paths: Vec::new(),
        verify: Vec::new(),
        line,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str, program: &str) -> Vec<String> {
        let found = of_turn(text, &[program.to_owned()], 1);
        found.into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn what_people_correct_is_kept_in_a_sentence_of_its_own() {
        for (said, program, expected) in [
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
            assert_eq!(rules(said, program), [expected], "{said}");
        }
    }

    #[test]
    fn what_people_say_about_the_task_is_left() {
        for said in [
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
            assert_eq!(rules(said, "npm"), [""; 0], "{said}");
        }
    }

    #[test]
    fn rules_get_the_kind_documents_give_them() {
        let kind = |text| of_turn(text, &[], 1)[0].kind;
        use ken_core::kind::Kind;
        assert_eq!(kind("never use tabs in this project"), Kind::Convention);
        assert_eq!(
            kind("from now on, commit messages must be in the imperative"),
            Kind::CommitNorm
        );
        assert_eq!(
            kind("always run `make lint` before committing"),
            Kind::UserExpectation
        );
    }
}
