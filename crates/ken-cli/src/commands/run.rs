//! `ken run`: work is opened, noted, closed and looked at.

use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::close::Ending;
use ken_core::run::{How, Note};
use ken_core::text::word;
use ken_engine::Engine;
use ken_engine::runs::{Closed, NewRun, PastRun, Reader};
use serde::Serialize;

use super::{Session, hand};
use crate::args::{CloseArgs, NoteRunArgs, OpenArgs, PolicyArgs, RunCommand};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::run_text::{past_line, run_line, run_text};
use ken_core::object::{ClosedObject, PastObject, RunObject};

pub(super) fn run(session: &mut Session<'_>, command: RunCommand) -> Result<Exit, Failure> {
    match command {
        RunCommand::Open(args) => open(session, args),
        RunCommand::Note(args) => note(session, &args),
        RunCommand::Close(args) => close(session, args),
        RunCommand::Show { run } => show(session, run),
        RunCommand::List => list(session),
        RunCommand::Policy(args) => policy(session, &args),
    }
}

fn open(session: &mut Session<'_>, args: OpenArgs) -> Result<Exit, Failure> {
    let named = session.surroundings.run().map(ToOwned::to_owned);
    let agents = args.agent.into_iter();
    let wish = NewRun {
        id: args.name.or(named),
        agents: agents.map(|spec| (spec.agent, spec.member)).collect(),
        witness: args.witness,
        thread: args.thread,
        task: args.task,
    };
    let run = session.write(|engine, by| Ok(engine.open_run(wish, by)?))?;
    if session.is_json() {
        session.printer.json(&RunObject::new(&run))?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&run.id)?;
    let id = &run.id;
    session
        .printer
        .hint(format_args!("`export KEN_RUN={id}` makes what agents do part of it; `ken run close --outcome succeeded` ends it"))?;
    Ok(Exit::Fine)
}

fn note(session: &mut Session<'_>, args: &NoteRunArgs) -> Result<Exit, Failure> {
    let surroundings = session.surroundings.clone();
    let run = session.write(|engine, by| {
        let agent = args.agent.as_ref().unwrap_or(by);
        let reader = named_reader(surroundings.as_reader(agent), args.name.as_deref());
        for path in &args.read {
            let path = hand::below_root(engine.root(), &surroundings.start, path)?;
            engine.note_read(&reader, &path)?;
        }
        engine.note_shown(&reader, &ids(engine, &args.saw)?, How::Told)?;
        let id = engine.run_of(&reader)?;
        for note in notes(engine, args, agent)? {
            engine.note_run(&id, note, by)?;
        }
        Ok(engine.run(&id)?)
    })?;
    if session.is_json() {
        session.printer.json(&RunObject::new(&run))?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&run.id)?;
    Ok(Exit::Fine)
}

/// Returns the notes that are neither shown nor read.
fn notes(engine: &Engine, args: &NoteRunArgs, agent: &Actor) -> Result<Vec<Note>, Failure> {
    let mut notes = Vec::new();
    for spec in &args.join {
        let (agent, mut member) = (spec.agent.clone(), spec.member.clone());
        // Whoever is named here begins now, so whoever writes its prompt knows its context.
        member.declared = true;
        notes.push(Note::Joined { agent, member });
    }
    if !args.cites.is_empty() {
        notes.push(Note::Said {
            agent: agent.clone(),
            words: args.says.clone(),
            cites: ids(engine, &args.cites)?,
            to: args.to.clone(),
        });
    }
    if !args.used.is_empty() {
        let entries = ids(engine, &args.used)?;
        let agent = agent.clone();
        notes.push(Note::Used { agent, entries });
    }
    if let Some(outcome) = args.ended {
        let agent = agent.clone();
        notes.push(Note::Ended { agent, outcome });
    }
    Ok(notes)
}

fn close(session: &mut Session<'_>, args: CloseArgs) -> Result<Exit, Failure> {
    let surroundings = session.surroundings.clone();
    let ending = Ending {
        outcome: args.outcome,
        quality_milli: args.quality,
        rounds: args.rounds,
        cost_micros: args.cost,
        strategy: args.strategy,
    };
    let closed = session.write(|engine, by| {
        let id = match args.name.as_deref().or(surroundings.run()) {
            Some(id) => id.to_owned(),
            None => engine.run_of(&surroundings.as_reader(by))?,
        };
        Ok(engine.close_run(&id, &ending, by)?)
    })?;
    if session.is_json() {
        session.printer.json(&ClosedObject::new(&closed))?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&closed.run.id)?;
    tell(session, &closed)
}

