//! What an entry is worth and what is believed of it, drawn for people.

use std::fmt::Write as _;

use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::lift::{Lift, Worth};
use ken_core::text::word;
use ken_engine::lift::Grounds;

use super::counted;

/// Columns of a chart: one for zero and as many on each side.
const SIDE: usize = 20;

/// Returns a worth in words, with its chart where something is known.
pub(crate) fn worth_text(worth: Worth) -> String {
    match worth {
        Worth::TooFew { shown, withheld } => {
            let fewer = shown.min(withheld);
            format!("not enough runs yet (n = {fewer})")
        }
        Worth::Measured(lift) => format!(
            "{}  {:+.0} points, 95 % between {:+.0} and {:+.0}; {} with, {} without",
            chart(lift),
            100.0 * lift.difference,
            100.0 * lift.low,
            100.0 * lift.high,
            lift.shown,
            lift.withheld,
        ),
    }
}

/// Draws an interval between minus one and one, the zero in the middle.
fn chart(lift: Lift) -> String {
    let column = |value: f64| {
        let at = (value.clamp(-1.0, 1.0) + 1.0) * SIDE as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between zero and the width"
        )]
        let at = at.round() as usize;
        at
    };
    let (low, middle, high) = (column(lift.low), column(lift.difference), column(lift.high));
    let mark = |at: usize| match at {
        _ if at == middle => '●',
        _ if (low..=high).contains(&at) => '━',
        SIDE => '┼',
        _ => '─',
    };
    (0..=2 * SIDE).map(mark).collect()
}

/// Returns what is believed of an entry, a line each.
pub(crate) fn grounds_text(entry: &Entry, grounds: &Grounds) -> String {
    let mut text = String::new();
    let found = &entry.confirmation;
    let posterior = grounds.posterior;
    let validity = match grounds.validity {
        Validity::Unverifiable => "nothing to look up".to_owned(),
        known @ (Validity::Holds | Validity::Changed | Validity::Broken) => word(&known),
    };
    let lines = [
        ("code", validity),
        (
            "found again",
            format!(
                "{} independent, {} by a person, {} primed, {} unwitnessed",
                found.independent, found.manual, found.primed, found.unwitnessed
            ),
        ),
        (
            "since then",
            format!(
                "shown in {} of {} runs, {} of {} chances to find it unseen",
                grounds.since.shown,
                grounds.policy.reviews,
                grounds.since.blind,
                grounds.policy.chances,
            ),
        ),
        (
            "helps",
            format!(
                "{:.2} after {} ({})",
                posterior.mean(),
                counted(
                    observed(posterior.observations()),
                    "observation",
                    "observations"
                ),
                word(&posterior.strength()),
            ),
        ),
        ("worth", worth_text(grounds.worth)),
    ];
    let _ = writeln!(text);
    for (name, said) in lines {
        let _ = writeln!(text, "{name:<12}  {said}");
    }
    text
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small count"
)]
fn observed(observations: f64) -> u64 {
    observations.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift(low: f64, difference: f64, high: f64) -> Lift {
        Lift {
            difference,
            low,
            high,
            shown: 20,
            withheld: 9,
        }
    }

    #[test]
    fn a_chart_shows_the_interval_beside_zero() {
        insta::assert_snapshot!(chart(lift(-0.1, 0.25, 0.55)), @"
        ──────────────────━━━━━━━●━━━━━━─────────
        ");
        insta::assert_snapshot!(chart(lift(-1.0, -1.0, -0.5)), @"
        ●━━━━━━━━━━─────────┼────────────────────
        ");
    }

    #[test]
    fn too_few_runs_are_an_answer() {
        let few = Worth::TooFew {
            shown: 30,
            withheld: 4,
        };
        assert_eq!(worth_text(few), "not enough runs yet (n = 4)");
    }
}
