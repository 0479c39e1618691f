//! What only a stranger, a newer build, a forger or a bug writes.

use ken_core::decide::Draft;
use ken_core::event::{
    ApprovalGranted, ArchiveReason, Archived, BlankReason, Body, Channel, Confirmed, Event,
    EventBlanked, Linked, Overlay, OverlaySet, Proposed, Provenance, QuarantineLifted, Recorded,
    Relation, Restored, Revised, StatusChanged, Subject, Switch,
};
use ken_core::id::{EntryId, EventId, IdSource};
use ken_core::status::Status;
use serde_json::{Value, json};

use super::texts::Keep;
use super::{Action, Play, Turn, seal};

/// Listed as often as they shall happen.
pub(super) const ACTIONS: &[Action] = &[
    wild_revision,
    wild_revision,
    wild_reference,
    wild_reference,
    wild_reference,
    circle,
    newer_build,
    collide,
    blanked_copy,
    order_blank,
    order_blank,
    forge,
    remember,
    stray,
];

/// Returns up to three ids: known, unknown or the event's own.
fn wild_ids(play: &mut Play, turn: &mut Turn, own: EventId) -> Vec<EventId> {
    let count = turn.choice.below(4);
    (0..count)
        .map(|_| match turn.choice.below(8) {
            0 => own,
            1 => play.fresh_id(turn),
            _ => play.pick_copy(turn).map_or(own, |copy| copy.event.id),
        })
        .collect()
}

fn any_entry(play: &Play, turn: &mut Turn) -> Option<EntryId> {
    if play.entries.is_empty() {
        return None;
    }
    Some(turn.choice.pick(&play.entries))
}

fn wild_revision(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let id = play.fresh_id(turn);
    let body = Body::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, Keep::Nothing),
        replaces: wild_ids(play, turn, id),
        channel: Channel::HandEdit,
        reason: None,
    });
    let about = vec![entry.into()];
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// An event of another type that names ids it has no business with.
fn wild_reference(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let id = play.fresh_id(turn);
    let ids = wild_ids(play, turn, id);
    let on = play.now(turn.replica).date();
    let body = match turn.choice.below(8) {
        0 => Body::StatusChanged(StatusChanged {
            to: Status::Stale,
            replaces: ids,
            reason: None,
        }),
        1 => Body::OverlaySet(OverlaySet {
            overlay: Overlay::Pin,
            state: Switch::On,
            replaces: ids,
            note: Some(play.text("note {}")),
        }),
        2 => Body::Archived(Archived {
            because: ArchiveReason::Decay,
            rests_on: ids.first().copied(),
        }),
        3 => Body::Restored(Restored {
            undoes: ids,
            reason: None,
        }),
        4 => Body::Confirmed(Confirmed {
            provenance: Provenance::Manual,
            on,
            run: None,
            withdraws: ids,
        }),
        5 => Body::QuarantineLifted(QuarantineLifted {
            lifts: ids,
            reason: play.text("let {} out"),
        }),
        6 => Body::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: play.text("read {}"),
            signature: None,
            covers: ids,
        }),
        _ => Body::Linked(Linked {
            to: entry,
            rel: Relation::Contradicts,
            withdraws: ids,
        }),
    };
    let about = vec![entry.into()];
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// Two revisions that each claim to replace the other.
fn circle(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry = any_entry(play, turn)?;
    let (one, two) = (play.fresh_id(turn), play.fresh_id(turn));
    for (id, other) in [(one, two), (two, one)] {
        let body = Body::Revised(Revised {
            origin: None,
            changes: play.changes(&mut turn.choice, Keep::Nothing),
            replaces: vec![other],
            channel: Channel::Command,
            reason: None,
        });
        let about = vec![entry.into()];
        play.write_as(id, turn, Draft { about, body });
    }
    Some(())
}

