//! The laws of the fold as checks on one history each, and how often they are tried.
//!
//! A store runs the same checks on the same histories by folding through its own code; see
//! [`deliveries`] and [`state_of`].

use std::collections::BTreeSet;

use ken_core::decide::{self, Draft, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{
    AdmissionVerdict, ArchiveReason, Body, Cited, Confirmed, Event, Merged, Proposed, Provenance,
    Recorded, Revised,
};
use ken_core::fold::fold_entry;
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId, NodeId};
use ken_core::state::{EventSet, State, blanks};
use ken_core::time::Timestamp;
use proptest::prelude::{ProptestConfig, TestCaseError};
use proptest::test_runner::FileFailurePersistence;
use proptest::{prop_assert, prop_assert_eq};

use crate::any_event::{History, words};
use crate::reference;

/// Cases of a law in every run.
pub const CASES: u32 = 10_000;
/// Cases of a law when `KEN_LONG=1`.
pub const CASES_LONG: u32 = 1_000_000;

/// Returns whether the long variants shall run.
pub fn is_long() -> bool {
    std::env::var_os("KEN_LONG").is_some_and(|value| value == "1")
}

/// Returns how many cases `KEN_CASES` asks for: mutation tests try few, hundreds of times.
fn cases_wanted() -> Option<u32> {
    std::env::var("KEN_CASES").ok()?.parse().ok()
}

/// What part of a law's cases one test tries, so that several may run side by side.
#[derive(Clone, Copy, Debug)]
pub struct Share(u32);

impl Share {
    /// Makes a share of `percent` hundredths.
    pub fn percent(percent: u32) -> Self {
        Self(percent)
    }

    /// Returns how many cases that is.
    pub fn cases(self) -> u32 {
        let all = if is_long() { CASES_LONG } else { CASES };
        let all = cases_wanted().unwrap_or(all);
        (all * self.0).div_ceil(100)
    }
}

/// Returns the configuration of a test that tries a share of a law's cases.
///
/// Shrunk failures are kept in the file `regressions` and tried first ever after.
pub fn config(share: Share, regressions: &'static str) -> ProptestConfig {
    ProptestConfig {
        cases: share.cases(),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        max_shrink_iters: if cases_wanted().is_some() { 0 } else { 4096 },
        ..ProptestConfig::default()
    }
}

/// Returns what follows from copies in the order given.
pub fn state_of<'a>(
    copies: impl IntoIterator<Item = &'a Recorded>,
    remembered: &[EventId],
) -> State {
    set_of(copies, remembered).fold()
}

fn set_of<'a>(copies: impl IntoIterator<Item = &'a Recorded>, remembered: &[EventId]) -> EventSet {
    let mut set = EventSet::remembering(remembered.iter().copied());
    for copy in copies {
        set.add(copy.clone());
    }
    set
}

/// Returns the copies as they may arrive: shuffled, and some of them twice.
pub fn deliveries(history: &History, seed: u64) -> Vec<Recorded> {
    let mut copies = history.copies.clone();
    let twice = copies.len() / 4;
    copies.extend_from_within(..twice);
    let mut seed = seed;
    for place in (1..copies.len()).rev() {
        // Any mixing will do: what matters is that all orders are possible.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        copies.swap(place, (seed >> 33) as usize % (place + 1));
    }
    copies
}

/// A history and what follows from it, worked out once.
#[derive(Debug)]
pub struct Folded<'a> {
    pub history: &'a History,
    /// One for each id, blanked where it must be.
    pub events: Vec<Recorded>,
    pub state: State,
    pub bytes: String,
}

impl<'a> Folded<'a> {
    /// Folds the copies in the order they were written.
    pub fn of(history: &'a History) -> Self {
        let set = set_of(&history.copies, &history.remembered);
        let state = set.fold();
        Self {
            history,
            events: set.events().collect(),
            bytes: state.to_bytes(),
            state,
        }
    }

    /// Returns the events of an entry.
    fn about(&self, entry: EntryId) -> Vec<&Event> {
        let events = self.events.iter().map(|copy| &copy.event);
        events
            .filter(|event| event.entries().any(|id| id == entry))
            .collect()
    }
}

/// Order, repetition and division of the deliveries make no difference to the bytes, and the
/// state is the one a separate, naive fold comes to.
pub fn converges(folded: &Folded<'_>, seed: u64) -> Result<(), TestCaseError> {
    let remembered = &folded.history.remembered;
    let arrived = deliveries(folded.history, seed);
    let state = state_of(&arrived, remembered);
    same(&state, &folded.state)?;
    prop_assert_eq!(&state.to_bytes(), &folded.bytes);

    // Two replicas hold a part each and pass on what they made of it.
    let cut = seed as usize % (arrived.len() + 1);
    let (left, right) = arrived.split_at(cut);
    let (left, right) = (set_of(left, remembered), set_of(right, remembered));
    let passed: Vec<Recorded> = right.events().chain(left.events()).collect();
    same(&state_of(&passed, remembered), &folded.state)?;

    same(&reference::state(&arrived, remembered), &folded.state)
}

