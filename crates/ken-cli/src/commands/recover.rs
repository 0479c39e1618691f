//! `ken recover`: brings back what git took away.

use std::collections::BTreeMap;

use ken_engine::recover::Scope;
use serde::Serialize;

use super::Session;
use crate::args::RecoverArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct RecoveryObject {
    schema: &'static str,
    segments: Vec<String>,
    restored: BTreeMap<String, u64>,
    left: BTreeMap<String, u64>,
}

pub(super) fn run(session: &mut Session<'_>, args: &RecoverArgs) -> Result<Exit, Failure> {
    let scope = if args.all {
        Scope::All
    } else {
        Scope::ThisBranch
    };
    let recovered = session.write(|engine, _| Ok(engine.recover(scope)?))?;
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
        return Ok(Exit::Fine);
    }
    for path in &object.segments {
        session.printer.line(path)?;
    }
    if object.restored.is_empty() {
        session.printer.talk("nothing was lost")?;
    }
    for (branch, events) in &object.restored {
        let events = counted(*events, "event", "events");
        session.printer.talk(format_args!(
            "brought back {events} written on {}",
            short(branch)
        ))?;
    }
    for (branch, events) in &object.left {
        let events = counted(*events, "lost event", "lost events");
        session.printer.talk(format_args!(
            "{events} were written on {} and left there",
            short(branch)
        ))?;
    }
    if !object.left.is_empty() {
        session
            .printer
            .hint("`ken recover --all` brings them back here, too")?;
    }
    Ok(Exit::Fine)
}

/// Returns a branch as people call it.
fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}
