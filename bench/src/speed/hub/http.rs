//! The same through `ken serve`: tokens, the guard, JSON and HTTP included. Figures without a bar:
//! there is no bare side to this.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ken_core::ledger::event::RecordedEvent;
use ken_testkit::http::{TestHttpClient, push_body};
use ken_testkit::served::HubProcess;

use super::super::fixture::said;
use super::super::measure::{Took, percentiles};
use super::super::programs::Programs;
use super::super::report::{Report, Verdict, shown};
use super::super::{Bench, Size};
use super::append::{BATCH, Question, progress};
use super::server;
use super::world::World;

const CLIENTS: usize = 8;
/// Pushes of a batch and of a single event, and searches, each client.
const BATCHES: usize = 20;
const SINGLES: usize = 100;
const SEARCHES: usize = 100;
/// What one organization may ask of one process is limited; here nothing is.
const UNLIMITED: &str = "update ken.organizations set requests_per_minute = 100000000";

/// One request of a client.
struct Asked {
    path: String,
    body: String,
}

/// What several clients saw together.
struct Seen {
    took: Took,
    p50: Duration,
    p95: Duration,
}

pub(crate) async fn run(
    bench: &Bench,
    world: &mut World,
    questions: &[Question],
    report: &mut Report,
) -> Result<(), String> {
    let ken = program(bench)?;
    sqlx::query(UNLIMITED)
        .execute(&mut world.owner)
        .await
        .map_err(said("cannot lift the limit"))?;
    let url = world.url();
    let token = token(&ken, &url)?;
    let hub = begin(&ken, &url)?;
    let data = world.server.data().to_owned();
    for (what, events, pushes) in [
        (format!("batches of {BATCH}"), BATCH, BATCHES),
        ("one event each".to_owned(), 1, SINGLES),
    ] {
        let mut work = Vec::new();
        for workspace in world.add_workspaces(CLIENTS).await? {
            let path = format!("/v1/workspaces/{}/events", workspace.0);
            let lessons = world.lessons(events * pushes).0;
            let push = |batch: &[RecordedEvent]| Asked {
                path: path.clone(),
                body: push_body(batch),
            };
            work.push(lessons.chunks(events).map(push).collect());
        }
        let seen = ask(&hub, &data, &token, &work)?;
        let count = (CLIENTS * events * pushes) as u64;
        report.rate(
            format!("HTTP: pushes, {what}, {CLIENTS} clients"),
            count,
            seen.took,
            "events",
        );
        told(report, &format!("HTTP: a push, {what}: p50, p95"), &seen);
        progress("HTTP pushes of", events, BATCH)?;
    }
    let mut work: Vec<Vec<Asked>> = Vec::new();
    for client in 0..CLIENTS {
        let ask = |n: usize| {
            let question = &questions[(client * SEARCHES + n) * 7 % questions.len()];
            Asked {
                path: format!("/v1/workspaces/{}/search", question.workspace.0),
                body: serde_json::json!({ "query": question.text }).to_string(),
            }
        };
        work.push((0..SEARCHES).map(ask).collect());
    }
    let seen = ask(&hub, &data, &token, &work)?;
    report.rate(
        format!("HTTP: searches, {CLIENTS} clients"),
        (CLIENTS * SEARCHES) as u64,
        seen.took,
        "searches",
    );
    told(report, "HTTP: a search: p50, p95", &seen);
    report.note(format!(
        "HTTP: {CLIENTS} clients that keep their connections, one `ken serve` on the same machine; every push passes the guard. \
         Clients, hub and server share the processor; CPU counts hub and server."
    ));
    Ok(())
}

fn told(report: &mut Report, what: &str, seen: &Seen) {
    report.push(
        what,
        format!("{}, {}", shown(seen.p50), shown(seen.p95)),
        "",
        Verdict::Told,
    );
}

/// Returns `ken`, built like this program.
fn program(bench: &Bench) -> Result<PathBuf, String> {
    match bench.size {
        Size::Full => Ok(Programs::build(bench)?.ken),
        Size::Quick => {
            let ken = bench.target.join("debug/ken");
            let there = ken.exists();
            there
                .then_some(ken)
                .ok_or_else(|| "build `ken` first: cargo build -p ken-cli".to_owned())
        }
    }
}

fn token(ken: &Path, url: &str) -> Result<String, String> {
    let made = Command::new(ken)
        .args([
            "hub",
            "token",
            "create",
            "bench",
            "--role",
            "curator",
            "--actor",
            "human:bench@example.org",
        ])
        .env("KEN_DATABASE_URL", url)
        .output()
        .map_err(said("cannot start ken"))?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

fn begin(ken: &Path, url: &str) -> Result<HubProcess, String> {
    let mut ken = Command::new(ken);
    ken.env("KEN_DATABASE_URL", url);
    let bind = SocketAddr::from(([127, 0, 0, 1], 0));
    HubProcess::begin(ken, bind).map_err(said("cannot start ken serve"))
}

/// Lets every client ask what it has to, all at once.
fn ask(hub: &HubProcess, data: &Path, token: &str, work: &[Vec<Asked>]) -> Result<Seen, String> {
    let cpu = || server::cpu(data) + server::cpu_of(hub.id());
    let (before, began, address) = (cpu(), Instant::now(), hub.address());
    let times: Vec<Vec<Duration>> = std::thread::scope(|scope| {
        let clients: Vec<_> = work
            .iter()
            .map(|work| scope.spawn(move || ask_in_turn(address, token, work)))
            .collect();
        clients
            .into_iter()
            .map(|it| it.join().unwrap_or_default())
            .collect()
    });
    let wall = began.elapsed();
    let cpu = cpu().saturating_sub(before);
    let mut times: Vec<Duration> = times.into_iter().flatten().collect();
    let expected: usize = work.iter().map(Vec::len).sum();
    if times.len() != expected {
        return Err(format!(
            "of {expected} requests {} were answered well",
            times.len()
        ));
    }
    let (p50, p95) = percentiles(&mut times);
    Ok(Seen {
        took: Took { wall, cpu },
        p50,
        p95,
    })
}

/// Returns what each request took that was answered well.
fn ask_in_turn(hub: SocketAddr, token: &str, work: &[Asked]) -> Vec<Duration> {
    let mut client = TestHttpClient::new(token);
    let mut times = Vec::with_capacity(work.len());
    for asked in work {
        let began = Instant::now();
        let answer = client.post(hub, &asked.path, &asked.body);
        if answer.is_ok_and(|answer| answer.status == 200) {
            times.push(began.elapsed());
        }
    }
    times
}
