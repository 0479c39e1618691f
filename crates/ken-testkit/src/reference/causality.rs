//! Who replaced whom, found by scanning until nothing new turns up.

use ken_core::event::Event;
use ken_core::hlc::Hlc;
use ken_core::id::EventId;

/// An event that sets something, and the events it says it replaces.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write<T> {
    pub(super) at: Hlc,
    pub(super) id: EventId,
    pub(super) replaces: Vec<EventId>,
    pub(super) value: T,
}

/// What stands among writes to one thing.
#[derive(Debug)]
pub(super) struct Standing<T> {
    pub(super) value: T,
    pub(super) winner: EventId,
    /// In order of id.
    pub(super) heads: Vec<EventId>,
}

impl<T> Write<T> {
    pub(super) fn new(event: &Event, replaces: &[EventId], value: T) -> Self {
        Self {
            at: event.at,
            id: event.id,
            replaces: replaces.to_vec(),
            value,
        }
    }
}

/// Returns what stands among `writers`; ancestry runs through all of `writes`.
pub(super) fn standing<T: Clone, U>(
    writers: &[Write<T>],
    writes: &[Write<U>],
) -> Option<Standing<T>> {
    let mut heads: Vec<&Write<T>> = writers
        .iter()
        .filter(|write| {
            !writers
                .iter()
                .any(|other| other.id != write.id && descends(writes, other.id, write.id))
        })
        .collect();
    if heads.is_empty() {
        heads = writers.iter().collect();
    }
    let winner = heads.iter().max_by_key(|write| (write.at, write.id))?;
    let mut ids: Vec<EventId> = heads.iter().map(|write| write.id).collect();
    ids.sort();
    Some(Standing {
        value: winner.value.clone(),
        winner: winner.id,
        heads: ids,
    })
}

fn descends<T>(writes: &[Write<T>], later: EventId, earlier: EventId) -> bool {
    let mut reached = vec![later];
    loop {
        let before = reached.len();
        for write in writes {
            if reached.contains(&write.id) {
                for replaced in &write.replaces {
                    if !reached.contains(replaced) {
                        reached.push(*replaced);
                    }
                }
            }
        }
        if reached.len() == before {
            return reached.contains(&earlier);
        }
    }
}
