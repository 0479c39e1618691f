//! Connection pool: acquisition, reuse and recovery of connections.

use std::time::{Duration, Instant};

use ken_core::ledger::event::RecordedEvent;
use ken_hub::database::{DatabaseError, DatabaseSettings, HubDatabase};

use ken_testkit::build::EventWriter;

use super::environment::{BlockingWorkspace, StoreTestEnvironment};

async fn connect_with_limit(workspace: &BlockingWorkspace, connections: u32) -> HubDatabase {
    let mut settings = DatabaseSettings::new(workspace.world.bare.url());
    settings.connections_max = connections;
    settings.acquire_timeout = Duration::from_millis(300);
    HubDatabase::connect(&settings).await.unwrap()
}

async fn backend_pid(database: &HubDatabase, workspace: &BlockingWorkspace) -> i32 {
    let tenant = database.begin_workspace(workspace.world.organization, workspace.workspace);
    let mut tenant = tenant.await.unwrap();
    let asked = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(tenant.connection());
    let process = asked.await.unwrap();
    tenant.commit().await.unwrap();
    process
}

#[test]
fn the_connection_given_back_last_is_taken_first() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = connect_with_limit(&workspace, 4).await;
        let first = backend_pid(&database, &workspace).await;
        for _ in 0..5 {
            assert_eq!(backend_pid(&database, &workspace).await, first);
        }
        assert_eq!(database.pool().count(), (0, 1));
        database.pool().close().await;
    });
}

#[test]
fn whoever_finds_none_free_waits_only_so_long() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = connect_with_limit(&workspace, 1).await;
        let (organization, id) = (world.organization, workspace.workspace);
        let held = database.begin_workspace(organization, id).await.unwrap();
        let began = Instant::now();
        let refused = database
            .begin_workspace(organization, id)
            .await
            .unwrap_err();
        assert!(matches!(
            refused,
            DatabaseError::Query(sqlx::Error::PoolTimedOut)
        ));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(database.pool().count(), (1, 0));
        // A dropped transaction is rolled back in the background, and its connection is free again.
        drop(held);
        assert!(database.begin_workspace(organization, id).await.is_ok());
    });
}

#[test]
fn work_broken_off_in_the_middle_leaves_nothing_behind() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = connect_with_limit(&workspace, 1).await;
        let (organization, id) = (world.organization, workspace.workspace);
        let mut tenant = database.begin_workspace(organization, id).await.unwrap();
        let slow = sqlx::raw_sql("SELECT pg_sleep(0.2)").execute(tenant.connection());
        assert!(
            tokio::time::timeout(Duration::from_millis(20), slow)
                .await
                .is_err()
        );
        drop(tenant);
        tokio::time::sleep(Duration::from_millis(250)).await;
        let one: i32 = backend_pid(&database, &workspace).await;
        assert_eq!(backend_pid(&database, &workspace).await, one);
    });
}

#[test]
fn a_connection_the_server_ended_is_noticed_before_anything_is_lost() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = connect_with_limit(&workspace, 2).await;
        let dead = backend_pid(&database, &workspace).await;
        let owner = sqlx::PgPool::connect(world.bare.url()).await.unwrap();
        let end = sqlx::query("SELECT pg_terminate_backend($1, 5000)").bind(dead);
        end.execute(&owner).await.unwrap();
        owner.close().await;
        assert_ne!(backend_pid(&database, &workspace).await, dead);
    });
}

#[test]
fn a_closed_pool_lets_others_end_and_nobody_begin() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    world.runtime.block_on(async {
        let database = connect_with_limit(&workspace, 2).await;
        let (organization, id) = (world.organization, workspace.workspace);
        let tenant = database.begin_workspace(organization, id).await.unwrap();
        let closing = tokio::spawn({
            let pool = database.pool().clone();
            async move { pool.close().await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!closing.is_finished());
        tenant.rollback().await.unwrap();
        closing.await.unwrap();
        let refused = database
            .begin_workspace(organization, id)
            .await
            .unwrap_err();
        assert!(matches!(
            refused,
            DatabaseError::Query(sqlx::Error::PoolClosed)
        ));
    });
}

/// Rows preloaded by the first message are not reused after a write.
#[test]
fn what_was_foreseen_is_asked_again_after_a_change() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(7);
    let batch: Vec<RecordedEvent> = ["Charge only once", "Wait for a person"]
        .map(|it| scribe.propose(it).1)
        .into();
    world.runtime.block_on(async {
        let (organization, id) = (world.organization, workspace.workspace);
        let begun = world.database.begin_append(organization, id, &batch).await;
        let mut tenant = begun.unwrap();
        let first = tenant.append(batch.clone()).await.unwrap();
        let again = tenant.append(batch.clone()).await.unwrap();
        assert_ne!(first.outcomes, again.outcomes);
        assert_eq!(first.cursor, again.cursor);
        tenant.commit().await.unwrap();
    });
}
