//! Knowledge survives every git operation: random histories over real git, and single cases.
//!
//! A history is generated from its seed. `KEN_SEED=17` runs only that one and prints its script,
//! `KEN_LONG=1` runs a thousand instead of a hundred.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(
    clippy::print_stdout,
    reason = "a failing history is printed as a script"
)]

mod histories {
    pub(crate) mod conflict;
    pub(crate) mod dice;
    pub(crate) mod git;
    pub(crate) mod gitting;
    pub(crate) mod history;
    pub(crate) mod knowing;
    pub(crate) mod oracle;
    pub(crate) mod site;
    pub(crate) mod step;
    mod tables;
    pub(crate) mod tally;
}

use histories::step::run_history;
use histories::tally::OperationCounts;

/// Number of histories per quarter.
const SHORT_HISTORIES: u64 = 25;
const LONG_HISTORIES: u64 = 250;

fn run_quarter(number: u64) {
    let only = std::env::var("KEN_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok());
    let count = if ken_testkit::laws::is_long() {
        LONG_HISTORIES
    } else {
        SHORT_HISTORIES
    };
    let seeds: Vec<u64> = match only {
        Some(seed) if seed % 4 == number => vec![seed],
        Some(_) => return,
        None => (0..count).map(|n| n * 4 + number).collect(),
    };
    let mut tally = OperationCounts::default();
    let mut failed = Vec::new();
    for seed in &seeds {
        let (history, outcome) = run_history(*seed);
        tally.count("histories");
        tally.join(&history.tally);
        if outcome.is_err() || only.is_some() {
            println!("history {seed}:\n{}", history.script.join("\n"));
        }
        if let Err(why) = outcome {
            println!("history {seed} (KEN_SEED={seed}) failed: {why}\n");
            failed.push(*seed);
        }
    }
    println!("{tally}");
    assert!(
        failed.is_empty(),
        "these histories break the law: {failed:?}"
    );
}

#[test]
fn knowledge_survives_the_first_quarter_of_the_histories() {
    run_quarter(0);
}

#[test]
fn knowledge_survives_the_second_quarter_of_the_histories() {
    run_quarter(1);
}

#[test]
fn knowledge_survives_the_third_quarter_of_the_histories() {
    run_quarter(2);
}

#[test]
fn knowledge_survives_the_last_quarter_of_the_histories() {
    run_quarter(3);
}
