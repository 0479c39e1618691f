//! Fetching a model from a hub that is a server of this test, on this machine.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use ken_embed::{FetchError, Fetched, fetch};

const NAME: &str = "owner/small-model";
const BASE: &str = "/owner/small-model/resolve/main/";

/// What a hub says to a path.
type Answer = fn(&str) -> String;

/// Answers every request by its path until the test ends; returns its address.
fn serve(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() != 0 {}
            let path = head.split(' ').nth(1).unwrap_or_default();
            // A client that has seen enough may be gone already.
            let _ = stream.write_all(answer(path).as_bytes());
        }
    });
    url
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn missing() -> String {
    "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
}

fn elsewhere(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

/// A model whose weights lie elsewhere, as large files of a hub do.
fn small(path: &str) -> String {
    match path.strip_prefix(BASE) {
        Some("config.json" | "vocab.txt" | "1_Pooling/config.json") => ok(path),
        Some("model.safetensors") => elsewhere("/kept/elsewhere?signature=1"),
        None if path == "/kept/elsewhere?signature=1" => ok("numbers"),
        _ => missing(),
    }
}

fn without_weights(path: &str) -> String {
    match path.ends_with(".safetensors") {
        true => missing(),
        false => small(path),
    }
}

fn cut_off(path: &str) -> String {
    match path.ends_with("vocab.txt") {
        true => ok("vocabulary").replace("length: 10", "length: 99"),
        false => small(path),
    }
}

fn endless(_: &str) -> String {
    ok("").replace("length: 0", "length: 99999999999")
}

fn away(_: &str) -> String {
    elsewhere("http://hub.example/model")
}

fn around(path: &str) -> String {
    elsewhere(path)
}

#[test]
fn a_model_is_fetched_whole_and_once() {
    let cache = tempfile::tempdir().unwrap();
    let url = serve(small);
    let mut told = Vec::new();
    let got = fetch(&url, NAME, cache.path(), &mut |at, all| {
        told.push((at, all));
    })
    .unwrap();
    // Another hub may have another model of that name.
    let host = url.trim_start_matches("http://").replace(':', "-");
    let folder = cache.path().join(format!("{host}--owner--small-model"));
    assert_eq!(got, Fetched::New(folder.clone()));
    assert_eq!(told.last(), Some(&(7, 7)));
    assert_eq!(
        fs::read_to_string(folder.join("model.safetensors")).unwrap(),
        "numbers"
    );
    let config = fs::read_to_string(folder.join("1_Pooling/config.json")).unwrap();
    assert!(config.ends_with("1_Pooling/config.json"));
    assert!(!folder.join("tokenizer.json").exists());
    let again = fetch(&url, NAME, cache.path(), &mut |_, _| {
        panic!("fetched again")
    })
    .unwrap();
    assert_eq!(again, Fetched::There(folder));
    assert!(fetch("http://127.0.0.1:9", NAME, cache.path(), &mut |_, _| ()).is_err());
}

#[test]
fn what_does_not_come_whole_leaves_nothing_behind() {
    let answers: [(Answer, &str); 5] = [
        (without_weights, "has no `model.safetensors`"),
        (cut_off, "cannot reach"),
        (endless, "more than"),
        (away, "does not follow"),
        (around, "does not follow"),
    ];
    for (answer, why) in answers {
        let cache = tempfile::tempdir().unwrap();
        let error = fetch(&serve(answer), NAME, cache.path(), &mut |_, _| ()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "{why}");
    }
}

#[test]
fn a_hub_on_another_machine_is_asked_by_https_only() {
    let cache = tempfile::tempdir().unwrap();
    let error = fetch("http://hub.example", NAME, cache.path(), &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, FetchError::Plain), "{error}");
    let error = fetch("http://127.0.0.1:9", NAME, cache.path(), &mut |_, _| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot reach `127.0.0.1`: nobody listens there"
    );
    let error = fetch("http://127.0.0.1:9", "../x", cache.path(), &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, FetchError::Name { .. }), "{error}");
}
