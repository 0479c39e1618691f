//! Token endpoints for admins: list, create, rotate, revoke.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::AppState;
use super::body::{JsonBody, PathParams, QueryParams};
use super::caller::{AtLeastAdmin, RequireRole};
use super::idempotency::SecretResponse;
use super::page::{ListPage, PageParams};
use super::problem::{Kind, Problem};
use crate::database::OrganizationTx;
use crate::database::audit::AuditAction;
use crate::identity::tokens::TokenRecord;
use crate::identity::{AuthenticatedCaller, TokenSecret, tokens};
use crate::ids::{Role, WorkspaceId};

/// A token without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TokenResponse)]
pub(super) struct TokenResponse {
    #[schema(format = "uuid")]
    id: String,
    /// Display name.
    name: String,
    /// Actor the token acts as.
    #[schema(example = "agent:ci-reviewer")]
    actor: String,
    role: RoleParam,
    /// Stronger roles in single workspaces, by id. Absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    workspace_roles: BTreeMap<String, RoleParam>,
    /// Ids of the workspaces it can access. Absent if it can access all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    workspaces: Option<Vec<String>>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_at: Option<String>,
    /// Time of its last use, up to an hour too early. Absent if it was never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    used_at: Option<String>,
}

/// Role of a token. Each role includes the permissions of the roles before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub(super) enum RoleParam {
    /// Another organization, which reads publications and nothing else.
    Peer,
    Reader,
    Agent,
    Member,
    Curator,
    Admin,
}

/// Request body for a new token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateTokenBody)]
pub(super) struct CreateTokenBody {
    /// Display name.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    role: RoleParam,
    /// Actor the token acts as. Default: an agent with the token's name. The role agent is not
    /// allowed for a person, member only for a person, and curator and admin not for an agent; a
    /// person may have a reader token.
    #[schema(pattern = r"^(human|agent|ci|import|peer):\S{1,128}$")]
    actor: Option<String>,
    /// Names or ids of the workspaces it can access. Default: all.
    #[schema(max_items = 1000)]
    workspaces: Option<Vec<String>>,
    /// Stronger roles in single workspaces, by name or id. Not admin.
    workspace_roles: Option<BTreeMap<String, RoleParam>>,
    /// Days until it expires. Default: 90.
    #[schema(minimum = 1, maximum = 366)]
    expires_in_days: Option<u16>,
}

/// A new token with its secret, which no later response repeats.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreateTokenResponse)]
pub(super) struct CreateTokenResponse {
    /// Value to send as `Authorization: Bearer SECRET`. The hub stores only a digest of it.
    #[schema(pattern = "^ken_[0-9a-z]{32}$")]
    secret: String,
    token: TokenResponse,
}

/// Request body for the rotation of a token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RotateTokenBody)]
pub(super) struct RotateTokenBody {
    /// Hours in which the old token stays valid. 0 revokes it at once. Default: 24.
    #[schema(minimum = 0, maximum = 168)]
    overlap_hours: Option<u16>,
}

/// Request body that names an actor.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeTokensBody)]
pub(super) struct RevokeTokensBody {
    /// Actor whose tokens are revoked.
    #[schema(
        example = "human:ada@example.org",
        pattern = r"^(human|agent|ci|import|peer):\S{1,128}$"
    )]
    actor: String,
}

/// Revoked tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevokedTokensResponse)]
pub(super) struct RevokedTokensResponse {
    items: Vec<TokenResponse>,
}

impl From<RoleParam> for Role {
    fn from(name: RoleParam) -> Self {
        match name {
            RoleParam::Peer => Self::Peer,
            RoleParam::Reader => Self::Reader,
            RoleParam::Agent => Self::Agent,
            RoleParam::Member => Self::Member,
            RoleParam::Curator => Self::Curator,
            RoleParam::Admin => Self::Admin,
        }
    }
}

impl From<Role> for RoleParam {
    fn from(role: Role) -> Self {
        match role {
            Role::Peer => Self::Peer,
            Role::Reader => Self::Reader,
            Role::Agent => Self::Agent,
            Role::Member => Self::Member,
            Role::Curator => Self::Curator,
            Role::Admin => Self::Admin,
        }
    }
}

impl TokenResponse {
    fn from_token(token: &TokenRecord) -> Self {
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let ids = |ids: &Vec<WorkspaceId>| ids.iter().map(|id| id.0.to_string()).collect();
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            actor: token.actor.to_string(),
            role: token.role.into(),
            workspace_roles: token
                .workspace_roles
                .iter()
                .map(|(workspace, role)| (workspace.0.to_string(), role.into()))
                .collect(),
            workspaces: token.workspaces.as_ref().map(ids),
            created_at: token.created_at.to_string(),
            expires_at: text(token.expires_at),
            revoked_at: text(token.revoked_at),
            used_at: text(token.used_at),
        }
    }
}

