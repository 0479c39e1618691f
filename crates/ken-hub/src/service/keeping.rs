//! Runs under way and what sessions saw, in the core's words.

use ken_core::actor::Actor;
use ken_core::run::exposure::Sight;
use ken_core::run::name::IMPLICIT;
use ken_core::run::{Noted, Run, SESSION_KEPT_MS};

use super::{Desk, Failure};

/// Bytes one note may have.
const NOTE_BYTES_MAX: usize = 16 << 10;

/// Runs that Ken made of which it is looked up what an agent saw there, the latest.
const IMPLICIT_MAX: u32 = 16;

/// How full a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fullness {
    pub(super) notes: i64,
    pub(super) bytes: i64,
}

impl Desk {
    /// Begins a run; returns whether none of that name was open. The name of one that ended is free again:
    /// conversations go on after a pause.
    pub(super) async fn begin_run(&mut self, id: &str, notes: &[Noted]) -> Result<bool, Failure> {
        self.tenant.forget_ended_run(id).await?;
        let by = notes
            .first()
            .map_or_else(String::new, |it| it.by.to_string());
        if !self.tenant.open_run(id, &by).await? {
            return Ok(false);
        }
        let lines = notes.iter().map(line);
        let lines = lines.collect::<Result<Vec<String>, Failure>>()?;
        Ok(self.tenant.note_run(id, &lines).await?)
    }

    /// Adds a note to an open run; returns how full it is now, nothing where it is not open.
    pub(super) async fn add_note(
        &mut self,
        id: &str,
        noted: &Noted,
    ) -> Result<Option<Fullness>, Failure> {
        if !self.tenant.note_run(id, &[line(noted)?]).await? {
            return Ok(None);
        }
        let (notes, bytes) = self.tenant.count_notes(id).await?;
        Ok(Some(Fullness { notes, bytes }))
    }

    /// Returns what the notes of an open run add up to.
    pub(super) async fn read_run(&mut self, id: &str) -> Result<Option<Run>, Failure> {
        let notes = self.tenant.run_notes(id).await?;
        Ok(Run::of(notes.iter().map(|it| Noted::read(it.as_bytes()))))
    }

    /// Returns the runs in which `agents` read outside any other, that are open.
    pub(super) async fn outside(&mut self, agents: &[&Actor]) -> Result<Vec<Run>, Failure> {
        let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
        let mut runs = Vec::new();
        for id in self.tenant.runs_by(&names, IMPLICIT, IMPLICIT_MAX).await? {
            runs.extend(self.read_run(&id).await?);
        }
        Ok(runs)
    }

    /// Removes the notes of a run that ended, and remembers what its sessions saw.
    pub(super) async fn forget_run(&mut self, run: &Run) -> Result<(), Failure> {
        let before = self.now.minus_millis(SESSION_KEPT_MS);
        for (name, agent) in &run.agents {
            if let Some(session) = &agent.member.session {
                let seen = run.sight(name).to_lines();
                let (session, now) = (hash(session), self.now);
                self.tenant
                    .remember_session(&session, &seen, now, before)
                    .await?;
            }
        }
        self.tenant.close_run(&run.id).await?;
        Ok(())
    }

    /// Returns what a session saw in runs that ended.
    pub(super) async fn session_sight(&mut self, session: &str) -> Result<Sight, Failure> {
        let seen = self.tenant.session(&hash(session)).await?;
        Ok(Sight::of_lines(seen.iter().map(String::as_str)))
    }
}

fn line(noted: &Noted) -> Result<String, Failure> {
    let line = serde_json::to_string(noted).expect("notes are plain data");
    match line.len() <= NOTE_BYTES_MAX {
        true => Ok(line),
        false => Err(Failure::Usage(format!(
            "a note has at most {NOTE_BYTES_MAX} bytes; say it shorter"
        ))),
    }
}

fn hash(session: &str) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(session.as_bytes()).as_bytes()[..16]);
    short
}
