//! Software bill of materials in CycloneDX 1.5, from `cargo metadata` and `Cargo.lock`.
//!
//! Lists the crates that are linked into `ken` for a target: neither tests nor build scripts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};
use xtask::repository::{Repository, cargo};

use super::facts::{BuildTarget, ReleaseFacts};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Returns the document for the program `ken` on `target`.
pub(super) fn document(
    repository: &Repository,
    facts: &ReleaseFacts,
    target: &BuildTarget,
) -> Result<String, String> {
    let metadata = read_metadata(repository, target)?;
    let lock: LockFile =
        toml::from_str(&repository.read("Cargo.lock")?).map_err(|error| error.to_string())?;
    let checksums: BTreeMap<(String, String), String> = lock
        .package
        .into_iter()
        .filter_map(|it| Some(((it.name, it.version), it.checksum?)))
        .collect();
    let packages: BTreeMap<&str, &Package> = metadata
        .packages
        .iter()
        .map(|it| (it.id.as_str(), it))
        .collect();
    let root = packages
        .values()
        .find(|it| it.name == facts.packages.crates)
        .ok_or_else(|| format!("no crate `{}`", facts.packages.crates))?;
    let linked = linked_packages(&metadata, &root.id);
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for (id, uses) in &linked {
        let Some(package) = packages.get(id.as_str()) else {
            return Err(format!("cargo names the unknown package `{id}`"));
        };
        let used: Vec<String> = uses
            .iter()
            .filter_map(|id| packages.get(id.as_str()).map(|it| package_url(it)))
            .collect();
        dependencies.push(json!({ "ref": package_url(package), "dependsOn": used }));
        if package.id != root.id {
            components.push(component(package, &checksums));
        }
    }
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": package_url(root),
                "name": "ken",
                "version": facts.version,
                "description": facts.description,
                "licenses": [{ "expression": facts.license }],
                "externalReferences": [{ "type": "vcs", "url": facts.repository }],
            },
            "properties": [{ "name": "ken:target", "value": target.triple }],
        },
        "components": components,
        "dependencies": dependencies,
    });
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| error.to_string())
}

fn read_metadata(repository: &Repository, target: &BuildTarget) -> Result<Metadata, String> {
    let output = cargo(repository.root())
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", &target.triple])
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// Returns the packages reachable from `root` by normal dependencies, with those each one uses.
fn linked_packages(metadata: &Metadata, root: &str) -> BTreeMap<String, BTreeSet<String>> {
    let nodes: BTreeMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|it| (it.id.as_str(), it))
        .collect();
    let mut linked = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(id) = open.pop() {
        if linked.contains_key(&id) {
            continue;
        }
        let Some(node) = nodes.get(id.as_str()) else {
            continue;
        };
        let normal = |it: &&Dependency| it.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let uses: BTreeSet<String> = node
            .deps
            .iter()
            .filter(normal)
            .map(|it| it.pkg.clone())
            .collect();
        open.extend(uses.iter().cloned());
        linked.insert(id, uses);
    }
    linked
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": package_url(package),
        "name": package.name,
        "version": package.version,
        "purl": package_url(package),
        "scope": "required",
    });
    if let Some(license) = &package.license {
        // Older crates write `MIT/Apache-2.0`, which is not an SPDX expression.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    let key = (package.name.clone(), package.version.clone());
    if let Some(checksum) = checksums.get(&key).filter(|_| package.source.is_some()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn package_url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}
