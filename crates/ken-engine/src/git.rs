//! What git knows about entry files: who changed them, and whether they were deleted on purpose.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::{Actor, Role};
use ken_core::time::Timestamp;
use ken_ledger::Place;
use ken_ledger::git::{GitError, Runner, operation_under_way};
use ken_ledger::layout::KEN_DIR;

use crate::files::ENTRIES_DIR;

/// Characters of a commit's id that people cite.
const COMMIT_CHARS: usize = 12;

/// Who brought something into the repository, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorship {
    pub by: Actor,
    pub at: Timestamp,
    /// The commit is a merge: whoever made it saw both sides.
    pub merge: bool,
}

/// Who made a change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// Whoever sits here: no commit has it yet.
    Uncommitted,
    Of(Authorship),
    /// A commit that a shallow clone does not have.
    BeyondShallow,
}

/// One commit and the entry files it deletes.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    pub author: Authorship,
    pub files: Vec<String>,
}

/// Returns why nothing may be absorbed now, if so.
pub(crate) fn busy(place: &Place) -> Result<Option<String>, GitError> {
    let Some(dirs) = &place.git else {
        return Ok(None);
    };
    if let Some(operation) = operation_under_way(&dirs.git_dir) {
        return Ok(Some(operation.to_string()));
    }
    let unmerged = run(place, &["ls-files", "-u", "-z", "--", KEN_DIR])?;
    Ok((!unmerged.is_empty()).then(|| "there are unmerged paths".to_owned()))
}

/// Returns the names of entry files that differ from HEAD, new ones included.
pub(crate) fn dirty(place: &Place) -> Result<BTreeSet<String>, GitError> {
    let folder = folder();
    if head(place)?.is_none() {
        return names(place, &["ls-files", "-z", "-c", "-o", "--", &folder]);
    }
    let mut dirty = names(
        place,
        &[
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "HEAD",
            "--",
            &folder,
        ],
    )?;
    dirty.extend(names(place, &["ls-files", "-z", "-o", "--", &folder])?);
    Ok(dirty)
}

/// Returns the names of entry files that HEAD has and this worktree's own changes delete.
///
/// Files a sparse checkout leaves out are not among them.
pub(crate) fn deleted_here(place: &Place) -> Result<BTreeSet<String>, GitError> {
    if head(place)?.is_none() {
        return Ok(BTreeSet::new());
    }
    let args = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--diff-filter=D",
        "HEAD",
        "--",
        &folder(),
    ];
    names(place, &args)
}

/// Returns who last brought a change of `name`.
pub(crate) fn author_of(place: &Place, name: &str) -> Result<Author, GitError> {
    let path = format!("{}/{name}", folder());
    let out = run(
        place,
        &["log", "-1", "--format=%H%x00%ae%x00%at%x00%P", "--", &path],
    )?;
    let text = String::from_utf8_lossy(&out);
    let Some((commit, rest)) = text.trim_end().split_once('\0') else {
        return Ok(Author::Uncommitted);
    };
    if is_shallow_end(place, commit) {
        return Ok(Author::BeyondShallow);
    }
    Ok(authorship(rest).map_or(Author::Uncommitted, Author::Of))
}

/// Returns whether history was cut off behind `commit`, which then seems to bring every file.
fn is_shallow_end(place: &Place, commit: &str) -> bool {
    let Some(dirs) = &place.git else { return false };
    let ends = std::fs::read_to_string(dirs.common_dir.join("shallow")).unwrap_or_default();
    ends.lines().any(|end| end == commit)
}

/// Returns the commits, newest first, that delete entry files; merges are not among them.
pub(crate) fn deletions(place: &Place) -> Result<Vec<Deletion>, GitError> {
    if head(place)?.is_none() {
        return Ok(Vec::new());
    }
    let args = [
        "log",
        "--no-merges",
        "--no-renames",
        "--diff-filter=D",
        "--name-only",
        "--format=%x01%ae%x00%at%x00%P",
        "--",
        &folder(),
    ];
    let out = run(place, &args)?;
    let text = String::from_utf8_lossy(&out);
    let one = |block: &str| {
        let (head, files) = block.split_once('\n')?;
        let files = files
            .lines()
            .filter(|line| !line.is_empty())
            .filter_map(name_of)
            .collect();
        Some(Deletion {
            author: authorship(head)?,
            files,
        })
    };
    Ok(text.split('\u{1}').filter_map(one).collect())
}

/// Returns the files HEAD has, by name.
pub(crate) fn in_head(place: &Place) -> Result<BTreeSet<String>, GitError> {
    if head(place)?.is_none() {
        return Ok(BTreeSet::new());
    }
    names(
        place,
        &[
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "HEAD",
            "--",
            &format!("{}/", folder()),
        ],
    )
}

/// Returns who this clone's owner says they are.
pub(crate) fn identity(place: &Place) -> Option<Actor> {
    place.git.as_ref()?;
    let out = run(place, &["config", "user.email"]).ok()?;
    let email = String::from_utf8_lossy(&out).trim().to_owned();
    (!email.is_empty()).then(|| Actor::from_claim(Role::Human, &email))
}

