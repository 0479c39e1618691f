//! What can be typed, word for word, and nothing of what it does.
//!
//! Every command about knowledge is one variant of [`Verb`], which stands both at the top level and
//! below `ken knowledge`. Help is grouped by task in [`help`].

mod digest;
mod entry;
mod filter;
mod guard;
mod health;
mod help;
mod hook;
mod hub;
mod judge;
mod mcp;
mod model;
mod norms;
mod pairs;
mod promotion;
mod remote;
mod runs;
mod search;
mod setup;
mod stats;
mod upkeep;
mod validity;
mod words;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ken_core::actor::Actor;

pub(crate) use digest::{DocumentsArgs, ReduceArgs, ReweaveArgs, StageCommand};
pub(crate) use entry::{
    AddArgs, ArchiveArgs, CiteArgs, ConfirmArgs, Field, IdArgs, LinkArgs, MarkArgs, NormType,
    NoteArgs, RetractArgs, ReviseArgs, ShowArgs, StatusArgs, WordingArgs,
};
pub(crate) use filter::ListArgs;
pub(crate) use guard::{QuarantineCommand, RevokeArgs, ScanArgs, ScanMode};
pub(crate) use health::{
    CaptureAgent, CaptureArgs, DistilArgs, HealthCommand, MaintainArgs, MaintainCommand,
    MaintainPolicyArgs, ReviewArgs,
};
pub(crate) use help::command;
pub(crate) use hook::HookArgs;
pub(crate) use hub::{
    HubArgs, HubCommand, LogArg, MaxArg, OidcArgs, OrganisationCommand, QuotaArgs, ServeArgs,
    TokenArgs, TokenCommand, WorkspaceArgs, WorkspaceCommand,
};
pub(crate) use judge::{EndpointArgs, ExtractArgs, JudgeArgs, JudgeCommand, SetJudge};
pub(crate) use mcp::McpArgs;
pub(crate) use model::{AddModelArgs, ModelCommand};
pub(crate) use norms::{ContradictionsArgs, NormsCommand, ResolveArgs};
pub(crate) use pairs::{DuplicatesArgs, MergeArgs, SupersedeArgs};
pub(crate) use promotion::{ApproveArgs, PromoteArgs};
pub(crate) use remote::{AddRemoteArgs, PushArgs, RemoteArgs, RemoteCommand};
pub(crate) use runs::{
    CloseArgs, ConfidenceCommand, FeedbackArgs, LiftArgs, NoteRunArgs, ObserveArgs, OpenArgs,
    PolicyArgs, RunCommand,
};
pub(crate) use search::{BriefArgs, BrowseArgs, HandArgs, ScoringCommand, SearchArgs, Share};
pub(crate) use setup::{InitArgs, SetupArgs};
pub(crate) use stats::StatsArgs;
pub(crate) use upkeep::{
    BlankArgs, CompletionsArgs, ExportArgs, ExportForm, FrictionCommand, IndexCommand,
    LedgerCommand, ManArgs, RecordArgs, RecoverArgs, SyncArgs, UninstallArgs,
};
pub(crate) use validity::{ReanchorArgs, VerifyArgs};

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(
    name = "ken",
    version,
    about = "Keeps what agents and people learn about a codebase",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Top,
}

/// Options every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Who acts: human:NAME, agent:NAME or ci:NAME [default: $KEN_ACTOR, the agent Ken runs in,
    /// git's user.email]
    #[arg(long, global = true, value_name = "ACTOR")]
    pub(crate) by: Option<Actor>,
    /// The run this belongs to [default: $KEN_RUN]
    #[arg(long, global = true, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Write secrets as `[REDACTED:type]` instead of refusing the text
    #[arg(long, global = true)]
    pub(crate) redact: bool,
    /// Act as if started in DIR
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// How to answer: for people or one versioned JSON object a line; `verify` knows three more
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Say nothing beside the answer and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colour; NO_COLOR is respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    // Of `verify` only: for code hosts, for a build's log, for a pull request.
    Sarif,
    Github,
    Markdown,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// Commands of the top level.
