//! Tables and columns of a hub's database, as its catalog lists them.

use sqlx::{PgConnection, Row as _};

use super::archive::TableHeader;
use super::{BackupError, DERIVED_TABLES};

/// Returns the tables that a backup contains, each after the tables it refers to.
///
/// From the catalog, so a table that a migration adds is backed up without a change here.
pub(super) async fn backed_up_tables(
    connection: &mut PgConnection,
) -> Result<Vec<TableHeader>, BackupError> {
    let query = "SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'ken'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
             AND 0 < a.attnum AND NOT a.attisdropped AND a.attgenerated = ''
         GROUP BY c.relname ORDER BY c.relname";
    let rows = sqlx::query(query).fetch_all(&mut *connection).await?;
    let mut tables = Vec::new();
    for row in rows {
        let (table, columns): (String, Vec<String>) = (row.try_get(0)?, row.try_get(1)?);
        if !DERIVED_TABLES.contains(&table.as_str()) {
            tables.push(TableHeader { table, columns });
        }
    }
    let query = "SELECT f.relname::text, t.relname::text FROM pg_constraint c
         JOIN pg_class f ON f.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid
         WHERE c.contype = 'f' AND f.relnamespace = 'ken'::regnamespace AND c.conrelid <> c.confrelid";
    let references: Vec<(String, String)> = sqlx::query_as(query).fetch_all(connection).await?;
    Ok(in_order(tables, &references))
}

/// Sorts tables so that each comes after those it refers to.
fn in_order(mut tables: Vec<TableHeader>, references: &[(String, String)]) -> Vec<TableHeader> {
    let mut sorted: Vec<TableHeader> = Vec::new();
    while !tables.is_empty() {
        let waits = |table: &TableHeader| {
            let mut needed = references.iter().filter(|(from, _)| *from == table.table);
            needed.any(|(_, to)| tables.iter().any(|it| it.table == *to))
        };
        // A cycle has no order; then the next one by name is as good as any.
        let next = tables.iter().position(|it| !waits(it)).unwrap_or(0);
        sorted.push(tables.remove(next));
    }
    sorted
}

/// Returns an identifier as SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a list of columns as SQL.
pub(super) fn quoted_columns(table: &TableHeader) -> String {
    let columns = table.columns.iter().map(|it| quoted(it));
    columns.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_after_those_it_refers_to() {
        let table = |name: &str| TableHeader {
            table: name.to_owned(),
            columns: Vec::new(),
        };
        let names = ["audit", "organizations", "tokens", "workspaces"];
        let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        let references = [
            pair("audit", "workspaces"),
            pair("workspaces", "organizations"),
        ];
        let sorted = in_order(names.map(table).into(), &references);
        let sorted: Vec<&str> = sorted.iter().map(|it| it.table.as_str()).collect();
        assert_eq!(sorted, ["organizations", "tokens", "workspaces", "audit"]);
        let cycle = [pair("audit", "tokens"), pair("tokens", "audit")];
        assert_eq!(in_order(names.map(table).into(), &cycle).len(), 4);
    }
}
