//! Mixed load: the memory, open files and connections of a hub do not grow.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ken_testkit::http::TestHttpClient;
use ken_testkit::postgres::PostgresServer;

use crate::check::check_logs;
use crate::hubs::{PushTenant, SupervisedHubs};
use crate::kills::{short_or_long, with_paced_writers};
use crate::writers::{PushRecord, events_path};

/// Duration of the short and of the long run; `KEN_LOAD_MINUTES` overrides both.
const DURATION: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(24 * 60));
/// Minimum pause of a writer between two pushes, and maximum number of its pushes; sent events stay
/// in memory.
const WRITER_PAUSE: Duration = Duration::from_millis(50);
const PUSHES_MAX: u32 = 30_000;
/// Pause of a reader between two requests.
const READER_PAUSE: Duration = Duration::from_millis(10);
/// Maximum database connections per hub: the default of `ken serve`.
const CONNECTIONS_MAX: u64 = 16;
/// Tolerated memory growth from the second quarter to the last; allocators retain some memory.
const MEMORY_GROWTH_MAX: f64 = 1.25;
const MEMORY_SLACK_KIB: f64 = 16.0 * 1024.0;
/// Tolerated open files beyond those at the start: pooled connections, and a few just being closed.
const FILES_SLACK: usize = 24;
/// Maximum time until idle connections are closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Resource usage at one point in time.
#[derive(Clone, Copy, Debug)]
struct ResourceSample {
    /// Memory of the larger hub.
    memory_kib: f64,
    connections: u64,
}

#[test]
fn a_hub_under_mixed_load_leaks_neither_memory_nor_connections() {
    let server = PostgresServer::own();
    let (hubs, tenant) = SupervisedHubs::begin(&server);
    let files: Vec<usize> = hubs.processes().into_iter().map(open_files).collect();
    let (log, stop, asked) = (
        PushRecord::default(),
        AtomicBool::new(false),
        AtomicU64::new(0),
    );
    let addresses = hubs.addresses();
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (addresses, tenant, stop, asked) = (&addresses, &tenant, &stop, &asked);
            scope.spawn(move || read_until_stopped(addresses, tenant, reader, stop, asked));
        }
        scope.spawn(|| disturb_until_stopped(&addresses, &stop));
        let ending = StopLoadOnDrop(&stop);
        with_paced_writers(
            WRITER_PAUSE.max(load_duration() / PUSHES_MAX),
            &addresses,
            &tenant,
            &log,
            || {
                let began = Instant::now();
                while began.elapsed() < load_duration() {
                    std::thread::sleep(Duration::from_millis(500));
                    samples.push(sample_resources(&server, &hubs));
                }
            },
        );
        drop(ending);
    });
    assert!(asked.load(Ordering::Relaxed) > 100, "readers were answered");
    assert_no_growth(&samples);
    wait_until_idle(&server, &hubs, &files);
    check_logs(&server, &hubs, &tenant, &log);
}

fn load_duration() -> Duration {
    let minutes = std::env::var("KEN_LOAD_MINUTES").ok();
    let minutes = minutes.map(|text| text.parse::<u64>().expect("a number of minutes"));
    minutes.map_or_else(
        || short_or_long(DURATION),
        |it| Duration::from_secs(it * 60),
    )
}

fn assert_no_growth(samples: &[ResourceSample]) {
    let quarter = |n: usize| &samples[samples.len() * n / 4..samples.len() * (n + 1) / 4];
    let median = |of: &[ResourceSample]| {
        let mut sizes: Vec<f64> = of.iter().map(|it| it.memory_kib).collect();
        sizes.sort_by(f64::total_cmp);
        sizes[sizes.len() / 2]
    };
    let (before, after) = (median(quarter(1)), median(quarter(3)));
    assert!(
        after <= before * MEMORY_GROWTH_MAX + MEMORY_SLACK_KIB,
        "a hub had {before} KiB in the second quarter and {after} KiB in the last"
    );
    let most = samples.iter().map(|it| it.connections).max().unwrap();
    assert!(
        most <= 2 * CONNECTIONS_MAX,
        "two hubs had {most} connections"
    );
    #[expect(
        clippy::print_stderr,
        reason = "figures for docs/explanation/reliability.md"
    )]
    {
        eprintln!(
            "memory {before} KiB in the second quarter, {after} KiB in the last; at most {most} connections"
        );
    }
}

/// Waits until the hubs are idle: no open transaction, no client connection.
fn wait_until_idle(server: &PostgresServer, hubs: &SupervisedHubs, files_before: &[usize]) {
    let began = Instant::now();
    loop {
        let open = server.sql(
            "postgres",
            "select count(*) from pg_stat_activity where application_name = 'ken-hub' and state <> 'idle'",
        );
        let files: Vec<usize> = hubs.processes().into_iter().map(open_files).collect();
        let kept = files
            .iter()
            .zip(files_before)
            .any(|(now, then)| *now > then + FILES_SLACK);
        if open == "0" && !kept {
            return;
        }
        assert!(
            began.elapsed() < IDLE_TIMEOUT,
            "{open} transactions are left open; files {files:?}, at the beginning {files_before:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Sends every kind of read request.
fn read_until_stopped(
    hubs: &[SocketAddr],
    tenant: &PushTenant,
    reader: usize,
    stop: &AtomicBool,
    asked: &AtomicU64,
) {
    let mut client = TestHttpClient::new(&tenant.token);
    for turn in reader.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let workspace = &tenant.workspaces[turn % tenant.workspaces.len()];
        let paths = [
            format!("/v1/workspaces/{workspace}/entries?limit=20"),
            format!("{}?after=0&limit=100", events_path(workspace)),
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
        std::thread::sleep(READER_PAUSE);
    }
}

/// Connects and disconnects, sends partial requests, and requests without a valid token.
fn disturb_until_stopped(hubs: &[SocketAddr], stop: &AtomicBool) {
    let mut stranger = TestHttpClient::new("nobody");
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
        std::thread::sleep(READER_PAUSE);
    }
}

fn sample_resources(server: &PostgresServer, hubs: &SupervisedHubs) -> ResourceSample {
    let connections = server.sql(
        "postgres",
        "select count(*) from pg_stat_activity where application_name = 'ken-hub'",
    );
    let memory = hubs
        .processes()
        .into_iter()
        .map(memory_kib)
        .fold(0.0, f64::max);
    ResourceSample {
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

fn open_files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .count()
}

/// Sets the stop flag when dropped.
struct StopLoadOnDrop<'a>(&'a AtomicBool);

impl Drop for StopLoadOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
