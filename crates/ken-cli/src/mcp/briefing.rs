//! The briefing and the list of entries, for MCP resources and prompts.

use ken_core::ledger::store::EntryFilter;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_engine::search::{ExtractedQuery, SearchQuery, SelectionLimits};
use ken_mcp::ask::BriefingArguments;
use ken_mcp::words;

use super::CallContext;
use crate::asking::QueryService;
use crate::failure::CommandFailure;

/// Maximum entries in the list; a search finds the others.
const INDEX_MAX: usize = 200;

pub(super) fn brief(
    context: &mut CallContext<'_>,
    arguments: &BriefingArguments,
) -> Result<String, CommandFailure> {
    if let Some(workspace) = &arguments.workspace {
        check_workspace(context, workspace)?;
    }
    let in_hand = match &arguments.base {
        Some(base) => {
            super::check_revision(base)?;
            context.engine.query_from_diff(base)?
        }
        None => ExtractedQuery {
            paths: context.engine.changed_paths(),
            ..ExtractedQuery::default()
        },
    };
    let task = format!("{} {}", arguments.task, in_hand.text);
    let portion = SelectionLimits {
        role: arguments.role,
        ..SelectionLimits::default()
    };
    let search = SearchQuery::for_briefing(&task, in_hand.paths, arguments.role, context.run());
    let query = QueryService {
        surroundings: context.surroundings,
        reader: Some(context.reader),
    };
    let briefing = query.brief(context.engine, search, portion, &mut |_, _| ())?;
    Ok(briefing.text())
}

/// Returns an error unless a workspace is this one, by its project id or folder name.
fn check_workspace(context: &CallContext<'_>, workspace: &str) -> Result<(), CommandFailure> {
    let folder = context.engine.root().file_name();
    let is_folder = folder.is_some_and(|it| it == workspace);
    if is_folder || context.engine.project_id()?.as_str() == workspace {
        return Ok(());
    }
    let mut failure = CommandFailure::usage(format!("this is not workspace `{workspace}`"));
    failure.code = "no_workspace";
    Err(failure)
}

pub(super) fn index(context: &mut CallContext<'_>) -> Result<String, CommandFailure> {
    // One entry more than shown reveals whether the list is complete.
    let filter = EntryFilter {
        limit: Some(INDEX_MAX + 1),
        ..EntryFilter::default()
    };
    let filter = filter.without_raw();
    let mut entries = context.engine.list(&filter)?;
    let is_truncated = entries.len() > INDEX_MAX;
    entries.truncate(INDEX_MAX);
    // A title in a list is an exposure, too: the agent can no longer find the claim on its own.
    let ids: Vec<EntryId> = entries.iter().map(|it| it.id).collect();
    context
        .engine
        .record_exposures(context.reader, &ids, ExposureChannel::Pull)?;
    let project = context.engine.project_id()?;
    let newest = is_truncated.then_some(INDEX_MAX);
    Ok(words::index_text(project.as_str(), &entries, newest))
}
