//! Permission matrix: every operation of the served OpenAPI document × role × tenant, from one
//! table.
//!
//! The operations come from the document itself. An operation without a row fails the test, and so
//! does a row without an operation, so every new endpoint must state its required role here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse, TenantFixture, bearer};
use crate::mcp_client::{list_tools, send_request};

/// Minimum role required by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RequiredRole {
    Nobody,
    Peer,
    Reader,
    Agent,
    Member,
    Curator,
    Admin,
}

use RequiredRole::{Admin, Agent, Curator, Member, Nobody, Peer, Reader};

/// Every operation with the minimum role that may call it.
const REQUIRED_ROLES: &[(&str, RequiredRole)] = &[
    ("health", Nobody),
    ("ready", Nobody),
    ("list_workspaces", Reader),
    ("create_workspace", Admin),
    ("get_workspace", Reader),
    ("evict_workspace", Admin),
    ("remove_workspace", Admin),
    ("rename_workspace", Admin),
    ("list_removed_workspaces", Admin),
    ("restore_workspace", Admin),
    ("purge_workspace", Admin),
    ("list_tokens", Admin),
    ("create_token", Admin),
    ("rotate_token", Admin),
    ("revoke_token", Admin),
    ("revoke_tokens", Admin),
    ("list_accounts", Admin),
    ("describe_account", Admin),
    ("block_account", Admin),
    ("unblock_account", Admin),
    ("list_sessions", Admin),
    ("end_session", Admin),
    ("list_audit", Admin),
    ("list_workspace_audit", Admin),
    ("push_events", Agent),
    ("pull_events", Reader),
    ("stream_events", Reader),
    ("get_briefing", Reader),
    ("list_entries", Reader),
    ("get_entry", Reader),
    ("get_history", Reader),
    ("record_entry", Agent),
    ("give_feedback", Agent),
    ("get_outcomes", Reader),
    ("get_impact", Reader),
    ("get_entry_impact", Reader),
    ("verify", Reader),
    ("list_runs", Reader),
    ("open_run", Agent),
    ("get_run", Reader),
    ("note_run", Agent),
    ("close_run", Agent),
    ("observe", Agent),
    ("search", Reader),
    ("search_everywhere", Reader),
    ("confirm_entry", Member),
    ("edit_entry", Agent),
    ("cite_entry", Agent),
    ("retract_entry", Member),
    ("pin_entry", Reader),
    ("mute_entry", Reader),
    ("resolve_contradiction", Member),
    ("redact_event", Member),
    ("revoke_source", Curator),
    ("revoke_everywhere", Curator),
    ("list_promotions", Curator),
    ("approve_promotion", Curator),
    ("reject_promotion", Curator),
    ("list_quarantined_events", Curator),
    ("release_quarantined_event", Curator),
    ("discard_quarantined_event", Curator),
    ("list_quarantined_entries", Curator),
    ("release_quarantined_entry", Curator),
    ("discard_quarantined_entry", Curator),
    // A public publication needs no token; `federation` tests who reads one that is not.
    ("get_publication_file", Nobody),
    ("get_publication_batch", Nobody),
    ("list_peers", Curator),
    ("list_peer_entries", Curator),
    ("approve_peer_entries", Curator),
    ("reject_peer_entries", Curator),
    ("rate_peer_entry", Curator),
];

pub(crate) struct DocumentedOperation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) tag: String,
    role: Option<String>,
    takes_body: bool,
}

pub(crate) fn read_operations(hub: &ApiHubEnvironment) -> Vec<DocumentedOperation> {
    let document = hub.send("GET", "/v1/openapi.json", &[], None).json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("an item") {
            let role = &operation["security"][0]["token"][0];
            found.push(DocumentedOperation {
                id: operation["operationId"].as_str().expect("an id").to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                tag: operation["tags"][0].as_str().unwrap_or_default().to_owned(),
                role: role.as_str().map(ToOwned::to_owned),
                takes_body: operation.get("requestBody").is_some(),
            });
        }
    }
    found
}

