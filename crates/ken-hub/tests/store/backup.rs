//! Backups taken while hubs write, restores, their verification, and the drill.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ken_core::ledger::event::{
    BlankReason, Channel, EventBlanked, EventBody, OriginRevoked, RetractReason, Retracted, Switch,
};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EventId;
use ken_hub::backup::{
    self, BackupError, DERIVED_TABLES, RestoreReport, VerificationReport, last_acknowledged,
};
use ken_hub::database::{DatabaseSettings, HubDatabase, MIGRATIONS};
use ken_testkit::build::EventWriter;
use ken_testkit::postgres::{PostgresServer, TestDatabase};
use tokio::runtime::Runtime;

use crate::environment::StoreTestEnvironment;
use crate::migrations::{CREATE_TENANTS, FILL_STATEMENTS};

/// Events that exist before the backup begins.
const BEFORE: u64 = 30;

fn back_up(runtime: &Runtime, url: &str) -> Vec<u8> {
    let written = runtime.block_on(backup::write_backup(url, Vec::new()));
    written.unwrap().1
}

fn load(runtime: &Runtime, url: &str, bytes: &[u8]) -> Result<RestoreReport, BackupError> {
    runtime.block_on(backup::load_backup(url, bytes))
}

fn verify(runtime: &Runtime, url: &str, restored: &RestoreReport) -> VerificationReport {
    runtime
        .block_on(backup::verify_restored(url, restored, &|_, _| ()))
        .unwrap()
}

fn empty() -> TestDatabase {
    PostgresServer::shared().database()
}

/// Returns the tables of the schema and a hash of their rows; how far projections are is ignored.
fn table_digests(database: &TestDatabase) -> Vec<(String, String)> {
    let tables = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1";
    let tables = database.sql(tables);
    let digest = |table: &str| {
        let digest = database.sql(&format!(
            "SELECT count(*), md5(coalesce(string_agg(r, ',' ORDER BY r), ''))
             FROM (SELECT (to_jsonb(t) - 'folded')::text AS r FROM ken.{table} t) t"
        ));
        (table.to_owned(), digest)
    };
    tables.lines().map(digest).collect()
}

#[test]
fn every_row_comes_back_except_those_of_derived_tables() {
    let (runtime, database) = (Runtime::new().unwrap(), empty());
    database.sql(CREATE_TENANTS);
    for (at, fill) in FILL_STATEMENTS.iter().enumerate() {
        let migrated = HubDatabase::migrate_to(database.url(), at + 1);
        runtime.block_on(migrated).unwrap();
        database.sql(fill);
    }
    let bytes = back_up(&runtime, database.url());
    let target = empty();
    let restored = load(&runtime, target.url(), &bytes).unwrap();
    assert_eq!(restored.workspaces.len(), 2);
    let (before, after) = (table_digests(&database), table_digests(&target));
    for (one, other) in before.iter().zip(&after) {
        if DERIVED_TABLES.contains(&one.0.as_str()) {
            continue;
        }
        assert!(!one.1.starts_with("0|"), "{} has no rows to compare", one.0);
        assert_eq!(one, other);
    }
    assert_eq!(before.len(), after.len());
    // Everything is protected again.
    let open = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'
        AND NOT (relrowsecurity AND relforcerowsecurity)";
    assert_eq!(target.sql(open), "");
    let disabled = "SELECT tgname FROM pg_trigger WHERE tgenabled = 'D'";
    assert_eq!(target.sql(disabled), "");
}

