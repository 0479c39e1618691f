//! Operator commands on people: ids, export of what is stored about one, and erasure of names.
//!
//! Texts that mention a person are redacted in the name of the person who gives the command, so
//! every clone that pulls deletes them, too. A legal hold anywhere in the organization keeps the
//! names, because they explain the ids in every workspace.

use ken_core::ledger::event::{BlankReason, EventBlanked, RecordedEvent, RetractReason, Retracted};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::mention::PersonNames;
use ken_core::values::person::PersonId;
use ken_remote::wire::LogCursor;
use serde_json::{Value, json};
use sqlx::Row as _;
use uuid::Uuid;

use super::{Administration, AdministrationError, PAGE_ROWS, load_workspaces};
use crate::database::audit::{AuditAction, AuditActor};
use crate::database::{OrganizationTx, WorkspaceRow};
use crate::identity::people::{self, ForgottenAccount, HubPerson};
use crate::identity::{IdentityError, accounts, tokens};
use crate::service::{WorkspaceSession, redact_event, retract_entry};
use crate::store::StoreError;

/// Something stored about a person.
#[derive(Clone, Debug, PartialEq)]
pub struct HubPersonRecord {
    /// `person`, `account`, `token`, `audit`, `authored`, `mentioned` or `quarantined`.
    pub kind: &'static str,
    /// The workspace; `None` for the organization.
    pub workspace: Option<String>,
    pub data: Value,
}

/// What erasing a person's names did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenPerson {
    pub id: PersonId,
    /// Events that were redacted because a text mentions a name.
    pub redacted: Vec<EventId>,
    /// Quarantined events that were deleted for the same reason.
    pub discarded: u64,
    /// Lines that were removed from the allowed signers.
    pub signers: u64,
    pub account: ForgottenAccount,
    /// Events that have a name as an actor (author, citing, revoked), from before the person had an
    /// id. They stay.
    pub named_events: u64,
}

/// A person and the names to look for.
struct SoughtPerson {
    person: HubPerson,
    texts: Vec<String>,
    names: PersonNames,
}

/// What a workspace's log has of a person.
#[derive(Default)]
struct LogFindings {
    authored: Vec<Value>,
    mentioned: Vec<(EventId, Value)>,
    /// Retractions among these.
    retractions: Vec<(EntryId, RetractReason)>,
    named_events: u64,
}

impl SoughtPerson {
    fn is_author(&self, by: &Actor) -> bool {
        let id = self.person.id.actor();
        by.name() == id.name() || by.is_client_of(&id) || self.names.are_in(by.name())
    }
}

