//! Concurrent writers: every event is stored once, sequence numbers have no gap, and the state is
//! the fold.

use std::sync::Arc;
use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::DerivedStore as _;
use ken_hub::database::{DatabaseSettings, HubDatabase};
use ken_hub::store::CopyOutcome;
use ken_remote::wire::LogCursor;
use ken_testkit::any_event::{WriterStyle, generate_history};
use ken_testkit::build::EventWriter;
use ken_testkit::laws;
use sqlx::{Connection as _, Row as _};

use crate::environment::{BlockingWorkspace, StoreTestEnvironment};

const WRITERS: u64 = 8;

fn proposals(seed: u64, count: usize) -> Vec<RecordedEvent> {
    let mut scribe = EventWriter::new(seed);
    let statements = (0..count).map(|n| format!("Lesson {n} of writer {seed}"));
    statements.map(|it| scribe.propose(&it).1).collect()
}

/// Runs every writer concurrently; each appends its copies in chunks.
fn write_all(
    workspace: &BlockingWorkspace,
    writers: Vec<Vec<RecordedEvent>>,
    at_once: usize,
) -> Vec<CopyOutcome> {
    let workspace = Arc::new(workspace.clone());
    workspace.wait(async {
        let mut tasks = Vec::new();
        for copies in writers {
            let workspace = Arc::clone(&workspace);
            tasks.push(tokio::spawn(async move {
                let mut outcomes = Vec::new();
                for portion in copies.chunks(at_once) {
                    let appended = workspace.append(portion.to_vec()).await;
                    outcomes.extend(appended.outcomes);
                }
                outcomes
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        all
    })
}

fn read_log(workspace: &BlockingWorkspace) -> Vec<(u64, String)> {
    let page =
        workspace.ask(async |tenant| tenant.events_after(LogCursor::default(), 10_000).await);
    let page = page.unwrap();
    assert!(!page.more);
    page.events
        .into_iter()
        .map(|it| (it.seq, it.line))
        .collect()
}

#[test]
fn eight_writers_of_one_workspace_leave_no_gap_and_lose_nothing() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let writers: Vec<Vec<RecordedEvent>> = (0..WRITERS).map(|seed| proposals(seed, 25)).collect();
    let all: Vec<RecordedEvent> = writers.concat();
    let outcomes = write_all(&workspace, writers, 3);
    assert!(outcomes.iter().all(|it| *it == CopyOutcome::New));
    let log = read_log(&workspace);
    let places: Vec<u64> = log.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(places, (1..=all.len() as u64).collect::<Vec<_>>());
    let state = workspace.state().unwrap();
    assert_eq!(state.hash(), laws::fold_copies(&all, &[]).hash());
    let row = workspace
        .ask(async |tenant| Ok(tenant.workspace_row().await?))
        .unwrap();
    let bytes: usize = all.iter().map(|copy| copy.line().len()).sum();
    assert_eq!((row.head, row.events, row.bytes), (200, 200, bytes as u64));
}

#[test]
fn writers_of_the_same_events_at_once_write_each_once() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    // A history with shared entries, redactions and differing copies.
    let numbers: Vec<u64> = (1..120_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let history = generate_history(WriterStyle::Any, &numbers);
    let copies = |seed| laws::shuffle_deliveries(&history, seed);
    let outcomes = write_all(&workspace, (0..WRITERS).map(copies).collect(), 5);
    let new = outcomes
        .iter()
        .filter(|it| **it == CopyOutcome::New)
        .count();
    let log = read_log(&workspace);
    assert_eq!(new, log.len(), "each event was new to exactly one writer");
    let folded = laws::fold_copies(&history.copies, &[]);
    assert_eq!(
        workspace.state().unwrap().to_canonical_json(),
        folded.to_canonical_json()
    );
    workspace.rebuild();
    assert_eq!(
        workspace.state().unwrap().to_canonical_json(),
        folded.to_canonical_json()
    );
}

#[test]
fn readers_of_a_workspace_that_is_evicted_again_and_again_always_see_it_whole() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let copies = proposals(1, 20);
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    let hash = laws::fold_copies(&copies, &[]).hash();
    workspace.wait(async {
        let reader = |workspace: BlockingWorkspace, hash: String| async move {
            for _ in 0..20 {
                let mut tenant = workspace.tenant().await;
                assert_eq!(tenant.state().await.unwrap().hash(), hash);
                tenant.commit().await.unwrap();
            }
        };
        let readers: Vec<_> = (0..3)
            .map(|_| tokio::spawn(reader(workspace.clone(), hash.clone())))
            .collect();
        let (database, organization) = (&world.database, world.organization);
        for _ in 0..10 {
            // Concurrent rebuilds and an eviction may conflict, but no reader gets a wrong state.
            let _ = database.evict(organization, workspace.workspace).await;
        }
        for reader in readers {
            reader.await.unwrap();
        }
    });
}

/// Returns the number of rows ever inserted into the entry tables; PostgreSQL counts when
/// connections end.
fn entry_rows_inserted(world: &StoreTestEnvironment) -> u64 {
    world.runtime.block_on(world.database.pool().close());
    let sql = "SELECT coalesce(sum(n_tup_ins), 0) FROM pg_stat_user_tables WHERE schemaname = 'ken' AND relname ~ '^entries_'";
    world.bare.sql(sql).trim().parse().unwrap()
}

#[test]
fn however_many_wait_for_an_evicted_workspace_it_is_rebuilt_once() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let copies = proposals(1, 20);
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    workspace.evict();
    let hash = laws::fold_copies(&copies, &[]).hash();
    workspace.wait(async {
        let mut readers = tokio::task::JoinSet::new();
        // More readers than connections: waiting readers hold none.
        for _ in 0..40 {
            let workspace = workspace.clone();
            readers.spawn(async move {
                let mut tenant = workspace.tenant().await;
                let state = tenant.state().await.unwrap();
                tenant.commit().await.unwrap();
                state.hash()
            });
        }
        assert!(readers.join_all().await.iter().all(|it| *it == hash));
    });
    assert_eq!(
        entry_rows_inserted(&world),
        2 * 20,
        "written once, and rebuilt once"
    );
}

#[test]
fn a_rebuild_goes_on_when_nobody_waits_for_it_any_more() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| tenant.append(proposals(1, 300)).await)
        .unwrap();
    workspace.evict();
    workspace.wait(async {
        let (database, organization) = (&world.database, world.organization);
        for _ in 0..500 {
            // No rebuild of three hundred entries is that fast.
            let impatient = database.begin_workspace(organization, workspace.workspace);
            let _ = tokio::time::timeout(Duration::from_millis(10), impatient).await;
            let mut log = database
                .begin_log(organization, workspace.workspace)
                .await
                .unwrap();
            if log.workspace_row().await.unwrap().is_warm {
                return;
            }
            log.rollback().await.unwrap();
        }
        panic!("nobody brought it back");
    });
}

