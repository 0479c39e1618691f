//! Token budget shares of the sections of a briefing.
//!
//! Every section has a share; unused tokens go to the other sections, in order.

/// A section of a briefing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BriefingSection {
    /// Entries relevant to the task.
    TaskKnowledge,
    /// Recent findings.
    Observations,
    /// Applicable norms.
    StructuredFacts,
    /// Outcomes of earlier runs.
    RoundHistory,
    /// Notes of the same session.
    ScratchMemory,
}

impl BriefingSection {
    /// Number of sections.
    pub const COUNT: usize = 5;

    /// All sections, in the order in which they receive unused tokens.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TaskKnowledge,
        Self::Observations,
        Self::StructuredFacts,
        Self::RoundHistory,
        Self::ScratchMemory,
    ];

    /// Returns the share of the token budget, in percent.
    pub fn percent(self) -> usize {
        match self {
            Self::TaskKnowledge => 35,
            Self::Observations => 20,
            Self::StructuredFacts | Self::RoundHistory | Self::ScratchMemory => 15,
        }
    }
}

/// Allocates `room` tokens to the sections, whose needs are `wanted` in the order of
/// [`BriefingSection::ALL`].
pub fn allocate_tokens(
    room: usize,
    wanted: [usize; BriefingSection::COUNT],
) -> [usize; BriefingSection::COUNT] {
    let mut given = [0; BriefingSection::COUNT];
    let mut left = room;
    for (at, scope) in BriefingSection::ALL.into_iter().enumerate() {
        // The shares sum to 100 and the division rounds down, so `left` cannot underflow.
        given[at] = wanted[at].min(room * scope.percent() / 100);
        left -= given[at];
    }
    for (given, wanted) in given.iter_mut().zip(wanted) {
        let more = (wanted - *given).min(left);
        *given += more;
        left -= more;
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_room_is_shared_by_the_percentages() {
        assert_eq!(allocate_tokens(1000, [9000; 5]), [350, 200, 150, 150, 150]);
        let all: usize = BriefingSection::ALL
            .into_iter()
            .map(BriefingSection::percent)
            .sum();
        assert_eq!(all, 100);
    }

    #[test]
    fn what_one_leaves_goes_to_the_others_in_their_order() {
        assert_eq!(
            allocate_tokens(1000, [900, 0, 0, 300, 0]),
            [850, 0, 0, 150, 0]
        );
        assert_eq!(allocate_tokens(1000, [0, 0, 0, 9, 9]), [0, 0, 0, 9, 9]);
        assert_eq!(
            allocate_tokens(1000, [400, 9000, 0, 0, 0]),
            [400, 600, 0, 0, 0]
        );
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_it_wants_and_nothing_is_wasted(
            room in 0..5000_usize,
            wanted in proptest::array::uniform5(0..3000_usize),
        ) {
            let given = allocate_tokens(room, wanted);
            let (all, asked): (usize, usize) = (given.iter().sum(), wanted.iter().sum());
            prop_assert!(given.iter().zip(wanted).all(|(given, wanted)| *given <= wanted));
            prop_assert_eq!(all, room.min(asked));
        }
    }
}
