//! Actions that only an untrusted author, a newer build, a forger or a bug performs.

use ken_core::decide::Draft;
use ken_core::ledger::event::{
    ApprovalGranted, ArchiveReason, Archived, BlankReason, Channel, Confirmed, Event, EventBlanked,
    EventBody, EventSubject, Linked, Overlay, OverlaySet, Proposed, Provenance, QuarantineLifted,
    RecordedEvent, Relation, Restored, Revised, StatusChanged, Switch,
};
use ken_core::values::id::{EntryId, EventId, IdSource};
use ken_core::values::status::EntryStatus;
use serde_json::{Value, json};

use super::texts::UnchangedFields;
use super::{HistoryAction, HistoryGenerator, ReplicaTurn, seal};

/// Actions, repeated according to their frequency.
pub(super) const ACTIONS: &[HistoryAction] = &[
    wild_revision,
    wild_revision,
    wild_reference,
    wild_reference,
    wild_reference,
    replacement_circle,
    newer_build,
    propose_colliding,
    add_redacted_copy,
    order_redaction,
    order_redaction,
    forge_copy,
    remember_redacted,
    revise_unproposed,
];

/// Returns up to three ids: known, unknown or the event's own.
fn wild_ids(play: &mut HistoryGenerator, turn: &mut ReplicaTurn, own: EventId) -> Vec<EventId> {
    // Mostly known ids, so that references connect.
    let count = turn.choice.below(4);
    (0..count)
        .map(|_| match turn.choice.below(8) {
            0 => own,
            1 => play.fresh_id(turn),
            _ => play.pick_copy(turn).map_or(own, |copy| copy.event.id),
        })
        .collect()
}

fn any_entry(play: &HistoryGenerator, turn: &mut ReplicaTurn) -> Option<EntryId> {
    if play.entries.is_empty() {
        return None;
    }
    Some(turn.choice.pick(&play.entries))
}

fn wild_revision(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let id = play.fresh_id(turn);
    let body = EventBody::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, UnchangedFields::Nothing),
        replaces: wild_ids(play, turn, id),
        channel: Channel::HandEdit,
        reason: None,
    });
    let about = vec![entry.into()];
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// Writes an event that references arbitrary ids.
fn wild_reference(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let id = play.fresh_id(turn);
    let ids = wild_ids(play, turn, id);
    let on = play.now(turn.replica).date();
    let body = match turn.choice.below(8) {
        0 => EventBody::StatusChanged(StatusChanged {
            to: EntryStatus::Stale,
            replaces: ids,
            reason: None,
        }),
        1 => EventBody::OverlaySet(OverlaySet {
            overlay: Overlay::Pin,
            state: Switch::On,
            replaces: ids,
            note: Some(play.text("note {}")),
        }),
        2 => EventBody::Archived(Archived {
            because: ArchiveReason::Decay,
            rests_on: ids.first().copied(),
        }),
        3 => EventBody::Restored(Restored {
            undoes: ids,
            reason: None,
        }),
        4 => EventBody::Confirmed(Confirmed {
            provenance: Provenance::Manual,
            on,
            run: None,
            withdraws: ids,
        }),
        5 => EventBody::QuarantineLifted(QuarantineLifted {
            lifts: ids,
            reason: play.text("let {} out"),
        }),
        6 => EventBody::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: play.text("read {}"),
            signature: None,
            covers: ids,
        }),
        _ => EventBody::Linked(Linked {
            to: entry,
            rel: Relation::Contradicts,
            withdraws: ids,
        }),
    };
    let about = vec![entry.into()];
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// Writes two revisions that replace each other.
fn replacement_circle(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let (one, two) = (play.fresh_id(turn), play.fresh_id(turn));
    for (id, other) in [(one, two), (two, one)] {
        let body = EventBody::Revised(Revised {
            origin: None,
            changes: play.changes(&mut turn.choice, UnchangedFields::Nothing),
            replaces: vec![other],
            channel: Channel::Command,
            reason: None,
        });
        let about = vec![entry.into()];
        play.write_as(id, turn, Draft { about, body });
    }
    Some(())
}

