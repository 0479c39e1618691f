//! MCP endpoint at `/mcp` (streamable HTTP): tools on the knowledge of one workspace, and a search
//! in all of them.
//!
//! An MCP client is an agent, never a person, even with the token of a person. Exposures belong to
//! the run or session that the client names. The hub observes only its own requests, so a session
//! has no witness and confirms nothing by itself. Requests are stateless: any process can answer
//! any request.

mod auth;
mod tools;

use axum::Router;
use axum::middleware::from_fn_with_state;
use ken_core::retrieval::ranking::SearchQuery;
use ken_core::values::actor::{Actor, ActorRole};
use ken_mcp::ask::{
    BriefingArguments, CheckArguments, CiteArguments, EditArguments, FeedbackArguments,
    GetArguments, RecordArguments, SearchArguments,
};
use ken_mcp::port::{CodeAccess, ErrorCause};
use ken_mcp::{KnowledgeBackend, McpCaller, McpServer, ToolError, ToolReply, ToolResult};
use serde::Serialize;

use crate::api::AppState;
use crate::api::admission::{admit_expensive_search, admit_search};
use crate::api::problem::{Kind, Problem};
use crate::api::refusals::{FORBIDDEN, record_refusal};
use crate::ids::Role;
use crate::service::{self, EntryReader, ServiceError, WorkspaceSession};
use auth::{McpRequestContext, authenticate_mcp};

/// Maximum characters of the client's name in an actor.
const CLIENT_CHARS_MAX: usize = 32;

/// Operation of a writing tool in the audit log.
const MCP_WRITE: &str = "MCP tool that adds data";

/// Implementation of the MCP tools on the hub.
#[derive(Clone, Debug)]
struct HubBackend {
    app: AppState,
}

/// Kind of access a tool call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallIntent {
    /// Reads entries and records exposures.
    Reads,
    /// Appends events.
    Writes,
}

/// Session and reader of one tool call.
struct HubToolCall {
    session: WorkspaceSession,
    reader: EntryReader,
}

/// Returns the MCP routes.
pub(crate) fn routes(app: &AppState) -> Router {
    let hub = HubBackend { app: app.clone() };
    let origins = app.settings.public_url.iter().cloned().collect();
    let make = move || McpServer::new(hub.clone());
    // Without the crate's own token check: the layer below authenticates with the hub's tokens.
    ken_mcp::http::unauthenticated_router(make, origins, &app.shutting_down)
        .layer(from_fn_with_state(app.clone(), authenticate_mcp))
}

impl HubBackend {
    /// Begins a tool call for an authenticated request.
    async fn begin_call(
        &self,
        caller: &McpCaller,
        intent: CallIntent,
    ) -> Result<HubToolCall, ToolError> {
        let context = request_context(caller)?;
        // Checked for all tools in one place, so that every refusal is recorded.
        if intent == CallIntent::Writes && context.caller.role < Role::Agent {
            let (caller, workspace) = (&context.caller, Some(context.workspace));
            record_refusal(&self.app, caller, workspace, (MCP_WRITE, FORBIDDEN)).await;
            let (what, needs, has) = ("adding data", Role::Agent, caller.role);
            return Err(to_tool_error(ServiceError::Forbidden { what, needs, has }));
        }
        self.open_call(caller, context, intent)
            .await
            .map_err(to_tool_error)
    }

    async fn open_call(
        &self,
        caller: &McpCaller,
        context: &McpRequestContext,
        intent: CallIntent,
    ) -> Result<HubToolCall, ServiceError> {
        let agent = agent_actor(&context.caller.actor, &caller.client);
        let services = self.app.service_context();
        let by = context.caller.clone();
        let workspace = context.workspace;
        let mut desk =
            WorkspaceSession::begin(&self.app.database, &services, by, workspace).await?;
        if intent == CallIntent::Writes {
            // Lock order: the workspace's row first, then the session's row, as all writers do.
            // The opposite order could deadlock.
            desk.lock().await?;
        }
        let named = context.session.clone();
        let session = named.or_else(|| caller.conversation.clone());
        let mut reader = service::build_reader(&agent, None, context.run.clone(), session)?;
        // A session without a run gets one of its own, which all of its calls share.
        if let (None, Some(session)) = (&reader.run, &reader.session) {
            let session = session.clone();
            reader.run = Some(desk.ensure_conversation_run(&agent, &session).await?);
        }
        Ok(HubToolCall {
            session: desk,
            reader,
        })
    }
}

