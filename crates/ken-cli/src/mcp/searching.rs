//! `ken_search`: the few entries that answer, a line each unless more is asked for.

use ken_core::kind::Kind;
use ken_core::store::Filter;
use ken_core::surface::Tier;
use ken_core::text::Tag;
use ken_engine::search::{Answer, Asked, Portion, Search, from_error};
use ken_mcp::ask::{Detail, Format, SearchAsk};
use ken_mcp::{Reply, words};

use super::Desk;
use crate::asking::{Asker, Found, Question};
use crate::failure::Failure;
use crate::print::answer_json::answer_object;

/// Lines from which on a query is taken for the output of something that failed.
const LOG_LINES: usize = 6;

/// Tokens of an answer with all of each entry; beyond, they become lines.
const FULL_TOKENS: usize = 4_000;

pub(super) fn search(desk: &mut Desk<'_>, ask: SearchAsk) -> Result<Reply, Failure> {
    let mut paths = desk.places(&ask.paths)?;
    let filter = filter(&ask)?;
    let asked = asked(ask.query);
    paths.extend(asked.paths);
    let (tier, budget) = match ask.detail {
        Detail::Concise => (Tier::Summary, usize::MAX),
        Detail::Full => (Tier::Full, FULL_TOKENS),
    };
    let question = Question {
        search: Search {
            query: asked.text,
            filter,
            run: Some(desk.run()),
            include_stale: ask.include_stale,
            paths,
            ..Search::default()
        },
        portion: Portion {
            cap: ask.limit as usize,
            budget,
            tier: Some(tier),
            role: None,
        },
        is_in_words: ask.paths.is_empty(),
    };
    let asker = Asker {
        surroundings: desk.surroundings,
        reader: Some(desk.reader),
    };
    let found = asker.search(desk.engine, question, &mut |_, _| ())?;
    match ask.format {
        Format::Text => Ok(Reply::Text(text(found))),
        Format::Json => super::json(&answer_object(&found)),
    }
}

/// Returns what a query asks about; nothing is added to an agent's own words.
fn asked(query: String) -> Asked {
    match query.lines().nth(LOG_LINES) {
        Some(_) => from_error(query.as_bytes()),
        None => Asked {
            text: query,
            paths: Vec::new(),
        },
    }
}

fn filter(ask: &SearchAsk) -> Result<Filter, Failure> {
    let kinds = ask.kinds.iter().map(|it| it.parse::<Kind>());
    let kinds = kinds.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let tags = ask.tags.iter().map(|it| it.parse::<Tag>());
    let tags = tags.collect::<Result<_, _>>().map_err(Failure::usage)?;
    Ok(Filter {
        kinds,
        tags,
        ..Filter::default()
    })
}

fn text(found: Found) -> String {
    let page = found.global.beside(found.page);
    let Answer {
        served_by,
        withheld,
        ..
    } = &found.answer;
    words::found(&page, served_by.name(), withheld)
}
