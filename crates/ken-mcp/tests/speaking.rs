//! The server over a pipe with an in-memory backend: tool definitions, formats, errors and
//! malformed lines.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::future::ready;

use ken_mcp::ask::{
    BriefingArguments, CheckArguments, CiteArguments, EditArguments, FeedbackArguments,
    GetArguments, RecordArguments, ReplyFormat, SearchArguments,
};
use ken_mcp::port::CodeAccess;
use ken_mcp::{
    HUB_TOOLS, KnowledgeBackend, McpCaller, McpServer, TOOLS, ToolError, ToolReply, ToolResult,
    stdio,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio_util::sync::CancellationToken;

/// Maximum tokens of all definitions together.
const DEFINITIONS_TOKENS_MAX: usize = 1_500;

/// The same at a hub, where agents edit and cite with tools.
const HUB_DEFINITIONS_TOKENS_MAX: usize = 2_000;

/// Backend that returns its arguments.
#[derive(Clone, Debug)]
struct EchoKnowledge {
    code: CodeAccess,
}

fn reply(format: ReplyFormat, what: String) -> ToolResult {
    Ok(match format {
        ReplyFormat::Text => ToolReply::Text(what),
        ReplyFormat::Json => ToolReply::Json(json!({ "told": what })),
    })
}

impl KnowledgeBackend for EchoKnowledge {
    fn code(&self) -> CodeAccess {
        self.code
    }

    fn edit(
        &self,
        _: McpCaller,
        ask: EditArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(ask.format, format!("{} {}", ask.id, ask.statement)))
    }

    fn cite(
        &self,
        _: McpCaller,
        ask: CiteArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(
            ask.format,
            format!("{} {}", ask.id, ask.cites.join(" ")),
        ))
    }

    fn search(
        &self,
        caller: McpCaller,
        ask: SearchArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(
            ask.format,
            format!("{} asks {}", caller.client, ask.query),
        ))
    }

    fn get(&self, _: McpCaller, ask: GetArguments) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(match ask.id.as_str() {
            "L-missing" => Err(ToolError {
                whose: ken_mcp::port::ErrorCause::Missing,
                said: "no entry matches `L-missing`".to_owned(),
                next: Some("search".to_owned()),
            }),
            id => reply(ask.format, format!("all of {id}")),
        })
    }

    fn record(
        &self,
        _: McpCaller,
        ask: RecordArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(
            ask.format,
            format!("{} as {}", ask.statement, ask.kind),
        ))
    }

    fn feedback(
        &self,
        _: McpCaller,
        ask: FeedbackArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(ask.format, format!("{} {}", ask.id, ask.helpful)))
    }

    fn check(
        &self,
        _: McpCaller,
        ask: CheckArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        ready(reply(ask.format, ask.paths.join(" ")))
    }

    fn brief(
        &self,
        _: McpCaller,
        ask: BriefingArguments,
    ) -> impl Future<Output = Result<String, ToolError>> + Send + '_ {
        ready(Ok(format!("briefing for {:?}: {}", ask.role, ask.task)))
    }

    fn index(&self, _: McpCaller) -> impl Future<Output = Result<String, ToolError>> + Send + '_ {
        ready(Ok("the index".to_owned()))
    }
}

/// The client's end of the pipe.
struct PipeClient {
    lines: Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    to: tokio::io::WriteHalf<DuplexStream>,
    serving: tokio::task::JoinHandle<()>,
}

impl PipeClient {
    fn new() -> Self {
        Self::with(EchoKnowledge {
            code: CodeAccess::Available,
        })
    }

    fn with(knowledge: EchoKnowledge) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(async move {
            let stop = CancellationToken::new();
            stdio::serve(McpServer::new(knowledge), reader, writer, stop)
                .await
                .unwrap();
        });
        let (from, to) = tokio::io::split(ours);
        let lines = BufReader::new(from).lines();
        Self { lines, to, serving }
    }

    /// Returns a client after the handshake, in the older revision.
    async fn begun() -> Self {
        let mut client = Self::new();
        let answer = client.ask(initialize()).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(message.to_string().as_bytes()).await;
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask(request("tools/call", params)).await
    }

    /// Closes the client's end and waits for the server to stop.
    async fn end(mut self) {
        self.to.shutdown().await.unwrap();
        drop(self.lines);
        drop(self.to);
        self.serving.await.unwrap();
    }
}

fn request(method: &str, params: impl Into<Value>) -> Value {
    let params: Value = params.into();
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "codex-mcp-client", "version": "1"},
    });
    request("initialize", params)
}

fn answer_text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn all_definitions_together_cost_at_most_1500_tokens() {
    let mut client = PipeClient::begun().await;
    let listed = client.ask(request("tools/list", json!({}))).await;
    let definitions = listed["result"].to_string();
    let tokens = ken_embed::count_tokens(&definitions);
    println!("{tokens} tokens, {} bytes", definitions.len());
    println!("{definitions}");
    assert!(tokens <= DEFINITIONS_TOKENS_MAX, "{tokens} tokens");
    client.end().await;
}

