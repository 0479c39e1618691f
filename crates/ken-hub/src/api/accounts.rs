//! Account and session endpoints for admins: list, describe, block and unblock; list and end
//! sign-ins.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::values::actor::{Actor, ActorError};
use ken_core::values::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::AppState;
use super::body::{JsonBody, PathParams, QueryParams};
use super::caller::{AtLeastAdmin, RequireRole};
use super::page::{ListPage, PageParams, default_limit, deserialize_limit};
use super::problem::{Kind, Problem};
use crate::database::audit::AuditAction;
use crate::identity::accounts::{self, AccountDescription, AccountError, AccountRecord};
use crate::identity::sign_ins::{self, SignInRecord};

/// An actor with a token, a sign-in, an owner or a block.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AccountResponse)]
struct AccountResponse {
    #[schema(example = "ci:main")]
    actor: String,
    /// Person responsible for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// Time from which it is blocked. Absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    blocked_at: Option<String>,
    /// Number of valid tokens.
    tokens: u64,
    /// Number of sign-ins in browsers.
    sessions: u64,
    /// Time of the latest use of a token or sign-in, up to an hour too early.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    used_at: Option<String>,
    /// True if the owner is blocked.
    orphaned: bool,
}

/// Request body that describes an account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DescribeAccountBody)]
struct DescribeAccountBody {
    #[schema(
        example = "ci:main",
        pattern = r"^(human|agent|ci|import|peer):\S{1,128}$"
    )]
    actor: String,
    /// Person responsible for it.
    #[schema(example = "human:ada@example.org", pattern = r"^human:\S{1,128}$")]
    owner: Option<String>,
    #[schema(max_length = 500)]
    description: Option<String>,
}

/// Request body that names an account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccountBody)]
struct AccountBody {
    #[schema(
        example = "human:ada@example.org",
        pattern = r"^(human|agent|ci|import|peer):\S{1,128}$"
    )]
    actor: String,
}

/// What ended with a block.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BlockedAccountResponse)]
struct BlockedAccountResponse {
    actor: String,
    /// Ids of the tokens that were revoked.
    revoked_tokens: Vec<String>,
    /// Programs that the actor is responsible for. They are not blocked.
    owned: Vec<String>,
}

/// A sign-in of a person in a browser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionResponse)]
struct SessionResponse {
    #[schema(format = "uuid")]
    id: String,
    actor: String,
    created_at: String,
    used_at: String,
    expires_at: String,
    /// True if it was made with a token of the hub, not by an identity provider.
    has_token: bool,
    /// Address of the browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<String>,
}

/// Filter of sessions.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionParams {
    /// Only sessions of this actor.
    #[serde(default)]
    #[param(max_length = 200, nullable = false)]
    actor: Option<String>,
    /// Start of the page: `next` of the previous page. Omit it for the first page.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    after: Option<String>,
    /// Maximum number of items.
    #[serde(default = "default_limit", deserialize_with = "deserialize_limit")]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u32,
}

impl AccountResponse {
    fn from_record(account: &AccountRecord) -> Self {
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        Self {
            actor: account.actor.to_string(),
            owner: account.owner.as_ref().map(ToString::to_string),
            description: account.description.clone(),
            blocked_at: text(account.blocked_at),
            tokens: account.tokens,
            sessions: account.sign_ins,
            used_at: text(account.used_at),
            orphaned: account.is_orphaned,
        }
    }
}

impl SessionResponse {
    fn from_record(session: SignInRecord) -> Self {
        Self {
            id: session.id.to_string(),
            actor: session.actor,
            created_at: session.created_at.to_string(),
            used_at: session.used_at.to_string(),
            expires_at: session.expires_at.to_string(),
            has_token: session.has_token,
            address: session.address,
        }
    }
}

/// Returns the routes of accounts and sessions.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_accounts, describe_account))
        .routes(routes!(block_account))
        .routes(routes!(unblock_account))
        .routes(routes!(list_sessions))
        .routes(routes!(end_session))
}

fn parse_actor(text: &str) -> Result<Actor, Problem> {
    text.parse()
        .map_err(|error: ActorError| Problem::invalid(error.to_string()))
}

/// Lists every actor with a valid token, a sign-in, an owner or a block, sorted by actor.
#[utoipa::path(get, path = "/v1/accounts", operation_id = "list_accounts", tag = "accounts",
    security(("token" = ["admin"])), params(PageParams),
    responses((status = 200, description = "A page of accounts.", body = ListPage<AccountResponse>)))]
