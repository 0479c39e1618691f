//! What happens to entries: each chapter tells some events and looks at what follows.

use ken_core::content::Changes;
use ken_core::event::{
    AdmissionVerdict, ArchiveReason, Archived, BlankReason, Body, Channel, Cited, ConfigChanged,
    Confirmed, Effect, EventBlanked, Linked, Provenance, QuarantineLifted, Relation, Restored,
    RetractReason, Retracted, Revised, RunEffects, StatusChanged,
};
use ken_core::id::EventId;
use ken_core::status::Status;
use ken_core::store::Store;
use serde_json::json;

use super::{Chapter, Told};

pub(super) fn all<S: Store>() -> Vec<Chapter<S>> {
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

fn an_empty_store_knows_nothing<S: Store>(told: &mut Told<S>) {
    let (entry, copy) = told.scribe.propose("Never told");
    assert_eq!(told.store.entry(entry).expect("answers"), None);
    assert_eq!(told.store.event(copy.event.id).expect("answers"), None);
    assert_eq!(told.store.history(entry).expect("answers"), []);
    told.ends_as_folded();
}

fn a_proposal_makes_an_entry<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    assert_eq!(told.statement(entry), "Charging twice is safe");
    assert!(told.entry(entry).is_live());
    assert_eq!(told.store.history(entry).expect("answers"), told.events);
    told.ends_as_folded();
}

fn revision(statement: &str, replaces: &[EventId]) -> Body {
    let statement = Some(statement.parse().expect("a statement"));
    Body::Revised(Revised {
        origin: None,
        changes: Changes {
            statement,
            ..Changes::default()
        },
        replaces: replaces.to_vec(),
        channel: Channel::Command,
        reason: None,
    })
}

fn a_revision_replaces_what_it_names<S: Store>(told: &mut Told<S>) {
    told.scribe.at("2099-01-01T00:00:00Z");
    let entry = told.propose("First wording, by a clock in 2099");
    let first = told.entry(entry).revision;
    told.scribe.at("2026-01-02T00:00:00Z");
    let second = told.scribe.about(entry, revision("Second wording", &first));
    let second = told.tell(second);
    assert_eq!(told.statement(entry), "Second wording");
    assert_eq!(told.entry(entry).revision, [second]);
    let history = told.store.history(entry).expect("answers");
    assert_eq!(history[0].event.id, second, "the order is the clock's");
    told.ends_as_folded();
}

fn concurrent_revisions_are_both_named<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("First wording");
    let base = told.entry(entry).revision;
    let ours = told.scribe.about(entry, revision("Ours", &base));
    let theirs = told.scribe.about(entry, revision("Theirs", &base));
    let (theirs, ours) = (told.tell(theirs), told.tell(ours));
    assert_eq!(told.statement(entry), "Theirs", "the later one wins");
    assert_eq!(told.entry(entry).concurrent, [ours]);
    let both = told.scribe.about(entry, revision("Both", &[ours, theirs]));
    told.tell(both);
    assert_eq!(told.statement(entry), "Both");
    assert_eq!(told.entry(entry).concurrent, []);
    told.ends_as_folded();
}

fn confirmed(provenance: Provenance, withdraws: Vec<EventId>) -> Body {
    Body::Confirmed(Confirmed {
        provenance,
        on: "2026-03-04".parse().expect("a day"),
        run: None,
        withdraws,
    })
}

fn citations_and_confirmations_add_up<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    let evidence: ken_core::citation::Evidence = "commit:3fce3b5".parse().expect("evidence");
    let citation = evidence.cite(&told.scribe.by, told.scribe.now);
    let cited = Body::Cited(Cited {
        citation: citation.clone(),
    });
    let cited = told.scribe.about(entry, cited);
    told.tell(cited);
    let found = confirmed(Provenance::Independent, Vec::new());
    let found = told.scribe.by("agent:claude-code/7f3a").about(entry, found);
    let found = told.tell(found);
    let state = told.entry(entry);
    assert_eq!(state.citations, [citation]);
    assert_eq!(state.confirmation.independent, 1);
    assert_eq!(state.confirmation.by, Some(found));
    let withdrawn = confirmed(Provenance::Independent, vec![found]);
    let withdrawn = told.scribe.about(entry, withdrawn);
    told.tell(withdrawn);
    assert_eq!(told.entry(entry).confirmation.independent, 0);
    told.ends_as_folded();
}

