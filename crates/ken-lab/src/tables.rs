//! What came out, as comma-separated values and as the tables of `docs/lab.md`.

use std::fmt::Write as _;

use ken_lab::experiment::CellResult;
use ken_lab::grid::WINDOW;
use ken_lab::measure::Measure;
use ken_lab::policy::Name;
use ken_lab::statistics::Estimate;

use super::Outcome;

/// The measures that are shares, printed in percent.
const SHARES: [Measure; 5] = [
    Measure::FalseSurfaced,
    Measure::Retained,
    Measure::Known,
    Measure::Reached,
    Measure::Success,
];

/// The word for Ken as it is shipped, beside the word for Ken as it was tuned.
const SHIPPED: &str = "ken-as-shipped";

/// Returns every measure of every policy in every cell.
pub(crate) fn results_csv(outcome: &Outcome) -> String {
    let mut text = "cell,policy,measure,mean,low,high\n".to_owned();
    let results = outcome.cells.iter().chain(&outcome.recurrence);
    let results = results.map(|it| (it.policy.word(), it));
    let shipped = outcome.shipped.iter().map(|it| (SHIPPED, it));
    for (policy, it) in results.chain(shipped) {
        for measure in Measure::ALL {
            let (cell, estimate) = (quoted(&it.cell), numbers(it.estimate(measure)));
            line(&mut text, &[&cell, policy, measure.word(), &estimate]);
        }
    }
    text
}

/// Returns how much larger each measure is with Ken than with each other policy, paired by seed.
pub(crate) fn differences_csv(outcome: &Outcome) -> String {
    let mut text = "cell,other,measure,mean,low,high\n".to_owned();
    for (ken, other) in pairs(outcome) {
        for measure in Measure::ALL {
            let estimate = numbers(difference(ken, other, measure));
            let cell = quoted(&other.cell);
            line(
                &mut text,
                &[&cell, other.policy.word(), measure.word(), &estimate],
            );
        }
    }
    text
}

/// Returns every setting that was tried.
pub(crate) fn tuning_csv(outcome: &Outcome) -> String {
    let mut text = "policy,settings,false_surfaced,retained,chosen\n".to_owned();
    for it in &outcome.tuning {
        let figures = format!(
            "{:.4},{:.4},{}",
            it.false_surfaced, it.retained, it.is_chosen
        );
        line(
            &mut text,
            &[it.name.word(), &quoted(&it.settings), &figures],
        );
    }
    text
}

/// Returns every measure in every window of runs.
pub(crate) fn curves_csv(outcome: &Outcome) -> String {
    let mut text = "cell,policy,measure,run,mean,low,high\n".to_owned();
    for it in outcome.cells.iter().chain(&outcome.recurrence) {
        for measure in Measure::ALL {
            for (number, estimate) in it.curve(measure).into_iter().enumerate() {
                let run = ((number + 1) * WINDOW).to_string();
                let (cell, estimate) = (quoted(&it.cell), numbers(estimate));
                line(
                    &mut text,
                    &[&cell, it.policy.word(), measure.word(), &run, &estimate],
                );
            }
        }
    }
    text
}

/// Returns the tables for people.
pub(crate) fn summary(outcome: &Outcome) -> String {
    let mut text =
        "## Tuning\n\n| policy | setting | false | retained | |\n|---|---|---|---|---|\n"
            .to_owned();
    for it in &outcome.tuning {
        let mark = if it.is_chosen { "chosen" } else { "" };
        let (wrong, kept) = (percent(it.false_surfaced), percent(it.retained));
        line_of_table(
            &mut text,
            &[it.name.word(), &it.settings, &wrong, &kept, mark],
        );
    }
    text.push_str("\n## Ken as shipped\n");
    for it in by_cell(&outcome.shipped) {
        cell_table(&mut text, it);
    }
    text.push_str("\nLess the others, in points, paired by seed:\n\n");
    table_of_differences(&mut text, &shipped_pairs(outcome));
    text.push_str("\n## Cells\n");
    for it in by_cell(&outcome.cells) {
        cell_table(&mut text, it);
    }
    text.push_str("\n## How often the same mistake is made\n");
    for it in by_cell(&outcome.recurrence) {
        cell_table(&mut text, it);
    }
    text.push_str("\n## Ken less the others, in points, paired by seed\n\n");
    table_of_differences(&mut text, &pairs(outcome));
    text
}

