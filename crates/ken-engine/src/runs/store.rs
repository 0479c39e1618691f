//! Storage of run notes: one local file per run, one line per note.
//!
//! A note about an exposure is on disk before the entry is shown. An unreadable line is a gap: the
//! run continues but confirms nothing. Exposures of a session outlive its runs for as long as a
//! session may last.
//!
//! A run is in one of three folders: open, ended but not in the ledger yet (deferred), or ended.
//! The notes of ended runs answer what an agent was shown; the oldest are deleted.

use std::collections::BTreeMap;
use std::io;

use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::name::{IMPLICIT_PREFIX, RUN_NAME_BYTES_MAX, is_run_name};
use ken_core::trust::run::{Run, RunRecord, SESSION_KEPT_MS};
use ken_core::values::time::Timestamp;
use ken_index::FileStat;
use ken_ledger::disk::{LockGuard, LockWait};
use ken_ledger::{Dir as _, DiskError, LedgerLocation, RealDir};

use crate::error::EngineError;
use crate::files::open_ken_dir;

/// Directory of open runs.
const RUNS_DIR: &str = ".local/runs";
/// Directory of session exposures. A resumed session still knows the entries of its earlier runs.
const SESSIONS_DIR: &str = ".local/sessions";
/// Directory of runs that ended without results and whose effects are not in the ledger yet.
const DEFERRED_DIR: &str = ".local/deferred";
/// Directory of runs whose effects are in the ledger.
const ENDED_DIR: &str = ".local/ended";
/// Maximum number of runs in each of these two; the oldest are deleted first.
const ENDED_RUNS_MAX: usize = 500;
const SUFFIX: &str = ".jsonl";
const LOCK_FILE: &str = ".local/runs/lock";
const FINDINGS_LOCK_FILE: &str = ".local/runs/findings.lock";

/// Run notes and session exposures on this machine.
#[derive(Debug)]
pub(crate) struct RunStore {
    dir: RealDir,
}

impl RunStore {
    /// Opens the store of a clone.
    pub(crate) fn new(place: &LedgerLocation) -> Result<Self, EngineError> {
        Ok(Self {
            dir: open_ken_dir(place)?,
        })
    }

