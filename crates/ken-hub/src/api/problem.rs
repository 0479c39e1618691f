//! What a request that failed is told: a problem after RFC 9457, with what to do next.
//!
//! Never repeats what the hub is made of: an error of the database is written to the log under an id, and only the id is
//! told. Nothing of an entry or an event is ever part of a problem.

use std::error::Error;
use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ken_remote::wire::problem::{CURSOR_UNKNOWN, QUOTA};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::away::BrokenOff;
use crate::database::DatabaseError;
use crate::identity::{IdentityError, KeysError};
use crate::serve::settings::Beyond;
use crate::store::StoreError;
use crate::world;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What somebody waits who came while the database was not there.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(2);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $status:ident $slug:tt $title:literal $text:literal,)*) => {
        /// What kind of problem it is. Each has a page of its own below `/problems/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($(#[$doc])* $name,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the status a problem of this kind answers with.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// Returns the last part of its address.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// Returns what it is called; the same for every problem of the kind.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Returns what its page says.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

kinds! {
    /// The request cannot be read.
    Malformed BAD_REQUEST "malformed" "the request cannot be read"
        "The body is no JSON, nests too deeply, or a header or a parameter of the address is not what it must be. Nothing was changed. Correct the request; sending it again as it is gives the same answer.",
    /// Nobody is proven to call.
    Unauthenticated UNAUTHORIZED "unauthenticated" "no valid token"
        "Send `Authorization: Bearer TOKEN` with a token of this hub that is neither expired nor revoked, or with an access token of the issuer this hub trusts. An admin of your organisation makes tokens with POST /v1/tokens or `ken hub token`.",
    /// The caller may not do it.
    Forbidden FORBIDDEN "forbidden" "your role does not allow this"
        "The token is valid and its role is too small for the request. Each operation in /v1/openapi.json names the role it needs: reader, agent, curator or admin. An admin can make a token with a larger role.",
    /// The organisation has used what it may.
    Quota FORBIDDEN QUOTA "your organisation has reached its quota"
        "An organisation may have a number of workspaces, and a workspace a number of events. Nothing was changed. Whoever operates the hub can raise the quota.",
    /// There is no such thing, or it is another organisation's.
    NotFound NOT_FOUND "not-found" "there is nothing here"
        "What the address names does not exist, or your token does not reach it; the hub does not tell which. Look at GET /v1/workspaces for what your token reaches.",
    /// The address is answered, this method is not.
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "this address does not answer that method"
        "See /v1/openapi.json for the methods of each address.",
    /// It contradicts what is there.
    Conflict CONFLICT "conflict" "that contradicts what is there"
        "What was asked for does not fit what the hub has at present. The detail says what stands against it.",
    /// A cursor from another history.
    CursorUnknown CONFLICT CURSOR_UNKNOWN "the hub does not know that place"
        "The cursor names an event that does not stand there, because the hub was restored from an older backup or the cursor is another workspace's. Start at cursor 0 again, and push what the hub lacks; what it has already is answered as known.",
    /// The body is too long.
    TooLarge PAYLOAD_TOO_LARGE "too-large" "the request is too long"
        "Send less at once: a push may hold a thousand events and eight MiB after unpacking.",
    /// The body is no JSON by its own account.
    MediaType UNSUPPORTED_MEDIA_TYPE "media-type" "the body must be JSON"
        "Send `Content-Type: application/json`, in UTF-8, packed with gzip or not at all.",
    /// It can be read and makes no sense.
    Invalid UNPROCESSABLE_ENTITY "invalid" "the request makes no sense here"
        "The body is JSON, but a member is missing, unknown, or has a value it cannot have. The detail says which.",
    /// Every event was refused.
    Refused UNPROCESSABLE_ENTITY "refused" "it was refused"
        "A rule of the ledger or the guard says no; the detail says which, and for a push the answer lists for each event why. Nothing was written. Events that were refused stay as they are in your ledger.",
    /// A key of idempotency came with another request.
    KeyReused UNPROCESSABLE_ENTITY "key-reused" "this idempotency key belongs to another request"
        "A key answers the request it came with first. Use a new `Idempotency-Key` for a new request.",
    /// More than the organisation may ask at once.
    TooMany TOO_MANY_REQUESTS "too-many" "too much at once"
        "Come again after the number of seconds `Retry-After` says. Clients should wait that long and a little more, at random.",
    /// We failed.
    Internal INTERNAL_SERVER_ERROR "internal" "the hub failed"
        "This is a fault of the hub, not of the request. Tell whoever operates it the id in `instance`; its log says more under that id.",
    /// The database does not answer, or too many are here.
    Unavailable SERVICE_UNAVAILABLE "unavailable" "the hub cannot answer just now"
        "The database does not answer, the hub is ending, or there are more requests than it can take. Come again after the number of seconds `Retry-After` says; a request with an `Idempotency-Key`, and every push, may be sent again without doing anything twice.",
}

impl Kind {
    /// Returns the kind of that address.
    #[must_use]
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.slug() == slug)
    }
}