/// Calls an operation with an invalid body, in the given workspace.
fn call_operation(
    hub: &ApiHubEnvironment,
    operation: &DocumentedOperation,
    token: Option<&str>,
    workspace: &str,
) -> ApiResponse {
    let mut path = operation.path.replace("{workspace}", workspace);
    while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
        // An id that no test created.
        path.replace_range(from..=to, "00000000-0000-7000-8000-000000000000");
    }
    let token = token.map(bearer);
    let mut headers = Vec::new();
    if let Some(token) = &token {
        headers.push(("authorization", token.as_str()));
    }
    let body = operation
        .takes_body
        .then_some(&b"{\"no\": \"such member\"}"[..]);
    if body.is_some() {
        headers.push(("content-type", "application/json"));
    }
    if operation.id == "stream_events" {
        // A cursor of another log yields a problem response instead of an endless stream.
        headers.push(("last-event-id", "17.01JCPQ3W6M7Y2K8T4D5F6G7H8J"));
    }
    hub.send(&operation.method, &path, &headers, body)
}

fn callers(tenant: &TenantFixture) -> [(RequiredRole, &str); 6] {
    [
        (Peer, &tenant.peer),
        (Reader, &tenant.reader),
        (Agent, &tenant.agent),
        (Member, &tenant.member),
        (Curator, &tenant.curator),
        (Admin, &tenant.admin),
    ]
}

#[test]
fn every_operation_has_a_row_and_every_row_an_operation() {
    let hub = ApiHubEnvironment::start();
    let found: BTreeSet<String> = read_operations(&hub).into_iter().map(|it| it.id).collect();
    let rows: BTreeSet<String> = REQUIRED_ROLES
        .iter()
        .map(|(id, _)| (*id).to_owned())
        .collect();
    assert_eq!(found, rows);
    assert_eq!(rows.len(), REQUIRED_ROLES.len(), "a row stands twice");
}

#[test]
fn the_document_names_the_role_each_operation_needs() {
    let hub = ApiHubEnvironment::start();
    let table: BTreeMap<&str, RequiredRole> = REQUIRED_ROLES.iter().copied().collect();
    for operation in read_operations(&hub) {
        let told = match operation.role.as_deref() {
            None => Nobody,
            Some("reader") => Reader,
            Some("agent") => Agent,
            Some("member") => Member,
            Some("curator") => Curator,
            Some("admin") => Admin,
            Some(other) => panic!("{}: {other}", operation.id),
        };
        assert_eq!(
            table.get(operation.id.as_str()),
            Some(&told),
            "{}",
            operation.id
        );
    }
}

#[test]
fn roles_times_operations_times_tenants() {
    let hub = ApiHubEnvironment::start();
    let table: BTreeMap<&str, RequiredRole> = REQUIRED_ROLES.iter().copied().collect();
    let mut asked = 0;
    for operation in read_operations(&hub) {
        let needs = table[operation.id.as_str()];
        let name = &operation.id;
        if needs == Nobody {
            let answer = call_operation(&hub, &operation, None, &hub.acme.name);
            assert_eq!(answer.status, permitted_status(&operation), "{name}");
            continue;
        }
        for token in [
            None,
            Some(hub.acme.expired.as_str()),
            Some(&hub.acme.revoked),
            Some("ken_00000000000000000000000000000000"),
            Some("nonsense"),
            Some("eyJhbGciOiJub25lIn0.e30."),
        ] {
            let answer = call_operation(&hub, &operation, token, &hub.acme.name);
            answer.problem("unauthenticated");
            assert!(
                answer.header("www-authenticate").starts_with("Bearer"),
                "{name}"
            );
            asked += 1;
        }
        let in_workspace = operation.path.contains("{workspace}");
        for (role, token) in callers(&hub.acme) {
            asked += check_own_tenant(&hub, &operation, needs, role, token);
            if in_workspace {
                asked += check_foreign_tenant(&hub, &operation, role, token);
            }
        }
    }
    assert!(asked > 700, "{asked}");
}

/// In the tenant's own workspace: refused below the required role, allowed from it on.
fn check_own_tenant(
    hub: &ApiHubEnvironment,
    operation: &DocumentedOperation,
    needs: RequiredRole,
    role: RequiredRole,
    token: &str,
) -> usize {
    let answer = call_operation(hub, operation, Some(token), &hub.acme.name);
    let (name, status) = (&operation.id, answer.status);
    if role == Peer && operation.path.contains("{workspace}") {
        // Another organization does not even learn which workspaces there are.
        answer.problem("not-found");
    } else if role < needs {
        answer.problem("forbidden");
    } else {
        assert_eq!(
            status,
            permitted_status(operation),
            "{name} {role:?}: {}",
            answer.text()
        );
    }
    1
}

