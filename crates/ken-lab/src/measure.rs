//! What is measured in a life, as curves over its runs and as one figure at its end.

use serde::Serialize;

use crate::grid::{LAST, WATCHED, WINDOW};
use crate::world::ClaimId;

/// What can be seen of the knowledge after one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Entries shown, counted for each agent.
    pub surfaced: usize,
    pub surfaced_false: usize,
    /// Facts of the area the run worked in, and those of them somebody was shown.
    pub facts_here: usize,
    pub facts_surfaced: usize,
    /// Facts that are true now, those of them that were an entry once, and those that would be shown.
    pub facts: usize,
    pub facts_known_once: usize,
    pub facts_showable: usize,
    /// True claims, known before, that were found by agents who were not shown them.
    pub found_again: usize,
    /// Claims that were taken back and can be shown again.
    pub resurrected: usize,
    pub agents: usize,
    pub succeeded: usize,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// False claims among everything surfaced.
    FalseSurfaced,
    /// Of the true claims that were taken up once, the share that would be shown.
    Retained,
    /// Of all facts that are true, the share that would be shown.
    Known,
    /// Of the facts of the area a run worked in, the share that somebody was shown.
    Reached,
    /// Work that succeeded.
    Success,
    /// Of the 100 runs after a breaking change, those after which the broken claim would still be shown.
    Forgetting,
    /// True claims found again by agents that were not shown them, in 100 runs of an agent.
    Relearning,
    /// Claims that were taken back and came back, in a whole life.
    Resurrections,
}

impl Measure {
    /// Every measure, in the order of the tables.
    pub const ALL: [Self; 8] = [
        Self::FalseSurfaced,
        Self::Retained,
        Self::Known,
        Self::Reached,
        Self::Success,
        Self::Forgetting,
        Self::Relearning,
        Self::Resurrections,
    ];

    /// Returns the word used in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::FalseSurfaced => "false_surfaced",
            Self::Retained => "retained",
            Self::Known => "known",
            Self::Reached => "reached",
            Self::Success => "success",
            Self::Forgetting => "forgetting",
            Self::Relearning => "relearning",
            Self::Resurrections => "resurrections",
        }
    }

    /// Returns the figure some moments give; measures of a whole life have none.
    fn of(self, moments: &[Moment]) -> f64 {
        let sum = |count: fn(&Moment) -> usize| moments.iter().map(count).sum::<usize>();
        match self {
            Self::FalseSurfaced => share(sum(|it| it.surfaced_false), sum(|it| it.surfaced)),
            Self::Retained => share(sum(|it| it.facts_showable), sum(|it| it.facts_known_once)),
            Self::Known => share(sum(|it| it.facts_showable), sum(|it| it.facts)),
            Self::Reached => share(sum(|it| it.facts_surfaced), sum(|it| it.facts_here)),
            Self::Success => share(sum(|it| it.succeeded), sum(|it| it.agents)),
            Self::Relearning => 100.0 * share(sum(|it| it.found_again), sum(|it| it.agents)),
            Self::Resurrections => sum(|it| it.resurrected) as f64,
            Self::Forgetting => 0.0,
        }
    }
}

/// A broken claim, and after which runs since then it would still have been shown.
#[derive(Clone, Debug, PartialEq)]
struct Break {
    run: usize,
    claim: ClaimId,
    showable: Vec<bool>,
}

/// Everything seen in one life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Life {
    moments: Vec<Moment>,
    breaks: Vec<Break>,
}

/// The curves and figures of one life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// One value for each measure, in the order of [`Measure::ALL`].
    pub last: Vec<f64>,
    /// For each measure its value in every window of runs.
    pub curves: Vec<Vec<f64>>,
    /// The share of broken claims that would be shown so many runs after they broke.
    pub forgetting: Vec<f64>,
}

impl Life {
    /// Adds what was seen after a run.
    pub fn add(&mut self, moment: Moment) {
        self.moments.push(moment);
    }

    /// Notes that a claim broke; only one that would have been shown can be forgotten.
    pub fn broke(&mut self, run: usize, claim: ClaimId, was_showable: bool) {
        if was_showable {
            self.breaks.push(Break {
                run,
                claim,
                showable: Vec::new(),
            });
        }
    }

    /// Returns the broken claims that are still watched.
    pub fn watched(&self, run: usize) -> impl Iterator<Item = ClaimId> + '_ {
        let watched = self.breaks.iter().filter(move |it| it.is_watched(run));
        watched.map(|it| it.claim)
    }

    /// Notes which of the watched claims would be shown.
    pub fn watch(&mut self, run: usize, showable: &[bool]) {
        let watched = self.breaks.iter_mut().filter(|it| it.is_watched(run));
        for (it, showable) in watched.zip(showable) {
            it.showable.push(*showable);
        }
    }

    /// Returns the moments, one for each run.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Adds everything up.
    pub fn figures(&self) -> Figures {
        let last = &self.moments[self.moments.len().saturating_sub(LAST)..];
        let figure = |measure: Measure| match measure {
            Measure::Forgetting => self.forgetting().iter().sum(),
            Measure::Resurrections => measure.of(&self.moments),
            Measure::FalseSurfaced
            | Measure::Retained
            | Measure::Known
            | Measure::Reached
            | Measure::Success
            | Measure::Relearning => measure.of(last),
        };
        let curve = |measure: Measure| {
            let windows = self.moments.chunks(WINDOW);
            windows.map(|moments| measure.of(moments)).collect()
        };
        Figures {
            last: Measure::ALL.into_iter().map(figure).collect(),
            curves: Measure::ALL.into_iter().map(curve).collect(),
            forgetting: self.forgetting(),
        }
    }

    /// Returns the share of broken claims that would be shown, for each run after the change. Claims that
    /// broke too late to be watched to the end are left out.
    fn forgetting(&self) -> Vec<f64> {
        let whole = self.breaks.iter().filter(|it| it.showable.len() == WATCHED);
        let whole: Vec<&Break> = whole.collect();
        let after = |run: usize| whole.iter().filter(|it| it.showable[run]).count();
        (0..WATCHED)
            .map(|run| share(after(run), whole.len()))
            .collect()
    }
}

impl Break {
    fn is_watched(&self, run: usize) -> bool {
        run < self.run + WATCHED
    }
}

/// Returns a share; of nothing, nothing.
fn share(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}
