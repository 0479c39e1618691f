//! What a hub process counts, as Prometheus reads it.
//!
//! Labels are words of ours (route, method, status, verdict), never a tenant or a text of theirs: their number is bounded.

use std::time::Duration;

use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

use crate::database::Pool;

/// Upper ends of the latency histogram's buckets, in seconds.
const LATENCY_SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// What a hub process counts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    latency: HistogramVec,
    under_way: IntGauge,
    streams: IntGauge,
    connections: prometheus::IntGaugeVec,
    events: IntCounterVec,
}

impl Metrics {
    /// Starts at nothing.
    ///
    /// # Panics
    ///
    /// Never: the names are our own and differ.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::new();
        let opts = |name: &str, help: &str| Opts::new(format!("ken_hub_{name}"), help.to_owned());
        let valid = "the names of our metrics are valid and differ";
        let requests = IntCounterVec::new(
            opts("requests_total", "Requests answered."),
            &["route", "method", "status"],
        )
        .expect(valid);
        let told = opts(
            "request_seconds",
            "Time from a request's head to its answer's.",
        );
        let latency = HistogramOpts::from(told).buckets(LATENCY_SECONDS.to_vec());
        let latency = HistogramVec::new(latency, &["route", "method"]).expect(valid);
        let under_way = IntGauge::with_opts(opts("requests_in_flight", "Requests under way."));
        let under_way = under_way.expect(valid);
        let streams = IntGauge::with_opts(opts("streams_open", "Streams of events that are open."));
        let streams = streams.expect(valid);
        let connections = prometheus::IntGaugeVec::new(
            opts(
                "pool_connections",
                "Connections to the database, by what they do.",
            ),
            &["state"],
        )
        .expect(valid);
        let events = IntCounterVec::new(
            opts("events_total", "Events that were pushed, by verdict."),
            &["verdict"],
        )
        .expect(valid);
        let all: [Box<dyn prometheus::core::Collector>; 6] = [
            Box::new(requests.clone()),
            Box::new(latency.clone()),
            Box::new(under_way.clone()),
            Box::new(streams.clone()),
            Box::new(connections.clone()),
            Box::new(events.clone()),
        ];
        for one in all {
            registry.register(one).expect(valid);
        }
        Self {
            registry,
            requests,
            latency,
            under_way,
            streams,
            connections,
            events,
        }
    }

    /// Counts an answered request.
    pub fn answered(&self, route: &str, method: &str, status: u16, took: Duration) {
        self.requests
            .with_label_values(&[route, method, &status.to_string()])
            .inc();
        self.latency
            .with_label_values(&[route, method])
            .observe(took.as_secs_f64());
    }

    /// Counts events by what became of them: `admitted`, `known`, `quarantined`, `refused`.
    pub fn events(&self, verdict: &str, count: u64) {
        self.events.with_label_values(&[verdict]).inc_by(count);
    }

    /// One more stream is open, or one less.
    pub fn stream(&self, opened: bool) {
        if opened {
            self.streams.inc();
        } else {
            self.streams.dec();
        }
    }

    /// Returns everything as text.
    #[must_use]
    pub fn text(&self, under_way: usize, pool: &Pool) -> String {
        self.under_way.set(as_gauge(under_way));
        let (in_use, idle) = pool.count();
        let used = self.connections.with_label_values(&["in_use"]);
        used.set(as_gauge(in_use));
        let idles = self.connections.with_label_values(&["idle"]);
        idles.set(as_gauge(idle));
        let mut text = Vec::new();
        let gathered = self.registry.gather();
        if let Err(error) = TextEncoder::new().encode(&gathered, &mut text) {
            tracing::error!(%error, "metrics cannot be written");
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn as_gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