fn effects_of_runs_add_up_in_any_order<S: Store>(told: &mut Told<S>) {
    let (first, second) = (told.propose("One"), told.propose("Two"));
    let effect = |entry| Effect {
        entry,
        alpha_milli: 700,
        beta_milli: 300,
        shown: 1,
        blind: 0,
        since: None,
        trials: Vec::new(),
    };
    let body = Body::RunEffects(RunEffects {
        run: "run-1".to_owned(),
        effects: vec![effect(first), effect(second), effect(second)],
    });
    let about = vec![first.into(), second.into()];
    let later = told.scribe.write(about.clone(), body.clone());
    let earlier = told.scribe.at("2025-01-01T00:00:00Z").write(about, body);
    told.tell(later);
    told.tell(earlier);
    assert_eq!(told.entry(first).tallies.shown, 2);
    assert_eq!(told.entry(second).tallies.shown, 4);
    assert_eq!(told.entry(second).history.events, 3);
    told.ends_as_folded();
}

fn archiving_and_restoring<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    let body = Body::Archived(Archived {
        because: ArchiveReason::Manual,
        rests_on: None,
    });
    let archived = told.scribe.about(entry, body);
    let archived = told.tell(archived);
    assert!(!told.entry(entry).is_live());
    let body = Body::Restored(Restored {
        undoes: vec![archived],
        reason: None,
    });
    let restored = told.scribe.about(entry, body);
    told.tell(restored);
    assert!(told.entry(entry).is_live());
    told.ends_as_folded();
}

fn a_retraction_leaves_a_tombstone<S: Store>(told: &mut Told<S>) {
    for (reason, stands) in [
        (RetractReason::False, true),
        (RetractReason::Obsolete, false),
    ] {
        let entry = told.propose("Charging twice is safe");
        let body = Body::Retracted(Retracted {
            reason,
            channel: Channel::Command,
            note: None,
        });
        let retracted = told.scribe.about(entry, body);
        let retracted = told.tell(retracted);
        let is_there = |told: &Told<S>| {
            let tombstones = told.store.tombstones().expect("answers");
            tombstones.iter().any(|tombstone| tombstone.id == entry)
        };
        assert_eq!(is_there(told), stands);
        let body = Body::Restored(Restored {
            undoes: vec![retracted],
            reason: None,
        });
        let restored = told.scribe.about(entry, body);
        told.tell(restored);
        assert!(!is_there(told));
    }
    told.ends_as_folded();
}

fn blanked(event: EventId) -> Body {
    Body::EventBlanked(EventBlanked {
        event,
        reason: BlankReason::Secret,
    })
}

fn a_blanked_event_says_nothing_any_more<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("The first wording stays");
    let base = told.entry(entry).revision;
    let body = revision("The password is hunter2", &base);
    let secret = told.scribe.about(entry, body);
    let order = told.scribe.write(Vec::new(), blanked(secret.event.id));
    let full = secret.clone();
    told.tell(secret);
    let order = told.tell(order);
    let held = told.store.event(full.event.id).expect("answers");
    assert_eq!(held, Some(full.blanked()));
    assert_eq!(told.statement(entry), "The first wording stays");
    assert_eq!(told.entry(entry).history.blanked, 1);
    told.tell(full.clone());
    let held = told.store.event(full.event.id).expect("answers");
    assert_eq!(
        held,
        Some(full.blanked()),
        "a copy that comes back changes nothing"
    );
    let again = told.scribe.write(Vec::new(), blanked(order));
    told.tell(again);
    told.ends_as_folded();
}

fn an_agent_cannot_blank<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Inconvenient truth");
    let proposal = told.entry(entry).revision[0];
    told.scribe.by("agent:eraser");
    let order = told.scribe.write(Vec::new(), blanked(proposal));
    told.tell(order);
    assert_eq!(told.statement(entry), "Inconvenient truth");
    told.ends_as_folded();
}