#[tokio::test]
async fn a_hub_has_two_tools_more_and_a_repository_does_not_know_them() {
    let code = CodeAccess::Elsewhere;
    let mut client = PipeClient::with(EchoKnowledge { code });
    client.ask(initialize()).await;
    let listed = client.ask(request("tools/list", json!({}))).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, [&TOOLS[..], &HUB_TOOLS].concat());
    let definitions = listed["result"].to_string();
    let tokens = ken_embed::count_tokens(&definitions);
    assert!(tokens <= HUB_DEFINITIONS_TOKENS_MAX, "{tokens} tokens");
    let searches = &tools[0]["inputSchema"]["properties"];
    assert!(searches["all_workspaces"].is_object(), "{searches}");
    for tool in &tools[TOOLS.len()..] {
        let hints = json!({"destructiveHint": false, "openWorldHint": false});
        assert_eq!(tool["annotations"], hints);
    }
    let edit = json!({"id": "L-1", "statement": "It is."});
    let cite = json!({"id": "L-1", "cites": ["pr:1"]});
    let answer = client.call("ken_edit", edit.clone()).await;
    assert_eq!(answer_text(&answer), "L-1 It is.");
    let answer = client.call("ken_cite", cite).await;
    assert_eq!(answer_text(&answer), "L-1 pr:1");
    client.end().await;
    let mut client = PipeClient::begun().await;
    let answer = client.call("ken_edit", edit).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    client.end().await;
}

#[tokio::test]
async fn definitions_are_flat_and_say_exactly_what_is_true() {
    let mut client = PipeClient::begun().await;
    let listed = client.ask(request("tools/list", json!({}))).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS);
    let searches = &tools[0]["inputSchema"]["properties"];
    assert!(searches.get("all_workspaces").is_none(), "{searches}");
    let all = listed["result"].to_string();
    for never in [
        "$ref",
        "$defs",
        "$schema",
        "uint",
        "outputSchema",
        "oneOf",
        "null",
    ] {
        assert!(!all.contains(never), "{never}");
    }
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let writes = ["ken_add", "ken_feedback"].contains(&name);
        let hints = if writes {
            json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        } else {
            json!({"readOnlyHint": true, "openWorldHint": false})
        };
        assert_eq!(tool["annotations"], hints, "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(tool["title"].is_string(), "{name}");
        let always = &tool["_meta"]["anthropic/alwaysLoad"];
        assert_eq!(*always == true, name == "ken_search", "{name}");
        let format = &tool["inputSchema"]["properties"]["format"];
        assert_eq!(*format, json!({"type": "string", "enum": ["text", "json"]}));
    }
    let limit = &tools[0]["inputSchema"]["properties"]["limit"];
    assert_eq!(
        *limit,
        json!({"type": "integer", "minimum": 1, "maximum": 20})
    );
    client.end().await;
}