async fn list_accounts(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    QueryParams(paging): QueryParams<PageParams>,
) -> Result<Json<ListPage<AccountResponse>>, Problem> {
    // The list continues after an actor, so only the name of one is a position in it.
    let after = paging.after.as_deref().map(parse_actor).transpose()?;
    let after = after.map(|it| it.to_string());
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let found = accounts::list(&mut tx, after.as_deref(), paging.limit + 1).await?;
    tx.commit().await?;
    let page = ListPage::from_items(found, paging.limit, |it| it.actor.to_string());
    Ok(Json(page.map(|it| AccountResponse::from_record(&it))))
}

/// Sets who is responsible for an account, and what it is for.
#[utoipa::path(post, path = "/v1/accounts", operation_id = "describe_account", tag = "accounts",
    security(("token" = ["admin"])), request_body = DescribeAccountBody,
    responses((status = 204, description = "The account is described.")))]
async fn describe_account(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<DescribeAccountBody>,
) -> Result<StatusCode, Problem> {
    let caller = access.caller;
    let account = AccountDescription {
        actor: parse_actor(&body.actor)?,
        owner: body.owner.as_deref().map(parse_actor).transpose()?,
        description: body.description,
    };
    let mut tx = app.database.begin_organization(caller.organization).await?;
    accounts::describe(&mut tx, &account).await?;
    tx.audit(&caller, AuditAction::AccountChanged, &account.actor)
        .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Blocks an account: its tokens and sign-ins end now, it gets no new ones, and access tokens of an
/// OpenID Connect issuer are refused from the next request on.
#[utoipa::path(post, path = "/v1/accounts/block", operation_id = "block_account", tag = "accounts",
    security(("token" = ["admin"])), request_body = AccountBody,
    responses((status = 200, description = "The account is blocked.", body = BlockedAccountResponse)))]
async fn block_account(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<Json<BlockedAccountResponse>, Problem> {
    let caller = access.caller;
    let actor = parse_actor(&body.actor)?;
    if actor == caller.actor {
        let detail = "you cannot block yourself; ask another admin";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let ended = accounts::block(&mut tx, &actor).await?;
    for token in &ended.tokens {
        tx.audit(&caller, AuditAction::TokenRevoked, token).await?;
    }
    tx.audit(&caller, AuditAction::AccountBlocked, &actor)
        .await?;
    tx.commit().await?;
    Ok(Json(BlockedAccountResponse {
        actor: actor.to_string(),
        revoked_tokens: ended.tokens.iter().map(|it| it.id.to_string()).collect(),
        owned: ended.owned.iter().map(ToString::to_string).collect(),
    }))
}

/// Lets an account get tokens and sign in again. Ended tokens stay revoked.
#[utoipa::path(post, path = "/v1/accounts/unblock", operation_id = "unblock_account", tag = "accounts",
    security(("token" = ["admin"])), request_body = AccountBody,
    responses((status = 204, description = "The account is not blocked.")))]
async fn unblock_account(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<StatusCode, Problem> {
    let caller = access.caller;
    let actor = parse_actor(&body.actor)?;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    if accounts::unblock(&mut tx, &actor).await? {
        tx.audit(&caller, AuditAction::AccountUnblocked, &actor)
            .await?;
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists sign-ins of people in browsers, newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", tag = "accounts",
    security(("token" = ["admin"])), params(SessionParams),
    responses((status = 200, description = "A page of sessions.", body = ListPage<SessionResponse>)))]
async fn list_sessions(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    QueryParams(params): QueryParams<SessionParams>,
) -> Result<Json<ListPage<SessionResponse>>, Problem> {
    let actor = params.actor.as_deref().map(parse_actor).transpose()?;
    let (limit, after) = (params.limit, params.after);
    let before = PageParams { after, limit }.after_id()?;
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let page = (before, i64::from(limit) + 1);
    let found = sign_ins::list_page(&mut tx, actor.as_ref(), page).await?;
    tx.commit().await?;
    let page = ListPage::from_items(found, limit, |it| it.id.to_string());
    Ok(Json(page.map(SessionResponse::from_record)))
}

/// Ends a sign-in of a person in a browser.
#[utoipa::path(delete, path = "/v1/sessions/{session}", operation_id = "end_session", tag = "accounts",
    security(("token" = ["admin"])),
    params(("session" = String, Path, description = "Id of the session.")),
    responses((status = 204, description = "The session ended.")))]
async fn end_session(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, Problem> {
    let missing = || Problem::not_found("session");
    let id = Uuid::try_parse(&id).map_err(|_| missing())?;
    let caller = access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let actor = sign_ins::end(&mut tx, id).await?.ok_or_else(missing)?;
    tx.audit(&caller, AuditAction::SignedOut, &actor).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Owner | AccountError::Description => Self::invalid(error.to_string()),
            AccountError::Identity(error) => error.into(),
        }
    }
}