fn remembered_ids_stay_blanked<S: Store>(told: &mut Told<S>) {
    let (entry, copy) = told.scribe.propose("The password is hunter2");
    told.remember_blanked(copy.event.id);
    told.tell(copy);
    assert_eq!(told.entry(entry).content, None);
    let (other, copy) = told.scribe.propose("So is this one");
    let id = told.tell(copy);
    told.remember_blanked(id);
    assert_eq!(told.entry(other).content, None);
    told.ends_as_folded();
}

fn a_person_lifts_quarantine<S: Store>(told: &mut Told<S>) {
    told.scribe.verdict = AdmissionVerdict::Quarantined;
    let entry = told.propose("From a stranger");
    told.scribe.verdict = AdmissionVerdict::Admitted;
    assert!(!told.entry(entry).is_live());
    let lifts = told.entry(entry).quarantine;
    let body = Body::QuarantineLifted(QuarantineLifted {
        lifts,
        reason: "read it".parse().expect("a note"),
    });
    let by_agent = told.scribe.by("agent:helper").about(entry, body.clone());
    told.tell(by_agent);
    assert!(!told.entry(entry).is_live());
    let by_person = told.scribe.by("human:ada@example.org").about(entry, body);
    told.tell(by_person);
    assert!(told.entry(entry).is_live());
    told.ends_as_folded();
}

fn events_of_a_newer_build_are_kept<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    let news = told.scribe.foreign("entry.dreamt", &[entry]);
    let news = told.tell(news);
    assert!(told.entry(entry).is_read_only());
    let more = told.scribe.foreign("entry.dreamt", &[]);
    told.tell(more);
    let workspace = told.store.workspace().expect("answers");
    assert_eq!(workspace.unknown["entry.dreamt"], 2);
    told.ends_as_folded();
    told.take_back(news);
    assert!(!told.entry(entry).is_read_only());
    told.ends_as_folded();
}

fn a_removed_event_never_happened<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("First wording");
    let proposal = told.entry(entry).revision[0];
    let copy = told
        .scribe
        .about(entry, revision("Second wording", &[proposal]));
    let second = told.tell(copy);
    told.take_back(second);
    assert_eq!(told.statement(entry), "First wording");
    told.take_back(proposal);
    assert_eq!(told.store.entry(entry).expect("answers"), None);
    assert_eq!(told.store.event(proposal).expect("answers"), None);
    assert_eq!(told.found(&entry.to_string()), []);
    told.ends_as_folded();
}

fn status_follows_the_ladder<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    for to in [Status::Active, Status::Verified, Status::Stale] {
        let body = Body::StatusChanged(StatusChanged {
            to,
            replaces: told.entry(entry).status.heads,
            reason: None,
        });
        let changed = told.scribe.about(entry, body);
        told.tell(changed);
        assert_eq!(told.entry(entry).status.value, to);
    }
    told.ends_as_folded();
}

fn links_leave_from_their_first_end<S: Store>(told: &mut Told<S>) {
    let (from, to) = (told.propose("One"), told.propose("Two"));
    let body = Body::Linked(Linked {
        to,
        rel: Relation::RelatesTo,
        withdraws: Vec::new(),
    });
    let linked = told.scribe.write(vec![from.into(), to.into()], body);
    told.tell(linked);
    assert_eq!(told.entry(from).links[0].to, to);
    assert_eq!(told.entry(to).links, []);
    told.ends_as_folded();
}

fn the_workspace_has_settings<S: Store>(told: &mut Told<S>) {
    let changed = |value: serde_json::Value, replaces: Vec<EventId>| {
        Body::ConfigChanged(ConfigChanged {
            key: "limits/age".parse().expect("a key"),
            value,
            replaces,
        })
    };
    // The value prints with 17 digits: a store that reads numbers carelessly changes the last.
    let first = changed(json!(0.100_000_000_000_000_02), Vec::new());
    let first = told.scribe.write(Vec::new(), first);
    let first = told.tell(first);
    told.ends_as_folded();
    let second = told
        .scribe
        .write(Vec::new(), changed(json!(90), vec![first]));
    told.tell(second);
    let workspace = told.store.workspace().expect("answers");
    assert_eq!(workspace.settings["config/limits/age"].value, json!(90));
    told.ends_as_folded();
}
