//! `ken sync`: hand edits become events, stale files are rendered; with `--remote`, a hub and this clone exchange events.

use ken_engine::notice::Notice;
use ken_engine::remote::Again;
use ken_engine::sync::BulkDeletion;
use serde::Serialize;

use super::Session;
use super::exchange::{self, PullObject, PushObject};
use crate::args::SyncArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct SyncObject {
    schema: &'static str,
    absorbed: usize,
    rendered: usize,
    /// Whether git is in the middle of something, so that nothing was looked at.
    waiting: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull: Option<PullObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push: Option<PushObject>,
}

pub(super) fn run(session: &mut Session<'_>, args: &SyncArgs) -> Result<Exit, Failure> {
    let bulk = if args.yes {
        BulkDeletion::Meant
    } else {
        BulkDeletion::Ask
    };
    let (synced, notices) = session.write_quietly(|engine, _| Ok(engine.sync(bulk)?))?;
    let waits = notices
        .iter()
        .any(|notice| matches!(notice, Notice::Waiting { .. }));
    session.printer.notices(&notices)?;
    if !session.is_json() && !waits {
        let edits = counted(synced.absorbed as u64, "hand edit", "hand edits");
        session
            .printer
            .talk(format_args!("recorded {edits}; entry files are in step"))?;
    }
    let exchanged = match &args.remote {
        Some(name) => exchange(session, name.as_deref())?,
        None => Exchanged::default(),
    };
    if session.is_json() {
        session.printer.json(&SyncObject {
            schema: "ken.sync.v1",
            absorbed: synced.absorbed,
            rendered: synced.rendered,
            waiting: waits,
            pull: exchanged.pull,
            push: exchanged.push,
        })?;
    }
    Ok(exchanged.exit.unwrap_or(Exit::Fine))
}

/// What an exchange came to.
#[derive(Default)]
struct Exchanged {
    pull: Option<PullObject>,
    push: Option<PushObject>,
    exit: Option<Exit>,
}

/// Takes what a hub has, then offers it what it lacks: so what it lost itself is offered in the same breath.
fn exchange(session: &mut Session<'_>, name: Option<&str>) -> Result<Exchanged, Failure> {
    let (remote, pulled) = exchange::pulled(session, name)?;
    if !session.is_json() {
        exchange::tell_pull(session, &remote, &pulled)?;
    }
    let (remote, pushed) = exchange::pushed(session, name, Again::No)?;
    if !session.is_json() {
        exchange::tell_push(session, &remote, &pushed)?;
    }
    let exits = [exchange::pull_exit(&pulled), exchange::push_exit(&pushed)];
    Ok(Exchanged {
        pull: Some(exchange::pull_object(&remote, &pulled)),
        push: Some(exchange::push_object(&remote, &pushed)),
        exit: exits.into_iter().find(|it| *it != Exit::Fine),
    })
}
