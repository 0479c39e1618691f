//! The tools over MCP on loopback: the token determines the workspace that answers.

use ken_core::values::kind::EntryKind;
use ken_hub::ids::Role;
use serde_json::{Value, json};

use crate::endpoints::{EndpointHubEnvironment, EndpointResponse};

/// Returns the metadata of every request in the newer revision.
fn request_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Calls a protocol method at a path.
fn call_method(
    hub: &EndpointHubEnvironment,
    path: &str,
    token: &str,
    more: &[(&str, &str)],
    method: &str,
    params: Value,
) -> EndpointResponse {
    let mut params = params;
    params["_meta"] = request_meta();
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let bearer = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", name.as_str()));
    }
    headers.extend(more);
    hub.send("POST", path, &headers, Some(body.to_string().as_bytes()))
}

/// Calls a tool and returns its error flag and text.
#[track_caller]
fn call_tool(
    hub: &EndpointHubEnvironment,
    path: &str,
    token: &str,
    more: &[(&str, &str)],
    tool: &str,
    arguments: &Value,
) -> (bool, String) {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = call_method(hub, path, token, more, "tools/call", params);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    let result = &told["result"];
    let text = match result["content"][0]["text"].as_str() {
        Some(text) => text.to_owned(),
        None => result["structuredContent"].to_string(),
    };
    assert!(result.is_object(), "{told}");
    (result["isError"] == json!(true), text)
}

#[test]
fn a_hub_has_no_code_and_promises_nothing_about_it() {
    let hub = EndpointHubEnvironment::start();
    let token = hub.token(Role::Reader, "agent:bot", None);
    let path = "/mcp/shop";
    let listed = call_method(&hub, path, &token, &[], "tools/list", json!({})).json();
    let told = call_method(&hub, path, &token, &[], "server/discover", json!({})).text();
    assert!(told.contains("ken_search with your goal"), "{told}");
    for promise in [
        "against the code",
        "against the current code",
        "against its code",
        "uncommitted",
        "invalidate",
        "since base",
    ] {
        assert!(!told.contains(promise), "{promise}: {told}");
        assert!(!listed.to_string().contains(promise), "{promise}: {listed}");
    }
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let check = &tools.last().expect("a tool")["inputSchema"]["properties"];
    assert!(
        check["paths"].is_object() && check.get("base").is_none(),
        "{check}"
    );
}

#[test]
fn mcp_the_tools_answer_for_the_workspace_of_the_token() {
    let hub = EndpointHubEnvironment::start();
    let token = hub.token(Role::Agent, "agent:bot", None);
    let path = "/mcp/shop";
    let listed = call_method(&hub, path, &token, &[], "tools/list", json!({})).json();
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    let known = [&ken_mcp::TOOLS[..], &ken_mcp::HUB_TOOLS].concat();
    assert_eq!(names, known);
    let session = [("ken-session", "s-1")];
    let (failed, said) = call_tool(
        &hub,
        path,
        &token,
        &session,
        "ken_add",
        &json!({
        "statement": "Retry a payment once after a gateway timeout", "cites": ["commit:4f2a9c1"]}),
    );
    assert!(!failed && said.starts_with("recorded as [L-"), "{said}");
    let id = said["recorded as [".len()..]
        .split(']')
        .next()
        .expect("an id")
        .to_owned();
    let (failed, said) = call_tool(
        &hub,
        path,
        &token,
        &session,
        "ken_search",
        &json!({"query": "gateway timeout of a payment"}),
    );
    assert!(!failed && said.contains(&id), "{said}");
    let (failed, said) = call_tool(
        &hub,
        path,
        &token,
        &session,
        "ken_show",
        &json!({"id": id, "history": true}),
    );
    assert!(
        !failed && said.contains("Retry a payment once") && said.contains("proposed"),
        "{said}"
    );
    let (failed, said) = call_tool(
        &hub,
        path,
        &token,
        &session,
        "ken_feedback",
        &json!({"id": id, "helpful": true}),
    );
    assert!(!failed && said.contains("noted"), "{said}");
    call_remaining_tools(&hub, path, &token, &id);
}

/// Calls the remaining tools, in JSON form, and in another session.
fn call_remaining_tools(hub: &EndpointHubEnvironment, path: &str, token: &str, id: &str) {
    let session = [("ken-session", "s-1")];
    let (failed, said) = call_tool(
        hub,
        path,
        token,
        &session,
        "ken_check",
        &json!({"paths": ["src/pay.rs"]}),
    );
    assert!(
        !failed && said.contains("Applicable knowledge for 1 path"),
        "{said}"
    );
    let (failed, said) = call_tool(
        hub,
        path,
        token,
        &session,
        "ken_check",
        &json!({"base": "main"}),
    );
    assert!(failed && said.contains("no code"), "{said}");
    let (failed, said) = call_tool(
        hub,
        path,
        token,
        &session,
        "ken_search",
        &json!({"query": "gateway timeout", "format": "json"}),
    );
    let object: Value = serde_json::from_str(&said).expect("JSON");
    assert!(!failed && object["schema"] == "ken.search.v1", "{said}");
    let (failed, said) = call_tool(
        hub,
        path,
        token,
        &[("ken-session", "s-2")],
        "ken_feedback",
        &json!({"id": id, "helpful": true}),
    );
    assert!(
        failed && said.contains("was not shown"),
        "another conversation: {said}"
    );
}

