//! Readers and their exposures, which are recorded before the response is sent.
//!
//! A read outside any run belongs to an implicit run, one per agent and session. Implicit runs
//! confirm nothing.

use ken_core::ledger::entry::Entry;
use ken_core::trust::run::holdout;
use ken_core::trust::run::name;
use ken_core::trust::run::reader::unwitnessed_run_notes;
use ken_core::trust::run::{ExposureChannel, HoldoutAssignment, Run, RunMode, RunNote, RunRecord};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;

use super::{ServiceError, WorkspaceSession};

pub use ken_core::trust::run::reader::EntryReader;

/// Notes of an implicit or conversation run before it is reset.
const OWN_RUN_NOTES_MAX: i64 = 1_000;

/// Maximum length of a session name in bytes.
const SESSION_BYTES_MAX: usize = 256;

/// Builds the reader: the caller, or the agent on whose behalf the caller reads.
///
/// Reading for another person is refused: people confirm by their word, independent of exposures.
pub fn build_reader(
    caller: &Actor,
    agent: Option<Actor>,
    run: Option<String>,
    session: Option<String>,
) -> Result<EntryReader, ServiceError> {
    if let Some(other) = agent.as_ref().filter(|it| *it != caller && it.is_human()) {
        let message = format!("`{other}` is a person; you can read only for agents");
        return Err(ServiceError::InvalidRequest(message));
    }
    if let Some(run) = run.as_ref().filter(|it| !name::is_run_name(it)) {
        return Err(invalid_run_name(run));
    }
    session.as_deref().map_or(Ok(()), check_session)?;
    Ok(EntryReader {
        agent: agent.unwrap_or_else(|| caller.clone()),
        run,
        session,
    })
}

