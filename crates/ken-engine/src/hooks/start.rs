//! Start hook: the briefing for a new, resumed or compacted session.
//!
//! `ken_core::retrieval::surface::budget_shares` divides the token budget among five parts: entries
//! about the current work, recent findings, norms, outcomes of earlier runs, and the session's own
//! findings from before its context was compacted.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::agent_texts;
use ken_core::retrieval::score::{self, ExplainedScore};
use ken_core::retrieval::surface::budget_shares::allocate_tokens;
use ken_core::retrieval::surface::{self, DetailTier, ENTRIES_MAX, EntrySelection};
use ken_core::trust::facts::EntryFacts;
use ken_core::trust::run::{Run, RunWitness};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{IdPrefix, Memory};
use ken_core::values::text::{Tag, escape_invisible};
use ken_index::{Backend, count_tokens};
use ken_ledger::Dir as _;
use serde::Deserialize;

use super::HookSession;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::health::report::{HEALTH_FILE, LEDGER_BYTES_ON_START_MAX};
use crate::search::{RelevanceFloor, SearchHit, SearchOutcome, SearchQuery, SelectionLimits};
use crate::usage::QueryKind;
use crate::{git, health, hooks, runs, validity};

/// Token budget of the whole start briefing.
pub const BRIEFING_TOKENS_MAX: usize = 1_500;

/// Maximum number of recent findings, selected from the newest entries.
const RECENT_FINDINGS_MAX: usize = 3;
const NEWEST_ENTRIES_SCANNED: usize = 20;

/// Maximum number of run outcomes, selected from the last events.
const RUNS_MAX: usize = 3;
const LAST_EVENTS: u32 = 500;

/// Maximum number of lines about the session's own findings.
const OWN_LINES_MAX: usize = 8;

/// Branches that do not name a thread of work, and branch words without information.
const TRUNKS: [&str; 6] = ["main", "master", "trunk", "develop", "dev", "head"];
const GENERIC_WORDS: [&str; 14] = [
    "feature", "feat", "fix", "bugfix", "hotfix", "chore", "wip", "release", "claude", "codex",
    "cursor", "copilot", "gemini", "agent",
];
/// Minimum length of an informative branch word.
const WORD_CHARS_MIN: usize = 3;

/// Reason why a session starts, as reported by the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// New session with an empty context.
    Fresh,
    /// Continued session with its context intact.
    Resumed,
    /// Continued session whose context was compacted.
    Compacted,
    /// The agent does not report the reason.
    Unknown,
}

/// Returns the witness of a session's exposures: its hooks, if they run from the beginning.
///
/// A continued session may have read anything while no hook was active. An open run keeps its
/// witness.
fn witness_for_start(hook: &HookSession, beginning: SessionStart) -> RunWitness {
    match beginning {
        SessionStart::Fresh => hook.witness,
        SessionStart::Resumed | SessionStart::Compacted | SessionStart::Unknown => {
            RunWitness::Nobody
        }
    }
}

