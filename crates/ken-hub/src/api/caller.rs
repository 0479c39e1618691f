//! Who calls, and which workspace they are in: a handler that names neither gets neither.
//!
//! [`As`] gives the caller, [`InWorkspace`] also the workspace of the address. Both name the role that is needed in their
//! type, so that no handler can forget to ask. A workspace of somebody else answers exactly as one that is not there.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::RequestPartsExt as _;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use uuid::Uuid;

use super::App;
use super::problem::{Kind, Problem};
use crate::database::Name;
use crate::identity::{Caller, OrganisationId, Refused, Role, WorkspaceId};
use crate::serve::limits::Slot;

/// A role an operation needs, as a type.
pub trait Needs: Send + Sync + 'static {
    /// The smallest role that may.
    const ROLE: Role;
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident $role:ident,)*) => {
        $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub struct $name;
        impl Needs for $name { const ROLE: Role = Role::$role; })*
    };
}

needs! {
    /// Readers may.
    Reads Reader,
    /// Agents may: what is recorded is theirs.
    Records Agent,
    /// Curators may: they speak for people.
    Curates Curator,
    /// Admins may, with a token that reaches the whole organisation.
    Administers Admin,
}

/// A caller whose role is at least `N`'s.
#[derive(Clone, Debug)]
pub struct As<N> {
    pub caller: Caller,
    needs: PhantomData<N>,
}

/// A caller whose role is at least `N`'s, in the workspace the address names.
#[derive(Clone, Debug)]
pub struct InWorkspace<N> {
    pub caller: Caller,
    pub workspace: WorkspaceId,
    needs: PhantomData<N>,
}

/// The parameter of an address that names a workspace.
pub const WORKSPACE: &str = "workspace";

impl<N: Needs> FromRequestParts<App> for As<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = proven(parts, app).await?;
        needs_role(&caller, N::ROLE)?;
        if N::ROLE == Role::Admin && caller.workspaces.is_some() {
            return Err(Problem::new(
                Kind::Forbidden,
                "this is about the whole organisation and your token reaches named workspaces only; use one without",
            ));
        }
        Ok(Self {
            caller,
            needs: PhantomData,
        })
    }
}

impl<N: Needs> FromRequestParts<App> for InWorkspace<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = proven(parts, app).await?;
        let named = named_workspace(parts).await;
        let named = named.ok_or_else(|| Problem::not_found(WORKSPACE))?;
        let workspace = enter(app, &caller, &named).await?;
        needs_role(&caller, N::ROLE)?;
        Ok(Self {
            caller,
            workspace,
            needs: PhantomData,
        })
    }
}

/// Proves who calls, once a request: the answer is kept beside it. Counts against the organisation's rate.
///
/// For what is no handler, such as a door before another protocol; handlers take [`As`] or [`InWorkspace`].
pub async fn proven(parts: &mut Parts, app: &App) -> Result<Caller, Problem> {
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return Ok(caller.clone());
    }
    let caller = identify(app, &parts.headers).await?;
    if let Some(slot) = parts.extensions.get::<Slot>() {
        slot.belongs_to(caller.organisation);
    }
    if app.load.known_rate(caller.organisation).is_none() {
        let mut tx = app.database.organisation(caller.organisation).await?;
        let found = tx.organisation().await?;
        tx.commit().await?;
        let own = found.and_then(|it| it.quotas.requests_per_minute);
        app.load.remember_rate(caller.organisation, own);
    }
    app.load.take(caller.organisation).map_err(|wait| {
        let seconds = wait.as_secs_f64().ceil().max(1.0);
        let detail = format!("your organisation asks too often; come again in {seconds} s");
        Problem::too_many(detail, wait)
    })?;
    if let Some(slot) = parts.extensions.get::<Slot>() {
        let place = app.load.place(caller.organisation).await;
        slot.keep(place.ok_or_else(|| {
            let detail =
                "your organisation has as many requests under way as it may; come again shortly";
            Problem::too_many(detail, Duration::from_secs(1))
        })?);
    }
    parts.extensions.insert(caller.clone());
    Ok(caller)
}

