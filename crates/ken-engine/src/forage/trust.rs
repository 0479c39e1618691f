//! Trust of people in domains, and what was learned about each: settings of the workspace.

use std::collections::BTreeMap;

use ken_core::decide;
use ken_core::ledger::event::DomainAction;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::ledger::workspace::LearnedStrategy;
use ken_core::values::actor::Actor;

use crate::engine::Engine;
use crate::error::EngineError;

/// What this workspace says about a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainStatus {
    pub domain: String,
    /// A person's decision; `trust` or `distrust`.
    pub decision: Option<DomainAction>,
    pub learned: Option<LearnedStrategy>,
}

/// Records a person's decision about a domain and every host below it.
pub(crate) fn override_domain(
    engine: &mut Engine,
    domain: &str,
    action: DomainAction,
    by: &Actor,
) -> Result<(), EngineError> {
    let draft = decide::override_domain(&engine.index.workspace()?, domain, action, by)?;
    engine.record(vec![draft], by)?;
    Ok(())
}

/// Returns every domain that the workspace says something about, by name.
pub(crate) fn domain_statuses(engine: &Engine) -> Result<Vec<DomainStatus>, EngineError> {
    let workspace = engine.index.workspace()?;
    let mut found: BTreeMap<&str, DomainStatus> = BTreeMap::new();
    for (domain, action) in workspace.domain_overrides() {
        found.entry(domain).or_default().decision = Some(action);
    }
    for (domain, learned) in workspace.fetch_strategies() {
        found.entry(domain).or_default().learned = Some(learned);
    }
    let named = found.into_iter().map(|(domain, status)| DomainStatus {
        domain: domain.to_owned(),
        ..status
    });
    Ok(named.collect())
}