impl Administration {
    /// Returns the people of an organization, and whether it lists who signs in.
    pub async fn people(
        &self,
        organization: &str,
    ) -> Result<(Vec<HubPerson>, bool), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let people = people::list(&mut tx).await?;
        Ok((people, people::lists_new(&mut tx).await?))
    }

    /// Sets whether people who sign in are listed under a new id.
    pub async fn set_lists_people(
        &self,
        organization: &str,
        lists: bool,
    ) -> Result<(), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        people::set_lists_new(&mut tx, lists).await?;
        let subject = if lists { "ids" } else { "names" };
        tx.audit(self.operator(), AuditAction::PeopleChanged, subject)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Lists a person under an id, which tokens then name.
    pub async fn add_person(
        &self,
        organization: &str,
        id: Option<PersonId>,
        name: Option<&str>,
        subject: Option<&str>,
    ) -> Result<HubPerson, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let person = people::add(&mut tx, id, name, subject).await?;
        // The id only: a name in the audit log could not be erased.
        tx.audit(self.operator(), AuditAction::PersonAdded, person.id)
            .await?;
        tx.commit().await?;
        Ok(person)
    }

    /// Returns everything that an organization stores by or about a person.
    pub async fn export_person(
        &self,
        organization: &str,
        wanted: &str,
    ) -> Result<Vec<HubPersonRecord>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let sought = find_person(&mut tx, wanted, &[]).await?;
        let workspaces = load_workspaces(&mut tx).await?;
        let mut records = own_records(&mut tx, &sought).await?;
        let own = tx.id().0;
        let audit = audit_rows(tx.connection(), own, &sought).await?;
        records.extend(audit.into_iter().map(|data| record("audit", None, data)));
        drop(tx);
        for workspace in &workspaces {
            let name = Some(workspace.name.to_string());
            let found = self.search_log(workspace, &sought).await?;
            let authored = found.authored.into_iter();
            records.extend(authored.map(|it| record("authored", name.clone(), it)));
            let mentioned = found.mentioned.into_iter();
            records.extend(mentioned.map(|(_, it)| record("mentioned", name.clone(), it)));
            let begun = self
                .database
                .begin_log(workspace.organization, workspace.id);
            let mut tx = begun.await?;
            let key = tx.workspace_id().0;
            let held = quarantined_lines(tx.connection(), key, &sought).await?;
            records.extend(held.into_iter().map(|(_, line)| {
                let data = serde_json::from_str(&line).unwrap_or_default();
                record("quarantined", name.clone(), data)
            }));
            let audit = audit_rows(tx.connection(), key, &sought).await?;
            records.extend(
                audit
                    .into_iter()
                    .map(|it| record("audit", name.clone(), it)),
            );
        }
        Ok(records)
    }

    /// Erases a person's names, or only says what that would do. Refuses while a hold keeps
    /// anything of the organization.
    pub async fn forget_person(
        &self,
        organization: &str,
        wanted: &str,
        also: &[String],
        is_trial: bool,
    ) -> Result<ForgottenPerson, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let sought = find_person(&mut tx, wanted, also).await?;
        if people::is_held(&mut tx).await? {
            return Err(AdministrationError::PersonHeld);
        }
        let workspaces = load_workspaces(&mut tx).await?;
        // Each redaction has a transaction of its own, which this one must not wait for.
        drop(tx);
        let mut forgotten = ForgottenPerson {
            id: sought.person.id,
            redacted: Vec::new(),
            discarded: 0,
            signers: 0,
            account: ForgottenAccount::default(),
            named_events: 0,
        };
        // First all texts: without the row, a second call could not find them.
        for workspace in &workspaces {
            self.forget_in_workspace(workspace, &sought, is_trial, &mut forgotten)
                .await?;
        }
        let mut tx = self.begin_organization(organization).await?;
        // Asked again under the lock, which now stays until the commit.
        if people::is_held(&mut tx).await? {
            return Err(AdministrationError::PersonHeld);
        }
        forgotten.signers = remove_signers(&mut tx, &sought).await?;
        let own = tx.id().0;
        let named = named_audit_records(tx.connection(), own, &sought).await?;
        let audit_records = forgotten.account.audit_records + named;
        forgotten.account = people::forget(&mut tx, &sought.person).await?;
        forgotten.account.audit_records = audit_records;
        if is_trial {
            tx.rollback().await?;
            return Ok(forgotten);
        }
        tx.audit(self.operator(), AuditAction::PersonForgotten, forgotten.id)
            .await?;
        tx.commit().await?;
        Ok(forgotten)
    }

    async fn forget_in_workspace(
        &self,
        workspace: &WorkspaceRow,
        sought: &SoughtPerson,
        is_trial: bool,
        forgotten: &mut ForgottenPerson,
    ) -> Result<(), AdministrationError> {
        let found = self.search_log(workspace, sought).await?;
        forgotten.named_events += found.named_events;
        let events: Vec<EventId> = found.mentioned.into_iter().map(|(id, _)| id).collect();
        if !is_trial && !events.is_empty() {
            let by = self.by.clone().filter(Actor::is_human);
            let by = by.ok_or(AdministrationError::NoPerson)?;
            let mut session = self.begin_session(workspace, by).await?;
            // Under a lock until the commit: a hold that is placed now waits, and keeps the rest.
            if session.tx.is_held().await? {
                return Err(AdministrationError::PersonHeld);
            }
            let retractions = in_force(&mut session, found.retractions).await?;
            for event in &events {
                redact_event(&mut session, *event, BlankReason::Personal)
                    .await
                    .map_err(Box::new)?;
            }
            // Without its retraction a claim would come back, so it is retracted without the note.
            for (entry, reason) in retractions {
                let now = session.tx.entry(entry).await?;
                if now.is_some_and(|it| it.retracted.is_none() && it.content.is_some()) {
                    retract_entry(&mut session, &entry.to_string(), reason, None)
                        .await
                        .map_err(Box::new)?;
                }
            }
            session.commit().await.map_err(Box::new)?;
        }
        forgotten.redacted.extend(events);
        let begun = self
            .database
            .begin_log(workspace.organization, workspace.id);
        let mut tx = begun.await?;
        if tx.is_held().await? {
            return Err(AdministrationError::PersonHeld);
        }
        let key = tx.workspace_id().0;
        let named = named_audit_records(tx.connection(), key, sought).await?;
        forgotten.account.audit_records += named;
        let held = quarantined_lines(tx.connection(), key, sought).await?;
        forgotten.discarded += held.len() as u64;
        let held: Vec<Uuid> = held.into_iter().map(|(event, _)| event).collect();
        let delete = "DELETE FROM ken.held WHERE workspace_id = $1 AND event = ANY ($2)";
        sqlx::query(delete)
            .bind(key)
            .bind(&held)
            .execute(tx.connection())
            .await
            .map_err(IdentityError::from)?;
        replace_local_names(tx.connection(), key, sought).await?;
        if is_trial {
            tx.rollback().await?;
            return Ok(());
        }
        if !held.is_empty() {
            let subject = format!("{} events that name {}", held.len(), sought.person.id);
            let by = AuditActor::Operator(self.by.as_ref());
            let act = AuditAction::QuarantinedEventDiscarded;
            tx.audit(by, act, subject).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Reads a workspace's log and finds what is by or about a person.
    async fn search_log(
        &self,
        workspace: &WorkspaceRow,
        sought: &SoughtPerson,
    ) -> Result<LogFindings, AdministrationError> {
        let begun = self
            .database
            .begin_log(workspace.organization, workspace.id);
        let mut tx = begun.await?;
        let (mut found, mut cursor) = (LogFindings::default(), LogCursor::default());
        loop {
            let page = tx.events_after(cursor, PAGE_ROWS).await?;
            cursor = page.cursor;
            for logged in &page.events {
                let recorded =
                    RecordedEvent::parse(logged.line.as_bytes()).map_err(StoreError::damaged)?;
                let line: Value = serde_json::from_str(&logged.line).unwrap_or_default();
                let by = &recorded.event.by;
                let is_order = recorded.event.get::<EventBlanked>().is_some();
                let is_in_text = sought.names.are_in_text_of(&line["data"]);
                let is_named = sought.names.are_in(by.name())
                    || (!is_in_text && sought.names.are_in_json(&line["data"]));
                found.named_events += u64::from(is_named);
                if is_in_text && !is_order && !recorded.is_redacted() {
                    if let Some(data) = recorded.event.get::<Retracted>() {
                        let entries = recorded.event.entries();
                        let retracted = entries.map(|entry| (entry, data.reason));
                        found.retractions.extend(retracted);
                    }
                    found.mentioned.push((logged.id, line));
                } else if sought.is_author(by) {
                    found.authored.push(line);
                }
            }
            if !page.more {
                return Ok(found);
            }
        }
    }
}

/// Returns the retractions of entries that are retracted now.
async fn in_force(
    session: &mut WorkspaceSession,
    retractions: Vec<(EntryId, RetractReason)>,
) -> Result<Vec<(EntryId, RetractReason)>, AdministrationError> {
    let mut found = Vec::new();
    for (entry, reason) in retractions {
        let now = session.tx.entry(entry).await?;
        if now.is_some_and(|it| it.retracted.is_some()) {
            found.push((entry, reason));
        }
    }
    Ok(found)
}

fn record(kind: &'static str, workspace: Option<String>, data: Value) -> HubPersonRecord {
    HubPersonRecord {
        kind,
        workspace,
        data,
    }
}

/// Returns the person whom a command names by id, actor, subject or full name.
async fn find_person(
    tx: &mut OrganizationTx,
    wanted: &str,
    also: &[String],
) -> Result<SoughtPerson, AdministrationError> {
    let plain = wanted.strip_prefix("human:").unwrap_or(wanted);
    let folded = plain.to_lowercase();
    let is_wanted = |it: &&HubPerson| {
        let name = it.name.as_ref().map(|name| name.to_lowercase());
        it.id.to_string() == plain
            || it.subject.as_deref() == Some(plain)
            || it.subject.as_deref() == Some(&folded)
            || name.as_deref() == Some(&folded)
    };
    let all = people::list(tx).await?;
    let mut found: Vec<&HubPerson> = all.iter().filter(is_wanted).collect();
    // Two people of one name are told apart by their ids only.
    let missing = || AdministrationError::NoListedPerson(wanted.to_owned());
    let person = match found.len() {
        1 => found.remove(0).clone(),
        _ => return Err(missing()),
    };
    let mut texts = also.to_vec();
    texts.extend(person.name.clone());
    texts.extend(person.subject.clone());
    texts.retain(|it| it.trim().chars().count() >= PersonNames::CHARS_MIN);
    let names = PersonNames::new(texts.iter().map(String::as_str));
    Ok(SoughtPerson {
        person,
        texts,
        names,
    })
}

/// Returns the person's row, accounts and tokens, without secrets.
async fn own_records(
    tx: &mut OrganizationTx,
    sought: &SoughtPerson,
) -> Result<Vec<HubPersonRecord>, AdministrationError> {
    let person = &sought.person;
    let row = json!({"id": person.id, "name": person.name, "subject": person.subject,
        "created_at": person.created_at.to_string()});
    let mut records = vec![record("person", None, row)];
    let mut after: Option<String> = None;
    loop {
        let page = accounts::list(tx, after.as_deref(), PAGE_ROWS).await?;
        after = page.last().map(|it| it.actor.to_string());
        let is_last = page.len() < PAGE_ROWS as usize;
        let own = page.into_iter().filter(|it| sought.is_author(&it.actor));
        records.extend(own.map(|it| {
            let data = json!({"actor": it.actor.to_string(), "description": it.description,
                "blocked_at": it.blocked_at.map(|at| at.to_string()), "tokens": it.tokens,
                "sessions": it.sign_ins, "used_at": it.used_at.map(|at| at.to_string())});
            record("account", None, data)
        }));
        if is_last {
            break;
        }
    }
    let mut after = None;
    loop {
        let page = tokens::list(tx, after, PAGE_ROWS).await?;
        after = page.last().map(|it| it.id);
        let is_last = page.len() < PAGE_ROWS as usize;
        let own = page.into_iter().filter(|it| sought.is_author(&it.actor));
        records.extend(own.map(|it| {
            let data = json!({"id": it.id.to_string(), "name": it.name, "role": it.role.name(),
                "actor": it.actor.to_string(), "created_at": it.created_at.to_string(),
                "used_at": it.used_at.map(|at| at.to_string())});
            record("token", None, data)
        }));
        if is_last {
            return Ok(records);
        }
    }
}

/// Returns the patterns of `LIKE` for every text, special signs escaped.
fn like_patterns<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let escaped = |it: &String| {
        let it = it.replace('\\', "\\\\").replace('%', "\\%");
        format!("%{}%", it.replace('_', "\\_"))
    };
    texts.into_iter().map(escaped).collect()
}

