//! Candidate search: by keywords, by embedding similarity, and by a blend of both, in one SQL
//! statement.
//!
//! Computes relevance only; `ken_core::retrieval::ranking` decides which candidates are shown. A
//! search scans the whole workspace: at its size an exact scan is better than any approximate
//! index, and only that workspace's rows are read.

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::code_names::CodeNames;
use ken_core::retrieval::ranking::{MatchThreshold, SearchCandidate};
use pgvector::HalfVector;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, AssertSqlSafe, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::lexemes;
use super::read::{entry_from_row, push_condition};
use super::rows::{embedding_model, vector_of};
use super::{StoreError, column};
use crate::database::{EagerQuery, HubDatabase, OrganizationTx, WorkspaceTx, without_nul};
use crate::ids::{OrganizationId, WorkspaceId};

/// Maximum number of distinct query words; of more, the rarest are used.
const WORDS_MAX: usize = 48;

/// Maximum weight of a repeated query word.
const TIMES_MAX: usize = 3;

/// Bytes of a query that are embedded; later text adds little.
const QUERY_BYTES_MAX: usize = 16 << 10;

/// Candidates taken from each side (keywords, vectors) of an organization-wide search.
const PER_SIDE: i64 = 200;

/// Entries of an organization up to which all vectors are compared. Beyond that the HNSW graph is
/// faster and misses few.
const EXACT_MAX: i64 = 5_000;

/// Candidates taken from a workspace's graph of vectors; six times as many are taken by words.
const CANDIDATES: i32 = 100;

/// The same for a search with a filter, which removes some of them.
const CANDIDATES_FILTERED: i32 = 500;

/// Entries at the query's paths that are read.
const ANCHORED_MAX: i64 = 1_000;

/// Places of posting lists that are read, rarest word first.
pub(super) const POSTINGS_MAX: i64 = 20_000;

/// Column of the workspace query with the number of entries that were compared one by one.
const FRESH_COLUMN: usize = 6;

/// Ranks rows by BM25, with `ts_rank` as term frequency weighted by position. Rare words weigh
/// more, and coverage is the weighted share of the query's words.
///
/// Expects the CTEs `read` (entry, words, length, has_some, cosine, anchored, wanted, fresh),
/// `asked` (ord, query, times), `indexed` (n, length) and `frequent` (ord, n), and provides
/// `blended`. Statistics of the words are those of the rows that are `fresh`, which are all there
/// are outside the index, and of the index.
macro_rules! ranked {
    () => {
        ", counted AS (
    SELECT i.n + c.n AS n, greatest((i.length + c.length) / nullif(i.n + c.n, 0), 1) AS average, c.low, c.high
    FROM indexed i, (
        SELECT count(*) FILTER (WHERE fresh)::float8 AS n, coalesce(sum(length) FILTER (WHERE fresh), 0)::float8 AS length,
            min(cosine) FILTER (WHERE wanted) AS low, max(cosine) FILTER (WHERE wanted) AS high
        FROM read
    ) AS c
), had AS MATERIALIZED (
    SELECT r.entry, r.fresh, a.ord, a.times, r.length,
        1.644934 * ts_rank('{0.5, 0.5, 1, 1}', r.words, a.query)::float8 AS often
    FROM read r JOIN asked a ON r.words @@ a.query
    WHERE r.has_some
), tally AS (
    SELECT ord, count(*)::float8 AS n FROM had WHERE fresh GROUP BY ord
), weighed AS (
    SELECT a.ord, ln(1 + (c.n - h.n + 0.5) / (h.n + 0.5)) AS weight
    FROM asked a CROSS JOIN counted c LEFT JOIN tally t ON t.ord = a.ord LEFT JOIN frequent f ON f.ord = a.ord
        CROSS JOIN LATERAL (SELECT coalesce(t.n, 0) + coalesce(f.n, 0) AS n) AS h
), worded AS (
    SELECT h.entry,
        sum(w.weight * h.times * h.often * 2.2 / (h.often + 1.2 * (0.25 + 0.75 * h.length / c.average))) AS keywords,
        sum(w.weight) / nullif((SELECT sum(weight) FROM weighed), 0) AS coverage
    FROM had h JOIN weighed w ON w.ord = h.ord CROSS JOIN counted c
    GROUP BY h.entry
), blended AS (
    SELECT r.entry, r.anchored, coalesce(k.keywords, 0) AS keywords, coalesce(k.coverage, 0) AS coverage,
        coalesce(r.cosine, 0) AS cosine,
        coalesce(k.keywords / nullif(max(k.keywords) OVER (), 0), 0) AS by_words,
        coalesce((r.cosine - c.low) / nullif(c.high - c.low, 0), 0) AS by_meaning
    FROM read r CROSS JOIN counted c LEFT JOIN worded k ON k.entry = r.entry
    WHERE r.wanted
)"
    };
}

