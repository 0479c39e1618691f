//! Access checks in front of the pages: host and origin, then the sign-in, then the form token.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_ui::action::FormFields;
use ken_ui::gate::{AllowedHosts, BODY_BYTES_MAX, cookies};
use ken_ui::hub::{
    FORM_TOKEN_FIELD, HubFrame, HubOverview, HubSection, check_hub_request, hub_error_page,
    is_whole_page,
};

use crate::api::AppState;
use crate::api::admission::admit;
use crate::api::caller::{actor_key, admit_caller};
use crate::api::problem::{Kind, MEDIA_TYPE, Problem};
use crate::database::audit::AuditAction;
use crate::identity::sign_ins::{self, ProviderCheck, SignIn, SignInSecret};
use crate::identity::{AuthenticatedCaller, IdentityError, RefreshVerdict, RefreshedPerson};
use crate::ids::Role;
use crate::store::StoreError;

/// Name of the cookie. With the prefix, browsers accept it over TLS and from this host only.
const SECURE_COOKIE: &str = "__Host-ken";
const LOCAL_COOKIE: &str = "ken_hub";

/// How often, and at what interval, a request looks for the result of a check that another request
/// makes. Together longer than the timeout of a request to the identity provider.
const CHECK_LOOKS_MAX: u32 = 24;
const CHECK_LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum bytes of an error that is turned into a page.
const PROBLEM_BYTES_MAX: usize = 64 << 10;

/// The sign-in of a request.
#[derive(Clone, Debug)]
pub(super) struct PageSession {
    pub(super) sign_in: Arc<SignIn>,
    pub(super) secret: SignInSecret,
    /// The fields of the form, if the request is one.
    pub(super) form: FormFields,
    /// Whether the person may open the page of peers, and the organization has one.
    shows_peers: bool,
}

impl PageSession {
    /// Returns what every page above workspaces shows.
    pub(super) fn frame(&self) -> HubFrame {
        let caller = &self.sign_in.caller;
        HubFrame {
            organization: self.sign_in.organization.clone(),
            person: caller.actor.clone(),
            hub: HubOverview {
                workspace: None,
                role: caller.role.name().to_owned(),
                sections: sections(caller, self.shows_peers),
                actions: super::actions::allowed_actions(caller.role),
                form_token: self.secret.form_token(),
            },
            notice: self.sign_in.notice.clone(),
        }
    }
}

/// Returns the pages above workspaces that a person may open.
fn sections(caller: &AuthenticatedCaller, shows_peers: bool) -> Vec<HubSection> {
    let is_allowed = |section: &HubSection| match section {
        HubSection::Workspaces | HubSection::Search | HubSection::Account => true,
        HubSection::Review | HubSection::Revocation => caller.role >= Role::Curator,
        HubSection::Peers => shows_peers,
        // As in the API: these concern the whole organization.
        HubSection::Audit | HubSection::Tokens => {
            caller.role == Role::Admin && caller.workspaces.is_none()
        }
    };
    HubSection::ALL.into_iter().filter(is_allowed).collect()
}

/// Returns whether browsers reach this hub over TLS.
fn is_encrypted(app: &AppState) -> bool {
    let url = app.settings.public_url.as_deref();
    url.is_some_and(|it| it.starts_with("https://"))
}

/// Returns the name of a cookie of this hub.
pub(super) fn cookie_name(app: &AppState, suffix: &str) -> String {
    let name = if is_encrypted(app) {
        SECURE_COOKIE
    } else {
        LOCAL_COOKIE
    };
    format!("{name}{suffix}")
}

/// Adds a cookie to a response; one without a value is deleted.
pub(super) fn set_cookie(
    app: &AppState,
    response: &mut Response,
    (suffix, value): (&str, Option<&str>),
    max_age_s: u64,
) {
    let name = cookie_name(app, suffix);
    let secure = if is_encrypted(app) { "; Secure" } else { "" };
    let (value, age) = value.map_or(("", 0), |value| (value, max_age_s));
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={age}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Returns the value of a cookie of this hub.
pub(super) fn cookie<'h>(app: &AppState, headers: &'h HeaderMap, suffix: &str) -> Option<&'h str> {
    let name = cookie_name(app, suffix);
    let mut pairs = cookies(headers);
    pairs.find(|(it, _)| *it == name).map(|(_, value)| value)
}

