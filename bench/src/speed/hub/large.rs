//! Searching one large workspace: does the time follow the answer or the workspace, and what does
//! the index miss of an exact scan?

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{MatchThreshold, SearchCandidate};
use ken_core::values::id::EntryId;
use ken_hub::store::StoreQuery;

use super::super::fixture::said;
use super::super::measure::percentiles;
use super::super::report::{Report, Verdict, shown};
use super::append::{BATCH, Question, progress};
use super::search::{LIMIT, bare_latency, latency};
use super::world::World;

/// Entries of the workspaces, each beside the one before.
const SIZES: [usize; 3] = [1_000, 50_000, 200_000];
/// How much longer a search may take in the last than in the first.
const GROWTH_MAX: f64 = 3.0;
/// Results that are compared with those of the exact scan, and the share that must be among them.
const COMPARED: usize = 10;
const RECALL_MIN: f64 = 0.98;
/// Questions that are compared.
const QUESTIONS: usize = 100;
/// Clients at once, in this many workspaces of this many entries, and their 95th percentile.
const CLIENTS: usize = 8;
const WORKSPACES: usize = 50;
const ENTRIES: usize = 1_000;
const P95_MAX: Duration = Duration::from_millis(40);
/// Searches of each client.
const LAPS: usize = 100;
/// Batches between two words on the terminal.
const TOLD: usize = 100;

/// Share of the workspaces that are loaded, for a short run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(pub(crate) f64);

impl Share {
    fn of(self, full: usize) -> usize {
        ((full as f64 * self.0) as usize).max(1)
    }
}

/// Measures all.
pub(crate) async fn run(
    world: &mut World,
    share: Share,
    report: &mut Report,
) -> Result<(), String> {
    many_clients(world, report).await?;
    let mut times = Vec::new();
    for size in SIZES {
        let questions = load(world, share.of(size), report).await?;
        let took = latency(world, &questions).await?;
        let bare = bare_latency(world, &questions).await?;
        report.push(
            format!("large, {size} entries in one workspace: search p50, p95"),
            format!("{}, {}", shown(took.p50), shown(took.p95)),
            shown(took.cpu),
            Verdict::Told,
        );
        let ratio = took.p50.as_secs_f64() / bare.as_secs_f64();
        report.push(
            format!("large, {size} entries: p50, store to bare scan of the workspace"),
            format!("{ratio:.2}"),
            "",
            Verdict::Told,
        );
        let recall = recall(world, &questions).await?;
        report.push(
            format!("large, {size} entries: recall@{COMPARED} of the exact scan"),
            format!("{recall:.3}"),
            "",
            Verdict::at_least(recall, RECALL_MIN),
        );
        times.push(took.p50.as_secs_f64());
        progress("large, entries", size, SIZES[SIZES.len() - 1])?;
    }
    let ratio = times[times.len() - 1] / times[0];
    report.push(
        "large: search p50, last workspace to first",
        format!("{ratio:.2}"),
        "",
        Verdict::of(ratio <= GROWTH_MAX, format!("<= {GROWTH_MAX}")),
    );
    report.note(format!(
        "large: one workspace after the other in one database, questions of seven words of a lesson; recall over {QUESTIONS} of them, \
         with the share of the exact scan's first {COMPARED} that are among the first {COMPARED} found. The bare statement reads the whole workspace."
    ));
    Ok(())
}

/// Fills a workspace and indexes it.
async fn load(
    world: &mut World,
    entries: usize,
    report: &mut Report,
) -> Result<Vec<Question>, String> {
    let workspace = world.add_workspaces(1).await?[0];
    let (lessons, asked) = world.lessons(entries);
    let batches: Vec<_> = lessons.chunks(BATCH).map(<[_]>::to_vec).collect();
    let count = batches.len();
    let (done, took) = world
        .timed(async {
            for (at, batch) in batches.into_iter().enumerate() {
                world.append(workspace, batch).await?;
                if at % TOLD == TOLD - 1 {
                    progress("large, batches", at + 1, count)?;
                }
            }
            Ok::<_, String>(())
        })
        .await;
    done?;
    report.rate(
        format!("large, {entries} entries: append, batches of {BATCH}"),
        entries as u64,
        took,
        "events",
    );
    if entries as i64 > ken_hub::store::FRESH_MAX {
        let (hub, organization) = (&world.hub, world.organization);
        let work = hub.index_workspace(organization, workspace);
        let (done, took) = world.timed(work).await;
        let count = done.map_err(said("cannot index"))?;
        report.rate(
            format!("large, {entries} entries: index, in the background"),
            count,
            took,
            "entries",
        );
    }
    world.settle().await?;
    let question = |text| Question { workspace, text };
    Ok(asked.into_iter().map(question).collect())
}

/// Returns the share of the exact scan's first results that a search finds among its first.
async fn recall(world: &World, questions: &[Question]) -> Result<f64, String> {
    let (mut found, mut wanted) = (0, 0);
    let step = (questions.len() / QUESTIONS).max(1);
    for question in questions.iter().step_by(step).take(QUESTIONS) {
        let query = StoreQuery {
            text: &question.text,
            filter: &EntryFilter::default(),
            paths: &[],
            least: MatchThreshold::NOTHING,
            limit: LIMIT,
        };
        let tenant = world
            .hub
            .begin_workspace(world.organization, question.workspace);
        let mut tenant = tenant.await.map_err(said("cannot enter a workspace"))?;
        let all = tenant.exact_candidates(&query).await;
        let exact = first(&all.map_err(said("cannot scan"))?);
        let all = tenant.candidates(&query).await;
        let ours = first(&all.map_err(said("cannot search"))?);
        found += exact.intersection(&ours).count();
        wanted += exact.len();
    }
    Ok(found as f64 / wanted.max(1) as f64)
}

fn first(all: &[SearchCandidate]) -> BTreeSet<EntryId> {
    all.iter().take(COMPARED).map(|it| it.entry.id).collect()
}

/// Several clients at once in many small workspaces.
async fn many_clients(world: &mut World, report: &mut Report) -> Result<(), String> {
    let mut questions: Vec<Question> = Vec::new();
    for workspace in world.add_workspaces(WORKSPACES).await? {
        let (lessons, asked) = world.lessons(ENTRIES);
        questions.extend(asked.into_iter().map(|text| Question { workspace, text }));
        for batch in lessons.chunks(BATCH) {
            world.append(workspace, batch.to_vec()).await?;
        }
    }
    world.settle().await?;
    if questions.is_empty() {
        return Ok(());
    }
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let (hub, organization, questions) =
            (world.hub.clone(), world.organization, questions.clone());
        clients.spawn(async move {
            let mut times = Vec::new();
            for lap in 0..LAPS {
                let question = &questions[(client + lap * 7) % questions.len()];
                let began = Instant::now();
                super::search::search(&hub, organization, question).await?;
                times.push(began.elapsed());
            }
            Ok::<_, String>(times)
        });
    }
    let times: Result<Vec<Vec<Duration>>, String> = clients.join_all().await.into_iter().collect();
    let mut times = times?.concat();
    let (p50, p95) = percentiles(&mut times);
    report.push(
        format!("large: {CLIENTS} clients, {WORKSPACES} workspaces of {ENTRIES} entries, search p50, p95"),
        format!("{}, {}", shown(p50), shown(p95)),
        "",
        Verdict::of(p95 <= P95_MAX, format!("<= {}", shown(P95_MAX))),
    );
    Ok(())
}