#[test]
fn mcp_a_workspace_is_named_by_path_or_header_or_is_the_only_one() {
    let hub = EndpointHubEnvironment::start();
    let all = hub.token(Role::Reader, "agent:bot", None);
    let one = hub.token(Role::Reader, "agent:bot", Some(hub.workspace));
    let list = |path: &str, token: &str, more: &[(&str, &str)]| {
        call_method(&hub, path, token, more, "tools/list", json!({})).status
    };
    assert_eq!(list("/mcp/shop", &all, &[]), 200);
    assert_eq!(list("/mcp", &all, &[("ken-workspace", "shop")]), 200);
    assert_eq!(list("/mcp", &one, &[]), 200, "it reaches one only");
    assert_eq!(list("/mcp", &all, &[]), 400, "which of them?");
    assert_eq!(list("/mcp/shop", &all, &[("ken-workspace", "vault")]), 400);
    assert_eq!(list("/mcp/nothing", &all, &[]), 404);
    assert_eq!(
        list("/mcp/vault", &all, &[]),
        404,
        "another organization's is not there"
    );
    assert_eq!(list("/mcp/shop", "ken_nothing", &[]), 401);
    let unknown = call_method(
        &hub,
        "/mcp/shop",
        "ken_nothing",
        &[],
        "tools/list",
        json!({}),
    );
    // An error of the protocol, because clients show the text of nothing else.
    let told = unknown.json();
    assert_eq!(told["jsonrpc"], "2.0", "{told}");
    let refused = &told["error"];
    assert_eq!(refused["data"]["type"], "/problems/unauthenticated");
    assert_eq!(refused["message"], refused["data"]["detail"]);
    let page = [("origin", "https://evil.example.org")];
    assert_eq!(
        list("/mcp/shop", &all, &page),
        403,
        "a page of somebody else's"
    );
}

#[test]
fn mcp_a_reader_records_nothing_and_a_persons_token_speaks_as_an_agent() {
    let hub = EndpointHubEnvironment::start();
    let reader = hub.token(Role::Reader, "agent:eve", None);
    let arguments =
        json!({"statement": "Queues are drained before a deployment", "cites": ["commit:4f2a9c1"]});
    let (failed, said) = call_tool(&hub, "/mcp/shop", &reader, &[], "ken_add", &arguments);
    assert!(failed && said.contains("role"), "{said}");
    let person = hub.token(Role::Curator, "human:ada@example.org", None);
    let (failed, said) = call_tool(&hub, "/mcp/shop", &person, &[], "ken_add", &arguments);
    assert!(!failed, "{said}");
    let entries = hub.get("/v1/workspaces/shop/entries", &person).json();
    let by = entries["items"][0]["created"]["by"]
        .as_str()
        .expect("a name");
    assert_eq!(by, "agent:human:ada@example.org/test");
    // An agent's norm awaits a person, even under a person's token.
    let norm =
        json!({"statement": "Commits name their ticket", "kind": "commit-norm", "cites": ["pr:7"]});
    let (failed, said) = call_tool(&hub, "/mcp/shop", &person, &[], "ken_add", &norm);
    assert!(
        !failed && said.contains("quarantined until a person reviews it"),
        "{said}"
    );
}

#[test]
fn a_persons_reader_token_reads_and_is_shown_the_reading_tools_only() {
    let hub = EndpointHubEnvironment::start();
    let id = hub.add(
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let names = |token: &str| -> Vec<String> {
        let listed = call_method(&hub, "/mcp/shop", token, &[], "tools/list", json!({})).json();
        let tools = listed["result"]["tools"].as_array().expect("tools").iter();
        tools
            .map(|it| it["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let rita = hub.token(Role::Reader, "human:rita@example.org", None);
    assert_eq!(names(&rita), ["ken_search", "ken_show", "ken_check"]);
    for (tool, arguments) in [
        ("ken_search", json!({"query": "payment timeout"})),
        ("ken_show", json!({"id": id})),
        ("ken_check", json!({"paths": ["src/pay.rs"]})),
    ] {
        let (failed, said) = call_tool(&hub, "/mcp/shop", &rita, &[], tool, &arguments);
        assert!(!failed, "{tool}: {said}");
    }
    let claim = json!({"statement": "Queues are drained before a deployment", "cites": ["pr:7"]});
    let (failed, said) = call_tool(&hub, "/mcp/shop", &rita, &[], "ken_add", &claim);
    assert!(failed && said.contains("role"), "{said}");
    let mel = hub.token(Role::Member, "human:mel@example.org", None);
    assert_eq!(names(&mel).len(), 7);
    let (failed, said) = call_tool(&hub, "/mcp/shop", &mel, &[], "ken_add", &claim);
    assert!(!failed, "{said}");
}

#[test]
fn mcp_resources_brief_and_list() {
    let hub = EndpointHubEnvironment::start();
    hub.add(
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let token = hub.token(Role::Reader, "agent:bot", None);
    for (uri, part) in [
        ("ken://index", "Entries of workspace shop"),
        ("ken://briefing/shop", "##"),
    ] {
        let params = json!({"uri": uri, "name": uri});
        let told = call_method(&hub, "/mcp/shop", &token, &[], "resources/read", params).json();
        let text = told["result"]["contents"][0]["text"].as_str();
        assert!(text.is_some_and(|it| it.contains(part)), "{uri}: {told}");
    }
}
