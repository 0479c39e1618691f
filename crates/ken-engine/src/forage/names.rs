//! Names of this repository that are private, and words that are public.
//!
//! A lockfile also lists packages of private registries and of the workspace itself. A package
//! counts as public only if `Cargo.lock` says that it comes from the public registry; the names of
//! the others there are private. Other lockfiles make no name public or private.

use std::collections::BTreeMap;
use std::path::Path;

use ken_anchor::FileTree as _;
use serde_json::Value;

use super::query::{PrivateNames, PublicWords};
use super::{ForageConfig, OVERVIEWS_MAX, PackageFolders, PinnedPackage, documents, locate};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git;
use crate::validity::WorkTree;

/// The public registry as lockfiles of Cargo name it.
const PUBLIC_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Files that name the project itself, with the path to its name.
const MANIFESTS: [(&str, &[&str]); 3] = [
    ("Cargo.toml", &["package", "name"]),
    ("pyproject.toml", &["project", "name"]),
    ("package.json", &["name"]),
];

/// Source of each package that a lockfile gives one for, by name and version. An empty text is the
/// workspace itself.
type PackageSources = BTreeMap<(String, String), String>;

/// Returns the words that a query of this repository may have, and the names that it may not.
pub(super) fn words_of_repository(
    engine: &Engine,
    config: &ForageConfig,
    folders: &PackageFolders,
    pinned: &[PinnedPackage],
) -> Result<(PublicWords, PrivateNames), EngineError> {
    let tree = WorkTree::new(&engine.place)?;
    let (mut public, mut private) = (PublicWords::default(), PrivateNames::default());
    for name in &config.names {
        private.add(name);
    }
    for name in own_names(engine, &tree) {
        private.add(&name);
    }
    let mut sources: BTreeMap<&str, PackageSources> = BTreeMap::new();
    let mut overviews = 0;
    for package in pinned {
        let known = sources
            .entry(package.path.as_str())
            .or_insert_with(|| read_sources(&tree, &package.path));
        let key = (package.name.clone(), package.version.clone());
        match known.get(&key) {
            Some(source) if source == PUBLIC_SOURCE => {
                public.add_package(&package.name);
                if overviews < OVERVIEWS_MAX {
                    overviews += 1;
                    add_overview(engine.root(), folders, package, &mut public);
                }
            }
            Some(_) => private.add(&package.name),
            // Other lockfiles do not say where a package comes from: it is neither.
            None => {}
        }
    }
    Ok((public, private))
}

/// Adds the words of a public package's first page.
fn add_overview(
    root: &Path,
    folders: &PackageFolders,
    package: &PinnedPackage,
    public: &mut PublicWords,
) {
    // A copy inside of the repository could be edited to make private words public.
    let outside = |copy: &super::PackageCopy| !copy.roots.iter().any(|it| it.starts_with(root));
    if let Some(copy) = locate(root, folders, package).filter(outside) {
        for passage in documents::overview(&copy.roots) {
            public.add_text(&passage.text);
        }
    }
}

/// Returns the names of the repository, its remotes, its author and its own packages.
fn own_names(engine: &Engine, tree: &WorkTree) -> Vec<String> {
    let folder = engine.root().file_name().and_then(|it| it.to_str());
    let mut names: Vec<String> = folder.into_iter().map(str::to_owned).collect();
    names.extend(git::configured_names(&engine.place));
    for (path, keys) in MANIFESTS {
        let Some(text) = read_text(tree, path) else {
            continue;
        };
        let value: Option<Value> = if path.ends_with(".json") {
            serde_json::from_str(&text).ok()
        } else {
            toml::from_str(&text).ok()
        };
        let name = value.and_then(|it| {
            let found = keys.iter().try_fold(&it, |at, key| at.get(key))?;
            found.as_str().map(str::to_owned)
        });
        names.extend(name);
    }
    names
}

fn read_text(tree: &WorkTree, path: &str) -> Option<String> {
    let bytes = tree.read(path).ok()??;
    String::from_utf8(bytes.to_vec()).ok()
}

/// Returns where a lockfile takes its packages from; empty for formats that do not say it.
fn read_sources(tree: &WorkTree, path: &str) -> PackageSources {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(text) = read_text(tree, path) else {
        return PackageSources::new();
    };
    if name == "Cargo.lock" {
        cargo_sources(&text)
    } else {
        PackageSources::new()
    }
}

fn toml_packages(text: &str) -> Vec<toml::Table> {
    let parsed: toml::Table = toml::from_str(text).unwrap_or_default();
    let all = parsed.get("package").and_then(toml::Value::as_array);
    let tables = all.into_iter().flatten().filter_map(toml::Value::as_table);
    tables.cloned().collect()
}

fn text_of<'t>(table: &'t toml::Table, key: &str) -> &'t str {
    let value = table.get(key).and_then(toml::Value::as_str);
    value.unwrap_or_default()
}

fn cargo_sources(text: &str) -> PackageSources {
    let packages = toml_packages(text);
    let source = |it: &toml::Table| {
        let key = (
            text_of(it, "name").to_owned(),
            text_of(it, "version").to_owned(),
        );
        // Without a source, the package is a member of the workspace.
        (key, text_of(it, "source").to_owned())
    };
    packages.iter().map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_the_public_registry_are_public() {
        let cargo = "[[package]]\nname = \"tokio\"\nversion = \"1.0.0\"\n\
            source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
            [[package]]\nname = \"orion-billing\"\nversion = \"1.0.0\"\n\
            source = \"registry+https://cargo.corp.net/index\"\n\
            [[package]]\nname = \"own\"\nversion = \"1.0.0\"\n";
        let sources = cargo_sources(cargo);
        let is_public = |name: &str| {
            let source = &sources[&(name.to_owned(), "1.0.0".to_owned())];
            source == PUBLIC_SOURCE
        };
        assert!(is_public("tokio") && !is_public("orion-billing") && !is_public("own"));
    }
}
