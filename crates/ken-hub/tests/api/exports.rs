//! Exports of the audit log to real receivers: a file, syslog over UDP and TCP, and webhooks that
//! fail, redirect and come back.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ken_core::values::time::Timestamp;
use ken_hub::clock::HubClock;
use ken_hub::config::ExportSettings;
use ken_hub::database::audit::{AuditAction, AuditActor};
use ken_hub::exports::{AuditExporter, ExportRound};
use ken_testkit::build::EventWriter;
use serde_json::Value;

use crate::hub::ApiHubEnvironment;

const SECRET: &str = "a secret of thirty-two characters";

/// Longest wait for a delivery.
const PATIENCE: Duration = Duration::from_secs(20);

/// Failed attempts after which a webhook gives up.
const ATTEMPTS: u64 = 8;

/// A request that a webhook received.
#[derive(Debug)]
struct ReceivedRequest {
    head: String,
    body: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let found = lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }
}

/// Starts a webhook that answers with the given heads in turn, and with 204 afterwards.
fn webhook(answers: Vec<String>) -> (SocketAddr, Receiver<ReceivedRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let answer = answers
                .next()
                .unwrap_or_else(|| "204 No Content".to_owned());
            if sender.send(answer_request(stream, &answer)).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

fn answer_request(stream: TcpStream, answer: &str) -> ReceivedRequest {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let request = ReceivedRequest {
        head,
        body: String::new(),
    };
    let length: usize = request.header("content-length").parse().expect("a length");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    ReceivedRequest {
        body: String::from_utf8(body).expect("text"),
        ..request
    }
}

fn settings(rest: &str) -> ExportSettings {
    let text = format!("[[export]]\nname = \"siem\"\norganization = \"acme\"\n{rest}");
    let mut all = ExportSettings::parse(&text, Path::new("/"), |_| Some(SECRET.to_owned()))
        .expect("settings");
    all.remove(0)
}

fn hook_settings(address: SocketAddr, rest: &str) -> ExportSettings {
    settings(&format!(
        "webhook = \"http://{address}/ken\"\nsecret_file = \"/key\"\n{rest}"
    ))
}

fn round(hub: &ApiHubEnvironment, exporter: &AuditExporter) -> ExportRound {
    hub.runtime
        .block_on(exporter.deliver_round())
        .expect("a round")
}

/// Adds records about the organization.
fn add_records(hub: &ApiHubEnvironment, subjects: &[&str]) {
    for subject in subjects {
        hub.runtime.block_on(async {
            let begun = hub.app.database.begin_organization(hub.acme.organization);
            let mut tx = begun.await.expect("a transaction");
            let act = AuditAction::TokenRevoked;
            tx.audit(AuditActor::Hub, act, subject)
                .await
                .expect("a record");
            tx.commit().await.expect("committed");
        });
    }
}

/// Verifies a signature as the Standard Webhooks specification says.
fn check_signature(request: &ReceivedRequest) {
    let (id, at) = (
        request.header("webhook-id"),
        request.header("webhook-timestamp"),
    );
    let signed = format!("{id}.{at}.{}", request.body);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = request
        .header("webhook-signature")
        .strip_prefix("v1,")
        .expect("version 1");
    let signature = STANDARD.decode(signature).expect("base64");
    ring::hmac::verify(&key, signed.as_bytes(), &signature).expect("a valid signature");
}

#[test]
fn a_running_hub_tells_a_webhook_what_was_quarantined_revoked_or_failed_and_nothing_else() {
    let (address, requests) = webhook(Vec::new());
    let select =
        "format = \"cloudevents\"\nselect = [\"quarantine\", \"revocation\", \"gate-failure\"]";
    let export = hook_settings(address, select);
    let hub = ApiHubEnvironment::start_with(|it| it.exports = vec![export]);
    // The export starts with what happens after it first ran.
    let states = "select count(*) from ken.audit_exports";
    let deadline = Instant::now() + PATIENCE;
    while hub.database.sql(states).trim() != "1" {
        assert!(Instant::now() < deadline, "the export did not start");
        std::thread::yield_now();
    }
    let (_, proposal) = EventWriter::new(1).propose("Charge only once");
    let pushed = hub.push(&hub.acme, &hub.acme.curator, &[proposal]);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    let made = r#"{"name":"laptop","role":"reader","actor":"human:rita@example.org"}"#;
    let made = hub.post("/v1/tokens", &hub.acme.admin, made).json();
    let id = made["token"]["id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/tokens/{id}");
    let bearer = format!("Bearer {}", hub.acme.admin);
    let revoked = hub.send("DELETE", &path, &[("authorization", &bearer)], None);
    assert!(revoked.status < 300, "{}", revoked.text());
    let request = requests.recv_timeout(PATIENCE).expect("a request");
    check_signature(&request);
    let event: Value = serde_json::from_str(&request.body).expect("JSON");
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["type"], "ken.hub.audit.token.revoked");
    let organization = hub.acme.organization.0;
    assert_eq!(event["source"], format!("/organizations/{organization}"));
    assert!(
        event["subject"].as_str().is_some_and(|it| it.contains(&id)),
        "{event}"
    );
    assert_eq!(event["data"]["schema"], "ken.audit-record.v1");
    assert_eq!(event["data"]["organization"], organization.to_string());
    assert!(
        request
            .header("content-type")
            .starts_with("application/cloudevents+json")
    );
    assert!(
        requests.recv_timeout(Duration::from_millis(10)).is_err(),
        "only one record was selected"
    );
}

