//! Made-up events that look like a busy repository's: the same ones for the same seed.
//!
//! One event in ten proposes an entry; the others revise, cite, confirm, judge and link entries
//! proposed before. Several clones write, each with a clock of its own.

use std::collections::BTreeSet;

use ken_core::decide::{Draft, EventStamper, Proposal, SCHEMA_VERSION};
use ken_core::ledger::event::{
    Admission, ArchiveReason, Archived, Channel, Cited, Confirmed, EntryEffect, EventBody,
    EventSubject, Feedback, FeedbackGiven, Linked, Origin, Proposed, Provenance, RecordedEvent,
    Relation, RetractReason, Retracted, Revised, RunEffects, StatusChanged,
};
use ken_core::values::actor::Actor;
use ken_core::values::citation::{Citation, CitationSource};
use ken_core::values::content::{Content, ContentChanges};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;

use super::words::{self, Vocabulary};

/// Clones that write.
pub(crate) const CLONES: usize = 8;
/// Of so many events one is a proposal.
const EVENTS_PER_ENTRY: u64 = 10;
/// Of so many lessons one is asked for.
const ENTRIES_PER_QUERY: usize = 100;
/// Milliseconds between two events: a million of them take about two years.
const STEP_MS: u64 = 63_000;
const START: &str = "2026-01-02T03:04:05Z";

const KINDS: [EntryKind; 8] = [
    EntryKind::Learning,
    EntryKind::Pattern,
    EntryKind::AntiPattern,
    EntryKind::Decision,
    EntryKind::Convention,
    EntryKind::Bug,
    EntryKind::FalsePositive,
    EntryKind::CommitNorm,
];

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

/// Writes one event after the other.
#[derive(Debug)]
pub(crate) struct Story {
    dice: Dice,
    now: Timestamp,
    clones: Vec<Clone>,
    entries: Vec<Known>,
    told: u64,
    /// Where nothing but lessons is told, in words as often as in real text.
    lessons: Option<Lessons>,
}

#[derive(Debug)]
struct Lessons {
    vocabulary: Vocabulary,
    /// Questions that some of them answer.
    queries: Vec<String>,
}

/// One clone of the repository and whoever works in it.
#[derive(Debug)]
struct Clone {
    node: NodeId,
    by: Actor,
    seen: Option<Hlc>,
}

/// What has to be known of an entry to write about it.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: EntryId,
    wording: EventId,
    status: EventId,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

impl IdSource for Dice {
    fn random(&mut self) -> u128 {
        u128::from(self.roll()) << 64 | u128::from(self.roll())
    }
}

