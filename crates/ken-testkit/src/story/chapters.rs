//! Lifecycle cases: each applies some events and checks the resulting entries.

use ken_core::ledger::event::{
    AdmissionVerdict, ArchiveReason, Archived, BlankReason, Channel, Cited, ConfigChanged,
    Confirmed, EntryEffect, EventBlanked, EventBody, Linked, Provenance, QuarantineLifted,
    Relation, Restored, RetractReason, Retracted, Revised, RunEffects, StatusChanged,
};
use ken_core::ledger::store::DerivedStore;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EventId;
use ken_core::values::status::EntryStatus;
use serde_json::json;

use super::{ConformanceCase, StoreScenario};

pub(super) fn cases<S: DerivedStore>() -> Vec<ConformanceCase<S>> {
    vec![
        an_empty_store_knows_nothing,
        a_proposal_makes_an_entry,
        a_revision_replaces_what_it_names,
        concurrent_revisions_are_both_named,
        citations_and_confirmations_add_up,
        effects_of_runs_add_up_in_any_order,
        archiving_and_restoring,
        a_retraction_leaves_a_tombstone,
        a_blanked_event_says_nothing_any_more,
        an_agent_cannot_blank,
        remembered_ids_stay_blanked,
        a_person_lifts_quarantine,
        events_of_a_newer_build_are_kept,
        a_removed_event_never_happened,
        status_follows_the_ladder,
        links_leave_from_their_first_end,
        the_workspace_has_settings,
    ]
}

fn an_empty_store_knows_nothing<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let (entry, copy) = scenario.scribe.propose("Never told");
    assert_eq!(scenario.store.entry(entry).expect("answers"), None);
    assert_eq!(scenario.store.event(copy.event.id).expect("answers"), None);
    assert_eq!(scenario.store.history(entry).expect("answers"), []);
    scenario.assert_matches_fold();
}

fn a_proposal_makes_an_entry<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    assert_eq!(scenario.statement(entry), "Charging twice is safe");
    assert!(scenario.entry(entry).is_live());
    assert_eq!(
        scenario.store.history(entry).expect("answers"),
        scenario.events
    );
    scenario.assert_matches_fold();
}

fn revision(statement: &str, replaces: &[EventId]) -> EventBody {
    let statement = Some(statement.parse().expect("a statement"));
    EventBody::Revised(Revised {
        origin: None,
        changes: ContentChanges {
            statement,
            ..ContentChanges::default()
        },
        replaces: replaces.to_vec(),
        channel: Channel::Command,
        reason: None,
    })
}

fn a_revision_replaces_what_it_names<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    // A clock far in the future: causality must win over it.
    scenario.scribe.at("2099-01-01T00:00:00Z");
    let entry = scenario.propose("First wording, by a clock in 2099");
    let first = scenario.entry(entry).revision;
    scenario.scribe.at("2026-01-02T00:00:00Z");
    let second = scenario
        .scribe
        .about(entry, revision("Second wording", &first));
    let second = scenario.tell(second);
    assert_eq!(scenario.statement(entry), "Second wording");
    assert_eq!(scenario.entry(entry).revision, [second]);
    let history = scenario.store.history(entry).expect("answers");
    assert_eq!(history[0].event.id, second, "the order is the clock's");
    scenario.assert_matches_fold();
}

fn concurrent_revisions_are_both_named<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("First wording");
    let base = scenario.entry(entry).revision;
    let ours = scenario.scribe.about(entry, revision("Ours", &base));
    let theirs = scenario.scribe.about(entry, revision("Theirs", &base));
    // The later revision arrives first.
    let (theirs, ours) = (scenario.tell(theirs), scenario.tell(ours));
    assert_eq!(scenario.statement(entry), "Theirs", "the later one wins");
    assert_eq!(scenario.entry(entry).concurrent, [ours]);
    let both = scenario
        .scribe
        .about(entry, revision("Both", &[ours, theirs]));
    scenario.tell(both);
    assert_eq!(scenario.statement(entry), "Both");
    assert_eq!(scenario.entry(entry).concurrent, []);
    scenario.assert_matches_fold();
}

fn confirmation(provenance: Provenance, withdraws: Vec<EventId>) -> EventBody {
    EventBody::Confirmed(Confirmed {
        provenance,
        on: "2026-03-04".parse().expect("a day"),
        run: None,
        withdraws,
    })
}

