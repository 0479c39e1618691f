//! When silence lays an entry aside in this workspace, and whether entries are withheld.

use ken_core::actor::Actor;
use ken_core::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::store::Store as _;

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Returns the policy of this workspace, or the default one where its own is not sound.
    pub fn review_policy(&self) -> Result<ReviewPolicy, Error> {
        Ok(ReviewPolicy::of(&self.index.workspace()?))
    }

    /// Sets the policy of this workspace; without one, the default holds again.
    pub fn set_review_policy(
        &mut self,
        policy: Option<ReviewPolicy>,
        by: &Actor,
    ) -> Result<ReviewPolicy, Error> {
        self.configure(REVIEW_KEY, serde_json::json!(policy), by)?;
        self.review_policy()
    }
}
