//! What an organisation may have, its own row first, the hub's defaults else.

use super::App;
use super::problem::{Kind, Problem};
use crate::database::OrganisationTx;

/// Refuses one more workspace where the organisation has as many as it may.
///
/// Takes the organisation's row, so that two requests cannot both take the last place.
pub(super) async fn workspaces(app: &App, tx: &mut OrganisationTx) -> Result<(), Problem> {
    let id = tx.id();
    let own: Option<(Option<i64>,)> = sqlx::query_as(
        "SELECT workspaces_max FROM ken.organisations WHERE id = $1 FOR NO KEY UPDATE",
    )
    .bind(id.0)
    .fetch_optional(tx.connection())
    .await?;
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM ken.workspaces WHERE organisation_id = $1")
            .bind(id.0)
            .fetch_one(tx.connection())
            .await?;
    let own = own.and_then(|(max,)| max).map(i64::unsigned_abs);
    let max = own.unwrap_or(app.settings.quotas.workspaces);
    refuse_beyond("workspaces", count.unsigned_abs() + 1, max)
}

/// Refuses `wanted` where only `max` are allowed.
pub(super) fn refuse_beyond(what: &str, wanted: u64, max: u64) -> Result<(), Problem> {
    if wanted <= max {
        return Ok(());
    }
    let detail = format!(
        "that would be {wanted} {what} and {max} are allowed; whoever operates the hub can raise the quota"
    );
    Err(Problem::new(Kind::Quota, detail))
}
