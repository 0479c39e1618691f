//! Tokens for devices that a person confirms in a browser (RFC 8628): `ken remote login`.
//!
//! The device shows a short code, and the person types it on a page while signed in. The device
//! then gets a token with the person's actor, role and workspaces. The secret of the token exists
//! only in the response: it is issued when the device asks.
//!
//! Invariant: a token is issued only while the sign-in that confirmed the device exists. Afterwards
//! the token is independent of it: it ends when it expires or an admin revokes it.

use std::net::IpAddr;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use ken_core::values::time::DAY_MS;
use ken_ui::action::FormFields;
use ken_ui::hub::{DeviceView, device_page};
use serde_json::{Value, json};
use sqlx::Row as _;
use uuid::Uuid;

use super::session::PageSession;
use super::start::query_fields;
use crate::api::AppState;
use crate::api::caller::{AtLeastReader, RequireRole, request_address};
use crate::api::problem::{Kind, Problem};
use crate::clock::{random_hex_256, random_u128};
use crate::database::audit::AuditAction;
use crate::database::{OrganizationTx, millis, without_nul};
use crate::identity::tokens::{self, TokenSpec};
use crate::identity::{AuthenticatedCaller, IdentityError, WorkspaceRoles};
use crate::ids::{OrganizationId, Role};

/// Time in which a person confirms a device, in seconds.
const GRANT_S: u64 = 600;

/// Time between two questions of a device, in seconds.
const POLL_S: u64 = 3;

/// Lifetime of a device's token in days.
const TOKEN_DAYS: u16 = 30;

/// Letters of a code: none that looks or sounds like another, and no vowels.
const CODE_LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Letters of a code.
const CODE_CHARS: usize = 8;

/// Maximum characters of a device's name.
const NAME_CHARS_MAX: usize = 64;

/// Type of the grant (RFC 8628, 3.4).
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

