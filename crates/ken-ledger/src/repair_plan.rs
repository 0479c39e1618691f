//! Pure computation of the contents that a segment damaged by a crash should have.
//!
//! Invariant: no complete event is dropped, whether the journal lists it or only the segment has
//! it. Dropped bytes are returned.

use std::collections::BTreeSet;

use crate::segment::{LineEnding, parse_line, raw_lines};

/// Repair of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SegmentRepair {
    /// The repaired content; `None` if the segment needs no repair.
    pub(crate) content: Option<Vec<u8>>,
    /// Number of missing events.
    pub(crate) missing: u64,
    /// Invalid bytes with their line number.
    pub(crate) aside: Vec<(u64, Vec<u8>)>,
}

/// Compares a segment's bytes with the `expected` lines, in their order.
pub(crate) fn plan_repair(bytes: &[u8], expected: &[String]) -> SegmentRepair {
    let wanted: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    let mut present = BTreeSet::new();
    let mut extra = Vec::new();
    let mut aside = Vec::new();
    let mut whole = true;
    for (number, text, ending) in raw_lines(bytes) {
        whole &= ending == LineEnding::Newline;
        match std::str::from_utf8(text) {
            Ok(line) if wanted.contains(line) => {
                present.insert(line);
            }
            Ok(line) if parse_line(text).is_ok() => extra.push(line),
            _ => {
                whole = false;
                // A prefix of an expected line is a torn write of that line and contains nothing
                // else.
                let known = expected
                    .iter()
                    .any(|line| line.as_bytes().starts_with(text));
                if !known {
                    aside.push((number, text.to_owned()));
                }
            }
        }
    }
    let missing = (wanted.len() - present.len()) as u64;
    let lines = expected.iter().map(String::as_str).chain(extra);
    let content = (!whole || missing > 0).then(|| {
        lines
            .flat_map(|line| [line, "\n"])
            .collect::<String>()
            .into_bytes()
    });
    SegmentRepair {
        content,
        missing,
        aside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn lines(range: std::ops::Range<u64>) -> Vec<String> {
        range.map(|n| sample::event(n).line().to_owned()).collect()
    }

    fn text(lines: &[String]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn every_cut_of_a_segment_is_filled_up_from_the_journal() {
        let expected = lines(1..4);
        let whole = text(&expected);
        for cut in 0..whole.len() {
            let mended = plan_repair(&whole.as_bytes()[..cut], &expected);
            assert_eq!(
                mended.content.as_deref(),
                Some(whole.as_bytes()),
                "cut at {cut}"
            );
            assert_eq!(mended.aside, [], "cut at {cut}");
        }
        assert_eq!(plan_repair(whole.as_bytes(), &expected).content, None);
    }

    #[test]
    fn zeros_in_the_unsynced_part_are_put_aside_and_replaced() {
        let expected = lines(1..4);
        let whole = text(&expected);
        let keep = expected[0].len() + 1;
        let mut hurt = whole.clone().into_bytes();
        hurt[keep..keep + 40].fill(0);
        let mended = plan_repair(&hurt, &expected);
        assert_eq!(mended.content.as_deref(), Some(whole.as_bytes()));
        assert_eq!(mended.missing, 1);
        assert_eq!(mended.aside.len(), 1);
        assert_eq!(mended.aside[0].0, 2);
    }

    #[test]
    fn an_event_only_the_segment_has_is_kept() {
        let all = lines(1..4);
        let mended = plan_repair(text(&all[1..]).as_bytes(), &all[..2]);
        let content = String::from_utf8(mended.content.unwrap()).unwrap();
        assert_eq!(content, text(&all));
        assert_eq!(plan_repair(text(&all).as_bytes(), &all[..2]).content, None);
    }

    #[test]
    fn a_whole_event_without_its_newline_gets_one() {
        let one = lines(1..2);
        let mended = plan_repair(one[0].as_bytes(), &[]);
        assert_eq!(mended.content.as_deref(), Some(text(&one).as_bytes()));
        assert_eq!(mended.aside, []);
    }
}
