//! `ken config conversations`: the private index of conversations with coding agents.

use clap::{Args, Subcommand};
use ken_engine::conversations::{ConversationHome, ConversationStatus};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;
use crate::world;

/// Text below the options of `ken config conversations --help`.
const CONVERSATIONS_HELP: &str = "\
After you allow it, `ken search` also finds what you said to Claude Code, Codex, Gemini CLI and
opencode in this repository. The permission and the index are stored per clone in your own data
folder (KEN_CONVERSATIONS, or ken/conversations below XDG_DATA_HOME); a repository cannot grant it.
Secrets are removed before anything is written. Nothing is committed, exported or sent to a hub.
Commit messages are searched without permission: they are in the repository.

Examples:
  ken config conversations allow
  ken config conversations show
  ken config conversations delete";

/// `ken config conversations`.
#[derive(Debug, Args)]
#[command(after_help = CONVERSATIONS_HELP)]
pub(crate) struct ConversationsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConversationsCommand>,
}

/// `ken config conversations …`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// Show whether conversations are searched, and what the index contains
    #[command(after_help = "Example:\n  ken config conversations show")]
    Show,
    /// Allow Ken to read your agents' transcripts of this repository, and index them
    #[command(after_help = "Example:\n  ken config conversations allow")]
    Allow,
    /// Withdraw the permission and delete the index
    #[command(after_help = "Example:\n  ken config conversations delete")]
    Delete,
}

/// JSON view of the index.
#[derive(Serialize)]
struct ConversationsObject<'a> {
    schema: &'static str,
    allowed: bool,
    folder: String,
    conversations: u64,
    exchanges: u64,
    commits: u64,
    /// Exchanges that were left out because they address a model.
    left_out: u64,
    bytes: u64,
    transcripts: Vec<TranscriptsObject<'a>>,
}

#[derive(Serialize)]
struct TranscriptsObject<'a> {
    agent: &'a str,
    files: usize,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: Option<ConversationsCommand>,
) -> Result<CommandExit, CommandFailure> {
    let home = world::require_conversation_home()?;
    match command {
        None | Some(ConversationsCommand::Show) => show(session, &home),
        Some(ConversationsCommand::Allow) => allow(session, &home),
        Some(ConversationsCommand::Delete) => delete(session, &home),
    }
}

fn allow(
    session: &mut Session<'_>,
    home: &ConversationHome,
) -> Result<CommandExit, CommandFailure> {
    // The transcripts are the person's; an agent cannot speak for them.
    if let Some(agent) = session.surroundings.reader() {
        let message = format!("{} cannot allow it for you", agent.agent);
        return Err(CommandFailure::refused("person_needed", message)
            .with_hint("run `ken config conversations allow` in a terminal of your own"));
    }
    let progress = ProgressIndicator::start(session.printer, "reading conversations", None);
    session.read(|engine| {
        let indexed = progress
            .during(|it| engine.allow_conversations(home, &mut |at, all| it.set_progress(at, all)));
        Ok(indexed?)
    })?;
    show(session, home)
}

fn delete(
    session: &mut Session<'_>,
    home: &ConversationHome,
) -> Result<CommandExit, CommandFailure> {
    let is_deleted = session.read(|engine| Ok(engine.delete_conversations(home)?))?;
    if session.is_json() {
        return show(session, home);
    }
    session.printer.line(if is_deleted {
        "deleted the index; Ken reads no conversations of this repository"
    } else {
        "there is no index of this repository"
    })?;
    Ok(CommandExit::Fine)
}

fn show(session: &mut Session<'_>, home: &ConversationHome) -> Result<CommandExit, CommandFailure> {
    let status = session.read(|engine| Ok(engine.conversation_status(home)?))?;
    if session.is_json() {
        session.printer.json(&object(&status))?;
        return Ok(CommandExit::Fine);
    }
    let ConversationStatus {
        allowed,
        folder,
        totals,
        transcripts,
    } = &status;
    let mut line = |name: &str, value: String| session.printer.line(format!("{name:<15}{value}"));
    line(
        "conversations",
        match allowed {
            Some(at) => format!("searched, allowed on {}", at.date()),
            None => "not searched".to_owned(),
        },
    )?;
    if totals.exchanges > 0 {
        let exchanges = pluralize(totals.exchanges, "exchange", "exchanges");
        let of = pluralize(totals.conversations, "conversation", "conversations");
        line("exchanges", format!("{exchanges} of {of}"))?;
    }
    if totals.left_out > 0 {
        let left_out = pluralize(totals.left_out, "exchange", "exchanges");
        line("left out", format!("{left_out}: instructions to a model"))?;
    }
    for (agent, files) in transcripts {
        line(agent, pluralize(*files as u64, "transcript", "transcripts"))?;
    }
    line("commits", totals.commits.to_string())?;
    line("index", format!("{} KiB", totals.bytes.div_ceil(1024)))?;
    line("folder", folder.display().to_string())?;
    if allowed.is_none() {
        session
            .printer
            .hint("`ken config conversations allow` lets `ken search` find them")?;
    }
    Ok(CommandExit::Fine)
}

fn object(status: &ConversationStatus) -> ConversationsObject<'_> {
    let transcripts = status.transcripts.iter();
    let transcripts = transcripts.map(|(agent, files)| TranscriptsObject {
        agent,
        files: *files,
    });
    ConversationsObject {
        schema: "ken.conversations.v1",
        allowed: status.allowed.is_some(),
        folder: status.folder.display().to_string(),
        conversations: status.totals.conversations,
        exchanges: status.totals.exchanges,
        commits: status.totals.commits,
        left_out: status.totals.left_out,
        bytes: status.totals.bytes,
        transcripts: transcripts.collect(),
    }
}
