//! Example norms with machine-checked rules, ready to be added.
//!
//! They are data (`norms/example_norms.json`) and have no effect until a person adds one. Then they
//! are entries like any other.

use std::collections::BTreeSet;

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Origin;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::values::actor::Actor;
use ken_core::values::check::NormCheck;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::{Content, DecayClass, KindDetail, NormDetail};
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::{Statement, Tag};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;

/// Norm that can be added by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleNorm {
    pub name: String,
    pub kind: EntryKind,
    pub statement: Statement,
    pub tags: BTreeSet<Tag>,
    pub check: NormCheck,
}

/// Returns the example norms in the order of the file.
pub fn example_norms() -> Vec<ExampleNorm> {
    serde_json::from_str(include_str!("examples.json"))
        // The file is compiled in, and a test parses it.
        .expect("the examples are read in a test")
}

/// Start of the references to examples of norms.
pub(crate) const EXAMPLES_PREFIX: &str = "ken-norms-examples/";

/// Adds the example `name`, citing `cited` or else the list of examples.
pub(crate) fn add_example_norm(
    engine: &mut Engine,
    name: &str,
    cited: Option<CitationSource>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let all = example_norms();
    let Some(example) = all.iter().find(|it| it.name == name) else {
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        let known = names.join(", ");
        return Err(EngineError::Usage(format!(
            "`{name}` is not a valid example; known: {known}"
        )));
    };
    let norms = EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    };
    let is_same = |it: &Entry| {
        let content = it.content.as_ref();
        content.is_some_and(|it| it.statement == example.statement)
    };
    if let Some(same) = engine.index.list(&norms)?.iter().find(|it| is_same(it)) {
        let id = same.id;
        let message = format!("{id} is this norm already");
        return Err(EngineError::Usage(message));
    }
    let evidence = match cited {
        Some(evidence) => evidence,
        None => format!("doc:{EXAMPLES_PREFIX}{name}")
            .parse()
            .map_err(|error| EngineError::Usage(format!("{error}")))?,
    };
    let mut content = Content::new(example.statement.clone());
    content.tags.clone_from(&example.tags);
    // A rule does not lose validity with age.
    content.decay = DecayClass::Permanent;
    content.detail = Some(KindDetail::Norm(NormDetail {
        check: example.check.clone(),
    }));
    let citation = evidence.cite(by, engine.now());
    let proposal = Proposal::new(
        example.kind,
        content,
        vec![citation],
        Origin::from_actor(by),
    );
    engine.add(proposal, by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_to_ten_examples_are_shipped_and_every_check_is_understood() {
        let all = example_norms();
        assert_eq!(all.len(), 8);
        let names: BTreeSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        let kinds: BTreeSet<EntryKind> = all.iter().map(|it| it.kind).collect();
        for kind in [
            EntryKind::CommitNorm,
            EntryKind::PrExpectation,
            EntryKind::UserExpectation,
        ] {
            assert!(kinds.contains(&kind), "{kind}");
        }
        for example in &all {
            assert_eq!(example.check.validate(), Ok(()), "{}", example.name);
        }
    }
}
