//! Random histories: what several replicas with different clocks might have written.
//!
//! A history is *played*: each step is 64 random bits that say who does what with which part of
//! what that replica knows. Honest steps go through `ken_core::decide`; raw ones write what only a
//! stranger, a newer build or a bug would. Fewer or smaller numbers give a simpler history, so a
//! failing one shrinks.
//!
//! Every text a step writes contains a word no other step uses ([`words`]), so that a test can
//! tell whether it is still there.

mod honest;
mod raw;
mod seal;
mod texts;
mod whole;

use std::fmt;

use ken_core::actor::Actor;
use ken_core::decide::{Clock, Draft};
use ken_core::entry::Entry;
use ken_core::event::{Admission, AdmissionVerdict, Body, Event, Proposed, Recorded, Subject};
use ken_core::fold::fold_entry;
use ken_core::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::state::blanks;
use ken_core::time::{DAY_MS, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

pub use seal::seal;
pub use texts::words;

/// Steps of a light history, for tens of thousands of cases.
pub const STEPS_LIGHT: usize = 20;
/// Steps of an ordinary history.
pub const STEPS: usize = 60;
/// Steps of a long history.
pub const STEPS_LONG: usize = 200;

/// Entries one history has at most; few, so that events meet.
const ENTRIES_MAX: usize = 3;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// Only replicas of this build that follow the rules; their clocks may still be wrong.
    Honest,
    /// Also strangers, newer builds and forgers.
    Any,
}

/// What was written, and what tests want to know about it.
#[derive(Clone, Default)]
pub struct History {
    /// Every line in the order of writing; an id may have several.
    pub copies: Vec<Recorded>,
    /// Ids some machine remembers as blanked.
    pub remembered: Vec<EventId>,
    /// Revisions that named everything their author had seen.
    pub rewordings: Vec<Rewording>,
    /// Which copies each replica holds in the end, by their place in `copies`.
    pub held: Vec<Vec<usize>>,
}

/// One line an event: a failing history is read by people.
impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for copy in &self.copies {
            writeln!(f, "{}", copy.line())?;
        }
        for id in &self.remembered {
            writeln!(f, "remembered {id}")?;
        }
        Ok(())
    }
}

/// A revision made through `decide::revise`.
#[derive(Clone, Debug)]
pub struct Rewording {
    pub entry: EntryId,
    pub event: EventId,
    /// Every event of the entry its author had seen.
    pub seen: Vec<EventId>,
}

/// Returns histories of up to `steps` steps.
pub fn histories(manners: Manners, steps: usize) -> impl Strategy<Value = History> {
    vec(any::<u64>(), 1..=steps).prop_map(move |numbers| play(manners, &numbers))
}

/// Returns one history in which every step goes through `ken_core::decide` or could have.
pub fn honest_histories(steps: usize) -> impl Strategy<Value = History> {
    histories(Manners::Honest, steps)
}

/// Returns histories with everything a ledger may hold.
pub fn any_histories(steps: usize) -> impl Strategy<Value = History> {
    histories(Manners::Any, steps)
}

/// Plays one history; the same numbers give the same one.
pub fn play(manners: Manners, numbers: &[u64]) -> History {
    let mut play = Play::new(manners, numbers);
    for number in numbers {
        play.step(Choice(*number));
    }
    play.history()
}

/// Random bits, taken apart in small portions.
#[derive(Debug)]
pub(crate) struct Choice(u64);

