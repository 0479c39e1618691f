//! Results as CSV and as the tables of `docs/explanation/lab.md`.

use std::fmt::Write as _;

use ken_lab::experiment::CellResult;
use ken_lab::grid::WINDOW_RUNS;
use ken_lab::measure::Measure;
use ken_lab::policy::PolicyName;
use ken_lab::statistics::MeanEstimate;

use super::ExperimentOutcome;

/// Measures that are shares, printed in percent.
const SHARES: [Measure; 5] = [
    Measure::FalseSurfaced,
    Measure::Retained,
    Measure::Known,
    Measure::Reached,
    Measure::Success,
];

/// Name of Ken with default settings, as opposed to tuned settings.
const SHIPPED: &str = "ken-as-shipped";

/// Returns every measure of every policy in every cell.
pub(crate) fn results_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "cell,policy,measure,mean,low,high\n".to_owned();
    let results = outcome.cells.iter().chain(&outcome.recurrence);
    let results = results.map(|it| (it.policy.word(), it));
    let shipped = outcome.shipped.iter().map(|it| (SHIPPED, it));
    for (policy, it) in results.chain(shipped) {
        for measure in Measure::ALL {
            let (cell, estimate) = (quote_field(&it.cell), format_numbers(it.estimate(measure)));
            push_csv_line(&mut text, &[&cell, policy, measure.word(), &estimate]);
        }
    }
    text
}

/// Returns the difference of each measure between Ken and each other policy, paired by seed.
pub(crate) fn differences_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "cell,other,measure,mean,low,high\n".to_owned();
    for (ken, other) in pairs(outcome) {
        for measure in Measure::ALL {
            let estimate = format_numbers(difference(ken, other, measure));
            let cell = quote_field(&other.cell);
            push_csv_line(
                &mut text,
                &[&cell, other.policy.word(), measure.word(), &estimate],
            );
        }
    }
    text
}

/// Returns every setting that was tried.
pub(crate) fn tuning_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "policy,settings,false_surfaced,retained,chosen\n".to_owned();
    for it in &outcome.tuning {
        let figures = format!(
            "{:.4},{:.4},{}",
            it.false_surfaced, it.retained, it.is_chosen
        );
        push_csv_line(
            &mut text,
            &[it.name.word(), &quote_field(&it.settings), &figures],
        );
    }
    text
}

/// Returns every measure in every window of runs.
pub(crate) fn curves_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "cell,policy,measure,run,mean,low,high\n".to_owned();
    for it in outcome.cells.iter().chain(&outcome.recurrence) {
        for measure in Measure::ALL {
            for (number, estimate) in it.curve(measure).into_iter().enumerate() {
                let run = ((number + 1) * WINDOW_RUNS).to_string();
                let (cell, estimate) = (quote_field(&it.cell), format_numbers(estimate));
                push_csv_line(
                    &mut text,
                    &[&cell, it.policy.word(), measure.word(), &run, &estimate],
                );
            }
        }
    }
    text
}

/// Returns the Markdown tables.
pub(crate) fn summary(outcome: &ExperimentOutcome) -> String {
    let mut text =
        "## Tuning\n\n| policy | setting | false | retained | |\n|---|---|---|---|---|\n"
            .to_owned();
    for it in &outcome.tuning {
        let mark = if it.is_chosen { "chosen" } else { "" };
        let (wrong, kept) = (
            format_percent(it.false_surfaced),
            format_percent(it.retained),
        );
        push_table_row(
            &mut text,
            &[it.name.word(), &it.settings, &wrong, &kept, mark],
        );
    }
    text.push_str("\n## Ken as shipped\n");
    for it in by_cell(&outcome.shipped) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\nLess the others, in points, paired by seed:\n\n");
    push_difference_table(&mut text, &shipped_pairs(outcome));
    text.push_str("\n## Cells\n");
    for it in by_cell(&outcome.cells) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\n## How often the same mistake is made\n");
    for it in by_cell(&outcome.recurrence) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\n## Ken less the others, in points, paired by seed\n\n");
    push_difference_table(&mut text, &pairs(outcome));
    text
}

