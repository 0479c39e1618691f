//! Tenant isolation: no rows without a tenant, none of another tenant, and an audit log that cannot
//! be edited.

use ken_core::ledger::store::DerivedStore as _;
use ken_hub::database::audit::{AuditAction, AuditActor, AuditFilter};
use ken_hub::database::{DatabaseError, DatabaseSettings, HubDatabase};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_testkit::build::EventWriter;
use sqlx::Row as _;
use uuid::Uuid;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment, pusher};

/// Inserts rows into every table of a workspace and its organization.
fn fill_tables(workspace: &BlockingWorkspace, seed: u64) {
    let mut scribe = EventWriter::new(seed);
    let (_, proposal) = scribe.propose("Charge only once");
    let (_, waiting) = scribe.propose("Wait for a person");
    let foreign = scribe.foreign("entry.dreamt", &[]);
    workspace
        .ask(async |tenant| {
            let copies = vec![proposal.clone(), foreign.clone()];
            tenant.append(copies).await?;
            tenant.quarantine_event(&waiting, "injection", &pusher("agent:x")).await?;
            tenant.insert_run("r1", "agent:x").await?;
            tenant.append_run_notes("r1", &["shown".to_owned()]).await?;
            tenant.audit(AuditActor::Operator(None), AuditAction::WorkspaceCreated, "w").await?;
            let key = tenant.workspace_id().0;
            for insert in [
                "INSERT INTO ken.orders VALUES ($1, gen_random_uuid(), gen_random_uuid())",
                "INSERT INTO ken.remembered VALUES ($1, gen_random_uuid())",
                "INSERT INTO ken.moved VALUES ($1, 1000, gen_random_uuid())",
                "INSERT INTO ken.sessions VALUES ($1, 'hash', '*', 0)",
                "INSERT INTO ken.segments VALUES ($1, 1, 1, 1)",
                "INSERT INTO ken.postings VALUES ($1, 'word', 1, 1, '{1}', '{1}', '{1}', '{1}')",
                "INSERT INTO ken.path_places VALUES ($1, 'src/', 1)",
                "INSERT INTO ken.overlays VALUES ($1, 'human:ann', 'L-00000000', 'pin', 1)",
            ] {
                sqlx::query(insert).bind(key).execute(tenant.connection()).await?;
            }
            let organization = tenant.organization().0;
            for insert in [
                "INSERT INTO ken.tokens VALUES ($1, gen_random_uuid(), decode(md5(gen_random_uuid()::text), 'hex'), 'n', 'agent:x', 'agent', NULL, 0)",
                "INSERT INTO ken.idempotency VALUES ($1, gen_random_uuid()::text, '', 200, 'text/plain', '', 0, 0)",
                "INSERT INTO ken.former_names VALUES ($1, gen_random_uuid()::text, gen_random_uuid(), 1)",
                "INSERT INTO ken.sign_ins (organization_id, id, hash, actor, role, created_at, used_at, expires_at, checked_at, verified_at)
                 VALUES ($1, gen_random_uuid(), decode(md5(gen_random_uuid()::text), 'hex'), 'human:x', 'member', 0, 0, 0, 0, 0)",
                "INSERT INTO ken.device_grants (device_hash, code_hash, name, created_at, expires_at, organization_id)
                 VALUES (decode(md5(gen_random_uuid()::text), 'hex'), decode(md5(gen_random_uuid()::text), 'hex'), 'n', 0, 0, $1)",
                "INSERT INTO ken.accounts VALUES ($1, gen_random_uuid()::text, NULL, NULL, 1, NULL)",
                "INSERT INTO ken.people VALUES ($1, 'p-' || left(md5(gen_random_uuid()::text), 12), 'Ann', NULL, 1)",
                "INSERT INTO ken.global_entries VALUES ($1, $1, 'L-00000000', '{}', '', 0, '', NULL)",
                // The chain of the audit log is written by a trigger when this transaction commits.
                "INSERT INTO ken.audit_checkpoints SELECT $1, 1 + count(*), '{}', '' FROM ken.audit_checkpoints",
                "INSERT INTO ken.audit_deliveries VALUES ($1, 'siem', gen_random_uuid(), 1)",
                "INSERT INTO ken.audit_exports VALUES ($1, gen_random_uuid()::text)",
                "INSERT INTO ken.audit_dead_letters VALUES ($1, 'siem', gen_random_uuid(), 1, 1, 'timeout')",
                "INSERT INTO ken.retention VALUES ($1, gen_random_uuid(), 'runs', 30)",
                "INSERT INTO ken.holds VALUES ($1, gen_random_uuid(), $1, 'case 7', 'human:ann', 1)",
                "INSERT INTO ken.publications VALUES ($1, 'partners', gen_random_uuid()::text, 'key', '{}', 'public', 1)",
                "INSERT INTO ken.publication_batches VALUES ($1, 'partners', 1, 1, false, '{}')",
                "INSERT INTO ken.publication_lines VALUES ($1, 'partners', gen_random_uuid(), $1, '{}', 'words', '')",
                "INSERT INTO ken.peers (organization_id, id, name, publisher, publication, key, source, hops, replica, trust, mean, created_at)
                 VALUES ($1, $1, 'beta', 'p', 'partners', 'key', '/srv', 1, '{}', 0.1, 0.5, 1)",
                "INSERT INTO ken.peer_lines VALUES ($1, $1, gen_random_uuid(), 'L-00000000', '2026-11-19', 'line', false, true, 'waiting')",
                "INSERT INTO ken.peer_entries VALUES ($1, $1, 'L-00000000', $1, '2026-11-19', '{}', '', 0, '', NULL)",
                "INSERT INTO ken.peer_observations VALUES ($1, $1, gen_random_uuid(), 1, 1000, 0, 'human:ann', 'held')",
            ] {
                sqlx::query(insert).bind(organization).execute(tenant.connection()).await?;
            }
            Ok(())
        })
        .unwrap();
}

