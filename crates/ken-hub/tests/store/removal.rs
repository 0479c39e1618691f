//! Removed workspaces and organizations: hidden at once, restorable, then erased from every table.
//! The tables come from PostgreSQL's catalog, so a new one is covered without a change here.

use ken_core::values::time::{DAY_MS, Timestamp};
use ken_hub::clock::HubClock;
use ken_hub::database::audit::AuditActor;
use ken_hub::database::{
    DatabaseError, DatabaseSettings, ErasedTenant, GRACE_DAYS, HubDatabase, MIGRATIONS, NameTaken,
    OrganizationTx, WorkspaceRow,
};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_testkit::build::EventWriter;
use ken_testkit::postgres::{PostgresServer, TestDatabase};
use tokio::runtime::Runtime;

use crate::environment::StoreTestEnvironment;
use crate::migrations::{CREATE_TENANTS, FILL_STATEMENTS};

const OPERATOR: AuditActor<'static> = AuditActor::Operator(None);

/// The time at which tests begin.
fn start() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

/// A database with rows of two tenants in every table, and a clock that tests set.
struct FilledDatabase {
    runtime: Runtime,
    hub: HubDatabase,
    clock: HubClock,
    /// Organization and workspace of each tenant.
    tenants: Vec<(OrganizationId, WorkspaceId)>,
    /// Last, so that connections are closed before the database is dropped.
    bare: TestDatabase,
}

impl FilledDatabase {
    fn new() -> Self {
        let (runtime, bare) = (Runtime::new().unwrap(), PostgresServer::shared().database());
        bare.sql(CREATE_TENANTS);
        for (at, fill) in FILL_STATEMENTS.iter().enumerate() {
            let migrated = HubDatabase::migrate_to(bare.url(), at + 1);
            runtime.block_on(migrated).unwrap();
            bare.sql(fill);
        }
        let clock = HubClock::fixed_at(start());
        let settings = DatabaseSettings::new(bare.url());
        let hub = runtime.block_on(HubDatabase::connect(&settings)).unwrap();
        let rows = bare.sql("SELECT o, w FROM tenants ORDER BY n");
        let tenants = rows.lines().map(|line| {
            let (o, w) = line.split_once('|').unwrap();
            let id = |text: &str| text.trim().parse().unwrap();
            (OrganizationId(id(o)), WorkspaceId(id(w)))
        });
        Self {
            tenants: tenants.collect(),
            hub: hub.with_clock(clock.clone()),
            clock,
            runtime,
            bare,
        }
    }

    /// Returns every table with a column of that name, without partitions.
    fn tables_with(&self, column: &str) -> Vec<String> {
        let sql = format!(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace = 'ken'::regnamespace AND c.relkind IN ('r', 'p')
               AND NOT c.relispartition AND a.attname = '{column}' ORDER BY 1"
        );
        self.bare.sql(&sql).lines().map(str::to_owned).collect()
    }

    /// Returns the number of rows with that key in each table.
    fn counts(&self, column: &str, key: uuid::Uuid) -> Vec<(String, u64)> {
        let count = |table: String| {
            let sql = format!("SELECT count(*) FROM ken.{table} WHERE {column} = '{key}'");
            let count = self.bare.sql(&sql).trim().parse().unwrap();
            (table, count)
        };
        self.tables_with(column).into_iter().map(count).collect()
    }

    fn organization(&self, id: OrganizationId) -> OrganizationTx {
        self.runtime
            .block_on(self.hub.begin_organization(id))
            .unwrap()
    }

    fn erase_due(&self) -> Vec<ErasedTenant> {
        let erasing = self.hub.erase_due(AuditActor::Hub);
        self.runtime.block_on(erasing).unwrap()
    }

    fn pass_days(&self, days: u64) {
        let now = self.clock.now();
        self.clock.set(now.plus_millis(days * DAY_MS));
    }
}

impl Drop for FilledDatabase {
    fn drop(&mut self) {
        self.runtime.block_on(self.hub.pool().close());
    }
}

/// Returns whether a table is part of the audit log, which outlives what it is about.
fn is_audit(table: &str) -> bool {
    ["audit", "audit_links", "audit_chains", "audit_checkpoints"].contains(&table)
}