/// Says what became of the entries.
fn tell(session: &mut Session<'_>, closed: &Closed) -> Result<Exit, Failure> {
    for (id, provenance) in &closed.closing.found {
        let how = word(provenance);
        session
            .printer
            .talk(format_args!("{id} found again, {how}"))?;
    }
    for (ids, what) in [
        (
            &closed.closing.restored,
            "restored: somebody found it again",
        ),
        (
            &closed.closing.archived,
            "laid aside: shown long enough, and nobody who had not seen it found it",
        ),
        (&closed.gained, "new"),
    ] {
        for id in ids {
            session.printer.talk(format_args!("{id} {what}"))?;
        }
    }
    for (id, status) in &closed.closing.promoted {
        session.printer.talk(format_args!("{id} is {status} now"))?;
    }
    for (finding, why) in &closed.refused {
        let title = finding.statement.title();
        session
            .printer
            .talk(format_args!("not taken up: \"{title}\": {why}"))?;
    }
    let touched = counted(closed.closing.effects.len() as u64, "entry", "entries");
    let outcome = word(&closed.closing.closed.outcome);
    session
        .printer
        .talk(format_args!("closed as {outcome}; it touched {touched}"))?;
    if !closed.gained.is_empty() {
        // What came by itself is a beginning: whoever did the work knows better what mattered.
        session.printer.hint("what you learned yourself is best told by you: `ken capture --problem … --solution … --cite …`")?;
    }
    Ok(Exit::Fine)
}

fn show(session: &mut Session<'_>, name: Option<String>) -> Result<Exit, Failure> {
    let named = name.or_else(|| session.surroundings.run().map(ToOwned::to_owned));
    if let Some(ended) = ended(session, named.as_deref())? {
        match session.is_json() {
            true => session.printer.json(&PastObject::new(&ended))?,
            false => session.printer.line(past_line(&ended))?,
        }
        return Ok(Exit::Fine);
    }
    let run = session.read(|engine| match &named {
        Some(id) => Ok(engine.run(id)?),
        None => match &mut engine.open_runs()?[..] {
            [only] => Ok(only.clone()),
            _ => Err(Failure::usage("say which run")
                .with_hint("`ken run list` shows those that are open")),
        },
    })?;
    if session.is_json() {
        session.printer.json(&RunObject::new(&run))?;
        return Ok(Exit::Fine);
    }
    session.printer.text(run_text(&run))?;
    Ok(Exit::Fine)
}

/// Returns the run that ended under this name, if none is open under it.
fn ended(session: &mut Session<'_>, name: Option<&str>) -> Result<Option<PastRun>, Failure> {
    let Some(name) = name else {
        return Ok(None);
    };
    session.read(|engine| {
        if engine.open_runs()?.iter().any(|it| it.id == name) {
            return Ok(None);
        }
        let mut past = engine.past_runs()?;
        past.retain(|it| it.closed.run == name);
        Ok(past.pop())
    })
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (open, past) = session.read(|engine| Ok((engine.open_runs()?, engine.past_runs()?)))?;
    if session.is_json() {
        for run in &open {
            session.printer.json(&RunObject::new(run))?;
        }
        for run in &past {
            session.printer.json(&PastObject::new(run))?;
        }
        return Ok(Exit::Fine);
    }
    for run in &past {
        session.printer.line(past_line(run))?;
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
        "{open} open, {ended} ended, {succeeded} of them succeeded"
    ))?;
    Ok(Exit::Fine)
}

#[derive(Serialize)]
struct PolicyObject {
    schema: &'static str,
    #[serde(flatten)]
    policy: ReviewPolicy,
}

fn policy(session: &mut Session<'_>, args: &PolicyArgs) -> Result<Exit, Failure> {
    let asks = args.reviews.is_some() || args.chances.is_some() || args.blind.is_some();
    let policy = match asks || args.reset {
        false => session.read(|engine| Ok(engine.review_policy()?))?,
        true => session.write(|engine, by| {
            let now = engine.review_policy()?;
            let wanted = ReviewPolicy {
                reviews: args.reviews.unwrap_or(now.reviews),
                chances: args.chances.unwrap_or(now.chances),
                blind: args.blind.as_ref().map_or(now.blind, |it| it == "on"),
            };
            Ok(engine.set_review_policy((!args.reset).then_some(wanted), by)?)
        })?,
    };
    if session.is_json() {
        let schema = "ken.run_policy.v1";
        session.printer.json(&PolicyObject { schema, policy })?;
        return Ok(Exit::Fine);
    }
    let blind = if policy.blind { "on" } else { "off" };
    for (name, value) in [
        ("reviews", policy.reviews.to_string()),
        ("chances", policy.chances.to_string()),
        ("blind", blind.to_owned()),
    ] {
        session.printer.line(format_args!("{name:<9}{value:>4}"))?;
    }
    Ok(Exit::Fine)
}

fn named_reader(reader: Reader, name: Option<&str>) -> Reader {
    match name {
        Some(name) => Reader {
            run: Some(name.to_owned()),
            ..reader
        },
        None => reader,
    }
}

fn ids(engine: &Engine, wanted: &[String]) -> Result<Vec<EntryId>, Failure> {
    let found = wanted.iter().map(|it| Ok(engine.find(it)?.id));
    found.collect()
}
