//! The same through `ken serve`: tokens, the guard, JSON and HTTP included. Figures without a bar: there is no bare side to this.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_core::event::Recorded;
use ken_testkit::http::Client;

use super::super::fixture::said;
use super::super::measure::Took;
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
/// How long a hub may take to begin.
const READY: Duration = Duration::from_secs(30);
/// What one organisation may ask of one process is limited; here nothing is.
const UNLIMITED: &str = "update ken.organisations set requests_per_minute = 100000000";

/// One request of a client.
struct Asked {
    path: String,
    body: String,
}

/// `ken serve`, ended with the value.
struct Hub {
    process: Child,
    address: SocketAddr,
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
    let hub = Hub::begin(&ken, &url)?;
    let data = world.server.data().to_owned();
    for (what, events, pushes) in [
        ("batches of 100", BATCH, BATCHES),
        ("one event each", 1, SINGLES),
    ] {
        let mut work = Vec::new();
        for workspace in world.add_workspaces(CLIENTS).await? {
            let path = format!("/v1/workspaces/{}/events", workspace.0);
            let lessons = world.lessons(events * pushes).0;
            let push = |batch: &[Recorded]| Asked {
                path: path.clone(),
                body: body(batch),
            };
            work.push(lessons.chunks(events).map(push).collect());
        }
        let seen = hub.ask(&data, &token, &work)?;
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
    let seen = hub.ask(&data, &token, &work)?;
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

fn body(batch: &[Recorded]) -> String {
    let lines: Vec<&str> = batch.iter().map(|copy| copy.line()).collect();
    format!(r#"{{"events":[{}]}}"#, lines.join(","))
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

impl Hub {
    fn begin(ken: &Path, url: &str) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(said("no free port"))?;
        let process = Command::new(ken)
            .args(["serve", "--bind", &address.to_string()])
            .env("KEN_DATABASE_URL", url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(said("cannot start ken serve"))?;
        let hub = Self { process, address };
        let (began, mut client) = (Instant::now(), Client::new(""));
        while !client
            .get(address, "/readyz")
            .is_ok_and(|answer| answer.status == 200)
        {
            if READY < began.elapsed() {
                return Err("`ken serve` does not become ready".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(hub)
    }

    /// Lets every client ask what it has to, all at once.
    fn ask(&self, data: &Path, token: &str, work: &[Vec<Asked>]) -> Result<Seen, String> {
        let cpu = || server::cpu(data) + server::cpu_of(self.process.id());
        let wrong = AtomicUsize::new(0);
        let (before, began) = (cpu(), Instant::now());
        let times: Vec<Vec<Duration>> = std::thread::scope(|scope| {
            let wrong = &wrong;
            let clients: Vec<_> = work
                .iter()
                .map(|work| scope.spawn(move || self.ask_in_turn(token, work, wrong)))
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
        if times.len() != expected || 0 < wrong.load(Ordering::Relaxed) {
            return Err(format!(
                "of {expected} requests {} were answered well",
                times.len()
            ));
        }
        times.sort_unstable();
        let at = |share: usize| {
            times
                .get(times.len() * share / 100)
                .copied()
                .unwrap_or_default()
        };
        Ok(Seen {
            took: Took { wall, cpu },
            p50: at(50),
            p95: at(95),
        })
    }

    fn ask_in_turn(&self, token: &str, work: &[Asked], wrong: &AtomicUsize) -> Vec<Duration> {
        let mut client = Client::new(token);
        let mut times = Vec::with_capacity(work.len());
        for asked in work {
            let began = Instant::now();
            match client.post(self.address, &asked.path, &asked.body) {
                Ok(answer) if answer.status == 200 => times.push(began.elapsed()),
                Ok(_) | Err(_) => {
                    wrong.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        times
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