fn remove(database: &FilledDatabase, (organization, workspace): (OrganizationId, WorkspaceId)) {
    let mut tx = database.organization(organization);
    database.runtime.block_on(async {
        let row = tx
            .workspace(&workspace.0.to_string())
            .await
            .unwrap()
            .unwrap();
        tx.remove_workspace(OPERATOR, &row).await.unwrap();
        tx.commit().await.unwrap();
    });
}

#[test]
fn a_removed_workspace_is_erased_from_every_table_after_its_grace_period() {
    assert_eq!(FILL_STATEMENTS.len(), MIGRATIONS.len());
    let database = FilledDatabase::new();
    let [(organization, workspace), (_, neighbor)] = database.tenants[..] else {
        panic!("two tenants");
    };
    database.bare.sql(&format!(
        "UPDATE ken.tokens SET organization_id = '{}', workspaces = ARRAY['{}'::uuid]",
        organization.0, workspace.0
    ));
    let before = database.counts("workspace_id", workspace.0);
    assert!(before.len() >= 17, "{before:?}");
    assert!(before.iter().all(|(_, count)| *count > 0), "{before:?}");
    let neighbors = database.counts("workspace_id", neighbor.0);
    remove(&database, (organization, workspace));
    database.pass_days(GRACE_DAYS - 1);
    assert_eq!(database.erase_due(), []);
    let kept = database.counts("workspace_id", workspace.0);
    let lost = before.iter().zip(&kept).filter(|(a, b)| a != b);
    // Only what other workspaces saw of it, and its own projections on restoration.
    assert_eq!(
        lost.map(|(a, _)| a.0.as_str()).collect::<Vec<_>>(),
        ["global_entries"]
    );
    database.pass_days(1);
    assert_eq!(
        database.erase_due(),
        [ErasedTenant::Workspace(organization, workspace)]
    );
    let after = database.counts("workspace_id", workspace.0);
    for (table, count) in &after {
        // The audit log is only added to.
        assert_eq!(*count > 0, is_audit(table), "{table}: {count}");
    }
    let row = format!(
        "SELECT count(*) FROM ken.workspaces WHERE id = '{}'",
        workspace.0
    );
    assert_eq!(database.bare.sql(&row).trim(), "0");
    assert_eq!(database.counts("workspace_id", neighbor.0), neighbors);
    // A token for this workspace only opens no other.
    let token = "SELECT workspaces, revoked_at IS NOT NULL FROM ken.tokens";
    assert_eq!(database.bare.sql(token).trim(), "{}|t");
    assert_eq!(database.erase_due(), []);
}

#[test]
fn an_erasure_leaves_what_a_hold_is_being_placed_on() {
    let database = FilledDatabase::new();
    let (organization, workspace) = database.tenants[0];
    remove(&database, (organization, workspace));
    database.pass_days(GRACE_DAYS);
    for scope in [workspace.0, organization.0] {
        let mut tx = database.organization(organization);
        let placed = tx.place_hold(OPERATOR, scope, "case 8");
        let _ = database.runtime.block_on(placed).unwrap();
        // Nobody else sees the hold before it is committed.
        assert_eq!(database.erase_due(), [], "{scope}");
        database.runtime.block_on(tx.rollback()).unwrap();
    }
    assert_eq!(
        database.erase_due(),
        [ErasedTenant::Workspace(organization, workspace)]
    );
}

#[test]
fn a_removed_organization_is_erased_with_its_workspaces() {
    let database = FilledDatabase::new();
    let [(organization, workspace), (_, neighbor)] = database.tenants[..] else {
        panic!("two tenants");
    };
    let before = database.counts("organization_id", organization.0);
    assert!(before.len() >= 5, "{before:?}");
    let neighbors = database.counts("workspace_id", neighbor.0);
    let name = "o1".parse().unwrap();
    let mut tx = database.organization(organization);
    database.runtime.block_on(async {
        tx.remove_organization(OPERATOR, &name).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(database.hub.organization_named(&name).await.unwrap(), None);
        let removed = database.hub.removed_organization(&name).await.unwrap();
        assert_eq!(removed.map(|it| it.id), Some(organization));
    });
    database.pass_days(GRACE_DAYS);
    assert_eq!(
        database.erase_due(),
        [
            ErasedTenant::Workspace(organization, workspace),
            ErasedTenant::Organization(organization)
        ]
    );
    for (table, count) in database.counts("organization_id", organization.0) {
        assert_eq!(count > 0, is_audit(&table), "{table}: {count}");
    }
    for (table, count) in database.counts("workspace_id", workspace.0) {
        assert_eq!(count > 0, is_audit(&table), "{table}: {count}");
    }
    assert_eq!(database.counts("workspace_id", neighbor.0), neighbors);
    let left = database.bare.sql("SELECT name FROM ken.organizations");
    assert_eq!(left.trim(), "o2");
}

