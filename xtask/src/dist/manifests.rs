//! Files generated from the facts: blocks and files of the repository, and manifests of a release.

use std::path::Path;

use xtask::repository::{Finding, Repository};

use super::facts::{BuildTarget, FACTS_FILE, ReleaseFacts};
use super::template::replace_block;

/// Files of the repository with a generated block, and the template of the block.
const BLOCKS: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo-workspace.toml.in"),
    ("action.yml", "action.yml.in"),
    ("crates/ken-cli/Cargo.toml", "binstall.toml.in"),
    ("deploy/helm/ken-hub/Chart.yaml", "chart.yaml.in"),
    ("packaging/install.ps1", "install.ps1.in"),
    ("packaging/install.sh", "install.sh.in"),
];

/// Files of the repository that are generated as a whole.
const SOURCES: &[(&str, &str)] = &[
    ("crates/ken-agents/src/setup/packages.rs", "packages.rs.in"),
    (
        "crates/ken-cli/src/commands/installation/release_facts.rs",
        "release_facts.rs.in",
    ),
];

/// Manifests of a release, which contain the checksums of its files. No one of them has been
/// installed by us.
const RELEASE_MANIFESTS: &[(&str, &str)] = &[
    ("homebrew/ken.rb", "ken.rb.in"),
    ("nix/flake.nix", "flake.nix.in"),
    ("scoop/ken.json", "scoop.json.in"),
    ("winget/{{winget}}.yaml", "winget-version.yaml.in"),
    (
        "winget/{{winget}}.installer.yaml",
        "winget-installer.yaml.in",
    ),
    (
        "winget/{{winget}}.locale.en-US.yaml",
        "winget-locale.yaml.in",
    ),
];

/// Writes the generated parts of the repository.
pub(super) fn write(repository: &Repository, facts: &ReleaseFacts) -> Result<(), String> {
    for (path, text) in generated(repository, facts)? {
        repository.write(path, &text)?;
    }
    Ok(())
}

/// Finds generated parts of the repository that differ from the facts.
pub(super) fn check(repository: &Repository, facts: &ReleaseFacts) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for (path, text) in generated(repository, facts)? {
        if repository.read(path)? != text {
            let message = format!("differs from `{FACTS_FILE}`: run `cargo xtask dist manifests`");
            findings.push(Finding::new(path, 1, message));
        }
    }
    Ok(findings)
}

fn generated(
    repository: &Repository,
    facts: &ReleaseFacts,
) -> Result<Vec<(&'static str, String)>, String> {
    let values = facts.values();
    let render = |template: &str| {
        let text = repository.read(&format!("packaging/templates/{template}"))?;
        values
            .render(&text)
            .map_err(|error| format!("`{template}`: {error}"))
    };
    let mut files = Vec::new();
    for (path, template) in BLOCKS {
        let text = replace_block(&repository.read(path)?, &render(template)?);
        files.push((*path, text.map_err(|error| format!("`{path}`: {error}"))?));
    }
    for (path, template) in SOURCES {
        files.push((*path, render(template)?));
    }
    Ok(files)
}

/// Returns the manifests of a release. `checksum_of` gives the checksum of a file of the release.
pub(super) fn release_manifests(
    repository: &Repository,
    facts: &ReleaseFacts,
    checksum_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let mut values = facts.values();
    for target in &facts.targets {
        let archive = archive_name(facts, target);
        // Zeros never match a file: an installer refuses a system that this release lacks.
        let checksum = checksum_of(&archive).unwrap_or_else(|| "0".repeat(64));
        let key = format!("{}_{}", target.os, target.cpu);
        values.set(&format!("sha256_{key}"), &checksum);
        values.set(&format!("archive_{key}"), archive);
        values.set(&format!("stem_{key}"), facts.archive_stem(target));
    }
    let mut manifests = Vec::new();
    for (path, template) in RELEASE_MANIFESTS {
        let text = repository.read(&format!("packaging/templates/{template}"))?;
        let text = values.render(&text);
        let text = text.map_err(|error| format!("`{template}`: {error}"))?;
        manifests.push((values.render(path)?, text));
    }
    Ok(manifests)
}

/// Name of the archive that installers download for a target.
fn archive_name(facts: &ReleaseFacts, target: &BuildTarget) -> String {
    let extension = if target.is_windows() { "zip" } else { "tar.gz" };
    format!("{}.{extension}", facts.archive_stem(target))
}

/// Returns the notes of a version from the changelog; `Unreleased` stands for a version that has
/// no heading yet.
pub(super) fn release_notes(changelog: &str, version: &str) -> Option<String> {
    let section = |name: &str| {
        let heading = format!("## [{name}]");
        let start = changelog
            .lines()
            .position(|line| line.starts_with(&heading))?;
        let lines = changelog.lines().skip(start + 1);
        let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
        let notes = lines.join("\n").trim().to_owned();
        (!notes.is_empty()).then_some(notes + "\n")
    };
    section(version).or_else(|| section("Unreleased"))
}

/// Creates the folder of `path` and writes it.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write `{}`: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, bytes).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_section_of_the_version() {
        let changelog =
            "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-01-01\n\n- old\n";
        assert_eq!(
            release_notes(changelog, "0.1.0").as_deref(),
            Some("- old\n")
        );
        assert_eq!(
            release_notes(changelog, "0.2.0").as_deref(),
            Some("- new\n")
        );
        assert_eq!(release_notes("# Changelog\n", "0.1.0"), None);
    }

    #[test]
    fn every_template_renders_and_every_generated_file_is_current() {
        let repository = Repository::of_this_build();
        let facts = ReleaseFacts::load(&repository).unwrap();
        assert_eq!(check(&repository, &facts), Ok(Vec::new()));
        let manifests = release_manifests(&repository, &facts, &|_| Some("ab".repeat(32))).unwrap();
        for (path, text) in manifests {
            assert!(text.contains(&facts.version), "{path}");
            if path.ends_with(".json") {
                let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
                assert!(read.is_ok(), "{path}");
            }
        }
    }
}
