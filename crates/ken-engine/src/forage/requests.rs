//! Gaps that the forager can look into: searches with a weak answer first, then the signals of the
//! health report.

use ken_core::health::{FORAGE_SIGNALS_MAX, evaluate_rules};
use ken_core::ledger::event::ForageMode;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;

use super::{ForageOutcome, ForageQuestion, ForageReport, ForageSetup, PASSAGES_DEFAULT, state};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of searches without an answer among the requests.
const SEARCHES_MAX: usize = 5;
/// Maximum number of questions that maintenance asks at once.
const UNASKED_QUESTIONS_MAX: usize = 3;
/// Days before maintenance asks a question again.
const RETRY_DAYS: u32 = 30;
/// Maximum number of questions that are remembered.
const TRIED_MAX: usize = 500;

/// A gap as a question for the forager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForageRequest {
    pub question: String,
    /// `reactive` for a search, `proactive` for a signal.
    pub mode: ForageMode,
}

/// Result of foraging unasked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnaskedOutcome {
    /// Number of questions that were looked into.
    pub(crate) asked: usize,
    pub(crate) entries: Vec<EntryId>,
}

/// Returns the gaps to look into, reactive ones first: they were asked.
pub(crate) fn forage_requests(engine: &mut Engine) -> Result<Vec<ForageRequest>, EngineError> {
    let searches = engine.unanswered_queries()?.into_iter();
    let reactive = searches.take(SEARCHES_MAX).map(|it| ForageRequest {
        question: it.query,
        mode: ForageMode::Reactive,
    });
    let mut requests: Vec<ForageRequest> = reactive.collect();
    let insights = evaluate_rules(&engine.health_facts()?);
    let signals = insights.into_iter().filter_map(|it| it.forage_signal);
    for signal in signals.take(FORAGE_SIGNALS_MAX) {
        if !requests.iter().any(|it| it.question == signal.question) {
            requests.push(ForageRequest {
                question: signal.question,
                mode: ForageMode::Proactive,
            });
        }
    }
    Ok(requests)
}

/// Looks into gaps within the budgets, and proposes at most `entries_max` entries. A question that
/// was looked into recently is skipped.
pub(crate) fn forage_unasked(
    engine: &mut Engine,
    setup: &ForageSetup,
    entries_max: u32,
    by: &Actor,
) -> Result<UnaskedOutcome, EngineError> {
    let today = engine.now().date();
    let mut done = UnaskedOutcome::default();
    for request in forage_requests(engine)? {
        let added = u32::try_from(done.entries.len()).unwrap_or(u32::MAX);
        let left = entries_max.saturating_sub(added);
        if done.asked == UNASKED_QUESTIONS_MAX || left == 0 {
            break;
        }
        // Only a hash is kept: the question may quote what was retracted since.
        let key = blake3::hash(request.question.as_bytes()).to_hex()[..16].to_owned();
        let mut state = state::load(engine)?;
        state
            .tried
            .retain(|_, day| today.days_since(*day) < RETRY_DAYS);
        if state.tried.contains_key(&key) || state.tried.len() >= TRIED_MAX {
            continue;
        }
        state.tried.insert(key, today);
        // Stored before anything is read, so that a question that fails is not asked every day.
        state::store(engine, &state)?;
        let question = ForageQuestion {
            text: request.question,
            packages: Vec::new(),
            mode: request.mode,
            limit: PASSAGES_DEFAULT,
        };
        let mut bounded = setup.clone();
        let budget = &mut bounded.config.budget;
        budget.entries_per_run = budget.entries_per_run.min(left);
        let report: ForageReport = engine.find_passages(&bounded, &question)?;
        let outcome: ForageOutcome = engine.admit_passages(&bounded, &question, &report, by)?;
        done.asked += 1;
        done.entries.extend(outcome.entries);
        if outcome.limit.is_some() {
            break;
        }
    }
    Ok(done)
}
