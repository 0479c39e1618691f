//! Rediscovery from events to decisions: the trace, what is pushed, withheld and archived.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    Confirmed, EntryEffect, Event, EventBody, Origin, Provenance, Reanchored, RecordedEvent,
    RunEffects, SourceRun,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::rediscovery::{CHANCES_KEPT, RediscoveryModel, StoredModel};
use ken_core::trust::rediscovery::{
    DECIDED_MIN, PUSH_MIN, REDISCOVERY_KEY, REDISCOVERY_MODEL_KEY, RediscoveryMode,
    RediscoveryPolicy,
};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::holdout::holdout_share;
use ken_core::values::anchor::Anchor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;
use serde_json::json;

use crate::settings::workspace_with_setting;

/// The events of one entry.
struct ClaimHistory {
    scribe: EventWriter,
    id: EntryId,
    events: Vec<Event>,
}

impl ClaimHistory {
    /// Proposes an entry of an agent in the run `source`.
    fn new(kind: EntryKind, by: &str) -> Self {
        let mut scribe = EventWriter::new(3);
        scribe.by(by);
        let (id, line) = scribe.propose_with(kind, "Retries are bounded", |data| {
            data.origin = Origin::Agent;
            data.run = Some(SourceRun {
                id: "source".to_owned(),
                outcome: None,
            });
        });
        Self {
            scribe,
            id,
            events: vec![line.event],
        }
    }

    fn add(&mut self, body: EventBody) -> &mut Self {
        let RecordedEvent { event, .. } = self.scribe.about(self.id, body);
        self.events.push(event);
        self
    }

    fn confirm(&mut self, provenance: Provenance, run: &str) -> &mut Self {
        self.add(EventBody::Confirmed(Confirmed {
            provenance,
            on: Timestamp::from_seconds(1_700_000_000).date(),
            run: Some(run.to_owned()),
            withdraws: Vec::new(),
        }))
    }

    /// Adds a run in which so many unprimed agents could have found the claim.
    fn chance(&mut self, run: &str, unseen: u32) -> &mut Self {
        let effect = EntryEffect {
            entry: self.id,
            alpha_milli: 0,
            beta_milli: 0,
            shown: 0,
            blind: unseen.min(1),
            unseen: if unseen > 1 { unseen } else { 0 },
            since: None,
            source_outcome: None,
            trials: Vec::new(),
        };
        self.add(EventBody::RunEffects(RunEffects {
            run: run.to_owned(),
            effects: vec![effect],
        }))
    }

    fn misses(&mut self, count: usize) -> &mut Self {
        let start = self.events.len();
        for number in 0..count {
            self.chance(&format!("miss-{start}-{number}"), 1);
        }
        self
    }

    fn finds(&mut self, count: usize) -> &mut Self {
        let start = self.events.len();
        for number in 0..count {
            let run = format!("find-{start}-{number}");
            self.chance(&run, 1).confirm(Provenance::Independent, &run);
        }
        self
    }

    fn entry(&self) -> Entry {
        fold_entry(self.id, &self.events).unwrap()
    }
}

fn learning() -> ClaimHistory {
    ClaimHistory::new(EntryKind::Learning, "agent:a")
}

fn policy(mode: RediscoveryMode) -> RediscoveryPolicy {
    RediscoveryPolicy { mode, fitted: None }
}

fn belief(entry: &Entry) -> f64 {
    RediscoveryPolicy::OBSERVE.evidence(entry).unwrap().belief
}

#[test]
fn finds_and_chances_are_counted_per_run_and_told_in_one_phrase() {
    let mut history = learning();
    history.confirm(Provenance::Independent, "source");
    history.chance("a", 3).confirm(Provenance::Independent, "a");
    // A primed or unwitnessed repetition is no find.
    history.chance("b", 1).confirm(Provenance::Primed, "b");
    history.chance("c", 1).confirm(Provenance::Unwitnessed, "c");
    // A find without a recorded chance is one.
    history.confirm(Provenance::Independent, "d");
    // The run of the discovery is none.
    history.chance("source", 2);
    let entry = history.entry();
    let evidence = RediscoveryPolicy::OBSERVE.evidence(&entry).unwrap();
    assert_eq!((evidence.found, evidence.chances), (2, 4));
    assert_eq!(
        evidence.to_string(),
        "found independently 2 times in 4 chances"
    );
    let trace = &entry.tallies.rediscovery;
    assert!(!trace.alone, "agents of the source run agreed");
    assert_eq!(trace.recent[0].unseen, 3);
}

