//! Who comes in to the protocol: whoever the API would let in, with the same token, into one workspace.
//!
//! The workspace is named by the path (`/mcp/shop-api`) or by the header `Ken-Workspace`; a token that reaches one only
//! need not name it. `Ken-Run` and `Ken-Session` say what work it belongs to.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_mcp::Proven;

use crate::api::App;
use crate::api::caller::{enter, named_workspace, proven};
use crate::api::problem::{Kind, Problem};
use crate::identity::{Caller, WorkspaceId};

const WORKSPACE_HEADER: &str = "ken-workspace";
const RUN_HEADER: &str = "ken-run";
const SESSION_HEADER: &str = "ken-session";

/// Who asks, and where: proven by a token.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) caller: Caller,
    pub(super) workspace: WorkspaceId,
    /// The run somebody opened for it.
    pub(super) run: Option<String>,
    /// The conversation it says it is in.
    pub(super) session: Option<String>,
}

/// Lets a request through with its seat beside it, or says why not.
pub(super) async fn seated(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match seat(&mut parts, &app).await {
        Err(problem) => problem.into_response(),
        Ok(seat) => {
            parts.extensions.insert(Proven::new(seat));
            next.run(Request::from_parts(parts, body)).await
        }
    }
}

async fn seat(parts: &mut Parts, app: &App) -> Result<Seat, Problem> {
    let caller = proven(parts, app).await?;
    let in_path = named_workspace(parts).await;
    let in_header = header(parts, WORKSPACE_HEADER)?;
    let named = match (in_path, in_header) {
        (Some(path), Some(header)) if path != header => {
            return Err(Problem::new(
                Kind::Malformed,
                "the path and `Ken-Workspace` name two workspaces; name one",
            ));
        }
        (Some(path), _) => path,
        (None, Some(header)) => header,
        (None, None) => only(&caller)?,
    };
    Ok(Seat {
        workspace: enter(app, &caller, &named).await?,
        caller,
        run: header(parts, RUN_HEADER)?,
        session: header(parts, SESSION_HEADER)?,
    })
}

/// Returns the one workspace a caller reaches.
fn only(caller: &Caller) -> Result<String, Problem> {
    match caller.workspaces.as_deref() {
        Some([one]) => Ok(one.0.to_string()),
        Some(_) | None => Err(Problem::new(
            Kind::Malformed,
            "name the workspace: call /mcp/WORKSPACE, or send `Ken-Workspace: WORKSPACE`",
        )),
    }
}

fn header(parts: &Parts, name: &'static str) -> Result<Option<String>, Problem> {
    let mut all = parts.headers.get_all(name).iter();
    let wrong = || {
        Problem::new(
            Kind::Malformed,
            format!("send `{name}` once, in plain letters"),
        )
    };
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| wrong())?;
            Ok(Some(text.trim().to_owned()).filter(|it| !it.is_empty()))
        }
        (Some(_), Some(_)) => Err(wrong()),
    }
}
