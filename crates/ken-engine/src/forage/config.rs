//! Configuration of the forager: `forage.toml` in the user's own folder.
//!
//! Without the file, the forager is off. A repository must not choose hosts: its `[forage]` section
//! in `.ken/config.toml` can only forbid more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::time::Duration;

use serde::Deserialize;

use crate::config::ForageSection;
use crate::error::EngineError;

/// Name of the configuration file.
const FORAGE_FILE: &str = "forage.toml";

/// Default limits of entries.
const ENTRIES_PER_RUN: u32 = 3;
const ENTRIES_PER_DAY: u32 = 20;
const WAITING_MAX: u32 = 50;
/// Default limit of pages.
const PAGES_PER_DAY: u32 = 60;
/// Default limit of queries to search services.
const SEARCHES_PER_DAY: u32 = 20;

/// A user may raise a default at most this many times.
const RAISE_MAX: u32 = 2;

/// Folder of the forager's configuration.
#[derive(Clone, Debug)]
pub struct ForageHome {
    pub folder: PathBuf,
}

/// Source of documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForageSourceKind {
    /// Documentation of locked packages on this machine.
    Packages,
    /// Folders that the user names.
    Folders,
    /// `llms.txt` and the pages it lists, of hosts that the user allows.
    Hosts,
    /// A SearXNG instance of the user.
    Searxng,
    /// The search service Brave.
    Brave,
}

impl ForageSourceKind {
    /// Returns the name used in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packages => "packages",
            Self::Folders => "folders",
            Self::Hosts => "hosts",
            Self::Searxng => "searxng",
            Self::Brave => "brave",
        }
    }

    /// Returns whether the source asks other machines.
    pub fn uses_network(self) -> bool {
        match self {
            Self::Packages | Self::Folders => false,
            Self::Hosts | Self::Searxng | Self::Brave => true,
        }
    }
}

/// Content of `forage.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForageConfig {
    /// Sources, in the order in which they are searched.
    pub sources: Vec<ForageSourceKind>,
    /// Folders with documentation.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// Further folders with installed Python packages.
    #[serde(default)]
    pub python: Vec<PathBuf>,
    /// URL or address that hosts can use to reach the user.
    #[serde(default)]
    pub contact: Option<String>,
    /// Whether maintenance may forage at the end of a run, if its policy allows that, too.
    #[serde(default)]
    pub unasked: bool,
    /// Names that never leave this machine, besides those of the guard.
    #[serde(default)]
    pub names: Vec<String>,
    #[serde(default)]
    pub searxng: Option<SearxngSection>,
    #[serde(default)]
    pub brave: Option<BraveSection>,
    #[serde(default)]
    pub egress: EgressSection,
    #[serde(default)]
    pub budget: BudgetSection,
}

/// The `[egress]` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EgressSection {
    /// Whether hosts that locked dependencies name may be asked, too.
    pub declared: bool,
    /// Hosts that may be asked, each with every host below it.
    pub allow: Vec<String>,
    /// Hosts that may not; wins over `allow`.
    pub deny: Vec<String>,
    /// Allowed hosts that may be asked without encryption.
    pub plain_http: Vec<String>,
}

/// The `[searxng]` section.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearxngSection {
    /// Address of the instance. It may be on this machine, because the user named it; what it
    /// finds is read from public addresses only.
    pub url: String,
}

/// The `[brave]` section.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BraveSection {
    /// Environment variable with the key.
    pub key_variable: String,
    /// Address of the service, if it is reached through another one.
    #[serde(default)]
    pub url: Option<String>,
}

/// The `[budget]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetSection {
    pub entries_per_run: u32,
    pub entries_per_day: u32,
    /// Entries that may wait for a person; at this number the forager stops.
    pub waiting: u32,
    pub pages_per_day: u32,
    /// Queries to search services.
    pub searches_per_day: u32,
}

impl Default for BudgetSection {
    fn default() -> Self {
        Self {
            entries_per_run: ENTRIES_PER_RUN,
            entries_per_day: ENTRIES_PER_DAY,
            waiting: WAITING_MAX,
            pages_per_day: PAGES_PER_DAY,
            searches_per_day: SEARCHES_PER_DAY,
        }
    }
}

