//! Every migration on a filled database, repeated and concurrent, and refused databases.

use ken_core::ledger::store::DerivedStore as _;
use ken_hub::database::{DatabaseError, DatabaseSettings, HubDatabase, MIGRATIONS};
use ken_testkit::build::EventWriter;
use ken_testkit::postgres::{self, PostgresServer};
use tokio::runtime::Runtime;

use crate::environment::StoreTestEnvironment;

/// Rows of two tenants for the tables of each version; the owner is a superuser here and sees
/// everything.
pub(crate) const FILL_STATEMENTS: [&str; 22] = [
    "INSERT INTO ken.organizations (id, name, created_at) SELECT o, 'o' || n, 1 FROM tenants;
     INSERT INTO ken.workspaces (organization_id, id, name, created_at) SELECT o, w, 'w', 1 FROM tenants;
     INSERT INTO ken.tokens VALUES ((SELECT min(o::text)::uuid FROM tenants), gen_random_uuid(), 'h', 'n', 'agent:x', 'agent', NULL, 1);
     INSERT INTO ken.idempotency SELECT o, 'key', 'd', 200, 'text/plain', 'b', 1, 2 FROM tenants;
     INSERT INTO ken.audit SELECT w, gen_random_uuid(), 1, 'human:ann', 'admin', 'made', 'w' FROM tenants;",
    "INSERT INTO ken.events SELECT w, s, gen_random_uuid(), '2026', 'entry.cited', false, repeat('x', 3000) FROM tenants, generate_series(1, 200) s;
     INSERT INTO ken.subjects SELECT w, 'L-0000000' || s % 10, s FROM tenants, generate_series(1, 200) s;
     INSERT INTO ken.orders SELECT w, gen_random_uuid(), gen_random_uuid() FROM tenants;
     INSERT INTO ken.remembered SELECT w, gen_random_uuid() FROM tenants;
     INSERT INTO ken.moved SELECT w, 1000, gen_random_uuid() FROM tenants;",
    "INSERT INTO ken.entries SELECT w, 'L-0000000' || s, 'semantic', 'learning', 'candidate', NULL, NULL, '2026', '2026',
         true, true, false, false, false, false, '{a,b/c}', '{}' FROM tenants, generate_series(0, 9) s;
     INSERT INTO ken.searchable SELECT w, 'L-0000000' || s, true, to_tsvector('ken.words', 'charging twice'), 2, '{src/a.rs}', 'm', NULL
         FROM tenants, generate_series(0, 9) s;
     INSERT INTO ken.workspace_states SELECT w, '{}' FROM tenants;",
    "INSERT INTO ken.global_entries SELECT o, w, 'L-00000000', '{}', to_tsvector('ken.words', 'charging'), 1, 'm', NULL FROM tenants;",
    "INSERT INTO ken.runs SELECT w, 'r', 'agent:x', 1 FROM tenants;
     INSERT INTO ken.run_notes SELECT w, 'r', 1, 'note' FROM tenants;
     INSERT INTO ken.held SELECT w, gen_random_uuid(), '', 'why', 'agent:x', 1 FROM tenants;",
    "SELECT ken.organization_named('o1');",
    "INSERT INTO ken.sessions SELECT w, 'hash', 'L-00000000', 1 FROM tenants;",
    "UPDATE ken.runs SET noted_at = 2;",
    "UPDATE ken.workspaces SET taken_back = false;",
    "UPDATE ken.runs SET notes = 1, bytes = 4; UPDATE ken.organizations SET kept_bytes = 1;
     UPDATE ken.instance SET place = 'another/1', alive_at = 1;",
    "UPDATE ken.events SET pusher = 'agent:x', received_at = 1; UPDATE ken.held SET token_id = gen_random_uuid();
     UPDATE ken.organizations SET signers = '';
     INSERT INTO ken.audit SELECT w, gen_random_uuid(), 1, 'human:ann', 'admin', 'made', 'w', NULL, '::1', 'done' FROM tenants;",
    "SELECT ken.index_entries(w, 5) FROM tenants;",
    "INSERT INTO ken.overlays SELECT w, 'human:ann', 'L-00000000', 'pin', 1 FROM tenants;",
    "INSERT INTO ken.former_names SELECT o, 'was', w, 1 FROM tenants; UPDATE ken.tokens SET used_at = 1;",
    "INSERT INTO ken.sign_ins (organization_id, id, hash, actor, role, created_at, used_at, expires_at, checked_at, verified_at)
         SELECT o, gen_random_uuid(), n::text::bytea, 'human:ann', 'member', 1, 1, 2, 1, 1 FROM tenants;
     INSERT INTO ken.device_grants (device_hash, code_hash, name, created_at, expires_at, organization_id)
         SELECT n::text::bytea, n::text::bytea, 'laptop', 1, 2, o FROM tenants;",
    "UPDATE ken.compatibility SET oldest_hub = '0001_directory';",
    "INSERT INTO ken.accounts SELECT o, 'ci:main', 'human:ann', 'builds', 1, 2 FROM tenants;
     UPDATE ken.tokens SET role_workspaces = (SELECT array_agg(w) FROM tenants), role_names = '{curator,member}';
     UPDATE ken.sign_ins SET role_workspaces = (SELECT array_agg(w) FROM tenants), role_names = '{curator,member}';",
    "INSERT INTO ken.audit_checkpoints SELECT o, 1, '{}', '' FROM tenants;
     INSERT INTO ken.audit_deliveries SELECT o, 'siem', w, 1 FROM tenants;
     INSERT INTO ken.audit_exports SELECT o, 'siem' FROM tenants;
     INSERT INTO ken.audit_dead_letters SELECT o, 'siem', w, 1, 1, 'timeout' FROM tenants;",
    "INSERT INTO ken.retention SELECT o, w, 'runs', 30 FROM tenants;
     INSERT INTO ken.holds SELECT o, w, w, 'case 7', 'human:ann', 1, 'human:ann', 2 FROM tenants;",
    "INSERT INTO ken.people SELECT o, 'p-000000000001', 'Ann', 'ann@example.org', 1 FROM tenants;
     UPDATE ken.organizations SET lists_people = true;",
    "INSERT INTO ken.publications SELECT o, 'partners', n::text, 'key', '{}', 'peers', 1, NULL, 1, 1 FROM tenants;
     INSERT INTO ken.publication_batches SELECT o, 'partners', 1, 1, true, '{}' FROM tenants;
     INSERT INTO ken.publication_lines SELECT o, 'partners', w, w, ARRAY[w], 'words', 'redacted' FROM tenants;
     INSERT INTO ken.peers SELECT o, w, 'beta', 'p', 'partners', 'key', '/srv', 'KEN_PEER_BETA', 1, 0.3, NULL, '2026-11-19', '{}', false,
         1, 2, 0.1, 0.5, 1, 2, NULL FROM tenants;
     INSERT INTO ken.peer_lines SELECT o, w, w, 'L-00000000', '2026-11-19', 'line', false, true, 'approved', 'decision' FROM tenants;
     INSERT INTO ken.peer_entries SELECT o, w, 'L-00000000', w, '2026-11-19', '{}', to_tsvector('ken.words', 'charging'), 1, 'm', NULL FROM tenants;
     INSERT INTO ken.peer_observations SELECT o, w, w, 1, 1000, 0, 'human:ann', 'held' FROM tenants;",
    // 0026 adds a function and no table.
    "SELECT 1",
];

