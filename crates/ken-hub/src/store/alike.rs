//! Entries that may say the same as a text, and entries somebody linked as contraries.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::entry::Entry;
use ken_core::event::{Linked, Relation};
use ken_core::id::EntryId;
use sqlx::postgres::PgRow;

use super::read::entry_of;
use super::settle::parse;
use super::{StoreError, column, lexemes};
use crate::database::Tenant;

/// Words of a text that are looked for where it is asked who said it: the longest tell most.
const WORDS_MAX: usize = 24;

/// Links that are read for one answer.
const LINKS_MAX: i64 = 1_000;

impl Tenant {
    /// Returns up to `limit` entries in use and as many that were laid aside whose words are most like those of `text`.
    ///
    /// For whoever asks whether somebody said this before; that nobody may see an entry now does not unsay it.
    pub async fn worded_like(&mut self, text: &str, limit: u32) -> Result<Vec<Entry>, StoreError> {
        let mut words = lexemes::asked(text);
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS_MAX);
        let words: Vec<String> = words.iter().map(|(word, _)| format!("'{word}'")).collect();
        let key = self.key();
        let query = "WITH near AS (
                 (SELECT entry, ts_rank(words, $2::tsquery) AS rank FROM ken.searchable
                  WHERE workspace_id = $1 AND live AND words @@ $2::tsquery ORDER BY 2 DESC, 1 LIMIT $3)
                 UNION ALL
                 (SELECT entry, ts_rank(words, $2::tsquery) AS rank FROM ken.searchable
                  WHERE workspace_id = $1 AND NOT live AND words @@ $2::tsquery ORDER BY 2 DESC, 1 LIMIT $3)
             )
             SELECT e.json FROM near JOIN ken.entries e ON e.workspace_id = $1 AND e.id = near.entry
             ORDER BY near.rank DESC, e.id";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(words.join(" | "))
            .bind(i64::from(limit))
            .fetch_all(self.reading())
            .await?;
        rows.iter().map(entry_of).collect()
    }

    /// Returns the entries somebody linked to each of `ids` as its contrary, in either direction.
    pub async fn contradicting(
        &mut self,
        ids: &[EntryId],
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, StoreError> {
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT e.line FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.line FROM ken.events l
                 WHERE l.workspace_id = $1 AND l.seq = s.seq AND l.type = 'entry.linked' AND NOT l.blanked OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2) ORDER BY s.seq DESC LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .bind(LINKS_MAX)
            .fetch_all(self.reading())
            .await?;
        let mut from = BTreeSet::new();
        for row in &rows {
            from.extend(contrary_from(row)?);
        }
        let from: Vec<EntryId> = from.into_iter().collect();
        let mut against: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
        // A link may have been taken back since: what the entry says counts.
        for entry in self.entries(&from).await? {
            let links = entry.links.iter();
            let contrary = links.filter(|it| it.rel == Relation::Contradicts);
            for to in contrary.map(|it| it.to) {
                against.entry(entry.id).or_default().insert(to);
                against.entry(to).or_default().insert(entry.id);
            }
        }
        against.retain(|id, _| ids.contains(id));
        Ok(against)
    }
}

/// Returns which entry a link to a contrary comes from.
fn contrary_from(row: &PgRow) -> Result<Option<EntryId>, StoreError> {
    let event = parse(column(row, 0)?)?.event;
    let link = event.get::<Linked>();
    let link = link.filter(|it| it.rel == Relation::Contradicts);
    Ok(link.and_then(|it| event.entries().find(|id| *id != it.to)))
}