/// Shows only what differs.
fn same(other: &State, state: &State) -> Result<(), TestCaseError> {
    prop_assert_eq!(&other.workspace, &state.workspace);
    let ids = |state: &State| -> Vec<EntryId> { state.entries.keys().copied().collect() };
    prop_assert_eq!(ids(other), ids(state));
    for (id, entry) in &other.entries {
        prop_assert_eq!(entry, &state.entries[id]);
    }
    Ok(())
}

/// Every value in the state is one the events account for.
pub fn keeps_its_values(folded: &Folded<'_>) -> Result<(), TestCaseError> {
    blanked_words_are_gone(folded)?;
    blanking_needs_authority(folded.history, &folded.events)?;
    unknown_events_are_counted(&folded.events, &folded.state)?;
    for entry in folded.state.entries.values() {
        let own = folded.about(entry.id);
        only_independent_or_manual_confirms(entry, &own)?;
        citations_stay(entry, &own)?;
        quarantine_is_lifted_by_people(entry, &own)?;
        read_only_is_refused(entry)?;
    }
    Ok(())
}

fn blanked_words_are_gone(folded: &Folded<'_>) -> Result<(), TestCaseError> {
    let (blanked, full): (Vec<_>, Vec<_>) = folded.events.iter().partition(|c| c.is_blanked());
    let standing: BTreeSet<String> = full.iter().flat_map(|copy| words(copy.line())).collect();
    let said = words(&folded.bytes);
    for copy in &folded.history.copies {
        if blanked.iter().any(|event| event.event.id == copy.event.id) {
            let gone = words(copy.line());
            let back = gone
                .intersection(&said)
                .find(|word| !standing.contains(*word));
            prop_assert_eq!(back, None, "a blanked word came back");
        }
    }
    Ok(())
}

/// An event is blanked exactly if a person, CI or this machine's memory says so, or if no full
/// copy of that line is known.
fn blanking_needs_authority(history: &History, events: &[Recorded]) -> Result<(), TestCaseError> {
    for copy in events {
        let id = copy.event.id;
        let ordered = history.remembered.contains(&id)
            || history.copies.iter().any(|c| blanks(&c.event) == Some(id));
        let full = history
            .copies
            .iter()
            .any(|c| !c.is_blanked() && c.blanked().line() == copy.blanked().line());
        let is_order = blanks(&copy.event).is_some();
        prop_assert_eq!(copy.is_blanked(), !full || (ordered && !is_order));
    }
    Ok(())
}

fn unknown_events_are_counted(events: &[Recorded], state: &State) -> Result<(), TestCaseError> {
    let unknown = |event: &Event| matches!(event.body, Body::Unknown { .. });
    let count = events.iter().filter(|copy| unknown(&copy.event)).count();
    let sum: u32 = state.workspace.unknown.values().sum();
    prop_assert_eq!(sum as usize, count);
    for copy in events {
        if unknown(&copy.event) || copy.event.unknown_fields > 0 {
            for id in copy.event.entries() {
                prop_assert!(state.entries[&id].is_read_only());
            }
        }
    }
    Ok(())
}

fn only_independent_or_manual_confirms(
    entry: &Entry,
    events: &[&Event],
) -> Result<(), TestCaseError> {
    let mut days: Vec<_> = entry.created.iter().map(|c| c.at.wall.date()).collect();
    let mut movers: Vec<EventId> = entry.created.iter().map(|c| c.event).collect();
    for event in events {
        let data = event.get::<Confirmed>();
        if let Some(data) = data.filter(|data| data.provenance.confirms()) {
            days.push(data.on);
            movers.push(event.id);
        }
    }
    prop_assert!(entry.confirmation.last.iter().all(|day| days.contains(day)));
    prop_assert!(entry.confirmation.by.iter().all(|id| movers.contains(id)));
    Ok(())
}

/// Every citation that was ever made and not blanked is there.
fn citations_stay(entry: &Entry, events: &[&Event]) -> Result<(), TestCaseError> {
    for event in events {
        let proposed = event.get::<Proposed>().map(|data| &data.citations[..]);
        let cited = event
            .get::<Cited>()
            .map(|data| std::slice::from_ref(&data.citation));
        for citation in proposed.or(cited).unwrap_or_default() {
            prop_assert!(entry.citations.contains(citation));
        }
    }
    Ok(())
}

