//! What people do with git around a ledger, and how they get out of what it stops at.

use std::fs;

use super::conflict::{self, Cause};
use super::git::Answer;
use super::history::{History, Outcome};

/// Branches of every history.
const BRANCHES: [&str; 4] = ["main", "b1", "b2", "b3"];
/// Stops of one rebase before it is given up.
const STOPS_MAX: usize = 12;

/// A git command that may stop in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    Merge,
    Squash,
    Rebase,
    CherryPick,
    Revert,
    StashPop,
}

impl History {
    /// Commits everything below `.ken`.
    pub(crate) fn commit_all(&mut self, site: usize) {
        self.git(site, &["add", "-A", "--", ".ken"]);
        self.git(site, &["commit", "-qm", "everything"]);
    }

    /// Commits some of what is there: entries, one segment, what is tracked, a path.
    pub(crate) fn commit_part(&mut self, site: usize) {
        let segment = self.dice.pick(&self.sites[site].segments());
        match (self.dice.below(5), segment) {
            (0, _) => {
                self.git(site, &["add", "-A", "--", ".ken/entries"]);
                self.git(site, &["commit", "-qm", "entries"]);
            }
            (1, Some(segment)) => {
                self.git(site, &["add", "--", &segment]);
                self.git(site, &["commit", "-qm", "one segment"]);
            }
            (2, _) => {
                self.git(site, &["commit", "-qam", "tracked"]);
            }
            (3, Some(segment)) => {
                self.git(site, &["add", "-A", "--", ".ken"]);
                self.git(site, &["commit", "-qm", "only", "--", &segment]);
            }
            _ => {
                let folder = format!(
                    ".ken/{}",
                    self.dice
                        .pick(&["semantic", "procedural", "episodic"])
                        .expect("three")
                );
                self.git(site, &["add", "-A", "--", &folder]);
                self.git(site, &["commit", "-qm", "one memory"]);
            }
        }
    }

    pub(crate) fn amend(&mut self, site: usize) {
        if self.dice.chance(70) {
            self.git(site, &["add", "-A", "--", ".ken"]);
        }
        self.git(site, &["commit", "-q", "--amend", "--no-edit"]);
    }

    /// Goes to another branch, made here if there is none; now and then to none.
    pub(crate) fn switch(&mut self, site: usize) {
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        if self.dice.chance(5) {
            self.git(site, &["checkout", "-q", "--detach", "HEAD~1"]);
        } else if !self.git(site, &["switch", "-q", branch]).ok {
            self.git(site, &["switch", "-q", "-c", branch]);
        }
    }

    pub(crate) fn merge(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("merges");
        let mut arguments = vec!["merge", "-q", "--no-edit"];
        if self.dice.chance(50) {
            arguments.push("--no-ff");
        }
        arguments.push(&other);
        let answer = self.git(site, &arguments);
        self.see_through(site, Stopping::Merge, answer)
    }

    pub(crate) fn squash(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("squash merges");
        let answer = self.git(site, &["merge", "-q", "--squash", &other]);
        let stopped = !answer.ok;
        self.see_through(site, Stopping::Squash, answer)?;
        if !stopped {
            self.git(site, &["commit", "-qm", "squashed"]);
        }
        Ok(())
    }

    pub(crate) fn rebase(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("rebases");
        let answer = self.git(site, &["rebase", "-q", &other]);
        self.see_through(site, Stopping::Rebase, answer)
    }

    pub(crate) fn cherry_pick(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let Some(commit) = self.some_commit(site, &["--all", "--no-merges", "--max-count=30"])
        else {
            return Ok(());
        };
        self.tally.count("cherry-picks");
        let answer = self.git(site, &["cherry-pick", &commit]);
        self.see_through(site, Stopping::CherryPick, answer)
    }

    pub(crate) fn revert(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let Some(commit) = self.some_commit(site, &["HEAD", "--no-merges", "--max-count=6"]) else {
            return Ok(());
        };
        if self.is_first(site, &commit) {
            return Ok(());
        }
        self.tally.count("reverts");
        let answer = self.git(site, &["revert", "--no-edit", &commit]);
        self.see_through(site, Stopping::Revert, answer)
    }

    pub(crate) fn stash(&mut self, site: usize) -> Outcome {
        self.tally.count("stashes");
        let answer = if self.dice.chance(60) {
            self.git(site, &["stash", "push", "-q", "-u"])
        } else {
            self.git(site, &["stash", "push", "-q"])
        };
        if answer.ok && self.dice.chance(30) {
            self.add(site)?;
        }
        Ok(())
    }

