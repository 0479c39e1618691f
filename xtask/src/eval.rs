//! How good the search is: `cargo xtask eval`, on lessons whose answers are known.
//!
//! The set lies outside the repository and is never copied into it. Measured is relevance alone, as
//! `Index::candidates` gives it; the six signals have nothing to say about lessons nobody has used.

#![expect(clippy::print_stdout, reason = "a table is its answer")]

mod data;
mod figures;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ken_core::id::EntryId;
use ken_core::store::{Delta, Filter, Store as _};
use ken_index::{Candidate, Embedder, Index, Least, Query, Rung};

use crate::repository::{Finding, Repository};
use data::{Asked, Set, Split};
use figures::{Mean, ndcg};

const USAGE: &str = "usage: cargo xtask eval [--dir DIR] [--split dev|test]";

/// Results that count.
const DEPTH: usize = 10;

/// Wording that shares less than this part with its answer counts as independent.
const OVERLAP_SMALL: f64 = 0.15;

/// A filled index, and which lesson each entry is.
struct Library {
    index: Index,
    lessons: BTreeMap<EntryId, String>,
}

/// What one query got.
struct Outcome {
    ndcg: f64,
    /// The best candidate's cosine and the best coverage: what silence is decided on.
    cosine: f64,
    coverage: f64,
}

pub(crate) fn run(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    let (dir, split) = parse(repository, options)?;
    let set = Set::load(&dir)?;
    let mut library = Library::filled(&set)?;
    println!("{} lessons, split {}", set.lessons.len(), split.name());
    for rung in [Rung::None, Rung::Static] {
        library.report(&set, split, rung)?;
    }
    Ok(Vec::new())
}

fn parse(repository: &Repository, options: &[&str]) -> Result<(PathBuf, Split), String> {
    let mut dir = repository.root().join("../shared/eval");
    let mut split = Split::Dev;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match (*option, options.next()) {
            ("--dir", Some(path)) => dir = PathBuf::from(path),
            ("--split", Some(name)) => split = Split::named(name).ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((dir, split))
}

impl Library {
    fn filled(set: &Set) -> Result<Self, String> {
        let events = set.proposals()?;
        let added: Vec<_> = events.iter().map(|(_, _, event)| event.clone()).collect();
        let mut index = Index::open_in_memory().map_err(|error| error.to_string())?;
        let delta = Delta {
            added: &added,
            ..Delta::default()
        };
        index.apply(delta).map_err(|error| error.to_string())?;
        let lessons = events.into_iter().map(|(entry, lesson, _)| (entry, lesson));
        Ok(Self {
            index,
            lessons: lessons.collect(),
        })
    }

    fn report(&mut self, set: &Set, split: Split, rung: Rung) -> Result<(), String> {
        let embedder = rung.built_in();
        let embedder = embedder.as_deref();
        self.index
            .prepare_search(embedder, &mut |_, _| {})
            .map_err(|error| error.to_string())?;
        println!("\n{}:", rung.name());
        let of = |asked: &&Asked| asked.split == Some(split);
        let prose: Vec<&Asked> = set.prose.iter().filter(of).collect();
        let code: Vec<&Asked> = set.code.iter().filter(of).collect();
        let apart = |asked: &&&Asked| asked.overlap.is_some_and(|it| it < OVERLAP_SMALL);
        let apart: Vec<&Asked> = prose.iter().filter(apart).copied().collect();
        for (name, asked) in [
            ("prose", &prose),
            ("prose, own words", &apart),
            ("code", &code),
        ] {
            let outcomes = self.outcomes(asked, embedder)?;
            let scores: Vec<f64> = outcomes.iter().map(|it| 100.0 * it.ndcg).collect();
            let mean = Mean::of(&scores);
            println!(
                "  {name:<18} nDCG@{DEPTH} {mean}  ({} queries)",
                asked.len()
            );
            silence(name, &outcomes);
        }
        let strangers: Vec<&Asked> = set.strangers.iter().collect();
        // Thresholds are chosen on the first half and tried on the second.
        let (chosen, tried) = strangers.split_at(strangers.len() / 2);
        silence("unrelated, 1st half", &self.outcomes(chosen, embedder)?);
        silence("unrelated, 2nd half", &self.outcomes(tried, embedder)?);
        Ok(())
    }

    fn outcomes(
        &self,
        asked: &[&Asked],
        embedder: Option<&dyn Embedder>,
    ) -> Result<Vec<Outcome>, String> {
        asked.iter().map(|it| self.outcome(it, embedder)).collect()
    }

    fn outcome(&self, asked: &Asked, embedder: Option<&dyn Embedder>) -> Result<Outcome, String> {
        let query = Query {
            text: &asked.text,
            filter: &Filter::default(),
            paths: &[],
            least: Least::NOTHING,
            embedder,
            limit: DEPTH,
        };
        let found = self
            .index
            .candidates(&query)
            .map_err(|error| error.to_string())?;
        let hits: Vec<bool> = found
            .iter()
            .map(|it| asked.relevant.contains(&self.lessons[&it.entry.id]))
            .collect();
        let most = |of: fn(&Candidate) -> f64| found.iter().map(of).fold(0.0, f64::max);
        Ok(Outcome {
            ndcg: ndcg(&hits, asked.relevant.len(), DEPTH),
            cosine: most(|it| it.cosine),
            coverage: most(|it| it.coverage),
        })
    }
}

/// Prints how many queries would be answered at which threshold.
fn silence(name: &str, outcomes: &[Outcome]) {
    let share = |passes: &dyn Fn(&Outcome) -> bool| {
        100.0 * outcomes.iter().filter(|it| passes(it)).count() as f64 / outcomes.len() as f64
    };
    let mut line = format!("  {name:<20} cosine");
    for least in [0.50, 0.55, 0.60, 0.65, 0.70, 0.75] {
        line += &format!(" {least:.2}:{:.0}%", share(&|it| least <= it.cosine));
    }
    line += "  coverage";
    for least in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8] {
        line += &format!(" {least:.1}:{:.0}%", share(&|it| least <= it.coverage));
    }
    println!("{line}");
}
