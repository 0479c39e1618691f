//! `ken run`: opens, records, closes and shows runs.

mod args;
mod bisect;
mod blame;
mod handoff;
mod observe;

use ken_core::json::{ClosedRunJson, OpenRunJson, PastRunJson};
use ken_core::ledger::event::{EntryEffect, Outcome};
use ken_core::trust::rediscovery::{RediscoveryMode, RediscoveryPolicy};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{ExposureChannel, Run, RunNote};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::Engine;
use ken_engine::runs::{ClosedRun, EntryReader, OpenRunRequest, PastRun};
use serde::Serialize;

use super::query_input;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::run_text::{past_run_line, past_run_text, run_line, run_text};
use crate::print::{escape_invisible, pluralize};
use crate::world::forage_place;
use args::{CloseArgs, NoteRunArgs, OpenArgs, PolicyArgs};

pub(crate) use args::RunCommand;

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: RunCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        RunCommand::Open(args) => open(session, args),
        RunCommand::Note(args) => note(session, &args),
        RunCommand::Close(args) => close(session, args),
        RunCommand::Show { run } => show(session, run),
        RunCommand::Observe(args) => observe::run(session, *args),
        RunCommand::List => list(session),
        RunCommand::Blame(args) => blame::run(session, &args),
        RunCommand::Bisect(args) => bisect::run(session, &args),
        RunCommand::Handoff(args) => handoff::run(session, args),
        RunCommand::Policy(args) => policy(session, &args),
    }
}

fn open(session: &mut Session<'_>, args: OpenArgs) -> Result<CommandExit, CommandFailure> {
    let named = session.surroundings.run().map(ToOwned::to_owned);
    let agents = args.agent.into_iter();
    let request = OpenRunRequest {
        id: args.name.or(named),
        agents: agents.map(|spec| (spec.agent, spec.member)).collect(),
        witness: args.witness,
        thread: args.thread,
        task: args.task,
    };
    let run = session.write(|engine, by| Ok(engine.open_run(request, by)?))?;
    if session.is_json() {
        session.printer.json(&OpenRunJson::new(&run))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&run.id)?;
    let id = &run.id;
    session
        .printer
        .hint(format_args!("run `export KEN_RUN={id}` to record agents in this run, and `ken run close {id} --outcome succeeded` to close it"))?;
    Ok(CommandExit::Fine)
}

fn note(session: &mut Session<'_>, args: &NoteRunArgs) -> Result<CommandExit, CommandFailure> {
    let surroundings = session.surroundings.clone();
    let run = session.write(|engine, by| {
        let agent = args.agent.as_ref().unwrap_or(by);
        // A mistyped name must not open another run.
        if let Some(name) = &args.name {
            engine.run(name)?;
        }
        let reader = named_reader(surroundings.as_reader(agent), args.name.as_deref());
        for path in &args.read {
            let path = query_input::below_root(engine.root(), &surroundings.start, path)?;
            engine.record_file_read(&reader, &path)?;
        }
        engine.record_exposures(&reader, &ids(engine, &args.saw)?, ExposureChannel::Told)?;
        let id = engine.run_for(&reader)?;
        for note in notes(engine, args, agent)? {
            engine.record_note(&id, note, by)?;
        }
        Ok(engine.run(&id)?)
    })?;
    if session.is_json() {
        session.printer.json(&OpenRunJson::new(&run))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&run.id)?;
    Ok(CommandExit::Fine)
}

/// Returns the notes of the arguments, except exposures and files.
fn notes(
    engine: &Engine,
    args: &NoteRunArgs,
    agent: &Actor,
) -> Result<Vec<RunNote>, CommandFailure> {
    let mut notes = Vec::new();
    for spec in &args.join {
        let (agent, mut member) = (spec.agent.clone(), spec.member.clone());
        // The agent starts now, so the orchestrator that writes its prompt knows its context.
        member.declared = true;
        notes.push(RunNote::Joined { agent, member });
    }
    if !args.cites.is_empty() {
        notes.push(RunNote::Said {
            agent: agent.clone(),
            words: args.says.clone(),
            cites: ids(engine, &args.cites)?,
            to: args.to.clone(),
        });
    }
    if !args.used.is_empty() {
        let entries = ids(engine, &args.used)?;
        let agent = agent.clone();
        notes.push(RunNote::Used { agent, entries });
    }
    if let Some(outcome) = args.ended {
        let agent = agent.clone();
        notes.push(RunNote::Ended { agent, outcome });
    }
    Ok(notes)
}

