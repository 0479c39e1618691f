//! MCP tools of the hub. Their output has the same format as that of `ken mcp` in a repository.

use ken_core::json::{EntryJson, EventJson, SearchJson};
use ken_core::ledger::event::Feedback;
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{RelevanceFloor, SearchQuery};
use ken_core::retrieval::surface::{DetailTier, EntrySelection};
use ken_core::values::kind::IdPrefix;
use ken_mcp::ToolReply;
use ken_mcp::ask::{
    BriefingArguments, CheckArguments, CiteArguments, DetailLevel, EditArguments,
    FeedbackArguments, GetArguments, RecordArguments, ReplyFormat, SearchArguments,
};
use ken_mcp::words::{self, ChangeJson, FeedbackJson};

use super::{HubToolCall, json_reply};
use crate::api::everywhere_json;
use crate::service::parse::{self, RawClaimFields, RawEditFields};
use crate::service::{
    self, AddEntryRequest, BriefingRequest, EntryReader, EverywhereResult, HubSearchRequest,
    RecordOutcome, SelectionLimits, ServiceError, VerbOutcome, served_by,
};

/// Prefix of an entry's URI.
const ENTRY_URI_PREFIX: &str = "ken://entry/";

/// Token budget of a search with full entries. Beyond it, hits are shortened to one line.
const FULL_TOKENS: usize = 4_000;

/// Maximum number of entries in the index. Further ones are found by search.
const INDEX_MAX: u32 = 200;

/// Maximum number of entries that `check` returns about the given paths.
const CHECK_ENTRIES_MAX: usize = 10;

/// Note after the result of `check`.
const NO_CODE_NOTE: &str = "A hub has no code. Run `ken verify` in the repository to find entries that a change invalidates.\n";

/// Returns the search that a call asks for.
pub(super) fn search_request(
    ask: SearchArguments,
    reader: EntryReader,
) -> Result<HubSearchRequest, ServiceError> {
    let (tier, budget) = match ask.detail {
        // Summaries are short and their number is limited, so they need no budget.
        DetailLevel::Concise => (DetailTier::Summary, usize::MAX),
        DetailLevel::Full => (DetailTier::Full, FULL_TOKENS),
    };
    Ok(HubSearchRequest {
        search: SearchQuery {
            query: ask.query,
            filter: EntryFilter {
                kinds: parse::parse_list("kinds", &ask.kinds)?,
                tags: parse::parse_list("tags", &ask.tags)?,
                ..EntryFilter::default()
            },
            paths: ask.paths,
            run: reader.run.clone(),
            include_stale: ask.include_stale,
            ..SearchQuery::default()
        },
        portion: SelectionLimits {
            cap: ask.limit as usize,
            budget,
            tier: Some(tier),
            role: None,
        },
        reader,
    })
}

/// Renders the result of a search in several workspaces.
pub(super) fn everywhere_reply(
    found: &EverywhereResult,
    format: ReplyFormat,
    detail: DetailLevel,
) -> ToolReply {
    if format == ReplyFormat::Json {
        return ToolReply::Json(everywhere_json(found, detail == DetailLevel::Full));
    }
    let mut text = words::search_text(&found.page, served_by(), &found.withheld);
    let origins = found.page.ids().into_iter();
    let origins = origins.filter_map(|id| Some(format!("[{id}] {}", found.origins.get(&id)?)));
    let origins: Vec<String> = origins.collect();
    if !origins.is_empty() {
        text.push_str(&format!("workspaces: {}\n", origins.join(", ")));
    }
    if !found.skipped.is_empty() {
        let count = found.skipped.len();
        text.push_str(&format!("workspaces that were not searched: {count}\n"));
    }
    ToolReply::Text(text)
}

pub(super) async fn search(
    call: &mut HubToolCall,
    ask: SearchArguments,
) -> Result<ToolReply, ServiceError> {
    let (format, detail) = (ask.format, ask.detail);
    let query = search_request(ask, call.reader.clone())?;
    let found = service::search(&mut call.session, query).await?;
    Ok(match format {
        ReplyFormat::Json => {
            let reply = SearchJson::new(found.to_response());
            json_reply(&match detail {
                DetailLevel::Concise => reply.without_entries(),
                DetailLevel::Full => reply,
            })
        }
        ReplyFormat::Text => {
            let page = found.organization_hits.append_to(found.page);
            ToolReply::Text(words::search_text(&page, served_by(), &found.withheld))
        }
    })
}

