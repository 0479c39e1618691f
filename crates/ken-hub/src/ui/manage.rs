//! Pages of curators and admins: revocation, tokens; and the person's own account.

use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use ken_core::decide::Refusal;
use ken_core::ledger::event::Switch;
use ken_core::ledger::source::ContributionSource;
use ken_ui::action::FormFields;
use ken_ui::hub::{
    AccountView, NewSecret, RevocationView, RevokedWorkspaceLine, SessionLine, SourceImpactLine,
    TokenLine, TokensView, account_page, revocation_page, settings_cookie, tokens_page,
};

use super::session::{PageSession, keep_notice, see_other};
use super::start::query_fields;
use crate::api::AppState;
use crate::api::caller::{AtLeastAdmin, AtLeastCurator, AtLeastReader, RequireRole};
use crate::api::problem::Problem;
use crate::api::tokens::{issue_token, replace_token, revoke_token_by_id, revoke_tokens_of};
use crate::database::HubName;
use crate::identity::tokens::{self, TokenRecord, TokenSpec};
use crate::identity::{AuthenticatedCaller, TokenSecret, sign_ins};
use crate::ids::Role;
use crate::service::{self, RevokeRequest, ServiceError, WorkspaceSession};

/// Workspaces per query of a preview.
const PREVIEW_PAGE: u32 = 200;

/// Time after which a preview stops and says that it is not complete.
const PREVIEW_TIME: Duration = Duration::from_secs(10);

/// Tokens per page.
const TOKENS_PER_PAGE: u32 = 100;

/// Shows what a revocation would do.
pub(super) async fn show_revocation(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query);
    let mut view = read_revocation(&fields);
    if !view.source.is_empty() {
        let source = parse_source(&view.source)?;
        let (impacts, is_partial) = preview(&app, &access.caller, &source).await?;
        view.impacts = Some(impacts);
        view.is_partial = is_partial;
    }
    let frame = session.frame();
    Ok(revocation_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

fn read_revocation(fields: &FormFields) -> RevocationView {
    RevocationView {
        source: fields.text("source").unwrap_or_default().to_owned(),
        ends: fields.text("end").is_some(),
        ..RevocationView::default()
    }
}

fn parse_source(text: &str) -> Result<ContributionSource, Problem> {
    let source = text.parse::<ContributionSource>();
    source.map_err(|error| Problem::invalid(error.to_string()))
}

/// Returns the effect per workspace, and whether a timeout left workspaces uncounted.
async fn preview(
    app: &AppState,
    caller: &AuthenticatedCaller,
    source: &ContributionSource,
) -> Result<(Vec<SourceImpactLine>, bool), Problem> {
    let (began, context) = (Instant::now(), app.service_context());
    let (mut lines, mut after, mut is_partial) = (Vec::new(), None, false);
    'pages: loop {
        let page = service::list_workspaces(&app.database, caller, after.as_ref(), PREVIEW_PAGE);
        let page = page.await?;
        let is_last = page.len() < PREVIEW_PAGE as usize;
        after = page.last().map(|it| it.name.clone());
        for row in page {
            if began.elapsed() > PREVIEW_TIME {
                is_partial = true;
                break 'pages;
            }
            let begun = WorkspaceSession::begin(&app.database, &context, caller.clone(), row.id);
            let mut session = begun.await?;
            let found = service::preview_revocation(&mut session, source).await?;
            session.commit().await?;
            lines.push(SourceImpactLine {
                workspace: row.name.to_string(),
                is_revoked: found.is_revoked,
                live: found.counts.live,
                verified: found.counts.verified,
                all: found.counts.all,
                runs: found.runs,
                showings: found.counts.showings,
                examples: found.examples,
            });
        }
        if is_last {
            break;
        }
    }
    // The workspaces with the largest effect first.
    lines.sort_by_key(|it| std::cmp::Reverse((it.live, it.all)));
    Ok((lines, is_partial))
}