    pub(crate) fn stash_pop(&mut self, site: usize) -> Outcome {
        if self.dice.chance(10) {
            self.git(site, &["stash", "drop", "-q"]);
            return Ok(());
        }
        let answer = self.git(site, &["stash", "pop", "-q"]);
        self.see_through(site, Stopping::StashPop, answer)
    }

    /// Goes back to an earlier commit, keeping everything, the tree, or nothing.
    pub(crate) fn reset(&mut self, site: usize) {
        let how = self
            .dice
            .pick(&["--soft", "--mixed", "--hard"])
            .expect("three");
        let Some(commit) = self.some_commit(site, &["HEAD", "--max-count=4"]) else {
            return;
        };
        self.tally.count(&format!("resets {how}"));
        self.git(site, &["reset", "-q", how, &commit]);
    }

    /// Removes what git does not know; now and then also what it ignores.
    pub(crate) fn clean(&mut self, site: usize) {
        let how = if self.dice.chance(30) {
            "-fdxq"
        } else {
            "-fdq"
        };
        self.tally.count("cleans");
        self.git(site, &["clean", how, "--", ".ken"]);
    }

    pub(crate) fn pull(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        self.tally.count("pulls");
        let answer = self.git(
            site,
            &["pull", "-q", "--no-rebase", "--no-edit", "origin", branch],
        );
        self.see_through(site, Stopping::Merge, answer)
    }

    pub(crate) fn pull_rebase(&mut self, site: usize) -> Outcome {
        self.usually_commit(site);
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        self.tally.count("pulls with rebase");
        let answer = self.git(site, &["pull", "-q", "--rebase", "origin", branch]);
        self.see_through(site, Stopping::Rebase, answer)
    }

    pub(crate) fn push(&mut self, site: usize) {
        if self.dice.chance(8) {
            self.git(site, &["push", "-q", "--force", "origin", "HEAD"]);
        } else if !self.git(site, &["push", "-q", "origin", "HEAD"]).ok {
            self.git(site, &["fetch", "-q", "origin"]);
        }
    }

    /// Lets git forget what nothing reaches.
    pub(crate) fn prune(&mut self, site: usize) {
        self.git(
            site,
            &[
                "reflog",
                "expire",
                "--expire=now",
                "--expire-unreachable=now",
                "--all",
            ],
        );
        self.git(site, &["prune", "--expire=now"]);
    }

    /// Removes a worktree with all that is in it, or adds one.
    pub(crate) fn worktree(&mut self, site: usize) {
        let place = self.sites[site].clone();
        if place.git_dir == place.common {
            let name = format!("w{}", self.script.len());
            let made = place.worktree(&name);
            self.note(format!(
                "{}$ git worktree add -B {name} ../{name}",
                place.name
            ));
            self.sites.push(made);
        } else {
            let main = self
                .sites
                .iter()
                .position(|other| other.git_dir == place.common);
            let main = main.expect("the clone itself stays");
            let path = place.root.display().to_string();
            if self.git(main, &["worktree", "remove", "--force", &path]).ok {
                self.tally.count("removed worktrees");
                self.sites.remove(site);
            }
        }
    }

    /// Resolves, or gives up, whatever the command stopped at.
    fn see_through(&mut self, site: usize, what: Stopping, answer: Answer) -> Outcome {
        let mut answer = answer;
        for _ in 0..STOPS_MAX {
            if answer.ok {
                return Ok(());
            }
            let unmerged = self.unmerged(site);
            if unmerged.is_empty() {
                // Refused, or nothing is left of a commit.
                return self.give_up(site, what);
            }
            self.tally.count(&format!("stops of {what:?}"));
            self.look_at(site, &unmerged)?;
            if self.dice.chance(20) {
                self.add(site)?;
            }
            if self.dice.chance(25) {
                return self.give_up(site, what);
            }
            self.resolve(site, &unmerged)?;
            answer = self.go_on(site, what);
        }
        self.give_up(site, what)
    }

    fn go_on(&mut self, site: usize, what: Stopping) -> Answer {
        self.git(site, &["add", "-A", "--", ".ken"]);
        match what {
            Stopping::Merge => self.git(site, &["commit", "-q", "--no-edit"]),
            Stopping::Squash => self.git(site, &["commit", "-qm", "squashed"]),
            Stopping::Rebase => self.git(site, &["rebase", "--continue"]),
            Stopping::CherryPick => self.git(site, &["cherry-pick", "--continue"]),
            Stopping::Revert => self.git(site, &["revert", "--continue"]),
            Stopping::StashPop => {
                if self.dice.chance(50) {
                    self.git(site, &["reset", "-q"]);
                }
                self.git(site, &["stash", "drop", "-q"])
            }
        }
    }

