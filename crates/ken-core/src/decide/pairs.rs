//! Operations on pairs of entries: merge, supersede, dismiss, flag and resolve.

use std::collections::BTreeSet;

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    Channel, ContradictionFlagged, ContradictionResolved, EventBody, Keep, MergeStrategy, Merged,
    Origin, PairDismissed, PairKind, Superseded,
};
use crate::ledger::workspace::WorkspaceState;
use crate::values::actor::Actor;
use crate::values::content::{Content, ContentChanges};
use crate::values::id::{EntryId, EventId};
use crate::values::text::{Note, Statement, Tag};

use super::change::{attribute_change, edit, ensure_flow, ensure_may_change};
use super::{Draft, Refusal, ensure_writable};

/// Minimum length of a source's statement, as a percentage of the target's, to replace it.
pub const LONGER_PERCENT: usize = 120;

/// The statement of a merged entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeWording {
    /// The target's own, because a person named the target.
    Target,
    /// The target's own unless a source's is much longer, for merges that nobody reviewed.
    Longer,
    /// A statement selected by a judge or person.
    Chosen(Statement),
}

/// Merges entries into `target`. Nothing is lost: each source points to the target, and the target
/// lists its sources.
pub fn merge(target: &Entry, sources: &[Entry], wording: MergeWording) -> Result<Draft, Refusal> {
    ensure_writable(target)?;
    let content = target
        .content
        .as_ref()
        .ok_or(Refusal::NoContent(target.id))?;
    // Otherwise both entries would disappear.
    if !target.is_live() {
        return Err(Refusal::NotInUse(target.id));
    }
    let mut absorbed: BTreeSet<EntryId> = BTreeSet::new();
    let mut longest = &content.statement;
    let mut tags = content.tags.clone();
    for source in sources {
        ensure_writable(source)?;
        if source.id == target.id {
            return Err(Refusal::SelfMerge);
        }
        if let Some(into) = source.merged_into {
            return Err(Refusal::MergedAlready {
                entry: source.id,
                into,
            });
        }
        let theirs = source
            .content
            .as_ref()
            .ok_or(Refusal::NoContent(source.id))?;
        if longest.as_str().chars().count() < theirs.statement.as_str().chars().count() {
            longest = &theirs.statement;
        }
        tags.extend(theirs.tags.iter().cloned());
        // Otherwise a merge would publish quarantined text through a live entry.
        if !source.quarantine.is_empty() && target.quarantine.is_empty() {
            return Err(Refusal::Quarantined(source.id));
        }
        ensure_flow(target, [source.id.to_string().as_str()])?;
        absorbed.insert(source.id);
        // Earlier merges are flattened, so no entry points to a target that is itself merged.
        absorbed.extend(&source.merged_from);
    }
    if absorbed.is_empty() {
        return Err(Refusal::NothingChanges);
    }
    while tags.len() > Content::TAGS_MAX {
        tags.pop_last();
    }
    // Taken over all entries, because text of any of them may end up in the target.
    let origin = [target]
        .into_iter()
        .chain(sources)
        .filter_map(|entry| entry.created.as_ref().map(|created| created.origin))
        .reduce(Origin::least_trusted);
    let (strategy, statement) = choose_statement(content, longest, wording);
    let changes = ContentChanges {
        statement,
        tags: (tags != content.tags).then_some(tags),
        ..united_evidence(content, sources)
    };
    let about = [target.id].into_iter().chain(absorbed.iter().copied());
    Ok(Draft {
        about: about.map(Into::into).collect(),
        body: EventBody::Merged(Merged {
            target: target.id,
            sources: absorbed.iter().copied().collect(),
            strategy,
            changes,
            replaces: target.revision.clone(),
            origin,
        }),
    })
}

/// Returns the anchors and verification steps of all entries, if they differ from the target's.
///
/// Otherwise nothing would check the claim against the code any more.
fn united_evidence(target: &Content, sources: &[Entry]) -> ContentChanges {
    let (mut anchors, mut verify) = (target.anchors.clone(), target.verify.clone());
    for theirs in sources.iter().filter_map(|it| it.content.as_ref()) {
        for anchor in &theirs.anchors {
            if anchors.iter().all(|own| own.at != anchor.at) {
                anchors.push(anchor.clone());
            }
        }
        for step in &theirs.verify {
            if !verify.contains(step) {
                verify.push(step.clone());
            }
        }
    }
    anchors.truncate(Content::ANCHORS_MAX);
    verify.truncate(Content::STEPS_MAX);
    ContentChanges {
        anchors: (anchors != target.anchors).then_some(anchors),
        verify: (verify != target.verify).then_some(verify),
        ..ContentChanges::default()
    }
}

/// Returns the merge strategy, and the new statement if it differs from the target's.
fn choose_statement(
    target: &Content,
    longest: &Statement,
    wording: MergeWording,
) -> (MergeStrategy, Option<Statement>) {
    let chars = |statement: &Statement| statement.as_str().chars().count();
    match wording {
        MergeWording::Chosen(chosen) => {
            let changed = (chosen != target.statement).then_some(chosen);
            (MergeStrategy::LlmSelected, changed)
        }
        // Integer arithmetic, so every machine decides the same.
        MergeWording::Longer
            if 100 * chars(longest) > LONGER_PERCENT * chars(&target.statement) =>
        {
            (MergeStrategy::KeepLonger, Some(longest.clone()))
        }
        MergeWording::Longer | MergeWording::Target => (MergeStrategy::KeepTarget, None),
    }
}

