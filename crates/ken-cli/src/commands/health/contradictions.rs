//! `ken health contradictions`: lists entries that contradict each other.

use clap::Args;
use ken_core::trust::run::ExposureChannel;
use ken_engine::Engine;
use ken_engine::contradictions::Contradiction;
use ken_engine::duplicates::LISTED_MAX;
use serde::Serialize;

use super::{dismiss_pair, note_more};
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::{pluralize, truncate_columns};

/// `ken health contradictions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken health contradictions\n  ken health contradictions --dismiss L-7k2f L-9d2c"
)]
pub(crate) struct ContradictionsArgs {
    /// Maximum contradictions to list
    #[arg(long, value_name = "N", default_value_t = LISTED_MAX)]
    pub(crate) limit: usize,
    /// Record new contradictions, so that search shows both entries together
    #[arg(long, conflicts_with = "dismiss")]
    pub(crate) flag: bool,
    /// Never list these two entries again: they do not contradict each other
    #[arg(long, value_name = "ID", num_args = 2)]
    pub(crate) dismiss: Vec<String>,
}

/// Maximum columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
pub(in crate::commands) struct PairJson<'a> {
    schema: &'static str,
    first: SideJson,
    second: SideJson,
    rule: Option<&'static str>,
    why: &'a str,
    /// Whether the contradiction is recorded in the ledger.
    flagged: bool,
    /// Whether both entries are norms, which fails the gate.
    blocks: bool,
}

#[derive(Serialize)]
pub(in crate::commands) struct SideJson {
    id: String,
    kind: String,
    title: String,
}

impl<'a> PairJson<'a> {
    /// Returns the view of a contradiction.
    pub(in crate::commands) fn new(it: &'a Contradiction) -> Self {
        Self {
            schema: "ken.contradictions.v1",
            first: SideJson::of(&it.first),
            second: SideJson::of(&it.second),
            rule: it.rule,
            why: &it.why,
            flagged: it.flagged,
            blocks: it.is_blocking(),
        }
    }
}

impl SideJson {
    fn of(entry: &ken_core::ledger::entry::Entry) -> Self {
        Self {
            id: entry.id.to_string(),
            kind: entry.kind().map(|it| it.to_string()).unwrap_or_default(),
            title: entry.title(),
        }
    }
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ContradictionsArgs,
) -> Result<CommandExit, CommandFailure> {
    if let [one, other] = &args.dismiss[..] {
        return dismiss_pair(session, one, other, Engine::dismiss_contradiction);
    }
    let mut new = 0;
    if args.flag {
        let progress = ProgressIndicator::start(session.printer, "comparing entries", None);
        let flagged = session
            .write(move |engine, by| Ok(progress.during(|_| engine.flag_contradictions(by))?))?;
        new = flagged.len();
    }
    let (found, total) = read_open(session, args.limit)?;
    for it in &found {
        print(session, it)?;
    }
    if session.is_json() {
        return note_more(session, found.len(), total);
    }
    match found.first() {
        None => session.printer.talk("no contradictions found")?,
        Some(first) => {
            let (one, other) = (first.first.id, first.second.id);
            let mut summary = pluralize(total as u64, "contradiction", "contradictions");
            if found.len() < total {
                summary = format!("{} of {summary}; --limit {total} lists all", found.len());
            }
            if args.flag {
                summary = format!("{summary}, {new} of them new");
            }
            session.printer.talk(summary)?;
            session.printer.hint(format_args!(
                "`ken inbox resolve {one} {other} --keep ID` resolves one, `ken health contradictions --dismiss {one} {other}` dismisses it"
            ))?;
        }
    }
    Ok(CommandExit::Fine)
}

/// Reads at most `limit` open contradictions and the number of all, and records that the reader was
/// shown their entries.
pub(in crate::commands) fn read_open(
    session: &mut Session<'_>,
    limit: usize,
) -> Result<(Vec<Contradiction>, usize), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "comparing entries", None);
    session.read_shown(
        ExposureChannel::Pull,
        move |engine| {
            let mut pairs = progress.during(|_| engine.open_contradictions())?;
            let total = pairs.len();
            pairs.truncate(limit);
            Ok((pairs, total))
        },
        |(pairs, _)| {
            let ids = pairs.iter().flat_map(|it| [it.first.id, it.second.id]);
            ids.collect()
        },
    )
}

pub(in crate::commands) fn print(
    session: &mut Session<'_>,
    it: &Contradiction,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&PairJson::new(it));
    }
    let blocks = if it.is_blocking() { "  blocks" } else { "" };
    let new = if it.flagged { "" } else { "  new" };
    session.printer.line(format!("{}{blocks}{new}", it.why))?;
    for entry in [&it.first, &it.second] {
        let line = format!(
            "  {}  {}",
            entry.id,
            truncate_columns(&entry.title(), CLAIM_WIDTH)
        );
        session.printer.line(line)?;
    }
    Ok(())
}
