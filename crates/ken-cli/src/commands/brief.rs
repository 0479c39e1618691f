//! `ken brief`: prints the briefing an agent reads before it starts work.

use clap::Args;
use ken_core::retrieval::surface::{SelectedEntry, TOKEN_BUDGET};
use ken_engine::search::{SearchQuery, SelectionLimits};
use serde::Serialize;

use super::{Session, query_input};
use crate::asking::{BriefingResults, QueryService};
use crate::commands::query_input::{QueryInputArgs, ReaderRoleArg, TypedQuery};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;

/// `ken brief`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken brief \"add a refund endpoint\" --paths src/pay.rs")]
pub(crate) struct BriefArgs {
    /// The task, in one sentence
    #[arg(value_name = "TASK")]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) input: QueryInputArgs,
    /// Role of the reader; each role ranks other kinds first
    #[arg(long = "for", value_name = "ROLE")]
    pub(crate) role: Option<ReaderRoleArg>,
    /// Token budget
    #[arg(long, value_name = "TOKENS", default_value_t = TOKEN_BUDGET)]
    pub(crate) budget: usize,
}

/// JSON view of a briefing.
#[derive(Serialize)]
struct BriefObject<'a> {
    schema: &'static str,
    served_by: &'static str,
    norms: &'a [SelectedEntry],
    known: &'a [SelectedEntry],
    /// Entries of the global ledger, which rank below those of the repository.
    #[serde(skip_serializing_if = "<[SelectedEntry]>::is_empty")]
    global: &'a [SelectedEntry],
    /// The whole briefing as text, with the handoff that waits on this branch.
    text: &'a str,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &BriefArgs,
) -> Result<CommandExit, CommandFailure> {
    let role = args.role.map(|asker| asker.role());
    let portion = SelectionLimits {
        budget: args.budget,
        role,
        ..SelectionLimits::default()
    };
    let start = session.surroundings.start.clone();
    let progress = ProgressIndicator::start(session.printer, "reading entries", None);
    let reader = session.surroundings.reader();
    let run = session.surroundings.run().map(ToOwned::to_owned);
    let surroundings = session.surroundings.clone();
    let (briefed, missing, handoff) = session.read(|engine| {
        let typed = query_input::read_query(engine, &start, &args.task, &args.input)?;
        let (mut extracted, missing) = typed.into_parts();
        if extracted.paths.is_empty() {
            extracted.paths = engine.changed_paths();
        }
        let asker = QueryService {
            surroundings: &surroundings,
            reader: reader.as_ref(),
        };
        let search = SearchQuery {
            frames: extracted.frames,
            is_about_paths: args.task.is_empty() && args.input.is_paths(),
            ..SearchQuery::for_briefing(&extracted.text, extracted.paths, role, run)
        };
        let briefed = progress.during(|it| {
            asker.brief(engine, search, portion, &mut |at, all| {
                it.set_progress(at, all);
            })
        })?;
        let handoff = engine.show_handoff(reader.as_ref())?;
        Ok((briefed, missing, handoff))
    })?;
    if let Some(hint) = TypedQuery::hint(&missing) {
        session.printer.hint(hint)?;
    }
    session.print_global_error(&briefed.global)?;
    let text = format!("{}{}", handoff.unwrap_or_default(), briefed.text());
    if !session.is_json() {
        session.printer.text(text)?;
        return Ok(CommandExit::Fine);
    }
    session.printer.json(&brief_object(&briefed, &text))?;
    Ok(CommandExit::Fine)
}

/// Returns the JSON document of a briefing and its text.
pub(crate) fn brief_object<'a>(briefed: &'a BriefingResults, text: &'a str) -> impl Serialize + 'a {
    BriefObject {
        schema: "ken.brief.v1",
        served_by: briefed.brief.results.served_by.name(),
        norms: &briefed.brief.norms.shown,
        known: &briefed.known.shown,
        global: briefed.global.shown(),
        text,
    }
}
