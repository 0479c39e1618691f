//! How much each signal counts when entries are ranked, for everybody in a workspace.

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::score::{SCORING_KEY, Weights};
use ken_core::store::Store as _;
use ken_core::workspace::Workspace;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;

/// The weights that hold here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    pub weights: Weights,
    /// Whether the workspace chose them; they are the same everywhere otherwise.
    pub own: bool,
}

impl Scoring {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let own = Weights::of(workspace);
        Self {
            weights: own.unwrap_or_default(),
            own: own.is_some(),
        }
    }
}

impl Engine {
    /// Returns the weights of this workspace, or the default ones where its own are not sound.
    pub fn scoring(&self) -> Result<Scoring, Error> {
        Ok(Scoring::of(&self.index.workspace()?))
    }

    /// Sets the weights of this workspace; without any, the default ones hold again.
    pub fn set_scoring(&mut self, weights: Option<Weights>, by: &Actor) -> Result<Scoring, Error> {
        let value = weights.map_or(Value::Null, |weights| weights.to_json());
        self.configure(SCORING_KEY, value, by)?;
        self.scoring()
    }

    /// Sets what holds under `key` for everybody in this workspace.
    pub(crate) fn configure(&mut self, key: &str, value: Value, by: &Actor) -> Result<(), Error> {
        self.absorb_before_writing()?;
        let key = key.parse().expect("the key is a tag");
        let draft = decide::configure(&self.index.workspace()?, key, value, by)?;
        self.record(vec![draft], by)?;
        Ok(())
    }
}
