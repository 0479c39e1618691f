//! Actions of a person on a workspace's pages: each is the use case of the verb with its name.

use std::collections::BTreeSet;

use ken_core::decide::ContradictionResolution;
use ken_core::ledger::event::Overlay;
use ken_core::trust::run::existing_claim::RecordOutcome;
use ken_core::values::anchor::Anchor;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::{EntryId, EventId};
use ken_ui::action::{ActionRequest, EntryAction, NewEntry, PairDecision, UserAction};
use ken_ui::source::ActionResult;

use super::source::WorkspaceSource;
use crate::ids::Role;
use crate::service::{
    self, AddEntryRequest, EditRequest, RevokeRequest, ServiceError, VerbOutcome, WorkspaceSession,
};

/// Actions of the pages with the role that they need, as the operations of the API.
// Written down and not derived: one form may stand for several operations. The matrix of pages
// tries each with every role.
const ACTIONS: [(&str, Role); 11] = [
    ("overlay", Role::Reader),
    ("add", Role::Member),
    ("edit", Role::Member),
    ("cite", Role::Member),
    ("feedback", Role::Member),
    ("confirm", Role::Member),
    ("retract", Role::Member),
    ("keep-one", Role::Member),
    ("keep-both", Role::Member),
    ("keep-scoped", Role::Member),
    ("revoke", Role::Curator),
];

/// Returns the names of the actions that a role allows. Other buttons are not drawn.
pub(super) fn allowed_actions(role: Role) -> BTreeSet<&'static str> {
    let allowed = ACTIONS.iter().filter(|(_, needs)| *needs <= role);
    allowed.map(|(name, _)| *name).collect()
}

/// Performs an action.
pub(super) async fn act(
    source: &WorkspaceSource,
    request: ActionRequest,
) -> Result<ActionResult, ServiceError> {
    // One transaction per action: a refusal after a partial change leaves nothing behind.
    let mut session = source.begin().await?;
    let done = match request.action {
        UserAction::OnEntry(id, action) => {
            let seen = request.revision.as_deref();
            on_entry(source, &mut session, (id, seen), action).await
        }
        UserAction::Add(new) => add(source, &mut session, *new).await,
        UserAction::OnPair {
            first,
            second,
            decision,
        } => on_pair(&mut session, (first, second), decision).await,
        UserAction::Revoke { source, state } => {
            require(&session, Role::Curator, "revoking a source")?;
            let message = format!("{source}: revocation changed.");
            let request = RevokeRequest { source, state };
            let changed = service::revoke_source(&mut session, &request).await?;
            Ok(outcome(&changed, message))
        }
        UserAction::ReanchorMoved
        | UserAction::AcceptClaims(_)
        | UserAction::RejectClaims(_)
        | UserAction::Maintain(_)
        | UserAction::ImportDocuments
        | UserAction::DecideDomain { .. }
        // Decided on pages of the organization.
        | UserAction::OnPeer { .. }
        // Undo needs the steps of one clone, and a hub keeps no such list.
        | UserAction::Undo(_) => Err(not_here()),
    }?;
    session.commit().await?;
    // After the commit: a live page that reads earlier would miss the change and not look again.
    source.app.log_notifier.notify(source.workspace);
    Ok(done)
}

fn not_here() -> ServiceError {
    ServiceError::invalid_request("a hub does not offer this action; use `ken ui` in a clone")
}

/// Refuses people whose role is below that of the API's operation of the same name.
fn require(
    session: &WorkspaceSession,
    needs: Role,
    what: &'static str,
) -> Result<(), ServiceError> {
    // Hidden buttons are no protection; the request is checked again.
    let has = session.caller().role;
    if has < needs {
        return Err(ServiceError::Forbidden { what, needs, has });
    }
    Ok(())
}

/// Refuses an action on an entry that changed since the person read it.
async fn check_revision(
    session: &mut WorkspaceSession,
    id: EntryId,
    seen: Option<&str>,
) -> Result<(), ServiceError> {
    // A form that was sent without scripts from an old page may lack the field; its action is
    // bound to no text.
    let Some(seen) = seen else {
        return Ok(());
    };
    // Locked before the comparison, so that no push changes the entry between it and the action.
    session.lock().await?;
    let entry = session.tx.entry(id).await?;
    let current = entry.map(|it| it.revision).unwrap_or_default();
    let current: Vec<String> = current.iter().map(EventId::to_string).collect();
    if current.join(",") == seen {
        return Ok(());
    }
    let detail = "the entry changed since you opened the page; read it again";
    Err(ServiceError::Conflict(detail.to_owned()))
}

