//! Pushing, pulling and streaming events.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ken_core::ledger::event::{
    AdmissionVerdict, Channel, EventBlanked, EventBody, Origin, RecordedEvent, Revised,
};
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EventId;
use ken_core::values::kind::EntryKind;
use ken_testkit::build::EventWriter;
use serde_json::Value;

use crate::hub::{ApiHubEnvironment, ApiResponse};

const STATEMENT: &str =
    "Reading the session after logout returns stale data because the cache keeps it for a minute";

fn all_verdicts(answer: &ApiResponse) -> Vec<String> {
    let told = answer.json();
    let events = told["events"].as_array().cloned().unwrap_or_default();
    let verdict = |it: &Value| it["verdict"].as_str().unwrap_or_default().to_owned();
    events.iter().map(verdict).collect()
}

fn pull_lines(hub: &ApiHubEnvironment) -> Vec<String> {
    let answer = hub.get("/v1/workspaces/shop/events", &hub.acme.reader);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let pulled: ken_remote::wire::PullResponse =
        serde_json::from_slice(&answer.body).expect("a page");
    pulled.events.iter().map(|it| it.get().to_owned()).collect()
}

#[test]
fn events_come_back_byte_for_byte_and_a_second_push_is_known() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(1);
    let copies: Vec<RecordedEvent> = (0..5)
        .map(|n| scribe.propose(&format!("{STATEMENT}, case {n}")).1)
        .collect();
    let answer = hub.push(&hub.acme, &hub.acme.curator, &copies);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(all_verdicts(&answer), ["admitted"; 5]);
    let again = hub.push(&hub.acme, &hub.acme.curator, &copies);
    assert_eq!(all_verdicts(&again), ["known"; 5]);
    let written: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
    assert_eq!(pull_lines(&hub), written);
    // The other organization sees none of them.
    let others = hub.get("/v1/workspaces/vault/events", &hub.other.reader);
    assert_eq!(others.json()["events"], serde_json::json!([]));
}

/// Returns the hub's response to a push, its log and its audit notes.
fn push_and_describe(hub: &ApiHubEnvironment, copies: &[RecordedEvent]) -> [String; 3] {
    let answer = hub.push(&hub.acme, &hub.acme.curator, copies);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let notes = "SELECT by, role, act, subject FROM ken.audit WHERE act = 'events.pushed'";
    [
        answer.text(),
        pull_lines(hub).join("\n"),
        hub.database.sql(notes),
    ]
}

