//! Calls of the Model Context Protocol over HTTP, in its newer revision.

use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse, bearer};

/// Sends a protocol request.
pub(crate) fn send_request(
    hub: &ApiHubEnvironment,
    token: Option<&str>,
    (path, workspace): (&str, Option<&str>),
    method: &str,
    mut params: Value,
) -> ApiResponse {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let token = token.map(bearer);
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    headers.extend(token.as_deref().map(|it| ("authorization", it)));
    headers.extend(workspace.map(|it| ("ken-workspace", it)));
    hub.send("POST", path, &headers, Some(body.to_string().as_bytes()))
}

/// Calls a tool in the workspace of `acme` and returns its result.
#[track_caller]
pub(crate) fn call_tool(
    hub: &ApiHubEnvironment,
    token: &str,
    tool: &str,
    arguments: &Value,
) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = send_request(hub, Some(token), ("/mcp/shop", None), "tools/call", params);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert!(told["result"].is_object(), "{told}");
    told["result"].clone()
}

/// Returns the names of the tools that a token may use.
pub(crate) fn list_tools(hub: &ApiHubEnvironment, token: &str) -> Vec<String> {
    let listed = send_request(
        hub,
        Some(token),
        ("/mcp/shop", None),
        "tools/list",
        json!({}),
    );
    let listed = listed.json();
    let tools = listed["result"]["tools"].as_array().expect("tools").iter();
    tools
        .map(|it| it["name"].as_str().expect("a name").to_owned())
        .collect()
}
