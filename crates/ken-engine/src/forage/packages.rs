//! Copies of locked packages on this machine, where package managers unpack them.
//!
//! Only the locked version counts: the documentation of another version can be wrong.

use std::fs;
use std::path::{Path, PathBuf};

use ken_anchor::condition::PinnedPackage;
use ken_core::values::condition::Ecosystem;

/// Maximum bytes of a manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

/// Folders in which package managers unpack packages.
#[derive(Clone, Debug, Default)]
pub struct PackageFolders {
    /// Cargo's home, with `registry/src`.
    pub cargo_home: Option<PathBuf>,
    /// Go's module cache.
    pub go_modules: Option<PathBuf>,
    /// Folders with installed Python packages, or virtual environments.
    pub python: Vec<PathBuf>,
}

/// A copy of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackageCopy {
    pub(super) package: PinnedPackage,
    /// Roots of its files; a Python package may have several.
    pub(super) roots: Vec<PathBuf>,
    /// The license as its manifest states it.
    pub(super) license: Option<String>,
    /// Its manifest, as text.
    pub(super) manifest: String,
}

/// Returns the copy of a locked package, if this machine has one.
pub(super) fn locate(
    root: &Path,
    folders: &PackageFolders,
    package: &PinnedPackage,
) -> Option<PackageCopy> {
    match package.ecosystem {
        Ecosystem::Cargo => locate_cargo(root, folders, package),
        Ecosystem::Npm => locate_npm(root, package),
        Ecosystem::Pypi => locate_python(root, folders, package),
        Ecosystem::Golang => locate_go(root, folders, package),
        Ecosystem::Composer | Ecosystem::Gem | Ecosystem::Maven => None,
    }
}

fn copy(package: &PinnedPackage, root: PathBuf, manifest: String) -> PackageCopy {
    let license = match package.ecosystem {
        Ecosystem::Npm => json_member(&manifest, "license"),
        Ecosystem::Pypi => header(&manifest, "License-Expression")
            .or_else(|| header(&manifest, "License").filter(|it| it.len() <= 60)),
        Ecosystem::Cargo
        | Ecosystem::Composer
        | Ecosystem::Gem
        | Ecosystem::Golang
        | Ecosystem::Maven => toml_member(&manifest, "license"),
    };
    PackageCopy {
        package: package.clone(),
        roots: vec![root],
        license,
        manifest,
    }
}

fn locate_cargo(
    root: &Path,
    folders: &PackageFolders,
    package: &PinnedPackage,
) -> Option<PackageCopy> {
    let PinnedPackage { name, version, .. } = package;
    let full = format!("{name}-{version}");
    let mut places = vec![
        root.join("vendor").join(name),
        root.join("vendor").join(&full),
    ];
    if let Some(home) = &folders.cargo_home {
        let registries = subfolders(&home.join("registry/src"));
        places.extend(registries.into_iter().map(|it| it.join(&full)));
    }
    places.into_iter().find_map(|place| {
        let manifest = read_small(&place.join("Cargo.toml"))?;
        let is_locked = toml_member(&manifest, "version").as_deref() == Some(version);
        is_locked.then(|| copy(package, place, manifest))
    })
}

fn locate_npm(root: &Path, package: &PinnedPackage) -> Option<PackageCopy> {
    let PinnedPackage {
        name,
        version,
        path,
        ..
    } = package;
    // `node_modules` is beside the lockfile, or further up in a workspace.
    // Never above the repository: a `node_modules` there belongs to another project.
    let mut folder = root.join(path).parent()?.to_owned();
    loop {
        let modules = folder.join("node_modules");
        let flat = name.replace('/', "+");
        for place in [
            modules.join(name),
            modules.join(format!(".pnpm/{flat}@{version}/node_modules/{name}")),
        ] {
            let manifest = read_small(&place.join("package.json"));
            let manifest = manifest
                .filter(|it| json_member(it, "version").as_deref() == Some(version.as_str()));
            if let Some(manifest) = manifest {
                return Some(copy(package, place, manifest));
            }
        }
        if folder == root || !folder.pop() {
            return None;
        }
    }
}

fn locate_python(
    root: &Path,
    folders: &PackageFolders,
    package: &PinnedPackage,
) -> Option<PackageCopy> {
    let own = [".venv", "venv", "env"].map(|it| root.join(it));
    for environment in folders.python.iter().chain(&own) {
        for site in site_packages(environment) {
            if let Some(found) = python_in(&site, package) {
                return Some(found);
            }
        }
    }
    None
}

/// Returns the folders with packages of an environment: itself, or below `lib`.
fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let mut found = vec![
        environment.to_owned(),
        environment.join("Lib/site-packages"),
    ];
    let versions = subfolders(&environment.join("lib"));
    found.extend(versions.into_iter().map(|it| it.join("site-packages")));
    found.retain(|it| it.is_dir());
    found
}

fn python_in(site: &Path, package: &PinnedPackage) -> Option<PackageCopy> {
    let wanted = Ecosystem::Pypi.normalize_name(&package.name);
    let info = subfolders(site).into_iter().find(|folder| {
        let name = folder
            .file_name()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        let stem = name.strip_suffix(".dist-info");
        stem.and_then(|it| it.rsplit_once('-'))
            .is_some_and(|(name, version)| {
                Ecosystem::Pypi.normalize_name(name) == wanted && version == package.version
            })
    })?;
    let manifest = read_small(&info.join("METADATA"))?;
    let mut found = copy(package, info.clone(), manifest);
    // The files of the package are listed, because its modules may have any name.
    let record = read_small(&info.join("RECORD")).unwrap_or_default();
    let mut tops: Vec<&str> = record
        .lines()
        .filter_map(|line| line.split(',').next())
        .filter(|path| path.ends_with(".py") && !path.starts_with(".."))
        .filter_map(|path| path.split('/').next())
        .collect();
    tops.sort_unstable();
    tops.dedup();
    let tops = tops.into_iter().map(|it| site.join(it));
    found.roots.extend(tops.filter(|it| it.exists()));
    Some(found)
}

fn locate_go(
    root: &Path,
    folders: &PackageFolders,
    package: &PinnedPackage,
) -> Option<PackageCopy> {
    let vendored = root.join("vendor").join(&package.name);
    let cached = folders.go_modules.as_ref().map(|cache| {
        // Upper-case letters are escaped, because some file systems ignore case.
        let mut escaped = String::new();
        for letter in package.name.chars() {
            if letter.is_ascii_uppercase() {
                escaped.push('!');
            }
            escaped.push(letter.to_ascii_lowercase());
        }
        cache.join(format!("{escaped}@{}", package.version))
    });
    let place = cached
        .into_iter()
        .chain([vendored])
        .find(|it| it.is_dir())?;
    Some(copy(package, place, String::new()))
}

/// Returns the folders in a folder, sorted.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|it| it.path())
        .filter(|it| it.is_dir())
        .collect();
    found.sort();
    found
}

fn read_small(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    (size <= MANIFEST_BYTES_MAX).then(|| fs::read_to_string(path).ok())?
}

/// Returns a string of a manifest's `[package]` table.
fn toml_member(text: &str, key: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let value = table.get("package")?.get(key)?;
    value.as_str().map(str::to_owned)
}

fn json_member(text: &str, key: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.get(key)?.as_str().map(str::to_owned)
}

/// Returns a header of a Python package's metadata.
fn header(text: &str, name: &str) -> Option<String> {
    let head = text.split("\n\n").next().unwrap_or_default();
    let found = head
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty())
}