#[test]
fn both_ways_into_the_log_answer_and_note_the_same() {
    let mut scribe = EventWriter::new(9);
    scribe.by("agent:scout");
    let (entry, first) = scribe.propose(STATEMENT);
    let reworded = EventBody::Revised(Revised {
        changes: ContentChanges {
            statement: Some("The cache keeps a session for a minute".parse().unwrap()),
            ..ContentChanges::default()
        },
        replaces: vec![first.event.id],
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    let reworded = scribe.about(entry, reworded);
    scribe.verdict = AdmissionVerdict::Quarantined;
    let (_, waits) = scribe.propose(&format!("{STATEMENT}, says another"));
    let copies = [first.clone(), reworded, waits, first.redacted(), first];
    let short = ApiHubEnvironment::start();
    let long = ApiHubEnvironment::start();
    // With this flag unset, the hub must look up retractions, which forces the regular append.
    let unknown = "UPDATE ken.workspaces SET taken_back = NULL";
    long.database.sql(unknown);
    assert_eq!(
        push_and_describe(&short, &copies),
        push_and_describe(&long, &copies)
    );
}

#[test]
fn pages_follow_each_other_without_gap_and_an_unknown_place_is_told() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(2);
    let copies: Vec<RecordedEvent> = (0..7)
        .map(|n| scribe.propose(&format!("{STATEMENT}, case {n}")).1)
        .collect();
    hub.push(&hub.acme, &hub.acme.curator, &copies);
    let (mut after, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let path = format!("/v1/workspaces/shop/events?after={after}&limit=3");
        let page = hub.get(&path, &hub.acme.reader);
        let pulled: ken_remote::wire::PullResponse =
            serde_json::from_slice(&page.body).expect("a page");
        seen.extend(pulled.events.iter().map(|it| it.get().to_owned()));
        after = pulled.cursor.to_string();
        if !pulled.more {
            break;
        }
    }
    let written: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
    assert_eq!(seen, written);
    for unknown in [
        "3.01JCPQ3W6M7Y2K8T4D5F6G7H8J",
        "99.01JCPQ3W6M7Y2K8T4D5F6G7H8J",
    ] {
        let path = format!("/v1/workspaces/shop/events?after={unknown}");
        let answer = hub.get(&path, &hub.acme.reader);
        assert_eq!(answer.status, 409);
        answer.problem("cursor-unknown");
    }
}

#[test]
fn agents_send_what_agents_wrote_and_nothing_that_is_a_persons() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(3);
    let (_, by_person) = scribe.propose(STATEMENT);
    scribe.by("agent:tester/7f3a");
    let said = format!("{STATEMENT}, as an agent saw it");
    let (_, by_agent) =
        scribe.propose_with(EntryKind::Learning, &said, |it| it.origin = Origin::Agent);
    let blank = EventBody::EventBlanked(EventBlanked {
        event: by_agent.event.id,
        reason: ken_core::ledger::event::BlankReason::Secret,
    });
    let blanks = scribe.write(Vec::new(), blank);
    let copies = [by_person.clone(), by_agent, blanks];
    let answer = hub.push(&hub.acme, &hub.acme.agent, &copies);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = all_verdicts(&answer);
    assert_eq!(told[0], "refused", "{}", answer.text());
    assert_eq!(told[1], "admitted", "{}", answer.text());
    assert_eq!(told[2], "refused", "{}", answer.text());
    // An event the hub already has is known, regardless of the sender.
    hub.push(
        &hub.acme,
        &hub.acme.curator,
        std::slice::from_ref(&by_person),
    );
    let again = hub.push(&hub.acme, &hub.acme.agent, &[by_person]);
    assert_eq!(all_verdicts(&again), ["known"]);
}

#[test]
fn a_secret_reaches_no_table_and_no_answer() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(4);
    // Assembled here, so that secret scanners do not flag this repository.
    let secret = format!("AKIA{}", "QXJZ7MNB4KWT2VHD");
    let (_, copy) = scribe.propose(&format!("Use the key {secret} for the bucket of the shop"));
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[copy]);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let told = answer.problem("refused");
    assert_eq!(told["events"][0]["verdict"], "refused");
    assert!(!answer.text().contains(&secret), "{}", answer.text());
    assert_eq!(hub.tables_holding("AKIA"), Vec::<String>::new());
    // Control: the table scan finds text that is present.
    let (_, fine) = scribe.propose("Use the blue key for the bucket of the shop");
    hub.push(&hub.acme, &hub.acme.curator, &[fine]);
    let found = hub.tables_holding("blue key");
    assert!(found.contains(&"events".to_owned()), "{found:?}");
}

