//! Who is given entries, and what they were given: written down before it is told.
//!
//! Whoever reads outside any run gets one that Ken makes. It belongs to an agent and its session, and confirms nothing.

use ken_core::actor::Actor;
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::run::blind;
use ken_core::run::name;
use ken_core::run::reader::unwitnessed;
use ken_core::run::{How, Manner, Note, Noted, Offer, Run};

use super::{Desk, Failure};

pub use ken_core::run::reader::Reader;

/// Notes a run has that Ken made, before it begins anew.
const KENS_NOTES_MAX: i64 = 1_000;

/// Bytes the name of a session may have.
const SESSION_BYTES_MAX: usize = 256;

/// Returns whoever reads: the caller, or the agent on whose behalf it asks.
///
/// Nobody reads for a person: people confirm by their word, whatever they read.
pub fn reader(
    caller: &Actor,
    agent: Option<Actor>,
    run: Option<String>,
    session: Option<String>,
) -> Result<Reader, Failure> {
    if let Some(other) = agent.as_ref().filter(|it| *it != caller && it.is_human()) {
        let told = format!("`{other}` is a person; only agents are read for");
        return Err(Failure::Usage(told));
    }
    if let Some(run) = run.as_ref().filter(|it| !name::is_name(it)) {
        return Err(not_a_name(run));
    }
    session.as_deref().map_or(Ok(()), check_session)?;
    Ok(Reader {
        agent: agent.unwrap_or_else(|| caller.clone()),
        run,
        session,
    })
}

/// Refuses the name of a session that is too long to be one.
pub fn check_session(session: &str) -> Result<(), Failure> {
    match session.len() <= SESSION_BYTES_MAX {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "a session's name has at most {SESSION_BYTES_MAX} bytes"
        ))),
    }
}

/// Who is given entries, and where that is written down: found out once for all that a use case shows.
#[derive(Debug)]
pub(super) struct Seat<'r> {
    pub(super) reader: &'r Reader,
    /// The open run it works in; outside any, what it reads belongs to one that Ken makes.
    open: Option<String>,
    /// What that run's notes add up to, once somebody asked.
    run: Option<Run>,
}

impl Seat<'_> {
    /// Returns whether it works in a run that is open.
    pub(super) fn is_in_run(&self) -> bool {
        self.open.is_some()
    }
}

/// What is said of a name no run can have.
pub(super) fn not_a_name(run: &str) -> Failure {
    let run = ken_core::text::shortened(&ken_core::text::visible(run), name::BYTES_MAX);
    Failure::Usage(format!(
        "`{run}` is no name for a run: letters, digits, `-` and `_`, at most {}",
        name::BYTES_MAX
    ))
}

