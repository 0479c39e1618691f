//! Questions: one entry, many, and their history.

use ken_core::entry::Entry;
use ken_core::event::Recorded as Event;
use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::store::Filter;
use ken_core::time::Timestamp;

use super::{Desk, Failure, Reader};
use crate::identity::Role;
use crate::store::After;

/// Events of one history that are told.
const HISTORY_MAX: usize = 1_000;

/// All there is to tell of one entry.
#[derive(Clone, Debug)]
pub struct Told {
    pub entry: Entry,
    /// Entries that say the opposite.
    pub conflicts: Vec<EntryId>,
    /// Whoever made it was revoked.
    pub is_revoked: bool,
    pub now: Timestamp,
}

/// Some entries, newest first.
#[derive(Clone, Debug)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// Where the next page begins.
    pub next: Option<After>,
}

/// Tells all of one entry, and writes down that it was shown. `wanted` is its id, an unambiguous beginning, or its
/// alias.
///
/// What waits for a person is told to people only.
pub async fn entry(desk: &mut Desk, reader: &Reader, wanted: &str) -> Result<Told, Failure> {
    let seat = desk.seat(reader).await?;
    let entry = desk.find(wanted).await?;
    desk.may_see(&entry)?;
    let workspace = desk.workspace().await?;
    let against = desk.against(&[entry.id], &workspace).await?;
    desk.note_shown(&seat, &[entry.id], How::Show).await?;
    Ok(Told {
        conflicts: against.into_values().flatten().collect(),
        is_revoked: workspace.is_revoked(&entry),
        now: desk.now,
        entry,
    })
}

/// Returns every event of an entry in canonical order, the latest thousand of them.
pub async fn history(
    desk: &mut Desk,
    reader: &Reader,
    wanted: &str,
) -> Result<Vec<Event>, Failure> {
    let seat = desk.seat(reader).await?;
    let entry = desk.find(wanted).await?;
    desk.may_see(&entry)?;
    desk.note_shown(&seat, &[entry.id], How::Show).await?;
    let mut history = desk.tenant.history(entry.id).await?;
    let beyond = history.len().saturating_sub(HISTORY_MAX);
    Ok(history.split_off(beyond))
}

/// Lists entries, newest first, and writes down what is shown.
pub async fn list(
    desk: &mut Desk,
    reader: &Reader,
    filter: &Filter,
    after: Option<&After>,
    limit: u32,
) -> Result<Listing, Failure> {
    let seat = desk.seat(reader).await?;
    let asked = Some(limit.saturating_add(1));
    let mut entries = desk.tenant.list(filter, after, asked).await?;
    let is_cut = limit < u32::try_from(entries.len()).unwrap_or(u32::MAX);
    entries.truncate(limit as usize);
    let next = entries.last().filter(|_| is_cut).map(After::of);
    // What waits for a person is counted in a page and told to nobody else.
    entries.retain(|it| desk.may_see(it).is_ok());
    let ids: Vec<EntryId> = entries.iter().map(|it| it.id).collect();
    desk.note_shown(&seat, &ids, How::Pull).await?;
    Ok(Listing { entries, next })
}

impl Desk {
    /// Returns an entry by its full id.
    pub(super) async fn entry(&mut self, id: EntryId) -> Result<Entry, Failure> {
        let found = self.tenant.entry(id).await?;
        found.ok_or_else(|| no_entry(&id.to_string()))
    }

    /// Returns the one entry whose id begins with `wanted`, or whose alias it is.
    pub(super) async fn find(&mut self, wanted: &str) -> Result<Entry, Failure> {
        let wanted = wanted.trim().trim_start_matches('[').trim_end_matches(']');
        if wanted.is_empty() {
            return Err(Failure::usage("name an entry by its id"));
        }
        let mut candidates = self.tenant.find(wanted).await?;
        match candidates.len() {
            0 => Err(no_entry(wanted)),
            1 => self.entry(candidates.remove(0)).await,
            _ => Err(Failure::Ambiguous {
                wanted: wanted.to_owned(),
                candidates,
            }),
        }
    }

    /// Refuses to show what waits for a person to anybody but a curator.
    fn may_see(&self, entry: &Entry) -> Result<(), Failure> {
        match entry.quarantine.is_empty() || Role::Curator <= self.caller.role {
            true => Ok(()),
            false => Err(Failure::SetApart(entry.id)),
        }
    }
}

fn no_entry(wanted: &str) -> Failure {
    let (what, wanted) = ("entry", wanted.to_owned());
    Failure::NotFound { what, wanted }
}