/// Returns the token routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_tokens, create_token))
        .routes(routes!(revoke_tokens))
        .routes(routes!(revoke_token))
        .routes(routes!(rotate_token))
}

/// Lists the organization's tokens without their secrets, oldest first.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "list_tokens", tag = "tokens",
    security(("token" = ["admin"])), params(PageParams),
    responses((status = 200, description = "A page of tokens.", body = ListPage<TokenResponse>)))]
async fn list_tokens(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    QueryParams(paging): QueryParams<PageParams>,
) -> Result<Json<ListPage<TokenResponse>>, Problem> {
    let after = paging.after_id()?;
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let found = tokens::list(&mut tx, after, paging.limit + 1).await?;
    tx.commit().await?;
    let page = ListPage::from_items(found, paging.limit, |token| token.id.to_string());
    Ok(Json(page.map(|token| TokenResponse::from_token(&token))))
}

/// Creates a token. Only this response contains its secret.
///
/// The response is not stored for an `Idempotency-Key`: a second request with the same key is
/// answered with a conflict that says that the first one succeeded.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "create_token", tag = "tokens",
    security(("token" = ["admin"])), request_body = CreateTokenBody,
    responses((status = 201, description = "The token was created.", body = CreateTokenResponse)))]
async fn create_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<CreateTokenBody>,
) -> Result<Response, Problem> {
    let caller = access.caller;
    let actor = body.actor.as_deref().map(str::parse::<Actor>).transpose();
    let actor = actor.map_err(|error| Problem::invalid(error.to_string()))?;
    let request = tokens::TokenSpec {
        name: Some(body.name),
        role: body.role.into(),
        actor,
        workspaces: body.workspaces,
        workspace_roles: body
            .workspace_roles
            .unwrap_or_default()
            .into_iter()
            .map(|(workspace, role)| (workspace, role.into()))
            .collect(),
        days: body.expires_in_days.unwrap_or(tokens::DAYS),
    };
    let (token, secret) = issue_token(&app, &caller, request).await?;
    Ok(secret_response(&token, &secret))
}

/// Issues a token for an admin.
pub(crate) async fn issue_token(
    app: &AppState,
    caller: &AuthenticatedCaller,
    request: tokens::TokenSpec,
) -> Result<(TokenRecord, TokenSecret), Problem> {
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let max = app.settings.quotas.tokens;
    ensure_still_valid(&mut tx, caller).await?;
    let (token, secret) = tokens::issue(&mut tx, request, max).await?;
    ensure_may_hold(caller, &token)?;
    tx.audit(caller, AuditAction::TokenCreated, &token).await?;
    // Commit before the response is built: the secret must not leave the hub for a token that a
    // failed commit would discard.
    tx.commit().await?;
    Ok((token, secret))
}

/// Refuses a caller whose own token was revoked since it authenticated.
async fn ensure_still_valid(
    tx: &mut OrganizationTx,
    caller: &AuthenticatedCaller,
) -> Result<(), Problem> {
    if tokens::is_still_valid(tx, caller).await? {
        return Ok(());
    }
    Err(Problem::new(
        Kind::Forbidden,
        "the token is no longer valid",
    ))
}

/// Refuses a program the secret of a person's token: it could decide in that person's name.
fn ensure_may_hold(caller: &AuthenticatedCaller, token: &TokenRecord) -> Result<(), Problem> {
    if token.actor.is_human() && !caller.actor.is_human() {
        let detail = "creating or rotating the token of a person requires a person";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok(())
}

/// Returns the response with a new token and its secret.
fn secret_response(token: &TokenRecord, secret: &TokenSecret) -> Response {
    let created = CreateTokenResponse {
        secret: secret.reveal().to_owned(),
        token: TokenResponse::from_token(token),
    };
    let mut response = (StatusCode::CREATED, Json(created)).into_response();
    // The idempotency table must not contain the secret in plain text.
    response.extensions_mut().insert(SecretResponse);
    response
}

/// Replaces a token by a new one with the same name, actor, role, workspaces and lifetime. Only
/// this response contains its secret. The old token stays valid for the overlap.
#[utoipa::path(post, path = "/v1/tokens/{token}/rotate", operation_id = "rotate_token", tag = "tokens",
    security(("token" = ["admin"])), request_body = RotateTokenBody,
    params(("token" = String, Path, description = "Id of the token.")),
    responses((status = 201, description = "The new token.", body = CreateTokenResponse)))]
async fn rotate_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RotateTokenBody>,
) -> Result<Response, Problem> {
    let overlap = body.overlap_hours.unwrap_or(tokens::OVERLAP_HOURS);
    let rotated = replace_token(&app, &access.caller, &id, overlap).await?;
    Ok(secret_response(&rotated.new, &rotated.secret))
}

