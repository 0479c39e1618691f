//! HTTP llm against a local test server: both API dialects, and failures.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ken_engine::guard::Guard;
use ken_engine::llm::{
    ANSWER_BYTES_MAX, KeptStatement, LlmChoice, LlmClient, LlmEndpoint, LlmError, LlmHome,
    SameClaim,
};
use serde_json::{Value, json};

/// Read timeout of the test server.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A variable that cargo sets for every test, so that tests need not set one.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = "ken-engine";

/// API dialect of a llm.
#[derive(Clone, Copy, Debug)]
enum LlmDialect {
    OpenAi,
    Anthropic,
}

struct LlmRequest {
    head: String,
    body: Value,
}

/// Serves one request after a delay and returns it.
fn serve_answer(answer: String, after: Duration) -> (String, JoinHandle<LlmRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        answer_request(stream, &answer, after)
    });
    (url, serving)
}

fn answer_request(mut stream: TcpStream, answer: &str, after: Duration) -> LlmRequest {
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
    thread::sleep(after);
    // The client may have closed the connection already.
    let _ = stream.write_all(answer.as_bytes());
    let body = serde_json::from_slice(&body).unwrap();
    LlmRequest { head, body }
}

fn ok_response(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// Returns the response of an endpoint, exactly as its vendor documents it.
fn response_body(spoken: LlmDialect, answer: &Value) -> Value {
    match spoken {
        LlmDialect::OpenAi => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
            "choices": [{
                "index": 0, "logprobs": null, "finish_reason": "stop",
                "message": {"role": "assistant", "content": answer.to_string(), "refusal": null},
            }],
            "usage": {"prompt_tokens": 211, "completion_tokens": 17, "total_tokens": 228},
        }),
        LlmDialect::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "text", "text": "Here it is."},
                {"type": "tool_use", "id": "toolu_1", "name": "same_claim", "input": answer},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 211, "output_tokens": 17},
        }),
    }
}

fn http_llm(folder: &Path, spoken: LlmDialect, url: &str, timeout_seconds: u64) -> LlmClient {
    let endpoint = LlmEndpoint {
        url: url.to_owned(),
        model: "some-model".to_owned(),
        key_variable: Some(KEY_VARIABLE.to_owned()),
        plain: false,
        timeout_seconds,
    };
    let home = LlmHome {
        folder: folder.to_owned(),
        variable: |_| None,
    };
    let choice = match spoken {
        LlmDialect::OpenAi => LlmChoice::OpenAi(endpoint),
        LlmDialect::Anthropic => LlmChoice::Anthropic(endpoint),
    };
    home.store(choice).unwrap();
    home.open(&Guard::default()).unwrap()
}

/// Asks a llm whose endpoint responds with `answer`.
fn ask_llm(
    spoken: LlmDialect,
    answer: String,
) -> (Result<SameClaim, LlmError>, LlmClient, LlmRequest) {
    let dir = tempfile::tempdir().unwrap();
    let (url, serving) = serve_answer(answer, Duration::ZERO);
    let mut llm = http_llm(dir.path(), spoken, &url, 20);
    let found = llm.compare_claims("Use a", "Use an a");
    (found, llm, serving.join().unwrap())
}

