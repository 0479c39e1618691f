//! Peers of the organization: what came in, what waits, and the decisions of a curator.
//!
//! The use cases are those of the REST API. They refuse a person whose role covers single
//! workspaces only, and everything that is not a person.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ken_core::federation::{Freshness, foreign_weight};
use ken_core::values::id::EntryId;
use ken_sign::PublisherKey;
use ken_ui::action::{FormError, FormFields, read_reject_reason, read_words};
use ken_ui::address::{PeerLane, PeerQuery};
use ken_ui::hub::{peer_page, peer_path, peers_page};
use ken_ui::view::{PEER_ENTRIES_PER_PAGE, PeerEntryItem, PeerLine, PeerView, PeersView};

use super::session::{PageSession, keep_notice, see_other};
use crate::api::AppState;
use crate::api::body::PathParams;
use crate::api::caller::{AtLeastCurator, RequireRole};
use crate::api::problem::Problem;
use crate::database::OrganizationTx;
use crate::service::federation::{
    HubFederationError, PeerDecision, PeerEntry, approve_peer_entries, list_peer_entries,
    reject_peer_entries,
};
use crate::store::{PeerRow, PeerVerdict, StoreError};

/// Lanes whose entries are listed.
const LANES: &[PeerLane] = &[PeerLane::Waiting, PeerLane::Approved, PeerLane::Rejected];

/// Shows the peers of the organization.
pub(super) async fn list(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut tx = begin(&app, &access).await?;
    let mut view = PeersView::default();
    for row in tx.peers().await? {
        view.peers.push(peer_line(&mut tx, row).await?);
    }
    tx.commit().await?;
    let frame = session.frame();
    Ok(peers_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

/// Shows a peer and a page of its entries.
pub(super) async fn show(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    PathParams(name): PathParams<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = PeerQuery::parse(query.as_deref().unwrap_or_default());
    let mut tx = begin(&app, &access).await?;
    let row = tx.peer(&name).await?;
    let row = row.ok_or_else(|| Problem::not_found("peer"))?;
    let peer = peer_line(&mut tx, row).await?;
    tx.commit().await?;
    let (lane, verdict) = listed_lane(query.lane);
    let limit = u32::try_from(PEER_ENTRIES_PER_PAGE).unwrap_or(u32::MAX);
    // One more than is shown: it shows that there is a next page.
    let asked = (verdict, query.after.as_deref(), limit + 1);
    let mut found = list_peer_entries(&app.database, &access.caller, &name, asked).await?;
    let has_more = found.len() > PEER_ENTRIES_PER_PAGE;
    found.truncate(PEER_ENTRIES_PER_PAGE);
    let view = PeerView {
        peer,
        lane,
        lanes: LANES,
        next: found.last().filter(|_| has_more).map(PeerEntry::place),
        entries: found.into_iter().map(entry_item).collect(),
    };
    let frame = session.frame();
    Ok(peer_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

/// Approves or rejects entries and returns to the page of the peer.
pub(super) async fn decide(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    PathParams((name, action)): PathParams<(String, String)>,
) -> Result<Response, Problem> {
    let notice = match action.as_str() {
        "approve" => approve(&app, &access, &name, &session.form).await?,
        "reject" => reject(&app, &access, &name, &session.form).await?,
        _ => return Err(Problem::not_found("form")),
    };
    keep_notice(&app, &session, &notice).await?;
    Ok(see_other(&peer_path(&name)))
}

async fn approve(
    app: &AppState,
    access: &RequireRole<AtLeastCurator>,
    name: &str,
    form: &FormFields,
) -> Result<String, Problem> {
    let read = read_words(form).map_err(|error| invalid(&error))?;
    let mut decisions: Vec<PeerDecision> = Vec::with_capacity(read.len());
    for words in read {
        // An entry that is ticked and listed twice is approved once.
        if decisions.iter().all(|it| it.entry != words.entry) {
            decisions.push(PeerDecision {
                entry: words.entry,
                artifact: words.digest,
            });
        }
    }
    let services = app.service_context();
    let approving =
        approve_peer_entries(&app.database, &services, &access.caller, name, &decisions);
    let number = approving.await?;
    Ok(format!(
        "Approved {number} of {name}; searches show them, labeled and discounted."
    ))
}

async fn reject(
    app: &AppState,
    access: &RequireRole<AtLeastCurator>,
    name: &str,
    form: &FormFields,
) -> Result<String, Problem> {
    let id = form.text("entry").unwrap_or_default();
    let id: EntryId = id.parse().map_err(|_| Problem::not_found("entry"))?;
    let reason = read_reject_reason(form).map_err(|error| invalid(&error))?;
    let services = app.service_context();
    let rejected = (&[id][..], reason);
    reject_peer_entries(&app.database, &services, &access.caller, name, rejected).await?;
    Ok(format!("{id} of {name} is rejected; the peer loses trust."))
}

fn invalid(error: &FormError) -> Problem {
    Problem::invalid(error.to_string())
}

/// Begins to read the peers.
async fn begin(
    app: &AppState,
    access: &RequireRole<AtLeastCurator>,
) -> Result<OrganizationTx, HubFederationError> {
    let organization = access.caller.organization;
    Ok(app.database.begin_organization(organization).await?)
}

/// Returns the lane that is listed for an address, and the verdict of its entries.
fn listed_lane(lane: PeerLane) -> (PeerLane, PeerVerdict) {
    match lane {
        PeerLane::Approved => (lane, PeerVerdict::Approved),
        PeerLane::Rejected => (lane, PeerVerdict::Rejected),
        // What its publisher took back is counted only.
        PeerLane::Waiting | PeerLane::Withdrawn | PeerLane::Redacted => {
            (PeerLane::Waiting, PeerVerdict::Waiting)
        }
    }
}

fn entry_item(found: PeerEntry) -> PeerEntryItem {
    PeerEntryItem {
        id: found.entry.id,
        first_seen: found.first_seen,
        entry: Some(found.entry),
        // Entries of peers belong to the organization, and those they could be compared with to
        // single workspaces.
        related: Vec::new(),
    }
}

async fn peer_line(tx: &mut OrganizationTx, row: PeerRow) -> Result<PeerLine, StoreError> {
    let now = tx.now();
    let counts = tx.count_peer_entries(row.id).await?;
    let fingerprint = PublisherKey::parse(&row.key).map(|it| it.fingerprint());
    Ok(PeerLine {
        publication: row.publication,
        publisher: row.publisher,
        fingerprint,
        source: row.source,
        hops: row.hops,
        suspended: row.suspended,
        freshness: Freshness::of_head(row.expires_at, now),
        expires: row.expires_at,
        pulled: row.pulled_at,
        stopped: row.stopped,
        trust: row.trust,
        mean: row.mean,
        weight: foreign_weight(row.trust, row.hops, row.weight_max),
        counts: vec![
            (PeerLane::Waiting, counts.waiting),
            (PeerLane::Approved, counts.approved),
            (PeerLane::Rejected, counts.rejected),
            (PeerLane::Withdrawn, counts.withdrawn),
            (PeerLane::Redacted, counts.redacted),
        ],
        name: row.name,
    })
}