/// First part of the workspace query, up to the places of the entries at the query's paths.
/// Parameters: `$1` words, `$2` times each occurs, `$3` any of the words, `$4` vector, `$5` model
/// id, `$6` workspace, `$7` weight of the vector similarity, `$8` and `$9` minimum cosine and
/// coverage, `$10` limit, `$11` candidates from the graph, `$12` places read of posting lists.
///
/// Posting lists are read rarest word first; of frequent words only the entries with the highest
/// impact are read. The entry farthest from the vector is a candidate as well, because the scale
/// of the cosines begins with it.
macro_rules! indexed {
    () => {
        "WITH asked AS (
    SELECT ord, trim(word, '''') AS word, word::tsquery AS query, times::float8
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (word, times, ord)
), indexed AS MATERIALIZED (
    SELECT coalesce(sum(entries - stale), 0)::float8 AS n,
        coalesce(sum(length::float8 * (entries - stale) / entries), 0) AS length
    FROM ken.segments WHERE workspace_id = $6
), listed AS MATERIALIZED (
    SELECT a.ord, a.times, p.last, p.entries, p.places, p.impacts, p.top_places, p.top_impacts
    FROM asked a JOIN ken.postings p ON p.workspace_id = $6 AND p.word = a.word
    WHERE 0 < (SELECT n FROM indexed)
), frequent AS MATERIALIZED (
    SELECT l.ord, least(sum(l.entries), i.n)::float8 AS n, ln(1 + (i.n - least(sum(l.entries), i.n) + 0.5)
        / (least(sum(l.entries), i.n) + 0.5)) * max(l.times) AS weight
    FROM listed l CROSS JOIN indexed i GROUP BY l.ord, i.n
), budgeted AS (
    SELECT l.places, l.impacts, l.top_places, l.top_impacts, f.weight, sum(l.entries) OVER (ORDER BY f.n, l.ord, l.last) <= $12 AS whole
    FROM listed l JOIN frequent f ON f.ord = l.ord
), by_words AS (
    SELECT u.place FROM budgeted b CROSS JOIN LATERAL unnest(
        CASE WHEN b.whole THEN b.places ELSE coalesce(b.top_places, b.places) END,
        CASE WHEN b.whole THEN b.impacts ELSE coalesce(b.top_impacts, b.impacts) END) AS u (place, impact)
    GROUP BY u.place ORDER BY sum(b.weight * u.impact) DESC LIMIT 6 * $11
), by_vector AS (
    SELECT n.place FROM ken.near_places($6, $5, $4::halfvec, $11) AS n (place) WHERE 0 < (SELECT n FROM indexed)
    UNION ALL
    SELECT f.place FROM ken.far_place($6, $5, $4::halfvec) AS f (place) WHERE 0 < (SELECT n FROM indexed)
), by_path AS ("
    };
}

/// Part of the workspace query between the places of the query's paths and the columns `anchored`
/// and `wanted`.
macro_rules! read {
    () => {
        "), found AS (
    SELECT place FROM by_words UNION SELECT place FROM by_vector UNION SELECT place FROM by_path
), read AS MATERIALIZED (
    SELECT s.entry, s.words, s.length, s.words @@ (SELECT $3::tsquery) AS has_some,
        CASE WHEN s.model = $5 THEN 1 - (s.vector <=> $4::halfvec) END AS cosine, s.place IS NULL AS fresh"
    };
}

/// Rows of the workspace query: every entry that is not indexed, and the entries found. Each of
/// the latter is looked up: a join might read the whole workspace to find a hundred.
macro_rules! rows {
    () => {
        " FROM (
        SELECT t.* FROM ken.searchable t WHERE t.workspace_id = $6 AND t.live AND t.place IS NULL
        UNION ALL
        SELECT i.* FROM found f CROSS JOIN LATERAL (
            SELECT * FROM ken.searchable p WHERE p.workspace_id = $6 AND p.live AND p.place = f.place OFFSET 0
        ) AS i
    ) AS s"
    };
}

/// Last part of the workspace query, after the `FROM` clause.
macro_rules! best {
    () => {
        concat!(
            "
)",
            ranked!(),
            "
SELECT e.json, keywords, coverage, cosine, relevance, anchored, (SELECT count(*) FROM read WHERE fresh) AS fresh
FROM (
    SELECT *, (1 - $7) * by_words + $7 * by_meaning AS relevance FROM blended
    WHERE anchored OR $8 <= cosine OR $9 <= coverage ORDER BY anchored DESC, relevance DESC, entry LIMIT $10
) AS best JOIN ken.entries e ON e.workspace_id = $6 AND e.id = best.entry
ORDER BY anchored DESC, relevance DESC, entry"
        )
    };
}

/// Prepares the most frequent query on a connection. It is then planned once, and `EXECUTE` can
/// travel in the simple-protocol message that begins the transaction.
const PREPARE: &str = concat!(
    "PREPARE ken_candidates (text[], integer[], text, halfvec, text, uuid, float8, float8, float8, bigint,
    integer, bigint) AS ",
    indexed!(),
    "SELECT NULL::integer AS place WHERE false",
    read!(),
    ", false AS anchored, true AS wanted",
    rows!(),
    best!()
);

/// First part of a query that uses no index of a workspace, so that the rows it reads are all there
/// are.
macro_rules! unindexed {
    () => {
        "WITH asked AS (
    SELECT ord, word::tsquery AS query, times::float8
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (word, times, ord)
), indexed AS (
    SELECT 0::float8 AS n, 0::float8 AS length
), frequent AS (
    SELECT 0::bigint AS ord, 0::float8 AS n WHERE false
)"
    };
}

/// Compares every entry of a workspace, to measure what the index misses. Parameters as in the
/// workspace query, without those of the index.
const EXACT: &str = concat!(
    unindexed!(),
    ", read AS MATERIALIZED (
    SELECT s.entry, s.words, s.length, s.words @@ (SELECT $3::tsquery) AS has_some,
        CASE WHEN s.model = $5 THEN 1 - (s.vector <=> $4::halfvec) END AS cosine, true AS fresh,
        false AS anchored, true AS wanted
    FROM ken.searchable s WHERE s.workspace_id = $6 AND s.live",
    best!()
);

/// Query beyond a workspace: one table of entries for a whole organization. The column that tells
/// whose an entry is and its id are joined into one name during the ranking, so `ranked` can be
/// shared with the workspace query.
macro_rules! beyond_workspace {
    ($table:literal, $owner:literal, $condition:literal, $columns:literal, $near:literal) => {
        concat!(
            unindexed!(),
            ", found AS MATERIALIZED (
    (SELECT s.", $owner, ", s.entry FROM ", $table, " s
     WHERE s.organization_id = $3 AND ", $condition, " AND s.vector IS NOT NULL
     ORDER BY ", $near, " LIMIT $8)
    UNION
    (SELECT s.", $owner, ", s.entry FROM ", $table, " s
     WHERE s.organization_id = $3 AND ", $condition, " AND s.words @@ $7::tsquery
     ORDER BY ts_rank(s.words, $7::tsquery) DESC LIMIT $8)
), read AS MATERIALIZED (
    SELECT s.", $owner, "::text || ' ' || s.entry AS entry, s.words, s.length, s.words @@ (SELECT $7::tsquery) AS has_some,
        CASE WHEN s.model = $6 THEN 1 - (s.vector <=> $5::halfvec) END AS cosine,
        false AS anchored, true AS wanted, true AS fresh
    FROM found f JOIN ", $table, " s
        ON s.organization_id = $3 AND s.", $owner, " = f.", $owner, " AND s.entry = f.entry
)",
            ranked!(),
            "
SELECT s.json, keywords, coverage, cosine, relevance, anchored, s.", $owner, $columns, "
FROM (
    SELECT *, (1 - $9) * by_words + $9 * by_meaning AS relevance FROM blended
    WHERE $10 <= cosine OR $11 <= coverage ORDER BY relevance DESC, entry LIMIT $12
) AS best JOIN ", $table, " s ON s.organization_id = $3
    AND s.", $owner, " = split_part(best.entry, ' ', 1)::uuid AND s.entry = split_part(best.entry, ' ', 2)
ORDER BY relevance DESC, best.entry"
        )
    };
}

/// Entries of other workspaces of the organization; `$4` is the workspace to leave out.
macro_rules! global {
    ($near:literal) => {
        beyond_workspace!(
            "ken.global_entries",
            "workspace_id",
            "s.workspace_id IS DISTINCT FROM $4",
            "",
            $near
        )
    };
}

/// Approved entries of other organizations; `$4` are the peers that may be shown.
macro_rules! foreign {
    ($near:literal) => {
        beyond_workspace!(
            "ken.peer_entries",
            "peer_id",
            "s.peer_id = ANY ($4)",
            ", s.first_seen",
            $near
        )
    };
}

/// Uses the HNSW graph over the entries of all organizations.
const GLOBAL: &str = global!("s.vector <=> $5::halfvec");

/// Compares every entry of the organization. Adding 0 to the distance keeps the planner from using
/// the graph.
const GLOBAL_EXACT: &str = global!("0 + (s.vector <=> $5::halfvec)");

/// As [`GLOBAL`], over the entries of peers.
const FOREIGN: &str = foreign!("s.vector <=> $5::halfvec");

/// As [`GLOBAL_EXACT`], over the entries of peers.
const FOREIGN_EXACT: &str = foreign!("0 + (s.vector <=> $5::halfvec)");

/// Query for candidates.
#[derive(Clone, Copy, Debug)]
pub struct StoreQuery<'a> {
    pub text: &'a str,
    /// Filter on live entries.
    pub filter: &'a EntryFilter,
    /// Files and folders whose entries match regardless of their text.
    pub paths: &'a [String],
    /// Minimum relevance of all other entries.
    pub least: MatchThreshold,
    pub limit: u32,
}

/// A candidate from another workspace of the organization.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalCandidate {
    pub workspace: WorkspaceId,
    pub candidate: SearchCandidate,
}

/// Returns the `tsquery` that matches any word of a text; for measurements.
#[doc(hidden)]
pub fn any_word(text: &str) -> Result<String, StoreError> {
    CompiledQuery::compile(text).map(|asked| asked.any())
}

/// A query in the form of SQL parameters.
struct CompiledQuery {
    /// Quoted lexemes. They consist of letters and digits, so none can end its quotes.
    words: Vec<String>,
    times: Vec<i32>,
    vector: Option<HalfVector>,
    /// Weight of the vector similarity; 0 if the model has no vector for the text.
    blend: f64,
}

impl CompiledQuery {
    fn compile(text: &str) -> Result<Self, StoreError> {
        let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
        let words = lexemes::query_lexemes(text, WORDS_MAX).into_iter();
        let times = |times: usize| i32::try_from(times.min(TIMES_MAX)).unwrap_or(1);
        let quoted = |word: &str| format!("'{word}'");
        let (words, times) = words.map(|(word, n)| (quoted(&word), times(n))).unzip();
        // Without a vector only words count; a zero vector would make all cosines undefined.
        let vector = vector_of(text)?;
        Ok(Self {
            words,
            times,
            blend: if vector.is_some() {
                embedding_model().blend
            } else {
                0.0
            },
            vector,
        })
    }

    /// Returns the `tsquery` that matches any of the words.
    fn any(&self) -> String {
        self.words.join(" | ")
    }

    /// Returns the words as a PostgreSQL array literal.
    fn list(&self) -> String {
        format!("{{{}}}", self.words.join(","))
    }

    /// Returns the `EXECUTE` statement for the prepared query. Words are letters and digits, and
    /// all other values are formatted numbers: none can end its quotes.
    fn execute_sql(&self, workspace: Uuid, query: &StoreQuery<'_>) -> String {
        let times: Vec<String> = self.times.iter().map(ToString::to_string).collect();
        let vector = match &self.vector {
            Some(vector) => {
                let components = vector.as_slice().iter().map(ToString::to_string);
                format!("'[{}]'", components.collect::<Vec<_>>().join(","))
            }
            None => "NULL".to_owned(),
        };
        let (cosine, coverage) = query.loosest();
        // The simple protocol has no parameters, so values are literals; quotes of the lexemes are
        // doubled.
        let quoted = |text: String| text.replace('\'', "''");
        format!(
            "EXECUTE ken_candidates ('{}', '{{{}}}', '{}', {vector}, '{}', '{}', {}, '{}', '{}', {}, \
             {CANDIDATES}, {POSTINGS_MAX})",
            quoted(self.list()),
            times.join(","),
            quoted(self.any()),
            embedding_model().id,
            workspace.hyphenated(),
            self.blend,
            cosine,
            coverage,
            query.limit,
        )
    }

    /// Returns the parameters of the same query, without those of the index.
    fn arguments(
        &self,
        workspace: Uuid,
        query: &StoreQuery<'_>,
    ) -> Result<PgArguments, StoreError> {
        let (cosine, coverage) = query.loosest();
        let mut values = PgArguments::default();
        let added = [
            values.add(&self.words),
            values.add(&self.times),
            values.add(self.any()),
            values.add(&self.vector),
            values.add(embedding_model().id.as_ref()),
            values.add(workspace),
            values.add(self.blend),
            values.add(cosine),
            values.add(coverage),
            values.add(i64::from(query.limit)),
        ];
        for added in added {
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok(values)
    }

    /// Begins a statement with the parameters of the same query.
    fn begin_statement(
        &self,
        workspace: Uuid,
        query: &StoreQuery<'_>,
    ) -> Result<QueryBuilder<Postgres>, StoreError> {
        let mut values = self.arguments(workspace, query)?;
        let added = [values.add(query.candidates_max()), values.add(POSTINGS_MAX)];
        for added in added {
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok(QueryBuilder::with_arguments(indexed!(), values))
    }
}

impl StoreQuery<'_> {
    /// Returns the cost of the query in words: a path or a tag is compared with every entry, as a
    /// word is.
    #[must_use]
    pub fn cost(&self) -> usize {
        let text = &self.text[..self.text.floor_char_boundary(QUERY_BYTES_MAX)];
        let words = lexemes::query_lexemes(text, WORDS_MAX).len();
        words + self.paths.len() + self.filter.tags.len() + self.filter.kinds.len()
    }

    /// Returns the cosine and coverage of which one is enough for the database to return an entry.
    fn loosest(&self) -> (f64, f64) {
        // The database cannot look for names of code, so it must not drop entries by their match.
        if CodeNames::from_text(self.text).is_empty() {
            self.least.loosest()
        } else {
            MatchThreshold::NOTHING.loosest()
        }
    }

    /// Marks a candidate that names code of the query, and returns whether it is relevant.
    fn admits(&self, names: &CodeNames, candidate: &mut SearchCandidate) -> bool {
        candidate.named = names.are_named_by(&candidate.entry);
        candidate.is_relevant(self.least)
    }

    /// Returns whether the prepared query can be used: no paths and no filter.
    fn is_plain(&self) -> bool {
        self.paths.is_empty() && *self.filter == EntryFilter::default()
    }

    /// Returns the number of candidates taken from the graph.
    fn candidates_max(&self) -> i32 {
        if *self.filter == EntryFilter::default() {
            CANDIDATES
        } else {
            CANDIDATES_FILTERED
        }
    }

    /// Returns a key that distinguishes this query from others on the same workspace.
    fn key(&self) -> String {
        format!("{:?} {} {}", self.least, self.limit, self.text)
    }
}

impl HubDatabase {
    /// Begins a transaction for a search. The prepared query travels in the message that begins it,
    /// which saves a round trip.
    pub async fn begin_search(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        query: &StoreQuery<'_>,
    ) -> Result<WorkspaceTx, StoreError> {
        if !query.is_plain() {
            return Ok(self.begin_workspace(organization, workspace).await?);
        }
        let eager_query = EagerQuery {
            key: query.key(),
            sql: CompiledQuery::compile(query.text)?.execute_sql(workspace.0, query),
            prepare: Some(PREPARE),
        };
        let tx = self
            .begin_with_query(organization, workspace, eager_query)
            .await?;
        if let Some(row) = tx.first_eager_row() {
            self.index_if_due(organization, workspace, column(row, FRESH_COLUMN)?);
        }
        Ok(tx)
    }
}

impl WorkspaceTx {
    /// Returns the candidates of the workspace: entries anchored at the query's paths first, then
    /// by relevance.
    pub async fn candidates(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<Vec<SearchCandidate>, StoreError> {
        let rows = self.fetch_candidate_rows(query).await?;
        let mut found = rows
            .iter()
            .map(candidate_from_row)
            .collect::<Result<Vec<_>, _>>()?;
        let names = CodeNames::from_text(query.text);
        found.retain_mut(|it| query.admits(&names, it));
        Ok(found)
    }

    /// Returns the candidates of a search without paths and filter that compares every entry; for
    /// measurements.
    #[doc(hidden)]
    pub async fn exact_candidates(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<Vec<SearchCandidate>, StoreError> {
        let values = CompiledQuery::compile(query.text)?.arguments(self.key(), query)?;
        let rows = sqlx::query_with(EXACT, values)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(candidate_from_row).collect()
    }

    /// Returns the execution plan of the prepared query; for measurements.
    #[doc(hidden)]
    pub async fn explain_candidates(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<String, StoreError> {
        let execute = CompiledQuery::compile(query.text)?.execute_sql(self.key(), query);
        let explain = sqlx::raw_sql(AssertSqlSafe(format!(
            "EXPLAIN (ANALYZE, BUFFERS) {execute}"
        )));
        let rows = explain
            .fetch_all(self.prepared_connection(PREPARE).await?)
            .await?;
        let lines: Result<Vec<String>, StoreError> =
            rows.iter().map(|row| column(row, 0)).collect();
        Ok(lines?.join("\n"))
    }

    async fn fetch_candidate_rows(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let key = self.key();
        if query.is_plain() {
            if let Some(rows) = self.take_eager_rows(&query.key()) {
                return Ok(rows);
            }
            let execute = CompiledQuery::compile(query.text)?.execute_sql(key, query);
            let statement = sqlx::raw_sql(AssertSqlSafe(execute));
            return Ok(statement
                .fetch_all(self.prepared_connection(PREPARE).await?)
                .await?);
        }
        let mut sql = CompiledQuery::compile(query.text)?.begin_statement(key, query)?;
        push_path_places(&mut sql, key, query.paths);
        sql.push(read!());
        push_anchored(&mut sql, query.paths);
        // The filter is a column and not a `WHERE` condition: word statistics cover the whole
        // workspace, so the weight of a word does not depend on the filter.
        if *query.filter == EntryFilter::default() {
            sql.push(concat!(", true AS wanted", rows!()));
        } else {
            sql.push(", (true");
            push_condition(&mut sql, query.filter);
            sql.push(concat!(
                ") AS wanted",
                rows!(),
                " JOIN ken.entries e ON e.workspace_id = s.workspace_id AND e.id = s.entry"
            ));
        }
        sql.push(best!());
        Ok(sql.build().fetch_all(self.read_connection()).await?)
    }

    /// Returns candidates from other workspaces of the organization, best first.
    ///
    /// Only the text, `least` and `limit` of the query apply: published entries carry no paths and
    /// no columns to filter by.
    pub async fn global_candidates(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<Vec<GlobalCandidate>, StoreError> {
        let (organization, own) = (self.organization(), Some(self.key()));
        search_published(self.read_connection(), organization, own, query).await
    }
}

impl OrganizationTx {
    /// Returns candidates from all workspaces of the organization, best first.
    pub async fn global_candidates(
        &mut self,
        query: &StoreQuery<'_>,
    ) -> Result<Vec<GlobalCandidate>, StoreError> {
        let organization = self.id();
        search_published(self.connection(), organization, None, query).await
    }
}

/// Queries the published entries of an organization: nearest vectors from the graph, best keywords
/// from the index, then ranks both like a workspace search, with word statistics over the entries
/// found.
async fn search_published(
    connection: &mut PgConnection,
    organization: OrganizationId,
    excluded: Option<Uuid>,
    query: &StoreQuery<'_>,
) -> Result<Vec<GlobalCandidate>, StoreError> {
    let compiled = CompiledQuery::compile(query.text)?;
    let (cosine, coverage) = query.loosest();
    // The graph contains the entries of every organization. A small organization's entries are rare
    // in it and might be missed, so they are all compared.
    let count = "SELECT count(*) <= $2 FROM (
        SELECT FROM ken.global_entries WHERE organization_id = $1 LIMIT $2 + 1) AS counted";
    let row = sqlx::query(count)
        .bind(organization.0)
        .bind(EXACT_MAX)
        .fetch_one(&mut *connection)
        .await?;
    let sql = if column(&row, 0)? {
        GLOBAL_EXACT
    } else {
        GLOBAL
    };
    let rows = sqlx::query(sql)
        .bind(&compiled.words)
        .bind(&compiled.times)
        .bind(organization.0)
        .bind(excluded)
        .bind(&compiled.vector)
        .bind(embedding_model().id.as_ref())
        .bind(compiled.any())
        .bind(PER_SIDE)
        .bind(compiled.blend)
        .bind(cosine)
        .bind(coverage)
        .bind(i64::from(query.limit))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| {
        Ok(GlobalCandidate {
            workspace: WorkspaceId(column(row, 6)?),
            candidate: candidate_from_row(row)?,
        })
    };
    let mut found = rows
        .iter()
        .map(read)
        .collect::<Result<Vec<GlobalCandidate>, StoreError>>()?;
    let names = CodeNames::from_text(query.text);
    found.retain_mut(|it| query.admits(&names, &mut it.candidate));
    Ok(found)
}

/// A row of a search in the entries of peers.
pub(super) struct PeerSearchRow {
    pub(super) peer: Uuid,
    pub(super) first_seen: String,
    pub(super) candidate: SearchCandidate,
}

/// Queries the approved entries of peers, ranked like those of the organization.
pub(super) async fn search_peers(
    connection: &mut PgConnection,
    organization: OrganizationId,
    peers: &[Uuid],
    query: &StoreQuery<'_>,
) -> Result<Vec<PeerSearchRow>, StoreError> {
    let compiled = CompiledQuery::compile(query.text)?;
    let (cosine, coverage) = query.loosest();
    let count = "SELECT count(*) <= $2 FROM (
        SELECT FROM ken.peer_entries WHERE organization_id = $1 LIMIT $2 + 1) AS counted";
    let row = sqlx::query(count)
        .bind(organization.0)
        .bind(EXACT_MAX)
        .fetch_one(&mut *connection)
        .await?;
    let sql = if column(&row, 0)? {
        FOREIGN_EXACT
    } else {
        FOREIGN
    };
    let rows = sqlx::query(sql)
        .bind(&compiled.words)
        .bind(&compiled.times)
        .bind(organization.0)
        .bind(peers)
        .bind(&compiled.vector)
        .bind(embedding_model().id.as_ref())
        .bind(compiled.any())
        .bind(PER_SIDE)
        .bind(compiled.blend)
        .bind(cosine)
        .bind(coverage)
        .bind(i64::from(query.limit))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| {
        Ok(PeerSearchRow {
            peer: column(row, 6)?,
            first_seen: column(row, 7)?,
            candidate: candidate_from_row(row)?,
        })
    };
    let mut found = rows
        .iter()
        .map(read)
        .collect::<Result<Vec<PeerSearchRow>, StoreError>>()?;
    let names = CodeNames::from_text(query.text);
    found.retain_mut(|it| query.admits(&names, &mut it.candidate));
    Ok(found)
}

/// A query's paths, in the forms they are compared in.
struct PathForms {
    /// The paths and the folders around them.
    ancestors: Vec<String>,
    /// The paths as folders.
    folders: Vec<String>,
}

impl PathForms {
    fn new(paths: &[String]) -> Self {
        let trimmed = paths
            .iter()
            .map(|path| without_nul(path.trim_end_matches('/')));
        let paths: Vec<String> = trimmed.collect();
        let around = paths.iter().flat_map(|path| path_and_ancestors(path));
        Self {
            ancestors: around.map(str::to_owned).collect(),
            folders: paths.iter().map(|path| format!("{path}/")).collect(),
        }
    }
}

/// Appends the query for the places of indexed entries at one of the paths, below it, or at a
/// folder around it.
fn push_path_places(sql: &mut QueryBuilder<Postgres>, workspace: Uuid, paths: &[String]) {
    let PathForms {
        mut ancestors,
        folders,
    } = PathForms::new(paths);
    // `ken.path_keys` of an entry contains its path, and the folders around it with a slash.
    ancestors.extend(folders);
    sql.push("SELECT place FROM ken.path_places WHERE workspace_id = ")
        .push_bind(workspace);
    sql.push(" AND key = ANY (").push_bind(ancestors);
    sql.push(") LIMIT ").push_bind(ANCHORED_MAX);
}

/// Appends the column `anchored`: whether a row is anchored at one of the paths, below it, or at a
/// folder around it.
fn push_anchored(sql: &mut QueryBuilder<Postgres>, paths: &[String]) {
    if paths.is_empty() {
        sql.push(", false AS anchored");
        return;
    }
    let PathForms { ancestors, folders } = PathForms::new(paths);
    sql.push(", (s.paths && ").push_bind(ancestors);
    sql.push(" OR EXISTS (SELECT FROM unnest(s.paths) AS u (path), unnest(")
        .push_bind(folders);
    sql.push(") AS f (folder) WHERE starts_with(path, folder))) AS anchored");
}

/// Returns `path` and its ancestor folders, nearest first.
fn path_and_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0))
}

fn candidate_from_row(row: &PgRow) -> Result<SearchCandidate, StoreError> {
    Ok(SearchCandidate {
        entry: entry_from_row(row)?,
        keywords: column(row, 1)?,
        coverage: column(row, 2)?,
        cosine: column(row, 3)?,
        relevance: column(row, 4)?,
        anchored: column(row, 5)?,
        named: false,
    })
}
