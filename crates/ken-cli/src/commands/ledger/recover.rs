//! `ken ledger recover`: recovers events that a git operation deleted.

use std::collections::BTreeMap;

use clap::Args;
use ken_engine::notice::{EngineNotice, LedgerNotice};
use ken_engine::recover::RecoverScope;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken ledger recover`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken ledger recover")]
pub(crate) struct RecoverArgs {
    /// Also recover events that were written on other branches
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Serialize)]
struct RecoveryObject {
    schema: &'static str,
    segments: Vec<String>,
    restored: BTreeMap<String, u64>,
    left: BTreeMap<String, u64>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &RecoverArgs,
) -> Result<CommandExit, CommandFailure> {
    let scope = if args.all {
        RecoverScope::All
    } else {
        RecoverScope::ThisBranch
    };
    let opened = session.surroundings.open_to_maintain()?;
    let (recovered, notices) =
        session.write_quietly(opened, |engine, _| Ok(engine.recover(scope)?))?;
    session.printer.notices(&notices)?;
    let is_cut =
        |it: &EngineNotice| matches!(it, EngineNotice::Ledger(LedgerNotice::SegmentCut { .. }));
    let is_whole = !notices.iter().any(is_cut);
    let object = RecoveryObject {
        schema: "ken.recovery.v1",
        segments: recovered
            .segments
            .iter()
            .map(|name| name.tree_path())
            .collect(),
        restored: recovered.restored,
        left: recovered.left,
    };
    if session.is_json() {
        session.printer.json(&object)?;
        return Ok(CommandExit::Fine);
    }
    for path in &object.segments {
        session.printer.line(path)?;
    }
    if object.restored.is_empty() && is_whole {
        session.printer.talk("no events are missing")?;
    }
    for (branch, events) in &object.restored {
        let events = pluralize(*events, "event", "events");
        session.printer.talk(format_args!(
            "recovered {events} written on {}",
            short(branch)
        ))?;
    }
    for (branch, events) in &object.left {
        let events = pluralize(*events, "lost event", "lost events");
        session.printer.talk(format_args!(
            "skipped {events} written on {}",
            short(branch)
        ))?;
    }
    if !object.left.is_empty() {
        session
            .printer
            .hint("`ken ledger recover --all` recovers them, too")?;
    }
    Ok(CommandExit::Fine)
}

/// Returns the short name of a branch.
fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}
