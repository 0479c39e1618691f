//! Ranking weights of a workspace, shared by all its clones.

use ken_core::decide;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::retrieval::score::{RankingWeights, SCORING_KEY};
use ken_core::values::actor::Actor;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::sync;

/// The effective ranking weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkspaceWeights {
    pub weights: RankingWeights,
    /// Set if the workspace configured them; otherwise they are the defaults.
    pub is_custom: bool,
}

impl WorkspaceWeights {
    pub(crate) fn from_workspace(workspace: &WorkspaceState) -> Self {
        let own = RankingWeights::from_workspace(workspace);
        Self {
            weights: own.unwrap_or_default(),
            is_custom: own.is_some(),
        }
    }
}

/// Returns the weights of this workspace, or the defaults if its own are missing or invalid.
pub(crate) fn workspace_weights(engine: &Engine) -> Result<WorkspaceWeights, EngineError> {
    Ok(WorkspaceWeights::from_workspace(&engine.index.workspace()?))
}

/// Sets the weights of this workspace; `None` restores the defaults.
pub(crate) fn set_workspace_weights(
    engine: &mut Engine,
    weights: Option<RankingWeights>,
    by: &Actor,
) -> Result<WorkspaceWeights, EngineError> {
    // Events are append-only, so a null value stands for the removal of a setting.
    let value = weights.map_or(Value::Null, |weights| weights.to_json());
    configure(engine, SCORING_KEY, value, by)?;
    engine.workspace_weights()
}

/// Sets a configuration value of this workspace.
pub(crate) fn configure(
    engine: &mut Engine,
    key: &str,
    value: Value,
    by: &Actor,
) -> Result<(), EngineError> {
    sync::sync_before_writing(engine)?;
    let key = key.parse().expect("the key is a tag");
    let draft = decide::configure(&engine.index.workspace()?, key, value, by)?;
    engine.record(vec![draft], by)?;
    Ok(())
}