/// Returns the names of all tables with rows of tenants, from the catalog.
fn all_tables(world: &StoreTestEnvironment) -> Vec<String> {
    let sql = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition AND relname NOT IN ('migrations', 'instance', 'compatibility')";
    world.bare.sql(sql).lines().map(str::to_owned).collect()
}

async fn count_rows(connection: &mut sqlx::PgConnection, table: &str) -> i64 {
    let query = format!("SELECT count(*) FROM ken.{table}");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .fetch_one(connection)
        .await;
    row.unwrap().get(0)
}

#[test]
fn without_a_tenant_every_table_is_empty() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    fill_tables(&workspace, 1);
    let tables = all_tables(&world);
    assert!(tables.len() >= 17, "{tables:?}");
    world.runtime.block_on(async {
        let mut taken = world.database.pool().acquire_live().await.unwrap();
        for table in &tables {
            assert_eq!(count_rows(taken.connection(), table).await, 0, "{table}");
        }
        taken.release();
        // Control: the same tables are not empty for their tenant.
        let mut tenant = workspace.tenant().await;
        for table in &tables {
            assert!(count_rows(tenant.connection(), table).await > 0, "{table}");
        }
    });
}

#[test]
fn a_tenant_neither_sees_nor_writes_what_is_anothers() {
    let world = StoreTestEnvironment::new();
    let (own, other) = (world.workspace("own"), world.workspace("other"));
    fill_tables(&other, 1);
    let tables = all_tables(&world);
    let shared = [
        "organizations",
        "workspaces",
        "tokens",
        "idempotency",
        "former_names",
        "global_entries",
        "sign_ins",
        "device_grants",
        "accounts",
        "people",
        "audit_chains",
        "audit_checkpoints",
        "audit_deliveries",
        "audit_exports",
        "audit_dead_letters",
        "retention",
        "holds",
        "publications",
        "publication_batches",
        "publication_lines",
        "peers",
        "peer_lines",
        "peer_entries",
        "peer_observations",
    ];
    world.runtime.block_on(async {
        for table in tables.iter().filter(|it| !shared.contains(&it.as_str())) {
            let mut tenant = own.tenant().await;
            assert_eq!(count_rows(tenant.connection(), table).await, 0, "{table}");
            let stolen = format!("UPDATE ken.{table} SET workspace_id = workspace_id");
            // Their rows cannot be changed by anybody.
            if !["audit", "audit_links"].contains(&table.as_str()) {
                let changed = sqlx::query(sqlx::AssertSqlSafe(stolen))
                    .execute(tenant.connection())
                    .await;
                assert_eq!(changed.unwrap().rows_affected(), 0, "{table}");
            }
        }
        let foreign = other.workspace.0;
        for insert in [
            "INSERT INTO ken.events VALUES ($1, 99, gen_random_uuid(), '', '', false, '')",
            "INSERT INTO ken.subjects VALUES ($1, 'L-00000000', 99)",
            "INSERT INTO ken.orders VALUES ($1, gen_random_uuid(), gen_random_uuid())",
            "INSERT INTO ken.remembered VALUES ($1, gen_random_uuid())",
            "INSERT INTO ken.moved VALUES ($1, 99, gen_random_uuid())",
            "INSERT INTO ken.workspace_states VALUES ($1, '{}')",
            "INSERT INTO ken.sessions VALUES ($1, 'hash', '*', 0)",
            "INSERT INTO ken.runs VALUES ($1, 'x', 'x', 0)",
            "INSERT INTO ken.held VALUES ($1, gen_random_uuid(), '', '', '', 0)",
            "INSERT INTO ken.audit VALUES ($1, gen_random_uuid(), 0, '', '', '', '')",
            "INSERT INTO ken.global_entries VALUES ($1, $1, 'L-00000000', '{}', '', 0, '', NULL)",
        ] {
            let mut tenant = own.tenant().await;
            let refused = sqlx::query(insert)
                .bind(foreign)
                .execute(tenant.connection())
                .await;
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("row-level security"), "{insert}: {error}");
        }
    });
}

