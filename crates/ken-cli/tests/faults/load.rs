//! Mixed load for a while: what a hub holds of memory, files and connections stays what it was.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ken_testkit::http::Client;
use ken_testkit::postgres::Postgres;

use crate::check::check;
use crate::hubs::{Hubs, Tenant};
use crate::kills::{of_length, paced};
use crate::writers::{Log, path};

/// How long: 20 seconds, or 24 minutes; `KEN_LOAD_MINUTES` says otherwise.
const DURATION: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(24 * 60));
/// A writer's rest between two pushes, at the least, and how often it pushes at the most: all it sent is kept in memory.
const PACE: Duration = Duration::from_millis(50);
const PUSHES_MAX: u32 = 30_000;
/// A reader's rest between two questions.
const READERS_PACE: Duration = Duration::from_millis(10);
/// Connections to the database one hub may have: what `ken serve` takes unless told otherwise.
const CONNECTIONS_MAX: u64 = 16;
/// Memory may grow by so much from the second quarter to the last: allocators keep some.
const GROWTH_MAX: f64 = 1.25;
const GROWTH_SLACK_KIB: f64 = 16.0 * 1024.0;
/// Files beyond those at the beginning: connections of the pool, and a few that are just being closed.
const FILES_SLACK: usize = 24;
/// How long connections may take to be let go of when nobody asks any more.
const CALM: Duration = Duration::from_secs(20);

/// What was seen at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Of the larger hub.
    memory_kib: f64,
    connections: u64,
}

#[test]
fn a_hub_under_mixed_load_leaks_neither_memory_nor_connections() {
    let server = Postgres::own();
    let (hubs, tenant) = Hubs::begin(&server);
    let files: Vec<usize> = hubs.processes().into_iter().map(files).collect();
    let (log, stop, asked) = (Log::default(), AtomicBool::new(false), AtomicU64::new(0));
    let addresses = hubs.addresses();
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (addresses, tenant, stop, asked) = (&addresses, &tenant, &stop, &asked);
            scope.spawn(move || read(addresses, tenant, reader, stop, asked));
        }
        scope.spawn(|| annoy(&addresses, &stop));
        let ending = Ending(&stop);
        paced(
            PACE.max(duration() / PUSHES_MAX),
            &addresses,
            &tenant,
            &log,
            || {
                let began = Instant::now();
                while began.elapsed() < duration() {
                    std::thread::sleep(Duration::from_millis(500));
                    samples.push(sample(&server, &hubs));
                }
            },
        );
        drop(ending);
    });
    assert!(100 < asked.load(Ordering::Relaxed), "readers were answered");
    judge(&samples);
    calm_down(&server, &hubs, &files);
    check(&server, &hubs, &tenant, &log);
}

fn duration() -> Duration {
    let minutes = std::env::var("KEN_LOAD_MINUTES").ok();
    let minutes = minutes.map(|text| text.parse::<u64>().expect("a number of minutes"));
    minutes.map_or_else(|| of_length(DURATION), |it| Duration::from_secs(it * 60))
}

fn judge(samples: &[Sample]) {
    let quarter = |n: usize| &samples[samples.len() * n / 4..samples.len() * (n + 1) / 4];
    let median = |of: &[Sample]| {
        let mut sizes: Vec<f64> = of.iter().map(|it| it.memory_kib).collect();
        sizes.sort_by(f64::total_cmp);
        sizes[sizes.len() / 2]
    };
    let (before, after) = (median(quarter(1)), median(quarter(3)));
    assert!(
        after <= before * GROWTH_MAX + GROWTH_SLACK_KIB,
        "a hub had {before} KiB in the second quarter and {after} KiB in the last"
    );
    let most = samples.iter().map(|it| it.connections).max().unwrap();
    assert!(
        most <= 2 * CONNECTIONS_MAX,
        "two hubs had {most} connections"
    );
    #[expect(clippy::print_stderr, reason = "figures for docs/reliability.md")]
    {
        eprintln!(
            "memory {before} KiB in the second quarter, {after} KiB in the last; at most {most} connections"
        );
    }
}

/// Waits until nothing is under way: no transaction left open, no client's connection kept.
fn calm_down(server: &Postgres, hubs: &Hubs, files_before: &[usize]) {
    let began = Instant::now();
    loop {
        let open = server.sql(
            "postgres",
            "select count(*) from pg_stat_activity where application_name = 'ken-hub' and state <> 'idle'",
        );
        let files: Vec<usize> = hubs.processes().into_iter().map(files).collect();
        let kept = files
            .iter()
            .zip(files_before)
            .any(|(now, then)| then + FILES_SLACK < *now);
        if open == "0" && !kept {
            return;
        }
        assert!(
            began.elapsed() < CALM,
            "{open} transactions are left open; files {files:?}, at the beginning {files_before:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Asks everything a reader asks.
fn read(hubs: &[SocketAddr], tenant: &Tenant, reader: usize, stop: &AtomicBool, asked: &AtomicU64) {
    let mut client = Client::new(&tenant.token);
    for turn in reader.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let workspace = &tenant.workspaces[turn % tenant.workspaces.len()];
        let paths = [
            format!("/v1/workspaces/{workspace}/entries?limit=20"),
            format!("{}?after=0&limit=100", path(workspace)),
            format!("/v1/briefing/{workspace}"),
            "/v1/workspaces".to_owned(),
            "/v1/workspaces/nobody-has-this/entries".to_owned(),
        ];
        let hub = hubs[turn % hubs.len()];
        let path = &paths[turn / 2 % paths.len()];
        let answer = match turn % 2 {
            0 => client.get(hub, path),
            _ => client.post(
                hub,
                &format!("/v1/workspaces/{workspace}/search"),
                r#"{"query":"retrying a request with the same key"}"#,
            ),
        };
        let answer = answer.expect("an answer");
        let fits = match answer.status {
            200 | 429 => true,
            404 => turn % 2 == 0 && path.contains("nobody"),
            _ => false,
        };
        assert!(fits, "{path}: {answer:?}");
        asked.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(READERS_PACE);
    }
}

/// Connects and goes away, says half a sentence, has no token.
fn annoy(hubs: &[SocketAddr], stop: &AtomicBool) {
    let mut stranger = Client::new("nobody");
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let hub = hubs[turn % hubs.len()];
        if let Ok(mut stream) = TcpStream::connect(hub) {
            let request = b"GET /v1/workspaces HTTP/1.1\r\nHost: x\r\n";
            let _ = stream.write_all(&request[..turn % request.len()]);
        }
        let answer = stranger.get(hub, "/v1/workspaces").expect("an answer");
        assert!(matches!(answer.status, 401 | 429), "{answer:?}");
        std::thread::sleep(READERS_PACE);
    }
}

fn sample(server: &Postgres, hubs: &Hubs) -> Sample {
    let connections = server.sql(
        "postgres",
        "select count(*) from pg_stat_activity where application_name = 'ken-hub'",
    );
    let memory = hubs
        .processes()
        .into_iter()
        .map(memory_kib)
        .fold(0.0, f64::max);
    Sample {
        memory_kib: memory,
        connections: connections.parse().unwrap(),
    }
}

fn memory_kib(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .count()
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
