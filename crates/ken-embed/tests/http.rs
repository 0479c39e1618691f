//! HTTP embedding backend against a local test server.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ken_embed::{EmbedError, Embedder as _, EmbeddingEndpoint, EndpointDialect, HttpEmbedder};
use ken_http::PlaintextScope;

/// Read timeout of the test server.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A variable that cargo sets for every test, so that tests need not set one.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = "ken-embed";

struct EmbeddingRequest {
    head: String,
    body: serde_json::Value,
}

/// Serves one request per element of `answers`, then returns the received requests.
fn serve_answers(answers: Vec<String>) -> (String, JoinHandle<Vec<EmbeddingRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer_one = move |answer: String| {
        let (stream, _) = listener.accept().unwrap();
        answer_request(stream, &answer)
    };
    let serving = thread::spawn(move || answers.into_iter().map(answer_one).collect());
    (url, serving)
}

fn answer_request(mut stream: TcpStream, answer: &str) -> EmbeddingRequest {
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.lines().next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    // The client may have closed the connection already.
    let _ = stream.write_all(answer.as_bytes());
    let body = serde_json::from_slice(&body).unwrap();
    EmbeddingRequest { head, body }
}

fn ok_response(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn endpoint(dialect: EndpointDialect, url: &str) -> EmbeddingEndpoint {
    EmbeddingEndpoint {
        dialect,
        url: url.to_owned(),
        model: "some-model".to_owned(),
        dimension: 2,
        key_variable: None,
        plain: PlaintextScope::Loopback,
    }
}

#[test]
fn an_openai_endpoint_is_asked_with_its_key() {
    let body = r#"{"data":[{"index":1,"embedding":[0,-4]},{"index":0,"embedding":[1,0.5]}]}"#;
    let (url, serving) = serve_answers(vec![ok_response(body)]);
    let mut it = endpoint(EndpointDialect::OpenAi, &url);
    it.key_variable = Some(KEY_VARIABLE.to_owned());
    let http = HttpEmbedder::open(&it).unwrap();
    let vectors = http.embed(&["one", " ", "two"]).unwrap();
    assert_eq!(vectors[0].components(), [127, 64]);
    assert!(vectors[1].is_zero());
    assert_eq!(vectors[2].components(), [0, -127]);
    let server = url.strip_prefix("http://").unwrap();
    assert_eq!(
        http.model().id,
        format!("openai:some-model@{server}/v1/embeddings/2")
    );
    let received = serving.join().unwrap().remove(0);
    assert!(
        received
            .head
            .starts_with("post /v1/embeddings http/1.1\r\n")
    );
    assert!(
        received
            .head
            .contains(&format!("authorization: bearer {KEY}\r\n"))
    );
    let wanted = serde_json::json!({"model": "some-model", "input": ["one", "two"]});
    assert_eq!(received.body, wanted);
}

#[test]
fn an_ollama_endpoint_is_asked_in_batches_without_a_key() {
    let body = |count: usize| {
        let vectors = vec![[3, 4]; count];
        ok_response(&serde_json::json!({ "embeddings": vectors }).to_string())
    };
    let (url, serving) = serve_answers(vec![body(32), body(8)]);
    let http = HttpEmbedder::open(&endpoint(EndpointDialect::Ollama, &url)).unwrap();
    assert_eq!(http.embed(&["text"; 40]).unwrap().len(), 40);
    let server = url.strip_prefix("http://").unwrap();
    assert_eq!(
        http.model().id,
        format!("ollama:some-model@{server}/api/embed/2")
    );
    for received in serving.join().unwrap() {
        assert!(received.head.starts_with("post /api/embed "));
        assert!(!received.head.contains("authorization"));
    }
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let (url, serving) = serve_answers(vec![ok_response(r#"{"embeddings":[[1,1]]}"#)]);
    let http = HttpEmbedder::open(&endpoint(EndpointDialect::Ollama, &url)).unwrap();
    http.embed(&[&"\u{4e2d}".repeat(5_000)]).unwrap();
    let received = serving.join().unwrap().remove(0);
    assert_eq!(received.body["input"][0].as_str().unwrap().len(), 7_998);
}

#[test]
fn the_server_tells_its_dimension() {
    let (url, serving) = serve_answers(vec![ok_response(r#"{"embeddings":[[1,2,3,4,5]]}"#)]);
    assert_eq!(
        HttpEmbedder::probe(&endpoint(EndpointDialect::Ollama, &url)).unwrap(),
        5
    );
    serving.join().unwrap();
}

#[test]
fn a_redirect_is_refused_and_not_followed() {
    let away = "HTTP/1.1 307 Away\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(
        embed_error(away),
        EmbedError::Refused {
            host: host(),
            status: 307
        }
    );
}

#[test]
fn a_refusal_names_the_status_and_never_what_was_said() {
    let said = format!(
        "HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\n{KEY}",
        KEY.len()
    );
    let failure = embed_error(&said);
    assert_eq!(
        failure,
        EmbedError::Refused {
            host: host(),
            status: 401
        }
    );
    assert!(!format!("{failure} {failure:?}").contains(KEY));
}

#[test]
fn an_answer_that_is_not_one_vector_a_text_is_an_error() {
    let answer = EmbedError::Answer { host: host() };
    for body in [
        "",
        "{}",
        "[]",
        r#"{"embeddings":[]}"#,
        r#"{"embeddings":[[1,2],[1,2]]}"#,
    ] {
        assert_eq!(embed_error(&ok_response(body)), answer, "{body}");
    }
    let (found, wanted) = (3, 2);
    let longer = embed_error(&ok_response(r#"{"embeddings":[[1,2,3]]}"#));
    assert_eq!(longer, EmbedError::Dimension { found, wanted });
}

#[test]
fn a_broken_answer_and_a_silent_port_are_named() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\nconnection: close\r\n\r\n{";
    assert!(matches!(embed_error(half), EmbedError::Unreachable { .. }));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let http = HttpEmbedder::open(&endpoint(EndpointDialect::Ollama, &url)).unwrap();
    let error = http.embed(&["text"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot get embeddings from `127.0.0.1`: connection refused"
    );
}

#[test]
fn an_answer_above_the_limit_is_not_read_to_its_end() {
    let endless = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
        " ".repeat(33 << 20)
    );
    let why = "the response is too long".to_owned();
    assert_eq!(
        embed_error(&endless),
        EmbedError::Unreachable { host: host(), why }
    );
}

#[test]
fn an_encrypted_endpoint_does_not_speak_to_a_plain_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = [0; 1];
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        stream.read_exact(&mut first).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n");
        first[0]
    });
    let http = HttpEmbedder::open(&endpoint(EndpointDialect::Ollama, &url)).unwrap();
    assert!(matches!(
        http.embed(&["text"]),
        Err(EmbedError::Unreachable { .. })
    ));
    // The client sent a TLS handshake, not a request.
    assert_eq!(serving.join().unwrap(), 0x16);
}

fn embed_error(answer: &str) -> EmbedError {
    let (url, serving) = serve_answers(vec![answer.to_owned()]);
    let http = HttpEmbedder::open(&endpoint(EndpointDialect::Ollama, &url)).unwrap();
    let failure = http.embed(&["text"]).unwrap_err();
    serving.join().unwrap();
    failure
}

fn host() -> String {
    "127.0.0.1".to_owned()
}
