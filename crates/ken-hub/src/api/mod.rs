//! REST under `/v1`: routes, their description as OpenAPI 3.1, problems.
//!
//! [`router`] gives the whole API. A handler names who may call it in its arguments ([`caller`]), reads what came through
//! [`body`] and answers with JSON or a [`problem`]; [`workspaces`](self) shows how. What holds for every request (limits,
//! time, metrics) lies around the router, in [`crate::serve`].

mod app;
mod audit;
pub mod body;
pub mod caller;
mod document;
mod etag;
pub(crate) mod events;
mod health;
mod idempotency;
mod knowledge;
pub mod page;
mod pages;
pub mod problem;
mod tokens;
mod workspaces;

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use app::App;
use problem::{Kind, Problem};

/// Returns the whole API and what describes it.
pub fn router(app: App) -> (Router, Arc<Value>) {
    let (router, gathered) = OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .merge(workspaces::routes())
        .merge(tokens::routes())
        .merge(audit::routes())
        .merge(events::routes())
        .merge(knowledge::routes())
        .split_for_parts();
    let document = Arc::new(document::complete(&gathered));
    let mcp = crate::mcp::routes(&app);
    let router = router
        .layer(from_fn_with_state(app.clone(), idempotency::once))
        .layer(from_fn(etag::tagged))
        .merge(described(&document, &app))
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_that_way)
        .with_state(app)
        .merge(mcp);
    (router, document)
}

/// Pages and documents: the same for everybody, so nobody is asked who they are.
fn described(document: &Value, app: &App) -> Router<App> {
    let json: Arc<str> = document.to_string().into();
    let page: Arc<str> = pages::reference(document).into();
    let reference = move || async move { pages::html(page.to_string()) };
    let router = Router::new()
        .route(
            "/v1/openapi.json",
            get(move || async move { ([(CONTENT_TYPE, "application/json")], json.to_string()) }),
        )
        .route("/", get(|| async { Redirect::to("/docs") }))
        .route("/docs", get(reference.clone()))
        .route("/docs/", get(reference))
        .route("/docs/style.css", get(pages::style))
        .route("/problems/{kind}", get(explained));
    match resource_metadata(app) {
        None => router,
        Some(told) => {
            let told: Arc<str> = told.to_string().into();
            router.route(
                app::RESOURCE_METADATA,
                get(
                    move || async move { ([(CONTENT_TYPE, "application/json")], told.to_string()) },
                ),
            )
        }
    }
}

/// Says where somebody gets a token for this hub (RFC 9728).
fn resource_metadata(app: &App) -> Option<Value> {
    let oidc = app.settings.oidc.as_ref()?;
    let resource = app.settings.public_url.as_ref()?;
    Some(json!({
        "resource": resource,
        "resource_name": "Ken hub",
        "authorization_servers": [oidc.issuer],
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{resource}/docs"),
    }))
}

async fn explained(kind: Option<Path<String>>) -> impl IntoResponse {
    let slug = kind.map(|Path(slug)| slug).unwrap_or_default();
    pages::problem(&slug)
}

async fn nothing_here(uri: Uri) -> Problem {
    let detail = match uri.path() {
        "/metrics" => {
            "metrics are told at an address of their own: `ken serve --metrics ADDRESS` names it"
        }
        _ => "there is nothing at this address; /docs lists what there is",
    };
    Problem::new(Kind::NotFound, detail)
}

async fn not_that_way() -> Problem {
    Problem::new(
        Kind::MethodNotAllowed,
        "this address does not answer that method; /docs lists what it answers",
    )
}