/// Condition that an audit record names one of the patterns `$2`.
const NAMES_PATTERN: &str = "(by ILIKE ANY ($2) OR subject ILIKE ANY ($2)
    OR array_to_string(authors, ' ') ILIKE ANY ($2))";

/// Returns the audit records of a chain by or about a person, oldest first.
async fn audit_rows(
    connection: &mut sqlx::PgConnection,
    key: Uuid,
    sought: &SoughtPerson,
) -> Result<Vec<Value>, AdministrationError> {
    let id = sought.person.id.to_string();
    let query = format!(
        "SELECT id, jsonb_build_object('at', at, 'by', by, 'role', role, 'act', act, 'subject',
             subject, 'address', address, 'outcome', outcome)::text
         FROM ken.audit WHERE workspace_id = $1 AND {NAMES_PATTERN} AND $3 < id
         ORDER BY id LIMIT $4"
    );
    let patterns = like_patterns(sought.texts.iter().chain([&id]));
    let (mut found, mut after) = (Vec::new(), Uuid::nil());
    loop {
        let rows = sqlx::query(sqlx::AssertSqlSafe(query.clone()))
            .bind(key)
            .bind(&patterns)
            .bind(after)
            .bind(i64::from(PAGE_ROWS))
            .fetch_all(&mut *connection)
            .await
            .map_err(IdentityError::from)?;
        for row in &rows {
            after = row.try_get(0).map_err(IdentityError::from)?;
            let text: &str = row.try_get(1).map_err(IdentityError::from)?;
            found.push(serde_json::from_str(text).unwrap_or_default());
        }
        if rows.len() < PAGE_ROWS as usize {
            return Ok(found);
        }
    }
}