fn outcome(changed: &VerbOutcome, message: String) -> ActionResult {
    let message = match changed.waits_for() {
        Some(reason) => format!("The change waits for a curator: {reason}"),
        None => message,
    };
    ActionResult {
        message,
        entry: changed.entries.first().copied(),
        undo: None,
    }
}

async fn on_entry(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    (id, seen): (EntryId, Option<&str>),
    action: EntryAction,
) -> Result<ActionResult, ServiceError> {
    let (wanted, by) = (id.to_string(), source.caller.actor.clone());
    // Overlays belong to the caller alone, so every reader may set them and no revision is
    // compared.
    if let EntryAction::SetOverlay { overlay, state, .. } = action {
        if !matches!(overlay, Overlay::Pin | Overlay::Mute) {
            return Err(not_here());
        }
        service::set_overlay(session, &wanted, overlay, state).await?;
        return Ok(ActionResult {
            message: format!("{id}: changed for you."),
            entry: Some(id),
            undo: None,
        });
    }
    require(session, Role::Member, "changing an entry")?;
    check_revision(session, id, seen).await?;
    let changed = match action {
        EntryAction::Confirm => service::confirm_entry(session, &wanted, None, None).await?,
        EntryAction::Edit {
            statement, reason, ..
        } => {
            let edit = EditRequest {
                changes: ContentChanges {
                    statement: Some(statement),
                    ..ContentChanges::default()
                },
                note: reason,
                ..EditRequest::default()
            };
            service::edit_entry(session, &wanted, edit, &by).await?
        }
        EntryAction::Cite(citation) => {
            service::cite_entry(session, &wanted, vec![citation], &by).await?
        }
        EntryAction::Retract { reason, note } => {
            service::retract_entry(session, &wanted, reason, note).await?
        }
        EntryAction::Feedback(verdict) => {
            let reader = source.reader()?;
            service::give_feedback(session, &reader, &wanted, verdict).await?;
            return Ok(ActionResult {
                message: format!("{id}: your feedback counts."),
                entry: Some(id),
                undo: None,
            });
        }
        EntryAction::AcceptCode(_)
        | EntryAction::Reanchor(_)
        | EntryAction::Restore
        | EntryAction::Archive
        | EntryAction::SetStatus { .. }
        // Handled above. Named again because this match has no wildcard.
        | EntryAction::SetOverlay { .. }
        | EntryAction::Link { .. }
        | EntryAction::Release(_)
        | EntryAction::Approve { .. }
        | EntryAction::Promote => return Err(not_here()),
    };
    Ok(outcome(&changed, format!("{id} is changed.")))
}

async fn add(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    new: NewEntry,
) -> Result<ActionResult, ServiceError> {
    require(session, Role::Member, "adding an entry")?;
    let request = AddEntryRequest {
        reader: source.reader()?,
        statement: new.statement,
        body: None,
        kind: new.kind,
        anchors: new.anchors.into_iter().map(Anchor::from).collect(),
        cites: new.citations,
        verify: Vec::new(),
        tags: new.tags.into_iter().collect(),
    };
    let (message, entry) = match service::add_entry(session, request).await? {
        RecordOutcome::Entry(entry) => (format!("{} is added.", entry.id), Some(entry.id)),
        RecordOutcome::Noted(id) => ("An entry already states this.".to_owned(), id),
    };
    Ok(ActionResult {
        message,
        entry,
        undo: None,
    })
}

async fn on_pair(
    session: &mut WorkspaceSession,
    (first, second): (EntryId, EntryId),
    decision: PairDecision,
) -> Result<ActionResult, ServiceError> {
    require(session, Role::Member, "resolving a contradiction")?;
    let resolution = match decision {
        PairDecision::Keep => ContradictionResolution::Keep(first),
        PairDecision::KeepBoth => ContradictionResolution::Both,
        PairDecision::KeepScoped {
            first_tag,
            second_tag,
        } => ContradictionResolution::Scoped(vec![(first, first_tag), (second, second_tag)]),
        PairDecision::NoContradiction
        | PairDecision::Merge
        | PairDecision::Supersede
        | PairDecision::NoDuplicate => return Err(not_here()),
    };
    let pair = (first.to_string(), second.to_string());
    let changed =
        service::resolve_contradiction(session, (&pair.0, &pair.1), |_, _| Ok(resolution)).await?;
    Ok(outcome(
        &changed,
        "The contradiction is resolved.".to_owned(),
    ))
}
