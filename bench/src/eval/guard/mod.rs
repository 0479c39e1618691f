//! How well the guard tells what may be written: `cargo ken-bench eval guard`, on labeled data and
//! on documentation at hand.
//!
//! The labeled secrets lie outside the repository and are never copied into it; the made-up ones
//! come from the templates beside the rules.

mod labeled;
mod prose;
mod surfaced;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use ken_guard::{
    GuardPolicy, GuardVerdict, ScanAxis, ScanLevel, ScannedField, TextMode, admit, sample,
};

use xtask::repository::Finding;

/// Secrets made up for each template of each rule.
const SAMPLES_PER_TEMPLATE: u64 = 20;

/// A statement of sixty words, as people write them.
const CLEAN: &str = "Retries of the payment call are safe only because every charge carries an idempotency header, and the \
gateway keeps it for a day; after that a second attempt books twice. When the queue is drained by hand, check the age of \
each message first, and move what is older into the review list instead of replaying it, as the nightly job does today.";

/// What a text was called.
struct Said {
    scan: ScanLevel,
    /// Rules that found something, with what they protect against.
    found: Vec<(&'static str, ScanAxis)>,
    /// Where, in the order of `found`.
    spans: Vec<Range<usize>>,
}

impl Said {
    fn of(text: &str, mode: TextMode) -> Self {
        let field = ScannedField {
            name: "text",
            text,
            mode,
        };
        let verdict = admit(&GuardPolicy::default(), &[field]);
        let findings = verdict.findings().iter();
        Self {
            scan: verdict.scan(),
            spans: findings.clone().map(|it| it.span.clone()).collect(),
            found: findings.map(|it| (it.rule, it.axis)).collect(),
        }
    }

    fn is_flagged(&self) -> bool {
        !self.found.is_empty()
    }

    fn names_a_secret(&self) -> bool {
        let secret =
            |axis: &ScanAxis| matches!(axis, ScanAxis::Credential | ScanAxis::CredentialLeakage);
        self.found.iter().any(|(_, axis)| secret(axis))
    }

    fn speaks_to_a_model(&self) -> bool {
        self.found
            .iter()
            .any(|(_, axis)| matches!(axis, ScanAxis::Injection | ScanAxis::Exfiltration))
    }
}

/// A row of the answer.
struct Row {
    what: String,
    figure: String,
    bar: &'static str,
    holds: Option<bool>,
}

impl Row {
    fn share(what: impl Into<String>, part: usize, of: usize, bar: Bar) -> Self {
        let share = part as f64 / of.max(1) as f64;
        let (bar, holds) = match bar {
            Bar::AtLeast(least, said) => (said, Some(least <= share)),
            Bar::AtMost(most, said) => (said, Some(share <= most)),
            Bar::None => ("", None),
        };
        Self {
            what: what.into(),
            figure: format!("{part} of {of}, {:.2} %", share * 100.0),
            bar,
            holds,
        }
    }

