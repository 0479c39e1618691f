//! What a change touches: the files that differ between two versions, and where files went.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_ledger::Place;
use ken_ledger::git::Runner;
use ken_ledger::layout::KEN_DIR;

use super::tree::{CommitTree, Version, WorkTree, split};
use crate::error::Error;
use crate::files::ENTRIES_DIR;

/// Two versions, and the files that differ.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) git: Runner,
    /// The commit the change begins at: where both sides last agreed.
    pub(crate) base: Arc<CommitTree>,
    pub(crate) head: Version,
    /// Every path that differs, old names included.
    pub(crate) touched: BTreeSet<String>,
    /// Old name to new one.
    pub(crate) renamed: BTreeMap<String, String>,
}

impl Range {
    /// Compares `head`, or the work tree, with where it left `base`.
    pub(crate) fn of(
        place: &Place,
        base: &str,
        head: Option<Arc<CommitTree>>,
    ) -> Result<Self, Error> {
        let base = CommitTree::named(place, base)?;
        let git = base.git.clone();
        let at = head.as_ref().map_or("HEAD", |head| &head.commit);
        let base = match merge_base(&git, &base.commit, at) {
            Some(commit) => CommitTree::new(git.clone(), commit),
            None => base,
        };
        let mut range = Self {
            git,
            touched: BTreeSet::new(),
            renamed: BTreeMap::new(),
            head: match head {
                Some(head) => Version::Commit(head),
                None => Version::Work(WorkTree::new(place)?),
            },
            base: Arc::new(base),
        };
        range.read_changes()?;
        Ok(range)
    }

    fn read_changes(&mut self) -> Result<(), Error> {
        let mut args = vec![
            "--no-literal-pathspecs",
            "diff",
            "--raw",
            "-z",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
        ];
        args.extend(["--end-of-options", &self.base.commit]);
        let views = format!(":(top,exclude){KEN_DIR}/{ENTRIES_DIR}");
        match &self.head {
            Version::Commit(head) => args.push(&head.commit),
            // Entry files say again what segments say; git would look at as many as there are entries.
            Version::Work(_) => args.extend(["--", ":(top)", &views]),
        }
        let out = self.git.output(&args)?;
        let mut words = split(&out);
        while let Some(kind) = words.next() {
            // `:100644 100644 abc def R087`, then one path or, of a rename, two.
            let letter = kind.rsplit(' ').next().and_then(|it| it.chars().next());
            let Some(path) = words.next() else { break };
            self.touched.insert(path.clone());
            if let Some('R' | 'C') = letter {
                let Some(new) = words.next() else { break };
                self.touched.insert(new.clone());
                if letter == Some('R') {
                    self.renamed.insert(path, new);
                }
            }
        }
        if let Version::Work(_) = self.head {
            let views = format!("--exclude=/{KEN_DIR}/{ENTRIES_DIR}/");
            let new = ["ls-files", "-z", "-o", "--exclude-standard", &views];
            self.touched.extend(split(&self.git.output(&new)?));
        }
        Ok(())
    }
}

/// Returns where two commits last agreed; a shallow clone may not know.
fn merge_base(git: &Runner, one: &str, other: &str) -> Option<String> {
    let out = git.output(&["merge-base", one, other]).ok()?;
    let base = String::from_utf8_lossy(&out).trim().to_owned();
    (!base.is_empty()).then_some(base)
}