/// Opens the session's run and returns the start briefing.
pub(crate) fn handle_start_hook(
    engine: &mut Engine,
    hook: &HookSession,
    beginning: SessionStart,
) -> Result<Option<String>, EngineError> {
    let branch = git::current_branch(&engine.place);
    let thread = branch_thread(branch.as_deref());
    let is_open = engine.open_run_for(&hook.reader())?.is_some();
    // A run that is already open cannot be new: the agent compacted its context.
    let was_compacted = is_open && hook.run.is_none() && beginning == SessionStart::Fresh;
    let beginning = if was_compacted {
        SessionStart::Compacted
    } else {
        beginning
    };
    let witness = witness_for_start(hook, beginning);
    let run = hooks::join_session_run(engine, hook, witness, thread.clone())?;
    if !hook.accepts_context {
        return Ok(None);
    }
    // After a compaction the handoff is gone from the context, so it is repeated.
    let repeats = beginning == SessionStart::Compacted;
    let handoff = runs::handoff::show_handoff(engine, hook.run_id().as_deref(), repeats)?;
    // An empty knowledge base gets no briefing, not even the instructions.
    if engine.index.list(&any_entry())?.is_empty() {
        return Ok(handoff);
    }
    let paths = match &engine.place.git {
        Some(_) => git::changed_tracked_files(&engine.place).unwrap_or_default(),
        None => Vec::new(),
    };
    let search = SearchQuery {
        query: branch_words(branch.as_deref()).join(" "),
        paths,
        thread,
        run: hook.run_id(),
        floor: RelevanceFloor::Strict,
        ..SearchQuery::default()
    };
    let start = StartContext {
        beginning,
        run: run.as_ref(),
        // The handoff counts: whole, and before entries that the agent can also search.
        tokens: BRIEFING_TOKENS_MAX.saturating_sub(handoff.as_deref().map_or(0, count_tokens)),
    };
    let briefing = build_start_briefing(engine, hook, &start, &search)?;
    // Agents cannot be asked before a compaction, only right after it.
    let run = run.filter(|_| beginning == SessionStart::Compacted);
    let request = run.and_then(|it| hooks::decisions::request_record(engine, hook, &it, None));
    let parts: String = [handoff, briefing, request].into_iter().flatten().collect();
    Ok((!parts.is_empty()).then_some(parts))
}

/// Circumstances of a start that its briefing depends on.
struct StartContext<'r> {
    beginning: SessionStart,
    run: Option<&'r Run>,
    /// Token budget of the briefing.
    tokens: usize,
}

/// Builds the briefing and records its exposures.
fn build_start_briefing(
    engine: &mut Engine,
    hook: &HookSession,
    start: &StartContext<'_>,
    search: &SearchQuery,
) -> Result<Option<String>, EngineError> {
    let beginning = start.beginning;
    let before = hooks::already_shown(engine, hook)?;
    let mut norms = engine.norms_for(&search.paths)?;
    // After a compaction the norms are gone from the context, so they are repeated.
    if beginning != SessionStart::Compacted {
        norms.shown.retain(|it| !before.contains(&it.id));
    }
    let known = search_current_work(engine, search, &before)?;
    let lately = recent_findings(engine, &before, &known)?;
    let ended = describe_run_outcomes(engine, search.thread.as_ref())?;
    let own_lines = start
        .run
        .map(|it| describe_own_findings(engine, it, hook))
        .transpose()?;
    let own = own_lines
        .filter(|_| beginning == SessionStart::Compacted)
        .unwrap_or_default();
    let frame = briefing_instructions(engine, &before, beginning);
    let mut parts = BriefingParts {
        // Unlimited at first: `divide_budget` measures the demand and then sets the budgets.
        known: unlimited_portion(ENTRIES_MAX, None),
        recent: unlimited_portion(RECENT_FINDINGS_MAX, Some(DetailTier::Summary)),
        norms,
        run_outcomes: ended,
        own,
    };
    let served_by = known.served_by.name();
    let is_new = beginning == SessionStart::Fresh || beginning == SessionStart::Unknown;
    let any = !known.hits.is_empty() || !lately.hits.is_empty() || parts.has_lines();
    if !any && !is_new {
        return Ok(None);
    }
    // The instructions come first in the budget: without them the entries are of little use.
    parts.divide_budget(
        &known,
        &lately,
        start
            .tokens
            .saturating_sub(count_tokens(&frame) + spike_tokens(&known) + spike_tokens(&lately)),
    );
    let (known_portion, mut lately_portion) = (parts.known, parts.recent);
    // Norms go with the first page only, so that their exposures are recorded once.
    let norms = std::mem::replace(&mut parts.norms, EntrySelection::empty());
    let known = hooks::deliver_page(
        engine,
        hook,
        Some(QueryKind::Brief),
        (norms.clone(), known),
        known_portion,
    )?;
    // The cap is that of the whole block, not of each part.
    lately_portion.cap = lately_portion.cap.min(ENTRIES_MAX - known.shown.len());
    let lately = if lately_portion.cap == 0 {
        EntrySelection::empty()
    } else {
        hooks::deliver_page(
            engine,
            hook,
            None,
            (EntrySelection::empty(), lately),
            lately_portion,
        )?
    };
    parts.norms = norms;
    let body = parts.body(&known, &lately);
    let spikes = surface::spike_rules(&known.followed_by(&lately));
    let block = if body.is_empty() {
        String::new()
    } else {
        surface::delimited_block(&body, served_by)
    };
    Ok(Some(format!("{block}{spikes}{frame}")))
}

