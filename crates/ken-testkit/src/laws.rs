//! Laws of the fold as property checks on one history each, and their number of cases.
//!
//! A store runs the same checks by folding the same histories with its own code; see
//! [`shuffle_deliveries`] and [`fold_copies`].

use std::collections::BTreeSet;

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    AdmissionVerdict, ArchiveReason, Cited, Confirmed, Event, EventBody, Merged, Proposed,
    Provenance, RecordedEvent, Revised,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::state::{EventSet, LedgerState, redaction_target};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId, NodeId};
use ken_core::values::time::Timestamp;
use proptest::prelude::{ProptestConfig, TestCaseError};
use proptest::test_runner::FileFailurePersistence;
use proptest::{prop_assert, prop_assert_eq};

use crate::any_event::{EventHistory, words};
use crate::reference;

/// Cases per law in a normal run.
pub const CASES: u32 = 10_000;
/// Cases per law with `KEN_LONG=1`.
pub const CASES_LONG: u32 = 1_000_000;

/// Returns whether `KEN_LONG=1` is set.
pub fn is_long() -> bool {
    std::env::var_os("KEN_LONG").is_some_and(|value| value == "1")
}

/// Returns the program of an earlier version that `KEN_TEST_OLDER` names.
pub fn older_program() -> Option<std::path::PathBuf> {
    std::env::var_os("KEN_TEST_OLDER").map(Into::into)
}

/// Returns the number of cases set by `KEN_CASES`; mutation tests run few cases, hundreds of times.
fn requested_cases() -> Option<u32> {
    std::env::var("KEN_CASES").ok()?.parse().ok()
}

/// Share of a law's cases that one test runs, so that several tests can run in parallel.
#[derive(Clone, Copy, Debug)]
pub struct CaseShare(u32);

impl CaseShare {
    /// Creates a share in percent.
    pub fn percent(percent: u32) -> Self {
        Self(percent)
    }

    /// Returns the number of cases.
    pub fn cases(self) -> u32 {
        let all = if is_long() { CASES_LONG } else { CASES };
        let all = requested_cases().unwrap_or(all);
        // Rounded up, so that a small share still runs a case.
        (all * self.0).div_ceil(100)
    }
}

/// Returns the proptest configuration for a share of a law's cases.
///
/// Shrunk failures are stored in the file `regressions` and run first.
pub fn proptest_config(share: CaseShare, regressions: &'static str) -> ProptestConfig {
    ProptestConfig {
        cases: share.cases(),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        // Mutation tests only need to fail, not to explain.
        max_shrink_iters: if requested_cases().is_some() { 0 } else { 4096 },
        ..ProptestConfig::default()
    }
}

/// Folds copies in the given order.
pub fn fold_copies<'a>(
    copies: impl IntoIterator<Item = &'a RecordedEvent>,
    remembered: &[EventId],
) -> LedgerState {
    event_set(copies, remembered).fold()
}

fn event_set<'a>(
    copies: impl IntoIterator<Item = &'a RecordedEvent>,
    remembered: &[EventId],
) -> EventSet {
    let mut set = EventSet::with_redacted(remembered.iter().copied());
    for copy in copies {
        set.add(copy.clone());
    }
    set
}

/// Returns the copies as they may arrive: shuffled, and some of them twice.
pub fn shuffle_deliveries(history: &EventHistory, seed: u64) -> Vec<RecordedEvent> {
    let mut copies = history.copies.clone();
    let twice = copies.len() / 4;
    copies.extend_from_within(..twice);
    let mut seed = seed;
    for place in (1..copies.len()).rev() {
        // Fisher-Yates; the quality of the generator does not matter, only that every order is
        // possible.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        copies.swap(place, (seed >> 33) as usize % (place + 1));
    }
    copies
}

/// A history with its fold, computed once.
#[derive(Debug)]
pub struct FoldedHistory<'a> {
    pub history: &'a EventHistory,
    /// One event per id, redacted where required.
    pub events: Vec<RecordedEvent>,
    pub state: LedgerState,
    pub bytes: String,
}

