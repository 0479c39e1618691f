//! A post that is sent again: the same key and body give the first answer, and nothing happens twice.
//!
//! A key is its organisation's. The row is taken before the request is carried out and filled afterwards; whoever comes
//! in between is told to come again. Only what was done, or may have been, is kept: a refusal quotes its sender, and gives
//! the key back.
//! Answers that hold a secret are never kept, only that there was one.
//!
//! A process that dies between doing and noting leaves a key that is free again after [`AFTERWARDS`]: what it did may then
//! be done once more, unless it names itself, as every event does.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_core::time::{DAY_MS, Timestamp};
use ken_remote::wire::PUSH_BYTES_MAX;

use super::App;
use super::body::read;
use super::caller::proven;
use super::problem::{Kind, MEDIA_TYPE, Problem, Uncertain};
use crate::database::{OrganisationTx, millis};
use crate::identity::{Caller, OrganisationId};

/// The header that holds the key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header of an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Characters a key has.
const KEY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;

/// How long an answer is kept.
const KEPT_MS: u64 = DAY_MS;

/// How long after the longest time a request may take a key is free again that nobody gave back.
const AFTERWARDS: Duration = Duration::from_secs(90);

/// Bytes of an answer that is kept.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Rows that ended and are cleared away with each new one.
const CLEARED_MAX: i64 = 64;

/// On an answer: it holds a secret and is not kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotKept;

/// What is known about a key.
enum Found {
    /// Nobody used it: it is ours now.
    Free,
    UnderWay,
    OtherRequest,
    /// The answer that was given; without one where it held a secret.
    Answered(StatusCode, Option<(String, Vec<u8>)>),
}

