//! Peers of this user: publications of other organizations, and what waits for a decision.

use ken_core::values::id::EntryId;
use maud::{Markup, html};

use crate::address::{PageAddress, PeerQuery};
use crate::component::peer::{PeerDecision, PeerPlace, peer_entries, peer_summary, peers_table};
use crate::component::{counted, disclosure, empty, entry_link, form_token, post_form, submit};
use crate::frame::{PageContent, PageContext};
use crate::untrusted::UntrustedText;
use crate::view::{PeerLine, PeerView, PeersView};

impl PeerPlace for PageContext<'_> {
    fn peers_link(&self) -> String {
        self.link(&PageAddress::Peers)
    }

    fn peer_link(&self, peer: &str, query: &PeerQuery) -> String {
        self.link(&PageAddress::Peer {
            peer: peer.to_owned(),
            query: query.clone(),
        })
    }

    fn entry_link(&self, id: EntryId) -> Markup {
        entry_link(self, id)
    }

    fn action(&self, _peer: &str, decision: PeerDecision) -> Option<String> {
        let name = match decision {
            PeerDecision::Approve => "approve-peer-entries",
            PeerDecision::Reject => "reject-peer-entry",
        };
        self.may(name).then(|| PageContext::action(self, name))
    }

    fn hidden_fields(&self, peer: &str) -> Markup {
        html! {
            (form_token(self))
            input type="hidden" name="back" value=(self.address.href());
            input type="hidden" name="peer" value=(peer);
        }
    }
}

pub(crate) fn peers_page(context: &PageContext<'_>, view: &PeersView) -> PageContent {
    let body = html! {
        div.page-head { h1 { "Peers" } span.muted { (counted(view.peers.len() as u64, "peer", "peers")) } }
        @if view.peers.is_empty() {
            (empty(&html! { "You have no peers; " code { "ken remote peer add" } " adds a publication of another organization." }))
        } @else { (peers_table(context, view)) }
    };
    PageContent::new("Peers", body).with_command("ken remote peer list")
}

pub(crate) fn peer_page(context: &PageContext<'_>, view: &PeerView) -> PageContent {
    let peer = &view.peer;
    let body = html! {
        div.page-head { h1 { (UntrustedText(&peer.name)) } a href=(context.peers_link()) { "All peers" } }
        (peer_summary(peer))
        (standing(context, peer))
        (peer_entries(context, view))
    };
    PageContent::new(&peer.name, body).with_command_on("ken remote peer review", &peer.name)
}

/// Renders the form that suspends a peer, or ends its suspension.
fn standing(context: &PageContext<'_>, peer: &PeerLine) -> Markup {
    let fields = [("peer", peer.name.clone())];
    html! {
        div.decide {
            @if peer.suspended.is_some() {
                (disclosure("Resume", None, post_form(context, "resume-peer", &fields, html! {
                    p { "Its approved entries are shown again." } (submit("Resume", None)) })))
            } @else {
                (disclosure("Suspend", None, post_form(context, "suspend-peer", &fields, html! {
                    p { "None of its entries is shown until you resume it." } (submit("Suspend", None)) })))
            }
        }
    }
}