impl Desk {
    /// Seats whoever reads, if it may.
    pub(super) async fn seat<'r>(&mut self, reader: &'r Reader) -> Result<Seat<'r>, Failure> {
        let run = self.check_reader(reader).await?;
        let open = match &run {
            Some(run) => Some(run.id.clone()),
            None => self.open_id(reader).await?,
        };
        Ok(Seat { reader, open, run })
    }

    /// Returns the run somebody works in.
    pub(super) async fn run_at<'s>(
        &mut self,
        seat: &'s mut Seat<'_>,
    ) -> Result<Option<&'s Run>, Failure> {
        if let (Some(id), None) = (&seat.open, &seat.run) {
            seat.run = self.open_run(id).await?;
        }
        Ok(seat.run.as_ref())
    }

    /// Writes down that somebody is about to be shown `entries`.
    pub(super) async fn note_shown(
        &mut self,
        seat: &Seat<'_>,
        entries: &[EntryId],
        how: How,
    ) -> Result<(), Failure> {
        self.note_reading(seat, seat.reader.shown(entries, how))
            .await
    }

    /// Returns what chance decides about giving somebody `entries`.
    pub(super) async fn offers<'e>(
        &mut self,
        seat: &mut Seat<'_>,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<Vec<Offer>, Failure> {
        if !seat.is_in_run() || !seat.reader.is_watched() {
            return Ok(Vec::new());
        }
        let policy = self.review_policy().await?;
        let agent = &seat.reader.agent;
        let run = self.run_at(seat).await?;
        Ok(run.map_or_else(Vec::new, |run| blind::offers(run, agent, policy, entries)))
    }

    /// Writes down what chance decided, and which entries fitted and had no room.
    pub(super) async fn note_pushed(
        &mut self,
        seat: &Seat<'_>,
        offers: Vec<Offer>,
        passed: Vec<EntryId>,
    ) -> Result<(), Failure> {
        self.note_reading(seat, seat.reader.pushed(offers)).await?;
        // Only a run that somebody opened learns from it.
        let passed = seat.reader.passed(passed).filter(|_| seat.is_in_run());
        self.note_reading(seat, passed).await
    }

    /// Returns the run `reader` names, if it is open; of who names none, that of its conversation.
    pub(super) async fn open_run_of(&mut self, reader: &Reader) -> Result<Option<Run>, Failure> {
        match self.open_id(reader).await? {
            Some(id) => self.open_run(&id).await,
            None => Ok(None),
        }
    }

    /// Returns the name of the run that what `reader` does belongs to; makes one where there is none.
    pub(super) async fn run_of(&mut self, reader: &Reader) -> Result<String, Failure> {
        match self.open_id(reader).await? {
            Some(id) => Ok(id),
            None => self.implicit_run_of(reader).await,
        }
    }

    /// Returns the run of `reader`'s conversation, which is opened if it is not.
    ///
    /// The hub sees only what it is asked itself, so such a run has no witness and confirms nothing.
    pub(crate) async fn converse(
        &mut self,
        agent: &Actor,
        session: &str,
    ) -> Result<String, Failure> {
        let id = name::conversation(agent, session);
        self.begin_unwitnessed(&id, Manner::Explicit, agent, Some(session))
            .await?;
        Ok(id)
    }

    async fn open_id(&mut self, reader: &Reader) -> Result<Option<String>, Failure> {
        let Some(id) = reader.named_run() else {
            return Ok(None);
        };
        let is_open = self.tenant.is_run_open(&id).await?;
        Ok(is_open.then_some(id))
    }

    async fn implicit_run_of(&mut self, reader: &Reader) -> Result<String, Failure> {
        let id = reader.implicit_run();
        let session = reader.session.as_deref();
        self.begin_unwitnessed(&id, Manner::Implicit, &reader.agent, session)
            .await?;
        Ok(id)
    }

    /// Returns the run in which it stands what `reader` saw outside any other.
    pub(super) async fn implicit_sight(&mut self, reader: &Reader) -> Result<Option<Run>, Failure> {
        self.open_run(&reader.implicit_run()).await
    }

    /// Begins a run nobody watches, unless it is open.
    async fn begin_unwitnessed(
        &mut self,
        id: &str,
        manner: Manner,
        agent: &Actor,
        session: Option<&str>,
    ) -> Result<(), Failure> {
        if self.tenant.is_run_open(id).await? {
            return Ok(());
        }
        self.make_room(agent).await?;
        let notes = unwitnessed(id, manner, agent, session).map(|note| self.noted(note, agent));
        let notes = notes.into_iter().map(|it| self.admitted(it));
        let notes = notes.collect::<Result<Vec<Noted>, Failure>>()?;
        // Another process may begin it at the same time; both have it then.
        self.begin_run(id, &notes).await?;
        Ok(())
    }

    /// Writes a note down that somebody needs.
    async fn note_reading(&mut self, seat: &Seat<'_>, note: Option<Note>) -> Result<(), Failure> {
        let Some(note) = note else {
            return Ok(());
        };
        let reader = seat.reader;
        let mut id = match &seat.open {
            Some(id) => id.clone(),
            None => {
                self.tenant.need_not_last().await?;
                self.implicit_run_of(reader).await?
            }
        };
        let is_kens = id.starts_with(name::IMPLICIT) || id.starts_with(name::CONVERSATION);
        if !is_kens {
            return self.note_run(&id, note, &reader.agent).await;
        }
        let noted = self.admitted(self.noted(note, &reader.agent))?;
        let mut full = self.add_note(&id, &noted).await?;
        if full.is_none() {
            // It ended meanwhile; what is shown now is written down all the same.
            id = self.implicit_run_of(reader).await?;
            full = self.add_note(&id, &noted).await?;
        }
        match full {
            Some(it) if KENS_NOTES_MAX < it.notes => self.begin_anew(&id, reader).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Forgets the notes of a run that Ken made and that has too many: whoever reads that much may have seen everything.
    async fn begin_anew(&mut self, id: &str, reader: &Reader) -> Result<(), Failure> {
        self.tenant.close_run(id).await?;
        let manner = match id.starts_with(name::IMPLICIT) {
            true => Manner::Implicit,
            false => Manner::Explicit,
        };
        let session = reader.session.as_deref();
        self.begin_unwitnessed(id, manner, &reader.agent, session)
            .await?;
        if let Some(note) = reader.saw_everything(How::Pull) {
            let noted = self.noted(note, &reader.agent);
            self.add_note(id, &noted).await?;
        }
        Ok(())
    }
}