pub(super) async fn get(
    call: &mut HubToolCall,
    ask: &GetArguments,
) -> Result<ToolReply, ServiceError> {
    // Agents copy the URI of a resource as well as the bare id.
    let reference = ask.id.trim();
    let wanted = reference
        .strip_prefix(ENTRY_URI_PREFIX)
        .unwrap_or(reference);
    let found = service::show_entry(&mut call.session, &call.reader, wanted).await?;
    if !found.entry.quarantine.is_empty() {
        // An MCP client is an agent, and agents must not read quarantined text, even with the
        // token of a curator.
        return Err(ServiceError::Quarantined(found.entry.id));
    }
    let history = if ask.history {
        let events = service::history(&mut call.session, &call.reader, wanted).await?;
        Some(events.into_iter().map(|it| it.event).collect::<Vec<_>>())
    } else {
        None
    };
    if ask.format == ReplyFormat::Json {
        let mut object = EntryJson::new(&found.entry);
        object = object.with("validity", "unverifiable".into());
        if !found.conflicts.is_empty() {
            object = object.with("conflicts", serde_json::json!(found.conflicts));
        }
        if !found.relationships.is_empty() {
            object = object.with("relationships", serde_json::json!(found.relationships));
        }
        if let Some(history) = &history {
            let events: Vec<EventJson> = history.iter().map(EventJson::new).collect();
            object = object.with("history", serde_json::json!(events));
        }
        return Ok(json_reply(&object));
    }
    Ok(ToolReply::Text(words::entry_text(&words::EntryDetails {
        entry: &found.entry,
        validity: None,
        grounds: Vec::new(),
        conflicts: &found.conflicts,
        relationships: &found.relationships,
        is_revoked: found.is_revoked,
        history: history.as_deref(),
        now: found.now,
    })))
}

pub(super) async fn record(
    call: &mut HubToolCall,
    ask: &RecordArguments,
) -> Result<ToolReply, ServiceError> {
    // Superseding decides which rule is in force; at a hub an agent's token does not decide.
    if !ask.supersedes.is_empty() {
        let what = "superseding an entry";
        return Err(ServiceError::PersonNeeded { what });
    }
    let raw = RawClaimFields {
        statement: &ask.statement,
        kind: &ask.kind,
        cites: &ask.cites,
        anchors: &ask.anchors,
        verify: &ask.verify,
        tags: &ask.tags,
    };
    let recording = AddEntryRequest::parse(call.reader.clone(), &raw)?;
    let recorded = service::add_entry(&mut call.session, recording).await?;
    let view = match &recorded {
        RecordOutcome::Entry(entry) => words::RecordReply::Entry(entry),
        RecordOutcome::Noted(seen) => words::RecordReply::Noted(*seen),
    };
    Ok(match ask.format {
        ReplyFormat::Json => json_reply(&view.object()),
        ReplyFormat::Text => {
            ToolReply::Text(view.text(|_| service::ENTRY_QUARANTINE_HINT.to_owned()))
        }
    })
}

pub(super) async fn feedback(
    call: &mut HubToolCall,
    ask: &FeedbackArguments,
) -> Result<ToolReply, ServiceError> {
    let verdict = if ask.helpful {
        Feedback::Helpful
    } else {
        Feedback::Unhelpful
    };
    let noted = service::give_feedback(&mut call.session, &call.reader, &ask.id, verdict).await?;
    let view = FeedbackJson::new(noted.id, ask.helpful);
    Ok(match ask.format {
        ReplyFormat::Json => json_reply(&view),
        ReplyFormat::Text => ToolReply::Text(view.text()),
    })
}

pub(super) async fn edit(
    call: &mut HubToolCall,
    ask: &EditArguments,
) -> Result<ToolReply, ServiceError> {
    // Models send empty texts and lists for fields they do not mean.
    let text = |it: &'_ str| {
        Some(it.trim())
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
    };
    let (statement, note) = (text(&ask.statement), text(&ask.note));
    let edit = parse::parse_edit(&RawEditFields {
        statement: statement.as_deref(),
        anchors: Some(&*ask.anchors).filter(|it| !it.is_empty()),
        verify: Some(&*ask.verify).filter(|it| !it.is_empty()),
        tags: &ask.tags,
        untag: &ask.untag,
        note: note.as_deref(),
        ..RawEditFields::default()
    })?;
    let by = call.reader.agent.clone();
    let changed = service::edit_entry(&mut call.session, &ask.id, edit, &by).await?;
    Ok(change_reply(&changed, ask.format))
}