/// A problem: what a request that failed is told.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    detail: String,
    failed: Option<Box<Failed>>,
    more: Map<String, Value>,
    retry: Option<Duration>,
    /// What `WWW-Authenticate` says.
    challenge: Option<Box<str>>,
    /// Nobody knows whether what was asked is done.
    uncertain: Option<Uncertain>,
}

/// On an answer: nobody knows whether what was asked is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncertain;

/// A problem as it is written (RFC 9457); further members belong to its type.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Where this kind of problem is explained, relative to the hub.
    #[serde(rename = "type")]
    #[schema(example = "/problems/not-found")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What went wrong here, and what to do next.
    pub detail: String,
    /// Under which id the hub's log says more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub instance: Option<String>,
}

impl Problem {
    /// Makes a problem; `detail` says what to do next and holds nothing the caller did not bring or may not see.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            failed: None,
            more: Map::new(),
            retry: None,
            challenge: None,
            uncertain: None,
        }
    }

    /// There is nothing here, or it is somebody else's: one answer for both.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(
            Kind::NotFound,
            format!("there is no such {what} that your token reaches"),
        )
    }

    /// The body can be read and makes no sense.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, detail)
    }

    /// Somebody shows no token, or one that is worth nothing.
    pub(crate) fn unauthenticated(detail: impl Into<String>, challenge: String) -> Self {
        Self {
            challenge: Some(challenge.into()),
            ..Self::new(Kind::Unauthenticated, detail)
        }
    }

    /// Too much at once: tells when to come again.
    #[must_use]
    pub fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(Kind::TooMany, detail).after(wait)
    }

    /// The hub cannot answer now: tells when to come again.
    #[must_use]
    pub fn unavailable(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(Kind::Unavailable, detail).after(wait)
    }

    /// What the world did to us: told as an id, written to the log in full.
    ///
    /// A database that does not answer is [`Kind::Unavailable`]; everything else is [`Kind::Internal`].
    #[must_use]
    pub fn failed(error: &(dyn Error + 'static)) -> Self {
        let id = world::uuid();
        let chain = chain(error);
        let passing = is_passing(error);
        tracing::error!(problem = %id, error = %chain, passing, "request failed");
        let told = if passing {
            Self::unavailable(
                "the database does not answer just now; come again shortly",
                UNAVAILABLE_RETRY,
            )
        } else {
            Self::new(
                Kind::Internal,
                "the hub failed; tell whoever operates it the id in `instance`",
            )
        };
        Self {
            failed: Some(Box::new(Failed {
                instance: format!("urn:uuid:{id}"),
                cause: sort(error),
            })),
            ..told
        }
    }

    /// Adds a member of the problem's own type.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    /// Says when to come again.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry = Some(wait);
        self
    }

    /// Returns what kind it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns what it says about this request.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns it as it is written.
    pub(super) fn to_json(&self) -> Value {
        let status = self.kind.status().as_u16();
        let mut members = json!({
            "type": format!("/problems/{}", self.kind.slug()),
            "title": self.kind.title(),
            "status": status,
            "detail": self.detail,
        });
        if let Some(members) = members.as_object_mut() {
            if let Some(failed) = &self.failed {
                members.insert("instance".to_owned(), json!(failed.instance));
            }
            members.extend(self.more.clone());
        }
        members
    }
}

/// What the log is told of a problem: words of ours and an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub slug: &'static str,
    pub failed: Option<Box<Failed>>,
}

/// A failure of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Under which id the log says more.
    pub instance: String,
    /// What failed, in words of ours; no part of the answer.
    pub cause: String,
}

/// Says what failed without quoting it: what a database says may hold what somebody sent.
fn sort(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return sort_sql(error);
        }
        next = error.source();
    }
    "inside the hub".to_owned()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named is the driver's"
)]
fn sort_sql(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code();
            format!("PostgreSQL {}", code.as_deref().unwrap_or("without a code"))
        }
        sqlx::Error::PoolTimedOut => "no connection to the database was free in time".to_owned(),
        sqlx::Error::PoolClosed => "the connections to the database are closed".to_owned(),
        sqlx::Error::Io(error) => format!("connection to the database: {}", error.kind()),
        _ => "the database's driver".to_owned(),
    }
}

