//! Agent hooks: the context Ken injects and the exposures it records during a session.
//!
//! A session is a run. A starting session gets a briefing (`start`); a prompt and a failed tool
//! call get the few entries with high relevance (here and in `failure`); a starting subagent gets
//! the briefing configured for its role (`subagent`). Ken's own files read by tools are recorded as
//! exposures (`exposure`), and the run is closed when the session ends (`end`).
//!
//! Invariants: every exposure is recorded before the entry is shown. No entry is shown twice in a
//! session, except norms after a context compaction. The holdout applies as in a briefing. A hook
//! with nothing to show returns `None`, so that it adds no tokens to the session.

mod decisions;
pub(crate) mod end;
pub(crate) mod exposure;
pub(crate) mod failure;
mod failure_counts;
mod log;
pub(crate) mod session_state;
pub(crate) mod start;
pub(crate) mod subagent;

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::retrieval::brief::{
    drop_norms_about_other_files, drop_unnamed_beside_named, drop_unproven_hits,
};
use ken_core::retrieval::surface::{self, DetailTier, EntrySelection};
use ken_core::retrieval::unasked::UnaskedMoment;
use ken_core::trust::run::name::session_run_name;
use ken_core::trust::run::{AGENTS_MAX, ExposureChannel, Run, RunWitness};
use ken_core::values::actor::{Actor, ActorRole as Party};
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;

use crate::briefing::TaskBriefing;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::model;
use crate::runs::{self, EntryReader};
use crate::search::{
    ExtractedQuery, RelevanceFloor, SearchOutcome, SearchQuery, SelectionLimits, match_threshold,
    query_extraction::query_from_prompt,
};
use crate::usage::{AnswerUsage, QueryKind, UsageSurface};

pub use exposure::{FileExposure, detect_exposure};
pub use failure::{AgentToolCall, ToolCallResult, record_tool_result};
pub(crate) use failure_counts::count_local_failures;
pub use ken_index::count_tokens;
pub use log::{LOG_BYTES_MAX, append_log, is_ken_repository, record_exposure_gap};
pub use start::{BRIEFING_TOKENS_MAX, SessionStart};
pub use subagent::SurfacingMode;

/// Maximum number of entries a hook injects without a query from the agent.
pub const INJECTED_ENTRIES_MAX: usize = 3;

/// Token budget for these entries; the best one may exceed it.
const INJECTED_TOKENS_MAX: usize = 400;

/// Characters of a prompt used as the query; longer prompts are mostly pasted text.
const QUERY_CHARS_MAX: usize = 600;

/// Maximum bytes of a subagent's id in an actor name; a longer id is replaced by its hash.
const SUBAGENT_BYTES_MAX: usize = 40;

/// Agent session on whose behalf a hook runs.
#[derive(Clone, Debug)]
pub struct HookSession {
    /// The main agent, which a person talks to.
    pub agent: Actor,
    /// Session id reported by the agent.
    pub session: Option<String>,
    /// Run opened by an orchestrator. Without one, the session is a run of its own.
    pub run: Option<String>,
    /// The subagent that triggered the hook, if the main agent did not.
    pub subagent: Option<StartedSubagent>,
    /// Witness of the session's exposures: hooks, if they observe everything this agent reads.
    pub witness: RunWitness,
    /// True if hook output reaches the model now; otherwise nothing is shown or recorded as shown.
    pub accepts_context: bool,
}

/// Agent started by another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartedSubagent {
    pub id: String,
    /// Agent kind, such as `code-reviewer`.
    pub kind: String,
    /// Assigned task, empty if unknown.
    pub task: String,
}

impl HookSession {
    /// Returns the acting agent: the subagent if there is one, else the main agent.
    #[must_use]
    pub fn actor(&self) -> Actor {
        let Some(subagent) = &self.subagent else {
            return self.agent.clone();
        };
        // Agents choose the id freely: a hash keeps the actor name short and still distinct.
        let id = if subagent.id.len() <= SUBAGENT_BYTES_MAX {
            subagent.id.clone()
        } else {
            blake3::hash(subagent.id.as_bytes()).to_hex()[..16].to_owned()
        };
        Actor::from_claim(Party::Agent, &format!("{}/{id}", self.agent.name()))
    }

    /// Returns the id of the run that this session belongs to.
    fn run_id(&self) -> Option<String> {
        // The orchestrator's run wins, so that all its agents work in the same run.
        if self.run.is_some() {
            return self.run.clone();
        }
        let session = self.session.as_deref()?;
        Some(session_run_name(&self.agent, session))
    }