impl Story {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let clone = |number: usize, dice: &mut Dice| Clone {
            node: NodeId::new(dice.random()),
            by: if number.is_multiple_of(2) {
                actor(&format!("human:person{number}@example.org"))
            } else {
                actor(&format!("agent:reviewer-{number}"))
            },
            seen: None,
        };
        let clones = (0..CLONES).map(|number| clone(number, &mut dice)).collect();
        Self {
            dice,
            now: START.parse().expect("a time"),
            clones,
            entries: Vec::new(),
            told: 0,
            lessons: None,
        }
    }

    /// Tells nothing but lessons.
    pub(crate) fn lessons(seed: u64) -> Self {
        let mut story = Self::new(seed);
        let vocabulary = Vocabulary::new(&mut story.dice);
        let queries = Vec::new();
        story.lessons = Some(Lessons {
            vocabulary,
            queries,
        });
        story
    }

    /// Returns questions that lessons told so far answer.
    pub(crate) fn queries(&self) -> &[String] {
        self.lessons
            .as_ref()
            .map_or(&[], |lessons| &lessons.queries)
    }

    /// Returns the next event and the number of the clone that wrote it.
    pub(crate) fn tell(&mut self) -> (usize, RecordedEvent) {
        let clone = self.dice.below(CLONES);
        self.now = self.now.plus_millis(STEP_MS);
        let proposes = self.lessons.is_some() || self.told.is_multiple_of(EVENTS_PER_ENTRY);
        self.told += 1;
        let id = EventId::new(self.now, self.dice.random());
        let recorded = if proposes {
            self.propose(clone, id)
        } else {
            self.go_on(clone, id)
        };
        (clone, recorded)
    }

    /// Returns the entries proposed so far.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = EntryId> + '_ {
        self.entries.iter().map(|known| known.id)
    }

    fn propose(&mut self, clone: usize, id: EventId) -> RecordedEvent {
        let by = self.clones[clone].by.clone();
        let mut it = proposal(&mut self.dice, &by, self.now);
        if let Some(lessons) = &mut self.lessons {
            it.content.statement = lessons.vocabulary.lesson(&mut self.dice);
            if self.entries.len().is_multiple_of(ENTRIES_PER_QUERY) {
                let query = words::query(&mut self.dice, &it.content.statement);
                lessons.queries.push(query);
            }
        }
        let entry = EntryId::created_by(id, it.kind);
        self.entries.push(Known {
            id: entry,
            wording: id,
            status: id,
        });
        let body = EventBody::Proposed(Proposed {
            kind: it.kind,
            content: it.content,
            citations: it.citations,
            status: EntryStatus::Candidate,
            origin: it.origin,
            scope: it.scope,
            schema_version: SCHEMA_VERSION.to_owned(),
            alias: None,
            thread: None,
            run: None,
            overrides: None,
            copied_from: None,
            foraged: None,
            promoted_from: Vec::new(),
        });
        self.write(clone, id, vec![entry.into()], body)
    }

    fn go_on(&mut self, clone: usize, id: EventId) -> RecordedEvent {
        let at = self.dice.below(self.entries.len());
        let known = self.entries[at];
        let mut about = vec![known.id.into()];
        let body = match self.dice.below(90) {
            0..10 => {
                self.entries[at].wording = id;
                self.revise(known)
            }
            10..22 => EventBody::Cited(Cited {
                citation: citation(&mut self.dice, &self.clones[clone].by, self.now),
            }),
            22..44 => EventBody::Confirmed(Confirmed {
                provenance: Provenance::Independent,
                on: self.now.date(),
                run: Some(format!("run-{}", self.told)),
                withdraws: Vec::new(),
            }),
            44..64 => EventBody::FeedbackGiven(FeedbackGiven {
                verdict: *self.dice.pick(&[Feedback::Helpful, Feedback::Unhelpful]),
                weight_milli: 1000,
            }),
            64..77 => self.effects(known.id, &mut about),
            77..84 => {
                self.entries[at].status = id;
                let to = *self.dice.pick(&[
                    EntryStatus::Active,
                    EntryStatus::Verified,
                    EntryStatus::Stale,
                ]);
                let replaces = vec![known.status];
                EventBody::StatusChanged(StatusChanged {
                    to,
                    replaces,
                    reason: None,
                })
            }
            84..88 => EventBody::Linked(Linked {
                to: self.dice.pick(&self.entries).id,
                rel: *self.dice.pick(&[Relation::RelatesTo, Relation::Refines]),
                withdraws: Vec::new(),
            }),
            88 => EventBody::Archived(Archived {
                because: ArchiveReason::Age,
                rests_on: None,
            }),
            _ => EventBody::Retracted(Retracted {
                reason: *self
                    .dice
                    .pick(&[RetractReason::Obsolete, RetractReason::False]),
                channel: Channel::Command,
                note: None,
            }),
        };
        self.write(clone, id, about, body)
    }

    fn revise(&mut self, known: Known) -> EventBody {
        let changes = ContentChanges {
            statement: Some(words::statement(&mut self.dice)),
            ..ContentChanges::default()
        };
        let replaces = vec![known.wording];
        EventBody::Revised(Revised {
            origin: None,
            changes,
            replaces,
            channel: Channel::Command,
            reason: None,
        })
    }

    /// What a run did to one to four entries.
    fn effects(&mut self, first: EntryId, about: &mut Vec<EventSubject>) -> EventBody {
        let mut touched = BTreeSet::from([first]);
        for _ in 0..self.dice.below(4) {
            touched.insert(self.dice.pick(&self.entries).id);
        }
        *about = touched.iter().map(|id| (*id).into()).collect();
        let effect = |entry| EntryEffect {
            entry,
            alpha_milli: 700,
            beta_milli: 300,
            shown: 1,
            blind: 0,
            unseen: 0,
            since: None,
            source_outcome: None,
            trials: Vec::new(),
        };
        EventBody::RunEffects(RunEffects {
            run: format!("run-{}", self.told),
            effects: touched.into_iter().map(effect).collect(),
        })
    }

    fn write(
        &mut self,
        clone: usize,
        id: EventId,
        about: Vec<EventSubject>,
        body: EventBody,
    ) -> RecordedEvent {
        let Clone { node, by, seen } = &mut self.clones[clone];
        let mut clock = EventStamper {
            node: *node,
            now: self.now,
            seen: *seen,
            ids: &mut self.dice,
        };
        let event = clock.stamp_with_id(id, Draft { about, body }, by, admission());
        *seen = clock.seen;
        RecordedEvent::new(event)
    }
}

/// Returns what the guard says of a text it finds nothing in.
pub(crate) fn admission() -> Admission {
    Admission::clean("ken-guard/1")
}

/// Returns an entry somebody might want to add.
pub(crate) fn proposal(dice: &mut Dice, by: &Actor, now: Timestamp) -> Proposal {
    let mut content = Content::new(words::statement(dice));
    content.tags = (0..dice.below(4)).map(|_| words::tag(dice)).collect();
    content.anchors = (0..dice.below(3)).map(|_| words::anchor(dice)).collect();
    content.verify = (0..dice.below(2)).map(|_| words::step(dice)).collect();
    Proposal::new(
        *dice.pick(&KINDS),
        content,
        (0..=dice.below(2))
            .map(|_| citation(dice, by, now))
            .collect(),
        Origin::Agent,
    )
}

/// Returns the actor a text names.
pub(crate) fn actor(text: &str) -> Actor {
    text.parse().expect("an actor")
}

fn citation(dice: &mut Dice, by: &Actor, now: Timestamp) -> Citation {
    let text = match dice.below(3) {
        0 => format!("pr:{}", dice.below(20_000)),
        // Sources that no repository can check: the documents and commits would not exist.
        1 => format!("test:docs/adr/{:04}.md", dice.below(400)),
        _ => format!("transcript:{:040x}", dice.random() >> 4),
    };
    let evidence: CitationSource = text.parse().expect("a citation");
    evidence.cite(by, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_the_same_each_time_and_its_lines_read_back() {
        let (mut one, mut other) = (Story::new(1), Story::new(1));
        for _ in 0..500 {
            let (clone, event) = one.tell();
            assert_eq!((clone, event.clone()), other.tell());
            assert_eq!(RecordedEvent::parse(event.line().as_bytes()), Ok(event));
        }
        assert_eq!(one.entries().len(), 50);
    }
}
