//! Writers beside each other: every event once, places without a gap, and the fold of all of it.

use std::sync::Arc;
use std::time::Duration;

use ken_core::event::Recorded;
use ken_core::store::Store as _;
use ken_hub::database::{Database, Settings};
use ken_hub::store::Outcome;
use ken_remote::wire::Cursor;
use ken_testkit::any_event::{Manners, play};
use ken_testkit::build::Scribe;
use ken_testkit::laws;
use sqlx::{Connection as _, Row as _};

use crate::world::{Blocking, World};

const WRITERS: u64 = 8;

fn proposals(seed: u64, count: usize) -> Vec<Recorded> {
    let mut scribe = Scribe::new(seed);
    let statements = (0..count).map(|n| format!("Lesson {n} of writer {seed}"));
    statements.map(|it| scribe.propose(&it).1).collect()
}

/// Has every writer append its copies, some at a time.
fn write_all(workspace: &Blocking, writers: Vec<Vec<Recorded>>, at_once: usize) -> Vec<Outcome> {
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

fn log(workspace: &Blocking) -> Vec<(u64, String)> {
    let page = workspace.ask(async |tenant| tenant.events_after(Cursor::default(), 10_000).await);
    let page = page.unwrap();
    assert!(!page.more);
    page.events
        .into_iter()
        .map(|it| (it.seq, it.line))
        .collect()
}

#[test]
fn eight_writers_of_one_workspace_leave_no_gap_and_lose_nothing() {
    let world = World::new();
    let workspace = world.workspace("w");
    let writers: Vec<Vec<Recorded>> = (0..WRITERS).map(|seed| proposals(seed, 25)).collect();
    let all: Vec<Recorded> = writers.concat();
    let outcomes = write_all(&workspace, writers, 3);
    assert!(outcomes.iter().all(|it| *it == Outcome::New));
    let log = log(&workspace);
    let places: Vec<u64> = log.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(places, (1..=all.len() as u64).collect::<Vec<_>>());
    let state = workspace.state().unwrap();
    assert_eq!(state.hash(), laws::state_of(&all, &[]).hash());
    let row = workspace
        .ask(async |tenant| Ok(tenant.row().await?))
        .unwrap();
    let bytes: usize = all.iter().map(|copy| copy.line().len()).sum();
    assert_eq!((row.head, row.events, row.bytes), (200, 200, bytes as u64));
}

#[test]
fn writers_of_the_same_events_at_once_write_each_once() {
    let world = World::new();
    let workspace = world.workspace("w");
    // A history in which entries meet, orders blank and copies differ.
    let numbers: Vec<u64> = (1..120_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let history = play(Manners::Any, &numbers);
    let copies = |seed| laws::deliveries(&history, seed);
    let outcomes = write_all(&workspace, (0..WRITERS).map(copies).collect(), 5);
    let new = outcomes.iter().filter(|it| **it == Outcome::New).count();
    let log = log(&workspace);
    assert_eq!(new, log.len(), "each event was new to exactly one writer");
    let folded = laws::state_of(&history.copies, &[]);
    assert_eq!(workspace.state().unwrap().to_bytes(), folded.to_bytes());
    workspace.rebuild();
    assert_eq!(workspace.state().unwrap().to_bytes(), folded.to_bytes());
}

#[test]
fn readers_of_a_workspace_that_is_evicted_again_and_again_always_see_it_whole() {
    let world = World::new();
    let workspace = world.workspace("w");
    let copies = proposals(1, 20);
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    let hash = laws::state_of(&copies, &[]).hash();
    workspace.wait(async {
        let reader = |workspace: Blocking, hash: String| async move {
            for _ in 0..20 {
                let mut tenant = workspace.tenant().await;
                assert_eq!(tenant.state().await.unwrap().hash(), hash);
                tenant.commit().await.unwrap();
            }
        };
        let readers: Vec<_> = (0..3)
            .map(|_| tokio::spawn(reader(workspace.clone(), hash.clone())))
            .collect();
        let (database, organisation) = (&world.database, world.organisation);
        for _ in 0..10 {
            // Two who bring it back and one who evicts it may stand in each other's way; nobody is told something wrong.
            let _ = database.evict(organisation, workspace.workspace).await;
        }
        for reader in readers {
            reader.await.unwrap();
        }
    });
}

/// Returns how many rows were ever written to the tables of entries; counted when connections end.
fn entries_written(world: &World) -> u64 {
    world.runtime.block_on(world.database.pool().close());
    let sql = "SELECT coalesce(sum(n_tup_ins), 0) FROM pg_stat_user_tables WHERE schemaname = 'ken' AND relname ~ '^entries_'";
    world.bare.sql(sql).trim().parse().unwrap()
}

#[test]
fn however_many_wait_for_an_evicted_workspace_it_is_rebuilt_once() {
    let world = World::new();
    let workspace = world.workspace("w");
    let copies = proposals(1, 20);
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    workspace.evict();
    let hash = laws::state_of(&copies, &[]).hash();
    workspace.wait(async {
        let mut readers = tokio::task::JoinSet::new();
        // More than there are connections: those who wait hold none.
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
        entries_written(&world),
        2 * 20,
        "written once, and rebuilt once"
    );
}

#[test]
fn a_rebuild_goes_on_when_nobody_waits_for_it_any_more() {
    let world = World::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| tenant.append(proposals(1, 300)).await)
        .unwrap();
    workspace.evict();
    workspace.wait(async {
        let (database, organisation) = (&world.database, world.organisation);
        for _ in 0..500 {
            // No rebuild of three hundred entries is that quick.
            let impatient = database.tenant(organisation, workspace.workspace);
            let _ = tokio::time::timeout(Duration::from_millis(10), impatient).await;
            let mut log = database
                .log(organisation, workspace.workspace)
                .await
                .unwrap();
            if log.row().await.unwrap().is_warm {
                return;
            }
            log.rollback().await.unwrap();
        }
        panic!("nobody brought it back");
    });
}

#[test]
fn bringing_many_workspaces_back_leaves_connections_for_everybody_else() {
    let world = World::new();
    let workspaces: Vec<Blocking> = (0..4).map(|n| world.workspace(&format!("w{n}"))).collect();
    for (n, workspace) in (0..).zip(&workspaces) {
        write_all(workspace, vec![proposals(n, 1)], 1);
    }
    let mut settings = Settings::new(world.bare.url());
    settings.connections_max = 4;
    settings.acquire_timeout = Duration::from_secs(2);
    world.runtime.block_on(async {
        let organisation = world.organisation;
        for it in &workspaces {
            world.database.evict(organisation, it.workspace).await.unwrap();
        }
        let hub = Database::connect(&settings).await.unwrap();
        // Nobody can write entries while this lasts, so every rebuild that began is still under way.
        let mut held = sqlx::PgConnection::connect(world.bare.url()).await.unwrap();
        let lock = "BEGIN; LOCK TABLE ken.entries IN ACCESS EXCLUSIVE MODE";
        sqlx::raw_sql(lock).execute(&mut held).await.unwrap();
        let readers: Vec<_> = workspaces
            .iter()
            .map(|it| {
                let (hub, workspace) = (hub.clone(), it.workspace);
                tokio::spawn(async move { hub.tenant(organisation, workspace).await.map(drop) })
            })
            .collect();
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'ken.entries'::regclass";
        loop {
            let row = sqlx::query(waiting).fetch_one(&mut held).await.unwrap();
            if 0 < row.get::<i64, _>(0) {
                break;
            }
        }
        // Often enough for every reader to have had its turn: the others wait for theirs without a connection.
        for _ in 0..200 {
            let asked = hub.organisation(organisation).await;
            asked.unwrap().commit().await.unwrap();
        }
        sqlx::raw_sql("ROLLBACK").execute(&mut held).await.unwrap();
        for reader in readers {
            reader.await.unwrap().unwrap();
        }
        hub.pool().close().await;
    });
}
