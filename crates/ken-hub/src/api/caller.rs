//! Authentication and authorization extractors.
//!
//! [`RequireRole`] yields the caller, [`RequireWorkspaceRole`] also the workspace of the path. Both
//! have the minimum role as a type parameter, so no handler can omit the check. A workspace of
//! another organization gets exactly the response of a missing one.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::RequestPartsExt as _;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use uuid::Uuid;

use super::AppState;
use super::admission::limit_owner;
use super::problem::{Kind, Problem};
use super::refusals::RefusalContext;
use crate::config::client_address;
use crate::database::HubName;
use crate::identity::{AuthRefusal, AuthenticatedCaller, TokenSecret};
use crate::ids::{OrganizationId, Role, WorkspaceId};
use crate::limits::{CallerKey, RequestSlot};

/// Header in which proxies name the addresses they saw.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Address of the other end of a connection: a client or a proxy.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress(pub IpAddr);

/// A minimum role as a type.
pub trait MinimumRole: Send + Sync + 'static {
    /// The weakest role that is allowed.
    const ROLE: Role;
}

/// Requires at least a reader.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastReader;

impl MinimumRole for AtLeastReader {
    const ROLE: Role = Role::Reader;
}

/// Requires at least an agent, which writes events of its own.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastAgent;

impl MinimumRole for AtLeastAgent {
    const ROLE: Role = Role::Agent;
}

/// Requires at least a member, a person who decides in their own name.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastMember;

impl MinimumRole for AtLeastMember {
    const ROLE: Role = Role::Member;
}

/// Requires at least a curator, which decides on behalf of people.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastCurator;

impl MinimumRole for AtLeastCurator {
    const ROLE: Role = Role::Curator;
}

/// Requires an admin. [`RequireRole`] also requires a token that is not restricted to workspaces.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastAdmin;

impl MinimumRole for AtLeastAdmin {
    const ROLE: Role = Role::Admin;
}

/// An authenticated caller with at least the role `N`.
#[derive(Clone, Debug)]
pub struct RequireRole<N> {
    pub caller: AuthenticatedCaller,
    needs: PhantomData<N>,
}

/// An authenticated caller with at least the role `N`, and the workspace of the path.
#[derive(Clone, Debug)]
pub struct RequireWorkspaceRole<N> {
    pub caller: AuthenticatedCaller,
    pub workspace: WorkspaceId,
    needs: PhantomData<N>,
}

/// Name of the path parameter for a workspace.
pub const WORKSPACE_PARAM: &str = "workspace";

impl<N: MinimumRole> FromRequestParts<AppState> for RequireRole<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Problem> {
        let caller = authenticate(parts, app).await?;
        ensure_role(&caller, N::ROLE)?;
        // A restricted token could otherwise create an unrestricted one.
        if N::ROLE == Role::Admin {
            ensure_unrestricted(&caller)?;
        }
        Ok(Self {
            caller,
            needs: PhantomData,
        })
    }
}

impl<N: MinimumRole> FromRequestParts<AppState> for RequireWorkspaceRole<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Problem> {
        let caller = authenticate(parts, app).await?;
        let param = workspace_param(parts).await;
        let reference = param.ok_or_else(|| Problem::not_found(WORKSPACE_PARAM))?;
        // Before the role check: "forbidden" would reveal that the workspace exists.
        let workspace = resolve_workspace(app, &caller, &reference).await?;
        if let Some(refusals) = parts.extensions.get::<RefusalContext>() {
            refusals.set_workspace(workspace);
        }
        let caller = caller.in_workspace(workspace);
        ensure_role(&caller, N::ROLE)?;
        Ok(Self {
            caller,
            workspace,
            needs: PhantomData,
        })
    }
}

/// Authenticates the caller and applies the rate limits of its token and organization.
///
/// The result is stored in the request's extensions, so a request authenticates and counts only
/// once. Middleware calls this function; handlers use [`RequireRole`] or [`RequireWorkspaceRole`].
pub async fn authenticate(
    parts: &mut Parts,
    app: &AppState,
) -> Result<AuthenticatedCaller, Problem> {
    if let Some(caller) = parts.extensions.get::<AuthenticatedCaller>() {
        return Ok(caller.clone());
    }
    let (caller, key) = verify_token(app, &parts.headers).await?;
    admit_caller(parts, app, caller, key).await
}

