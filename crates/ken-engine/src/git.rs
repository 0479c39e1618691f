//! Git queries: authors and deletions of entry files, changed paths, diffs, identity.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use ken_ledger::LedgerLocation;
use ken_ledger::git::{GitError, GitRunner, operation_in_progress};
use ken_ledger::layout::KEN_DIR;

use crate::files::ENTRIES_DIR;

/// Length of an abbreviated commit id in citations.
pub(crate) const COMMIT_CHARS: usize = 12;

/// Author and time of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitAuthorship {
    pub by: Actor,
    pub at: Timestamp,
    /// Set for a merge commit, whose author saw both sides.
    pub merge: bool,
}

/// The author of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditAuthor {
    /// The user of this clone: the edit is not committed.
    Uncommitted,
    /// The author of the last commit that changed the file.
    Committed(CommitAuthorship),
    /// Unknown: the commit is beyond the history of a shallow clone.
    BeyondShallow,
}

/// A commit that deletes entry files.
#[derive(Clone, Debug)]
pub(crate) struct DeletionCommit {
    pub author: CommitAuthorship,
    pub files: Vec<String>,
}

/// A commit as `git log` prints it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedCommit {
    pub id: String,
    pub at: Timestamp,
    pub parents: usize,
    pub subject: String,
    pub body: String,
    pub files: Vec<String>,
}

/// Reads commits with the files that each changes; `selection` are further arguments of `git log`.
pub(crate) fn read_log(git: &GitRunner, selection: &[&str]) -> Result<Vec<LoggedCommit>, GitError> {
    let mut arguments = vec![
        "log",
        // Control characters separate the fields, because bodies contain line breaks.
        "--format=%x01%H%x02%ct%x02%P%x02%s%x02%b%x02",
        "--no-show-signature",
        "--name-only",
        // Renames need the contents of files, which a partial clone does not have.
        "--no-renames",
    ];
    arguments.extend(selection);
    let out = git.output(&arguments)?;
    let text = String::from_utf8_lossy(&out);
    Ok(text
        .split('\u{1}')
        .skip(1)
        .filter_map(parse_commit)
        .collect())
}

fn parse_commit(text: &str) -> Option<LoggedCommit> {
    let mut fields = text.splitn(6, '\u{2}');
    let id = fields.next()?.to_owned();
    let at = Timestamp::from_seconds(fields.next()?.parse().ok()?);
    let parents = fields.next()?.split_whitespace().count();
    let (subject, body) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let files = fields.next()?.lines().filter(|it| !it.is_empty());
    let files = files.map(str::to_owned).collect();
    Some(LoggedCommit {
        id,
        at,
        parents,
        subject,
        body,
        files,
    })
}

/// Returns the reason why edits must not be synced now, such as a merge in progress.
pub(crate) fn sync_blocker(place: &LedgerLocation) -> Result<Option<String>, GitError> {
    let Some(dirs) = &place.git else {
        return Ok(None);
    };
    if let Some(operation) = operation_in_progress(&dirs.git_dir) {
        return Ok(Some(operation.to_string()));
    }
    // Unmerged paths also occur without an operation in progress, for example after a stash pop.
    let unmerged = run_git(place, &["ls-files", "-u", "-z", "--", KEN_DIR])?;
    Ok((!unmerged.is_empty()).then(|| "there are unmerged paths".to_owned()))
}

/// Returns the paths of segments in HEAD that are modified in this worktree.
pub(crate) fn changed_segments(place: &LedgerLocation) -> Result<Vec<String>, GitError> {
    segments_that_differ(place, "--diff-filter=M")
}

/// Returns the paths of segments in HEAD that are deleted in this worktree.
pub(crate) fn deleted_segments(place: &LedgerLocation) -> Result<Vec<String>, GitError> {
    segments_that_differ(place, "--diff-filter=D")
}

fn segments_that_differ(place: &LedgerLocation, how: &str) -> Result<Vec<String>, GitError> {
    if head_id(place)?.is_none() {
        return Ok(Vec::new());
    }
    let pathspec = format!(":(glob){KEN_DIR}/**/*.jsonl");
    let args = [
        // `GitRunner` makes pathspecs literal by default.
        "--no-literal-pathspecs",
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--relative",
        how,
        "HEAD",
        "--",
        &pathspec,
    ];
    let out = run_git(place, &args)?;
    let names = out.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    Ok(names
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect())
}

