//! The past: commits of lines, diffs, wordings, health by day, and what agents were shown.

use ken_core::health::maintenance::MaintenanceService;
use ken_core::trust::run::ExposureChannel;
use ken_core::trust::run::exposure_log::ExposureDecision;
use ken_core::values::content::ContentChanges;
use ken_engine::runs::{EntryReader, OpenRunRequest};
use ken_engine::search::SearchQuery;
use ken_engine::validity::{DiffLine, LineRange};

use crate::repository::Repository;

#[test]
fn lines_name_the_commit_that_changed_them_last() {
    let repository = Repository::new();
    repository.write("a.rs", "one\ntwo\nthree\n");
    let first = repository.commit("first");
    repository.write("a.rs", "one\nTWO\nthree\n");
    let second = repository.commit("second");
    repository.write("a.rs", "zero\none\nTWO\nthree\n");
    repository.write("new.rs", "new\n");
    let engine = repository.engine();
    let history = |path: &str, first: u32, last: u32| {
        let found = engine
            .line_history(path, LineRange { first, last })
            .unwrap();
        (
            found.commit.map(|it| (it.id, it.summary)),
            found.is_modified,
        )
    };
    let commit = |id: &str, summary: &str| Some((id.to_owned(), summary.to_owned()));
    assert_eq!(history("a.rs", 2, 2), (commit(&first, "first"), false));
    assert_eq!(history("a.rs", 3, 3), (commit(&second, "second"), false));
    assert_eq!(history("a.rs", 1, 1), (None, true));
    assert!(history("a.rs", 1, 2).1);
    assert_eq!(history("new.rs", 1, 1), (None, true));
    assert_eq!(history("a.rs", 90, 99), (None, true));
}

#[test]
fn a_file_is_changed_if_it_differs_from_the_last_commit() {
    let repository = Repository::new();
    for name in ["same.rs", "edited.rs", "a[b].rs"] {
        repository.write(name, "one\n");
    }
    repository.commit("first");
    repository.write("edited.rs", "two\n");
    repository.write("new.rs", "new\n");
    repository.write("ab.rs", "would match the pattern a[b].rs\n");
    let engine = repository.engine();
    let changed = |path: &str| engine.is_changed(path);
    assert!(changed("edited.rs") && changed("new.rs") && changed("ab.rs"));
    assert!(!changed("same.rs") && !changed("a[b].rs") && !changed("absent.rs"));
}

#[test]
fn changes_are_listed_without_those_of_the_ledger() {
    let repository = Repository::new();
    for name in ["same.rs", "edited.rs", "removed.rs"] {
        repository.write(name, "one\n");
    }
    repository.commit("first");
    repository.write("edited.rs", "two\n");
    repository.write("new/file.rs", "new\n");
    repository.write(".kennel.rs", "begins like the folder of the ledger\n");
    repository.git(&["rm", "-q", "removed.rs"]);
    let mut changed = repository.engine().changed_paths();
    changed.sort();
    assert_eq!(
        changed,
        [".kennel.rs", "edited.rs", "new/file.rs", "removed.rs"]
    );
}

#[test]
fn the_last_commit_is_found_however_git_stores_it() {
    let repository = Repository::new();
    repository.write("a.rs", "one\n");
    let head = || Some(repository.git(&["rev-parse", "--short=12", "HEAD"]));
    assert_eq!(repository.engine().head_commit(), None);
    repository.commit("first");
    assert_eq!(repository.engine().head_commit(), head());
    repository.git(&["checkout", "-q", "-b", "feature/one"]);
    repository.write("a.rs", "two\n");
    repository.commit("second");
    assert_eq!(repository.engine().head_commit(), head());
    repository.git(&["pack-refs", "--all"]);
    assert_eq!(repository.engine().head_commit(), head());
    repository.git(&["checkout", "-q", "--detach"]);
    repository.write("a.rs", "three\n");
    repository.commit("third");
    assert_eq!(repository.engine().head_commit(), head());
    repository.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/feature/one"]);
    repository.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert_eq!(repository.engine().head_commit(), head());
}

#[test]
fn a_file_differs_from_the_merge_base() {
    let repository = Repository::new();
    repository.write("a.rs", "one\ntwo\n");
    repository.commit("first");
    let base = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["checkout", "-q", "-b", "feature"]);
    repository.write("a.rs", "one\nTWO\n");
    repository.commit("second");
    repository.write("new.rs", "new\n");
    let engine = repository.engine();
    let diff = engine.file_diff("a.rs", Some("main")).unwrap();
    assert_eq!(diff.base, base);
    let lines = [
        DiffLine::Context("one".to_owned()),
        DiffLine::Removed("two".to_owned()),
        DiffLine::Added("TWO".to_owned()),
    ];
    assert_eq!(diff.hunks[0].lines, lines);
    assert_eq!((diff.hunks[0].old_first, diff.hunks[0].new_first), (1, 1));
    let added = engine.file_diff("new.rs", Some("main")).unwrap();
    assert_eq!(added.hunks[0].lines, [DiffLine::Added("new".to_owned())]);
    assert!(
        engine
            .file_diff("missing.rs", Some("main"))
            .unwrap()
            .hunks
            .is_empty()
    );
    assert!(engine.file_diff("../x", None).is_err());
}

