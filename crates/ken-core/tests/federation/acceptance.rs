//! Acceptance rules of a receiver, one row per rule.

use ken_core::federation::{
    BATCH_ROWS_MAX, BatchRejection, LINES_PER_DAY_MAX, LineRefusal, ManifestRow, PublicationBatch,
    PublicationReplica, check_published_line,
};
use ken_core::ledger::event::{
    AdmissionVerdict, Channel, EventBody, Origin, Proposed, RecordedEvent, RetractReason, Retracted,
};
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Tag;
use ken_core::values::time::DAY_MS;

use crate::support::{Publisher, Receiver, start};

fn first_batch() -> (Publisher, PublicationBatch) {
    let mut publisher = Publisher::new(7);
    publisher.words.insert(1, "Lesson 1".to_owned());
    let planned = publisher.plan(start()).remove(0);
    let batch = publisher.signed(planned);
    (publisher, batch)
}

/// Applies a change to the first batch, signs it again and returns what a receiver says.
fn rejected(change: impl FnOnce(&mut PublicationBatch)) -> Result<bool, BatchRejection> {
    let (publisher, mut batch) = first_batch();
    change(&mut batch);
    batch.signature = publisher.sign_manifest(&batch.manifest);
    Receiver::new(&publisher).accept(&batch, start())
}

#[test]
fn a_batch_that_breaks_a_rule_is_rejected_and_changes_nothing() {
    let day = |days: u64| start().plus_millis(days * DAY_MS);
    assert_eq!(rejected(|_| {}), Ok(true));
    assert_eq!(
        rejected(|it| it.manifest.schema = "ken.manifest.v9".to_owned()),
        Err(BatchRejection::Schema("ken.manifest.v9".to_owned()))
    );
    assert_eq!(
        rejected(|it| it.manifest.publication = "other".parse().unwrap()),
        Err(BatchRejection::OtherPublication)
    );
    assert_eq!(
        rejected(|it| it.manifest.publisher = Publisher::new(8).id),
        Err(BatchRejection::OtherPublication)
    );
    assert_eq!(
        rejected(|it| it.manifest.number = 2),
        Err(BatchRejection::Gap)
    );
    assert_eq!(
        rejected(|it| it.manifest.previous = Some("b3:0".to_owned())),
        Err(BatchRejection::Gap)
    );
    assert_eq!(
        rejected(|it| it.manifest.at = day(1)),
        Err(BatchRejection::Future)
    );
    assert_eq!(
        rejected(|it| it.manifest.epoch = day(1).millis()),
        Err(BatchRejection::Future)
    );
    assert_eq!(
        rejected(|it| it.manifest.expires = day(31)),
        Err(BatchRejection::Expiry)
    );
    let before = start().minus_millis(1);
    assert_eq!(
        rejected(|it| it.manifest.expires = before),
        Err(BatchRejection::Expiry)
    );
    assert_eq!(
        rejected(|it| it.lines.push(it.lines[0].clone())),
        Err(BatchRejection::UnnamedLine)
    );
    assert!(matches!(
        rejected(|it| it.lines.clear()),
        Err(BatchRejection::MissingLine(_))
    ));
    assert!(matches!(
        rejected(|it| it.lines[0] = it.lines[0].replace("Lesson", "Evil")),
        Err(BatchRejection::ForgedLine(..))
    ));
    let row = first_batch().1.manifest.rows[0].clone();
    assert_eq!(
        rejected(|it| it.manifest.rows = vec![row; BATCH_ROWS_MAX + 1]),
        Err(BatchRejection::TooManyRows(BATCH_ROWS_MAX + 1))
    );
}

#[test]
fn a_batch_that_another_key_signed_is_rejected() {
    let (publisher, mut batch) = first_batch();
    batch.signature = crate::support::sign(8, &batch.manifest.bytes());
    let mut receiver = Receiver::new(&publisher);
    assert_eq!(
        receiver.accept(&batch, start()),
        Err(BatchRejection::Signature)
    );
    assert!(receiver.replica.head.is_none());
}