/// Returns the full name of the current branch, or `HEAD` without one.
pub(crate) fn branch_name(place: &LedgerLocation) -> String {
    let name = run_git(place, &["symbolic-ref", "-q", "HEAD"]).unwrap_or_default();
    let name = String::from_utf8_lossy(&name).trim().to_owned();
    if name.is_empty() {
        "HEAD".to_owned()
    } else {
        name
    }
}

/// Returns those of `paths` that git ignores.
pub(crate) fn ignored_paths(place: &LedgerLocation, paths: &[&str]) -> Vec<String> {
    // It fails if none is ignored.
    let args = [&["check-ignore", "--no-index", "--"], paths].concat();
    let out = run_git(place, &args).unwrap_or_default();
    let text = String::from_utf8_lossy(&out);
    text.lines().map(str::to_owned).collect()
}

/// Paths of a ledger that git must not ignore: one of each kind of file.
const SHARED_PATHS: [&str; 3] = [
    ".ken/VERSION",
    ".ken/semantic/v1/2026-01-02t03-04-abcdef.jsonl",
    ".ken/entries/L-00000000-an-entry.md",
];

/// Returns the reason why git would not share the ledger, if there is one.
pub(crate) fn ledger_is_ignored(place: &LedgerLocation) -> Option<String> {
    place.git.as_ref()?;
    let ignored = ignored_paths(place, &SHARED_PATHS);
    let first = ignored.first()?;
    Some(format!(
        "a .gitignore keeps the ledger out of git (`git check-ignore -v --no-index {first}` names the line)"
    ))
}

/// Returns the content of a file in HEAD.
pub(crate) fn content_in_head(place: &LedgerLocation, path: &str) -> Result<Vec<u8>, GitError> {
    run_git(place, &["cat-file", "blob", &format!("HEAD:./{path}")])
}

