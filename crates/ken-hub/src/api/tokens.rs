//! An organisation's tokens: made, listed and ended by its admins.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ken_core::actor::Actor;
use ken_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::App;
use super::body::{InPath, InQuery, JsonBody};
use super::caller::{Administers, As};
use super::idempotency::NotKept;
use super::page::{Page, Paging};
use super::problem::Problem;
use crate::identity::audit::Act;
use crate::identity::{Role, WorkspaceId, tokens};

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Token {
    #[schema(format = "uuid")]
    id: String,
    /// What people call it.
    name: String,
    /// In whose name it acts.
    #[schema(example = "agent:ci-reviewer")]
    actor: String,
    role: RoleName,
    /// The ids of the workspaces it reaches; absent where it reaches all.
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
}

/// What a token's bearer may do, each what those before it may.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub(super) enum RoleName {
    Reader,
    Agent,
    Curator,
    Admin,
}

/// A token that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewToken {
    /// What people call it.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    role: RoleName,
    /// In whose name it acts; an agent of the token's name without. Agents are never persons, curators and admins never
    /// agents; a person may have a token that only reads.
    #[schema(pattern = r"^(human|agent|ci|import|peer):\S{1,128}$")]
    actor: Option<String>,
    /// Names or ids of the workspaces it reaches; all without.
    #[schema(max_items = 1000)]
    workspaces: Option<Vec<String>>,
    /// Days it lasts; 90 without.
    #[schema(minimum = 1, maximum = 366)]
    expires_in_days: Option<u16>,
}

/// A new token with its secret, which is told this once.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MadeToken {
    /// What to send behind `Authorization: Bearer`. The hub keeps only a digest of it.
    #[schema(pattern = "^ken_[0-9a-z]{32}$")]
    secret: String,
    token: Token,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Reader => Self::Reader,
            RoleName::Agent => Self::Agent,
            RoleName::Curator => Self::Curator,
            RoleName::Admin => Self::Admin,
        }
    }
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Reader => Self::Reader,
            Role::Agent => Self::Agent,
            Role::Curator => Self::Curator,
            Role::Admin => Self::Admin,
        }
    }
}

impl Token {
    fn told(token: &tokens::Token) -> Self {
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let ids = |these: &Vec<WorkspaceId>| these.iter().map(|it| it.0.to_string()).collect();
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            actor: token.actor.to_string(),
            role: token.role.into(),
            workspaces: token.workspaces.as_ref().map(ids),
            created_at: token.created_at.to_string(),
            expires_at: text(token.expires_at),
            revoked_at: text(token.revoked_at),
        }
    }
}

/// Returns the routes of this file.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_tokens, create_token))
        .routes(routes!(revoke_token))
}

/// Lists the organisation's tokens, without their secrets, in the order they were made.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "list_tokens", tag = "tokens",
    security(("token" = ["admin"])), params(Paging),
    responses((status = 200, description = "A page of tokens.", body = Page<Token>)))]
async fn list_tokens(
    State(app): State<App>,
    it: As<Administers>,
    InQuery(paging): InQuery<Paging>,
) -> Result<Json<Page<Token>>, Problem> {
    let after = paging.id()?;
    let organisation = it.caller.organisation;
    let mut tx = app.database.organisation(organisation).await?;
    let found = tokens::list(&mut tx, after, paging.limit + 1).await?;
    tx.commit().await?;
    let page = Page::of(found, paging.limit, |token| token.id.to_string());
    Ok(Json(page.map(|token| Token::told(&token))))
}

/// Makes a token. Its secret is told in this answer and never again.
///
/// The answer is not kept for an `Idempotency-Key`: a second request under the same key learns that the first was
/// carried out.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "create_token", tag = "tokens",
    security(("token" = ["admin"])), request_body = NewToken,
    responses((status = 201, description = "It was made.", body = MadeToken)))]
async fn create_token(
    State(app): State<App>,
    it: As<Administers>,
    JsonBody(new): JsonBody<NewToken>,
) -> Result<Response, Problem> {
    let caller = it.caller;
    let actor = new.actor.as_deref().map(str::parse::<Actor>).transpose();
    let actor = actor.map_err(|error| Problem::invalid(error.to_string()))?;
    let wish = tokens::NewToken {
        name: Some(new.name),
        role: new.role.into(),
        actor,
        workspaces: new.workspaces,
        days: new.expires_in_days.unwrap_or(tokens::DAYS),
    };
    let mut tx = app.database.organisation(caller.organisation).await?;
    let max = app.settings.quotas.tokens;
    let (token, secret) = tokens::make(&mut tx, wish, max).await?;
    tx.audit(&caller, Act::TokenCreated, &token).await?;
    tx.commit().await?;
    let told = MadeToken {
        secret: secret.reveal().to_owned(),
        token: Token::told(&token),
    };
    let mut response = (StatusCode::CREATED, Json(told)).into_response();
    response.extensions_mut().insert(NotKept);
    Ok(response)
}

/// Ends a token now. A token that has ended stays as it is.
#[utoipa::path(delete, path = "/v1/tokens/{token}", operation_id = "revoke_token", tag = "tokens",
    security(("token" = ["admin"])),
    params(("token" = String, Path, description = "Its id.")),
    responses((status = 200, description = "It opens nothing any more.", body = Token)))]
async fn revoke_token(
    State(app): State<App>,
    it: As<Administers>,
    InPath(id): InPath<String>,
) -> Result<Json<Token>, Problem> {
    let missing = || Problem::not_found("token");
    let id = Uuid::try_parse(&id).map_err(|_| missing())?;
    let mut tx = app.database.organisation(it.caller.organisation).await?;
    let token = tokens::revoke(&mut tx, id, app.world.now()).await?;
    let token = token.ok_or_else(missing)?;
    tx.audit(&it.caller, Act::TokenRevoked, &token).await?;
    tx.commit().await?;
    Ok(Json(Token::told(&token)))
}

impl From<tokens::NewTokenError> for Problem {
    fn from(error: tokens::NewTokenError) -> Self {
        use tokens::NewTokenError;
        match error {
            NewTokenError::Name
            | NewTokenError::Days
            | NewTokenError::NoActor
            | NewTokenError::Misfit(_)
            | NewTokenError::Workspaces
            | NewTokenError::NoWorkspace(_) => Self::invalid(error.to_string()),
            NewTokenError::Beyond(beyond) => beyond.into(),
            NewTokenError::Identity(error) => error.into(),
            NewTokenError::Database(error) => error.into(),
        }
    }
}
