//! `ken sync`: turns hand edits of entry files into events and updates the files.
//!
//! With `--remote`, it then pulls from and pushes to a hub.

use clap::Args;
use ken_engine::notice::EngineNotice;
use ken_engine::remote::PushSelection;
use ken_engine::sync::BulkDeletion;
use serde::Serialize;

use super::Session;
use super::remote::exchange::{self, PullObject, PushObject};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken sync`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken sync\n  ken sync --remote")]
pub(crate) struct SyncArgs {
    /// Retract entries even if many files were deleted at once
    #[arg(long)]
    pub(crate) yes: bool,
    /// Then pull from and push to a hub [default: the only one, or `hub`]
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub(crate) remote: Option<Option<String>>,
}

#[derive(Serialize)]
struct SyncObject {
    schema: &'static str,
    absorbed: usize,
    rendered: usize,
    /// Whether nothing was read because git is in the middle of an operation.
    waiting: bool,
    /// Entries whose file was deleted before it was ever committed.
    missing_uncommitted: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull: Option<PullObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push: Option<PushObject>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &SyncArgs,
) -> Result<CommandExit, CommandFailure> {
    let bulk = if args.yes {
        BulkDeletion::Allow
    } else {
        BulkDeletion::Refuse
    };
    let (synced, notices) = session.write_quietly(|engine, _| Ok(engine.sync(bulk)?))?;
    let is_deferred = notices
        .iter()
        .any(|notice| matches!(notice, EngineNotice::SyncDeferred { .. }));
    session.printer.notices(&notices)?;
    if !session.is_json() && !is_deferred {
        let edits = pluralize(synced.edits as u64, "hand edit", "hand edits");
        let state = if synced.missing_uncommitted.is_empty() {
            "; entry files are up to date"
        } else {
            ""
        };
        session
            .printer
            .talk(format_args!("recorded {edits}{state}"))?;
        for (id, file) in &synced.missing_uncommitted {
            session.printer.note(&format!(
                ".ken/entries/{file} was deleted before it was committed, so {id} is unchanged"
            ))?;
            session.printer.hint(format_args!(
                "`ken retract {id}` retracts the entry; `ken ledger render` writes its file again"
            ))?;
        }
    }
    let exchanged = match &args.remote {
        Some(name) => exchange(session, name.as_deref())?,
        None => Exchanged::default(),
    };
    if session.is_json() {
        session.printer.json(&SyncObject {
            schema: "ken.sync.v1",
            absorbed: synced.edits,
            rendered: synced.rendered_files,
            waiting: is_deferred,
            missing_uncommitted: synced
                .missing_uncommitted
                .iter()
                .map(|(id, _)| id.to_string())
                .collect(),
            pull: exchanged.pull,
            push: exchanged.push,
        })?;
    }
    Ok(exchanged.exit.unwrap_or(CommandExit::Fine))
}

/// Results of a pull and a push.
#[derive(Default)]
struct Exchanged {
    pull: Option<PullObject>,
    push: Option<PushObject>,
    exit: Option<CommandExit>,
}

/// Pulls, then pushes. In this order, events that the hub lost are pushed in the same call.
fn exchange(session: &mut Session<'_>, name: Option<&str>) -> Result<Exchanged, CommandFailure> {
    let (remote, pulled) = exchange::pulled(session, name)?;
    if !session.is_json() {
        exchange::tell_pull(session, &remote, &pulled)?;
    }
    let (remote, pushed) = exchange::pushed(session, name, PushSelection::New)?;
    if !session.is_json() {
        exchange::tell_push(session, &remote, &pushed)?;
    }
    let exits = [exchange::pull_exit(&pulled), exchange::push_exit(&pushed)];
    Ok(Exchanged {
        pull: Some(exchange::pull_object(&remote, &pulled)),
        push: Some(exchange::push_object(&remote, &pushed)),
        exit: exits.into_iter().find(|it| *it != CommandExit::Fine),
    })
}
