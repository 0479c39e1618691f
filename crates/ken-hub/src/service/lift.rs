//! What entries are worth: outcomes of work with them and without, where chance decided.

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::lift::{Lifts, Worth, lifts};
use ken_core::run::How;
use ken_core::store::{Filter, Shelf};

use super::{Desk, Failure, Reader};
use crate::store::After;

/// Entries one page of the store has while all are read.
const PAGE: u32 = 1_000;

/// Tried entries that are told, the best known first.
const TOLD_MAX: usize = 500;

/// Returns what entries are worth.
pub async fn lift(desk: &mut Desk, reader: &Reader) -> Result<Lifts, Failure> {
    let seat = desk.seat(reader).await?;
    let filter = Filter {
        shelf: Shelf::All,
        ..Filter::default()
    };
    let (mut all, mut after): (Vec<Entry>, Option<After>) = (Vec::new(), None);
    loop {
        let page = desk
            .tenant
            .list(&filter, after.as_ref(), Some(PAGE))
            .await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(After::of);
        let had_trials = |it: &Entry| !it.tallies.trials.is_empty() && it.quarantine.is_empty();
        all.extend(page.into_iter().filter(had_trials));
        if is_last {
            break;
        }
    }
    let mut lifts = lifts(all);
    lifts.entries.truncate(TOLD_MAX);
    let ids: Vec<EntryId> = lifts.entries.iter().map(|(it, _)| it.id).collect();
    desk.note_shown(&seat, &ids, How::Pull).await?;
    Ok(lifts)
}

/// Returns what one entry is worth.
pub async fn lift_of(
    desk: &mut Desk,
    reader: &Reader,
    wanted: &str,
) -> Result<(EntryId, Worth), Failure> {
    let told = super::entry(desk, reader, wanted).await?;
    Ok((told.entry.id, told.entry.tallies.worth()))
}