#[test]
fn a_withdrawn_find_is_a_miss() {
    let mut history = learning();
    history.finds(1);
    let found = history.events.last().unwrap().id;
    let before = belief(&history.entry());
    history.add(EventBody::Confirmed(Confirmed {
        provenance: Provenance::Independent,
        on: Timestamp::from_seconds(1_700_000_000).date(),
        run: None,
        withdraws: vec![found],
    }));
    let entry = history.entry();
    let trace = &entry.tallies.rediscovery;
    assert_eq!((trace.found, trace.chances), (0, 1));
    assert!(belief(&entry) < before);
}

#[test]
fn a_trace_is_the_same_in_any_order_with_copies_and_event_by_event() {
    let mut history = learning();
    history.misses(40).finds(30).misses(20);
    let whole = history.entry();
    let trace = &whole.tallies.rediscovery;
    assert_eq!((trace.recent.len(), trace.chances), (CHANCES_KEPT, 90));
    assert!(trace.earlier.is_some());
    let shuffled = history.events.iter().rev().chain(&history.events);
    assert_eq!(fold_entry(history.id, shuffled).unwrap(), whole);
    let mut entry = fold_entry(history.id, &history.events[..1]).unwrap();
    let mut absorbed = 0;
    for (number, event) in history.events.iter().enumerate().skip(1) {
        let upto = || fold_entry(history.id, &history.events[..=number]).unwrap();
        if entry.try_add_event(event) {
            absorbed += 1;
            assert_eq!(entry, upto());
        } else {
            entry = upto();
        }
    }
    // All but the first chance: an entry that an older build stored has none, whatever happened
    // before.
    assert_eq!((entry, absorbed), (whole, 89));
    // A stored entry reads back as it was.
    let text = serde_json::to_string(&history.entry()).unwrap();
    let read: Entry = serde_json::from_str(&text).unwrap();
    assert_eq!(read, history.entry());
}

#[test]
fn an_agent_that_points_an_entry_at_other_code_discounts_it_and_a_person_does_not() {
    let anchor = |fingerprint: &str| Anchor {
        at: "src/pay.rs#charge".parse().unwrap(),
        fingerprint: Some(fingerprint.to_owned()),
    };
    let after = |by: &str, fingerprints: [&str; 2]| {
        let mut history = learning();
        history.finds(3);
        for fingerprint in fingerprints {
            history.scribe.by(by);
            let anchors = vec![anchor(fingerprint)];
            history.add(EventBody::Reanchored(Reanchored {
                anchors,
                replaces: Vec::new(),
                origin: None,
            }));
        }
        let entry = history.entry();
        (entry.tallies.rediscovery.changed, belief(&entry))
    };
    let (changed, doubted) = after("agent:b", ["one", "two"]);
    let (unchanged, kept) = after("human:ada", ["one", "two"]);
    assert!(changed && !unchanged && doubted < kept);
}

#[test]
fn a_prescriptive_kind_has_no_evidence_and_is_never_gated() {
    for kind in EntryKind::ALL {
        let mut history = ClaimHistory::new(kind, "agent:a");
        history
            .confirm(Provenance::Independent, "source")
            .misses(50);
        let entry = history.entry();
        let gate = policy(RediscoveryMode::Gate);
        assert_eq!(
            gate.evidence(&entry).is_none(),
            kind.is_prescriptive(),
            "{kind:?}"
        );
        let is_exempt = kind.is_prescriptive() || kind == EntryKind::Incident;
        assert_eq!(gate.may_push(&entry), is_exempt, "{kind:?}");
    }
}

#[test]
fn each_mode_does_what_it_says_and_no_more() {
    let believed = learning()
        .confirm(Provenance::Independent, "source")
        .finds(3)
        .entry();
    let doubted = learning()
        .confirm(Provenance::Independent, "source")
        .misses(5)
        .entry();
    let heard = learning().entry();
    assert!(belief(&believed) > DECIDED_MIN && belief(&doubted) < PUSH_MIN);
    for (mode, pushes_doubted, ranks) in [
        (RediscoveryMode::Observe, true, false),
        (RediscoveryMode::Rank, true, true),
        (RediscoveryMode::Gate, false, true),
    ] {
        let policy = policy(mode);
        assert!(policy.may_push(&believed), "{mode}");
        assert_eq!(policy.may_push(&doubted), pushes_doubted, "{mode}");
        assert!(!policy.may_push(&heard), "one agent's report waits: {mode}");
        assert_eq!(policy.score_factor(&doubted).is_some(), ranks, "{mode}");
    }
}