impl Choice {
    /// Returns a number below `n`; what is simplest comes first.
    fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let portion = self.0 % n;
        self.0 /= n;
        usize::try_from(portion).expect("below a usize")
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns true once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

/// Numbers that look random and are the same every time.
#[derive(Debug, Default)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl IdSource for Numbers {
    fn random(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// How wrong a replica's clock is.
#[derive(Clone, Copy, Debug)]
enum Skew {
    None,
    HourBehind,
    HourAhead,
    Year2099,
}

#[derive(Debug)]
struct Replica {
    node: NodeId,
    skew: Skew,
    /// Whether it holds the copy at each place of the history.
    held: Vec<bool>,
}

impl Replica {
    fn holds(&self, place: usize) -> bool {
        self.held.get(place).copied().unwrap_or(false)
    }

    fn take(&mut self, place: usize) {
        if self.held.len() <= place {
            self.held.resize(place + 1, false);
        }
        self.held[place] = true;
    }
}

/// Who acts in a step, and the bits left to decide how.
#[derive(Debug)]
pub(crate) struct Turn {
    replica: usize,
    by: Actor,
    choice: Choice,
}

#[derive(Debug)]
pub(crate) struct Play {
    manners: Manners,
    numbers: Numbers,
    words: u32,
    /// Milliseconds since the history began.
    elapsed: u64,
    replicas: Vec<Replica>,
    entries: Vec<EntryId>,
    written: History,
}

impl Play {
    fn new(manners: Manners, numbers: &[u64]) -> Self {
        const SKEWS: [Skew; 5] = [
            Skew::None,
            Skew::HourBehind,
            Skew::HourAhead,
            Skew::Year2099,
            Skew::None,
        ];
        let mixed = numbers.iter().fold(0, |a: u64, n| a.rotate_left(7) ^ n);
        let mut choice = Choice(mixed);
        let (count, first) = (2 + choice.below(4), choice.below(SKEWS.len()));
        let replicas = (0..count)
            .map(|i| Replica {
                node: NodeId::new(i as u128 + 1),
                skew: SKEWS[(first + i) % SKEWS.len()],
                held: Vec::new(),
            })
            .collect();
        Self {
            manners,
            numbers: Numbers::default(),
            words: 0,
            elapsed: 0,
            replicas,
            entries: Vec::new(),
            written: History::default(),
        }
    }

    fn step(&mut self, mut choice: Choice) {
        let honest = honest::ACTIONS;
        let kinds = match self.manners {
            Manners::Honest => honest.len(),
            Manners::Any => honest.len() + raw::ACTIONS.len(),
        };
        let action = choice.below(kinds);
        self.elapsed += choice.pick(&[1, 0, 1000, 3_600_000, DAY_MS]);
        let replica = choice.below(self.replicas.len());
        match choice.below(4) {
            0 | 1 => (0..self.replicas.len()).for_each(|other| self.pull(replica, other)),
            2 => self.pull(replica, choice.below(self.replicas.len())),
            _ => {}
        }
        let by = choice.pick(&texts::ACTORS).parse().expect("an actor");
        let mut turn = Turn {
            replica,
            by,
            choice,
        };
        // Before anybody proposed anything there is little else to do.
        let first = if self.entries.is_empty() { 0 } else { action };
        let act = honest
            .get(first)
            .unwrap_or_else(|| &raw::ACTIONS[first - honest.len()]);
        // A step that its replica's knowledge does not allow is skipped.
        let _ = act(self, &mut turn);
    }

    fn history(mut self) -> History {
        let all = 0..self.written.copies.len();
        self.written.held = self
            .replicas
            .iter()
            .map(|replica| all.clone().filter(|place| replica.holds(*place)).collect())
            .collect();
        self.written
    }

    fn now(&self, replica: usize) -> Timestamp {
        const START: u64 = 1_794_600_000_000;
        const HOUR: u64 = 3_600_000;
        const YEAR_2099: u64 = 4_070_908_800_000;
        Timestamp::from_millis(match self.replicas[replica].skew {
            Skew::None => START + self.elapsed,
            Skew::HourBehind => START - HOUR + self.elapsed,
            Skew::HourAhead => START + HOUR + self.elapsed,
            Skew::Year2099 => YEAR_2099 + self.elapsed,
        })
    }

    /// Returns the copies a replica holds, first copies first.
    fn held(&self, replica: usize) -> impl Iterator<Item = &Recorded> + '_ {
        let replica = &self.replicas[replica];
        let copies = self.written.copies.iter().enumerate();
        copies
            .filter(|(place, _)| replica.holds(*place))
            .map(|(_, copy)| copy)
    }

    /// Returns the events of an entry as a replica sees them: blanked ones say nothing.
    fn view(&self, replica: usize, entry: EntryId) -> Vec<&Event> {
        let blanked: Vec<EventId> = self
            .held(replica)
            .filter_map(|copy| blanks(&copy.event))
            .collect();
        let mut events: Vec<&Event> = Vec::new();
        for copy in self.held(replica) {
            let event = &copy.event;
            let known = blanked.contains(&event.id) || events.iter().any(|e| e.id == event.id);
            if !known && event.entries().any(|id| id == entry) {
                events.push(event);
            }
        }
        events
    }

    /// Picks an entry the replica knows and folds what it sees of it.
    fn pick_entry(&self, turn: &mut Turn) -> Option<Entry> {
        let known = |id: &EntryId| {
            let mut held = self.held(turn.replica);
            held.any(|copy| copy.event.entries().any(|touched| touched == *id))
        };
        let known: Vec<EntryId> = self.entries.iter().copied().filter(known).collect();
        if known.is_empty() {
            return None;
        }
        let id = turn.choice.pick(&known);
        fold_entry(id, self.view(turn.replica, id))
    }

    /// Gives a replica everything another one holds.
    fn pull(&mut self, replica: usize, from: usize) {
        for place in 0..self.written.copies.len() {
            if self.replicas[from].holds(place) {
                self.replicas[replica].take(place);
            }
        }
    }

    /// Picks a copy the replica holds.
    fn pick_copy(&self, turn: &mut Turn) -> Option<Recorded> {
        let count = self.held(turn.replica).count();
        if count == 0 {
            return None;
        }
        let place = turn.choice.below(count);
        self.held(turn.replica).nth(place).cloned()
    }

    fn fresh_id(&mut self, turn: &Turn) -> EventId {
        EventId::new(self.now(turn.replica), self.numbers.random())
    }

    /// Writes a draft as the acting replica and returns the event's id.
    fn write(&mut self, turn: &mut Turn, draft: Draft) -> EventId {
        let id = self.fresh_id(turn);
        self.write_as(id, turn, draft)
    }

    fn write_as(&mut self, id: EventId, turn: &mut Turn, draft: Draft) -> EventId {
        let quarantined = turn.choice.one_in(12);
        let event = self.stamp(id, turn, draft, quarantined);
        if event.get::<Proposed>().is_some() {
            let fresh: Vec<EntryId> = event.entries().collect();
            self.entries.extend(fresh);
            self.entries.sort();
            self.entries.dedup();
        }
        self.keep(turn.replica, Recorded::new(event));
        id
    }

    fn stamp(&mut self, id: EventId, turn: &Turn, draft: Draft, quarantined: bool) -> Event {
        let now = self.now(turn.replica);
        let limit = now.plus_millis(DRIFT_MAX_MS);
        let readings = self.held(turn.replica).map(|copy| copy.event.at);
        let seen: Option<Hlc> = readings.filter(|at| at.wall < limit).max();
        let mut clock = Clock {
            node: self.replicas[turn.replica].node,
            now,
            seen,
            ids: &mut self.numbers,
        };
        let verdict = if quarantined {
            AdmissionVerdict::Quarantined
        } else {
            AdmissionVerdict::Admitted
        };
        let admission = Admission {
            verdict,
            ..Admission::clean("ken-guard/1")
        };
        clock.stamp_as(id, draft, &turn.by, admission)
    }

    /// Writes an event of the acting replica about one entry.
    fn write_about(&mut self, turn: &mut Turn, entry: EntryId, body: Body) -> EventId {
        let about = vec![Subject::Entry(entry)];
        self.write(turn, Draft { about, body })
    }

    fn keep(&mut self, replica: usize, copy: Recorded) {
        self.written.copies.push(copy);
        self.replicas[replica].take(self.written.copies.len() - 1);
    }

    fn word(&mut self) -> String {
        self.words += 1;
        texts::word(self.words)
    }
}

/// What can be done in a step; `None` if the replica could not.
type Action = fn(&mut Play, &mut Turn) -> Option<()>;

#[cfg(test)]
mod tests;