impl<'a> FoldedHistory<'a> {
    /// Folds the copies in the order they were written.
    pub fn of(history: &'a EventHistory) -> Self {
        let set = event_set(&history.copies, &history.remembered);
        let state = set.fold();
        Self {
            history,
            events: set.events().collect(),
            bytes: state.to_canonical_json(),
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

/// Checks that order, repetition and partition of the deliveries do not change the state, and that
/// the reference fold agrees.
pub fn check_convergence(folded: &FoldedHistory<'_>, seed: u64) -> Result<(), TestCaseError> {
    let remembered = &folded.history.remembered;
    let arrived = shuffle_deliveries(folded.history, seed);
    let state = fold_copies(&arrived, remembered);
    check_same_state(&state, &folded.state)?;
    prop_assert_eq!(&state.to_canonical_json(), &folded.bytes);

    // Two replicas fold a part each and exchange the results.
    let cut = seed as usize % (arrived.len() + 1);
    let (left, right) = arrived.split_at(cut);
    let (left, right) = (event_set(left, remembered), event_set(right, remembered));
    let passed: Vec<RecordedEvent> = right.events().chain(left.events()).collect();
    check_same_state(&fold_copies(&passed, remembered), &folded.state)?;

    check_same_state(&reference::fold_state(&arrived, remembered), &folded.state)
}

/// Compares states part by part, so that a failure shows only the difference.
fn check_same_state(other: &LedgerState, state: &LedgerState) -> Result<(), TestCaseError> {
    prop_assert_eq!(&other.workspace, &state.workspace);
    let ids = |state: &LedgerState| -> Vec<EntryId> { state.entries.keys().copied().collect() };
    prop_assert_eq!(ids(other), ids(state));
    for (id, entry) in &other.entries {
        prop_assert_eq!(entry, &state.entries[id]);
    }
    Ok(())
}

/// Checks that every value in the state is accounted for by events.
pub fn check_values(folded: &FoldedHistory<'_>) -> Result<(), TestCaseError> {
    check_redacted_words_are_gone(folded)?;
    check_redaction_authority(folded.history, &folded.events)?;
    check_unknown_events(&folded.events, &folded.state)?;
    for entry in folded.state.entries.values() {
        let own = folded.about(entry.id);
        check_confirmations(entry, &own)?;
        check_citations(entry, &own)?;
        check_quarantine(entry, &own)?;
        check_read_only(entry)?;
    }
    Ok(())
}

fn check_redacted_words_are_gone(folded: &FoldedHistory<'_>) -> Result<(), TestCaseError> {
    let (blanked, full): (Vec<_>, Vec<_>) = folded.events.iter().partition(|c| c.is_redacted());
    // A word of a redacted copy may still be present in another event that stands.
    let standing: BTreeSet<String> = full.iter().flat_map(|copy| words(copy.line())).collect();
    let state_words = words(&folded.bytes);
    for copy in &folded.history.copies {
        if blanked.iter().any(|event| event.event.id == copy.event.id) {
            let gone = words(copy.line());
            let back = gone
                .intersection(&state_words)
                .find(|word| !standing.contains(*word));
            prop_assert_eq!(back, None, "a blanked word came back");
        }
    }
    Ok(())
}

/// Checks that an event is redacted exactly if a person, CI or this machine's memory requires it,
/// or if no full copy is known.
fn check_redaction_authority(
    history: &EventHistory,
    events: &[RecordedEvent],
) -> Result<(), TestCaseError> {
    for copy in events {
        let id = copy.event.id;
        let ordered = history.remembered.contains(&id)
            || history
                .copies
                .iter()
                .any(|c| redaction_target(&c.event) == Some(id));
        let full = history
            .copies
            .iter()
            .any(|c| !c.is_redacted() && c.redacted().line() == copy.redacted().line());
        let is_order = redaction_target(&copy.event).is_some();
        prop_assert_eq!(copy.is_redacted(), !full || (ordered && !is_order));
    }
    Ok(())
}

fn check_unknown_events(
    events: &[RecordedEvent],
    state: &LedgerState,
) -> Result<(), TestCaseError> {
    let unknown = |event: &Event| matches!(event.body, EventBody::Unknown { .. });
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

fn check_confirmations(entry: &Entry, events: &[&Event]) -> Result<(), TestCaseError> {
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

/// Checks that every citation is kept unless its event was redacted.
fn check_citations(entry: &Entry, events: &[&Event]) -> Result<(), TestCaseError> {
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

fn check_quarantine(entry: &Entry, events: &[&Event]) -> Result<(), TestCaseError> {
    let releases = |body: &EventBody| {
        matches!(
            body,
            EventBody::QuarantineLifted(_) | EventBody::ApprovalGranted(_)
        )
    };
    let released_by_people = events
        .iter()
        .any(|event| event.by.is_human() && releases(&event.body));
    let promoted = entry.is_promoted();
    let is_quarantined = promoted
        || events.iter().any(|event| {
            let admission = event.admission.as_ref();
            admission.is_some_and(|a| a.verdict == AdmissionVerdict::Quarantined)
        });
    prop_assert!(released_by_people || is_quarantined != entry.quarantine.is_empty());
    prop_assert!(entry.quarantine.is_empty() || !entry.is_live());
    // An entry promoted from another memory is released only by the approval of a person who did
    // not write it.
    let author = entry.created.as_ref().map(|it| &it.by);
    let mut approvers = entry.approvals.iter().map(|it| &it.by);
    let is_approved = approvers.any(|by| by.is_human() && Some(by) != author);
    prop_assert!(!promoted || !entry.quarantine.is_empty() || is_approved);
    Ok(())
}

/// Checks that an entry with events of a newer build cannot be changed.
fn check_read_only(entry: &Entry) -> Result<(), TestCaseError> {
    if entry.is_read_only() {
        let refused = decide::archive(entry, ArchiveReason::Manual);
        prop_assert_eq!(refused, Err(Refusal::ReadOnly(entry.id)));
    }
    Ok(())
}

/// Checks the effect of a next event on an entry with any history.
pub fn check_next_events(folded: &FoldedHistory<'_>) -> Result<(), TestCaseError> {
    for (id, entry) in &folded.state.entries {
        let own = folded.about(*id);
        check_primed_confirmation(entry, &own)?;
        check_archive_and_restore(entry, &own)?;
    }
    Ok(())
}

fn check_primed_confirmation(entry: &Entry, own: &[&Event]) -> Result<(), TestCaseError> {
    for provenance in [Provenance::Primed, Provenance::Unwitnessed] {
        // Far in the future, so that it would win if it counted.
        let late = Timestamp::MAX;
        let body = EventBody::Confirmed(Confirmed {
            provenance,
            on: late.date(),
            run: None,
            withdraws: Vec::new(),
        });
        let event = build_latest_event(entry.id, body, 1);
        let after = fold_with(entry.id, own, &[&event]);
        prop_assert_eq!(after.confirmation.last, entry.confirmation.last);
        prop_assert_eq!(after.confirmation.by, entry.confirmation.by);
        prop_assert_eq!(&after.archived, &entry.archived);
    }
    Ok(())
}

fn check_archive_and_restore(entry: &Entry, own: &[&Event]) -> Result<(), TestCaseError> {
    let Ok(draft) = decide::archive(entry, ArchiveReason::Decay) else {
        return Ok(());
    };
    let archiving = build_latest_event(entry.id, draft.body, 1);
    let archived = fold_with(entry.id, own, &[&archiving]);
    prop_assert!(archived.archived.is_some(), "decay archived, yet void");
    prop_assert_eq!(&archived.status, &entry.status);
    prop_assert_eq!(&archived.content, &entry.content);
    prop_assert_eq!(&archived.citations, &entry.citations);
    let Draft { body, .. } = decide::restore(&archived, &[], None).expect("it is archived");
    let restoring = build_latest_event(entry.id, body, 2);
    let back = fold_with(entry.id, own, &[&archiving, &restoring]);
    prop_assert_eq!(&back.archived, &None);
    prop_assert_eq!(&back.status, &entry.status);
    prop_assert_eq!(&back.content, &entry.content);

    // A confirmation unknown to the archival voids it.
    let body = EventBody::Confirmed(Confirmed {
        provenance: Provenance::Independent,
        on: Timestamp::MAX.date(),
        run: None,
        withdraws: Vec::new(),
    });
    let found = build_latest_event(entry.id, body, 3);
    let confirmed = fold_with(entry.id, own, &[&archiving, &found]);
    prop_assert_eq!(&confirmed.archived, &None);
    Ok(())
}

/// Builds an event later than any other; `n` orders several of them.
fn build_latest_event(entry: EntryId, body: EventBody, n: u16) -> Event {
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
        signature: None,
        unknown_fields: 0,
    }
}

fn fold_with(id: EntryId, own: &[&Event], more: &[&Event]) -> Entry {
    fold_entry(id, own.iter().chain(more).copied()).expect("it has events")
}

/// Checks that a revision that replaces all heads its author saw wins over them, regardless of
/// clocks.
///
/// Only for honest histories: a forged circle of replacements may restore old content. Redaction
/// removes the list of replaced events, so entries with redacted events are skipped.
pub fn check_revisions_win(folded: &FoldedHistory<'_>) -> Result<(), TestCaseError> {
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
        // The winner must be this revision or a write its author had not seen.
        let unseen = events
            .iter()
            .filter(|event| !rewording.seen.contains(&event.id))
            .filter_map(wrote);
        let text = content.statement.as_str().to_owned();
        prop_assert!(unseen.into_iter().any(|wrote| wrote == text));
    }
    Ok(())
}

/// Returns the statement an event sets on an entry.
fn statement_of(event: &Event, entry: EntryId) -> Option<String> {
    let revised = event.get::<Revised>().map(|data| &data.changes);
    let merged = event.get::<Merged>().filter(|data| data.target == entry);
    let changes = revised.or(merged.map(|data| &data.changes));
    let proposed = event.get::<Proposed>().map(|data| &data.content.statement);
    let statement = proposed.or(changes.and_then(|changes| changes.statement.as_ref()));
    statement.map(|statement| statement.as_str().to_owned())
}

/// Checks that absorbing commutative events one by one, in any order, equals a refold.
pub fn check_absorb_equals_refold(history: &EventHistory, seed: u64) -> Result<(), TestCaseError> {
    let arrived = shuffle_deliveries(history, seed);
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
        let mut entry = fold_with(id, &own[..1], &[]);
        for seen in 1..own.len() {
            let refolded = fold_with(id, &own[..=seen], &[]);
            let before = entry.clone();
            if entry.try_add_event(own[seen]) {
                prop_assert_eq!(&entry, &refolded);
            } else {
                prop_assert_eq!(&entry, &before);
                entry = refolded;
            }
        }
    }
    Ok(())
}

/// Checks that a line parses to the event it was written for, survives redaction, and is stored
/// byte for byte by a set.
pub fn check_lines_round_trip(history: &EventHistory) -> Result<(), TestCaseError> {
    let mut set = EventSet::default();
    let mut ids = BTreeSet::new();
    for copy in &history.copies {
        let read = RecordedEvent::parse(copy.line().as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(copy));
        let blanked = copy.redacted();
        let read = RecordedEvent::parse(blanked.line().as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(&blanked));
        prop_assert!(blanked.is_redacted());
        prop_assert!(words(blanked.line()).is_empty());
        prop_assert_eq!(blanked.redacted(), blanked);
        // Only the first copy per id, so that no better copy replaces it.
        if ids.insert(copy.event.id) {
            set.add(copy.clone());
        }
    }
    for copy in set.events().filter(|copy| !copy.is_redacted()) {
        prop_assert!(history.copies.iter().any(|c| c.line() == copy.line()));
    }
    Ok(())
}

/// Checks that any changed byte in a line is detected.
pub fn check_corruption_detected(
    history: &EventHistory,
    place: usize,
    by: u8,
) -> Result<(), TestCaseError> {
    for copy in &history.copies {
        for line in [copy.line(), copy.redacted().line()] {
            let mut bytes = line.as_bytes().to_vec();
            let place = place % bytes.len();
            // Adding zero would change nothing.
            bytes[place] = bytes[place].wrapping_add(by.max(1));
            let read = RecordedEvent::parse(&bytes);
            prop_assert!(read.is_err(), "byte {place} of {line}");
        }
    }
    Ok(())
}
