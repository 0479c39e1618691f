//! The answers of the tools, in the same words as those of a repository.

use ken_core::answer::{Floor, Search};
use ken_core::event::Feedback;
use ken_core::kind::Prefix;
use ken_core::object::{AnswerObject, EntryObject, EventObject};
use ken_core::store::Filter;
use ken_core::surface::{Page, Tier};
use ken_mcp::Reply;
use ken_mcp::ask::{BriefAsk, CheckAsk, Detail, FeedbackAsk, Format, GetAsk, RecordAsk, SearchAsk};
use ken_mcp::words::{self, FeedbackObject};

use super::{Call, json};
use crate::service::raw::{self, Raw};
use crate::service::{self, Briefing, Failure, Portion, Question, Recorded, Recording, served_by};

/// What an entry's URI begins with.
const ENTRY: &str = "ken://entry/";

/// Tokens of an answer with all of each entry; beyond, they become lines.
const FULL_TOKENS: usize = 4_000;

/// Entries the list has at most; what is beyond is found by searching.
const INDEX_MAX: u32 = 200;

/// Entries about the places in hand that are told.
const KNOWN_MAX: usize = 10;

/// What is said behind what applies.
const NO_CODE: &str =
    "A hub has no code: what a change invalidates is for `ken verify` in the repository.\n";

pub(super) async fn search(call: &mut Call, ask: SearchAsk) -> Result<Reply, Failure> {
    let (tier, budget) = match ask.detail {
        Detail::Concise => (Tier::Summary, usize::MAX),
        Detail::Full => (Tier::Full, FULL_TOKENS),
    };
    let reader = call.reader.clone();
    let question = Question {
        search: Search {
            query: ask.query,
            filter: Filter {
                kinds: raw::several("kinds", &ask.kinds)?,
                tags: raw::several("tags", &ask.tags)?,
                ..Filter::default()
            },
            paths: ask.paths,
            run: Some(reader.run.clone().unwrap_or_default()),
            include_stale: ask.include_stale,
            ..Search::default()
        },
        portion: Portion {
            cap: ask.limit as usize,
            budget,
            tier: Some(tier),
            role: None,
        },
        reader,
    };
    let found = service::search(&mut call.desk, question).await?;
    Ok(match ask.format {
        Format::Json => json(&AnswerObject::new(found.told())),
        Format::Text => {
            let page = found.beside.behind(found.page);
            Reply::Text(words::found(&page, served_by(), &found.withheld))
        }
    })
}

pub(super) async fn get(call: &mut Call, ask: &GetAsk) -> Result<Reply, Failure> {
    let wanted = ask.id.trim();
    let wanted = wanted.strip_prefix(ENTRY).unwrap_or(wanted);
    let told = service::entry(&mut call.desk, &call.reader, wanted).await?;
    if !told.entry.quarantine.is_empty() {
        // Whoever asks here is an agent, whatever the token may see.
        return Err(Failure::SetApart(told.entry.id));
    }
    let history = match ask.history {
        true => Some(service::history(&mut call.desk, &call.reader, wanted).await?),
        false => None,
    };
    if ask.format == Format::Json {
        let mut object = EntryObject::new(&told.entry);
        object = object.with("validity", "unverifiable".into());
        if !told.conflicts.is_empty() {
            object = object.with("conflicts", serde_json::json!(told.conflicts));
        }
        if let Some(history) = &history {
            let events: Vec<EventObject> = history.iter().map(EventObject::new).collect();
            object = object.with("history", serde_json::json!(events));
        }
        return Ok(json(&object));
    }
    Ok(Reply::Text(words::entry(&words::Told {
        entry: &told.entry,
        validity: None,
        grounds: Vec::new(),
        conflicts: &told.conflicts,
        is_revoked: told.is_revoked,
        history: history.as_deref(),
        now: told.now,
    })))
}

