//! Execution of `ken hub person`.

use ken_hub::administration::{Administration, ForgottenPerson, HubPersonRecord};
use ken_hub::identity::people::HubPerson;
use serde::Serialize;
use serde_json::Value;

use crate::commands::Session;
use crate::commands::hub::administer::{Done, attempt};
use crate::commands::hub::output;
use crate::commands::hub::person::{HubForgetArgs, HubPersonCommand, PeoplePolicyArg};
use crate::failure::CommandFailure;
use crate::print::{BOLD, TableCell, TextTable, escape_invisible, pluralize};

/// JSON view of a person.
#[derive(Serialize)]
struct HubPersonObject {
    schema: &'static str,
    id: String,
    name: Option<String>,
    subject: Option<String>,
    created_at: String,
}

/// JSON view of the policy.
#[derive(Serialize)]
struct PeoplePolicyObject {
    schema: &'static str,
    /// `ids` or `names`.
    policy: &'static str,
}

/// JSON view of one record of an export.
#[derive(Serialize)]
struct HubPersonRecordObject {
    schema: &'static str,
    /// `person`, `account`, `token`, `audit`, `authored`, `mentioned` or `quarantined`.
    record: &'static str,
    /// Absent for the organization.
    workspace: Option<String>,
    data: Value,
}

/// JSON view of an erasure.
#[derive(Serialize)]
struct HubForgottenObject {
    schema: &'static str,
    id: String,
    /// False for a trial without `--yes`.
    done: bool,
    /// Events that are redacted because a text mentions a name.
    redacted: Vec<String>,
    /// Quarantined events that are deleted for the same reason.
    discarded: u64,
    signers: u64,
    tokens_revoked: u64,
    tokens_deleted: u64,
    /// Events with a name as author, citing or revoked actor; they stay.
    named_events: u64,
    /// Audit records that contain a name; they stay, because the chain covers them.
    named_audit_records: u64,
}

pub(in crate::commands::hub) async fn run(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &HubPersonCommand,
) -> Done {
    match command {
        HubPersonCommand::Add(args) => {
            let (name, subject) = (args.name.as_deref(), args.subject.as_deref());
            let adding = hub.add_person(&args.organization, args.id, name, subject);
            let person = attempt!(adding.await);
            if session.is_json() {
                session.printer.json(&person_object(&person))?;
                return Ok(Ok(()));
            }
            session.printer.line(person.id)?;
            session.printer.hint(format_args!(
                "tokens of this person: ken hub token create {} --role ROLE --actor human:{}",
                args.organization, person.id
            ))?;
        }
        HubPersonCommand::List { organization } => {
            let (people, _) = attempt!(hub.people(organization).await);
            print_people(session, &people)?;
        }
        HubPersonCommand::Policy { organization, set } => {
            if let Some(policy) = set {
                let lists = *policy == PeoplePolicyArg::Ids;
                attempt!(hub.set_lists_people(organization, lists).await);
            }
            let (_, lists) = attempt!(hub.people(organization).await);
            let policy = if lists { "ids" } else { "names" };
            if session.is_json() {
                let schema = "ken.hub.people_policy.v1";
                let object = PeoplePolicyObject { schema, policy };
                session.printer.json(&object)?;
            } else {
                session.printer.line(policy)?;
            }
        }
        HubPersonCommand::Export {
            organization,
            person,
        } => {
            let records = attempt!(hub.export_person(organization, person).await);
            let count = records.len() as u64;
            for record in records {
                session.printer.json(&record_object(record))?;
            }
            session
                .printer
                .talk(pluralize(count, "record", "records"))?;
        }
        HubPersonCommand::Forget(args) => return forget(session, hub, args).await,
    }
    Ok(Ok(()))
}

async fn forget(session: &mut Session<'_>, hub: &Administration, args: &HubForgetArgs) -> Done {
    // Redactions are decisions of a person.
    if let Some(agent) = session.surroundings.impersonating_agent()
        && args.yes
    {
        let message = format!("{agent} runs this command and cannot redact for a person");
        return Err(CommandFailure::refused("person_needed", message));
    }
    let forgetting = hub.forget_person(&args.organization, &args.person, &args.also, !args.yes);
    let forgotten = attempt!(forgetting.await);
    if session.is_json() {
        session
            .printer
            .json(&forgotten_object(&forgotten, args.yes))?;
        return Ok(Ok(()));
    }
    print_forgotten(session, &forgotten, args.yes)?;
    Ok(Ok(()))
}