    /// Creates a run with its first notes.
    pub(crate) fn create(&self, id: &str, notes: &[RunRecord]) -> Result<(), EngineError> {
        let path = run_path(RUNS_DIR, id)?;
        let text: String = notes.iter().map(note_line).collect();
        let made = self.dir.create_dirs(RUNS_DIR);
        made.map_err(DiskError::on("create", RUNS_DIR))?;
        let created = self.dir.create_new(&path, text.as_bytes());
        match created {
            // `create_new` is atomic, so only one of two processes creates the run.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(EngineError::Usage(format!("run `{id}` is already open")))
            }
            other => Ok(other.map_err(DiskError::on("write", &path))?),
        }
    }

    /// Appends a note to an open run: durably, except to an implicit run, which confirms nothing.
    pub(crate) fn append(&self, id: &str, noted: &RunRecord) -> Result<(), EngineError> {
        let path = run_path(RUNS_DIR, id)?;
        self.check_open(id)?;
        let line = note_line(noted);
        let written = if id.starts_with(IMPLICIT_PREFIX) {
            self.dir.append(&path, line.as_bytes())
        } else {
            self.dir.append_durably(&path, line.as_bytes())
        };
        Ok(written.map_err(DiskError::on("write", &path))?)
    }

    /// Reads the notes of an open run.
    pub(crate) fn read_notes(&self, id: &str) -> Result<Vec<RunRecord>, EngineError> {
        let path = run_path(RUNS_DIR, id)?;
        self.check_open(id)?;
        let bytes = self.dir.read(&path);
        Ok(parse_notes(&bytes.map_err(DiskError::on("read", &path))?))
    }

    /// Returns the ids of open runs.
    pub(crate) fn list_open(&self) -> Result<Vec<String>, EngineError> {
        self.list_run_ids(RUNS_DIR)
    }

    /// Returns the metadata of the notes of each open run, without reading them.
    pub(crate) fn open_stats(&self) -> Result<BTreeMap<String, FileStat>, EngineError> {
        let listed = self.dir.list(RUNS_DIR);
        let listed = listed.map_err(DiskError::on("list", RUNS_DIR))?.into_iter();
        let stats = listed.filter_map(|(name, stat)| {
            let id = name.strip_suffix(SUFFIX).filter(|id| is_run_name(id))?;
            let stat = FileStat {
                len: stat.len,
                modified_ns: stat.modified_ns,
                inode: stat.inode,
            };
            Some((id.to_owned(), stat))
        });
        Ok(stats.collect())
    }

    /// Creates a run that another process may create at the same time.
    pub(crate) fn create_or_join(&self, id: &str, notes: &[RunRecord]) -> Result<(), EngineError> {
        match self.create(id, notes) {
            Err(EngineError::Usage(_)) if self.is_open(id)? => Ok(()),
            other => other,
        }
    }

    /// Returns true if a run is open on this machine.
    pub(crate) fn is_open(&self, id: &str) -> Result<bool, EngineError> {
        let path = run_path(RUNS_DIR, id)?;
        let stat = self.dir.stat(&path);
        Ok(stat
            .map_err(DiskError::on("read the metadata of", &path))?
            .is_some())
    }

    /// Waits for the lock that serializes closing runs.
    pub(crate) fn lock(&self) -> Result<Option<LockGuard>, EngineError> {
        self.wait_for(LOCK_FILE)
    }

    /// Waits for the lock that serializes findings, so that of two equal ones the second is known.
    pub(crate) fn lock_findings(&self) -> Result<Option<LockGuard>, EngineError> {
        self.wait_for(FINDINGS_LOCK_FILE)
    }

    fn wait_for(&self, file: &str) -> Result<Option<LockGuard>, EngineError> {
        let made = self.dir.create_dirs(RUNS_DIR);
        made.map_err(DiskError::on("create", RUNS_DIR))?;
        let locked = self.dir.lock(file, LockWait::UntilFree);
        Ok(locked.map_err(DiskError::on("lock", file))?)
    }

    /// Stores the exposures of a run's sessions and moves its notes to the ended runs.
    pub(crate) fn close(&self, run: &Run) -> Result<(), EngineError> {
        self.end(run, ENDED_DIR)
    }

    /// Like [`Self::close`], for a run whose effects are appended to the ledger later.
    pub(crate) fn defer(&self, run: &Run) -> Result<(), EngineError> {
        self.end(run, DEFERRED_DIR)
    }

    fn end(&self, run: &Run, folder: &str) -> Result<(), EngineError> {
        // Exposures first: after a crash in between, the run is still open and is closed again.
        self.add_exposures(run)?;
        self.move_notes(&run_path(RUNS_DIR, &run.id)?, run, folder)
    }

    fn add_exposures(&self, run: &Run) -> Result<(), EngineError> {
        for (name, agent) in &run.agents {
            if let Some(session) = &agent.member.session {
                self.add_session_exposures(session, run.exposures(name))?;
            }
        }
        Ok(())
    }

    /// Stores the exposures of a run's sessions and deletes the notes of a run that no ledger can
    /// take, such as one with a secret.
    pub(crate) fn discard(&self, run: &Run) -> Result<(), EngineError> {
        self.add_exposures(run)?;
        self.remove(&run_path(RUNS_DIR, &run.id)?)
    }

    /// Deletes the notes of a deferred run that no ledger can take.
    pub(crate) fn discard_deferred(&self, run: &Run) -> Result<(), EngineError> {
        self.remove(&ended_path(DEFERRED_DIR, run)?)
    }

    fn remove(&self, path: &str) -> Result<(), EngineError> {
        let removed = self.dir.remove(path);
        Ok(removed.map_err(DiskError::on("remove", path))?)
    }

    /// Marks a deferred run as written to the ledger.
    pub(crate) fn close_deferred(&self, run: &Run) -> Result<(), EngineError> {
        self.move_notes(&ended_path(DEFERRED_DIR, run)?, run, ENDED_DIR)
    }

    fn move_notes(&self, from: &str, run: &Run, folder: &str) -> Result<(), EngineError> {
        let made = self.dir.create_dirs(folder);
        made.map_err(DiskError::on("create", folder))?;
        let moved = self.dir.rename(from, &ended_path(folder, run)?);
        moved.map_err(DiskError::on("move", from))?;
        self.delete_oldest(folder)
    }

    /// Deletes the oldest runs of a folder that has too many.
    fn delete_oldest(&self, folder: &str) -> Result<(), EngineError> {
        let names = self.ended_names(folder)?;
        for name in &names[..names.len().saturating_sub(ENDED_RUNS_MAX)] {
            self.remove(&format!("{folder}/{name}"))?;
        }
        Ok(())
    }

    /// Returns the file names of a folder of ended runs, oldest run first.
    fn ended_names(&self, folder: &str) -> Result<Vec<String>, EngineError> {
        let listed = match self.dir.list(folder) {
            // Where nothing can be written, there is no local state, and readers work without it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Vec::new(),
            listed => listed.map_err(DiskError::on("list", folder))?,
        };
        let mut names: Vec<String> = listed.into_iter().map(|(name, _)| name).collect();
        // Names begin with the time of opening.
        names.sort();
        Ok(names)
    }

    /// Returns the runs that ended without results and are not in the ledger, oldest first.
    pub(crate) fn deferred_runs(&self) -> Result<Vec<Run>, EngineError> {
        let mut runs = Vec::new();
        for name in self.ended_names(DEFERRED_DIR)? {
            runs.extend(self.read_ended(DEFERRED_DIR, &name)?);
        }
        Ok(runs)
    }

    /// Returns the notes of every run whose effects are not in the ledger: open and deferred ones.
    pub(crate) fn unrecorded_notes(&self) -> Result<Vec<Vec<RunRecord>>, EngineError> {
        self.notes_in(&[DEFERRED_DIR])
    }

    /// Returns the notes of every run that this machine still has.
    pub(crate) fn all_notes(&self) -> Result<Vec<Vec<RunRecord>>, EngineError> {
        self.notes_in(&[DEFERRED_DIR, ENDED_DIR])
    }

    /// Returns the notes of open runs and of the ended runs in `folders`.
    fn notes_in(&self, folders: &[&str]) -> Result<Vec<Vec<RunRecord>>, EngineError> {
        let open = self.list_open()?.into_iter();
        let open = open.map(|id| run_path(RUNS_DIR, &id));
        let mut paths = open.collect::<Result<Vec<_>, _>>()?;
        for folder in folders {
            let names = self.ended_names(folder)?.into_iter();
            paths.extend(names.map(|name| format!("{folder}/{name}")));
        }
        let mut runs = Vec::new();
        for path in paths {
            match self.dir.read(&path) {
                Ok(bytes) => runs.push(parse_notes(&bytes)),
                // Another process closed the run since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(DiskError::on("read", &path)(error).into()),
            }
        }
        Ok(runs)
    }

    /// Returns the latest ended run with this id whose notes are still on this machine.
    pub(crate) fn ended_run(&self, id: &str) -> Result<Option<Run>, EngineError> {
        Ok(Run::from_records(self.ended_notes(id)?))
    }

    /// Returns the notes of an ended run; empty if they are not on this machine.
    pub(crate) fn ended_notes(&self, id: &str) -> Result<Vec<RunRecord>, EngineError> {
        let mut found: Option<(Timestamp, Vec<RunRecord>)> = None;
        for folder in [DEFERRED_DIR, ENDED_DIR] {
            let names = self.ended_names(folder)?;
            let suffix = format!("-{id}{SUFFIX}");
            // A longer id may end with this one, so the run itself is compared as well.
            for name in names.iter().filter(|it| it.ends_with(&suffix)) {
                let notes = self.read_ended_notes(folder, name)?;
                let run = Run::from_records(notes.iter().cloned()).filter(|it| it.id == id);
                let opened = run.map(|it| it.opened);
                if let Some(opened) =
                    opened.filter(|it| found.as_ref().is_none_or(|(at, _)| it > at))
                {
                    found = Some((opened, notes));
                }
            }
        }
        Ok(found.map(|(_, notes)| notes).unwrap_or_default())
    }

    /// Reads the notes of an ended run; `None` if they are damaged.
    fn read_ended(&self, folder: &str, name: &str) -> Result<Option<Run>, EngineError> {
        Ok(Run::from_records(self.read_ended_notes(folder, name)?))
    }

    fn read_ended_notes(&self, folder: &str, name: &str) -> Result<Vec<RunRecord>, EngineError> {
        let path = format!("{folder}/{name}");
        let bytes = self.dir.read(&path);
        let bytes = bytes.map_err(DiskError::on("read", &path))?;
        Ok(parse_notes(&bytes))
    }

    /// Returns the exposures of a session in closed runs.
    pub(crate) fn session_exposures(&self, session: &str) -> Result<ExposureSet, EngineError> {
        let path = session_path(session);
        match self.dir.read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Ok(ExposureSet::from_lines(
                    text.lines().filter(|it| !it.is_empty()),
                ))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ExposureSet::default()),
            Err(error) => Err(DiskError::on("read", &path)(error).into()),
        }
    }

    /// Returns true if a run of the session was closed on this machine.
    pub(crate) fn has_session(&self, session: &str) -> Result<bool, EngineError> {
        let path = session_path(session);
        let stat = self.dir.stat(&path);
        Ok(stat
            .map_err(DiskError::on("read the metadata of", &path))?
            .is_some())
    }

    /// Adds exposures to those of a session.
    fn add_session_exposures(
        &self,
        session: &str,
        mut seen: ExposureSet,
    ) -> Result<(), EngineError> {
        // A session may have several runs, one after the other.
        seen.extend(self.session_exposures(session)?);
        let text = seen.to_lines().join("\n");
        let path = session_path(session);
        let created = self.dir.create_dirs(SESSIONS_DIR);
        let written = created.and_then(|()| self.dir.replace(&path, text.as_bytes()));
        Ok(written.map_err(DiskError::on("write", &path))?)
    }

    /// Deletes the exposures of sessions that ended long ago.
    pub(crate) fn delete_old_sessions(&self, now: Timestamp) -> Result<(), EngineError> {
        let listed = self.dir.list(SESSIONS_DIR);
        for (name, stat) in listed.map_err(DiskError::on("list", SESSIONS_DIR))? {
            let last = stat.modified_ns / 1_000_000;
            if last.saturating_add(SESSION_KEPT_MS) < now.millis() {
                let path = format!("{SESSIONS_DIR}/{name}");
                let removed = self.dir.remove(&path);
                removed.map_err(DiskError::on("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Lists the valid run ids in a folder.
    fn list_run_ids(&self, folder: &str) -> Result<Vec<String>, EngineError> {
        let listed = self.dir.list(folder);
        let files = listed.map_err(DiskError::on("list", folder))?;
        let stems = files
            .iter()
            .filter_map(|(name, _)| name.strip_suffix(SUFFIX));
        let names = stems.filter(|name| is_run_name(name));
        Ok(names.map(ToOwned::to_owned).collect())
    }

    /// Returns an error if a run is not open.
    fn check_open(&self, id: &str) -> Result<(), EngineError> {
        if self.is_open(id)? {
            Ok(())
        } else {
            Err(EngineError::Usage(format!(
                "run `{id}` is not open; run `ken run list` to list open runs"
            )))
        }
    }
}

/// Returns the path of a run's notes. A valid id cannot escape the folder.
fn run_path(folder: &str, id: &str) -> Result<String, EngineError> {
    if is_run_name(id) {
        Ok(format!("{folder}/{id}{SUFFIX}"))
    } else {
        Err(EngineError::Usage(format!(
            "`{id}` is not a valid run name: use letters, digits, `-` and `_`, at most {RUN_NAME_BYTES_MAX}"
        )))
    }
}

/// Returns the path of an ended run's notes. A session can have several runs with the same id, so
/// the time of opening is part of the name.
fn ended_path(folder: &str, run: &Run) -> Result<String, EngineError> {
    let millis = run.opened.millis();
    run_path(folder, &run.id)?;
    Ok(format!("{folder}/{millis:015}-{}{SUFFIX}", run.id))
}

/// Serializes a note as a line.
fn note_line(noted: &RunRecord) -> String {
    // Notes have string keys and no custom serializers that fail.
    let text = serde_json::to_string(noted).expect("notes are plain data");
    format!("{text}\n")
}

/// Returns the path of a session's exposures. The session id is untrusted text, so it is hashed.
fn session_path(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    format!("{SESSIONS_DIR}/{}", &hash[..32])
}

/// Parses notes. An invalid or truncated line becomes a gap.
fn parse_notes(bytes: &[u8]) -> Vec<RunRecord> {
    let whole = bytes.ends_with(b"\n") || bytes.is_empty();
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty());
    let mut notes: Vec<RunRecord> = lines.map(RunRecord::parse).collect();
    // A crash cut off the last line, even if the rest of it happens to parse.
    if !whole {
        notes.push(RunRecord::gap());
    }
    notes
}

#[cfg(test)]
mod tests {
    use ken_core::trust::run::RunNote;

    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        for bad in ["", "../x", "a/b", ".", "a b", "é", &"x".repeat(65)] {
            assert!(run_path(RUNS_DIR, bad).is_err(), "{bad}");
        }
        assert!(run_path(RUNS_DIR, "R-0123_x").is_ok());
    }

    #[test]
    fn a_line_that_was_cut_short_is_a_gap() {
        let noted = RunRecord {
            at: Timestamp::default(),
            by: "agent:a".parse().unwrap(),
            note: RunNote::Used {
                agent: "agent:a".parse().unwrap(),
                entries: Vec::new(),
            },
        };
        let text = note_line(&noted);
        assert_eq!(parse_notes(text.as_bytes()), [noted]);
        let cut = parse_notes(&[text.as_bytes(), &text.as_bytes()[..9]].concat());
        assert_eq!(cut.len(), 3, "the piece and the end of the file");
        assert!(cut[1..].iter().all(|it| it.note == RunNote::Gap));
        let strange = parse_notes(b"{\"note\":\"of a newer ken\"}\n");
        assert_eq!(strange[0].note, RunNote::Gap);
    }
}
