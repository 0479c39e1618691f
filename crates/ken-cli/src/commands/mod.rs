//! One module a verb: ask the engine, hand the answer to the printer.
//!
//! Commands decide nothing about knowledge. What happened beside an answer is told also where the
//! command fails.

mod add;
mod approve;
mod archive;
mod audit;
mod blank;
mod brief;
mod browse;
mod cite;
mod completions;
mod confidence;
mod confirm;
mod contradictions;
mod distil;
mod doctor;
mod drift;
mod duplicates;
mod exchange;
mod export;
mod extract;
mod feedback;
mod friction;
mod hand;
mod health;
mod hook;
mod hub;
mod import;
mod index;
mod init;
mod judge;
mod ledger;
mod lift;
mod link;
mod list;
mod log;
mod maintain;
mod man;
mod mark;
mod mcp;
mod merge;
mod model;
mod norms;
mod observe;
mod promote;
mod quarantine;
mod reanchor;
mod recover;
mod reduce;
mod reflect;
mod remote;
mod render;
mod restore;
mod retract;
mod revise;
mod revoke;
mod reweave;
mod run;
mod scan;
mod scoring;
mod search;
mod serve;
mod setup;
mod show;
mod stage;
mod stats;
mod status;
mod supersede;
mod sync;
mod undo;
mod uninstall;
mod verify;
mod version;

use std::ffi::OsString;
use std::fmt::Display;

use clap::{ArgMatches, FromArgMatches as _};
use ken_core::actor::Actor;
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::text::Note;
use ken_engine::Engine;
use ken_engine::notice::Notice;
use ken_engine::runs::Reader;

use crate::args::{self, Cli, Format, Sharing, Surface, Top, Verb};
use crate::asking::Beside;
use crate::failure::{Exit, Failure};
use crate::print::{self, Printer};
use crate::world::Surroundings;
use ken_core::object::EntryObject;

pub(crate) use add::EntryInput;
pub(crate) use hand::below_root;
pub(crate) use show::versions;
pub(crate) use stats::span as stats_span;

/// What every command has at hand.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    surroundings: Surroundings,
    printer: &'a mut Printer,
    surface: Surface,
}

/// Reads the arguments, runs the command and returns how it went.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    if let Some(words) = hook_words(arguments) {
        return hook::run(&words);
    }
    let mut command = args::command();
    let parsed = command
        .try_get_matches_from_mut(arguments)
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
            Ok((cli, name_of(&matches)))
        });
    let (cli, name) = match parsed {
        Ok(cli) => cli,
        Err(error) => return print::usage(&error, arguments),
    };
    // The name of a verb is a word of ours; what was typed behind it is not.
    let span = tracing::info_span!("ken", command = name, exit = tracing::field::Empty);
    let _in = span.enter();
    let mut printer = Printer::new(&cli.global);
    let outcome = Surroundings::new(&cli.global).and_then(|surroundings| {
        let surface = Surface::Top;
        Session {
            surroundings,
            printer: &mut printer,
            surface,
        }
        .top(cli.command)
    });
    let exit = printer.finish(outcome);
    span.record("exit", exit as u8);
    exit
}

/// Returns the verb that was typed, also where it stands below `ken knowledge`.
fn name_of(matches: &ArgMatches) -> String {
    let Some((name, below)) = matches.subcommand() else {
        return String::new();
    };
    match name {
        "knowledge" => below.subcommand_name().unwrap_or(name).to_owned(),
        name => name.to_owned(),
    }
}

/// Returns what stands behind `ken hook`, unless somebody wants help.
///
/// An agent waits, and no variable or option that cannot be read may end in an error: neither is looked at.
fn hook_words(arguments: &[OsString]) -> Option<Vec<String>> {
    let words = arguments.get(1..)?.iter();
    let words: Vec<String> = words.map(|it| it.to_string_lossy().into_owned()).collect();
    let (first, rest) = words.split_first()?;
    let wants_help = rest.iter().any(|it| it == "--help" || it == "-h");
    (first == "hook" && !wants_help).then(|| rest.to_vec())
}

