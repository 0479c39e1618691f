//! Five hubs with five databases, in a random topology with cycles: partitions, a killed hub and a
//! database that is restored from an old copy. `KEN_LONG=1` runs it with more entries and rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use ken_core::ledger::event::{
    BlankReason, Channel, EventBlanked, EventBody, RecordedEvent, RetractReason, Retracted,
};
use ken_core::values::id::{EntryId, EventId, IdSource as _};
use ken_core::values::time::Timestamp;
use ken_hub::store::PublicationAudience;
use ken_testkit::build::{EventWriter, SeededIds};

use crate::federation::{FederatedHub, NOW, lesson_events};

/// Number of hubs.
const HUBS: usize = 5;

/// Part of every statement that no policy lets out.
const CANARY: &str = "canaryfalcon";

/// One published entry of the test.
#[derive(Clone, Debug)]
struct PublishedLesson {
    entry: EntryId,
    proposal: EventId,
    /// A word that occurs in this statement only.
    mark: String,
    is_redacted: bool,
    is_withdrawn: bool,
}

struct Network {
    hubs: Vec<FederatedHub>,
    /// Names of the hubs that each hub reads.
    reads: Vec<BTreeSet<usize>>,
    lessons: Vec<Vec<PublishedLesson>>,
    scribes: Vec<EventWriter>,
    random: SeededIds,
}

fn sizes() -> (usize, usize) {
    if ken_testkit::laws::is_long() {
        (400, 30)
    } else {
        (24, 6)
    }
}

impl Network {
    fn new(seed: u64) -> Self {
        let mut random = SeededIds::new(seed);
        let hubs: Vec<FederatedHub> = (0..HUBS)
            .map(|_| FederatedHub::start(PublicationAudience::Public))
            .collect();
        let mut reads = vec![BTreeSet::new(); HUBS];
        for (reader, of) in reads.iter_mut().enumerate() {
            // A ring, so that there is a cycle, and one or two more edges.
            of.insert((reader + 1) % HUBS);
            for _ in 0..2 {
                let other = below(&mut random, HUBS);
                if other != reader {
                    of.insert(other);
                }
            }
        }
        let network = Self {
            lessons: vec![Vec::new(); HUBS],
            scribes: (0..HUBS as u64)
                .map(|it| EventWriter::new(seed + it))
                .collect(),
            hubs,
            reads,
            random,
        };
        for (reader, of) in network.reads.iter().enumerate() {
            for publisher in of {
                let name = format!("hub-{publisher}");
                network.hubs[reader].subscribe(&name, &network.hubs[*publisher], 1);
            }
        }
        network
    }

    /// Adds entries at a hub, lets all but the forbidden one out and publishes them.
    fn teach(&mut self, at: usize, count: usize) {
        let (hub, scribe) = (&self.hubs[at], &mut self.scribes[at]);
        scribe.now = Timestamp::from_millis(NOW);
        let mut copies: Vec<RecordedEvent> = Vec::new();
        let first = self.lessons[at].len();
        for number in first..first + count {
            let mark = format!("mark{at}x{number}y");
            let statement =
                format!("Worker {mark} closes its channel from the sending side when it ends");
            let (entry, proposal, events) = lesson_events(scribe, &statement, "rust/async");
            copies.extend(events);
            self.lessons[at].push(PublishedLesson {
                entry,
                proposal,
                mark,
                is_redacted: false,
                is_withdrawn: false,
            });
        }
        let kept = format!("The {CANARY} service number {at} answers slowly on Fridays");
        let (_, _, events) = lesson_events(scribe, &kept, "hr/payroll");
        copies.extend(events);
        hub.append(copies);
        let ids: Vec<EntryId> = self.lessons[at][first..]
            .iter()
            .map(|it| it.entry)
            .collect();
        assert_eq!(hub.allow(&ids).expect("allowed").len(), count);
        assert_eq!(hub.update().added, count);
    }