#[test]
fn a_clock_far_ahead_is_refused_and_what_is_no_event_is_too() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(5);
    let (_, fine) = scribe.propose(STATEMENT);
    scribe.at("2099-01-01T00:00:00Z");
    let (_, ahead) = scribe.propose(&format!("{STATEMENT}, from the future"));
    let changed = fine.line().replace("stale data", "fresh data");
    let events = [
        ahead.line(),
        fine.line(),
        "{}",
        "3",
        "\"text\"",
        "null",
        &changed,
        "{\"id\": 1, \"id\": 2}",
    ];
    let body = format!(r#"{{"events":[{}]}}"#, events.join(","));
    let path = "/v1/workspaces/shop/events";
    let answer = hub.post(path, &hub.acme.curator, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut expected = vec!["refused"; events.len()];
    expected[1] = "admitted";
    assert_eq!(all_verdicts(&answer), expected);
    let told = answer.json();
    assert!(
        told["events"][0]["reason"]
            .as_str()
            .expect("why")
            .contains("clock")
    );
    assert_eq!(pull_lines(&hub), [fine.line()]);
}

#[test]
fn a_quarantined_event_stays_quarantined_and_an_excessive_claim_is_quarantined() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(6);
    scribe.verdict = AdmissionVerdict::Quarantined;
    let (_, waits) = scribe.propose(STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[waits]);
    assert_eq!(all_verdicts(&answer), ["quarantined"], "{}", answer.text());
    let why = answer.json()["events"][0]["reason"].to_string();
    assert!(why.contains("/quarantined-entries"), "{why}");
    let listed = hub.get("/v1/workspaces/shop/quarantined-entries", &hub.acme.curator);
    assert_eq!(listed.json()["items"][0]["statement"], STATEMENT);
    assert_eq!(pull_lines(&hub).len(), 1, "it stands in the log");
    scribe.verdict = AdmissionVerdict::Admitted;
    let (_, claims) = scribe.propose_with(
        EntryKind::Learning,
        &format!("{STATEMENT}, says another"),
        |it| {
            // Content from the web awaits a person, regardless of its claimed admission.
            it.origin = Origin::Web;
        },
    );
    let answer = hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&claims));
    assert_eq!(all_verdicts(&answer), ["quarantined"], "{}", answer.text());
    let why = answer.json()["events"][0]["reason"].to_string();
    assert!(why.contains("/quarantined-events"), "{why}");
    assert_eq!(pull_lines(&hub).len(), 1, "it does not stand in the log");
    let quarantined = hub
        .get("/v1/workspaces/shop/quarantined-events", &hub.acme.curator)
        .text();
    assert!(quarantined.contains("says another"), "{quarantined}");
    let again = hub.push(&hub.acme, &hub.acme.curator, &[claims]);
    assert_eq!(all_verdicts(&again), ["quarantined"], "{}", again.text());
    assert_eq!(
        hub.database.sql("select count(*) from ken.held").trim(),
        "1"
    );
}

#[test]
fn a_workspace_takes_no_more_bytes_than_its_quota() {
    let hub = ApiHubEnvironment::start_with(|settings| settings.quotas.bytes = 500);
    let (_, copy) = EventWriter::new(10).propose(STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[copy]);
    assert_eq!(answer.status, 403, "{}", answer.text());
    answer.problem("quota");
    assert!(pull_lines(&hub).is_empty());
}

#[test]
fn a_workspace_takes_no_more_than_its_quota_and_nothing_of_what_is_too_much() {
    let hub = ApiHubEnvironment::start_with(|settings| settings.quotas.events = 3);
    let mut scribe = EventWriter::new(7);
    let copies: Vec<RecordedEvent> = (0..4)
        .map(|n| scribe.propose(&format!("{STATEMENT}, case {n}")).1)
        .collect();
    let answer = hub.push(&hub.acme, &hub.acme.curator, &copies);
    assert_eq!(answer.status, 403, "{}", answer.text());
    answer.problem("quota");
    assert!(pull_lines(&hub).is_empty());
    let fits = hub.push(&hub.acme, &hub.acme.curator, &copies[..3]);
    assert_eq!(fits.status, 200, "{}", fits.text());
}

#[test]
fn a_full_workspace_still_takes_an_order_to_blank() {
    let hub = ApiHubEnvironment::start_with(|settings| settings.quotas.events = 1);
    let mut scribe = EventWriter::new(11);
    let (_, leak) = scribe.propose(STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&leak));
    assert_eq!(all_verdicts(&answer), ["admitted"], "{}", answer.text());
    let blank = EventBody::EventBlanked(EventBlanked {
        event: leak.event.id,
        reason: ken_core::ledger::event::BlankReason::Secret,
    });
    let order = scribe.write(Vec::new(), blank);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[order]);
    assert_eq!(all_verdicts(&answer), ["admitted"], "{}", answer.text());
    assert!(!pull_lines(&hub).concat().contains(STATEMENT));
    let (_, more) = scribe.propose(&format!("{STATEMENT}, again"));
    hub.push(&hub.acme, &hub.acme.curator, &[more])
        .problem("quota");
}

