//! Runs: opened, noted, closed. Notes lie in the workspace until the run ends; what follows from them is appended then.

mod closing;
mod matching;

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::event::RunClosed;
use ken_core::id::EntryId;
use ken_core::run::accumulate::SCALE_MILLI;
use ken_core::run::close::Ending;
use ken_core::run::name::{self, CONVERSATION, IMPLICIT};
use ken_core::run::written::{Closed, PastRun};
use ken_core::run::{
    ABANDONED_AFTER_MS, AGENTS_MAX, Finding, Manner, Member, Note, Noted, Run, Witness,
};
use ken_core::text::{Note as Words, Tag};
use serde_json::Value;

use super::health::lately;
use super::reader::not_a_name;
use super::{Desk, Failure, Reader};
use crate::identity::Role;
use crate::world::random;

/// Abandoned runs that are closed when another is opened; the others wait for the next.
const SWEPT_MAX: u32 = 4;

/// Abandoned runs that are closed when Ken makes one, because somebody reads: as many as it makes, so that they do not
/// become more.
const SWEPT_BY_READING: u32 = 1;

/// Open runs that Ken made for one agent: one for each conversation. Beyond, those written to longest ago are forgotten.
const MADE_MAX: u32 = 64;

/// Open runs that are listed, the oldest.
const OPEN_MAX: u32 = 50;

/// Notes a run may have: an agent that asks for ever is told to begin another.
const NOTES_MAX: i64 = 5_000;

/// Bytes the notes of a run may have.
const NOTES_BYTES_MAX: i64 = 4 << 20;

/// Ended runs that are listed.
const PAST_MAX: usize = 200;

/// The agents of a run, and what is known of each.
pub type Agents = Vec<(Actor, Member)>;

/// A run to be opened.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// Its name; made up where nobody gives one.
    pub id: Option<String>,
    pub agents: Agents,
    pub witness: Witness,
    pub thread: Option<Tag>,
    pub task: Option<Words>,
}

/// What an agent found, and where.
#[derive(Clone, Debug)]
pub struct Observation {
    pub reader: Reader,
    pub finding: Finding,
}

/// Opens a run. Some that nobody closed are closed first, as abandoned.
pub async fn open(desk: &mut Desk, wish: NewRun) -> Result<Run, Failure> {
    desk.needs(Role::Agent, "opening a run")?;
    if wish.agents.iter().any(|(agent, _)| agent.is_human()) {
        return Err(Failure::usage("the agents of a run are no people"));
    }
    if AGENTS_MAX < wish.agents.len() {
        return Err(Failure::Usage(format!(
            "a run has at most {AGENTS_MAX} agents"
        )));
    }
    let id = match wish.id {
        Some(id) => id,
        None => format!("R-{:010x}", random() >> 88),
    };
    if !name::is_name(&id) {
        return Err(not_a_name(&id));
    }
    if id.starts_with(IMPLICIT) {
        let told = format!("`{IMPLICIT}` begins the names of runs that Ken makes itself");
        return Err(Failure::Usage(told));
    }
    desk.lock().await?;
    desk.sweep(SWEPT_MAX).await?;
    let by = desk.caller.actor.clone();
    desk.house.guard.admit_text(&Value::from(id.clone()), &by)?;
    let opened = Note::Opened {
        run: id.clone(),
        manner: Manner::Explicit,
        witness: wish.witness,
        thread: wish.thread,
        task: wish.task,
    };
    let joined = wish.agents.into_iter().map(|(agent, member)| Note::Joined {
        agent,
        member: Member {
            declared: true,
            ..member
        },
    });
    let notes = [opened].into_iter().chain(joined);
    let notes = notes.map(|note| desk.admitted(desk.noted(note, &by)));
    let notes = notes.collect::<Result<Vec<Noted>, Failure>>()?;
    if !desk.begin_run(&id, &notes).await? {
        return Err(Failure::Conflict(format!(
            "a run `{id}` is open already, or was; give another name or none"
        )));
    }
    run(desk, &id).await
}

