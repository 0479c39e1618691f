//! `ken brief`: what to know before work begins, for an agent to read.

use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::score::Role;
use ken_core::surface::{self, CAP, Shown};
use ken_engine::search::{Asked, Floor, Portion, Search};
use serde::Serialize;

use super::{Session, global, hand};
use crate::args::BriefArgs;
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
        cap: CAP,
        budget: args.budget,
        tier: None,
        role,
    };
    let start = session.surroundings.start.clone();
    let progress = Progress::start(session.printer, "reading entries", None);
    let reader = session.surroundings.reader();
    let run = session.surroundings.run().unwrap_or_default().to_owned();
    let surroundings = session.surroundings.clone();
    let (brief, known, global) = session.read(|engine| {
        let mut asked = hand::asked(engine, &start, &args.task, &args.hand)?;
        if asked.paths.is_empty() {
            asked.paths = engine.paths_in_hand();
        }
        let thread = reader.as_ref().map(|it| engine.thread_of(it)).transpose()?;
        let search = Search {
            thread: thread.flatten(),
            ..search(asked, role, run)
        };
        let mut brief =
            progress.during(|it| engine.brief(&search, &mut |at, all| it.come_to(at, all)))?;
        let known = engine.hand_over(&mut brief, portion, reader.as_ref())?;
        let local = (&brief.known, &known);
        let global = global::overlay(&surroundings, engine, &search, local, portion);
        if let (Some(reader), Some(it)) = (&reader, &global.overlay) {
            let shown: Vec<EntryId> = it.page.shown.iter().map(|it| it.id).collect();
            engine.note_shown(reader, &shown, How::Brief)?;
        }
        Ok((brief, known, global))
    })?;
    global.tell(session)?;
    let served_by = brief.known.served_by.name();
    let beside = global.overlay.as_ref().map(|it| it.page.shown.as_slice());
    let all = global.beside(known.clone());
    let text = surface::brief(&brief.norms, &all, served_by);
    if !session.is_json() {
        session.printer.text(text)?;
        return Ok(Exit::Fine);
    }
    session.printer.json(&BriefObject {
        schema: "ken.brief.v1",
        served_by,
        norms: &brief.norms.shown,
        known: &known.shown,
        global: beside.unwrap_or_default(),
        text: &text,
    })?;
    Ok(Exit::Fine)
}

/// Nobody asked for these entries by name, so only what surely fits is told.
fn search(asked: Asked, role: Option<Role>, run: String) -> Search {
    Search {
        query: asked.text,
        paths: asked.paths,
        role,
        run: Some(run),
        floor: Floor::Strict,
        ..Search::default()
    }
}
