//! What the next event does, whatever happened before; who wins against a wrong clock.

use ken_core::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::id::NodeId;
use ken_core::time::Timestamp;
use ken_testkit::any_event::{STEPS_LIGHT, any_histories, honest_histories};
use ken_testkit::laws::{self, Folded, Share};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/values.txt");

proptest! {
    #![proptest_config(laws::config(Share::percent(20), REGRESSIONS))]

    #[test]
    fn a_rewording_wins_over_what_it_saw_even_from_2099(history in honest_histories(STEPS_LIGHT)) {
        laws::rewordings_win_over_what_they_saw(&Folded::of(&history))?;
    }

    /// Primed agreement moves nothing; archiving and restoring give the old status back.
    #[test]
    fn the_next_event_does_what_it_says(history in any_histories(STEPS_LIGHT)) {
        laws::next_events_do_what_they_say(&Folded::of(&history))?;
    }

    #[test]
    fn absorbing_equals_refolding(history in any_histories(STEPS_LIGHT), seed: u64) {
        laws::absorbing_equals_refolding(&history, seed)?;
    }
}

proptest! {
    #![proptest_config(laws::config(Share::percent(100), REGRESSIONS))]

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