/// Counts the audit records of a chain that contain a name, not only the id. Their digests cover
/// it, so they stay.
async fn named_audit_records(
    connection: &mut sqlx::PgConnection,
    key: Uuid,
    sought: &SoughtPerson,
) -> Result<u64, AdministrationError> {
    let query =
        format!("SELECT count(*) FROM ken.audit WHERE workspace_id = $1 AND {NAMES_PATTERN}");
    let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
        .bind(key)
        .bind(like_patterns(&sought.texts))
        .fetch_one(connection)
        .await
        .map_err(IdentityError::from)?;
    Ok(count.unsigned_abs())
}

/// Returns the quarantined events that mention a person.
async fn quarantined_lines(
    connection: &mut sqlx::PgConnection,
    key: Uuid,
    sought: &SoughtPerson,
) -> Result<Vec<(Uuid, String)>, AdministrationError> {
    let query = "SELECT event, line FROM ken.held WHERE workspace_id = $1 ORDER BY event";
    let rows: Vec<(Uuid, String)> = sqlx::query_as(query)
        .bind(key)
        .fetch_all(connection)
        .await
        .map_err(IdentityError::from)?;
    let mentions = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        sought.names.are_in_json(&line)
    };
    Ok(rows
        .into_iter()
        .filter(|(_, line)| mentions(line))
        .collect())
}

