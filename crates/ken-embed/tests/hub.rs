//! Model download from a local test server that plays the model hub.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::error::Error as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use ken_embed::{FetchError, FetchOutcome, fetch_model};

const NAME: &str = "owner/small-model";
const BASE: &str = "/owner/small-model/resolve/main/";

/// Returns the HTTP response for a path.
type PathResponder = fn(&str) -> String;

/// Serves every request by its path until the test ends; returns the base URL.
fn serve(answer: PathResponder) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() != 0 {}
            let path = head.split(' ').nth(1).unwrap_or_default();
            // The client may have closed the connection already.
            let _ = stream.write_all(answer(path).as_bytes());
        }
    });
    url
}

fn ok_response(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn not_found() -> String {
    "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
}

fn redirect_to(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

/// Serves a model whose weights are behind a redirect, like large files of a model hub.
fn serve_model(path: &str) -> String {
    match path.strip_prefix(BASE) {
        Some("config.json" | "vocab.txt" | "1_Pooling/config.json") => ok_response(path),
        Some("model.safetensors") => redirect_to("/kept/elsewhere?signature=1"),
        None if path == "/kept/elsewhere?signature=1" => ok_response("numbers"),
        _ => not_found(),
    }
}

fn serve_without_weights(path: &str) -> String {
    if path.ends_with(".safetensors") {
        not_found()
    } else {
        serve_model(path)
    }
}

fn serve_truncated(path: &str) -> String {
    if path.ends_with("vocab.txt") {
        ok_response("vocabulary").replace("length: 10", "length: 99")
    } else {
        serve_model(path)
    }
}

fn serve_endless(_: &str) -> String {
    ok_response("").replace("length: 0", "length: 99999999999")
}

fn redirect_to_other_host(_: &str) -> String {
    redirect_to("http://hub.example/model")
}

fn redirect_in_circles(path: &str) -> String {
    redirect_to(path)
}

fn with_causes(error: &FetchError) -> String {
    let mut shown = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        shown = format!("{shown}: {cause}");
        source = cause.source();
    }
    shown
}

#[test]
fn a_model_is_fetched_whole_and_once() {
    let cache = tempfile::tempdir().unwrap();
    let url = serve(serve_model);
    let mut told = Vec::new();
    let got = fetch_model(&url, NAME, cache.path(), &mut |at, all| {
        told.push((at, all));
    })
    .unwrap();
    // Another hub may have a different model of the same name.
    let host = url.trim_start_matches("http://").replace(':', "-");
    let folder = cache.path().join(format!("{host}--owner--small-model"));
    assert_eq!(got, FetchOutcome::New(folder.clone()));
    assert_eq!(told.last(), Some(&(7, 7)));
    assert_eq!(
        fs::read_to_string(folder.join("model.safetensors")).unwrap(),
        "numbers"
    );
    let config = fs::read_to_string(folder.join("1_Pooling/config.json")).unwrap();
    assert!(config.ends_with("1_Pooling/config.json"));
    assert!(!folder.join("tokenizer.json").exists());
    let again = fetch_model(&url, NAME, cache.path(), &mut |_, _| {
        panic!("fetched again")
    })
    .unwrap();
    assert_eq!(again, FetchOutcome::Cached(folder));
    assert!(fetch_model("http://127.0.0.1:9", NAME, cache.path(), &mut |_, _| ()).is_err());
}

#[test]
fn what_does_not_come_whole_leaves_nothing_behind() {
    let answers: [(PathResponder, &str); 5] = [
        (serve_without_weights, "does not have `model.safetensors`"),
        (serve_truncated, "connection lost"),
        (serve_endless, "more than"),
        (redirect_to_other_host, "does not follow"),
        (redirect_in_circles, "does not follow"),
    ];
    for (answer, why) in answers {
        let cache = tempfile::tempdir().unwrap();
        let error = fetch_model(&serve(answer), NAME, cache.path(), &mut |_, _| ()).unwrap_err();
        let shown = with_causes(&error);
        assert!(shown.contains(why), "{shown}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "{why}");
    }
}

#[test]
fn a_hub_on_another_machine_is_asked_by_https_only() {
    let cache = tempfile::tempdir().unwrap();
    let error = fetch_model("http://hub.example", NAME, cache.path(), &mut |_, _| ()).unwrap_err();
    assert!(with_causes(&error).contains("not `https`"), "{error}");
    let error = fetch_model("http://127.0.0.1:9", NAME, cache.path(), &mut |_, _| ()).unwrap_err();
    assert_eq!(
        with_causes(&error),
        "cannot download `config.json` of the model: cannot reach `127.0.0.1`: connection refused"
    );
    let error =
        fetch_model("http://127.0.0.1:9", "../x", cache.path(), &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, FetchError::Name { .. }), "{error}");
}