fn run(place: &Place, args: &[&str]) -> Result<Vec<u8>, GitError> {
    let dirs = place.git.as_ref().ok_or(GitError::NotOffered)?;
    Runner::new(&place.root, dirs).output(args)
}

fn folder() -> String {
    format!("{KEN_DIR}/{ENTRIES_DIR}")
}

/// Returns the beginning of the commit HEAD names, as people cite it.
pub(crate) fn head_commit(place: &Place) -> Option<String> {
    let head = head(place).ok().flatten()?;
    Some(head.chars().take(COMMIT_CHARS).collect())
}

fn head(place: &Place) -> Result<Option<String>, GitError> {
    match run(place, &["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Ok(out) => Ok(Some(String::from_utf8_lossy(&out).trim().to_owned())),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn names(place: &Place, args: &[&str]) -> Result<BTreeSet<String>, GitError> {
    let out = run(place, args)?;
    let text = String::from_utf8_lossy(&out);
    Ok(text
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(name_of)
        .collect())
}

fn name_of(path: &str) -> Option<String> {
    path.strip_prefix(&format!("{}/", folder()))
        .map(str::to_owned)
}

fn authorship(line: &str) -> Option<Authorship> {
    let mut parts = line.split('\0');
    let by = Actor::from_claim(Role::Human, parts.next()?);
    let at = Timestamp::from_seconds(parts.next()?.parse().ok()?);
    let merge = parts
        .next()
        .is_some_and(|parents| parents.trim().contains(' '));
    Some(Authorship { by, at, merge })
}

/// The latest deletion of each file.
pub(crate) fn latest_deletions(deletions: &[Deletion]) -> BTreeMap<&str, &Deletion> {
    let mut latest = BTreeMap::new();
    for deletion in deletions {
        for file in &deletion.files {
            latest.entry(file.as_str()).or_insert(deletion);
        }
    }
    latest
}

/// Returns the paths that differ from `revision`; without one from the last commit, new files included.
pub(crate) fn changed_paths(
    place: &Place,
    revision: Option<&str>,
) -> Result<Vec<String>, GitError> {
    let mut listed = Vec::new();
    let last = head(place)?;
    if let Some(revision) = revision.or(last.as_deref()) {
        let mut arguments = DIFF.to_vec();
        arguments.extend(["--name-only", "-z", "--end-of-options", revision, "--"]);
        listed.extend(run(place, &arguments)?);
    }
    if revision.is_none() {
        let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
        listed.extend(run(place, &arguments)?);
    }
    let text = String::from_utf8_lossy(&listed);
    let paths = text.split('\0').filter(|path| !path.is_empty());
    let ours = format!("{KEN_DIR}/");
    Ok(paths
        .filter(|path| !path.starts_with(&ours))
        .map(str::to_owned)
        .collect())
}

/// Returns the known files that differ from the last commit: one process, and no walk through the tree. Nobody has said
/// anything yet about files that are new.
pub(crate) fn files_in_hand(place: &Place) -> Result<Vec<String>, GitError> {
    let tops = tops_beside_ours(place);
    if tops.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments = vec![
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    if tops.len() <= TOPS_MAX {
        // Otherwise git looks at every entry file there is.
        arguments.push("--");
        arguments.extend(tops.iter().map(String::as_str));
    }
    let listed = run(place, &arguments)?;
    let text = String::from_utf8_lossy(&listed);
    let ours = format!("{KEN_DIR}/");
    // `XY path`, and nothing else without renames.
    let paths = text.split('\0').filter_map(|line| line.get(3..));
    let paths = paths.filter(|path| !path.is_empty() && !path.starts_with(&ours));
    Ok(paths.map(str::to_owned).collect())
}

/// Names at the top of a tree that are handed to git.
const TOPS_MAX: usize = 200;

/// Returns what lies at the top of the tree beside git's folder and ours.
fn tops_beside_ours(place: &Place) -> Vec<String> {
    let listed = std::fs::read_dir(&place.root)
        .into_iter()
        .flatten()
        .flatten();
    let names = listed.filter_map(|it| it.file_name().into_string().ok());
    let names = names.filter(|name| name != KEN_DIR && name != ".git");
    names.collect()
}

/// Returns the branch this worktree is on, as its HEAD says; asks no program.
pub(crate) fn branch(place: &Place) -> Option<String> {
    let head = place.git.as_ref()?.git_dir.join("HEAD");
    let text = std::fs::read_to_string(head).ok()?;
    let branch = text.trim().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// Returns what changed in `paths` since `revision`, without the lines around it.
pub(crate) fn diff(place: &Place, revision: &str, paths: &[String]) -> Result<Vec<u8>, GitError> {
    let mut arguments = DIFF.to_vec();
    arguments.extend(["--unified=0", "--end-of-options", revision, "--"]);
    arguments.extend(paths.iter().map(String::as_str));
    run(place, &arguments)
}

/// A diff that runs no program of the configuration.
const DIFF: &[&str] = &[
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
];
