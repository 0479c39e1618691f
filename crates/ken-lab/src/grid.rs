//! Experiment design: cells, settings, seeds and the selection criterion.
//!
//! Everything was decided before the run. The third edition added the modes `rank` and `gate`,
//! without settings to tune, the worlds, and test seeds that no run had used. Cells, tuning seeds
//! and criterion are those of the first edition.
//!
//! **Criterion.** Each policy is tuned in the middle cell on the tuning seeds, which are not used
//! for results. Among its settings whose retention of true claims is within [`RETENTION_TOLERANCE`]
//! of that policy's best, the one with the lowest share of false claims among the surfaced ones is
//! chosen. For each policy this is the setting that is hardest to beat on the target measure
//! without forgetting everything. The chosen setting is then used in every cell.

use ken_core::trust::rediscovery::{RediscoveryMode, RediscoveryPolicy};
use ken_core::trust::review::ReviewPolicy;

use crate::policy::{
    BeliefModel, EntryGate, ExpiryRenewal, KnowledgePolicy, PolicyName, RankingEmphasis,
};
use crate::world::GridCell;

/// Runs per simulation.
pub const RUNS: usize = 500;

/// Runs per day; time decay and expiry count days.
pub const RUNS_PER_DAY: usize = 3;

/// Maximum number of entries shown to an agent.
pub const SHOWN_MAX: usize = 5;

/// Runs per point of a curve.
pub const WINDOW_RUNS: usize = 25;

/// Number of last runs from which results are computed.
pub const RESULT_RUNS: usize = 100;

/// Number of runs after a breaking change in which the broken claim is watched.
pub const WATCHED_RUNS: usize = 100;

/// Seeds of the results. Those of earlier editions are used up: 1000 to 1019 here, 601 to 610 in
/// the trial of rediscovery.
pub const TEST_SEEDS: std::ops::Range<u64> = 2_000..2_020;

/// Seeds of the confirmation, which decides the default mode; see [`crate::confirmation`]. No run
/// used them before.
pub const CONFIRMATION_SEEDS: std::ops::Range<u64> = 2_100..2_120;

/// Seeds for tuning.
pub const TUNING_SEEDS: std::ops::Range<u64> = 1..11;

/// Maximum distance of a setting's retention from the best of its policy.
pub const RETENTION_TOLERANCE: f64 = 0.05;

/// Probabilities of a repeated mistake in a separate table; the grid uses that of [`MIDDLE`].
pub const RECURRENCES: [f64; 4] = [0.002, 0.005, 0.02, 0.05];

/// The cell that all others are derived from.
pub const MIDDLE: GridCell = GridCell {
    detection: 0.3,
    priming: 0.8,
    false_share: 0.25,
    change_rate: 0.08,
    agents: 3,
    recurrence: 0.01,
    reporting: 1.0,
    hidden: 0.0,
    misconceptions: 0.0,
    hostile: 0.0,
};

/// A cell with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCell {
    pub name: &'static str,
    pub cell: GridCell,
}