#[test]
fn a_backup_taken_while_hubs_write_is_one_moment_and_folds_to_the_same_state() {
    let world = StoreTestEnvironment::new();
    let workspaces = ["one", "two"].map(|name| world.workspace(name));
    let (acknowledged, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let writers = std::thread::scope(|scope| {
        for (number, workspace) in workspaces.iter().enumerate() {
            let (acknowledged, is_done) = (&acknowledged, &is_done);
            scope.spawn(move || {
                let mut writer = EventWriter::new(number as u64 + 1);
                let mut written = 0_u64;
                while !is_done.load(Ordering::Relaxed) {
                    let (_, event) = writer.propose(&format!("Claim {written} of {number}"));
                    workspace.wait(workspace.append(vec![event]));
                    written += 1;
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while acknowledged.load(Ordering::SeqCst) < BEFORE {
            std::thread::yield_now();
        }
        let runtime = Runtime::new().unwrap();
        let before = acknowledged.load(Ordering::SeqCst);
        let bytes = back_up(&runtime, world.bare.url());
        let after = acknowledged.load(Ordering::SeqCst);
        is_done.store(true, Ordering::Relaxed);
        (bytes, before, after)
    });
    let (bytes, before, after) = writers;
    let (runtime, target) = (Runtime::new().unwrap(), empty());
    let restored = load(&runtime, target.url(), &bytes).unwrap();
    let events: u64 = restored.workspaces.iter().map(|it| it.events).sum();
    // Each writer may have committed one event that it had not counted yet.
    assert!(
        (before..=after + 2).contains(&events),
        "{before} {events} {after}"
    );
    for workspace in &restored.workspaces {
        assert_eq!(workspace.head, workspace.events, "rows of two moments");
    }
    let verified = verify(&runtime, target.url(), &restored);
    assert_eq!(verified.damaged().count(), 0, "{verified:?}");
    let entries: u64 = verified.workspaces.iter().filter_map(|it| it.entries).sum();
    assert_eq!(entries, events, "each event proposed an entry");
    let last = last_acknowledged(&restored.workspaces).unwrap();
    let wanted = last.last_event.as_deref().unwrap();
    let found = format!("SELECT count(*) FROM ken.events WHERE id = '{wanted}'");
    assert_eq!(target.sql(&found), "1");
    // The hub serves it, and its events fold to the state it shows.
    let hub = runtime.block_on(HubDatabase::connect(&DatabaseSettings::new(target.url())));
    runtime.block_on(hub.unwrap().pool().close());
}

#[test]
fn a_backup_folds_to_the_same_state_after_decisions_were_redacted() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("one");
    let mut writer = EventWriter::new(5);
    let (entry, proposed) = writer.propose("Retries of a refund are safe");
    let (other, also) = writer.propose("Refunds take three days");
    let retracted = writer.about(
        entry,
        EventBody::Retracted(Retracted {
            reason: RetractReason::False,
            channel: Channel::Command,
            note: Some("by mistake".parse().unwrap()),
        }),
    );
    let revoked = writer.write(Vec::new(), revocation(Switch::On, Vec::new()));
    let decisions = [retracted.event.id, revoked.event.id];
    for event in [proposed, also, retracted, revoked] {
        workspace.wait(workspace.append(vec![event]));
    }
    let state = workspace.state().unwrap();
    assert!(state.entries[&entry].retracted.is_some());
    for event in decisions {
        let body = EventBody::EventBlanked(EventBlanked {
            event,
            reason: BlankReason::Personal,
        });
        let redaction = writer.write(Vec::new(), body);
        workspace.wait(workspace.append(vec![redaction]));
    }
    let state = workspace.state().unwrap();
    assert!(state.entries[&entry].retracted.is_none());
    assert!(state.entries.contains_key(&other));
    // Here the state is empty, too, but events about it are left.
    let ended = world.workspace("two");
    let mut source = revocation(Switch::On, Vec::new());
    for _ in 0..2 {
        let event = writer.write(Vec::new(), source);
        source = revocation(Switch::Off, vec![event.event.id]);
        ended.wait(ended.append(vec![event]));
    }
    let runtime = Runtime::new().unwrap();
    let bytes = back_up(&runtime, world.bare.url());
    let target = empty();
    let restored = load(&runtime, target.url(), &bytes).unwrap();
    let verified = verify(&runtime, target.url(), &restored);
    assert_eq!(verified.damaged().count(), 0, "{verified:?}");
}

fn revocation(state: Switch, replaces: Vec<EventId>) -> EventBody {
    EventBody::OriginRevoked(OriginRevoked {
        source: ContributionSource::Author("human:ada@example.org".parse().unwrap()),
        state,
        replaces,
    })
}

/// Returns a restored copy of a workspace with an edited entry, and an evicted one.
fn restored_copy(runtime: &Runtime) -> (TestDatabase, RestoreReport) {
    let world = StoreTestEnvironment::new();
    let (warm, cold) = (world.workspace("warm"), world.workspace("cold"));
    let mut writer = EventWriter::new(7);
    for workspace in [&warm, &cold] {
        for number in 0..5 {
            let (_, event) = writer.propose(&format!("Claim {number}"));
            workspace.wait(workspace.append(vec![event]));
        }
    }
    cold.evict();
    assert_eq!(warm.state().unwrap().entries.len(), 5);
    let bytes = back_up(runtime, world.bare.url());
    let target = empty();
    let restored = load(runtime, target.url(), &bytes).unwrap();
    (target, restored)
}

#[test]
fn a_verification_finds_whatever_differs() {
    let runtime = Runtime::new().unwrap();
    let (target, restored) = restored_copy(&runtime);
    let verified = verify(&runtime, target.url(), &restored);
    assert_eq!(verified.damaged().count(), 0, "{verified:?}");
    let of =
        |workspace: &str| format!("(SELECT id FROM ken.workspaces WHERE name = '{workspace}')");
    for (change, workspace, expected) in [
        (
            format!(
                "DELETE FROM ken.events WHERE workspace_id = {} AND seq = 3",
                of("cold")
            ),
            "cold",
            &["number of events", "events"][..],
        ),
        (
            format!(
                "DELETE FROM ken.events WHERE workspace_id = {} AND seq = 4",
                of("warm")
            ),
            "warm",
            &[
                "number of events",
                "events",
                "number of entries",
                "folded state",
            ],
        ),
        (
            format!(
                "UPDATE ken.events SET line = replace(line, 'Claim 1', 'Claim 9') WHERE workspace_id = {}",
                of("warm")
            ),
            "warm",
            // Its checksum does not fit: it cannot be folded, and the former state stays.
            &[
                "number of events",
                "events",
                "readable events",
                "number of entries",
                "folded state",
            ],
        ),
        (
            format!(
                "DELETE FROM ken.events WHERE workspace_id = {} AND seq = 5",
                of("warm")
            ),
            "warm",
            &[
                "number of events",
                "events",
                "readable events",
                "last event",
                "number of entries",
                "folded state",
            ],
        ),
    ] {
        target.sql(&change);
        let verified = verify(&runtime, target.url(), &restored);
        let found = verified.damaged().find(|it| it.workspace == workspace);
        assert_eq!(found.unwrap().differences, expected, "{change}");
    }
}

#[test]
fn only_a_new_database_is_loaded_and_a_damaged_file_changes_nothing() {
    let runtime = Runtime::new().unwrap();
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, event) = EventWriter::new(1).propose("Charge only once");
    workspace.wait(workspace.append(vec![event]));
    let bytes = back_up(&runtime, world.bare.url());
    let refused = load(&runtime, world.bare.url(), &bytes).unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty), "{refused:?}");
    let target = empty();
    for end in [0, 20, bytes.len() / 2, bytes.len() - 1] {
        let refused = load(&runtime, target.url(), &bytes[..end]).unwrap_err();
        assert!(
            matches!(refused, BackupError::Damaged(_)),
            "{end}: {refused:?}"
        );
    }
    // Still empty: the whole file can be loaded.
    let restored = load(&runtime, target.url(), &bytes).unwrap();
    assert_eq!(restored.workspaces[0].events, 1);
    let refused = load(&runtime, target.url(), &bytes).unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty), "{refused:?}");
}

