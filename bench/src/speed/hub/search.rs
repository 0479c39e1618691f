//! Searching one workspace: the hub's store beside a bare hybrid statement over the same rows,
//! question by question in turn.

use std::time::{Duration, Instant};

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::MatchThreshold;
use ken_hub::database::HubDatabase;
use ken_hub::ids::OrganizationId;
use ken_hub::store::{StoreQuery, any_word};
use sqlx::Row as _;

use super::super::fixture::said;
use super::super::measure::{percentiles, process_cpu};
use super::super::report::{Report, Verdict, shown};
use super::append::Question;
use super::server;
use super::world::World;

/// How much longer the store may take than the bare statement.
const OF_BARE_MAX: f64 = 1.5;
/// Questions asked before anything is timed, and timed.
const WARM_UP: usize = 50;
const LAPS: usize = 500;
/// Questions the bare statement is asked in a large workspace.
const BARE_LAPS: usize = 20;
/// Entries a search gets to choose from.
pub(crate) const LIMIT: u32 = 50;

/// What the engine does anyway: the nearest and the best worded rows of one workspace, fused by
/// rank. Neither BM25 nor coverage, no threshold, no policy, no transaction.
const BARE: &str = "\
with q as (select $3::tsquery as words, $2::halfvec(256) as near), \
knn as (select s.entry, row_number() over (order by s.vector <=> q.near) as place from ken.searchable s, q \
  where s.workspace_id = $1 order by s.vector <=> q.near limit 50), \
fts as (select s.entry, row_number() over (order by ts_rank(s.words, q.words) desc) as place from ken.searchable s, q \
  where s.workspace_id = $1 and s.words @@ q.words order by ts_rank(s.words, q.words) desc limit 50), \
best as (select entry, coalesce(1.0 / (60 + knn.place), 0) + coalesce(1.0 / (60 + fts.place), 0) as score \
  from knn full join fts using (entry) order by score desc limit 50) \
select e.json, best.score from best join ken.entries e on e.workspace_id = $1 and e.id = best.entry order by best.score desc";

/// How long searches took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latency {
    pub(crate) p50: Duration,
    pub(crate) p95: Duration,
    /// Of hub and server, each search, on average.
    pub(crate) cpu: Duration,
}

/// Measures both sides in turn.
pub(crate) async fn run(
    world: &mut World,
    questions: &[Question],
    report: &mut Report,
) -> Result<(), String> {
    let bare: Vec<Bare> = prepare(world, questions).await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for lap in 0..WARM_UP + LAPS {
        let at = lap * 7 % questions.len();
        let began = Instant::now();
        let found = search(&world.hub, world.organization, &questions[at]).await?;
        let took = began.elapsed();
        let bare_took = bare[at].run(world).await?;
        if found == 0 {
            return Err(format!("`{}` finds nothing", questions[at].text));
        }
        if lap >= WARM_UP {
            ours.push(took);
            theirs.push(bare_took);
        }
    }
    let store = latency(world, questions).await?;
    let (hub, alone) = (percentiles(&mut ours), percentiles(&mut theirs));
    let text = |it: (Duration, Duration)| format!("{}, {}", shown(it.0), shown(it.1));
    report.push(
        "search: bare hybrid statement, p50, p95",
        text(alone),
        "",
        Verdict::Told,
    );
    report.push(
        "search: the hub's store, p50, p95",
        text(hub),
        shown(store.cpu),
        Verdict::Told,
    );
    let ratio = hub.0.as_secs_f64() / alone.0.as_secs_f64();
    report.push(
        "search: p50, store to bare",
        format!("{ratio:.2}"),
        "",
        Verdict::of(ratio <= OF_BARE_MAX, format!("<= {OF_BARE_MAX}")),
    );
    report.note(format!(
        "search: {LAPS} questions of seven words of a lesson, in turn; the store embeds the question, begins a transaction, enters the workspace and \
         asks one statement (BM25, coverage and cosine under row-level security) in one message, reads the entries and ends the transaction. Bare: one prepared \
         statement of nearest neighbors and full text fused by rank, its vector and words given."
    ));
    if ratio > OF_BARE_MAX {
        explain(world, &questions[0], report).await?;
    }
    Ok(())
}

