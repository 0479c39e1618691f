//! Seeded randomness: equal seeds produce equal histories.

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub(crate) struct HistoryRng(u64);

impl HistoryRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// Returns any number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which must not be zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(self.roll() % end).expect("smaller still")
    }

    /// Returns true in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of `items`, or `None` if there are none.
    pub(crate) fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len())].clone())
    }

    /// Returns one of `items` in proportion to its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(T, usize)]) -> T {
        let mut at = self.below(items.iter().map(|(_, weight)| weight).sum());
        for (item, weight) in items {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *item,
            }
        }
        unreachable!("the roll is below the sum of the weights")
    }
}
