//! Model download from a local test server that plays the model hub.

use std::error::Error as _;
use std::fs;

use ken_embed::{FetchError, FetchOutcome, fetch_model};
use ken_testkit::path_server::{not_found, ok_response, redirect_to, serve_paths};

const NAME: &str = "owner/small-model";
const BASE: &str = "/owner/small-model/resolve/main/";

/// Returns the HTTP response for a path.
type PathResponder = fn(&str) -> Vec<u8>;

/// Serves a model whose weights are behind a redirect, like large files of a model hub.
fn serve_model(path: &str) -> Vec<u8> {
    match path.strip_prefix(BASE) {
        Some("config.json" | "vocab.txt" | "1_Pooling/config.json") => ok_response(path.as_bytes()),
        Some("model.safetensors") => redirect_to("/kept/elsewhere?signature=1"),
        None if path == "/kept/elsewhere?signature=1" => ok_response(b"numbers"),
        _ => not_found(),
    }
}

fn serve_without_weights(path: &str) -> Vec<u8> {
    if path.ends_with(".safetensors") {
        not_found()
    } else {
        serve_model(path)
    }
}

/// Returns a response that promises `length` bytes and has only those of `body`.
fn with_length(length: u64, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn serve_truncated(path: &str) -> Vec<u8> {
    if path.ends_with("vocab.txt") {
        with_length(99, b"vocabulary")
    } else {
        serve_model(path)
    }
}

fn serve_endless(_: &str) -> Vec<u8> {
    with_length(99_999_999_999, b"")
}

fn redirect_to_other_host(_: &str) -> Vec<u8> {
    redirect_to("http://hub.example/model")
}

fn redirect_in_circles(path: &str) -> Vec<u8> {
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
    let url = serve_paths(serve_model);
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
        let error =
            fetch_model(&serve_paths(answer), NAME, cache.path(), &mut |_, _| ()).unwrap_err();
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
