//! What the tables must look like, read from PostgreSQL's own catalogue: the tenant first in every key, so that the same
//! schema distributes by tenant; forced policies everywhere; 8 partitions.

use std::collections::BTreeSet;

use crate::world::World;

/// Tables that belong to an organisation, or to nobody, and not to one workspace.
const NOT_TENANTS: [&str; 6] = [
    "migrations",
    "organisations",
    "workspaces",
    "tokens",
    "idempotency",
    "global_entries",
];

/// Tables that are divided by workspace.
const DIVIDED: [&str; 4] = ["events", "subjects", "entries", "searchable"];

const PARTITIONS: usize = 8;

fn rows(world: &World, sql: &str) -> Vec<Vec<String>> {
    let text = world.bare.sql(sql);
    let columns = |line: &str| line.split('|').map(str::to_owned).collect();
    text.lines().map(columns).collect()
}

/// Every table that is not a partition.
fn tables(world: &World) -> BTreeSet<String> {
    let sql = "SELECT relname FROM pg_class WHERE relnamespace = 'ken'::regnamespace
               AND relkind IN ('r', 'p') AND NOT relispartition";
    rows(world, sql).into_iter().flatten().collect()
}

fn tenants(world: &World) -> BTreeSet<String> {
    let mut tables = tables(world);
    tables.retain(|table| !NOT_TENANTS.contains(&table.as_str()));
    tables
}

#[test]
fn the_workspace_leads_every_key_index_and_reference_of_a_tenant() {
    let world = World::new();
    let tenants = tenants(&world);
    assert!(12 <= tenants.len(), "{tenants:?}");
    let indexes = "SELECT t.relname, i.relname, a.attname
        FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
        WHERE t.relnamespace = 'ken'::regnamespace AND NOT t.relispartition";
    let mut indexed = BTreeSet::new();
    for row in rows(&world, indexes) {
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
    let references = rows(&world, references);
    assert!(references.iter().any(|row| row[0] == "run_notes"));
    for row in references.iter().filter(|row| tenants.contains(&row[0])) {
        assert_eq!(row[2..], ["workspace_id", "workspace_id"], "{row:?}");
    }
}

/// An alias of a tenant's table in a statement must be compared with the key, or be joined by it.
#[test]
fn no_statement_joins_tenants_without_the_key() {
    let mut statements = 0;
    for (name, source) in sources() {
        for statement in source.split(';').filter(|it| it.contains("JOIN ken.")) {
            for join in statement.split("JOIN ken.").skip(1) {
                let table = join.split_whitespace().next().unwrap_or_default();
                if NOT_TENANTS.contains(&table) && table != "global_entries" {
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
    assert!(5 <= statements, "only {statements} joins were found");
}

/// Every file that may hold a statement.
fn sources() -> Vec<(String, String)> {
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
    let world = World::new();
    let sql = "SELECT p.relname, count(*), min(a.attname) FROM pg_inherits i
        JOIN pg_class p ON p.oid = i.inhparent JOIN pg_partitioned_table t ON t.partrelid = p.oid
        JOIN pg_attribute a ON a.attrelid = p.oid AND a.attnum = t.partattrs[0] AND t.partstrat = 'h'
        WHERE p.relnamespace = 'ken'::regnamespace AND p.relkind = 'p' GROUP BY 1";
    let found = rows(&world, sql);
    let names: BTreeSet<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, BTreeSet::from(DIVIDED));
    for row in found {
        assert_eq!(row[1..], [PARTITIONS.to_string(), "workspace_id".into()]);
    }
}

#[test]
fn every_table_is_seen_through_a_forced_policy_by_a_role_that_owns_nothing() {
    let world = World::new();
    let sql = "SELECT relname, relrowsecurity AND relforcerowsecurity, pg_get_userbyid(relowner) = 'ken_app',
            EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid), relispartition,
            has_table_privilege('ken_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
        FROM pg_class c WHERE relnamespace = 'ken'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'";
    let found = rows(&world, sql);
    assert!(DIVIDED.len() * PARTITIONS < found.len());
    for row in found {
        let is_partition = row[4] == "t";
        assert_eq!(row[1..3], ["t", "f"], "{row:?}");
        // A partition is reached through its table and never by its own name.
        assert_eq!(row[3] == "t", !is_partition, "{row:?}");
        assert_eq!(row[5] == "t", !is_partition, "{row:?}");
    }
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = 'ken_app'";
    assert_eq!(rows(&world, role), [["f", "f", "f"]]);
}
