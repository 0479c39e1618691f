//! Persistence of open runs and session exposures, in terms of `ken_core` types.

use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::name::IMPLICIT_PREFIX;
use ken_core::trust::run::{Run, RunRecord, SESSION_KEPT_MS};
use ken_core::values::actor::Actor;

use super::{ServiceError, WorkspaceSession};

/// Maximum size of a note in bytes.
const NOTE_BYTES_MAX: usize = 16 << 10;

/// Size of a note from which its run is checked against the quota at once, in bytes.
const LARGE_NOTE_BYTES: i64 = 1 << 10;

/// Growth of a run by small notes between two checks against the quota, in bytes. Most notes record
/// an exposure and are small, and a search should not pay for the sum over all runs.
const CHECKED_BYTES: i64 = 16 << 10;

/// Number of implicit runs, latest first, that are searched for an agent's exposures.
const IMPLICIT_MAX: u32 = 16;

/// Number and total size of a run's notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunSize {
    pub(super) notes: i64,
    pub(super) bytes: i64,
    /// Bytes that were added last.
    added: i64,
}

impl RunSize {
    /// Returns whether the last note is a reason to check the quota.
    fn needs_check(self) -> bool {
        let before = self.bytes - self.added;
        self.added >= LARGE_NOTE_BYTES || before / CHECKED_BYTES < self.bytes / CHECKED_BYTES
    }
}

impl WorkspaceSession {
    /// Opens a run. Returns false if a run of that name is already open. The name of an ended run
    /// is free again: conversations resume after a pause.
    pub(super) async fn begin_run(
        &mut self,
        id: &str,
        notes: &[RunRecord],
    ) -> Result<bool, ServiceError> {
        self.tx.forget_ended_run(id).await?;
        let by = notes
            .first()
            .map_or_else(String::new, |note| note.by.to_string());
        if !self.tx.insert_run(id, &by).await? {
            return Ok(false);
        }
        let lines = notes.iter().map(encode_note);
        let lines = lines.collect::<Result<Vec<String>, ServiceError>>()?;
        Ok(self.tx.append_run_notes(id, &lines).await?.is_some())
    }

    /// Refuses more notes and quarantined events than the workspace's quota allows.
    pub(super) async fn check_waiting_quota(&mut self) -> Result<(), ServiceError> {
        let usage = self.tx.workspace_usage().await?;
        Ok(self.services.quotas.check_waiting(&usage)?)
    }

    /// Checks the quota after a note, if the note is a reason to.
    pub(super) async fn check_note_quota(&mut self, size: RunSize) -> Result<(), ServiceError> {
        if size.needs_check() {
            self.check_waiting_quota().await?;
        }
        Ok(())
    }

    /// Adds a note to a run and returns the run's new size; `None` if the run is not open.
    pub(super) async fn add_note(
        &mut self,
        id: &str,
        noted: &RunRecord,
    ) -> Result<Option<RunSize>, ServiceError> {
        let line = encode_note(noted)?;
        let added = i64::try_from(line.len()).unwrap_or(i64::MAX);
        let size = self.tx.append_run_notes(id, &[line]).await?;
        Ok(size.map(|(notes, bytes)| RunSize {
            notes,
            bytes,
            added,
        }))
    }

    /// Loads an open run by folding its notes.
    pub(super) async fn read_run(&mut self, id: &str) -> Result<Option<Run>, ServiceError> {
        let notes = self.tx.run_notes(id).await?;
        Ok(Run::from_records(
            notes.iter().map(|it| RunRecord::parse(it.as_bytes())),
        ))
    }

    /// Loads the open implicit runs of `agents`, which record reads outside any other run.
    pub(super) async fn load_implicit_runs(
        &mut self,
        agents: &[&Actor],
    ) -> Result<Vec<Run>, ServiceError> {
        let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
        let mut runs = Vec::new();
        for id in self
            .tx
            .runs_by(&names, IMPLICIT_PREFIX, IMPLICIT_MAX)
            .await?
        {
            runs.extend(self.read_run(&id).await?);
        }
        Ok(runs)
    }

    /// Deletes an ended run and keeps its exposures per session.
    pub(super) async fn remove_run(&mut self, run: &Run) -> Result<(), ServiceError> {
        let before = self.now.minus_millis(SESSION_KEPT_MS);
        for (name, agent) in &run.agents {
            // A later run in the same session must count these entries as primed, although the run
            // and its notes are gone.
            if let Some(session) = &agent.member.session {
                let seen = run.exposures(name).to_lines();
                let (session, now) = (hash(session), self.now);
                self.tx
                    .remember_session(&session, &seen, now, before)
                    .await?;
            }
        }
        self.tx.delete_open_run(&run.id).await?;
        Ok(())
    }

    /// Loads the exposures of a session from ended runs.
    pub(super) async fn load_session_exposures(
        &mut self,
        session: &str,
    ) -> Result<ExposureSet, ServiceError> {
        let seen = self.tx.session_exposures(&hash(session)).await?;
        Ok(ExposureSet::from_lines(seen.iter().map(String::as_str)))
    }
}

fn encode_note(noted: &RunRecord) -> Result<String, ServiceError> {
    let line = serde_json::to_string(noted).expect("notes serialize to JSON");
    if line.len() > NOTE_BYTES_MAX {
        return Err(ServiceError::InvalidRequest(format!(
            "a note must not be longer than {NOTE_BYTES_MAX} bytes; shorten it"
        )));
    }
    Ok(line)
}

fn hash(session: &str) -> [u8; 16] {
    // Session names come from agents and may be private. The database only needs a key: 128 bits
    // make collisions negligible.
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(session.as_bytes()).as_bytes()[..16]);
    short
}