/// Supersedes an older entry with a newer one; the older one is kept and points to it.
pub fn supersede(old: &Entry, new: &Entry) -> Result<Draft, Refusal> {
    ensure_writable(old)?;
    ensure_writable(new)?;
    if old.id == new.id {
        return Err(Refusal::SelfMerge);
    }
    if old.superseded_by == Some(new.id) {
        return Err(Refusal::NothingChanges);
    }
    if !new.is_live() {
        return Err(Refusal::NotInUse(new.id));
    }
    Ok(Draft {
        about: vec![old.id.into(), new.id.into()],
        body: EventBody::Superseded(Superseded {
            old: old.id,
            new: new.id,
        }),
    })
}

/// Dismisses a pair: the entries are not duplicates, or do not contradict each other.
pub fn dismiss_pair(
    one: &Entry,
    other: &Entry,
    as_what: PairKind,
    workspace: &WorkspaceState,
) -> Result<Draft, Refusal> {
    // Ordered, so the same pair is recognized whichever entry is named first.
    let (first, second) = (one.id.min(other.id), one.id.max(other.id));
    if first == second {
        return Err(Refusal::SelfMerge);
    }
    if workspace.dismissed.contains(&(first, second, as_what)) {
        return Err(Refusal::NothingChanges);
    }
    Ok(Draft {
        about: vec![first.into(), second.into()],
        body: EventBody::PairDismissed(PairDismissed {
            first,
            second,
            as_what,
        }),
    })
}

/// Flags a contradiction between two entries, unless the pair is flagged or dismissed already.
pub fn flag_contradiction(
    one: &Entry,
    other: &Entry,
    why: Note,
    workspace: &WorkspaceState,
) -> Result<Draft, Refusal> {
    let (first, second) = ordered_ids(one, other)?;
    let decided = workspace
        .dismissed
        .contains(&(first, second, PairKind::Contradiction));
    if decided || !open_flags(first, second, workspace).is_empty() {
        return Err(Refusal::NothingChanges);
    }
    Ok(Draft {
        about: vec![first.into(), second.into()],
        body: EventBody::ContradictionFlagged(ContradictionFlagged { first, second, why }),
    })
}

/// Resolution of a contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContradictionResolution {
    /// One entry stays and supersedes the other.
    Keep(EntryId),
    /// Both entries stay, as competing hypotheses.
    Both,
    /// Both entries stay, each limited by a new tag.
    Scoped(Vec<(EntryId, Tag)>),
}

/// Resolves a contradiction in the name of `by`. The drafts belong in a single append: a
/// resolution without its tags would be wrong.
///
/// The pair is also dismissed, so that it is not flagged again.
pub fn resolve_contradiction(
    one: &Entry,
    other: &Entry,
    how: ContradictionResolution,
    workspace: &WorkspaceState,
    by: &Actor,
) -> Result<Vec<Draft>, Refusal> {
    let (kept, scopes) = match how {
        ContradictionResolution::Keep(id) => (Some(id), Vec::new()),
        ContradictionResolution::Both => (None, Vec::new()),
        ContradictionResolution::Scoped(scopes) => (None, scopes),
    };
    if let Some(kept) = kept {
        let loser = if kept == one.id { other } else { one };
        ensure_may_change(loser, by)?;
    }
    let mut drafts = close_contradiction(one, other, kept, workspace)?;
    for (id, tag) in scopes {
        let entry = if id == one.id { one } else { other };
        let content = entry.content.as_ref();
        let mut tags = content.map(|it| it.tags.clone()).unwrap_or_default();
        tags.insert(tag);
        let changes = ContentChanges {
            tags: Some(tags),
            ..ContentChanges::default()
        };
        let draft = edit(entry, changes, None, Channel::Command, None)?;
        drafts.push(attribute_change(draft, entry, by)?);
    }
    Ok(drafts)
}

/// Returns the drafts that close a contradiction: `kept` is the entry that remains in force; `None`
/// keeps both.
fn close_contradiction(
    one: &Entry,
    other: &Entry,
    kept: Option<EntryId>,
    workspace: &WorkspaceState,
) -> Result<Vec<Draft>, Refusal> {
    let (first, second) = ordered_ids(one, other)?;
    let flags = open_flags(first, second, workspace);
    let dismissal = dismiss_pair(one, other, PairKind::Contradiction, workspace);
    // A pair dismissed earlier may still have open flags to resolve, so one of the two suffices.
    if flags.is_empty() && dismissal.is_err() {
        return Err(Refusal::NothingChanges);
    }
    let keep = match kept {
        Some(id) if id == first => Keep::First,
        Some(_) => Keep::Second,
        None => Keep::Both,
    };
    let mut drafts = vec![Draft {
        about: vec![first.into(), second.into()],
        body: EventBody::ContradictionResolved(ContradictionResolved {
            first,
            second,
            keep,
            flags,
        }),
    }];
    drafts.extend(dismissal.ok());
    if let Some(kept) = kept {
        let (old, new) = if kept == one.id {
            (other, one)
        } else {
            (one, other)
        };
        // The losing entry is superseded instead of retracted: it may have been right before.
        drafts.push(supersede(old, new)?);
    }
    Ok(drafts)
}

fn ordered_ids(one: &Entry, other: &Entry) -> Result<(EntryId, EntryId), Refusal> {
    ensure_writable(one)?;
    ensure_writable(other)?;
    if one.id == other.id {
        return Err(Refusal::SelfMerge);
    }
    Ok((one.id.min(other.id), one.id.max(other.id)))
}

/// Returns the unresolved flags of a pair.
fn open_flags(first: EntryId, second: EntryId, workspace: &WorkspaceState) -> Vec<EventId> {
    let flags = workspace.contradictions.iter();
    // Flags written by other builds may name the pair in either order.
    let of_pair = flags.filter(|(_, (a, b))| (*a.min(b), *a.max(b)) == (first, second));
    of_pair.map(|(flag, _)| *flag).collect()
}
