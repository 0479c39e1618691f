//! The notes of runs: a file for each on this machine, a line for each note.
//!
//! A line is on the disk before anybody sees what it says was shown. One that cannot be read is a gap: the
//! run goes on, and confirms nothing. What a session saw is kept beyond the run, for as long as one may last.

use std::io;

use ken_core::run::exposure::Sight;
use ken_core::run::name::{BYTES_MAX, IMPLICIT, is_name};
use ken_core::run::{Noted, Run, SESSION_KEPT_MS};
use ken_core::time::Timestamp;
use ken_ledger::disk::{LockGuard, Wait};
use ken_ledger::{Dir as _, DiskError, Place, RealDir};

use crate::error::Error;
use crate::files::ken_dir;

/// Where open runs lie.
const RUNS_DIR: &str = ".local/runs";
/// Where what sessions saw is kept: one that goes on has seen what it saw.
const SESSIONS_DIR: &str = ".local/sessions";
const SUFFIX: &str = ".jsonl";
const LOCK: &str = ".local/runs/lock";

#[derive(Debug)]
pub(crate) struct Store {
    dir: RealDir,
}

impl Store {
    pub(crate) fn of(place: &Place) -> Result<Self, Error> {
        Ok(Self {
            dir: ken_dir(place)?,
        })
    }

    /// Begins a run.
    pub(crate) fn create(&self, id: &str, notes: &[Noted]) -> Result<(), Error> {
        let path = path(RUNS_DIR, id)?;
        let text: String = notes.iter().map(line).collect();
        let made = self.dir.create_dirs(RUNS_DIR);
        made.map_err(DiskError::on("create", RUNS_DIR))?;
        let begun = self.dir.create_new(&path, text.as_bytes());
        match begun {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Usage(format!("run `{id}` is open already")))
            }
            other => Ok(other.map_err(DiskError::on("write", &path))?),
        }
    }

    /// Adds a note to an open run: on the disk before anybody relies on it, except in a run that confirms nothing.
    pub(crate) fn append(&self, id: &str, noted: &Noted) -> Result<(), Error> {
        let path = path(RUNS_DIR, id)?;
        self.check_open(id)?;
        let line = line(noted);
        let written = match id.starts_with(IMPLICIT) {
            true => self.dir.append(&path, line.as_bytes()),
            false => self.dir.append_durably(&path, line.as_bytes()),
        };
        Ok(written.map_err(DiskError::on("write", &path))?)
    }

    /// Returns the notes of an open run.
    pub(crate) fn notes(&self, id: &str) -> Result<Vec<Noted>, Error> {
        let path = path(RUNS_DIR, id)?;
        self.check_open(id)?;
        let bytes = self.dir.read(&path);
        Ok(notes(&bytes.map_err(DiskError::on("read", &path))?))
    }

    /// Returns the names of open runs.
    pub(crate) fn open(&self) -> Result<Vec<String>, Error> {
        self.names(RUNS_DIR)
    }

    /// Begins a run that another process may begin at the same time.
    pub(crate) fn create_or_join(&self, id: &str, notes: &[Noted]) -> Result<(), Error> {
        match self.create(id, notes) {
            Err(Error::Usage(_)) if self.is_open(id)? => Ok(()),
            other => other,
        }
    }

    /// Returns whether a run is open here.
    pub(crate) fn is_open(&self, id: &str) -> Result<bool, Error> {
        let path = path(RUNS_DIR, id)?;
        let stat = self.dir.stat(&path);
        Ok(stat.map_err(DiskError::on("look at", &path))?.is_some())
    }

    /// Waits until nobody else closes a run.
    pub(crate) fn lock(&self) -> Result<Option<LockGuard>, Error> {
        let made = self.dir.create_dirs(RUNS_DIR);
        made.map_err(DiskError::on("create", RUNS_DIR))?;
        let locked = self.dir.lock(LOCK, Wait::UntilFree);
        Ok(locked.map_err(DiskError::on("lock", LOCK))?)
    }

    /// Removes the notes of a run that ended, and remembers what its sessions saw.
    pub(crate) fn close(&self, run: &Run) -> Result<(), Error> {
        for (name, agent) in &run.agents {
            if let Some(session) = &agent.member.session {
                self.remember(session, run.sight(name))?;
            }
        }
        let path = path(RUNS_DIR, &run.id)?;
        Ok(self
            .dir
            .remove(&path)
            .map_err(DiskError::on("remove", &path))?)
    }

    /// Returns what a session saw in runs that ended.
    pub(crate) fn session(&self, session: &str) -> Result<Sight, Error> {
        let path = session_path(session);
        match self.dir.read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Ok(Sight::of_lines(text.lines().filter(|it| !it.is_empty())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sight::default()),
            Err(error) => Err(DiskError::on("read", &path)(error).into()),
        }
    }

    /// Returns whether a run of the session ended here.
    pub(crate) fn remembers(&self, session: &str) -> Result<bool, Error> {
        let path = session_path(session);
        let stat = self.dir.stat(&path);
        Ok(stat.map_err(DiskError::on("look at", &path))?.is_some())
    }

    fn remember(&self, session: &str, mut seen: Sight) -> Result<(), Error> {
        seen.add(self.session(session)?);
        let text = seen.to_lines().join("\n");
        let path = session_path(session);
        let written = self.dir.create_dirs(SESSIONS_DIR);
        let written = written.and_then(|()| self.dir.replace(&path, text.as_bytes()));
        Ok(written.map_err(DiskError::on("write", &path))?)
    }

    /// Forgets what sessions saw that ended long ago.
    pub(crate) fn forget_old(&self, now: Timestamp) -> Result<(), Error> {
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

    fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let listed = self.dir.list(folder);
        let listed = listed.map_err(DiskError::on("list", folder))?;
        let names = listed
            .iter()
            .filter_map(|(name, _)| name.strip_suffix(SUFFIX));
        let names = names.filter(|name| is_name(name));
        Ok(names.map(ToOwned::to_owned).collect())
    }

    fn check_open(&self, id: &str) -> Result<(), Error> {
        match self.is_open(id)? {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "no run `{id}` is open here; `ken run list` shows those that are"
            ))),
        }
    }
}