impl ForageHome {
    /// Returns the path of the configuration file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FORAGE_FILE)
    }

    /// Loads the configuration; `None` if the user has none, so that the forager is off.
    pub fn load(&self) -> Result<Option<ForageConfig>, EngineError> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let shown = path.display();
                return Err(EngineError::Usage(format!(
                    "cannot read `{shown}`: {error}"
                )));
            }
        };
        ForageConfig::parse(&text, &path).map(Some)
    }
}

impl ForageConfig {
    fn parse(text: &str, path: &Path) -> Result<Self, EngineError> {
        let parsed: Result<Self, _> = toml::from_str(text);
        let mut config = parsed.map_err(|error| {
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            EngineError::Usage(format!("`{}`: {what}", path.display()))
        })?;
        // A relative folder would mean another one wherever Ken is started.
        if config
            .folders
            .iter()
            .chain(&config.python)
            .any(|it| !it.is_absolute())
        {
            let shown = path.display();
            return Err(EngineError::Usage(format!(
                "`{shown}`: folders must be absolute paths"
            )));
        }
        let limit = |value: &mut u32, default: u32| *value = (*value).min(default * RAISE_MAX);
        let budget = &mut config.budget;
        limit(&mut budget.entries_per_run, ENTRIES_PER_RUN);
        limit(&mut budget.entries_per_day, ENTRIES_PER_DAY);
        limit(&mut budget.waiting, WAITING_MAX);
        limit(&mut budget.pages_per_day, PAGES_PER_DAY);
        limit(&mut budget.searches_per_day, SEARCHES_PER_DAY);
        config.check_services(path)?;
        Ok(config)
    }

    /// Reports a search service among the sources that has no section of its own.
    fn check_services(&self, path: &Path) -> Result<(), EngineError> {
        let shown = path.display();
        let missing = |kind: ForageSourceKind, key: &str| {
            let name = kind.name();
            Err(EngineError::Usage(format!(
                "`{shown}`: the source `{name}` needs `[{name}]` with `{key}`"
            )))
        };
        let has = |kind| self.sources.contains(&kind);
        if has(ForageSourceKind::Searxng) && self.searxng.is_none() {
            return missing(ForageSourceKind::Searxng, "url");
        }
        if has(ForageSourceKind::Brave) && self.brave.is_none() {
            return missing(ForageSourceKind::Brave, "key_variable");
        }
        Ok(())
    }

    /// Applies what the repository forbids.
    pub(super) fn narrowed(mut self, repository: &ForageSection) -> Self {
        if !repository.hosts {
            self.sources.retain(|it| !it.uses_network());
        }
        self.egress.deny.extend(repository.deny.iter().cloned());
        self
    }

    /// Returns the policy and the budget of network access.
    #[cfg(feature = "http")]
    pub(super) fn egress(&self) -> (ken_fetch::EgressPolicy, ken_fetch::FetchBudget) {
        let EgressSection {
            allow,
            deny,
            plain_http,
            declared: _,
        } = self.egress.clone();
        let budget = ken_fetch::FetchBudget {
            pages_per_day: self.budget.pages_per_day,
            time_per_run: Duration::from_secs(30),
            ..ken_fetch::FetchBudget::default()
        };
        let policy = ken_fetch::EgressPolicy::new(allow, deny).with_plain_http(plain_http);
        (policy, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ForageConfig, EngineError> {
        ForageConfig::parse(text, Path::new("forage.toml"))
    }

    #[test]
    fn a_user_may_raise_limits_at_most_twofold() {
        let config =
            parse("sources = [\"packages\"]\n[budget]\nentries_per_day = 1000\nwaiting = 5")
                .unwrap();
        assert_eq!(config.budget.entries_per_day, 40);
        assert_eq!(config.budget.waiting, 5);
        assert_eq!(config.budget.entries_per_run, 3);
    }

    #[test]
    fn misspelled_keys_and_relative_folders_are_errors() {
        for text in [
            "source = [\"packages\"]",
            "sources = [\"web\"]",
            "sources = [\"folders\"]\nfolders = [\"docs\"]",
            "sources = []\n[egress]\nalow = []",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_repository_can_only_forbid() {
        let config = parse("sources = [\"packages\", \"hosts\"]\n[egress]\nallow = [\"a.org\"]");
        let narrowed = config.unwrap().narrowed(&ForageSection {
            hosts: false,
            deny: vec!["b.a.org".to_owned()],
        });
        assert_eq!(narrowed.sources, [ForageSourceKind::Packages]);
        assert_eq!(narrowed.egress.allow, ["a.org"]);
        assert_eq!(narrowed.egress.deny, ["b.a.org"]);
    }
}