    /// Redacts or retracts one entry of a hub, and lets the order out.
    fn take_back(&mut self, at: usize, is_redaction: bool) {
        let open = self.lessons[at].iter();
        let open = open
            .filter(|it| !it.is_redacted && !it.is_withdrawn)
            .count();
        if open == 0 {
            return;
        }
        let chosen = below(&mut self.random, open);
        let lesson = self.lessons[at]
            .iter_mut()
            .filter(|it| !it.is_redacted && !it.is_withdrawn)
            .nth(chosen)
            .expect("one is open");
        let scribe = &mut self.scribes[at];
        scribe.by("human:ann");
        scribe.now = Timestamp::from_millis(NOW);
        let body = if is_redaction {
            lesson.is_redacted = true;
            EventBody::EventBlanked(EventBlanked {
                event: lesson.proposal,
                reason: BlankReason::Secret,
            })
        } else {
            lesson.is_withdrawn = true;
            EventBody::Retracted(Retracted {
                reason: RetractReason::False,
                channel: Channel::Command,
                note: None,
            })
        };
        let copy = scribe.about(lesson.entry, body);
        self.hubs[at].append(vec![copy]);
        let update = self.hubs[at].update();
        assert_eq!(update.redacted + update.withdrawn, 1, "{update:?}");
    }

    /// Lets every hub pull from those it reads, except over cut edges, and approve what waits.
    fn round(&self, cut: &BTreeSet<(usize, usize)>) {
        for (reader, of) in self.reads.iter().enumerate() {
            for publisher in of.iter().filter(|it| !cut.contains(&(reader, **it))) {
                let name = format!("hub-{publisher}");
                let report = self.hubs[reader].pull(&name);
                assert_eq!(report.stopped, None, "{reader} reads {publisher}");
                assert_eq!(report.refused, [], "{reader} reads {publisher}");
                while self.hubs[reader].approve_all(&name) > 0 {}
            }
        }
    }

    /// Asserts that every reader has exactly what its publishers still publish, and no word that
    /// was taken back or never let out.
    fn check_converged(&self) {
        for (reader, of) in self.reads.iter().enumerate() {
            let hub = &self.hubs[reader].hub;
            let shown = hub.database.sql("SELECT json FROM ken.peer_entries");
            let lines = hub.database.sql("SELECT event FROM ken.peer_lines");
            for (publisher, lessons) in self.lessons.iter().enumerate() {
                for lesson in lessons {
                    let is_open = !lesson.is_redacted && !lesson.is_withdrawn;
                    let expected = of.contains(&publisher) && is_open;
                    let found = shown.contains(&lesson.mark);
                    assert_eq!(found, expected, "{reader} {publisher} {lesson:?}");
                    if lesson.is_redacted {
                        assert!(!lines.contains(&lesson.mark), "{reader} {lesson:?}");
                    }
                }
            }
            assert!(!lines.contains(CANARY) && !shown.contains(CANARY));
        }
    }

    /// Asserts that no answer below `/federation` contains a word that was redacted, or an entry
    /// that no person let out. Returns the number of answers.
    fn check_served(&self) -> usize {
        let mut answers = 0;
        for (at, publisher) in self.hubs.iter().enumerate() {
            let place = publisher.update().place.expect("a place");
            let batches = (1..=place.number).map(|it| format!("{}/{it}.json", place.epoch));
            let names = ["publication.json", "head.json", "orders.jsonl"].map(str::to_owned);
            for file in names.into_iter().chain(batches) {
                let path = format!("{}/{file}", publisher.path());
                let answer = publisher.hub.send("GET", &path, &[], None);
                assert_eq!(answer.status, 200, "{path}");
                let text = answer.text();
                assert!(!text.contains(CANARY), "{path}");
                for lesson in self.lessons[at].iter().filter(|it| it.is_redacted) {
                    assert!(!text.contains(&lesson.mark), "{path} {lesson:?}");
                }
                answers += 1;
            }
        }
        answers
    }
}

