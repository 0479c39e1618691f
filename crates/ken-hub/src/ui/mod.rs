//! Web pages for people, at the root of the hub.
//!
//! The pages of a workspace are those of `ken-ui`, over `source::WorkspaceSource`; the pages
//! above workspaces are in `ken_ui::hub`. This module answers their requests with the use cases of
//! [`crate::service`] and the functions behind the REST API, so a page can do nothing that an
//! endpoint cannot, and a role allows the same in both.
//!
//! A person is known by the cookie of a sign-in (`session`). It is accepted here only: the API
//! takes bearer tokens and no cookies, so no page of another site can use it.

mod actions;
mod audit;
mod device;
mod documents;
mod entries;
mod manage;
mod peers;
mod review;
mod runs;
mod session;
mod sign_in;
mod source;
mod start;

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};

use crate::api::problem::Problem;
use crate::api::{AppState, record_refusals};

/// Routes together with their methods and paths.
#[derive(Debug, Default)]
struct PageRoutes {
    router: Router<AppState>,
    listed: Vec<PageRoute>,
}

/// Method, path and access of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRoute {
    pub method: &'static str,
    pub path: &'static str,
    pub access: PageAccess,
}

/// Who reaches a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageAccess {
    /// Everybody: sign-in, assets, and requests of programs.
    Public,
    /// Signed-in people; the handler requires a role.
    SignedIn,
}

impl PageRoutes {
    fn add(
        mut self,
        access: PageAccess,
        path: &'static str,
        methods: &[&'static str],
        handler: MethodRouter<AppState>,
    ) -> Self {
        let listed = methods.iter().map(|method| PageRoute {
            method,
            path,
            access,
        });
        self.listed.extend(listed);
        self.router = self.router.route(path, handler);
        self
    }
}

/// Returns the routes of people that are signed in.
fn signed_in_routes() -> PageRoutes {
    use PageAccess::SignedIn as S;
    PageRoutes::default()
        .add(S, "/", &["GET"], get(start::workspaces))
        .add(S, "/search", &["GET"], get(start::search))
        .add(S, "/review", &["GET"], get(start::review))
        .add(
            S,
            "/revocation",
            &["GET", "POST"],
            get(manage::show_revocation).post(manage::revoke),
        )
        .add(S, "/peers", &["GET"], get(peers::list))
        .add(S, "/peers/{peer}", &["GET"], get(peers::show))
        .add(S, "/peers/{peer}/{action}", &["POST"], post(peers::decide))
        .add(S, "/audit", &["GET"], get(audit::show))
        .add(S, "/audit/export", &["GET"], get(audit::export))
        .add(S, "/tokens", &["GET"], get(manage::list_tokens))
        .add(S, "/tokens/create", &["POST"], post(manage::create_token))
        .add(S, "/tokens/rotate", &["POST"], post(manage::rotate_token))
        .add(S, "/tokens/revoke", &["POST"], post(manage::revoke_token))
        .add(
            S,
            "/tokens/revoke-actor",
            &["POST"],
            post(manage::revoke_actor),
        )
        .add(S, "/account", &["GET"], get(manage::account))
        .add(
            S,
            "/account/settings",
            &["POST"],
            post(manage::save_settings),
        )
        .add(S, "/sign-out", &["POST"], post(sign_in::sign_out))
        .add(S, "/device", &["GET"], get(device::show))
        .add(S, "/device/decide", &["POST"], post(device::decide))
        .add(S, "/w/{workspace}/inbox", &["GET"], get(review::show))
        .add(
            S,
            "/w/{workspace}/review/{action}",
            &["POST"],
            post(review::decide),
        )
        .add(S, "/w/{workspace}", &["GET"], get(start::enter_workspace))
        .add(S, "/w/{workspace}/", &["GET"], get(source::answer))
        .add(
            S,
            "/w/{workspace}/{*page}",
            &["GET", "POST"],
            get(source::answer).post(source::answer),
        )
}

/// Returns the routes that need no sign-in.
fn public_routes() -> PageRoutes {
    use PageAccess::Public as P;
    PageRoutes::default()
        .add(
            P,
            "/sign-in",
            &["GET", "POST"],
            get(sign_in::show).post(sign_in::with_token),
        )
        .add(P, "/sign-in/provider", &["GET"], get(sign_in::begin))
        .add(P, "/sign-in/callback", &["GET"], get(sign_in::finish))
        .add(P, "/static/{file}", &["GET"], get(asset))
        .add(P, "/favicon.ico", &["GET"], get(asset))
}

/// Returns the routes of programs: the identity provider, and devices that ask for a token.
fn program_routes() -> PageRoutes {
    use PageAccess::Public as P;
    PageRoutes::default()
        .add(
            P,
            "/sign-in/logout",
            &["POST"],
            post(sign_in::provider_logout),
        )
        .add(
            P,
            "/oauth/device_authorization",
            &["POST"],
            post(device::authorize),
        )
        .add(P, "/oauth/token", &["POST"], post(device::token))
}

/// Returns the routes of all pages and forms, for tests that check each of them.
#[must_use]
pub fn page_routes() -> Vec<PageRoute> {
    let all = [signed_in_routes(), public_routes(), program_routes()];
    all.into_iter().flat_map(|it| it.listed).collect()
}

/// Returns the router of the pages.
pub(crate) fn router(app: &AppState) -> Router {
    let signed_in = signed_in_routes()
        .router
        .layer(from_fn_with_state(app.clone(), session::require_sign_in))
        .layer(from_fn_with_state(app.clone(), record_refusals))
        .layer(from_fn_with_state(app.clone(), session::check_request));
    let public = public_routes()
        .router
        .layer(from_fn_with_state(app.clone(), session::check_request));
    let programs = program_routes().router.layer(from_fn(session::limit_body));
    signed_in
        .merge(public)
        .merge(programs)
        .with_state(app.clone())
}

async fn asset(State(_app): State<AppState>, uri: Uri) -> Result<Response, Problem> {
    ken_ui::hub::hub_asset(uri.path()).ok_or_else(|| Problem::not_found("file"))
}