#[test]
fn an_order_may_come_before_its_line_and_from_an_older_epoch() {
    let (mut publisher, batch) = first_batch();
    publisher.update(start());
    publisher.redact(1);
    publisher.update(start().plus_millis(1_000));
    let mut receiver = Receiver::new(&publisher);
    let orders = ken_core::federation::SignedManifest {
        manifest: publisher.folder.orders[0].manifest.clone(),
        signature: publisher.folder.orders[0].signature.clone(),
    };
    let check = |bytes: &[u8], signature: &str| crate::support::sign(7, bytes) == signature;
    let effects = receiver
        .replica
        .accept_orders(&[orders], start(), &check)
        .unwrap();
    assert_eq!(effects.redact.len(), 1);
    // The batch as it was served before the redaction: its words must not be stored.
    assert!(batch.lines[0].contains("Lesson"));
    assert_eq!(receiver.accept(&batch, start()), Ok(true));
    assert!(receiver.stored.values().all(RecordedEvent::is_redacted));
    assert!(receiver.shown().is_empty());
}

/// Publishes `count` sources and returns the publisher with its folder.
fn many(count: u32) -> Publisher {
    let mut publisher = Publisher::new(7);
    publisher.extra = count;
    publisher.update(start());
    publisher
}

#[test]
fn lines_have_a_daily_quota_and_orders_have_none() {
    // The rule is the same for every quota; one of two batches is small enough to test it here.
    let quota = 2 * BATCH_ROWS_MAX as u32;
    let mut publisher = many(quota + 1);
    let mut receiver = Receiver::new(&publisher).with_quota(quota);
    let stopped = receiver.pull(&publisher.folder, start());
    // Exactly the quota is accepted, and one line more is not.
    assert_eq!(stopped, Some(BatchRejection::DailyQuota(quota)));
    assert_eq!(receiver.stored.len(), quota as usize);
    // Orders pass the backlog on the same day.
    publisher.extra -= 1;
    publisher.update(start().plus_millis(1_000));
    let first = publisher.folder.orders[0].manifest.rows[0].clone();
    let ManifestRow::Withdraw { target, .. } = first else {
        panic!("an order")
    };
    let stopped = receiver.pull(&publisher.folder, start());
    assert_eq!(stopped, Some(BatchRejection::DailyQuota(quota)));
    assert!(receiver.replica.withdrawn().contains_key(&target));
    assert!(!receiver.replica.is_shown(target));
    // The rest follows on the next day.
    let tomorrow = start().plus_millis(DAY_MS);
    assert_eq!(receiver.pull(&publisher.folder, tomorrow), None);
    assert_eq!(receiver.shown().len(), quota as usize);
}

#[test]
fn every_receiver_has_the_quota_and_a_stored_one_keeps_it() {
    let publisher = Publisher::new(7);
    let replica = PublicationReplica::new(publisher.id, publisher.name.clone());
    assert_eq!(replica.quota(), LINES_PER_DAY_MAX);
    // A quota in the file of a peer does not count: it is a rule of this version of Ken.
    let stored = serde_json::to_string(&replica.with_quota(u32::MAX)).unwrap();
    let read: PublicationReplica = serde_json::from_str(&stored).unwrap();
    assert_eq!(read.quota(), LINES_PER_DAY_MAX);
    let own = PublicationReplica::own(publisher.id, publisher.name);
    assert_eq!(own.quota(), u32::MAX);
}

/// Changes the line of a publication, encodes it again and returns the refusal.
fn refused(change: impl FnOnce(&mut ken_core::ledger::event::Event)) -> Option<LineRefusal> {
    let (publisher, batch) = first_batch();
    let mut event = RecordedEvent::parse(batch.lines[0].as_bytes())
        .unwrap()
        .event;
    change(&mut event);
    let line = RecordedEvent::new(event);
    let entry = line.event.entries().next().unwrap();
    let named = (line.event.id, line.sum(), entry);
    check_published_line(publisher.id, &publisher.name, named, line.line()).err()
}

fn proposal(event: &mut ken_core::ledger::event::Event, change: impl FnOnce(&mut Proposed)) {
    if let EventBody::Proposed(data) = &mut event.body {
        change(data);
    }
}

