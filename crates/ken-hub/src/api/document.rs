//! OpenAPI 3.1 document: collected from the handlers, completed with the parts they share.
//!
//! A handler describes only its own parameters and responses. Common error responses, `ETag` on
//! reads and `Idempotency-Key` on posts are added here, so no handler can omit them.

use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{PartialSchema as _, ToSchema as _};

use super::idempotency::READ_ROUTES;
use super::knowledge::AGENT_ROLES;
use super::problem::{Kind, MEDIA_TYPE, ProblemBody};
use super::schemas;

/// Name of the only security scheme.
pub(super) const SECURITY_SCHEME: &str = "token";

/// Introduction of the whole API.
const DESCRIPTION: &str = "\
REST API of a Ken hub: push and pull events, search and read entries, report runs, decide on quarantined and pending entries. \
Authenticate with a token (`Authorization: Bearer TOKEN`). The `security` of each operation names the lowest role that may call it: \
peer (another organization, which reads publications and nothing else), reader, agent, member, curator or admin. A workspace of another organization gets the same response as a missing one.

Every error is a problem as defined by RFC 9457 (`application/problem+json`): the address in `type` documents the kind of problem, `detail` names the next step. \
Lists have the form `{\"items\": […], \"next\": …}`: send `next` as `after` to get the next page; the last page has no `next`. \
Times are RFC 3339 in UTC (`2026-11-14T22:51:03.120Z`). Events and entries are returned as they are stored in ledgers: `at` may also contain the counter and the node of a clock (`2026-11-14T22:51:03.120Z/0004/k3f9w2`), and `cited_at` is in seconds since 1970.

Agents use the Model Context Protocol (streamable HTTP) at `/mcp/WORKSPACE` with the same token, or at `/mcp` with the header `Ken-Workspace: WORKSPACE`. \
A token with access to exactly one workspace may omit the header. The headers `Ken-Run` and `Ken-Session` name the run and the session of a call. \
The tools are those of `ken mcp` in a repository (`ken_search`, `ken_show`, `ken_add`, `ken_feedback`, `ken_check`), and `ken_edit` and `ken_cite`.";

/// Operations whose body is optional, which utoipa cannot express for our extractor.
const OPTIONAL_BODY_OPERATIONS: [&str; 7] = [
    "confirm_entry",
    "retract_entry",
    "pin_entry",
    "mute_entry",
    "reject_promotion",
    "release_quarantined_entry",
    "discard_quarantined_entry",
];

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Completes the document collected from the handlers.
pub(super) fn complete_document(gathered: &OpenApi) -> Value {
    // The document is built from our own types, so serialization cannot fail.
    let mut document = serde_json::to_value(gathered).unwrap_or_default();
    document["openapi"] = json!("3.1.0");
    document["info"] = json!({
        "title": "Ken hub",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    });
    document["components"]["securitySchemes"] = json!({SECURITY_SCHEME: {
        "type": "http", "scheme": "bearer",
        "description": "A token of this hub (`ken_…`), or an access token of the OIDC issuer that the hub trusts.",
    }});
    // Most references to the problem schema are added below, after utoipa collected the schemas.
    let schema = serde_json::to_value(ProblemBody::schema()).unwrap_or_default();
    document["components"]["schemas"][ProblemBody::name().as_ref()] = schema;
    add_enums(&mut document);
    schemas::add_members(&mut document);
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, item) in paths {
            for method in METHODS {
                if let Some(operation) = item.get_mut(method).and_then(Value::as_object_mut) {
                    complete_operation(path, method, operation);
                }
            }
        }
    }
    document
}

/// Adds the words of the domain as enums: kinds, memories, states and roles of agents. They come
/// from the types that parse them, so the document cannot name others.
fn add_enums(document: &mut Value) {
    let kinds = EntryKind::ALL.map(EntryKind::name);
    let memories = Memory::ALL.map(Memory::name);
    let states = EntryStatus::ALL.map(EntryStatus::name);
    let roles = AGENT_ROLES.map(|(name, _)| name);
    let schemas = &mut document["components"]["schemas"];
    schemas["SearchBody"]["properties"]["kinds"]["items"]["enum"] = json!(kinds);
    schemas["SearchBody"]["properties"]["memory"]["enum"] = json!(memories);
    schemas["SearchBody"]["properties"]["status"]["enum"] = json!(states);
    schemas["SearchBody"]["properties"]["role"]["enum"] = json!(roles);
    schemas["AddEntryBody"]["properties"]["kind"]["enum"] = json!(kinds);
    let list = &mut document["paths"]["/v1/workspaces/{workspace}/entries"]["get"]["parameters"];
    for parameter in list.as_array_mut().into_iter().flatten() {
        match parameter["name"].as_str() {
            Some("kind") => parameter["schema"]["enum"] = json!(kinds),
            Some("memory") => parameter["schema"]["enum"] = json!(memories),
            Some("status") => parameter["schema"]["enum"] = json!(states),
            Some(_) | None => {}
        }
    }
}

