//! What waits at the hub: lines that say of themselves that they were admitted, and that the hub's guard would not have
//! let in without a person. They are in no log until a curator lets them in.

use ken_core::id::EventId;
use ken_guard::Written;

use super::{Desk, Failure};
use crate::identity::Role;
use crate::identity::audit::Act;
use crate::store::HeldEvent;

/// Lines that are listed; those behind come up when they are gone.
const HELD_MAX: u32 = 200;

/// Lists what waits, the oldest first.
pub async fn held(desk: &mut Desk) -> Result<Vec<HeldEvent>, Failure> {
    desk.needs(Role::Curator, "seeing what waits")?;
    Ok(desk.tenant.held(None, HELD_MAX).await?)
}

/// Lets a line in as it was written. What today's rules refuse outright stays out whoever says otherwise.
pub async fn release(desk: &mut Desk, id: EventId) -> Result<(), Failure> {
    desk.needs_person("releasing what was held")?;
    desk.lock().await?;
    let held = desk.tenant.discard(id).await?;
    let held = held.ok_or_else(|| not_held(id))?;
    if let Written::Turned(why) = desk.house.guard.receive(&held.copy) {
        return Err(why.into());
    }
    desk.append(vec![held.copy]).await?;
    desk.audit(Act::HeldReleased, &id.to_string()).await
}

/// Throws a line away; whoever pushes it again brings it back.
pub async fn discard(desk: &mut Desk, id: EventId) -> Result<(), Failure> {
    desk.needs_person("discarding what was held")?;
    desk.lock().await?;
    let discarded = desk.tenant.discard(id).await?;
    discarded.ok_or_else(|| not_held(id))?;
    desk.audit(Act::HeldDiscarded, &id.to_string()).await
}

fn not_held(id: EventId) -> Failure {
    let (what, wanted) = ("line that waits", id.to_string());
    Failure::NotFound { what, wanted }
}