#[test]
fn an_owner_restores_and_only_a_role_that_sees_everything_backs_up() {
    let runtime = Runtime::new().unwrap();
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, event) = EventWriter::new(1).propose("Charge only once");
    workspace.wait(workspace.append(vec![event]));
    let name = world.bare.name();
    let (keeper, owner) = (format!("keeper_{name}"), format!("owner_{name}"));
    let url = |database: &TestDatabase, role: &str| {
        let wanted = format!("{role}@");
        database.url().replacen("postgres@", &wanted, 1)
    };
    world.bare.sql(&format!(
        "CREATE ROLE {keeper} LOGIN; GRANT pg_read_all_data TO {keeper}; CREATE ROLE {owner} LOGIN CREATEROLE;
         GRANT ken_app TO {owner} WITH ADMIN OPTION"
    ));
    let keeper_url = url(&world.bare, &keeper);
    let backing = backup::write_backup(&keeper_url, Vec::new());
    let refused = runtime.block_on(backing).unwrap_err();
    assert!(matches!(refused, BackupError::Restricted(_)), "{refused:?}");
    world.bare.sql(&format!("ALTER ROLE {keeper} BYPASSRLS"));
    let bytes = back_up(&runtime, &keeper_url);
    let target = empty();
    target.sql(&format!(
        "ALTER DATABASE {} OWNER TO {owner}",
        target.name()
    ));
    let target_url = url(&target, &owner);
    let restored = load(&runtime, &target_url, &bytes).unwrap();
    let verified = verify(&runtime, &target_url, &restored);
    assert_eq!(verified.damaged().count(), 0, "{verified:?}");
    assert_eq!(verified.workspaces[0].entries, Some(1));
    target.sql(&format!(
        "REASSIGN OWNED BY {owner} TO postgres; DROP OWNED BY {owner}"
    ));
    world.bare.sql(&format!(
        "DROP OWNED BY {keeper}, {owner}; DROP ROLE {keeper}; DROP ROLE {owner}"
    ));
}

