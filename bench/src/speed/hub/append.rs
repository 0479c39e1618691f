//! Events in: through the hub's store, and the rows it made inserted bare, in turn.

use std::io::Write as _;

use ken_core::ledger::event::RecordedEvent;
use ken_hub::ids::WorkspaceId;

use super::super::measure::{Took, median};
use super::super::report::{Report, Verdict, ratio_of_rates};
use super::Sizes;
use super::rows::Rows;
use super::world::{World, append, connect, insert};

/// Events of a batch.
pub(crate) const BATCH: usize = 100;
/// Workspaces filled on one side before it is the other's turn.
const TURN: usize = 20;
/// Clients that commit one event at a time.
const CLIENTS: usize = 8;
/// Their commits in a turn, each, and how many turns.
const COMMITS: usize = 100;
const TURNS: usize = 5;

const BATCHES_MIN: f64 = 0.5;
const SINGLES_MIN: f64 = 0.6;

/// A question and the workspace that can answer it.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) workspace: WorkspaceId,
    pub(crate) text: String,
}

/// Both sides of one turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    hub: Took,
    bare: Took,
}

/// Fills the workspaces, both sides in turn.
pub(crate) async fn batches(
    world: &mut World,
    sizes: Sizes,
    report: &mut Report,
) -> Result<Vec<Question>, String> {
    let (mut all, mut ratios, mut questions) = (Turn::default(), Vec::new(), Vec::new());
    let mut left = sizes.workspaces;
    while left > 0 {
        let workspaces = world.add_workspaces(TURN.min(left)).await?;
        left -= workspaces.len();
        let turn = batches_in_turn(world, &workspaces, sizes.each(), &mut questions).await?;
        ratios.push(turn.bare.wall.as_secs_f64() / turn.hub.wall.as_secs_f64());
        all.hub += turn.hub;
        all.bare += turn.bare;
        progress("batches", sizes.workspaces - left, sizes.workspaces)?;
    }
    let events = sizes.entries() as u64;
    report.rate(
        format!("append: bare inserts of the same rows, batches of {BATCH}"),
        events,
        all.bare,
        "events",
    );
    report.rate(
        format!("append: the hub's store, batches of {BATCH}"),
        events,
        all.hub,
        "events",
    );
    verdict(
        report,
        "append: rate, store to bare, batches",
        all,
        BATCHES_MIN,
    );
    report.note(format!(
        "append: {events} events, each proposing an entry, into {} workspaces in turns of {TURN}; the ratio was {:.2} in the median \
         turn. The bare side gets every row the store made, already computed (folded, embedded, its words cut) and in binary, and \
         puts them into the same tables with their indexes: one statement a table, one transaction a batch, as superuser, to whom no policy applies.",
        sizes.workspaces,
        median(&ratios),
    ));
    Ok(questions)
}

async fn batches_in_turn(
    world: &mut World,
    workspaces: &[WorkspaceId],
    each: usize,
    questions: &mut Vec<Question>,
) -> Result<Turn, String> {
    let mut batches = Vec::new();
    for workspace in workspaces {
        let (lessons, asked) = world.lessons(each);
        let workspace = *workspace;
        questions.extend(asked.into_iter().map(|text| Question { workspace, text }));
        batches.extend(
            lessons
                .chunks(BATCH)
                .map(|batch| (workspace, batch.to_vec())),
        );
    }
    let hub = world.timed(async {
        for (workspace, batch) in batches {
            world.append(workspace, batch).await?;
        }
        Ok::<_, String>(())
    });
    let (done, hub) = hub.await;
    done?;
    let mut made = Vec::new();
    let parts = each.div_ceil(BATCH);
    for workspace in workspaces {
        let rows = world.rows_of(*workspace).await?;
        made.extend((0..parts).map(|part| {
            rows.iter()
                .map(|it| it.part(part, parts))
                .collect::<Vec<_>>()
        }));
    }
    let data = world.server.data().to_owned();
    let twin = &mut world.twin;
    let bare = super::world::timed(&data, async {
        for rows in &made {
            insert(twin, rows).await?;
        }
        Ok::<_, String>(())
    });
    let (done, bare) = bare.await;
    done?;
    Ok(Turn { hub, bare })
}

