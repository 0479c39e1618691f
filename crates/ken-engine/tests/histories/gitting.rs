//! Git operations around a ledger, and the resolution of conflicts.

use std::fs;

use super::conflict::{self, ConflictCause};
use super::git::GitOutput;
use super::history::{GitHistory, HistoryResult};

/// Branches of every history.
const BRANCHES: [&str; 4] = ["main", "b1", "b2", "b3"];
/// Conflicts in one rebase before it is aborted.
const CONFLICT_STOPS_MAX: usize = 12;

/// A git command that a conflict may stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterruptibleCommand {
    Merge,
    Squash,
    Rebase,
    CherryPick,
    Revert,
    StashPop,
}

impl GitHistory {
    /// Commits everything below `.ken`.
    pub(crate) fn commit_all(&mut self, site: usize) {
        self.git(site, &["add", "-A", "--", ".ken"]);
        self.git(site, &["commit", "-qm", "everything"]);
    }

    /// Commits a part of the changes: entry files, one segment, tracked files, or one path.
    pub(crate) fn commit_part(&mut self, site: usize) {
        let segment = self.dice.pick(&self.worktrees[site].segments());
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

    /// Switches to another branch, creating it if necessary; sometimes detaches HEAD.
    pub(crate) fn switch(&mut self, site: usize) {
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        if self.dice.chance(5) {
            self.git(site, &["checkout", "-q", "--detach", "HEAD~1"]);
        } else if !self.git(site, &["switch", "-q", branch]).ok {
            self.git(site, &["switch", "-q", "-c", branch]);
        }
    }

    pub(crate) fn merge(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("merges");
        let mut arguments = vec!["merge", "-q", "--no-edit"];
        if self.dice.chance(50) {
            arguments.push("--no-ff");
        }
        arguments.push(&other);
        let answer = self.git(site, &arguments);
        self.finish_or_abort(site, InterruptibleCommand::Merge, answer)
    }

    pub(crate) fn squash(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("squash merges");
        let answer = self.git(site, &["merge", "-q", "--squash", &other]);
        let stopped = !answer.ok;
        self.finish_or_abort(site, InterruptibleCommand::Squash, answer)?;
        if !stopped {
            self.git(site, &["commit", "-qm", "squashed"]);
        }
        Ok(())
    }

    pub(crate) fn rebase(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let other = self.another();
        self.tally.count("rebases");
        let answer = self.git(site, &["rebase", "-q", &other]);
        self.finish_or_abort(site, InterruptibleCommand::Rebase, answer)
    }

    pub(crate) fn cherry_pick(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let Some(commit) = self.any_commit(site, &["--all", "--no-merges", "--max-count=30"])
        else {
            return Ok(());
        };
        self.tally.count("cherry-picks");
        let answer = self.git(site, &["cherry-pick", &commit]);
        self.finish_or_abort(site, InterruptibleCommand::CherryPick, answer)
    }

    pub(crate) fn revert(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let Some(commit) = self.any_commit(site, &["HEAD", "--no-merges", "--max-count=6"]) else {
            return Ok(());
        };
        if self.is_first(site, &commit) {
            return Ok(());
        }
        self.tally.count("reverts");
        let answer = self.git(site, &["revert", "--no-edit", &commit]);
        self.finish_or_abort(site, InterruptibleCommand::Revert, answer)
    }

    pub(crate) fn stash(&mut self, site: usize) -> HistoryResult {
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

    pub(crate) fn stash_pop(&mut self, site: usize) -> HistoryResult {
        if self.dice.chance(10) {
            self.git(site, &["stash", "drop", "-q"]);
            return Ok(());
        }
        let answer = self.git(site, &["stash", "pop", "-q"]);
        self.finish_or_abort(site, InterruptibleCommand::StashPop, answer)
    }

    /// Resets to an earlier commit, soft, mixed or hard.
    pub(crate) fn reset(&mut self, site: usize) {
        let how = self
            .dice
            .pick(&["--soft", "--mixed", "--hard"])
            .expect("three");
        let Some(commit) = self.any_commit(site, &["HEAD", "--max-count=4"]) else {
            return;
        };
        self.tally.count(&format!("resets {how}"));
        self.git(site, &["reset", "-q", how, &commit]);
    }

    /// Removes untracked files, sometimes ignored ones too.
    pub(crate) fn clean(&mut self, site: usize) {
        let how = if self.dice.chance(30) {
            "-fdxq"
        } else {
            "-fdq"
        };
        self.tally.count("cleans");
        self.git(site, &["clean", how, "--", ".ken"]);
    }

    pub(crate) fn pull(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        self.tally.count("pulls");
        let answer = self.git(
            site,
            &["pull", "-q", "--no-rebase", "--no-edit", "origin", branch],
        );
        self.finish_or_abort(site, InterruptibleCommand::Merge, answer)
    }

    pub(crate) fn pull_rebase(&mut self, site: usize) -> HistoryResult {
        self.usually_commit(site);
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        self.tally.count("pulls with rebase");
        let answer = self.git(site, &["pull", "-q", "--rebase", "origin", branch]);
        self.finish_or_abort(site, InterruptibleCommand::Rebase, answer)
    }

    pub(crate) fn push(&mut self, site: usize) {
        if self.dice.chance(8) {
            self.git(site, &["push", "-q", "--force", "origin", "HEAD"]);
        } else if !self.git(site, &["push", "-q", "origin", "HEAD"]).ok {
            self.git(site, &["fetch", "-q", "origin"]);
        }
    }

    /// Expires reflogs and prunes unreachable objects.
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

    /// Adds a worktree, or removes this one with all its content.
    pub(crate) fn worktree(&mut self, site: usize) {
        let place = self.worktrees[site].clone();
        if place.git_dir == place.common {
            let name = format!("w{}", self.script.len());
            let made = place.worktree(&name);
            self.note(format!(
                "{}$ git worktree add -B {name} ../{name}",
                place.name
            ));
            self.worktrees.push(made);
        } else {
            let main = self
                .worktrees
                .iter()
                .position(|other| other.git_dir == place.common);
            let main = main.expect("the clone itself stays");
            let path = place.root.display().to_string();
            if self.git(main, &["worktree", "remove", "--force", &path]).ok {
                self.tally.count("removed worktrees");
                self.worktrees.remove(site);
            }
        }
    }

    /// Resolves the conflicts of a stopped command, or aborts it.
    fn finish_or_abort(
        &mut self,
        site: usize,
        what: InterruptibleCommand,
        answer: GitOutput,
    ) -> HistoryResult {
        let mut answer = answer;
        for _ in 0..CONFLICT_STOPS_MAX {
            if answer.ok {
                return Ok(());
            }
            let unmerged = self.unmerged(site);
            if unmerged.is_empty() {
                // Git refused the command, or the commit became empty.
                return self.abort_command(site, what);
            }
            self.tally.count(&format!("stops of {what:?}"));
            self.classify_conflicts(site, &unmerged)?;
            if self.dice.chance(20) {
                self.add(site)?;
            }
            if self.dice.chance(25) {
                return self.abort_command(site, what);
            }
            self.resolve(site, &unmerged)?;
            answer = self.go_on(site, what);
        }
        self.abort_command(site, what)
    }

    fn go_on(&mut self, site: usize, what: InterruptibleCommand) -> GitOutput {
        self.git(site, &["add", "-A", "--", ".ken"]);
        match what {
            InterruptibleCommand::Merge => self.git(site, &["commit", "-q", "--no-edit"]),
            InterruptibleCommand::Squash => self.git(site, &["commit", "-qm", "squashed"]),
            InterruptibleCommand::Rebase => self.git(site, &["rebase", "--continue"]),
            InterruptibleCommand::CherryPick => self.git(site, &["cherry-pick", "--continue"]),
            InterruptibleCommand::Revert => self.git(site, &["revert", "--continue"]),
            InterruptibleCommand::StashPop => {
                if self.dice.chance(50) {
                    self.git(site, &["reset", "-q"]);
                }
                self.git(site, &["stash", "drop", "-q"])
            }
        }
    }

    /// Aborts the command; it may not have started at all.
    fn abort_command(&mut self, site: usize, what: InterruptibleCommand) -> HistoryResult {
        match what {
            InterruptibleCommand::Merge => self.git(site, &["merge", "--abort"]),
            InterruptibleCommand::Rebase => self.git(site, &["rebase", "--abort"]),
            InterruptibleCommand::CherryPick => self.git(site, &["cherry-pick", "--abort"]),
            InterruptibleCommand::Revert => self.git(site, &["revert", "--abort"]),
            InterruptibleCommand::Squash | InterruptibleCommand::StashPop => {
                if self.unmerged(site).is_empty() {
                    return Ok(());
                }
                self.git(site, &["reset", "-q", "--merge"])
            }
        };
        if self.worktrees[site].is_busy() || !self.unmerged(site).is_empty() {
            self.git(site, &["reset", "-q", "--hard"]);
            self.git(site, &["rebase", "--quit"]);
        }
        Ok(())
    }

    /// Returns unmerged paths with their stages: base, ours, theirs.
    fn unmerged(&mut self, site: usize) -> Vec<(String, conflict::UnmergedStages)> {
        let listed = self.git(site, &["ls-files", "-u", "-z"]).out;
        self.script.pop();
        conflict::parse_unmerged(&listed)
    }

    /// Classifies every conflict; one in a segment fails the history.
    fn classify_conflicts(
        &mut self,
        site: usize,
        unmerged: &[(String, conflict::UnmergedStages)],
    ) -> HistoryResult {
        let blanked = self.blanked.keys().copied().collect();
        for (path, stages) in unmerged {
            let cause =
                conflict::conflict_cause(&self.worktrees[site].root, path, stages, &blanked);
            self.note(format!("    # conflict in {path}: {cause}"));
            self.tally.count(&format!("conflicts: {cause}"));
            match cause {
                ConflictCause::Segment | ConflictCause::Other(_) => {
                    return Err(format!("{}: {path}: {cause}", self.worktrees[site].name));
                }
                ConflictCause::BothEdited
                | ConflictCause::BothRendered
                | ConflictCause::NoCommonBase
                | ConflictCause::ChangedAndDeleted
                | ConflictCause::ChangedAndRedacted
                | ConflictCause::AbsorbedAndEdited
                | ConflictCause::TakenForRename
                | ConflictCause::Unparseable => {}
            }
        }
        Ok(())
    }

    /// Resolves each conflict with one side or with both.
    fn resolve(
        &mut self,
        site: usize,
        unmerged: &[(String, conflict::UnmergedStages)],
    ) -> HistoryResult {
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
                let file = self.worktrees[site].root.join(path);
                let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
                let kept = text.lines().filter(|line| !conflict::is_marker(line));
                let text: String = kept.flat_map(|line| [line, "\n"]).collect();
                fs::write(&file, text).map_err(|e| e.to_string())?;
                self.note(format!(
                    "{}$ strip markers from {path}",
                    self.worktrees[site].name
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

    /// Returns a random branch, local or at the remote.
    fn another(&mut self) -> String {
        let branch = self.dice.pick(&BRANCHES).expect("there are branches");
        if self.dice.chance(50) {
            branch.to_owned()
        } else {
            format!("origin/{branch}")
        }
    }

    fn any_commit(&mut self, site: usize, which: &[&str]) -> Option<String> {
        let mut arguments = vec!["rev-list"];
        arguments.extend(which);
        let listed = self.git(site, &arguments).out;
        self.script.pop();
        let commits: Vec<&str> = listed.lines().collect();
        self.dice.pick(&commits).map(str::to_owned)
    }

    /// Returns true if `commit` is the initial commit.
    fn is_first(&mut self, site: usize, commit: &str) -> bool {
        let root = self.git(site, &["rev-list", "--max-parents=0", commit]).out;
        self.script.pop();
        root.trim() == commit
    }
}
