//! Number of entries per property, for lists that are filtered.

use ken_core::ledger::page::FacetCount;
use ken_core::ledger::store::EntryFilter;
use sqlx::QueryBuilder;

use super::quarantine::QUARANTINED;
use super::read::push_condition;
use super::{StoreError, column};
use crate::database::WorkspaceTx;

/// Maximum values per property, those with the most entries first.
const VALUES_MAX: i64 = 30;

/// Entries that match a filter, by property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFacets {
    pub total: u64,
    pub kinds: Vec<FacetCount>,
    pub statuses: Vec<FacetCount>,
    pub tags: Vec<FacetCount>,
}

/// Whether quarantined entries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineVisibility {
    /// For callers below curator: a count would reveal tags and kinds of hidden entries.
    Hidden,
    Shown,
}

impl WorkspaceTx {
    /// Counts the entries that match `filter`, by property.
    pub async fn facet_counts(
        &mut self,
        filter: &EntryFilter,
        quarantined: QuarantineVisibility,
    ) -> Result<EntryFacets, StoreError> {
        let tags = "CROSS JOIN LATERAL unnest(e.tags) AS has (tag)";
        let select = (filter, quarantined);
        let statuses = self.count_by("e.status", "", select).await?;
        Ok(EntryFacets {
            total: statuses.iter().map(|it| u64::from(it.entries)).sum(),
            kinds: self.count_by("e.kind", "", select).await?,
            tags: self.count_by("tag", tags, select).await?,
            statuses,
        })
    }

    async fn count_by(
        &mut self,
        value: &'static str,
        join: &'static str,
        (filter, quarantined): (&EntryFilter, QuarantineVisibility),
    ) -> Result<Vec<FacetCount>, StoreError> {
        let mut query = QueryBuilder::new(format!(
            "SELECT {value}, count(*) FROM ken.entries e {join} WHERE {value} IS NOT NULL AND e.workspace_id = "
        ));
        query.push_bind(self.key());
        push_condition(&mut query, filter);
        match quarantined {
            QuarantineVisibility::Shown => {}
            // A live entry is not quarantined, so its JSON is not parsed.
            QuarantineVisibility::Hidden => {
                query.push(format_args!(" AND (e.live OR NOT {QUARANTINED})"));
            }
        }
        query.push(" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ");
        query.push_bind(VALUES_MAX);
        let rows = query.build().fetch_all(self.read_connection()).await?;
        let read = |row| {
            let entries: i64 = column(row, 1)?;
            Ok(FacetCount {
                value: column(row, 0)?,
                entries: u32::try_from(entries).unwrap_or(u32::MAX),
            })
        };
        rows.iter().map(read).collect()
    }
}