/// Returns the tokens of the text that follows if one of the hits is an experiment.
fn spike_tokens(found: &SearchOutcome) -> usize {
    let mut hits = found.hits.iter();
    if hits.any(|hit| hit.entry.id.prefix() == IdPrefix::Spike) {
        count_tokens(agent_texts::SPIKE_RULES)
    } else {
        0
    }
}

/// Returns entries about the current work; empty if neither branch nor changed files name it.
fn search_current_work(
    engine: &mut Engine,
    search: &SearchQuery,
    before: &BTreeSet<EntryId>,
) -> Result<SearchOutcome, EngineError> {
    let mut known = if search.query.is_empty() && search.paths.is_empty() {
        SearchOutcome::empty(Backend::None)
    } else {
        hooks::search_without_waiting(engine, search)?
    };
    // Norms have a part of their own.
    known
        .hits
        .retain(|hit| hit.entry.id.prefix() != IdPrefix::Norm && !before.contains(&hit.entry.id));
    Ok(known)
}

/// Returns the newest entries from runs that may be shown unasked.
fn recent_findings(
    engine: &mut Engine,
    before: &BTreeSet<EntryId>,
    known: &SearchOutcome,
) -> Result<SearchOutcome, EngineError> {
    let newest = engine.index.list(&EntryFilter {
        memory: Some(Memory::Semantic),
        limit: Some(NEWEST_ENTRIES_SCANNED),
        ..EntryFilter::default()
    })?;
    let policy = engine.review_policy()?.rediscovery;
    let is_recent = |entry: &Entry| {
        let is_found = entry.created.as_ref().is_some_and(|it| it.run.is_some());
        let is_known = before.contains(&entry.id) || known.hit(entry.id).is_some();
        is_found && !is_known && policy.may_push(entry)
    };
    let newest: Vec<Entry> = newest.into_iter().filter(is_recent).collect();
    let validity = validity::anchoring::validity_of(engine, &newest)?;
    let workspace = engine.workspace()?;
    let mut lately = SearchOutcome::empty(Backend::None);
    for entry in newest {
        let checked = validity.get(&entry.id).copied();
        let mut facts = EntryFacts::from_entry(&entry, checked, engine.now());
        facts.revoked = workspace.is_revoked(&entry);
        // These entries bypass the search, so its filter must be applied here.
        if score::hidden_reason(&entry, &facts).is_none() {
            lately.hits.push(unscored_hit(entry, facts));
        }
    }
    lately.hits.truncate(RECENT_FINDINGS_MAX);
    Ok(lately)
}

/// Describes the outcomes of the last runs: on this thread, or on any if there is no thread.
fn describe_run_outcomes(
    engine: &Engine,
    thread: Option<&Tag>,
) -> Result<Vec<String>, EngineError> {
    let mut lines = Vec::new();
    for run in runs::recent_runs(engine, LAST_EVENTS)? {
        let closed = &run.closed;
        // A session that ended without an outcome teaches nothing, and "abandoned" would read
        // like a failure.
        if run.known_outcome().is_none() || thread.is_some() && closed.thread.as_ref() != thread {
            continue;
        }
        lines.push(agent_texts::run_outcome_line(&run));
    }
    lines.truncate(RUNS_MAX);
    Ok(lines)
}