fn citations_and_confirmations_add_up<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    let evidence: ken_core::values::citation::CitationSource =
        "commit:3fce3b5".parse().expect("evidence");
    let citation = evidence.cite(&scenario.scribe.by, scenario.scribe.now);
    let cited = EventBody::Cited(Cited {
        citation: citation.clone(),
    });
    let cited = scenario.scribe.about(entry, cited);
    scenario.tell(cited);
    let found = confirmation(Provenance::Independent, Vec::new());
    let found = scenario
        .scribe
        .by("agent:claude-code/7f3a")
        .about(entry, found);
    let found = scenario.tell(found);
    let state = scenario.entry(entry);
    assert_eq!(state.citations, [citation]);
    assert_eq!(state.confirmation.independent, 1);
    assert_eq!(state.confirmation.by, Some(found));
    let withdrawn = confirmation(Provenance::Independent, vec![found]);
    let withdrawn = scenario.scribe.about(entry, withdrawn);
    scenario.tell(withdrawn);
    assert_eq!(scenario.entry(entry).confirmation.independent, 0);
    scenario.assert_matches_fold();
}

fn effects_of_runs_add_up_in_any_order<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let (first, second) = (scenario.propose("One"), scenario.propose("Two"));
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
    let body = EventBody::RunEffects(RunEffects {
        run: "run-1".to_owned(),
        effects: vec![effect(first), effect(second), effect(second)],
    });
    let about = vec![first.into(), second.into()];
    // The later event is applied first, and one entry occurs twice in each.
    let later = scenario.scribe.write(about.clone(), body.clone());
    let earlier = scenario
        .scribe
        .at("2025-01-01T00:00:00Z")
        .write(about, body);
    scenario.tell(later);
    scenario.tell(earlier);
    assert_eq!(scenario.entry(first).tallies.shown, 2);
    assert_eq!(scenario.entry(second).tallies.shown, 4);
    assert_eq!(scenario.entry(second).history.events, 3);
    scenario.assert_matches_fold();
}

fn archiving_and_restoring<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    let body = EventBody::Archived(Archived {
        because: ArchiveReason::Manual,
        rests_on: None,
    });
    let archived = scenario.scribe.about(entry, body);
    let archived = scenario.tell(archived);
    assert!(!scenario.entry(entry).is_live());
    let body = EventBody::Restored(Restored {
        undoes: vec![archived],
        reason: None,
    });
    let restored = scenario.scribe.about(entry, body);
    scenario.tell(restored);
    assert!(scenario.entry(entry).is_live());
    scenario.assert_matches_fold();
}

fn a_retraction_leaves_a_tombstone<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    for (reason, stands) in [
        (RetractReason::False, true),
        // An obsolete claim may become true again, so it leaves no tombstone.
        (RetractReason::Obsolete, false),
    ] {
        let entry = scenario.propose("Charging twice is safe");
        let body = EventBody::Retracted(Retracted {
            reason,
            channel: Channel::Command,
            note: None,
        });
        let retracted = scenario.scribe.about(entry, body);
        let retracted = scenario.tell(retracted);
        let is_there = |scenario: &StoreScenario<S>| {
            let tombstones = scenario.store.tombstones().expect("answers");
            tombstones.iter().any(|tombstone| tombstone.id == entry)
        };
        assert_eq!(is_there(scenario), stands);
        let body = EventBody::Restored(Restored {
            undoes: vec![retracted],
            reason: None,
        });
        let restored = scenario.scribe.about(entry, body);
        scenario.tell(restored);
        assert!(!is_there(scenario));
    }
    scenario.assert_matches_fold();
}

fn redaction_of(event: EventId) -> EventBody {
    EventBody::EventBlanked(EventBlanked {
        event,
        reason: BlankReason::Secret,
    })
}

fn a_blanked_event_says_nothing_any_more<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("The first wording stays");
    let base = scenario.entry(entry).revision;
    let body = revision("The password is hunter2", &base);
    let secret = scenario.scribe.about(entry, body);
    let order = scenario
        .scribe
        .write(Vec::new(), redaction_of(secret.event.id));
    let full = secret.clone();
    scenario.tell(secret);
    let order = scenario.tell(order);
    let stored = scenario.store.event(full.event.id).expect("answers");
    assert_eq!(stored, Some(full.redacted()));
    assert_eq!(scenario.statement(entry), "The first wording stays");
    assert_eq!(scenario.entry(entry).history.blanked, 1);
    scenario.tell(full.clone());
    let stored = scenario.store.event(full.event.id).expect("answers");
    assert_eq!(
        stored,
        Some(full.redacted()),
        "a copy that comes back changes nothing"
    );
    // A redaction cannot be redacted.
    let again = scenario.scribe.write(Vec::new(), redaction_of(order));
    scenario.tell(again);
    scenario.assert_matches_fold();
}

fn an_agent_cannot_blank<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Inconvenient truth");
    let proposal = scenario.entry(entry).revision[0];
    scenario.scribe.by("agent:eraser");
    let order = scenario.scribe.write(Vec::new(), redaction_of(proposal));
    scenario.tell(order);
    assert_eq!(scenario.statement(entry), "Inconvenient truth");
    scenario.assert_matches_fold();
}

