//! What a change touches: the files that differ between two versions, and where files went.

use std::collections::{BTreeMap, BTreeSet};

use ken_ledger::Place;
use ken_ledger::git::{GitError, Runner};

use super::tree::{CommitTree, Version, WorkTree};
use crate::error::Error;

/// Two versions, and the files that differ.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) git: Runner,
    /// The commit the change begins at: where both sides last agreed.
    pub(crate) base: CommitTree,
    pub(crate) head: Version,
    /// Every path that differs, old names included.
    pub(crate) touched: BTreeSet<String>,
    /// Old name to new one.
    pub(crate) renamed: BTreeMap<String, String>,
}

impl Range {
    /// Compares `head`, or the work tree, with where it left `base`.
    pub(crate) fn of(place: &Place, base: &str, head: Option<&str>) -> Result<Self, Error> {
        let dirs = place.git.as_ref().ok_or(GitError::NotOffered)?;
        let git = || Runner::new(&place.root, dirs);
        let runner = git();
        let base = commit(&runner, base)?;
        let head = head.map(|head| commit(&runner, head)).transpose()?;
        let at = head.as_deref().unwrap_or("HEAD");
        let base = merge_base(&runner, &base, at).unwrap_or(base);
        let mut range = Self {
            git: git(),
            touched: BTreeSet::new(),
            renamed: BTreeMap::new(),
            head: match &head {
                Some(head) => Version::Commit(CommitTree::new(git(), head.clone())),
                None => Version::Work(WorkTree::new(place)?),
            },
            base: CommitTree::new(git(), base),
        };
        range.read_changes(&runner, head.as_deref())?;
        Ok(range)
    }

    /// Returns the commit at the other end; `None` is the work tree.
    pub(crate) fn head_commit(&self) -> Option<&str> {
        match &self.head {
            Version::Commit(tree) => Some(&tree.commit),
            Version::Work(_) => None,
        }
    }

    fn read_changes(&mut self, git: &Runner, head: Option<&str>) -> Result<(), Error> {
        let mut args = vec![
            "diff",
            "--raw",
            "-z",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
        ];
        args.extend(["--end-of-options", &self.base.commit]);
        args.extend(head);
        let out = git.output(&args)?;
        let mut words = out.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        while let Some(kind) = words.next().filter(|kind| !kind.is_empty()) {
            // `:100644 100644 abc def R087`, then one path or, of a rename, two.
            let letter = kind.rsplit(' ').next().and_then(|it| it.chars().next());
            let Some(path) = words.next() else { break };
            self.touched.insert(path.to_string());
            if let Some('R' | 'C') = letter {
                let Some(new) = words.next() else { break };
                self.touched.insert(new.to_string());
                if letter == Some('R') {
                    self.renamed.insert(path.to_string(), new.to_string());
                }
            }
        }
        if head.is_none() {
            let out = git.output(&["ls-files", "-z", "-o", "--exclude-standard"])?;
            let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            self.touched
                .extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
        Ok(())
    }
}

/// Returns the full id of the commit `name` stands for.
fn commit(git: &Runner, name: &str) -> Result<String, Error> {
    let wanted = format!("{name}^{{commit}}");
    let args = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &wanted,
    ];
    match git.output(&args) {
        Ok(out) => Ok(String::from_utf8_lossy(&out).trim().to_owned()),
        Err(GitError::Failed { .. }) => Err(Error::Usage(format!("git knows no commit `{name}`"))),
        Err(other) => Err(other.into()),
    }
}

/// Returns where two commits last agreed; a shallow clone may not know.
fn merge_base(git: &Runner, one: &str, other: &str) -> Option<String> {
    let out = git.output(&["merge-base", one, other]).ok()?;
    let base = String::from_utf8_lossy(&out).trim().to_owned();
    (!base.is_empty()).then_some(base)
}
