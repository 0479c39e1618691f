//! `.ken/config.toml`: the repository's facts and policy.
//!
//! The file is part of the repository, so it cannot name a program, an outside path or an address.
//! Gates read it at the base of a change: a pull request must not weaken its own gate.

use ken_core::retrieval::ranking::ThreadVisibility;
use std::collections::BTreeSet;

use ken_anchor::FileTree;
use ken_ledger::layout::KEN_DIR;
use serde::Deserialize;

use crate::error::EngineError;
use crate::hooks::SurfacingMode;

/// The file name below `.ken/`.
pub(crate) const CONFIG_FILE: &str = "config.toml";

/// Content of `config.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RepositoryConfig {
    /// Schema version of the file; only one exists.
    pub(crate) schema: Option<String>,
    /// Facts that conditions can refer to, such as `fact:monorepo`.
    pub(crate) facts: BTreeSet<String>,
    pub(crate) verify: VerifySection,
    pub(crate) search: SearchSection,
    pub(crate) surfacing: SurfacingSection,
    pub(crate) friction: FrictionSection,
    pub(crate) forage: ForageSection,
}

/// The `[forage]` section: what the forager must not do here, whatever the user allows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ForageSection {
    /// Whether hosts may be asked at all.
    pub(crate) hosts: bool,
    /// Hosts that must not be asked, each with every host below it.
    pub(crate) deny: Vec<String>,
}

impl Default for ForageSection {
    fn default() -> Self {
        Self {
            hosts: true,
            deny: Vec::new(),
        }
    }
}

/// Number of runs in which a tool must fail in the same way before Ken records it.
pub(crate) const FRICTION_RUNS_DEFAULT: usize = 3;

/// The `[friction]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FrictionSection {
    /// Runs with the same failure that make a friction entry; 0 for never.
    pub(crate) runs: usize,
}

impl Default for FrictionSection {
    fn default() -> Self {
        Self {
            runs: FRICTION_RUNS_DEFAULT,
        }
    }
}

/// Delivery of entries to agents by role; a role without a value uses its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SurfacingSection {
    pub(crate) researcher: Option<SurfacingMode>,
    pub(crate) planner: Option<SurfacingMode>,
    pub(crate) debugger: Option<SurfacingMode>,
    pub(crate) executor: Option<SurfacingMode>,
    pub(crate) reviewer: Option<SurfacingMode>,
    /// Agents with another role or none.
    pub(crate) other: Option<SurfacingMode>,
}

/// The `[search]` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchSection {
    pub(crate) thread_visibility: ThreadVisibility,
}

/// The `[verify]` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct VerifySection {
    pub(crate) fail_on: FailOn,
}

/// The invalid entries that fail the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailOn {
    /// No entries: everything is a warning.
    Nothing,
    /// Norms only; other entries are advice.
    #[default]
    Norms,
    /// Norms, and prescriptive entries such as decisions whose code changed.
    Decisions,
    /// Any entry.
    Any,
}

impl RepositoryConfig {
    /// Loads the file from a version; without a file, the defaults.
    pub(crate) fn load(tree: &dyn FileTree) -> Result<Self, EngineError> {
        let path = format!("{KEN_DIR}/{CONFIG_FILE}");
        let read = tree.read(&path);
        let Some(bytes) = read.map_err(|error| EngineError::Usage(error.to_string()))? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8_lossy(&bytes);
        // Unknown keys are errors: a misspelled `fail_on` would silently fall back to the default.
        toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start]
                .iter()
                .filter(|it| **it == b'\n')
                .count();
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            EngineError::Usage(format!("`{path}` line {line}: {what}"))
        })
    }

    /// Loads the file from the work tree; a broken one counts as empty. For readers, which must
    /// work: opening the ledger adds a notice about it.
    pub(crate) fn load_or_default(tree: &dyn FileTree) -> Self {
        Self::load(tree).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys of a section, as the error about an unknown one lists them.
    fn known_keys(text: &str) -> Vec<String> {
        let error = toml::from_str::<RepositoryConfig>(text).unwrap_err();
        let message = error.message().to_owned();
        let expected = message.split_once("expected").expect("a list of keys").1;
        let names = expected.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_configuration_reference_lists_every_key() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/configuration.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let example = page.split("```toml\n").nth(1).unwrap();
        let example = example.split("```").next().unwrap();
        assert!(toml::from_str::<RepositoryConfig>(example).is_ok());
        let mut keys = Vec::new();
        for key in known_keys("surplus = 1\n") {
            let nested = format!("[{key}]\nsurplus = 1\n");
            // A key that is not a section refuses a table for another reason.
            if ["schema", "facts"].contains(&key.as_str()) {
                keys.push(key);
            } else {
                let inner = known_keys(&nested).into_iter();
                keys.extend(inner.map(|it| format!("{key}.{it}")));
            }
        }
        assert!(keys.len() > 8, "{keys:?}");
        for key in keys {
            assert!(page.contains(&format!("| `{key}` |")), "{key} is missing");
        }
    }

    #[test]
    fn a_file_says_little_and_nothing_else() {
        let read: RepositoryConfig = toml::from_str(
            "schema = \"ken.config.v1\"\nfacts = [\"monorepo\"]\n[verify]\nfail_on = \"any\"\n",
        )
        .unwrap();
        assert!(read.facts.contains("monorepo"));
        assert_eq!(read.verify.fail_on, FailOn::Any);
        assert_eq!(RepositoryConfig::default().verify.fail_on, FailOn::Norms);
        let strict: RepositoryConfig =
            toml::from_str("[search]\nthread_visibility = \"strict\"\n").unwrap();
        assert_eq!(strict.search.thread_visibility, ThreadVisibility::Strict);
        let own: RepositoryConfig =
            toml::from_str("[surfacing]\nplanner = \"mandatory_pull\"\n").unwrap();
        assert_eq!(own.surfacing.planner, Some(SurfacingMode::MandatoryPull));
        assert_eq!(own.surfacing.reviewer, None);
        assert_eq!(strict.friction.runs, FRICTION_RUNS_DEFAULT);
        let never: RepositoryConfig = toml::from_str("[friction]\nruns = 0\n").unwrap();
        assert_eq!(never.friction.runs, 0);
        for bad in [
            "[friction]\nruns = -1\n",
            "judge = \"sh -c x\"\n",
            "[verify]\nfail_on = \"some\"\n",
            "[surfacing]\nplanner = \"shout\"\n",
        ] {
            assert!(toml::from_str::<RepositoryConfig>(bad).is_err(), "{bad}");
        }
    }
}
