//! REST API under `/v1`: routes, OpenAPI 3.1 document and error responses.
//!
//! [`router`] builds the whole API. A handler declares the required role in its arguments
//! ([`caller`]), reads the request with the extractors of [`body`] and returns JSON or a
//! [`problem`]; `workspaces.rs` documents the pattern. Limits, timeouts and metrics apply to every
//! request and are middleware in [`crate::server`].

mod accounts;
pub(crate) mod admission;
pub(crate) mod audit;
pub mod body;
pub mod caller;
mod document;
mod etag;
pub(crate) mod events;
mod federation;
pub(crate) mod health;
mod idempotency;
mod knowledge;
pub mod page;
mod pages;
pub mod problem;
pub(crate) mod refusals;
mod removed_workspaces;
mod schemas;
mod state;
pub(crate) mod tokens;
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

pub(crate) use knowledge::{check_length, everywhere_json, format_position, parse_position};
use problem::{Kind, Problem};
pub(crate) use refusals::record_refusals;
pub use state::AppState;

/// Returns the router of the whole API and its OpenAPI document.
pub fn router(app: AppState) -> (Router, Arc<Value>) {
    let (router, gathered) = OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .merge(workspaces::routes())
        .merge(removed_workspaces::routes())
        .merge(tokens::routes())
        .merge(accounts::routes())
        .merge(audit::routes())
        .merge(events::routes())
        .merge(knowledge::routes())
        .merge(federation::routes())
        .split_for_parts();
    let document = Arc::new(document::complete_document(&gathered));
    // A layer covers only the routes added before it: the documentation is merged afterwards
    // because it needs neither ETags nor idempotency keys.
    let router = router
        .layer(from_fn_with_state(
            app.clone(),
            idempotency::enforce_idempotency,
        ))
        .layer(from_fn_with_state(app.clone(), admission::admit_request))
        .layer(from_fn(etag::add_etag))
        .layer(from_fn_with_state(app.clone(), record_refusals))
        .merge(documentation_routes(&document, &app))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app);
    (router, document)
}

/// Returns the documentation routes. They hold no tenant data and need no token.
fn documentation_routes(document: &Value, app: &AppState) -> Router<AppState> {
    // Rendered once at startup: the document does not change while the process runs.
    let json: Arc<str> = document.to_string().into();
    let page: Arc<str> = pages::reference_page(document).into();
    let reference = move || async move { pages::html_response(page.to_string()) };
    let router = Router::new()
        .route(
            "/v1/openapi.json",
            get(move || async move { ([(CONTENT_TYPE, "application/json")], json.to_string()) }),
        )
        .route("/docs", get(reference.clone()))
        .route("/docs/", get(reference))
        .route("/docs/style.css", get(pages::stylesheet))
        .route("/problems/{kind}", get(problem_page));
    // With web pages, the start page is theirs.
    let router = if app.settings.has_pages {
        router
    } else {
        router.route("/", get(|| async { Redirect::to("/docs") }))
    };
    match resource_metadata(app) {
        None => router,
        Some(metadata) => {
            let text: Arc<str> = metadata.to_string().into();
            router.route(
                state::RESOURCE_METADATA_PATH,
                get(
                    move || async move { ([(CONTENT_TYPE, "application/json")], text.to_string()) },
                ),
            )
        }
    }
}

/// Returns the OAuth protected resource metadata (RFC 9728): where clients get a token.
///
/// Returns `None` without an issuer, because the hub's own tokens come from an admin.
fn resource_metadata(app: &AppState) -> Option<Value> {
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

async fn problem_page(kind: Option<Path<String>>) -> impl IntoResponse {
    let slug = kind.map(|Path(slug)| slug).unwrap_or_default();
    pages::problem_page(&slug)
}

async fn not_found(uri: Uri) -> Problem {
    let detail = match uri.path() {
        // A scraper pointed at the public address is a common configuration mistake.
        "/metrics" => {
            "metrics have a listener of their own: `ken serve --metrics ADDRESS` sets its address"
        }
        _ => "this path does not exist; /docs lists all operations",
    };
    Problem::new(Kind::NotFound, detail)
}

async fn method_not_allowed() -> Problem {
    Problem::new(
        Kind::MethodNotAllowed,
        "this path does not support that method; /docs lists the supported ones",
    )
}