#[test]
fn an_entry_is_shown_as_it_was_at_an_event() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    let id = repository.learn(&mut engine, "Retries need a key.", &[]);
    let changes = ContentChanges {
        statement: Some("Retries need an idempotency key.".parse().unwrap()),
        ..ContentChanges::default()
    };
    engine.edit(id, changes, None, &repository.by).unwrap();
    engine.confirm(id, None, &repository.by).unwrap();
    let history = engine.history(id).unwrap();
    let texts: Vec<String> = history
        .iter()
        .map(|it| engine.entry_at(id, it.event.id).unwrap())
        .map(|it| it.statement_text().to_owned())
        .collect();
    let (old, new) = ("Retries need a key.", "Retries need an idempotency key.");
    assert_eq!(texts, [old, new, new]);
    let last = history.last().unwrap().event.id;
    assert_eq!(
        engine.entry_at(id, last).unwrap(),
        engine.entry(id).unwrap()
    );
    let other = repository.learn(&mut engine, "Something else.", &[]);
    assert!(engine.entry_at(other, last).is_err());
}

#[test]
fn each_day_with_a_report_has_one_line() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    assert!(engine.health_days().unwrap().is_empty());
    engine.health_report().unwrap();
    repository.learn(&mut engine, "Retries need a key.", &[]);
    engine.health_report().unwrap();
    engine.health_report().unwrap();
    let days = engine.health_days().unwrap();
    assert_eq!(days.len(), 1);
    assert_eq!(days[0].date, engine.now().date());
    assert_eq!(days[0].by_status.iter().sum::<u64>(), 1);
}

#[test]
fn a_preview_of_maintenance_writes_nothing_and_names_what_follows() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    for _ in 0..2 {
        repository.learn(
            &mut engine,
            "Retries of payments need an idempotency key.",
            &[],
        );
    }
    let before = engine.live_state(&[].into()).unwrap();
    let (service, by) = (MaintenanceService::Dedup, &repository.by);
    let preview = engine.maintenance_preview(service, 10, by).unwrap();
    assert_eq!(preview.changes_total, 1);
    assert!(
        engine
            .live_state(&[].into())
            .unwrap()
            .changes_since(&before)
            .is_empty()
    );
    let done = engine.maintain(service, 10, by).unwrap();
    assert_eq!(done.changed, preview.changes);
    assert_eq!(
        engine
            .maintenance_preview(service, 10, by)
            .unwrap()
            .changes_total,
        0
    );
}

#[test]
fn the_injection_log_names_agent_run_and_channel() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    let id = repository.learn(&mut engine, "Retries need a key.", &[]);
    let other = repository.learn(&mut engine, "Refunds are never refused.", &[]);
    let run = engine
        .open_run(OpenRunRequest::default(), &repository.by)
        .unwrap();
    let reader = EntryReader {
        agent: "agent:a".parse().unwrap(),
        run: Some(run.id.clone()),
        session: None,
    };
    engine
        .record_exposures(&reader, &[id], ExposureChannel::Brief)
        .unwrap();
    engine
        .record_exposures(&reader, &[other], ExposureChannel::Pull)
        .unwrap();
    let log = engine.exposure_log(Some(id), 10).unwrap();
    let [record] = &log.records[..] else {
        panic!("{log:?}")
    };
    assert_eq!((record.entry, &record.run), (Some(id), &run.id));
    assert_eq!(record.agent, reader.agent);
    assert_eq!(
        record.decision,
        ExposureDecision::Shown(ExposureChannel::Brief)
    );
    let all = engine.exposure_log(None, 1).unwrap();
    assert_eq!((all.records[0].entry, all.left_off), (Some(other), 1));
    assert!(engine.exposure_log(None, 10).unwrap().elsewhere.is_empty());
}

#[test]
fn a_search_alone_records_no_unanswered_query() {
    let repository = Repository::new();
    let mut engine = repository.engine();
    let search = SearchQuery {
        query: "zebra crossing".to_owned(),
        ..SearchQuery::default()
    };
    let answer = engine.search(&search, &mut |_, _| ()).unwrap();
    assert!(engine.unanswered_queries().unwrap().is_empty());
    assert!(engine.record_unanswered(&search, &answer, None).unwrap());
    assert_eq!(engine.unanswered_queries().unwrap().len(), 1);
}