/// Returns the status for a permitted caller: success, or an error about the request. Callers
/// without permission learn neither.
fn permitted_status(operation: &DocumentedOperation) -> u16 {
    let names_more = operation.path.replace("{workspace}", "").contains('{');
    match operation.id.as_str() {
        "stream_events" => 409,
        "evict_workspace" => 204,
        _ if operation.takes_body => 422,
        _ if names_more => 404,
        _ => 200,
    }
}

/// Calls a tool of a workspace over MCP.
fn call_mcp_tool(
    hub: &ApiHubEnvironment,
    token: Option<&str>,
    path: &str,
    workspace: Option<&str>,
) -> ApiResponse {
    let params = json!({"name": "ken_search", "arguments": {"query": "anything"}});
    send_request(hub, token, (path, workspace), "tools/call", params)
}

#[test]
fn the_other_protocol_has_the_same_walls() {
    let hub = ApiHubEnvironment::start();
    for token in [
        None,
        Some(hub.acme.expired.as_str()),
        Some(&hub.acme.revoked),
        Some("ken_00000000000000000000000000000000"),
        Some("nonsense"),
    ] {
        for path in ["/mcp/shop", "/mcp/vault", "/mcp/nowhere", "/mcp"] {
            call_mcp_tool(&hub, token, path, None).rpc_problem("unauthenticated");
        }
    }
    let by_id = hub.other.workspace.0.to_string();
    for (role, token) in callers(&hub.acme) {
        let token = Some(token);
        if role == Peer {
            for path in ["/mcp/shop", "/mcp/vault"] {
                call_mcp_tool(&hub, token, path, None).rpc_problem("not-found");
            }
            continue;
        }
        for answer in [
            call_mcp_tool(&hub, token, "/mcp/shop", None),
            call_mcp_tool(&hub, token, "/mcp", Some("shop")),
        ] {
            assert_eq!(answer.status, 200, "{role:?}: {}", answer.text());
            let told = answer.json();
            assert_eq!(told["result"]["isError"], false, "{role:?}: {told}");
        }
        call_mcp_tool(&hub, token, "/mcp", None).rpc_problem("malformed");
        let missing = call_mcp_tool(&hub, token, "/mcp/nowhere", None);
        missing.rpc_problem("not-found");
        for workspace in ["vault", &by_id] {
            let in_path = call_mcp_tool(&hub, token, &format!("/mcp/{workspace}"), None);
            let in_header = call_mcp_tool(&hub, token, "/mcp", Some(workspace));
            assert_eq!(in_path.status, 404, "{role:?} {workspace}");
            assert_eq!(in_path.body, missing.body, "{role:?} {workspace}");
            assert_eq!(in_header.body, missing.body, "{role:?} {workspace}");
        }
        // A request that names two workspaces is rejected.
        call_mcp_tool(&hub, token, "/mcp/shop", Some("vault")).rpc_problem("malformed");
    }
}

/// In another tenant's workspace: the response equals that for a missing workspace.
fn check_foreign_tenant(
    hub: &ApiHubEnvironment,
    operation: &DocumentedOperation,
    role: RequiredRole,
    token: &str,
) -> usize {
    let name = &operation.id;
    let by_id = hub.other.workspace.0.to_string();
    let nowhere = "00000000-0000-7000-8000-00000000beef";
    let missing = call_operation(hub, operation, Some(token), nowhere);
    missing.problem("not-found");
    for workspace in [hub.other.name.as_str(), &by_id, "nowhere"] {
        let answer = call_operation(hub, operation, Some(token), workspace);
        assert_eq!(answer.status, 404, "{name} {role:?} {workspace}");
        assert_eq!(answer.body, missing.body, "{name} {role:?} {workspace}");
    }
    4
}

