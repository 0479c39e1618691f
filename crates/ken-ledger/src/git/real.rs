//! [`GitView`] of a real worktree: reads small files first and runs `git` if they do not suffice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::run::GitRunner;
use super::{GitError, GitOperation, GitView, TreeChange, operation_in_progress};
use crate::disk::{Dir, RealDir, Stat};
use crate::layout::{KEN_DIR, SegmentName};
use crate::place::GitDirs;

/// Maximum depth of symbolic references from HEAD; git's own limit.
const SYMREF_DEPTH_MAX: usize = 5;
/// Length of the commit id in the name of a detached HEAD.
const SHORT_COMMIT_CHARS: usize = 12;
/// Committer and author if git has no identity configured.
const FALLBACK_IDENTITY: [&str; 4] = ["-c", "user.name=ken", "-c", "user.email=ken@localhost"];

/// A worktree on disk and the `git` program.
#[derive(Debug)]
pub struct RealGit {
    root: PathBuf,
    dirs: GitDirs,
    git: GitRunner,
}

impl RealGit {
    /// Creates a view of the worktree whose top is `root`.
    pub fn new(root: &Path, dirs: &GitDirs) -> Self {
        Self {
            root: root.to_owned(),
            dirs: dirs.clone(),
            git: GitRunner::new(root, dirs),
        }
    }

    /// Adds the resolution of HEAD through loose refs, packed refs or reftables to the token.
    fn hash_head(&self, token: &mut HeadTokenHasher) {
        let GitDirs {
            git_dir,
            common_dir,
            ..
        } = &self.dirs;
        let mut head = fs::read(git_dir.join("HEAD")).ok();
        token.bytes(head.as_deref());
        token.stat(&git_dir.join("logs/HEAD"));
        for _ in 0..SYMREF_DEPTH_MAX {
            let Some(name) = head.as_deref().and_then(symref_target) else {
                break;
            };
            head = fs::read(common_dir.join(&name))
                .or_else(|_| fs::read(git_dir.join(&name)))
                .ok();
            token.bytes(head.as_deref());
            // The ref is packed. Its line need not be parsed: any change of the file counts as a
            // move.
            if head.is_none() {
                token.stat(&common_dir.join("packed-refs"));
            }
        }
        // Reftables have no file per ref; the table list changes with every update.
        for dir in [git_dir, common_dir] {
            token.bytes(fs::read(dir.join("reftable/tables.list")).ok().as_deref());
        }
    }

    fn identity(&self) -> Result<&'static [&'static str], GitError> {
        // Without an identity `git commit` fails, for example in a fresh container.
        let known = self.git.answer(&["var", "GIT_COMMITTER_IDENT"])?.is_some()
            && self.git.answer(&["var", "GIT_AUTHOR_IDENT"])?.is_some();
        Ok(if known { &[] } else { &FALLBACK_IDENTITY })
    }

    /// Returns the commits of all stashes; the ref itself reaches only the last one.
    fn stashes(&self) -> Result<Vec<String>, GitError> {
        let list = self
            .git
            .answer(&["rev-list", "--walk-reflogs", "refs/stash", "--"])?;
        Ok(list
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect())
    }
}

