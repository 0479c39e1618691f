//! Subagent hook: joins the subagent to the run and injects the briefing for its role.
//!
//! Reviewers get entries; other roles get instructions on when and how to search. Entries shown to
//! a subagent also count as exposures of the main agent that started it.

use ken_core::ledger::entry::Entry;
use ken_core::retrieval::agent_texts;
use ken_core::retrieval::score::ReaderRole;
use ken_core::retrieval::surface::{self, ENTRIES_MAX};
use ken_core::trust::run::{RunMember, RunNote};
use ken_core::values::text::Tag;
use serde::Deserialize;

use super::HookSession;
use super::start::branch_words;
use crate::config::{RepositoryConfig, SurfacingSection};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::search::{RelevanceFloor, SearchQuery, SelectionLimits};
use crate::validity::WorkTree;
use crate::{git, hooks};

/// Token budget of the entries injected for a reviewer.
const PUSHED_TOKENS: usize = surface::TOKEN_BUDGET;

/// Review lenses. A reviewer with a lens does not get entries filed under another lens.
const LENSES: [&str; 8] = [
    "security",
    "correctness",
    "performance",
    "maintainability",
    "reliability",
    "accessibility",
    "architecture",
    "testing",
];

/// Prefixes of words in an agent kind and the role they imply. The first match decides.
const ROLE_PREFIXES: [(&str, ReaderRole); 19] = [
    ("review", ReaderRole::Reviewer),
    ("audit", ReaderRole::Reviewer),
    ("critic", ReaderRole::Reviewer),
    ("lint", ReaderRole::Reviewer),
    ("research", ReaderRole::Researcher),
    ("explor", ReaderRole::Researcher),
    ("scout", ReaderRole::Researcher),
    ("debug", ReaderRole::Debugger),
    ("troubleshoot", ReaderRole::Debugger),
    ("diagnos", ReaderRole::Debugger),
    ("investigat", ReaderRole::Debugger),
    ("plan", ReaderRole::Planner),
    ("architect", ReaderRole::Planner),
    ("design", ReaderRole::Planner),
    ("execut", ReaderRole::Executor),
    ("implement", ReaderRole::Executor),
    ("cod", ReaderRole::Executor),
    ("develop", ReaderRole::Executor),
    ("worker", ReaderRole::Executor),
];

/// Method by which a role receives knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurfacingMode {
    /// Relevant entries are injected.
    Push,
    /// The agent may search.
    Pull,
    /// The agent must search before it starts.
    MandatoryPull,
    /// The agent searches when it deviates from its plan.
    OnDeviation,
}

/// Adds a subagent to the run of the main agent and returns the briefing for its role.
pub(crate) fn handle_subagent_hook(
    engine: &mut Engine,
    hook: &HookSession,
) -> Result<Option<String>, EngineError> {
    let Some(subagent) = &hook.subagent else {
        return Ok(None);
    };
    let role = infer_role(&subagent.kind);
    let run = hooks::run_with_capacity(engine, hook)?;
    let is_new = |it: &ken_core::trust::run::Run| !it.agents.contains_key(&hook.actor());
    // A second join would count as undeclared, because the agent already acted in the run.
    if let Some(run) = run.filter(is_new) {
        let joined = RunNote::Joined {
            agent: hook.actor(),
            member: RunMember {
                role: role.and_then(|it| it.name().parse().ok()),
                lens: infer_lens(&subagent.kind),
                session: hook.session.clone(),
                // The main agent's prompt may repeat any entry that it was shown.
                told_by: [hook.agent.clone()].into(),
                declared: true,
            },
        };
        engine.record_note(&run.id, joined, &hook.agent)?;
    }
    if !hook.accepts_context {
        return Ok(None);
    }
    match configured_mode(engine, role)? {
        SurfacingMode::Push => push_to_subagent(engine, hook, role),
        SurfacingMode::Pull => Ok(Some(instructions(agent_texts::PULL, role))),
        SurfacingMode::MandatoryPull => Ok(Some(instructions(agent_texts::MANDATORY_PULL, role))),
        SurfacingMode::OnDeviation => Ok(Some(instructions(agent_texts::ON_DEVIATION, role))),
    }
}

/// Returns whether entries are injected for the acting agent. The main agent gets them.
pub(super) fn gets_entries(engine: &Engine, hook: &HookSession) -> Result<bool, EngineError> {
    let Some(subagent) = &hook.subagent else {
        return Ok(true);
    };
    let mode = configured_mode(engine, infer_role(&subagent.kind))?;
    Ok(mode == SurfacingMode::Push)
}

/// Returns the hint to search for a subagent that gets no entries.
pub(super) fn match_hint(hook: &HookSession) -> String {
    let kind = hook.subagent.as_ref().map(|it| it.kind.as_str());
    let role = kind.and_then(infer_role).map(ReaderRole::name);
    agent_texts::fill_placeholders(agent_texts::MATCH_HINT, role)
}

