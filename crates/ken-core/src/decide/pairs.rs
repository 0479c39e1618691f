//! Two entries that say the same, or one that takes another's place.

use std::collections::BTreeSet;

use crate::content::{Changes, Content};
use crate::entry::Entry;
use crate::event::{
    Body, ContradictionFlagged, ContradictionResolved, Keep, MergeStrategy, Merged, Origin,
    PairDismissed, PairKind, Superseded,
};
use crate::id::{EntryId, EventId};
use crate::text::{Note, Statement};
use crate::workspace::Workspace;

use super::{Draft, Refusal, writable};

/// How long a source's wording must be, in hundredths of the target's, to take its place.
pub const LONGER_PERCENT: usize = 120;

/// Makes several entries one. Nothing is lost: the others point at it, and it names everything it came from.
///
/// `chosen` is a wording somebody picked; without one the target keeps its own unless a source says much more.
pub fn merge(
    target: &Entry,
    sources: &[Entry],
    chosen: Option<Statement>,
) -> Result<Draft, Refusal> {
    writable(target)?;
    let content = target
        .content
        .as_ref()
        .ok_or(Refusal::NoContent(target.id))?;
    let mut absorbed: BTreeSet<EntryId> = BTreeSet::new();
    let mut longest = &content.statement;
    let mut tags = content.tags.clone();
    for source in sources {
        writable(source)?;
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
        if !source.quarantine.is_empty() && target.quarantine.is_empty() {
            return Err(Refusal::Quarantined(source.id));
        }
        absorbed.insert(source.id);
        absorbed.extend(&source.merged_from);
    }
    if absorbed.is_empty() {
        return Err(Refusal::NothingChanges);
    }
    while Content::TAGS_MAX < tags.len() {
        tags.pop_last();
    }
    let origin = [target].into_iter().chain(sources);
    let origin = origin
        .filter_map(|it| it.created.as_ref().map(|created| created.origin))
        .reduce(Origin::least);
    let (strategy, statement) = wording(content, longest, chosen);
    let changes = Changes {
        statement,
        tags: (tags != content.tags).then_some(tags),
        ..Changes::default()
    };
    let about = [target.id].into_iter().chain(absorbed.iter().copied());
    Ok(Draft {
        about: about.map(Into::into).collect(),
        body: Body::Merged(Merged {
            target: target.id,
            sources: absorbed.iter().copied().collect(),
            strategy,
            changes,
            replaces: target.revision.clone(),
            origin,
        }),
    })
}

/// Returns whose words are kept, and the wording if it is another.
fn wording(
    target: &Content,
    longest: &Statement,
    chosen: Option<Statement>,
) -> (MergeStrategy, Option<Statement>) {
    if let Some(chosen) = chosen {
        let words = (chosen != target.statement).then_some(chosen);
        return (MergeStrategy::LlmSelected, words);
    }
    let chars = |it: &Statement| it.as_str().chars().count();
    match LONGER_PERCENT * chars(&target.statement) < 100 * chars(longest) {
        true => (MergeStrategy::KeepLonger, Some(longest.clone())),
        false => (MergeStrategy::KeepTarget, None),
    }
}

/// Lets a newer entry take an older one's place; the older one is kept and points at it.
pub fn supersede(old: &Entry, new: &Entry) -> Result<Draft, Refusal> {
    writable(old)?;
    writable(new)?;
    if old.id == new.id {
        return Err(Refusal::SelfMerge);
    }
    if old.superseded_by == Some(new.id) {
        return Err(Refusal::NothingChanges);
    }
    Ok(Draft {
        about: vec![old.id.into(), new.id.into()],
        body: Body::Superseded(Superseded {
            old: old.id,
            new: new.id,
        }),
    })
}

/// Notes that two entries are no duplicates, or do not contradict each other, whatever they look like.
pub fn dismiss_pair(
    one: &Entry,
    other: &Entry,
    as_what: PairKind,
    workspace: &Workspace,
) -> Result<Draft, Refusal> {
    let (first, second) = (one.id.min(other.id), one.id.max(other.id));
    if first == second {
        return Err(Refusal::SelfMerge);
    }
    if workspace.dismissed.contains(&(first, second, as_what)) {
        return Err(Refusal::NothingChanges);
    }
    Ok(Draft {
        about: vec![first.into(), second.into()],
        body: Body::PairDismissed(PairDismissed {
            first,
            second,
            as_what,
        }),
    })
}

/// Notes that two entries seem to contradict each other; once a pair, whatever anybody decided since.
pub fn flag_contradiction(
    one: &Entry,
    other: &Entry,
    why: Note,
    workspace: &Workspace,
) -> Result<Draft, Refusal> {
    let (first, second) = ordered(one, other)?;
    let decided = workspace
        .dismissed
        .contains(&(first, second, PairKind::Contradiction));
    if decided || !open_flags(first, second, workspace).is_empty() {
        return Err(Refusal::NothingChanges);
    }
    Ok(Draft {
        about: vec![first.into(), second.into()],
        body: Body::ContradictionFlagged(ContradictionFlagged { first, second, why }),
    })
}

/// Settles a contradiction: `kept` is the one that stays in force, or nobody means both.
///
/// The pair is dismissed with it, so that nobody is asked about it again.
pub fn resolve_contradiction(
    one: &Entry,
    other: &Entry,
    kept: Option<EntryId>,
    workspace: &Workspace,
) -> Result<Vec<Draft>, Refusal> {
    let (first, second) = ordered(one, other)?;
    let flags = open_flags(first, second, workspace);
    let dismissal = dismiss_pair(one, other, PairKind::Contradiction, workspace);
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
        body: Body::ContradictionResolved(ContradictionResolved {
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
        drafts.push(supersede(old, new)?);
    }
    Ok(drafts)
}

fn ordered(one: &Entry, other: &Entry) -> Result<(EntryId, EntryId), Refusal> {
    writable(one)?;
    writable(other)?;
    if one.id == other.id {
        return Err(Refusal::SelfMerge);
    }
    Ok((one.id.min(other.id), one.id.max(other.id)))
}

/// Returns the flags of a pair that nobody resolved.
fn open_flags(first: EntryId, second: EntryId, workspace: &Workspace) -> Vec<EventId> {
    let flags = workspace.contradictions.iter();
    let of_pair = flags.filter(|(_, (a, b))| (*a.min(b), *a.max(b)) == (first, second));
    of_pair.map(|(flag, _)| *flag).collect()
}
