//! Output of `ken hub`: tables as text, objects as JSON.

use std::fmt::Display;

use ken_core::values::time::Timestamp;
use ken_hub::administration::{EffectiveQuotas, RebuiltWorkspace, TokenListing};
use ken_hub::database::{OrganizationRow, RemovedWorkspace, WorkspaceRow};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::Session;
use crate::failure::CommandFailure;
use crate::print::{BOLD, DIM, TableCell, TextTable, WARN, pluralize};

/// JSON view of something that was created or changed.
#[derive(Serialize)]
struct DoneObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    /// Whether it existed before.
    known: bool,
}

#[derive(Serialize)]
struct OrganizationObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    created_at: String,
    workspaces: u64,
    events: u64,
    /// Time from which it is erased; present only if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    erase_at: Option<String>,
}

/// JSON view of a token.
#[derive(Serialize)]
struct TokenObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    actor: String,
    role: &'static str,
    /// Names of the workspaces; absent if the token is valid for all of them.
    workspaces: Option<&'a [String]>,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    /// Time of its last use, up to an hour too early.
    used_at: Option<String>,
    /// The secret, present only when the token is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

/// JSON view of a workspace.
#[derive(Serialize)]
struct WorkspaceObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    events: u64,
    bytes: u64,
    /// Whether its derived data is present; otherwise the next read rebuilds it.
    warm: bool,
    appended_at: Option<String>,
    /// Time from which it is erased; present only if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    erase_at: Option<String>,
}

#[derive(Serialize)]
struct RebuiltObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    events: u64,
    entries: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct QuotaObject<'a> {
    schema: &'static str,
    organization: &'a str,
    #[serde(flatten)]
    quotas: Map<String, Value>,
    /// Quotas that the organization sets; the others are the hub's defaults.
    own: Vec<&'static str>,
}

/// Prints the id of something that was created or changed.
pub(super) fn done(
    session: &mut Session<'_>,
    schema: &'static str,
    id: String,
    (what, name): (&str, &str),
    known: bool,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&DoneObject {
            schema,
            id,
            name,
            known,
        });
    }
    session.printer.line(id)?;
    if known {
        session
            .printer
            .talk(format_args!("{what} `{name}` already exists"))
    } else {
        session
            .printer
            .talk(format_args!("created {what} `{name}`"))
    }
}

/// JSON view of something that was renamed, removed, restored or erased.
#[derive(Serialize)]
struct ChangedObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    /// Time from which it is erased; present only if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    erase_at: Option<String>,
}

/// Prints the id of something that was renamed, removed, restored or erased, and when it will be
/// erased.
pub(super) fn changed(
    session: &mut Session<'_>,
    schema: &'static str,
    id: impl Display,
    name: &str,
    (told, erase_at): (&str, Option<Timestamp>),
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&ChangedObject {
            schema,
            id: id.to_string(),
            name,
            erase_at: erase_at.map(|at| at.to_string()),
        });
    }
    session.printer.line(id)?;
    match erase_at {
        None => session.printer.talk(told),
        Some(at) => {
            session.printer.talk(format_args!(
                "{told}; its data will be erased on {}",
                at.date()
            ))?;
            session
                .printer
                .hint("until then the same command with `restore` undoes this")
        }
    }
}

pub(super) fn organizations(
    session: &mut Session<'_>,
    rows: &[OrganizationRow],
) -> Result<(), CommandFailure> {
    if session.is_json() {
        for row in rows {
            session.printer.json(&OrganizationObject {
                schema: "ken.hub.organization.v1",
                id: row.id.0.to_string(),
                name: row.name.as_str(),
                created_at: row.created_at.to_string(),
                workspaces: row.workspaces,
                events: row.events,
                erase_at: row.erase_at.map(|at| at.to_string()),
            })?;
        }
        return Ok(());
    }
    if rows.is_empty() {
        session.printer.talk("no organizations are visible")?;
        return session.printer.hint(
            "only the database role that ran `ken hub migrate` can list organizations; `ken hub organization add NAME` creates one",
        );
    }
    let heads = [
        "ORGANIZATION",
        "WORKSPACES",
        "EVENTS",
        "CREATED",
        "STATE",
        "ID",
    ];
    let mut table = TextTable::new(&heads, 0);
    for row in rows {
        table.push(vec![
            TableCell::styled(BOLD, row.name.as_str()),
            row.workspaces.to_string().into(),
            row.events.to_string().into(),
            row.created_at.date().to_string().into(),
            TableCell::styled(WARN, row.erase_at.map(erased_on).unwrap_or_default()),
            TableCell::styled(DIM, row.id.0.to_string()),
        ]);
    }
    print(session, &table)?;
    let count = pluralize(rows.len() as u64, "organization", "organizations");
    session.printer.talk(count)
}

