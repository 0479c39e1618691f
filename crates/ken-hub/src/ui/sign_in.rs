//! Sign-in and sign-out of people: by the identity provider, or with a token of the hub.

use axum::Extension;
use axum::body::{Bytes, to_bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use ken_ui::action::FormFields;
use ken_ui::gate::BODY_BYTES_MAX;
use ken_ui::hub::{SignInView, sign_in_page};

use super::session::{PageSession, cookie, see_other, set_cookie};
use super::start::query_fields;
use crate::api::AppState;
use crate::api::caller::{AtLeastReader, RequireRole, request_address};
use crate::api::problem::Problem;
use crate::database::audit::AuditAction;
use crate::identity::sign_ins::{self, NewSignIn, ProviderSession, SignInSecret};
use crate::identity::{
    AuthenticatedCaller, CodeVerdict, ProvidedPerson, SignInFlow, TokenSecret, tokens,
};

/// Suffix of the cookie that a sign-in at the provider uses.
const FLOW_COOKIE: &str = "_flow";

/// Time that a person has to sign in at the provider, in seconds.
const FLOW_S: u64 = 600;

/// Path that the provider leads back to.
const CALLBACK_PATH: &str = "/sign-in/callback";

/// Maximum bytes of the page to return to.
const TARGET_BYTES_MAX: usize = 1_024;

/// Why a token does not sign in.
const NOT_A_PERSON: &str =
    "this token belongs to a program; pages are for people, programs use the API or /mcp";

/// Why a client has to wait.
const TOO_MANY: &str = "too many sign-ins from your address; retry in a minute";

/// Returns a page of this hub to return to. Another text leads to the start page: an address of
/// another site in a link must not become a redirect.
fn safe_target(text: Option<&str>) -> String {
    let is_plain = |text: &&str| {
        text.starts_with('/')
            && !text.starts_with("//")
            && text.len() <= TARGET_BYTES_MAX
            && text.bytes().all(|it| it.is_ascii_graphic() && it != b'\\')
    };
    text.filter(is_plain).unwrap_or("/").to_owned()
}

/// Shows the sign-in page.
pub(super) async fn show(State(app): State<AppState>, RawQuery(query): RawQuery) -> Response {
    let target = safe_target(query_fields(query).text("target"));
    page(&app, StatusCode::OK, (None, &target))
}

fn page(app: &AppState, status: StatusCode, (error, target): (Option<&str>, &str)) -> Response {
    let view = SignInView {
        has_provider: app.identity.sign_in_client().is_some(),
        error,
        target,
    };
    sign_in_page(status, view)
}

/// Signs in with a token of the hub that a person pastes.
pub(super) async fn with_token(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await;
    let form = FormFields::parse(&body.unwrap_or_default());
    let target = safe_target(form.text("target"));
    let refuse = |status, why| page(&app, status, (Some(why), &target));
    let failed = |error: Problem| refuse(error.kind().status(), "the hub cannot answer; retry");
    let secret = form.text("token").and_then(TokenSecret::parse);
    let now = app.clock.now();
    let found = match &secret {
        None => None,
        Some(secret) => {
            let found = tokens::authenticate_secret(&app.database, secret, now).await;
            found.map_err(|error| failed(error.into()))?
        }
    };
    let Some(caller) = found else {
        return Err(refuse(StatusCode::UNAUTHORIZED, "the token is not valid"));
    };
    if !caller.actor.is_human() {
        return Err(refuse(StatusCode::FORBIDDEN, NOT_A_PERSON));
    }
    let new = NewSignIn {
        caller,
        provider: None,
    };
    let begun = begin_session(&app, &parts, new, &target).await;
    begun.map_err(failed)
}

/// Creates a sign-in, and leads to a page with its cookie.
async fn begin_session(
    app: &AppState,
    parts: &Parts,
    mut new: NewSignIn,
    target: &str,
) -> Result<Response, Problem> {
    new.caller.address = request_address(parts, app);
    // The browser loses the cookie of its former sign-in, which would live on for days.
    if let Some(old) = cookie(app, &parts.headers, "").and_then(SignInSecret::parse) {
        sign_ins::end_of_secret(&app.database, &old, app.clock.now()).await?;
    }
    let secret = SignInSecret::generate();
    let organization = new.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    sign_ins::create(&mut tx, &secret, &new).await?;
    let how = if new.provider.is_some() {
        "identity provider"
    } else {
        "token"
    };
    tx.audit(&new.caller, AuditAction::SignedIn, how).await?;
    tx.commit().await?;
    let mut response = see_other(target);
    let age = sign_ins::AGE_MAX_MS / 1_000;
    set_cookie(app, &mut response, ("", Some(secret.reveal())), age);
    set_cookie(app, &mut response, (FLOW_COOKIE, None), 0);
    Ok(response)
}

/// Returns whether a client may send another request to the identity provider.
fn may_reach_provider(app: &AppState, parts: &Parts) -> bool {
    let address = request_address(parts, app);
    app.limiter.consume_anonymous_rate(address).is_ok()
}

/// Leads to the identity provider.
pub(super) async fn begin(State(app): State<AppState>, parts: Parts) -> Response {
    let query = parts.uri.query().map(str::to_owned);
    let target = safe_target(query_fields(query).text("target"));
    if !may_reach_provider(&app, &parts) {
        let status = StatusCode::TOO_MANY_REQUESTS;
        return page(&app, status, (Some(TOO_MANY), &target));
    }
    let (Some((issuer, client)), Some(redirect_uri)) =
        (app.identity.sign_in_client(), redirect_uri(&app))
    else {
        return page(&app, StatusCode::NOT_FOUND, (None, &target));
    };
    let flow = SignInFlow::generate();
    match issuer.authorization_url(client, &redirect_uri, &flow).await {
        Ok(url) => {
            let mut response = see_other(&url);
            let mut fields = form_urlencoded::Serializer::new(String::new());
            fields.extend_pairs([
                ("state", flow.state.as_str()),
                ("nonce", &flow.nonce),
                ("verifier", &flow.verifier),
                ("target", &target),
            ]);
            let value = fields.finish();
            set_cookie(&app, &mut response, (FLOW_COOKIE, Some(&value)), FLOW_S);
            response
        }
        Err(error) => {
            tracing::warn!(%error, "the identity provider did not answer");
            let why = "the identity provider does not answer; retry";
            page(&app, StatusCode::BAD_GATEWAY, (Some(why), &target))
        }
    }
}

/// Returns the exact address that the provider leads back to.
fn redirect_uri(app: &AppState) -> Option<String> {
    let url = app.settings.public_url.as_ref()?;
    Some(format!("{url}{CALLBACK_PATH}"))
}

/// Ends the sign-in at the identity provider, which leads the browser here with a code.
pub(super) async fn finish(State(app): State<AppState>, parts: Parts) -> Response {
    let fields = FormFields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let expired = "this sign-in expired or began in another browser; sign in again";
    let Some((flow, target)) = read_flow(&app, &parts) else {
        return refuse(&app, StatusCode::BAD_REQUEST, expired);
    };
    // Compared by hash, which takes the same time for every text.
    let sent = blake3::hash(fields.text("state").unwrap_or_default().as_bytes());
    if sent != blake3::hash(flow.state.as_bytes()) {
        return refuse(&app, StatusCode::BAD_REQUEST, expired);
    }
    let Some(code) = fields.text("code") else {
        let why = "the identity provider refused the sign-in";
        return refuse(&app, StatusCode::FORBIDDEN, why);
    };
    let (Some((issuer, client)), Some(redirect_uri)) =
        (app.identity.sign_in_client(), redirect_uri(&app))
    else {
        let why = "this hub has no identity provider";
        return refuse(&app, StatusCode::NOT_FOUND, why);
    };
    // The cookie comes from the client, so its state and verifier may be made up.
    if !may_reach_provider(&app, &parts) {
        return refuse(&app, StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    }
    let redeemed = issuer.redeem_code(client, (code, &redirect_uri), &flow, app.clock.now());
    let person = match redeemed.await {
        Ok(CodeVerdict::Verified(person)) => person,
        Ok(CodeVerdict::Invalid) => {
            let why = "the identity provider's answer is not valid";
            return refuse(&app, StatusCode::FORBIDDEN, why);
        }
        Ok(CodeVerdict::NoRole) => {
            let why = "you are signed in at your organization, but have no role at this hub; ask its operator";
            return refuse(&app, StatusCode::FORBIDDEN, why);
        }
        Err(error) => {
            tracing::warn!(%error, "the identity provider did not answer");
            let why = "the identity provider does not answer; retry";
            return refuse(&app, StatusCode::BAD_GATEWAY, why);
        }
    };
    let caller = app
        .identity
        .resolve_identity(&app.database, &person.identity);
    let failed = |problem: Problem| {
        refuse(
            &app,
            problem.kind().status(),
            "the hub cannot answer; retry",
        )
    };
    let caller = match caller.await {
        Ok(Some(caller)) => caller,
        Ok(None) => {
            let why = "your organization or workspaces are not known at this hub, or your account is blocked; ask its operator";
            return refuse(&app, StatusCode::FORBIDDEN, why);
        }
        Err(error) => return failed(error.into()),
    };
    let new = provided_sign_in(*person, caller);
    let begun = begin_session(&app, &parts, new, &target).await;
    begun.unwrap_or_else(failed)
}

/// Returns the sign-in of a person that the provider vouches for.
fn provided_sign_in(person: ProvidedPerson, caller: AuthenticatedCaller) -> NewSignIn {
    NewSignIn {
        caller,
        provider: Some(ProviderSession {
            subject: person.subject,
            session: person.session,
            refresh_token: person.refresh_token,
        }),
    }
}

/// Ends a failed sign-in at the sign-in page.
fn refuse(app: &AppState, status: StatusCode, why: &str) -> Response {
    let mut response = page(app, status, (Some(why), "/"));
    set_cookie(app, &mut response, (FLOW_COOKIE, None), 0);
    response
}

/// Reads the secrets of a sign-in from the cookie of the browser that began it.
fn read_flow(app: &AppState, parts: &Parts) -> Option<(SignInFlow, String)> {
    let sent = cookie(app, &parts.headers, FLOW_COOKIE)?;
    let fields = FormFields::parse(sent.as_bytes());
    let text = |name: &str| fields.text(name).map(str::to_owned);
    let flow = SignInFlow {
        state: text("state")?,
        nonce: text("nonce")?,
        verifier: text("verifier")?,
    };
    Some((flow, safe_target(fields.text("target"))))
}

/// Signs out: this browser, or every browser of the person.
pub(super) async fn sign_out(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
) -> Result<Response, Problem> {
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    if session.form.text("everywhere").is_some() {
        sign_ins::end_of_actor(&mut tx, &caller.actor).await?;
    } else {
        sign_ins::end(&mut tx, session.sign_in.id).await?;
    }
    tx.audit(caller, AuditAction::SignedOut, &caller.actor)
        .await?;
    tx.commit().await?;
    let mut response = see_other("/sign-in");
    set_cookie(&app, &mut response, ("", None), 0);
    Ok(response)
}

/// Ends sign-ins that the identity provider ended (OpenID Connect Back-Channel Logout 1.0).
pub(super) async fn provider_logout(State(app): State<AppState>, body: Bytes) -> Response {
    let form = FormFields::parse(&body);
    let no_store = [(CACHE_CONTROL, "no-store")];
    let Some((issuer, client)) = app.identity.sign_in_client() else {
        return (StatusCode::NOT_FOUND, no_store).into_response();
    };
    let token = form.text("logout_token").unwrap_or_default();
    let verified = issuer.verify_logout(client, token, app.clock.now()).await;
    let (session, subject) = match verified {
        Ok(Some(named)) => named,
        Ok(None) => return (StatusCode::BAD_REQUEST, no_store).into_response(),
        Err(_) => return (StatusCode::BAD_GATEWAY, no_store).into_response(),
    };
    let ended = sign_ins::end_of_provider(&app.database, session.as_deref(), subject.as_deref());
    match ended.await {
        Ok(_) => (StatusCode::OK, no_store).into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_pages_of_this_hub_only() {
        for own in ["/", "/w/shop/e/L-1?x=1", "/tokens"] {
            assert_eq!(safe_target(Some(own)), own);
        }
        let long = format!("/{}", "a".repeat(TARGET_BYTES_MAX));
        for foreign in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "evil",
            "/a\r\nb",
            &long,
        ] {
            assert_eq!(safe_target(Some(foreign)), "/", "{foreign}");
        }
        assert_eq!(safe_target(None), "/");
    }
}
