//! How well the same claim is recognized: `cargo ken-bench eval duplicates`.
//!
//! Positives are one lesson in the words of two tools, negatives their nearest neighbors, and
//! opposites are made by rule from either side of every positive (`opposites`).

mod calibrate;
mod reached;

use std::collections::BTreeMap;
use std::path::Path;

use ken_core::trust::similarity::{
    BATCH_COSINE, MERGE_COSINE, MergeDecision, ModelCosine, SimilarityVerdict, StatementComparison,
    TokenizedStatement, classify_similarity, compare_statements,
};
use ken_index::Embedder;
use serde::Deserialize;

use super::data::{Split, lines};
use super::opposites::{Manner, opposites};

/// Cosine that other knowledge stores take alone for a duplicate of a new claim.
const INLINE_COSINE: f64 = 0.92;

#[derive(Deserialize)]
struct Row {
    a: String,
    b: String,
    kind: String,
    split: Split,
}

/// What a pair is, and so what must be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Positive,
    /// Another lesson with nearly the same words.
    Nearest,
    /// Another lesson of the same group.
    SameGroup,
    /// A statement and the same words with another case, other punctuation, spaces and articles.
    Restated,
    /// A statement and its own opposite.
    OwnOpposite(Manner),
    /// A statement and the opposite of the same lesson in other words.
    Opposite(Manner),
}

/// A pair, ready to be judged.
struct Pair {
    kind: Kind,
    a: TokenizedStatement,
    b: TokenizedStatement,
    cosine: f64,
}

/// How often a rule said "the same", and how often it was asked.
type Counts = BTreeMap<Kind, (usize, usize)>;

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Rules,
    Calibration,
    Candidates,
}

/// Prints what each rule makes of the pairs of a split.
pub(super) fn report(
    dir: &Path,
    split: Split,
    model: Option<&dyn Embedder>,
    what: What,
) -> Result<(), String> {
    let model = model.ok_or("no model")?;
    let id = model.model().id.to_string();
    if what == What::Candidates {
        return reached::report(dir, split, model);
    }
    let pairs = pairs(dir, split, model)?;
    println!("{} pairs, split {}", pairs.len(), split.name());
    if what == What::Calibration {
        calibrate::print(&pairs);
        return Ok(());
    }
    let all = |pair: &Pair| -> StatementComparison {
        let cosine = pair.cosine;
        let near = Some(ModelCosine { model: &id, cosine });
        compare_statements(&pair.a, &pair.b, near)
    };
    let layer = |pair: &Pair, cosine: Option<f64>| classify_similarity(&pair.a, &pair.b, cosine);
    print("likeness, with cosine", &pairs, |it| {
        layer(it, Some(it.cosine)).is_match()
    });
    print("likeness, without", &pairs, |it| layer(it, None).is_match());
    print("same or reworded", &pairs, |it| {
        matches!(
            layer(it, None),
            SimilarityVerdict::Same | SimilarityVerdict::Reworded
        )
    });
    print("merged unasked", &pairs, |it| {
        all(it).merging == MergeDecision::Merge
    });
    print("in the band", &pairs, |it| {
        all(it).merging == MergeDecision::Undecided
    });
    print("in the band, without a model", &pairs, |it| {
        compare_statements(&it.a, &it.b, None).merging == MergeDecision::Undecided
    });
    print("in the band and not marked as opposites", &pairs, |it| {
        let it = all(it);
        it.merging == MergeDecision::Undecided && !it.may_be_opposites
    });
    for least in [BATCH_COSINE, INLINE_COSINE, MERGE_COSINE] {
        let name = format!("cosine alone, {least}");
        print(&name, &pairs, |it| least <= it.cosine);
    }
    Ok(())
}

fn rows(dir: &Path) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = lines(&dir.join("duplicate_pairs.jsonl"))?;
    rows.extend(lines(&dir.join("duplicate_pairs.copyleft.jsonl"))?);
    Ok(rows)
}

