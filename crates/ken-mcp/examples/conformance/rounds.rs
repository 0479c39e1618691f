//! Answers in rounds: a tool says what it needs to know, the client calls again with it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What a round comes to.
#[derive(Debug)]
pub(super) enum Round {
    /// Done, with this text.
    Done(String),
    /// These requests are asked, with this state.
    Ask(Value, Option<String>),
    /// The state is not the one that was given out.
    Tampered,
}

/// What came with a call.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) answers: Option<&'a BTreeMap<String, Value>>,
    pub(super) state: Option<&'a str>,
    /// Whether the client takes requests of this kind.
    pub(super) takes: fn(&Value, &str) -> bool,
    pub(super) capabilities: Value,
}

impl Given<'_> {
    /// Returns the answer to `key`, if it has the shape of one.
    fn answer(&self, key: &str) -> Option<&Value> {
        self.answers?.get(key).filter(|it| it.is_object())
    }
}

/// Returns what a tool or prompt comes to; `None` if it has no rounds.
pub(super) fn round(name: &str, given: &Given<'_>) -> Option<Round> {
    let name = name.strip_prefix("test_input_required_result_");
    Some(match name? {
        "elicitation" => one(given, "user_name", &elicit("What is your name?", "name")),
        "sampling" => one(
            given,
            "capital_question",
            &sample("What is the capital of France?"),
        ),
        "list_roots" => one(given, "client_roots", &roots()),
        "prompt" => one(
            given,
            "user_context",
            &elicit("What context should the prompt use?", "context"),
        ),
        "request_state" | "tampered_state" => sealed(given),
        "multiple_inputs" => several(given),
        "multi_round" => steps(given),
        "capabilities" => offered(given),
        _ => return None,
    })
}

fn one(given: &Given<'_>, key: &str, request: &Value) -> Round {
    match given.answer(key) {
        Some(answer) => Round::Done(format!("Hello, {answer}!")),
        None => Round::Ask(json!({key: request}), None),
    }
}

fn sealed(given: &Given<'_>) -> Round {
    let request = json!({"confirm": {"method": "elicitation/create", "params": {
        "message": "Please confirm",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    }}});
    match (given.state.map(opened), given.answer("confirm")) {
        (Some(None), _) => Round::Tampered,
        (Some(Some(_)), Some(_)) => Round::Done("state-ok".to_owned()),
        (None | Some(Some(_)), _) => Round::Ask(request, Some(seal("confirm"))),
    }
}

fn several(given: &Given<'_>) -> Round {
    let requests = json!({
        "user_name": elicit("What is your name?", "name"),
        "greeting": sample("Generate a greeting"),
        "client_roots": roots(),
    });
    let all = ["user_name", "greeting", "client_roots"];
    if all.iter().all(|key| given.answer(key).is_some()) {
        Round::Done("all three".to_owned())
    } else {
        Round::Ask(requests, Some(seal("several")))
    }
}

fn steps(given: &Given<'_>) -> Round {
    let step = match given.state.map(opened) {
        None => 1,
        Some(None) => return Round::Tampered,
        Some(Some(step)) => match (step, given.answer("step1"), given.answer("step2")) {
            ("1", Some(_), _) => 2,
            ("2", _, Some(_)) => return Round::Done("both steps".to_owned()),
            ("2", ..) => 2,
            _ => 1,
        },
    };
    let (message, field) = match step {
        1 => ("Step 1: What is your name?", "name"),
        _ => ("Step 2: What is your favorite color?", "color"),
    };
    let key = format!("step{step}");
    Round::Ask(
        json!({key: elicit(message, field)}),
        Some(seal(&step.to_string())),
    )
}

fn offered(given: &Given<'_>) -> Round {
    let all = [
        ("elicitation", "name", elicit("What is your name?", "name")),
        ("sampling", "greeting", sample("Generate a greeting")),
        ("roots", "roots", roots()),
    ];
    let taken = all
        .into_iter()
        .filter(|(kind, ..)| (given.takes)(&given.capabilities, kind));
    let requests: serde_json::Map<String, Value> = taken
        .map(|(_, key, request)| (key.to_owned(), request))
        .collect();
    if requests.is_empty() || given.answers.is_some() {
        Round::Done("nothing to ask".to_owned())
    } else {
        Round::Ask(Value::Object(requests), None)
    }
}

fn elicit(message: &str, field: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": message,
        "requestedSchema": {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]},
    }})
}

fn sample(question: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": question}}],
        "maxTokens": 100,
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// What only this process knows.
fn key() -> &'static [u8; 32] {
    static KEY: std::sync::OnceLock<[u8; 32]> = std::sync::OnceLock::new();
    KEY.get_or_init(|| {
        *blake3::hash(format!("{:?}", std::time::Instant::now()).as_bytes()).as_bytes()
    })
}

fn seal(state: &str) -> String {
    let hash = blake3::keyed_hash(key(), state.as_bytes());
    format!("{state}.{}", hash.to_hex())
}

/// Returns what was sealed, unless somebody changed it.
fn opened(sealed: &str) -> Option<&str> {
    let (state, _) = sealed.split_once('.')?;
    (seal(state) == sealed).then_some(state)
}