/// Operations without a workspace in their path, with a valid body. What they answer must be about
/// the workspaces of the caller alone.
fn organization_operations() -> BTreeMap<&'static str, Option<Value>> {
    BTreeMap::from([
        ("health", None),
        ("ready", None),
        ("list_workspaces", None),
        ("create_workspace", Some(json!({"name": "third"}))),
        ("list_tokens", None),
        (
            "create_token",
            Some(json!({"role": "reader", "actor": "agent:new", "name": "n"})),
        ),
        ("revoke_token", None),
        ("rotate_token", Some(json!({}))),
        ("revoke_tokens", Some(json!({"actor": "agent:canary"}))),
        ("list_accounts", None),
        ("describe_account", Some(json!({"actor": "ci:canary"}))),
        ("block_account", Some(json!({"actor": "agent:canary"}))),
        ("unblock_account", Some(json!({"actor": "agent:canary"}))),
        ("list_sessions", None),
        ("end_session", None),
        ("list_removed_workspaces", None),
        ("restore_workspace", Some(json!({}))),
        ("purge_workspace", Some(json!({}))),
        ("list_audit", None),
        (
            "search_everywhere",
            Some(json!({"query": "canary", "floor": "none", "entries": true})),
        ),
        ("revoke_everywhere", Some(json!({"author": "agent:canary"}))),
        ("get_publication_file", None),
        ("get_publication_batch", None),
        ("list_peers", None),
        ("list_peer_entries", None),
        (
            "approve_peer_entries",
            Some(json!({"entries": [{"id": "L-00000000", "artifact": "b3:0"}]})),
        ),
        (
            "reject_peer_entries",
            Some(json!({"ids": ["L-00000000"], "reason": "false"})),
        ),
        ("rate_peer_entry", Some(json!({"verdict": "helpful"}))),
    ])
}

/// Restricted tokens see no other workspace of their own organization, either.
#[test]
fn every_operation_keeps_to_the_workspaces_of_its_token() {
    use ken_hub::ids::Role;
    let hub = ApiHubEnvironment::start();
    let operations = read_operations(&hub);
    let wide = operations
        .iter()
        .filter(|it| !it.path.contains("{workspace}"));
    let found: BTreeSet<&str> = wide.clone().map(|it| it.id.as_str()).collect();
    let samples = organization_operations();
    assert_eq!(
        found,
        samples.keys().copied().collect(),
        "an operation without a workspace in its path needs a row"
    );
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"second"}"#);
    let second: uuid::Uuid = made.json()["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("a uuid");
    let mut scribe = ken_testkit::build::EventWriter::new(91);
    scribe.now = hub.app.clock.now();
    for (tenant, said) in [
        (&hub.acme, "The canary of the shop sings in the morning"),
        (&hub.other, "The canary of the vault sings in the evening"),
    ] {
        let copy = scribe.propose(said).1;
        hub.push(tenant, &tenant.admin, &[copy]);
    }
    let workspaces = Some(vec![ken_hub::ids::WorkspaceId(second)]);
    let made = crate::hub::create_token(
        &hub.app,
        hub.acme.organization,
        Role::Admin,
        workspaces,
        None,
    );
    let (_, narrow) = hub.runtime.block_on(made);
    let narrow = narrow.reveal();
    let (shop, vault) = (hub.acme.workspace.0, hub.other.workspace.0);
    let of_other = [
        vault.to_string(),
        "vault".into(),
        hub.other.admin_id.clone(),
    ];
    let of_shop = [shop.to_string(), "\"shop\"".into(), "of the shop".into()];
    for operation in wide {
        let id = operation.id.as_str();
        let body = samples[id].as_ref().map(Value::to_string);
        for (token, foreign) in [
            (hub.acme.admin.as_str(), &of_other[..]),
            (narrow, &of_other[..]),
            (narrow, &of_shop[..]),
        ] {
            let path = operation.path.replace("{token}", &hub.other.admin_id);
            let path = path.replace("{removed}", &vault.to_string());
            let bearer = bearer(token);
            let mut headers = vec![("authorization", bearer.as_str())];
            headers.extend(body.as_ref().map(|_| ("content-type", "application/json")));
            let body = body.as_ref().map(String::as_bytes);
            let text = hub.send(&operation.method, &path, &headers, body).text();
            for mark in foreign {
                assert!(!text.contains(mark.as_str()), "{id}: {mark} in {text}");
            }
        }
    }
    check_paths_with_a_workspace(&hub, &operations, narrow);
    assert_eq!(hub.get("/v1/tokens", &hub.other.admin).status, 200);
}

