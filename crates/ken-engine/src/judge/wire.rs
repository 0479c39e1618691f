//! A judge behind an address: what is said to it in its own language, and what it answers.

use std::time::Duration;

use ken_index::{CallError, Caller, EndpointError, KeyStyle, Limits, Plain, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::home::{Endpoint, Spoken};
use super::question::Question;
use super::{ANSWER_BYTES_MAX, ANSWER_TOKENS_MAX, Answer, JudgeError, Port};

/// The version of Anthropic's language that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// An endpoint that can be asked.
#[derive(Debug)]
pub(super) struct Remote {
    spoken: Spoken,
    model: String,
    caller: Caller,
}

impl Remote {
    /// Checks the address and reads the key; talks to nobody.
    pub(super) fn open(spoken: Spoken, endpoint: &Endpoint) -> Result<Self, JudgeError> {
        let wrong = |error: EndpointError| JudgeError::Setting(error.to_string());
        if endpoint.url.contains(['?', '#']) {
            return Err(wrong(EndpointError::Url));
        }
        let base = endpoint.url.trim_end_matches('/').trim_end_matches("/v1");
        let (path, key_style, headers) = match spoken {
            Spoken::OpenAi => ("/v1/chat/completions", KeyStyle::Bearer, Vec::new()),
            Spoken::Anthropic => {
                let version = ("anthropic-version", ANTHROPIC_VERSION);
                ("/v1/messages", KeyStyle::ApiKey, vec![version])
            }
        };
        let target = Target {
            url: format!("{base}{path}"),
            key_variable: endpoint.key_variable.clone(),
            key_style,
            plain: match endpoint.plain {
                true => Plain::Anywhere,
                false => Plain::Loopback,
            },
            headers,
        };
        let limits = Limits {
            timeout: Duration::from_secs(endpoint.timeout_seconds),
            answer_bytes_max: ANSWER_BYTES_MAX,
        };
        Ok(Self {
            spoken,
            model: endpoint.model.clone(),
            caller: Caller::open(&target, limits).map_err(wrong)?,
        })
    }
}

impl Port for Remote {
    fn ask(&self, question: &Question) -> Result<Answer, JudgeError> {
        let request = match self.spoken {
            Spoken::OpenAi => openai_request(&self.model, question),
            Spoken::Anthropic => anthropic_request(&self.model, question),
        };
        let body = self.caller.post(request.to_string().as_bytes());
        let body = body.map_err(|error: CallError| JudgeError::Call(error.to_string()))?;
        match self.spoken {
            Spoken::OpenAi => openai_answer(&body),
            Spoken::Anthropic => anthropic_answer(&body, question.name),
        }
    }
}

fn data(question: &Question) -> String {
    json!({"data": question.data}).to_string()
}

fn openai_request(model: &str, question: &Question) -> Value {
    json!({
        "model": model,
        "messages": [
            {"role": "system", "content": question.instructions},
            {"role": "user", "content": data(question)},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": question.name, "strict": true, "schema": question.schema},
        },
    })
}

/// The answer is asked for as the input of a tool: that is where this language has schemas.
fn anthropic_request(model: &str, question: &Question) -> Value {
    json!({
        "model": model,
        "max_tokens": ANSWER_TOKENS_MAX,
        "system": question.instructions,
        "messages": [{"role": "user", "content": data(question)}],
        "tools": [{
            "name": question.name,
            "description": "Takes the answer.",
            "input_schema": question.schema,
        }],
        "tool_choice": {"type": "tool", "name": question.name},
    })
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    choices: Vec<OpenAiChoice>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    message: OpenAiMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiMessage {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Deserialize)]
struct AnthropicAnswer {
    content: Vec<AnthropicPart>,
    stop_reason: Option<String>,
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct AnthropicPart {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    input: Option<Value>,
}

#[derive(Deserialize)]
struct AnthropicUsage {
    input_tokens: u64,
    output_tokens: u64,
}

fn openai_answer(body: &[u8]) -> Result<Answer, JudgeError> {
    let answer: OpenAiAnswer = parsed(body)?;
    let [choice] = &answer.choices[..] else {
        return Err(JudgeError::malformed("there is not exactly one answer"));
    };
    if choice.message.refusal.is_some() {
        return Err(JudgeError::Declined);
    }
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(JudgeError::Cut),
        Some("content_filter") => return Err(JudgeError::Declined),
        Some(_) | None => {}
    }
    let text = choice.message.content.clone();
    let text = text.ok_or_else(|| JudgeError::malformed("it says nothing"))?;
    let tokens = answer.usage;
    let tokens = tokens.map(|it| (it.prompt_tokens, it.completion_tokens));
    Ok(Answer { text, tokens })
}

fn anthropic_answer(body: &[u8], name: &str) -> Result<Answer, JudgeError> {
    let answer: AnthropicAnswer = parsed(body)?;
    match answer.stop_reason.as_deref() {
        Some("max_tokens") => return Err(JudgeError::Cut),
        Some("refusal") => return Err(JudgeError::Declined),
        Some(_) | None => {}
    }
    let parts = answer.content.into_iter();
    let mut inputs = parts
        .filter(|it| it.kind == "tool_use" && it.name.as_deref() == Some(name))
        .filter_map(|it| it.input);
    let (Some(input), None) = (inputs.next(), inputs.next()) else {
        return Err(JudgeError::malformed("there is not exactly one answer"));
    };
    let tokens = answer.usage;
    let tokens = tokens.map(|it| (it.input_tokens, it.output_tokens));
    let text = input.to_string();
    Ok(Answer { text, tokens })
}

fn parsed<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, JudgeError> {
    let wrong = |_| JudgeError::malformed("it is not in the language of that endpoint");
    serde_json::from_slice(body).map_err(wrong)
}