pub(super) fn workspaces(
    session: &mut Session<'_>,
    rows: &[WorkspaceRow],
) -> Result<(), CommandFailure> {
    if session.is_json() {
        for row in rows {
            session.printer.json(&workspace_object(row, None))?;
        }
        return Ok(());
    }
    if rows.is_empty() {
        session
            .printer
            .talk("the organization has no workspace yet")?;
        return session
            .printer
            .hint("`ken hub workspace add ORGANIZATION NAME` creates one");
    }
    let mut table = TextTable::new(&["WORKSPACE", "EVENTS", "BYTES", "LAST", "STATE"], 0);
    for row in rows {
        let state = if row.is_warm { "" } else { "evicted" };
        table.push(vec![
            TableCell::styled(BOLD, row.name.as_str()),
            row.events.to_string().into(),
            row.bytes.to_string().into(),
            row.appended_at.map(minute).unwrap_or_default().into(),
            TableCell::styled(WARN, state),
        ]);
    }
    print(session, &table)?;
    let count = pluralize(rows.len() as u64, "workspace", "workspaces");
    session.printer.talk(count)
}

/// Prints removed workspaces and when they will be erased.
pub(super) fn removed_workspaces(
    session: &mut Session<'_>,
    removed: &[RemovedWorkspace],
) -> Result<(), CommandFailure> {
    if session.is_json() {
        for it in removed {
            let object = workspace_object(&it.workspace, Some(it.erase_at));
            session.printer.json(&object)?;
        }
        return Ok(());
    }
    if removed.is_empty() {
        return session
            .printer
            .talk("the organization has no removed workspace");
    }
    let mut table = TextTable::new(&["WORKSPACE", "EVENTS", "BYTES", "REMOVED", "STATE"], 0);
    for it in removed {
        let row = &it.workspace;
        table.push(vec![
            TableCell::styled(BOLD, row.name.as_str()),
            row.events.to_string().into(),
            row.bytes.to_string().into(),
            minute(it.removed_at).into(),
            TableCell::styled(WARN, erased_on(it.erase_at)),
        ]);
    }
    print(session, &table)?;
    session
        .printer
        .hint("`ken hub workspace restore ORGANIZATION NAME` restores one")
}

fn workspace_object(row: &WorkspaceRow, erase_at: Option<Timestamp>) -> WorkspaceObject<'_> {
    WorkspaceObject {
        schema: "ken.hub.workspace.v1",
        id: row.id.0.to_string(),
        name: row.name.as_str(),
        events: row.events,
        bytes: row.bytes,
        warm: row.is_warm,
        appended_at: row.appended_at.map(|at| at.to_string()),
        erase_at: erase_at.map(|at| at.to_string()),
    }
}

/// Returns the state of something that was removed.
fn erased_on(at: Timestamp) -> String {
    format!("erased on {}", at.date())
}

pub(super) fn tokens(
    session: &mut Session<'_>,
    tokens: &[TokenListing],
    now: Timestamp,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        for token in tokens {
            self::token(session, token, None)?;
        }
        return Ok(());
    }
    if tokens.is_empty() {
        session.printer.talk("the organization has no token yet")?;
        return session
            .printer
            .hint("`ken hub token create ORGANIZATION --role ROLE --actor ACTOR` creates one");
    }
    let heads = [
        "ID",
        "ROLE",
        "ACTOR",
        "NAME",
        "WORKSPACES",
        "LAST USED",
        "EXPIRES",
    ];
    let mut table = TextTable::new(&heads, 4);
    for TokenListing { token, workspaces } in tokens {
        let actor = token.actor.to_string();
        let expires = match (token.revoked_at, token.expires_at) {
            (Some(at), _) => TableCell::styled(DIM, format!("revoked {}", at.date())),
            (None, Some(at)) if at <= now => {
                TableCell::styled(WARN, format!("expired {}", at.date()))
            }
            (None, Some(at)) => at.date().to_string().into(),
            (None, None) => "never".into(),
        };
        // Most tokens are named after their actor, so the name is printed only if it differs.
        let name = if token.name == actor { "" } else { &token.name };
        let names = workspaces.as_ref();
        table.push(vec![
            token.id.to_string().into(),
            token.role.name().into(),
            TableCell::styled(BOLD, actor),
            name.into(),
            names.map_or("all".to_owned(), |it| it.join(", ")).into(),
            token.used_at.map_or("never".to_owned(), minute).into(),
            expires,
        ]);
    }
    print(session, &table)?;
    let count = pluralize(tokens.len() as u64, "token", "tokens");
    session.printer.talk(count)
}

