//! Random event histories of several replicas with different clocks.
//!
//! A history is generated step by step: each step is 64 random bits that select a replica, an
//! action and its inputs from that replica's knowledge. Honest steps use `ken_core::decide`; raw
//! ones write events that only an untrusted author, a newer build or a bug would write. Fewer or
//! smaller numbers give a simpler history, so failures shrink.
//!
//! Every text contains a word that no other step uses ([`words`]), so that a test can check whether
//! it is still present.

mod honest;
mod raw;
mod seal;
mod texts;
mod whole;

use std::fmt;

use ken_core::decide::{Draft, EventStamper};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    Admission, AdmissionVerdict, Event, EventBody, EventSubject, Proposed, RecordedEvent,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::state::redaction_target;
use ken_core::values::actor::Actor;
use ken_core::values::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::values::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::values::time::{DAY_MS, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

pub use seal::seal;
pub use texts::words;

/// Steps of a short history, for tens of thousands of cases.
pub const STEPS_LIGHT: usize = 20;
/// Steps of a normal history.
pub const STEPS: usize = 60;
/// Steps of a long history.
pub const STEPS_LONG: usize = 200;

/// Maximum entries per history; few, so that events interact.
const ENTRIES_MAX: usize = 3;

/// Kinds of writers in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterStyle {
    /// Only replicas of this build that follow the rules; their clocks may be wrong.
    Honest,
    /// Also untrusted authors, newer builds and forgers.
    Any,
}

/// The written events, and facts about them that tests check.
#[derive(Clone, Default)]
pub struct EventHistory {
    /// Every line in order of writing; an id may have several.
    pub copies: Vec<RecordedEvent>,
    /// Ids that some machine remembers as redacted.
    pub remembered: Vec<EventId>,
    /// Revisions that replaced all heads their author had seen.
    pub rewordings: Vec<RecordedRevision>,
    /// Copies each replica holds at the end, as indices into `copies`.
    pub held: Vec<Vec<usize>>,
}

