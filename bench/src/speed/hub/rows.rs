//! Rows as the server sends them, to be put into the same tables of another database without
//! knowing what they mean.
//!
//! The bare side of `ken-bench hub`: multi-row `INSERT … VALUES` of exactly the rows that an append
//! made, every value already computed and in the server's own binary form, nothing asked before and
//! nothing checked.

use std::fmt::Write as _;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo};
use sqlx::{
    AssertSqlSafe, Column as _, Encode, Executor as _, PgConnection, Postgres, Row as _, Type,
    ValueRef as _,
};
use uuid::Uuid;

/// Parameters one statement may have.
const PARAMETERS_MAX: usize = 65_535;

/// A value in the server's own form.
#[derive(Clone, Debug)]
struct Raw {
    bytes: Option<Vec<u8>>,
    is: PgTypeInfo,
}

/// Rows of one table.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    table: String,
    columns: Vec<String>,
    rows: Vec<Vec<Raw>>,
}

impl Type<Postgres> for Raw {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("unknown")
    }

    fn compatible(_: &PgTypeInfo) -> bool {
        true
    }
}

impl Encode<'_, Postgres> for Raw {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Some(bytes) = &self.bytes else {
            return Ok(IsNull::Yes);
        };
        buffer.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.is.clone())
    }
}

/// Returns the tables of schema `ken` whose rows belong to a workspace, without the parts they are
/// partitioned into.
pub(crate) async fn tables(db: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid \
         where c.relnamespace = 'ken'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition \
         and a.attname = 'workspace_id' order by 1",
    )
    .fetch_all(db)
    .await
}

impl Rows {
    /// Fetches what a workspace has in a table.
    pub(crate) async fn fetch(
        db: &mut PgConnection,
        table: &str,
        workspace: Uuid,
    ) -> Result<Self, sqlx::Error> {
        // A generated column is computed again by whoever inserts.
        let columns: Vec<String> = sqlx::query_scalar(
            "select attname::text from pg_attribute where attrelid = $1::regclass and 0 < attnum and not attisdropped \
             and attgenerated = '' order by attnum",
        )
        .bind(format!("ken.{table}"))
        .fetch_all(&mut *db)
        .await?;
        let select = format!(
            "select {} from ken.{table} where workspace_id = $1",
            columns.join(", ")
        );
        let found = sqlx::query(AssertSqlSafe(select))
            .bind(workspace)
            .fetch_all(db)
            .await?;
        let raw = |row: &sqlx::postgres::PgRow| {
            let value = |column: &sqlx::postgres::PgColumn| {
                let value = row.try_get_raw(column.ordinal())?;
                let bytes = (!value.is_null()).then(|| value.as_bytes().map(<[u8]>::to_vec));
                Ok(Raw {
                    bytes: bytes.transpose().map_err(sqlx::Error::Decode)?,
                    is: column.type_info().clone(),
                })
            };
            row.columns()
                .iter()
                .map(value)
                .collect::<Result<Vec<_>, sqlx::Error>>()
        };
        let rows = found.iter().map(raw).collect::<Result<_, _>>()?;
        Ok(Self {
            table: table.to_owned(),
            columns,
            rows,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the share of one of `parts` equal transactions.
    pub(crate) fn part(&self, part: usize, parts: usize) -> Self {
        let (from, to) = (
            self.rows.len() * part / parts,
            self.rows.len() * (part + 1) / parts,
        );
        Self {
            rows: self.rows[from..to].to_vec(),
            ..self.clone()
        }
    }

    /// Inserts all with as few statements as there may be.
    pub(crate) async fn insert(&self, db: &mut PgConnection) -> Result<(), sqlx::Error> {
        for rows in self.rows.chunks(PARAMETERS_MAX / self.columns.len().max(1)) {
            let statement = self.statement(rows.len());
            let mut query = sqlx::query(AssertSqlSafe(statement));
            for value in rows.iter().flatten() {
                query = query.bind(value);
            }
            db.execute(query).await?;
        }
        Ok(())
    }

    fn statement(&self, rows: usize) -> String {
        let mut text = format!(
            "insert into ken.{} ({}) values ",
            self.table,
            self.columns.join(", ")
        );
        let width = self.columns.len();
        for row in 0..rows {
            text.push_str(if row == 0 { "(" } else { ", (" });
            for column in 0..width {
                let comma = if column == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}${}", row * width + column + 1);
            }
            text.push(')');
        }
        text
    }
}