fn print_forgotten(
    session: &mut Session<'_>,
    it: &ForgottenPerson,
    is_done: bool,
) -> Result<(), CommandFailure> {
    let did = if is_done { "was" } else { "would be" };
    let were = if is_done { "were" } else { "would be" };
    let printer = &mut session.printer;
    printer.line(format_args!("the names of {} {did} erased", it.id))?;
    let revoked = pluralize(it.account.tokens_revoked, "token", "tokens");
    let deleted = pluralize(it.account.tokens_deleted, "token", "tokens");
    printer.line(format_args!(
        "the id {did} blocked; sessions {were} ended, {revoked} revoked, {deleted} of a former name deleted"
    ))?;
    for event in &it.redacted {
        printer.line(format_args!("{event} {did} redacted"))?;
    }
    for (count, one, many) in [
        (it.discarded, "quarantined event", "quarantined events"),
        (
            it.signers,
            "line of the allowed signers",
            "lines of the allowed signers",
        ),
    ] {
        if count > 0 {
            printer.line(format_args!(
                "{} {were} deleted",
                pluralize(count, one, many)
            ))?;
        }
    }
    if it.named_events > 0 {
        let events = pluralize(it.named_events, "event", "events");
        printer.line(format_args!(
            "stays: {events} with a name as author, citing or revoked actor, from before the person had an id; events never change"
        ))?;
    }
    if it.account.audit_records > 0 {
        let records = pluralize(it.account.audit_records, "audit record", "audit records");
        printer.line(format_args!(
            "stays: {records} with a name, covered by the chain"
        ))?;
    }
    printer.line(
        "stays: backups and WAL archives until they expire, delivered exports, clones until they pull, git's history, logs of the issuer and of proxies",
    )?;
    if is_done {
        return printer.hint(
            "delete the account at the issuer, too; else its next sign-in is that of a new person",
        );
    }
    printer.hint("nothing was changed; add --yes to erase, which cannot be undone")
}

fn print_people(session: &mut Session<'_>, people: &[HubPerson]) -> Result<(), CommandFailure> {
    if session.is_json() {
        let mut objects = people.iter().map(person_object);
        return objects.try_for_each(|it| session.printer.json(&it));
    }
    if people.is_empty() {
        return session.printer.talk("the organization lists no people");
    }
    let mut table = TextTable::new(&["ID", "NAME", "SUBJECT", "SINCE"], 1);
    for person in people {
        let shown = |it: &Option<String>| escape_invisible(it.as_deref().unwrap_or_default());
        table.push(vec![
            TableCell::styled(BOLD, person.id.to_string()),
            shown(&person.name).into(),
            shown(&person.subject).into(),
            person.created_at.date().to_string().into(),
        ]);
    }
    output::print(session, &table)
}

fn person_object(person: &HubPerson) -> HubPersonObject {
    HubPersonObject {
        schema: "ken.hub.person.v1",
        id: person.id.to_string(),
        name: person.name.clone(),
        subject: person.subject.clone(),
        created_at: person.created_at.to_string(),
    }
}

fn record_object(record: HubPersonRecord) -> HubPersonRecordObject {
    HubPersonRecordObject {
        schema: "ken.hub.person_record.v1",
        record: record.kind,
        workspace: record.workspace,
        data: record.data,
    }
}

fn forgotten_object(it: &ForgottenPerson, is_done: bool) -> HubForgottenObject {
    HubForgottenObject {
        schema: "ken.hub.person_forgotten.v1",
        id: it.id.to_string(),
        done: is_done,
        redacted: it.redacted.iter().map(ToString::to_string).collect(),
        discarded: it.discarded,
        signers: it.signers,
        tokens_revoked: it.account.tokens_revoked,
        tokens_deleted: it.account.tokens_deleted,
        named_events: it.named_events,
        named_audit_records: it.account.audit_records,
    }
}
