//! The remote client against a local test server.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ken_remote::client::ATTEMPTS_MAX;
use ken_remote::wire::{LogCursor, PushVerdict};
use ken_remote::{HttpHubClient, HubAddress, HubClient as _, HubError, HubToken, PlaintextPolicy};

/// Read timeout of the test server.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
const TOKEN: &str = "ken_token_of_this_test";
const ID: &str = "01JCPQ3W6M7Y2K8T4D5F6G7H8J";

thread_local! {
    static WAITED: RefCell<Vec<Duration>> = const { RefCell::new(Vec::new()) };
}

/// One received request; its head is in lower case.
struct PushedRequest {
    head: String,
    body: Vec<u8>,
}

/// Serves one request per element of `answers`; an empty element breaks the connection.
fn serve_answers(answers: Vec<Vec<u8>>) -> (HttpHubClient, JoinHandle<Vec<PushedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client_for(listener.local_addr().unwrap().port());
    let answer_one = move |answer: Vec<u8>| {
        let (stream, _) = listener.accept().unwrap();
        answer_request(stream, &answer)
    };
    let serving = thread::spawn(move || answers.into_iter().map(answer_one).collect());
    (client, serving)
}

fn client_for(port: u16) -> HttpHubClient {
    let url = format!("http://127.0.0.1:{port}/pay");
    let address = HubAddress::parse(&url, PlaintextPolicy::Loopback).unwrap();
    let client = HttpHubClient::open(&address, HubToken::parse(TOKEN).unwrap()).unwrap();
    client.with_retry_callback(|_, it| WAITED.with_borrow_mut(|waited| waited.push(it)))
}

fn recorded_waits() -> Vec<u64> {
    let seconds = |it: &Duration| it.as_millis().try_into().unwrap();
    WAITED.with_borrow(|waited| waited.iter().map(seconds).collect())
}

fn answer_request(mut stream: TcpStream, answer: &[u8]) -> PushedRequest {
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |it| it.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    // The client may have closed the connection already.
    let _ = stream.write_all(answer);
    PushedRequest { head, body }
}

