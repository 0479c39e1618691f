//! A sample that is the same on every run.

use std::collections::BTreeMap;

use super::edits::Case;

/// Symbols that are anchored.
pub(super) const COUNT: usize = 2000;

const SEED: u64 = 20_261_115;

/// Takes the sample: in turn one of each package, those of a package in an order drawn by lot.
pub(super) fn sample(cases: &[Case]) -> Vec<&Case> {
    let mut lots: BTreeMap<&str, Vec<(u64, &Case)>> = BTreeMap::new();
    let mut state = SEED;
    for case in cases {
        let lot = next(&mut state);
        lots.entry(case.package.name).or_default().push((lot, case));
    }
    for lot in lots.values_mut() {
        lot.sort_by_key(|(lot, _)| *lot);
    }
    let mut taken = Vec::new();
    while taken.len() < COUNT {
        let before = taken.len();
        for lot in lots.values_mut() {
            if taken.len() < COUNT
                && let Some((_, case)) = lot.pop()
            {
                taken.push(case);
            }
        }
        if taken.len() == before {
            break;
        }
    }
    taken
}

/// The next number of SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut it = *state;
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}
