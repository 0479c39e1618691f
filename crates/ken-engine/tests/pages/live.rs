//! Changes that a live page is told about.

use std::collections::BTreeSet;

use ken_core::ledger::event::{Overlay, Switch};
use ken_engine::live::{LiveChanges, WATCHED_FILES_MAX};
use ken_engine::runs::OpenRunRequest;

use crate::repository::Repository;

#[test]
fn each_change_is_reported_by_its_kind() {
    let repository = Repository::new();
    repository.write("a.rs", "fn a() {}\n");
    let (engine, mut other) = (repository.engine(), repository.engine());
    let watched: BTreeSet<String> = ["a.rs", "missing.rs"].map(str::to_owned).into();
    let mut before = engine.live_state(&watched).unwrap();
    let mut changes = || {
        let now = engine.live_state(&watched).unwrap();
        let changes = now.changes_since(&before);
        before = now;
        changes
    };
    let none = LiveChanges::default();
    assert!(changes().is_empty(), "nothing happened");
    let id = repository.learn(&mut other, "Retries need a key.", &["a.rs#a"]);
    assert_eq!(
        changes(),
        LiveChanges {
            entries: true,
            ..none.clone()
        }
    );
    other
        .set_overlay(id, Overlay::Pin, Switch::On, None, &repository.by)
        .unwrap();
    assert_eq!(
        changes(),
        LiveChanges {
            entries: true,
            ..none.clone()
        }
    );
    let run = other
        .open_run(OpenRunRequest::default(), &repository.by)
        .unwrap();
    let runs: BTreeSet<String> = [run.id].into();
    assert_eq!(
        changes(),
        LiveChanges {
            runs,
            ..none.clone()
        }
    );
    repository.write("a.rs", "fn a() { b() }\n");
    repository.write("missing.rs", "");
    repository.write("unwatched.rs", "");
    assert_eq!(
        changes(),
        LiveChanges {
            files: watched.clone(),
            ..none
        }
    );
    assert!(changes().is_empty(), "nothing happened since");
}

#[test]
fn the_number_of_watched_files_is_limited() {
    let repository = Repository::new();
    let engine = repository.engine();
    let many = |count: usize| (0..count).map(|it| format!("{it}.rs")).collect();
    assert!(engine.live_state(&many(WATCHED_FILES_MAX)).is_ok());
    assert!(engine.live_state(&many(WATCHED_FILES_MAX + 1)).is_err());
}