    /// Returns the acting agent as a reader of entries.
    fn reader(&self) -> EntryReader {
        EntryReader {
            agent: self.actor(),
            run: self.run_id(),
            session: self.session.clone(),
        }
    }

    /// Returns the same session with the main agent acting.
    fn as_main_agent(&self) -> Self {
        Self {
            subagent: None,
            ..self.clone()
        }
    }
}

/// Returns entries relevant to a prompt and records the exposures in the prompt itself.
pub(crate) fn handle_prompt_hook(
    engine: &mut Engine,
    hook: &HookSession,
    prompt: &str,
) -> Result<Option<String>, EngineError> {
    // Hooks that join in the middle of a session cannot know the agent's earlier reads.
    join_session_run(engine, hook, RunWitness::Nobody, None)?;
    engine.record_file_exposure(hook, &detect_exposure(&[], "", prompt))?;
    decisions::notice_prompt(engine, hook, prompt);
    if !hook.accepts_context || prompt.trim().is_empty() {
        return Ok(None);
    }
    let short: String = prompt.chars().take(QUERY_CHARS_MAX).collect();
    let asked = query_from_prompt(engine, &short);
    suggest_entries(engine, hook, asked, UnaskedMoment::Prompt)
}

/// Returns the session's run and opens it if needed. A run set by an orchestrator must be open.
fn join_session_run(
    engine: &mut Engine,
    hook: &HookSession,
    witness: RunWitness,
    thread: Option<Tag>,
) -> Result<Option<Run>, EngineError> {
    match (&hook.run, &hook.session) {
        // Fails if the run is closed: only the orchestrator may open it.
        (Some(run), _) => engine.run(run).map(Some),
        (None, Some(session)) => {
            let run = runs::session::ensure_session_run_on_thread(
                engine,
                &hook.agent,
                session,
                witness,
                thread,
            )?;
            Ok(Some(run))
        }
        (None, None) => Ok(None),
    }
}

/// Returns the few entries with high relevance that this session has not seen, or `None`.
fn suggest_entries(
    engine: &mut Engine,
    hook: &HookSession,
    asked: ExtractedQuery,
    moment: UnaskedMoment,
) -> Result<Option<String>, EngineError> {
    // The floor only finds candidates; what is weak is dropped below.
    let floor = match moment {
        UnaskedMoment::Prompt => RelevanceFloor::Prompt,
        UnaskedMoment::Failure => RelevanceFloor::Strict,
    };
    let search = SearchQuery {
        query: asked.text,
        names: asked.names,
        paths: asked.paths,
        frames: asked.frames,
        run: hook.run_id(),
        // The agent did not ask, so an irrelevant entry is worse than a missing one.
        floor,
        ..SearchQuery::default()
    };
    let mut known = find_unseen(engine, hook, &search, &|_| true)?;
    if known.hits.is_empty() {
        return Ok(None);
    }
    let threshold = match_threshold(engine, floor, &search.query)?;
    let entries = engine.index.searchable_entries()?;
    moment.drop_weak_hits(&mut known.hits, threshold, entries);
    if !subagent::gets_entries(engine, hook)? {
        // Only that there are entries: what they say is for the agent to ask.
        drop_unproven_hits(&mut known.hits, &engine.review_policy()?.rediscovery);
        return Ok((!known.hits.is_empty()).then(|| subagent::match_hint(hook)));
    }
    let (page, served_by) = deliver_hits(engine, hook, known, INJECTED_LIMITS)?;
    Ok((!page.shown.is_empty()).then(|| surface::render_unasked_block(&page, served_by)))
}

/// Limits of the entries that a hook injects: the best one whole, because a statement that is cut
/// before its remedy is of no use, and one line for each other.
const INJECTED_LIMITS: SelectionLimits = SelectionLimits {
    cap: INJECTED_ENTRIES_MAX,
    budget: INJECTED_TOKENS_MAX,
    tier: Some(DetailTier::Lead),
    role: None,
};

/// Searches, drops entries already shown or not `wanted`, and delivers a page within the
/// budget.
fn search_and_deliver(
    engine: &mut Engine,
    hook: &HookSession,
    search: &SearchQuery,
    portion: SelectionLimits,
    wanted: &dyn Fn(&Entry) -> bool,
) -> Result<(EntrySelection, &'static str), EngineError> {
    let known = find_unseen(engine, hook, search, wanted)?;
    deliver_hits(engine, hook, known, portion)
}

