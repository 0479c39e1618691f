//! A line is what is stored and passed on: it reads back, survives blanking, betrays any change.

use ken_testkit::any_event::{STEPS_LIGHT, any_histories};
use ken_testkit::laws::{self, Share};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/lines.txt");

proptest! {
    #![proptest_config(laws::config(Share::percent(20), REGRESSIONS))]

    #[test]
    fn lines_survive_reading_blanking_and_keeping(history in any_histories(STEPS_LIGHT)) {
        laws::lines_survive(&history)?;
    }

    #[test]
    fn a_changed_byte_is_noticed(
        history in any_histories(STEPS_LIGHT),
        place in 0..10_000usize,
        by: u8,
    ) {
        laws::a_changed_byte_is_noticed(&history, place, by)?;
    }
}
