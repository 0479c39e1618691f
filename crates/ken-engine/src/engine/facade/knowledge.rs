//! Methods on entries: adding, finding, comparing, promoting and checking them.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::{MergeWording, Proposal};
use ken_core::json::EntityRelationship;
use ken_core::ledger::cooccurrence::EntryCluster;
use ken_core::ledger::entry::{Entry, EntryApproval};
use ken_core::ledger::event::{
    CheckResult, Feedback, Overlay, RecordedEvent, Relation, RetractReason, Switch,
};
use ken_core::ledger::page::{EntryPage, FacetCount, FacetCounts, PageFilter, PageQuery};
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::step::Step;
use ken_core::ledger::store::EntryFilter;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::retrieval::score::RankingWeights;
use ken_core::retrieval::surface::EntrySelection;
use ken_core::trust::facts::Validity;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::{ContentChanges, FrictionType};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::{Note, Statement, Tag};
use ken_core::values::time::Date;

use crate::briefing::TaskBriefing;
use crate::contradictions::{Contradiction, ContradictionResolution};
use crate::duplicates::{DuplicatePair, DuplicatePairs, RelatedEntry};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::export::ExportFormat;
use crate::impact::{ConfidenceReport, EffectReport, FeedbackCounts, ImpactReport};
use crate::import::ExportImportOutcome;
use crate::promotion::{
    ApprovalInput, ApprovalValidity, GlobalHome, GlobalOverlay, GlobalPromotion, OtherLedgers,
    PendingApproval, PromotionDecider, PromotionRequest,
};
use crate::runs::{EntryReader, HarmAlarm};
use crate::scoring::WorkspaceWeights;
use crate::search::{ExtractedQuery, SearchOutcome, SearchQuery, SelectionLimits, UnansweredQuery};
use crate::undo::UndoneStep;
use crate::validity::{
    EntryCheck, FileDiff, FileKnowledge, LineHistory, LineRange, ReanchorOutcome,
};
use crate::verify::{VerifyOutcome, VerifyScope};
use crate::{
    briefing, co_occurrence, contradictions, distill, duplicates, entries, export, files, friction,
    git, impact, import, lookup, norms, overlays, promotion, runs, scoring, search, undo, validity,
    verify,
};

