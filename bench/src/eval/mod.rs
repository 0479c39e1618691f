//! How good the search is: `cargo ken-bench eval`, on lessons whose answers are known.
//!
//! The set lies outside the repository and is never copied into it. Measured is relevance alone, as
//! `Index::candidates` gives it; what the six signals make of it is measured beside it (`signals`).

#![expect(clippy::print_stdout, reason = "a table is its answer")]

mod audit;
mod audit_history;
mod captured;
mod contradictions;
mod corrections;
mod data;
mod decisions;
mod duplicates;
mod figures;
mod guard;
mod locomo;
mod models;
mod opposites;
mod signals;
mod sizes;
mod unrecorded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ken_core::ledger::store::{DerivedStore as _, EntryFilter, EventDelta};
use ken_core::retrieval::code_names::CodeNames;
use ken_core::retrieval::ranking::{CosineThresholds, SumThresholds};
use ken_core::values::id::EntryId;
use ken_engine::search::RelevanceFloor;
use ken_index::{Backend, CandidateQuery, Embedder, Index, MatchThreshold, SearchCandidate};

use models::{Blended, transformer};

use data::{Asked, Set, Split, Told, proposals};
use figures::{Mean, ndcg};
use signals::{Draws, SCORED, SignalFigures, scored};
use xtask::repository::{Finding, Repository};

const USAGE: &str = "usage: cargo ken-bench eval [guard [--verbose] | duplicates [--calibrate | --candidates] | contradictions | corrections [--train | --verbose] | captured | decisions --data DIR --ken PATH | unrecorded [--data DIR] [--repositories DIR] [--grid] | audit [--repositories DIR] | sizes] [--dir DIR] [--split dev|test] [--model static|transformer]";

/// Shares of the model that are tried beside its own.
const BLENDS: &[f64] = &[0.5, 0.6, 0.7, 0.8];

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
    /// Whether Ken answers at the floors `relevant` and `strict`.
    answered: [bool; 2],
}

/// What is measured.
struct Plan {
    dir: PathBuf,
    split: Split,
    rung: Backend,
}

pub(crate) fn run(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    if let ["guard", options @ ..] = options {
        let dir = repository.root().join("../shared/security");
        return guard::report(&dir, options.contains(&"--verbose"));
    }
    if let ["corrections", options @ ..] = options {
        return corrections::report(repository, options);
    }
    if options == ["captured"] {
        return captured::report(repository);
    }
    if let ["unrecorded", options @ ..] = options {
        return unrecorded::run(repository, options);
    }
    if let ["decisions", options @ ..] = options {
        return decisions::run(options);
    }
    if let ["audit", options @ ..] = options {
        if let ["--repositories", dir] = options {
            let labels = repository.root().join("docs/audit-history-labels.tsv");
            return audit_history::report(Path::new(dir), &labels).map(|()| Vec::new());
        }
        let dir = match options {
            [] => repository.root().join("../audit-corpus"),
            ["--dir", dir] => PathBuf::from(dir),
            _ => return Err(USAGE.to_owned()),
        };
        let labels = repository.root().join("docs/audit-labels.tsv");
        return audit::report(&dir, &labels).map(|()| Vec::new());
    }
    if let ["contradictions", options @ ..] = options {
        return contradictions::report(&parse(repository, options)?.dir);
    }
    if let ["sizes", options @ ..] = options {
        let Plan { dir, split, .. } = parse(repository, options)?;
        return sizes::report(&dir, split).map(|()| Vec::new());
    }
    if let ["duplicates", options @ ..] = options {
        let (what, options) = match options {
            ["--calibrate", options @ ..] => (duplicates::What::Calibration, options),
            ["--candidates", options @ ..] => (duplicates::What::Candidates, options),
            options => (duplicates::What::Rules, options),
        };
        let Plan { dir, split, rung } = parse(repository, options)?;
        let model = match rung {
            Backend::Transformer => Some(transformer()?),
            Backend::Static | Backend::None | Backend::Http => rung.built_in(),
        };
        return duplicates::report(&dir, split, model.as_deref(), what).map(|()| Vec::new());
    }
    let Plan { dir, split, rung } = parse(repository, options)?;
    let set = Set::load(&dir)?;
    let configured = match rung {
        Backend::Transformer => Some(transformer()?),
        Backend::Static | Backend::None | Backend::Http => None,
    };
    let mut library = Library::filled(proposals(&set.lessons)?)?;
    println!("{} lessons, split {}", set.lessons.len(), split.name());
    for rung in [Backend::None, Backend::Static] {
        let model = rung.built_in();
        library.report(&set, split, (rung, model.as_deref()))?;
        conversations(&dir, split, model.as_deref())?;
    }
    if let Some(model) = configured {
        library.report(&set, split, (rung, Some(&*model)))?;
        conversations(&dir, split, Some(&*model))?;
        if split == Split::Dev {
            library.try_blends(&set, model)?;
        }
    }
    Ok(Vec::new())
}