/// Name of a derived cell and the change that produces it.
type CellStep = (&'static str, fn(&mut GridCell));

/// Each parameter one step down and one step up.
const STEPS: [CellStep; 10] = [
    ("detection 0.15", |it| it.detection = 0.15),
    ("detection 0.5", |it| it.detection = 0.5),
    ("priming 0.5", |it| it.priming = 0.5),
    ("priming 0.95", |it| it.priming = 0.95),
    ("false share 0.1", |it| it.false_share = 0.1),
    ("false share 0.5", |it| it.false_share = 0.5),
    ("changes 0.02", |it| it.change_rate = 0.02),
    ("changes 0.2", |it| it.change_rate = 0.2),
    ("1 agent", |it| it.agents = 1),
    ("5 agents", |it| it.agents = 5),
];

/// The harshest corners: all parameters unfavorable with one agent and with five, facts that are
/// rarely found in stable code, and constant change.
const CORNERS: [NamedCell; 4] = [
    NamedCell {
        name: "all against, 1 agent",
        cell: GridCell {
            agents: 1,
            ..UNFAVORABLE
        },
    },
    NamedCell {
        name: "all against, 5 agents",
        cell: GridCell {
            agents: 5,
            ..UNFAVORABLE
        },
    },
    NamedCell {
        name: "hidden facts, 1 agent",
        cell: GridCell {
            false_share: 0.1,
            change_rate: 0.02,
            agents: 1,
            ..UNFAVORABLE
        },
    },
    NamedCell {
        name: "churn, 5 agents",
        cell: GridCell {
            priming: 0.95,
            change_rate: 0.2,
            agents: 5,
            ..MIDDLE
        },
    },
];

/// All parameters but the number of agents at their worst.
const UNFAVORABLE: GridCell = GridCell {
    detection: 0.15,
    priming: 0.95,
    false_share: 0.5,
    change_rate: 0.2,
    ..MIDDLE
};

/// Returns all cells: the middle, each parameter one step down and up, and four harsh corners.
pub fn cells() -> Vec<NamedCell> {
    let middle = NamedCell {
        name: "middle",
        cell: MIDDLE,
    };
    let steps = STEPS.into_iter().map(derive_cell);
    [middle].into_iter().chain(steps).chain(CORNERS).collect()
}

fn derive_cell((name, change): CellStep) -> NamedCell {
    let mut cell = MIDDLE;
    change(&mut cell);
    NamedCell { name, cell }
}

/// Returns the cells of the table on repeated mistakes.
pub fn recurrence_cells() -> Vec<NamedCell> {
    let names = [
        "recurrence 0.002",
        "recurrence 0.005",
        "recurrence 0.02",
        "recurrence 0.05",
    ];
    // A lower rate means more distinct mistakes, so their share stays the same.
    let cells = RECURRENCES.map(|recurrence| GridCell {
        recurrence,
        ..MIDDLE
    });
    let named = names.into_iter().zip(cells);
    named.map(|(name, cell)| NamedCell { name, cell }).collect()
}

/// Worlds in which rediscovery is hard: agents that report little, facts that are hard to find,
/// mistakes that suggest themselves, and users that confirm their own claims.
const WORLDS: [CellStep; 9] = [
    ("reporting 0.5", |it| it.reporting = 0.5),
    ("reporting 0.3", |it| it.reporting = 0.3),
    ("reporting 1/6", |it| it.reporting = 1.0 / 6.0),
    ("reporting 0.1", |it| it.reporting = 0.1),
    ("reporting 0.05", |it| it.reporting = 0.05),
    ("30 % of facts hidden", |it| it.hidden = 0.3),
    ("5 % misconceptions", |it| it.misconceptions = 0.05),
    ("hidden facts and misconceptions", |it| {
        it.hidden = 0.3;
        it.misconceptions = 0.05;
    }),
    ("hostile in 10 % of runs", |it| it.hostile = 0.1),
];

/// Returns the worlds in which rediscovery is hard.
pub fn world_cells() -> Vec<NamedCell> {
    WORLDS.map(derive_cell).into()
}

/// Returns the settings a policy is tuned over; Ken gets at most as many as any other policy.
pub fn settings(name: PolicyName) -> Vec<KnowledgePolicy> {
    let gates = [EntryGate::Any, EntryGate::Accumulation];
    match name {
        PolicyName::Ken => ken_settings(),
        PolicyName::KenRank => vec![ken(RediscoveryMode::Rank, EntryGate::Accumulation)],
        PolicyName::KenGate => vec![ken(RediscoveryMode::Gate, EntryGate::Accumulation)],
        PolicyName::KeepEverything => product(
            gates,
            [
                RankingEmphasis::Usual,
                RankingEmphasis::ByOutcome,
                RankingEmphasis::ByFreshness,
            ],
        )
        .map(|(gate, ranking)| KnowledgePolicy::KeepEverything { gate, ranking })
        .collect(),
        PolicyName::Reinforcement => product(gates, [3, 5, 10])
            .map(|(gate, reviews)| KnowledgePolicy::Reinforcement { gate, reviews })
            .collect(),
        PolicyName::TimeDecay => product(gates, [15, 30, 60])
            .map(|(gate, half_life_days)| KnowledgePolicy::TimeDecay {
                gate,
                half_life_days,
            })
            .collect(),
        PolicyName::Citation => {
            let renewals = [ExpiryRenewal::Never, ExpiryRenewal::Use].into_iter();
            let of = |renewal| {
                product(gates, [14, 28, 56]).map(move |(gate, expiry_days)| {
                    KnowledgePolicy::Citation {
                        gate,
                        expiry_days,
                        renewal,
                    }
                })
            };
            renewals.flat_map(of).collect()
        }
    }
}

/// Returns the settings that tuning chose in the second edition. Since then only Ken has changed,
/// and its new modes have nothing to tune.
pub fn chosen() -> Vec<KnowledgePolicy> {
    let gate = EntryGate::Accumulation;
    vec![
        KnowledgePolicy::Ken {
            gate,
            review: ReviewPolicy {
                reviews: 3,
                chances: 6,
                ..ReviewPolicy::default()
            },
            model: BeliefModel::Fitted,
        },
        ken(RediscoveryMode::Rank, gate),
        ken(RediscoveryMode::Gate, gate),
        KnowledgePolicy::KeepEverything {
            gate,
            ranking: RankingEmphasis::ByFreshness,
        },
        KnowledgePolicy::Reinforcement { gate, reviews: 3 },
        KnowledgePolicy::TimeDecay {
            gate,
            half_life_days: 15,
        },
        KnowledgePolicy::Citation {
            gate,
            expiry_days: 14,
            renewal: ExpiryRenewal::Use,
        },
    ]
}

/// Returns whether a policy is run in the worlds and with other recurrences: Ken and the strongest
/// of the others.
pub fn is_contender(policy: &KnowledgePolicy) -> bool {
    policy.name().is_ken() || policy.name() == PolicyName::Citation
}

/// Returns Ken's default settings, which are also run separately in [`shipped_cells`].
pub fn shipped() -> KnowledgePolicy {
    ken(RediscoveryMode::Observe, EntryGate::Accumulation)
}

/// Returns Ken in a mode, with default settings otherwise and a model that is fitted.
pub fn ken(mode: RediscoveryMode, gate: EntryGate) -> KnowledgePolicy {
    KnowledgePolicy::Ken {
        gate,
        model: BeliefModel::Fitted,
        review: ReviewPolicy {
            rediscovery: RediscoveryPolicy { mode, fitted: None },
            ..ReviewPolicy::default()
        },
    }
}

/// Returns the cells in which Ken's default settings are run: the middle, the one in which a
/// missing confirmation says least about truth, and the worlds.
pub fn shipped_cells() -> Vec<NamedCell> {
    named_cells(&["middle", "detection 0.15"])
        .chain(world_cells())
        .collect()
}

/// Returns the gate of Ken with every finding accepted as an entry, which waits until it is
/// believed. The engine has no such rule yet.
pub fn open_gate() -> KnowledgePolicy {
    ken(RediscoveryMode::Gate, EntryGate::Any)
}

/// Returns the cells in which [`open_gate`] is run.
pub fn open_gate_cells() -> Vec<NamedCell> {
    named_cells(&["middle", "1 agent", "reporting 1/6"]).collect()
}

/// Returns all cells of the confirmation: the grid and the worlds.
pub fn confirmation_cells() -> Vec<NamedCell> {
    cells().into_iter().chain(world_cells()).collect()
}

/// Returns the policies of the confirmation: the modes of Ken as a workspace has them that nobody
/// configured, and the strongest of the others.
pub fn confirmation_policies() -> Vec<KnowledgePolicy> {
    let ken = RediscoveryMode::ALL.map(|mode| KnowledgePolicy::Ken {
        gate: EntryGate::Accumulation,
        review: ReviewPolicy {
            rediscovery: RediscoveryPolicy { mode, fitted: None },
            ..ReviewPolicy::default()
        },
        model: BeliefModel::Standard,
    });
    // Its settings are those of the other runs, so that the figures compare.
    let chosen = chosen().into_iter();
    let citation = chosen.filter(|it| it.name() == PolicyName::Citation);
    ken.into_iter().chain(citation).collect()
}

fn named_cells(names: &'static [&'static str]) -> impl Iterator<Item = NamedCell> {
    let all = cells().into_iter().chain(world_cells());
    all.filter(|it| names.contains(&it.name))
}