pub(super) async fn cite(
    call: &mut HubToolCall,
    ask: &CiteArguments,
) -> Result<ToolReply, ServiceError> {
    let cites = parse::parse_list("cites", &ask.cites)?;
    let by = call.reader.agent.clone();
    let changed = service::cite_entry(&mut call.session, &ask.id, cites, &by).await?;
    Ok(change_reply(&changed, ask.format))
}

fn change_reply(changed: &VerbOutcome, format: ReplyFormat) -> ToolReply {
    let id = changed.entries.first().expect("a change is about an entry");
    let view = ChangeJson::new(*id, changed.waits_for());
    match format {
        ReplyFormat::Json => json_reply(&view),
        ReplyFormat::Text => ToolReply::Text(view.text()),
    }
}

pub(super) async fn check(
    call: &mut HubToolCall,
    ask: CheckArguments,
) -> Result<ToolReply, ServiceError> {
    if !ask.base.trim().is_empty() {
        return Err(ServiceError::invalid_request(
            "a hub has no code to compare: send `paths` without `base`, or use `ken mcp` in the repository",
        ));
    }
    let norms = service::show_norms(&mut call.session, &call.reader, &ask.paths).await?;
    let known = entries_about(call, &ask.paths).await?;
    let applies = words::ApplicableKnowledge {
        paths: &ask.paths,
        norms: &norms,
        known: &known,
        withheld: &[],
        change: Vec::new(),
        missing: "no paths given",
    };
    Ok(match ask.format {
        ReplyFormat::Json => json_reply(&applies.object(words::ChangeEffects::<()>::default())),
        ReplyFormat::Text => ToolReply::Text(applies.text() + NO_CODE_NOTE),
    })
}

/// Finds the entries anchored to `paths`, without norms, which `check` lists separately.
async fn entries_about(
    call: &mut HubToolCall,
    paths: &[String],
) -> Result<EntrySelection, ServiceError> {
    let portion = SelectionLimits {
        cap: CHECK_ENTRIES_MAX,
        budget: usize::MAX,
        tier: Some(DetailTier::Summary),
        role: None,
    };
    if paths.is_empty() {
        return Ok(EntrySelection::empty());
    }
    let search = SearchQuery {
        // The words of the paths also rank entries whose statements mention them.
        query: paths.join(" ").replace('/', " "),
        paths: paths.to_vec(),
        run: call.reader.run.clone(),
        floor: RelevanceFloor::Relevant,
        ..SearchQuery::default()
    };
    let keep = |hit: &ken_core::retrieval::ranking::SearchHit| {
        hit.anchored && hit.entry.id.prefix() != IdPrefix::Norm
    };
    service::search_filtered(&mut call.session, &call.reader, &search, portion, keep).await
}

pub(super) async fn brief(
    call: &mut HubToolCall,
    ask: BriefingArguments,
) -> Result<String, ServiceError> {
    // The request context already names the workspace. A different name in the prompt is a mistake
    // of the client, which a briefing from the wrong workspace would hide.
    if let Some(workspace) = &ask.workspace {
        let (name, id) = call.session.workspace_label().await?;
        if *workspace != name && *workspace != id {
            let (what, wanted) = ("workspace", workspace.clone());
            return Err(ServiceError::NotFound { what, wanted });
        }
    }
    if ask.base.is_some() {
        return Err(ServiceError::invalid_request(
            "a hub has no code to compare: omit `base`, or use `ken mcp` in the repository",
        ));
    }
    let briefing = BriefingRequest {
        reader: call.reader.clone(),
        task: ask.task,
        paths: Vec::new(),
        role: ask.role,
    };
    let briefed = service::brief(&mut call.session, briefing).await?;
    Ok(briefed.text())
}

pub(super) async fn index(call: &mut HubToolCall) -> Result<String, ServiceError> {
    let filter = EntryFilter::default().without_raw();
    let listing =
        service::list_entries(&mut call.session, &call.reader, &filter, None, INDEX_MAX).await?;
    let (name, _) = call.session.workspace_label().await?;
    // Set if the list was cut, so that the text says that it shows only the newest entries.
    let newest = listing.next.map(|_| INDEX_MAX as usize);
    Ok(words::index_text(&name, &listing.entries, newest))
}