impl HubBackend {
    /// Commits a change and wakes the streams of its workspace.
    async fn commit_change(
        &self,
        caller: &McpCaller,
        call: HubToolCall,
        reply: Result<ToolReply, ServiceError>,
    ) -> ToolResult {
        let reply = commit_call(call, reply).await?;
        let workspace = request_context(caller)?.workspace;
        self.app.log_notifier.notify(workspace);
        Ok(reply)
    }

    async fn search_everywhere(&self, caller: &McpCaller, ask: SearchArguments) -> ToolResult {
        let context = request_context(caller)?;
        let permit = admit_expensive_search(&self.app, context.limits).await;
        let _permit = permit.map_err(|problem| to_tool_problem(&problem))?;
        let agent = agent_actor(&context.caller.actor, &caller.client);
        let session = context.session.clone();
        let session = session.or_else(|| caller.conversation.clone());
        let reader = service::build_reader(&agent, None, context.run.clone(), session);
        let reader = reader.map_err(to_tool_error)?;
        let (format, detail) = (ask.format, ask.detail);
        let question = tools::search_request(ask, reader).map_err(to_tool_error)?;
        let (database, services) = (&self.app.database, self.app.service_context());
        let by = &context.caller;
        let found = service::search_everywhere(database, &services, by, None, question);
        let found = found.await.map_err(to_tool_error)?;
        Ok(tools::everywhere_reply(&found, format, detail))
    }
}

/// Returns the context that the middleware added to a request.
fn request_context(caller: &McpCaller) -> Result<&McpRequestContext, ToolError> {
    let context = caller.proven.get::<McpRequestContext>();
    // The middleware always adds the context; its absence is a bug and must not grant access.
    context.ok_or_else(|| ToolError::ours("the request is not authenticated"))
}