#[test]
fn an_openai_endpoint_is_asked_in_its_language() {
    let answer = json!({"same": true, "keep": "second", "statement": null});
    let body = response_body(LlmDialect::OpenAi, &answer).to_string();
    let (found, llm, received) = ask_llm(LlmDialect::OpenAi, ok_response(&body));
    assert_eq!(found.unwrap(), SameClaim::Yes(KeptStatement::Second));
    let (spent, _) = llm.usage();
    assert_eq!(
        (spent.sent, spent.received, spent.estimated),
        (211, 17, false)
    );
    let head = &received.head;
    assert!(head.starts_with("post /v1/chat/completions "), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")));
    let body = &received.body;
    assert_eq!(body["model"], "some-model");
    assert_eq!(body["messages"][0]["role"], "system");
    let user = body["messages"][1]["content"].as_str().unwrap();
    let user: Value = serde_json::from_str(user).unwrap();
    assert_eq!(
        user,
        json!({"data": {"first": "Use a", "second": "Use an a"}})
    );
    let format = &body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["strict"], true);
    let schema = &format["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["keep", "same", "statement"]));
}

#[test]
fn an_anthropic_endpoint_is_asked_in_its_language() {
    let answer = json!({"same": false, "keep": null, "statement": null});
    let body = response_body(LlmDialect::Anthropic, &answer).to_string();
    let (found, llm, received) = ask_llm(LlmDialect::Anthropic, ok_response(&body));
    assert_eq!(found.unwrap(), SameClaim::No);
    let (spent, _) = llm.usage();
    assert_eq!(
        (spent.sent, spent.received, spent.estimated),
        (211, 17, false)
    );
    let head = &received.head;
    assert!(head.starts_with("post /v1/messages "), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01\r\n"), "{head}");
    assert!(!head.contains("authorization"));
    let body = &received.body;
    assert_eq!(body["tool_choice"]["name"], "same_claim");
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(body["messages"][0]["role"], "user");
    assert!(body["max_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn faults_of_either_endpoint_are_told_and_are_no_answer() {
    let answer = json!({"same": true, "keep": "first", "statement": null});
    for spoken in [LlmDialect::OpenAi, LlmDialect::Anthropic] {
        let good = response_body(spoken, &answer);
        let change = |path: &str, to: Value| {
            let mut changed = good.clone();
            *changed.pointer_mut(path).unwrap() = to;
            ok_response(&changed.to_string())
        };
        let of = |openai: (&str, Value), anthropic: (&str, Value)| match spoken {
            LlmDialect::OpenAi => change(openai.0, openai.1),
            LlmDialect::Anthropic => change(anthropic.0, anthropic.1),
        };
        let cut = of(
            ("/choices/0/finish_reason", "length".into()),
            ("/stop_reason", "max_tokens".into()),
        );
        let declined = of(
            ("/choices/0/message/refusal", "I will not.".into()),
            ("/stop_reason", "refusal".into()),
        );
        let prose = of(
            ("/choices/0/message/content", "They agree.".into()),
            ("/content/1", json!({"type": "text", "text": "They agree."})),
        );
        let twice = of(
            ("/choices", json!([good["choices"][0], good["choices"][0]])),
            ("/content/0", good["content"][1].clone()),
        );
        let empty = of(
            ("/choices/0/message/content", Value::Null),
            ("/content", json!([])),
        );
        let more = of(
            (
                "/choices/0/message/content",
                r#"{"same":true,"keep":"first","statement":null,"also":1}"#.into(),
            ),
            ("/content/1/input/statement", 3.into()),
        );
        let (found, _, _) = ask_llm(spoken, cut);
        assert!(matches!(found, Err(LlmError::Truncated)), "{found:?}");
        let (found, _, _) = ask_llm(spoken, declined);
        assert!(matches!(found, Err(LlmError::Declined)), "{found:?}");
        for body in [
            prose,
            twice,
            empty,
            more,
            ok_response("{}"),
            ok_response("[]"),
            ok_response("busy"),
        ] {
            let (found, llm, _) = ask_llm(spoken, body);
            assert!(
                matches!(found, Err(LlmError::Malformed { .. })),
                "{found:?}"
            );
            assert_eq!(llm.usage().1.calls, 1);
        }
    }
}

#[test]
fn a_server_that_refuses_breaks_off_or_sends_away_is_named_and_its_words_are_not() {
    let refused = |status: &str| {
        let head = format!("HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:1/\r\n");
        format!("{head}content-length: {}\r\n\r\n{KEY}", KEY.len())
    };
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\nconnection: close\r\n\r\n{".to_owned();
    let endless = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
        " ".repeat(ANSWER_BYTES_MAX as usize + 1)
    );
    for (answer, why) in [
        (refused("401 No"), "refused the request with status 401"),
        (refused("429 Busy"), "refused the request with status 429"),
        (refused("500 Oh"), "refused the request with status 500"),
        (refused("307 Away"), "refused the request with status 307"),
        (broken, "cannot reach `127.0.0.1`"),
        (endless, "the response is too long"),
    ] {
        let (found, llm, _) = ask_llm(LlmDialect::OpenAi, answer);
        let error = found.unwrap_err();
        assert!(matches!(error, LlmError::Call(_)), "{error}");
        let told = error.to_string();
        assert!(told.contains(why) && !told.contains(KEY), "{told}");
        // The response did not report token usage.
        assert!(llm.usage().0.estimated);
    }
}

#[test]
fn an_endpoint_that_takes_too_long_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let answer = json!({"same": true, "keep": "first", "statement": null});
    let body = response_body(LlmDialect::OpenAi, &answer).to_string();
    let (url, serving) = serve_answer(ok_response(&body), Duration::from_secs(3));
    let mut llm = http_llm(dir.path(), LlmDialect::OpenAi, &url, 1);
    let began = Instant::now();
    let error = llm.compare_claims("Use a", "Use an a").unwrap_err();
    assert!(error.to_string().contains("timeout"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(3));
    serving.join().unwrap();
}

#[test]
fn an_endpoint_needs_its_key_and_an_encrypted_way() {
    let dir = tempfile::tempdir().unwrap();
    let home = LlmHome {
        folder: dir.path().to_owned(),
        variable: |_| None,
    };
    let endpoint = |url: &str, key: Option<&str>| {
        LlmChoice::Anthropic(LlmEndpoint {
            url: url.to_owned(),
            model: "m".to_owned(),
            key_variable: key.map(ToOwned::to_owned),
            plain: false,
            timeout_seconds: 1,
        })
    };
    for (choice, why) in [
        (endpoint("http://h", None), "not `https`"),
        (endpoint("https://a:b@h", None), "name or password"),
        (endpoint("file:///etc/passwd", None), "must have the form"),
        (
            endpoint("https://h", Some("KEN_NO_SUCH_VARIABLE")),
            "KEN_NO_SUCH_VARIABLE",
        ),
    ] {
        home.store(choice).unwrap();
        let error = home.open(&Guard::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