/// Revokes a source in every workspace, or ends that.
pub(super) async fn revoke(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut view = read_revocation(&session.form);
    let request = RevokeRequest {
        source: parse_source(&view.source)?,
        state: if view.ends { Switch::Off } else { Switch::On },
    };
    let (database, context, caller) = (&app.database, app.service_context(), &access.caller);
    let after = session.form.text("after").map(str::parse::<HubName>);
    let after = after.transpose();
    let after = after.map_err(|_| Problem::invalid("`after` is not the name of a workspace"))?;
    let revoked = service::revoke_everywhere(database, &context, caller, &request, after);
    let (results, next) = revoked.await?;
    view.next = next.map(|it| it.to_string());
    for done in results {
        let result = match done.result {
            Ok(_) => {
                app.log_notifier.notify(done.workspace.id);
                Ok("changed")
            }
            Err(ServiceError::Refused(Refusal::AlreadyRevoked(_) | Refusal::NotRevoked(_))) => {
                Ok("unchanged")
            }
            Err(error) => Err(Problem::from(error).detail().to_owned()),
        };
        let workspace = done.workspace.name.to_string();
        view.results
            .push(RevokedWorkspaceLine { workspace, result });
    }
    let frame = session.frame();
    Ok(revocation_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

/// Lists the tokens of the organization.
pub(super) async fn list_tokens(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query);
    let after = fields.text("after").map(str::to_owned);
    show_tokens(&app, &access.caller, &session, &headers, (after, None)).await
}

async fn show_tokens(
    app: &AppState,
    caller: &AuthenticatedCaller,
    session: &PageSession,
    headers: &HeaderMap,
    (after, created): (Option<String>, Option<NewSecret>),
) -> Result<Response, Problem> {
    let after = after.and_then(|it| uuid::Uuid::try_parse(&it).ok());
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let mut found = tokens::list(&mut tx, after, TOKENS_PER_PAGE + 1).await?;
    tx.commit().await?;
    let has_more = found.len() > TOKENS_PER_PAGE as usize;
    found.truncate(TOKENS_PER_PAGE as usize);
    let next = found.last().filter(|_| has_more);
    let now = app.clock.now();
    let view = TokensView {
        next: next.map(|it| it.id.to_string()),
        tokens: found
            .iter()
            .map(|it| token_line(it, it.is_live(now)))
            .collect(),
        created,
        days: (tokens::DAYS, tokens::DAYS_MAX),
    };
    let frame = session.frame();
    Ok(tokens_page(&frame, &view).respond(&frame, headers, StatusCode::OK))
}

fn token_line(token: &TokenRecord, is_live: bool) -> TokenLine {
    TokenLine {
        id: token.id.to_string(),
        name: token.name.clone(),
        actor: token.actor.to_string(),
        role: token.role.name().to_owned(),
        workspaces: token.workspaces.as_ref().map(Vec::len),
        created: token.created_at,
        expires: token.expires_at,
        revoked: token.revoked_at,
        used: token.used_at,
        is_live,
    }
}

fn new_secret(token: &TokenRecord, secret: &TokenSecret) -> NewSecret {
    NewSecret {
        name: token.name.clone(),
        secret: secret.reveal().to_owned(),
    }
}

/// Creates a token and shows its secret once.
pub(super) async fn create_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = &session.form;
    let invalid = |error: &dyn std::fmt::Display| Problem::invalid(error.to_string());
    let role = form.text("role").unwrap_or_default();
    let actor = form.text("actor").map(str::parse).transpose();
    let workspaces = form.text("workspaces").map(|it| {
        let names = it.split([' ', ',']).filter(|it| !it.is_empty());
        names.map(str::to_owned).collect()
    });
    let request = TokenSpec {
        workspace_roles: Vec::new(),
        name: form.text("name").map(str::to_owned),
        role: role.parse::<Role>().map_err(|error| invalid(&error))?,
        actor: actor.map_err(|error: ken_core::values::actor::ActorError| invalid(&error))?,
        workspaces,
        days: parse_number(form, "days", tokens::DAYS)?,
    };
    let (token, secret) = issue_token(&app, &access.caller, request).await?;
    let created = Some(new_secret(&token, &secret));
    show_tokens(&app, &access.caller, &session, &headers, (None, created)).await
}

fn parse_number(form: &FormFields, name: &str, default: u16) -> Result<u16, Problem> {
    let number = form.text(name).map(str::parse).transpose();
    let number = number.map_err(|_| Problem::invalid(format!("`{name}` must be a number")))?;
    Ok(number.unwrap_or(default))
}

/// Replaces a token and shows the new secret once.
pub(super) async fn rotate_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let hours = parse_number(&session.form, "hours", tokens::OVERLAP_HOURS)?;
    let id = session.form.text("token").unwrap_or_default();
    let rotated = replace_token(&app, &access.caller, id, hours).await?;
    let created = Some(new_secret(&rotated.new, &rotated.secret));
    show_tokens(&app, &access.caller, &session, &headers, (None, created)).await
}

/// Revokes a token.
pub(super) async fn revoke_token(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
) -> Result<Response, Problem> {
    let id = session.form.text("token").unwrap_or_default();
    let token = revoke_token_by_id(&app, &access.caller, id).await?;
    let notice = format!("The token {} is revoked.", token.name);
    keep_notice(&app, &session, &notice).await?;
    Ok(see_other("/tokens"))
}

/// Revokes all tokens of an actor and ends its sign-ins.
pub(super) async fn revoke_actor(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
) -> Result<Response, Problem> {
    let actor = session.form.text("actor").unwrap_or_default();
    let revoked = revoke_tokens_of(&app, &access.caller, actor).await?;
    let number = revoked.len();
    let notice = format!("{actor}: {number} tokens revoked, all sign-ins ended.");
    keep_notice(&app, &session, &notice).await?;
    Ok(see_other("/tokens"))
}

/// Shows the person's own account.
pub(super) async fn account(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let found = sign_ins::list(&mut tx, &caller.actor).await?;
    tx.commit().await?;
    let sessions = found.into_iter().map(|it| SessionLine {
        created: it.created_at,
        used: it.used_at,
        expires: it.expires_at,
        method: if it.has_token {
            "token"
        } else {
            "identity provider"
        },
        address: it.address,
        is_this: it.id == session.sign_in.id,
    });
    let view = AccountView {
        sessions: sessions.collect(),
    };
    let frame = session.frame();
    Ok(account_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

/// Stores the appearance in a cookie of the browser.
pub(super) async fn save_settings(
    State(_app): State<AppState>,
    _access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
) -> Response {
    let mut response = see_other("/account");
    if let Ok(cookie) = HeaderValue::from_str(&settings_cookie(&session.form)) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}
