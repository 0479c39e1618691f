//! A worktree of a test clone, with an independent reader of its ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::{EventSet, redaction_target};
use ken_core::values::id::EventId;
use ken_ledger::pack;

use super::git::{must_run_git, object_contents, run_git};

/// A worktree of a clone.
#[derive(Clone, Debug)]
pub(crate) struct TestWorktree {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common: PathBuf,
    pub(crate) email: String,
}

/// Options for creating a clone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloneOptions {
    pub(crate) autocrlf: &'static str,
    pub(crate) ref_format: &'static str,
}

impl TestWorktree {
    /// Clones `remote` into a folder `name` next to it.
    pub(crate) fn cloned(remote: &Path, name: &str, make: CloneOptions) -> Self {
        Self::create_clone_with(remote, name, make, &[])
    }

    /// Clones with further options.
    pub(crate) fn create_clone_with(
        remote: &Path,
        name: &str,
        make: CloneOptions,
        options: &[&str],
    ) -> Self {
        let parent = remote.parent().expect("it lies in a folder");
        let root = parent.join(name);
        let CloneOptions {
            autocrlf,
            ref_format,
        } = make;
        let email = format!("{name}@example.org");
        let autocrlf = format!("core.autocrlf={autocrlf}");
        let who = format!("user.email={email}");
        let format = format!("--ref-format={ref_format}");
        let mut arguments = vec!["clone", "-q", format.as_str()];
        for setting in [
            autocrlf.as_str(),
            who.as_str(),
            "user.name=Somebody",
            "commit.gpgSign=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "core.fsync=none",
            "core.hooksPath=/dev/null",
            "core.safecrlf=false",
            "advice.diverging=false",
            "rerere.enabled=false",
        ] {
            arguments.extend(["-c", setting]);
        }
        let (from, to) = (remote.display().to_string(), root.display().to_string());
        arguments.extend(options);
        arguments.extend([from.as_str(), to.as_str()]);
        must_run_git(parent, &arguments);
        let git_dir = root.join(".git");
        Self {
            name: name.to_owned(),
            common: git_dir.clone(),
            git_dir,
            root,
            email,
        }
    }

    /// Adds a worktree `name` to this clone, on a new branch of that name.
    pub(crate) fn worktree(&self, name: &str) -> Self {
        let root = self.root.parent().expect("it lies in a folder").join(name);
        let path = root.display().to_string();
        must_run_git(&self.root, &["worktree", "add", "-q", "-B", name, &path]);
        Self {
            name: name.to_owned(),
            git_dir: self.common.join("worktrees").join(name),
            root,
            common: self.common.clone(),
            email: self.email.clone(),
        }
    }

    pub(crate) fn ken(&self, path: &str) -> PathBuf {
        self.root.join(".ken").join(path)
    }

    /// Returns true if a git operation is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        [
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "rebase-merge",
            "rebase-apply",
            "sequencer",
        ]
        .iter()
        .any(|file| self.git_dir.join(file).exists())
    }

    /// Returns the names of the entry files in the worktree.
    pub(crate) fn entry_files(&self) -> Vec<String> {
        file_names(&self.ken("entries"))
    }

    /// Returns the paths of the segments in the worktree, relative to its root.
    pub(crate) fn segments(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for memory in ["semantic", "procedural", "episodic"] {
            let names = file_names(&self.ken(&format!("{memory}/v1")));
            paths.extend(
                names
                    .into_iter()
                    .map(|name| format!(".ken/{memory}/v1/{name}")),
            );
        }
        paths
    }

    /// Reads every line of every segment and pack in the worktree.
    pub(crate) fn lines(&self) -> Result<Vec<(String, RecordedEvent)>, String> {
        let mut lines = Vec::new();
        for path in self.segments() {
            let bytes = fs::read(self.root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
            for recorded in parse_segment(&path, &bytes)? {
                lines.push((path.clone(), recorded));
            }
        }
        Ok(lines)
    }

    /// Reads every line reachable from any ref or stash of the repository.
    pub(crate) fn reachable_lines(root: &Path) -> Result<Vec<RecordedEvent>, String> {
        let stashes = run_git(root, 0, &["rev-list", "-g", "refs/stash", "--"]).out;
        let mut arguments = vec!["rev-list", "--objects", "--all"];
        arguments.extend(stashes.lines());
        let listed = must_run_git(root, &arguments);
        let files: BTreeMap<&str, &str> = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, path)| is_segment(path))
            .collect();
        let (ids, paths): (Vec<&str>, Vec<&str>) = files.into_iter().unzip();
        let mut lines = Vec::new();
        for (path, bytes) in paths.iter().zip(object_contents(root, &ids)) {
            lines.extend(parse_segment(path, &bytes)?);
        }
        Ok(lines)
    }

    /// Reads every event of the journal.
    pub(crate) fn journal_events(&self) -> Vec<RecordedEvent> {
        let journal = self.common.join("ken/journal");
        let texts = file_names(&journal)
            .into_iter()
            .filter_map(|name| fs::read_to_string(journal.join(name)).ok());
        texts
            .flat_map(|text| {
                let lines = text
                    .lines()
                    .filter_map(|record| record.splitn(4, '\t').nth(3));
                lines
                    .filter_map(|line| RecordedEvent::parse(line.as_bytes()).ok())
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns the event ids that this clone remembers as redacted.
    pub(crate) fn remembered(&self) -> BTreeSet<EventId> {
        let text = fs::read_to_string(self.common.join("ken/blanked")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Returns the events of the worktree by the rules of the format, read without the engine.
    pub(crate) fn events(&self) -> Result<EventSet, String> {
        let mut set = EventSet::with_redacted(self.remembered());
        for (_, recorded) in self.lines()? {
            set.add(recorded);
        }
        Ok(set)
    }

    /// Returns the ids that must not be served here: remembered as redacted, or redacted by an
    /// event.
    pub(crate) fn blanked(&self) -> Result<BTreeSet<EventId>, String> {
        let mut ids = self.remembered();
        ids.extend(
            self.lines()?
                .iter()
                .filter_map(|(_, it)| redaction_target(&it.event)),
        );
        Ok(ids)
    }
}

/// Returns true for the path of a segment or pack.
pub(crate) fn is_segment(path: &str) -> bool {
    path.starts_with(".ken/") && (path.ends_with(".jsonl") || path.ends_with(".pack"))
}

fn parse_segment(path: &str, bytes: &[u8]) -> Result<Vec<RecordedEvent>, String> {
    let text = if path.ends_with(".pack") {
        pack::decode(bytes).map_err(|e| format!("{path}: {e}"))?
    } else {
        bytes.to_vec()
    };
    if !text.is_empty() && !text.ends_with(b"\n") {
        return Err(format!("{path} ends in the middle of a line"));
    }
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| RecordedEvent::parse(line).map_err(|e| format!("{path}: {e}")))
        .collect()
}

fn file_names(folder: &Path) -> Vec<String> {
    let Ok(listed) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = listed
        .filter_map(|item| item.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