/// Returns the actor of an MCP client: the token's actor, or for a person's token an agent that is
/// named after the person and the client. No token covers that name.
fn agent_actor(actor: &Actor, client: &str) -> Actor {
    match actor.role() {
        ActorRole::Agent | ActorRole::Ci | ActorRole::Import | ActorRole::Peer => actor.clone(),
        ActorRole::Human => {
            // The client chooses its name: only these characters can neither forge another actor
            // such as `human:eve` nor add a level to the hierarchy of names.
            let sanitize = |c: char| {
                if c.is_ascii_alphanumeric() || ".-_".contains(c) {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            };
            let sanitized: String = client
                .chars()
                .take(CLIENT_CHARS_MAX)
                .map(sanitize)
                .collect();
            let client = match sanitized.trim_matches('-') {
                "" => "unknown",
                client => client,
            };
            actor.client(client)
        }
    }
}

/// Converts a failure of a use case to an MCP error.
fn to_tool_error(failure: ServiceError) -> ToolError {
    to_tool_problem(&Problem::from(failure))
}

/// Converts a problem to an MCP error.
fn to_tool_problem(problem: &Problem) -> ToolError {
    let whose = match problem.kind() {
        Kind::NotFound => ErrorCause::Missing,
        Kind::Internal | Kind::Unavailable => ErrorCause::Ours,
        Kind::Malformed
        | Kind::Unauthenticated
        | Kind::Forbidden
        | Kind::Quota
        | Kind::Renamed
        | Kind::MethodNotAllowed
        | Kind::Timeout
        | Kind::Conflict
        | Kind::CursorUnknown
        | Kind::TooLarge
        | Kind::MediaType
        | Kind::Invalid
        | Kind::Refused
        | Kind::KeyReused
        | Kind::TooMany => ErrorCause::Caller,
    };
    let next = matches!(problem.kind(), Kind::NotFound);
    ToolError {
        whose,
        said: problem.detail().to_owned(),
        next: next.then(|| "`ken_search` finds entries and their ids".to_owned()),
    }
}

/// Serializes an object as a JSON reply.
fn json_reply(object: &impl Serialize) -> ToolReply {
    // Views contain only strings, numbers, lists and maps with string keys.
    ToolReply::Json(serde_json::to_value(object).expect("views serialize to JSON"))
}

impl KnowledgeBackend for HubBackend {
    fn code(&self) -> CodeAccess {
        CodeAccess::Elsewhere
    }

    fn may_add(&self, caller: &McpCaller) -> bool {
        let context = caller.proven.get::<McpRequestContext>();
        context.is_some_and(|it| it.caller.role >= Role::Agent)
    }

    async fn search(&self, caller: McpCaller, ask: SearchArguments) -> ToolResult {
        if ask.all_workspaces {
            return self.search_everywhere(&caller, ask).await;
        }
        let query = SearchQuery {
            query: ask.query.clone(),
            paths: ask.paths.clone(),
            ..SearchQuery::default()
        };
        // Before the call, which takes a database connection. Held until the reply is there.
        let limits = request_context(&caller)?.limits;
        let admitted = admit_search(&self.app, limits, &query).await;
        let _permit = admitted.map_err(|problem| to_tool_problem(&problem))?;
        let mut call = self.begin_call(&caller, CallIntent::Reads).await?;
        let reply = tools::search(&mut call, ask).await;
        commit_call(call, reply).await
    }

    async fn get(&self, caller: McpCaller, ask: GetArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Reads).await?;
        let reply = tools::get(&mut call, &ask).await;
        commit_call(call, reply).await
    }

    async fn record(&self, caller: McpCaller, ask: RecordArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Writes).await?;
        let reply = tools::record(&mut call, &ask).await;
        commit_call(call, reply).await
    }

    async fn feedback(&self, caller: McpCaller, ask: FeedbackArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Writes).await?;
        let reply = tools::feedback(&mut call, &ask).await;
        commit_call(call, reply).await
    }

    async fn edit(&self, caller: McpCaller, ask: EditArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Writes).await?;
        let reply = tools::edit(&mut call, &ask).await;
        self.commit_change(&caller, call, reply).await
    }

    async fn cite(&self, caller: McpCaller, ask: CiteArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Writes).await?;
        let reply = tools::cite(&mut call, &ask).await;
        self.commit_change(&caller, call, reply).await
    }

    async fn check(&self, caller: McpCaller, ask: CheckArguments) -> ToolResult {
        let mut call = self.begin_call(&caller, CallIntent::Reads).await?;
        let reply = tools::check(&mut call, ask).await;
        commit_call(call, reply).await
    }

    async fn brief(&self, caller: McpCaller, ask: BriefingArguments) -> Result<String, ToolError> {
        let mut call = self.begin_call(&caller, CallIntent::Reads).await?;
        let text = tools::brief(&mut call, ask).await;
        commit_call(call, text).await
    }

    async fn index(&self, caller: McpCaller) -> Result<String, ToolError> {
        let mut call = self.begin_call(&caller, CallIntent::Reads).await?;
        let text = tools::index(&mut call).await;
        commit_call(call, text).await
    }
}

/// Commits a call before its reply is sent. A failed call is rolled back when it is dropped.
async fn commit_call<T>(call: HubToolCall, reply: Result<T, ServiceError>) -> Result<T, ToolError> {
    // Exposures must be durable before the agent sees the entries: a lost one would let a primed
    // agent count as independent.
    let reply = reply.map_err(to_tool_error)?;
    call.session.commit().await.map_err(to_tool_error)?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_speaks_the_protocol_is_an_agent() {
        for (actor, client, agent) in [
            ("agent:reviewer-1", "claude-code", "agent:reviewer-1"),
            ("ci:build", "x", "ci:build"),
            (
                "human:ada@example.org",
                "claude-code",
                "agent:human:ada@example.org/claude-code",
            ),
            (
                "human:ada@example.org",
                "human:eve",
                "agent:human:ada@example.org/human-eve",
            ),
            (
                "human:ada@example.org",
                "",
                "agent:human:ada@example.org/unknown",
            ),
        ] {
            let actor: Actor = actor.parse().expect("an actor");
            let found = agent_actor(&actor, client);
            assert_eq!(found.to_string(), agent, "{actor} {client}");
            assert!(!found.is_human());
        }
    }
}