fn remembered_ids_stay_blanked<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let (entry, copy) = scenario.scribe.propose("The password is hunter2");
    // Once before the event arrives and once after.
    scenario.remember_blanked(copy.event.id);
    scenario.tell(copy);
    assert_eq!(scenario.entry(entry).content, None);
    let (other, copy) = scenario.scribe.propose("So is this one");
    let id = scenario.tell(copy);
    scenario.remember_blanked(id);
    assert_eq!(scenario.entry(other).content, None);
    scenario.assert_matches_fold();
}

fn a_person_lifts_quarantine<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    scenario.scribe.verdict = AdmissionVerdict::Quarantined;
    let entry = scenario.propose("From a stranger");
    scenario.scribe.verdict = AdmissionVerdict::Admitted;
    assert!(!scenario.entry(entry).is_live());
    let lifts = scenario.entry(entry).quarantine;
    let body = EventBody::QuarantineLifted(QuarantineLifted {
        lifts,
        reason: "read it".parse().expect("a note"),
    });
    // A release by an agent has no effect.
    let by_agent = scenario
        .scribe
        .by("agent:helper")
        .about(entry, body.clone());
    scenario.tell(by_agent);
    assert!(!scenario.entry(entry).is_live());
    let by_person = scenario
        .scribe
        .by("human:ada@example.org")
        .about(entry, body);
    scenario.tell(by_person);
    assert!(scenario.entry(entry).is_live());
    scenario.assert_matches_fold();
}

fn events_of_a_newer_build_are_kept<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    let news = scenario.scribe.foreign("entry.dreamt", &[entry]);
    let news = scenario.tell(news);
    assert!(scenario.entry(entry).is_read_only());
    let more = scenario.scribe.foreign("entry.dreamt", &[]);
    scenario.tell(more);
    let workspace = scenario.store.workspace().expect("answers");
    assert_eq!(workspace.unknown["entry.dreamt"], 2);
    scenario.assert_matches_fold();
    // The entry is read-only only while the unknown event is there.
    scenario.take_back(news);
    assert!(!scenario.entry(entry).is_read_only());
    scenario.assert_matches_fold();
}

fn a_removed_event_never_happened<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("First wording");
    let proposal = scenario.entry(entry).revision[0];
    let copy = scenario
        .scribe
        .about(entry, revision("Second wording", &[proposal]));
    let second = scenario.tell(copy);
    scenario.take_back(second);
    assert_eq!(scenario.statement(entry), "First wording");
    scenario.take_back(proposal);
    assert_eq!(scenario.store.entry(entry).expect("answers"), None);
    assert_eq!(scenario.store.event(proposal).expect("answers"), None);
    assert_eq!(scenario.found(&entry.to_string()), []);
    scenario.assert_matches_fold();
}

fn status_follows_the_ladder<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    for to in [
        EntryStatus::Active,
        EntryStatus::Verified,
        EntryStatus::Stale,
    ] {
        let body = EventBody::StatusChanged(StatusChanged {
            to,
            replaces: scenario.entry(entry).status.heads,
            reason: None,
        });
        let changed = scenario.scribe.about(entry, body);
        scenario.tell(changed);
        assert_eq!(scenario.entry(entry).status.value, to);
    }
    scenario.assert_matches_fold();
}

fn links_leave_from_their_first_end<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let (from, to) = (scenario.propose("One"), scenario.propose("Two"));
    let body = EventBody::Linked(Linked {
        to,
        rel: Relation::RelatesTo,
        withdraws: Vec::new(),
    });
    let linked = scenario.scribe.write(vec![from.into(), to.into()], body);
    scenario.tell(linked);
    assert_eq!(scenario.entry(from).links[0].to, to);
    assert_eq!(scenario.entry(to).links, []);
    scenario.assert_matches_fold();
}

fn the_workspace_has_settings<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let changed = |value: serde_json::Value, replaces: Vec<EventId>| {
        EventBody::ConfigChanged(ConfigChanged {
            key: "limits/age".parse().expect("a key"),
            value,
            replaces,
        })
    };
    // The value has 17 significant digits: a store that parses numbers imprecisely changes the
    // last.
    let first = changed(json!(0.100_000_000_000_000_02), Vec::new());
    let first = scenario.scribe.write(Vec::new(), first);
    let first = scenario.tell(first);
    scenario.assert_matches_fold();
    let second = scenario
        .scribe
        .write(Vec::new(), changed(json!(90), vec![first]));
    scenario.tell(second);
    let workspace = scenario.store.workspace().expect("answers");
    assert_eq!(workspace.settings["config/limits/age"].value, json!(90));
    scenario.assert_matches_fold();
}
