//! More and more workspaces: does a tenant notice? And what everything weighs.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::measure::Took;
use super::super::report::{Report, Verdict, shown};
use super::Sizes;
use super::append::{BATCH, Question, progress};
use super::search::{Latency, latency};
use super::world::World;

/// Entries at which everything is measured, as shares of the last.
const STEPS: [f64; 5] = [0.01, 0.03, 0.1, 0.3, 1.0];
/// Workspaces between two words on the terminal.
const TOLD: usize = 100;
/// How much slower a search may become from the first step to the last and still be called flat.
const FLAT: f64 = 1.5;
/// The machine the model is worked out for.
const CORES: f64 = 16.0;
const MEMORY_GIB: f64 = 96.0;
const DISK_TIB: f64 = 4.0;
/// Of a disk, what is filled: the rest is for the write-ahead log, vacuum and a night's sleep.
const FILLED: f64 = 0.7;
/// Events an entry has in a ledger that is used: proposed, cited, confirmed, judged.
const EVENTS_PER_ENTRY: f64 = 10.0;

/// What one step found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    entries: usize,
    workspaces: usize,
    loaded: usize,
    load: Took,
    search: Latency,
    bytes: Bytes,
}

/// What tables and their indexes weigh.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    /// What cannot be made again.
    log: f64,
    /// What can.
    projections: f64,
}

/// Loads step by step; what is told can be read while the next step runs.
pub(crate) async fn run(
    world: &mut World,
    sizes: Sizes,
    report: &mut Report,
) -> Result<Vec<Step>, String> {
    let (mut steps, mut questions): (Vec<Step>, Vec<Question>) = (Vec::new(), Vec::new());
    let mut workspaces = 0;
    for share in STEPS {
        let wanted = ((sizes.workspaces as f64 * share) as usize).max(1);
        let new = wanted.saturating_sub(workspaces);
        if new == 0 {
            continue;
        }
        let load = load(world, new, sizes, &mut questions).await?;
        workspaces = wanted;
        world.settle().await?;
        let step = Step {
            entries: wanted * sizes.each(),
            workspaces,
            loaded: new * sizes.each(),
            load,
            search: latency(world, &questions).await?,
            bytes: weigh(world).await?,
        };
        tell(report, &step);
        steps.push(step);
        progress("growth, entries", step.entries, sizes.entries())?;
    }
    if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
        let ratio = last.search.p50.as_secs_f64() / first.search.p50.as_secs_f64();
        report.push(
            "growth: search p50, last step to first",
            format!("{ratio:.2}"),
            "",
            Verdict::of(ratio <= FLAT, format!("<= {FLAT}")),
        );
    }
    Ok(steps)
}

async fn load(
    world: &mut World,
    new: usize,
    sizes: Sizes,
    questions: &mut Vec<Question>,
) -> Result<Took, String> {
    let mut took = Took::default();
    for (at, workspace) in world.add_workspaces(new).await?.into_iter().enumerate() {
        let (lessons, asked) = world.lessons(sizes.each());
        questions.extend(asked.into_iter().map(|text| Question { workspace, text }));
        let (done, one) = world
            .timed(async {
                for batch in lessons.chunks(BATCH) {
                    world.append(workspace, batch.to_vec()).await?;
                }
                Ok::<_, String>(())
            })
            .await;
        done?;
        took += one;
        if at % TOLD == TOLD - 1 {
            progress("growth, workspaces of this step", at + 1, new)?;
        }
    }
    Ok(took)
}

async fn weigh(world: &mut World) -> Result<Bytes, String> {
    let weight = "select coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname ~ '^(events|subjects|orders|remembered|moved)'), 0)::float8, \
         coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname ~ '^(entries|searchable|workspace_states|global_entries|segments|postings|path_places)'), 0)::float8 \
         from pg_class c where c.relnamespace = 'ken'::regnamespace and c.relkind = 'r'";
    let found: (f64, f64) = sqlx::query_as(weight)
        .fetch_one(&mut world.owner)
        .await
        .map_err(super::super::fixture::said("cannot weigh the tables"))?;
    Ok(Bytes {
        log: found.0,
        projections: found.1,
    })
}

fn tell(report: &mut Report, step: &Step) {
    let named = |what: &str| {
        format!(
            "growth, {} entries in {} workspaces: {what}",
            step.entries, step.workspaces
        )
    };
    report.rate(named("load"), step.loaded as u64, step.load, "events");
    let Latency { p50, p95, cpu } = step.search;
    report.push(
        named("search p50, p95"),
        format!("{}, {}", shown(p50), shown(p95)),
        shown(cpu),
        Verdict::Told,
    );
    let entries = step.entries as f64;
    let bytes = format!(
        "{:.0} and {:.0}; {:.2} GiB in all",
        step.bytes.log / entries,
        step.bytes.projections / entries,
        (step.bytes.log + step.bytes.projections) / f64::from(1 << 30),
    );
    report.push(
        named("bytes an event, bytes an entry"),
        bytes,
        "",
        Verdict::Told,
    );
}

/// Works out what one server holds, for `docs/scale.md`.
pub(crate) fn model(steps: &[Step]) -> String {
    let Some(last) = steps.last() else {
        return "Nothing measured.".to_owned();
    };
    let entries = last.entries as f64;
    let (event, entry) = (last.bytes.log / entries, last.bytes.projections / entries);
    let (events, time): (usize, Duration) =
        steps.iter().fold((0, Duration::ZERO), |(n, cpu), it| {
            (n + it.loaded, cpu + it.load.cpu)
        });
    let append_ms = time.as_secs_f64() * 1e3 / events as f64;
    let search_ms = last.search.cpu.as_secs_f64() * 1e3;
    let on_disk = DISK_TIB * 1024_f64.powi(4) * FILLED;
    let rows = [
        (
            "bytes an event (log and its indexes)".to_owned(),
            format!("{event:.0}"),
        ),
        (
            "bytes an entry (projections and their indexes)".into(),
            format!("{entry:.0}"),
        ),
        (
            "CPU an event, in batches, hub and server together".into(),
            format!("{append_ms:.2} ms"),
        ),
        (
            "CPU a search, hub and server together".into(),
            format!("{search_ms:.2} ms"),
        ),
        (
            format!("entries on {DISK_TIB} TiB filled to {FILLED}, an event each"),
            millions(on_disk / (event + entry)),
        ),
        (
            format!("entries on the same disk, {EVENTS_PER_ENTRY} events each"),
            millions(on_disk / (event * EVENTS_PER_ENTRY + entry)),
        ),
        (
            format!("entries whose projections fit {MEMORY_GIB} GiB of memory"),
            millions(MEMORY_GIB * 1024_f64.powi(3) / entry),
        ),
        (
            format!("events a second on {CORES} cores, in batches, if only the processor counts"),
            format!("{:.0}", CORES * 1e3 / append_ms),
        ),
        (
            format!("searches a second on {CORES} cores, if only the processor counts"),
            format!("{:.0}", CORES * 1e3 / search_ms),
        ),
    ];
    let mut text = "| what | figure |\n|---|---|\n".to_owned();
    for (what, figure) in rows {
        let _ = writeln!(text, "| {what} | {figure} |");
    }
    text.push_str(
        "\nThe first four are measured; the rest is arithmetic on them for a machine we do not have. What was loaded proposes entries \
         of 12 to 50 words; longer ones weigh more.\n",
    );
    text
}

fn millions(count: f64) -> String {
    format!("{:.0} million", count / 1e6)
}