#[derive(Debug, Subcommand)]
pub(crate) enum Top {
    #[command(flatten)]
    Verb(Box<Verb>),
    /// The same commands under one noun, as knowledge stores spell them
    Knowledge {
        #[command(subcommand)]
        verb: Box<Verb>,
    },
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page a command
    Man(ManArgs),
    /// Print the version of ken and of the ledger it writes
    Version,
}

/// Everything that can be done with knowledge.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a ledger at the top of this repository, or in this folder
    Init(InitArgs),
    /// Tell coding agents about Ken: instructions, MCP server, hooks and a skill
    #[command(after_help = setup::SETUP_HELP)]
    Setup(SetupArgs),
    /// Say what is wrong with the knowledge this repository keeps already; writes nothing
    Audit(DocumentsArgs),
    /// Take the sound claims of documents in: CLAUDE.md, AGENTS.md, rules, decisions …
    Import(DocumentsArgs),
    /// Take claims from documents or history and let them wait for a decision
    Reduce(ReduceArgs),
    /// Say what waiting claims would repeat, contradict or link to
    Reflect,
    /// Give an entry new evidence, and new words if need be
    Reweave(Box<ReweaveArgs>),
    /// Decide about claims that wait
    #[command(subcommand)]
    Stage(StageCommand),
    /// Take out what `init` put in; knowledge stays unless told otherwise
    Uninstall(UninstallArgs),
    /// Add an entry, or many from JSON lines
    #[command(after_long_help = entry::ADD_EXAMPLES)]
    Add(Box<AddArgs>),
    /// Write down a problem that was solved and what solved it, or take what a transcript shows
    #[command(visible_alias = "compound", after_long_help = health::CAPTURE_EXAMPLES)]
    Capture(Box<CaptureArgs>),
    /// List entries, newest first
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Find entries that answer a question, best first
    Search(Box<SearchArgs>),
    /// Tell an agent what to know before it begins
    Brief(Box<BriefArgs>),
    /// Look through entries on the whole terminal, searching as you type
    Browse(Box<BrowseArgs>),
    /// Show one entry: its claim, what it rests on, who said so
    Show(ShowArgs),
    /// Word fields of an entry anew
    Revise(Box<ReviseArgs>),
    /// Look after units of work: who takes part, what they saw, how it ended
    #[command(subcommand)]
    Run(Box<RunCommand>),
    /// Tell what an agent found; whether that confirms anything is decided from what it had seen
    Observe(Box<ObserveArgs>),
    /// Answer an agent's hook: what to know, in its own dialect, or nothing
    Hook(HookArgs),
    /// Say whether an entry helped
    Feedback(FeedbackArgs),
    /// Show what entries are worth: outcomes of work with them and without
    Lift(LiftArgs),
    /// Show what was asked, what came of it and how work went
    Stats(StatsArgs),
    /// Look after how far using an entry is believed to help
    #[command(subcommand)]
    Confidence(ConfidenceCommand),
    /// Add evidence to an entry
    Cite(CiteArgs),
    /// Say that an entry holds
    Confirm(ConfirmArgs),
    /// Take an entry back
    Retract(RetractArgs),
    /// Bring back an archived or retracted entry
    Restore(NoteArgs),
    /// Lay an entry aside, or all that nobody confirmed for long
    Archive(ArchiveArgs),
    /// Link an entry to another
    Link(LinkArgs),
    /// Make entries that say the same one
    Merge(MergeArgs),
    /// Condense entries that are used together into one; without arguments, list such entries
    Distil(Box<DistilArgs>),
    /// Let a newer entry take an older one's place
    Supersede(SupersedeArgs),
    /// List entries that seem to say the same
    Duplicates(DuplicatesArgs),
    /// List entries that cannot both be followed
    Contradictions(ContradictionsArgs),
    /// Settle a contradiction: one stays, or both
    Resolve(ResolveArgs),
    /// Look after norms that a program can check
    #[command(subcommand)]
    Norms(NormsCommand),
    /// Take claims out of a transcript with the help of a judge; they become candidates
    Extract(ExtractArgs),
    /// Move an entry on the ladder candidate, active, verified, stale, rejected
    Status(StatusArgs),
    /// Pin, mute or annotate an entry; what is true stays as it is
    Mark(MarkArgs),
    /// Show the history of an entry, with authors
    Log(IdArgs),
    /// Take back your own last change
    Undo,
    /// Say what the guard finds in files or standard input; changes nothing
    Scan(ScanArgs),
    /// Turn off everything from one author or origin, by one event
    Revoke(RevokeArgs),
    /// Look after entries the guard set apart
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    /// Record what got in the way, and count it
    #[command(subcommand)]
    Friction(FrictionCommand),
    /// Let knowledge reach further: workspace, global, another memory
    #[command(after_long_help = promotion::PROMOTE_EXAMPLES)]
    Promote(Box<PromoteArgs>),
    /// Approve what was put forward, or list what waits
    Approve(ApproveArgs),
    /// Check the ledger and hold every entry against the code, or what a change touches
    Verify(VerifyArgs),
    /// Take fingerprints, follow code that moved, decide about what changed
    Reanchor(ReanchorArgs),
    /// Show shelves that are stale, bloated, contradictory or orphaned
    Drift,
    /// Tell how knowledge fares, and whether that calls for anything
    #[command(subcommand)]
    Health(HealthCommand),
    /// List services that keep knowledge in order, or run one
    Maintain(MaintainArgs),
    /// Turn edits of entry files into events and bring the files up to date
    Sync(SyncArgs),
    #[command(flatten)]
    Sharing(Sharing),
    /// Write every entry file and gathering view anew
    Render,
    /// Write entries for other programs: JSON lines, an OKF bundle or Markdown
    Export(ExportArgs),
    /// Bring back events that a reset, clean or removed worktree took away
    Recover(RecoverArgs),
    /// Remove an event's data everywhere, such as a leaked secret
    Blank(BlankArgs),
    /// Look after the derived index
    #[command(subcommand)]
    Index(IndexCommand),
    /// Choose the model that helps a search find what is meant
    #[command(subcommand)]
    Model(ModelCommand),
    /// Choose who is asked where Ken cannot tell: a program, an endpoint, or nobody
    #[command(after_help = judge::JUDGE_HELP)]
    Judge(JudgeArgs),
    /// Look after the ledger's files
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Show or set how much each signal counts when entries are ranked
    Scoring {
        #[command(subcommand)]
        command: Option<ScoringCommand>,
    },
    /// Serve knowledge to a coding agent over the Model Context Protocol, on standard input and output
    #[command(after_long_help = mcp::MCP_EXAMPLES)]
    Mcp(McpArgs),
    /// Look the installation over
    Doctor,
}

/// Everything that shares knowledge through a hub.
#[derive(Debug, Subcommand)]
pub(crate) enum Sharing {
    /// Look after the hubs this clone exchanges events with
    #[command(subcommand, after_help = remote::REMOTE_HELP)]
    Remote(RemoteCommand),
    /// Offer a hub the events it does not have
    Push(PushArgs),
    /// Take from a hub the events this clone does not have, also those that git lost
    Pull(RemoteArgs),
    /// Serve an organisation's hub: knowledge of many repositories, on PostgreSQL
    #[command(after_help = hub::SERVE_HELP)]
    Serve(Box<ServeArgs>),
    /// Look after a hub's database: organisations, workspaces, tokens
    Hub(Box<HubArgs>),
}

/// Under which noun a command was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Top,
    /// Below `ken knowledge`, whose `show` answers in JSON.
    Knowledge,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }
}
