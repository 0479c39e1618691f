//! Peers of this user: what came in, what waits, and the decisions of the person.
//!
//! The ledgers of peers are apart from the repository. They are opened per request: a user has a
//! few, and a pull in a terminal writes to them.

use ken_core::ledger::entry::Entry;
use ken_core::trust::promotion::PromotionArtifact;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::duplicates::EntryRelation;
use ken_engine::federation::{
    FederationError, Peer, PeerHome, PeerLedger, PeerState, ReceivedEntry, ReceivedState,
};
use ken_engine::{Engine, EngineError};
use ken_ui::action::{PeerAction, ReadWords};
use ken_ui::address::{PeerLane, PeerQuery};
use ken_ui::source::ActionResult;
use ken_ui::view::{
    PEER_ENTRIES_PER_PAGE, PeerEntryItem, PeerLine, PeerView, PeersView, RelatedWords, WordsOwner,
};
use serde_json::{Value, json};

use crate::failure::CommandFailure;
use crate::print::pluralize;
use crate::world::{Environment, has_peers};

/// Separator of the two parts of a place in a list of entries.
const PLACE_SEPARATOR: char = '.';

/// Returns whether the person has a peer.
pub(super) fn is_configured() -> bool {
    has_peers()
}

/// Returns a peer. A missing one is a missing page, and not a refusal.
fn find(home: &PeerHome, name: &str) -> Result<Peer, CommandFailure> {
    home.peer(name).map_err(|error| {
        let is_missing = matches!(
            error,
            EngineError::Federation(FederationError::NoPeer(_) | FederationError::Name(_))
        );
        let mut failure = CommandFailure::from(error);
        if is_missing {
            failure.code = "not_found";
        }
        failure
    })
}

pub(super) fn peers(environment: &Environment) -> Result<PeersView, CommandFailure> {
    let home = environment.peer_home()?;
    let mut view = PeersView::default();
    for peer in home.peers()? {
        let ledger = home.open(peer, None)?;
        view.peers.push(peer_line(&ledger, &ledger.received()?)?);
    }
    Ok(view)
}

pub(super) fn peer(
    engine: &mut Engine,
    environment: &Environment,
    name: &str,
    query: &PeerQuery,
) -> Result<PeerView, CommandFailure> {
    let home = environment.peer_home()?;
    let mut ledger = home.open(find(&home, name)?, None)?;
    let entries = ledger.received()?;
    let peer = peer_line(&ledger, &entries)?;
    let mut items = entries;
    items.retain(|it| lane(it.state) == query.lane);
    items.sort_by_cached_key(place);
    if let Some(after) = &query.after {
        // Places and not numbers: what is decided meanwhile leaves the list, and nothing is
        // skipped.
        items.retain(|it| place(it) > *after);
    }
    let has_more = items.len() > PEER_ENTRIES_PER_PAGE;
    items.truncate(PEER_ENTRIES_PER_PAGE);
    let next = items.last().filter(|_| has_more).map(place);
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        let related = match (&item.entry, query.lane) {
            (Some(entry), PeerLane::Waiting) => related(engine, &mut ledger, entry)?,
            _ => Vec::new(),
        };
        found.push(PeerEntryItem {
            id: item.id,
            first_seen: item.first_seen,
            entry: item.entry,
            related,
        });
    }
    Ok(PeerView {
        peer,
        lane: query.lane,
        lanes: PeerLane::ALL,
        entries: found,
        next,
    })
}

/// Returns the place of an entry in a list: it sorts by day, then id.
fn place(it: &ReceivedEntry) -> String {
    format!("{}{PLACE_SEPARATOR}{}", it.first_seen, it.id)
}

fn lane(state: ReceivedState) -> PeerLane {
    match state {
        ReceivedState::Waiting => PeerLane::Waiting,
        ReceivedState::Approved => PeerLane::Approved,
        ReceivedState::Rejected => PeerLane::Rejected,
        ReceivedState::Withdrawn => PeerLane::Withdrawn,
        ReceivedState::Redacted => PeerLane::Redacted,
    }
}

fn peer_line(ledger: &PeerLedger, entries: &[ReceivedEntry]) -> Result<PeerLine, CommandFailure> {
    let peer = &ledger.peer;
    let trust = ledger.trust()?;
    let count = |of: PeerLane| {
        let found = entries.iter().filter(|it| lane(it.state) == of);
        (of, found.count() as u64)
    };
    Ok(PeerLine {
        name: peer.name.clone(),
        publication: peer.replica.publication.to_string(),
        publisher: peer.replica.publisher.to_string(),
        fingerprint: peer.publisher_key().ok().map(|it| it.fingerprint()),
        source: peer.source.to_string(),
        hops: peer.hops,
        suspended: match &peer.state {
            PeerState::Active => None,
            PeerState::Suspended { why } => Some(why.clone()),
        },
        freshness: peer.replica.freshness(ledger.engine.now()),
        expires: peer.replica.head.as_ref().map(|it| it.expires),
        pulled: None,
        stopped: None,
        trust: trust.score(),
        mean: trust.mean(),
        weight: ledger.weight(trust),
        counts: PeerLane::ALL.iter().copied().map(count).collect(),
    })
}

