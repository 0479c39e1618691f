//! A change between two versions: the files that differ and the files that were renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_ledger::LedgerLocation;
use ken_ledger::git::GitRunner;
use ken_ledger::layout::KEN_DIR;

use super::code_version::{CodeVersion, CommitTree, WorkTree};
use crate::error::EngineError;
use crate::files::ENTRIES_DIR;
use crate::git::{self, split_nul};

/// Two versions and the files that differ between them.
#[derive(Debug)]
pub(crate) struct ChangeRange {
    pub(crate) git: GitRunner,
    /// The merge base: the commit the change starts from.
    pub(crate) base: Arc<CommitTree>,
    pub(crate) head: CodeVersion,
    /// Every path that differs, including old names of renamed files.
    pub(crate) touched: BTreeSet<String>,
    /// Old name to new name.
    pub(crate) renamed: BTreeMap<String, String>,
}

impl ChangeRange {
    /// Compares `head`, or the work tree if `None`, with its merge base with `base`, or the
    /// default branch if `None`.
    pub(crate) fn compare(
        place: &LedgerLocation,
        base: Option<&str>,
        head: Option<Arc<CommitTree>>,
    ) -> Result<Self, EngineError> {
        let at = head.as_ref().map_or("HEAD", |head| &head.commit);
        let (git, base) = base_commit(place, base, at)?;
        let base = CommitTree::new(git.clone(), base);
        let mut range = Self {
            git,
            touched: BTreeSet::new(),
            renamed: BTreeMap::new(),
            head: match head {
                Some(head) => CodeVersion::Commit(head),
                None => CodeVersion::Work(WorkTree::new(place)?),
            },
            base: Arc::new(base),
        };
        range.read_changes()?;
        Ok(range)
    }

    fn read_changes(&mut self) -> Result<(), EngineError> {
        let mut args = vec![
            // `GitRunner` makes pathspecs literal by default; the `:(top)` ones below are magic.
            "--no-literal-pathspecs",
            "diff",
            "--raw",
            "-z",
            "-M",
            // Drivers named by attributes run programs and may hide a difference.
            "--no-ext-diff",
            "--no-textconv",
        ];
        args.extend(["--end-of-options", &self.base.commit]);
        let views = format!(":(top,exclude){KEN_DIR}/{ENTRIES_DIR}");
        match &self.head {
            CodeVersion::Commit(head) => args.push(&head.commit),
            // Entry files are projections of the segments. Excluding them saves git one stat per
            // entry.
            CodeVersion::Work(_) => args.extend(["--", ":(top)", &views]),
        }
        let out = self.git.output(&args)?;
        parse_raw_diff(&out, &mut self.touched, &mut self.renamed);
        // `git diff` does not list untracked files, which the work tree version includes.
        if let CodeVersion::Work(_) = self.head {
            let views = format!("--exclude=/{KEN_DIR}/{ENTRIES_DIR}/");
            let new = ["ls-files", "-z", "-o", "--exclude-standard", &views];
            self.touched.extend(split_nul(&self.git.output(&new)?));
        }
        Ok(())
    }
}

/// Parses the output of `git diff --raw -z -M`: the paths that differ, and the renames.
pub(super) fn parse_raw_diff(
    out: &[u8],
    touched: &mut BTreeSet<String>,
    renamed: &mut BTreeMap<String, String>,
) {
    let mut words = split_nul(out);
    while let Some(kind) = words.next() {
        // A record is `:100644 100644 abc def R087`, then one path, or two for a rename or copy.
        let status = kind.rsplit(' ').next();
        let letter = status.and_then(|status| status.chars().next());
        let Some(path) = words.next() else { break };
        touched.insert(path.clone());
        if let Some('R' | 'C') = letter {
            let Some(new) = words.next() else { break };
            touched.insert(new.clone());
            if letter == Some('R') {
                renamed.insert(path, new);
            }
        }
    }
}

/// Returns git and the commit that the change up to `head` starts from: the merge base with `base`,
/// or with the default branch if `None`.
fn base_commit(
    place: &LedgerLocation,
    base: Option<&str>,
    head: &str,
) -> Result<(GitRunner, String), EngineError> {
    let tip = match base {
        Some(base) => CommitTree::from_revision(place, base)?,
        None => CommitTree::from_revision(place, &git::default_base(place))?,
    };
    // Comparing with the tip of `base` would report commits that landed there meanwhile as
    // reverted by this change.
    let base = merge_base(&tip.git, &tip.commit, head);
    Ok((tip.git.clone(), base.unwrap_or(tip.commit)))
}

/// Returns git and the commit that the change of the work tree starts from.
pub(super) fn merge_base_with(
    place: &LedgerLocation,
    base: Option<&str>,
) -> Result<(GitRunner, String), EngineError> {
    base_commit(place, base, "HEAD")
}

/// Returns the merge base of two commits, or `None` in a shallow clone that lacks it.
fn merge_base(git: &GitRunner, one: &str, other: &str) -> Option<String> {
    let out = git.output(&["merge-base", one, other]).ok()?;
    let base = String::from_utf8_lossy(&out).trim().to_owned();
    (!base.is_empty()).then_some(base)
}
