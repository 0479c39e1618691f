//! `ken sync`: turns hand edits of entry files into events, follows moved code and updates the
//! files.
//!
//! With `--remote`, it then pulls from and pushes to a hub.

use clap::Args;
use ken_core::values::id::EntryId;
use ken_engine::notice::EngineNotice;
use ken_engine::remote::PushSelection;
use ken_engine::sync::{BulkDeletion, SyncOutcome};
use ken_engine::validity::ReanchorOutcome;
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
    /// Files whose edit was refused.
    refused: Vec<String>,
    /// Entries whose anchors follow moved code now.
    moved: Vec<String>,
    /// Entries whose anchors received a fingerprint.
    fingerprinted: Vec<String>,
    /// Entries with concurrent versions.
    concurrent: Vec<String>,
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
    let opened = session.surroundings.open_to_write()?;
    let (synced, notices) = session.write_quietly(opened, |engine, _| Ok(engine.sync(bulk)?))?;
    let is_deferred = notices
        .iter()
        .any(|notice| matches!(notice, EngineNotice::SyncDeferred { .. }));
    let refused: Vec<String> = notices.iter().filter_map(refused_file).collect();
    session.printer.notices(&notices)?;
    if !session.is_json() && !is_deferred {
        let edits = pluralize(synced.edits as u64, "hand edit", "hand edits");
        let state = match refused.len() as u64 {
            0 if synced.missing_uncommitted.is_empty() => "; entry files are up to date".to_owned(),
            0 => String::new(),
            count => format!(
                "; {} not recorded",
                pluralize(count, "edit was", "edits were")
            ),
        };
        session
            .printer
            .talk(format_args!("recorded {edits}{state}"))?;
        tell_anchors(session, &synced.anchors)?;
        tell_unsettled(session, &synced)?;
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
            refused: refused.clone(),
            moved: to_strings(&synced.anchors.moved),
            fingerprinted: to_strings(&synced.anchors.fingerprinted),
            concurrent: to_strings(&synced.concurrent),
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
    let own = if refused.is_empty() {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    };
    Ok(exchanged.exit.unwrap_or(own))
}

/// Names the entries that a person has to settle.
fn tell_unsettled(session: &mut Session<'_>, synced: &SyncOutcome) -> Result<(), CommandFailure> {
    for id in &synced.concurrent {
        session.printer.note(&format!(
            "{id} has concurrent versions; `ken show {id}` shows them, `ken edit {id}` settles them"
        ))?;
    }
    for (one, other) in &synced.mutual {
        session.printer.note(&format!(
            "{one} and {other} replace each other, so neither is in use; `ken restore {one}` restores the first"
        ))?;
    }
    Ok(())
}

/// Returns the file of an edit that was not recorded.
fn refused_file(notice: &EngineNotice) -> Option<String> {
    if let EngineNotice::FileIgnored { file, .. } = notice {
        Some(file.clone())
    } else {
        None
    }
}

fn to_strings(ids: &[EntryId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn tell_anchors(session: &mut Session<'_>, done: &ReanchorOutcome) -> Result<(), CommandFailure> {
    let count = |ids: &[EntryId]| pluralize(ids.len() as u64, "entry", "entries");
    if !done.moved.is_empty() {
        session.printer.talk(format_args!(
            "updated the anchors of {} whose code moved",
            count(&done.moved)
        ))?;
    }
    if !done.fingerprinted.is_empty() {
        session.printer.talk(format_args!(
            "fingerprinted the anchors of {}",
            count(&done.fingerprinted)
        ))?;
    }
    if !done.unresolved.is_empty() {
        session.printer.hint(format_args!(
            "the code of {} changed: `ken entry reanchor` decides about each",
            count(&done.unresolved)
        ))?;
    }
    Ok(())
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
