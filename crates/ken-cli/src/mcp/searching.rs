//! `ken_search`: the best hits, one line each unless full detail is requested.

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::surface::DetailTier;
use ken_core::retrieval::unrecorded::render_unrecorded;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Tag;
use ken_engine::search::{ExtractedQuery, SearchOutcome, SearchQuery, SelectionLimits};
use ken_mcp::ask::{DetailLevel, ReplyFormat, SearchArguments};
use ken_mcp::{ToolReply, words};

use super::CallContext;
use crate::asking::{QueryResults, QueryService, SearchRequest, WeakHits};
use crate::failure::CommandFailure;
use crate::print::answer_json::answer_json;

/// Lines above which a query is treated as the output of a failed command.
const LOG_LINES: usize = 6;

/// Token budget of a reply with full detail; entries beyond it are shown as one line.
const FULL_TOKENS: usize = 4_000;

pub(super) fn search(
    context: &mut CallContext<'_>,
    arguments: SearchArguments,
) -> Result<ToolReply, CommandFailure> {
    if arguments.all_workspaces {
        return Err(CommandFailure::usage(
            "a repository has one workspace; leave out all_workspaces",
        ));
    }
    let mut paths = context.places(&arguments.paths)?;
    let filter = build_filter(&arguments)?;
    let parsed = parse_query(context, arguments.query)?;
    paths.extend(parsed.paths);
    let (tier, budget) = match arguments.detail {
        // One line per entry: the limit on entries already bounds the size.
        DetailLevel::Concise => (DetailTier::Summary, usize::MAX),
        DetailLevel::Full => (DetailTier::Full, FULL_TOKENS),
    };
    let request = SearchRequest {
        search: SearchQuery {
            query: parsed.text,
            filter,
            run: context.run(),
            include_stale: arguments.include_stale,
            paths,
            frames: parsed.frames,
            ..SearchQuery::default()
        },
        portion: SelectionLimits {
            cap: arguments.limit as usize,
            budget,
            tier: Some(tier),
            role: None,
        },
        is_in_words: arguments.paths.is_empty(),
        weak: WeakHits::Drop,
    };
    let query = QueryService {
        surroundings: context.surroundings,
        reader: Some(context.reader),
    };
    let results = query.search(context.engine, request, &mut |_, _| ())?;
    match arguments.format {
        ReplyFormat::Text => Ok(ToolReply::Text(render_text(results))),
        ReplyFormat::Json => super::json_reply(&answer_json(&results)),
    }
}

/// Parses a query. Nothing is added to an agent's own words.
fn parse_query(
    context: &mut CallContext<'_>,
    query: String,
) -> Result<ExtractedQuery, CommandFailure> {
    Ok(match query.lines().nth(LOG_LINES) {
        // A log or stack trace names files; they are extracted as paths.
        Some(_) => context.engine.query_from_log(query.as_bytes())?,
        None => ExtractedQuery {
            text: query,
            ..ExtractedQuery::default()
        },
    })
}

fn build_filter(arguments: &SearchArguments) -> Result<EntryFilter, CommandFailure> {
    let parsed_kinds = arguments.kinds.iter().map(|it| it.parse::<EntryKind>());
    let kinds = parsed_kinds
        .collect::<Result<_, _>>()
        .map_err(CommandFailure::usage)?;
    let parsed_tags = arguments.tags.iter().map(|it| it.parse::<Tag>());
    let tags = parsed_tags
        .collect::<Result<_, _>>()
        .map_err(CommandFailure::usage)?;
    Ok(EntryFilter {
        kinds,
        tags,
        ..EntryFilter::default()
    })
}

fn render_text(results: QueryResults) -> String {
    let page = results.global.beside(results.page);
    let SearchOutcome {
        served_by,
        withheld,
        ..
    } = &results.answer;
    words::search_text(&page, served_by.name(), withheld) + &render_unrecorded(&results.unrecorded)
}
