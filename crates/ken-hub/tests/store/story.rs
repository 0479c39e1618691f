//! The story every store must be able to tell, told to PostgreSQL.

use ken_testkit::story::store_story;

use crate::world::World;

#[test]
fn the_story_holds_in_postgresql() {
    let world = World::new();
    let mut count = 0;
    store_story(|| {
        count += 1;
        world.workspace(&format!("w{count}"))
    });
}
