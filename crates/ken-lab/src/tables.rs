//! Results as CSV and as the tables of `docs/explanation/lab.md`.

use std::fmt::Write as _;

use ken_core::trust::rediscovery::RediscoveryMode;
use ken_lab::confirmation::{
    GUARDED_MEASURES, choose_mode, difference, judge_mode, pair_with_observe,
};
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

/// Name of the gate with every finding as an entry.
const OPEN_GATE: &str = "ken-gate-any-finding";

/// Returns every measure of every policy in every cell.
pub(crate) fn results_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "cell,policy,measure,mean,low,high\n".to_owned();
    let results = main_results(outcome).map(|it| (it.policy.word(), it));
    let shipped = outcome.shipped.iter().map(|it| (SHIPPED, it));
    let open_gate = outcome.open_gate.iter().map(|it| (OPEN_GATE, it));
    for (policy, it) in results.chain(shipped).chain(open_gate) {
        for measure in Measure::ALL {
            let (cell, estimate) = (quote_field(&it.cell), format_numbers(it.estimate(measure)));
            push_csv_line(&mut text, &[&cell, policy, measure.word(), &estimate]);
        }
    }
    text
}

/// Returns the difference of each measure between Ken and each other policy, paired by seed.
pub(crate) fn differences_csv(outcome: &ExperimentOutcome) -> String {
    let mut text = "cell,ken,other,measure,mean,low,high\n".to_owned();
    let modes = PolicyName::ALL.into_iter().filter(|name| name.is_ken());
    for (ken, other) in modes.flat_map(|mode| pairs(outcome, mode)) {
        for measure in Measure::ALL {
            let estimate = format_numbers(difference(ken, other, measure));
            let cell = quote_field(&other.cell);
            let names = [ken.policy.word(), other.policy.word(), measure.word()];
            push_csv_line(&mut text, &[&cell, names[0], names[1], names[2], &estimate]);
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
    for it in main_results(outcome) {
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
    text.push_str("\n## The gate with every finding as an entry\n");
    for it in by_cell(&outcome.open_gate) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\n## Cells\n");
    for it in by_cell(&outcome.cells) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\n## How often the same mistake is made\n");
    for it in by_cell(&outcome.recurrence) {
        push_cell_table(&mut text, it);
    }
    text.push_str("\n## Worlds in which rediscovery is hard\n");
    for it in by_cell(&outcome.worlds) {
        push_cell_table(&mut text, it);
    }
    for (mode, title) in [
        (PolicyName::KenGate, "The gate less the others"),
        (PolicyName::Ken, "Ken that observes less the others"),
    ] {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n## {title}, in points, paired by seed\n\n");
        push_difference_table(&mut text, &pairs(outcome, mode));
    }
    text
}

/// Returns every measure of every policy of the confirmation.
pub(crate) fn confirmation_csv(results: &[CellResult]) -> String {
    let mut text = "cell,policy,measure,mean,low,high\n".to_owned();
    for it in results {
        for measure in Measure::ALL {
            let (cell, estimate) = (quote_field(&it.cell), format_numbers(it.estimate(measure)));
            push_csv_line(
                &mut text,
                &[&cell, it.policy.word(), measure.word(), &estimate],
            );
        }
    }
    text
}

/// Returns the tables of the confirmation and the mode that the criterion chooses.
pub(crate) fn confirmation(results: &[CellResult]) -> String {
    let mut text = String::new();
    for measure in GUARDED_MEASURES {
        let policies: Vec<&str> = by_cell(results).next().map_or_else(Vec::new, |first| {
            first.iter().map(|it| it.policy.word()).collect()
        });
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\n**{}**\n\n| cell | {} ",
            measure.word(),
            policies.join(" | ")
        );
        text.push_str("| rank less observe | gate less observe |\n|---|---|---|---|---|---|---|\n");
        for cell in by_cell(results) {
            let mut fields = vec![cell[0].cell.clone()];
            let shares = cell.iter().map(|it| it.estimate(measure));
            fields.extend(shares.map(format_percent_interval));
            for mode in [PolicyName::KenRank, PolicyName::KenGate] {
                let pairs = pair_with_observe(cell, mode);
                let less = pairs
                    .into_iter()
                    .map(|(ours, it)| difference(ours, it, measure));
                fields.extend(less.map(format_points));
            }
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            push_table_row(&mut text, &fields);
        }
    }
    text.push_str("\n| mode | false in the middle cell | worse by more than the interval | passes |\n|---|---|---|---|\n");
    for mode in RediscoveryMode::ALL {
        let Some(verdict) = judge_mode(results, mode) else {
            continue;
        };
        // Every cell that fails is named: a count alone would hide the cause.
        let worse = verdict.worse.iter().map(|it| {
            let difference = format_points(it.difference);
            format!("{}: {} {difference}", it.cell, it.measure.word())
        });
        let worse: Vec<String> = worse.collect();
        let (middle, passes) = (format_points(verdict.middle), verdict.passes());
        let fields = [mode.name(), &middle, &worse.join("; "), &passes.to_string()];
        push_table_row(&mut text, &fields);
    }
    let _ = writeln!(text, "\nDefault by the criterion: {}", choose_mode(results));
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

/// Returns the results of the chosen policies in all cells.
fn main_results(outcome: &ExperimentOutcome) -> impl Iterator<Item = &CellResult> {
    let results = outcome.cells.iter().chain(&outcome.recurrence);
    results.chain(&outcome.worlds)
}

/// Returns Ken in one mode paired with each policy that is not Ken, in the same cell.
fn pairs(outcome: &ExperimentOutcome, mode: PolicyName) -> Vec<(&CellResult, &CellResult)> {
    let mut pairs = Vec::new();
    for other in main_results(outcome).filter(|it| !it.policy.is_ken()) {
        let is_ken = |it: &&CellResult| it.cell == other.cell && it.policy == mode;
        let ken = main_results(outcome).find(is_ken);
        pairs.extend(ken.map(|ken| (ken, other)));
    }
    pairs
}

/// Returns Ken with default settings paired with each other policy of the same cell.
fn shipped_pairs(outcome: &ExperimentOutcome) -> Vec<(&CellResult, &CellResult)> {
    let others = |ken: &'_ CellResult| {
        let is_other = |it: &&CellResult| it.cell == ken.cell && !it.policy.is_ken();
        main_results(outcome).filter(is_other).collect::<Vec<_>>()
    };
    let mut pairs = Vec::new();
    for ken in &outcome.shipped {
        pairs.extend(others(ken).into_iter().map(|other| (ken, other)));
    }
    pairs
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
