//! `ken search`: the few entries that answer, and why they do.

use ken_core::id::EntryId;
use ken_core::score::Withheld;
use ken_core::surface::{self, BUDGET, LeftOut, NOTHING_FOUND, Page, Shown};
use ken_core::text::{visible, word};
use ken_core::time::{Date, Timestamp};
use ken_engine::search::{Answer, Missed, Portion, Search};
use serde::Serialize;

use super::{Session, hand};
use crate::args::SearchArgs;
use crate::asking::{Asker, Found, HEADING, Question};
use crate::failure::{Exit, Failure};
use crate::print::answer_json::answer_object;
use crate::print::counted;
use crate::print::hits::{explanation, hit_text};
use crate::print::progress::Progress;

/// Questions without a good answer.
#[derive(Serialize)]
struct UnansweredObject<'a> {
    schema: &'static str,
    questions: Vec<QuestionObject<'a>>,
}

#[derive(Serialize)]
struct QuestionObject<'a> {
    query: &'a str,
    times: u64,
    last: Timestamp,
    /// The entry that came first although it does not answer.
    top: Option<EntryId>,
}

pub(super) fn run(session: &mut Session<'_>, args: SearchArgs) -> Result<Exit, Failure> {
    if args.unanswered {
        return unanswered(session);
    }
    let role = args.role.map(|asker| asker.role());
    let portion = Portion {
        cap: args.limit,
        budget: args
            .budget
            .unwrap_or(if args.context { BUDGET } else { usize::MAX }),
        tier: args.tier.tier(),
        role,
    };
    let start = session.surroundings.start.clone();
    let progress = Progress::start(session.printer, "reading entries", None);
    let (reader, run) = (session.surroundings.reader(), session.surroundings.run());
    let run = run.unwrap_or_default().to_owned();
    let surroundings = session.surroundings.clone();
    let found = session.read(|engine| {
        let asked = hand::asked(engine, &start, &args.query, &args.hand)?;
        let search = Search {
            query: asked.text,
            paths: asked.paths,
            filter: args.which.to_filter(),
            role,
            thread: args.thread,
            run: (!args.mean).then_some(run),
            floor: args.threshold,
            include_stale: args.include_stale,
        };
        let question = Question {
            search,
            portion,
            is_in_words: args.hand.is_empty(),
        };
        let asker = Asker {
            surroundings: &surroundings,
            reader: reader.as_ref(),
        };
        progress.during(|it| asker.search(engine, question, &mut |at, all| it.come_to(at, all)))
    })?;
    session.tell_silent(&found.global)?;
    if session.is_json() {
        session.printer.json(&answer_object(&found))?;
    } else if args.context {
        let page = found.global.beside(found.page);
        let block = surface::context(&page, found.answer.served_by.name());
        session.printer.text(block)?;
    } else {
        list(session, &found, args.explain)?;
    }
    Ok(Exit::Fine)
}

/// Lists what nobody here knew.
fn unanswered(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let missed = session.read(|engine| Ok(engine.missed()?))?;
    if session.is_json() {
        let questions = missed.iter().map(|it| QuestionObject {
            query: &it.query,
            times: it.times,
            last: it.last,
            top: it.top,
        });
        session.printer.json(&UnansweredObject {
            schema: "ken.unanswered.v1",
            questions: questions.collect(),
        })?;
        return Ok(Exit::Fine);
    }
    for Missed {
        query, times, last, ..
    } in &missed
    {
        let day = last.date();
        let line = format_args!("{day}  {times:>3}×  {}", visible(query));
        session.printer.line(line)?;
    }
    match missed.is_empty() {
        true => session
            .printer
            .line("Every question so far had an answer.")?,
        false => session
            .printer
            .hint("`ken add` writes down what you found out instead")?,
    }
    Ok(Exit::Fine)
}

/// Prints what was found for people.
fn list(session: &mut Session<'_>, found: &Found, explain: bool) -> Result<(), Failure> {
    let Found {
        answer,
        page,
        global,
        today,
        ..
    } = found;
    if page.shown.is_empty() {
        session.printer.line(NOTHING_FOUND)?;
    }
    list_hits(session, (answer, page), *today, explain)?;
    if let Some(it) = &global.overlay {
        session.printer.line(HEADING)?;
        list_hits(session, (&it.answer, &it.page), *today, explain)?;
    }
    tell(session, answer, page, explain)
}

fn list_hits(
    session: &mut Session<'_>,
    (answer, page): (&Answer, &Page),
    today: Date,
    explain: bool,
) -> Result<(), Failure> {
    let width = session.printer.width();
    for hit in page.shown.iter().filter_map(|it| answer.hit(it.id)) {
        session.printer.text(hit_text(hit, today, width))?;
        if explain {
            session.printer.text(explanation(hit))?;
        }
    }
    Ok(())
}

/// Says what the list does not show.
fn tell(
    session: &mut Session<'_>,
    answer: &Answer,
    page: &Page,
    explain: bool,
) -> Result<(), Failure> {
    if explain {
        for LeftOut { id, why } in &page.left_out {
            let score = answer.hit(*id).map_or(0.0, |hit| hit.explained.score);
            let why = word(why);
            let said = format_args!("left out: {id}, score {score:.3}, {why}");
            session.printer.talk(said)?;
        }
        for (id, why) in &answer.withheld {
            let why = word(why);
            let said = format_args!("withheld: {id}, {why}");
            session.printer.talk(said)?;
        }
    } else if !answer.withheld.is_empty() {
        let stale =
            |(_, why): &&(EntryId, Withheld)| matches!(why, Withheld::Changed | Withheld::Broken);
        let stale = answer.withheld.iter().filter(stale).count();
        let count = counted(answer.withheld.len() as u64, "entry", "entries");
        let said = match stale {
            0 => format!("{count} withheld; `--explain` says why"),
            all if all == answer.withheld.len() => {
                format!("{count} withheld: the code changed; `--include-stale` shows")
            }
            some => {
                format!("{count} withheld, {some} because the code changed; `--explain` says why")
            }
        };
        session.printer.hint(said)?;
    }
    if let Some(Shown { id, .. }) = page.shown.first() {
        let said = format_args!("`ken show {id}` shows all of it");
        session.printer.hint(said)?;
    }
    Ok(())
}
