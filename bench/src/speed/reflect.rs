//! What holding claims that wait against a large ledger costs, beside scanning its vectors once for
//! each claim.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ken_core::values::kind::EntryKind;
use ken_engine::import::{InboxClaim, KnownClaim, reflect};
use ken_index::{Backend, Embedder, Vector};

use super::report::{Report, Verdict, shown};
use super::story::Dice;
use super::words::Vocabulary;
use super::{Bench, Size};

/// Times one scan of the bare vectors that one claim may cost.
const SCANS_MAX: f64 = 3.0;

/// Claims whose scan is timed.
const SCANNED: usize = 200;

pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let (claims, entries) = match bench.size {
        Size::Full => (10_000, 100_000),
        Size::Quick => (200, 2_000),
    };
    let mut dice = Dice::new(11);
    let vocabulary = Vocabulary::new(&mut dice);
    let known: Vec<KnownClaim> = (0..entries)
        .map(|number| KnownClaim {
            id: format!("L-{number:08}"),
            statement: vocabulary.lesson(&mut dice).to_string(),
            ..KnownClaim::default()
        })
        .collect();
    // One in ten says what an entry says.
    let staged: Vec<InboxClaim> = (0..claims)
        .map(|number| {
            let says = match number % 10 {
                0 => known[(number * 7) % known.len()].statement.clone(),
                _ => vocabulary.lesson(&mut dice).to_string(),
            };
            InboxClaim::new(
                EntryKind::Learning,
                says,
                "bench",
                format!("doc:bench.md#L{number}"),
            )
        })
        .collect();
    let started = Instant::now();
    let seen = reflect(&staged, &known);
    let each = started.elapsed() / u32::try_from(claims).unwrap_or(u32::MAX);
    let scan = scan(&known)?;
    let ratio = each.as_secs_f64() / scan.as_secs_f64();
    let mut report = Report::default();
    report.push(
        "reflect: one claim, taking everything apart included",
        shown(each),
        "–",
        Verdict::Told,
    );
    report.push(
        "reflect: one scan of the bare vectors",
        shown(scan),
        "–",
        Verdict::Told,
    );
    let verdict = Verdict::of(ratio <= SCANS_MAX, format!("<= {SCANS_MAX}"));
    report.push(
        "reflect: a claim, in scans",
        format!("{ratio:.2}"),
        "–",
        verdict,
    );
    report.note(format!(
        "reflect: {claims} claims against {entries} entries, {} pairs compared, {} told; one thread; vectors of the built-in model.",
        seen.compared,
        seen.seen.len()
    ));
    Ok(report)
}

/// Returns how long the nearest of all vectors takes to find, on average.
fn scan(known: &[KnownClaim]) -> Result<Duration, String> {
    let model = Backend::Static.built_in().ok_or("no model is built in")?;
    let texts: Vec<&str> = known.iter().map(|it| it.statement.as_str()).collect();
    let vectors: Vec<Vector> = embed(&*model, &texts)?;
    let started = Instant::now();
    for asked in vectors.iter().take(SCANNED) {
        let best = vectors
            .iter()
            .map(|it| asked.cosine(it))
            .fold(f64::MIN, f64::max);
        black_box(best);
    }
    Ok(started.elapsed() / u32::try_from(SCANNED.min(vectors.len())).unwrap_or(1))
}

fn embed(model: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vector>, String> {
    model.embed(texts).map_err(|error| error.to_string())
}
