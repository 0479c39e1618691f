//! The frame of the hub's pages, and their responses.

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};

use ken_core::values::actor::Actor;

use super::{FORM_TOKEN_FIELD, HubOverview};
use crate::action::FormFields;
use crate::address::PageAddress;
use crate::assets::ASSETS;
use crate::frame::{ActionNotice, PageContent, PageContext, render_frame};
use crate::gate::AllowedHosts;
use crate::router::{REGIONS_HEADER, asset_response, check_origin, html_response};
use crate::settings::UiSettings;
use crate::source::SourceOverview;
use crate::untrusted::UntrustedText;

/// What every page above workspaces needs besides its own data.
#[derive(Clone, Debug)]
pub struct HubFrame {
    /// The name of the organization.
    pub organization: String,
    pub person: Actor,
    pub hub: HubOverview,
    /// The result of the last action.
    pub notice: Option<String>,
}

/// A page before it is put into the frame.
#[derive(Debug)]
pub struct HubPage(pub(super) PageContent);

impl HubPage {
    pub(super) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self(PageContent::new(title, body))
    }

    pub(super) fn with_command(self, command: &'static str) -> Self {
        Self(self.0.with_command(command))
    }

    /// Returns the page in its frame as a response.
    pub fn respond(&self, frame: &HubFrame, headers: &HeaderMap, status: StatusCode) -> Response {
        let overview = SourceOverview {
            name: frame.organization.clone(),
            person: Some(frame.person.clone()),
            hub: Some(frame.hub.clone()),
            ..SourceOverview::default()
        };
        let notice = frame.notice.clone();
        let notice = notice.map(|message| ActionNotice {
            message,
            undo: None,
        });
        let base = frame.hub.workspace.as_deref().map(super::workspace_base);
        let context = PageContext {
            base: base.as_deref().unwrap_or_default(),
            overview: &overview,
            // The tab that is shown as the current one; a page above workspaces has none.
            address: &PageAddress::Inbox { lane: None },
            settings: UiSettings::from_headers(headers),
            notice: notice.as_ref(),
        };
        html_response(status, render_frame(&context, &self.0))
    }
}

impl HubFrame {
    /// Returns the context that links to the pages of a workspace.
    pub(super) fn for_workspace<R>(
        &self,
        workspace: &str,
        render: impl FnOnce(&PageContext<'_>) -> R,
    ) -> R {
        let overview = SourceOverview {
            hub: Some(self.hub.clone()),
            ..SourceOverview::default()
        };
        render(&PageContext {
            base: &super::workspace_base(workspace),
            overview: &overview,
            address: &PageAddress::Home,
            settings: UiSettings::default(),
            notice: None,
        })
    }

    /// Renders the field of the form token.
    pub(super) fn token_field(&self) -> Markup {
        html! { input type="hidden" name=(FORM_TOKEN_FIELD) value=(self.hub.form_token); }
    }
}

/// Returns a page without navigation, for a browser that is not signed in.
pub(super) fn bare_page(status: StatusCode, title: &str, body: &Markup) -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ken" }
                link rel="icon" href=(ASSETS.icon.path) type="image/svg+xml";
                link rel="stylesheet" href=(ASSETS.style.path);
            }
            body { main #main { (body) } }
        }
    };
    html_response(status, markup)
}

/// Checks host and origin of a request to a hub's page. A link of another site may lead to a page:
/// the cookie is sent with it, and no page changes anything when it is read.
pub fn check_hub_request(hosts: &AllowedHosts, parts: &Parts) -> Result<(), Box<Response>> {
    check_origin(hosts, parts).map(|_| ())
}

/// Returns whether a request is for a whole page, and not for parts that the script refreshes.
pub fn is_whole_page(headers: &HeaderMap) -> bool {
    !headers.contains_key(REGIONS_HEADER)
}

/// Returns the stylesheet, script or icon at a path.
pub fn hub_asset(path: &str) -> Option<Response> {
    asset_response(path)
}

/// Returns the page of an error, in the frame if the person is known.
pub fn hub_error_page(
    frame: Option<&HubFrame>,
    headers: &HeaderMap,
    status: StatusCode,
    (title, message): (&str, &str),
) -> Response {
    let body = html! {
        h1 { (UntrustedText(title)) }
        div.notice.bad role="alert" { p { (UntrustedText(message)) } }
        p { a href="/" { "Workspaces" } }
    };
    match frame {
        Some(frame) => HubPage::new(title, body).respond(frame, headers, status),
        None => bare_page(status, title, &body),
    }
}

/// Returns the cookie that stores the appearance that a form asks for.
pub fn settings_cookie(form: &FormFields) -> String {
    UiSettings::from_form(form).set_cookie()
}
