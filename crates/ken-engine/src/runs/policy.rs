//! Review policy of the workspace: when unconfirmed entries are archived, and the holdout.

use ken_core::ledger::store::DerivedStore as _;
use ken_core::trust::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::values::actor::Actor;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::scoring;

/// Returns the policy of this workspace; the default if it is absent or invalid.
pub(crate) fn review_policy(engine: &Engine) -> Result<ReviewPolicy, EngineError> {
    Ok(ReviewPolicy::from_workspace(&engine.index.workspace()?))
}

/// Sets the policy of this workspace; `None` restores the default.
pub(crate) fn set_review_policy(
    engine: &mut Engine,
    policy: Option<ReviewPolicy>,
    by: &Actor,
) -> Result<ReviewPolicy, EngineError> {
    scoring::configure(engine, REVIEW_KEY, serde_json::json!(policy), by)?;
    engine.review_policy()
}
