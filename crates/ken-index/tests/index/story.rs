//! The story every store must be able to tell, told to SQLite.

use ken_index::Index;
use ken_testkit::story::store_story;

#[test]
fn the_story_holds_in_sqlite_in_memory() {
    store_story(|| Index::open_in_memory().unwrap());
}

#[test]
fn the_story_holds_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut count = 0;
    store_story(|| {
        count += 1;
        Index::open(&dir.path().join(format!("{count}.db"))).unwrap()
    });
}
