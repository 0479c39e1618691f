//! What came out, as plots.

use std::path::Path;

use ken_lab::experiment::CellResult;
use ken_lab::grid::WINDOW;
use ken_lab::measure::Measure;
use ken_lab::policy::Name;
use ken_lab::statistics::Estimate;
use plotters::prelude::*;

use super::{Failure, Outcome, tables};

/// Width and height of a plot, in pixels.
const SIZE: (u32, u32) = (720, 400);

/// How much wider than its lines a plot is, so that the names of the lines have a place beside them.
const ROOM: f64 = 1.25;

/// One line of a plot: whose it is, and its points.
struct Line {
    policy: Name,
    points: Vec<(f64, Estimate)>,
}

/// A plot, before it is drawn.
struct Plot<'a> {
    file: &'a str,
    title: &'a str,
    across: &'a str,
    lines: Vec<Line>,
}

/// Draws every plot into a folder.
pub(crate) fn draw(out: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let Some(middle) = tables::by_cell(&outcome.cells).next() else {
        return Ok(());
    };
    let mut plots: Vec<Plot<'_>> = [
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
    .map(|(measure, file, title)| Plot {
        file,
        title,
        across: "runs",
        lines: middle.iter().map(|it| curve(it, measure)).collect(),
    })
    .into();
    plots.push(Plot {
        file: "forgetting.svg",
        title: "Broken claims that are still shown (%)",
        across: "runs after the change that broke them",
        lines: middle.iter().map(forgetting).collect(),
    });
    if !outcome.recurrence.is_empty() {
        plots.push(Plot {
            file: "recurrence.svg",
            title: "False claims among those surfaced (%)",
            across: "how often an agent that did not see a certain mistake makes it (%)",
            lines: recurrence(outcome),
        });
    }
    plots.iter().try_for_each(|plot| plot.draw(out))
}

fn curve(it: &CellResult, measure: Measure) -> Line {
    let points = it.curve(measure).into_iter().enumerate();
    Line {
        policy: it.policy,
        points: points
            .map(|(at, it)| (((at + 1) * WINDOW) as f64, it))
            .collect(),
    }
}

fn forgetting(it: &CellResult) -> Line {
    let points = it.forgetting().into_iter().enumerate();
    Line {
        policy: it.policy,
        points: points.map(|(at, it)| ((at + 1) as f64, it)).collect(),
    }
}

/// The end of lives by how often the same mistake is made, the middle cell among them.
fn recurrence(outcome: &Outcome) -> Vec<Line> {
    let middle = tables::by_cell(&outcome.cells).take(1);
    let mut cells: Vec<&[CellResult]> =
        tables::by_cell(&outcome.recurrence).chain(middle).collect();
    let rate = |cell: &[CellResult]| cell.first().map_or(0.0, |it| it.parameters.recurrence);
    cells.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let line = |policy: Name| {
        let points = cells.iter().flat_map(|cell| {
            let of = cell.iter().filter(move |it| it.policy == policy);
            of.map(|it| (100.0 * rate(cell), it.estimate(Measure::FalseSurfaced)))
        });
        Line {
            policy,
            points: points.collect(),
        }
    };
    Name::ALL.into_iter().map(line).collect()
}

impl Plot<'_> {
    fn draw(&self, out: &Path) -> Result<(), Failure> {
        let path = out.join(self.file);
        let drawn = self.draw_at(&path);
        drawn.map_err(|error| Failure::Plot {
            path: path.clone(),
            message: error.to_string(),
        })
    }

    fn draw_at(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let right = points().map(|(x, _)| *x).fold(1.0, f64::max);
        let top = points().map(|(_, y)| 100.0 * y.high).fold(5.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(48)
            .build_cartesian_2d(0.0..ROOM * right, 0.0..(1.05 * top).min(100.0))?;
        let whole = |number: &f64| format!("{number:.0}");
        chart
            .configure_mesh()
            .x_desc(self.across)
            .x_label_formatter(&|x| if *x <= right { whole(x) } else { String::new() })
            .y_label_formatter(&whole)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for line in &self.lines {
            let colour = colour(line.policy);
            let bounds = [|y: &Estimate| y.low, |y: &Estimate| y.high];
            for bound in bounds {
                let points = line.points.iter().map(|(x, y)| (*x, 100.0 * bound(y)));
                chart.draw_series(LineSeries::new(points, colour.mix(0.3)))?;
            }
            let points = line.points.iter().map(|(x, y)| (*x, 100.0 * y.mean));
            let style = colour.stroke_width(2);
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

/// Colours that people who do not see all of them can tell apart (Okabe and Ito).
fn colour(policy: Name) -> RGBColor {
    match policy {
        Name::Ken => RGBColor(0, 114, 178),
        Name::KeepEverything => RGBColor(0, 0, 0),
        Name::Reinforcement => RGBColor(213, 94, 0),
        Name::TimeDecay => RGBColor(230, 159, 0),
        Name::Citation => RGBColor(0, 158, 115),
    }
}