#[test]
fn bringing_many_workspaces_back_leaves_connections_for_everybody_else() {
    let world = StoreTestEnvironment::new();
    let workspaces: Vec<BlockingWorkspace> =
        (0..4).map(|n| world.workspace(&format!("w{n}"))).collect();
    for (n, workspace) in (0..).zip(&workspaces) {
        write_all(workspace, vec![proposals(n, 1)], 1);
    }
    let mut settings = DatabaseSettings::new(world.bare.url());
    settings.connections_max = 4;
    settings.acquire_timeout = Duration::from_secs(2);
    world.runtime.block_on(async {
        let organization = world.organization;
        for it in &workspaces {
            world.database.evict(organization, it.workspace).await.unwrap();
        }
        let hub = HubDatabase::connect(&settings).await.unwrap();
        // The lock blocks writes to entries, so every started rebuild stays in progress.
        let mut held = sqlx::PgConnection::connect(world.bare.url()).await.unwrap();
        let lock = "BEGIN; LOCK TABLE ken.entries IN ACCESS EXCLUSIVE MODE";
        sqlx::raw_sql(lock).execute(&mut held).await.unwrap();
        let readers: Vec<_> = workspaces
            .iter()
            .map(|it| {
                let (hub, workspace) = (hub.clone(), it.workspace);
                tokio::spawn(async move { hub.begin_workspace(organization, workspace).await.map(drop) })
            })
            .collect();
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'ken.entries'::regclass";
        loop {
            let row = sqlx::query(waiting).fetch_one(&mut held).await.unwrap();
            if row.get::<i64, _>(0) > 0 {
                break;
            }
        }
        // Enough requests for every reader to have had its turn; waiting readers hold no
        // connection.
        for _ in 0..200 {
            let asked = hub.begin_organization(organization).await;
            asked.unwrap().commit().await.unwrap();
        }
        sqlx::raw_sql("ROLLBACK").execute(&mut held).await.unwrap();
        for reader in readers {
            reader.await.unwrap().unwrap();
        }
        hub.pool().close().await;
    });
}
