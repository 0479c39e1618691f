//! When silence lays an entry aside in this workspace, and whether entries are withheld.

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::store::Store as _;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Returns the policy of this workspace, or the default one where its own is not sound.
    pub fn review_policy(&self) -> Result<ReviewPolicy, Error> {
        let workspace = self.index.workspace()?;
        let own = workspace.config(REVIEW_KEY);
        let own = own.and_then(|it| serde_json::from_value(it.value.clone()).ok());
        Ok(own.unwrap_or_default())
    }

    /// Sets the policy of this workspace; without one, the default holds again.
    pub fn set_review_policy(
        &mut self,
        policy: Option<ReviewPolicy>,
        by: &Actor,
    ) -> Result<ReviewPolicy, Error> {
        self.absorb_before_writing()?;
        let value = policy.map(serde_json::to_value);
        let value = value.transpose().ok().flatten().unwrap_or(Value::Null);
        let key = REVIEW_KEY.parse().expect("the key is a tag");
        let draft = decide::configure(&self.index.workspace()?, key, value, by)?;
        self.record(vec![draft], by)?;
        self.review_policy()
    }
}
