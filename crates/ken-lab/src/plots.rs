//! Plots of the results.

use std::path::Path;

use ken_lab::experiment::CellResult;
use ken_lab::grid::WINDOW_RUNS;
use ken_lab::measure::Measure;
use ken_lab::policy::PolicyName;
use ken_lab::statistics::MeanEstimate;
use ken_lab::world::GridCell;
use plotters::prelude::*;

use super::{ExperimentOutcome, LabError, tables};

/// Width and height of a plot in pixels.
const SIZE: (u32, u32) = (720, 400);

/// Width of a plot relative to its lines, to leave room for the legend.
const LEGEND_WIDTH_FACTOR: f64 = 1.25;

/// One line of a plot.
struct PlotLine {
    policy: PolicyName,
    points: Vec<(f64, MeanEstimate)>,
}

/// A plot to be drawn.
struct LinePlot<'a> {
    file: &'a str,
    title: &'a str,
    across: &'a str,
    lines: Vec<PlotLine>,
}

/// Draws all plots into a folder.
pub(crate) fn draw(out: &Path, outcome: &ExperimentOutcome) -> Result<(), LabError> {
    let Some(middle) = tables::by_cell(&outcome.cells).next() else {
        return Ok(());
    };
    let mut plots: Vec<LinePlot<'_>> = [
        (
            Measure::FalseSurfaced,
            "false.svg",
            "False claims among those surfaced (%)",
        ),
        (
            Measure::Retained,
            "retained.svg",
            "True claims once taken up that are still shown (%)",
        ),
        (
            Measure::Reached,
            "reached.svg",
            "Facts of the area that somebody was shown (%)",
        ),
    ]
    .map(|(measure, file, title)| LinePlot {
        file,
        title,
        across: "runs",
        lines: middle.iter().map(|it| curve(it, measure)).collect(),
    })
    .into();
    plots.push(LinePlot {
        file: "forgetting.svg",
        title: "Broken claims that are still shown (%)",
        across: "runs after the change that broke them",
        lines: middle.iter().map(forgetting).collect(),
    });
    if !outcome.recurrence.is_empty() {
        plots.push(LinePlot {
            file: "recurrence.svg",
            title: "False claims among those surfaced (%)",
            across: "how often an agent that did not see a certain mistake makes it (%)",
            lines: by_parameter(
                outcome.recurrence.iter(),
                middle,
                Measure::FalseSurfaced,
                |it| it.recurrence,
            ),
        });
    }
    for (measure, file, title) in [
        (
            Measure::FalseSurfaced,
            "reporting-false.svg",
            "False claims among those surfaced (%)",
        ),
        (
            Measure::Retained,
            "reporting-retained.svg",
            "True claims once taken up that are still shown (%)",
        ),
    ] {
        let sparse = outcome
            .worlds
            .iter()
            .filter(|it| it.parameters.reporting < 1.0);
        plots.push(LinePlot {
            file,
            title,
            across: "share of what an agent finds that it reports (%)",
            lines: by_parameter(sparse, middle, measure, |it| it.reporting),
        });
    }
    plots.iter().try_for_each(|plot| plot.draw(out))
}

fn curve(it: &CellResult, measure: Measure) -> PlotLine {
    let points = it.curve(measure).into_iter().enumerate();
    PlotLine {
        policy: it.policy,
        points: points
            .map(|(at, it)| (((at + 1) * WINDOW_RUNS) as f64, it))
            .collect(),
    }
}

fn forgetting(it: &CellResult) -> PlotLine {
    let points = it.forgetting().into_iter().enumerate();
    PlotLine {
        policy: it.policy,
        points: points.map(|(at, it)| ((at + 1) as f64, it)).collect(),
    }
}

/// Returns the final value of a measure by a parameter of the cell, including the middle cell.
fn by_parameter<'a>(
    cells: impl Iterator<Item = &'a CellResult>,
    middle: &'a [CellResult],
    measure: Measure,
    rate: fn(&GridCell) -> f64,
) -> Vec<PlotLine> {
    let mut cells: Vec<&CellResult> = cells.chain(middle).collect();
    cells.sort_by(|a, b| rate(&a.parameters).total_cmp(&rate(&b.parameters)));
    let line = |policy: PolicyName| {
        let of = cells.iter().filter(|it| it.policy == policy);
        let points = of.map(|it| (100.0 * rate(&it.parameters), it.estimate(measure)));
        PlotLine {
            policy,
            points: points.collect(),
        }
    };
    PolicyName::ALL.into_iter().map(line).collect()
}

impl LinePlot<'_> {
    fn draw(&self, out: &Path) -> Result<(), LabError> {
        let path = out.join(self.file);
        let drawn = self.draw_at(&path);
        drawn.map_err(|error| LabError::Plot {
            path: path.clone(),
            message: error.to_string(),
        })
    }

    fn draw_at(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let points = || self.lines.iter().flat_map(|line| &line.points);
        // The minimum keeps an empty plot drawable.
        let right = points().map(|(x, _)| *x).fold(1.0, f64::max);
        // The axis must contain the upper bounds of the intervals, too.
        let top = points().map(|(_, y)| 100.0 * y.high).fold(5.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(48)
            // A share cannot exceed 100 %, but its interval can.
            .build_cartesian_2d(
                0.0..LEGEND_WIDTH_FACTOR * right,
                0.0..(1.05 * top).min(100.0),
            )?;
        let whole = |number: &f64| format!("{number:.0}");
        chart
            .configure_mesh()
            .x_desc(self.across)
            // No labels below the legend.
            .x_label_formatter(&|x| if *x <= right { whole(x) } else { String::new() })
            .y_label_formatter(&whole)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for line in &self.lines {
            let color = color(line.policy);
            // The interval is drawn in a lighter shade than the mean.
            let bounds = [|y: &MeanEstimate| y.low, |y: &MeanEstimate| y.high];
            for bound in bounds {
                let points = line.points.iter().map(|(x, y)| (*x, 100.0 * bound(y)));
                chart.draw_series(LineSeries::new(points, color.mix(0.3)))?;
            }
            let points = line.points.iter().map(|(x, y)| (*x, 100.0 * y.mean));
            let style = color.stroke_width(2);
            let drawn = chart.draw_series(LineSeries::new(points, style))?;
            drawn
                .label(line.policy.word())
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
        }
        let labels = &mut chart.configure_series_labels();
        labels
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE)
            .border_style(BLACK.mix(0.2))
            .draw()?;
        area.present()?;
        Ok(())
    }
}

/// Returns the color of a policy, from a palette for color-blind readers (Okabe and Ito).
fn color(policy: PolicyName) -> RGBColor {
    match policy {
        PolicyName::Ken => RGBColor(86, 180, 233),
        PolicyName::KenRank => RGBColor(204, 121, 167),
        PolicyName::KenGate => RGBColor(0, 114, 178),
        PolicyName::KeepEverything => RGBColor(0, 0, 0),
        PolicyName::Reinforcement => RGBColor(213, 94, 0),
        PolicyName::TimeDecay => RGBColor(230, 159, 0),
        PolicyName::Citation => RGBColor(0, 158, 115),
    }
}