/// Returns the default rule and other numbers of reviews and chances.
fn ken_settings() -> Vec<KnowledgePolicy> {
    let review = |(reviews, chances)| KnowledgePolicy::Ken {
        gate: EntryGate::Accumulation,
        model: BeliefModel::Fitted,
        review: ReviewPolicy {
            reviews,
            chances,
            ..ReviewPolicy::default()
        },
    };
    // The default comes first, because a tie in tuning goes to the first setting.
    product([10, 5, 3], [18, 24, 12, 6]).map(review).collect()
}

fn product<A: Copy, B: Copy, const N: usize, const M: usize>(
    first: [A; N],
    second: [B; M],
) -> impl Iterator<Item = (A, B)> {
    first
        .into_iter()
        .flat_map(move |a| second.into_iter().map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ken_is_tuned_over_no_more_settings_than_the_other_that_has_most() {
        let count = |name| settings(name).len();
        let (ken, others): (Vec<_>, Vec<_>) =
            PolicyName::ALL.into_iter().partition(|name| name.is_ken());
        let most = others.into_iter().map(count).max();
        assert_eq!(ken.into_iter().map(count).max(), most);
        assert_eq!(settings(PolicyName::Ken)[0], shipped());
        assert_eq!((shipped_cells().len(), open_gate_cells().len()), (11, 3));
        assert!(chosen().iter().all(|it| settings(it.name()).contains(it)));
        assert!(
            chosen()
                .iter()
                .map(KnowledgePolicy::name)
                .eq(PolicyName::ALL)
        );
    }

    #[test]
    fn no_setting_is_chosen_on_a_seed_it_is_tested_on() {
        let mut tuning = TUNING_SEEDS;
        assert!(!tuning.any(|seed| TEST_SEEDS.contains(&seed)));
        let used = [1..11, 501..513, 601..611, 1_000..1_020, CONFIRMATION_SEEDS];
        assert!(
            used.into_iter()
                .all(|used| !TEST_SEEDS.clone().any(|it| used.contains(&it)))
        );
        assert_eq!((TEST_SEEDS.count(), CONFIRMATION_SEEDS.count()), (20, 20));
        assert_eq!(cells().len(), 15);
    }
}