/// Returns a random number below `limit`.
fn below(random: &mut SeededIds, limit: usize) -> usize {
    let limit = u128::try_from(limit).expect("a small number");
    usize::try_from(random.random() % limit).expect("a small number")
}

#[test]
fn five_hubs_converge_through_partitions_a_kill_and_a_restore() {
    let (count, rounds) = sizes();
    let mut network = Network::new(0x5eed);
    for at in 0..HUBS {
        network.teach(at, count);
    }
    let copy: BTreeMap<&str, &str> = BTreeMap::from([
        ("dump_p", "publications"),
        ("dump_b", "publication_batches"),
        ("dump_l", "publication_lines"),
    ]);
    for (dump, table) in &copy {
        let sql = format!("CREATE TABLE public.{dump} AS SELECT * FROM ken.{table}");
        network.hubs[0].hub.database.sql(&sql);
    }
    for round in 0..rounds {
        let mut cut = BTreeSet::new();
        for _ in 0..HUBS {
            let edge = (
                below(&mut network.random, HUBS),
                below(&mut network.random, HUBS),
            );
            cut.insert(edge);
        }
        let at = below(&mut network.random, HUBS);
        network.teach(at, 2);
        network.take_back(at, round % 2 == 0);
        if round == rounds / 2 {
            // A hub dies without a farewell and comes back at the same address.
            network.hubs[1].hub.kill_and_restart();
            // Another one's publications are put back to an old copy. The key and what it
            // remembers are beside the database.
            let database = &network.hubs[0].hub.database;
            database.sql(
                "DELETE FROM ken.publications; INSERT INTO ken.publications SELECT * FROM public.dump_p;
                 INSERT INTO ken.publication_batches SELECT * FROM public.dump_b;
                 INSERT INTO ken.publication_lines SELECT * FROM public.dump_l",
            );
            let _ = network.hubs[0].update();
        }
        network.round(&cut);
    }
    // Nothing is cut anymore: one round is enough, because no hub relays.
    network.round(&BTreeSet::new());
    network.check_converged();
    assert!(network.check_served() >= HUBS * 4);
    let before: usize = network
        .lessons
        .iter()
        .flatten()
        .filter(|it| it.is_redacted)
        .count();
    assert!(before > 0, "something was redacted");
}

/// The replication rate, compared with the hub's own append rate on the same machine.
#[test]
fn a_backlog_arrives_at_no_less_than_half_the_append_rate() {
    let count = if ken_testkit::laws::is_long() {
        5_000
    } else {
        500
    };
    let publisher = FederatedHub::start(PublicationAudience::Public);
    let reader = FederatedHub::start(PublicationAudience::Public);
    let mut scribe = EventWriter::new(11);
    scribe.now = Timestamp::from_millis(NOW);
    let (mut copies, mut ids) = (Vec::new(), Vec::new());
    for number in 0..count {
        let statement = format!("Worker {number} closes its channel from the sending side");
        let (entry, _, events) = lesson_events(&mut scribe, &statement, "rust/async");
        copies.extend(events);
        ids.push(entry);
    }
    let events = copies.len();
    let began = Instant::now();
    for chunk in copies.chunks(500) {
        publisher.append(chunk.to_vec());
    }
    let appended = events as f64 / began.elapsed().as_secs_f64();
    publisher.allow(&ids).expect("allowed");
    assert_eq!(publisher.update().added, count);
    reader.subscribe("publisher", &publisher, 1);
    let began = Instant::now();
    let report = reader.pull("publisher");
    let replicated = count as f64 / began.elapsed().as_secs_f64();
    assert_eq!((report.new, report.stopped), (count, None));
    eprintln!("appended {appended:.0} events/s, replicated {replicated:.0} lines/s");
    // The short form only guards against a collapse: with so few lines it measures round trips.
    let bar = if ken_testkit::laws::is_long() {
        0.5
    } else {
        0.1
    };
    assert!(
        replicated >= appended * bar,
        "{replicated:.0} of {appended:.0}"
    );
}
