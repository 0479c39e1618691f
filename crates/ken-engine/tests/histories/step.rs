//! Chooses what happens next.

use super::history::{History, Outcome};
use super::knowing::Verb;

/// Steps of one history.
const STEPS_MIN: usize = 30;
const STEPS_MAX: usize = 80;

#[derive(Clone, Copy, Debug)]
enum Step {
    Add,
    Touch(Verb),
    Crowd,
    Blank,
    Pack,
    Sync,
    Render,
    Reword,
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
    Compare,
}

/// How often each happens, in thousandths or so.
const STEPS: &[(Step, usize)] = &[
    (Step::Add, 120),
    (Step::Touch(Verb::Revise), 90),
    (Step::Touch(Verb::Cite), 20),
    (Step::Touch(Verb::Confirm), 50),
    (Step::Touch(Verb::Retract), 12),
    (Step::Touch(Verb::Restore), 12),
    (Step::Touch(Verb::Archive), 12),
    (Step::Touch(Verb::Link), 12),
    (Step::Touch(Verb::Mark), 12),
    (Step::Touch(Verb::Status), 20),
    (Step::Crowd, 8),
    (Step::Blank, 25),
    (Step::Pack, 30),
    (Step::Sync, 30),
    (Step::Render, 25),
    (Step::Reword, 70),
    (Step::ConfirmByHand, 12),
    (Step::DeleteByHand, 6),
    (Step::CommitAll, 110),
    (Step::CommitPart, 50),
    (Step::Amend, 20),
    (Step::Switch, 70),
    (Step::Merge, 90),
    (Step::Squash, 20),
    (Step::Rebase, 35),
    (Step::CherryPick, 25),
    (Step::Revert, 20),
    (Step::Stash, 30),
    (Step::StashPop, 30),
    (Step::Reset, 25),
    (Step::Clean, 8),
    (Step::Pull, 80),
    (Step::PullRebase, 35),
    (Step::Push, 90),
    (Step::Prune, 4),
    (Step::Worktree, 8),
    (Step::Compare, 20),
];

/// Runs the history of `seed` and judges it.
pub(crate) fn run(seed: u64) -> (History, Outcome) {
    let mut history = History::new(seed);
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

impl History {
    fn step(&mut self) -> Outcome {
        self.let_time_pass();
        self.tally.count("steps");
        let site = self.dice.below(self.sites.len());
        match self.dice.weighted(STEPS) {
            Step::Add => self.add(site),
            Step::Touch(verb) => self.touch(site, verb),
            Step::Crowd => self.crowd(site),
            Step::Blank => self.blank(site),
            Step::Pack => self.pack(site),
            Step::Sync => self.sync(site),
            Step::Render => self.render(site),
            Step::Reword => self.reword(site),
            Step::ConfirmByHand => self.confirm_by_hand(site),
            Step::DeleteByHand => self.delete_by_hand(site),
            Step::Merge => self.merge(site),
            Step::Squash => self.squash(site),
            Step::Rebase => self.rebase(site),
            Step::CherryPick => self.cherry_pick(site),
            Step::Revert => self.revert(site),
            Step::Stash => self.stash(site),
            Step::StashPop => self.stash_pop(site),
            Step::Pull => self.pull(site),
            Step::PullRebase => self.pull_rebase(site),
            Step::Compare => self.state_is_the_fold(site),
            step @ (Step::CommitAll
            | Step::CommitPart
            | Step::Amend
            | Step::Switch
            | Step::Reset
            | Step::Clean
            | Step::Push
            | Step::Prune
            | Step::Worktree) => {
                self.plain_step(site, step);
                Ok(())
            }
        }
    }

    /// Steps in which git cannot stop.
    fn plain_step(&mut self, site: usize, step: Step) {
        match step {
            Step::CommitPart => self.commit_part(site),
            Step::Amend => self.amend(site),
            Step::Switch => self.switch(site),
            Step::Reset => self.reset(site),
            Step::Clean => self.clean(site),
            Step::Push => self.push(site),
            Step::Prune => self.prune(site),
            Step::Worktree => self.worktree(site),
            Step::CommitAll
            | Step::Add
            | Step::Touch(_)
            | Step::Crowd
            | Step::Blank
            | Step::Pack
            | Step::Sync
            | Step::Render
            | Step::Reword
            | Step::ConfirmByHand
            | Step::DeleteByHand
            | Step::Merge
            | Step::Squash
            | Step::Rebase
            | Step::CherryPick
            | Step::Revert
            | Step::Stash
            | Step::StashPop
            | Step::Pull
            | Step::PullRebase
            | Step::Compare => {
                self.commit_all(site);
            }
        }
    }
}
