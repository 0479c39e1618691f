//! Convergence: replicas with the same events have the same state bytes, a second fold agrees, and
//! every value follows from the events.
//!
//! 10,000 histories, 1,000,000 with `KEN_LONG=1`, split over tests that run in parallel.

use ken_testkit::any_event::{STEPS, STEPS_LIGHT, STEPS_LONG, any_histories};
use ken_testkit::laws::{self, CaseShare, FoldedHistory};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/regressions/convergence.txt"
);

macro_rules! share {
    ($name:ident, $steps:expr, $share:expr) => {
        proptest! {
            #![proptest_config(laws::proptest_config($share, REGRESSIONS))]

            #[test]
            fn $name(history in any_histories($steps), seed: u64) {
                let folded = FoldedHistory::of(&history);
                laws::check_convergence(&folded, seed)?;
                laws::check_values(&folded)?;
            }
        }
    };
}

share!(
    replicas_converge_and_keep_their_values_1,
    STEPS_LIGHT,
    CaseShare::percent(31)
);
share!(
    replicas_converge_and_keep_their_values_2,
    STEPS_LIGHT,
    CaseShare::percent(31)
);
share!(
    replicas_converge_and_keep_their_values_3,
    STEPS_LIGHT,
    CaseShare::percent(31)
);
share!(
    replicas_with_more_to_say_converge_too,
    STEPS,
    CaseShare::percent(6)
);
share!(
    replicas_with_long_histories_converge_too,
    STEPS_LONG,
    CaseShare::percent(1)
);
