//! Entries that may answer a question: by their words, by what they mean, and both together, in one statement.
//!
//! Says how well a text answers and nothing else; which of them are shown is decided with `ken_core::answer`. A workspace
//! is read whole: at its size exact beats any index, and no other workspace's rows are near.

use ken_core::answer::{Candidate, Least};
use ken_core::store::Filter;
use pgvector::HalfVector;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, AssertSqlSafe, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::lexemes;
use super::read::{entry_of, push_condition};
use super::rows::{model, vector_of};
use super::{StoreError, column};
use crate::database::{Asking, Database, OrganisationTx, Tenant, without_nul};
use crate::identity::{OrganisationId, WorkspaceId};

/// Words of a query that count.
const WORDS_MAX: usize = 48;

/// How often a repeated word counts at most.
const TIMES_MAX: usize = 3;

/// Bytes of a query whose meaning is looked for; what comes later says little more.
const QUERY_BYTES_MAX: usize = 16 << 10;

/// Entries taken from each side of an organisation-wide search.
const PER_SIDE: i64 = 200;

/// Entries of an organisation that are all compared; from there on the graph is quicker and misses hardly any.
const EXACT_MAX: i64 = 5_000;

/// How two lists of words are compared, with `read` (entry, words, length, has_some, cosine, anchored, wanted) and `asked` (ord,
/// query, times) in front and `$blend` behind: BM25, with `ts_rank` for how often and where a word stands. A word tells the
/// more, the fewer entries have it; what part of the query an entry covers is counted by that.
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

/// The question to a workspace up to what a row is about: `$1` words and `$2` how often each is asked for, `$3` any of them,
/// `$4` the vector and `$5` its model, `$6` the workspace, `$7` what meaning counts, `$8` and `$9` how well others answer, `$10` how many.
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

/// The rest of it, behind what a row is about, whether it is wanted, and where it is from.
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

/// Makes the question that is asked most ready on a connection, so that it can be asked with the message that enters a
/// workspace and is planned once.
pub(crate) const PREPARE: &str = concat!(
    "PREPARE ken_candidates (text[], integer[], text, halfvec, text, uuid, float8, float8, float8, bigint) AS ",
    read!(),
    ", false AS anchored, true AS wanted FROM ken.searchable s",
    best!()
);

/// The whole question to an organisation. Both keys of an entry are one name while entries are compared, so that what
/// compares them need not know that they come from several workspaces.
macro_rules! global {
    ($near:literal) => {
        concat!(
    "WITH asked AS (
    SELECT ord, word::tsquery AS query, times::float8
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (word, times, ord)
), found AS MATERIALIZED (
    (SELECT s.workspace_id, s.entry FROM ken.global_entries s
     WHERE s.organisation_id = $3 AND s.workspace_id IS DISTINCT FROM $4 AND s.vector IS NOT NULL
     ORDER BY ", $near, " LIMIT $8)
    UNION
    (SELECT s.workspace_id, s.entry FROM ken.global_entries s
     WHERE s.organisation_id = $3 AND s.workspace_id IS DISTINCT FROM $4 AND s.words @@ $7::tsquery
     ORDER BY ts_rank(s.words, $7::tsquery) DESC LIMIT $8)
), read AS MATERIALIZED (
    SELECT s.workspace_id::text || ' ' || s.entry AS entry, s.words, s.length, s.words @@ (SELECT $7::tsquery) AS has_some,
        CASE WHEN s.model = $6 THEN 1 - (s.vector <=> $5::halfvec) END AS cosine,
        false AS anchored, true AS wanted
    FROM found f JOIN ken.global_entries s
        ON s.organisation_id = $3 AND s.workspace_id = f.workspace_id AND s.entry = f.entry
)",
    ranked!(),
    "
SELECT s.json, keywords, coverage, cosine, relevance, anchored, s.workspace_id
FROM (
    SELECT *, (1 - $9) * by_words + $9 * by_meaning AS relevance FROM blended
    WHERE $10 <= cosine OR $11 <= coverage ORDER BY relevance DESC, entry LIMIT $12
) AS best JOIN ken.global_entries s ON s.organisation_id = $3
    AND s.workspace_id = split_part(best.entry, ' ', 1)::uuid AND s.entry = split_part(best.entry, ' ', 2)
ORDER BY relevance DESC, best.entry"
        )
    };
}

/// Walks the graph of all organisations' entries.
const GLOBAL: &str = global!("s.vector <=> $5::halfvec");

/// Compares every entry of the organisation: what the graph cannot help with is written so that it does not.
const GLOBAL_EXACT: &str = global!("0 + (s.vector <=> $5::halfvec)");

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub text: &'a str,
    /// Which live entries count.
    pub filter: &'a Filter,
    /// Files and folders whose entries answer whatever they say.
    pub paths: &'a [String],
    /// How well others must answer.
    pub least: Least,
    pub limit: u32,
}

