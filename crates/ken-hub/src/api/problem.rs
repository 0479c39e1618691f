//! Error responses of the API as RFC 9457 problem details.
//!
//! A problem never reveals internals: a database error is logged under an id, and the response
//! contains only the id. Content of entries and events is never part of a problem.

use std::error::Error;
use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ken_remote::wire::problem::{CURSOR_UNKNOWN, QUOTA, RENAMED};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::blocking::BlockingTaskError;
use crate::clock;
use crate::config::QuotaExceeded;
use crate::database::{DatabaseError, HubName};
use crate::identity::{IdentityError, IssuerKeysError};
use crate::operator_log::{LoggedFailure, ProblemLog};
use crate::store::StoreError;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// `Retry-After` while the database is unavailable.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(2);

// One table, so that a kind cannot lack its status, slug, title or page.
macro_rules! problem_kinds {
    ($(#[$enum_doc:meta])* $kind:ident
     $($(#[$doc:meta])* $name:ident $status:ident $slug:tt $title:literal $text:literal,)*) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $($(#[$doc])* $name,)* }

        impl $kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the HTTP status of the kind.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// Returns the last segment of the kind's `type` URI.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// Returns the title, which is the same for every problem of the kind.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Returns the text of the kind's documentation page.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

problem_kinds! {
    /// Kind of a problem. Each kind has a documentation page below `/problems/`.
    Kind
    /// The request cannot be parsed.
    Malformed BAD_REQUEST "malformed" "malformed request"
        "The body is not valid JSON or is nested too deeply, or a header or parameter is invalid. Nothing was changed. Correct the request; the same request gets the same response again.",
    /// The token is missing or invalid.
    Unauthenticated UNAUTHORIZED "unauthenticated" "missing or invalid token"
        "Send `Authorization: Bearer TOKEN` with a token of this hub that is neither expired nor revoked, or with an access token of the issuer this hub trusts. An admin of your organization creates tokens with POST /v1/tokens or `ken hub token create`.",
    /// The caller's role does not allow the operation.
    Forbidden FORBIDDEN "forbidden" "your token does not permit this"
        "The token is valid, but its role or actor does not permit the request. Each operation in /v1/openapi.json names the role it requires: reader, agent, member, curator or admin. An admin can create a token with a higher role.",
    /// A quota of the organization is used up.
    Quota FORBIDDEN QUOTA "quota exceeded"
        "The hub limits the workspaces and tokens per organization, and the events and bytes per workspace. Nothing was changed. The operator of the hub can raise the quota.",
    /// The object does not exist, or belongs to another organization.
    NotFound NOT_FOUND "not-found" "not found"
        "The requested object does not exist, or your token has no access to it; the hub does not reveal which. GET /v1/workspaces lists the workspaces your token can access.",
    /// The workspace has another name now.
    Renamed NOT_FOUND RENAMED "workspace renamed"
        "The workspace was renamed; `name` has its new name. Use it in the address: in a clone run `ken remote remove NAME` and `ken remote add NAME URL`. Nothing is lost. The former name is answered like this for 30 days.",
    /// The path exists, but not with this method.
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "method not allowed"
        "See /v1/openapi.json for the methods of each path.",
    /// The body did not arrive in time.
    Timeout REQUEST_TIMEOUT "timeout" "the request arrived too slowly"
        "The body of the request did not arrive in time. Nothing was changed. Send it again; a push can be split into smaller ones.",
    /// The request conflicts with the current state.
    Conflict CONFLICT "conflict" "conflict with the current state"
        "The request conflicts with the current state of the hub. The detail names the conflict.",
    /// The cursor belongs to another history of the log.
    CursorUnknown CONFLICT CURSOR_UNKNOWN "unknown cursor"
        "The log has no such event at the position of the cursor: the hub was restored from an older backup, or the cursor belongs to another workspace. Pull again from cursor 0 and push your events; the verdict on events that the hub already has is `known`.",
    /// The body is too large.
    TooLarge PAYLOAD_TOO_LARGE "too-large" "request too large"
        "Send a smaller request. A push may contain at most 1,000 events and 8 MiB after decompression.",
    /// The body is not declared as JSON.
    MediaType UNSUPPORTED_MEDIA_TYPE "media-type" "the body must be JSON"
        "Send `Content-Type: application/json`, in UTF-8, compressed with gzip or not at all.",
    /// The body is valid JSON with invalid values.
    Invalid UNPROCESSABLE_ENTITY "invalid" "invalid request"
        "The body is valid JSON, but a member is missing, unknown or has an invalid value. The detail names it.",
    /// A ledger rule or the guard refused the write.
    Refused UNPROCESSABLE_ENTITY "refused" "request refused"
        "A rule of the ledger or the guard refused the request; the detail names the reason. The response to a push has a reason per event. Nothing was written. Refused events stay unchanged in your ledger.",
    /// The idempotency key was used for a different request.
    KeyReused UNPROCESSABLE_ENTITY "key-reused" "idempotency key used for another request"
        "A key belongs to the first request it was sent with. Use a new `Idempotency-Key` for each new request.",
    /// A rate or concurrency limit of the organization is exceeded.
    TooMany TOO_MANY_REQUESTS "too-many" "too many requests"
        "Retry after the number of seconds in `Retry-After`. Clients should add a short random delay.",
    /// The hub failed.
    Internal INTERNAL_SERVER_ERROR "internal" "internal error"
        "The hub failed; the request is not the cause. Send the id in `instance` to the operator of the hub, whose log has details under that id.",
    /// The database does not respond, or the process is overloaded or shutting down.
    Unavailable SERVICE_UNAVAILABLE "unavailable" "hub unavailable"
        "The database does not respond, the hub is shutting down, or it has too many requests. Retry after the number of seconds in `Retry-After`. You can repeat a push or a request with an `Idempotency-Key` safely: it takes effect at most once.",
}

impl Kind {
    /// Returns the kind with the given slug.
    #[must_use]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.slug() == slug)
    }
}

/// An error response.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    detail: String,
    failure: Option<Box<LoggedFailure>>,
    members: Map<String, Value>,
    retry_after: Option<Duration>,
    /// Value of `WWW-Authenticate`.
    challenge: Option<Box<str>>,
    /// Set if the request may or may not have taken effect.
    uncertain: Option<UncertainOutcome>,
}

/// Response extension: the request may or may not have taken effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct UncertainOutcome;

/// JSON body of a problem (RFC 9457). Some types add further members.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Address of the documentation of this kind of problem, relative to the hub.
    #[serde(rename = "type")]
    #[schema(example = "/problems/not-found")]
    pub kind: String,
    /// Short name of the kind.
    pub title: String,
    /// HTTP status of the response.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// Cause of this problem and the next step to take.
    pub detail: String,
    /// Id under which the hub's log has details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub instance: Option<String>,
}

impl Problem {
    /// Creates a problem. `detail` names the next step and contains only data the caller sent or
    /// may see.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            failure: None,
            members: Map::new(),
            retry_after: None,
            challenge: None,
            uncertain: None,
        }
    }

    /// Creates the response for an object that does not exist or that the token cannot access.
    ///
    /// Both cases get the same text, so a caller cannot probe for objects of others.
    #[must_use]
    pub fn not_found(object: &str) -> Self {
        Self::new(
            Kind::NotFound,
            format!("the {object} does not exist, or your token has no access to it"),
        )
    }

    /// Creates the response for the former name of a workspace.
    #[must_use]
    pub(super) fn renamed(now: &HubName) -> Self {
        let detail = format!("the workspace was renamed to `{now}`; use this name in the address");
        Self::new(Kind::Renamed, detail).with_member("name", json!(now.as_str()))
    }

    /// Creates the response for a body with invalid values.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, detail)
    }

    /// Creates the response for a missing or invalid token.
    pub(crate) fn unauthenticated(detail: impl Into<String>, challenge: String) -> Self {
        Self {
            challenge: Some(challenge.into()),
            ..Self::new(Kind::Unauthenticated, detail)
        }
    }

    /// Creates the response for an exceeded limit, with `Retry-After`.
    #[must_use]
    pub fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(Kind::TooMany, detail).with_retry_after(wait)
    }

    /// Creates the response for a temporary failure, with `Retry-After`.
    #[must_use]
    pub fn unavailable(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(Kind::Unavailable, detail).with_retry_after(wait)
    }

    /// Creates the response for an internal error: the error goes to the log, only its id to the
    /// caller.
    ///
    /// A transient database error is `ProblemKind::Unavailable`, any other error
    /// `ProblemKind::Internal`.
    #[must_use]
    pub fn internal(error: &(dyn Error + 'static)) -> Self {
        let id = clock::new_uuid();
        let chain = error_chain(error);
        let passing = is_transient(error);
        tracing::error!(problem = %id, error = %chain, passing, "request failed");
        let problem = if passing {
            Self::unavailable(
                "the database does not respond; retry shortly",
                UNAVAILABLE_RETRY,
            )
        } else {
            Self::new(
                Kind::Internal,
                "internal error; send the id in `instance` to the operator of the hub",
            )
        };
        Self {
            failure: Some(Box::new(LoggedFailure {
                instance: format!("urn:uuid:{id}"),
                cause: classify_error(error),
            })),
            ..problem
        }
    }

    /// Adds an extension member to the JSON body.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: Value) -> Self {
        self.members.insert(name.to_owned(), value);
        self
    }

    /// Sets `Retry-After`.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the detail text.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the JSON body.
    pub(crate) fn to_json(&self) -> Value {
        let status = self.kind.status().as_u16();
        let mut members = json!({
            "type": format!("/problems/{}", self.kind.slug()),
            "title": self.kind.title(),
            "status": status,
            "detail": self.detail,
        });
        if let Some(members) = members.as_object_mut() {
            if let Some(failed) = &self.failure {
                members.insert("instance".to_owned(), json!(failed.instance));
            }
            members.extend(self.members.clone());
        }
        members
    }
}

