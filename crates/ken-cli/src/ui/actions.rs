//! Actions of the person at the browser: the same calls as those of the commands.
//!
//! Each action opens the ledger anew, as a command does, so that hand edits of entry files are
//! synced first and all its events are one step for `ken undo`.

use ken_core::decide::{MergeWording, Refusal};
use ken_core::ledger::event::Switch;
use ken_core::values::actor::Actor;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::{Note, Statement};
use ken_engine::contradictions::ContradictionResolution;
use ken_engine::import::{ClaimSelection, OlderEntries};
use ken_engine::promotion::{ApprovalInput, PromotionDecider};
use ken_engine::{Engine, EngineError};
use ken_ui::action::{ActionRequest, EntryAction, NewEntry, PairDecision, UserAction};
use ken_ui::source::ActionResult;
use serde_json::json;

use super::peers;
use crate::commands::{EntryInput, describe_domain_decision};
use crate::failure::CommandFailure;
use crate::print::pluralize;
use crate::world::Environment;

/// Decisions of a service that a message counts.
const LISTED: usize = 1;

/// The sentence about an action and the entry it changed.
type Done = (String, Option<EntryId>);

/// Performs an action as the person that git's configuration names.
pub(super) fn act(
    environment: &Environment,
    request: ActionRequest,
) -> Result<ActionResult, CommandFailure> {
    let environment = if request.redacts {
        environment.with_redaction()
    } else {
        environment.clone()
    };
    // A peer has a ledger of its own, which is no part of the repository.
    if let UserAction::OnPeer { peer, action } = request.action {
        return peers::act(&environment, &peer, action);
    }
    let (mut engine, by) = environment.open_to_write()?;
    if let Some(entry) = subject(&request.action) {
        check_revision(&engine, entry, request.revision.as_deref())?;
    }
    let newest = |engine: &Engine| {
        Ok::<_, CommandFailure>(engine.undoable_steps(1, &by)?.pop().map(|it| it.id))
    };
    let before = newest(&engine)?;
    let is_final = is_final(&request.action);
    let (message, entry) = perform(&mut engine, request.action, &by)?;
    environment.remember(&mut engine)?;
    let after = newest(&engine)?.filter(|it| !is_final && Some(*it) != before);
    Ok(ActionResult {
        message,
        entry,
        undo: after,
    })
}

/// Returns whether `ken undo` cannot reverse an action. A decision about a source or a domain is
/// about no entry, and its row on the page has the form that ends it.
fn is_final(action: &UserAction) -> bool {
    matches!(
        action,
        UserAction::Undo(_) | UserAction::Revoke { .. } | UserAction::DecideDomain { .. }
    )
}

/// Returns the entry whose content the person had to read for this action.
fn subject(action: &UserAction) -> Option<EntryId> {
    let UserAction::OnEntry(entry, action) = action else {
        return None;
    };
    let is_about_content = matches!(
        action,
        EntryAction::Edit { .. } | EntryAction::AcceptCode(_) | EntryAction::Retract { .. }
    );
    is_about_content.then_some(*entry)
}

/// Returns an error if the entry was edited since the person read it.
fn check_revision(engine: &Engine, id: EntryId, seen: Option<&str>) -> Result<(), CommandFailure> {
    let Some(seen) = seen else {
        return Ok(());
    };
    let entry = engine.entry(id)?;
    let now: Vec<String> = entry.revision.iter().map(ToString::to_string).collect();
    if now.join(",") == seen {
        return Ok(());
    }
    let statement = entry.statement_text();
    let message = format!("{id} was edited meanwhile. It now says: {statement}");
    Err(CommandFailure::refused("conflict", message)
        .with_hint("send the form again if it still applies"))
}

