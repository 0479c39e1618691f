//! The command line: one module per command, with its arguments and its execution.
//!
//! To add a command, write its module and add a variant and a match arm here. A command of a group
//! (`entry`, `inbox`, `health`, …) goes into the group's folder and enum instead. Commands parse
//! input, call the engine and print; they decide nothing about knowledge.

mod add;
mod alias;
mod archive;
mod audit;
mod brief;
mod browse;
mod capture;
mod config;
mod confirm;
mod doctor;
mod edit;
mod entry;
mod federation;
mod feedback;
mod forage;
mod guard;
mod health;
pub(crate) mod help;
mod hook;
mod hub;
mod import;
mod import_export;
mod inbox;
mod init;
mod installation;
mod knowledge;
mod ledger;
mod list;
mod log;
mod mcp;
mod norms;
mod query_input;
mod remote;
mod restore;
mod retract;
mod run;
mod search;
mod serve;
mod setup;
mod show;
mod sync;
mod ui;
mod undo;
mod verify;

use std::ffi::OsString;
use std::fmt::Display;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use ken_core::json::EntryJson;
use ken_core::ledger::entry::Entry;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::Note;
use ken_engine::Engine;
use ken_engine::notice::EngineNotice;
use ken_engine::runs::EntryReader;

use crate::args::id::NoteArgs;
use crate::args::{Cli, Format, Surface};
use crate::asking::GlobalResults;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{self, Printer};
use crate::world::Environment;

pub(crate) use add::{EntryInput, RelatedJson};
pub(crate) use audit::audit_object;
pub(crate) use brief::brief_object;
pub(crate) use forage::{
    DomainStatusJson, ForageLogJson, ForageRecordJson, ForageStatusJson, describe_domain_decision,
    forage_domains, forage_log_objects, forage_setup, forage_status_object,
};
pub(crate) use health::impact::impact_object;
pub(crate) use health::stats::{span as stats_span, stats_object, usage_stats};
pub(crate) use inbox::inbox_document;
pub(crate) use query_input::below_root;
pub(crate) use show::versions;
pub(crate) use verify::verify_object;

