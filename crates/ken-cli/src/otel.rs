//! OpenTelemetry export: OTLP over HTTP as JSON, only if the environment names a collector.
//!
//! | variable | meaning |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the collector's URL for traces |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector's base URL; without either, nothing is sent |
//! | `OTEL_EXPORTER_OTLP_INSECURE` | `true` allows unencrypted export to another machine |
//! | `OTEL_SERVICE_NAME` | the service name |
//! | `OTEL_SDK_DISABLED=true`, `OTEL_TRACES_EXPORTER=none` | nothing is sent |
//! | `OTEL_EXPORTER_OTLP_PROTOCOL=grpc` | nothing is sent: gRPC is not supported |
//! | `TRACEPARENT` | the trace of the parent process, which the spans join |
//!
//! A span takes its name from the GenAI conventions where they define one (`search_memory`,
//! `create_memory`, …). A span that cannot be sent is dropped. The end of the program waits for the
//! export at most [`FLUSH_TIMEOUT`].

use std::collections::hash_map::RandomState;
use std::env;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ken_http::{CallLimits, CallTarget, EndpointClient, KeyStyle, PlaintextScope};
use serde_json::{Value, json};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Maximum time the end of the program waits for the export.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Time between two exports.
const EXPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum spans per export.
const BATCH_MAX: usize = 256;

/// Maximum spans in the queue; further ones are dropped.
const QUEUE_MAX: usize = 2048;

/// Maximum bytes read of the collector's response.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// The field with the operation name of the GenAI conventions.
const OPERATION_FIELD: &str = "gen_ai.operation.name";

/// The span kind "internal".
const KIND_INTERNAL: u8 = 1;

/// A message to the export thread.
enum ExportMessage {
    Span(Value),
    /// Export the queue, then confirm.
    Flush(SyncSender<()>),
}

/// Flushes the queue when dropped.
#[derive(Debug)]
pub(crate) struct SpanExport {
    sender: SyncSender<ExportMessage>,
}

/// A tracing layer that converts spans to OTLP.
#[derive(Debug)]
pub(crate) struct SpanLayer {
    sender: SyncSender<ExportMessage>,
    trace: String,
    /// The span of the parent process.
    parent: Option<String>,
}

/// A span that has not ended yet.
struct OpenSpan {
    id: String,
    began: SystemTime,
    operation: Option<String>,
    attributes: Vec<Value>,
}

impl fmt::Debug for ExportMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Message")
    }
}

/// Starts the export, if the environment names a supported collector.
pub(crate) fn start_export() -> Option<(SpanLayer, SpanExport)> {
    let caller = collector_client()?;
    let (sender, receiver) = sync_channel(QUEUE_MAX);
    let name = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "ken".to_owned());
    let thread = thread::Builder::new().name("otel".to_owned());
    thread
        .spawn(move || run_export(&receiver, &caller, &name))
        .ok()?;
    let (trace, parent) = match variable("TRACEPARENT")
        .as_deref()
        .and_then(parse_traceparent)
    {
        Some((trace, parent)) => (trace, Some(parent)),
        None => (format!("{:016x}{:016x}", random(), random()), None),
    };
    let spans = SpanLayer {
        sender: sender.clone(),
        trace,
        parent,
    };
    Some((spans, SpanExport { sender }))
}

/// Returns the client for the collector; `None` if the export is disabled or not supported.
fn collector_client() -> Option<EndpointClient> {
    let is_set =
        |name: &str, value: &str| variable(name).is_some_and(|it| it.eq_ignore_ascii_case(value));
    if is_set("OTEL_SDK_DISABLED", "true")
        || is_set("OTEL_TRACES_EXPORTER", "none")
        || is_set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    {
        return None;
    }
    let whole = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let url = whole.or_else(|| {
        let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        Some(format!("{}/v1/traces", base.trim_end_matches('/')))
    })?;
    let target = CallTarget {
        url,
        key_variable: None,
        key_style: KeyStyle::Bearer,
        // Span names and durations reveal activity, so plain HTTP leaves the machine on request
        // only.
        plain: if is_set("OTEL_EXPORTER_OTLP_INSECURE", "true") {
            PlaintextScope::Anywhere
        } else {
            PlaintextScope::Loopback
        },
        headers: Vec::new(),
    };
    let limits = CallLimits {
        timeout: FLUSH_TIMEOUT,
        response_bytes_max: ANSWER_BYTES_MAX,
    };
    EndpointClient::open(&target, limits).ok()
}