fn complete_operation(path: &str, method: &str, operation: &mut Map<String, Value>) {
    // The probes are the only operations without `security`.
    let guarded = operation.contains_key("security");
    let posts = method == "post" && guarded;
    let reads_json = method == "get"
        && operation["responses"]["200"]["content"]
            .get("application/json")
            .is_some();
    let is_keyed = posts && !READ_ROUTES.contains(&path);
    if is_keyed {
        add_parameter(operation, &idempotency_key_parameter());
    }
    if guarded && reads_json {
        add_parameter(operation, &if_none_match_parameter());
        operation["responses"]["200"]["headers"]["ETag"] = json!({
            "description": "Entity tag; it changes when the response changes.", "schema": {"type": "string"},
        });
        add_response(
            operation,
            "304",
            || json!({"description": "The response still has the entity tag in `If-None-Match`."}),
        );
    }
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let has_query = parameters
        .into_iter()
        .flatten()
        .any(|parameter| parameter["in"] == "query");
    let has_body = operation.contains_key("requestBody");
    let id = operation["operationId"].as_str().unwrap_or_default();
    if OPTIONAL_BODY_OPERATIONS.contains(&id) {
        operation["requestBody"]["required"] = json!(false);
    }
    let mut kinds = Vec::new();
    if has_query || has_body || posts {
        kinds.push(Kind::Malformed);
    }
    if has_query {
        kinds.push(Kind::Invalid);
    }
    if guarded {
        kinds.extend([Kind::Unauthenticated, Kind::Forbidden, Kind::TooMany]);
    }
    if path.contains('{') {
        kinds.push(Kind::NotFound);
    }
    if has_body {
        kinds.extend([Kind::MediaType, Kind::Invalid]);
    }
    if guarded && method != "get" {
        // A body is received whether the operation reads it or not.
        kinds.extend([Kind::TooLarge, Kind::Timeout]);
    }
    if is_keyed {
        // A key can conflict or be reused.
        kinds.extend([Kind::Conflict, Kind::Invalid]);
    }
    kinds.extend([Kind::Internal, Kind::Unavailable]);
    for kind in kinds {
        add_response(operation, kind.status().as_str(), || problem_response(kind));
    }
}

fn add_response(operation: &mut Map<String, Value>, status: &str, make: impl FnOnce() -> Value) {
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    if let Some(responses) = responses.as_object_mut() {
        // A response described by the handler itself takes precedence.
        responses.entry(status).or_insert_with(make);
    }
}

fn add_parameter(operation: &mut Map<String, Value>, parameter: &Value) {
    let all = operation.entry("parameters").or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.push(parameter.clone());
    }
}

/// Returns the response of a problem. Kinds that share a status share one response.
fn problem_response(kind: Kind) -> Value {
    let status = kind.status();
    let kinds = Kind::ALL.iter().filter(|it| it.status() == status);
    let titles: Vec<&str> = kinds.map(|kind| kind.title()).collect();
    let mut response = json!({
        "description": titles.join("; "),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    let header = match kind {
        Kind::TooMany | Kind::Unavailable => Some(("Retry-After", "integer")),
        Kind::Unauthenticated => Some(("WWW-Authenticate", "string")),
        Kind::Malformed
        | Kind::Forbidden
        | Kind::Quota
        | Kind::NotFound
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
        | Kind::Internal => None,
    };
    if let Some((name, kind)) = header {
        response["headers"][name] = json!({"schema": {"type": kind}});
    }
    response
}

fn idempotency_key_parameter() -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header", "required": false,
        "description": "A string of your choice, unique per request. If you repeat a request with the same key and body within a day, you get the first response and the request is not executed again. The same key with a different body is refused.",
        "schema": {"type": "string", "minLength": 8, "maxLength": 128, "pattern": "^[!-~]{8,128}$"},
    })
}

fn if_none_match_parameter() -> Value {
    json!({
        "name": "If-None-Match", "in": "header", "required": false,
        "description": "`ETag` of a response you already have. The status is 304 if the response is unchanged.",
        "schema": {"type": "string"},
    })
}