/// Returns a redirect to a page of this hub.
pub(super) fn see_other(target: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(target) = HeaderValue::from_str(target) {
        response.headers_mut().insert(LOCATION, target);
    }
    response
}

/// Middleware: refuses requests for other hosts and from other sites.
pub(super) async fn check_request(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let hosts = match &app.settings.public_url {
        Some(url) => AllowedHosts::of_url(url),
        None => AllowedHosts::any(),
    };
    if let Err(response) = check_hub_request(&hosts, &parts) {
        return *response;
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Middleware: bounds the body of a request of a program.
pub(super) async fn limit_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_BYTES_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    next.run(Request::from_parts(parts, Body::from(bytes)))
        .await
}

/// Middleware: answers signed-in people only, and shows errors as pages.
pub(super) async fn require_sign_in(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let (session, answered) = answer(&app, request, next).await;
    let mut response = match answered {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    let is_type = |response: &Response, media_type: &str| {
        let sent = response.headers().get(CONTENT_TYPE);
        let sent = sent.and_then(|it| it.to_str().ok());
        sent.is_some_and(|it| it.starts_with(media_type))
    };
    if is_type(&response, MEDIA_TYPE) {
        let frame = session.as_ref().map(PageSession::frame);
        response = problem_page(frame.as_ref(), &headers, response).await;
    }
    // Every whole page shows the notice, so it is forgotten here and not in each handler.
    if let Some(session) = session.filter(|it| it.sign_in.notice.is_some())
        && is_type(&response, "text/html")
        && is_whole_page(&headers)
        && let Err(error) = store_notice(&app, &session, None).await
    {
        tracing::warn!(%error, "a notice could not be deleted and will be shown again");
    }
    response
}

async fn answer(
    app: &AppState,
    request: Request,
    next: Next,
) -> (Option<PageSession>, Result<Response, Problem>) {
    let (parts, body) = request.into_parts();
    let found = match find(app, &parts.headers).await {
        Ok(found) => found,
        Err(error) => return (None, Err(error.into())),
    };
    let Some((sign_in, secret)) = found else {
        return (None, Ok(ask_to_sign_in(&parts)));
    };
    let mut session = PageSession {
        sign_in: Arc::new(sign_in),
        secret,
        form: FormFields::default(),
        shows_peers: false,
    };
    let admitted = admit_session(app, &mut session, parts, body).await;
    let (mut parts, body) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => return (Some(session), Err(problem)),
    };
    match has_peers(app, &session.sign_in.caller).await {
        Ok(has_peers) => session.shows_peers = has_peers,
        Err(error) => return (Some(session), Err(error.into())),
    }
    parts.extensions.insert(session.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    (Some(session), Ok(response))
}

/// Returns whether the navigation of a person names the peers of the organization.
async fn has_peers(app: &AppState, caller: &AuthenticatedCaller) -> Result<bool, StoreError> {
    // As in the API: peers concern the whole organization.
    if caller.role < Role::Curator || caller.workspaces.is_some() {
        return Ok(false);
    }
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let found = tx.has_peers().await?;
    tx.commit().await?;
    Ok(found)
}

/// Applies the limits of the person, and reads and checks the form.
async fn admit_session(
    app: &AppState,
    session: &mut PageSession,
    mut parts: Parts,
    body: Body,
) -> Result<(Parts, Body), Problem> {
    let caller = &session.sign_in.caller;
    admit_caller(&mut parts, app, caller.clone(), actor_key(caller)).await?;
    let admitted = admit(app, Request::from_parts(parts, body)).await?;
    let (parts, body) = admitted.into_parts();
    if parts.method != Method::POST {
        return Ok((parts, body));
    }
    let Ok(bytes) = to_bytes(body, BODY_BYTES_MAX).await else {
        return Err(Problem::new(Kind::TooLarge, "the form is too large"));
    };
    session.form = FormFields::parse(&bytes);
    let token = session.form.text(FORM_TOKEN_FIELD).unwrap_or_default();
    if !is_search(&parts) && !session.secret.is_form_token(token) {
        let detail = "this form belongs to another sign-in; open the page again";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok((parts, Body::from(bytes)))
}

/// Returns whether a request searches while the person types. It changes nothing, and its words
/// are in the body so that no log of a proxy has them.
fn is_search(parts: &Parts) -> bool {
    let path = parts.uri.path();
    path.starts_with("/w/") && path.ends_with("/entries")
}

/// Finds the sign-in of a request, and asks the identity provider again if that is due.
async fn find(
    app: &AppState,
    headers: &HeaderMap,
) -> Result<Option<(SignIn, SignInSecret)>, IdentityError> {
    let Some(secret) = cookie(app, headers, "").and_then(SignInSecret::parse) else {
        return Ok(None);
    };
    let found = sign_ins::find(&app.database, &secret, app.clock.now()).await?;
    let Some(sign_in) = found else {
        return Ok(None);
    };
    let sign_in = match sign_in.check {
        ProviderCheck::Current => Some(sign_in),
        ProviderCheck::Due | ProviderCheck::Required => recheck(app, sign_in, &secret).await?,
    };
    Ok(sign_in.map(|it| (it, secret)))
}

/// Answer of the identity provider about a sign-in.
enum CheckAnswer {
    /// It no longer vouches for the person.
    Ended,
    /// It did not answer, or said nothing about the person. Has the next refresh token.
    Unknown(Option<String>),
    /// The person has these roles now. Has the next refresh token.
    Confirmed(Box<AuthenticatedCaller>, Option<String>),
}

/// Asks the identity provider about a sign-in and returns it as it is now; `None` if it ended.
async fn recheck(
    app: &AppState,
    mut sign_in: SignIn,
    secret: &SignInSecret,
) -> Result<Option<SignIn>, IdentityError> {
    let is_required = sign_in.check == ProviderCheck::Required;
    let organization = sign_in.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let is_claimed = sign_ins::claim_check(&mut tx, &sign_in).await?;
    tx.commit().await?;
    if !is_claimed {
        // Another request asks at this moment.
        return if is_required {
            wait_for_check(app, secret).await
        } else {
            Ok(Some(sign_in))
        };
    }
    let answer = ask_provider(app, &sign_in, secret).await?;
    let mut tx = app.database.begin_organization(organization).await?;
    let id = (sign_in.id, secret);
    let lives = match answer {
        CheckAnswer::Ended => false,
        // A provider that is down for a moment must not sign everybody out.
        CheckAnswer::Unknown(next) => {
            sign_ins::note_checked(&mut tx, id, None, next.as_deref()).await?;
            !is_required
        }
        CheckAnswer::Confirmed(person, next) => {
            sign_ins::note_checked(&mut tx, id, Some(&person), next.as_deref()).await?;
            // The request that asked must not act with a role that the person lost.
            sign_in.caller = *person;
            true
        }
    };
    if !lives {
        sign_ins::end(&mut tx, sign_in.id).await?;
        let actor = &sign_in.caller.actor;
        tx.audit(&sign_in.caller, AuditAction::SignedOut, actor)
            .await?;
    }
    tx.commit().await?;
    Ok(lives.then_some(sign_in))
}

async fn ask_provider(
    app: &AppState,
    sign_in: &SignIn,
    secret: &SignInSecret,
) -> Result<CheckAnswer, IdentityError> {
    // Without a provider, nobody vouches for the person anymore.
    let Some((issuer, client)) = app.identity.sign_in_client() else {
        return Ok(CheckAnswer::Ended);
    };
    let refresh = sign_in.sealed_refresh.as_ref();
    let Some(refresh) = refresh.and_then(|it| secret.open(it)) else {
        return Ok(CheckAnswer::Ended);
    };
    let now = app.clock.now();
    let (person, next) = match issuer.refresh(client, &refresh, now).await {
        Ok(RefreshVerdict::Active {
            person,
            refresh_token,
        }) => (person, refresh_token),
        Ok(RefreshVerdict::Ended) => return Ok(CheckAnswer::Ended),
        Err(error) => {
            tracing::warn!(%error, "the identity provider could not be asked about a sign-in");
            return Ok(CheckAnswer::Unknown(None));
        }
    };
    let Some(person) = person else {
        return Ok(CheckAnswer::Unknown(next));
    };
    Ok(match same_person(app, sign_in, &person).await? {
        Some(person) => CheckAnswer::Confirmed(Box::new(person), next),
        None => CheckAnswer::Ended,
    })
}

/// Returns the person of a sign-in as the provider describes them now; `None` if it is not the same
/// subject, which is the same actor in the same organization, or if the account is blocked.
async fn same_person(
    app: &AppState,
    sign_in: &SignIn,
    person: &RefreshedPerson,
) -> Result<Option<AuthenticatedCaller>, IdentityError> {
    let before = &sign_in.caller;
    if sign_in.provider_subject.as_deref() != Some(&person.subject) {
        return Ok(None);
    }
    let found = app
        .identity
        .resolve_identity(&app.database, &person.identity);
    let found = found
        .await?
        .filter(|it| it.actor == before.actor && it.organization == before.organization);
    Ok(found.map(|it| AuthenticatedCaller {
        address: before.address,
        ..it
    }))
}

/// Waits until another request has asked the identity provider.
async fn wait_for_check(
    app: &AppState,
    secret: &SignInSecret,
) -> Result<Option<SignIn>, IdentityError> {
    for _ in 0..CHECK_LOOKS_MAX {
        tokio::time::sleep(CHECK_LOOK_INTERVAL).await;
        let found = sign_ins::find(&app.database, secret, app.clock.now()).await?;
        let Some(sign_in) = found else {
            return Ok(None);
        };
        if sign_in.check != ProviderCheck::Required {
            return Ok(Some(sign_in));
        }
    }
    Ok(None)
}

/// Leads a browser to the sign-in page and back.
fn ask_to_sign_in(parts: &Parts) -> Response {
    if parts.method != Method::GET {
        let message = (
            "Signed out",
            "Your sign-in ended. Sign in again and repeat it.",
        );
        return hub_error_page(None, &parts.headers, StatusCode::UNAUTHORIZED, message);
    }
    // A stream or a part of a page must not follow a redirect to a page.
    let is_part = |it: &HeaderValue| it != "document";
    let destination = parts.headers.get("sec-fetch-dest");
    if destination.is_some_and(is_part) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let target = parts.uri.path_and_query().map_or("/", |it| it.as_str());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("target", target);
    see_other(&format!("/sign-in?{}", query.finish()))
}

/// Turns an error of the API into a page.
async fn problem_page(
    frame: Option<&HubFrame>,
    headers: &HeaderMap,
    response: Response,
) -> Response {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, PROBLEM_BYTES_MAX).await.unwrap_or_default();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let (mut title, mut detail) = (text("title"), text("detail"));
    if parts.status == StatusCode::FORBIDDEN {
        // A person at a browser has no token.
        title = title.replace("your token does not", "your role does not");
        detail = detail.replace("your token has the role", "your role is");
    }
    if let Some(instance) = problem["instance"].as_str() {
        detail = format!("{detail} ({instance})");
    }
    let mut letters = title.chars();
    let first = letters
        .next()
        .map_or_else(String::new, |it| it.to_uppercase().to_string());
    let title = first + letters.as_str();
    let mut page = hub_error_page(frame, headers, parts.status, (&title, &detail));
    // For the operator's log and the audit log.
    *page.extensions_mut() = parts.extensions;
    page
}

/// Stores the result of an action for the next page.
pub(super) async fn keep_notice(
    app: &AppState,
    session: &PageSession,
    notice: &str,
) -> Result<(), Problem> {
    Ok(store_notice(app, session, Some(notice)).await?)
}

async fn store_notice(
    app: &AppState,
    session: &PageSession,
    notice: Option<&str>,
) -> Result<(), IdentityError> {
    let organization = session.sign_in.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    sign_ins::set_notice(&mut tx, session.sign_in.id, notice).await?;
    Ok(tx.commit().await?)
}