/// Classifies an error without quoting it, because a database message may contain tenant data.
fn classify_error(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return classify_sql_error(error);
        }
        next = error.source();
    }
    "internal error".to_owned()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named is the driver's"
)]
fn classify_sql_error(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code();
            format!("PostgreSQL {}", code.as_deref().unwrap_or("without a code"))
        }
        sqlx::Error::PoolTimedOut => "timeout while waiting for a database connection".to_owned(),
        sqlx::Error::PoolClosed => "the database connection pool is closed".to_owned(),
        sqlx::Error::Io(error) => format!("database connection: {}", error.kind()),
        _ => "database driver error".to_owned(),
    }
}

/// Formats an error and its sources in one line.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let text = error.to_string();
        // A transparent error has the same text as its source.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = error.source();
    }
    line
}

/// Returns whether a retry may succeed: the database was down or busy.
fn is_transient(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return is_transient_sql(error);
        }
        next = error.source();
    }
    false
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named will not pass by itself"
)]
fn is_transient_sql(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::WorkerCrashed => true,
        // SQLSTATE classes and codes: 08 connection lost, 53 out of resources, 57P server shutdown,
        // 40 serialization failure or deadlock, 55P03 lock timeout, 57014 query canceled, 25006
        // read-only server after a failover.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            ["08", "53", "57P", "40", "55P03", "57014", "25006"]
                .iter()
                .any(|class| code.starts_with(class))
        }),
        _ => false,
    }
}