fn close(session: &mut Session<'_>, args: CloseArgs) -> Result<CommandExit, CommandFailure> {
    let surroundings = session.surroundings.clone();
    let ending = RunEnding {
        outcome: args.outcome,
        quality_milli: args.quality,
        rounds: args.rounds,
        cost_micros: args.cost,
        strategy: args.strategy,
    };
    let (closed, other_session) = session.write(|engine, by| {
        let reader = surroundings.as_reader(by);
        let named = args.name.as_deref().or(surroundings.run());
        let id = match named {
            Some(id) => id.to_owned(),
            None => engine.run_for(&reader)?,
        };
        // Only here, at the end of work that a command closes: never in a hook or a search.
        if let Some(place) = forage_place() {
            engine.set_forage_place(place);
        }
        let closed = engine.close_run(&id, &ending, by)?;
        let own = closed.run.session_of(by).map(ToOwned::to_owned);
        let is_other = named.is_none() && own.is_some() && own != reader.session;
        Ok((closed, own.filter(|_| is_other)))
    })?;
    if let Some(other) = other_session {
        session.printer.note(&format!(
            "closed {}, the only open run of this agent; it belongs to session {}, not to this command's",
            closed.run.id,
            escape_invisible(&other)
        ))?;
    }
    if session.is_json() {
        session.printer.json(&ClosedRunJson::new(&closed))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&closed.run.id)?;
    tell(session, &closed)
}

/// Prints the effects of a closed run on entries.
fn tell(session: &mut Session<'_>, closed: &ClosedRun) -> Result<CommandExit, CommandFailure> {
    for (id, provenance) in &closed.closing.found {
        let how = enum_label(provenance);
        session
            .printer
            .talk(format_args!("{id} found again, {how}"))?;
    }
    for (ids, what) in [
        (
            &closed.closing.restored,
            "restored: an agent found it again",
        ),
        (
            &closed.closing.archived,
            "archived: shown often enough, and no agent found it independently",
        ),
        (&closed.gained, "new"),
    ] {
        for id in ids {
            session.printer.talk(format_args!("{id} {what}"))?;
        }
    }
    for (id, status) in &closed.closing.promoted {
        session.printer.talk(format_args!("{id} is now {status}"))?;
    }
    for (finding, why) in &closed.refused {
        let title = finding.statement.title();
        session
            .printer
            .talk(format_args!("not added: \"{title}\": {why}"))?;
    }
    let touched = pluralize(closed.closing.effects.len() as u64, "entry", "entries");
    let outcome = enum_label(&closed.closing.closed.outcome);
    session
        .printer
        .talk(format_args!("closed as {outcome}; affected {touched}"))?;
    if !closed.gained.is_empty() {
        // Extracted claims are a start; the author of the work knows what mattered.
        session.printer.hint(
            "to record a lesson of your own, run `ken capture --problem … --solution … --cite …`",
        )?;
    }
    Ok(CommandExit::Fine)
}

