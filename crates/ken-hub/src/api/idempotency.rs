//! `Idempotency-Key` middleware: a post repeated with the same key gets the first response.
//!
//! Keys are scoped to the caller. The row of a key is claimed before the request runs and
//! filled afterwards; a request that arrives in between is answered with a conflict. Only requests
//! that succeeded, or may have succeeded, keep their key. A refusal may quote the request, so it is
//! not stored and its key is released. For a response with a secret only the fact is stored. A
//! search changes nothing that a repetition could change again, so its key is ignored and nothing
//! of its response is stored. A redaction deletes every stored response of its organization,
//! because any of them may contain the redacted text.
//!
//! A process that dies between the two steps leaves a claimed key, which expires [`CLAIM_GRACE`]
//! after the request timeout. The request can then run a second time, unless its effect is
//! idempotent by itself, as the append of an event with a given id is.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_remote::wire::PUSH_BYTES_MAX;

use super::AppState;
use super::body::received_body;
use super::caller::authenticate;
use super::knowledge::{EVERYWHERE_ROUTE, SEARCH_ROUTE};
use super::problem::{Kind, MEDIA_TYPE, Problem, UncertainOutcome};
use crate::database::{OrganizationTx, millis};
use crate::identity::AuthenticatedCaller;
use crate::ids::OrganizationId;

/// Request header with the key.
const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Response header that marks a replayed response.
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Allowed length of a key.
const KEY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;

/// Retention of a stored response.
const RETENTION_MS: u64 = DAY_MS;

/// Time after the request timeout until an abandoned claim expires.
const CLAIM_GRACE: Duration = Duration::from_secs(90);

/// Maximum size of a stored response, in bytes.
const STORED_BYTES_MAX: usize = 1 << 20;

/// Maximum size of all stored responses of an organization, in bytes. The oldest are deleted first.
const KEPT_BYTES_MAX: i64 = 64 << 20;

/// Bytes that a stored response counts for beside its body.
const ROW_BYTES: usize = 256;

/// Rows deleted per claim.
const CLEARED_ROWS_MAX: i64 = 64;

/// Posts that only read.
pub(super) const READ_ROUTES: [&str; 2] = [SEARCH_ROUTE, EVERYWHERE_ROUTE];

/// Response extension: the response contains a secret and must not be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecretResponse;

/// State of a key when a request arrives.
enum KeyState {
    /// The key was free and is now claimed by this request.
    Claimed,
    InProgress,
    DifferentRequest,
    /// The stored response, without a body if it contained a secret or was too long.
    Answered(StatusCode, Option<(String, Vec<u8>)>),
}