impl Engine {
    /// Returns the briefing for a task described by `search`.
    pub fn brief(
        &mut self,
        search: &SearchQuery,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TaskBriefing, EngineError> {
        briefing::brief(self, search, progress)
    }

    /// Renders a briefing for `reader`, applies the holdout, and records the exposures.
    pub fn render_briefing(
        &mut self,
        brief: &mut TaskBriefing,
        portion: SelectionLimits,
        reader: Option<&EntryReader>,
    ) -> Result<EntrySelection, EngineError> {
        briefing::render_briefing(self, brief, portion, reader)
    }

    /// Returns the matching entries that are stale: by their status, or because their code changed.
    pub fn stale_entries(
        &mut self,
        filter: &EntryFilter,
    ) -> Result<Vec<(Entry, Option<Validity>)>, EngineError> {
        validity::anchoring::stale_entries(self, filter)
    }

    /// Returns the live entries whose content was edited concurrently, newest first.
    pub fn concurrently_edited(&self) -> Result<Vec<Entry>, EngineError> {
        Ok(self.index.concurrently_edited()?)
    }

    /// Returns the norms that apply to the whole repository or to `paths`.
    pub fn norms_for(&self, paths: &[String]) -> Result<EntrySelection, EngineError> {
        briefing::norms_for(self, paths)
    }

    /// Returns clusters of live entries that are worth distilling.
    pub fn distillation_candidates(&self) -> Result<Vec<EntryCluster>, EngineError> {
        co_occurrence::distillation_candidates(self)
    }

    /// Returns every open contradiction between live entries, flagged or not.
    pub fn open_contradictions(&mut self) -> Result<Vec<Contradiction>, EngineError> {
        contradictions::open_contradictions(self)
    }

    /// Returns contradictions with the norm `id`; empty if it is not a norm.
    pub fn contradicting_norms(&self, id: EntryId) -> Result<Vec<Contradiction>, EngineError> {
        contradictions::contradicting_norms(self, id)
    }

    /// Returns the live entries that contradict `id`: by a link, or by a flag that still stands.
    pub fn opponents(&self, id: EntryId) -> Result<BTreeSet<EntryId>, EngineError> {
        contradictions::opponents(self, id)
    }

    /// Flags new contradictions in the ledger, each only once, and returns them.
    pub fn flag_contradictions(&mut self, by: &Actor) -> Result<Vec<Contradiction>, EngineError> {
        contradictions::flag_contradictions(self, by)
    }

    /// Records permanently that two entries do not contradict each other.
    pub fn dismiss_contradiction(
        &mut self,
        one: EntryId,
        other: EntryId,
        by: &Actor,
    ) -> Result<(), EngineError> {
        contradictions::dismiss_contradiction(self, one, other, by)
    }

    /// Resolves a contradiction.
    pub fn resolve_contradiction(
        &mut self,
        one: EntryId,
        other: EntryId,
        how: ContradictionResolution,
        by: &Actor,
    ) -> Result<(), EngineError> {
        contradictions::resolve_contradiction(self, one, other, how, by)
    }

    /// Distills `sources` into one entry with the given statement. The sources remain.
    pub fn distill(
        &mut self,
        sources: &[EntryId],
        statement: Statement,
        kind: EntryKind,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        distill::distill(self, sources, statement, kind, by)
    }

    /// Returns the live entries with a link to `id`.
    pub fn entries_linking_to(&self, id: EntryId) -> Result<Vec<EntryId>, EngineError> {
        Ok(self.index.entries_linking_to(id)?)
    }

    /// Returns the live entries with an anchor at exactly `path`.
    pub fn entries_anchored_exactly(&self, path: &str) -> Result<Vec<EntryId>, EngineError> {
        Ok(self.index.entries_anchored_exactly(path)?)
    }

    /// Returns the children of a folder below which live entries are anchored, with the number of
    /// those entries. The folder is empty or ends with `/`.
    pub fn anchored_children(&self, folder: &str) -> Result<Vec<(String, u32)>, EngineError> {
        Ok(self.index.anchored_children(folder)?)
    }

    /// Returns at most `limit` pairs of live entries that may state the same and were not
    /// dismissed, and the number of all. Certain duplicates come first, then the most likely ones.
    pub fn duplicate_pairs(&mut self, limit: usize) -> Result<DuplicatePairs, EngineError> {
        duplicates::duplicate_pairs(self, limit)
    }

    /// Returns at most `limit` pairs of likely duplicates in which each entry stands once.
    pub fn separate_duplicate_pairs(
        &mut self,
        limit: usize,
    ) -> Result<DuplicatePairs, EngineError> {
        duplicates::separate_duplicate_pairs(self, limit)
    }

    /// Returns at most `limit` pairs that a person or an LLM has to decide about.
    pub fn undecided_pairs(&mut self, limit: usize) -> Result<Vec<DuplicatePair>, EngineError> {
        duplicates::undecided_pairs(self, limit)
    }

    /// Returns the live entries that the entry `id` may repeat or contradict, the most likely
    /// first.
    pub fn related_entries(&mut self, id: EntryId) -> Result<Vec<RelatedEntry>, EngineError> {
        duplicates::related_entries(self, id)
    }

    /// Like [`Self::related_entries`], for an entry that may be of another ledger.
    pub fn entries_related_to(&mut self, entry: &Entry) -> Result<Vec<RelatedEntry>, EngineError> {
        duplicates::entries_related_to(self, entry)
    }

    /// Merges entries with identical statements and returns the merged pairs.
    pub fn merge_identical(&mut self, by: &Actor) -> Result<Vec<DuplicatePair>, EngineError> {
        duplicates::merge_identical(self, by)
    }

    /// Merges `sources` into `target`, whose statement becomes `wording`.
    pub fn merge(
        &mut self,
        target: EntryId,
        sources: &[EntryId],
        wording: MergeWording,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        duplicates::merge(self, target, sources, wording, by)
    }

    /// Returns the entry named `name` if `by` may supersede it.
    pub fn find_supersedable(&self, name: &str, by: &Actor) -> Result<EntryId, EngineError> {
        duplicates::find_supersedable(self, name, by)
    }

    /// Supersedes `old` with `new`, and links back to it.
    pub fn supersede(
        &mut self,
        old: EntryId,
        new: EntryId,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        duplicates::supersede(self, old, new, by)
    }

    /// Records permanently that two entries do not state the same.
    pub fn dismiss_duplicate(
        &mut self,
        one: EntryId,
        other: EntryId,
        by: &Actor,
    ) -> Result<(), EngineError> {
        duplicates::dismiss_duplicate(self, one, other, by)
    }

    /// Returns the hash of the checked-out commit; `None` outside git and before the first commit.
    pub fn head_commit(&self) -> Option<String> {
        git::head_commit(&self.place)
    }

    /// Adds one entry.
    pub fn add(&mut self, proposal: Proposal, by: &Actor) -> Result<Entry, EngineError> {
        entries::add(self, proposal, by)
    }

    /// Adds entries, with one durable append per [`BATCH_MAX`](entries::BATCH_MAX) entries.
    pub fn add_many(
        &mut self,
        proposals: Vec<Proposal>,
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        entries::add_many(self, proposals, by)
    }

    /// Edits fields of an entry.
    pub fn edit(
        &mut self,
        id: EntryId,
        changes: ContentChanges,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::edit(self, id, changes, reason, by)
    }

    /// Adds a citation to an entry.
    pub fn cite(
        &mut self,
        id: EntryId,
        evidence: CitationSource,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::cite(self, id, evidence, by)
    }

    /// Records a confirmation by `by` on the date `on`; today by default.
    pub fn confirm(
        &mut self,
        id: EntryId,
        on: Option<Date>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::confirm(self, id, on, by)
    }

    /// Changes the status of an entry.
    pub fn set_status(
        &mut self,
        id: EntryId,
        to: EntryStatus,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::set_status(self, id, to, reason, by)
    }

    /// Retracts an entry.
    pub fn retract(
        &mut self,
        id: EntryId,
        reason: RetractReason,
        note: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::retract(self, id, reason, note, by)
    }

    /// Restores an archived, retracted, merged or superseded entry.
    pub fn restore(
        &mut self,
        id: EntryId,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::restore(self, id, reason, by)
    }

    /// Archives one entry.
    pub fn archive(&mut self, id: EntryId, by: &Actor) -> Result<Entry, EngineError> {
        entries::archive(self, id, by)
    }

    /// Archives entries in one go.
    pub fn archive_entries(
        &mut self,
        ids: &BTreeSet<EntryId>,
        by: &Actor,
    ) -> Result<(), EngineError> {
        entries::archive_entries(self, ids, by)
    }

    /// Archives every entry not confirmed for more than `days`; returns their ids.
    pub fn archive_older_than(
        &mut self,
        days: u32,
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        entries::archive_older_than(self, days, by)
    }

    /// Archives every entry of a thread whose scope is that thread only; returns their ids.
    pub fn archive_thread(
        &mut self,
        thread: &Tag,
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        entries::archive_thread(self, thread, by)
    }

    /// Records feedback on an entry.
    pub fn feedback(
        &mut self,
        id: EntryId,
        verdict: Feedback,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::feedback(self, id, verdict, by)
    }

    /// Resets the confidence of an entry to the prior.
    pub fn reset_confidence(
        &mut self,
        id: EntryId,
        reason: Note,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::reset_confidence(self, id, reason, by)
    }

    /// Links an entry to another.
    pub fn link(
        &mut self,
        from: EntryId,
        to: EntryId,
        rel: Relation,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        entries::link(self, from, to, rel, by)
    }

    /// Sets or removes an overlay; pins, mutes and invalidations concern this clone alone.
    pub fn set_overlay(
        &mut self,
        id: EntryId,
        overlay: Overlay,
        state: Switch,
        note: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        overlays::set(self, id, overlay, (state, note), by)
    }

    /// Releases a quarantined entry.
    pub fn release(&mut self, id: EntryId, reason: Note, by: &Actor) -> Result<Entry, EngineError> {
        entries::release(self, id, reason, by)
    }

    /// Undoes the step of `by` that begins with the event `wanted`, or else the newest one.
    pub fn undo(&mut self, wanted: Option<EventId>, by: &Actor) -> Result<UndoneStep, EngineError> {
        undo::undo(self, wanted, by)
    }

    /// Repeats the step of `by` that was undone last.
    pub fn redo(&mut self, by: &Actor) -> Result<UndoneStep, EngineError> {
        undo::redo(self, by)
    }

    /// Returns the newest `limit` steps of `by` that [`Self::undo`] would undo one by one, newest
    /// first.
    pub fn undoable_steps(&self, limit: usize, by: &Actor) -> Result<Vec<Step>, EngineError> {
        undo::undoable_steps(self, limit, by)
    }

    /// Exports matching entries as files by path; a single text has the empty path.
    pub fn export(
        &self,
        filter: &EntryFilter,
        format: ExportFormat,
    ) -> Result<BTreeMap<String, String>, EngineError> {
        export::export(self, filter, format)
    }

    /// Appends the events of an export that this branch lacks; `by` must be a person.
    pub fn import_export(
        &mut self,
        lines: &str,
        by: &Actor,
    ) -> Result<ExportImportOutcome, EngineError> {
        import::exported::import_export(self, lines, by)
    }

    /// Renders every entry file and list with current machine state; returns the number of written
    /// entry files.
    pub fn render_all(&mut self) -> Result<usize, EngineError> {
        files::render_all(self)
    }

    /// Returns the confidence of an entry and its explanation.
    pub fn explain_confidence(&mut self, entry: &Entry) -> Result<ConfidenceReport, EngineError> {
        impact::explain_confidence(self, entry)
    }

    /// Returns the impact of all entries, including archived ones.
    pub fn impact_report(&self) -> Result<ImpactReport, EngineError> {
        impact::impact_report(self)
    }

    /// Returns the effects of all entries on what programs observed of runs.
    pub fn effect_report(&self) -> Result<EffectReport, EngineError> {
        impact::effect_report(self)
    }

    /// Records the result of the checks of a change in CI, and returns the number of its commits.
    pub fn record_ci_result(
        &mut self,
        range: (Option<&str>, Option<&str>),
        result: CheckResult,
        by: &Actor,
    ) -> Result<usize, EngineError> {
        runs::ci::record_ci_result(self, range, result, by)
    }

    /// Returns the muted entries that demonstrably hurt.
    pub fn harm_alarms(&self) -> Result<Vec<HarmAlarm>, EngineError> {
        runs::alarm::harm_alarms(self)
    }

    /// Returns the number of helpful and unhelpful feedback events.
    pub fn feedback_counts(&self) -> Result<FeedbackCounts, EngineError> {
        impact::feedback_counts(self)
    }

    /// Returns the only entry whose id starts with `wanted` or that has it as an alias.
    pub fn find(&self, wanted: &str) -> Result<Entry, EngineError> {
        lookup::find(self, wanted)
    }

    /// Returns an entry by its full id.
    pub fn entry(&self, id: EntryId) -> Result<Entry, EngineError> {
        lookup::entry(self, id)
    }

    /// Returns the entries that match, newest first.
    pub fn list(&self, filter: &EntryFilter) -> Result<Vec<Entry>, EngineError> {
        lookup::list(self, filter)
    }

    /// Returns one page of entries, in one of several orders.
    pub fn entry_page(&mut self, query: &PageQuery) -> Result<EntryPage, EngineError> {
        lookup::entry_page(self, query)
    }

    /// Counts the entries of a list by kind, status, tag, path, author and origin.
    pub fn facet_counts(&self, filter: &PageFilter) -> Result<FacetCounts, EngineError> {
        lookup::facet_counts(self, filter)
    }

    /// Counts all live entries by status.
    pub fn status_counts(&self) -> Result<Vec<FacetCount>, EngineError> {
        lookup::status_counts(self)
    }

    /// Returns an entry as it was after one of its events.
    pub fn entry_at(&self, id: EntryId, event: EventId) -> Result<Entry, EngineError> {
        lookup::entry_at(self, id, event)
    }

    /// Returns the relationships that start or end at `entry`; none if it is not an entity.
    pub fn relationships(&self, entry: &Entry) -> Result<Vec<EntityRelationship>, EngineError> {
        lookup::relationships(self, entry)
    }

    /// Returns type and day of all recorded friction.
    pub fn friction_records(&self) -> Result<Vec<(FrictionType, Date)>, EngineError> {
        friction::records(self)
    }

    /// Returns every event of an entry in canonical order.
    pub fn history(&self, id: EntryId) -> Result<Vec<RecordedEvent>, EngineError> {
        lookup::history(self, id)
    }

    /// Returns the full state of this branch, for comparison and export.
    pub fn state(&self) -> Result<LedgerState, EngineError> {
        lookup::state(self)
    }

    /// Returns an event by its full id.
    pub fn event(&self, id: &str) -> Result<RecordedEvent, EngineError> {
        lookup::event(self, id)
    }

    /// Adds the example `name`, citing `cited` or else the list of examples.
    pub fn add_example_norm(
        &mut self,
        name: &str,
        cited: Option<CitationSource>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        norms::add_example_norm(self, name, cited, by)
    }

    /// Widens the scope of a thread's entry to the whole workspace.
    pub fn promote_to_workspace(
        &mut self,
        id: EntryId,
        judgment: PromotionDecider,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        promotion::promote_to_workspace(self, id, judgment, by)
    }

    /// Returns the promotable entries of a thread, which are worth keeping before it is archived.
    pub fn promotable_entries(
        &mut self,
        thread: &Tag,
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        promotion::promotable_entries(self, thread, by)
    }

    /// Adds a pending entry of another memory; a person must approve it.
    pub fn propose_promotion(
        &mut self,
        request: PromotionRequest,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        promotion::propose_promotion(self, request, by)
    }

    /// Returns the entries that await an approval.
    pub fn pending_approvals(&self) -> Result<Vec<PendingApproval>, EngineError> {
        promotion::approval::pending_approvals(self)
    }

    /// Returns the artifact that a person reads and signs before approving an entry.
    pub fn artifact_bytes(&self, entry: &Entry) -> Result<Vec<u8>, EngineError> {
        promotion::approval::artifact_bytes(entry)
    }

    /// Writes the artifact of an entry and returns its path below the repository root.
    pub fn write_artifact(&self, entry: &Entry) -> Result<String, EngineError> {
        promotion::approval::write_artifact(self, entry)
    }

    /// Approves the current statement of an entry.
    pub fn approve(
        &mut self,
        id: EntryId,
        request: ApprovalInput,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        promotion::approval::approve(self, id, request, by)
    }

    /// Returns true if approvals must be signed in this repository.
    pub fn requires_signatures(&self) -> Result<bool, EngineError> {
        promotion::approval::requires_signatures(self)
    }

    /// Returns the command that signs the artifact at `path`.
    pub fn signing_command(path: &str) -> String {
        promotion::approval::signing_command(path)
    }

    /// Returns the approvals of an entry with their validity today.
    pub fn approval_validities(
        &self,
        entry: &Entry,
    ) -> Result<Vec<(EntryApproval, ApprovalValidity)>, EngineError> {
        promotion::approval::approval_validities(self, entry)
    }

    /// Returns the id of this project in other ledgers: a hash of the ledger's first event, which
    /// every clone has.
    pub fn project_id(&self) -> Result<Tag, EngineError> {
        promotion::global::project_id(self)
    }

    /// Copies an entry into the global ledger, or adds this project as a source if it is there.
    pub fn promote_to_global(
        &mut self,
        home: GlobalHome,
        id: EntryId,
        judgment: PromotionDecider,
        by: &Actor,
    ) -> Result<GlobalPromotion, EngineError> {
        promotion::global::promote_to_global(self, home, id, judgment, by)
    }

    /// Returns the hits of other ledgers for a search that fit into the budget left by the local
    /// `page`.
    pub fn overlay(
        &mut self,
        others: &mut OtherLedgers,
        search: &SearchQuery,
        local: (&SearchOutcome, &EntrySelection),
        portion: SelectionLimits,
    ) -> Result<Option<GlobalOverlay>, EngineError> {
        promotion::global::overlay(self, others, search, local, portion)
    }

    /// Returns the weights of this workspace, or the defaults if its own are missing or invalid.
    pub fn workspace_weights(&self) -> Result<WorkspaceWeights, EngineError> {
        scoring::workspace_weights(self)
    }

    /// Sets the weights of this workspace; `None` restores the defaults.
    pub fn set_workspace_weights(
        &mut self,
        weights: Option<RankingWeights>,
        by: &Actor,
    ) -> Result<WorkspaceWeights, EngineError> {
        scoring::set_workspace_weights(self, weights, by)
    }

    /// Returns the entries that match a query, best first.
    pub fn search(
        &mut self,
        search: &SearchQuery,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<SearchOutcome, EngineError> {
        search::search(self, search, progress)
    }

    /// Extracts a query from the diff against `revision`.
    pub fn query_from_diff(&self, revision: &str) -> Result<ExtractedQuery, EngineError> {
        search::query_extraction::query_from_diff(self, revision)
    }

    /// Extracts a query from the output of a failed command.
    pub fn query_from_log(&mut self, log: &[u8]) -> Result<ExtractedQuery, EngineError> {
        search::query_extraction::query_from_log(self, log)
    }

    /// Returns the paths that differ from the last commit; empty without git.
    pub fn changed_paths(&self) -> Vec<String> {
        search::query_extraction::changed_paths(self)
    }

    /// Returns whether a path differs from the last commit; never without git.
    pub fn is_changed(&self, path: &str) -> bool {
        search::query_extraction::is_changed(self, path)
    }

    /// Records a query if its best hit is weak; returns true if it is. `nearest` are the hits
    /// without a relevance floor.
    pub fn record_unanswered(
        &mut self,
        search: &SearchQuery,
        answer: &SearchOutcome,
        nearest: Option<&SearchOutcome>,
    ) -> Result<bool, EngineError> {
        search::unanswered::record_unanswered(self, search, answer, nearest)
    }

    /// Returns the queries without a good hit, newest first.
    pub fn unanswered_queries(&self) -> Result<Vec<UnansweredQuery>, EngineError> {
        search::unanswered::unanswered_queries(self)
    }

    /// Checks one entry against the work tree and adds diffs to changed anchors.
    pub fn check_entry(&mut self, id: EntryId) -> Result<EntryCheck, EngineError> {
        validity::anchoring::check_entry(self, id)
    }

    /// Returns a file of the work tree or, with `revision`, of a commit: its text, symbols, and the
    /// entries and norms about it.
    pub fn file_knowledge(
        &mut self,
        path: &str,
        revision: Option<&str>,
    ) -> Result<FileKnowledge, EngineError> {
        validity::file_knowledge::file_knowledge(self, path, revision)
    }

    /// Returns the commit that last changed lines of a file, and whether they differ from it.
    pub fn line_history(&self, path: &str, lines: LineRange) -> Result<LineHistory, EngineError> {
        validity::file_history::line_history(self, path, lines)
    }

    /// Returns the difference of a file between the base of the current change and the work tree.
    pub fn file_diff(&self, path: &str, base: Option<&str>) -> Result<FileDiff, EngineError> {
        validity::file_history::file_diff(self, path, base)
    }

    /// Returns whether the work tree has a file at `path` that git tracks or would track.
    pub fn is_listed_file(&self, path: &str) -> Result<bool, EngineError> {
        validity::file_knowledge::is_listed_file(self, path)
    }

    /// Returns the entries whose code changed or is gone.
    pub fn invalid_entries(&mut self) -> Result<Vec<EntryCheck>, EngineError> {
        validity::anchoring::invalid_entries(self)
    }

    /// Adds missing fingerprints and follows moved code; changed code is left to a person.
    pub fn reanchor_all(&mut self, by: &Actor) -> Result<ReanchorOutcome, EngineError> {
        validity::anchoring::reanchor_all(self, by)
    }

    /// Fingerprints the current code of an entry after a person confirmed that the claim still
    /// holds.
    pub fn accept_current_code(
        &mut self,
        id: EntryId,
        citation: Option<CitationSource>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        validity::anchoring::accept_current_code(self, id, citation, by)
    }

    /// Replaces the anchors of an entry whose code changed or is gone with `to`.
    pub fn reanchor_to(
        &mut self,
        id: EntryId,
        to: Vec<CodeLocation>,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        validity::anchoring::reanchor_to(self, id, to, by)
    }

    /// Verifies `scope`; `progress` receives the number of checked entries and the total.
    ///
    /// Writes neither events nor entry files.
    pub fn verify(
        &mut self,
        scope: VerifyScope<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<VerifyOutcome, EngineError> {
        verify::verify(self, scope, progress)
    }

    /// Returns the state that does not belong to a single entry, such as configuration.
    pub fn workspace(&self) -> Result<WorkspaceState, EngineError> {
        verify::workspace(self)
    }
}
