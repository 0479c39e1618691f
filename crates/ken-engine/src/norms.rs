//! Norms to begin with: a few that a program can check, ready to be added.
//!
//! They are data (`norms/examples.json`) and bind nobody until a person adds one; then they are entries like
//! any other.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::check::Check;
use ken_core::citation::Evidence;
use ken_core::content::{Content, DecayClass, Detail, Norm};
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::Origin;
use ken_core::kind::Kind;
use ken_core::text::{Statement, Tag};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::Error;

/// A norm that can be added by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub name: String,
    pub kind: Kind,
    pub statement: Statement,
    pub tags: BTreeSet<Tag>,
    pub check: Check,
}

/// Returns the norms there are, in the order they are listed.
pub fn examples() -> Vec<Example> {
    serde_json::from_str(include_str!("norms/examples.json"))
        .expect("the examples are read in a test")
}

impl Engine {
    /// Adds the norm called `name`; `cited` is why, and without it that it is one of Ken's examples.
    pub fn add_example(
        &mut self,
        name: &str,
        cited: Option<Evidence>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        let all = examples();
        let Some(example) = all.iter().find(|it| it.name == name) else {
            let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
            let known = names.join(", ");
            return Err(Error::Usage(format!(
                "no example is called `{name}`; there are {known}"
            )));
        };
        let evidence = match cited {
            Some(evidence) => evidence,
            None => format!("doc:ken-norms-examples/{name}")
                .parse()
                .map_err(|error| Error::Usage(format!("{error}")))?,
        };
        let mut content = Content::new(example.statement.clone());
        content.tags.clone_from(&example.tags);
        content.decay = DecayClass::Permanent;
        content.detail = Some(Detail::Norm(Norm {
            check: example.check.clone(),
        }));
        let citation = evidence.cite(by, self.now());
        let proposal = Proposal::new(example.kind, content, vec![citation], Origin::of(by));
        self.add(proposal, by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ent_23_five_to_ten_examples_are_shipped_and_every_check_is_understood() {
        let all = examples();
        assert_eq!(all.len(), 8);
        let names: BTreeSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        let kinds: BTreeSet<Kind> = all.iter().map(|it| it.kind).collect();
        for kind in [Kind::CommitNorm, Kind::PrExpectation, Kind::UserExpectation] {
            assert!(kinds.contains(&kind), "{kind}");
        }
        for example in &all {
            assert_eq!(example.check.understand(), Ok(()), "{}", example.name);
        }
    }
}
