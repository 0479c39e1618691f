//! `ken brief`: what to know before work begins, for an agent to read.

use ken_core::surface::Shown;
use ken_engine::search::{Portion, Search};
use serde::Serialize;

use super::{Session, hand};
use crate::args::BriefArgs;
use crate::asking::Asker;
use crate::failure::{Exit, Failure};
use crate::print::progress::Progress;

/// The briefing as programs read it.
#[derive(Serialize)]
struct BriefObject<'a> {
    schema: &'static str,
    served_by: &'static str,
    norms: &'a [Shown],
    known: &'a [Shown],
    /// What other projects know, below everything known here.
    #[serde(skip_serializing_if = "<[Shown]>::is_empty")]
    global: &'a [Shown],
    /// All of it, as an agent reads it.
    text: &'a str,
}

pub(super) fn run(session: &mut Session<'_>, args: &BriefArgs) -> Result<Exit, Failure> {
    let role = args.role.map(|asker| asker.role());
    let portion = Portion {
        budget: args.budget,
        role,
        ..Portion::default()
    };
    let start = session.surroundings.start.clone();
    let progress = Progress::start(session.printer, "reading entries", None);
    let reader = session.surroundings.reader();
    let run = session.surroundings.run().unwrap_or_default().to_owned();
    let surroundings = session.surroundings.clone();
    let briefed = session.read(|engine| {
        let mut asked = hand::asked(engine, &start, &args.task, &args.hand)?;
        if asked.paths.is_empty() {
            asked.paths = engine.paths_in_hand();
        }
        let asker = Asker {
            surroundings: &surroundings,
            reader: reader.as_ref(),
        };
        let search = Search::unasked(&asked.text, asked.paths, role, run);
        progress
            .during(|it| asker.brief(engine, search, portion, &mut |at, all| it.come_to(at, all)))
    })?;
    session.tell_silent(&briefed.global)?;
    let text = briefed.text();
    if !session.is_json() {
        session.printer.text(text)?;
        return Ok(Exit::Fine);
    }
    session.printer.json(&BriefObject {
        schema: "ken.brief.v1",
        served_by: briefed.brief.known.served_by.name(),
        norms: &briefed.brief.norms.shown,
        known: &briefed.known.shown,
        global: briefed.global.shown(),
        text: &text,
    })?;
    Ok(Exit::Fine)
}
