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

/// Words of a text that are looked for, the longest.
const WORDS_MAX: usize = 24;

/// Entries laid aside that are compared with a text, those that changed last. There is little of it, and it is in no index
/// of words.
const ASIDE_MAX: i64 = 500;

/// Links that are read for one answer.
const LINKS_MAX: i64 = 1_000;

impl Tenant {
    /// Returns up to `limit` entries in use and as many laid aside with the most words in common with `text`.
    pub async fn worded_like(&mut self, text: &str, limit: u32) -> Result<Vec<Entry>, StoreError> {
        let mut words: Vec<String> = lexemes::asked(text).into_iter().map(|it| it.0).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS_MAX);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        // They are letters and digits, so none can end the quotes it stands in.
        let any: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let key = self.key();
        let query = "SELECT e.json FROM (
                 SELECT s.entry, ts_rank(s.words, $2::tsquery) AS rank FROM ken.searchable s
                 WHERE s.workspace_id = $1 AND s.words @@ $2::tsquery ORDER BY rank DESC, s.entry LIMIT $3
             ) AS near JOIN ken.entries e ON e.workspace_id = $1 AND e.id = near.entry ORDER BY rank DESC, near.entry";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(any.join(" | "))
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        let near = rows.iter().map(entry_of);
        let mut near = near.collect::<Result<Vec<Entry>, _>>()?;
        near.extend(self.aside(&words, limit).await?);
        Ok(near)
    }

    /// Returns the entries laid aside with the most of `words`.
    async fn aside(&mut self, words: &[String], limit: u32) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let query = "SELECT json FROM ken.entries
             WHERE workspace_id = $1 AND worded AND NOT live ORDER BY updated DESC, id LIMIT $2";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(ASIDE_MAX)
            .fetch_all(self.connection())
            .await?;
        let mut aside = Vec::new();
        for row in &rows {
            let entry = entry_of(row)?;
            let own: BTreeSet<String> = lexemes::asked(entry.said())
                .into_iter()
                .map(|it| it.0)
                .collect();
            let common = words.iter().filter(|word| own.contains(*word)).count();
            if 0 < common {
                aside.push((common, entry));
            }
        }
        aside.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.id.cmp(&other.id)));
        aside.truncate(limit as usize);
        Ok(aside.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Returns the entries somebody linked to each of `ids` as its contrary, in either direction.
    pub async fn contradicting(
        &mut self,
        ids: &[EntryId],
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, StoreError> {
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT e.line FROM ken.subjects s
             JOIN ken.events e ON e.workspace_id = s.workspace_id AND e.seq = s.seq
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2) AND e.type = 'entry.linked' AND NOT e.blanked
             ORDER BY e.seq DESC LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .bind(LINKS_MAX)
            .fetch_all(self.connection())
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
