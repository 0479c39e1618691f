//! Texts for the measured impact of an entry and the confidence in it.

use std::fmt::Write as _;

use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::Validity;
use ken_core::trust::impact::{ImpactEstimate, MeasuredImpact};
use ken_core::trust::rediscovery::{RediscoveryEvidence, RediscoveryMode};
use ken_core::values::text::enum_label;
use ken_engine::impact::ConfidenceReport;

use super::pluralize;

/// Columns of a chart on each side of zero.
const CHART_SIDE_COLUMNS: usize = 20;

/// Renders a measured impact, with a chart if there are enough runs.
pub(crate) fn impact_text(impact: ImpactEstimate) -> String {
    match impact {
        ImpactEstimate::TooFew { shown, withheld } => {
            // The smaller group limits the estimate.
            let fewer = shown.min(withheld);
            format!("not enough runs yet (n = {fewer})")
        }
        ImpactEstimate::Measured(lift) => format!(
            "{}  {:+.0} points, 95% interval {:+.0} to {:+.0}; {} with, {} without",
            interval_chart(lift),
            100.0 * lift.difference,
            100.0 * lift.low,
            100.0 * lift.high,
            lift.shown,
            lift.withheld,
        ),
    }
}

/// Draws an interval on a scale from -1 to 1 with zero in the middle.
fn interval_chart(lift: MeasuredImpact) -> String {
    let column = |value: f64| {
        let scaled = (value.clamp(-1.0, 1.0) + 1.0) * CHART_SIDE_COLUMNS as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between zero and the width"
        )]
        let index = scaled.round() as usize;
        index
    };
    let (low, middle, high) = (column(lift.low), column(lift.difference), column(lift.high));
    let mark = |at: usize| match at {
        // The estimate first: it lies inside the interval and must not be hidden by it.
        _ if at == middle => '●',
        _ if (low..=high).contains(&at) => '━',
        CHART_SIDE_COLUMNS => '┼',
        _ => '─',
    };
    (0..=2 * CHART_SIDE_COLUMNS).map(mark).collect()
}

/// Renders the data behind the confidence in an entry, one line each.
pub(crate) fn confidence_details(entry: &Entry, grounds: &ConfidenceReport) -> String {
    let mut text = String::new();
    let confirmation = &entry.confirmation;
    let posterior = grounds.posterior;
    let validity = match grounds.validity {
        // For an entry without anchors and conditions, "unverifiable" would sound like a defect.
        Validity::Unverifiable => "no anchors or conditions to check".to_owned(),
        Validity::Holds if entry.is_checked_by_existence() => "the file exists".to_owned(),
        known @ (Validity::Holds | Validity::Changed | Validity::Broken) => enum_label(&known),
    };
    let lines = [
        ("code", validity),
        (
            "found again",
            format!(
                "{} independent, {} by a person, {} primed, {} unwitnessed",
                confirmation.independent,
                confirmation.manual,
                confirmation.primed,
                confirmation.unwitnessed
            ),
        ),
        (
            "since then",
            format!(
                "shown in {} of {} runs, {} of {} chances to find it independently",
                grounds.since.shown,
                grounds.policy.reviews,
                grounds.since.blind,
                grounds.policy.chances,
            ),
        ),
        (
            "confidence",
            format!(
                "{:.2} after {} ({})",
                posterior.mean(),
                pluralize(
                    round_count(posterior.observations()),
                    "observation",
                    "observations"
                ),
                enum_label(&posterior.strength()),
            ),
        ),
        ("impact", impact_text(grounds.impact)),
    ];
    let rediscovery = grounds.policy.rediscovery;
    let evidence = rediscovery.evidence(entry);
    let belief = evidence.map(|it| ("belief", belief_text(it, rediscovery.mode)));
    let _ = writeln!(text);
    for (name, value) in lines.into_iter().chain(belief) {
        let _ = writeln!(text, "{name:<12}  {value}");
    }
    text
}

fn belief_text(evidence: RediscoveryEvidence, mode: RediscoveryMode) -> String {
    let use_of_belief = match mode {
        RediscoveryMode::Observe => "not used",
        RediscoveryMode::Rank => "ranks",
        RediscoveryMode::Gate => "ranks and gates",
    };
    // "0 times in 0 chances" would read like a failure to find it.
    let finds = if evidence.chances == 0 {
        "no chance to find it independently yet".to_owned()
    } else {
        evidence.to_string()
    };
    format!("{:.2}, {finds} ({use_of_belief})", evidence.belief)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small count"
)]
fn round_count(observations: f64) -> u64 {
    observations.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift(low: f64, difference: f64, high: f64) -> MeasuredImpact {
        MeasuredImpact {
            difference,
            low,
            high,
            shown: 20,
            withheld: 9,
        }
    }

    #[test]
    fn a_chart_shows_the_interval_beside_zero() {
        insta::assert_snapshot!(interval_chart(lift(-0.1, 0.25, 0.55)), @"
        ──────────────────━━━━━━━●━━━━━━─────────
        ");
        insta::assert_snapshot!(interval_chart(lift(-1.0, -1.0, -0.5)), @"
        ●━━━━━━━━━━─────────┼────────────────────
        ");
    }

    #[test]
    fn too_few_runs_are_an_answer() {
        let few = ImpactEstimate::TooFew {
            shown: 30,
            withheld: 4,
        };
        assert_eq!(impact_text(few), "not enough runs yet (n = 4)");
    }
}