/// Top-level commands, in the order of `ken help --all`.
#[derive(Debug, Subcommand)]
pub(crate) enum KenCommand {
    /// Create a knowledge base in this repository
    Init(init::InitArgs),
    /// Connect coding agents: instructions, MCP server, hooks, skill
    Setup(setup::SetupArgs),
    /// Check CLAUDE.md, AGENTS.md and other agent instructions; writes nothing
    Audit(audit::DocumentsArgs),
    /// Import claims from documents or the commit history
    Import(import::ImportArgs),
    /// Find passages in the documentation of locked packages that answer a question
    Forage(forage::ForageArgs),
    /// Add an entry, or many from JSON lines
    Add(Box<add::AddArgs>),
    /// Record a solved problem, or extract claims from a transcript
    Capture(Box<capture::CaptureArgs>),
    /// Edit the fields of an entry
    Edit(Box<edit::EditArgs>),
    /// Confirm that an entry still holds
    Confirm(confirm::ConfirmArgs),
    /// Archive an entry, or every entry not confirmed recently
    Archive(archive::ArchiveArgs),
    /// Retract an entry that is wrong or unwanted
    Retract(retract::RetractArgs),
    /// Restore an archived, retracted, merged or superseded entry
    #[command(after_help = "Example:\n  ken restore L-7k2f --note \"The old API is back\"")]
    Restore(NoteArgs),
    /// Undo your last change, or redo it: `ken redo`
    #[command(visible_alias = "redo")]
    Undo(undo::UndoArgs),
    /// More operations on entries: cite, link, merge, pin, mute, promote …
    #[command(subcommand)]
    Entry(Box<entry::EntryCommand>),
    /// Search entries by words, question, file, diff or error
    Search(Box<search::SearchArgs>),
    /// Browse entries in a full-screen terminal view
    Browse(Box<browse::BrowseArgs>),
    /// Open web pages of this repository: code with knowledge beside it, inbox, runs
    Ui(ui::UiArgs),
    /// Print the entries and norms an agent needs before a task
    Brief(Box<brief::BriefArgs>),
    /// List entries, newest first
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Show one entry with its citations, anchors and status
    Show(show::ShowArgs),
    /// Show the history of an entry with authors
    #[command(
        after_help = "Examples:\n  ken log L-7k2f\n  ken log --shown          which agents were shown which entries\n  ken log L-7k2f --shown   which agents were shown this one"
    )]
    Log(log::LogArgs),
    /// Review pending claims, approvals, quarantined entries and contradictions
    Inbox(inbox::InboxArgs),
    /// Record agent work: open a run, note exposures, close it, leave a handoff
    Run(Box<GroupArgs<run::RunCommand>>),
    /// Report whether an entry helped
    Feedback(feedback::FeedbackArgs),
    /// Serve the knowledge base to agents over MCP
    Mcp(mcp::McpArgs),
    /// Handle an agent's hook event; agents call this
    #[command(
        hide = true,
        after_help = "Example:\n  ken hook claude-code start < input.json"
    )]
    Hook(hook::HookArgs),
    /// Check entries against the code, or a change against the gates
    Verify(verify::VerifyArgs),
    /// List norms, and add norms that a program can check
    Norms(GroupArgs<norms::NormsCommand>),
    /// Report the health of the knowledge base and recommended actions
    Health(health::HealthArgs),
    /// Scan for secrets and attacks, manage quarantine, revoke a source
    Guard(GroupArgs<guard::GuardCommand>),
    /// Turn hand edits of entry files into events and update the files
    Sync(sync::SyncArgs),
    /// Maintain the ledger: check, pack, render, recover, redact, export
    #[command(subcommand)]
    Ledger(Box<ledger::LedgerCommand>),
    /// Manage the hubs of this clone, publications and peers
    #[command(after_help = remote::REMOTE_HELP)]
    Remote(GroupArgs<remote::RemoteCommand>),
    /// Push events to a hub
    Push(remote::exchange::PushArgs),
    /// Pull events from a hub
    #[command(after_help = "Example:\n  ken pull")]
    Pull(remote::RemoteArgs),
    /// Run a hub server on PostgreSQL
    Serve(Box<serve::ServeCommand>),
    /// Administer a hub: organizations, workspaces, tokens, quotas
    Hub(Box<hub::HubArgs>),
    /// Show and set ranking weights, the embedding model and the LLM
    Config(GroupArgs<config::ConfigCommand>),
    /// Check the installation and the repository for problems
    #[command(after_help = "Example:\n  ken doctor")]
    Doctor,
    /// Completions, manual pages, version, verify, update, uninstall
    #[command(name = "self", subcommand)]
    Installation(installation::InstallationCommand),
    /// Commands under the names that other knowledge stores use
    #[command(hide = true, subcommand)]
    Knowledge(Box<knowledge::KnowledgeCommand>),
    /// Print help for a command, or with --all every command
    Help(help::HelpArgs),
}

/// Commands by task, for `ken --help`. Each visible command is in exactly one group.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    (
        "Everyday commands",
        &[
            "init", "setup", "add", "search", "show", "list", "brief", "edit", "confirm", "verify",
            "inbox", "sync",
        ],
    ),
    ("Add knowledge", &["audit", "import", "forage", "capture"]),
    (
        "Change entries",
        &["archive", "retract", "restore", "undo", "entry"],
    ),
    ("Read", &["ui", "browse", "log"]),
    ("Agents", &["run", "feedback", "mcp"]),
    (
        "Check and maintain",
        &["norms", "health", "guard", "ledger"],
    ),
    (
        "Share through a hub",
        &["remote", "push", "pull", "serve", "hub"],
    ),
    ("Ken itself", &["config", "doctor", "self", "help"]),
];

/// Environment, output and call context of one command.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    surroundings: Environment,
    printer: &'a mut Printer,
    surface: Surface,
}

/// Parses the arguments, runs the command and returns the exit code.
pub(crate) fn run(arguments: &[OsString]) -> CommandExit {
    if let Some(words) = hook_words(arguments) {
        return hook::run(&words);
    }
    let mut command = help::command();
    let arguments = &alias::expand(arguments, &command);
    let parsed = command
        .try_get_matches_from_mut(arguments)
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
            Ok((cli, name_of(&matches)))
        });
    let (cli, name) = match parsed {
        Ok(cli) => cli,
        Err(error) => return print::print_usage(&error, arguments),
    };
    // Only the command name goes into the span: arguments may contain private data.
    let span = tracing::info_span!("ken", command = name, exit = tracing::field::Empty);
    let _in = span.enter();
    let mut printer = Printer::new(&cli.global);
    let outcome = Environment::new(&cli.global).and_then(|surroundings| {
        let surface = Surface::Top;
        Session {
            surroundings,
            printer: &mut printer,
            surface,
        }
        .execute(cli.command)
    });
    let exit = printer.finish(outcome);
    span.record("exit", exit as u8);
    exit
}

