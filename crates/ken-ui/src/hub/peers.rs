//! Peers of an organization, for its curators.

use ken_core::values::id::EntryId;
use maud::{Markup, html};

use super::{HubFrame, HubPage, HubSection};
use crate::address::PeerQuery;
use crate::component::peer::{PeerDecision, PeerPlace, peer_entries, peer_summary, peers_table};
use crate::component::{counted, empty};
use crate::untrusted::UntrustedText;
use crate::view::{PeerView, PeersView};

/// The peers of a hub, as one person may decide about them.
struct HubPeers<'a> {
    frame: &'a HubFrame,
    /// Approving and rejecting need a person.
    may_decide: bool,
}

impl PeerPlace for HubPeers<'_> {
    fn peers_link(&self) -> String {
        HubSection::Peers.path().to_owned()
    }

    fn peer_link(&self, peer: &str, query: &PeerQuery) -> String {
        query.href(&peer_path(peer))
    }

    fn entry_link(&self, id: EntryId) -> Markup {
        html! { span.id { (id) } }
    }

    fn action(&self, peer: &str, decision: PeerDecision) -> Option<String> {
        let name = match decision {
            PeerDecision::Approve => "approve",
            PeerDecision::Reject => "reject",
        };
        let path = peer_path(peer);
        self.may_decide.then(|| format!("{path}/{name}"))
    }

    fn hidden_fields(&self, _peer: &str) -> Markup {
        self.frame.token_field()
    }
}

/// Returns the address of a peer's page at a hub.
pub fn peer_path(peer: &str) -> String {
    let base = HubSection::Peers.path();
    format!("{base}/{}", crate::address::encode_segment(peer))
}

/// Returns the list of the organization's peers.
pub fn peers_page(frame: &HubFrame, view: &PeersView) -> HubPage {
    let place = HubPeers::new(frame);
    let body = html! {
        div.page-head { h1 { "Peers" } span.muted { (counted(view.peers.len() as u64, "peer", "peers")) } }
        @if view.peers.is_empty() {
            (empty(&html! { "The organization has no peers; an operator adds one with " code { "ken hub peer add" } "." }))
        } @else { (peers_table(&place, view)) }
    };
    HubPage::new("Peers", body).with_command("ken hub peer list")
}

/// Returns the page of one peer.
pub fn peer_page(frame: &HubFrame, view: &PeerView) -> HubPage {
    let place = HubPeers::new(frame);
    let peer = &view.peer;
    let body = html! {
        div.page-head { h1 { (UntrustedText(&peer.name)) } a href=(place.peers_link()) { "All peers" } }
        (peer_summary(peer))
        (peer_entries(&place, view))
    };
    HubPage::new(&peer.name, body)
}

impl<'a> HubPeers<'a> {
    fn new(frame: &'a HubFrame) -> Self {
        // A page without buttons for others; the service refuses them in any case.
        let may_decide = frame.person.is_human();
        Self { frame, may_decide }
    }
}