/// Writes a line of `type_name` this build may not be able to read.
fn raw_line(play: &mut Play, turn: &mut Turn, v: u32, type_name: &str, body: &Value) -> Option<()> {
    let about: Vec<Subject> = match any_entry(play, turn) {
        Some(entry) if !turn.choice.one_in(4) => vec![entry.into()],
        Some(_) | None => vec![Subject::Other("galaxy:9".to_owned())],
    };
    // Only time and clock are taken from this draft.
    let body_of_draft = Body::RunClosed(ken_core::event::RunClosed {
        run: String::new(),
        outcome: ken_core::event::Outcome::Succeeded,
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
    let copy = Recorded::parse(line.as_bytes()).expect("a sealed line is valid");
    play.keep(turn.replica, copy);
    Some(())
}

/// What a newer build writes, of which this one understands at most a part.
fn newer_build(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let kinds: [Action; 4] = [unknown_type, unknown_field, unknown_value, newer_version];
    turn.choice.pick(&kinds)(play, turn)
}

fn unknown_type(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let body = json!({ "dream": play.word() });
    let name = turn.choice.pick(&["entry.dreamed", "hologram.shown"]);
    raw_line(play, turn, 1, name, &body)
}

/// A known type with a member this build has no name for.
fn unknown_field(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let body = json!({
        "to": "active", "replaces": [], "mood": { "now": play.word() },
    });
    raw_line(play, turn, 1, "entry.status_changed", &body)
}

/// A known type with a value this build has no name for.
fn unknown_value(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let body = json!({ "to": "frozen", "replaces": [] });
    raw_line(play, turn, 1, "entry.status_changed", &body)
}

fn newer_version(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let body = json!({ "to": "active", "replaces": [], "word": play.word() });
    raw_line(play, turn, 2, "entry.status_changed", &body)
}

/// Another proposal whose id ends as that of an entry's own.
fn collide(play: &mut Play, turn: &mut Turn) -> Option<()> {
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
    let body = Body::Proposed(data);
    play.write_as(id, turn, Draft { about, body });
    Some(())
}

/// Somebody blanks a copy without any event that says so.
fn blanked_copy(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let copy = play.pick_copy(turn)?.blanked();
    play.keep(turn.replica, copy);
    Some(())
}

/// Anyone orders anything to be blanked, a blanking or an unknown event too.
fn order_blank(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let target = play.pick_copy(turn)?;
    let body = Body::EventBlanked(EventBlanked {
        event: target.event.id,
        reason: BlankReason::Other,
    });
    let about = target.event.about;
    play.write(turn, Draft { about, body });
    Some(())
}

/// A second line with the id of an existing event.
fn forge(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let original = play.pick_copy(turn)?.event;
    let entry = any_entry(play, turn)?;
    let body = Body::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, Keep::Nothing),
        replaces: wild_ids(play, turn, original.id),
        channel: Channel::Command,
        reason: None,
    });
    let about = vec![entry.into()];
    let mut event = play.stamp(original.id, turn, Draft { about, body }, false);
    if turn.choice.one_in(2) {
        event.at = original.at;
        event.by = original.by;
    }
    play.keep(turn.replica, Recorded::new(event));
    Some(())
}

/// A machine remembers that an event was blanked.
fn remember(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let id = play.pick_copy(turn)?.event.id;
    play.written.remembered.push(id);
    Some(())
}

/// An event about an entry nobody proposed, named twice, beside something else.
fn stray(play: &mut Play, turn: &mut Turn) -> Option<()> {
    let entry: EntryId = "L-00000000".parse().expect("an entry id");
    let body = Body::Revised(Revised {
        origin: None,
        changes: play.changes(&mut turn.choice, Keep::Nothing),
        replaces: Vec::new(),
        channel: Channel::Command,
        reason: Some(play.text("because {}")),
    });
    let about = vec![
        Subject::Other("run:7".to_owned()),
        entry.into(),
        entry.into(),
    ];
    play.write(turn, Draft { about, body });
    Some(())
}