/// Replaces a token for an admin.
pub(crate) async fn replace_token(
    app: &AppState,
    caller: &AuthenticatedCaller,
    id: &str,
    overlap_hours: u16,
) -> Result<tokens::RotatedToken, Problem> {
    let id = Uuid::try_parse(id).map_err(|_| Problem::not_found("token"))?;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let max = app.settings.quotas.tokens;
    ensure_still_valid(&mut tx, caller).await?;
    let rotated = tokens::rotate(&mut tx, id, overlap_hours, max).await?;
    ensure_may_hold(caller, &rotated.new)?;
    tx.audit(caller, AuditAction::TokenRotated, &rotated)
        .await?;
    tx.commit().await?;
    Ok(rotated)
}

/// Revokes all tokens of an actor immediately, for instance of a person who leaves. Access tokens
/// of an OpenID Connect issuer end with the account there.
#[utoipa::path(post, path = "/v1/tokens/revoke", operation_id = "revoke_tokens", tag = "tokens",
    security(("token" = ["admin"])), request_body = RevokeTokensBody,
    responses((status = 200, description = "The tokens that were revoked.", body = RevokedTokensResponse)))]
async fn revoke_tokens(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<RevokeTokensBody>,
) -> Result<Json<RevokedTokensResponse>, Problem> {
    let revoked = revoke_tokens_of(&app, &access.caller, &body.actor).await?;
    let items = revoked.iter().map(TokenResponse::from_token).collect();
    Ok(Json(RevokedTokensResponse { items }))
}

/// Revokes all tokens of an actor and ends its sign-ins, for an admin.
pub(crate) async fn revoke_tokens_of(
    app: &AppState,
    caller: &AuthenticatedCaller,
    actor: &str,
) -> Result<Vec<TokenRecord>, Problem> {
    let actor: Actor = actor
        .parse()
        .map_err(|error: ken_core::values::actor::ActorError| {
            Problem::invalid(error.to_string())
        })?;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let revoked = tokens::revoke_actor(&mut tx, &actor, app.clock.now()).await?;
    for token in &revoked {
        tx.audit(caller, AuditAction::TokenRevoked, token).await?;
    }
    tx.audit(caller, AuditAction::SignedOut, &actor).await?;
    tx.commit().await?;
    Ok(revoked)
}

/// Revokes a token immediately. A revoked token keeps its time of revocation.
#[utoipa::path(delete, path = "/v1/tokens/{token}", operation_id = "revoke_token", tag = "tokens",
    security(("token" = ["admin"])),
    params(("token" = String, Path, description = "Id of the token.")),
    responses((status = 200, description = "The token is revoked.", body = TokenResponse)))]
async fn revoke_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    PathParams(id): PathParams<String>,
) -> Result<Json<TokenResponse>, Problem> {
    let token = revoke_token_by_id(&app, &access.caller, &id).await?;
    Ok(Json(TokenResponse::from_token(&token)))
}

/// Revokes a token for an admin.
pub(crate) async fn revoke_token_by_id(
    app: &AppState,
    caller: &AuthenticatedCaller,
    id: &str,
) -> Result<TokenRecord, Problem> {
    let missing = || Problem::not_found("token");
    let id = Uuid::try_parse(id).map_err(|_| missing())?;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let revoked = tokens::revoke(&mut tx, id, app.clock.now()).await?;
    let token = revoked.ok_or_else(missing)?;
    tx.audit(caller, AuditAction::TokenRevoked, &token).await?;
    tx.commit().await?;
    Ok(token)
}

impl From<tokens::RotateTokenError> for Problem {
    fn from(error: tokens::RotateTokenError) -> Self {
        use tokens::RotateTokenError;
        match error {
            RotateTokenError::NoToken => Self::not_found("token"),
            RotateTokenError::Ended => Self::new(Kind::Conflict, error.to_string()),
            RotateTokenError::Overlap => Self::invalid(error.to_string()),
            RotateTokenError::QuotaExceeded(beyond) => beyond.into(),
            RotateTokenError::Identity(error) => error.into(),
        }
    }
}

impl From<tokens::IssueTokenError> for Problem {
    fn from(error: tokens::IssueTokenError) -> Self {
        use tokens::IssueTokenError;
        match error {
            IssueTokenError::Name
            | IssueTokenError::Days
            | IssueTokenError::NoActor
            | IssueTokenError::Actor
            | IssueTokenError::PersonName
            | IssueTokenError::RoleMismatch(_)
            | IssueTokenError::Workspaces
            | IssueTokenError::WorkspaceAdmin
            | IssueTokenError::Blocked(_)
            | IssueTokenError::NoWorkspace(_) => Self::invalid(error.to_string()),
            IssueTokenError::QuotaExceeded(beyond) => beyond.into(),
            IssueTokenError::Identity(error) => error.into(),
            IssueTokenError::Database(error) => error.into(),
        }
    }
}
