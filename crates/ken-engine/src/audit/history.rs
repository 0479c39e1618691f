//! What git history knows: deleted files, and files as they were when a line was written.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use ken_ledger::LedgerLocation;
use ken_ledger::git::{CatFileMode, GitObjectReader, GitRunner};

use super::file_lookup::{FileLookup, join_path};
use crate::git::is_commit_id;

/// Number of commits searched for deleted files.
const COMMITS_MAX: &str = "30000";

/// Minimum parts of a path that is searched below any folder; shorter ones fit by chance.
const TAIL_PARTS_MIN: usize = 2;

/// History of a repository, read when first needed.
pub(super) struct History {
    git: Option<GitRunner>,
    deleted: OnceCell<DeletedPaths>,
}

/// A commit that deleted a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deletion {
    pub(super) commit: String,
    pub(super) date: String,
}

/// Commit that last changed a line, and its time in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineOrigin {
    pub(super) commit: String,
    pub(super) time: u64,
    /// True if the line is not committed.
    pub(super) is_uncommitted: bool,
}

/// Deleted files, by path and by the last part of their path.
#[derive(Default)]
struct DeletedPaths {
    files: BTreeMap<String, Deletion>,
    by_name: HashMap<String, Vec<String>>,
}

impl History {
    pub(super) fn new(place: &LedgerLocation) -> Self {
        let git = place
            .git
            .as_ref()
            .map(|dirs| GitRunner::new(&place.root, dirs));
        Self {
            git,
            deleted: OnceCell::new(),
        }
    }

    /// Returns the runner, if there is a git repository.
    pub(super) fn git(&self) -> Option<&GitRunner> {
        self.git.as_ref()
    }

    /// Returns the deletions of files or folders that `name` can mean in a document in `folder`.
    ///
    /// Looks in the same places as [`FileLookup::resolve`].
    pub(super) fn find_deletions(
        &self,
        files: &FileLookup,
        name: &str,
        folder: &str,
    ) -> Vec<&Deletion> {
        let deleted = self.deleted();
        let name = name.trim_end_matches('/');
        let direct = [join_path(folder, name), join_path("", name)];
        let found = direct.into_iter().flatten();
        let found = found.filter_map(|path| deleted.files.get(&path)).next();
        if let Some(found) = found {
            return vec![found];
        }
        if name.contains("..") || name.split('/').count() < TAIL_PARTS_MIN {
            return Vec::new();
        }
        let tail = format!("/{name}");
        let last = name.rsplit('/').next().unwrap_or(name);
        let namesakes = deleted.by_name.get(last).map_or(&[][..], Vec::as_slice);
        // The folder that the path starts from must still be there, or the path belonged to a part
        // of the repository that is gone as a whole.
        let fitting = namesakes.iter().filter(|path| {
            let base = path.strip_suffix(tail.as_str());
            base.is_some_and(|base| files.is_folder(base))
        });
        fitting.filter_map(|path| deleted.files.get(path)).collect()
    }

    fn deleted(&self) -> &DeletedPaths {
        self.deleted.get_or_init(|| {
            let read = self.git.as_ref().map(DeletedPaths::read);
            read.unwrap_or_default()
        })
    }

    /// Returns the origin of each line of a document.
    pub(super) fn line_origins(&self, path: &str) -> BTreeMap<usize, LineOrigin> {
        let mut origins = BTreeMap::new();
        let out = self
            .git
            .as_ref()
            .and_then(|git| git.output(&["blame", "--line-porcelain", "--", path]).ok());
        let text = out.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let (mut line, mut commit) = (0, "");
        for row in text.lines() {
            // Lines of the file itself start with a tab and could look like a header.
            if row.starts_with('\t') {
                continue;
            }
            let words: Vec<&str> = row.split(' ').collect();
            match words[..] {
                [id, _, number] | [id, _, number, _] if is_commit_id(id) => {
                    line = number.parse().unwrap_or(0);
                    commit = id;
                }
                ["committer-time", time] => {
                    // `git blame` reports uncommitted lines under an id of zeros.
                    let is_uncommitted = commit.bytes().all(|b| b == b'0');
                    let time = time.parse().ok().filter(|_| !is_uncommitted);
                    let origin = LineOrigin {
                        commit: commit.to_owned(),
                        time: time.unwrap_or(u64::MAX),
                        is_uncommitted,
                    };
                    origins.insert(line, origin);
                }
                _ => {}
            }
        }
        origins
    }

    /// Returns a reader for old versions of files.
    pub(super) fn objects(&self) -> Option<GitObjectReader> {
        GitObjectReader::open(self.git.as_ref()?, CatFileMode::Content).ok()
    }
}

impl DeletedPaths {
    fn read(git: &GitRunner) -> Self {
        // Without renames, a moved file counts as deleted at its old path, and git reads no blob.
        // `-z` prints names unquoted; the byte 1 marks the beginning of a commit.
        let options = [
            "log",
            "--no-renames",
            "--diff-filter=D",
            "--format=%x01%h %cs",
            "--name-only",
            "-z",
            "-n",
            COMMITS_MAX,
        ];
        let mut found = Self::default();
        let out = git.output(&options).unwrap_or_default();
        let text = String::from_utf8_lossy(&out);
        for commit in text.split('\u{1}').skip(1) {
            let mut parts = commit.split(['\0', '\n']).filter(|it| !it.is_empty());
            let Some((id, date)) = parts.next().and_then(|it| it.split_once(' ')) else {
                continue;
            };
            for path in parts {
                found.add(path, id, date);
            }
        }
        found
    }

    /// Adds a deleted file and its folders. `git log` begins with the newest commit, which wins.
    fn add(&mut self, path: &str, id: &str, date: &str) {
        let mut rest = Some(path);
        while let Some(path) = rest {
            if self.files.contains_key(path) {
                break;
            }
            let deletion = Deletion {
                commit: id.to_owned(),
                date: date.to_owned(),
            };
            self.files.insert(path.to_owned(), deletion);
            let name = path.rsplit('/').next().unwrap_or(path);
            self.by_name
                .entry(name.to_owned())
                .or_default()
                .push(path.to_owned());
            rest = path.rsplit_once('/').map(|(folder, _)| folder);
        }
    }
}