/// Applies the rate limits of an authenticated caller and stores it in the request's extensions.
///
/// For [`authenticate`], and for requests that a sign-in authenticated.
pub(crate) async fn admit_caller(
    parts: &mut Parts,
    app: &AppState,
    mut caller: AuthenticatedCaller,
    key: CallerKey,
) -> Result<AuthenticatedCaller, Problem> {
    caller.address = request_address(parts, app);
    // First, so that the log names the organization of a request that a limit rejects.
    if let Some(slot) = parts.extensions.get::<RequestSlot>() {
        slot.set_organization(caller.organization);
        slot.set_token(caller.token);
    }
    // Cached, so that rate limiting itself does not cost a query per request.
    if app.limiter.cached_rate(caller.organization).is_none() {
        let mut tx = app.database.begin_organization(caller.organization).await?;
        let organization = tx.organization().await?;
        tx.commit().await?;
        let own = organization.and_then(|row| row.quotas.requests_per_minute);
        app.limiter.cache_rate(caller.organization, own);
    }
    app.limiter.consume_rate(key).map_err(|exceeded| {
        let seconds = exceeded.wait.as_secs_f64().ceil().max(1.0);
        let whose = limit_owner(&exceeded);
        let detail = format!("{whose} exceeded its request rate; retry in {seconds} s");
        Problem::too_many(detail, exceeded.wait)
    })?;
    parts.extensions.insert(key);
    if let Some(refusals) = parts.extensions.get::<RefusalContext>() {
        refusals.set_caller(&caller);
    }
    parts.extensions.insert(caller.clone());
    Ok(caller)
}

/// Returns the key that a caller's limits are counted under: the token itself, or the actor of an
/// issuer's tokens, of which a client can get as many as it likes.
fn caller_key(caller: &AuthenticatedCaller, token: &str) -> CallerKey {
    match TokenSecret::parse(token) {
        Some(secret) => digest_key(caller, secret.digest()),
        None => actor_key(caller),
    }
}

/// Returns the key of a caller whose limits are counted by its actor.
pub(crate) fn actor_key(caller: &AuthenticatedCaller) -> CallerKey {
    let digest = *blake3::hash(caller.actor.to_string().as_bytes()).as_bytes();
    digest_key(caller, digest)
}

fn digest_key(caller: &AuthenticatedCaller, digest: [u8; 32]) -> CallerKey {
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    CallerKey {
        organization: caller.organization,
        digest: short,
    }
}

/// Returns the address that a request came from.
pub(crate) fn request_address(parts: &Parts, app: &AppState) -> Option<IpAddr> {
    let PeerAddress(peer) = parts.extensions.get::<PeerAddress>()?;
    let forwarded = parts.headers.get_all(FORWARDED_FOR).iter();
    let forwarded: Vec<&str> = forwarded.filter_map(|it| it.to_str().ok()).collect();
    let proxies = &app.settings.trusted_proxies;
    Some(client_address(proxies, *peer, &forwarded))
}

/// Resolves a workspace by name or id and checks that the caller has access to it.
pub async fn resolve_workspace(
    app: &AppState,
    caller: &AuthenticatedCaller,
    named: &str,
) -> Result<WorkspaceId, Problem> {
    let missing = || Problem::not_found(WORKSPACE_PARAM);
    let workspace = match app.workspace_cache.get(caller.organization, named) {
        Some(cached) => cached,
        None => {
            let found = find_workspace(app, caller, named).await?;
            // A missing workspace is not cached: it may be created at any moment.
            let workspace = found.ok_or_else(missing)?;
            app.workspace_cache
                .put(caller.organization, named, workspace);
            workspace
        }
    };
    // The cache is shared by all callers of the organization, so access is checked on every hit.
    if !caller.may_enter(workspace) {
        return Err(missing());
    }
    Ok(workspace)
}

async fn find_workspace(
    app: &AppState,
    caller: &AuthenticatedCaller,
    named: &str,
) -> Result<Option<WorkspaceId>, Problem> {
    // An invalid name never reaches the database: PostgreSQL fails on a text with a NUL character,
    // which would be reported as an internal error.
    if !is_workspace_reference(named) {
        return Ok(None);
    }
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let found = tx.workspace(named).await?;
    let renamed = match &found {
        Some(_) => None,
        None => tx.renamed_workspace(named).await?,
    };
    tx.commit().await?;
    // A caller without access learns of no rename.
    if let Some((_, now)) = renamed.filter(|(id, _)| caller.may_enter(*id)) {
        return Err(Problem::renamed(&now));
    }
    Ok(found.map(|row| row.id))
}

/// Rejects a caller whose token is restricted to certain workspaces.
pub(super) fn ensure_unrestricted(caller: &AuthenticatedCaller) -> Result<(), Problem> {
    if caller.workspaces.is_some() {
        return Err(Problem::new(
            Kind::Forbidden,
            "this operation needs access to the whole organization, and your token is restricted to certain workspaces; use an unrestricted token",
        ));
    }
    Ok(())
}