/// Writes down what happened in an open run.
///
/// What agents saw and found is written by the hub itself; whoever keeps the run tells the rest.
pub async fn note(desk: &mut Desk, id: &str, note: Note) -> Result<Run, Failure> {
    desk.needs(Role::Agent, "writing to a run")?;
    match &note {
        Note::Joined { .. }
        | Note::Shown { .. }
        | Note::SawEverything { .. }
        | Note::Said { .. }
        | Note::Used { .. }
        | Note::Ended { .. }
        | Note::Gap => {}
        Note::Opened { .. }
        | Note::Pushed { .. }
        | Note::Passed { .. }
        | Note::Added { .. }
        | Note::Observed { .. } => {
            return Err(Failure::usage(
                "the hub writes that note itself; send joined, shown, saw_everything, said, used, ended or gap",
            ));
        }
    }
    let open = run(desk, id).await?;
    needs_room(&open, &note)?;
    let is_others = note.agent().is_some_and(|it| !desk.is_own(it));
    if is_others && open.by != desk.caller.actor {
        let what = "writing down what another agent did in a run that is not yours";
        return Err(Failure::NotYours { what });
    }
    let by = desk.caller.actor.clone();
    desk.note_run(id, note, &by).await?;
    run(desk, id).await
}

/// Writes down what an agent found, and which entries say so already.
pub async fn observe(desk: &mut Desk, it: Observation) -> Result<Run, Failure> {
    desk.needs(Role::Agent, "recording a finding")?;
    let Observation { reader, finding } = it;
    desk.check_reader(&reader).await?;
    let beyond = |milli: u16| SCALE_MILLI < milli;
    if beyond(finding.severity_milli) || beyond(finding.confidence_milli) {
        return Err(Failure::usage("severity and confidence go from 0 to 10"));
    }
    if let Some(run) = &reader.run {
        desk.needs_run(run).await?;
    }
    let says: BTreeSet<EntryId> = desk.entries_saying(&finding.statement).await?;
    let id = desk.run_of(&reader).await?;
    let note = Note::Observed {
        agent: reader.agent.clone(),
        finding: Box::new(finding),
        says,
    };
    needs_room(&run(desk, &id).await?, &note)?;
    // Whose token it was: what one tells in several names is one word.
    let by = desk.caller.actor.clone();
    desk.note_run(&id, note, &by).await?;
    run(desk, &id).await
}

/// Closes a run and appends everything that follows from it.
pub async fn close(desk: &mut Desk, id: &str, ending: &Ending) -> Result<Closed, Failure> {
    desk.needs(Role::Agent, "closing a run")?;
    desk.lock().await?;
    let open = run(desk, id).await?;
    if open.by != desk.caller.actor && !desk.is_own(&open.by) {
        let what = "closing a run somebody else opened";
        return Err(Failure::NotYours { what });
    }
    let by = desk.caller.actor.clone();
    desk.end_run(open, ending, &by).await
}

/// Returns an open run.
pub async fn run(desk: &mut Desk, id: &str) -> Result<Run, Failure> {
    desk.needs_run(id).await?;
    let run = desk.open_run(id).await?;
    run.ok_or_else(|| no_run(id))
}

/// Returns every run that somebody opened, the oldest first.
pub async fn open_runs(desk: &mut Desk) -> Result<Vec<Run>, Failure> {
    desk.all_open().await
}

/// Returns the runs that ended lately, the latest first.
pub async fn past_runs(desk: &mut Desk) -> Result<Vec<PastRun>, Failure> {
    let since = lately(desk.now);
    let mut runs = desk.ended_runs(Some(since)).await?;
    runs.reverse();
    runs.truncate(PAST_MAX);
    Ok(runs)
}

/// Refuses a note by which a run would have more agents than one may.
fn needs_room(run: &Run, note: &Note) -> Result<(), Failure> {
    match run.has_room_for(note) {
        true => Ok(()),
        false => Err(Failure::Conflict(format!(
            "run `{}` has as many agents as one may ({AGENTS_MAX}): open another",
            run.id
        ))),
    }
}

fn no_run(id: &str) -> Failure {
    let (what, wanted) = ("open run", id.to_owned());
    Failure::NotFound { what, wanted }
}

impl Desk {
    /// Returns an open run; `None` where there is none of that name.
    pub(super) async fn open_run(&mut self, id: &str) -> Result<Option<Run>, Failure> {
        match name::is_name(id) {
            true => self.read_run(id).await,
            false => Ok(None),
        }
    }

    /// Returns the runs that ended, since a time if one is given, in the order they did.
    pub(super) async fn ended_runs(
        &mut self,
        since: Option<ken_core::time::Timestamp>,
    ) -> Result<Vec<PastRun>, Failure> {
        let since = since.map(|it| it.to_string());
        let ended = self.tenant.of_type::<RunClosed>(since.as_deref()).await?;
        Ok(ended.iter().filter_map(PastRun::of).collect())
    }