#[test]
fn a_line_has_the_shape_of_a_publication_to_the_letter() {
    let shape = |what| Some(LineRefusal::WrongShape(what));
    assert_eq!(refused(|_| {}), None);
    assert_eq!(
        refused(|it| it.by = "human:ada@example.org".parse().unwrap()),
        Some(LineRefusal::WrongAuthor("human:ada@example.org".to_owned()))
    );
    assert_eq!(
        refused(|it| it.by = Publisher::new(8).id.actor()),
        Some(LineRefusal::WrongAuthor(
            Publisher::new(8).id.actor().to_string()
        ))
    );
    let admitted = |it: &mut ken_core::ledger::event::Event| {
        it.admission.as_mut().unwrap().verdict = AdmissionVerdict::Admitted;
    };
    assert_eq!(refused(admitted), shape("admission"));
    assert_eq!(
        refused(|it| proposal(it, |data| data.status = EntryStatus::Verified)),
        shape("status")
    );
    assert_eq!(
        refused(|it| proposal(it, |data| data.origin = Origin::Human)),
        shape("origin")
    );
    assert_eq!(
        refused(|it| proposal(it, |data| data.scope = EntryScope::Workspace)),
        shape("scope")
    );
    assert_eq!(
        refused(|it| proposal(it, |data| data.alias =
            Some("norm.commit.001".parse().unwrap()))),
        shape("source")
    );
    assert_eq!(
        refused(|it| proposal(it, |data| data.citations.clear())),
        shape("citation")
    );
    for condition in ["file:src/lib.rs", "fact:team", "not pkg:cargo/tokio@>=1.0"] {
        let condition = condition.parse().unwrap();
        assert_eq!(
            refused(|it| proposal(it, |data| data.content.depends_on = vec![condition])),
            shape("content")
        );
    }
    let package = "pkg:cargo/tokio@>=1.40".parse().unwrap();
    assert_eq!(
        refused(|it| proposal(it, |data| data.content.depends_on = vec![package])),
        None
    );
    assert_eq!(
        refused(|it| proposal(it, |data| data.kind = EntryKind::Decision)),
        Some(LineRefusal::WrongKind("decision"))
    );
    assert_eq!(
        refused(|it| it.signature = Some("x".to_owned())),
        shape("signature")
    );
}

#[test]
fn an_event_id_is_a_version_7_id_and_a_tag_has_visible_words_only() {
    let shape = |what| Some(LineRefusal::WrongShape(what));
    let random = |it: &mut ken_core::ledger::event::Event| {
        let mut bytes = it.id.to_bytes();
        bytes[6] = 0x40 | bytes[6] & 0x0f;
        it.id = EventId::from_bytes(bytes);
    };
    assert_eq!(refused(random), shape("event id"));
    for tag in ["shared/\u{202e}topic", "shared/to\u{200b}pic"] {
        let tag: Tag = tag.parse().unwrap();
        let lens = tag.clone();
        assert_eq!(
            refused(|it| proposal(it, |data| data.content.lens = Some(lens))),
            shape("content")
        );
        assert_eq!(
            refused(|it| proposal(it, |data| {
                data.content.tags.insert(tag);
            })),
            shape("content")
        );
    }
}

/// Returns the line with another event id and other words, but the same entry id.
fn twin(line: &str) -> RecordedEvent {
    let mut event = RecordedEvent::parse(line.as_bytes()).unwrap().event;
    let mut bytes = event.id.to_bytes();
    // The last bit of the time; the entry id is the last five bytes.
    bytes[5] ^= 1;
    event.id = EventId::from_bytes(bytes);
    proposal(&mut event, |data| {
        data.content.statement = "Words that nobody reviewed".parse().unwrap();
    });
    RecordedEvent::new(event)
}

/// Adds a line to a batch and signs it again.
fn with_line(
    publisher: &Publisher,
    mut batch: PublicationBatch,
    line: &RecordedEvent,
) -> PublicationBatch {
    batch.manifest.rows.push(ManifestRow::Add {
        id: line.event.id,
        sum: line.sum().to_owned(),
        entry: line.event.entries().next().unwrap(),
    });
    batch.lines.push(line.line().to_owned());
    batch.signature = publisher.sign_manifest(&batch.manifest);
    batch
}

