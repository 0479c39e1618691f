//! Prometheus metrics of a hub process.
//!
//! Labels have fixed values (route, method, status, verdict, problem). They never contain tenant
//! data, so the number of time series is bounded.

use std::time::Duration;

use prometheus::{
    Counter, Encoder as _, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

/// Bucket bounds of the latency histogram, in seconds. The last one is the request timeout.
const LATENCY_SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Why creating a metric cannot fail.
const VALID: &str = "metric names are valid and distinct";

/// Metrics of a hub process.
#[derive(Debug)]
pub struct HubMetrics {
    registry: Registry,
    requests: IntCounterVec,
    latency: HistogramVec,
    in_flight: IntGauge,
    streams: IntGauge,
    connections: IntGaugeVec,
    events: IntCounterVec,
    operations: OperationMetrics,
}

/// Metrics of what an operator looks after beside requests.
#[derive(Debug)]
struct OperationMetrics {
    refusals: IntCounterVec,
    acquired: IntCounter,
    waited: Counter,
    waiting: IntGaugeVec,
    key_failures: IntCounter,
    memory: IntGauge,
    files: IntGauge,
    exported: IntCounterVec,
}

/// What is counted elsewhere and read when metrics are scraped.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrapedCounts {
    pub requests_in_flight: usize,
    /// Database connections in use, and idle ones.
    pub connections: (usize, usize),
    /// How often a connection was asked for, and the time that was waited for them.
    pub connection_waits: (u64, Duration),
    /// How often the keys of the OpenID Connect issuer could not be fetched.
    pub key_failures: u64,
}

/// Memory and open files of this process; nothing where the system does not tell.
fn process_usage() -> (Option<i64>, Option<i64>) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kibibytes = kibibytes.and_then(|it| it.trim().trim_end_matches(" kB").parse::<i64>().ok());
    let files = std::fs::read_dir("/proc/self/fd").ok();
    let files = files.map(|it| as_gauge(it.count()));
    (kibibytes.map(|it| it * 1024), files)
}

impl HubMetrics {
    /// Creates and registers all metrics with the value 0.
    ///
    /// # Panics
    ///
    /// Never: the metric names are constants, valid and distinct.
    #[must_use]
    pub fn new() -> Self {
        // A registry per hub, not the global one, so tests can run several hubs in one process.
        let registry = Registry::new();
        let valid = VALID;
        let requests = IntCounterVec::new(
            opts("requests_total", "Requests by route, method and status."),
            &["route", "method", "status"],
        )
        .expect(valid);
        let latency_opts = opts(
            "request_seconds",
            "Time from the request head to the response head.",
        );
        let latency_opts = HistogramOpts::from(latency_opts).buckets(LATENCY_SECONDS.to_vec());
        // No status label: it would multiply the twelve buckets of every route.
        let latency = HistogramVec::new(latency_opts, &["route", "method"]).expect(valid);
        let under_way = IntGauge::with_opts(opts("requests_in_flight", "Requests in flight."));
        let in_flight = under_way.expect(valid);
        let streams = IntGauge::with_opts(opts("streams_open", "Open event streams."));
        let streams = streams.expect(valid);
        let connections = IntGaugeVec::new(
            opts("pool_connections", "Database connections, by state."),
            &["state"],
        )
        .expect(valid);
        let events = IntCounterVec::new(
            opts("events_total", "Pushed events, by verdict."),
            &["verdict"],
        )
        .expect(valid);
        let all: [Box<dyn prometheus::core::Collector>; 6] = [
            Box::new(requests.clone()),
            Box::new(latency.clone()),
            Box::new(in_flight.clone()),
            Box::new(streams.clone()),
            Box::new(connections.clone()),
            Box::new(events.clone()),
        ];
        for collector in all {
            registry.register(collector).expect(valid);
        }
        Self {
            requests,
            latency,
            in_flight,
            streams,
            connections,
            events,
            operations: OperationMetrics::new(&registry),
            registry,
        }
    }

    /// Counts a refused or failed request by the kind of its problem.
    pub fn record_refusal(&self, problem: &'static str) {
        self.operations.refusals.with_label_values(&[problem]).inc();
    }

    /// Counts audit records by the outcome of their delivery.
    pub fn add_exported(&self, delivered: u64, failed: u64, dead_letters: u64) {
        for (outcome, count) in [
            ("delivered", delivered),
            ("failed", failed),
            ("dead_letter", dead_letters),
        ] {
            let exported = &self.operations.exported;
            exported.with_label_values(&[outcome]).inc_by(count);
        }
    }

