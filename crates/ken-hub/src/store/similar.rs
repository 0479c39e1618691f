//! Entries similar to a text, and entries linked as contradicting.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Linked, Relation};
use ken_core::values::id::EntryId;
use sqlx::postgres::PgRow;

use super::copies::parse;
use super::read::entry_from_row;
use super::search::POSTINGS_MAX;
use super::{StoreError, column, lexemes};
use crate::database::WorkspaceTx;

/// Maximum number of words searched for; the longest are the most distinctive.
const WORDS_MAX: usize = 24;

/// Maximum number of links read per query.
const LINKS_MAX: i64 = 1_000;

/// Indexed entries that are compared: those with the most of the words.
const PLACES_MAX: i64 = 500;

/// Compares the entries that are not indexed, and of the others those that posting lists name.
const SIMILAR: &str = "WITH listed AS (
    SELECT p.places, p.top_places, sum(p.entries) OVER (ORDER BY p.entries, p.word, p.last) <= $5 AS whole
    FROM unnest($4::text[]) AS asked (word) JOIN ken.postings p ON p.workspace_id = $1 AND p.word = asked.word
), found AS (
    SELECT u.place FROM listed l CROSS JOIN LATERAL unnest(
        CASE WHEN l.whole THEN l.places ELSE coalesce(l.top_places, l.places) END) AS u (place)
    GROUP BY u.place ORDER BY count(*) DESC, u.place LIMIT $6
), live AS (
    SELECT entry, words FROM ken.searchable WHERE workspace_id = $1 AND live AND place IS NULL
    UNION ALL
    SELECT i.entry, i.words FROM found f CROSS JOIN LATERAL (
        SELECT * FROM ken.searchable p WHERE p.workspace_id = $1 AND p.live AND p.place = f.place OFFSET 0
    ) AS i
), near AS (
    (SELECT entry, ts_rank(words, $2::tsquery) AS rank FROM live WHERE words @@ $2::tsquery ORDER BY 2 DESC, 1 LIMIT $3)
    UNION ALL
    (SELECT entry, ts_rank(words, $2::tsquery) AS rank FROM ken.searchable
     WHERE workspace_id = $1 AND NOT live AND words @@ $2::tsquery ORDER BY 2 DESC, 1 LIMIT $3)
)
SELECT e.json FROM near JOIN ken.entries e ON e.workspace_id = $1 AND e.id = near.entry
ORDER BY near.rank DESC, e.id";

impl WorkspaceTx {
    /// Returns up to `limit` live entries, and as many that are not live, whose words are most
    /// similar to `text`.
    ///
    /// Used to detect repeated claims: an archived or quarantined entry still counts as the same
    /// claim.
    pub async fn similar_entries(
        &mut self,
        text: &str,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut words = lexemes::query_lexemes(text, usize::MAX);
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS_MAX);
        let words: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
        let any: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let key = self.key();
        let rows = sqlx::query(SIMILAR)
            .bind(key)
            .bind(any.join(" | "))
            .bind(i64::from(limit))
            .bind(words)
            .bind(POSTINGS_MAX)
            .bind(PLACES_MAX)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns the entries linked to each of `ids` as contradicting, in either direction.
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
            .fetch_all(self.read_connection())
            .await?;
        let mut sources = BTreeSet::new();
        for row in &rows {
            sources.extend(contrary_from(row)?);
        }
        let sources: Vec<EntryId> = sources.into_iter().collect();
        let mut against: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
        // The events only show where links were created. A link may have been removed since, so the
        // folded entries decide.
        for entry in self.entries(&sources).await? {
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

/// Returns the source entry of a link that marks a contradiction.
fn contrary_from(row: &PgRow) -> Result<Option<EntryId>, StoreError> {
    let event = parse(column(row, 0)?)?.event;
    let link = event.get::<Linked>();
    let link = link.filter(|it| it.rel == Relation::Contradicts);
    Ok(link.and_then(|it| event.entries().find(|id| *id != it.to)))
}