#[test]
fn a_webhook_that_fails_is_tried_again_with_pauses_and_then_becomes_a_dead_letter() {
    let hub = ApiHubEnvironment::start();
    // More failures than attempts at one record: the first becomes a dead letter.
    let failures = vec!["500 Internal Server Error".to_owned(); ATTEMPTS as usize];
    let (address, requests) = webhook(failures);
    let clock = HubClock::fixed_at(Timestamp::from_millis(1_800_000_000_000));
    let database = hub.app.database.clone().with_clock(clock.clone());
    let exporter = AuditExporter::new(database, hook_settings(address, ""));
    add_records(&hub, &["one", "two"]);
    let mut waited = 0;
    for attempt in 1..=ATTEMPTS {
        let tried = round(&hub, &exporter);
        let dead = u64::from(attempt == ATTEMPTS);
        assert_eq!(
            (tried.delivered, tried.failed, tried.dead_letters),
            (0, 1, dead),
            "{attempt}"
        );
        // Nothing is sent before the pause ends.
        assert_eq!(round(&hub, &exporter), ExportRound::default(), "{attempt}");
        let pause = 1_000 << (attempt - 1);
        waited += pause;
        clock.set(Timestamp::from_millis(1_800_000_000_000 + waited));
    }
    let first: Vec<ReceivedRequest> = requests.try_iter().collect();
    assert_eq!(first.len() as u64, ATTEMPTS);
    let ids: std::collections::BTreeSet<&str> =
        first.iter().map(|it| it.header("webhook-id")).collect();
    assert_eq!(ids.len(), 1, "every attempt has the same id");
    first.iter().for_each(check_signature);
    // The next records are delivered, and the dead one when the operator asks.
    let delivered = round(&hub, &exporter);
    assert!(
        delivered.delivered >= 1 && delivered.failed == 0,
        "{delivered:?}"
    );
    assert_eq!(
        round(&hub, &exporter),
        ExportRound::default(),
        "nothing is delivered twice"
    );
    let letters = "select number, error from ken.audit_dead_letters";
    assert_eq!(hub.database.sql(letters).trim(), "1|status 500");
    let others: Vec<ReceivedRequest> = requests.try_iter().collect();
    hub.runtime.block_on(async {
        let begun = hub.app.database.begin_organization(hub.acme.organization);
        let mut tx = begun.await.expect("a transaction");
        assert_eq!(tx.requeue_dead_letters("siem").await.expect("requeued"), 1);
        tx.commit().await.expect("committed");
    });
    assert_eq!(round(&hub, &exporter).delivered, 1);
    let again = requests.try_iter().next().expect("a request");
    assert_eq!(again.header("webhook-id"), first[0].header("webhook-id"));
    assert!(
        others
            .iter()
            .all(|it| it.header("webhook-id") != first[0].header("webhook-id"))
    );
    assert_eq!(hub.database.sql(letters).trim(), "");
}