fn pairs(dir: &Path, split: Split, model: &dyn Embedder) -> Result<Vec<Pair>, String> {
    let rows = rows(dir)?;
    let mut pairs = Vec::new();
    for (place, row) in rows.iter().enumerate().filter(|it| it.1.split == split) {
        let kind = match row.kind.as_str() {
            "positive" => Kind::Positive,
            "hard_negative_bm25" => Kind::Nearest,
            "hard_negative_same_category" => Kind::SameGroup,
            other => return Err(format!("pairs of kind `{other}` are unknown")),
        };
        pairs.push(pair(kind, &row.a, &row.b, model)?);
        if kind != Kind::Positive {
            continue;
        }
        for (ours, theirs) in [(&row.a, &row.b), (&row.b, &row.a)] {
            pairs.push(pair(Kind::Restated, ours, &restated(ours), model)?);
            for (manner, opposite) in made(ours, place, split) {
                pairs.push(pair(Kind::OwnOpposite(manner), ours, &opposite, model)?);
                pairs.push(pair(Kind::Opposite(manner), theirs, &opposite, model)?);
            }
        }
    }
    Ok(pairs)
}

/// Returns a statement as somebody else might have typed it: nothing but case, punctuation, spaces
/// and the first article differ.
fn restated(statement: &str) -> String {
    let mut letters = statement.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    let lowered: String = first.chain(letters).collect();
    let bare = lowered.trim_end_matches('.').replace(". ", ".  ");
    bare.replacen(" the ", " a ", 1)
}

/// Returns the opposites that are fit for a split. Names that differ by `()` alone say the same
/// when swapped; whether Ken finds two texts the same is not asked.
fn made(statement: &str, place: usize, split: Split) -> Vec<(Manner, String)> {
    let bare = |text: &str| text.replace("()", "");
    let fits = |(manner, text): &(Manner, String)| {
        let kept = split == Split::Dev && *manner == Manner::Wrapped;
        !kept && bare(text) != bare(statement)
    };
    let all = opposites(statement, place).into_iter();
    all.filter(fits).collect()
}

fn pair(kind: Kind, a: &str, b: &str, model: &dyn Embedder) -> Result<Pair, String> {
    let vectors = model.embed(&[a, b]).map_err(|error| error.to_string())?;
    Ok(Pair {
        kind,
        a: TokenizedStatement::parse(a),
        b: TokenizedStatement::parse(b),
        cosine: vectors[0].cosine(&vectors[1]),
    })
}

fn print(name: &str, pairs: &[Pair], is_match: impl Fn(&Pair) -> bool) {
    let mut counts = Counts::new();
    for pair in pairs {
        let (said, asked) = counts.entry(pair.kind).or_default();
        *said += usize::from(is_match(pair));
        *asked += 1;
    }
    let sum = |of: &dyn Fn(Kind) -> bool| {
        let chosen = counts.iter().filter(|(kind, _)| of(**kind));
        chosen.fold((0, 0), |sum, (_, it)| (sum.0 + it.0, sum.1 + it.1))
    };
    let found = sum(&|kind| kind == Kind::Positive);
    let hard = sum(&|kind| matches!(kind, Kind::Nearest | Kind::SameGroup));
    let restated = sum(&|kind| kind == Kind::Restated);
    let own = sum(&|kind| matches!(kind, Kind::OwnOpposite(_)));
    let other = sum(&|kind| matches!(kind, Kind::Opposite(_)));
    let right = found.0 + restated.0;
    let precision = |wrong: usize| percent(right, right + wrong);
    println!(
        "\n{name}: recall {} ({} of {}), precision {} against hard negatives ({} of {} wrong), {} \
         against opposites as well",
        percent(found.0, found.1),
        found.0,
        found.1,
        precision(hard.0),
        hard.0,
        hard.1,
        precision(hard.0 + own.0 + other.0),
    );
    for (kind, (said, asked)) in &counts {
        println!("  {kind:?}: {said} of {asked}, {}", percent(*said, *asked));
    }
}

fn percent(part: usize, whole: usize) -> String {
    match whole {
        0 => "–".to_owned(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}