fn answer(status: StatusCode, body: Value) -> Response {
    (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Returns an error of OAuth (RFC 6749, 5.2).
fn refuse(error: &str) -> Response {
    answer(StatusCode::BAD_REQUEST, json!({ "error": error }))
}

/// Generates a code for a person to type.
fn new_code() -> String {
    let mut bits = random_u128();
    let mut code = String::new();
    for _ in 0..CODE_CHARS {
        // 128 bits over 20 letters: the bias of the remainder is below 2⁻⁹⁰.
        code.push(char::from(CODE_LETTERS[(bits % 20) as usize]));
        bits /= 20;
    }
    code
}

/// Returns a code as it is shown: two groups of four letters.
fn shown_code(code: &str) -> String {
    let (first, second) = code.split_at(CODE_CHARS / 2);
    format!("{first}-{second}")
}

/// Parses a code as people type it; `None` if it cannot be one.
fn parse_code(text: &str) -> Option<String> {
    let letters = text.chars().filter(|it| !it.is_whitespace() && *it != '-');
    let code: String = letters.map(|it| it.to_ascii_uppercase()).collect();
    let fits = code.len() == CODE_CHARS && code.bytes().all(|it| CODE_LETTERS.contains(&it));
    fits.then_some(code)
}

fn digest(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes().to_vec()
}

/// Returns the name of a device, without anything that could mislead on the page.
fn device_name(form: &FormFields) -> String {
    let name = form.text("device_name").unwrap_or("a device");
    let name = name
        .chars()
        .filter(|it| it.is_ascii_graphic() || *it == ' ');
    name.take(NAME_CHARS_MAX).collect()
}

/// Begins a grant: the device gets its secret and the code for the person.
pub(super) async fn authorize(State(app): State<AppState>, parts: Parts, body: Bytes) -> Response {
    let address = request_address(&parts, &app);
    // Anyone may ask, and each request takes a row.
    if app.limiter.consume_anonymous_rate(address).is_err() {
        let error = json!({ "error": "slow_down" });
        return answer(StatusCode::TOO_MANY_REQUESTS, error);
    }
    let form = FormFields::parse(&body);
    let (device, code) = (random_hex_256(), new_code());
    let now = app.clock.now();
    let begun = async {
        let mut lease = app.database.pool().acquire_live().await?;
        sqlx::query("SELECT ken.begin_device_grant($1, $2, $3, $4, $5, $6)")
            .bind(digest(&device))
            .bind(digest(&code))
            .bind(without_nul(&device_name(&form)))
            .bind(address.map(|it| it.to_string()))
            .bind(millis(now))
            .bind(millis(now.plus_millis(GRANT_S * 1_000)))
            .execute(lease.connection())
            .await?;
        lease.release();
        Ok::<_, IdentityError>(())
    };
    if let Err(error) = begun.await {
        return Problem::from(error).into_response();
    }
    let base = match &app.settings.public_url {
        Some(url) => url.clone(),
        None => {
            let host = parts.headers.get("host").and_then(|it| it.to_str().ok());
            format!("http://{}", host.unwrap_or("localhost"))
        }
    };
    let shown = shown_code(&code);
    answer(
        StatusCode::OK,
        json!({
            "device_code": device,
            "user_code": shown,
            "verification_uri": format!("{base}/device"),
            "verification_uri_complete": format!("{base}/device?code={shown}"),
            "expires_in": GRANT_S,
            "interval": POLL_S,
        }),
    )
}

/// Answers a device that asks for its token.
pub(super) async fn token(State(app): State<AppState>, parts: Parts, body: Bytes) -> Response {
    let form = FormFields::parse(&body);
    if form.text("grant_type") != Some(GRANT_TYPE) {
        return refuse("unsupported_grant_type");
    }
    let Some(device) = form.text("device_code") else {
        return refuse("invalid_request");
    };
    match poll(&app, &digest(device), request_address(&parts, &app)).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn poll(app: &AppState, device: &[u8], address: Option<IpAddr>) -> Result<Response, Problem> {
    let now = app.clock.now();
    let mut lease = app.database.pool().acquire_live().await?;
    let row = sqlx::query("SELECT state, organization_id FROM ken.poll_device_grant($1, $2, $3)")
        .bind(device)
        .bind(millis(now))
        .bind(i64::try_from(POLL_S * 1_000).unwrap_or(i64::MAX))
        .fetch_one(lease.connection())
        .await?;
    lease.release();
    let state: String = row.try_get(0)?;
    match state.as_str() {
        "pending" => return Ok(refuse("authorization_pending")),
        "fast" => return Ok(refuse("slow_down")),
        "refused" => return Ok(refuse("access_denied")),
        "confirmed" => {}
        _ => return Ok(refuse("expired_token")),
    }
    let mut tx = app
        .database
        .begin_organization(OrganizationId(row.try_get(1)?))
        .await?;
    // A revocation of the person is complete before this point, or waits for the token and then
    // revokes it.
    tokens::lock(&mut tx).await?;
    let Some(grant) = take_grant(&mut tx, device).await? else {
        return Ok(refuse("expired_token"));
    };
    let (Ok(actor), Ok(role), true, Some(roles)) = (
        grant.actor.parse(),
        grant.role.parse::<Role>(),
        grant.is_backed,
        WorkspaceRoles::from_columns(grant.roles),
    ) else {
        tx.commit().await?;
        return Ok(refuse("access_denied"));
    };
    let (workspaces, roles) = (grant.workspaces, roles.iter());
    let request = TokenSpec {
        name: Some(format!("remote login: {}", grant.name)),
        role,
        actor: Some(actor),
        workspaces: workspaces.map(|ids| ids.iter().map(Uuid::to_string).collect()),
        workspace_roles: roles.map(|(id, role)| (id.0.to_string(), role)).collect(),
        days: u16::try_from(grant.days).unwrap_or(1),
    };
    // An error rolls back, so the code stays valid and the device can ask again.
    let (token, secret) = tokens::issue(&mut tx, request, app.settings.quotas.tokens).await?;
    let by = AuthenticatedCaller {
        organization: tx.id(),
        actor: token.actor.clone(),
        role: token.role,
        workspace_roles: token.workspace_roles.clone(),
        workspaces: token.workspaces.clone(),
        token: Some(token.id),
        address,
    };
    tx.audit(&by, AuditAction::TokenCreated, &token).await?;
    tx.commit().await?;
    Ok(answer(
        StatusCode::OK,
        json!({
            "access_token": secret.reveal(),
            "token_type": "Bearer",
            "expires_in": u64::from(grant.days.unsigned_abs()) * DAY_MS / 1_000,
            "actor": token.actor.to_string(),
            "role": token.role.name(),
        }),
    ))
}

/// A confirmed grant.
struct DeviceGrant {
    actor: String,
    role: String,
    workspaces: Option<Vec<Uuid>>,
    days: i32,
    name: String,
    /// Roles in single workspaces that the sign-in has now.
    roles: (Option<Vec<Uuid>>, Option<Vec<String>>),
    /// False if the sign-in of the confirmation has ended or has another role now.
    is_backed: bool,
}

/// Deletes a confirmed grant and returns it; `None` if it is gone or expired.
async fn take_grant(
    tx: &mut OrganizationTx,
    device: &[u8],
) -> Result<Option<DeviceGrant>, IdentityError> {
    let (organization, now) = (tx.id().0, millis(tx.now()));
    let roles = |column: &str| {
        format!(
            "(SELECT CASE WHEN s.token_id IS NULL THEN s.{column} ELSE t.{column} END FROM ken.sign_ins s
             LEFT JOIN ken.tokens t ON t.organization_id = s.organization_id AND t.id = s.token_id
             WHERE s.organization_id = $1 AND s.id = g.sign_in_id)"
        )
    };
    let row = sqlx::query(sqlx::AssertSqlSafe(format!(
        "DELETE FROM ken.device_grants g
         WHERE g.organization_id = $1 AND g.device_hash = $2 AND g.decision = 'confirmed' AND $3 < g.expires_at
         RETURNING g.actor, g.role, g.workspaces, g.days, g.name, EXISTS (
             SELECT FROM ken.sign_ins s
             LEFT JOIN ken.tokens t ON t.organization_id = s.organization_id AND t.id = s.token_id
                 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR $3 < t.expires_at)
             WHERE s.organization_id = $1 AND s.id = g.sign_in_id AND $3 < s.expires_at
                 AND g.role = CASE WHEN s.token_id IS NULL THEN s.role ELSE t.role END),
             {}, {}",
        roles("role_workspaces"),
        roles("role_names")
    )))
    .bind(organization)
    .bind(device)
    .bind(now)
    .fetch_optional(tx.connection())
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(DeviceGrant {
        actor: row.try_get(0)?,
        role: row.try_get(1)?,
        workspaces: row.try_get(2)?,
        days: row.try_get(3)?,
        name: row.try_get(4)?,
        is_backed: row.try_get(5)?,
        roles: (row.try_get(6)?, row.try_get(7)?),
    }))
}