impl Session<'_> {
    fn top(&mut self, command: Top) -> Result<Exit, Failure> {
        match command {
            Top::Verb(verb) => self.verb(*verb),
            Top::Knowledge { verb } => {
                self.surface = Surface::Knowledge;
                self.verb(*verb)
            }
            Top::Completions(args) => completions::run(self, &args),
            Top::Man(args) => man::run(self, &args),
            Top::Version => version::run(self),
        }
    }

    fn verb(&mut self, verb: Verb) -> Result<Exit, Failure> {
        self.check_format(&verb)?;
        match verb {
            Verb::Init(args) => init::run(self, &args),
            Verb::Setup(args) => setup::run(self, &args),
            Verb::Audit(args) => audit::run(self, &args),
            Verb::Import(args) => import::run(self, &args),
            Verb::Reduce(args) => reduce::run(self, &args),
            Verb::Reflect => reflect::run(self),
            Verb::Reweave(args) => reweave::run(self, *args),
            Verb::Stage(command) => stage::run(self, &command),
            Verb::Uninstall(args) => uninstall::run(self, &args),
            Verb::Add(args) => add::run(self, &args),
            Verb::Capture(args) => add::capture(self, &args),
            Verb::List(args) => list::run(self, &args),
            Verb::Search(args) => search::run(self, *args),
            Verb::Brief(args) => brief::run(self, &args),
            Verb::Browse(args) => browse::run(self, &args),
            Verb::Show(args) => show::run(self, &args),
            Verb::Revise(args) => revise::run(self, *args),
            Verb::Run(command) => run::run(self, *command),
            Verb::Observe(args) => observe::run(self, *args),
            Verb::Hook(args) => Ok(hook::run(&args.words)),
            Verb::Feedback(args) => feedback::run(self, &args),
            Verb::Lift(args) => lift::run(self, &args),
            Verb::Stats(args) => stats::run(self, &args),
            Verb::Confidence(command) => confidence::run(self, command),
            Verb::Cite(args) => cite::run(self, args),
            Verb::Confirm(args) => confirm::run(self, &args),
            Verb::Retract(args) => retract::run(self, args),
            Verb::Restore(args) => restore::run(self, args),
            Verb::Archive(args) => archive::run(self, &args),
            Verb::Link(args) => link::run(self, &args),
            Verb::Merge(args) => merge::run(self, args),
            Verb::Distil(args) => distil::run(self, *args),
            Verb::Supersede(args) => supersede::run(self, &args),
            Verb::Duplicates(args) => duplicates::run(self, &args),
            Verb::Contradictions(args) => contradictions::run(self, &args),
            Verb::Resolve(args) => contradictions::resolve(self, &args),
            Verb::Norms(command) => norms::run(self, command),
            Verb::Extract(args) => extract::run(self, &args),
            Verb::Status(args) => status::run(self, args),
            Verb::Mark(args) => mark::run(self, args),
            Verb::Log(args) => log::run(self, &args),
            Verb::Undo => undo::run(self),
            Verb::Scan(args) => scan::run(self, &args),
            Verb::Revoke(args) => revoke::run(self, &args),
            Verb::Quarantine(command) => quarantine::run(self, command),
            Verb::Friction(command) => friction::run(self, command),
            Verb::Promote(args) => promote::run(self, *args),
            Verb::Approve(args) => approve::run(self, &args),
            Verb::Verify(args) => verify::run(self, &args),
            Verb::Reanchor(args) => reanchor::run(self, &args),
            Verb::Drift => drift::run(self),
            Verb::Health(command) => health::run(self, command),
            Verb::Maintain(args) => maintain::run(self, args),
            Verb::Sync(args) => sync::run(self, &args),
            Verb::Sharing(sharing) => self.sharing(sharing),
            Verb::Render => render::run(self),
            Verb::Export(args) => export::run(self, &args),
            Verb::Recover(args) => recover::run(self, &args),
            Verb::Blank(args) => blank::run(self, &args),
            Verb::Index(command) => index::run(self, &command),
            Verb::Model(command) => model::run(self, &command),
            Verb::Judge(args) => judge::run(self, args.command),
            Verb::Ledger(command) => ledger::run(self, command),
            Verb::Scoring { command } => scoring::run(self, command),
            Verb::Mcp(args) => mcp::run(self, &args),
            Verb::Doctor => doctor::run(self),
        }
    }

    fn sharing(&mut self, sharing: Sharing) -> Result<Exit, Failure> {
        match sharing {
            Sharing::Remote(command) => remote::run(self, command),
            Sharing::Push(args) => exchange::push(self, &args),
            Sharing::Pull(args) => exchange::pull(self, &args),
            Sharing::Serve(args) => serve::run(self, &args),
            Sharing::Hub(args) => hub::run(self, &args),
        }
    }

    /// Refuses forms of an answer that a command does not know.
    fn check_format(&self, verb: &Verb) -> Result<(), Failure> {
        let is_verify = matches!(verb, Verb::Verify(_));
        let is_audit = matches!(verb, Verb::Audit(_));
        match self.printer.format() {
            Format::Text | Format::Json => Ok(()),
            Format::Sarif | Format::Github | Format::Markdown if is_verify => Ok(()),
            Format::Markdown if is_audit => Ok(()),
            Format::Sarif | Format::Github | Format::Markdown => {
                Err(Failure::usage("only `ken verify` answers in that format"))
            }
        }
    }

    /// Opens the ledger, does something to it and tells what happened beside.
    fn write<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &Actor) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (mut engine, by) = self.surroundings.open_to_write()?;
        let result = act(&mut engine, &by);
        self.surroundings.remember(&mut engine)?;
        self.printer.notices(&engine.take_notices())?;
        result
    }

    /// Like [`Self::write`], for what also belongs to the run of whoever acts.
    fn write_as<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &Reader) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let surroundings = self.surroundings.clone();
        self.write(|engine, by| act(engine, &surroundings.as_reader(by)))
    }

    /// Like [`Self::write`], and hands what happened beside to the caller.
    fn write_quietly<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &Actor) -> Result<T, Failure>,
    ) -> Result<(T, Vec<Notice>), Failure> {
        let (mut engine, by) = self.surroundings.open_to_write()?;
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

    /// Opens the ledger, asks it something and tells what happened beside.
    fn read<T>(
        &mut self,
        ask: impl FnOnce(&mut Engine) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut engine = self.surroundings.open_to_read()?;
        let result = ask(&mut engine);
        self.printer.notices(&engine.take_notices())?;
        result
    }

    /// Opens the ledger, asks it something, and writes down which entries the answer shows to an agent.
    fn read_shown<T>(
        &mut self,
        how: How,
        ask: impl FnOnce(&mut Engine) -> Result<T, Failure>,
        shown: impl FnOnce(&T) -> Vec<EntryId>,
    ) -> Result<T, Failure> {
        let reader = self.surroundings.reader();
        self.read(|engine| {
            let answer = ask(engine)?;
            if let Some(reader) = &reader {
                engine.note_shown(reader, &shown(&answer), how)?;
            }
            Ok(answer)
        })
    }

    /// Says where the global ledger could not be asked.
    fn tell_silent(&mut self, global: &Beside) -> Result<(), Failure> {
        match global.silent() {
            None => Ok(()),
            Some(why) => {
                let said = format_args!("the global ledger was not asked: {why}");
                self.printer.talk(said)
            }
        }
    }

    /// Returns whether the answer is JSON.
    fn is_json(&self) -> bool {
        self.printer.is_json(Format::Text)
    }

    /// Answers with an entry that was just written: its id, or the whole of it for programs.
    fn written(&mut self, entry: &Entry, did: impl Display) -> Result<Exit, Failure> {
        if self.is_json() {
            self.printer.json(&EntryObject::new(entry))?;
        } else {
            self.printer.line(entry.id)?;
            self.printer.talk(did)?;
        }
        Ok(Exit::Fine)
    }
}

/// Reads a free text beside a decision.
fn note(text: Option<String>) -> Result<Option<Note>, Failure> {
    text.map(|text| text.parse().map_err(Failure::usage))
        .transpose()
}
