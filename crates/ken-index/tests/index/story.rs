//! The store contract of ken-testkit, run on SQLite.

use ken_index::Index;
use ken_testkit::story::check_store_conformance;

#[test]
fn the_story_holds_in_sqlite_in_memory() {
    check_store_conformance(|| Index::open_in_memory().unwrap());
}

#[test]
fn the_story_holds_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut count = 0;
    check_store_conformance(|| {
        count += 1;
        Index::open(&dir.path().join(format!("{count}.db"))).unwrap()
    });
}
