//! Letting knowledge reach further, and approving what agents may not decide.

use std::collections::BTreeSet;

use crate::actor::Actor;
use crate::content::Scope;
use crate::entry::Entry;
use crate::event::{ApprovalGranted, Body, ScopeChanged};
use crate::facts::EntryFacts;
use crate::id::EntryId;
use crate::promotion::{Artifact, Unfit, hindrance, unfit};
use crate::text::Note;

use super::{Draft, Refusal, about, person_needed, writable};

/// Lets an entry reach as far as `to`; `overridden` says that a person takes what is a matter of judgement upon
/// themselves.
pub fn widen(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: Scope,
    overridden: Option<&Actor>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    overcome(entry, unfit(entry, facts, against, to), overridden)?;
    let replaces = entry.scope.heads.clone();
    let body = Body::ScopeChanged(ScopeChanged { to, replaces });
    Ok(about(entry, body))
}

/// Refuses to let an entry reach as far as it says it does; `overridden` as in [`widen`].
pub fn check_reach(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    overridden: Option<&Actor>,
) -> Result<(), Refusal> {
    let why = hindrance(entry, facts, against, entry.scope.value);
    overcome(entry, why, overridden)
}

/// Refuses for a reason, unless a person takes it upon themselves and may.
fn overcome(entry: &Entry, why: Option<Unfit>, overridden: Option<&Actor>) -> Result<(), Refusal> {
    let Some(why) = why else {
        return Ok(());
    };
    let by = overridden.filter(|_| why.may_be_overridden());
    let entry = entry.id;
    let by = by.ok_or(Refusal::Unfit { entry, why })?;
    person_needed("promoting what has not proven itself", by)
}

/// Says that an entry reaches no further than it does: a person looked at it and decided so.
pub fn keep(entry: &Entry, by: &Actor) -> Result<Draft, Refusal> {
    writable(entry)?;
    person_needed("deciding how far an entry reaches", by)?;
    let (to, replaces) = (entry.scope.value, entry.scope.heads.clone());
    Ok(about(
        entry,
        Body::ScopeChanged(ScopeChanged { to, replaces }),
    ))
}

/// Approves an entry as it is worded now; `authors` are those who worded it.
///
/// Whether it waits for that is for the caller to say, who knows which approvals do.
pub fn approve(
    entry: &Entry,
    authors: &BTreeSet<Actor>,
    by: &Actor,
    signature: Option<String>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    person_needed("approving", by)?;
    if authors.contains(by) {
        let (entry, by) = (entry.id, by.clone());
        return Err(Refusal::OwnWords { entry, by });
    }
    let artifact = Artifact::of(entry).ok_or(Refusal::NoContent(entry.id))?;
    let digest: Note = artifact.digest().parse().expect("a digest is a short line");
    let body = Body::ApprovalGranted(ApprovalGranted {
        entry: entry.id,
        artifact: digest,
        signature,
        covers: entry.revision.clone(),
    });
    Ok(about(entry, body))
}
