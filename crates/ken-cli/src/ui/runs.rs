//! Runs, briefings and impact.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::retrieval::score::ReaderRole;
use ken_core::trust::run::closed::PastRun;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::Engine;
use ken_engine::search::{SearchQuery, SelectionLimits};
use ken_ui::address::{BriefQuery, RunListQuery};
use ken_ui::view::{BriefView, ImpactView, RUNS_PER_PAGE, RunListView, RunSummaryRow, RunView};

use crate::asking::{BriefingResults, QueryService};
use crate::failure::CommandFailure;
use crate::world::Environment;

pub(super) fn runs(
    engine: &mut Engine,
    query: &RunListQuery,
) -> Result<RunListView, CommandFailure> {
    let wanted = |run: &PastRun| {
        query
            .outcome
            .as_ref()
            .is_none_or(|it| *it == run.outcome_label())
    };
    let mut ended = engine.past_runs()?;
    ended.retain(wanted);
    ended.reverse();
    let ended_total = ended.len() as u64;
    let open = if query.outcome.is_none() {
        engine.open_runs()?
    } else {
        Vec::new()
    };
    let skip = query.skip.unwrap_or_default() as usize;
    let page = ended.into_iter().skip(skip).take(RUNS_PER_PAGE as usize);
    let mut rows = Vec::new();
    for past in page {
        let notes = engine.ended_run(&past.closed.run)?;
        rows.push(RunSummaryRow::from_past(&past, notes.as_ref()));
    }
    Ok(RunListView {
        open: open.iter().map(RunSummaryRow::from_notes).collect(),
        ended: rows,
        ended_total,
    })
}

pub(super) fn run(engine: &mut Engine, id: &str) -> Result<RunView, CommandFailure> {
    let records = engine.run_records(id)?;
    let open = engine.open_runs()?.into_iter().find(|it| it.id == id);
    let past = engine
        .past_runs()?
        .into_iter()
        .rev()
        .find(|it| it.closed.run == id);
    let notes = match &open {
        Some(run) => Some(run.clone()),
        None => engine.ended_run(id)?,
    };
    let row = match (&open, &past) {
        (Some(run), _) => RunSummaryRow::from_notes(run),
        (None, Some(past)) => RunSummaryRow::from_past(past, notes.as_ref()),
        (None, None) => {
            let mut failure = CommandFailure::usage(format!("there is no run `{id}`"));
            failure.code = "not_found";
            return Err(failure.with_hint("`ken run list` lists runs"));
        }
    };
    let past = past.filter(|_| open.is_none());
    let effects = engine.run_effects(id)?;
    let mut ids: BTreeSet<EntryId> = effects.iter().map(|it| it.entry).collect();
    for agent in notes.iter().flat_map(|it| it.agents.values()) {
        ids.extend(agent.shown.keys().chain(agent.offers.keys()));
        ids.extend(
            agent
                .passed
                .iter()
                .chain(&agent.cites)
                .chain(&agent.used)
                .chain(&agent.added),
        );
    }
    let titles: BTreeMap<EntryId, String> = ids
        .into_iter()
        .filter_map(|id| Some((id, engine.entry(id).ok()?.title())))
        .collect();
    Ok(RunView {
        row,
        notes,
        records,
        past,
        effects,
        titles,
    })
}

pub(super) fn impact(engine: &mut Engine) -> Result<ImpactView, CommandFailure> {
    let report = engine.impact_report()?;
    let observed = engine.effect_report()?;
    let titles = observed.entries.keys();
    let titles = titles.filter_map(|id| Some((*id, engine.entry(*id).ok()?.title())));
    Ok(ImpactView {
        all: report.all,
        entries: report.entries,
        titles: titles.collect(),
        observed: (observed.observed > 0).then_some(observed),
    })
}

/// Returns the briefing that an agent would receive, without recording anything; `None` without a
/// task and a path.
pub(super) fn briefing(
    engine: &mut Engine,
    environment: &Environment,
    query: &BriefQuery,
) -> Result<Option<BriefingResults>, CommandFailure> {
    if query.task.is_empty() && query.path.is_empty() {
        return Ok(None);
    }
    let role = ReaderRole::from_name(&query.role);
    let paths: Vec<String> = query
        .path
        .split_whitespace()
        .map(ToOwned::to_owned)
        .collect();
    let search = SearchQuery::for_briefing(&query.task, paths, role, None);
    let portion = SelectionLimits {
        role,
        ..SelectionLimits::default()
    };
    let service = QueryService {
        surroundings: environment,
        reader: None,
    };
    let briefing = service.brief(engine, search, portion, &mut |_, _| ())?;
    Ok(Some(briefing))
}

pub(super) fn brief(
    engine: &mut Engine,
    environment: &Environment,
    query: &BriefQuery,
) -> Result<BriefView, CommandFailure> {
    let Some(briefing) = briefing(engine, environment, query)? else {
        return Ok(BriefView::default());
    };
    let titled =
        |engine: &Engine, id: EntryId| engine.entry(id).map(|it| it.title()).unwrap_or_default();
    let shown = briefing
        .known
        .shown
        .iter()
        .map(|it| (it.id, titled(engine, it.id)));
    let left_out = briefing
        .known
        .left_out
        .iter()
        .map(|it| (it.id, enum_label(&it.why)));
    Ok(BriefView {
        tokens: briefing.known.tokens,
        shown: shown.collect(),
        left_out: left_out.collect(),
        text: Some(briefing.text()),
    })
}