#[test]
fn a_removed_workspace_is_missing_until_it_is_restored_with_all_it_had() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("shop");
    let (_, proposal) = EventWriter::new(1).propose("Charge only once");
    workspace.wait(workspace.append(vec![proposal]));
    let (database, organization) = (&world.database, world.organization);
    let find = |name: &str| -> Option<WorkspaceRow> {
        world.runtime.block_on(async {
            let mut tx = database.begin_organization(organization).await.unwrap();
            tx.workspace(name).await.unwrap()
        })
    };
    let row = find("shop").unwrap();
    world.runtime.block_on(async {
        let mut tx = database.begin_organization(organization).await.unwrap();
        tx.remove_workspace(OPERATOR, &row).await.unwrap();
        // Not a second time.
        let again = tx.remove_workspace(OPERATOR, &row).await;
        assert!(
            matches!(again, Err(DatabaseError::NoWorkspace)),
            "{again:?}"
        );
        tx.commit().await.unwrap();
        for begun in [
            database.begin_workspace(organization, row.id).await,
            database.begin_log(organization, row.id).await,
        ] {
            assert!(
                matches!(begun, Err(DatabaseError::NoWorkspace)),
                "{begun:?}"
            );
        }
    });
    assert_eq!(find("shop"), None);
    assert_eq!(find(&row.id.0.to_string()), None);
    world.runtime.block_on(async {
        let mut tx = database.begin_organization(organization).await.unwrap();
        let name = "shop".parse().unwrap();
        assert_eq!(tx.create_workspace(&name).await.unwrap(), None);
        let taken = tx.name_taken(&name).await.unwrap();
        assert!(matches!(taken, Some(NameTaken::Removed(..))), "{taken:?}");
        let removed = tx.removed_workspace("shop").await.unwrap().unwrap();
        assert!(tx.restore_workspace(OPERATOR, &removed).await.unwrap());
        tx.commit().await.unwrap();
    });
    assert_eq!(find("shop").map(|it| it.id), Some(row.id));
    let entries = workspace.ask(async |tx| tx.state().await).unwrap().entries;
    assert_eq!(entries.len(), 1);
}

#[test]
fn a_former_name_leads_to_the_renamed_workspace_and_to_no_other() {
    let world = StoreTestEnvironment::new();
    let id = world.workspace("shop").workspace;
    let (database, organization) = (&world.database, world.organization);
    world.runtime.block_on(async {
        let mut tx = database.begin_organization(organization).await.unwrap();
        let [shop, store] = ["shop", "store"].map(|it| it.parse().unwrap());
        let row = tx.workspace("shop").await.unwrap().unwrap();
        tx.rename_workspace(OPERATOR, &row, &store)
            .await
            .unwrap()
            .unwrap();
        let renamed = tx.workspace("store").await.unwrap().unwrap();
        assert_eq!(renamed.id, id);
        assert_eq!(tx.workspace("shop").await.unwrap(), None);
        let now = tx.renamed_workspace("shop").await.unwrap();
        assert_eq!(now, Some((id, store.clone())));
        assert_eq!(tx.create_workspace(&shop).await.unwrap(), None);
        let other: ken_hub::database::HubName = "other".parse().unwrap();
        tx.create_workspace(&other).await.unwrap().unwrap();
        let other = tx.workspace("other").await.unwrap().unwrap();
        for taken in [&shop, &store] {
            let refused = tx.rename_workspace(OPERATOR, &other, taken).await.unwrap();
            assert!(refused.is_err(), "{taken}");
        }
        // Its own former name is free for it.
        tx.rename_workspace(OPERATOR, &renamed, &shop)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            tx.workspace("shop").await.unwrap().map(|it| it.id),
            Some(id)
        );
        let now = tx.renamed_workspace("store").await.unwrap();
        assert_eq!(now, Some((id, shop)));
    });
}