pub(super) async fn record(call: &mut Call, ask: &RecordAsk) -> Result<Reply, Failure> {
    let raw = Raw {
        statement: &ask.statement,
        kind: &ask.kind,
        cites: &ask.cites,
        anchors: &ask.anchors,
        verify: &ask.verify,
        tags: &ask.tags,
    };
    let recording = Recording::parse(call.reader.clone(), &raw)?;
    let recorded = service::record(&mut call.desk, recording).await?;
    let told = match &recorded {
        Recorded::Entry(entry) => words::Recorded::Entry(entry),
        Recorded::Noted(seen) => words::Recorded::Noted(*seen),
    };
    Ok(match ask.format {
        Format::Json => json(&told.object()),
        Format::Text => Reply::Text(told.text(|_| service::SET_APART_WHERE.to_owned())),
    })
}

pub(super) async fn feedback(call: &mut Call, ask: &FeedbackAsk) -> Result<Reply, Failure> {
    let verdict = match ask.helpful {
        true => Feedback::Helpful,
        false => Feedback::Unhelpful,
    };
    let noted = service::feedback(&mut call.desk, &call.reader, &ask.id, verdict).await?;
    let told = FeedbackObject::new(noted.id, ask.helpful);
    Ok(match ask.format {
        Format::Json => json(&told),
        Format::Text => Reply::Text(told.text()),
    })
}

pub(super) async fn check(call: &mut Call, ask: CheckAsk) -> Result<Reply, Failure> {
    if !ask.base.trim().is_empty() {
        return Err(Failure::usage(
            "a hub has no code to compare: give `paths` without `base`, or ask `ken mcp` in the repository",
        ));
    }
    let norms = service::norms(&mut call.desk, &call.reader, &ask.paths).await?;
    let known = about(call, &ask.paths).await?;
    let applies = words::Applies {
        paths: &ask.paths,
        norms: &norms,
        known: &known,
        withheld: &[],
        change: Vec::new(),
        missing: "no paths",
    };
    Ok(match ask.format {
        Format::Json => json(&applies.object(words::Change::<()>::default())),
        Format::Text => Reply::Text(applies.text() + NO_CODE),
    })
}

/// Returns the entries about `paths`, norms left out.
async fn about(call: &mut Call, paths: &[String]) -> Result<Page, Failure> {
    let portion = Portion {
        cap: KNOWN_MAX,
        budget: usize::MAX,
        tier: Some(Tier::Summary),
        role: None,
    };
    if paths.is_empty() {
        return Ok(Page::empty());
    }
    let search = Search {
        query: paths.join(" ").replace('/', " "),
        paths: paths.to_vec(),
        run: Some(call.reader.run.clone().unwrap_or_default()),
        floor: Floor::Relevant,
        ..Search::default()
    };
    let keep = |hit: &ken_core::answer::Hit| hit.anchored && hit.entry.id.prefix() != Prefix::Norm;
    service::search_kept(&mut call.desk, &call.reader, &search, portion, keep).await
}

pub(super) async fn brief(call: &mut Call, ask: BriefAsk) -> Result<String, Failure> {
    if let Some(workspace) = &ask.workspace {
        let row = call.desk.place().await?;
        if *workspace != row.0 && *workspace != row.1 {
            let (what, wanted) = ("workspace here called", workspace.clone());
            return Err(Failure::NotFound { what, wanted });
        }
    }
    if ask.base.is_some() {
        return Err(Failure::usage(
            "a hub has no code to compare: leave `base` out, or ask `ken mcp` in the repository",
        ));
    }
    let briefing = Briefing {
        reader: call.reader.clone(),
        task: ask.task,
        paths: Vec::new(),
        role: ask.role,
    };
    let briefed = service::brief(&mut call.desk, briefing).await?;
    Ok(briefed.text())
}

pub(super) async fn index(call: &mut Call) -> Result<String, Failure> {
    let filter = Filter::default();
    let listing = service::list(&mut call.desk, &call.reader, &filter, None, INDEX_MAX).await?;
    let (name, _) = call.desk.place().await?;
    let newest = listing.next.map(|_| INDEX_MAX as usize);
    Ok(words::index(&name, &listing.entries, newest))
}