/// Replaces a person's names by the id in what is stored beside the log: who pushed an event, runs
/// and their notes, overlays.
async fn replace_local_names(
    connection: &mut sqlx::PgConnection,
    key: Uuid,
    sought: &SoughtPerson,
) -> Result<(), AdministrationError> {
    let id = sought.person.id;
    if let Some(subject) = &sought.person.subject {
        let named = format!("human:{subject}");
        for update in [
            "UPDATE ken.events SET pusher = $3 WHERE workspace_id = $1 AND pusher = $2",
            "UPDATE ken.runs SET by = $3 WHERE workspace_id = $1 AND by = $2",
            "UPDATE ken.held SET by = $3 WHERE workspace_id = $1 AND by = $2",
            "DELETE FROM ken.overlays WHERE workspace_id = $1 AND actor IN ($2, $3)",
        ] {
            sqlx::query(update)
                .bind(key)
                .bind(&named)
                .bind(id.actor().to_string())
                .execute(&mut *connection)
                .await
                .map_err(IdentityError::from)?;
        }
    }
    let query =
        "SELECT run, n, note FROM ken.run_notes WHERE workspace_id = $1 AND note ILIKE ANY ($2)";
    let notes: Vec<(String, i32, String)> = sqlx::query_as(query)
        .bind(key)
        .bind(like_patterns(&sought.texts))
        .fetch_all(&mut *connection)
        .await
        .map_err(IdentityError::from)?;
    for (run, n, note) in notes {
        let Some(note) = sought.names.replace(&note, &id.to_string()) else {
            continue;
        };
        let update =
            "UPDATE ken.run_notes SET note = $4 WHERE workspace_id = $1 AND run = $2 AND n = $3";
        sqlx::query(update)
            .bind(key)
            .bind(run)
            .bind(n)
            .bind(note)
            .execute(&mut *connection)
            .await
            .map_err(IdentityError::from)?;
    }
    Ok(())
}

/// Removes a person's keys from the allowed signers and returns the number of lines.
async fn remove_signers(
    tx: &mut OrganizationTx,
    sought: &SoughtPerson,
) -> Result<u64, AdministrationError> {
    let Some(text) = tx.signers().await? else {
        return Ok(0);
    };
    let id = sought.person.id.to_string();
    let is_kept = |line: &&str| !line.contains(&id) && !sought.names.are_in(line);
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    let removed = text.lines().count() - kept.len();
    if removed > 0 {
        let text: String = kept.iter().map(|it| format!("{it}\n")).collect();
        tx.set_signers(Some(text.as_str()).filter(|it| !it.is_empty()))
            .await?;
    }
    Ok(removed as u64)
}