/// Middleware that runs a post with a key at most once.
pub(super) async fn enforce_idempotency(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>();
    let is_read = matched.is_some_and(|it| READ_ROUTES.contains(&it.as_str()));
    let is_keyed = request.headers().contains_key(KEY_HEADER);
    if request.method() != Method::POST || is_read || !is_keyed {
        return next.run(request).await;
    }
    match run_keyed(&app, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn run_keyed(app: &AppState, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let key = parse_key(&parts.headers)?;
    let caller = authenticate(&mut parts, app).await?;
    // One caller's key must not block another's.
    let key = format!("{} {key}", caller.actor);
    let body = received_body(body).await?;
    let digest = request_digest(&caller, &parts, &body);
    let now = app.clock.now();
    let organization = caller.organization;
    match claim_key(app, organization, &key, &digest, now).await? {
        KeyState::Claimed => {}
        KeyState::InProgress => {
            return Err(Problem::new(
                Kind::Conflict,
                "a request with this idempotency key is in progress; retry shortly",
            )
            .with_retry_after(Duration::from_secs(1)));
        }
        KeyState::DifferentRequest => {
            return Err(Problem::new(
                Kind::KeyReused,
                "this idempotency key was already used for another request; use a new key",
            ));
        }
        KeyState::Answered(status, answer) => return replay_response(status, answer),
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    store_response(app, organization, &key, response).await
}

fn parse_key(headers: &HeaderMap) -> Result<String, Problem> {
    let mut keys = headers.get_all(KEY_HEADER).iter();
    // Two headers would make it ambiguous which key the response is stored under.
    let only = keys.next().filter(|_| keys.next().is_none());
    let text = only.and_then(|value| value.to_str().ok());
    let is_valid = |key: &&str| {
        KEY_CHARS.contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let key = text.filter(is_valid).ok_or_else(|| {
        Problem::new(
            Kind::Malformed,
            "`Idempotency-Key` must be a single value of 8 to 128 visible ASCII characters",
        )
    })?;
    Ok(key.to_owned())
}

/// Returns a digest of all parts that must match for two requests to be the same.
///
/// Actor, role and workspace restriction are included, so a token cannot read the stored response
/// of another token with different access.
fn request_digest(caller: &AuthenticatedCaller, parts: &Parts, body: &Bytes) -> [u8; 32] {
    let mut digest = blake3::Hasher::new();
    let fixed = [
        caller.actor.to_string(),
        caller.role.name().to_owned(),
        parts.method.to_string(),
        parts.uri.to_string(),
    ];
    let restriction = caller
        .workspaces
        .iter()
        .flatten()
        .map(|id| id.0.to_string());
    for part in fixed.iter().cloned().chain(restriction) {
        // Length prefixes keep different splits of the same text apart.
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    // The number of workspaces varies. No part has this length, so it marks the start of the body.
    digest.update(&u64::MAX.to_le_bytes());
    digest.update(body);
    *digest.finalize().as_bytes()
}

/// Claims a key, or returns the state of its earlier use.
async fn claim_key(
    app: &AppState,
    organization: OrganizationId,
    key: &str,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<KeyState, Problem> {
    let mut tx = app.database.begin_organization(organization).await?;
    clear_answers(&mut tx, now).await?;
    let longest = app.limiter.limits().request_timeout + CLAIM_GRACE;
    let until = now.plus_millis(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
    // One statement both checks and claims, so of two concurrent requests only one gets the key.
    // An expired row is taken over even if the cleanup has not reached it.
    let claimed = sqlx::query(
        "INSERT INTO ken.idempotency AS old (organization_id, key, digest, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (organization_id, key) DO UPDATE
         SET digest = $3, status = NULL, content_type = NULL, body = NULL, keep_body = NULL, created_at = $4,
             expires_at = $5
         WHERE old.expires_at <= $4",
    )
    .bind(organization.0)
    .bind(key)
    .bind(digest.as_slice())
    .bind(millis(now))
    .bind(millis(until))
    .execute(tx.connection())
    .await?;
    if claimed.rows_affected() == 1 {
        // Committed before the request runs: other processes must see the claim.
        tx.commit().await?;
        return Ok(KeyState::Claimed);
    }
    type StoredResponseRow = (Vec<u8>, Option<i16>, Option<String>, Option<Vec<u8>>);
    let row: Option<StoredResponseRow> = sqlx::query_as(
        "SELECT digest, status, content_type, body FROM ken.idempotency
         WHERE organization_id = $1 AND key = $2",
    )
    .bind(organization.0)
    .bind(key)
    .fetch_optional(tx.connection())
    .await?;
    tx.commit().await?;
    Ok(match row {
        // The first request failed and released the key between the two statements.
        None => KeyState::InProgress,
        Some((other, ..)) if other != digest.as_slice() => KeyState::DifferentRequest,
        Some((_, None, ..)) => KeyState::InProgress,
        Some((_, Some(status), content_type, body)) => {
            let code = u16::try_from(status).ok().map(StatusCode::from_u16);
            let status = code.and_then(Result::ok);
            KeyState::Answered(status.unwrap_or(StatusCode::OK), content_type.zip(body))
        }
    })
}

/// Deletes some rows of the organization that expired or exceed its limit.
///
/// Cleanup runs with each claim and is bounded, so no request pays for a large backlog. A
/// background task clears the rows of organizations that send no more requests.
async fn clear_answers(tx: &mut OrganizationTx, now: Timestamp) -> Result<(), Problem> {
    sqlx::query("SELECT ken.clear_answers($1, $2, $3, $4)")
        .bind(tx.id().0)
        .bind(millis(now))
        .bind(KEPT_BYTES_MAX)
        .bind(CLEARED_ROWS_MAX)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Stores the response for later replays, or releases the key if the request had no effect.
async fn store_response(
    app: &AppState,
    organization: OrganizationId,
    key: &str,
    response: Response,
) -> Result<Response, Problem> {
    let (head, body) = response.into_parts();
    let bytes = to_bytes(body, PUSH_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| Problem::internal(&error))?;
    let mut tx = app.database.begin_organization(organization).await?;
    let answer = if head.extensions.get::<UncertainOutcome>().is_some() {
        // The commit may have succeeded. Releasing the key could run the request twice, so a
        // replay gets this conflict instead.
        let unknown = unknown_outcome();
        let body = unknown.to_json().to_string().into_bytes();
        Some((unknown.kind().status(), MEDIA_TYPE, Some(body)))
    } else if head.status.is_success() {
        let has_secret = head.extensions.get::<SecretResponse>().is_some();
        let stored = (!has_secret && bytes.len() <= STORED_BYTES_MAX).then(|| bytes.to_vec());
        let content_type = head.headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        Some((head.status, content_type.unwrap_or_default(), stored))
    } else {
        None
    };
    let query = match answer {
        Some((status, content_type, body)) => sqlx::query(
            "WITH kept AS (
                 UPDATE ken.idempotency SET status = $3, content_type = $4, expires_at = $6,
                     body = CASE WHEN keep_body IS NOT FALSE THEN $5 END
                 WHERE organization_id = $1 AND key = $2 RETURNING octet_length(body) + $7 AS bytes)
             UPDATE ken.organizations SET kept_bytes = coalesce(kept_bytes, 0) + kept.bytes
             FROM kept WHERE id = $1 AND kept.bytes IS NOT NULL",
        )
        .bind(organization.0)
        .bind(key)
        .bind(status.as_u16().cast_signed())
        .bind(content_type)
        .bind(body)
        .bind(millis(app.clock.now().plus_millis(RETENTION_MS)))
        .bind(ROW_BYTES as i64),
        None => sqlx::query("DELETE FROM ken.idempotency WHERE organization_id = $1 AND key = $2")
            .bind(organization.0)
            .bind(key),
    };
    query.execute(tx.connection()).await?;
    tx.commit().await?;
    Ok(Response::from_parts(head, Body::from(bytes)))
}

/// Returns the conflict stored for a request whose outcome is unknown.
fn unknown_outcome() -> Problem {
    Problem::new(
        Kind::Conflict,
        "the database connection was lost during the commit of that request, so its outcome is unknown; check whether it took effect, and if it did not, send it with a new key",
    )
}

/// Builds a response from a stored one.
fn replay_response(
    status: StatusCode,
    answer: Option<(String, Vec<u8>)>,
) -> Result<Response, Problem> {
    let Some((content_type, body)) = answer else {
        return Err(Problem::new(
            Kind::Conflict,
            "that request succeeded, but its response is not stored: it contained a secret, was too large, or something was redacted since. If you lost the secret of a token, revoke the token and send a request with a new key",
        ));
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    // axum sets `application/octet-stream` for bytes; a response such as 204 had no content type.
    headers.remove(CONTENT_TYPE);
    if let Ok(content_type) = HeaderValue::from_str(&content_type)
        && !content_type.is_empty()
    {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(REPLAYED_HEADER, HeaderValue::from_static("true"));
    Ok(response)
}