#[test]
fn a_backup_of_an_older_schema_is_migrated_and_one_of_a_newer_is_refused() {
    let (runtime, database) = (Runtime::new().unwrap(), empty());
    runtime
        .block_on(HubDatabase::migrate(database.url()))
        .unwrap();
    database.sql("INSERT INTO ken.migrations VALUES (9999, '9999_future', 'x', 0)");
    let newer = back_up(&runtime, database.url());
    let target = empty();
    let refused = load(&runtime, target.url(), &newer).unwrap_err();
    assert!(
        matches!(&refused, BackupError::TooNew { name, .. } if name == "9999_future"),
        "{refused:?}"
    );
    let schema = "SELECT to_regnamespace('ken')";
    assert_eq!(target.sql(schema), "", "nothing was created");
    // One migration behind: a backup comes before the upgrade.
    let older = empty();
    let migrating = HubDatabase::migrate_to(older.url(), MIGRATIONS.len() - 1);
    runtime.block_on(migrating).unwrap();
    older.sql("INSERT INTO ken.organizations (id, name, created_at) VALUES (gen_random_uuid(), 'acme', 1)");
    let bytes = back_up(&runtime, older.url());
    load(&runtime, target.url(), &bytes).unwrap();
    let found =
        "SELECT (SELECT count(*) FROM ken.migrations), (SELECT name FROM ken.organizations)";
    assert_eq!(target.sql(found), format!("{}|acme", MIGRATIONS.len()));
    // Nothing to back up is said, and no empty file is written.
    let nothing = runtime.block_on(backup::write_backup(empty().url(), Vec::new()));
    assert!(nothing.is_err());
}

#[test]
fn a_drill_reports_and_leaves_nothing_behind() {
    let runtime = Runtime::new().unwrap();
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, event) = EventWriter::new(1).propose("Charge only once");
    workspace.wait(workspace.append(vec![event]));
    let bytes = back_up(&runtime, world.bare.url());
    let server = PostgresServer::own();
    let databases = || server.sql("postgres", "SELECT count(*) FROM pg_database");
    let (url, before) = (server.url("postgres"), databases());
    let report = runtime
        .block_on(backup::run_drill(&url, &bytes[..], &|_, _| ()))
        .unwrap();
    assert_eq!(report.verified.damaged().count(), 0);
    assert!(report.recovery >= report.restored.duration + report.verified.duration);
    let half = &bytes[..bytes.len() / 2];
    let failed = runtime.block_on(backup::run_drill(&url, half, &|_, _| ()));
    assert!(matches!(failed, Err(BackupError::Damaged(_))), "{failed:?}");
    assert_eq!(databases(), before);
}