/// Returns the entries of this repository and approved ones of the same peer that may state the
/// same as an entry that waits, or the opposite.
fn related(
    engine: &mut Engine,
    ledger: &mut PeerLedger,
    entry: &Entry,
) -> Result<Vec<RelatedWords>, CommandFailure> {
    let mut found = Vec::new();
    for (owner, engine) in [
        (WordsOwner::Local, engine),
        (WordsOwner::Peer, &mut ledger.engine),
    ] {
        let near = engine.entries_related_to(entry)?.into_iter();
        // Of the peer's own entries, only those whose words a person knows.
        let near = near.filter(|it| owner == WordsOwner::Local || !it.entry.approvals.is_empty());
        found.extend(near.map(|it| RelatedWords {
            id: it.entry.id,
            statement: it.entry.statement_text().to_owned(),
            is_opposed: it.relation == EntryRelation::Opposed,
            owner,
        }));
    }
    Ok(found)
}

/// Returns the JSON of the list of peers.
pub(super) fn list_document(environment: &Environment) -> Result<Value, CommandFailure> {
    let view = peers(environment)?;
    Ok(view.peers.iter().map(peer_object).collect())
}

/// Returns the JSON of a page of a peer: every field of its entries.
pub(super) fn document(
    engine: &mut Engine,
    environment: &Environment,
    name: &str,
    query: &PeerQuery,
) -> Result<Value, CommandFailure> {
    let view = peer(engine, environment, name, query)?;
    let entries = view.entries.iter().map(|it| {
        let entry = it.entry.as_ref();
        let related = it.related.iter().map(|other| {
            let owner = match other.owner {
                WordsOwner::Local => "local",
                WordsOwner::Peer => "peer",
            };
            json!({ "id": other.id, "owner": owner, "is_opposed": other.is_opposed })
        });
        json!({
            "id": it.id,
            "kind": entry.and_then(|it| it.kind()).map(|it| it.name()),
            "content": entry.and_then(|it| it.content.as_ref()),
            "first_seen": it.first_seen,
            "artifact": entry.and_then(digest),
            "related": related.collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "peer": peer_object(&view.peer),
        "lane": view.lane.name(),
        "entries": entries.collect::<Vec<_>>(),
        "next": view.next,
    }))
}

fn peer_object(peer: &PeerLine) -> Value {
    let counts = peer.counts.iter();
    let counts = counts.map(|(lane, number)| (lane.name().to_owned(), Value::from(*number)));
    json!({
        "name": peer.name,
        "publication": peer.publication,
        "publisher": peer.publisher,
        "fingerprint": peer.fingerprint,
        "folder": peer.source,
        "hops": peer.hops,
        "why": peer.suspended,
        "freshness": enum_label(&peer.freshness),
        "trust": peer.trust,
        "mean": peer.mean,
        "weight": peer.weight,
        "entries": Value::Object(counts.collect()),
    })
}

fn digest(entry: &Entry) -> Option<String> {
    PromotionArtifact::from_entry(entry).map(|it| it.digest())
}

/// Performs a decision about a peer. It is no step that `ken undo` knows: it is not in the
/// repository's ledger.
pub(super) fn act(
    environment: &Environment,
    name: &str,
    action: PeerAction,
) -> Result<ActionResult, CommandFailure> {
    let by = environment.person()?;
    let home = environment.peer_home()?;
    let peer = find(&home, name)?;
    let message = match action {
        PeerAction::Approve(read) => {
            let mut ledger = home.open(peer, Some(by.clone()))?;
            approve(&mut ledger, &read, &by)?
        }
        PeerAction::Reject { entry, reason } => {
            let mut ledger = home.open(peer, Some(by.clone()))?;
            ledger.reject(&[entry], reason, &by)?;
            let trust = ledger.trust()?.score();
            format!("rejected {entry}; the trust in {name} is now {trust:.2}")
        }
        PeerAction::Suspend => {
            home.set_state(name, PeerState::suspended_by_person(), &by)?;
            format!("suspended {name}: none of its entries is shown")
        }
        PeerAction::Resume => {
            home.set_state(name, PeerState::Active, &by)?;
            format!("resumed {name}")
        }
    };
    Ok(ActionResult {
        message,
        entry: None,
        undo: None,
    })
}

/// Approves entries, all or none, if their words are those that the person read.
fn approve(
    ledger: &mut PeerLedger,
    read: &[ReadWords],
    by: &Actor,
) -> Result<String, CommandFailure> {
    let waiting = ledger.waiting()?;
    for words in read {
        let found = waiting.iter().find(|it| it.entry.id == words.entry);
        let id = words.entry;
        let conflict = |what: &str| CommandFailure::refused("conflict", format!("{id} {what}"));
        let found = found.ok_or_else(|| conflict("does not wait for a decision"))?;
        if found.artifact != words.digest {
            return Err(conflict("has other words than those you read"));
        }
    }
    let mut ids: Vec<EntryId> = read.iter().map(|it| it.entry).collect();
    ids.sort();
    // An entry that is ticked and listed twice is approved once.
    ids.dedup();
    ledger.approve(&ids, by)?;
    let number = pluralize(ids.len() as u64, "entry", "entries");
    let name = &ledger.peer.name;
    Ok(format!(
        "approved {number} of {name}; shown below the entries of a repository, labeled and discounted"
    ))
}
