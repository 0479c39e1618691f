//! Damaged indexes: they are rebuilt automatically, and redacted data is removed.

use std::fs;
use std::path::Path;

use ken_core::ledger::event::{BlankReason, EventBlanked, EventBody, RecordedEvent};
use ken_core::ledger::store::DerivedStore;
use ken_index::{Index, IndexError, RebuildReason};
use ken_testkit::build::EventWriter;

use crate::branch::MemoryBranch;

/// A word that only the redacted event contains.
const SECRET: &str = "hunter2";

fn branch_with_secret() -> (EventWriter, RecordedEvent, MemoryBranch) {
    let mut scribe = EventWriter::new(3);
    let mut copies = Vec::new();
    for n in 0..200 {
        copies.push(scribe.propose(&format!("Lesson {n} of many")).1);
    }
    let (_, secret) = scribe.propose_with(
        ken_core::values::kind::EntryKind::Learning,
        &format!("The password is {SECRET}"),
        |data| {
            data.content.tags.insert(SECRET.parse().unwrap());
            data.content.lens = Some(SECRET.parse().unwrap());
            data.alias = Some(SECRET.parse().unwrap());
        },
    );
    copies.push(secret.clone());
    let mut branch = MemoryBranch::default();
    branch.put("a", &copies);
    (scribe, secret, branch)
}

/// Opens, refreshes and compares an index; returns the reason for a rebuild, if there was one.
fn refresh_and_check(path: &Path, branch: &MemoryBranch) -> Option<RebuildReason> {
    let mut index = Index::open(path).unwrap();
    let report = branch.refresh(&mut index).unwrap();
    branch.check(&index);
    report.rebuilt
}

#[test]
fn a_missing_index_is_made_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    assert_eq!(
        refresh_and_check(&path, &branch),
        Some(RebuildReason::Missing)
    );
    assert_eq!(refresh_and_check(&path, &branch), None);
    fs::write(&path, b"").unwrap();
    assert_eq!(
        refresh_and_check(&path, &branch),
        Some(RebuildReason::Missing)
    );
}

#[test]
fn an_index_of_another_schema_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    for found in [0, 99] {
        refresh_and_check(&path, &branch);
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", found).unwrap();
        drop(db);
        assert_eq!(
            refresh_and_check(&path, &branch),
            Some(RebuildReason::OtherSchema { found })
        );
    }
}

#[test]
fn a_file_that_is_no_database_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    fs::write(&path, "not a database, however long it may be".repeat(99)).unwrap();
    assert_eq!(
        refresh_and_check(&path, &branch),
        Some(RebuildReason::Damaged)
    );
}

#[test]
fn a_missing_table_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    refresh_and_check(&path, &branch);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE entries").unwrap();
    drop(db);
    let mut index = Index::open(&path).unwrap();
    assert!(index.state().unwrap_err().is_damage());
    let report = branch.refresh(&mut index).unwrap();
    assert_eq!(report.rebuilt, Some(RebuildReason::Damaged));
    branch.check(&index);
}

/// Overwrites pages one by one; whatever a reader encounters, the next refresh repairs it.
#[test]
fn an_overwritten_page_is_noticed_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    refresh_and_check(&path, &branch);
    let sound = fs::read(&path).unwrap();
    let whole = branch.folded().to_canonical_json();
    for start in (0..sound.len()).step_by(4096) {
        let mut bytes = sound.clone();
        bytes[start..start + 4096].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        let mut index = Index::open(&path).unwrap();
        let mut state = index.state();
        if !matches!(&state, Ok(state) if state.to_canonical_json() == whole) {
            assert!(
                state
                    .as_ref()
                    .map_or_else(IndexError::is_damage, |s| s.entries.is_empty())
            );
            branch.refresh(&mut index).unwrap();
            state = index.state();
        }
        assert_eq!(state.unwrap().to_canonical_json(), whole, "page at {start}");
    }
}

#[test]
fn a_truncated_index_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, _, branch) = branch_with_secret();
    refresh_and_check(&path, &branch);
    let sound = fs::read(&path).unwrap();
    let whole = branch.folded().to_canonical_json();
    for len in (0..sound.len()).step_by(5000) {
        fs::write(&path, &sound[..len]).unwrap();
        let mut index = Index::open(&path).unwrap();
        let mut state = index.state();
        if !matches!(&state, Ok(state) if state.to_canonical_json() == whole) {
            branch.refresh(&mut index).unwrap();
            state = index.state();
        }
        assert_eq!(state.unwrap().to_canonical_json(), whole, "cut at {len}");
    }
}

/// Returns true if any file below `dir` contains the secret.
fn contains_secret(dir: &Path) -> bool {
    let files = fs::read_dir(dir).unwrap();
    let mut files = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    files.any(|bytes| {
        let mut windows = bytes.windows(SECRET.len());
        windows.any(|window| window == SECRET.as_bytes())
    })
}

#[test]
fn a_blanked_text_is_in_no_file_of_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (mut scribe, secret, mut branch) = branch_with_secret();
    let mut index = Index::open(&path).unwrap();
    branch.refresh(&mut index).unwrap();
    assert!(
        contains_secret(dir.path()),
        "the test looks in the right place"
    );
    let body = EventBody::EventBlanked(EventBlanked {
        event: secret.event.id,
        reason: BlankReason::Secret,
    });
    branch.put("b", &[scribe.write(Vec::new(), body)]);
    let report = branch.refresh(&mut index).unwrap();
    assert_eq!((report.rebuilt, report.events_added), (None, 1));
    assert!(!contains_secret(dir.path()));
    branch.check(&index);
    branch.put("c", &[secret]);
    branch.refresh(&mut index).unwrap();
    assert!(
        !contains_secret(dir.path()),
        "a copy that comes back stays out"
    );
}

#[test]
fn a_reader_in_the_way_only_delays_forgetting() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (_, secret, mut branch) = branch_with_secret();
    let mut index = Index::open(&path).unwrap();
    branch.refresh(&mut index).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM events")
        .unwrap();
    reader
        .query_row("SELECT count(*) FROM events", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap();
    branch.blanked.push(secret.event.id);
    branch.refresh(&mut index).unwrap();
    branch.check(&index);
    reader.execute_batch("COMMIT").unwrap();
    branch.refresh(&mut index).unwrap();
    assert!(!contains_secret(dir.path()));
}

#[test]
fn two_processes_may_share_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let (mut scribe, _, mut branch) = branch_with_secret();
    let [mut one, mut other] = [(); 2].map(|()| Index::open(&path).unwrap());
    for round in 0..3 {
        branch.put(&format!("more-{round}"), &[scribe.propose("One more").1]);
        branch.refresh(&mut one).unwrap();
        branch.refresh(&mut other).unwrap();
        branch.check(&one);
        branch.check(&other);
    }
}

#[test]
fn a_link_in_place_of_the_index_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        let error = Index::open(&path).unwrap_err();
        assert!(matches!(error, IndexError::Symlink { .. }), "{error:?}");
    }
    assert!(!dir.path().join("elsewhere").exists());
}
