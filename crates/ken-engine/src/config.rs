//! `.ken/config.toml`: what a repository says about itself and asks of its gate.
//!
//! It comes with the repository, so nothing in it names a program, a path outside or an address. A gate
//! reads it from the version a change starts from: a pull request does not soften its own gate.

use ken_core::answer::ThreadVisibility;
use std::collections::BTreeSet;

use ken_anchor::Tree;
use ken_ledger::layout::KEN_DIR;
use serde::Deserialize;

use crate::attend::Surfacing;
use crate::error::Error;

/// Its place below the repository.
pub(crate) const CONFIG_FILE: &str = "config.toml";

/// What the file may say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Names the form of the file; there is one.
    pub(crate) schema: Option<String>,
    /// Names for what conditions may rest on: `fact:monorepo`.
    pub(crate) facts: BTreeSet<String>,
    pub(crate) verify: VerifyPart,
    pub(crate) search: SearchPart,
    pub(crate) surfacing: SurfacingPart,
}

/// How agents come by what is known, by their role; without a word, as the role is used to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SurfacingPart {
    pub(crate) researcher: Option<Surfacing>,
    pub(crate) planner: Option<Surfacing>,
    pub(crate) debugger: Option<Surfacing>,
    pub(crate) executor: Option<Surfacing>,
    pub(crate) reviewer: Option<Surfacing>,
    /// Agents of no such role.
    pub(crate) other: Option<Surfacing>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchPart {
    pub(crate) thread_visibility: ThreadVisibility,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct VerifyPart {
    pub(crate) fail_on: FailOn,
}

/// Which invalidated knowledge fails the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailOn {
    /// None: everything is a warning.
    Nothing,
    /// Norms only; what else is known is advice.
    #[default]
    Norms,
    /// Any entry.
    Any,
}

impl Config {
    /// Reads the file of a version; one without it says nothing.
    pub(crate) fn of(tree: &dyn Tree) -> Result<Self, Error> {
        let path = format!("{KEN_DIR}/{CONFIG_FILE}");
        let read = tree.read(&path);
        let Some(bytes) = read.map_err(|error| Error::Usage(error.to_string()))? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text)
            .map_err(|error| Error::Usage(format!("cannot read `{path}`: {}", error.message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_little_and_nothing_else() {
        let read: Config = toml::from_str(
            "schema = \"ken.config.v1\"\nfacts = [\"monorepo\"]\n[verify]\nfail_on = \"any\"\n",
        )
        .unwrap();
        assert!(read.facts.contains("monorepo"));
        assert_eq!(read.verify.fail_on, FailOn::Any);
        assert_eq!(Config::default().verify.fail_on, FailOn::Norms);
        let strict: Config = toml::from_str("[search]\nthread_visibility = \"strict\"\n").unwrap();
        assert_eq!(strict.search.thread_visibility, ThreadVisibility::Strict);
        let own: Config = toml::from_str("[surfacing]\nplanner = \"mandatory_pull\"\n").unwrap();
        assert_eq!(own.surfacing.planner, Some(Surfacing::MandatoryPull));
        assert_eq!(own.surfacing.reviewer, None);
        for bad in [
            "judge = \"sh -c x\"\n",
            "[verify]\nfail_on = \"some\"\n",
            "[surfacing]\nplanner = \"shout\"\n",
        ] {
            assert!(toml::from_str::<Config>(bad).is_err(), "{bad}");
        }
    }
}