#[tokio::test]
async fn an_answer_is_text_or_json_and_never_both() {
    let mut client = PipeClient::begun().await;
    for (tool, arguments, said) in [
        (
            "ken_search",
            json!({"query": "locks"}),
            "codex-mcp-client asks locks",
        ),
        ("ken_show", json!({"id": "L-1"}), "all of L-1"),
        (
            "ken_add",
            json!({"statement": "It is.", "cites": ["pr:1"]}),
            "It is. as learning",
        ),
        (
            "ken_feedback",
            json!({"id": "L-1", "helpful": true}),
            "L-1 true",
        ),
        ("ken_check", json!({"paths": ["a", "b"]}), "a b"),
    ] {
        let answer = client.call(tool, arguments.clone()).await;
        assert_eq!(answer_text(&answer), said);
        assert_eq!(answer["result"].get("structuredContent"), None, "{tool}");
        let mut arguments = arguments;
        arguments["format"] = json!("json");
        arguments["detail"] = Value::Null;
        let answer = client.call(tool, arguments).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"told": said}));
        assert_eq!(answer["result"]["content"], json!([]), "{tool}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_missing_citation_is_answered_with_an_example() {
    let mut client = PipeClient::begun().await;
    let answer = client.call("ken_add", json!({"statement": "x"})).await;
    let said = answer_text(&answer);
    assert!(said.starts_with("missing field `cites`"), "{said}");
    assert!(said.contains(r#""cites": ["commit:3fce3b5"]"#), "{said}");
    client.end().await;
}

#[tokio::test]
async fn what_an_agent_can_mend_is_the_tools_answer() {
    let mut client = PipeClient::begun().await;
    for (tool, arguments, said) in [
        (
            "ken_search",
            json!({}),
            "missing field `query`\nnext: known arguments: all_workspaces, detail, format",
        ),
        (
            "ken_search",
            json!({"query": "a", "path": "b"}),
            "unknown field `path`",
        ),
        (
            "ken_search",
            json!({"query": 3}),
            "invalid type: integer `3`",
        ),
        (
            "ken_search",
            json!({"query": "a", "limit": 99}),
            "limit is 99\nnext: use 1 to 20",
        ),
        (
            "ken_search",
            json!({"query": "a", "limit": -1}),
            "invalid value: integer `-1`",
        ),
        ("ken_show", json!({"id": ""}), "id is empty"),
        (
            "ken_feedback",
            json!({"id": "L-1"}),
            "missing field `helpful`",
        ),
    ] {
        let answer = client.call(tool, arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            answer_text(&answer).starts_with(said),
            "{}",
            answer_text(&answer)
        );
    }
    let answer = client.call("ken_delete", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = client
        .ask(request("prompts/get", json!({"name": "x"})))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
    client.end().await;
}

#[tokio::test]
async fn what_is_not_there_is_said_as_each_revision_says_it() {
    let mut client = PipeClient::begun().await;
    for uri in [
        "ken://entry/../x",
        "ken://entry/L-missing",
        "file:///etc/passwd",
    ] {
        let answer = client
            .ask(request("resources/read", json!({"uri": uri})))
            .await;
        assert_eq!(answer["error"]["code"], -32002, "{uri}");
    }
    client.end().await;
    let mut client = PipeClient::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"uri": "ken://entry/L-missing", "_meta": meta});
    let answer = client.ask(request("resources/read", params)).await;
    assert_eq!(answer["error"]["code"], -32602);
    let listed = client
        .ask(request("tools/list", json!({"_meta": meta})))
        .await;
    assert_eq!(
        listed["result"]["cacheScope"], "private",
        "it depends on the role"
    );
    assert_eq!(listed["result"]["ttlMs"], 3_600_000);
    let params = json!({"uri": "ken://index", "_meta": meta});
    let read = client.ask(request("resources/read", params)).await;
    assert_eq!(
        read["result"]["ttlMs"], 0,
        "what is shown is noted each time"
    );
    assert_eq!(read["result"]["cacheScope"], "private");
    client.end().await;
}

#[tokio::test]
async fn before_the_handshake_only_requests_count() {
    let mut client = PipeClient::new();
    for early in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}),
    ] {
        client.send(early.to_string().as_bytes()).await;
    }
    let ping = client.ask(request("ping", json!({}))).await;
    assert_eq!(ping["result"], json!({}));
    let early =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.send(early.to_string().as_bytes()).await;
    let refused = client.ask(request("tools/list", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32602);
    client.send(early.to_string().as_bytes()).await;
    let answer = client.ask(initialize()).await;
    assert!(answer["result"]["instructions"].is_string());
    client.end().await;
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let mut client = PipeClient::begun().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ken_show","arguments":{{"id":{}1{}}}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let long = vec![b'x'; stdio::LINE_BYTES_MAX + 1];
    let hostile: [&[u8]; 7] = [
        b"",
        b"\r",
        b"{",
        b"\xff\xfe{\"jsonrpc\":\"2.0\"}",
        deep.as_bytes(),
        nested.as_bytes(),
        &long,
    ];
    for line in hostile {
        client.send(line).await;
        let answer = client.ask(request("ping", json!({}))).await;
        assert_eq!(answer["result"], json!({}));
    }
    client
        .send(b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":3}")
        .await;
    let line = client.lines.next_line().await.unwrap().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["error"]["code"], -32600, "JSON, but no message");
    client.end().await;
}

#[tokio::test]
async fn the_words_agents_look_for_are_in_the_instructions() {
    let mut client = PipeClient::new();
    let answer = client.ask(initialize()).await;
    let words = answer["result"]["instructions"].as_str().unwrap();
    for told in [
        "Before editing unfamiliar code",
        "After an unexpected failure",
        "Before you commit: ken_check",
        "When you find something that others need",
        "open one or two with ken_show",
        "decide yourself; the plan may do so on purpose",
        "goal, technology and problem in your own words",
    ] {
        assert!(words.contains(told), "{told}");
    }
    assert!(ken_embed::count_tokens(words) <= 300, "read on every turn");
    for never in ["sampling", "logging", "roots", "completions"] {
        assert_eq!(answer["result"]["capabilities"].get(never), None);
    }
    client.end().await;
}

#[tokio::test]
async fn prompts_and_resources_are_listed_and_read() {
    let mut client = PipeClient::begun().await;
    let listed = client.ask(request("prompts/list", json!({}))).await;
    let names: Vec<&Value> = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["research", "review", "capture"]);
    let asked = json!({"name": "review", "arguments": {"task": "Look at charges"}});
    let review = client.ask(request("prompts/get", asked)).await;
    let text = review["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.ends_with("briefing for Some(Reviewer): Look at charges"),
        "{text}"
    );
    let missing = client
        .ask(request("prompts/get", json!({"name": "review"})))
        .await;
    assert_eq!(missing["error"]["code"], -32602);
    let listed = client
        .ask(request("resources/templates/list", json!({})))
        .await;
    let uris: Vec<&Value> = listed["result"]["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["uriTemplate"])
        .collect();
    assert_eq!(uris, ["ken://entry/{id}", "ken://briefing/{workspace}"]);
    let read = client
        .ask(request("resources/read", json!({"uri": "ken://entry/L-1"})))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "all of L-1");
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/markdown");
    client.end().await;
}