/// An entry of the organisation that may answer, and the workspace it was learnt in.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    pub workspace: WorkspaceId,
    pub candidate: Candidate,
}

/// Returns what a text asks of a full-text index, any of its words; for measurements.
#[doc(hidden)]
pub fn any_word(text: &str) -> Result<String, StoreError> {
    Asked::new(text).map(|asked| asked.any())
}

/// A question as the database is asked it.
struct Asked {
    /// Each in quotes. They are letters and digits, so none of them can end the quotes it stands in.
    words: Vec<String>,
    times: Vec<i32>,
    vector: Option<HalfVector>,
    /// What meaning counts beside words; nothing where the question means nothing to the model.
    blend: f64,
}

impl Asked {
    fn new(text: &str) -> Result<Self, StoreError> {
        let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
        let words = lexemes::asked(text).into_iter().take(WORDS_MAX);
        let times = |times: usize| i32::try_from(times.min(TIMES_MAX)).unwrap_or(1);
        let quoted = |word: &str| format!("'{word}'");
        let (words, times) = words.map(|(word, n)| (quoted(&word), times(n))).unzip();
        let vector = vector_of(text)?;
        Ok(Self {
            words,
            times,
            blend: if vector.is_some() { model().blend } else { 0.0 },
            vector,
        })
    }

    /// Returns what an entry has that has any of the words.
    fn any(&self) -> String {
        self.words.join(" | ")
    }

    /// Returns the words as the server reads a list of texts.
    fn list(&self) -> String {
        format!("{{{}}}", self.words.join(","))
    }

    /// Writes the question that stands ready on a connection. Words are letters and digits, all else is printed from numbers:
    /// nothing in it can end the quotes it is in.
    fn question(&self, workspace: Uuid, query: &Query<'_>) -> String {
        let times: Vec<String> = self.times.iter().map(ToString::to_string).collect();
        let vector = match &self.vector {
            Some(vector) => {
                let components = vector.as_slice().iter().map(ToString::to_string);
                format!("'[{}]'", components.collect::<Vec<_>>().join(","))
            }
            None => "NULL".to_owned(),
        };
        let quoted = |text: String| text.replace('\'', "''");
        format!(
            "EXECUTE ken_candidates ('{}', '{{{}}}', '{}', {vector}, '{}', '{}', {}, '{}', '{}', {})",
            quoted(self.list()),
            times.join(","),
            quoted(self.any()),
            model().id,
            workspace.hyphenated(),
            self.blend,
            query.least.cosine,
            query.least.coverage,
            query.limit,
        )
    }