fn table_of_differences(text: &mut String, pairs: &[(&CellResult, &CellResult)]) {
    text.push_str("| cell | other | false | retained | known | reached | success |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (ken, other) in pairs {
        let cells = SHARES.map(|measure| points(difference(ken, other, measure)));
        let mut all = vec![other.cell.as_str(), other.policy.word()];
        all.extend(cells.iter().map(String::as_str));
        line_of_table(text, &all);
    }
}

fn cell_table(text: &mut String, results: &[CellResult]) {
    let Some(first) = results.first() else {
        return;
    };
    let _ = write!(text, "\n**{}**\n\n| policy |", first.cell);
    for measure in Measure::ALL {
        let _ = write!(text, " {} |", measure.word());
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
    for it in results {
        let cells = Measure::ALL.map(|measure| match SHARES.contains(&measure) {
            true => in_percent(it.estimate(measure)),
            false => plain(it.estimate(measure)),
        });
        let mut all = vec![it.policy.word()];
        all.extend(cells.iter().map(String::as_str));
        line_of_table(text, &all);
    }
}

/// Returns the results of each cell together.
pub(crate) fn by_cell(results: &[CellResult]) -> impl Iterator<Item = &[CellResult]> {
    results.chunk_by(|a, b| a.cell == b.cell)
}

/// Returns Ken beside each other policy of the same cell.
fn pairs(outcome: &Outcome) -> Vec<(&CellResult, &CellResult)> {
    let all = by_cell(&outcome.cells).chain(by_cell(&outcome.recurrence));
    let of_cell = |cell: &'_ [CellResult]| -> Option<usize> {
        cell.iter().position(|it| it.policy == Name::Ken)
    };
    let mut pairs = Vec::new();
    for cell in all {
        if let Some(ken) = of_cell(cell) {
            let others = cell.iter().filter(|it| it.policy != Name::Ken);
            pairs.extend(others.map(|other| (&cell[ken], other)));
        }
    }
    pairs
}

/// Returns Ken as it is shipped beside each other policy of the same cell.
fn shipped_pairs(outcome: &Outcome) -> Vec<(&CellResult, &CellResult)> {
    let others = |ken: &'_ CellResult| {
        let is_other = |it: &&CellResult| it.cell == ken.cell && it.policy != Name::Ken;
        outcome.cells.iter().filter(is_other).collect::<Vec<_>>()
    };
    let mut pairs = Vec::new();
    for ken in &outcome.shipped {
        pairs.extend(others(ken).into_iter().map(|other| (ken, other)));
    }
    pairs
}

fn difference(ken: &CellResult, other: &CellResult, measure: Measure) -> Estimate {
    Estimate::of_difference(&ken.values(measure), &other.values(measure))
}

fn numbers(it: Estimate) -> String {
    format!("{:.4},{:.4},{:.4}", it.mean, it.low, it.high)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn in_percent(it: Estimate) -> String {
    let half = 100.0 * (it.high - it.mean);
    format!("{:.1} ± {half:.1} %", 100.0 * it.mean)
}

fn points(it: Estimate) -> String {
    let half = 100.0 * (it.high - it.mean);
    format!("{:+.1} ± {half:.1}", 100.0 * it.mean)
}

fn plain(it: Estimate) -> String {
    format!("{:.1} ± {:.1}", it.mean, it.high - it.mean)
}

/// Names of cells and settings hold commas.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn line(text: &mut String, fields: &[&str]) {
    text.push_str(&fields.join(","));
    text.push('\n');
}

fn line_of_table(text: &mut String, fields: &[&str]) {
    let _ = writeln!(text, "| {} |", fields.join(" | "));
}