/// Carries a post with a key out once.
pub(super) async fn once(State(app): State<App>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(KEY) {
        return next.run(request).await;
    }
    match keyed(&app, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn keyed(app: &App, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let key = key(&parts.headers)?;
    let caller = proven(&mut parts, app).await?;
    let body = read(body, PUSH_BYTES_MAX).await?;
    let digest = digest(&caller, &parts, &body);
    let now = app.world.now();
    let organisation = caller.organisation;
    match take(app, organisation, &key, &digest, now).await? {
        Found::Free => {}
        Found::UnderWay => {
            return Err(Problem::new(
                Kind::Conflict,
                "a request with this idempotency key is under way; come again shortly",
            )
            .after(Duration::from_secs(1)));
        }
        Found::OtherRequest => {
            return Err(Problem::new(
                Kind::KeyReused,
                "this idempotency key came with another request before; use a new one",
            ));
        }
        Found::Answered(status, answer) => return replayed(status, answer),
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    keep(app, organisation, &key, response).await
}

fn key(headers: &HeaderMap) -> Result<String, Problem> {
    let mut keys = headers.get_all(KEY).iter();
    let only = keys.next().filter(|_| keys.next().is_none());
    let text = only.and_then(|it| it.to_str().ok());
    let fits =
        |it: &&str| KEY_CHARS.contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_graphic());
    let text = text.filter(fits).ok_or_else(|| {
        Problem::new(
            Kind::Malformed,
            "`Idempotency-Key` is one text of 8 to 128 visible ASCII characters",
        )
    })?;
    Ok(text.to_owned())
}

/// What makes two requests the same: who, what, where, with what.
fn digest(caller: &Caller, parts: &Parts, body: &Bytes) -> [u8; 32] {
    let mut digest = blake3::Hasher::new();
    let told = [
        caller.actor.to_string(),
        caller.role.name().to_owned(),
        parts.method.to_string(),
        parts.uri.to_string(),
    ];
    let reach = caller
        .workspaces
        .iter()
        .flatten()
        .map(|it| it.0.to_string());
    for part in told.iter().cloned().chain(reach) {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    // Where the reach ends and the body begins.
    digest.update(&u64::MAX.to_le_bytes());
    digest.update(body);
    *digest.finalize().as_bytes()
}

/// Takes a key, or says what it was used for.
async fn take(
    app: &App,
    organisation: OrganisationId,
    key: &str,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<Found, Problem> {
    let mut tx = app.database.organisation(organisation).await?;
    clear(&mut tx, now).await?;
    let longest = app.load.limits().request + AFTERWARDS;
    let until = now.plus_millis(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
    let taken = sqlx::query(
        "INSERT INTO ken.idempotency AS old (organisation_id, key, digest, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (organisation_id, key) DO UPDATE
         SET digest = $3, status = NULL, content_type = NULL, body = NULL, created_at = $4, expires_at = $5
         WHERE old.expires_at <= $4",
    )
    .bind(organisation.0)
    .bind(key)
    .bind(digest.as_slice())
    .bind(millis(now))
    .bind(millis(until))
    .execute(tx.connection())
    .await?;
    if taken.rows_affected() == 1 {
        tx.commit().await?;
        return Ok(Found::Free);
    }
    type Row = (Vec<u8>, Option<i16>, Option<String>, Option<Vec<u8>>);
    let row: Option<Row> = sqlx::query_as(
        "SELECT digest, status, content_type, body FROM ken.idempotency
         WHERE organisation_id = $1 AND key = $2",
    )
    .bind(organisation.0)
    .bind(key)
    .fetch_optional(tx.connection())
    .await?;
    tx.commit().await?;
    Ok(match row {
        // Whoever had it failed in this moment and gave it back.
        None => Found::UnderWay,
        Some((other, ..)) if other != digest.as_slice() => Found::OtherRequest,
        Some((_, None, ..)) => Found::UnderWay,
        Some((_, Some(status), kind, body)) => {
            let status = u16::try_from(status).ok().map(StatusCode::from_u16);
            let status = status.and_then(Result::ok);
            Found::Answered(status.unwrap_or(StatusCode::OK), kind.zip(body))
        }
    })
}

async fn clear(tx: &mut OrganisationTx, now: Timestamp) -> Result<(), Problem> {
    sqlx::query(
        "DELETE FROM ken.idempotency WHERE organisation_id = $1 AND key IN (
             SELECT key FROM ken.idempotency WHERE organisation_id = $1 AND expires_at <= $2
             LIMIT $3 FOR UPDATE SKIP LOCKED)",
    )
    .bind(tx.id().0)
    .bind(millis(now))
    .bind(CLEARED_MAX)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Keeps an answer for whoever sends the same again, or gives the key back.
async fn keep(
    app: &App,
    organisation: OrganisationId,
    key: &str,
    response: Response,
) -> Result<Response, Problem> {
    let (head, body) = response.into_parts();
    let bytes = to_bytes(body, PUSH_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| Problem::failed(&error))?;
    let mut tx = app.database.organisation(organisation).await?;
    let answer = if head.extensions.get::<Uncertain>().is_some() {
        // Whether it was done nobody knows, so it is not done again under this key.
        let unknown = unknown();
        let told = unknown.to_json().to_string().into_bytes();
        Some((unknown.kind().status(), MEDIA_TYPE, Some(told)))
    } else if head.status.is_success() {
        let secret = head.extensions.get::<NotKept>().is_some();
        let kept = (!secret && bytes.len() <= ANSWER_BYTES_MAX).then(|| bytes.to_vec());
        let kind = head.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
        Some((head.status, kind, kept))
    } else {
        None
    };
    let query = match answer {
        Some((status, kind, body)) => sqlx::query(
            "UPDATE ken.idempotency SET status = $3, content_type = $4, body = $5, expires_at = $6
             WHERE organisation_id = $1 AND key = $2",
        )
        .bind(organisation.0)
        .bind(key)
        .bind(status.as_u16().cast_signed())
        .bind(kind)
        .bind(body)
        .bind(millis(app.world.now().plus_millis(KEPT_MS))),
        None => sqlx::query("DELETE FROM ken.idempotency WHERE organisation_id = $1 AND key = $2")
            .bind(organisation.0)
            .bind(key),
    };
    query.execute(tx.connection()).await?;
    tx.commit().await?;
    Ok(Response::from_parts(head, Body::from(bytes)))
}

/// What whoever sends a request again is told whose first try ended nobody knows how.
fn unknown() -> Problem {
    Problem::new(
        Kind::Conflict,
        "the connection to the database was lost while that request was written, so it may or may not be done; look whether it is, and where it is not send it with a new key",
    )
}

fn replayed(status: StatusCode, answer: Option<(String, Vec<u8>)>) -> Result<Response, Problem> {
    let Some((kind, body)) = answer else {
        return Err(Problem::new(
            Kind::Conflict,
            "that request was carried out; its answer is not kept because it held a secret or was too long. Where the secret is lost, revoke what was made and send a request with a new key",
        ));
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    if let Ok(kind) = HeaderValue::from_str(&kind)
        && !kind.is_empty()
    {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