fn perform(engine: &mut Engine, action: UserAction, by: &Actor) -> Result<Done, CommandFailure> {
    match action {
        UserAction::OnEntry(entry, action) => perform_on_entry(engine, entry, action, by),
        UserAction::OnPair {
            first,
            second,
            decision,
        } => perform_on_pair(engine, (first, second), decision, by),
        UserAction::Add(new) => add(engine, &new, by),
        UserAction::ReanchorMoved => {
            let moved = engine.reanchor_all(by)?.moved.len() as u64;
            Ok((
                format!(
                    "followed the code of {}",
                    pluralize(moved, "entry", "entries")
                ),
                None,
            ))
        }
        UserAction::AcceptClaims(claims) => accept_claims(engine, &claims, by),
        UserAction::RejectClaims(claims) => {
            let rejected = engine.reject_inbox_claims(named(&claims)?)?.len() as u64;
            Ok((
                format!("rejected {}", pluralize(rejected, "claim", "claims")),
                None,
            ))
        }
        UserAction::Maintain(service) => {
            let done = engine.maintain(service, LISTED, by)?;
            let changed = pluralize(done.changed.len() as u64, "change", "changes");
            Ok((
                format!("{}: {changed}, {} left to you", done.task, done.left_total),
                None,
            ))
        }
        UserAction::ImportDocuments => {
            let audit = engine.audit(&[])?;
            let staged = engine
                .reduce(&audit, ClaimSelection::Importable)?
                .staged
                .len() as u64;
            Ok((
                format!(
                    "{} in the inbox",
                    pluralize(staged, "new claim", "new claims")
                ),
                None,
            ))
        }
        UserAction::Revoke { source, state } => {
            let entries = engine.revoke(&source, state, by)? as u64;
            let entries = pluralize(entries, "entry", "entries");
            let what = if state == Switch::On {
                "revoked"
            } else {
                "no longer revoked"
            };
            Ok((format!("{source} is {what}: {entries}"), None))
        }
        UserAction::DecideDomain { host, action } => {
            engine.override_domain(&host, action, by)?;
            Ok((describe_domain_decision(&host, action), None))
        }
        UserAction::OnPeer { .. } => Err(CommandFailure::usage(
            "a peer is no part of the repository's ledger",
        )),
        UserAction::Undo(step) => undo(engine, step, by),
    }
}

fn perform_on_entry(
    engine: &mut Engine,
    entry: EntryId,
    action: EntryAction,
    by: &Actor,
) -> Result<Done, CommandFailure> {
    use EntryAction as Act;
    let what = match action {
        Act::Confirm => engine.confirm(entry, None, by).map(|_| "confirmed")?,
        Act::Edit {
            statement,
            reason,
            accepts_code,
        } => {
            edit(engine, entry, (statement, reason), by)?;
            if accepts_code {
                match engine.accept_current_code(entry, None, by) {
                    Ok(_) | Err(EngineError::Refused(Refusal::NothingChanges)) => {}
                    Err(error) => {
                        let what = format!("{entry}: edited; the code was not accepted: {error}");
                        return Ok((what, Some(entry)));
                    }
                }
            }
            "edited"
        }
        Act::Cite(citation) => engine.cite(entry, citation, by).map(|_| "citation added")?,
        Act::AcceptCode(citation) => engine
            .accept_current_code(entry, citation, by)
            .map(|_| "still true")?,
        Act::Reanchor(to) => engine
            .reanchor_to(entry, vec![to], by)
            .map(|_| "anchor moved")?,
        Act::Retract { reason, note } => engine
            .retract(entry, reason, note, by)
            .map(|_| "retracted")?,
        Act::Restore => engine.restore(entry, None, by).map(|_| "restored")?,
        Act::Archive => engine.archive(entry, by).map(|_| "archived")?,
        Act::SetStatus { status, note } => engine
            .set_status(entry, status, note, by)
            .map(|_| status.name())?,
        Act::SetOverlay {
            overlay,
            state,
            note,
        } => {
            engine.set_overlay(entry, overlay, state, note, by)?;
            match state {
                Switch::On => "marked",
                Switch::Off => "mark removed",
            }
        }
        Act::Link { to, relation } => engine.link(entry, to, relation, by).map(|_| "linked")?,
        Act::Feedback(verdict) => engine
            .feedback(entry, verdict, by)
            .map(|_| "feedback recorded")?,
        Act::Release(reason) => engine.release(entry, reason, by).map(|_| "released")?,
        Act::Approve { digest, signature } => {
            approve(engine, entry, &digest, signature, by)?;
            "approved"
        }
        Act::Promote => engine
            .promote_to_workspace(entry, PromotionDecider::Person, by)
            .map(|_| "promoted to the workspace")?,
    };
    Ok((format!("{entry}: {what}"), Some(entry)))
}

fn edit(
    engine: &mut Engine,
    entry: EntryId,
    (statement, reason): (Statement, Option<Note>),
    by: &Actor,
) -> Result<(), CommandFailure> {
    let changes = ContentChanges {
        statement: Some(statement),
        ..ContentChanges::default()
    };
    engine.edit(entry, changes, reason, by)?;
    Ok(())
}