fn push_difference_table(text: &mut String, pairs: &[(&CellResult, &CellResult)]) {
    text.push_str("| cell | other | false | retained | known | reached | success |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (ken, other) in pairs {
        let cells = SHARES.map(|measure| format_points(difference(ken, other, measure)));
        let mut all = vec![other.cell.as_str(), other.policy.word()];
        all.extend(cells.iter().map(String::as_str));
        push_table_row(text, &all);
    }
}

fn push_cell_table(text: &mut String, results: &[CellResult]) {
    let Some(first) = results.first() else {
        return;
    };
    // Writing to a `String` cannot fail.
    let _ = write!(text, "\n**{}**\n\n| policy |", first.cell);
    for measure in Measure::ALL {
        let _ = write!(text, " {} |", measure.word());
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
    for it in results {
        let cells = Measure::ALL.map(|measure| {
            if SHARES.contains(&measure) {
                format_percent_interval(it.estimate(measure))
            } else {
                format_interval(it.estimate(measure))
            }
        });
        let mut all = vec![it.policy.word()];
        all.extend(cells.iter().map(String::as_str));
        push_table_row(text, &all);
    }
}

/// Groups the results by cell; results of a cell are adjacent.
pub(crate) fn by_cell(results: &[CellResult]) -> impl Iterator<Item = &[CellResult]> {
    results.chunk_by(|a, b| a.cell == b.cell)
}

/// Returns Ken paired with each other policy of the same cell.
fn pairs(outcome: &ExperimentOutcome) -> Vec<(&CellResult, &CellResult)> {
    let all = by_cell(&outcome.cells).chain(by_cell(&outcome.recurrence));
    let of_cell = |cell: &'_ [CellResult]| -> Option<usize> {
        cell.iter().position(|it| it.policy == PolicyName::Ken)
    };
    let mut pairs = Vec::new();
    for cell in all {
        if let Some(ken) = of_cell(cell) {
            let others = cell.iter().filter(|it| it.policy != PolicyName::Ken);
            pairs.extend(others.map(|other| (&cell[ken], other)));
        }
    }
    pairs
}

/// Returns Ken with default settings paired with each other policy of the same cell.
fn shipped_pairs(outcome: &ExperimentOutcome) -> Vec<(&CellResult, &CellResult)> {
    let others = |ken: &'_ CellResult| {
        let is_other = |it: &&CellResult| it.cell == ken.cell && it.policy != PolicyName::Ken;
        outcome.cells.iter().filter(is_other).collect::<Vec<_>>()
    };
    let mut pairs = Vec::new();
    for ken in &outcome.shipped {
        pairs.extend(others(ken).into_iter().map(|other| (ken, other)));
    }
    pairs
}

fn difference(ken: &CellResult, other: &CellResult, measure: Measure) -> MeanEstimate {
    MeanEstimate::from_differences(&ken.values(measure), &other.values(measure))
}

fn format_numbers(it: MeanEstimate) -> String {
    format!("{:.4},{:.4},{:.4}", it.mean, it.low, it.high)
}

fn format_percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn format_percent_interval(it: MeanEstimate) -> String {
    let half = 100.0 * (it.high - it.mean);
    format!("{:.1} ± {half:.1} %", 100.0 * it.mean)
}

fn format_points(it: MeanEstimate) -> String {
    let half = 100.0 * (it.high - it.mean);
    format!("{:+.1} ± {half:.1}", 100.0 * it.mean)
}

fn format_interval(it: MeanEstimate) -> String {
    format!("{:.1} ± {:.1}", it.mean, it.high - it.mean)
}

/// Quotes a field; names of cells and settings contain commas.
fn quote_field(text: &str) -> String {
    format!("\"{text}\"")
}

fn push_csv_line(text: &mut String, fields: &[&str]) {
    text.push_str(&fields.join(","));
    text.push('\n');
}

fn push_table_row(text: &mut String, fields: &[&str]) {
    let _ = writeln!(text, "| {} |", fields.join(" | "));
}
