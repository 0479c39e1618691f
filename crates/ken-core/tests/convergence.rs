//! Any two replicas that hold the same events hold the same bytes, a second fold agrees, and the
//! values are what the events account for.
//!
//! 10,000 histories, 1,000,000 with `KEN_LONG=1`, divided over tests that run side by side.

use ken_testkit::any_event::{STEPS, STEPS_LIGHT, STEPS_LONG, any_histories};
use ken_testkit::laws::{self, Folded, Share};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/regressions/convergence.txt"
);

macro_rules! share {
    ($name:ident, $steps:expr, $share:expr) => {
        proptest! {
            #![proptest_config(laws::config($share, REGRESSIONS))]

            #[test]
            fn $name(history in any_histories($steps), seed: u64) {
                let folded = Folded::of(&history);
                laws::converges(&folded, seed)?;
                laws::keeps_its_values(&folded)?;
            }
        }
    };
}

share!(
    replicas_converge_and_keep_their_values_1,
    STEPS_LIGHT,
    Share::percent(31)
);
share!(
    replicas_converge_and_keep_their_values_2,
    STEPS_LIGHT,
    Share::percent(31)
);
share!(
    replicas_converge_and_keep_their_values_3,
    STEPS_LIGHT,
    Share::percent(31)
);
share!(
    replicas_with_more_to_say_converge_too,
    STEPS,
    Share::percent(6)
);
share!(
    replicas_with_long_histories_converge_too,
    STEPS_LONG,
    Share::percent(1)
);