/// Rejects a caller whose role is too weak.
pub fn ensure_role(caller: &AuthenticatedCaller, role: Role) -> Result<(), Problem> {
    if caller.role < role {
        let own = caller.role;
        return Err(Problem::new(
            Kind::Forbidden,
            format!(
                "this operation requires the role {role}, and your token has the role {own}; ask an admin for another token"
            ),
        ));
    }
    Ok(())
}

async fn verify_token(
    app: &AppState,
    headers: &HeaderMap,
) -> Result<(AuthenticatedCaller, CallerKey), Problem> {
    let Some(token) = bearer_token(headers) else {
        return Err(Problem::unauthenticated(
            "send exactly one `Authorization: Bearer TOKEN` header with a token of this hub",
            app.challenge(None),
        ));
    };
    let now = app.clock.now();
    let proven = app.identity.authenticate(&app.database, token, now).await?;
    // One message for unknown, expired and revoked: a caller must not learn which tokens existed.
    let caller = proven.map_err(|refused| match refused {
        AuthRefusal::InvalidToken => Problem::unauthenticated(
            "the token is not valid; ask an admin of your organization for another",
            app.challenge(Some("invalid_token")),
        ),
        AuthRefusal::NoRole => Problem::new(
            Kind::Forbidden,
            "your access token is valid, but names no role or organization of this hub; ask the operator of the hub",
        ),
    })?;
    let key = caller_key(&caller, token);
    Ok((caller, key))
}

/// Returns the bearer token if there is exactly one `Authorization` header.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    // A proxy and the hub could pick different ones of several headers.
    let (Some(only), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|token| !token.is_empty())
}

/// Returns the workspace parameter of the path: a name or an id.
pub(crate) async fn workspace_param(parts: &mut Parts) -> Option<String> {
    // Raw parameters: handlers differ in the number of theirs, which a typed `Path` would have to
    // match.
    let params = parts.extract::<RawPathParams>().await.ok()?;
    let mut matching = params.iter().filter(|(name, _)| *name == WORKSPACE_PARAM);
    matching.next().map(|(_, value)| value.to_owned())
}

/// Cache of workspace ids by name or id.
///
/// A cached value is wrong for at most `KEPT` after another process renamed or purged a workspace:
/// the former name then still leads to the same workspace, and never to another one, because it
/// stays taken for longer.
#[derive(Debug, Default)]
pub struct WorkspaceCache {
    workspaces: Mutex<HashMap<(OrganizationId, String), (WorkspaceId, Instant)>>,
}

impl WorkspaceCache {
    /// Maximum number of cached workspaces.
    const COUNT_MAX: usize = 50_000;

    /// Time a workspace stays cached.
    const KEPT: Duration = Duration::from_secs(60);

    fn get(&self, organization: OrganizationId, named: &str) -> Option<WorkspaceId> {
        // A panic while the lock is held cannot leave the map half-written, so poison is ignored.
        let found = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (workspace, at) = found.get(&(organization, named.to_owned()))?;
        (at.elapsed() < Self::KEPT).then_some(*workspace)
    }

    /// Forgets the workspaces of an organization.
    pub(super) fn forget(&self, organization: OrganizationId) {
        let mut found = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        found.retain(|(owner, _), _| *owner != organization);
    }

    fn put(&self, organization: OrganizationId, named: &str, workspace: WorkspaceId) {
        let mut found = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Clearing costs one query per workspace in use and needs no bookkeeping for eviction.
        if found.len() >= Self::COUNT_MAX {
            found.clear();
        }
        let key = (organization, named.to_owned());
        found.insert(key, (workspace, Instant::now()));
    }
}

/// Returns whether a text is a valid workspace name or id.
pub(crate) fn is_workspace_reference(text: &str) -> bool {
    text.parse::<HubName>().is_ok() || Uuid::try_parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn shown(values: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        bearer_token(&headers).map(ToOwned::to_owned)
    }

    #[test]
    fn a_token_is_shown_once_and_as_bearer() {
        assert_eq!(shown(&["Bearer ken_x"]).as_deref(), Some("ken_x"));
        assert_eq!(shown(&["bearer  ken_x "]).as_deref(), Some("ken_x"));
        let none: [&[&str]; 5] = [
            &[],
            &["Basic a2Vu"],
            &["Bearer"],
            &["Bearer  "],
            &["Bearer a", "Bearer b"],
        ];
        for wrong in none {
            assert_eq!(shown(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_names_and_ids_name_a_workspace() {
        for fits in ["shop-api", "0193324e-7a3b-7c00-8000-000000000001"] {
            assert!(is_workspace_reference(fits), "{fits}");
        }
        let long = "a".repeat(64);
        for wrong in [
            "",
            "A",
            "..",
            "a/b",
            "'; DROP TABLE x; --",
            "a\0",
            "%00",
            &long,
        ] {
            assert!(!is_workspace_reference(wrong), "{wrong}");
        }
    }
}
