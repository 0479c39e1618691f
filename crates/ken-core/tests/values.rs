//! Effect of the next event in any history, and resistance to a wrong clock.

use ken_core::values::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::values::id::NodeId;
use ken_core::values::time::Timestamp;
use ken_testkit::any_event::{STEPS_LIGHT, any_histories, honest_histories};
use ken_testkit::laws::{self, CaseShare, FoldedHistory};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/values.txt");

proptest! {
    #![proptest_config(laws::proptest_config(CaseShare::percent(20), REGRESSIONS))]

    #[test]
    fn a_rewording_wins_over_what_it_saw_even_from_2099(history in honest_histories(STEPS_LIGHT)) {
        laws::check_revisions_win(&FoldedHistory::of(&history))?;
    }

    /// Primed agreement changes nothing; archiving and restoring returns the old status.
    #[test]
    fn the_next_event_does_what_it_says(history in any_histories(STEPS_LIGHT)) {
        laws::check_next_events(&FoldedHistory::of(&history))?;
    }

    #[test]
    fn absorbing_equals_refolding(history in any_histories(STEPS_LIGHT), seed: u64) {
        laws::check_absorb_equals_refold(&history, seed)?;
    }
}

proptest! {
    #![proptest_config(laws::proptest_config(CaseShare::percent(100), REGRESSIONS))]

    #[test]
    fn the_clock_is_monotone_within_its_bounds(
        now in 0..Timestamp::MAX.millis(),
        ahead in 0..2 * DRIFT_MAX_MS,
        behind in 0..2 * DRIFT_MAX_MS,
        counter: u16,
    ) {
        let now = Timestamp::from_millis(now);
        let limit = now.plus_millis(DRIFT_MAX_MS);
        let earlier = Timestamp::from_millis(now.millis().saturating_sub(behind));
        for wall in [now.plus_millis(ahead), earlier, now] {
            for counter in [counter, u16::MAX] {
                let seen = Hlc { wall, counter, node: NodeId::new(9) };
                let next = Hlc::next(NodeId::new(1), now, Some(seen));
                prop_assert!(now <= next.wall && next.wall <= limit);
                prop_assert_eq!(next.node, NodeId::new(1));
                prop_assert!(limit <= wall || seen < next, "{seen} then {next}");
            }
        }
    }
}