pub(crate) const CREATE_TENANTS: &str = "CREATE TABLE tenants AS SELECT gen_random_uuid() AS o, gen_random_uuid() AS w, n FROM generate_series(1, 2) n";

/// Returns the row count and a content hash of every table; columns not filled yet are ignored.
fn table_digests(database: &postgres::TestDatabase) -> Vec<String> {
    let tables = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'";
    let tables = database.sql(tables);
    let digest = |table| {
        database.sql(&format!(
            "SELECT '{table}', count(*), md5(coalesce(string_agg(r, ',' ORDER BY r), ''))
             FROM (SELECT jsonb_strip_nulls(to_jsonb(t))::text AS r FROM ken.{table} t) t"
        ))
    };
    tables.lines().map(digest).collect()
}

fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

#[test]
fn each_migration_keeps_every_row_of_a_database_filled_at_the_version_before() {
    assert_eq!(
        FILL_STATEMENTS.len(),
        MIGRATIONS.len(),
        "a new migration needs rows to be tested with"
    );
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    database.sql(CREATE_TENANTS);
    for (at, fill) in FILL_STATEMENTS.iter().enumerate() {
        let before = match at {
            0 => Vec::new(),
            _ => table_digests(&database),
        };
        let done = runtime
            .block_on(HubDatabase::migrate_to(database.url(), at + 1))
            .unwrap();
        assert_eq!(done, [MIGRATIONS[at].name]);
        let after = table_digests(&database);
        for line in &before {
            assert!(
                after.contains(line),
                "{} changed {line}",
                MIGRATIONS[at].name
            );
        }
        database.sql(fill);
        let filled = table_digests(&database);
        assert!(filled.iter().all(|it| !it.contains("|0|")), "{filled:?}");
    }
    // The hub can use the database filled this way.
    let again = runtime
        .block_on(HubDatabase::migrate(database.url()))
        .unwrap();
    assert!(again.is_empty());
    let connected = runtime
        .block_on(HubDatabase::connect(&DatabaseSettings::new(database.url())))
        .unwrap();
    runtime.block_on(connected.pool().close());
}

