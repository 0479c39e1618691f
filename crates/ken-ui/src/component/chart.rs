//! Charts as SVG, drawn on the server. Colors are classes, so dark mode and print are left to the
//! stylesheet. Every chart has a description in words.

use ken_core::trust::impact::ImpactEstimate;
use maud::{Markup, html};

use crate::view::ConfidencePoint;

/// Width and height of a line chart.
const LINE_BOX: (f64, f64) = (600.0, 120.0);

/// Width and height of a bar chart.
const BARS_BOX: (f64, f64) = (600.0, 80.0);

/// Width of a row of the forest plot.
const FOREST_WIDTH: f64 = 240.0;

/// Renders a share as a bar of 50 units.
pub(crate) fn bar(share: f64) -> Markup {
    let width = (share * 50.0).round();
    html! {
        svg.meter viewBox="0 0 50 8" width="50" height="8" aria-hidden="true" {
            rect.track width="50" height="8" rx="2" {}
            rect.fill width=(width) height="8" rx="2" {}
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// Renders a confidence over time with its 80 % interval.
pub(crate) fn confidence_chart(points: &[ConfidencePoint], description: &str) -> Markup {
    let (width, height) = LINE_BOX;
    let step = width / (points.len().max(2) - 1) as f64;
    let x = |at: usize| number(at as f64 * step);
    let y = |value: f64| number(height - value.clamp(0.0, 1.0) * height);
    let line = |value: fn(&ConfidencePoint) -> f64| {
        let points = points.iter().enumerate();
        let points = points.map(|(at, point)| format!("{},{}", x(at), y(value(point))));
        points.collect::<Vec<_>>()
    };
    let mut band = line(|it| it.high);
    let mut low = line(|it| it.low);
    low.reverse();
    band.extend(low);
    html! {
        svg.chart viewBox={ "0 0 " (width) " " (height) } role="img" preserveAspectRatio="none" {
            title { "Confidence over time" }
            desc { (description) }
            line.grid x1="0" x2=(width) y1=(y(0.5)) y2=(y(0.5)) {}
            polygon.band points=(band.join(" ")) {}
            polyline.line points=(line(|it| it.mean).join(" ")) {}
        }
    }
}

/// Renders numbers as bars; each has its label as a title.
pub(crate) fn bar_chart(title: &str, values: &[(String, f64)]) -> Markup {
    let (width, height) = BARS_BOX;
    let most = values
        .iter()
        .map(|(_, it)| *it)
        .fold(0.0, f64::max)
        .max(1.0);
    let step = width / values.len().max(1) as f64;
    html! {
        svg.chart viewBox={ "0 0 " (width) " " (height) } role="img" preserveAspectRatio="none" {
            title { (title) }
            @for (at, (label, value)) in values.iter().enumerate() {
                @let tall = value / most * (height - 2.0);
                rect.fill x=(number(at as f64 * step + 1.0)) y=(number(height - tall)) width=(number((step - 2.0).max(1.0))) height=(number(tall)) {
                    title { (label) ": " (value) }
                }
            }
        }
    }
}

/// Renders the impact of one entry as a row of a forest plot, from −100 to +100 points.
pub(crate) fn impact_row(impact: ImpactEstimate) -> Markup {
    let ImpactEstimate::Measured(it) = impact else {
        return html! {};
    };
    let x = |share: f64| number((share.clamp(-1.0, 1.0) + 1.0) / 2.0 * FOREST_WIDTH);
    html! {
        svg.forest viewBox={ "0 0 " (FOREST_WIDTH) " 16" } width=(FOREST_WIDTH) height="16" aria-hidden="true" {
            line.grid x1=(x(0.0)) x2=(x(0.0)) y1="0" y2="16" {}
            line.line x1=(x(it.low)) x2=(x(it.high)) y1="8" y2="8" {}
            circle.dot cx=(x(it.difference)) cy="8" r="4" {}
        }
    }
}

/// Returns an impact in words.
pub(crate) fn impact_text(impact: ImpactEstimate) -> String {
    let points = |share: f64| format!("{:+.0}", share * 100.0);
    match impact {
        ImpactEstimate::TooFew { shown, withheld } => {
            format!("too few outcomes: {shown} with it, {withheld} without")
        }
        ImpactEstimate::Measured(it) => format!(
            "{} points with it ({} to {}), {} runs with it, {} without",
            points(it.difference),
            points(it.low),
            points(it.high),
            it.shown,
            it.withheld
        ),
    }
}

#[cfg(test)]
mod tests {
    use ken_core::trust::impact::MeasuredImpact;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_confidence_chart_stays_inside_its_box(values in prop::collection::vec((-1.0..2.0, -1.0..2.0, -1.0..2.0), 0..20)) {
            let points: Vec<ConfidencePoint> = values.iter().map(|(low, mean, high)| ConfidencePoint {
                on: Default::default(), low: *low, mean: *mean, high: *high,
            }).collect();
            let rendered = confidence_chart(&points, "x").0;
            let coordinates = rendered.split("points=\"").skip(1).flat_map(|it| {
                it.split('"').next().unwrap_or_default().split([' ', ',']).filter(|it| !it.is_empty())
            });
            for coordinate in coordinates {
                let value: f64 = coordinate.parse().expect("a number");
                prop_assert!((0.0..=600.0).contains(&value));
            }
        }
    }

    #[test]
    fn an_impact_is_described_in_points() {
        let measured = ImpactEstimate::Measured(MeasuredImpact {
            difference: 0.11,
            low: 0.02,
            high: 0.2,
            shown: 20,
            withheld: 11,
        });
        assert_eq!(
            impact_text(measured),
            "+11 points with it (+2 to +20), 20 runs with it, 11 without"
        );
        let few = ImpactEstimate::TooFew {
            shown: 3,
            withheld: 1,
        };
        assert_eq!(impact_text(few), "too few outcomes: 3 with it, 1 without");
    }
}
