//! Who is given entries, and what they were given: written down before it is told.
//!
//! Whoever reads outside any run gets one that Ken makes. It belongs to an agent and its session, and confirms nothing.

use ken_core::actor::{Actor, Role as Part};
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::{may_be_withheld, offer};
use ken_core::run::name;
use ken_core::run::{How, Manner, Member, Note, Noted, Offer, Run, Witness};

use super::{Desk, Failure};

/// Entries a note names; who was shown more saw everything.
const SHOWN_MAX: usize = 500;

/// Notes a run has that Ken made, before it begins anew.
const KENS_NOTES_MAX: i64 = 1_000;

/// Bytes the name of a session may have.
const SESSION_BYTES_MAX: usize = 256;

/// Who is given entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    pub agent: Actor,
    /// The run it says it works in.
    pub run: Option<String>,
    /// The conversation it is in.
    pub session: Option<String>,
}

impl Reader {
    /// Returns whoever reads: the caller, or the agent on whose behalf it asks.
    ///
    /// Nobody reads for a person: people confirm by their word, whatever they read.
    pub fn of(
        caller: &Actor,
        agent: Option<Actor>,
        run: Option<String>,
        session: Option<String>,
    ) -> Result<Self, Failure> {
        if let Some(other) = agent.as_ref().filter(|it| *it != caller && it.is_human()) {
            let told = format!("`{other}` is a person; only agents are read for");
            return Err(Failure::Usage(told));
        }
        if let Some(run) = run.as_ref().filter(|it| !name::is_name(it)) {
            return Err(not_a_name(run));
        }
        if session
            .as_ref()
            .is_some_and(|it| SESSION_BYTES_MAX < it.len())
        {
            let told = format!("a session's name has at most {SESSION_BYTES_MAX} bytes");
            return Err(Failure::Usage(told));
        }
        Ok(Self {
            agent: agent.unwrap_or_else(|| caller.clone()),
            run,
            session,
        })
    }

    /// Returns whether anybody needs to know what it saw.
    fn is_watched(&self) -> bool {
        match self.agent.role() {
            Part::Human => false,
            Part::Agent | Part::Ci | Part::Import | Part::Peer => true,
        }
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
    /// Writes down that `reader` is about to be shown `entries`.
    pub(super) async fn note_shown(
        &mut self,
        reader: &Reader,
        entries: &[EntryId],
        how: How,
    ) -> Result<(), Failure> {
        if !reader.is_watched() || entries.is_empty() {
            return Ok(());
        }
        if self.open_id(reader).await?.is_none() {
            self.tenant.need_not_last().await?;
        }
        let agent = reader.agent.clone();
        let note = match SHOWN_MAX < entries.len() {
            true => Note::SawEverything { agent, how },
            false => Note::Shown {
                agent,
                entries: entries.to_vec(),
                how,
            },
        };
        self.note_reading(reader, note).await
    }

    /// Returns what chance decides about giving `entries` to `reader`: nothing outside a run that somebody opened,
    /// where nobody would learn anything from it.
    pub(super) async fn offers<'e>(
        &mut self,
        reader: &Reader,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<Vec<Offer>, Failure> {
        let run = match reader.is_watched() {
            true => self.open_run_of(reader).await?,
            false => None,
        };
        let Some(run) = run.filter(|it| it.manner == Manner::Explicit) else {
            return Ok(Vec::new());
        };
        let policy = self.review_policy().await?;
        let mut all: Vec<Actor> = run.agents.into_keys().collect();
        all.retain(|it| !it.is_human());
        let offers = entries.map(|entry| {
            let share = share_milli(entry, policy);
            offer(entry.id, &run.id, &reader.agent, &all, share)
        });
        Ok(offers.collect())
    }

    /// Writes down what chance decided, and which entries fitted and had no room.
    pub(super) async fn note_pushed(
        &mut self,
        reader: &Reader,
        offers: Vec<Offer>,
        passed: Vec<EntryId>,
    ) -> Result<(), Failure> {
        let agent = reader.agent.clone();
        if !offers.is_empty() {
            let agent = agent.clone();
            let note = Note::Pushed { agent, offers };
            self.note_reading(reader, note).await?;
        }
        if passed.is_empty() || self.open_id(reader).await?.is_none() {
            return Ok(());
        }
        let entries = passed;
        self.note_reading(reader, Note::Passed { agent, entries })
            .await
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
        let id = match (&reader.run, &reader.session) {
            (Some(run), _) => run.clone(),
            (None, Some(session)) => name::conversation(&reader.agent, session),
            (None, None) => return Ok(None),
        };
        let is_open = self.tenant.is_run_open(&id).await?;
        Ok(is_open.then_some(id))
    }

    async fn implicit_run_of(&mut self, reader: &Reader) -> Result<String, Failure> {
        let session = reader.session.as_deref();
        let id = name::implicit(&reader.agent, session);
        self.begin_unwitnessed(&id, Manner::Implicit, &reader.agent, session)
            .await?;
        Ok(id)
    }

    /// Returns the run in which it stands what `reader` saw outside any other.
    pub(super) async fn implicit_sight(&mut self, reader: &Reader) -> Result<Option<Run>, Failure> {
        let id = name::implicit(&reader.agent, reader.session.as_deref());
        self.open_run(&id).await
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
        let opened = Note::Opened {
            run: id.to_owned(),
            manner,
            witness: Witness::Nobody,
            thread: None,
            task: None,
        };
        let joined = Note::Joined {
            agent: agent.clone(),
            member: Member {
                session: session.map(ToOwned::to_owned),
                ..Member::default()
            },
        };
        let notes = [opened, joined].map(|note| self.noted(note, agent));
        let notes = notes.into_iter().map(|it| self.admitted(it));
        let notes = notes.collect::<Result<Vec<Noted>, Failure>>()?;
        // Another process may begin it at the same time; both have it then.
        self.begin_run(id, &notes).await?;
        Ok(())
    }

    async fn note_reading(&mut self, reader: &Reader, note: Note) -> Result<(), Failure> {
        let id = self.run_of(reader).await?;
        let is_kens = id.starts_with(name::IMPLICIT) || id.starts_with(name::CONVERSATION);
        if !is_kens {
            return self.note_run(&id, note, &reader.agent).await;
        }
        let noted = self.admitted(self.noted(note, &reader.agent))?;
        match self.add_note(&id, &noted).await? {
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
        let note = Note::SawEverything {
            agent: reader.agent.clone(),
            how: How::Pull,
        };
        let noted = self.noted(note, &reader.agent);
        self.add_note(id, &noted).await?;
        Ok(())
    }
}

/// Returns the share of agents an entry is kept from.
fn share_milli(entry: &Entry, policy: ReviewPolicy) -> u16 {
    match may_be_withheld(entry) {
        true => policy.share_milli(entry.since_confirmation(), entry.tallies.worth()),
        false => 0,
    }
}