#[test]
fn another_organizations_workspace_is_as_if_it_did_not_exist() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    fill_tables(&workspace, 1);
    world.runtime.block_on(async {
        let name = "other".parse().unwrap();
        let other = world
            .database
            .create_organization(&name)
            .await
            .unwrap()
            .unwrap();
        let nobody = OrganizationId(Uuid::nil());
        let nothing = WorkspaceId(Uuid::nil());
        for (organization, which) in [
            (other, workspace.workspace),
            (nobody, workspace.workspace),
            (world.organization, nothing),
        ] {
            let refused = world.database.begin_workspace(organization, which).await;
            assert!(matches!(refused, Err(DatabaseError::NoWorkspace)));
        }
        let mut organization = world.database.begin_organization(other).await.unwrap();
        assert_eq!(organization.workspaces(None, 10).await.unwrap(), []);
        let id = workspace.workspace.0.to_string();
        for named in ["w", &id] {
            assert_eq!(organization.workspace(named).await.unwrap(), None);
        }
        organization.rollback().await.unwrap();
        let mut organization = world
            .database
            .begin_organization(world.organization)
            .await
            .unwrap();
        for named in ["w", &id] {
            let found = organization.workspace(named).await.unwrap().unwrap();
            assert_eq!(found.id, workspace.workspace);
            assert_eq!((found.head, found.events), (2, 2));
        }
    });
    // After these refusals the connections still serve only their own tenant.
    assert_eq!(workspace.state().unwrap().entries.len(), 1);
}