/// Prints one line per event, for reading failing histories.
impl fmt::Debug for EventHistory {
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
pub struct RecordedRevision {
    pub entry: EntryId,
    pub event: EventId,
    /// All events of the entry that its author had seen.
    pub seen: Vec<EventId>,
}

/// Returns a strategy for histories of up to `steps` steps.
pub fn histories(manners: WriterStyle, steps: usize) -> impl Strategy<Value = EventHistory> {
    vec(any::<u64>(), 1..=steps).prop_map(move |numbers| generate_history(manners, &numbers))
}

/// Returns a strategy for histories of honest steps only.
pub fn honest_histories(steps: usize) -> impl Strategy<Value = EventHistory> {
    histories(WriterStyle::Honest, steps)
}

/// Returns a strategy for histories with any event a ledger may contain.
pub fn any_histories(steps: usize) -> impl Strategy<Value = EventHistory> {
    histories(WriterStyle::Any, steps)
}

/// Generates one history; the same numbers give the same history.
pub fn generate_history(manners: WriterStyle, numbers: &[u64]) -> EventHistory {
    let mut play = HistoryGenerator::new(manners, numbers);
    for number in numbers {
        play.step(RandomBits(*number));
    }
    play.history()
}

/// Random bits, consumed in small portions.
#[derive(Debug)]
pub(crate) struct RandomBits(u64);

impl RandomBits {
    /// Returns a number below `n`; callers list the simplest option first, to help shrinking.
    fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let portion = self.0 % n;
        self.0 /= n;
        usize::try_from(portion).expect("below a usize")
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns true with probability 1/`n`, and false for shrunk bits.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

/// Deterministic pseudo-random numbers (SplitMix64).
#[derive(Debug, Default)]
struct SeededNumbers(u64);

impl SeededNumbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl IdSource for SeededNumbers {
    fn random(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// Clock error of a replica.
#[derive(Clone, Copy, Debug)]
enum ClockSkew {
    None,
    HourBehind,
    HourAhead,
    Year2099,
}

/// One writer with its own clock and copies.
#[derive(Debug)]
struct SimulatedReplica {
    node: NodeId,
    skew: ClockSkew,
    /// For each copy of the history, whether it holds that copy.
    held: Vec<bool>,
}

impl SimulatedReplica {
    fn holds(&self, place: usize) -> bool {
        self.held.get(place).copied().unwrap_or(false)
    }

    fn take(&mut self, place: usize) {
        if self.held.len() <= place {
            // A replica may lag behind the history by many copies.
            self.held.resize(place + 1, false);
        }
        self.held[place] = true;
    }
}

/// The acting replica and actor of a step, and the remaining random bits.
#[derive(Debug)]
pub(crate) struct ReplicaTurn {
    replica: usize,
    by: Actor,
    choice: RandomBits,
}

/// State of the generation of one history.
#[derive(Debug)]
pub(crate) struct HistoryGenerator {
    manners: WriterStyle,
    numbers: SeededNumbers,
    words: u32,
    /// Milliseconds since the start of the history.
    elapsed: u64,
    replicas: Vec<SimulatedReplica>,
    entries: Vec<EntryId>,
    written: EventHistory,
}

impl HistoryGenerator {
    fn new(manners: WriterStyle, numbers: &[u64]) -> Self {
        const SKEWS: [ClockSkew; 5] = [
            ClockSkew::None,
            ClockSkew::HourBehind,
            ClockSkew::HourAhead,
            ClockSkew::Year2099,
            ClockSkew::None,
        ];
        let mixed = numbers.iter().fold(0, |a: u64, n| a.rotate_left(7) ^ n);
        let mut choice = RandomBits(mixed);
        let (count, first) = (2 + choice.below(4), choice.below(SKEWS.len()));
        let replicas = (0..count)
            .map(|i| SimulatedReplica {
                node: NodeId::new(i as u128 + 1),
                // The rotation lets every mix of clocks occur.
                skew: SKEWS[(first + i) % SKEWS.len()],
                held: Vec::new(),
            })
            .collect();
        Self {
            manners,
            numbers: SeededNumbers::default(),
            words: 0,
            elapsed: 0,
            replicas,
            entries: Vec::new(),
            written: EventHistory::default(),
        }
    }

    fn step(&mut self, mut choice: RandomBits) {
        let honest = honest::ACTIONS;
        let kinds = match self.manners {
            WriterStyle::Honest => honest.len(),
            WriterStyle::Any => honest.len() + raw::ACTIONS.len(),
        };
        let action = choice.below(kinds);
        self.elapsed += choice.pick(&[1, 0, 1000, 3_600_000, DAY_MS]);
        let replica = choice.below(self.replicas.len());
        match choice.below(4) {
            // Half of the steps see everything, a quarter one other replica, the rest only their
            // own copies: concurrency without isolation.
            0 | 1 => (0..self.replicas.len()).for_each(|other| self.pull(replica, other)),
            2 => self.pull(replica, choice.below(self.replicas.len())),
            _ => {}
        }
        let by = choice.pick(&texts::ACTORS).parse().expect("an actor");
        let mut turn = ReplicaTurn {
            replica,
            by,
            choice,
        };
        // Without entries, most actions have nothing to act on.
        let first = if self.entries.is_empty() { 0 } else { action };
        let act = honest
            .get(first)
            .unwrap_or_else(|| &raw::ACTIONS[first - honest.len()]);
        // An action that is impossible for this replica is skipped.
        let _ = act(self, &mut turn);
    }

    fn history(mut self) -> EventHistory {
        let all = 0..self.written.copies.len();
        self.written.held = self
            .replicas
            .iter()
            .map(|replica| all.clone().filter(|place| replica.holds(*place)).collect())
            .collect();
        self.written
    }

    fn now(&self, replica: usize) -> Timestamp {
        // 13 November 2026. A fixed start keeps generated ids reproducible.
        const START: u64 = 1_794_600_000_000;
        const HOUR: u64 = 3_600_000;
        const YEAR_2099: u64 = 4_070_908_800_000;
        Timestamp::from_millis(match self.replicas[replica].skew {
            ClockSkew::None => START + self.elapsed,
            ClockSkew::HourBehind => START - HOUR + self.elapsed,
            ClockSkew::HourAhead => START + HOUR + self.elapsed,
            ClockSkew::Year2099 => YEAR_2099 + self.elapsed,
        })
    }

    /// Returns the copies a replica holds, in order of writing.
    fn held(&self, replica: usize) -> impl Iterator<Item = &RecordedEvent> + '_ {
        let replica = &self.replicas[replica];
        let copies = self.written.copies.iter().enumerate();
        copies
            .filter(|(place, _)| replica.holds(*place))
            .map(|(_, copy)| copy)
    }

    /// Returns the events of an entry as a replica sees them, without redacted ones.
    fn view(&self, replica: usize, entry: EntryId) -> Vec<&Event> {
        let blanked: Vec<EventId> = self
            .held(replica)
            .filter_map(|copy| redaction_target(&copy.event))
            .collect();
        let mut events: Vec<&Event> = Vec::new();
        for copy in self.held(replica) {
            let event = &copy.event;
            // The first copy of an id counts, as for a replica that received it first.
            let known = blanked.contains(&event.id) || events.iter().any(|e| e.id == event.id);
            if !known && event.entries().any(|id| id == entry) {
                events.push(event);
            }
        }
        events
    }

    /// Picks an entry the replica knows and folds its visible events.
    fn pick_entry(&self, turn: &mut ReplicaTurn) -> Option<Entry> {
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

    /// Copies everything another replica holds.
    fn pull(&mut self, replica: usize, from: usize) {
        for place in 0..self.written.copies.len() {
            if self.replicas[from].holds(place) {
                self.replicas[replica].take(place);
            }
        }
    }

    /// Picks a copy the replica holds.
    fn pick_copy(&self, turn: &mut ReplicaTurn) -> Option<RecordedEvent> {
        let count = self.held(turn.replica).count();
        if count == 0 {
            return None;
        }
        let place = turn.choice.below(count);
        self.held(turn.replica).nth(place).cloned()
    }

    fn fresh_id(&mut self, turn: &ReplicaTurn) -> EventId {
        EventId::new(self.now(turn.replica), self.numbers.random())
    }

    /// Writes a draft as the acting replica and returns the event id.
    fn write(&mut self, turn: &mut ReplicaTurn, draft: Draft) -> EventId {
        let id = self.fresh_id(turn);
        self.write_as(id, turn, draft)
    }

    fn write_as(&mut self, id: EventId, turn: &mut ReplicaTurn, draft: Draft) -> EventId {
        // Rare, because quarantine hides most other effects.
        let quarantined = turn.choice.one_in(12);
        let event = self.stamp(id, turn, draft, quarantined);
        if event.get::<Proposed>().is_some() {
            let fresh: Vec<EntryId> = event.entries().collect();
            self.entries.extend(fresh);
            self.entries.sort();
            // Colliding proposals create the same entry id twice.
            self.entries.dedup();
        }
        self.keep(turn.replica, RecordedEvent::new(event));
        id
    }

    fn stamp(&mut self, id: EventId, turn: &ReplicaTurn, draft: Draft, quarantined: bool) -> Event {
        let now = self.now(turn.replica);
        let limit = now.plus_millis(DRIFT_MAX_MS);
        let readings = self.held(turn.replica).map(|copy| copy.event.at);
        // As in the real clock: readings too far in the future must not drag others along.
        let seen: Option<Hlc> = readings.filter(|at| at.wall < limit).max();
        let mut clock = EventStamper {
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
        clock.stamp_with_id(id, draft, &turn.by, admission)
    }

    /// Writes an event of the acting replica about one entry.
    fn write_about(&mut self, turn: &mut ReplicaTurn, entry: EntryId, body: EventBody) -> EventId {
        let about = vec![EventSubject::Entry(entry)];
        self.write(turn, Draft { about, body })
    }

    fn keep(&mut self, replica: usize, copy: RecordedEvent) {
        self.written.copies.push(copy);
        self.replicas[replica].take(self.written.copies.len() - 1);
    }

    fn word(&mut self) -> String {
        self.words += 1;
        texts::word(self.words)
    }
}

/// An action of a step; returns `None` if it was impossible.
type HistoryAction = fn(&mut HistoryGenerator, &mut ReplicaTurn) -> Option<()>;

#[cfg(test)]
mod tests;
