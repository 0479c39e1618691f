//! Delivery of messages to a file, to syslog, or to a webhook.
//!
//! Everything here blocks and runs on the blocking thread pool.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ken_core::values::time::Timestamp;
use ken_http::{EndpointOrigin, build_agent, describe_error};
use ring::hmac;

use super::format::{ExportMessage, media_type};
use crate::config::{AuditExportFormat, ExportTarget, WebhookSecret};

/// Timeout of a delivery.
pub(super) const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Delivers messages in order. Returns how many were delivered, and the error of the next one.
pub(super) fn deliver(
    target: &ExportTarget,
    format: AuditExportFormat,
    messages: &[ExportMessage],
    now: Timestamp,
) -> (usize, Option<String>) {
    let all = messages.len();
    // All or none: after a partial delivery the whole batch is sent again, with the same ids. Only
    // the kind of the error is stored, because its text could quote an address.
    let whole = |result: io::Result<()>| match result {
        Ok(()) => (all, None),
        Err(error) => (0, Some(error.kind().to_string())),
    };
    match target {
        ExportTarget::File(path) => whole(append(path, format, messages)),
        ExportTarget::SyslogUdp(address) => whole(send_datagrams(address, format, messages)),
        ExportTarget::SyslogTcp(address) => whole(send_frames(address, format, messages)),
        ExportTarget::Webhook { url, secret } => {
            for (at, message) in messages.iter().enumerate() {
                if let Err(error) = post(url, secret, format, message, now) {
                    return (at, Some(error));
                }
            }
            (all, None)
        }
    }
}

/// Adds lines to a file and flushes it to the disk. The file is opened each time, so that it may be
/// rotated.
fn append(path: &Path, format: AuditExportFormat, messages: &[ExportMessage]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    // The log names people and their addresses.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let mut lines = String::new();
    for message in messages {
        lines.push_str(&message.line(format));
        lines.push('\n');
    }
    file.write_all(lines.as_bytes())?;
    // On the disk before the position is noted, or a crash could leave a gap in an archive.
    file.sync_data()
}

fn send_datagrams(
    address: &str,
    format: AuditExportFormat,
    messages: &[ExportMessage],
) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in address.to_socket_addrs()? {
        let local = if place.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        // UDP confirms nothing: a delivered message is one that this machine sent.
        let sent = UdpSocket::bind(local).and_then(|socket| {
            socket.connect(place)?;
            let lines = messages.iter().map(|it| it.syslog(format));
            lines
                .into_iter()
                .try_for_each(|line| socket.send(line.as_bytes()).map(drop))
        });
        match sent {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn send_frames(
    address: &str,
    format: AuditExportFormat,
    messages: &[ExportMessage],
) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, DELIVERY_TIMEOUT) {
            Ok(mut stream) => {
                stream.set_write_timeout(Some(DELIVERY_TIMEOUT))?;
                for message in messages {
                    let line = message.syslog(format);
                    // The length comes first (RFC 6587), so no character of a message can end its
                    // frame.
                    stream.write_all(format!("{} {line}", line.len()).as_bytes())?;
                }
                stream.flush()?;
                return stream.shutdown(std::net::Shutdown::Write);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Posts one message, signed as in the Standard Webhooks specification.
fn post(
    url: &str,
    secret: &WebhookSecret,
    format: AuditExportFormat,
    message: &ExportMessage,
    now: Timestamp,
) -> Result<(), String> {
    // A client per request: exports are rare, and a kept connection would hide that a host moved.
    let origin = EndpointOrigin::of(url).map_err(|e| e.to_string())?;
    let agent = build_agent(&origin, Some(DELIVERY_TIMEOUT)).map_err(|e| e.to_string())?;
    let body = message.line(format);
    let seconds = now.millis() / 1000;
    let answer = agent
        .post(url)
        .header("content-type", media_type(format))
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", seconds.to_string())
        .header(
            "webhook-signature",
            sign(secret, &message.id, seconds, &body),
        )
        .send(&body);
    match answer {
        // A redirect is an answer like any other and is not followed.
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("status {}", answer.status().as_u16())),
        // Our own words: the client's may quote the address, and the error is stored.
        Err(error) => Err(describe_error(&error).to_owned()),
    }
}

/// Returns the signature over id, time and body.
fn sign(secret: &WebhookSecret, id: &str, seconds: u64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal());
    // Id and time are signed, too: a receiver can refuse a delivery that was recorded and sent
    // again.
    let tag = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}