/// Returns an error with what caused it, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let text = error.to_string();
        // Transparent errors say what their source says.
        if !told.ends_with(&text) {
            told.push_str(": ");
            told.push_str(&text);
        }
        next = error.source();
    }
    told
}

/// Returns whether the same request may succeed in a moment: the database was away or busy.
fn is_passing(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return is_passing_sql(error);
        }
        next = error.source();
    }
    false
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named will not pass by itself"
)]
fn is_passing_sql(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::WorkerCrashed => true,
        // Lost connections, too many of them, a server that stops or changes roles, transactions in each other's way.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            ["08", "53", "57P", "40", "55P03", "57014", "25006"]
                .iter()
                .any(|class| code.starts_with(class))
        }),
        _ => false,
    }
}

impl From<BrokenOff> for Problem {
    fn from(error: BrokenOff) -> Self {
        Self::failed(&error)
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        Self::failed(&error)
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        if matches!(error, DatabaseError::NoWorkspace) {
            return Self::not_found("workspace");
        }
        if matches!(error, DatabaseError::NameIsId) {
            return Self::invalid(error.to_string());
        }
        if matches!(error, DatabaseError::Warming) {
            return Self::unavailable(error.to_string(), UNAVAILABLE_RETRY);
        }
        let told = Self::failed(&error);
        match error {
            DatabaseError::Uncertain(_) => Self {
                detail: "the connection was lost while this was being written, so it may or may not be done; a push may be sent again, nothing of it is done twice; look for anything else first".to_owned(),
                uncertain: Some(Uncertain),
                kind: Kind::Unavailable,
                retry: Some(UNAVAILABLE_RETRY),
                ..told
            },
            DatabaseError::NoWorkspace
            | DatabaseError::NameIsId
            | DatabaseError::Warming
            | DatabaseError::Address(_)
            | DatabaseError::Connect(_)
            | DatabaseError::Query(_)
            | DatabaseError::Role { .. }
            | DatabaseError::NoRole(_)
            | DatabaseError::Behind { .. }
            | DatabaseError::Ahead { .. }
            | DatabaseError::Edited { .. }
            | DatabaseError::Migration { .. }
            | DatabaseError::Rebuild(_)
            | DatabaseError::Damaged(_) => told,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database(error) => error.into(),
            StoreError::CursorUnknown(_) => Self::new(
                Kind::CursorUnknown,
                "this hub has no such place in its log; start at cursor 0 again and push what it lacks",
            ),
            error @ (StoreError::Damaged(_) | StoreError::BrokenOff(_)) => Self::failed(&error),
        }
    }
}

impl From<Beyond> for Problem {
    fn from(beyond: Beyond) -> Self {
        Self::new(Kind::Quota, beyond.to_string())
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        match error {
            IdentityError::Database(error) => error.into(),
            IdentityError::Sql(error) => error.into(),
            IdentityError::Keys(KeysError::Away(why)) => {
                tracing::warn!(%why, "who calls cannot be proven");
                Self::unavailable(
                    "the issuer of your access token does not answer; come again shortly",
                    UNAVAILABLE_RETRY,
                )
            }
            IdentityError::Keys(error) => Self::failed(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.to_json().to_string();
        let mut response = (self.kind.status(), body).into_response();
        if let Some(uncertain) = self.uncertain {
            response.extensions_mut().insert(uncertain);
        }
        response.extensions_mut().insert(Trouble {
            slug: self.kind.slug(),
            failed: self.failed,
        });
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry {
            let seconds = wait.as_secs_f64().ceil().clamp(1.0, 86_400.0) as u64;
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.challenge
            && let Ok(value) = HeaderValue::from_str(&challenge)
        {
            headers.insert(WWW_AUTHENTICATE, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_an_address_of_its_own_and_a_page() {
        for (n, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(Kind::of_slug(kind.slug()), Some(*kind));
            assert!(kind.status().as_u16() >= 400, "{kind:?}");
            assert!(!kind.title().ends_with('.') && kind.text().ends_with('.'));
            let others = Kind::ALL.iter().skip(n + 1);
            assert!(others.into_iter().all(|other| other.slug() != kind.slug()));
        }
    }

    #[test]
    fn what_the_database_said_is_not_told() {
        let error = sqlx::Error::Protocol("password of role ken".to_owned());
        let problem = Problem::from(error);
        assert_eq!(problem.kind(), Kind::Internal);
        let told = problem.to_json();
        assert!(!told.to_string().contains("password"), "{told}");
        assert!(
            told["instance"]
                .as_str()
                .is_some_and(|id| id.starts_with("urn:uuid:"))
        );
    }

    #[test]
    fn a_database_that_is_away_asks_to_come_again() {
        let response = Problem::from(sqlx::Error::PoolTimedOut).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
    }
}