fn show(session: &mut Session<'_>, name: Option<String>) -> Result<CommandExit, CommandFailure> {
    let named = name.or_else(|| session.surroundings.run().map(ToOwned::to_owned));
    if let Some((ended, notes, effects)) = ended(session, named.as_deref())? {
        if session.is_json() {
            let view = PastRunJson::new(&ended);
            let view = match &notes {
                Some(run) => view.with_activity(run),
                None => view,
            };
            session.printer.json(&view)?;
        } else {
            let text = past_run_text(&ended, notes.as_ref(), &effects);
            session.printer.text(text)?;
        }
        return Ok(CommandExit::Fine);
    }
    let run = session.read(|engine| match &named {
        Some(id) => Ok(engine.run(id)?),
        None => match &mut engine.open_runs()?[..] {
            [only] => Ok(only.clone()),
            _ => Err(
                CommandFailure::usage("name the run: not exactly one is open")
                    .with_hint("`ken run list` lists the open runs"),
            ),
        },
    })?;
    if session.is_json() {
        session.printer.json(&OpenRunJson::new(&run))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.text(run_text(&run))?;
    Ok(CommandExit::Fine)
}

/// Ended run, its notes if they are on this machine, and its effects on entries.
type EndedRun = (PastRun, Option<Run>, Vec<EntryEffect>);

/// Returns the ended run with this name, unless a run with the name is open.
fn ended(
    session: &mut Session<'_>,
    name: Option<&str>,
) -> Result<Option<EndedRun>, CommandFailure> {
    let Some(name) = name else {
        return Ok(None);
    };
    session.read(|engine| {
        if engine.open_runs()?.iter().any(|it| it.id == name) {
            return Ok(None);
        }
        let mut past = engine.past_runs()?;
        past.retain(|it| it.closed.run == name);
        let Some(past) = past.pop() else {
            return Ok(None);
        };
        let effects = engine.run_effects(name)?;
        Ok(Some((past, engine.ended_run(name)?, effects)))
    })
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (open, past) = session.read(|engine| Ok((engine.open_runs()?, engine.past_runs()?)))?;
    if session.is_json() {
        for run in &open {
            session.printer.json(&OpenRunJson::new(run))?;
        }
        for run in &past {
            session.printer.json(&PastRunJson::new(run))?;
        }
        return Ok(CommandExit::Fine);
    }
    for run in &past {
        session.printer.line(past_run_line(run))?;
    }
    for run in &open {
        session.printer.line(run_line(run))?;
    }
    let (open, ended) = (open.len() as u64, past.len() as u64);
    let succeeded = past
        .iter()
        .filter(|it| it.closed.outcome == Outcome::Succeeded);
    let succeeded = succeeded.count();
    session.printer.talk(format_args!(
        "{open} open, {ended} closed, {succeeded} of them succeeded"
    ))?;
    Ok(CommandExit::Fine)
}

#[derive(Serialize)]
struct PolicyObject {
    schema: &'static str,
    #[serde(flatten)]
    policy: ReviewPolicy,
    rediscovery: RediscoveryMode,
    /// Whether the model behind the belief was fitted to this workspace.
    fitted: bool,
}

fn policy(session: &mut Session<'_>, args: &PolicyArgs) -> Result<CommandExit, CommandFailure> {
    let asks = args.reviews.is_some() || args.chances.is_some() || args.blind.is_some();
    let asks = asks || args.rediscovery.is_some() || args.fit;
    let policy = if !(asks || args.reset) {
        session.read(|engine| Ok(engine.review_policy()?))?
    } else {
        session.write(|engine, by| {
            let wanted = wanted_policy(engine, args)?;
            Ok(engine.set_review_policy((!args.reset).then_some(wanted), by)?)
        })?
    };
    let RediscoveryPolicy { mode, fitted } = policy.rediscovery;
    if session.is_json() {
        session.printer.json(&PolicyObject {
            schema: "ken.run.policy.v1",
            policy,
            rediscovery: mode,
            fitted: fitted.is_some(),
        })?;
        return Ok(CommandExit::Fine);
    }
    let blind = if policy.blind { "on" } else { "off" };
    let model = fitted.map_or("", |_| " (fitted)");
    for (name, value) in [
        ("reviews", policy.reviews.to_string()),
        ("chances", policy.chances.to_string()),
        ("blind", blind.to_owned()),
        ("rediscovery", format!("{mode}{model}")),
    ] {
        session.printer.line(format_args!("{name:<13}{value}"))?;
    }
    Ok(CommandExit::Fine)
}

fn wanted_policy(engine: &Engine, args: &PolicyArgs) -> Result<ReviewPolicy, CommandFailure> {
    let now = engine.review_policy()?;
    let mut rediscovery = now.rediscovery;
    if args.fit {
        rediscovery = engine.fit_rediscovery()?.ok_or_else(|| {
            let why =
                "no entry had a chance to be found independently yet, so nothing can be fitted";
            CommandFailure::usage(why)
        })?;
    }
    // Both may be given at once: the mode does not depend on the model.
    rediscovery.mode = args.rediscovery.unwrap_or(rediscovery.mode);
    Ok(ReviewPolicy {
        reviews: args.reviews.unwrap_or(now.reviews),
        chances: args.chances.unwrap_or(now.chances),
        blind: args.blind.as_ref().map_or(now.blind, |it| it == "on"),
        rediscovery,
    })
}

fn named_reader(reader: EntryReader, name: Option<&str>) -> EntryReader {
    match name {
        Some(name) => EntryReader {
            run: Some(name.to_owned()),
            ..reader
        },
        None => reader,
    }
}

fn ids(engine: &Engine, wanted: &[String]) -> Result<Vec<EntryId>, CommandFailure> {
    let found = wanted.iter().map(|it| Ok(engine.find(it)?.id));
    found.collect()
}
