//! Whether a rewording is compared at all: candidates in a store of thousands, without comparing
//! all with all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_core::trust::similarity::{
    MergeDecision, ModelCosine, SimilarityCalibration, SimilaritySignals, StatementSet,
    StatementSketch, TokenizedStatement, compare_statements,
};
use ken_index::Embedder;

use super::super::data::{Lesson, Split, lines};
use super::{Row, percent, rows};

/// Numbers of most similar pairs for which the share of candidates is printed.
const RANKS: [usize; 4] = [20, 100, 1_000, 10_000];

/// Prints how many rewordings of a split are candidates in a store of every lesson and every
/// rewording.
pub(super) fn report(dir: &Path, split: Split, model: &dyn Embedder) -> Result<(), String> {
    let mut texts: Vec<String> = lines::<Lesson>(&dir.join("entries.jsonl"))?
        .into_iter()
        .map(|lesson| lesson.statement)
        .collect();
    let rows = rows(dir)?;
    let of_split = |row: &&Row| row.split == split && row.kind == "positive";
    let rewordings: Vec<&Row> = rows.iter().filter(of_split).collect();
    texts.extend(
        rewordings
            .iter()
            .flat_map(|it| [it.a.clone(), it.b.clone()]),
    );
    texts.sort();
    texts.dedup();
    let place: BTreeMap<&str, usize> = texts
        .iter()
        .enumerate()
        .map(|(at, it)| (it.as_str(), at))
        .collect();
    let claims: Vec<TokenizedStatement> = texts
        .iter()
        .map(|text| TokenizedStatement::parse(text))
        .collect();
    let said: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = model.embed(&said).map_err(|error| error.to_string())?;
    let cosine = |one: usize, other: usize| vectors[one].cosine(&vectors[other]);
    let sketches: Vec<StatementSketch> = claims.iter().map(|it| it.sketch().clone()).collect();
    let set = StatementSet {
        sketches: &sketches,
        near: Some((&model.model().id, &cosine)),
    };
    let began = std::time::Instant::now();
    let found: BTreeSet<(usize, usize)> = set.candidate_pairs().into_iter().collect();
    let took = began.elapsed();
    let wanted: BTreeSet<(usize, usize)> = rewordings
        .iter()
        .map(|row| (place[row.a.as_str()], place[row.b.as_str()]))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    let reached = wanted.intersection(&found).count();
    println!(
        "\ncandidates: {} pairs among {} texts in {took:.0?}; {reached} of {} rewordings, {}",
        found.len(),
        texts.len(),
        wanted.len(),
        percent(reached, wanted.len()),
    );
    let id = &model.model().id;
    let band = |(a, b): &(usize, usize)| {
        let cosine = cosine(*a, *b);
        let near = Some(ModelCosine { model: id, cosine });
        compare_statements(&claims[*a], &claims[*b], near).merging == MergeDecision::Undecided
    };
    let queue: BTreeSet<(usize, usize)> = found.iter().filter(|it| band(it)).copied().collect();
    let in_band = wanted.iter().filter(|it| band(it)).count();
    let both = wanted.intersection(&queue).count();
    println!(
        "queue: {} pairs; {both} of the {in_band} rewordings in the band are candidates, {}",
        queue.len(),
        percent(both, in_band),
    );
    report_recall(&set, &found);
    Ok(())
}

/// Prints how many of the most similar pairs of all with all are candidates.
fn report_recall(set: &StatementSet<'_>, found: &BTreeSet<(usize, usize)>) {
    let (model, cosine) = set.near.expect("opened with a model");
    let calibration = SimilarityCalibration::for_model(Some(model));
    let mut all = Vec::new();
    for (one, first) in set.sketches.iter().enumerate() {
        for (other, second) in set.sketches.iter().enumerate().skip(one + 1) {
            let near = Some(cosine(one, other));
            let signals = SimilaritySignals::from_sketches(first, second, near);
            all.push((calibration.score(&signals), (one, other)));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for count in RANKS.into_iter().filter(|it| *it <= all.len()) {
        let ranked = all[..count].iter();
        let reached = ranked.filter(|it| found.contains(&it.1)).count();
        println!(
            "the {count} most similar of {} pairs: {} are candidates",
            all.len(),
            percent(reached, count),
        );
    }
}