#[test]
fn a_redirect_of_a_webhook_is_a_failure_and_is_not_followed() {
    let hub = ApiHubEnvironment::start();
    let (inner, inner_requests) = webhook(Vec::new());
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let answer = format!("{status}\r\nLocation: http://{inner}/internal");
        let (address, requests) = webhook(vec![answer]);
        let exporter = AuditExporter::new(hub.app.database.clone(), hook_settings(address, ""));
        hub.database.sql("delete from ken.audit_exports");
        add_records(&hub, &["one"]);
        let tried = round(&hub, &exporter);
        assert_eq!((tried.delivered, tried.failed), (0, 1), "{status}");
        assert_eq!(requests.try_iter().count(), 1);
    }
    assert_eq!(
        inner_requests.try_iter().count(),
        0,
        "a redirect was followed"
    );
}

#[test]
fn two_hubs_deliver_each_record_to_a_file_once_and_in_order() {
    let hub = ApiHubEnvironment::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    let file = settings(&format!("file = \"{}\"", path.display()));
    let exporters = [(); 2].map(|()| AuditExporter::new(hub.app.database.clone(), file.clone()));
    for batch in 0..3 {
        add_records(&hub, &[&format!("{batch}a"), &format!("{batch}b")]);
        for exporter in &exporters {
            round(&hub, exporter);
        }
    }
    let text = std::fs::read_to_string(&path).expect("a file");
    let records: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect();
    let of_chain = |chain: &str| {
        let own = records.iter().filter(|it| it["chain"] == chain);
        own.map(|it| it["number"].as_u64().expect("a number"))
            .collect::<Vec<_>>()
    };
    let numbers = of_chain(&hub.acme.organization.0.to_string());
    let count = numbers.len() as u64;
    assert!(count >= 6, "{text}");
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    // No other organization's record is in the file.
    let own = hub.acme.organization.0.to_string();
    assert!(records.iter().all(|it| it["organization"] == own.as_str()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "only the hub's user reads it");
    }
}

#[test]
fn syslog_receives_records_as_datagrams_and_as_frames() {
    let hub = ApiHubEnvironment::start();
    add_records(&hub, &["one"]);
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    udp.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let address = udp.local_addr().expect("bound");
    let export = settings(&format!("syslog = \"udp://{address}\""));
    let exporter = AuditExporter::new(hub.app.database.clone(), export);
    assert!(round(&hub, &exporter).delivered > 0);
    let mut datagram = vec![0; 65_536];
    let length = udp.recv(&mut datagram).expect("a datagram");
    let line = String::from_utf8_lossy(&datagram[..length]).into_owned();
    check_syslog(&line);
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = tcp.local_addr().expect("bound");
    let export = settings(&format!("syslog = \"tcp://{address}\""));
    hub.database
        .sql("delete from ken.audit_exports; delete from ken.audit_deliveries");
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = tcp.accept().expect("a connection");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    });
    let exporter = AuditExporter::new(hub.app.database.clone(), export);
    assert!(round(&hub, &exporter).delivered > 0);
    let text = reader.join().expect("read");
    let (length, rest) = text.split_once(' ').expect("a length");
    let length: usize = length.parse().expect("a number");
    check_syslog(&rest[..length]);
}

fn check_syslog(line: &str) {
    // The record was done, so its severity is "notice": 13 * 8 + 5.
    let rest = line.strip_prefix("<109>1 ").expect(line);
    let fields: Vec<&str> = rest.splitn(7, ' ').collect();
    assert!(
        fields[0].ends_with('Z') && fields[0].contains('T'),
        "{line}"
    );
    assert_eq!(
        [fields[1], fields[2], fields[3], fields[5]],
        ["-", "ken-hub", "-", "-"]
    );
    let record: Value = serde_json::from_str(fields[6]).expect("JSON");
    assert_eq!(record["act"], fields[4]);
}
