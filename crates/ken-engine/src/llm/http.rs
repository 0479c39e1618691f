//! Judge behind an HTTP endpoint: requests and answers in its protocol.

use std::time::Duration;

use ken_http::{
    CallError, CallLimits, CallTarget, EndpointClient, EndpointError, KeyStyle, PlaintextScope,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::{EndpointProtocol, LlmEndpoint};
use super::question::LlmQuestion;
use super::{ANSWER_BYTES_MAX, ANSWER_TOKENS_MAX, LlmAnswer, LlmBackend, LlmError};

/// Version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// HTTP endpoint used as a llm.
#[derive(Debug)]
pub(super) struct HttpLlm {
    protocol: EndpointProtocol,
    model: String,
    caller: EndpointClient,
}

impl HttpLlm {
    /// Validates the URL and reads the key. Makes no request.
    pub(super) fn open(spoken: EndpointProtocol, endpoint: &LlmEndpoint) -> Result<Self, LlmError> {
        let wrong = |error: EndpointError| LlmError::InvalidSetting(error.to_string());
        // The path is appended below: behind a query it would become part of the query.
        if endpoint.url.contains(['?', '#']) {
            return Err(wrong(EndpointError::Url));
        }
        // Users paste base URLs with and without the version.
        let base = endpoint.url.trim_end_matches('/').trim_end_matches("/v1");
        let (path, key_style, headers) = match spoken {
            EndpointProtocol::OpenAi => ("/v1/chat/completions", KeyStyle::Bearer, Vec::new()),
            EndpointProtocol::Anthropic => {
                let version = ("anthropic-version", ANTHROPIC_VERSION);
                ("/v1/messages", KeyStyle::ApiKey, vec![version])
            }
        };
        let target = CallTarget {
            url: format!("{base}{path}"),
            key_variable: endpoint.key_variable.clone(),
            key_style,
            // Plain HTTP exposes the key and the texts, so beyond loopback it must be allowed.
            plain: if endpoint.plain {
                PlaintextScope::Anywhere
            } else {
                PlaintextScope::Loopback
            },
            headers,
        };
        let limits = CallLimits {
            timeout: Duration::from_secs(endpoint.timeout_seconds),
            response_bytes_max: ANSWER_BYTES_MAX,
        };
        Ok(Self {
            protocol: spoken,
            model: endpoint.model.clone(),
            caller: EndpointClient::open(&target, limits).map_err(wrong)?,
        })
    }
}

impl LlmBackend for HttpLlm {
    fn ask(&self, question: &LlmQuestion) -> Result<LlmAnswer, LlmError> {
        let request = match self.protocol {
            EndpointProtocol::OpenAi => openai_request(&self.model, question),
            EndpointProtocol::Anthropic => anthropic_request(&self.model, question),
        };
        let reply = self.caller.post(request.to_string().as_bytes());
        let body = reply.map_err(|error: CallError| LlmError::Call(error.to_string()))?;
        match self.protocol {
            EndpointProtocol::OpenAi => parse_openai_answer(&body),
            EndpointProtocol::Anthropic => parse_anthropic_answer(&body, question.name),
        }
    }
}

/// Returns the user message: the data as JSON, separate from the instructions.
fn data_message(question: &LlmQuestion) -> String {
    json!({"data": question.data}).to_string()
}

/// Builds a chat completion request with a strict response schema.
fn openai_request(model: &str, question: &LlmQuestion) -> Value {
    json!({
        "model": model,
        "messages": [
            {"role": "system", "content": question.instructions},
            {"role": "user", "content": data_message(question)},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": question.name, "strict": true, "schema": question.schema},
        },
    })
}

/// Builds a message request. The answer is the input of a forced tool call, because this protocol
/// validates schemas only there.
fn anthropic_request(model: &str, question: &LlmQuestion) -> Value {
    json!({
        "model": model,
        "max_tokens": ANSWER_TOKENS_MAX,
        "system": question.instructions,
        "messages": [{"role": "user", "content": data_message(question)}],
        "tools": [{
            "name": question.name,
            "description": "Records the answer.",
            "input_schema": question.schema,
        }],
        "tool_choice": {"type": "tool", "name": question.name},
    })
}

#[derive(Deserialize)]
struct OpenAiChatAnswer {
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

/// Parses a chat completion.
fn parse_openai_answer(body: &[u8]) -> Result<LlmAnswer, LlmError> {
    let answer: OpenAiChatAnswer = parse_body(body)?;
    // Choosing one of several would be arbitrary.
    let [choice] = &answer.choices[..] else {
        return Err(LlmError::malformed("it does not have exactly one answer"));
    };
    if choice.message.refusal.is_some() {
        return Err(LlmError::Declined);
    }
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(LlmError::Truncated),
        Some("content_filter") => return Err(LlmError::Declined),
        Some(_) | None => {}
    }
    let content = choice.message.content.clone();
    let text = content.ok_or_else(|| LlmError::malformed("it is empty"))?;
    let usage = answer.usage;
    let tokens = usage.map(|it| (it.prompt_tokens, it.completion_tokens));
    Ok(LlmAnswer { text, tokens })
}

/// Parses a message and returns the input of its tool call.
fn parse_anthropic_answer(body: &[u8], name: &str) -> Result<LlmAnswer, LlmError> {
    let answer: AnthropicAnswer = parse_body(body)?;
    match answer.stop_reason.as_deref() {
        Some("max_tokens") => return Err(LlmError::Truncated),
        Some("refusal") => return Err(LlmError::Declined),
        Some(_) | None => {}
    }
    let parts = answer.content.into_iter();
    let mut inputs = parts
        .filter(|it| it.kind == "tool_use" && it.name.as_deref() == Some(name))
        .filter_map(|it| it.input);
    let (Some(input), None) = (inputs.next(), inputs.next()) else {
        return Err(LlmError::malformed("it does not have exactly one answer"));
    };
    let usage = answer.usage;
    let tokens = usage.map(|it| (it.input_tokens, it.output_tokens));
    let text = input.to_string();
    Ok(LlmAnswer { text, tokens })
}

/// Parses a response body. The error does not quote it.
fn parse_body<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, LlmError> {
    let wrong = |_| LlmError::malformed("it is not in the format of this API");
    serde_json::from_slice(body).map_err(wrong)
}
