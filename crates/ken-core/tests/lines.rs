//! Event lines, the stored and transmitted form: a line parses back, survives redaction, and a
//! changed byte is detected.

use ken_testkit::any_event::{STEPS_LIGHT, any_histories};
use ken_testkit::laws::{self, CaseShare};
use proptest::prelude::*;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/lines.txt");

proptest! {
    #![proptest_config(laws::proptest_config(CaseShare::percent(20), REGRESSIONS))]

    #[test]
    fn lines_survive_reading_blanking_and_keeping(history in any_histories(STEPS_LIGHT)) {
        laws::check_lines_round_trip(&history)?;
    }

    #[test]
    fn a_changed_byte_is_noticed(
        history in any_histories(STEPS_LIGHT),
        place in 0..10_000usize,
        by: u8,
    ) {
        laws::check_corruption_detected(&history, place, by)?;
    }
}