fn perform_on_pair(
    engine: &mut Engine,
    (first, second): (EntryId, EntryId),
    decision: PairDecision,
    by: &Actor,
) -> Result<Done, CommandFailure> {
    let message = match decision {
        PairDecision::Keep => {
            engine.resolve_contradiction(
                first,
                second,
                ContradictionResolution::Keep(first),
                by,
            )?;
            format!("{first} stays, {second} is superseded")
        }
        PairDecision::KeepBoth => {
            engine.resolve_contradiction(first, second, ContradictionResolution::Both, by)?;
            format!("{first} and {second} both stay")
        }
        PairDecision::KeepScoped {
            first_tag,
            second_tag,
        } => {
            let tags = vec![(first, first_tag), (second, second_tag)];
            engine.resolve_contradiction(
                first,
                second,
                ContradictionResolution::Scoped(tags),
                by,
            )?;
            format!("{first} and {second} both stay, each with a tag")
        }
        PairDecision::NoContradiction => {
            engine.dismiss_contradiction(first, second, by)?;
            format!("{first} and {second} do not contradict each other")
        }
        PairDecision::Merge => {
            engine.merge(first, &[second], MergeWording::Target, by)?;
            format!("{second} merged into {first}")
        }
        PairDecision::Supersede => {
            engine.supersede(second, first, by)?;
            format!("{first} supersedes {second}")
        }
        PairDecision::NoDuplicate => {
            engine.dismiss_duplicate(first, second, by)?;
            format!("{first} and {second} do not state the same")
        }
    };
    Ok((message, Some(first)))
}

fn undo(engine: &mut Engine, step: EventId, by: &Actor) -> Result<Done, CommandFailure> {
    let undone = engine.undo(Some(step), by)?;
    let entries: Vec<String> = undone.entries.iter().map(ToString::to_string).collect();
    let kept = match undone.kept.join(", ") {
        kept if kept.is_empty() => kept,
        kept => format!("; stays: {kept}"),
    };
    let message = format!("undone: {}{kept}", entries.join(", "));
    Ok((message, undone.entries.first().copied()))
}

fn named(claims: &[String]) -> Result<&[String], CommandFailure> {
    // Without a name, the engine would take every claim.
    if claims.is_empty() {
        return Err(CommandFailure::usage("no claim was named"));
    }
    Ok(claims)
}

fn accept_claims(
    engine: &mut Engine,
    claims: &[String],
    by: &Actor,
) -> Result<Done, CommandFailure> {
    let accepted = engine.accept_inbox_claims(named(claims)?, OlderEntries::Supersede, by)?;
    if let (Some(refused), true) = (accepted.refused.first(), accepted.entries.is_empty()) {
        return Err(CommandFailure::refused("refused", &refused.reason));
    }
    let number = accepted.entries.len() as u64;
    let ids: Vec<String> = accepted
        .entries
        .iter()
        .map(|(id, _)| id.to_string())
        .collect();
    let mut message = format!(
        "accepted {}: {}",
        pluralize(number, "claim", "claims"),
        ids.join(", ")
    );
    for (old, new) in &accepted.older.superseded {
        message = format!("{message}; {new} supersedes {old}");
    }
    for it in &accepted.older.kept {
        message = format!("{message}; {} stays: {}", it.older, it.reason);
    }
    Ok((message, accepted.entries.first().map(|(id, _)| *id)))
}

/// Adds an entry through the same input as `ken add` and MCP.
fn add(engine: &mut Engine, new: &NewEntry, by: &Actor) -> Result<Done, CommandFailure> {
    let cites: Vec<String> = new
        .citations
        .iter()
        .map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref))
        .collect();
    let anchors: Vec<String> = new.anchors.iter().map(ToString::to_string).collect();
    let input = json!({
        "kind": new.kind.name(),
        "statement": new.statement.as_str(),
        "anchors": anchors,
        "cite": cites,
        "tags": new.tags,
    });
    let proposal = EntryInput::parse(&input.to_string())?.proposal(engine, by)?;
    let entry = engine.add(proposal, by)?;
    Ok((format!("{} added", entry.id), Some(entry.id)))
}

/// Approves an entry if its artifact is the one that the person read.
fn approve(
    engine: &mut Engine,
    id: EntryId,
    digest: &str,
    signature: Option<String>,
    by: &Actor,
) -> Result<(), CommandFailure> {
    let pending = engine
        .pending_approvals()?
        .into_iter()
        .find(|it| it.entry.id == id);
    let Some(pending) = pending else {
        return Err(CommandFailure::refused(
            "conflict",
            format!("{id} does not wait for an approval"),
        ));
    };
    if pending.artifact != digest {
        return Err(CommandFailure::refused(
            "conflict",
            format!("{id} was edited since you read it"),
        ));
    }
    let artifact = Some(engine.artifact_bytes(&pending.entry)?);
    engine.approve(
        id,
        ApprovalInput {
            artifact,
            signature,
        },
        by,
    )?;
    Ok(())
}