/// Delivers a page of hits within the budget.
fn deliver_hits(
    engine: &mut Engine,
    hook: &HookSession,
    known: SearchOutcome,
    portion: SelectionLimits,
) -> Result<(EntrySelection, &'static str), EngineError> {
    let served_by = known.served_by.name();
    let page = deliver_page(
        engine,
        hook,
        Some(QueryKind::Search),
        (EntrySelection::empty(), known),
        portion,
    )?;
    Ok((page, served_by))
}

/// Searches and drops entries already shown or not `wanted`.
fn find_unseen(
    engine: &mut Engine,
    hook: &HookSession,
    search: &SearchQuery,
    wanted: &dyn Fn(&Entry) -> bool,
) -> Result<SearchOutcome, EngineError> {
    let thread = engine.reader_thread(&hook.reader())?;
    let search = SearchQuery {
        thread: search.thread.clone().or(thread),
        ..search.clone()
    };
    let mut known = search_without_waiting(engine, &search)?;
    let before = already_shown(engine, hook)?;
    known
        .hits
        .retain(|hit| wanted(&hit.entry) && !before.contains(&hit.entry.id));
    drop_norms_about_other_files(&mut known.hits, &search.paths);
    drop_unnamed_beside_named(&mut known.hits);
    Ok(known)
}

/// Searches without loading a model or calling a network service.
fn search_without_waiting(
    engine: &mut Engine,
    search: &SearchQuery,
) -> Result<SearchOutcome, EngineError> {
    // Every prompt waits for its hook, so a model must not be loaded here.
    model::use_only_built_in_model(engine);
    engine.search(search, &mut |_, _| {})
}

/// Delivers hits and norms like a briefing, records the exposures and counts the query in
/// usage.
fn deliver_page(
    engine: &mut Engine,
    hook: &HookSession,
    asked: Option<QueryKind>,
    (norms, mut known): (EntrySelection, SearchOutcome),
    portion: SelectionLimits,
) -> Result<EntrySelection, EngineError> {
    // Nobody asked, so a claim without independent evidence is not injected.
    let unsaid = drop_unproven_hits(&mut known.hits, &engine.review_policy()?.rediscovery);
    let mut brief = TaskBriefing {
        norms,
        results: known,
        unproven_entries: unsaid,
        is_overview: false,
    };
    // Records the exposures before it returns the page.
    let page = engine.render_briefing(&mut brief, portion, Some(&hook.reader()))?;
    let pages = [&brief.norms, &page];
    if let Some(asked) = asked {
        engine.count_answer(
            UsageSurface::Hook,
            AnswerUsage::from_answer(asked, &brief.results, &pages),
        );
    }
    record_main_agent_exposure(engine, hook, &page.ids())?;
    Ok(page)
}

/// Records a subagent's exposures for the main agent as well. The subagent reports to the main
/// agent, which may pass the content on to every other subagent.
fn record_main_agent_exposure(
    engine: &mut Engine,
    hook: &HookSession,
    shown: &[EntryId],
) -> Result<(), EngineError> {
    if hook.subagent.is_none() {
        return Ok(());
    }
    engine.record_exposures(&hook.as_main_agent().reader(), shown, ExposureChannel::Told)
}

/// Returns the entries not to offer again: shown in this session, before or during this run, or
/// assigned by the holdout.
fn already_shown(engine: &Engine, hook: &HookSession) -> Result<BTreeSet<EntryId>, EngineError> {
    let mut before = BTreeSet::new();
    if let Some(session) = &hook.session {
        let sight = runs::session_exposure(engine, session)?;
        before.extend(sight.into_iter().flat_map(|it| it.entries));
    }
    // Offers include the withheld arm: offering a withheld entry again would end its holdout.
    let reader = hook.reader();
    let Some(run) = engine.open_run_for(&reader)? else {
        return Ok(before);
    };
    let mut own = |name: &Actor| {
        let Some(agent) = run.agents.get(name) else {
            return;
        };
        before.extend(agent.shown.keys().chain(&agent.told).chain(&agent.added));
        before.extend(agent.offers.keys());
    };
    own(&reader.agent);
    Ok(before)
}

/// Returns the session's run if it is open and can take another agent.
fn run_with_capacity(engine: &Engine, hook: &HookSession) -> Result<Option<Run>, EngineError> {
    let run = engine.open_run_for(&hook.reader())?;
    Ok(run.filter(|it| it.agents.len() < AGENTS_MAX))
}
