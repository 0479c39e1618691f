//! Prometheus metrics of a hub process.
//!
//! Labels have fixed values (route, method, status, verdict). They never contain tenant data, so
//! the number of time series is bounded.

use std::time::Duration;

use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

/// Bucket bounds of the latency histogram, in seconds. The last one is the request timeout.
const LATENCY_SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Metrics of a hub process.
#[derive(Debug)]
pub struct HubMetrics {
    registry: Registry,
    requests: IntCounterVec,
    latency: HistogramVec,
    in_flight: IntGauge,
    streams: IntGauge,
    connections: prometheus::IntGaugeVec,
    events: IntCounterVec,
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
        let opts = |name: &str, help: &str| Opts::new(format!("ken_hub_{name}"), help.to_owned());
        let valid = "metric names are valid and distinct";
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
        let connections = prometheus::IntGaugeVec::new(
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
            registry,
            requests,
            latency,
            in_flight,
            streams,
            connections,
            events,
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
    ///
    /// `in_use` and `idle` count the connections to the database.
    #[must_use]
    pub fn render(&self, in_flight: usize, (in_use, idle): (usize, usize)) -> String {
        // Set at scrape time: the limiter and the pool already count, a second count could drift.
        self.in_flight.set(as_gauge(in_flight));
        let used = self.connections.with_label_values(&["in_use"]);
        used.set(as_gauge(in_use));
        let idles = self.connections.with_label_values(&["idle"]);
        idles.set(as_gauge(idle));
        let mut text = Vec::new();
        let families = self.registry.gather();
        if let Err(error) = TextEncoder::new().encode(&families, &mut text) {
            tracing::error!(%error, "cannot encode metrics");
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Default for HubMetrics {
    fn default() -> Self {
        Self::new()
    }
}

fn as_gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
