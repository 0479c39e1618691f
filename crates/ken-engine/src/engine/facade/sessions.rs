//! Methods on the work of agents: runs, hooks, imports and the questions for an LLM.

use std::collections::BTreeSet;

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EntryEffect, Feedback};
use ken_core::retrieval::unrecorded::UnrecordedHit;
use ken_core::trust::handoff::Handoff;
use ken_core::trust::rediscovery::RediscoveryPolicy;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{ExposureChannel, Run, RunFinding, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::id::EntryId;
use ken_core::values::text::{Statement, Tag};
use ken_core::values::time::Date;

use crate::audit::AuditReport;
use crate::conversations::{ConversationHome, ConversationStatus, IndexProgress};
use crate::duplicates::DuplicatePair;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hooks::{AgentToolCall, FileExposure, HookSession, SessionStart};
use crate::import::{
    AcceptOutcome, CaptureSource, ClaimSelection, HistoryScope, InboxClaim, OlderEntries,
    ReduceOutcome, ReflectReport, SupersedeOutcome,
};
use crate::llm::{ExtractionOutcome, LlmClient, LlmPairOutcome, TranscriptClaim};
use crate::runs::{
    ClosedRun, EntryReader, ExposureLog, HandoffPoints, OpenRunRequest, PastRun, RecordOutcome,
    RunBlame,
};
use crate::usage::{AnswerUsage, UsageDay, UsageSurface};
use crate::{conversations, hooks, import, llm, runs, usage};

impl Engine {
    /// Returns entries relevant to a prompt and records the exposures in the prompt itself.
    pub fn handle_prompt_hook(
        &mut self,
        hook: &HookSession,
        prompt: &str,
    ) -> Result<Option<String>, EngineError> {
        hooks::handle_prompt_hook(self, hook, prompt)
    }

    /// Reminds an agent to record its findings. The reminder appears once per session, and only if
    /// there are findings or fixed failures and no entry was added yet.
    pub fn handle_stop_hook(
        &mut self,
        hook: &HookSession,
        said: Option<&str>,
    ) -> Result<Option<String>, EngineError> {
        hooks::end::handle_stop_hook(self, hook, said)
    }

    /// Returns the state of the index of conversations and commits.
    pub fn conversation_status(
        &self,
        home: &ConversationHome,
    ) -> Result<ConversationStatus, EngineError> {
        conversations::conversation_status(self, home)
    }

    /// Allows Ken to read the transcripts of this clone and indexes them.
    pub fn allow_conversations(
        &mut self,
        home: &ConversationHome,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<IndexProgress, EngineError> {
        conversations::allow_conversations(self, home, progress)
    }

    /// Withdraws the permission and deletes the index. Returns whether there was anything.
    pub fn delete_conversations(&self, home: &ConversationHome) -> Result<bool, EngineError> {
        conversations::delete_conversations(self, home)
    }

    /// Searches conversations and commits.
    pub fn search_unrecorded(
        &self,
        home: &ConversationHome,
        query: &str,
    ) -> Result<Vec<UnrecordedHit>, EngineError> {
        conversations::search_unrecorded(self, home, query)
    }

    /// Returns the citation of an exchange.
    pub fn cite_exchange(
        &self,
        home: &ConversationHome,
        name: &str,
    ) -> Result<String, EngineError> {
        conversations::cite_exchange(self, home, name)
    }

    /// Ends a session's run, whose outcome is unknown.
    pub fn handle_end_hook(&mut self, hook: &HookSession) -> Result<(), EngineError> {
        hooks::end::handle_end_hook(self, hook)
    }

    /// Records exposed entries for the acting agent and for the main agent it reports to.
    pub fn record_file_exposure(
        &mut self,
        hook: &HookSession,
        seen: &FileExposure,
    ) -> Result<(), EngineError> {
        hooks::exposure::record_file_exposure(self, hook, seen)
    }

    /// Returns entries about an error, once per error and session, and records it as friction.
    pub fn handle_failure_hook(
        &mut self,
        hook: &HookSession,
        call: AgentToolCall<'_>,
        error: &str,
    ) -> Result<Option<String>, EngineError> {
        hooks::failure::handle_failure_hook(self, hook, call, error)
    }

    /// Opens the session's run and returns the start briefing.
    pub fn handle_start_hook(
        &mut self,
        hook: &HookSession,
        beginning: SessionStart,
    ) -> Result<Option<String>, EngineError> {
        hooks::start::handle_start_hook(self, hook, beginning)
    }

    /// Adds a subagent to the run of the main agent and returns the briefing for its role.
    pub fn handle_subagent_hook(
        &mut self,
        hook: &HookSession,
    ) -> Result<Option<String>, EngineError> {
        hooks::subagent::handle_subagent_hook(self, hook)
    }

    /// Audits the documents of this repository; see [`crate::audit`].
    pub fn audit(&self, only: &[String]) -> Result<AuditReport, EngineError> {
        import::audit(self, only)
    }

    /// Returns what [`Self::reduce`] would add, without writing anything.
    pub fn plan_import(
        &self,
        audit: &AuditReport,
        take: ClaimSelection,
    ) -> Result<ReduceOutcome, EngineError> {
        import::plan_import(self, audit, take)
    }

    /// Adds the claims of audited documents to the inbox.
    pub fn reduce(
        &mut self,
        audit: &AuditReport,
        take: ClaimSelection,
    ) -> Result<ReduceOutcome, EngineError> {
        import::reduce(self, audit, take)
    }

    /// Returns what [`Self::reduce_history`] would add, without writing anything.
    pub fn plan_history(&self, scope: HistoryScope) -> Result<ReduceOutcome, EngineError> {
        import::plan_history(self, scope)
    }

    /// Adds what the branch's commit history tells to the inbox.
    pub fn reduce_history(&mut self, scope: HistoryScope) -> Result<ReduceOutcome, EngineError> {
        import::reduce_history(self, scope)
    }

    /// Adds evidence to an entry, and replaces its statement if one is given.
    pub fn reweave(
        &mut self,
        id: EntryId,
        evidence: CitationSource,
        statement: Option<Statement>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        import::reweave(self, id, evidence, statement, by)
    }

    /// Adds the claims named by `wanted`, or all, as entries. Refused claims stay in the inbox.
    pub fn accept_inbox_claims(
        &mut self,
        wanted: &[String],
        older: OlderEntries,
        by: &Actor,
    ) -> Result<AcceptOutcome, EngineError> {
        import::acceptance::accept_inbox_claims(self, wanted, older, by)
    }

    /// Supersedes what claims amend that were recorded as `entry`, in the words of the caller.
    pub fn supersede_amended(
        &mut self,
        entry: EntryId,
        claims: &[InboxClaim],
        by: &Actor,
    ) -> Result<SupersedeOutcome, EngineError> {
        let recorded: Vec<_> = claims.iter().map(|it| (entry, it.clone())).collect();
        import::amendments::link_accepted(self, &recorded, OlderEntries::Supersede, by)
    }

    /// Adds the claims of a transcript or of notes to the inbox.
    pub fn capture(&mut self, capture: &CaptureSource) -> Result<ReduceOutcome, EngineError> {
        import::capture::capture(self, capture)
    }

    /// Adds claims that a llm found in a transcript or in notes to the inbox.
    pub fn capture_judged(
        &mut self,
        capture: &CaptureSource,
        found: &[TranscriptClaim],
        llm: &Actor,
    ) -> Result<ReduceOutcome, EngineError> {
        import::capture::capture_judged(self, capture, found, llm)
    }

    /// Returns the claims in the inbox, ordered by memory and id.
    pub fn inbox_claims(&self) -> Result<Vec<InboxClaim>, EngineError> {
        import::inbox::inbox_claims(self)
    }

    /// Returns the claims whose ids start with one of `wanted`, or all claims if it is empty.
    pub fn find_inbox_claims(&self, wanted: &[String]) -> Result<Vec<InboxClaim>, EngineError> {
        import::inbox::find_inbox_claims(self, wanted)
    }

    /// Rejects claims permanently: `reduce` does not add them again.
    pub fn reject_inbox_claims(
        &mut self,
        wanted: &[String],
    ) -> Result<Vec<InboxClaim>, EngineError> {
        import::inbox::reject_inbox_claims(self, wanted)
    }

    /// Compares inbox claims with the ledger and with each other, and stores the report.
    pub fn reflect(&mut self) -> Result<ReflectReport, EngineError> {
        import::reflection::reflect_inbox(self)
    }

    /// Adds a claim unless an entry already states it. The llm is the author, so the entry is not
    /// approved by a person.
    pub fn add_extracted_claim(
        &mut self,
        found: &TranscriptClaim,
        evidence: &CitationSource,
        by: &Actor,
    ) -> Result<ExtractionOutcome, EngineError> {
        llm::extraction::add_extracted_claim(self, found, evidence, by)
    }

    /// Asks about a pair and applies the answer within a judge's limits.
    pub fn llm_pair(
        &mut self,
        llm: &mut LlmClient,
        pair: &DuplicatePair,
    ) -> Result<LlmPairOutcome, EngineError> {
        llm::pairs::llm_pair(self, llm, pair)
    }

    /// Opens a run, after closing abandoned runs.
    pub fn open_run(&mut self, wish: OpenRunRequest, by: &Actor) -> Result<Run, EngineError> {
        runs::open_run(self, wish, by)
    }

    /// Appends a note to an open run.
    pub fn record_note(&mut self, id: &str, note: RunNote, by: &Actor) -> Result<(), EngineError> {
        runs::record_note(self, id, note, by)
    }

    /// Records an agent's finding and the entries that already state it.
    pub fn observe(
        &mut self,
        reader: &EntryReader,
        finding: RunFinding,
    ) -> Result<Run, EngineError> {
        runs::observe(self, reader, finding)
    }

    /// Loads an open run.
    pub fn run(&self, id: &str) -> Result<Run, EngineError> {
        runs::run(self, id)
    }

    /// Returns all open runs, oldest first.
    pub fn open_runs(&self) -> Result<Vec<Run>, EngineError> {
        runs::open_runs(self)
    }

    /// Returns the notes of an ended run, if they are still on this machine.
    pub fn ended_run(&self, id: &str) -> Result<Option<Run>, EngineError> {
        runs::ended_run(self, id)
    }

    /// Returns the effects of a run on entries, from the ledger.
    pub fn run_effects(&self, id: &str) -> Result<Vec<EntryEffect>, EngineError> {
        runs::run_effects(self, id)
    }

    /// Returns the newest `limit` exposures of `entry`, or of all entries, that this machine knows.
    pub fn exposure_log(
        &self,
        entry: Option<EntryId>,
        limit: usize,
    ) -> Result<ExposureLog, EngineError> {
        runs::exposure_log::exposure_log(self, entry, limit)
    }

    /// Returns what the agents of a run were shown; `target` names the run or a commit.
    pub fn blame(&self, target: &str) -> Result<RunBlame, EngineError> {
        runs::blame::blame(self, target)
    }

    /// Returns every handoff, oldest first.
    pub fn handoffs(&self) -> Result<Vec<Handoff>, EngineError> {
        runs::handoff::handoffs(self)
    }

    /// Returns the handoffs that wait on the current branch, newest first.
    pub fn waiting_handoffs(&self) -> Result<Vec<Handoff>, EngineError> {
        runs::handoff::waiting_handoffs(self)
    }

    /// Writes a handoff on the current branch.
    pub fn write_handoff(
        &mut self,
        points: HandoffPoints,
        reader: &EntryReader,
    ) -> Result<Handoff, EngineError> {
        runs::handoff::write_handoff(self, points, reader)
    }

    /// Takes a handoff: the one with this id, or the newest that waits on the current branch.
    pub fn take_handoff(
        &mut self,
        wanted: Option<&str>,
        reader: &EntryReader,
    ) -> Result<Handoff, EngineError> {
        runs::handoff::take_handoff(self, wanted, reader)
    }

    /// Returns the handoff that waits for `reader` as a delimited block, and notes that it was
    /// shown.
    pub fn show_handoff(
        &self,
        reader: Option<&EntryReader>,
    ) -> Result<Option<String>, EngineError> {
        runs::handoff::show_handoff_to(self, reader)
    }

    /// Returns the closed runs in the order they ended, with those that only this machine knows.
    pub fn past_runs(&self) -> Result<Vec<PastRun>, EngineError> {
        runs::past_runs(self)
    }

    /// Closes runs without recent notes as abandoned and returns their ids.
    pub fn close_abandoned_runs(&mut self, by: &Actor) -> Result<Vec<String>, EngineError> {
        runs::close_abandoned_runs(self, by)
    }

    /// Closes a run and appends all events that follow from it.
    pub fn close_run(
        &mut self,
        id: &str,
        ending: &RunEnding,
        by: &Actor,
    ) -> Result<ClosedRun, EngineError> {
        runs::closing::close_run(self, id, ending, by)
    }

    /// Returns a live entry that states `statement`.
    pub fn live_entry_stating(
        &mut self,
        statement: &Statement,
    ) -> Result<Option<Entry>, EngineError> {
        runs::matching::live_entry_stating(self, statement)
    }

    /// Returns the entries, including archived ones, that state `statement`.
    pub fn entries_stating(
        &mut self,
        statement: &Statement,
    ) -> Result<BTreeSet<EntryId>, EngineError> {
        runs::matching::entries_stating(self, statement)
    }

    /// Returns the policy of this workspace; the default if it is absent or invalid.
    pub fn review_policy(&self) -> Result<ReviewPolicy, EngineError> {
        runs::policy::review_policy(self)
    }

    /// Sets the policy of this workspace; `None` restores the default.
    pub fn set_review_policy(
        &mut self,
        policy: Option<ReviewPolicy>,
        by: &Actor,
    ) -> Result<ReviewPolicy, EngineError> {
        runs::policy::set_review_policy(self, policy, by)
    }

    /// Returns the use of rediscovery with the model fitted to the entries of this workspace;
    /// `None` if no entry had a chance yet.
    pub fn fit_rediscovery(&self) -> Result<Option<RediscoveryPolicy>, EngineError> {
        runs::policy::fit_rediscovery(self)
    }

    /// Records that `reader` is about to be shown `entries`.
    pub fn record_exposures(
        &mut self,
        reader: &EntryReader,
        entries: &[EntryId],
        how: ExposureChannel,
    ) -> Result<(), EngineError> {
        runs::reader::record_exposures(self, reader, entries, how)
    }

    /// Records that `reader` read a file. Files outside `.ken` expose no entries.
    pub fn record_file_read(
        &mut self,
        reader: &EntryReader,
        path: &str,
    ) -> Result<(), EngineError> {
        runs::reader::record_file_read(self, reader, path)
    }

    /// Records that `reader` may have seen every entry.
    pub fn record_full_exposure(
        &mut self,
        reader: &EntryReader,
        how: ExposureChannel,
    ) -> Result<(), EngineError> {
        runs::reader::record_full_exposure(self, reader, how)
    }

    /// Adds entries as part of the reader's run.
    pub fn add_in_run(
        &mut self,
        reader: &EntryReader,
        proposals: Vec<Proposal>,
    ) -> Result<Vec<EntryId>, EngineError> {
        runs::reader::add_in_run(self, reader, proposals)
    }

    /// Returns the reader's run, and creates an implicit run if there is none.
    pub fn run_for(&mut self, reader: &EntryReader) -> Result<String, EngineError> {
        runs::reader::run_for(self, reader)
    }

    /// Returns the thread of the reader's run.
    pub fn reader_thread(&self, reader: &EntryReader) -> Result<Option<Tag>, EngineError> {
        runs::reader::reader_thread(self, reader)
    }

    /// Returns the open run the reader names, or else its only open session run.
    pub fn open_run_for(&self, reader: &EntryReader) -> Result<Option<Run>, EngineError> {
        runs::reader::open_run_for(self, reader)
    }

    /// Records a finding as an entry, or as an observation if an entry already states it.
    pub fn record_finding(
        &mut self,
        reader: &EntryReader,
        apart: Option<&str>,
        proposal: Proposal,
    ) -> Result<RecordOutcome, EngineError> {
        runs::recording::record_finding(self, reader, apart, proposal)
    }

    /// Records feedback about an entry that `reader` was shown. Returns false for a repetition.
    pub fn record_feedback(
        &mut self,
        reader: &EntryReader,
        id: EntryId,
        verdict: Feedback,
    ) -> Result<bool, EngineError> {
        runs::recording::record_feedback(self, reader, id, verdict)
    }

    /// Returns the number of distinct tool failures counted on this machine.
    pub fn local_failures(&self) -> usize {
        hooks::count_local_failures(&self.place)
    }

    /// Returns the run of `agent`'s `session`, opened if needed.
    pub fn ensure_session_run(
        &mut self,
        agent: &Actor,
        session: &str,
        witness: RunWitness,
    ) -> Result<Run, EngineError> {
        runs::session::ensure_session_run(self, agent, session, witness)
    }

    /// Returns the id of `agent`'s session run if it has exactly one open.
    pub fn only_session_run(&self, agent: &Actor) -> Result<Option<String>, EngineError> {
        runs::session::only_session_run(self, agent)
    }

    /// Counts an answer. Errors are ignored, because the answer is valid without it.
    pub fn count_answer(&self, surface: UsageSurface, answered: AnswerUsage) {
        usage::count_answer(self, surface, answered);
    }

    /// Returns the counters since a date, oldest day first, without days that have none.
    pub fn usage_since(&self, since: Date) -> Result<Vec<UsageDay>, EngineError> {
        usage::usage_since(self, since)
    }
}
