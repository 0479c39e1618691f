//! Ancestry of writes, computed by scanning until nothing new is found.

use ken_core::ledger::event::Event;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::EventId;

/// An event that sets a value, and the events it replaces.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CausalWrite<T> {
    pub(super) at: Hlc,
    pub(super) id: EventId,
    pub(super) replaces: Vec<EventId>,
    pub(super) value: T,
}

/// The result of resolving the writes to one value.
#[derive(Debug)]
pub(super) struct CausalResult<T> {
    pub(super) value: T,
    pub(super) winner: EventId,
    /// Sorted by id.
    pub(super) heads: Vec<EventId>,
}

impl<T> CausalWrite<T> {
    pub(super) fn new(event: &Event, replaces: &[EventId], value: T) -> Self {
        Self {
            at: event.at,
            id: event.id,
            replaces: replaces.to_vec(),
            value,
        }
    }
}

/// Resolves `writers` to the winning value; ancestry runs through all of `writes`.
pub(super) fn resolve_writes<T: Clone, U>(
    writers: &[CausalWrite<T>],
    writes: &[CausalWrite<U>],
) -> Option<CausalResult<T>> {
    let mut heads: Vec<&CausalWrite<T>> = writers
        .iter()
        .filter(|write| {
            !writers
                .iter()
                // A forged write may name itself, which must not remove it.
                .any(|other| other.id != write.id && is_descendant(writes, other.id, write.id))
        })
        .collect();
    // Forged events can replace each other in a circle, which leaves no head.
    if heads.is_empty() {
        heads = writers.iter().collect();
    }
    let winner = heads.iter().max_by_key(|write| (write.at, write.id))?;
    let mut ids: Vec<EventId> = heads.iter().map(|write| write.id).collect();
    ids.sort();
    Some(CausalResult {
        value: winner.value.clone(),
        winner: winner.id,
        heads: ids,
    })
}

fn is_descendant<T>(writes: &[CausalWrite<T>], later: EventId, earlier: EventId) -> bool {
    // Scans until a fixed point, because events are in no particular order.
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