#[test]
fn two_who_migrate_at_once_run_everything_once() {
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    let url = database.url();
    let (a, b) = runtime
        .block_on(async { tokio::join!(HubDatabase::migrate(url), HubDatabase::migrate(url)) });
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.len() + b.len(), MIGRATIONS.len());
    assert!(a.is_empty() || b.is_empty());
}

#[test]
fn a_database_that_is_behind_ahead_or_edited_is_refused() {
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    let url = database.url();
    let connect = || runtime.block_on(HubDatabase::connect(&DatabaseSettings::new(url)));
    let last = MIGRATIONS.len();
    runtime
        .block_on(HubDatabase::migrate_to(url, last - 1))
        .unwrap();
    let refused = connect().unwrap_err();
    assert!(
        matches!(refused, DatabaseError::Behind { .. }),
        "{refused:?}"
    );
    runtime.block_on(HubDatabase::migrate(url)).unwrap();
    database.sql("UPDATE ken.migrations SET digest = 'x' WHERE version = 2");
    for refused in [
        connect().unwrap_err(),
        runtime.block_on(HubDatabase::migrate(url)).unwrap_err(),
    ] {
        assert!(
            matches!(refused, DatabaseError::Edited { name: "0002_log" }),
            "{refused:?}"
        );
    }
    database.sql("DROP SCHEMA ken CASCADE");
    runtime.block_on(HubDatabase::migrate(url)).unwrap();
    add_future_migration(&database);
    let refused = runtime.block_on(HubDatabase::migrate(url)).unwrap_err();
    assert!(
        matches!(refused, DatabaseError::Ahead { .. }),
        "{refused:?}"
    );
}

/// Notes a migration that this build does not contain.
fn add_future_migration(database: &postgres::TestDatabase) {
    database.sql("INSERT INTO ken.migrations VALUES (9999, '9999_future', 'x', 0)");
}

