//! How the room at the start of work is shared out among what there is to tell.
//!
//! Everything has its share; what one leaves unused goes to the others, in their order.

/// What may be told when work begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What is known about what is in hand.
    TaskKnowledge,
    /// What was found here lately.
    Observations,
    /// Norms that hold.
    StructuredFacts,
    /// How earlier work ended.
    RoundHistory,
    /// What this very conversation wrote down before.
    ScratchMemory,
}

impl Scope {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// Every one, in the order in which they are given what is left.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TaskKnowledge,
        Self::Observations,
        Self::StructuredFacts,
        Self::RoundHistory,
        Self::ScratchMemory,
    ];

    /// Returns its share of the room, in hundredths.
    pub fn percent(self) -> usize {
        match self {
            Self::TaskKnowledge => 35,
            Self::Observations => 20,
            Self::StructuredFacts | Self::RoundHistory | Self::ScratchMemory => 15,
        }
    }
}

/// Shares `room` out among what each of [`Scope::ALL`] wants, in the same order.
pub fn share_out(room: usize, wanted: [usize; Scope::COUNT]) -> [usize; Scope::COUNT] {
    let mut given = [0; Scope::COUNT];
    let mut left = room;
    for (at, scope) in Scope::ALL.into_iter().enumerate() {
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
    fn inj_30_inj_31_inj_32_inj_33_inj_34_a_full_room_is_shared_by_the_percentages() {
        assert_eq!(share_out(1000, [9000; 5]), [350, 200, 150, 150, 150]);
        let all: usize = Scope::ALL.into_iter().map(Scope::percent).sum();
        assert_eq!(all, 100);
    }

    #[test]
    fn what_one_leaves_goes_to_the_others_in_their_order() {
        assert_eq!(share_out(1000, [900, 0, 0, 300, 0]), [850, 0, 0, 150, 0]);
        assert_eq!(share_out(1000, [0, 0, 0, 9, 9]), [0, 0, 0, 9, 9]);
        assert_eq!(share_out(1000, [400, 9000, 0, 0, 0]), [400, 600, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_it_wants_and_nothing_is_wasted(
            room in 0..5000_usize,
            wanted in proptest::array::uniform5(0..3000_usize),
        ) {
            let given = share_out(room, wanted);
            let (all, asked): (usize, usize) = (given.iter().sum(), wanted.iter().sum());
            prop_assert!(given.iter().zip(wanted).all(|(given, wanted)| *given <= wanted));
            prop_assert_eq!(all, room.min(asked));
        }
    }
}