/// Describes the entries and findings that this session recorded itself.
fn describe_own_findings(
    engine: &Engine,
    run: &Run,
    hook: &HookSession,
) -> Result<Vec<String>, EngineError> {
    let Some(agent) = run.agents.get(&hook.agent) else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    for id in &agent.added {
        if let Some(entry) = engine.index.entry(*id)? {
            let title = escape_invisible(&entry.title());
            lines.push(agent_texts::own_entry_line(*id, &title));
        }
    }
    // Newest first: the truncation below drops the oldest findings.
    for observed in agent.findings.iter().rev() {
        let statement = escape_invisible(observed.finding.statement.as_str());
        // One line per finding: a statement may contain line breaks.
        let words: Vec<&str> = statement.split_whitespace().collect();
        lines.push(agent_texts::own_finding_line(&words.join(" ")));
    }
    lines.truncate(OWN_LINES_MAX);
    Ok(lines)
}

/// Returns the text after the entries: how to search, and how many problems need a person.
fn briefing_instructions(
    engine: &mut Engine,
    before: &BTreeSet<EntryId>,
    beginning: SessionStart,
) -> String {
    // A resumed session still has the instructions in its context.
    if beginning == SessionStart::Resumed && !before.is_empty() {
        return String::new();
    }
    let mut frame = agent_texts::SEARCH_INSTRUCTIONS.to_owned();
    frame.push_str(agent_texts::CONFLICT_ADVICE);
    let urgent = count_urgent_insights(engine);
    if urgent > 0 {
        frame.push_str(&agent_texts::urgent_problems(urgent));
    }
    frame
}

/// Updates the health report and counts its insights that require action. The report of a large
/// ledger is the stored one: computing it here would delay the start of the session.
fn count_urgent_insights(engine: &mut Engine) -> usize {
    health::report::update_small_health_report(engine, LEDGER_BYTES_ON_START_MAX);
    let read = engine.ken.read(HEALTH_FILE).ok();
    let report = read.and_then(|it| serde_json::from_slice::<StoredHealthReport>(&it).ok());
    let insights = report.map(|it| it.insights).unwrap_or_default();
    let urgent = insights
        .iter()
        .filter(|it| it.severity == "action_required");
    urgent.count()
}

/// Fields of the stored health report that the briefing uses.
#[derive(Deserialize)]
struct StoredHealthReport {
    insights: Vec<StoredInsight>,
}

/// Severity of one insight.
#[derive(Deserialize)]
struct StoredInsight {
    severity: String,
}

/// Parts of the briefing and their token budgets.
struct BriefingParts {
    known: SelectionLimits,
    recent: SelectionLimits,
    norms: EntrySelection,
    run_outcomes: Vec<String>,
    own: Vec<String>,
}

impl BriefingParts {
    /// Returns true if there are norms, outcomes or own findings.
    fn has_lines(&self) -> bool {
        !(self.norms.shown.is_empty() && self.run_outcomes.is_empty() && self.own.is_empty())
    }

    /// Divides a budget of `room` tokens among the parts.
    fn divide_budget(&mut self, known: &SearchOutcome, lately: &SearchOutcome, room: usize) {
        let headings: usize = agent_texts::START_HEADINGS
            .iter()
            .map(|it| count_tokens(it))
            .sum();
        // The markers around the block count too; a placeholder body measures them.
        let marks = count_tokens(&surface::delimited_block("x", Backend::ALL[0].name()));
        let room = room.saturating_sub(headings + marks + SPARE_TOKENS);
        let lines = |lines: &[String]| lines.iter().map(|it| count_tokens(it)).sum::<usize>();
        let wanted = [
            known.page(self.known).tokens,
            lately.page(self.recent).tokens,
            self.norms.shown.iter().map(|it| it.tokens).sum(),
            lines(&self.run_outcomes),
            lines(&self.own),
        ];
        let [known, lately, norms, ended, own] = allocate_tokens(room, wanted);
        self.known.budget = known;
        self.recent.budget = lately;
        let mut left = norms;
        self.norms
            .shown
            .retain(|it| take_tokens(&mut left, it.tokens));
        let cut = |lines: &mut Vec<String>, mut left: usize| {
            lines.retain(|it| take_tokens(&mut left, count_tokens(it)));
        };
        cut(&mut self.run_outcomes, ended);
        cut(&mut self.own, own);
    }

