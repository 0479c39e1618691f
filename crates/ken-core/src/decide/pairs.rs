//! Two entries that say the same, or one that takes another's place.

use std::collections::BTreeSet;

use crate::content::{Changes, Content};
use crate::entry::Entry;
use crate::event::{Body, MergeStrategy, Merged, Origin, PairDismissed, PairKind, Superseded};
use crate::id::EntryId;
use crate::text::Statement;
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