    fn time(what: &str, took: Duration, most: Duration, bar: &'static str) -> Self {
        Self {
            what: what.to_owned(),
            figure: format!("{took:.1?}"),
            bar,
            holds: Some(took <= most),
        }
    }
}

/// What a share is held against.
#[derive(Clone, Copy)]
enum Bar {
    AtLeast(f64, &'static str),
    AtMost(f64, &'static str),
    None,
}

/// Measures everything and prints it; a missed bar is a finding.
pub(super) fn report(dir: &Path, verbose: bool) -> Result<Vec<Finding>, String> {
    // First, while nothing is compiled yet.
    let mut rows = cost();
    rows.extend(made_up(verbose));
    rows.extend(labeled::secrets(dir, verbose)?);
    rows.extend(prose::documentation(verbose)?);
    rows.push(hidden_characters());
    rows.extend(labeled::attacks(dir, verbose)?);
    rows.extend(surfaced::attacks(&labeled::goals(dir)?)?);
    println!("| what | figure | bar | |\n|---|---|---|---|");
    for row in &rows {
        let verdict = match row.holds {
            Some(true) => "holds",
            Some(false) => "**missed**",
            None => "",
        };
        println!(
            "| {} | {} | {} | {verdict} |",
            row.what, row.figure, row.bar
        );
    }
    let missed = rows.iter().filter(|row| row.holds == Some(false));
    Ok(missed
        .map(|row| {
            Finding::new(
                "docs/explanation/guard.md",
                1,
                format!("{}: {}, wanted {}", row.what, row.figure, row.bar),
            )
        })
        .collect())
}

/// The same length, about the very things the guard looks for.
const CLEAN_ABOUT_KEYS: &str = "The access token of the payment client is rotated by the nightly job, which asks the vault for \
a new private key and writes it to the secret store; the password of the database login never leaves that host. When the \
api answers that authorization failed, check the key id first: a stale pattern in the proxy path keeps the old bearer \
header alive for an hour.";

fn cost() -> Vec<Row> {
    const LAPS: u32 = 2_000;
    let begun = Instant::now();
    let first = Said::of(CLEAN, TextMode::Statement);
    let first_use = begun.elapsed();
    assert!(
        !first.is_flagged(),
        "the clean statement: {:?}",
        first.found
    );
    let begun = Instant::now();
    for _ in 0..LAPS {
        std::hint::black_box(Said::of(std::hint::black_box(CLEAN), TextMode::Statement));
    }
    let later = begun.elapsed() / LAPS;
    let begun = Instant::now();
    let about_keys = Said::of(CLEAN_ABOUT_KEYS, TextMode::Statement);
    let first_about_keys = begun.elapsed();
    assert!(
        !about_keys.is_flagged(),
        "about keys: {:?}",
        about_keys.found
    );
    let begun = Instant::now();
    for _ in 0..LAPS {
        std::hint::black_box(Said::of(
            std::hint::black_box(CLEAN_ABOUT_KEYS),
            TextMode::Statement,
        ));
    }
    let later_about_keys = begun.elapsed() / LAPS;
    vec![
        Row::time(
            "a clean statement of 60 words, first use in a process",
            first_use,
            Duration::from_millis(10),
            "<= 10 ms",
        ),
        Row::time(
            "the same, after first use",
            later,
            Duration::from_micros(100),
            "<= 100 µs",
        ),
        Row::time(
            "a clean statement about keys and tokens, first time",
            first_about_keys,
            Duration::from_millis(10),
            "<= 10 ms",
        ),
        Row::time(
            "the same, later",
            later_about_keys,
            Duration::from_micros(100),
            "<= 100 µs",
        ),
    ]
}

fn made_up(verbose: bool) -> Vec<Row> {
    let mut by_rule: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut found, mut all) = (0, 0);
    for seed in 0..SAMPLES_PER_TEMPLATE {
        for sample in sample::samples_of_every_rule(seed * 7919 + 101) {
            if !matches!(
                sample.axis,
                ScanAxis::Credential | ScanAxis::CredentialLeakage
            ) {
                continue;
            }
            let text = format!("seen in the log: {} and so on", sample.text);
            let hit = usize::from(Said::of(&text, TextMode::Code).names_a_secret());
            let counted = by_rule.entry(sample.rule).or_default();
            *counted = (counted.0 + hit, counted.1 + 1);
            found += hit;
            all += 1;
        }
    }
    if verbose {
        for (rule, (found, all)) in by_rule.iter().filter(|(_, (found, all))| found < all) {
            println!("made up, {rule}: {found} of {all}");
        }
    }
    let what = format!(
        "made-up secrets of {} rules, {SAMPLES_PER_TEMPLATE} a template: found",
        by_rule.len()
    );
    vec![Row::share(what, found, all, Bar::AtLeast(0.99, ">= 99 %"))]
}

/// Every invisible code point between two letters, where none of them is at home.
fn hidden_characters() -> Row {
    let ignorable =
        regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}]$")
            .expect("a property");
    let visible = ['\t', '\n', '\r'];
    let points = ('\0'..=char::MAX)
        .filter(|c| !visible.contains(c) && ignorable.is_match(c.encode_utf8(&mut [0; 4])));
    let (mut found, mut all) = (0, 0);
    for point in points {
        let field = ScannedField {
            name: "text",
            text: &format!("ab{point}cd"),
            mode: TextMode::Prose,
        };
        all += 1;
        found += usize::from(matches!(
            admit(&GuardPolicy::default(), &[field]),
            GuardVerdict::Quarantine { .. }
        ));
    }
    Row::share(
        "invisible, bidi, tag and control code points: quarantined",
        found,
        all,
        Bar::AtLeast(1.0, "100 %"),
    )
}