/// Returns the days of a device's token: not longer than that of the sign-in's own token.
async fn token_days(app: &AppState, caller: &AuthenticatedCaller) -> Result<u16, Problem> {
    let Some(id) = caller.token else {
        return Ok(TOKEN_DAYS);
    };
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let end = tokens::expiry(&mut tx, id).await?;
    tx.commit().await?;
    let now = app.clock.now().millis();
    let left = end.map_or(u64::from(TOKEN_DAYS), |end| {
        end.millis().saturating_sub(now) / DAY_MS
    });
    Ok(u16::try_from(left).unwrap_or(TOKEN_DAYS).min(TOKEN_DAYS))
}

/// Shows the device behind a code.
pub(super) async fn show(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query);
    let mut view = DeviceView::default();
    let mut status = StatusCode::OK;
    if let Some(text) = fields.text("code") {
        view.code = text.to_owned();
        match find(&app, text).await? {
            None => {
                view.error = Some("This code is wrong or expired. Run `ken remote login` again.");
                status = StatusCode::NOT_FOUND;
            }
            Some((code, name, address)) => {
                let caller = &access.caller;
                let days = token_days(&app, caller).await?;
                view.code = shown_code(&code);
                view.device = Some((name, address));
                let role = caller.role.name().to_owned();
                view.grant = Some((caller.actor.to_string(), role, days));
            }
        }
    }
    let frame = session.frame();
    Ok(device_page(&frame, &view).respond(&frame, &headers, status))
}

async fn find(
    app: &AppState,
    text: &str,
) -> Result<Option<(String, String, Option<String>)>, Problem> {
    let Some(code) = parse_code(text) else {
        return Ok(None);
    };
    let mut lease = app.database.pool().acquire_live().await?;
    let row = sqlx::query("SELECT name, address FROM ken.device_grant_by_code($1, $2)")
        .bind(digest(&code))
        .bind(millis(app.clock.now()))
        .fetch_optional(lease.connection())
        .await?;
    lease.release();
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some((code, row.try_get(0)?, row.try_get(1)?)))
}

/// Notes the person's decision about a device.
pub(super) async fn decide(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let caller = &access.caller;
    let is_confirmed = match session.form.text("decision") {
        Some("confirm") => true,
        Some("refuse") => false,
        Some(_) | None => return Err(Problem::invalid("confirm or refuse the device")),
    };
    let missing = || Problem::new(Kind::NotFound, "this code is wrong or expired");
    let code = session.form.text("code").and_then(parse_code);
    let code = code.ok_or_else(missing)?;
    let days = token_days(&app, caller).await?;
    if is_confirmed && days == 0 {
        let detail = "your own token expires within a day; sign in with another one";
        return Err(Problem::new(Kind::Refused, detail));
    }
    let workspaces = caller.workspaces.as_ref();
    let workspaces: Option<Vec<Uuid>> = workspaces.map(|ids| ids.iter().map(|it| it.0).collect());
    let decision = if is_confirmed { "confirmed" } else { "refused" };
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let decided: bool =
        sqlx::query_scalar("SELECT ken.decide_device_grant($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(digest(&code))
            .bind(millis(app.clock.now()))
            .bind(decision)
            .bind(caller.organization.0)
            .bind(session.sign_in.id)
            .bind(caller.actor.to_string())
            .bind(caller.role.name())
            .bind(workspaces)
            .bind(i32::from(days))
            .fetch_one(tx.connection())
            .await?;
    if !decided {
        return Err(missing());
    }
    tx.audit(caller, AuditAction::DeviceDecided, decision)
        .await?;
    tx.commit().await?;
    let view = DeviceView {
        decided: Some(is_confirmed),
        ..DeviceView::default()
    };
    let frame = session.frame();
    Ok(device_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_type_them() {
        for _ in 0..100 {
            let code = new_code();
            let shown = shown_code(&code);
            for typed in [
                shown.clone(),
                shown.to_lowercase(),
                code.clone(),
                format!(" {shown} "),
            ] {
                assert_eq!(parse_code(&typed).as_ref(), Some(&code), "{typed}");
            }
        }
        for wrong in [
            "",
            "AEIO-UUUU",
            "BCDF-GHJ",
            "BCDF-GHJKL",
            "1234-5678",
            "ÄÖÜß-BCDF",
        ] {
            assert_eq!(parse_code(wrong), None, "{wrong}");
        }
    }
}