/// Returns the names of entry files that differ from HEAD, including new ones.
pub(crate) fn dirty_entry_files(place: &LedgerLocation) -> Result<BTreeSet<String>, GitError> {
    let folder = entries_folder();
    // Before the first commit there is no HEAD to compare with: every file is new.
    if head_id(place)?.is_none() {
        return entry_file_names(place, &["ls-files", "-z", "-c", "-o", "--", &folder]);
    }
    let mut dirty = entry_file_names(
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
    dirty.extend(entry_file_names(
        place,
        &["ls-files", "-z", "-o", "--", &folder],
    )?);
    Ok(dirty)
}

/// Returns the names of entry files in HEAD that are deleted in this worktree.
///
/// Files outside a sparse checkout are not included.
pub(crate) fn deleted_in_worktree(place: &LedgerLocation) -> Result<BTreeSet<String>, GitError> {
    if head_id(place)?.is_none() {
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
        &entries_folder(),
    ];
    entry_file_names(place, &args)
}

/// Returns the author of the last change of an entry file.
pub(crate) fn edit_author(place: &LedgerLocation, name: &str) -> Result<EditAuthor, GitError> {
    let path = format!("{}/{name}", entries_folder());
    let out = run_git(
        place,
        &["log", "-1", "--format=%H%x00%ae%x00%at%x00%P", "--", &path],
    )?;
    let text = String::from_utf8_lossy(&out);
    let Some((commit, rest)) = text.trim_end().split_once('\0') else {
        return Ok(EditAuthor::Uncommitted);
    };
    if is_shallow_end(place, commit) {
        return Ok(EditAuthor::BeyondShallow);
    }
    Ok(parse_authorship(rest).map_or(EditAuthor::Uncommitted, EditAuthor::Committed))
}

/// Returns true if `commit` is the boundary of a shallow clone, which appears to add every file.
fn is_shallow_end(place: &LedgerLocation, commit: &str) -> bool {
    let Some(dirs) = &place.git else { return false };
    let ends = std::fs::read_to_string(dirs.common_dir.join("shallow")).unwrap_or_default();
    ends.lines().any(|end| end == commit)
}

/// Returns the non-merge commits that delete entry files, newest first.
pub(crate) fn deletion_commits(place: &LedgerLocation) -> Result<Vec<DeletionCommit>, GitError> {
    if head_id(place)?.is_none() {
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
        &entries_folder(),
    ];
    let out = run_git(place, &args)?;
    let text = String::from_utf8_lossy(&out);
    let parse = |block: &str| {
        let (head, paths) = block.split_once('\n')?;
        let files = paths
            .lines()
            .filter(|line| !line.is_empty())
            .filter_map(entry_file_name)
            .collect();
        Some(DeletionCommit {
            author: parse_authorship(head)?,
            files,
        })
    };
    // `--name-only` without `-z` separates names by lines, so a control character starts each
    // commit.
    Ok(text.split('\u{1}').filter_map(parse).collect())
}

/// Returns the names of entry files in HEAD.
pub(crate) fn entry_files_in_head(place: &LedgerLocation) -> Result<BTreeSet<String>, GitError> {
    if head_id(place)?.is_none() {
        return Ok(BTreeSet::new());
    }
    entry_file_names(
        place,
        &[
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "HEAD",
            "--",
            &format!("{}/", entries_folder()),
        ],
    )
}

/// Returns the identity from `user.email`.
pub(crate) fn identity(place: &LedgerLocation) -> Option<Actor> {
    place.git.as_ref()?;
    let out = run_git(place, &["config", "user.email"]).ok()?;
    let email = String::from_utf8_lossy(&out).trim().to_owned();
    (!email.is_empty()).then(|| Actor::from_claim(ActorRole::Human, &email))
}

/// Returns the addresses of remotes and the user's name and address.
pub(crate) fn configured_names(place: &LedgerLocation) -> Vec<String> {
    let pattern = r"^(remote\..*\.url|user\.(name|email))$";
    // Without any of them, git ends with an error.
    let found = run_git(place, &["config", "--get-regexp", pattern]).unwrap_or_default();
    let found = String::from_utf8_lossy(&found).into_owned();
    // `KEY VALUE` per line.
    let values = found.lines().filter_map(|it| it.split_once(' '));
    let name = |value: &str| value.trim_end_matches(".git").to_owned();
    values.map(|(_, value)| name(value)).collect()
}

fn run_git(place: &LedgerLocation, args: &[&str]) -> Result<Vec<u8>, GitError> {
    let dirs = place.git.as_ref().ok_or(GitError::NotOffered)?;
    GitRunner::new(&place.root, dirs).output(args)
}

/// Splits one of git's NUL-separated lists.
pub(crate) fn split_nul(out: &[u8]) -> impl Iterator<Item = String> {
    let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned())
}

fn entries_folder() -> String {
    format!("{KEN_DIR}/{ENTRIES_DIR}")
}

/// Returns the abbreviated id of the HEAD commit.
pub(crate) fn head_commit(place: &LedgerLocation) -> Option<String> {
    let head = head_id(place).ok().flatten()?;
    Some(head.chars().take(COMMIT_CHARS).collect())
}