fn quarantine_is_lifted_by_people(entry: &Entry, events: &[&Event]) -> Result<(), TestCaseError> {
    let lets_out =
        |body: &Body| matches!(body, Body::QuarantineLifted(_) | Body::ApprovalGranted(_));
    let people_lift = events
        .iter()
        .any(|event| event.by.is_human() && lets_out(&event.body));
    let promoted = entry.is_promoted();
    let held = promoted
        || events.iter().any(|event| {
            let admission = event.admission.as_ref();
            admission.is_some_and(|a| a.verdict == AdmissionVerdict::Quarantined)
        });
    prop_assert!(people_lift || held != entry.quarantine.is_empty());
    prop_assert!(entry.quarantine.is_empty() || !entry.is_live());
    // What came from another memory is let out by the approval of somebody who did not write it, and by nothing else.
    let author = entry.created.as_ref().map(|it| &it.by);
    let mut approvers = entry.approvals.iter().map(|it| &it.by);
    let is_approved = approvers.any(|by| by.is_human() && Some(by) != author);
    prop_assert!(!promoted || !entry.quarantine.is_empty() || is_approved);
    Ok(())
}

/// No change to an entry a newer build wrote to is drafted.
fn read_only_is_refused(entry: &Entry) -> Result<(), TestCaseError> {
    if entry.is_read_only() {
        let refused = decide::archive(entry, ArchiveReason::Manual);
        prop_assert_eq!(refused, Err(Refusal::ReadOnly(entry.id)));
    }
    Ok(())
}

/// What the next event of a kind does to an entry, whatever happened to it before.
pub fn next_events_do_what_they_say(folded: &Folded<'_>) -> Result<(), TestCaseError> {
    for (id, entry) in &folded.state.entries {
        let own = folded.about(*id);
        primed_agreement_moves_nothing(entry, &own)?;
        archiving_and_restoring_give_the_old_status_back(entry, &own)?;
    }
    Ok(())
}

fn primed_agreement_moves_nothing(entry: &Entry, own: &[&Event]) -> Result<(), TestCaseError> {
    for provenance in [Provenance::Primed, Provenance::Unwitnessed] {
        let late = Timestamp::MAX;
        let body = Body::Confirmed(Confirmed {
            provenance,
            on: late.date(),
            run: None,
            withdraws: Vec::new(),
        });
        let event = later(entry.id, body, 1);
        let after = folded(entry.id, own, &[&event]);
        prop_assert_eq!(after.confirmation.last, entry.confirmation.last);
        prop_assert_eq!(after.confirmation.by, entry.confirmation.by);
        prop_assert_eq!(&after.archived, &entry.archived);
    }
    Ok(())
}

fn archiving_and_restoring_give_the_old_status_back(
    entry: &Entry,
    own: &[&Event],
) -> Result<(), TestCaseError> {
    let Ok(draft) = decide::archive(entry, ArchiveReason::Decay) else {
        return Ok(());
    };
    let archiving = later(entry.id, draft.body, 1);
    let archived = folded(entry.id, own, &[&archiving]);
    prop_assert!(archived.archived.is_some(), "decay archived, yet void");
    prop_assert_eq!(&archived.status, &entry.status);
    prop_assert_eq!(&archived.content, &entry.content);
    prop_assert_eq!(&archived.citations, &entry.citations);
    let Draft { body, .. } = decide::restore(&archived, None).expect("it is archived");
    let restoring = later(entry.id, body, 2);
    let back = folded(entry.id, own, &[&archiving, &restoring]);
    prop_assert_eq!(&back.archived, &None);
    prop_assert_eq!(&back.status, &entry.status);
    prop_assert_eq!(&back.content, &entry.content);

    // A confirmation nobody knew of makes the archiving void, restored or not.
    let body = Body::Confirmed(Confirmed {
        provenance: Provenance::Independent,
        on: Timestamp::MAX.date(),
        run: None,
        withdraws: Vec::new(),
    });
    let found = later(entry.id, body, 3);
    let confirmed = folded(entry.id, own, &[&archiving, &found]);
    prop_assert_eq!(&confirmed.archived, &None);
    Ok(())
}

/// Makes an event later than any other, the `n`th of its kind.
fn later(entry: EntryId, body: Body, n: u16) -> Event {
    let at = Hlc {
        wall: Timestamp::MAX,
        counter: n,
        node: NodeId::new(0),
    };
    Event {
        id: EventId::new(Timestamp::MAX, u128::from(n)),
        at,
        by: "agent:late".parse().expect("an actor"),
        about: vec![entry.into()],
        salt: None,
        admission: None,
        body,
        unknown_fields: 0,
    }
}