#[test]
fn a_newer_database_is_served_unless_it_says_that_this_hub_is_too_old() {
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    let url = database.url();
    let connect = || runtime.block_on(HubDatabase::connect(&DatabaseSettings::new(url)));
    runtime.block_on(HubDatabase::migrate(url)).unwrap();
    assert_eq!(connect().unwrap().newer_schema(), None);
    add_future_migration(&database);
    let version = i32::try_from(MIGRATIONS.len()).unwrap() + 1;
    assert_eq!(connect().unwrap().newer_schema(), Some(version));
    // As a migration that contracts does.
    database.sql("UPDATE ken.compatibility SET oldest_hub = '9999_future'");
    let refused = connect().unwrap_err();
    assert!(
        matches!(&refused, DatabaseError::TooOld { oldest, .. } if oldest == "9999_future"),
        "{refused:?}"
    );
    assert!(
        refused.to_string().ends_with("upgrade the hub"),
        "{refused}"
    );
}

#[test]
fn a_plan_lists_what_would_run_and_changes_nothing() {
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    let url = database.url();
    let plan = || {
        runtime
            .block_on(HubDatabase::pending_migrations(url))
            .unwrap()
    };
    assert_eq!(plan().len(), MIGRATIONS.len());
    assert_eq!(database.sql("SELECT to_regnamespace('ken')"), "");
    let last = MIGRATIONS.len() - 1;
    runtime
        .block_on(HubDatabase::migrate_to(url, last))
        .unwrap();
    assert_eq!(plan().len(), 1);
    assert_eq!(plan()[0].name, MIGRATIONS[last].name);
    runtime.block_on(HubDatabase::migrate(url)).unwrap();
    assert!(plan().is_empty());
}

#[test]
fn an_owner_who_is_no_superuser_can_run_it() {
    let (runtime, database) = (runtime(), PostgresServer::shared().database());
    let owner = format!("owner_{}", database.name());
    database.sql(&format!(
        "CREATE ROLE {owner} LOGIN CREATEROLE; ALTER DATABASE {} OWNER TO {owner}; GRANT CREATE ON SCHEMA public TO {owner};
         DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ken_app') THEN CREATE ROLE ken_app NOLOGIN; END IF; END $$;
         GRANT ken_app TO {owner} WITH ADMIN OPTION",
        database.name()
    ));
    let url = database
        .url()
        .replacen("postgres@", &format!("{owner}@"), 1);
    let done = runtime.block_on(HubDatabase::migrate(&url)).unwrap();
    assert_eq!(done.len(), MIGRATIONS.len());
    let hub = runtime
        .block_on(HubDatabase::connect(&DatabaseSettings::new(&url)))
        .unwrap();
    let (_, proposal) = EventWriter::new(1).propose("Charge only once");
    runtime.block_on(async {
        let organization = hub
            .create_organization(&"o".parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        let mut transaction = hub.begin_organization(organization).await.unwrap();
        let workspace = transaction
            .create_workspace(&"w".parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        transaction.commit().await.unwrap();
        let mut tenant = hub.begin_workspace(organization, workspace).await.unwrap();
        tenant.append(vec![proposal]).await.unwrap();
        tenant.commit().await.unwrap();
        hub.pool().close().await;
    });
    // Row policies are forced: the owner sees that workspaces exist, but none of their content.
    let seen = |table: &str| {
        let sql = format!("SET ROLE {owner}; SELECT count(*) FROM ken.{table}");
        database
            .sql(&sql)
            .lines()
            .last()
            .map(str::to_owned)
            .unwrap_or_default()
    };
    assert_eq!(
        ["workspaces", "events", "entries", "searchable"].map(seen),
        ["1", "0", "0", "0"]
    );
    database.sql(&format!(
        "REASSIGN OWNED BY {owner} TO postgres; DROP OWNED BY {owner}; DROP ROLE {owner}"
    ));
}

#[test]
fn what_the_tests_copy_is_what_migrating_makes() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    assert_eq!(workspace.state().unwrap().entries.len(), 0);
}