    /// Goes back to before the command; it may have refused to begin.
    fn give_up(&mut self, site: usize, what: Stopping) -> Outcome {
        match what {
            Stopping::Merge => self.git(site, &["merge", "--abort"]),
            Stopping::Rebase => self.git(site, &["rebase", "--abort"]),
            Stopping::CherryPick => self.git(site, &["cherry-pick", "--abort"]),
            Stopping::Revert => self.git(site, &["revert", "--abort"]),
            Stopping::Squash | Stopping::StashPop => {
                if self.unmerged(site).is_empty() {
                    return Ok(());
                }
                self.git(site, &["reset", "-q", "--merge"])
            }
        };
        if self.sites[site].is_busy() || !self.unmerged(site).is_empty() {
            self.git(site, &["reset", "-q", "--hard"]);
            self.git(site, &["rebase", "--quit"]);
        }
        Ok(())
    }

    /// Returns unmerged paths with their stages: base, ours, theirs.
    fn unmerged(&mut self, site: usize) -> Vec<(String, conflict::Stages)> {
        let listed = self.git(site, &["ls-files", "-u", "-z"]).out;
        self.script.pop();
        conflict::unmerged(&listed)
    }

    /// Sorts every conflict by its cause; one in a segment breaks the law.
    fn look_at(&mut self, site: usize, unmerged: &[(String, conflict::Stages)]) -> Outcome {
        let blanked = self.blanked.keys().copied().collect();
        for (path, stages) in unmerged {
            let cause = conflict::cause(&self.sites[site].root, path, stages, &blanked);
            self.note(format!("    # conflict in {path}: {cause}"));
            self.tally.count(&format!("conflicts: {cause}"));
            match cause {
                Cause::Segment | Cause::Other(_) => {
                    return Err(format!("{}: {path}: {cause}", self.sites[site].name));
                }
                Cause::BothReworded
                | Cause::BothRendered
                | Cause::NoCommonBase
                | Cause::ChangedAndDeleted
                | Cause::ChangedAndBlanked
                | Cause::AbsorbedAndReworded
                | Cause::TakenForRename
                | Cause::EditedBeyondReading => {}
            }
        }
        Ok(())
    }

    /// Takes one side or both, as people do.
    fn resolve(&mut self, site: usize, unmerged: &[(String, conflict::Stages)]) -> Outcome {
        for (path, stages) in unmerged {
            let whole = stages.iter().skip(1).all(Option::is_some);
            let side = self
                .dice
                .pick(&["--ours", "--theirs", "both"])
                .expect("three");
            if !whole {
                if self.dice.chance(50) {
                    self.git(site, &["add", "--", path]);
                } else {
                    self.git(site, &["rm", "-q", "--", path]);
                }
            } else if side == "both" {
                let file = self.sites[site].root.join(path);
                let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
                let kept = text.lines().filter(|line| !conflict::is_marker(line));
                let text: String = kept.flat_map(|line| [line, "\n"]).collect();
                fs::write(&file, text).map_err(|e| e.to_string())?;
                self.note(format!(
                    "{}$ strip markers from {path}",
                    self.sites[site].name
                ));
            } else {
                self.git(site, &["checkout", "-q", side, "--", path]);
            }
        }
        Ok(())
    }

    fn usually_commit(&mut self, site: usize) {
        if self.dice.chance(75) {
            self.commit_all(site);
        }
    }

    /// Returns a branch here or at the remote.
    fn another(&mut self) -> String {
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        if self.dice.chance(50) {
            branch.to_owned()
        } else {
            format!("origin/{branch}")
        }
    }

    fn some_commit(&mut self, site: usize, which: &[&str]) -> Option<String> {
        let mut arguments = vec!["rev-list"];
        arguments.extend(which);
        let listed = self.git(site, &arguments).out;
        self.script.pop();
        let commits: Vec<&str> = listed.lines().collect();
        self.dice.pick(&commits).map(str::to_owned)
    }

    /// Returns whether `commit` is the one that made the ledger.
    fn is_first(&mut self, site: usize, commit: &str) -> bool {
        let root = self.git(site, &["rev-list", "--max-parents=0", commit]).out;
        self.script.pop();
        root.trim() == commit
    }
}