    /// Sets the numbers of quarantined events and open runs.
    pub fn set_waiting(&self, quarantined_events: u64, open_runs: u64) {
        for (list, count) in [
            ("quarantined_events", quarantined_events),
            ("open_runs", open_runs),
        ] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.operations
                .waiting
                .with_label_values(&[list])
                .set(count);
        }
    }

    /// Counts an answered request.
    pub fn record_request(&self, route: &str, method: &str, status: u16, took: Duration) {
        self.requests
            .with_label_values(&[route, method, &status.to_string()])
            .inc();
        self.latency
            .with_label_values(&[route, method])
            .observe(took.as_secs_f64());
    }

    /// Counts pushed events by verdict: `admitted`, `known`, `quarantined`, `refused`.
    pub fn record_events(&self, verdict: &str, count: u64) {
        self.events.with_label_values(&[verdict]).inc_by(count);
    }

    /// Counts an opened or closed event stream.
    pub fn record_stream(&self, opened: bool) {
        if opened {
            self.streams.inc();
        } else {
            self.streams.dec();
        }
    }

    /// Renders all metrics in the Prometheus text format.
    #[must_use]
    pub fn render(&self, counts: ScrapedCounts) -> String {
        // Set at scrape time: others already count, a second count could drift.
        self.in_flight.set(as_gauge(counts.requests_in_flight));
        let (in_use, idle) = counts.connections;
        let used = self.connections.with_label_values(&["in_use"]);
        used.set(as_gauge(in_use));
        let idles = self.connections.with_label_values(&["idle"]);
        idles.set(as_gauge(idle));
        self.operations.update(counts);
        let mut text = Vec::new();
        let families = self.registry.gather();
        if let Err(error) = TextEncoder::new().encode(&families, &mut text) {
            tracing::error!(%error, "cannot encode metrics");
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl OperationMetrics {
    fn new(registry: &Registry) -> Self {
        let valid = VALID;
        let build = IntGaugeVec::new(opts("build_info", "Version of the hub."), &["version"]);
        let build = build.expect(valid);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let refusals = IntCounterVec::new(
            opts(
                "refusals_total",
                "Refused and failed requests, by kind of problem.",
            ),
            &["problem"],
        )
        .expect(valid);
        let acquired = IntCounter::with_opts(opts(
            "pool_acquired_total",
            "Database connections that requests asked for.",
        ))
        .expect(valid);
        let waited = Counter::with_opts(opts(
            "pool_wait_seconds_total",
            "Time spent waiting for database connections.",
        ))
        .expect(valid);
        let waiting = IntGaugeVec::new(
            opts(
                "waiting",
                "Quarantined events and open runs of all workspaces, counted once per minute.",
            ),
            &["list"],
        )
        .expect(valid);
        let key_failures = IntCounter::with_opts(opts(
            "oidc_key_failures_total",
            "Failed attempts to fetch the keys of the OpenID Connect issuer.",
        ))
        .expect(valid);
        let memory = opts("resident_memory_bytes", "Resident memory of the process.");
        let memory = IntGauge::with_opts(memory).expect(valid);
        let files = opts("open_files", "Open file descriptors of the process.");
        let files = IntGauge::with_opts(files).expect(valid);
        let exported = exported_records();
        let all: [Box<dyn prometheus::core::Collector>; 9] = [
            Box::new(exported.clone()),
            Box::new(build),
            Box::new(refusals.clone()),
            Box::new(acquired.clone()),
            Box::new(waited.clone()),
            Box::new(waiting.clone()),
            Box::new(key_failures.clone()),
            Box::new(memory.clone()),
            Box::new(files.clone()),
        ];
        for collector in all {
            registry.register(collector).expect(valid);
        }
        Self {
            refusals,
            acquired,
            waited,
            waiting,
            key_failures,
            memory,
            files,
            exported,
        }
    }

    fn update(&self, counts: ScrapedCounts) {
        let (acquired, waited) = counts.connection_waits;
        self.acquired
            .inc_by(acquired.saturating_sub(self.acquired.get()));
        self.waited
            .inc_by((waited.as_secs_f64() - self.waited.get()).max(0.0));
        let failures = counts.key_failures;
        self.key_failures
            .inc_by(failures.saturating_sub(self.key_failures.get()));
        let (memory, files) = process_usage();
        self.memory.set(memory.unwrap_or_default());
        self.files.set(files.unwrap_or_default());
    }
}

fn exported_records() -> IntCounterVec {
    let opts = opts(
        "exported_records_total",
        "Audit records delivered by exports, failed attempts and dead letters.",
    );
    IntCounterVec::new(opts, &["outcome"]).expect(VALID)
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("ken_hub_{name}"), help.to_owned())
}

impl Default for HubMetrics {
    fn default() -> Self {
        Self::new()
    }
}

fn as_gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
