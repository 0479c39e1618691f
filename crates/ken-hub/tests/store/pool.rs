//! Connections: who gets one, which, and what becomes of it.

use std::time::{Duration, Instant};

use ken_core::event::Recorded;
use ken_hub::database::{Database, DatabaseError, Settings};

use ken_testkit::build::Scribe;

use super::world::{Blocking, World};

async fn small(workspace: &Blocking, connections: u32) -> Database {
    let mut settings = Settings::new(workspace.world.bare.url());
    settings.connections_max = connections;
    settings.acquire_timeout = Duration::from_millis(300);
    Database::connect(&settings).await.unwrap()
}

async fn process(database: &Database, workspace: &Blocking) -> i32 {
    let tenant = database.tenant(workspace.world.organisation, workspace.workspace);
    let mut tenant = tenant.await.unwrap();
    let asked = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(tenant.connection());
    let process = asked.await.unwrap();
    tenant.commit().await.unwrap();
    process
}

#[test]
fn the_connection_given_back_last_is_taken_first() {
    let world = World::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = small(&workspace, 4).await;
        let first = process(&database, &workspace).await;
        for _ in 0..5 {
            assert_eq!(process(&database, &workspace).await, first);
        }
        assert_eq!(database.pool().count(), (0, 1));
        database.pool().close().await;
    });
}

#[test]
fn whoever_finds_none_free_waits_only_so_long() {
    let world = World::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = small(&workspace, 1).await;
        let (organisation, id) = (world.organisation, workspace.workspace);
        let held = database.tenant(organisation, id).await.unwrap();
        let began = Instant::now();
        let refused = database.tenant(organisation, id).await.unwrap_err();
        assert!(matches!(
            refused,
            DatabaseError::Query(sqlx::Error::PoolTimedOut)
        ));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(database.pool().count(), (1, 0));
        // What is not given back in order is made good in the background, and then free again.
        drop(held);
        assert!(database.tenant(organisation, id).await.is_ok());
    });
}

#[test]
fn work_broken_off_in_the_middle_leaves_nothing_behind() {
    let world = World::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = small(&workspace, 1).await;
        let (organisation, id) = (world.organisation, workspace.workspace);
        let mut tenant = database.tenant(organisation, id).await.unwrap();
        let slow = sqlx::raw_sql("SELECT pg_sleep(0.2)").execute(tenant.connection());
        assert!(
            tokio::time::timeout(Duration::from_millis(20), slow)
                .await
                .is_err()
        );
        drop(tenant);
        tokio::time::sleep(Duration::from_millis(250)).await;
        let one: i32 = process(&database, &workspace).await;
        assert_eq!(process(&database, &workspace).await, one);
    });
}

#[test]
fn a_connection_the_server_ended_is_noticed_before_anything_is_lost() {
    let world = World::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = small(&workspace, 2).await;
        let dead = process(&database, &workspace).await;
        let owner = sqlx::PgPool::connect(world.bare.url()).await.unwrap();
        let end = sqlx::query("SELECT pg_terminate_backend($1, 5000)").bind(dead);
        end.execute(&owner).await.unwrap();
        owner.close().await;
        assert_ne!(process(&database, &workspace).await, dead);
    });
}

#[test]
fn a_closed_pool_lets_others_end_and_nobody_begin() {
    let world = World::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = small(&workspace, 2).await;
        let (organisation, id) = (world.organisation, workspace.workspace);
        let tenant = database.tenant(organisation, id).await.unwrap();
        let closing = tokio::spawn({
            let pool = database.pool().clone();
            async move { pool.close().await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!closing.is_finished());
        tenant.rollback().await.unwrap();
        closing.await.unwrap();
        let refused = database.tenant(organisation, id).await.unwrap_err();
        assert!(matches!(
            refused,
            DatabaseError::Query(sqlx::Error::PoolClosed)
        ));
    });
}

/// What was asked with the first message is not believed any more once something was written.
#[test]
fn what_was_foreseen_is_asked_again_after_a_change() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(7);
    let batch: Vec<Recorded> = ["Charge only once", "Wait for a person"]
        .map(|it| scribe.propose(it).1)
        .into();
    world.runtime.block_on(async {
        let (organisation, id) = (world.organisation, workspace.workspace);
        let begun = world.database.appending(organisation, id, &batch).await;
        let mut tenant = begun.unwrap();
        let first = tenant.append(batch.clone()).await.unwrap();
        let again = tenant.append(batch.clone()).await.unwrap();
        assert_ne!(first.outcomes, again.outcomes);
        assert_eq!(first.cursor, again.cursor);
        tenant.commit().await.unwrap();
    });
}
