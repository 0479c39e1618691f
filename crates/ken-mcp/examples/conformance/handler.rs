//! The fixture's side of the protocol.

#![expect(
    deprecated,
    reason = "the older revision's scenarios ask for logging, sampling and subscriptions"
)]

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::content;
use crate::rounds::{Given, Round, round};

/// Between two steps of a tool that takes its time.
const STEP: Duration = Duration::from_millis(50);

/// What list changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    Tools,
    Prompts,
}

/// The server; clones share what they tell each other.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    changes: broadcast::Sender<Changed>,
}

impl Default for Fixture {
    fn default() -> Self {
        let (changes, _) = broadcast::channel(16);
        Self { changes }
    }
}

type Answered = Result<CallToolResponse, ErrorData>;

impl Fixture {
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answered {
        let name = request.name.as_ref();
        if let Some(answer) = content::answer(name) {
            return Ok(whole::<CallToolResult>(answer)?.into());
        }
        if let Some(round) = round(
            name,
            &given(&request.input_responses, &request.request_state, &context),
        ) {
            return match asked(round)? {
                Ok(text) => said(&text),
                Err(more) => Ok(more.into()),
            };
        }
        let argument = |name: &str| {
            let arguments = request.arguments.as_ref();
            let text = arguments
                .and_then(|it| it.get(name))
                .and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        match name {
            "test_tool_with_logging" => logging(&context).await,
            "test_tool_with_progress" => progress(&context).await,
            "test_sampling" => sampling(&context, &argument("prompt")).await,
            "test_elicitation" => eliciting(&context, &argument("message"), username()).await,
            "test_elicitation_sep1034_defaults" => {
                eliciting(&context, "Defaults", defaults()).await
            }
            "test_elicitation_sep1330_enums" => eliciting(&context, "Choices", choices()).await,
            "test_missing_capability" => needs_sampling(&context),
            "test_streaming_elicitation" => {
                let round = Round::Ask(json!({"name": name_request()}), None);
                let Err(more) = asked(round)? else {
                    return said("done");
                };
                Ok(more.into())
            }
            "test_trigger_tool_change" => self.change(Changed::Tools),
            "test_trigger_prompt_change" => self.change(Changed::Prompts),
            _ => Err(ErrorData::invalid_params(format!("no tool `{name}`"), None)),
        }
    }

    fn change(&self, what: Changed) -> Answered {
        // Nobody may be listening.
        let _ = self.changes.send(what);
        said("changed")
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "ken-conformance",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answered {
        self.call(request, context).await
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        whole(content::tools())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let listed: ListToolsResult = typed(content::tools()).ok()?;
        listed.tools.into_iter().find(|it| it.name == name)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        whole(content::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        whole(content::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(held) = content::resource(&request.uri) else {
            let data = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found(
                "Resource not found",
                Some(data),
            ));
        };
        Ok(whole::<ReadResourceResult>(held)?.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        whole(content::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let argument = |name: &str| {
            let arguments = request.arguments.as_ref();
            let text = arguments
                .and_then(|it| it.get(name))
                .map(|it| match it.as_str() {
                    Some(text) => text.to_owned(),
                    None => it.to_string(),
                });
            text.unwrap_or_default()
        };
        if let Some(said) = content::prompt(&request.name, argument) {
            return Ok(whole::<GetPromptResult>(said)?.into());
        }
        let given = given(&request.input_responses, &request.request_state, &context);
        let Some(round) = round(&request.name, &given) else {
            return Err(ErrorData::invalid_params("no such prompt", None));
        };
        Ok(match asked(round)? {
            Ok(text) => {
                let message = json!({"role": "user", "content": {"type": "text", "text": text}});
                whole::<GetPromptResult>(json!({"messages": [message]}))?.into()
            }
            Err(more) => more.into(),
        })
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        whole(json!({"completion": {"values": ["test"], "total": 1, "hasMore": false}}))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.recv() => changed,
            };
            // What nobody asked for is refused by the sink, which is as it should be.
            let _ = match changed {
                Ok(Changed::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Changed::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}

/// Returns an answer that asks nothing more, as the library has it.
fn whole<T: DeserializeOwned>(mut answer: Value) -> Result<T, ErrorData> {
    if let Some(members) = answer.as_object_mut() {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    typed(answer)
}

/// Returns a value as the library has it.
fn typed<T: DeserializeOwned>(answer: Value) -> Result<T, ErrorData> {
    serde_json::from_value(answer).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn said(text: &str) -> Answered {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

fn given<'a>(
    answers: &'a Option<InputResponses>,
    state: &'a Option<String>,
    context: &RequestContext<RoleServer>,
) -> Given<'a> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    Given {
        answers: answers.as_ref(),
        state: state.as_deref(),
        takes: |capabilities, kind| capabilities.get(kind).is_some_and(|it| !it.is_null()),
        capabilities: serde_json::to_value(capabilities).unwrap_or_default(),
    }
}

/// Returns the text of a round that is done, or what it asks.
fn asked(round: Round) -> Result<Result<String, InputRequiredResult>, ErrorData> {
    match round {
        Round::Done(text) => Ok(Ok(text)),
        Round::Ask(requests, state) => {
            let requests: InputRequests = typed(requests)?;
            Ok(Err(InputRequiredResult::new(Some(requests), state)))
        }
        Round::Tampered => Err(ErrorData::invalid_params("the state was changed", None)),
    }
}

async fn logging(context: &RequestContext<RoleServer>) -> Answered {
    for told in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(told));
        let _ = context.peer.notify_logging_message(message).await;
        tokio::time::sleep(STEP).await;
    }
    said("logged")
}

async fn progress(context: &RequestContext<RoleServer>) -> Answered {
    for at in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, at).with_total(100.0);
            let _ = context.peer.notify_progress(progress).await;
        }
        tokio::time::sleep(STEP).await;
    }
    said("came along")
}

async fn sampling(context: &RequestContext<RoleServer>, prompt: &str) -> Answered {
    let asked = typed(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": 100,
    }))?;
    match context.peer.create_message(asked).await {
        Ok(answer) => said(&format!("LLM response: {:?}", answer.message)),
        Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
    }
}

async fn eliciting(context: &RequestContext<RoleServer>, message: &str, schema: Value) -> Answered {
    let asked: ElicitRequestParams = typed(json!({"message": message, "requestedSchema": schema}))?;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(asked));
    match context.peer.send_request(request).await {
        Ok(ClientResult::ElicitResult(answer)) => {
            let (action, content) = (answer.action, answer.content);
            said(&format!(
                "Elicitation completed: action={action:?}, content={content:?}"
            ))
        }
        Ok(_) => said("an answer nobody asked for"),
        Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
    }
}

fn needs_sampling(context: &RequestContext<RoleServer>) -> Answered {
    let has = context
        .client_capabilities()
        .is_some_and(|it| it.sampling.is_some());
    if has {
        return said("sampling is there");
    }
    let needed = typed(json!({"sampling": {}}))?;
    Err(ErrorData::missing_required_client_capability(needed))
}

fn name_request() -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    }})
}

fn username() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn choices() -> Value {
    let titled = |names: [(&str, &str); 3]| {
        names.map(|(value, title)| json!({"const": value, "title": title}))
    };
    let options = json!(["option1", "option2", "option3"]);
    let first = titled([
        ("value1", "First Option"),
        ("value2", "Second Option"),
        ("value3", "Third Option"),
    ]);
    let many = titled([
        ("value1", "First Choice"),
        ("value2", "Second Choice"),
        ("value3", "Third Choice"),
    ]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": first},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": many}},
    }})
}