#[test]
fn nobody_edits_the_audit_log_not_even_its_owner() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    fill_tables(&workspace, 1);
    for act in [
        "UPDATE ken.audit SET act = 'x'",
        "DELETE FROM ken.audit",
        "TRUNCATE ken.audit",
    ] {
        // The owner is a superuser here, so no row policy applies; the trigger refuses.
        world.runtime.block_on(async {
            let pool = sqlx::PgPool::connect(world.bare.url()).await.unwrap();
            let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(act.to_owned()))
                .execute(&pool)
                .await;
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("only added to"), "{act}: {error}");
            pool.close().await;
            let mut tenant = workspace.tenant().await;
            let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(act.to_owned()))
                .execute(tenant.connection())
                .await;
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("permission denied"), "{act}: {error}");
        });
    }
    let acts = workspace
        .ask(async |tenant| {
            Ok(tenant
                .list_audit_records(&AuditFilter::default(), None, 10)
                .await?)
        })
        .unwrap();
    assert_eq!(acts.len(), 1);
    assert_eq!(
        (acts[0].act.as_str(), acts[0].role.as_str()),
        ("workspace.created", "operator")
    );
}

#[test]
fn a_role_that_sees_everything_is_refused() {
    let world = StoreTestEnvironment::new();
    let role = format!("ken_test_{}", world.bare.name());
    let login = |attributes: &str| {
        world.bare.sql(&format!(
            "DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN {attributes}"
        ));
        let url = world
            .bare
            .url()
            .replacen("postgres@", &format!("{role}@"), 1);
        world
            .runtime
            .block_on(HubDatabase::connect(&DatabaseSettings::new(&url)))
    };
    // A role that may not assume the application's role.
    let refused = login("NOINHERIT");
    assert!(
        matches!(refused, Err(DatabaseError::NoRole(_))),
        "{refused:?}"
    );
    // A role that may: the connection runs as the application's role.
    world.bare.sql(&format!("GRANT ken_app TO {role}"));
    let url = world
        .bare
        .url()
        .replacen("postgres@", &format!("{role}@"), 1);
    let connected = world
        .runtime
        .block_on(HubDatabase::connect(&DatabaseSettings::new(&url)))
        .unwrap();
    world.runtime.block_on(connected.pool().close());
    world.bare.sql(&format!("DROP ROLE {role}"));
}

#[test]
fn a_transaction_a_statement_failed_in_is_not_said_to_be_kept() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (entry, proposal) = scribe.propose("Charge only once");
    workspace.wait(async {
        let mut tenant = workspace.tenant().await;
        tenant.append(vec![proposal.clone()]).await.unwrap();
        let failed = sqlx::query("SELECT 1 / 0")
            .execute(tenant.connection())
            .await;
        assert!(failed.is_err());
        let refused = tenant.commit().await;
        assert!(
            matches!(refused, Err(DatabaseError::Query(_))),
            "{refused:?}"
        );
    });
    assert_eq!(workspace.entry(entry).unwrap(), None);
    // A dropped transaction is rolled back and leaves no locks.
    workspace.wait(async {
        let mut tenant = workspace.tenant().await;
        tenant.append(vec![proposal.clone()]).await.unwrap();
        drop(tenant);
    });
    assert_eq!(workspace.entry(entry).unwrap(), None);
    workspace
        .ask(async |tenant| tenant.append(vec![proposal.clone()]).await)
        .unwrap();
    assert!(workspace.entry(entry).unwrap().is_some());
}

#[test]
fn a_connection_lost_while_committing_is_told_apart() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, proposal) = EventWriter::new(1).propose("Charge only once");
    workspace.wait(async {
        let mut tenant = workspace.tenant().await;
        tenant.append(vec![proposal.clone()]).await.unwrap();
        let row = sqlx::query("SELECT pg_backend_pid()")
            .fetch_one(tenant.connection())
            .await;
        let pid: i32 = row.unwrap().get(0);
        let killed = format!("SELECT pg_terminate_backend({pid}, 5000)");
        tokio::task::block_in_place(|| world.bare.sql(&killed));
        let lost = tenant.commit().await;
        assert!(matches!(lost, Err(DatabaseError::Uncertain(_))), "{lost:?}");
        // The caller resolves the uncertainty by sending the event again.
        let mut tenant = workspace.tenant().await;
        let appended = tenant.append(vec![proposal]).await.unwrap();
        assert_eq!(appended.cursor.seq, 1);
        tenant.commit().await.unwrap();
    });
}