    /// Begins a statement with the values of the same question.
    fn begin(
        &self,
        workspace: Uuid,
        query: &Query<'_>,
    ) -> Result<QueryBuilder<Postgres>, StoreError> {
        let mut values = PgArguments::default();
        let added = [
            values.add(&self.words),
            values.add(&self.times),
            values.add(self.any()),
            values.add(&self.vector),
            values.add(model().id.as_ref()),
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

impl Query<'_> {
    /// Returns whether it is the question that stands ready.
    fn is_plain(&self) -> bool {
        self.paths.is_empty() && *self.filter == Filter::default()
    }

    /// Returns what tells it from other questions to the same workspace.
    fn key(&self) -> String {
        format!("{:?} {} {}", self.least, self.limit, self.text)
    }
}

impl Database {
    /// Begins a transaction that is about to search: the workspace is asked with the message that begins it.
    pub async fn searching(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        query: &Query<'_>,
    ) -> Result<Tenant, StoreError> {
        if !query.is_plain() {
            return Ok(self.tenant(organisation, workspace).await?);
        }
        let asking = Asking {
            key: query.key(),
            sql: Asked::new(query.text)?.question(workspace.0, query),
            is_ready_made: true,
        };
        Ok(Tenant::begin_asking(self, organisation, workspace, asking).await?)
    }
}

impl Tenant {
    /// Returns the entries of the workspace that may answer `query`: those of its paths first, then the best.
    pub async fn candidates(&mut self, query: &Query<'_>) -> Result<Vec<Candidate>, StoreError> {
        let rows = self.found(query).await?;
        rows.iter().map(candidate).collect()
    }

    /// Returns how the server goes about a question without filter or paths, in its own words; for measurements.
    #[doc(hidden)]
    pub async fn explain_candidates(&mut self, query: &Query<'_>) -> Result<String, StoreError> {
        let question = Asked::new(query.text)?.question(self.key(), query);
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS) {question}");
        let explain = sqlx::raw_sql(AssertSqlSafe(explain));
        let rows = explain.fetch_all(self.reading_ready().await?).await?;
        let lines: Result<Vec<String>, StoreError> =
            rows.iter().map(|row| column(row, 0)).collect();
        Ok(lines?.join("\n"))
    }

    async fn found(&mut self, query: &Query<'_>) -> Result<Vec<PgRow>, StoreError> {
        let key = self.key();
        if query.is_plain() {
            if let Some(rows) = self.foreseen(&query.key()) {
                return Ok(rows);
            }
            let question = Asked::new(query.text)?.question(key, query);
            let question = sqlx::raw_sql(AssertSqlSafe(question));
            return Ok(question.fetch_all(self.reading_ready().await?).await?);
        }
        let mut sql = Asked::new(query.text)?.begin(key, query)?;
        push_anchored(&mut sql, query.paths);
        match *query.filter == Filter::default() {
            true => drop(sql.push(", true AS wanted FROM ken.searchable s")),
            false => {
                sql.push(", (true");
                push_condition(&mut sql, query.filter);
                sql.push(") AS wanted FROM ken.searchable s JOIN ken.entries e ON e.workspace_id = s.workspace_id AND e.id = s.entry");
            }
        }
        sql.push(best!());
        Ok(sql.build().fetch_all(self.reading()).await?)
    }

    /// Returns what other workspaces of the organisation know that may answer `query`, the best first.
    ///
    /// Of the query only its words, `least` and `limit` count: what is shown to all is filed by none of the rest.
    pub async fn global_candidates(
        &mut self,
        query: &Query<'_>,
    ) -> Result<Vec<Elsewhere>, StoreError> {
        let (organisation, own) = (self.organisation(), Some(self.key()));
        global(self.reading(), organisation, own, query).await
    }
}

impl OrganisationTx {
    /// Returns what workspaces of the organisation know that may answer `query`, the best first.
    pub async fn global_candidates(
        &mut self,
        query: &Query<'_>,
    ) -> Result<Vec<Elsewhere>, StoreError> {
        let organisation = self.id();
        global(self.connection(), organisation, None, query).await
    }
}

/// Asks the projection all workspaces share: the nearest by its graph, the best worded by its index, then both compared
/// as in a workspace, words weighed by how many of those found have them.
async fn global(
    connection: &mut PgConnection,
    organisation: OrganisationId,
    but: Option<Uuid>,
    query: &Query<'_>,
) -> Result<Vec<Elsewhere>, StoreError> {
    let asked = Asked::new(query.text)?;
    // One graph holds every organisation's entries, and a small one's are few among many: those are all compared.
    let few = "SELECT count(*) <= $2 FROM (
        SELECT FROM ken.global_entries WHERE organisation_id = $1 LIMIT $2 + 1) AS counted";
    let few = sqlx::query(few)
        .bind(organisation.0)
        .bind(EXACT_MAX)
        .fetch_one(&mut *connection)
        .await?;
    let question = match column(&few, 0)? {
        true => GLOBAL_EXACT,
        false => GLOBAL,
    };
    let rows = sqlx::query(question)
        .bind(&asked.words)
        .bind(&asked.times)
        .bind(organisation.0)
        .bind(but)
        .bind(&asked.vector)
        .bind(model().id.as_ref())
        .bind(asked.any())
        .bind(PER_SIDE)
        .bind(asked.blend)
        .bind(query.least.cosine)
        .bind(query.least.coverage)
        .bind(i64::from(query.limit))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| {
        Ok(Elsewhere {
            workspace: WorkspaceId(column(row, 6)?),
            candidate: candidate(row)?,
        })
    };
    rows.iter().map(read).collect()
}

/// Says whether a row is about one of the paths: at it, below it, or at a folder around it.
fn push_anchored(sql: &mut QueryBuilder<Postgres>, paths: &[String]) {
    if paths.is_empty() {
        sql.push(", false AS anchored");
        return;
    }
    let paths = paths
        .iter()
        .map(|path| without_nul(path.trim_end_matches('/')));
    let paths: Vec<String> = paths.collect();
    let around = paths.iter().flat_map(|path| around(path));
    let around: Vec<String> = around.map(str::to_owned).collect();
    let below: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
    sql.push(", (s.paths && ").push_bind(around);
    sql.push(" OR EXISTS (SELECT FROM unnest(s.paths) AS u (path), unnest(")
        .push_bind(below);
    sql.push(") AS f (folder) WHERE starts_with(path, folder))) AS anchored");
}

/// Returns `path` and the folders around it, the nearest first.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0))
}

fn candidate(row: &PgRow) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        entry: entry_of(row)?,
        keywords: column(row, 1)?,
        coverage: column(row, 2)?,
        cosine: column(row, 3)?,
        relevance: column(row, 4)?,
        anchored: column(row, 5)?,
    })
}
