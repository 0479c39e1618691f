//! How often a knowledge base of some size answers, and how often with the right lesson.
//!
//! The best of many unrelated lessons is nearer to a query than the best of few, so a floor must be
//! measured at several sizes. Questions are the first words of the prose queries: as short as what
//! people type, and by another author than the lesson.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_engine::search::RelevanceFloor;
use ken_index::{Backend, Embedder};

use super::Library;
use super::data::{Asked, Lesson, Set, Split, proposals};

/// Sizes that are measured beside the whole set.
const SIZES: [usize; 5] = [10, 30, 100, 300, 1_000];

/// Lessons that are asked for, over all draws of a size.
const ASKED_MIN: usize = 400;

/// Draws of a size at most.
const DRAWS_MAX: usize = 30;

/// Words of a question.
const QUESTION_WORDS: usize = 10;

/// Answers that are looked at.
const PASSING_MAX: usize = 50;

/// What was asked of the libraries of one size, by floor.
#[derive(Default)]
struct Tally {
    questions: usize,
    right: usize,
    unrelated: usize,
    answered_unrelated: usize,
}

/// Prints the shares for every size and floor, with the built-in model.
pub(super) fn report(dir: &Path, split: Split) -> Result<(), String> {
    let set = Set::load(dir)?;
    let model = Backend::Static.built_in();
    let unrelated: Vec<&Asked> = match split {
        Split::Dev => set.strangers.iter().step_by(2).collect(),
        Split::Test => set.strangers.iter().skip(1).step_by(2).collect(),
    };
    let asked = set.prose.iter().filter(|it| it.split == Some(split));
    let questions: Vec<Asked> = asked.map(question).collect();
    // Lessons that a question of this split asks for come first in a draw, the rest fills it up.
    let wanted: BTreeSet<&String> = questions.iter().flat_map(|it| &it.relevant).collect();
    println!("| entries | floor | right lesson found | unrelated answered |\n|---|---|---|---|");
    for size in SIZES.into_iter().chain([set.lessons.len()]) {
        let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
        let mut draw = 0;
        while draw < DRAWS_MAX && tallies.values().all(|it| it.questions < ASKED_MIN) {
            let lessons = drawn(&set.lessons, &wanted, size, draw);
            let held: BTreeSet<&String> = lessons.iter().map(|it| &it.id).collect();
            let here = questions.iter();
            let here = here.filter(|it| it.relevant.iter().any(|id| held.contains(id)));
            let here: Vec<&Asked> = here.collect();
            let mut library = Library::filled(proposals(&lessons)?)?;
            library.prepare(model.as_deref())?;
            // Each draw asks another part of the unrelated questions.
            let others: Vec<&Asked> = if size < set.lessons.len() {
                unrelated
                    .iter()
                    .skip(draw % 5)
                    .step_by(5)
                    .copied()
                    .collect()
            } else {
                unrelated.clone()
            };
            for (name, floor) in [
                ("relevant", RelevanceFloor::Relevant),
                ("strict", RelevanceFloor::Strict),
            ] {
                let tally = tallies.entry(name).or_default();
                tally.add(&library, (&here, &others), model.as_deref(), floor)?;
            }
            draw += 1;
        }
        for (name, it) in &tallies {
            let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
            println!(
                "| {size} | {name} | {:.1} % of {} | {:.2} % of {} |",
                share(it.right, it.questions),
                it.questions,
                share(it.answered_unrelated, it.unrelated),
                it.unrelated
            );
        }
    }
    Ok(())
}

impl Tally {
    fn add(
        &mut self,
        library: &Library,
        (questions, unrelated): (&[&Asked], &[&Asked]),
        embedder: Option<&dyn Embedder>,
        floor: RelevanceFloor,
    ) -> Result<(), String> {
        for asked in questions {
            let found = library.passing(asked, embedder, floor, PASSING_MAX)?;
            self.right += usize::from(found.iter().any(|it| asked.relevant.contains(*it)));
        }
        for asked in unrelated {
            self.answered_unrelated += usize::from(library.answers(asked, embedder, floor)?);
        }
        self.questions += questions.len();
        self.unrelated += unrelated.len();
        Ok(())
    }
}

/// Returns the first words of the first sentence of a query.
fn question(asked: &Asked) -> Asked {
    let sentence = asked.text.split_inclusive(". ").next().unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().take(QUESTION_WORDS).collect();
    Asked {
        text: words.join(" "),
        relevant: asked.relevant.clone(),
        split: asked.split,
        overlap: asked.overlap,
    }
}

/// Returns `size` lessons by a hash of their name and the draw, half of them `wanted` if possible.
fn drawn(all: &[Lesson], wanted: &BTreeSet<&String>, size: usize, draw: usize) -> Vec<Lesson> {
    let key =
        |lesson: &&Lesson| *blake3::hash(format!("{draw} {}", lesson.id).as_bytes()).as_bytes();
    let (mut asked, mut rest): (Vec<&Lesson>, Vec<&Lesson>) =
        all.iter().partition(|it| wanted.contains(&it.id));
    asked.sort_by_key(key);
    rest.sort_by_key(key);
    let others = asked.split_off(asked.len().min(size / 2));
    let chosen = asked.into_iter().chain(rest).chain(others).take(size);
    chosen
        .map(|it| Lesson {
            id: it.id.clone(),
            statement: it.statement.clone(),
        })
        .collect()
}