    /// Joins the parts under their headings.
    fn body(&self, known: &EntrySelection, lately: &EntrySelection) -> String {
        let shown = |page: &EntrySelection| page.shown.iter().map(|it| it.text.as_str()).collect();
        let texts: [String; 5] = [
            shown(&self.norms),
            shown(known),
            shown(lately),
            self.run_outcomes.concat(),
            self.own.concat(),
        ];
        let mut body = String::new();
        for (heading, text) in agent_texts::START_HEADINGS.iter().zip(texts) {
            if !text.is_empty() {
                let _ = write!(body, "{heading}\n{text}");
            }
        }
        body
    }
}

/// Reserve for token counts: concatenated texts may have slightly more tokens than their sum.
const SPARE_TOKENS: usize = 20;

/// Takes `tokens` from the remaining budget. Returns false if they exceed it.
fn take_tokens(left: &mut usize, tokens: usize) -> bool {
    let fits = tokens <= *left;
    *left = if fits {
        *left - tokens
    } else {
        // The following lines are less important: a short one must not replace a longer one.
        0
    };
    fits
}

/// Returns a portion without a token limit, to measure the demand of a part.
fn unlimited_portion(cap: usize, tier: Option<DetailTier>) -> SelectionLimits {
    SelectionLimits {
        cap,
        budget: usize::MAX,
        tier,
        role: None,
    }
}

/// Returns a filter that matches any single entry.
fn any_entry() -> EntryFilter {
    EntryFilter {
        limit: Some(1),
        ..EntryFilter::default()
    }
}

/// Wraps an entry that was not found by a search.
fn unscored_hit(entry: Entry, facts: EntryFacts) -> SearchHit {
    SearchHit {
        entry,
        facts,
        relevance: 0.0,
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        named: false,
        conflicts: Vec::new(),
        explained: ExplainedScore {
            score: 0.0,
            parts: Vec::new(),
        },
    }
}

/// Returns the thread of work that a branch names. Trunk branches name none.
fn branch_thread(branch: Option<&str>) -> Option<Tag> {
    let branch = branch?.to_lowercase();
    (!TRUNKS.contains(&branch.as_str())).then(|| branch.parse().ok())?
}

/// Returns the informative words of a branch name.
pub(super) fn branch_words(branch: Option<&str>) -> Vec<String> {
    let Some(_) = branch_thread(branch) else {
        return Vec::new();
    };
    let branch = branch.unwrap_or_default().to_lowercase();
    let all_words = branch.split(|c: char| !c.is_alphanumeric());
    let words = all_words.filter(|word| {
        let is_telling = word.chars().any(char::is_alphabetic) && !GENERIC_WORDS.contains(word);
        is_telling && word.chars().count() >= WORD_CHARS_MIN
    });
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_says_what_is_in_hand() {
        for (branch, words) in [
            ("feature/auth-retry-123", &["auth", "retry"][..]),
            ("main", &[]),
            ("Fix/PAY-17-double_charge", &["pay", "double", "charge"]),
            ("wip", &[]),
        ] {
            assert_eq!(branch_words(Some(branch)), words, "{branch}");
        }
        assert_eq!(branch_thread(Some("fix/pay")).unwrap().as_str(), "fix/pay");
        assert_eq!(branch_thread(Some("master")), None);
        assert_eq!(branch_thread(None), None);
    }
}
