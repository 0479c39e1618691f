//! The store contract of ken-testkit, run on PostgreSQL.

use ken_testkit::story::check_store_conformance;

use crate::environment::StoreTestEnvironment;

#[test]
fn the_story_holds_in_postgresql() {
    let world = StoreTestEnvironment::new();
    let mut count = 0;
    check_store_conformance(|| {
        count += 1;
        world.workspace(&format!("w{count}"))
    });
}
