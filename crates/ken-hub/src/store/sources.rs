//! Entries of one author or origin, counted by the database.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::source::ContributionSource;
use sqlx::{Postgres, QueryBuilder};

use super::read::entry_from_row;
use super::{StoreError, column};
use crate::database::{WorkspaceTx, without_nul};

/// Numbers of the entries of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceEntryCounts {
    pub all: u64,
    pub live: u64,
    /// Live and verified.
    pub verified: u64,
    /// How often runs were shown them.
    pub showings: u64,
}

/// Number of runs that showed an entry, as SQL on the parsed entry `own.json`.
const SHOWN: &str = "coalesce((own.json #>> '{tallies,shown}')::bigint, 0)";

impl WorkspaceTx {
    /// Counts the entries of a source.
    pub async fn count_source(
        &mut self,
        source: &ContributionSource,
    ) -> Result<SourceEntryCounts, StoreError> {
        let mut query = self.select_source(
            source,
            &format!(
                "SELECT count(*), count(*) FILTER (WHERE own.live),
                     count(*) FILTER (WHERE own.live AND own.status = 'verified'),
                     coalesce(sum({SHOWN}), 0)::bigint"
            ),
        );
        let row = query.build().fetch_one(self.read_connection()).await?;
        let number = |at: usize| Ok::<_, StoreError>(column::<i64>(&row, at)?.unsigned_abs());
        Ok(SourceEntryCounts {
            all: number(0)?,
            live: number(1)?,
            verified: number(2)?,
            showings: number(3)?,
        })
    }

    /// Returns the ids of the entries of a source.
    pub async fn ids_of_source(
        &mut self,
        source: &ContributionSource,
    ) -> Result<BTreeSet<String>, StoreError> {
        let mut query = self.select_source(source, "SELECT own.id");
        let rows = query.build().fetch_all(self.read_connection()).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Returns the live entries of a source that were shown most often.
    pub async fn most_shown_of_source(
        &mut self,
        source: &ContributionSource,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut query = self.select_source(source, "SELECT own.text");
        query.push(format_args!(
            " AND own.live ORDER BY {SHOWN} DESC, own.id LIMIT "
        ));
        query.push_bind(i64::from(limit));
        let rows = query.build().fetch_all(self.read_connection()).await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns a query of the rows `own`: the entries of a source, with their parsed JSON.
    fn select_source(&self, source: &ContributionSource, select: &str) -> QueryBuilder<Postgres> {
        // The text is searched before it is parsed, which is much slower. The fragment ends before
        // the closing quote of a name, because a session follows it.
        let (fragment, name) = match source {
            ContributionSource::Author(author) => {
                let name = without_nul(&author.to_string());
                let quoted = serde_json::Value::from(name.as_str()).to_string();
                let quoted = quoted.trim_end_matches('"');
                (format!("\"by\":{quoted}"), name)
            }
            ContributionSource::Origin(origin) => {
                let name = origin.name().to_owned();
                (format!("\"origin\":\"{name}\""), name)
            }
        };
        let mut query = QueryBuilder::new(
            "WITH own AS MATERIALIZED (SELECT e.id, e.live, e.status, e.json AS text, e.json::jsonb AS json
                 FROM ken.entries e WHERE e.workspace_id = ",
        );
        query.push_bind(self.key());
        query.push(" AND e.worded AND strpos(e.json, ");
        query.push_bind(fragment);
        query.push(") > 0) ").push(select).push(" FROM own WHERE ");
        match source {
            ContributionSource::Author(_) => {
                query
                    .push("(own.json #>> '{created,by}' = ")
                    .push_bind(name.clone());
                query.push(" OR starts_with(own.json #>> '{created,by}', ");
                query.push_bind(format!("{name}/")).push("))");
            }
            ContributionSource::Origin(_) => {
                query
                    .push("own.json #>> '{created,origin}' = ")
                    .push_bind(name);
            }
        }
        query
    }
}