#[test]
fn what_a_person_vouches_for_is_never_doubted() {
    let gate = policy(RediscoveryMode::Gate);
    let written = ClaimHistory::new(EntryKind::Learning, "human:ada");
    let mut confirmed = learning();
    confirmed.add(EventBody::Confirmed(Confirmed {
        provenance: Provenance::Manual,
        on: Timestamp::from_seconds(1_700_000_000).date(),
        run: None,
        withdraws: Vec::new(),
    }));
    for mut history in [written, confirmed] {
        history
            .confirm(Provenance::Independent, "source")
            .misses(50);
        let entry = history.entry();
        assert!(gate.may_push(&entry));
        assert_eq!(
            (gate.score_factor(&entry), gate.archives(&entry)),
            (None, None)
        );
    }
}

#[test]
fn an_undecided_entry_is_withheld_more_often_than_a_decided_one_and_both_sometimes() {
    let decided = learning()
        .confirm(Provenance::Independent, "source")
        .finds(4)
        .entry();
    let undecided = learning()
        .confirm(Provenance::Independent, "source")
        .entry();
    let share = |mode, entry: &Entry| {
        let review = ReviewPolicy {
            rediscovery: policy(mode),
            ..ReviewPolicy::default()
        };
        let share = holdout_share(entry, review);
        u32::from(share.runs_milli) * u32::from(share.alone_milli) / 1000
    };
    for mode in [RediscoveryMode::Rank, RediscoveryMode::Gate] {
        let (less, more) = (share(mode, &decided), share(mode, &undecided));
        assert!(less > 0 && less < more, "{mode}: {less} {more}");
    }
    let observe = RediscoveryMode::Observe;
    assert_eq!(share(observe, &decided), share(observe, &undecided));
}

#[test]
fn the_gate_archives_by_belief_and_the_other_modes_by_reviews() {
    let silent = learning().misses(60).entry();
    let fresh = learning().misses(5).entry();
    // Of a workspace in which almost no claim of a single agent is true. The standard model
    // expects a false claim to become true now and then, and stays above the bound.
    let fitted = StoredModel {
        alone: 1,
        ..RediscoveryModel::standard().to_stored()
    };
    let archives = |mode, entry: &Entry| {
        let fitted = Some(fitted);
        RediscoveryPolicy { mode, fitted }.archives(entry)
    };
    let standard = policy(RediscoveryMode::Gate).archives(&silent);
    assert_eq!(standard, Some(false));
    assert_eq!(archives(RediscoveryMode::Gate, &fresh), Some(false));
    assert_eq!(archives(RediscoveryMode::Gate, &silent), Some(true));
    assert_eq!(archives(RediscoveryMode::Rank, &silent), None);
    assert_eq!(archives(RediscoveryMode::Observe, &silent), None);
}

#[test]
fn a_mode_and_a_model_hold_where_they_are_sound_and_the_defaults_everywhere_else() {
    let read = |key, value| RediscoveryPolicy::from_workspace(&workspace_with_setting(key, value));
    for mode in RediscoveryMode::ALL {
        assert_eq!(read(REDISCOVERY_KEY, json!(mode.name())).mode, mode);
    }
    for value in [json!("later"), json!(1), json!(null)] {
        assert_eq!(read(REDISCOVERY_KEY, value), RediscoveryPolicy::OBSERVE);
    }
    let mut sparse = learning();
    sparse.misses(30).finds(1).misses(30);
    let entry = sparse.entry();
    let traces = vec![&entry.tallies.rediscovery; 40];
    let fitted = RediscoveryModel::standard().fit(&traces, 3).to_stored();
    let policy = read(REDISCOVERY_MODEL_KEY, json!(fitted));
    assert_eq!(policy.fitted, Some(fitted));
    assert!(
        policy.evidence(&entry).unwrap().belief > belief(&entry),
        "sparse reports weigh more"
    );
    assert_eq!(
        read(REDISCOVERY_MODEL_KEY, json!({"rates": 1})).fitted,
        None
    );
}