impl From<BlockingTaskError> for Problem {
    fn from(error: BlockingTaskError) -> Self {
        Self::internal(&error)
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        Self::internal(&error)
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
        if matches!(error, DatabaseError::OnHold) {
            return Self::new(Kind::Conflict, error.to_string());
        }
        if matches!(error, DatabaseError::Warming) {
            return Self::unavailable(error.to_string(), UNAVAILABLE_RETRY);
        }
        let problem = Self::internal(&error);
        match error {
            // Unavailable even if the cause would not count as transient: the client must check
            // or repeat, and the marker keeps the idempotency key from being released.
            DatabaseError::Uncertain(_) => Self {
                detail: "the database connection was lost during the commit, so the outcome is unknown; you can repeat a push safely; check the result of any other request before you repeat it".to_owned(),
                uncertain: Some(UncertainOutcome),
                kind: Kind::Unavailable,
                retry_after: Some(UNAVAILABLE_RETRY),
                ..problem
            },
            DatabaseError::NoWorkspace
            | DatabaseError::NameIsId
            | DatabaseError::OnHold
            | DatabaseError::Warming
            | DatabaseError::Address(_)
            | DatabaseError::Connect(_)
            | DatabaseError::Query(_)
            | DatabaseError::Role { .. }
            | DatabaseError::NoRole(_)
            | DatabaseError::Behind { .. }
            | DatabaseError::Ahead { .. }
            | DatabaseError::TooOld { .. }
            | DatabaseError::Edited { .. }
            | DatabaseError::Migration { .. }
            | DatabaseError::Rebuild(_)
            | DatabaseError::Damaged(_) => problem,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database(error) => error.into(),
            StoreError::CursorUnknown(_) => Self::new(
                Kind::CursorUnknown,
                "the log of this hub does not contain the cursor; pull again from cursor 0 and push the events it lacks",
            ),
            error @ (StoreError::Damaged(_) | StoreError::BrokenOff(_)) => Self::internal(&error),
        }
    }
}

impl From<QuotaExceeded> for Problem {
    fn from(beyond: QuotaExceeded) -> Self {
        Self::new(Kind::Quota, beyond.to_string())
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        match error {
            IdentityError::Database(error) => error.into(),
            IdentityError::Sql(error) => error.into(),
            IdentityError::Keys(IssuerKeysError::Unreachable(why)) => {
                tracing::warn!(%why, "cannot authenticate the caller: the keys of the issuer are unavailable");
                Self::unavailable(
                    "the issuer of your access token does not respond; retry shortly",
                    UNAVAILABLE_RETRY,
                )
            }
            IdentityError::Keys(error) => Self::internal(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.to_json().to_string();
        let mut response = (self.kind.status(), body).into_response();
        // Extensions tell the idempotency and logging middleware about the problem. They are not
        // sent to the client.
        if let Some(uncertain) = self.uncertain {
            response.extensions_mut().insert(uncertain);
        }
        response.extensions_mut().insert(ProblemLog {
            slug: self.kind.slug(),
            failure: self.failure,
        });
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry_after {
            // `Retry-After` has whole seconds, and 0 would invite an immediate retry.
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
            assert_eq!(Kind::from_slug(kind.slug()), Some(*kind));
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
        let body = problem.to_json();
        assert!(!body.to_string().contains("password"), "{body}");
        assert!(
            body["instance"]
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