/// Parses a W3C trace context, `00-TRACE-SPAN-FLAGS`.
fn parse_traceparent(text: &str) -> Option<(String, String)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().filter(|it| it.len() == 2)?;
    // The specification forbids upper case and ids of zeros only.
    let is_hex = |text: &str, length| {
        text.len() == length
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
            && text.chars().any(|c| c != '0')
    };
    let is_valid = version.len() == 2 && version != "ff" && is_hex(trace, 32) && is_hex(span, 16);
    is_valid.then(|| (trace.to_owned(), span.to_owned()))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

/// Returns a random nonzero number. `RandomState` is seeded by the system; span ids need no more.
fn random() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

fn run_export(receiver: &Receiver<ExportMessage>, caller: &EndpointClient, name: &str) {
    let mut pending: Vec<Value> = Vec::new();
    let mut since = Instant::now();
    loop {
        let message = receiver.recv_timeout(EXPORT_INTERVAL);
        let flushed = match message {
            Ok(ExportMessage::Span(span)) => {
                if pending.is_empty() {
                    since = Instant::now();
                }
                pending.push(span);
                None
            }
            Ok(ExportMessage::Flush(done)) => Some(done),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let is_due =
            pending.len() >= BATCH_MAX || since.elapsed() >= EXPORT_INTERVAL || flushed.is_some();
        if is_due && !pending.is_empty() {
            let body = export_request(&std::mem::take(&mut pending), name).to_string();
            // Lost telemetry must not affect the command.
            let _ = caller.post(body.as_bytes());
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

/// Returns the OTLP request for spans.
fn export_request(spans: &[Value], name: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        string_attribute("service.name", name),
        string_attribute("service.version", version),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "ken", "version": version}, "spans": spans}],
    }]})
}

fn string_attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut open = OpenSpan {
            id: format!("{:016x}", random()),
            began: SystemTime::now(),
            operation: None,
            attributes: Vec::new(),
        };
        attributes.record(&mut open);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(open);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<OpenSpan>()
        {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let Some(open) = span.extensions_mut().remove::<OpenSpan>() else {
            return;
        };
        let parent_id = span
            .parent()
            .and_then(|it| it.extensions().get::<OpenSpan>().map(|it| it.id.clone()));
        let name = open.operation.as_deref().unwrap_or(span.name());
        let exported = json!({
            "traceId": self.trace,
            "spanId": open.id,
            "parentSpanId": parent_id.or_else(|| self.parent.clone()).unwrap_or_default(),
            "name": name,
            "kind": KIND_INTERNAL,
            "startTimeUnixNano": nanos(open.began),
            "endTimeUnixNano": nanos(SystemTime::now()),
            "attributes": open.attributes,
        });
        // Never blocks: if the collector is slow, spans are dropped instead.
        let _ = self.sender.try_send(ExportMessage::Span(exported));
    }
}

impl Visit for OpenSpan {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        if name == OPERATION_FIELD {
            self.operation = Some(value.to_owned());
            self.attributes.push(string_attribute(name, value));
        } else {
            self.attributes
                .push(string_attribute(&format!("ken.{name}"), value));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let key = format!("ken.{}", field.name());
        // OTLP/JSON encodes 64-bit integers as strings.
        let value = json!({"intValue": value.to_string()});
        self.attributes.push(json!({"key": key, "value": value}));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        let key = format!("ken.{}", field.name());
        let value = json!({"intValue": value.to_string()});
        self.attributes.push(json!({"key": key, "value": value}));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        let key = format!("ken.{}", field.name());
        self.attributes
            .push(json!({"key": key, "value": {"boolValue": value}}));
    }

    // A value formatted with `Debug` may contain anything, so it is not exported.
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

impl Drop for SpanExport {
    fn drop(&mut self) {
        let (done, is_done) = sync_channel(1);
        if self.sender.try_send(ExportMessage::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_joined_only_where_it_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let (trace, span) = parse_traceparent(good).unwrap();
        assert_eq!(
            (trace.as_str(), span.as_str()),
            ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
        );
        for wrong in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf9-00f067aa0ba902b7-01",
        ] {
            assert_eq!(parse_traceparent(wrong), None, "{wrong}");
        }
    }
}