/// Measures searches alone.
pub(crate) async fn latency(world: &World, questions: &[Question]) -> Result<Latency, String> {
    let data = world.server.data().to_owned();
    let (mut times, mut before) = (Vec::new(), Duration::ZERO);
    for lap in 0..WARM_UP + LAPS {
        if lap == WARM_UP {
            before = process_cpu() + server::cpu(&data);
        }
        let began = Instant::now();
        let question = &questions[lap * 7 % questions.len()];
        search(&world.hub, world.organization, question).await?;
        if lap >= WARM_UP {
            times.push(began.elapsed());
        }
    }
    let cpu = (process_cpu() + server::cpu(&data)).saturating_sub(before);
    let (p50, p95) = percentiles(&mut times);
    Ok(Latency {
        p50,
        p95,
        cpu: cpu / u32::try_from(LAPS).unwrap_or(u32::MAX),
    })
}

/// Searches as the hub does, and returns the number of candidates.
pub(crate) async fn search(
    hub: &HubDatabase,
    organization: OrganizationId,
    question: &Question,
) -> Result<usize, String> {
    let query = StoreQuery {
        text: &question.text,
        filter: &EntryFilter::default(),
        paths: &[],
        least: MatchThreshold::NOTHING,
        limit: LIMIT,
    };
    let tenant = hub
        .begin_search(organization, question.workspace, &query)
        .await;
    let mut tenant = tenant.map_err(said("cannot enter a workspace"))?;
    let found = tenant
        .candidates(&query)
        .await
        .map_err(said("cannot search"))?;
    tenant.commit().await.map_err(said("cannot end a search"))?;
    Ok(found.len())
}

/// Measures the bare statement alone; returns its median.
pub(crate) async fn bare_latency(
    world: &mut World,
    questions: &[Question],
) -> Result<Duration, String> {
    let few: Vec<Question> = questions.iter().take(BARE_LAPS).cloned().collect();
    let mut times = Vec::new();
    for bare in prepare(world, &few).await? {
        times.push(bare.run(world).await?);
    }
    Ok(percentiles(&mut times).0)
}

/// A question as the bare statement is asked it.
struct Bare {
    workspace: uuid::Uuid,
    vector: String,
    words: String,
}

/// Takes the vector of one of the workspace's own entries: computing one is not the statement's
/// work.
async fn prepare(world: &mut World, questions: &[Question]) -> Result<Vec<Bare>, String> {
    let mut all = Vec::new();
    for question in questions {
        let near = "select vector::text from ken.searchable where workspace_id = $1 and vector is not null limit 1";
        let row = sqlx::query(near)
            .bind(question.workspace.0)
            .fetch_one(&mut world.owner)
            .await;
        let row = row.map_err(said("cannot take a vector"))?;
        let words = any_word(&question.text).map_err(said("no words"))?;
        all.push(Bare {
            workspace: question.workspace.0,
            vector: row.try_get(0).map_err(said("no vector"))?,
            words,
        });
    }
    Ok(all)
}

impl Bare {
    async fn run(&self, world: &mut World) -> Result<Duration, String> {
        let began = Instant::now();
        let rows = sqlx::query(BARE)
            .bind(self.workspace)
            .bind(&self.vector)
            .bind(&self.words)
            .fetch_all(&mut world.owner)
            .await;
        let rows = rows.map_err(said("the bare statement fails"))?;
        let texts: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        texts.map_err(said("the bare statement finds no text"))?;
        Ok(began.elapsed())
    }
}

/// Shows what the store's statement spends its time on.
async fn explain(world: &World, question: &Question, report: &mut Report) -> Result<(), String> {
    let tenant = world
        .hub
        .begin_workspace(world.organization, question.workspace)
        .await;
    let mut tenant = tenant.map_err(said("cannot enter a workspace"))?;
    let query = StoreQuery {
        text: &question.text,
        filter: &EntryFilter::default(),
        paths: &[],
        least: MatchThreshold::NOTHING,
        limit: LIMIT,
    };
    let plan = tenant
        .explain_candidates(&query)
        .await
        .map_err(said("cannot explain"))?;
    tenant.commit().await.map_err(said("cannot end a search"))?;
    let lines: Vec<String> = plan.lines().map(|line| format!("  {line}")).collect();
    report.note(format!(
        "search: EXPLAIN (ANALYZE, BUFFERS) of the store's statement\n\n  ```text\n{}\n  ```",
        lines.join("\n")
    ));
    Ok(())
}
