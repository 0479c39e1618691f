//! Promotion and approval: operations that agents may not perform alone.

use std::collections::BTreeSet;

use crate::ledger::entry::Entry;
use crate::ledger::event::{ApprovalGranted, EventBody, ScopeChanged};
use crate::trust::facts::EntryFacts;
use crate::trust::promotion::{
    PromotionArtifact, PromotionBarrier, promotion_barrier, scope_barrier,
};
use crate::values::actor::Actor;
use crate::values::content::EntryScope;
use crate::values::id::EntryId;
use crate::values::text::Note;

use super::{Draft, Refusal, draft_about, ensure_human, ensure_writable};

/// Widens the scope of an entry to `to`. With `overridden`, a person takes responsibility for a
/// hindrance that is a matter of judgment.
pub fn widen_scope(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: EntryScope,
    overridden: Option<&Actor>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    check_override(
        entry,
        promotion_barrier(entry, facts, against, to),
        overridden,
    )?;
    let replaces = entry.scope.heads.clone();
    let body = EventBody::ScopeChanged(ScopeChanged { to, replaces });
    Ok(draft_about(entry, body))
}

/// Refuses if the entry does not qualify for its current scope; `overridden` as in [`widen_scope`].
pub fn check_scope(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    overridden: Option<&Actor>,
) -> Result<(), Refusal> {
    let why = scope_barrier(entry, facts, against, entry.scope.value);
    check_override(entry, why, overridden)
}

/// Refuses for the reason `why`, unless a person overrides it and the reason allows that.
fn check_override(
    entry: &Entry,
    why: Option<PromotionBarrier>,
    overridden: Option<&Actor>,
) -> Result<(), Refusal> {
    let Some(why) = why else {
        return Ok(());
    };
    // Some hindrances, such as a contradiction or failed validity, cannot be overridden.
    let overrider = overridden.filter(|_| why.may_be_overridden());
    let entry = entry.id;
    let by = overrider.ok_or(Refusal::Unfit { entry, why })?;
    ensure_human("promoting an unproven entry", by)
}

/// Records a person's decision to keep the current scope.
pub fn keep_scope(entry: &Entry, by: &Actor) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    ensure_human("deciding the scope of an entry", by)?;
    // Not refused as unchanged: the event records that a person made this decision.
    let (to, replaces) = (entry.scope.value, entry.scope.heads.clone());
    Ok(draft_about(
        entry,
        EventBody::ScopeChanged(ScopeChanged { to, replaces }),
    ))
}

/// Approves the current content of an entry; `authors` are the authors of that content.
///
/// The caller checks whether the entry is pending.
pub fn approve(
    entry: &Entry,
    authors: &BTreeSet<Actor>,
    by: &Actor,
    signature: Option<String>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    ensure_human("approving an entry", by)?;
    // Checked again by the fold, which does not trust that this code wrote the event. The fold
    // compares names as they are; here a person with two spellings of an address is one person.
    if authors.iter().any(|author| author.is_same_person(by)) {
        let (entry, by) = (entry.id, by.clone());
        return Err(Refusal::OwnContent { entry, by });
    }
    // The digest binds the approval to the exact text; a later edit needs a new approval.
    let artifact = PromotionArtifact::from_entry(entry).ok_or(Refusal::NoContent(entry.id))?;
    let digest: Note = artifact.digest().parse().expect("a digest is a short line");
    let body = EventBody::ApprovalGranted(ApprovalGranted {
        entry: entry.id,
        artifact: digest,
        signature,
        covers: entry.revision.clone(),
    });
    Ok(draft_about(entry, body))
}
