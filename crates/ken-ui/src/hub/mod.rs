//! Pages of a hub above its workspaces: workspaces, search, review, revocation, audit log, tokens,
//! sign-in.
//!
//! The pages of one workspace are those of a repository, served by
//! [`SourcePages`](crate::SourcePages). A hub answers the requests; this module has the data and
//! the markup. As everywhere in this crate, a page is a pure function.

mod account;
mod audit;
mod frame;
mod peers;
mod review;
mod revocation;
mod search;
mod sign_in;
#[cfg(test)]
mod tests;
mod tokens;
mod view;
mod workspaces;

use std::collections::BTreeSet;

use maud::{Markup, html};

pub use account::{AccountView, SessionLine, account_page};
pub use audit::audit_page;
pub use frame::{
    HubFrame, HubPage, check_hub_request, hub_asset, hub_error_page, is_whole_page, settings_cookie,
};
pub use peers::{peer_page, peer_path, peers_page};
pub use review::review_page;
pub use revocation::revocation_page;
pub use search::search_page;
pub use sign_in::{SignInView, device_page, sign_in_page};
pub use tokens::tokens_page;
pub use view::{
    ApprovalLine, AuditFilterText, AuditLine, AuditView, DeviceView, EverywhereHit, EverywhereView,
    NewSecret, QuarantinedEntryLine, QuarantinedEventLine, ReviewView, RevocationView,
    RevokedWorkspaceLine, SourceImpactLine, TokenLine, TokensView, WorkspaceLine, WorkspacesView,
};
pub use workspaces::workspaces_page;

pub use crate::router::{json_response, wants_json};

/// Name of the field with the form token.
pub const FORM_TOKEN_FIELD: &str = "form_token";

/// A hub as one person sees it: what every page of it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubOverview {
    /// The workspace of the page; `None` on the pages above workspaces.
    pub workspace: Option<String>,
    /// The role of the person.
    pub role: String,
    /// The pages above workspaces that this person may open.
    pub sections: Vec<HubSection>,
    /// The actions of the workspace's pages that this person may perform, by name.
    pub actions: BTreeSet<&'static str>,
    /// A value that only pages of this sign-in have, different on every page.
    pub form_token: String,
}

/// A page above workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HubSection {
    Workspaces,
    Search,
    Review,
    Peers,
    Revocation,
    Audit,
    Tokens,
    Account,
}

impl HubSection {
    /// Every section, in the order of the navigation.
    pub const ALL: [Self; 8] = [
        Self::Workspaces,
        Self::Search,
        Self::Review,
        Self::Peers,
        Self::Revocation,
        Self::Audit,
        Self::Tokens,
        Self::Account,
    ];

    /// Returns the address of the page.
    pub fn path(self) -> &'static str {
        match self {
            Self::Workspaces => "/",
            Self::Search => "/search",
            Self::Review => "/review",
            Self::Peers => "/peers",
            Self::Revocation => "/revocation",
            Self::Audit => "/audit",
            Self::Tokens => "/tokens",
            Self::Account => "/account",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Workspaces => "Workspaces",
            Self::Search => "Search all",
            Self::Review => "Review",
            Self::Peers => "Peers",
            Self::Revocation => "Revoke",
            Self::Audit => "Audit log",
            Self::Tokens => "Tokens",
            Self::Account => "Account",
        }
    }
}

/// Renders the links to the pages above workspaces.
pub(crate) fn hub_navigation(hub: &HubOverview) -> Markup {
    html! {
        nav.main aria-label="Hub" {
            @for section in &hub.sections {
                a href=(section.path()) { (section.label()) }
            }
        }
    }
}

/// Returns the address of a workspace's pages.
pub fn workspace_base(name: &str) -> String {
    format!("/w/{name}")
}