#[test]
fn a_packed_push_is_unpacked_and_another_packing_is_refused() {
    let hub = ApiHubEnvironment::start();
    let (_, copy) = EventWriter::new(8).propose(STATEMENT);
    let body = format!(r#"{{"events":[{}]}}"#, copy.line());
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(body.as_bytes()).expect("packed");
    let packed = packer.finish().expect("packed");
    let token = crate::hub::bearer(&hub.acme.curator);
    let mut headers = vec![
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let path = "/v1/workspaces/shop/events";
    let answer = hub.send("POST", path, &headers, Some(&packed));
    assert_eq!(all_verdicts(&answer), ["admitted"], "{}", answer.text());
    let broken = hub.send("POST", path, &headers, Some(&packed[..packed.len() / 2]));
    broken.problem("malformed");
    // Codings are case-insensitive, and `identity` is none.
    headers[2].1 = "GZIP";
    let answer = hub.send("POST", path, &headers, Some(&packed));
    assert_eq!(all_verdicts(&answer), ["known"], "{}", answer.text());
    headers[2].1 = "identity";
    let answer = hub.send("POST", path, &headers, Some(body.as_bytes()));
    assert_eq!(all_verdicts(&answer), ["known"], "{}", answer.text());
    headers[2].1 = "br";
    let other = hub.send("POST", path, &headers, Some(&packed));
    assert_eq!(other.status, 415);
    other.problem("media-type");
}

/// Opens a stream and returns its lines; reading ends with the read timeout.
fn open_stream(
    hub: &ApiHubEnvironment,
    last: Option<&str>,
) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(hub.address).expect("connected");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a time limit");
    let last = last.map_or_else(String::new, |it| format!("Last-Event-ID: {it}\r\n"));
    let token = &hub.acme.reader;
    let asked = format!(
        "GET /v1/workspaces/shop/events/stream HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{last}\r\n"
    );
    stream.write_all(asked.as_bytes()).expect("asked");
    BufReader::new(stream).lines().map_while(Result::ok)
}

#[test]
fn a_stream_tells_what_is_there_then_what_comes_and_goes_on_where_it_was_left() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(9);
    let (_, first) = scribe.propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&first));
    let told = open_stream(&hub, None);
    let mut told = told.filter(|it| it.starts_with("id:") || it.starts_with("data:"));
    // The id of a message may follow or precede its data.
    let mut pair = || {
        let both = [told.next().expect("a line"), told.next().expect("a line")];
        let of = |name: &str| {
            let found = both.iter().find_map(|it| it.strip_prefix(name));
            found.expect("both").trim().to_owned()
        };
        (of("id:"), of("data:"))
    };
    let (cursor, line) = pair();
    assert_eq!(line, first.line());
    let (_, second) = scribe.propose(&format!("{STATEMENT}, seen again"));
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&second));
    assert_eq!(pair().1, second.line());
    let mut again = open_stream(&hub, Some(&cursor)).filter(|it| it.starts_with("data:"));
    let line = again.next().expect("a line");
    assert_eq!(line.trim_start_matches("data:").trim(), second.line());
    let unknown = format!("7.{}", EventId::from_bytes([9; 16]));
    let headers = [
        ("authorization", crate::hub::bearer(&hub.acme.reader)),
        ("last-event-id", unknown),
    ];
    let headers = headers.each_ref().map(|(name, it)| (*name, it.as_str()));
    let path = "/v1/workspaces/shop/events/stream";
    let answer = hub.send("GET", path, &headers, None);
    answer.problem("cursor-unknown");
}

#[test]
fn a_stream_ends_when_its_time_is_over_and_when_its_token_is_revoked() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.stream_lifetime = Duration::from_millis(500);
    });
    let began = std::time::Instant::now();
    assert!(open_stream(&hub, None).last().is_some());
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "it ends by itself"
    );
    drop(hub);
    // The token is rechecked every three seconds; the stream would last much longer.
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.stream_lifetime = Duration::from_secs(60);
    });
    let mut told = open_stream(&hub, None);
    assert!(told.next().is_some_and(|it| it.contains("200")));
    hub.database
        .sql("update ken.tokens set revoked_at = 1 where role = 'reader'");
    // A read timeout after twenty seconds would also end the loop, so the time is checked too.
    let began = std::time::Instant::now();
    for _ in told {}
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn streams_are_bounded_for_each_organization() {
    let hub =
        ApiHubEnvironment::start_with(|settings| settings.limits.streams_per_organization = 1);
    let mut one = open_stream(&hub, None);
    assert!(one.next().is_some_and(|it| it.contains("200")));
    let path = "/v1/workspaces/shop/events/stream";
    let answer = hub.get(path, &hub.acme.reader);
    assert_eq!(answer.status, 429);
    assert!(!answer.header("retry-after").is_empty());
}