/// Refuses session names that are too long.
pub fn check_session(session: &str) -> Result<(), ServiceError> {
    if session.len() > SESSION_BYTES_MAX {
        return Err(ServiceError::InvalidRequest(format!(
            "a session name must not be longer than {SESSION_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

/// A reader and the run that records its exposures; resolved once per use case.
#[derive(Debug)]
pub(super) struct ReaderContext<'r> {
    pub(super) reader: &'r EntryReader,
    /// The open run the reader works in; `None` means that exposures belong to an implicit run.
    open: Option<String>,
    /// The state of that run, loaded on first use.
    run: Option<Run>,
}

impl ReaderContext<'_> {
    /// Returns whether the reader works in an open run.
    pub(super) fn is_in_run(&self) -> bool {
        self.open.is_some()
    }
}

/// Builds the error for an invalid run name.
pub(super) fn invalid_run_name(run: &str) -> ServiceError {
    // The name is untrusted input: control characters and excess length must not reach the
    // response.
    let run = ken_core::values::text::truncate(
        &ken_core::values::text::escape_invisible(run),
        name::RUN_NAME_BYTES_MAX,
    );
    ServiceError::InvalidRequest(format!(
        "`{run}` is not a valid run name: use letters, digits, `-` and `_`, at most {}",
        name::RUN_NAME_BYTES_MAX
    ))
}

impl WorkspaceSession {
    /// Checks that the caller may read for `reader`, and resolves the reader's run.
    pub(super) async fn resolve_reader<'r>(
        &mut self,
        reader: &'r EntryReader,
    ) -> Result<ReaderContext<'r>, ServiceError> {
        let run = self.ensure_may_read_for(reader).await?;
        let open = match &run {
            Some(run) => Some(run.id.clone()),
            None => self.find_open_run_id(reader).await?,
        };
        Ok(ReaderContext { reader, open, run })
    }

    /// Returns the reader's open run, loading it on first use.
    pub(super) async fn load_context_run<'s>(
        &mut self,
        reader_context: &'s mut ReaderContext<'_>,
    ) -> Result<Option<&'s Run>, ServiceError> {
        if let (Some(id), None) = (&reader_context.open, &reader_context.run) {
            reader_context.run = self.load_open_run(id).await?;
        }
        Ok(reader_context.run.as_ref())
    }

    /// Records that the reader is about to be shown `entries`.
    pub(super) async fn record_exposures(
        &mut self,
        reader_context: &ReaderContext<'_>,
        entries: &[EntryId],
        how: ExposureChannel,
    ) -> Result<(), ServiceError> {
        self.append_reader_note(
            reader_context,
            reader_context.reader.shown_note(entries, how),
        )
        .await
    }

    /// Draws the holdout: decides at random which of `entries` the reader receives.
    pub(super) async fn draw_holdout<'e>(
        &mut self,
        reader_context: &mut ReaderContext<'_>,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<Vec<HoldoutAssignment>, ServiceError> {
        // Outside a run there is no outcome to compare, and exposures of people are not tracked.
        if !reader_context.is_in_run() || !reader_context.reader.is_recorded() {
            return Ok(Vec::new());
        }
        let policy = self.review_policy().await?;
        let agent = &reader_context.reader.agent;
        let run = self.load_context_run(reader_context).await?;
        Ok(run.map_or_else(Vec::new, |run| {
            holdout::assign_entries(run, agent, policy, entries)
        }))
    }

    /// Records the holdout's decisions and the entries that matched but exceeded the token budget.
    pub(super) async fn record_holdout(
        &mut self,
        reader_context: &ReaderContext<'_>,
        offers: Vec<HoldoutAssignment>,
        passed: Vec<EntryId>,
    ) -> Result<(), ServiceError> {
        self.append_reader_note(reader_context, reader_context.reader.holdout_note(offers))
            .await?;
        // Only an open run evaluates omitted entries, when it is closed.
        let passed = reader_context
            .reader
            .omitted_note(passed)
            .filter(|_| reader_context.is_in_run());
        self.append_reader_note(reader_context, passed).await
    }

    /// Loads the open run that `reader` names, or the run of its conversation if it names none.
    pub(super) async fn load_reader_run(
        &mut self,
        reader: &EntryReader,
    ) -> Result<Option<Run>, ServiceError> {
        match self.find_open_run_id(reader).await? {
            Some(id) => self.load_open_run(&id).await,
            None => Ok(None),
        }
    }

    /// Returns the name of the run that the reader's actions belong to; opens an implicit run if
    /// there is none.
    pub(super) async fn ensure_run(
        &mut self,
        reader: &EntryReader,
    ) -> Result<String, ServiceError> {
        match self.find_open_run_id(reader).await? {
            Some(id) => Ok(id),
            None => self.ensure_implicit_run(reader).await,
        }
    }

    /// Returns the run of an agent's conversation and opens it if necessary.
    ///
    /// The hub sees only requests to itself, so such a run has no witness and confirms nothing.
    pub(crate) async fn ensure_conversation_run(
        &mut self,
        agent: &Actor,
        session: &str,
    ) -> Result<String, ServiceError> {
        let id = name::session_run_name(agent, session);
        self.begin_unwitnessed(&id, RunMode::Explicit, agent, Some(session))
            .await?;
        Ok(id)
    }

    async fn find_open_run_id(
        &mut self,
        reader: &EntryReader,
    ) -> Result<Option<String>, ServiceError> {
        let Some(id) = reader.named_run() else {
            return Ok(None);
        };
        let is_open = self.tx.is_run_open(&id).await?;
        Ok(is_open.then_some(id))
    }

    async fn ensure_implicit_run(&mut self, reader: &EntryReader) -> Result<String, ServiceError> {
        let id = reader.implicit_run();
        let session = reader.session.as_deref();
        self.begin_unwitnessed(&id, RunMode::Implicit, &reader.agent, session)
            .await?;
        Ok(id)
    }

    /// Loads the implicit run that records the reader's exposures outside any other run.
    pub(super) async fn load_implicit_run(
        &mut self,
        reader: &EntryReader,
    ) -> Result<Option<Run>, ServiceError> {
        self.load_open_run(&reader.implicit_run()).await
    }

    /// Opens a run without a witness, unless it is open.
    async fn begin_unwitnessed(
        &mut self,
        id: &str,
        manner: RunMode,
        agent: &Actor,
        session: Option<&str>,
    ) -> Result<(), ServiceError> {
        if self.tx.is_run_open(id).await? {
            return Ok(());
        }
        self.trim_agent_runs(agent).await?;
        let notes = unwitnessed_run_notes(id, manner, agent, session)
            .map(|note| self.stamp_note(note, agent));
        let notes = notes.into_iter().map(|it| self.guard_note(it));
        let notes = notes.collect::<Result<Vec<RunRecord>, ServiceError>>()?;
        // A concurrent request may open the same run first. Both then use it, so the result is
        // ignored.
        self.begin_run(id, &notes).await?;
        Ok(())
    }

    /// Appends a note to the reader's run, if there is one to append.
    async fn append_reader_note(
        &mut self,
        reader_context: &ReaderContext<'_>,
        note: Option<RunNote>,
    ) -> Result<(), ServiceError> {
        let Some(note) = note else {
            return Ok(());
        };
        let reader = reader_context.reader;
        let mut id = match &reader_context.open {
            Some(id) => id.clone(),
            None => {
                // A crash may lose this note. It records an exposure outside any run, which is not
                // worth an fsync per read.
                self.tx.allow_async_commit().await?;
                self.ensure_implicit_run(reader).await?
            }
        };
        let is_kens = id.starts_with(name::IMPLICIT_PREFIX) || id.starts_with(name::SESSION_PREFIX);
        if !is_kens {
            return self.append_run_note(&id, note, &reader.agent).await;
        }
        let noted = self.guard_note(self.stamp_note(note, &reader.agent))?;
        let mut full = self.add_note(&id, &noted).await?;
        if full.is_none() {
            // The run ended concurrently. The exposure must be recorded nevertheless.
            id = self.ensure_implicit_run(reader).await?;
            full = self.add_note(&id, &noted).await?;
        }
        let Some(size) = full else {
            return Ok(());
        };
        // A read must not fail because of a full workspace, so the notes are dropped instead.
        let is_over_quota = match self.check_note_quota(size).await {
            Err(ServiceError::Quota(_)) => true,
            checked => checked.map(|()| false)?,
        };
        if is_over_quota || size.notes > OWN_RUN_NOTES_MAX {
            self.reset_run(&id, reader).await?;
        }
        Ok(())
    }

    /// Resets an implicit or conversation run with too many notes. From then on the reader counts
    /// as having seen everything, which errs on the safe side: it cannot confirm anything
    /// independently.
    async fn reset_run(&mut self, id: &str, reader: &EntryReader) -> Result<(), ServiceError> {
        self.tx.delete_open_run(id).await?;
        let manner = if id.starts_with(name::IMPLICIT_PREFIX) {
            RunMode::Implicit
        } else {
            RunMode::Explicit
        };
        let session = reader.session.as_deref();
        self.begin_unwitnessed(id, manner, &reader.agent, session)
            .await?;
        if let Some(note) = reader.saw_everything_note(ExposureChannel::Pull) {
            let noted = self.stamp_note(note, &reader.agent);
            self.add_note(id, &noted).await?;
        }
        Ok(())
    }
}