/// Returns where a run's notes lie; a name never leaves the folder.
fn path(folder: &str, id: &str) -> Result<String, Error> {
    match is_name(id) {
        true => Ok(format!("{folder}/{id}{SUFFIX}")),
        false => Err(Error::Usage(format!(
            "`{id}` is no name for a run: letters, digits, `-` and `_`, at most {BYTES_MAX}"
        ))),
    }
}

fn line(noted: &Noted) -> String {
    let text = serde_json::to_string(noted).expect("notes are plain data");
    format!("{text}\n")
}

/// Where it is kept what a session saw; its name is somebody else's text.
fn session_path(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    format!("{SESSIONS_DIR}/{}", &hash[..32])
}

/// Reads notes; what is no note, or was cut short, is a gap.
fn notes(bytes: &[u8]) -> Vec<Noted> {
    let whole = bytes.ends_with(b"\n") || bytes.is_empty();
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty());
    let mut notes: Vec<Noted> = lines.map(Noted::read).collect();
    if !whole {
        notes.push(Noted::gap());
    }
    notes
}

#[cfg(test)]
mod tests {
    use ken_core::run::Note;

    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        for bad in ["", "../x", "a/b", ".", "a b", "é", &"x".repeat(65)] {
            assert!(path(RUNS_DIR, bad).is_err(), "{bad}");
        }
        assert!(path(RUNS_DIR, "R-0123_x").is_ok());
    }

    #[test]
    fn a_line_that_was_cut_short_is_a_gap() {
        let noted = Noted {
            at: Timestamp::default(),
            by: "agent:a".parse().unwrap(),
            note: Note::Used {
                agent: "agent:a".parse().unwrap(),
                entries: Vec::new(),
            },
        };
        let text = line(&noted);
        assert_eq!(notes(text.as_bytes()), [noted]);
        let cut = notes(&[text.as_bytes(), &text.as_bytes()[..9]].concat());
        assert_eq!(cut.len(), 3, "the piece and the end of the file");
        assert!(cut[1..].iter().all(|it| it.note == Note::Gap));
        let strange = notes(b"{\"note\":\"of a newer ken\"}\n");
        assert_eq!(strange[0].note, Note::Gap);
    }
}