/// Checks that operations with a workspace in their path answer the token of another workspace as
/// if there were none.
fn check_paths_with_a_workspace(
    hub: &ApiHubEnvironment,
    operations: &[DocumentedOperation],
    token: &str,
) {
    let shop = hub.acme.workspace.0.to_string();
    for operation in operations
        .iter()
        .filter(|it| it.path.contains("{workspace}"))
    {
        let id = &operation.id;
        let nowhere = "00000000-0000-7000-8000-00000000beef";
        let missing = call_operation(hub, operation, Some(token), nowhere);
        missing.problem("not-found");
        for workspace in ["shop", "vault", &shop] {
            let answer = call_operation(hub, operation, Some(token), workspace);
            assert_eq!(answer.body, missing.body, "{id} {workspace}");
        }
    }
}

/// Every tool of the hub, in a workspace of another tenant or beyond a token's restriction.
#[test]
fn every_tool_keeps_to_the_workspaces_of_its_token() {
    use ken_hub::ids::Role;
    let hub = ApiHubEnvironment::start();
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"second"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let workspaces = Some(vec![hub.acme.workspace]);
    let made = crate::hub::create_token(
        &hub.app,
        hub.acme.organization,
        Role::Admin,
        workspaces,
        None,
    );
    let (_, narrow) = hub.runtime.block_on(made);
    let tools = list_tools(&hub, &hub.acme.admin);
    assert!(tools.len() >= 7, "{tools:?}");
    for tool in &tools {
        let call = |token: &str, path: &str| {
            let arguments = json!({"query": "x", "id": "L-00000000", "all_workspaces": true});
            let params = json!({"name": tool, "arguments": arguments});
            send_request(&hub, Some(token), (path, None), "tools/call", params)
        };
        let missing = call(&hub.acme.admin, "/mcp/nowhere");
        missing.rpc_problem("not-found");
        for (token, path) in [
            (hub.acme.admin.as_str(), "/mcp/vault"),
            (narrow.reveal(), "/mcp/second"),
        ] {
            assert_eq!(call(token, path).body, missing.body, "{tool} {path}");
        }
    }
}

#[test]
fn a_token_for_named_workspaces_reaches_no_other_and_administers_nothing_else() {
    use ken_hub::ids::Role;
    let hub = ApiHubEnvironment::start();
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"second"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let token = crate::hub::create_token(
        &hub.app,
        hub.acme.organization,
        Role::Admin,
        Some(vec![hub.acme.workspace]),
        None,
    );
    let (_, secret) = hub.runtime.block_on(token);
    let secret = secret.reveal();
    assert_eq!(hub.get("/v1/workspaces/shop", secret).status, 200);
    hub.get("/v1/workspaces/second", secret)
        .problem("not-found");
    let listed = hub.get("/v1/workspaces", secret).json();
    assert_eq!(
        listed["items"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    for path in ["/v1/tokens", "/v1/audit"] {
        hub.get(path, secret).problem("forbidden");
    }
    let new = r#"{"name":"third"}"#;
    hub.post("/v1/workspaces", secret, new).problem("forbidden");
    // It may read the log of its own workspace.
    assert_eq!(hub.get("/v1/workspaces/shop/audit", secret).status, 200);
}

#[test]
fn another_tenants_token_cannot_be_revoked_and_is_not_listed() {
    let hub = ApiHubEnvironment::start();
    let path = format!("/v1/tokens/{}", hub.other.admin_id);
    let headers = [("authorization", bearer(&hub.acme.admin))];
    let headers = headers.each_ref().map(|(name, it)| (*name, it.as_str()));
    hub.send("DELETE", &path, &headers, None)
        .problem("not-found");
    let listed = hub.get("/v1/tokens?limit=1000", &hub.acme.admin).text();
    assert!(!listed.contains(&hub.other.admin_id));
    assert_eq!(hub.get("/v1/tokens", &hub.other.admin).status, 200);
    let document: Value = hub.send("GET", "/v1/openapi.json", &[], None).json();
    assert!(document["paths"]["/v1/tokens"]["get"]["responses"]["401"].is_object());
}
