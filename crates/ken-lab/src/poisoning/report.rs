//! The poisoning experiment: thresholds at equal retention, cells, and the tables of its page.

use std::fmt::Write as _;
use std::ops::Range;

use super::{PoisoningCell, PoisoningFigures, SharingRule, simulate_poisoning};
use crate::statistics::MeanEstimate;

/// Seeds on which thresholds are chosen.
const TUNING_SEEDS: Range<u64> = 3000..3005;
/// Seeds of the results.
const TEST_SEEDS: Range<u64> = 4000..4020;
/// Number of thresholds that are tried: from 0 in steps of 0.05.
const THRESHOLDS: u32 = 20;

/// One hostile organization with one key, and a person who approves one false wording in three.
pub const MIDDLE_POISONING: PoisoningCell = PoisoningCell {
    attackers: 1,
    keys: 1,
    is_patient: false,
    approved_false: 0.33,
};

/// The rules that are compared.
const RULES: [SharingRule; 4] = [
    SharingRule::Peers,
    SharingRule::Confirmations(0.0),
    SharingRule::ConfirmationsOnce(0.0),
    SharingRule::Average(0.0),
];

/// Results of one rule in one cell, one per seed.
#[derive(Clone, Debug)]
pub struct PoisoningResult {
    pub rule: SharingRule,
    pub seeds: Vec<PoisoningFigures>,
}

impl PoisoningResult {
    fn run(cell: PoisoningCell, rule: SharingRule, seeds: Range<u64>) -> Self {
        let seeds = seeds.map(|seed| simulate_poisoning(cell, rule, seed));
        let seeds = seeds.collect();
        Self { rule, seeds }
    }

    /// Returns the estimate of one figure.
    pub fn estimate(&self, figure: fn(&PoisoningFigures) -> f64) -> MeanEstimate {
        let values: Vec<f64> = self.seeds.iter().map(figure).collect();
        MeanEstimate::of(&values)
    }
}

/// Runs all rules in a cell. Each threshold is the one with the fewest false claims of those that
/// retain at least as much as the rule of peers, or else the one that retains most.
pub fn compare_rules(cell: PoisoningCell) -> Vec<PoisoningResult> {
    let peers = PoisoningResult::run(cell, SharingRule::Peers, TUNING_SEEDS);
    let wanted = peers.estimate(|it| it.retained).mean;
    let chosen = RULES.map(|rule| choose_threshold(cell, rule, wanted));
    let results = chosen.map(|rule| PoisoningResult::run(cell, rule, TEST_SEEDS));
    results.into()
}

fn choose_threshold(cell: PoisoningCell, rule: SharingRule, wanted: f64) -> SharingRule {
    if rule == SharingRule::Peers {
        return rule;
    }
    let tried = (0..THRESHOLDS).map(|step| {
        let rule = rule.with_threshold(f64::from(step) * 0.05);
        let result = PoisoningResult::run(cell, rule, TUNING_SEEDS);
        let retained = result.estimate(|it| it.retained).mean;
        (
            rule,
            retained.min(wanted),
            result.estimate(|it| it.false_share).mean,
        )
    });
    let best = tried.min_by(|a, b| b.1.total_cmp(&a.1).then(a.2.total_cmp(&b.2)));
    best.map_or(rule, |(rule, ..)| rule)
}

/// Returns the cells of the page with their names.
pub fn poisoning_cells() -> Vec<(String, PoisoningCell)> {
    let middle = MIDDLE_POISONING;
    let mut cells = vec![("1 attacker, 1 key".to_owned(), middle)];
    for keys in [10, 100] {
        let cell = PoisoningCell { keys, ..middle };
        cells.push((format!("1 attacker, {keys} keys"), cell));
    }
    for attackers in [2, 5, 10] {
        let cell = PoisoningCell {
            attackers,
            ..middle
        };
        cells.push((format!("{attackers} attackers, 1 key each"), cell));
    }
    let patient = PoisoningCell {
        is_patient: true,
        ..middle
    };
    cells.push(("1 patient attacker".to_owned(), patient));
    for (name, approved_false) in [("careful", 0.1), ("careless", 0.66), ("blind", 1.0)] {
        let cell = PoisoningCell {
            approved_false,
            ..middle
        };
        let name = format!(
            "{name} person: approves {:.0} % of false",
            approved_false * 100.0
        );
        cells.push((name, cell));
    }
    cells
}

/// Returns the tables of the page.
pub fn poisoning_tables() -> String {
    let results: Vec<_> = poisoning_cells()
        .into_iter()
        .map(|(name, cell)| (name, compare_rules(cell)))
        .collect();
    let mut text = String::new();
    table(
        &mut text,
        "False claims among those shown, %",
        &results,
        |it| it.false_share * 100.0,
    );
    table(&mut text, "Answers with a true claim, %", &results, |it| {
        it.retained * 100.0
    });
    table(
        &mut text,
        "Claims of attackers among those shown, %",
        &results,
        |it| it.hostile_share * 100.0,
    );
    table(
        &mut text,
        "Times that a false claim of attackers was shown, in 180 days",
        &results,
        |it| it.hostile_shown,
    );
    table(
        &mut text,
        "Days between the first and the last time a false claim was shown, median",
        &results,
        |it| it.days_on_display,
    );
    text.trim_end().to_owned()
}

fn table(
    text: &mut String,
    title: &str,
    results: &[(String, Vec<PoisoningResult>)],
    figure: fn(&PoisoningFigures) -> f64,
) {
    let names = RULES.map(SharingRule::name).join(" | ");
    let _ = write!(
        text,
        "{title}:\n\n| cell | {names} |\n|---|---|---|---|---|\n"
    );
    for (cell, rules) in results {
        let _ = write!(text, "| {cell} |");
        for rule in rules {
            let it = rule.estimate(figure);
            let _ = write!(text, " {:.1} ± {:.1} |", it.mean, it.high - it.mean);
        }
        text.push('\n');
    }
    text.push('\n');
}
