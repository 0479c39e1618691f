//! Confidence fades when it is read, and no faded number is ever sent (FED-05).

use ken_core::ledger::event::{EventBody, Feedback, FeedbackGiven, RecordedEvent};
use ken_core::ledger::fold::fold_entry;
use ken_core::trust::facts::EntryFacts;
use ken_core::values::time::DAY_MS;
use ken_testkit::build::EventWriter;

use crate::support::{Publisher, start};

/// Days after which evidence of every class that fades has lost weight.
const LATER_DAYS: u64 = 60;

#[test]
fn time_changes_no_line_and_sends_nothing_but_renewals() {
    let mut publisher = Publisher::new(7);
    publisher.words.insert(1, "Lesson 1".to_owned());
    publisher.update(start());
    let (lines, places) = (
        publisher.signed_lines.clone(),
        publisher.folder.batches.len(),
    );
    publisher.update(start().plus_millis(LATER_DAYS * DAY_MS));
    assert_eq!(publisher.signed_lines, lines);
    let renewals = publisher.folder.batches.values().skip(places);
    let renewals: Vec<_> = renewals.collect();
    assert_eq!(renewals.len(), 1);
    assert!(renewals[0].manifest.rows.is_empty() && renewals[0].lines.is_empty());
}

#[test]
fn the_confidence_of_a_foreign_entry_fades_at_the_reader_and_its_state_does_not() {
    let mut publisher = Publisher::new(7);
    publisher.words.insert(1, "Lesson 1".to_owned());
    publisher.update(start());
    let line = publisher.signed_lines.values().next().expect("a line");
    let line = RecordedEvent::parse(line.as_bytes()).expect("a published line");
    let id = line.event.entries().next().expect("an entry");
    let mut scribe = EventWriter::new(3);
    scribe.now = start();
    let helpful = |scribe: &mut EventWriter| {
        let body = EventBody::FeedbackGiven(FeedbackGiven {
            verdict: Feedback::Helpful,
            weight_milli: 1_000,
        });
        scribe.about(id, body)
    };
    let ratings = [helpful(&mut scribe), helpful(&mut scribe)];
    let events = || std::iter::once(&line.event).chain(ratings.iter().map(|it| &it.event));
    let entry = fold_entry(id, events()).expect("an entry");
    let at = |days: u64| start().plus_millis(days * DAY_MS);
    let posterior = |days: u64| EntryFacts::from_entry(&entry, None, at(days)).posterior;
    let (soon, late) = (posterior(1), posterior(LATER_DAYS));
    // Older observations weigh less; none is ever taken out of the sums that the fold keeps.
    assert!(
        late.observations() < soon.observations(),
        "{soon:?} {late:?}"
    );
    assert!(late.mean() < soon.mean(), "{soon:?} {late:?}");
    assert_eq!(fold_entry(id, events()).as_ref(), Some(&entry));
}