/// Prints one token as JSON.
pub(super) fn token(
    session: &mut Session<'_>,
    listed: &TokenListing,
    secret: Option<&str>,
) -> Result<(), CommandFailure> {
    let TokenListing { token, workspaces } = listed;
    session.printer.json(&TokenObject {
        schema: "ken.hub.token.v1",
        id: token.id.to_string(),
        name: &token.name,
        actor: token.actor.to_string(),
        role: token.role.name(),
        workspaces: workspaces.as_deref(),
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.map(|at| at.to_string()),
        revoked_at: token.revoked_at.map(|at| at.to_string()),
        used_at: token.used_at.map(|at| at.to_string()),
        secret,
    })
}

pub(super) fn rebuilt(
    session: &mut Session<'_>,
    rebuilt: &RebuiltWorkspace,
    seconds: f64,
) -> Result<(), CommandFailure> {
    let RebuiltWorkspace { workspace, entries } = rebuilt;
    if session.is_json() {
        return session.printer.json(&RebuiltObject {
            schema: "ken.hub.rebuilt.v1",
            id: workspace.id.0.to_string(),
            name: workspace.name.as_str(),
            events: workspace.events,
            entries: *entries,
            seconds,
        });
    }
    let events = pluralize(workspace.events, "event", "events");
    let entries = pluralize(*entries, "entry", "entries");
    let name = &workspace.name;
    session
        .printer
        .line(format_args!("{name}: {events}, {entries}, {seconds:.1} s"))
}

pub(super) fn evicted(
    session: &mut Session<'_>,
    workspace: &WorkspaceRow,
) -> Result<(), CommandFailure> {
    let name = workspace.name.as_str();
    if session.is_json() {
        return session.printer.json(&DoneObject {
            schema: "ken.hub.evicted.v1",
            id: workspace.id.0.to_string(),
            name,
            known: !workspace.is_warm,
        });
    }
    let events = pluralize(workspace.events, "event", "events");
    let before = if workspace.is_warm { "" } else { " already" };
    session
        .printer
        .line(format_args!("{name}: evicted{before}, {events} kept"))
}

#[derive(Serialize)]
struct RestoreAcceptedObject {
    schema: &'static str,
    keeps_tokens: bool,
}

pub(super) fn restore_accepted(
    session: &mut Session<'_>,
    keeps_tokens: bool,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        let schema = "ken.hub.restore-accepted.v1";
        return session.printer.json(&RestoreAcceptedObject {
            schema,
            keeps_tokens,
        });
    }
    session.printer.line(if keeps_tokens {
        "accepted; the tokens of the backup are valid again"
    } else {
        "accepted; tokens issued before now stay invalid: create new ones with `ken hub token create`"
    })
}

pub(super) fn quotas(
    session: &mut Session<'_>,
    organization: &str,
    allowed: &EffectiveQuotas,
) -> Result<(), CommandFailure> {
    let all = allowed.all();
    if session.is_json() {
        let of = |(what, max, _): &(&str, u64, bool)| ((*what).to_owned(), Value::from(*max));
        let own = all.iter().filter(|(.., is_own)| *is_own);
        return session.printer.json(&QuotaObject {
            schema: "ken.hub.quota.v1",
            organization,
            quotas: all.iter().map(of).collect(),
            own: own.map(|(what, ..)| *what).collect(),
        });
    }
    let mut table = TextTable::new(&["QUOTA", "MAX", "SOURCE"], 0);
    for (what, max, is_own) in all {
        let source = if is_own { "organization" } else { "default" };
        table.push(vec![
            TableCell::styled(BOLD, what.replace('_', "-")),
            max.to_string().into(),
            TableCell::styled(DIM, source),
        ]);
    }
    print(session, &table)
}

pub(super) fn print(session: &mut Session<'_>, table: &TextTable) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    session.printer.text(table.render(width))
}

/// Returns a time without seconds.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {}", time.get(..5).unwrap_or_default())
}
