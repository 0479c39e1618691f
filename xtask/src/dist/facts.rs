//! Facts of a release: `packaging/release.toml` and the version of the workspace.

use serde::Deserialize;
use xtask::repository::Repository;

use super::template::Values;

/// The one file with addresses, names and people.
pub(super) const FACTS_FILE: &str = "packaging/release.toml";

/// Contents of [`FACTS_FILE`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseFacts {
    pub(super) description: String,
    pub(super) repository: String,
    pub(super) homepage: String,
    pub(super) license: String,
    pub(super) maintainer: Maintainer,
    pub(super) downloads: String,
    pub(super) signing_key: String,
    pub(super) packages: PackageNames,
    pub(super) targets: Vec<BuildTarget>,
    /// Version of the workspace, or the one given on the command line.
    #[serde(skip)]
    pub(super) version: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Maintainer {
    pub(super) name: String,
    pub(super) email: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PackageNames {
    #[serde(rename = "crate")]
    pub(super) crates: String,
    pub(super) python: String,
    pub(super) npm: String,
    pub(super) deb: String,
    pub(super) winget: String,
    pub(super) mcp: String,
}

/// A system that releases are built for; `os` and `cpu` as npm names them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildTarget {
    pub(super) triple: String,
    pub(super) os: String,
    pub(super) cpu: String,
}

impl BuildTarget {
    pub(super) fn is_windows(&self) -> bool {
        self.os == "win32"
    }

    /// File name of the executable.
    pub(super) fn executable(&self) -> &'static str {
        if self.is_windows() { "ken.exe" } else { "ken" }
    }

    /// Machine as Debian names it.
    pub(super) fn deb_machine(&self) -> &'static str {
        if self.cpu == "arm64" {
            "arm64"
        } else {
            "amd64"
        }
    }
}

impl ReleaseFacts {
    pub(super) fn load(repository: &Repository) -> Result<Self, String> {
        let text = repository.read(FACTS_FILE)?;
        let mut facts: Self =
            toml::from_str(&text).map_err(|error| format!("`{FACTS_FILE}`: {error}"))?;
        facts.version = workspace_version(&repository.read("Cargo.toml")?)?;
        Ok(facts)
    }

    pub(super) fn target(&self, triple: &str) -> Result<&BuildTarget, String> {
        let found = self.targets.iter().find(|it| it.triple == triple);
        found.ok_or_else(|| format!("`{triple}` is not a target of `{FACTS_FILE}`"))
    }

    /// Name of an archive without its extension, and of the folder inside.
    pub(super) fn archive_stem(&self, target: &BuildTarget) -> String {
        format!("ken-{}-{}", self.version, target.triple)
    }

    /// Name of the Python package in file names and imports.
    pub(super) fn python_module(&self) -> String {
        self.packages.python.replace('-', "_")
    }

    /// Address of the files of this version.
    pub(super) fn release_url(&self) -> String {
        format!("{}/download/v{}", self.downloads, self.version)
    }

    /// Values for templates.
    pub(super) fn values(&self) -> Values {
        let mut values = Values::default();
        let email = &self.maintainer.email;
        for (name, value) in [
            ("description", self.description.as_str()),
            ("repository", &self.repository),
            ("homepage", &self.homepage),
            ("license", &self.license),
            ("maintainer", &self.maintainer.name),
            ("email", email),
            ("downloads", &self.downloads),
            ("signing_key", &self.signing_key),
            ("version", &self.version),
            ("crate", &self.packages.crates),
            ("python", &self.packages.python),
            ("npm", &self.packages.npm),
            ("deb", &self.packages.deb),
            ("winget", &self.packages.winget),
            ("mcp", &self.packages.mcp),
        ] {
            values.set(name, value);
        }
        values.set("python_module", self.python_module());
        values.set("release_url", self.release_url());
        values
    }
}

fn workspace_version(manifest: &str) -> Result<String, String> {
    let manifest: toml::Table =
        toml::from_str(manifest).map_err(|error| format!("`Cargo.toml`: {error}"))?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    version
        .map(str::to_owned)
        .ok_or_else(|| "`Cargo.toml` has no workspace version".to_owned())
}
