//! Review policy of the workspace: when unconfirmed entries are archived, the holdout, and the use
//! of rediscovery.

use ken_core::decide::{self, Refusal};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::rediscovery::{
    REDISCOVERY_KEY, REDISCOVERY_MODEL_KEY, RediscoveryPolicy, fit_to_entries,
};
use ken_core::trust::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::values::actor::Actor;
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::sync;

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
    sync::sync_before_writing(engine)?;
    let workspace = engine.index.workspace()?;
    let now = ReviewPolicy::from_workspace(&workspace);
    let mut drafts = Vec::new();
    for (key, value) in changed_settings(now, policy) {
        let key = key.parse().expect("the key is a tag");
        match decide::configure(&workspace, key, value, by) {
            Ok(draft) => drafts.push(draft),
            Err(Refusal::NothingChanges) => {}
            Err(other) => return Err(other.into()),
        }
    }
    // As for a single setting: a write that changes nothing is refused.
    if drafts.is_empty() {
        return Err(Refusal::NothingChanges.into());
    }
    engine.record(drafts, by)?;
    engine.review_policy()
}

/// Returns the settings to write. Each part of the policy has a key of its own, so that a build
/// that does not know one of them still reads the others.
fn changed_settings(now: ReviewPolicy, wanted: Option<ReviewPolicy>) -> Vec<(&'static str, Value)> {
    let Some(wanted) = wanted else {
        let keys = [REVIEW_KEY, REDISCOVERY_KEY, REDISCOVERY_MODEL_KEY];
        return keys.map(|key| (key, Value::Null)).into();
    };
    let RediscoveryPolicy { mode, fitted } = wanted.rediscovery;
    let mut changed = Vec::new();
    if mode != now.rediscovery.mode {
        changed.push((REDISCOVERY_KEY, json!(mode)));
    }
    if fitted != now.rediscovery.fitted {
        changed.push((REDISCOVERY_MODEL_KEY, json!(fitted)));
    }
    let is_same_review = wanted
        == ReviewPolicy {
            rediscovery: wanted.rediscovery,
            ..now
        };
    // Writing the default explicitly is allowed: it protects against a later default.
    if changed.is_empty() || !is_same_review {
        changed.push((REVIEW_KEY, json!(wanted)));
    }
    changed
}

/// Returns the policy with the rediscovery model fitted to the entries of this workspace; `None` if
/// no entry had a chance yet.
pub(crate) fn fit_rediscovery(engine: &Engine) -> Result<Option<RediscoveryPolicy>, EngineError> {
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let fitted = fit_to_entries(&engine.index.list(&filter)?);
    // Fitting says how to read evidence, not what to do with it: the mode stays.
    let mode = engine.review_policy()?.rediscovery.mode;
    Ok(fitted.map(|fitted| RediscoveryPolicy {
        mode,
        fitted: Some(fitted),
    }))
}