    /// Returns the open runs that Ken did not make for who reads outside any.
    async fn all_open(&mut self) -> Result<Vec<Run>, Failure> {
        let mut runs = Vec::new();
        for open in self.tenant.open_runs(IMPLICIT, OPEN_MAX).await? {
            runs.extend(self.read_run(&open.id).await?);
        }
        Ok(runs)
    }

    async fn needs_run(&mut self, id: &str) -> Result<(), Failure> {
        match name::is_name(id) && self.tenant.is_run_open(id).await? {
            true => Ok(()),
            false => Err(no_run(id)),
        }
    }

    /// Adds a note to an open run, as the guard lets it in.
    pub(super) async fn note_run(
        &mut self,
        id: &str,
        note: Note,
        by: &Actor,
    ) -> Result<(), Failure> {
        let noted = self.admitted(self.noted(note, by))?;
        match self.add_note(id, &noted).await? {
            None => Err(no_run(id)),
            Some(it) if it.notes <= NOTES_MAX && it.bytes <= NOTES_BYTES_MAX => Ok(()),
            Some(_) => Err(Failure::Conflict(format!(
                "run `{id}` has as many notes as one may ({NOTES_MAX}, {NOTES_BYTES_MAX} bytes): close it and open another"
            ))),
        }
    }

    pub(super) fn noted(&self, note: Note, by: &Actor) -> Noted {
        Noted {
            at: self.now,
            by: by.clone(),
            note,
        }
    }

    /// Notes are kept too: no secret gets into one.
    pub(super) fn admitted(&self, noted: Noted) -> Result<Noted, Failure> {
        Ok(self.house.guard.admit_note(noted)?)
    }

    /// Makes room for a run that Ken is about to make for `agent`: some that nobody writes to any more are closed, and
    /// those of its own beyond what one may have are forgotten.
    pub(super) async fn make_room(&mut self, agent: &Actor) -> Result<(), Failure> {
        if Role::Agent <= self.caller.role {
            self.sweep(SWEPT_BY_READING).await?;
        }
        let (by, made) = (agent.to_string(), [IMPLICIT, CONVERSATION]);
        let beyond = (MADE_MAX - 1, SWEPT_MAX);
        for id in self.tenant.runs_beyond(&by, made, beyond).await? {
            match self.read_run(&id).await? {
                Some(run) => self.forget_run(&run).await?,
                None => drop(self.tenant.close_run(&id).await?),
            }
        }
        Ok(())
    }

    /// Closes up to `limit` runs nobody has written to for long. Nobody saw their end, so nobody knows what else was shown.
    async fn sweep(&mut self, limit: u32) -> Result<(), Failure> {
        let before = self.now.minus_millis(ABANDONED_AFTER_MS);
        let silent = self.tenant.silent_runs(before, limit).await?;
        if silent.is_empty() {
            return Ok(());
        }
        self.lock().await?;
        self.tenant.must_last().await?;
        for id in silent {
            match self.read_run(&id).await? {
                // Somebody wrote to it before we had the lock.
                Some(run) if before <= run.last => {}
                Some(mut run) => {
                    run.add(Note::Gap);
                    self.give_up(run).await?;
                }
                None => drop(self.tenant.close_run(&id).await?),
            }
        }
        Ok(())
    }

    /// Ends a run that nobody ended. One that cannot be closed is forgotten, whatever is wrong with it: it must not be in
    /// the way of everybody who opens another.
    async fn give_up(&mut self, run: Run) -> Result<(), Failure> {
        let by = self.caller.actor.clone();
        self.tenant.mark().await?;
        let ended = self.end_run(run.clone(), &Ending::abandoned(), &by).await;
        match ended {
            Ok(_) => Ok(()),
            Err(error @ (Failure::Store(_) | Failure::Database(_))) => Err(error),
            // It waits until there is room.
            Err(Failure::Quota(_)) => self.undo().await,
            Err(why) => {
                self.undo().await?;
                tracing::warn!(%why, "a run that nobody ended cannot be closed and is forgotten");
                self.forget_run(&run).await
            }
        }
    }

    /// Undoes what was done since the mark, and forgets what was read of it.
    async fn undo(&mut self) -> Result<(), Failure> {
        self.workspace = None;
        Ok(self.tenant.undo().await?)
    }
}