/// Injects entries relevant to the subagent's kind, its task and the files being changed.
fn push_to_subagent(
    engine: &mut Engine,
    hook: &HookSession,
    role: Option<ReaderRole>,
) -> Result<Option<String>, EngineError> {
    let subagent = hook.subagent.clone().unwrap_or_default();
    let mut words = split_kind_words(&subagent.kind);
    words.push(subagent.task);
    let paths = git::changed_tracked_files(&engine.place).unwrap_or_default();
    words.extend(branch_words(git::current_branch(&engine.place).as_deref()));
    let search = SearchQuery {
        query: words.join(" "),
        paths,
        role,
        run: hook.run_id(),
        floor: RelevanceFloor::Strict,
        ..SearchQuery::default()
    };
    let portion = SelectionLimits {
        cap: ENTRIES_MAX,
        budget: PUSHED_TOKENS,
        tier: None,
        role,
    };
    // Entries filed under the subagent's own lens or under none.
    let lens = hook.subagent.as_ref().and_then(|it| infer_lens(&it.kind));
    let is_ours = |entry: &Entry| {
        let filed = entry.content.as_ref().and_then(|it| it.lens.as_ref());
        lens.is_none() || filed.is_none() || filed == lens.as_ref()
    };
    let (page, served_by) = hooks::search_and_deliver(engine, hook, &search, portion, &is_ours)?;
    let block = surface::render_context_block(&page, served_by);
    let against = if page.shown.is_empty() {
        ""
    } else {
        agent_texts::CONFLICT_ADVICE
    };
    Ok(Some(format!(
        "{block}{against}{}",
        instructions(agent_texts::SEARCH_MORE, role)
    )))
}

/// Returns the instructions for a role.
fn instructions(text: &str, role: Option<ReaderRole>) -> String {
    agent_texts::subagent_instructions(text, role.map(ReaderRole::name))
}

/// Returns the surfacing mode of a role in this repository.
fn configured_mode(
    engine: &Engine,
    role: Option<ReaderRole>,
) -> Result<SurfacingMode, EngineError> {
    let own = RepositoryConfig::load_or_default(&WorkTree::new(&engine.place)?).surfacing;
    Ok(surfacing_mode(role, own))
}

/// Returns the configured surfacing mode of a role, or its default.
fn surfacing_mode(role: Option<ReaderRole>, own: SurfacingSection) -> SurfacingMode {
    let (own, usual) = match role {
        Some(ReaderRole::Reviewer) => (own.reviewer, SurfacingMode::Push),
        Some(ReaderRole::Researcher) => (own.researcher, SurfacingMode::MandatoryPull),
        Some(ReaderRole::Planner) => (own.planner, SurfacingMode::Pull),
        Some(ReaderRole::Debugger) => (own.debugger, SurfacingMode::Pull),
        Some(ReaderRole::Executor) => (own.executor, SurfacingMode::OnDeviation),
        None => (own.other, SurfacingMode::Pull),
    };
    own.unwrap_or(usual)
}

/// Infers a role from an agent kind.
fn infer_role(kind: &str) -> Option<ReaderRole> {
    let words = split_kind_words(kind);
    let matching = ROLE_PREFIXES.iter().find(|(beginning, _)| {
        let mut words = words.iter();
        words.any(|it| it.starts_with(beginning))
    });
    matching.map(|(_, role)| *role)
}

/// Returns the review lens named in an agent kind.
fn infer_lens(kind: &str) -> Option<Tag> {
    let words = split_kind_words(kind);
    let lens = LENSES
        .iter()
        .find(|lens| words.iter().any(|it| it == *lens))?;
    lens.parse().ok()
}

/// Splits an agent kind such as `code-reviewer` or `SecurityAuditor` into lower-case words.
fn split_kind_words(kind: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in kind.chars() {
        // Both camel case and separators start a new word.
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words
                .last_mut()
                // `words` starts with one element and only grows inside the loop.
                .expect("there is one")
                .extend(c.to_lowercase());
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_from_the_kind_of_agent() {
        for (kind, role) in [
            ("code-reviewer", Some(ReaderRole::Reviewer)),
            ("SecurityAuditor", Some(ReaderRole::Reviewer)),
            ("gsd-phase-researcher", Some(ReaderRole::Researcher)),
            ("Explore", Some(ReaderRole::Researcher)),
            ("Plan", Some(ReaderRole::Planner)),
            ("debugger", Some(ReaderRole::Debugger)),
            ("gsd-executor", Some(ReaderRole::Executor)),
            ("general-purpose", None),
            ("", None),
        ] {
            assert_eq!(infer_role(kind), role, "{kind}");
        }
        assert_eq!(
            infer_lens("security-reviewer").unwrap().as_str(),
            "security"
        );
        assert_eq!(infer_lens("code-reviewer"), None);
    }

    #[test]
    fn every_role_comes_by_knowledge_in_its_own_way() {
        let usual = SurfacingSection::default();
        for (role, how) in [
            (Some(ReaderRole::Reviewer), SurfacingMode::Push),
            (Some(ReaderRole::Researcher), SurfacingMode::MandatoryPull),
            (Some(ReaderRole::Planner), SurfacingMode::Pull),
            (Some(ReaderRole::Debugger), SurfacingMode::Pull),
            (Some(ReaderRole::Executor), SurfacingMode::OnDeviation),
            (None, SurfacingMode::Pull),
        ] {
            assert_eq!(surfacing_mode(role, usual), how);
        }
        let own = SurfacingSection {
            executor: Some(SurfacingMode::Push),
            ..usual
        };
        assert_eq!(
            surfacing_mode(Some(ReaderRole::Executor), own),
            SurfacingMode::Push
        );
    }
}
