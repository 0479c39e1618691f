//! Spans for an OpenTelemetry collector: OTLP over HTTP as JSON, only where the user's environment names one.
//!
//! | variable | meaning |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector; without one nothing is sent |
//! | `OTEL_EXPORTER_OTLP_INSECURE` | `true` lets spans travel unencrypted to another machine |
//! | `OTEL_SERVICE_NAME` | what Ken is called there |
//! | `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER=none`, `OTEL_EXPORTER_OTLP_PROTOCOL=grpc` | nothing is sent |
//! | `TRACEPARENT` | the trace of whoever started Ken, which its spans join |
//!
//! Spans are named after the operation where the GenAI conventions have a name for it (`search_memory`, `create_memory`, …).
//! A span that cannot be sent is lost, and nobody waits for it longer than [`FLUSH_PATIENCE`].

use std::collections::hash_map::RandomState;
use std::env;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ken_engine::calling::{Caller, KeyStyle, Limits, Plain, Target};
use serde_json::{Value, json};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// How long the end of the program waits for what is still to be sent.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

/// How long spans are gathered before they are sent.
const GATHERED_FOR: Duration = Duration::from_secs(5);

/// Spans that are sent at once.
const BATCH_MAX: usize = 256;

/// Spans that wait; more are lost.
const WAITING_MAX: usize = 2048;

/// Bytes of a collector's answer that are read.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// The field that says which operation of the GenAI conventions a span is.
const OPERATION: &str = "gen_ai.operation.name";

/// A span of kind "internal".
const KIND_INTERNAL: u8 = 1;

/// Something for the thread that sends.
enum Message {
    Span(Value),
    /// Send what there is, and say so.
    Flush(SyncSender<()>),
}

/// Sends what is left when the program ends.
#[derive(Debug)]
pub(crate) struct Export {
    sender: SyncSender<Message>,
}

/// Turns spans into what a collector reads.
#[derive(Debug)]
pub(crate) struct Spans {
    sender: SyncSender<Message>,
    trace: String,
    /// The span of whoever started us.
    parent: Option<String>,
}

/// What is known of a span under way.
struct Open {
    id: String,
    began: SystemTime,
    operation: Option<String>,
    attributes: Vec<Value>,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Message")
    }
}

/// Begins to export, if the environment names a collector that can be talked to.
pub(crate) fn start() -> Option<(Spans, Export)> {
    let caller = caller()?;
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let name = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "ken".to_owned());
    let thread = thread::Builder::new().name("otel".to_owned());
    thread
        .spawn(move || send_all(&receiver, &caller, &name))
        .ok()?;
    let (trace, parent) = match variable("TRACEPARENT").as_deref().and_then(joined) {
        Some((trace, parent)) => (trace, Some(parent)),
        None => (format!("{:016x}{:016x}", random(), random()), None),
    };
    let spans = Spans {
        sender: sender.clone(),
        trace,
        parent,
    };
    Some((spans, Export { sender }))
}

/// Returns who is sent to; nobody where the environment says no, or names what we do not speak.
fn caller() -> Option<Caller> {
    let says =
        |name: &str, what: &str| variable(name).is_some_and(|it| it.eq_ignore_ascii_case(what));
    if says("OTEL_SDK_DISABLED", "true")
        || says("OTEL_TRACES_EXPORTER", "none")
        || says("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    {
        return None;
    }
    let whole = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let url = whole.or_else(|| {
        let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        Some(format!("{}/v1/traces", base.trim_end_matches('/')))
    })?;
    let target = Target {
        url,
        key_variable: None,
        key_style: KeyStyle::Bearer,
        plain: match says("OTEL_EXPORTER_OTLP_INSECURE", "true") {
            true => Plain::Anywhere,
            false => Plain::Loopback,
        },
        headers: Vec::new(),
    };
    let limits = Limits {
        timeout: FLUSH_PATIENCE,
        answer_bytes_max: ANSWER_BYTES_MAX,
    };
    Caller::open(&target, limits).ok()
}

/// Reads `00-TRACE-SPAN-FLAGS`.
fn joined(text: &str) -> Option<(String, String)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().filter(|it| it.len() == 2)?;
    let is_hex = |text: &str, length| {
        text.len() == length
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
            && text.chars().any(|c| c != '0')
    };
    let fits = version.len() == 2 && version != "ff" && is_hex(trace, 32) && is_hex(span, 16);
    fits.then(|| (trace.to_owned(), span.to_owned()))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

/// A number nobody can foretell; good enough to tell spans apart.
fn random() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

fn send_all(receiver: &Receiver<Message>, caller: &Caller, name: &str) {
    let mut waiting: Vec<Value> = Vec::new();
    let mut since = Instant::now();
    loop {
        let message = receiver.recv_timeout(GATHERED_FOR);
        let flushed = match message {
            Ok(Message::Span(span)) => {
                if waiting.is_empty() {
                    since = Instant::now();
                }
                waiting.push(span);
                None
            }
            Ok(Message::Flush(done)) => Some(done),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let is_due =
            BATCH_MAX <= waiting.len() || GATHERED_FOR <= since.elapsed() || flushed.is_some();
        if is_due && !waiting.is_empty() {
            let body = request(&std::mem::take(&mut waiting), name).to_string();
            // Telemetry that is lost harms nobody.
            let _ = caller.post(body.as_bytes());
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

/// Returns spans as a collector reads them.
fn request(spans: &[Value], name: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [text("service.name", name), text("service.version", version)];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "ken", "version": version}, "spans": spans}],
    }]})
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut open = Open {
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
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let Some(open) = span.extensions_mut().remove::<Open>() else {
            return;
        };
        let above = span
            .parent()
            .and_then(|it| it.extensions().get::<Open>().map(|it| it.id.clone()));
        let name = open.operation.as_deref().unwrap_or(span.name());
        let told = json!({
            "traceId": self.trace,
            "spanId": open.id,
            "parentSpanId": above.or_else(|| self.parent.clone()).unwrap_or_default(),
            "name": name,
            "kind": KIND_INTERNAL,
            "startTimeUnixNano": nanos(open.began),
            "endTimeUnixNano": nanos(SystemTime::now()),
            "attributes": open.attributes,
        });
        let _ = self.sender.try_send(Message::Span(told));
    }
}

impl Visit for Open {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        if name == OPERATION {
            self.operation = Some(value.to_owned());
            self.attributes.push(text(name, value));
        } else {
            self.attributes.push(text(&format!("ken.{name}"), value));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let key = format!("ken.{}", field.name());
        // Whole numbers of 64 bits are texts in this form of JSON.
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

    // What has no type of its own may hold anything: it does not leave this machine.
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

impl Drop for Export {
    fn drop(&mut self) {
        let (done, is_done) = sync_channel(1);
        if self.sender.try_send(Message::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_PATIENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_joined_only_where_it_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let (trace, span) = joined(good).unwrap();
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
            assert_eq!(joined(wrong), None, "{wrong}");
        }
    }
}