fn http_response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn admitted_response(count: usize) -> Vec<u8> {
    let one = format!(r#"{{"id":"{ID}","verdict":"admitted"}}"#);
    let all = vec![one; count].join(",");
    http_response(200, "", format!(r#"{{"events":[{all}]}}"#).as_bytes())
}

#[test]
fn a_push_travels_packed_with_its_token_and_its_lines_unchanged() {
    let (mut client, serving) = serve_answers(vec![admitted_response(2), admitted_response(1)]);
    let long = format!(r#"{{"a":"{}","b":"\u00e9 <"}}"#, "x".repeat(2000));
    let pushed = client.push(&[&long, r#"{"z":1,"a":2}"#]).unwrap();
    assert_eq!(pushed.events.len(), 2);
    assert_eq!(pushed.events[0].verdict, PushVerdict::Admitted);
    client.push(&[r#"{"a":1}"#]).unwrap();
    let received = serving.join().unwrap();
    let head = &received[0].head;
    assert!(
        head.starts_with("post /v1/workspaces/pay/events http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("authorization: bearer {TOKEN}\r\n")),
        "{head}"
    );
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    let mut body = String::new();
    GzDecoder::new(&received[0].body[..])
        .read_to_string(&mut body)
        .unwrap();
    assert_eq!(body, format!(r#"{{"events":[{long},{{"z":1,"a":2}}]}}"#));
    // A short body is not compressed.
    assert!(!received[1].head.contains("content-encoding"));
    assert_eq!(received[1].body, br#"{"events":[{"a":1}]}"#);
}

#[test]
fn a_page_is_asked_for_by_its_cursor_and_unpacked() {
    let page = format!(r#"{{"events":[{{"b":1,"a":2}}],"cursor":"18.{ID}","more":true}}"#);
    let packed = http_response(200, "content-encoding: gzip\r\n", &gzip(page.as_bytes()));
    let (mut client, serving) = serve_answers(vec![packed]);
    let after: LogCursor = format!("17.{ID}").parse().unwrap();
    let pulled = client.pull(after, 50).unwrap();
    assert_eq!(pulled.events[0].get(), r#"{"b":1,"a":2}"#);
    assert_eq!((pulled.cursor.seq, pulled.more), (18, true));
    let head = &serving.join().unwrap()[0].head;
    let wanted = format!(
        "get /v1/workspaces/pay/events?after=17.{}&limit=50 ",
        ID.to_lowercase()
    );
    assert!(head.starts_with(&wanted), "{head}");
    assert!(head.contains("accept-encoding: gzip\r\n"), "{head}");
}

#[test]
fn a_busy_hub_is_asked_again_as_late_as_it_says() {
    let busy = |headers: &str| http_response(429, headers, b"");
    let answers = vec![
        busy("retry-after: 7\r\n"),
        busy("retry-after: 9999\r\n"),
        http_response(503, "", b""),
        admitted_response(1),
    ];
    let (mut client, serving) = serve_answers(answers);
    client.push(&["{}"]).unwrap();
    assert_eq!(recorded_waits(), [7_000, 30_000, 2_000]);
    assert_eq!(serving.join().unwrap().len(), 4);
}

#[test]
fn a_broken_connection_is_tried_again_but_not_for_ever() {
    let (mut client, serving) = serve_answers(vec![Vec::new(), admitted_response(1)]);
    client.push(&["{}"]).unwrap();
    assert_eq!(recorded_waits(), [500]);
    serving.join().unwrap();
    let (mut client, serving) =
        serve_answers(vec![http_response(502, "", b""); ATTEMPTS_MAX as usize]);
    let failed = client.pull(LogCursor::default(), 1).unwrap_err();
    assert!(matches!(failed, HubError::Unavailable { .. }), "{failed}");
    assert_eq!(serving.join().unwrap().len(), ATTEMPTS_MAX as usize);
}

#[test]
fn why_it_waits_is_said_in_the_hubs_words() {
    let away = br#"{"type":"/problems/unavailable","detail":"the database does not respond"}"#;
    let answers = vec![
        http_response(503, "retry-after: 2\r\n", away),
        http_response(502, "", b"<html>"),
        admitted_response(1),
    ];
    let (client, serving) = serve_answers(answers);
    let heard = std::rc::Rc::new(RefCell::new(Vec::new()));
    let ear = std::rc::Rc::clone(&heard);
    let mut client = client.with_retry_callback(move |why, pause| {
        let why = why.to_string();
        let why = why.split_once("` ").unwrap().1.to_owned();
        ear.borrow_mut().push((why, pause.as_millis()));
    });
    client.push(&["{}"]).unwrap();
    assert_eq!(
        *heard.borrow(),
        [
            (
                "is unavailable: the database does not respond".to_owned(),
                2_000
            ),
            ("is unavailable".to_owned(), 1_000)
        ]
    );
    serving.join().unwrap();
}

/// Returns a port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn nobody_listening_is_said_after_some_seconds() {
    let port = free_port();
    let failed = client_for(port).pull(LogCursor::default(), 1).unwrap_err();
    assert_eq!(
        failed.to_string(),
        format!("cannot reach `http://127.0.0.1:{port}`: connection refused")
    );
    assert!(
        failed.hint().contains("nothing is lost"),
        "{}",
        failed.hint()
    );
    assert_eq!(recorded_waits(), [500, 1_000, 2_000, 4_000]);
}

#[test]
fn a_hub_that_restarts_is_waited_for() {
    let port = free_port();
    let serving = std::rc::Rc::new(RefCell::new(None));
    let started = std::rc::Rc::clone(&serving);
    let mut client = client_for(port).with_retry_callback(move |_, _| {
        let mut started = started.borrow_mut();
        if started.is_none() {
            let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
            *started = Some(thread::spawn(move || {
                let (stream, _) = listener.accept().unwrap();
                answer_request(stream, &admitted_response(1))
            }));
        }
    });
    client.push(&["{}"]).unwrap();
    let serving = serving.borrow_mut().take().expect("it was tried again");
    serving.join().unwrap();
}

#[test]
fn a_renamed_workspace_is_named() {
    let moved = br#"{"type":"/problems/renamed","detail":"renamed","name":"billing"}"#;
    let (mut client, serving) = serve_answers(vec![http_response(404, "", moved)]);
    let failed = client.push(&["{}"]).unwrap_err().to_string();
    assert!(
        failed.ends_with("has renamed the workspace `pay` to `billing`"),
        "{failed}"
    );
    serving.join().unwrap();
}

#[test]
fn the_token_goes_nowhere_else() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let port = other.local_addr().unwrap().port();
    let elsewhere = format!("location: http://127.0.0.1:{port}/v1/workspaces/pay/events\r\n");
    for status in [301, 302, 307, 308] {
        let (mut client, serving) = serve_answers(vec![http_response(status, &elsewhere, b"")]);
        let failed = client.pull(LogCursor::default(), 1).unwrap_err();
        assert!(matches!(failed, HubError::Answer { .. }), "{failed}");
        serving.join().unwrap();
        assert!(other.accept().is_err(), "somebody called there");
        assert!(!format!("{client:?} {failed:?}").contains(TOKEN));
    }
}

#[test]
fn every_refusal_has_its_name() {
    let cursor = br#"{"type":"/problems/cursor-unknown","title":"gone\u001b[31m"}"#;
    let quota = br#"{"type":"/problems/quota","title":"quota exceeded","detail":"12 events\nand 10 are allowed"}"#;
    let expired = br#"{"type":"/problems/unauthenticated","detail":"it ended on Monday"}"#;
    type ErrorPredicate = fn(&HubError) -> bool;
    let cases: [(u16, &[u8], ErrorPredicate); 9] = [
        (401, b"", |it| matches!(it, HubError::Token { .. })),
        (401, expired, |it| {
            it.to_string().ends_with("this token: it ended on Monday")
        }),
        (
            403,
            quota,
            |it| matches!(it, HubError::Quota { told, .. } if told == "12 events and 10 are allowed"),
        ),
        (403, b"{}", |it| matches!(it, HubError::Forbidden { .. })),
        (
            404,
            b"x",
            |it| matches!(it, HubError::NoWorkspace { workspace, .. } if workspace == "pay"),
        ),
        (409, cursor, |it| {
            matches!(it, HubError::CursorUnknown { .. })
        }),
        (413, b"", |it| matches!(it, HubError::TooLarge { .. })),
        (
            409,
            br#"{"title":"a\u001b[31mb"}"#,
            |it| matches!(it, HubError::Refused { status: 409, told, .. } if told == "a [31mb"),
        ),
        (500, b"", |it| {
            matches!(it, HubError::Refused { status: 500, .. })
        }),
    ];
    for (status, body, is_right) in cases {
        let (mut client, serving) = serve_answers(vec![http_response(status, "", body)]);
        let failed = client.pull(LogCursor::default(), 1).unwrap_err();
        assert!(is_right(&failed), "{status}: {failed:?}");
        serving.join().unwrap();
    }
}

#[test]
fn a_push_of_which_nothing_was_taken_still_says_what_became_of_each() {
    let refused = r#"{"type":"x","title":"t","status":422,"events":[{"verdict":"refused","reason":"a secret\nin it"}]}"#;
    let (mut client, serving) = serve_answers(vec![http_response(422, "", refused.as_bytes())]);
    let pushed = client.push(&["{}"]).unwrap();
    assert_eq!(pushed.events[0].verdict, PushVerdict::Refused);
    assert_eq!(pushed.events[0].reason.as_deref(), Some("a secret in it"));
    serving.join().unwrap();
}

#[test]
fn an_answer_of_another_form_or_without_end_is_no_answer() {
    let bomb = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![b' '; 1 << 20];
        (0..72).for_each(|_| encoder.write_all(&zeros).unwrap());
        encoder.finish().unwrap()
    };
    let packed = "content-encoding: gzip\r\n";
    for (headers, body) in [
        ("", &b"hello"[..]),
        ("", br#"{"events":[]}"#),
        (packed, b"not packed"),
        (packed, &bomb),
    ] {
        let (mut client, serving) = serve_answers(vec![http_response(200, headers, body)]);
        let failed = client.push(&["{}"]).unwrap_err();
        assert!(matches!(failed, HubError::Answer { .. }), "{failed:?}");
        serving.join().unwrap();
    }
}