fn head_id(place: &LedgerLocation) -> Result<Option<String>, GitError> {
    // Hooks and pages ask often, and a process takes longer than all else that many of them do.
    if let Some(id) = read_head_files(place) {
        return Ok(Some(id));
    }
    match run_git(place, &["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Ok(out) => Ok(Some(String::from_utf8_lossy(&out).trim().to_owned())),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the commit of HEAD if its branch has a file of its own. Git knows the other ways to
/// store references.
fn read_head_files(place: &LedgerLocation) -> Option<String> {
    let branch = current_branch(place)?;
    let dirs = place.git.as_ref()?;
    let id = std::fs::read_to_string(dirs.common_dir.join("refs/heads").join(branch)).ok()?;
    let id = id.trim();
    // A branch may itself be a symbolic reference.
    is_commit_id(id).then(|| id.to_owned())
}

/// Returns whether a word is a full commit id: SHA-1 ids have 40 digits, SHA-256 ids 64.
pub(crate) fn is_commit_id(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn entry_file_names(place: &LedgerLocation, args: &[&str]) -> Result<BTreeSet<String>, GitError> {
    let out = run_git(place, args)?;
    let text = String::from_utf8_lossy(&out);
    Ok(text
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(entry_file_name)
        .collect())
}

fn entry_file_name(path: &str) -> Option<String> {
    path.strip_prefix(&format!("{}/", entries_folder()))
        .map(str::to_owned)
}

fn parse_authorship(line: &str) -> Option<CommitAuthorship> {
    let mut parts = line.split('\0');
    let by = Actor::from_claim(ActorRole::Human, parts.next()?);
    let at = Timestamp::from_seconds(parts.next()?.parse().ok()?);
    let merge = parts
        .next()
        .is_some_and(|parents| parents.trim().contains(' '));
    Some(CommitAuthorship { by, at, merge })
}

/// Returns the latest deletion of each file; `deletions` are newest first.
pub(crate) fn latest_deletions(deletions: &[DeletionCommit]) -> BTreeMap<&str, &DeletionCommit> {
    let mut latest = BTreeMap::new();
    for deletion in deletions {
        for file in &deletion.files {
            // `or_insert` keeps the first, which is the newest.
            latest.entry(file.as_str()).or_insert(deletion);
        }
    }
    latest
}

/// Returns the paths that differ from `revision`, or from HEAD with untracked files if `None`.
pub(crate) fn changed_paths(
    place: &LedgerLocation,
    revision: Option<&str>,
) -> Result<Vec<String>, GitError> {
    let Some(revision) = revision else {
        // Two processes: `git status` has no option to skip a folder of untracked files, and looks
        // through all entry files. Each reads the index, so they run side by side.
        let not_in_ken = exclude_untracked_in_ken();
        let untracked = ["ls-files", "-z", "-o", "--exclude-standard", &not_in_ken];
        let (tracked, untracked) = side_by_side(
            || changed_tracked_files(place),
            || run_git(place, &untracked),
        );
        let mut paths = tracked?;
        paths.extend(split_nul(&untracked?));
        return Ok(paths);
    };
    let outside = pathspec_outside_ken();
    let mut arguments = vec!["--no-literal-pathspecs"];
    arguments.extend(DIFF_ARGUMENTS);
    arguments.extend(["--name-only", "-z", "--end-of-options", revision, "--"]);
    arguments.push(&outside);
    let listed = run_git(place, &arguments)?;
    Ok(split_nul(&listed).collect())
}

/// Waits for two git processes at the same time.
pub(crate) fn side_by_side<A, B: Send>(
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        let other = other.join();
        (
            one,
            other.unwrap_or_else(|it| std::panic::resume_unwind(it)),
        )
    })
}

/// Returns whether the content of a file outside `.ken` differs from HEAD, or is new.
///
/// Compares the two blobs first: `git status` of one path reads the index and looks through
/// folders, which takes 180 ms where there are 110,000 files.
pub(crate) fn is_changed(place: &LedgerLocation, path: &str) -> Result<bool, GitError> {
    if is_ken_file(path) {
        return Ok(false);
    }
    let at_head = format!("HEAD:{path}");
    let committed = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &at_head,
    ];
    let current = ["hash-object", "--", path];
    if let (Ok(committed), Ok(current)) = (run_git(place, &committed), run_git(place, &current))
        && committed == current
    {
        return Ok(false);
    }
    // Links, ignored files and committed line endings of Windows have other blobs and no change.
    let only = format!(":(top,literal){path}");
    Ok(!changed_since_head(place, "--untracked-files=all", &only)?.is_empty())
}

/// Returns the tracked files outside `.ken` that differ from HEAD.
///
/// Untracked files are skipped: finding them walks the whole tree, and no entry is about a new
/// file.
pub(crate) fn changed_tracked_files(place: &LedgerLocation) -> Result<Vec<String>, GitError> {
    changed_since_head(place, "--untracked-files=no", &pathspec_outside_ken())
}

/// Returns the paths of a pathspec that differ from HEAD.
fn changed_since_head(
    place: &LedgerLocation,
    untracked: &str,
    pathspec: &str,
) -> Result<Vec<String>, GitError> {
    let arguments = [
        // `GitRunner` makes pathspecs literal by default.
        "--no-literal-pathspecs",
        "status",
        "--porcelain=v1",
        "-z",
        untracked,
        "--ignore-submodules=all",
        "--no-renames",
        "--",
        pathspec,
    ];
    let listed = run_git(place, &arguments)?;
    // With `--no-renames`, every record is `XY path`.
    let paths = split_nul(&listed).filter_map(|line| line.get(3..).map(str::to_owned));
    Ok(paths.collect())
}

/// Returns whether a path of the repository is in `.ken`.
pub(crate) fn is_ken_file(path: &str) -> bool {
    let below = path.strip_prefix(KEN_DIR);
    below.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns git's name for everything but `.ken`. It keeps git from checking every entry file, and
/// unlike the names of what is on disk it includes what was removed.
pub(crate) fn pathspec_outside_ken() -> String {
    format!(":(top,exclude){KEN_DIR}")
}

/// Returns the option of `git ls-files` that keeps it from looking for untracked files in `.ken`.
pub(crate) fn exclude_untracked_in_ken() -> String {
    format!("--exclude=/{KEN_DIR}/")
}

/// Returns the branch of this worktree, read from its HEAD file without a git process.
pub(crate) fn current_branch(place: &LedgerLocation) -> Option<String> {
    let head = place.git.as_ref()?.git_dir.join("HEAD");
    let text = std::fs::read_to_string(head).ok()?;
    let branch = text.trim().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// Returns whether a commit changes nothing but the ledger.
pub(crate) fn changes_only_ledger(commit: &LoggedCommit) -> bool {
    let prefix = format!("{KEN_DIR}/");
    let is_ledger =
        |file: &String| file.starts_with(&prefix) || file.contains(&format!("/{prefix}"));
    !commit.files.is_empty() && commit.files.iter().all(is_ledger)
}

/// Returns the ids of those of the last `count` commits that the user of this clone committed.
pub(crate) fn commits_by_user(
    git: &GitRunner,
    place: &LedgerLocation,
    count: usize,
) -> BTreeSet<String> {
    let Ok(email) = run_git(place, &["config", "user.email"]) else {
        return BTreeSet::new();
    };
    let email = String::from_utf8_lossy(&email).trim().to_owned();
    let (count, committer) = (
        format!("--max-count={count}"),
        format!("--committer=<{email}>"),
    );
    let log = read_log(git, &[&count, "--fixed-strings", &committer]).unwrap_or_default();
    log.into_iter().map(|it| it.id).collect()
}

/// Returns the revision that changes of this repository start from: the default branch of
/// `origin`, else the configured, a usual or the current branch.
pub(crate) fn default_base(place: &LedgerLocation) -> String {
    let line = |args: &[&str]| {
        let out = run_git(place, args).ok()?;
        let text = String::from_utf8_lossy(&out).trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let remote = line(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]);
    // `init.defaultBranch` is a wish for new repositories, so it counts only if it came true.
    let wanted = line(&["config", "--get", "init.defaultBranch"]);
    let usual = ["main", "master"].map(str::to_owned);
    let local = wanted.into_iter().chain(usual);
    let local = local.map(|branch| format!("refs/heads/{branch}"));
    let mut candidates = remote.into_iter().chain(local);
    let exists = |name: &String| line(&["rev-parse", "--verify", "--quiet", name]).is_some();
    candidates.find(exists).unwrap_or_else(|| "HEAD".to_owned())
}

/// Returns the diff of `paths` since `revision`, without context lines.
pub(crate) fn diff(
    place: &LedgerLocation,
    revision: &str,
    paths: &[String],
) -> Result<Vec<u8>, GitError> {
    let mut arguments = DIFF_ARGUMENTS.to_vec();
    arguments.extend(["--unified=0", "--end-of-options", revision, "--"]);
    arguments.extend(paths.iter().map(String::as_str));
    run_git(place, &arguments)
}

/// Arguments of a diff that runs no program from git's configuration or attributes.
const DIFF_ARGUMENTS: &[&str] = &[
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
];