impl GitView for RealGit {
    fn worktree(&self) -> String {
        if self.dirs.git_dir == self.dirs.common_dir {
            return ".".to_owned();
        }
        let name = self.dirs.git_dir.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn head_token(&self) -> String {
        let mut token = HeadTokenHasher(blake3::Hasher::new());
        self.hash_head(&mut token);
        token.bytes(
            fs::read(self.dirs.common_dir.join("refs/stash"))
                .ok()
                .as_deref(),
        );
        token.stat(&self.dirs.common_dir.join("logs/refs/stash"));
        token.0.finalize().to_hex()[..32].to_owned()
    }

    fn branch(&self) -> String {
        let head = fs::read(self.dirs.git_dir.join("HEAD")).unwrap_or_default();
        match symref_target(&head) {
            // Reftable repositories keep this placeholder in the file for older programs.
            Some(name) if name == "refs/heads/.invalid" => {
                let named = self.git.answer(&["symbolic-ref", "--quiet", "HEAD"]);
                named.ok().flatten().unwrap_or_else(|| {
                    let commit = self
                        .git
                        .answer(&["rev-parse", "--verify", "--quiet", "HEAD"]);
                    detached_name(&commit.ok().flatten().unwrap_or_default())
                })
            }
            Some(name) => name,
            None => detached_name(String::from_utf8_lossy(&head).trim()),
        }
    }

    fn index_stat(&self) -> Option<Stat> {
        stat(&self.dirs.git_dir.join("index"))
    }

    fn index_paths(&self) -> Result<BTreeSet<String>, GitError> {
        let output = self
            .git
            .output(&["ls-files", "--cached", "-z", "--", KEN_DIR])?;
        Ok(nul_separated(&output).collect())
    }

    fn operation_under_way(&self) -> Option<GitOperation> {
        operation_in_progress(&self.dirs.git_dir)
    }

    fn head_paths(&self) -> Result<BTreeSet<String>, GitError> {
        if self
            .git
            .answer(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?
            .is_none()
        {
            return Ok(BTreeSet::new());
        }
        let arguments = [
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "--full-tree",
            "HEAD",
            "--",
            KEN_DIR,
        ];
        Ok(nul_separated(&self.git.output(&arguments)?).collect())
    }

    fn head_file(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        // Distinguishes a missing path from a failing git.
        if !self.head_paths()?.contains(path) {
            return Ok(None);
        }
        self.git
            .output(&["cat-file", "blob", &format!("HEAD:{path}")])
            .map(Some)
    }

    fn changed_paths(&self) -> Result<BTreeSet<String>, GitError> {
        let arguments = [
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--",
            KEN_DIR,
        ];
        let output = self.git.output(&arguments)?;
        // Each entry is two letters, a space and the path.
        Ok(nul_separated(&output)
            .filter_map(|entry| entry.get(3..).map(str::to_owned))
            .collect())
    }

    fn stage(&self, change: &TreeChange<'_>) -> Result<(), GitError> {
        if !change.removed.is_empty() {
            // `git rm` would refuse files that differ from HEAD.
            let arguments = ["update-index", "--force-remove", "-z", "--stdin"];
            self.git
                .output_with(&arguments, &nul_joined(change.removed))?;
        }
        if !change.added.is_empty() {
            let arguments = [
                "add",
                "--force",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ];
            self.git
                .output_with(&arguments, &nul_joined(change.added))?;
        }
        Ok(())
    }

    fn commit_only(&self, change: &TreeChange<'_>) -> Result<(), GitError> {
        // `commit --only` records removals itself, but new files must be in the index first.
        self.stage(&TreeChange {
            removed: &[],
            ..*change
        })?;
        // The packs replace the only other copy, so the commit must be durable. Signing could
        // prompt for a passphrase, and automatic maintenance would keep running after the command.
        let mut arguments = vec!["-c", "core.fsync=all", "-c", "commit.gpgSign=false"];
        arguments.extend(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
        arguments.extend(self.identity()?);
        arguments.extend(["commit", "--only", "--quiet", "--no-verify", "--no-status"]);
        arguments.extend([
            "-m",
            change.message,
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ]);
        let paths = [nul_joined(change.added), nul_joined(change.removed)].concat();
        self.git.output_with(&arguments, &paths).map(drop)
    }

    fn commits_touching(&self, paths: &[String]) -> Result<u64, GitError> {
        // Passed on standard input, because the list may exceed the limit of the command line.
        let input = format!("--\n{}\n", paths.join("\n"));
        let arguments = ["rev-list", "--all", "--full-history", "--count", "--stdin"];
        let output = self.git.output_with(&arguments, input.as_bytes())?;
        let count = std::str::from_utf8(&output)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        count.ok_or_else(|| GitError::Answer {
            command: "rev-list --count".to_owned(),
        })
    }

    fn branches(&self) -> Result<BTreeSet<String>, GitError> {
        let output = self
            .git
            .output(&["for-each-ref", "--format=%(refname)", "refs/heads"])?;
        Ok(String::from_utf8_lossy(&output)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    fn each_reachable_file(&self, visit: &mut dyn FnMut(&str, &[u8])) -> Result<(), GitError> {
        let stashes = self.stashes()?;
        let mut arguments = vec!["rev-list", "--objects", "--all", "--full-history"];
        arguments.extend(stashes.iter().map(String::as_str));
        arguments.extend(["--", KEN_DIR]);
        let output = self.git.output(&arguments)?;
        let text = String::from_utf8_lossy(&output);
        // Keyed by object id, so that each version is read once regardless of how many commits
        // contain it.
        let files: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, path)| SegmentName::from_tree_path(path).is_ok())
            .collect();
        let (ids, paths): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        self.git
            .for_each_object(&ids, &mut |at, content| visit(paths[at], content))
    }

    fn other_ledgers(&self) -> Result<Vec<Arc<dyn Dir>>, GitError> {
        let output = self.git.output(&["worktree", "list", "--porcelain"])?;
        let text = String::from_utf8_lossy(&output);
        let roots = text
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .map(Path::new);
        let others = roots.filter(|root| *root != self.root);
        // A worktree whose directory was deleted has no ledger.
        Ok(others
            .filter_map(|root| RealDir::below(root, KEN_DIR).ok())
            .map(|dir| Arc::new(dir) as Arc<dyn Dir>)
            .collect())
    }
}

/// Hash over everything that must not change while a segment stays open.
struct HeadTokenHasher(blake3::Hasher);

impl HeadTokenHasher {
    fn bytes(&mut self, bytes: Option<&[u8]>) {
        // The length prefix separates consecutive files; `u64::MAX` marks a missing one.
        let len = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
        self.0
            .update(&len.to_be_bytes())
            .update(bytes.unwrap_or_default());
    }

    fn stat(&mut self, path: &Path) {
        let text = format!("{:?}", stat(path));
        self.bytes(Some(text.as_bytes()));
    }
}

fn symref_target(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?;
    Some(text.strip_prefix("ref:")?.trim().to_owned())
}

fn detached_name(commit: &str) -> String {
    let short: String = commit.chars().take(SHORT_COMMIT_CHARS).collect();
    format!("detached:{short}")
}

fn stat(path: &Path) -> Option<Stat> {
    let metadata = fs::metadata(path).ok()?;
    let since = metadata
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    let modified_ns = u64::try_from(since.as_nanos()).unwrap_or(0);
    Some(Stat {
        len: metadata.len(),
        modified_ns,
        inode: inode(&metadata),
    })
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &fs::Metadata) -> u64 {
    0
}

fn nul_separated(output: &[u8]) -> impl Iterator<Item = String> {
    output
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
}

fn nul_joined(paths: &[String]) -> Vec<u8> {
    paths
        .iter()
        .flat_map(|path| [path.as_bytes(), b"\0"].concat())
        .collect()
}