/// Writes a line of `type_name` that this build may not understand.
fn raw_line(
    play: &mut HistoryGenerator,
    turn: &mut ReplicaTurn,
    v: u32,
    type_name: &str,
    body: &Value,
) -> Option<()> {
    let about: Vec<EventSubject> = match any_entry(play, turn) {
        // A quarter of the unknown events concerns no entry.
        Some(entry) if !turn.choice.one_in(4) => vec![entry.into()],
        Some(_) | None => vec![EventSubject::Other("galaxy:9".to_owned())],
    };
    // Only id, clock reading, actor and salt of this draft are used.
    let body_of_draft = EventBody::RunClosed(ken_core::ledger::event::RunClosed {
        run: String::new(),
        outcome: ken_core::ledger::event::Outcome::Succeeded,
        quality_milli: None,
        rounds: 0,
        cost_micros: 0,
        strategy: None,
        agents: Vec::new(),
        roles: std::collections::BTreeMap::new(),
        thread: None,
        duration_ms: 0,
        accessed: 2,
        extracted: 1,
    });
    let id = play.fresh_id(turn);
    let draft = Draft {
        about,
        body: body_of_draft,
    };
    let event = play.stamp(id, turn, draft, false);
    let line = seal(json!({
        "about": event.about, "at": event.at, "by": event.by, "id": event.id,
        "type": type_name, "v": v, "sum": "",
        "data": { "body": body, "salt": event.salt },
    }));
    let copy = RecordedEvent::parse(line.as_bytes()).expect("a sealed line is valid");
    play.keep(turn.replica, copy);
    Some(())
}

/// Writes an event of a newer build, which this one understands at most in part.
fn newer_build(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let kinds: [HistoryAction; 4] = [unknown_type, unknown_field, unknown_value, newer_version];
    turn.choice.pick(&kinds)(play, turn)
}

fn unknown_type(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let body = json!({ "dream": play.word() });
    let name = turn.choice.pick(&["entry.dreamed", "hologram.shown"]);
    raw_line(play, turn, 1, name, &body)
}

/// Writes a known type with an unknown field.
fn unknown_field(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let body = json!({
        "to": "active", "replaces": [], "mood": { "now": play.word() },
    });
    raw_line(play, turn, 1, "entry.status_changed", &body)
}

/// Writes a known type with an unknown value.
fn unknown_value(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let body = json!({ "to": "frozen", "replaces": [] });
    raw_line(play, turn, 1, "entry.status_changed", &body)
}

fn newer_version(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let body = json!({ "to": "active", "replaces": [], "word": play.word() });
    raw_line(play, turn, 2, "entry.status_changed", &body)
}

/// Writes another proposal whose id ends like that of an existing entry.
fn propose_colliding(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    // Entry ids keep only the low 40 bits of the event id.
    const TAIL: u128 = (1 << 40) - 1;
    let copies = play.held(turn.replica);
    let proposals: Vec<(Event, EventId)> = copies
        .filter(|copy| copy.event.get::<Proposed>().is_some())
        .map(|copy| (copy.event.clone(), copy.event.id))
        .collect();
    let (event, old) = proposals.get(turn.choice.below(proposals.len().max(1)))?;
    let mut data = event.get::<Proposed>().cloned()?;
    data.content = play.content(turn, data.kind);
    let tail = u128::from_be_bytes(old.to_bytes()) & TAIL;
    let random = play.numbers.random() & !TAIL | tail;
    let id = EventId::new(play.now(turn.replica), random);
    let about = event.about.clone();
    let body = EventBody::Proposed(data);
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// Adds a redacted copy without a redaction event.
fn add_redacted_copy(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let copy = play.pick_copy(turn)?.redacted();
    play.keep(turn.replica, copy);
    Some(())
}

/// Writes a redaction of any event by any actor, also of redactions and unknown events.
fn order_redaction(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let target = play.pick_copy(turn)?;
    let body = EventBody::EventBlanked(EventBlanked {
        event: target.event.id,
        reason: BlankReason::Other,
    });
    let about = target.event.about;
    play.write(turn, Draft { about, body });
    Some(())
}

/// Writes a second line with the id of an existing event.
fn forge_copy(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let original = play.pick_copy(turn)?.event;
    let entry = any_entry(play, turn)?;
    let body = EventBody::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, UnchangedFields::Nothing),
        replaces: wild_ids(play, turn, original.id),
        channel: Channel::Command,
        reason: None,
    });
    let about = vec![entry.into()];
    let mut event = play.stamp(original.id, turn, Draft { about, body }, false);
    // The same envelope makes the copies differ in their data only.
    if turn.choice.one_in(2) {
        event.at = original.at;
        event.by = original.by;
    }
    play.keep(turn.replica, RecordedEvent::new(event));
    Some(())
}

/// Adds an event id to the ids remembered as redacted.
fn remember_redacted(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let id = play.pick_copy(turn)?.event.id;
    play.written.remembered.push(id);
    Some(())
}

/// Writes an event about an entry without a proposal, named twice, next to another subject.
fn revise_unproposed(play: &mut HistoryGenerator, turn: &mut ReplicaTurn) -> Option<()> {
    let entry: EntryId = "L-00000000".parse().expect("an entry id");
    let body = EventBody::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, UnchangedFields::Nothing),
        replaces: Vec::new(),
        channel: Channel::Command,
        reason: Some(play.text("because {}")),
    });
    let about = vec![
        EventSubject::Other("run:7".to_owned()),
        entry.into(),
        entry.into(),
    ];
    play.write(turn, Draft { about, body });
    Some(())
}
