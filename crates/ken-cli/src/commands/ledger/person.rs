//! `ken ledger person`: people as opaque ids, export of what is recorded about one, and erasure.

use clap::{Args, Subcommand};
use ken_core::values::person::PersonId;
use ken_engine::people::{
    ForgetPlan, ForgetReport, ListedPerson, PersonExportRecord, PersonRecord,
};
use ken_engine::replace::ReplaceReport;
use serde::Serialize;
use serde_json::Value;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};
use crate::world;

/// `ken ledger person …`.
#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// List a person under a new id; from then on events contain ids instead of names
    Add(PersonAddArgs),
    /// List the people of this repository with their ids
    #[command(after_help = "Example:\n  ken ledger person list")]
    List,
    /// Export everything recorded by or about a person, as JSON lines
    #[command(
        after_help = "Example:\n  ken ledger person export ada@example.org > ada.jsonl\n\nEach line has a field `record`: person, authored, mentioned, local or signer."
    )]
    Export {
        /// The person: id, e-mail address or full name
        person: String,
    },
    /// Delete a person's names: list, texts that mention them, local notes, keys
    Forget(ForgetArgs),
}

/// Text below the options of `ken ledger person add --help`.
const ADD_HELP: &str = "\
Examples:
  ken ledger person add
  ken ledger person add --name \"Grace Hopper\" --known-as grace@example.org

The first person creates `.ken/people.toml`, the only file with names. Commit it: every clone needs
it. Then new events name people by id, and a person who is not listed adds themselves first. Events
that exist keep their author. In `.ken/allowed_signers` and at a hub, use the id as the name.";

/// `ken ledger person add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_HELP)]
pub(crate) struct PersonAddArgs {
    /// Name that people read [default: git's user.name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// E-mail address in git, or user name; may be repeated [default: your own]
    #[arg(long, value_name = "ADDRESS", requires = "name")]
    pub(crate) known_as: Vec<String>,
    /// Id that the person has in another repository or at a hub [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<PersonId>,
}

/// Text below the options of `ken ledger person forget --help`.
const FORGET_HELP: &str = "\
Examples:
  ken ledger person forget ada@example.org
  ken ledger person forget ada@example.org --also \"A. Lovelace\" --yes

Without --yes, Ken only prints what it would delete and what stays. An event whose text mentions a
name is redacted, here and in every clone that pulls; that cannot be undone. To keep the knowledge,
add it again without the name first. A hub has names of its own: `ken hub person forget`.";

/// `ken ledger person forget`.
#[derive(Debug, Args)]
#[command(after_help = FORGET_HELP)]
pub(crate) struct ForgetArgs {
    /// The person: id, e-mail address or full name
    pub(crate) person: String,
    /// Another name to look for in texts; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) also: Vec<String>,
    /// Delete; without it, only print what would be deleted
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Serialize)]
struct PersonObject {
    schema: &'static str,
    id: String,
    name: String,
    known_as: Vec<String>,
}

/// One line of an export. Which fields it has depends on `record`.
#[derive(Serialize)]
struct PersonRecordObject {
    schema: &'static str,
    /// `person`, `authored`, `mentioned`, `local` or `signer`.
    record: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<PersonObject>,
    /// The event as it is in the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Value>,
    /// Of a local file, below `.ken`.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Of a local file or of the allowed signers.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

#[derive(Serialize)]
struct ForgottenObject {
    schema: &'static str,
    id: Option<String>,
    /// False for a trial without `--yes`.
    done: bool,
    /// Events that are redacted because a text mentions a name.
    events: Vec<String>,
    entries: Vec<String>,
    local_files: Vec<String>,
    signers: usize,
    /// Events with a name as author, citing or revoked actor; they stay.
    named_events: u64,
    /// Events whose author is the id; they stay and contain no name.
    id_events: u64,
    /// Commits with a version of the list, in git's history.
    list_commits: Option<u64>,
    /// Commits that name the person as author.
    authored_commits: Option<u64>,
    /// Commits that contain a redacted text.
    text_commits: Option<u64>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: &PersonCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        PersonCommand::Add(args) => add(session, args),
        PersonCommand::List => list(session),
        PersonCommand::Export { person } => export(session, person),
        PersonCommand::Forget(args) => forget(session, args),
    }
}

