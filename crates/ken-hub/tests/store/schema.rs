//! Schema rules, checked against PostgreSQL's catalog: the tenant leads every key, so that the
//! schema can be sharded by tenant; forced row policies everywhere; 8 partitions.

use std::collections::BTreeSet;

use crate::environment::StoreTestEnvironment;

/// Tables that belong to an organization or to no tenant, rather than to one workspace.
const TABLES_WITHOUT_WORKSPACE: [&str; 27] = [
    "migrations",
    "instance",
    "compatibility",
    "accounts",
    "people",
    "audit_chains",
    "audit_checkpoints",
    "audit_deliveries",
    "audit_exports",
    "audit_dead_letters",
    "retention",
    "holds",
    "organizations",
    "workspaces",
    "tokens",
    "idempotency",
    "global_entries",
    "former_names",
    "sign_ins",
    "device_grants",
    "publications",
    "publication_batches",
    "publication_lines",
    "peers",
    "peer_lines",
    "peer_entries",
    "peer_observations",
];

/// Tables partitioned by workspace.
const PARTITIONED_TABLES: [&str; 4] = ["events", "subjects", "entries", "searchable"];

const PARTITIONS: usize = 8;

fn query_rows(world: &StoreTestEnvironment, sql: &str) -> Vec<Vec<String>> {
    let text = world.bare.sql(sql);
    let columns = |line: &str| line.split('|').map(str::to_owned).collect();
    text.lines().map(columns).collect()
}

/// Returns every table that is not a partition.
fn all_tables(world: &StoreTestEnvironment) -> BTreeSet<String> {
    let sql = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace
               AND relkind IN ('r', 'p') AND NOT relispartition";
    query_rows(world, sql).into_iter().flatten().collect()
}

fn tenant_tables(world: &StoreTestEnvironment) -> BTreeSet<String> {
    let mut tables = all_tables(world);
    tables.retain(|table| !TABLES_WITHOUT_WORKSPACE.contains(&table.as_str()));
    tables
}

#[test]
fn the_workspace_leads_every_key_index_and_reference_of_a_tenant() {
    let world = StoreTestEnvironment::new();
    let tenants = tenant_tables(&world);
    assert!(tenants.len() >= 12, "{tenants:?}");
    let indexes = "SELECT t.relname, i.relname, a.attname
        FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
        -- A graph has one column; what it finds is compared with the key.
        JOIN pg_am m ON m.oid = i.relam AND m.amname = 'btree'
        WHERE t.relnamespace = 'ken'::regnamespace AND NOT t.relispartition";
    let mut indexed = BTreeSet::new();
    for row in query_rows(&world, indexes) {
        if tenants.contains(&row[0]) {
            assert_eq!(row[2], "workspace_id", "index {} of {}", row[1], row[0]);
            indexed.insert(row[0].clone());
        }
    }
    assert_eq!(indexed, tenants, "every tenant's table has a key");
    let references = "SELECT t.relname, c.conname, a.attname, f.attname
        FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = c.confkey[1]
        WHERE c.contype = 'f' AND t.relnamespace = 'ken'::regnamespace AND NOT t.relispartition";
    let references = query_rows(&world, references);
    assert!(references.iter().any(|row| row[0] == "run_notes"));
    for row in references.iter().filter(|row| tenants.contains(&row[0])) {
        assert_eq!(row[2..], ["workspace_id", "workspace_id"], "{row:?}");
    }
}

/// Every alias of a tenant's table in a statement must be compared with the key or joined by it.
#[test]
fn no_statement_joins_tenants_without_the_key() {
    let mut statements = 0;
    for (name, source) in source_files() {
        for statement in source.split(';').filter(|it| it.contains("JOIN ken.")) {
            for join in statement.split("JOIN ken.").skip(1) {
                let table = join.split_whitespace().next().unwrap_or_default();
                if TABLES_WITHOUT_WORKSPACE.contains(&table) && table != "global_entries" {
                    continue;
                }
                let end = join.find("JOIN ").unwrap_or(join.len());
                let condition = &join[..end];
                assert!(
                    condition.contains("workspace_id = "),
                    "{name}: JOIN ken.{condition}"
                );
                statements += 1;
            }
        }
    }
    assert!(statements >= 5, "only {statements} joins were found");
}

/// Returns every file that may contain a statement.
fn source_files() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("migrations")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for found in std::fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs" || it == "sql") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.display().to_string(), text));
            }
        }
    }
    files
}

#[test]
fn tables_are_divided_by_workspace_and_nothing_else_is() {
    let world = StoreTestEnvironment::new();
    let sql = "SELECT p.relname, count(*), min(a.attname) FROM pg_inherits i
        JOIN pg_class p ON p.oid = i.inhparent JOIN pg_partitioned_table t ON t.partrelid = p.oid
        JOIN pg_attribute a ON a.attrelid = p.oid AND a.attnum = t.partattrs[0] AND t.partstrat = 'h'
        WHERE p.relnamespace = 'ken'::regnamespace AND p.relkind = 'p' GROUP BY 1";
    let found = query_rows(&world, sql);
    let names: BTreeSet<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, BTreeSet::from(PARTITIONED_TABLES));
    for row in found {
        assert_eq!(row[1..], [PARTITIONS.to_string(), "workspace_id".into()]);
    }
}

#[test]
fn every_table_is_seen_through_a_forced_policy_by_a_role_that_owns_nothing() {
    let world = StoreTestEnvironment::new();
    let sql = "SELECT relname, relrowsecurity AND relforcerowsecurity, pg_get_userbyid(relowner) = 'ken_app',
            EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid), relispartition,
            has_table_privilege('ken_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
        FROM pg_class c WHERE relnamespace = 'ken'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'";
    let found = query_rows(&world, sql);
    assert!(found.len() > PARTITIONED_TABLES.len() * PARTITIONS);
    for row in found {
        let is_partition = row[4] == "t";
        assert_eq!(row[1..3], ["t", "f"], "{row:?}");
        // A partition is accessed through its table, never by its own name.
        assert_eq!(row[3] == "t", !is_partition, "{row:?}");
        assert_eq!(row[5] == "t", !is_partition, "{row:?}");
    }
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = 'ken_app'";
    assert_eq!(query_rows(&world, role), [["f", "f", "f"]]);
}