/// Nothing is chosen by the conversations, so they are asked with the test split only.
fn conversations(dir: &Path, split: Split, embedder: Option<&dyn Embedder>) -> Result<(), String> {
    if split == Split::Test {
        println!(
            "  {:<18} {}",
            "conversations",
            locomo::report(dir, embedder)?
        );
    }
    Ok(())
}

fn parse(repository: &Repository, options: &[&str]) -> Result<Plan, String> {
    let mut dir = repository.root().join("../shared/eval");
    let (mut split, mut rung) = (Split::Dev, Backend::Static);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match (*option, options.next()) {
            ("--dir", Some(path)) => dir = PathBuf::from(path),
            ("--split", Some(name)) => split = Split::named(name).ok_or(USAGE)?,
            ("--model", Some(&"static")) => rung = Backend::Static,
            ("--model", Some(&"transformer")) => rung = Backend::Transformer,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(Plan { dir, split, rung })
}

impl Library {
    fn filled(events: Vec<Told>) -> Result<Self, String> {
        let added: Vec<_> = events.iter().map(|(_, _, event)| event.clone()).collect();
        let mut index = Index::open_in_memory().map_err(|error| error.to_string())?;
        let delta = EventDelta {
            added: &added,
            ..EventDelta::default()
        };
        index.apply(delta).map_err(|error| error.to_string())?;
        let lessons = events.into_iter().map(|(entry, lesson, _)| (entry, lesson));
        Ok(Self {
            index,
            lessons: lessons.collect(),
        })
    }

    fn report(
        &mut self,
        set: &Set,
        split: Split,
        (rung, embedder): (Backend, Option<&dyn Embedder>),
    ) -> Result<(), String> {
        self.prepare(embedder)?;
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
            for draws in Draws::ALL {
                let figures = self.scored(asked, embedder, draws)?;
                let mean = |of: fn(&SignalFigures) -> f64| {
                    let all: Vec<f64> = figures.iter().map(|it| 100.0 * of(it)).collect();
                    Mean::of(&all)
                };
                println!(
                    "    {:<18} nDCG@{DEPTH} {}  first {}  recall@5 {}",
                    draws.name(),
                    mean(|it| it.ndcg),
                    mean(|it| it.first),
                    mean(|it| it.recall)
                );
            }
            silence(name, &outcomes);
        }
        // Thresholds are chosen on the questions with even indexes and tried, once, on the others.
        let (first, name) = match split {
            Split::Dev => (0, "unrelated, even"),
            Split::Test => (1, "unrelated, odd"),
        };
        let half: Vec<&Asked> = set.strangers.iter().skip(first).step_by(2).collect();
        silence(name, &self.outcomes(&half, embedder)?);
        Ok(())
    }

    fn prepare(&mut self, embedder: Option<&dyn Embedder>) -> Result<(), String> {
        let prepared = self.index.prepare_search(embedder, &mut |_, _| {});
        prepared.map(drop).map_err(|error| error.to_string())
    }

    /// Prints what other shares of a model would give.
    fn try_blends(&self, set: &Set, model: Box<dyn Embedder>) -> Result<(), String> {
        let mut model = Blended::new(model);
        for blend in BLENDS {
            model.set(*blend);
            let mut line = format!("  share {blend:.1}:");
            for (name, asked) in [("prose", &set.prose), ("code", &set.code)] {
                let asked: Vec<&Asked> = asked
                    .iter()
                    .filter(|it| it.split == Some(Split::Dev))
                    .collect();
                let outcomes = self.outcomes(&asked, Some(&model))?;
                let scores: Vec<f64> = outcomes.iter().map(|it| 100.0 * it.ndcg).collect();
                line += &format!(" {name} {}", Mean::of(&scores));
            }
            println!("{line}");
        }
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
        let found = self.candidates(asked, embedder, DEPTH)?;
        let hits: Vec<bool> = found
            .iter()
            .map(|it| asked.relevant.contains(&self.lessons[&it.entry.id]))
            .collect();
        let most = |of: fn(&SearchCandidate) -> f64| found.iter().map(of).fold(0.0, f64::max);
        Ok(Outcome {
            ndcg: ndcg(&hits, asked.relevant.len(), DEPTH),
            cosine: most(|it| it.cosine),
            coverage: most(|it| it.coverage),
            answered: [
                self.answers(asked, embedder, RelevanceFloor::Relevant)?,
                self.answers(asked, embedder, RelevanceFloor::Strict)?,
            ],
        })
    }

    /// Returns whether a query gets an answer at `floor`, as `ken search` decides it.
    fn answers(
        &self,
        asked: &Asked,
        embedder: Option<&dyn Embedder>,
        floor: RelevanceFloor,
    ) -> Result<bool, String> {
        let passed = self.passing(asked, embedder, floor, 1)?;
        Ok(!passed.is_empty())
    }

    /// Returns the lessons that answer a query at `floor`, best first.
    fn passing(
        &self,
        asked: &Asked,
        embedder: Option<&dyn Embedder>,
        floor: RelevanceFloor,
        limit: usize,
    ) -> Result<Vec<&String>, String> {
        let entries = self.index.searchable_entries();
        let entries = entries.map_err(|error| error.to_string())?;
        let thresholds = embedder.map(|it| {
            let thresholds = it.model().thresholds;
            CosineThresholds {
                relevant: thresholds.relevant,
                strict: thresholds.strict,
                joint: thresholds.joint,
                sums: thresholds.sums.map(|it| SumThresholds {
                    relevant: it.relevant.for_entries(entries),
                    strict: it.strict,
                }),
            }
        });
        let query = CandidateQuery {
            text: &asked.text,
            filter: &EntryFilter::default(),
            paths: &[],
            names: &CodeNames::from_text(&asked.text),
            other_names: &[],
            least: floor.threshold(thresholds, &asked.text),
            or_nearest: false,
            embedder,
            limit,
        };
        let found = self.index.candidates(&query);
        let found = found.map_err(|error| error.to_string())?.candidates;
        Ok(found.iter().map(|it| &self.lessons[&it.entry.id]).collect())
    }

    /// Returns the names of what is found, best first.
    fn found(
        &self,
        asked: &Asked,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Vec<&String>, String> {
        let found = self.candidates(asked, embedder, DEPTH)?;
        Ok(found.iter().map(|it| &self.lessons[&it.entry.id]).collect())
    }

    /// Returns the figures of every query after the six signals ranked its candidates.
    fn scored(
        &self,
        asked: &[&Asked],
        embedder: Option<&dyn Embedder>,
        draws: Draws,
    ) -> Result<Vec<SignalFigures>, String> {
        let one = |asked: &&Asked| {
            let found = self.candidates(asked, embedder, SCORED)?;
            Ok(scored(&found, asked, &self.lessons, draws))
        };
        asked.iter().map(one).collect()
    }

    fn candidates(
        &self,
        asked: &Asked,
        embedder: Option<&dyn Embedder>,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, String> {
        let query = CandidateQuery {
            text: &asked.text,
            filter: &EntryFilter::default(),
            paths: &[],
            names: &CodeNames::default(),
            other_names: &[],
            least: MatchThreshold::NOTHING,
            or_nearest: false,
            embedder,
            limit,
        };
        let found = self.index.candidates(&query);
        found
            .map(|it| it.candidates)
            .map_err(|error| error.to_string())
    }
}

/// Prints how many queries would be answered at which threshold.
fn silence(name: &str, outcomes: &[Outcome]) {
    let share = |passes: &dyn Fn(&Outcome) -> bool| {
        100.0 * outcomes.iter().filter(|it| passes(it)).count() as f64 / outcomes.len() as f64
    };
    let mut line = format!("  {name:<20} cosine");
    for least in [0.36, 0.46, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75] {
        line += &format!(" {least:.2}:{:.0}%", share(&|it| least <= it.cosine));
    }
    line += "  coverage";
    for least in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8] {
        line += &format!(" {least:.1}:{:.0}%", share(&|it| least <= it.coverage));
    }
    println!("{line}");
    for (at, word) in ["relevant", "strict"].into_iter().enumerate() {
        let answered = share(&|it| it.answered[at]);
        println!("  {name:<20} answered at {word}: {answered:.1}%");
    }
}
