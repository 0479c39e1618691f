//! Authentication of MCP requests: the same tokens and workspaces as the REST API.
//!
//! The path (`/mcp/shop-api`) or the header `Ken-Workspace` names the workspace. A token restricted
//! to a single workspace needs neither. `Ken-Run` and `Ken-Session` name the run and the session.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_mcp::ProvenIdentity;
use serde_json::json;

use crate::api::AppState;
use crate::api::admission::admit;
use crate::api::caller::{authenticate, resolve_workspace, workspace_param};
use crate::api::problem::{Kind, Problem};
use crate::identity::AuthenticatedCaller;
use crate::ids::WorkspaceId;
use crate::limits::CallerKey;

/// JSON-RPC code of a refused request, from the range that the protocol leaves to servers.
const REFUSED: i32 = -32_001;

const WORKSPACE_HEADER: &str = "ken-workspace";
const RUN_HEADER: &str = "ken-run";
const SESSION_HEADER: &str = "ken-session";

/// Authenticated caller, workspace, run and session of an MCP request.
#[derive(Clone, Debug)]
pub(super) struct McpRequestContext {
    pub(super) caller: AuthenticatedCaller,
    pub(super) workspace: WorkspaceId,
    /// Run the client works in.
    pub(super) run: Option<String>,
    /// Session named by the client.
    pub(super) session: Option<String>,
    /// Key of the caller's limits.
    pub(super) limits: CallerKey,
}

/// Middleware that authenticates a request and adds its context as an extension.
pub(super) async fn authenticate_mcp(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    match admit_mcp(&app, request).await {
        Err(problem) => to_rpc_error(problem),
        Ok(request) => next.run(request).await,
    }
}

/// Returns a refusal as a JSON-RPC error, because clients of the protocol show nothing else. The
/// problem is its `data`, and status and headers are those of the problem.
fn to_rpc_error(problem: Problem) -> Response {
    let error = json!({"code": REFUSED, "message": problem.detail(), "data": problem.to_json()});
    // Without the id of the request, which is in a body that may not have been received.
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    let mut response = problem.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.remove(CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
    response
}

async fn admit_mcp(app: &AppState, request: Request) -> Result<Request, Problem> {
    let (mut parts, body) = admit(app, request).await?.into_parts();
    let context = request_context(&mut parts, app).await?;
    // The MCP crate knows no hub types: it passes this extension through to the tools.
    parts.extensions.insert(ProvenIdentity::new(context));
    Ok(Request::from_parts(parts, body))
}

async fn request_context(parts: &mut Parts, app: &AppState) -> Result<McpRequestContext, Problem> {
    let caller = authenticate(parts, app).await?;
    let in_path = workspace_param(parts).await;
    let in_header = single_header(parts, WORKSPACE_HEADER)?;
    let reference = match (in_path, in_header) {
        // Preferring one silently could write to a workspace the client did not mean.
        (Some(path), Some(header)) if path != header => {
            return Err(Problem::new(
                Kind::Malformed,
                "the path and the header `Ken-Workspace` name different workspaces; name only one",
            ));
        }
        (Some(path), _) => path,
        (None, Some(header)) => header,
        (None, None) => only_workspace(&caller)?,
    };
    let limits = parts.extensions.get::<CallerKey>().copied();
    let workspace = resolve_workspace(app, &caller, &reference).await?;
    Ok(McpRequestContext {
        limits: limits.expect("authentication adds the key of the caller"),
        workspace,
        caller: caller.in_workspace(workspace),
        run: single_header(parts, RUN_HEADER)?,
        session: single_header(parts, SESSION_HEADER)?,
    })
}

/// Returns the workspace of a token that is restricted to exactly one.
fn only_workspace(caller: &AuthenticatedCaller) -> Result<String, Problem> {
    match caller.workspaces.as_deref() {
        Some([one]) => Ok(one.0.to_string()),
        Some(_) | None => Err(Problem::new(
            Kind::Malformed,
            "name the workspace: call /mcp/WORKSPACE, or send `Ken-Workspace: WORKSPACE`",
        )),
    }
}

/// Returns the trimmed value of a header that must not be repeated. An empty value counts as none.
fn single_header(parts: &Parts, name: &'static str) -> Result<Option<String>, Problem> {
    let mut values = parts.headers.get_all(name).iter();
    let wrong = || {
        Problem::new(
            Kind::Malformed,
            format!("send the header `{name}` at most once, in ASCII"),
        )
    };
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => {
            let text = only.to_str().map_err(|_| wrong())?;
            Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }
        (Some(_), Some(_)) => Err(wrong()),
    }
}
