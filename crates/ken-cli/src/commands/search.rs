//! `ken search`: the few entries that answer, and why they do.

use ken_core::score::{Explained, Withheld};
use ken_engine::search::{Answer, Hit, Search};
use serde::Serialize;

use super::Session;
use crate::args::SearchArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::entry_json::EntryObject;
use crate::print::hits::{NOTHING_FOUND, explanation, hit_text};
use crate::print::progress::Progress;

/// The answer as programs read it.
#[derive(Serialize)]
struct AnswerObject<'a> {
    schema: &'static str,
    query: &'a str,
    served_by: &'static str,
    results: Vec<HitObject<'a>>,
    withheld: Vec<WithheldObject>,
}

#[derive(Serialize)]
struct HitObject<'a> {
    id: String,
    score: f64,
    relevance: f64,
    cosine: f64,
    coverage: f64,
    confidence: f64,
    /// Every summand of the score.
    signals: &'a Explained,
    entry: EntryObject,
}

#[derive(Serialize)]
struct WithheldObject {
    id: String,
    why: Withheld,
}

pub(super) fn run(session: &mut Session<'_>, args: SearchArgs) -> Result<Exit, Failure> {
    let search = Search {
        query: args.query.join(" "),
        filter: args.which.to_filter(),
        role: args.role.map(|asker| asker.role()),
        thread: args.thread,
        run: (!args.mean).then_some(args.run),
        floor: args.threshold,
        limit: args.limit,
    };
    let progress = Progress::start(session.printer, "reading entries", None);
    let (answer, today) = session.read(|engine| {
        let today = engine.now().date();
        let answer = progress.during(|| engine.search(&search, &mut |_, _| {}))?;
        Ok((answer, today))
    })?;
    if session.is_json() {
        session.printer.json(&object(&search.query, &answer))?;
        return Ok(Exit::Fine);
    }
    if answer.hits.is_empty() {
        session.printer.line(NOTHING_FOUND)?;
    }
    let width = session.printer.width();
    for hit in &answer.hits {
        session.printer.text(hit_text(hit, today, width))?;
        if args.explain {
            session.printer.text(explanation(hit))?;
        }
    }
    tell(session, &answer, args.explain)?;
    Ok(Exit::Fine)
}

/// Says what the list does not show.
fn tell(session: &mut Session<'_>, answer: &Answer, explain: bool) -> Result<(), Failure> {
    if explain {
        for (id, why) in &answer.withheld {
            let why = crate::print::entry_text::word(why);
            session
                .printer
                .talk(format_args!("withheld: {id}, {why}"))?;
        }
    } else if !answer.withheld.is_empty() {
        let count = counted(answer.withheld.len() as u64, "entry", "entries");
        session
            .printer
            .hint(format_args!("{count} withheld; `--explain` says why"))?;
    }
    if let Some(hit) = answer.hits.first() {
        let id = hit.entry.id;
        session
            .printer
            .hint(format_args!("`ken show {id}` shows all of it"))?;
    }
    Ok(())
}

fn object<'a>(query: &'a str, answer: &'a Answer) -> AnswerObject<'a> {
    let hit = |hit: &'a Hit| HitObject {
        id: hit.entry.id.to_string(),
        score: hit.explained.score,
        relevance: hit.relevance,
        cosine: hit.cosine,
        coverage: hit.coverage,
        confidence: hit.facts.posterior.mean(),
        signals: &hit.explained,
        entry: EntryObject::new(&hit.entry),
    };
    let withheld = answer.withheld.iter().map(|(id, why)| WithheldObject {
        id: id.to_string(),
        why: *why,
    });
    AnswerObject {
        schema: "ken.search.v1",
        query,
        served_by: answer.served_by.name(),
        results: answer.hits.iter().map(hit).collect(),
        withheld: withheld.collect(),
    }
}
