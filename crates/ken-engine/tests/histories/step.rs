//! Random choice of the next step of a history.

use super::history::{GitHistory, HistoryResult};
use super::knowing::EntryCommand;

/// Minimum and maximum number of steps per history.
const STEPS_MIN: usize = 30;
const STEPS_MAX: usize = 80;

#[derive(Clone, Copy, Debug)]
enum HistoryStep {
    Add,
    Touch(EntryCommand),
    AddConcurrently,
    Blank,
    Pack,
    Sync,
    Render,
    EditByHand,
    ConfirmByHand,
    DeleteByHand,
    CommitAll,
    CommitPart,
    Amend,
    Switch,
    Merge,
    Squash,
    Rebase,
    CherryPick,
    Revert,
    Stash,
    StashPop,
    Reset,
    Clean,
    Pull,
    PullRebase,
    Push,
    Prune,
    Worktree,
    CheckState,
}

/// Relative frequency of each step.
const STEP_WEIGHTS: &[(HistoryStep, usize)] = &[
    (HistoryStep::Add, 120),
    (HistoryStep::Touch(EntryCommand::Revise), 90),
    (HistoryStep::Touch(EntryCommand::Cite), 20),
    (HistoryStep::Touch(EntryCommand::Confirm), 50),
    (HistoryStep::Touch(EntryCommand::Retract), 12),
    (HistoryStep::Touch(EntryCommand::Restore), 12),
    (HistoryStep::Touch(EntryCommand::Archive), 12),
    (HistoryStep::Touch(EntryCommand::Link), 12),
    (HistoryStep::Touch(EntryCommand::Mark), 12),
    (HistoryStep::Touch(EntryCommand::Status), 20),
    (HistoryStep::AddConcurrently, 8),
    (HistoryStep::Blank, 25),
    (HistoryStep::Pack, 30),
    (HistoryStep::Sync, 30),
    (HistoryStep::Render, 25),
    (HistoryStep::EditByHand, 70),
    (HistoryStep::ConfirmByHand, 12),
    (HistoryStep::DeleteByHand, 6),
    (HistoryStep::CommitAll, 110),
    (HistoryStep::CommitPart, 50),
    (HistoryStep::Amend, 20),
    (HistoryStep::Switch, 70),
    (HistoryStep::Merge, 90),
    (HistoryStep::Squash, 20),
    (HistoryStep::Rebase, 35),
    (HistoryStep::CherryPick, 25),
    (HistoryStep::Revert, 20),
    (HistoryStep::Stash, 30),
    (HistoryStep::StashPop, 30),
    (HistoryStep::Reset, 25),
    (HistoryStep::Clean, 8),
    (HistoryStep::Pull, 80),
    (HistoryStep::PullRebase, 35),
    (HistoryStep::Push, 90),
    (HistoryStep::Prune, 4),
    (HistoryStep::Worktree, 8),
    (HistoryStep::CheckState, 20),
];

/// Runs the history of `seed` and checks its invariants.
pub(crate) fn run_history(seed: u64) -> (GitHistory, HistoryResult) {
    let mut history = GitHistory::new(seed);
    let steps = STEPS_MIN + history.dice.below(STEPS_MAX - STEPS_MIN + 1);
    let mut outcome = Ok(());
    for _ in 0..steps {
        outcome = history.step();
        if outcome.is_err() {
            break;
        }
    }
    let outcome = outcome.and_then(|()| history.judge());
    (history, outcome)
}

impl GitHistory {
    fn step(&mut self) -> HistoryResult {
        self.advance_clock();
        self.tally.count("steps");
        let site = self.dice.below(self.worktrees.len());
        match self.dice.weighted(STEP_WEIGHTS) {
            HistoryStep::Add => self.add(site),
            HistoryStep::Touch(verb) => self.touch(site, verb),
            HistoryStep::AddConcurrently => self.add_concurrently(site),
            HistoryStep::Blank => self.blank(site),
            HistoryStep::Pack => self.pack(site),
            HistoryStep::Sync => self.sync(site),
            HistoryStep::Render => self.render(site),
            HistoryStep::EditByHand => self.reword(site),
            HistoryStep::ConfirmByHand => self.confirm_by_hand(site),
            HistoryStep::DeleteByHand => self.delete_by_hand(site),
            HistoryStep::Merge => self.merge(site),
            HistoryStep::Squash => self.squash(site),
            HistoryStep::Rebase => self.rebase(site),
            HistoryStep::CherryPick => self.cherry_pick(site),
            HistoryStep::Revert => self.revert(site),
            HistoryStep::Stash => self.stash(site),
            HistoryStep::StashPop => self.stash_pop(site),
            HistoryStep::Pull => self.pull(site),
            HistoryStep::PullRebase => self.pull_rebase(site),
            HistoryStep::CheckState => self.check_state(site),
            step @ (HistoryStep::CommitAll
            | HistoryStep::CommitPart
            | HistoryStep::Amend
            | HistoryStep::Switch
            | HistoryStep::Reset
            | HistoryStep::Clean
            | HistoryStep::Push
            | HistoryStep::Prune
            | HistoryStep::Worktree) => {
                self.run_plain_step(site, step);
                Ok(())
            }
        }
    }

    /// Runs a step that cannot cause a conflict.
    fn run_plain_step(&mut self, site: usize, step: HistoryStep) {
        match step {
            HistoryStep::CommitPart => self.commit_part(site),
            HistoryStep::Amend => self.amend(site),
            HistoryStep::Switch => self.switch(site),
            HistoryStep::Reset => self.reset(site),
            HistoryStep::Clean => self.clean(site),
            HistoryStep::Push => self.push(site),
            HistoryStep::Prune => self.prune(site),
            HistoryStep::Worktree => self.worktree(site),
            HistoryStep::CommitAll
            | HistoryStep::Add
            | HistoryStep::Touch(_)
            | HistoryStep::AddConcurrently
            | HistoryStep::Blank
            | HistoryStep::Pack
            | HistoryStep::Sync
            | HistoryStep::Render
            | HistoryStep::EditByHand
            | HistoryStep::ConfirmByHand
            | HistoryStep::DeleteByHand
            | HistoryStep::Merge
            | HistoryStep::Squash
            | HistoryStep::Rebase
            | HistoryStep::CherryPick
            | HistoryStep::Revert
            | HistoryStep::Stash
            | HistoryStep::StashPop
            | HistoryStep::Pull
            | HistoryStep::PullRebase
            | HistoryStep::CheckState => {
                self.commit_all(site);
            }
        }
    }
}