fn folded(id: EntryId, own: &[&Event], more: &[&Event]) -> Entry {
    fold_entry(id, own.iter().chain(more).copied()).expect("it has events")
}

/// A revision that names everything its author saw wins over all of it, whatever the clocks say.
///
/// For honest histories: a forged circle of replacements may bring an old wording back. Blanking
/// forgets what an event replaced, so entries with blanked events are left out.
pub fn rewordings_win_over_what_they_saw(folded: &Folded<'_>) -> Result<(), TestCaseError> {
    for rewording in &folded.history.rewordings {
        let entry = &folded.state.entries[&rewording.entry];
        let events = folded.about(entry.id);
        let (Some(content), 0) = (&entry.content, entry.history.blanked) else {
            continue;
        };
        let wrote = |event: &&Event| statement_of(event, entry.id);
        let Some(event) = events.iter().find(|event| event.id == rewording.event) else {
            continue;
        };
        if wrote(event).is_none() {
            continue;
        }
        let unseen = events
            .iter()
            .filter(|event| !rewording.seen.contains(&event.id))
            .filter_map(wrote);
        let text = content.statement.as_str().to_owned();
        prop_assert!(unseen.into_iter().any(|wrote| wrote == text));
    }
    Ok(())
}

/// Returns the statement an event gives an entry.
fn statement_of(event: &Event, entry: EntryId) -> Option<String> {
    let revised = event.get::<Revised>().map(|data| &data.changes);
    let merged = event.get::<Merged>().filter(|data| data.target == entry);
    let changes = revised.or(merged.map(|data| &data.changes));
    let proposed = event.get::<Proposed>().map(|data| &data.content.statement);
    let statement = proposed.or(changes.and_then(|changes| changes.statement.as_ref()));
    statement.map(|statement| statement.as_str().to_owned())
}

/// Entries that take commutative events one by one, in any order, equal a refold.
pub fn absorbing_equals_refolding(history: &History, seed: u64) -> Result<(), TestCaseError> {
    let arrived = deliveries(history, seed);
    let mut set = EventSet::default();
    for copy in &arrived {
        set.add(copy.clone());
    }
    let events: Vec<Event> = set.events().map(|copy| copy.event).collect();
    let ids: BTreeSet<EntryId> = events.iter().flat_map(Event::entries).collect();
    for id in ids {
        let mut own: Vec<&Event> = Vec::new();
        for copy in &arrived {
            let event = events.iter().find(|event| event.id == copy.event.id);
            let event = event.expect("every copy is in the set");
            let ours = event.entries().any(|touched| touched == id);
            if ours && !own.iter().any(|known| known.id == event.id) {
                own.push(event);
            }
        }
        let mut entry = folded(id, &own[..1], &[]);
        for seen in 1..own.len() {
            let refolded = folded(id, &own[..=seen], &[]);
            let before = entry.clone();
            if entry.absorb(own[seen]) {
                prop_assert_eq!(&entry, &refolded);
            } else {
                prop_assert_eq!(&entry, &before);
                entry = refolded;
            }
        }
    }
    Ok(())
}

/// A line reads back as the event it was written for, survives blanking, and is kept word for
/// word by a set, known or not.
pub fn lines_survive(history: &History) -> Result<(), TestCaseError> {
    let mut set = EventSet::default();
    let mut ids = BTreeSet::new();
    for copy in &history.copies {
        let read = Recorded::parse(copy.line().as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(copy));
        let blanked = copy.blanked();
        let read = Recorded::parse(blanked.line().as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(&blanked));
        prop_assert!(blanked.is_blanked());
        prop_assert!(words(blanked.line()).is_empty());
        prop_assert_eq!(blanked.blanked(), blanked);
        if ids.insert(copy.event.id) {
            set.add(copy.clone());
        }
    }
    for copy in set.events().filter(|copy| !copy.is_blanked()) {
        prop_assert!(history.copies.iter().any(|c| c.line() == copy.line()));
    }
    Ok(())
}

/// One changed byte anywhere in a line is noticed.
pub fn a_changed_byte_is_noticed(
    history: &History,
    place: usize,
    by: u8,
) -> Result<(), TestCaseError> {
    for copy in &history.copies {
        for line in [copy.line(), copy.blanked().line()] {
            let mut bytes = line.as_bytes().to_vec();
            let place = place % bytes.len();
            bytes[place] = bytes[place].wrapping_add(by.max(1));
            let read = Recorded::parse(&bytes);
            prop_assert!(read.is_err(), "byte {place} of {line}");
        }
    }
    Ok(())
}