/// Returns the name of the command; for `ken knowledge`, the name of its subcommand.
fn name_of(matches: &ArgMatches) -> String {
    let Some((name, below)) = matches.subcommand() else {
        return String::new();
    };
    match name {
        "knowledge" => below.subcommand_name().unwrap_or(name).to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the arguments of `ken hook`, or `None` for other commands and for `--help`.
///
/// Hooks bypass the argument parser and the environment: an invalid option or variable must not
/// turn into an error that stops the agent.
fn hook_words(arguments: &[OsString]) -> Option<Vec<String>> {
    let words = arguments.get(1..)?.iter();
    let words: Vec<String> = words.map(|it| it.to_string_lossy().into_owned()).collect();
    let (first, rest) = words.split_first()?;
    let wants_help = rest.iter().any(|it| it == "--help" || it == "-h");
    (first == "hook" && !wants_help).then(|| rest.to_vec())
}

/// A group of commands that prints a list or report without a subcommand.
#[derive(Debug, Args)]
pub(crate) struct GroupArgs<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: Option<C>,
}

impl Session<'_> {
    fn execute(&mut self, command: KenCommand) -> Result<CommandExit, CommandFailure> {
        self.check_format(&command)?;
        match command {
            KenCommand::Init(args) => init::run(self, &args),
            KenCommand::Setup(args) => setup::run(self, &args),
            KenCommand::Audit(args) => audit::run(self, &args),
            KenCommand::Import(args) => import::run(self, &args),
            KenCommand::Forage(args) => forage::run(self, &args),
            KenCommand::Add(args) => add::run(self, &args),
            KenCommand::Capture(args) => capture::run(self, &args),
            KenCommand::Edit(args) => edit::run(self, *args),
            KenCommand::Confirm(args) => confirm::run(self, &args),
            KenCommand::Archive(args) => archive::run(self, &args),
            KenCommand::Retract(args) => retract::run(self, args),
            KenCommand::Restore(args) => restore::run(self, args),
            KenCommand::Undo(args) => undo::run(self, &args),
            KenCommand::Entry(command) => entry::run(self, *command),
            KenCommand::Search(args) => search::run(self, *args),
            KenCommand::Browse(args) => browse::run(self, &args),
            KenCommand::Ui(args) => ui::run(self, &args),
            KenCommand::Brief(args) => brief::run(self, &args),
            KenCommand::List(args) => list::run(self, &args),
            KenCommand::Show(args) => show::run(self, &args),
            KenCommand::Log(args) => log::run(self, &args),
            KenCommand::Inbox(args) => inbox::run(self, args),
            KenCommand::Run(args) => run::run(self, args.command.unwrap_or(run::RunCommand::List)),
            KenCommand::Feedback(args) => feedback::run(self, &args),
            KenCommand::Mcp(args) => mcp::run(self, &args),
            KenCommand::Hook(args) => Ok(hook::run(&args.words)),
            KenCommand::Verify(args) => verify::run(self, &args),
            KenCommand::Norms(args) => norms::run(self, args.command),
            KenCommand::Health(args) => health::run(self, args),
            KenCommand::Guard(args) => guard::run(self, args.command),
            KenCommand::Sync(args) => sync::run(self, &args),
            KenCommand::Ledger(command) => ledger::run(self, *command),
            KenCommand::Remote(args) => {
                remote::run(self, args.command.unwrap_or(remote::RemoteCommand::List))
            }
            KenCommand::Push(args) => remote::exchange::push(self, &args),
            KenCommand::Pull(args) => remote::exchange::pull(self, &args),
            KenCommand::Serve(args) => serve::run(self, &args),
            KenCommand::Hub(args) => hub::run(self, &args),
            KenCommand::Config(args) => config::run(self, args.command),
            KenCommand::Doctor => doctor::run(self),
            KenCommand::Installation(command) => installation::run(self, command),
            KenCommand::Knowledge(command) => {
                self.surface = Surface::Knowledge;
                knowledge::run(self, *command)
            }
            KenCommand::Help(args) => help::run(self, &args),
        }
    }

    /// Returns an error for output formats that the command does not support.
    fn check_format(&self, command: &KenCommand) -> Result<(), CommandFailure> {
        let is_verify = matches!(command, KenCommand::Verify(_))
            || matches!(command, KenCommand::Knowledge(it) if it.is_verify());
        let is_audit = matches!(command, KenCommand::Audit(_));
        let is_export = matches!(command, KenCommand::Ledger(it) if it.is_export());
        match self.printer.format() {
            Format::Text | Format::Json => Ok(()),
            Format::Sarif | Format::Github | Format::Markdown if is_verify => Ok(()),
            Format::Markdown if is_audit || is_export => Ok(()),
            Format::Sarif | Format::Github | Format::Markdown => Err(CommandFailure::usage(
                "this command prints text or JSON; `ken verify` also supports sarif, github and markdown, `ken audit` and `ken ledger export` support markdown",
            )),
        }
    }

    /// Opens the ledger for writing, runs `act` and prints the engine's notices.
    fn write<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &Actor) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let (mut engine, by) = self.surroundings.open_to_write()?;
        let result = act(&mut engine, &by);
        self.surroundings.remember(&mut engine)?;
        self.printer.notices(&engine.take_notices())?;
        result
    }

    /// Like [`Self::write`], for commands that record no decision and need no identity.
    fn maintain<T>(
        &mut self,
        act: impl FnOnce(&mut Engine) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let (mut engine, _) = self.surroundings.open_to_maintain()?;
        let result = act(&mut engine);
        self.printer.notices(&engine.take_notices())?;
        result
    }

    /// Like [`Self::write`], and passes the actor with its run and session.
    fn write_as<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &EntryReader) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let surroundings = self.surroundings.clone();
        self.write(|engine, by| act(engine, &surroundings.as_reader(by)))
    }

    /// Runs `act` with an open ledger and returns the notices instead of printing them.
    fn write_quietly<T>(
        &mut self,
        opened: (Engine, Actor),
        act: impl FnOnce(&mut Engine, &Actor) -> Result<T, CommandFailure>,
    ) -> Result<(T, Vec<EngineNotice>), CommandFailure> {
        let (mut engine, by) = opened;
        let result = act(&mut engine, &by);
        self.surroundings.remember(&mut engine)?;
        let notices = engine.take_notices();
        match result {
            Ok(value) => Ok((value, notices)),
            Err(failure) => {
                self.printer.notices(&notices)?;
                Err(failure)
            }
        }
    }

    /// Opens the ledger for reading, runs `ask` and prints the engine's notices.
    fn read<T>(
        &mut self,
        ask: impl FnOnce(&mut Engine) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let mut engine = self.surroundings.open_to_read()?;
        let result = ask(&mut engine);
        self.printer.notices(&engine.take_notices())?;
        result
    }

    /// Like [`Self::read`], and records the entries that the answer shows to an agent as exposures.
    fn read_shown<T>(
        &mut self,
        how: ExposureChannel,
        ask: impl FnOnce(&mut Engine) -> Result<T, CommandFailure>,
        shown: impl FnOnce(&T) -> Vec<EntryId>,
    ) -> Result<T, CommandFailure> {
        let reader = self.surroundings.reader();
        self.read(|engine| {
            engine.note_unrecorded_edits();
            let answer = ask(engine)?;
            if let Some(reader) = &reader {
                engine.record_exposures(reader, &shown(&answer), how)?;
            }
            Ok(answer)
        })
    }

    /// Prints a notice if the global ledger could not be queried.
    fn print_global_error(&mut self, global: &GlobalResults) -> Result<(), CommandFailure> {
        match global.error() {
            None => Ok(()),
            Some(why) => {
                let message = format_args!("cannot query the global ledger: {why}");
                self.printer.talk(message)
            }
        }
    }

    /// Returns whether the output is JSON.
    fn is_json(&self) -> bool {
        self.printer.is_json(Format::Text)
    }

    /// Prints an entry that was just written: its id as text, the whole entry as JSON.
    fn written(&mut self, entry: &Entry, did: impl Display) -> Result<CommandExit, CommandFailure> {
        if self.is_json() {
            self.printer.json(&EntryJson::new(entry))?;
        } else {
            self.printer.line(entry.id)?;
            self.printer.talk(did)?;
        }
        Ok(CommandExit::Fine)
    }
}

/// Parses the note of a decision.
fn note(text: Option<String>) -> Result<Option<Note>, CommandFailure> {
    text.map(|text| text.parse().map_err(CommandFailure::usage))
        .transpose()
}
