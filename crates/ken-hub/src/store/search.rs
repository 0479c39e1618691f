//! Candidate search: by keywords, by embedding similarity, and by a blend of both, in one SQL
//! statement.
//!
//! Computes relevance only; `ken_core::retrieval::ranking` decides which candidates are shown. A
//! search scans the whole workspace: at its size an exact scan is better than any approximate
//! index, and only that workspace's rows are read.

use ken_core::ledger::store::EntryFilter;
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

/// Ranks rows by BM25, with `ts_rank` as term frequency weighted by position. Rare words weigh
/// more, and coverage is the weighted share of the query's words.
///
/// Expects the CTEs `read` (entry, words, length, has_some, cosine, anchored, wanted) and `asked`
/// (ord, query, times), and provides `blended`.
macro_rules! ranked {
    () => {
        ", counted AS (
    SELECT count(*)::float8 AS n, greatest(avg(length), 1)::float8 AS average,
        min(cosine) FILTER (WHERE wanted) AS low, max(cosine) FILTER (WHERE wanted) AS high
    FROM read
), had AS MATERIALIZED (
    SELECT r.entry, a.ord, a.times, r.length,
        1.644934 * ts_rank('{0.5, 0.5, 1, 1}', r.words, a.query)::float8 AS often
    FROM read r JOIN asked a ON r.words @@ a.query
    WHERE r.has_some
), weighed AS (
    SELECT a.ord, ln(1 + (c.n - coalesce(h.n, 0) + 0.5) / (coalesce(h.n, 0) + 0.5)) AS weight
    FROM asked a CROSS JOIN counted c
        LEFT JOIN (SELECT ord, count(*)::float8 AS n FROM had GROUP BY ord) AS h ON h.ord = a.ord
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

/// First part of the workspace query, up to the columns `anchored` and `wanted`. Parameters: `$1`
/// words, `$2` times each occurs, `$3` any of the words, `$4` vector, `$5` model id, `$6`
/// workspace, `$7` weight of the vector similarity, `$8` and `$9` minimum cosine and coverage,
/// `$10` limit.
macro_rules! read {
    () => {
        "WITH asked AS (
    SELECT ord, word::tsquery AS query, times::float8
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (word, times, ord)
), read AS MATERIALIZED (
    SELECT s.entry, s.words, s.length, s.words @@ (SELECT $3::tsquery) AS has_some,
        CASE WHEN s.model = $5 THEN 1 - (s.vector <=> $4::halfvec) END AS cosine"
    };
}

/// Last part of the workspace query, after the `FROM` clause.
macro_rules! best {
    () => {
        concat!(
            "
    WHERE s.live AND s.workspace_id = $6
)",
            ranked!(),
            "
SELECT e.json, keywords, coverage, cosine, relevance, anchored
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
    "PREPARE ken_candidates (text[], integer[], text, halfvec, text, uuid, float8, float8, float8, bigint) AS ",
    read!(),
    ", false AS anchored, true AS wanted FROM ken.searchable s",
    best!()
);

/// Organization query. Workspace and entry id are joined into one name during the ranking, so
/// `ranked` can be shared with the workspace query.
macro_rules! global {
    ($near:literal) => {
        concat!(
    "WITH asked AS (
    SELECT ord, word::tsquery AS query, times::float8
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (word, times, ord)
), found AS MATERIALIZED (
    (SELECT s.workspace_id, s.entry FROM ken.global_entries s
     WHERE s.organization_id = $3 AND s.workspace_id IS DISTINCT FROM $4 AND s.vector IS NOT NULL
     ORDER BY ", $near, " LIMIT $8)
    UNION
    (SELECT s.workspace_id, s.entry FROM ken.global_entries s
     WHERE s.organization_id = $3 AND s.workspace_id IS DISTINCT FROM $4 AND s.words @@ $7::tsquery
     ORDER BY ts_rank(s.words, $7::tsquery) DESC LIMIT $8)
), read AS MATERIALIZED (
    SELECT s.workspace_id::text || ' ' || s.entry AS entry, s.words, s.length, s.words @@ (SELECT $7::tsquery) AS has_some,
        CASE WHEN s.model = $6 THEN 1 - (s.vector <=> $5::halfvec) END AS cosine,
        false AS anchored, true AS wanted
    FROM found f JOIN ken.global_entries s
        ON s.organization_id = $3 AND s.workspace_id = f.workspace_id AND s.entry = f.entry
)",
    ranked!(),
    "
SELECT s.json, keywords, coverage, cosine, relevance, anchored, s.workspace_id
FROM (
    SELECT *, (1 - $9) * by_words + $9 * by_meaning AS relevance FROM blended
    WHERE $10 <= cosine OR $11 <= coverage ORDER BY relevance DESC, entry LIMIT $12
) AS best JOIN ken.global_entries s ON s.organization_id = $3
    AND s.workspace_id = split_part(best.entry, ' ', 1)::uuid AND s.entry = split_part(best.entry, ' ', 2)
ORDER BY relevance DESC, best.entry"
        )
    };
}

/// Uses the HNSW graph over the entries of all organizations.
const GLOBAL: &str = global!("s.vector <=> $5::halfvec");

/// Compares every entry of the organization. Adding 0 to the distance keeps the planner from using
/// the graph.
const GLOBAL_EXACT: &str = global!("0 + (s.vector <=> $5::halfvec)");

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
        // The simple protocol has no parameters, so values are literals; quotes of the lexemes are
        // doubled.
        let quoted = |text: String| text.replace('\'', "''");
        format!(
            "EXECUTE ken_candidates ('{}', '{{{}}}', '{}', {vector}, '{}', '{}', {}, '{}', '{}', {})",
            quoted(self.list()),
            times.join(","),
            quoted(self.any()),
            embedding_model().id,
            workspace.hyphenated(),
            self.blend,
            query.least.cosine,
            query.least.coverage,
            query.limit,
        )
    }

    /// Begins a statement with the parameters of the same query.
    fn begin_statement(
        &self,
        workspace: Uuid,
        query: &StoreQuery<'_>,
    ) -> Result<QueryBuilder<Postgres>, StoreError> {
        let mut values = PgArguments::default();
        let added = [
            values.add(&self.words),
            values.add(&self.times),
            values.add(self.any()),
            values.add(&self.vector),
            values.add(embedding_model().id.as_ref()),
            values.add(workspace),
            values.add(self.blend),
            values.add(query.least.cosine),
            values.add(query.least.coverage),
            values.add(i64::from(query.limit)),
        ];
        for added in added {
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok(QueryBuilder::with_arguments(read!(), values))
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

    /// Returns whether the prepared query can be used: no paths and no filter.
    fn is_plain(&self) -> bool {
        self.paths.is_empty() && *self.filter == EntryFilter::default()
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
        Ok(self
            .begin_with_query(organization, workspace, eager_query)
            .await?)
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
        push_anchored(&mut sql, query.paths);
        // The filter is a column and not a `WHERE` condition: word statistics cover the whole
        // workspace, so the weight of a word does not depend on the filter.
        if *query.filter == EntryFilter::default() {
            sql.push(", true AS wanted FROM ken.searchable s");
        } else {
            sql.push(", (true");
            push_condition(&mut sql, query.filter);
            sql.push(") AS wanted FROM ken.searchable s JOIN ken.entries e ON e.workspace_id = s.workspace_id AND e.id = s.entry");
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
        .bind(query.least.cosine)
        .bind(query.least.coverage)
        .bind(i64::from(query.limit))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| {
        Ok(GlobalCandidate {
            workspace: WorkspaceId(column(row, 6)?),
            candidate: candidate_from_row(row)?,
        })
    };
    rows.iter().map(read).collect()
}

/// Appends the column `anchored`: whether a row is anchored at one of the paths, below it, or at a
/// folder around it.
fn push_anchored(sql: &mut QueryBuilder<Postgres>, paths: &[String]) {
    if paths.is_empty() {
        sql.push(", false AS anchored");
        return;
    }
    let trimmed = paths
        .iter()
        .map(|path| without_nul(path.trim_end_matches('/')));
    let paths: Vec<String> = trimmed.collect();
    let around = paths.iter().flat_map(|path| path_and_ancestors(path));
    let ancestors: Vec<String> = around.map(str::to_owned).collect();
    let below: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
    sql.push(", (s.paths && ").push_bind(ancestors);
    sql.push(" OR EXISTS (SELECT FROM unnest(s.paths) AS u (path), unnest(")
        .push_bind(below);
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
    })
}