fn add(session: &mut Session<'_>, args: &PersonAddArgs) -> Result<CommandExit, CommandFailure> {
    // Who is listed decides whose name an event has, so an agent may not decide it.
    let own = session.surroundings.person()?;
    let known_as = if args.known_as.is_empty() {
        vec![own.name().to_owned()]
    } else {
        args.known_as.clone()
    };
    let name = args
        .name
        .clone()
        .or_else(|| session.surroundings.git_name());
    let record = PersonRecord {
        name: name.unwrap_or_else(|| own.name().to_owned()),
        known_as,
    };
    let added = session.read(|engine| Ok(engine.add_person(record, args.id)?))?;
    if session.is_json() {
        session.printer.json(&person_object(&added))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(added.id)?;
    session.printer.talk(format_args!(
        "events of {} are written as human:{}; names are only in .ken/people.toml",
        escape_invisible(&added.record.name),
        added.id
    ))?;
    session
        .printer
        .hint("git add .ken/people.toml && git commit -m \"people\"")?;
    Ok(CommandExit::Fine)
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let people = session.read(|engine| Ok(engine.people()?))?;
    if session.is_json() {
        for person in &people {
            session.printer.json(&person_object(person))?;
        }
        return Ok(CommandExit::Fine);
    }
    for person in &people {
        session.printer.line(format_args!(
            "{}  {}  {}",
            person.id,
            escape_invisible(&person.record.name),
            escape_invisible(&person.record.known_as.join(", "))
        ))?;
    }
    if people.is_empty() {
        session
            .printer
            .talk("events contain names; `ken ledger person add` begins to store ids")?;
    }
    Ok(CommandExit::Fine)
}

fn export(session: &mut Session<'_>, wanted: &str) -> Result<CommandExit, CommandFailure> {
    // Texts of entries without the delimiters that an agent needs, and names of people.
    session.surroundings.person()?;
    let export = session.read(|engine| Ok(engine.export_person(wanted)?))?;
    let count = export.records.len() as u64;
    for record in export.records {
        session.printer.json(&record_object(record))?;
    }
    session
        .printer
        .talk(format_args!("{}", pluralize(count, "record", "records")))?;
    Ok(CommandExit::Fine)
}

fn forget(session: &mut Session<'_>, args: &ForgetArgs) -> Result<CommandExit, CommandFailure> {
    session.surroundings.person()?;
    if !args.yes {
        let plan = session.read(|engine| Ok(engine.plan_forgetting(&args.person, &args.also)?))?;
        if session.is_json() {
            session.printer.json(&forgotten_object(&plan, None))?;
            return Ok(CommandExit::Fine);
        }
        print_plan(session, &plan, "would be")?;
        print_rest(session, &plan, None, &[])?;
        session
            .printer
            .hint("nothing was changed; add --yes to delete, which cannot be undone")?;
        return Ok(CommandExit::Fine);
    }
    let home = world::conversation_home();
    let report = session.write(|engine, by| {
        Ok(engine.forget_person(&args.person, &args.also, home.as_ref(), by)?)
    })?;
    if session.is_json() {
        let object = forgotten_object(&report.plan, Some(&report));
        session.printer.json(&object)?;
        return Ok(CommandExit::Fine);
    }
    print_plan(session, &report.plan, "was")?;
    if report.conversations_deleted {
        session.printer.line(
            "the private index of conversations was deleted; the next search reads transcripts and commits again",
        )?;
    }
    let replaced = report.replaced.as_ref();
    print_rest(session, &report.plan, replaced, &report.entry_files)?;
    Ok(CommandExit::Fine)
}

/// Prints what is deleted; `did` is "was" or "would be".
fn print_plan(
    session: &mut Session<'_>,
    plan: &ForgetPlan,
    did: &str,
) -> Result<(), CommandFailure> {
    match &plan.listed {
        Some(person) => session
            .printer
            .line(format_args!("the line of {} {did} deleted", person.id))?,
        None => session.printer.line("nobody is listed under this name")?,
    }
    for event in &plan.events {
        let entries: Vec<String> = event.entries.iter().map(ToString::to_string).collect();
        session.printer.line(format_args!(
            "{} {} {} {did} redacted",
            event.id,
            event.type_name,
            entries.join(" ")
        ))?;
    }
    for path in &plan.local_files {
        session
            .printer
            .line(format_args!(".ken/{path}: names {did} replaced"))?;
    }
    if plan.signers > 0 {
        let lines = pluralize(plan.signers as u64, "line", "lines");
        session
            .printer
            .line(format_args!(".ken/allowed_signers: {lines} {did} deleted"))?;
    }
    Ok(())
}

/// Prints what stays, and the commands that delete it.
fn print_rest(
    session: &mut Session<'_>,
    plan: &ForgetPlan,
    replaced: Option<&ReplaceReport>,
    entry_files: &[String],
) -> Result<(), CommandFailure> {
    let printer = &mut session.printer;
    if plan.named_events > 0 {
        let events = pluralize(plan.named_events, "event", "events");
        printer.line(format_args!(
            "stays: {events} with a name as author, citing or revoked actor, from before the person had an id; events never change"
        ))?;
    }
    if plan.id_events > 0 {
        let events = pluralize(plan.id_events, "event", "events");
        printer.line(format_args!(
            "stays: {events} by the id, which names nobody"
        ))?;
    }
    let Some(git) = plan.git else {
        return printer.line("stays: copies of this folder, such as backups");
    };
    let text_commits = replaced.and_then(|it| it.commits_in_history).unwrap_or(0);
    let commits = |count: u64| pluralize(count, "commit", "commits");
    printer.line(format_args!(
        "stays in git's history: {} of the list, {} with a redacted text, {} with the person as author or committer",
        commits(git.list_commits),
        commits(text_commits),
        commits(git.authored_commits)
    ))?;
    printer
        .line("stays: other clones until they pull, a hub's own names, copies such as backups")?;
    let segments = replaced.into_iter().flat_map(|it| it.removed.iter());
    let paths: Vec<String> = segments
        .map(ken_engine::SegmentName::tree_path)
        .chain(entry_files.iter().cloned())
        .map(|path| format!(" --path {path}"))
        .collect();
    printer.hint(format_args!(
        "share the erasure:\n  git add -A .ken && git commit -m \"erasure\" && ken push\n  ken hub person forget ORGANIZATION {id} --yes\nand, to rewrite the history:\n  cp .ken/people.toml people.toml\n  git filter-repo --invert-paths --path .ken/people.toml{}\n  git filter-repo --force --mailmap MAILMAP   with a line: {id} <{id}@invalid> <ADDRESS>\n  mv people.toml .ken/people.toml && ken ledger render\n  git add .ken && git commit -m \"people and entry files\"\n  git push --force --all\nThen everyone else clones again.",
        paths.concat(),
        id = plan.listed.as_ref().map_or_else(|| "PERSON".to_owned(), |it| it.id.to_string()),
    ))
}

fn person_object(person: &ListedPerson) -> PersonObject {
    PersonObject {
        schema: "ken.person.v1",
        id: person.id.to_string(),
        name: person.record.name.clone(),
        known_as: person.record.known_as.clone(),
    }
}

fn record_object(record: PersonExportRecord) -> PersonRecordObject {
    let mut object = PersonRecordObject {
        schema: "ken.person_record.v1",
        record: "",
        person: None,
        event: None,
        path: None,
        line: None,
    };
    match record {
        PersonExportRecord::Listed(person) => {
            object.record = "person";
            object.person = Some(person_object(&person));
        }
        PersonExportRecord::Authored(event) => {
            object.record = "authored";
            object.event = Some(event);
        }
        PersonExportRecord::Mentioned(event) => {
            object.record = "mentioned";
            object.event = Some(event);
        }
        PersonExportRecord::Local { path, line } => {
            object.record = "local";
            (object.path, object.line) = (Some(path), Some(line));
        }
        PersonExportRecord::Signer(line) => {
            object.record = "signer";
            object.line = Some(line);
        }
    }
    object
}

fn forgotten_object(plan: &ForgetPlan, report: Option<&ForgetReport>) -> ForgottenObject {
    let replaced = report.and_then(|it| it.replaced.as_ref());
    let mut entries: Vec<String> = plan
        .events
        .iter()
        .flat_map(|it| it.entries.iter().map(ToString::to_string))
        .collect();
    entries.sort();
    entries.dedup();
    ForgottenObject {
        schema: "ken.person_forgotten.v1",
        id: plan.listed.as_ref().map(|it| it.id.to_string()),
        done: report.is_some(),
        events: plan.events.iter().map(|it| it.id.to_string()).collect(),
        entries,
        local_files: plan.local_files.clone(),
        signers: plan.signers,
        named_events: plan.named_events,
        id_events: plan.id_events,
        list_commits: plan.git.map(|it| it.list_commits),
        authored_commits: plan.git.map(|it| it.authored_commits),
        text_commits: replaced.and_then(|it| it.commits_in_history),
    }
}