/// One event a commit, several clients at once.
pub(crate) async fn singles(world: &mut World, report: &mut Report) -> Result<(), String> {
    let (mut all, mut ratios) = (Turn::default(), Vec::new());
    for turn in 0..TURNS {
        let workspaces = world.add_workspaces(CLIENTS).await?;
        let work: Vec<(WorkspaceId, Vec<RecordedEvent>)> = workspaces
            .iter()
            .map(|it| (*it, world.lessons(COMMITS).0))
            .collect();
        let hub = hub_singles(world, work).await?;
        let mut rows = Vec::new();
        for workspace in workspaces {
            rows.push(world.rows_of(workspace).await?);
        }
        let bare = bare_singles(world, rows).await?;
        ratios.push(bare.wall.as_secs_f64() / hub.wall.as_secs_f64());
        all.hub += hub;
        all.bare += bare;
        progress("single commits", turn + 1, TURNS)?;
    }
    let events = (TURNS * CLIENTS * COMMITS) as u64;
    report.rate(
        format!("append: bare inserts, one event a commit, {CLIENTS} clients"),
        events,
        all.bare,
        "events",
    );
    report.rate(
        format!("append: the hub's store, one event a commit, {CLIENTS} clients"),
        events,
        all.hub,
        "events",
    );
    verdict(
        report,
        "append: rate, store to bare, single events",
        all,
        SINGLES_MIN,
    );
    report.note(format!(
        "append, single events: {TURNS} turns of {COMMITS} commits a client, each client in a workspace of its own; the ratio was {:.2} \
         in the median turn. Bare: begin, one insert a table, commit.",
        median(&ratios)
    ));
    Ok(())
}

async fn hub_singles(
    world: &World,
    work: Vec<(WorkspaceId, Vec<RecordedEvent>)>,
) -> Result<Took, String> {
    let (hub, organization) = (&world.hub, world.organization);
    let (done, took) = world
        .timed(async {
            let mut clients = tokio::task::JoinSet::new();
            for (workspace, events) in work {
                let hub = hub.clone();
                clients.spawn(async move {
                    for event in events {
                        append(&hub, organization, workspace, vec![event]).await?;
                    }
                    Ok::<_, String>(())
                });
            }
            clients
                .join_all()
                .await
                .into_iter()
                .collect::<Result<Vec<()>, _>>()
        })
        .await;
    done.map(|_| took)
}

async fn bare_singles(world: &World, rows: Vec<Vec<Rows>>) -> Result<Took, String> {
    let mut work = Vec::new();
    for rows in rows {
        let part = |n: usize| {
            rows.iter()
                .map(|it| it.part(n, COMMITS))
                .filter(|it| it.len() > 0)
                .collect()
        };
        let parts: Vec<Vec<Rows>> = (0..COMMITS).map(part).collect();
        work.push((connect(&world.twin_url()).await?, parts));
    }
    let (done, took) = world
        .timed(async {
            let mut clients = tokio::task::JoinSet::new();
            for (mut db, parts) in work {
                clients.spawn(async move {
                    for rows in &parts {
                        insert(&mut db, rows).await?;
                    }
                    Ok::<_, String>(())
                });
            }
            clients
                .join_all()
                .await
                .into_iter()
                .collect::<Result<Vec<()>, _>>()
        })
        .await;
    done.map(|_| took)
}

fn verdict(report: &mut Report, what: &str, all: Turn, least: f64) {
    let ratio = all.bare.wall.as_secs_f64() / all.hub.wall.as_secs_f64();
    report.push(
        what,
        format!("{ratio:.2}"),
        ratio_of_rates(all.hub.cpu, all.bare.cpu),
        Verdict::at_least(ratio, least),
    );
}

/// Says on the terminal how far it is.
pub(crate) fn progress(what: &str, done: usize, of: usize) -> Result<(), String> {
    let mut to = std::io::stderr();
    let said = writeln!(to, "{what}: {done} of {of}");
    said.map_err(super::super::fixture::said("cannot print"))
}
