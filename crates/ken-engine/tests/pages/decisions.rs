//! A decision of a person is undone as a whole, and repeated as a whole.

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Origin;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::{Content, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::Engine;
use ken_engine::promotion::PromotionDecider;

use crate::repository::Repository;

/// Returns the state that a decision changes and an undo restores.
fn state(engine: &Engine, id: EntryId) -> (Entry, bool) {
    let mut entry = engine.entry(id).unwrap();
    let is_held = !entry.quarantine.is_empty();
    // Ids of events and counters differ, because nothing is deleted.
    entry.revision.clear();
    entry.quarantine.clear();
    entry.scope.heads.clear();
    entry.overlays.clear();
    entry.citations.clear();
    entry.history.events = 0;
    entry.history.last = entry.history.first;
    (entry, is_held)
}

/// Makes a decision, undoes it, repeats it and undoes it again.
fn check_round_trip(
    repository: &Repository,
    id: EntryId,
    kept: &[&str],
    decide: impl FnOnce(&mut Engine),
) {
    let mut engine = repository.engine();
    let before = state(&engine, id);
    decide(&mut engine);
    let after = state(&engine, id);
    assert_ne!(before, after, "the decision changed nothing");
    let by = &repository.by;
    let undone = repository.engine().undo(None, by).unwrap();
    assert_eq!(undone.kept, kept);
    engine.refresh().unwrap();
    assert_eq!(state(&engine, id), before, "undone");
    repository.engine().redo(by).unwrap();
    engine.refresh().unwrap();
    assert_eq!(state(&engine, id), after, "repeated");
    repository.engine().undo(None, by).unwrap();
    engine.refresh().unwrap();
    assert_eq!(state(&engine, id), before, "undone again");
}

#[test]
fn a_release_is_undone_by_holding_the_entry_again() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    let id = repository.learn(&mut engine, "Retries need a key.", &[]);
    let reason = "looks wrong".parse().unwrap();
    engine.quarantine(id, &reason, &repository.by).unwrap();
    check_round_trip(&repository, id, &[], |engine| {
        let reason = "it is right".parse().unwrap();
        engine.release(id, reason, &repository.by).unwrap();
    });
    let engine = repository.engine();
    let held = engine.quarantined_entry(id).unwrap().unwrap();
    assert_eq!(held.reason, "its release was undone");
}

#[test]
fn a_quarantine_is_undone_by_a_release() {
    let repository = Repository::new();
    let id = repository.learn(&mut repository.engine(), "Retries need a key.", &[]);
    check_round_trip(&repository, id, &[], |engine| {
        let reason = "looks wrong".parse().unwrap();
        engine.quarantine(id, &reason, &repository.by).unwrap();
    });
}

/// Returns a repository with an entry whose code changed.
fn changed_code() -> (Repository, Engine, EntryId) {
    let repository = Repository::new();
    repository.write("a.rs", "fn a() -> u8 { 1 }\n");
    repository.commit("code");
    let mut engine = repository.engine();
    let id = repository.learn(&mut engine, "It returns a number.", &["a.rs#a"]);
    repository.write("a.rs", "fn a() -> u8 { 2 }\n");
    (repository, engine, id)
}

#[test]
fn still_true_is_undone_with_its_anchors_and_keeps_its_citation() {
    let (repository, _, id) = changed_code();
    let kept = ["a citation (provenance is append-only)"];
    check_round_trip(&repository, id, &kept, |engine| {
        let citation = "pr:143".parse().unwrap();
        engine
            .accept_current_code(id, Some(citation), &repository.by)
            .unwrap();
    });
}

#[test]
fn still_true_is_said_undone_and_said_again_within_a_second() {
    let (repository, mut engine, id) = changed_code();
    let by = &repository.by;
    let citation: CitationSource = "pr:143".parse().unwrap();
    let _ = engine
        .accept_current_code(id, Some(citation.clone()), by)
        .unwrap();
    let _ = engine.undo(None, by).unwrap();
    let accepted = engine.accept_current_code(id, Some(citation), by).unwrap();
    // The citation of the first time was kept, and is the same in every field.
    assert_eq!(accepted.citations.len(), 2, "{:?}", accepted.citations);
    assert!(engine.invalid_entries().unwrap().is_empty());
}

#[test]
fn a_wider_scope_is_undone() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    let content = Content::new("Retries need a key.".parse().unwrap());
    let evidence: CitationSource = "pr:142".parse().unwrap();
    let citations = vec![evidence.cite(&repository.by, engine.now())];
    let proposal = Proposal {
        scope: EntryScope::Thread,
        thread: Some("payments".parse().unwrap()),
        ..Proposal::new(EntryKind::Learning, content, citations, Origin::Human)
    };
    let id = engine.add(proposal, &repository.by).unwrap().id;
    check_round_trip(&repository, id, &[], |engine| {
        let decider = PromotionDecider::Person;
        engine
            .promote_to_workspace(id, decider, &repository.by)
            .unwrap();
    });
}