/// Finds the workspace a caller names by its name or its id, if the caller may enter it.
pub async fn enter(app: &App, caller: &Caller, named: &str) -> Result<WorkspaceId, Problem> {
    let missing = || Problem::not_found(WORKSPACE);
    let found = match app.places.get(caller.organisation, named) {
        Some(found) => found,
        None => {
            let found = find(app, caller.organisation, named).await?;
            let found = found.ok_or_else(missing)?;
            app.places.put(caller.organisation, named, found);
            found
        }
    };
    if !caller.may_enter(found) {
        return Err(missing());
    }
    Ok(found)
}

async fn find(
    app: &App,
    organisation: OrganisationId,
    named: &str,
) -> Result<Option<WorkspaceId>, Problem> {
    // What can be no name never reaches the database: it takes no text with the character 0 in it.
    if !names_a_workspace(named) {
        return Ok(None);
    }
    let mut tx = app.database.organisation(organisation).await?;
    let found = tx.workspace(named).await?;
    tx.commit().await?;
    Ok(found.map(|row| row.id))
}

/// Refuses a caller whose role is too small.
pub fn needs_role(caller: &Caller, role: Role) -> Result<(), Problem> {
    if caller.role < role {
        let own = caller.role;
        return Err(Problem::new(
            Kind::Forbidden,
            format!(
                "this needs the role {role} and your token's is {own}; ask an admin for another token"
            ),
        ));
    }
    Ok(())
}

async fn identify(app: &App, headers: &HeaderMap) -> Result<Caller, Problem> {
    let Some(shown) = bearer(headers) else {
        return Err(Problem::unauthenticated(
            "send `Authorization: Bearer TOKEN` once, with a token of this hub",
            app.challenge(None),
        ));
    };
    let now = app.world.now();
    let proven = app.identity.prove(&app.database, shown, now).await?;
    proven.map_err(|refused| match refused {
        Refused::Unknown => Problem::unauthenticated(
            "the token is not valid; ask an admin of your organisation for another",
            app.challenge(Some("invalid_token")),
        ),
        Refused::NoRole => Problem::new(
            Kind::Forbidden,
            "your access token is valid and names no role or organisation of this hub; ask whoever operates it",
        ),
    })
}

/// Returns what follows `Bearer`, where there is exactly one such header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let (Some(only), None) = (shown.next(), shown.next()) else {
        return None;
    };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|token| !token.is_empty())
}

/// Returns the workspace the address names, by its name or its id.
pub(crate) async fn named_workspace(parts: &mut Parts) -> Option<String> {
    let params = parts.extract::<RawPathParams>().await.ok()?;
    let mut found = params.iter().filter(|(name, _)| *name == WORKSPACE);
    found.next().map(|(_, value)| value.to_owned())
}

/// Where workspaces were found lately. A workspace keeps its name and its id for ever, so that only a restored database
/// can make one of these wrong, and that only for as long as it is kept.
#[derive(Debug, Default)]
pub struct Places {
    found: Mutex<HashMap<(OrganisationId, String), (WorkspaceId, Instant)>>,
}

impl Places {
    /// Places that are remembered.
    const COUNT_MAX: usize = 50_000;

    /// How long one is remembered.
    const KEPT: Duration = Duration::from_secs(60);

    fn get(&self, organisation: OrganisationId, named: &str) -> Option<WorkspaceId> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let (workspace, at) = found.get(&(organisation, named.to_owned()))?;
        (at.elapsed() < Self::KEPT).then_some(*workspace)
    }

    fn put(&self, organisation: OrganisationId, named: &str, workspace: WorkspaceId) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if Self::COUNT_MAX <= found.len() {
            found.clear();
        }
        let key = (organisation, named.to_owned());
        found.insert(key, (workspace, Instant::now()));
    }
}

/// Returns whether a text can name a workspace: by its name or its id.
pub(crate) fn names_a_workspace(text: &str) -> bool {
    text.parse::<Name>().is_ok() || Uuid::try_parse(text).is_ok()
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
        bearer(&headers).map(ToOwned::to_owned)
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
            assert!(names_a_workspace(fits), "{fits}");
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
            assert!(!names_a_workspace(wrong), "{wrong}");
        }
    }
}