/// Accepts a batch as a receiver of `publisher` and returns the refused lines.
fn refused_in(
    publisher: &Publisher,
    replica: &mut PublicationReplica,
    batch: &PublicationBatch,
) -> Vec<(EventId, LineRefusal)> {
    let check =
        |bytes: &[u8], signature: &str| crate::support::sign(publisher.key, bytes) == signature;
    let effects = replica.accept(batch, start(), &check).unwrap().unwrap();
    effects.refused
}

#[test]
fn two_lines_with_one_entry_id_are_never_both_accepted() {
    let (publisher, first) = first_batch();
    let twin = twin(&first.lines[0]);
    let entry = twin.event.entries().next().unwrap();
    let taken = vec![(twin.event.id, LineRefusal::EntryTaken(entry))];
    let new = || PublicationReplica::new(publisher.id, publisher.name.clone());
    // In one batch.
    let mut replica = new();
    let both = with_line(&publisher, first.clone(), &twin);
    assert_eq!(refused_in(&publisher, &mut replica, &both), taken);
    assert_eq!(replica.lines().count(), 1);
    assert!(!replica.is_shown(twin.event.id));
    // In a later batch: also after the first line was stored and read again, and whatever became
    // of it.
    let id = RecordedEvent::parse(first.lines[0].as_bytes())
        .unwrap()
        .event
        .id;
    let orders = [
        None,
        Some(ManifestRow::Redact { target: id }),
        Some(ManifestRow::Withdraw {
            target: id,
            reason: RetractReason::Withdrawn,
        }),
    ];
    for order in orders {
        let mut replica = new();
        assert_eq!(refused_in(&publisher, &mut replica, &first), Vec::new());
        let stored = serde_json::to_string(&replica).unwrap();
        let mut replica: PublicationReplica = serde_json::from_str(&stored).unwrap();
        let mut next = first.clone();
        next.manifest.number = 2;
        next.manifest.previous = Some(first.manifest.digest());
        next.manifest.rows = Vec::from_iter(order);
        next.lines.clear();
        let next = with_line(&publisher, next, &twin);
        assert_eq!(refused_in(&publisher, &mut replica, &next), taken);
    }
}

#[test]
fn a_line_without_data_cannot_take_the_entry_of_another() {
    let (publisher, batch) = first_batch();
    let line = RecordedEvent::parse(batch.lines[0].as_bytes()).unwrap();
    let mut event = line.event.clone();
    let wanted: EntryId = "L-00000001".parse().unwrap();
    event.about = vec![wanted.into()];
    let forged = RecordedEvent::new(event).redacted();
    let named = (forged.event.id, forged.sum(), wanted);
    let refused = check_published_line(publisher.id, &publisher.name, named, forged.line());
    assert_eq!(refused.err(), Some(LineRefusal::WrongShape("entry id")));
    let own = line.redacted();
    let named = (own.event.id, own.sum(), own.event.entries().next().unwrap());
    let accepted = check_published_line(publisher.id, &publisher.name, named, own.line());
    assert!(accepted.is_ok());
}

#[test]
fn a_publication_cannot_approve_release_or_retract() {
    let found = refused(|it| {
        it.body = EventBody::Retracted(Retracted {
            reason: RetractReason::False,
            channel: Channel::Command,
            note: None,
        });
    });
    assert_eq!(
        found,
        Some(LineRefusal::WrongType("entry.retracted".to_owned()))
    );
    let entry: EntryId = "L-00000001".parse().unwrap();
    let found = refused(|it| it.about = vec![entry.into()]);
    assert_eq!(found, Some(LineRefusal::WrongShape("entry id")));
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let long = "word ".repeat(2_000);
    let found = refused(|it| {
        proposal(it, |data| data.content.body = Some(long.parse().unwrap()));
    });
    assert!(matches!(found, Some(LineRefusal::TooLong(_))), "{found:?}");
}
