//! `pkg:TYPE/NAME@RANGE` conditions: a lockfile contains the package in that range.
//!
//! All lockfiles of the type count, because a workspace may have several. One locked version in the
//! range suffices. A package in none of them is unused, unless a file lists only part of the
//! packages.

mod composer_lock;
mod gemfile_lock;
mod go_mod;
mod listing;
mod package_lock;
mod package_tables;
mod pnpm_lock;
mod pom_xml;
mod requirements;
mod yarn_lock;

use std::collections::BTreeMap;
use std::rc::Rc;

use ken_core::values::condition::{Ecosystem, Lockfile, PackageRequirement};

use self::listing::{ListingCoverage, LockfileListing};
use super::outcome::ConditionOutcome;
use super::text::read_text;
use super::{ConditionEvaluator, versions};
use crate::FileTree;

/// Maximum size of a lockfile.
const LOCKFILE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of lockfiles read per ecosystem.
const LOCKFILES_MAX: usize = 512;

/// The packages of one ecosystem that a tree uses.
#[derive(Debug, Default)]
pub(super) struct LockedPackages {
    files: usize,
    by_name: BTreeMap<String, Vec<LockedPackage>>,
    /// Why a file could not be read; it may contain any version.
    unread: Option<String>,
    /// Why an unlisted package may still be used.
    unlisted: Option<String>,
}

/// A package in one lockfile.
#[derive(Debug)]
struct LockedPackage {
    /// `None` if the file does not pin a version.
    version: Option<String>,
    path: Rc<str>,
}

/// A package that a lockfile pins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedPackage {
    pub ecosystem: Ecosystem,
    pub name: String,
    pub version: String,
    /// The lockfile.
    pub path: String,
}

/// Returns every package that a lockfile of the tree pins to a version, sorted.
pub fn pinned_packages(tree: &dyn FileTree) -> Vec<PinnedPackage> {
    let mut found = Vec::new();
    for ecosystem in Ecosystem::ALL {
        for (name, all) in read_lockfiles(tree, ecosystem).by_name {
            found.extend(all.into_iter().filter_map(|locked| {
                Some(PinnedPackage {
                    ecosystem,
                    name: name.clone(),
                    version: locked.version?,
                    path: locked.path.to_string(),
                })
            }));
        }
    }
    found.sort();
    found.dedup_by(|a, b| (a.ecosystem, &a.name, &a.version) == (b.ecosystem, &b.name, &b.version));
    found
}

pub(super) fn evaluate(
    evidence: &ConditionEvaluator<'_>,
    package: &PackageRequirement,
) -> ConditionOutcome {
    let ecosystem = package.ecosystem();
    let used = load_packages(evidence, ecosystem);
    let name = package.name();
    if used.files == 0 {
        let why = used.unread.clone();
        let none = || format!("no {} lockfile exists", ecosystem.name());
        return ConditionOutcome::unverifiable(why.unwrap_or_else(none));
    }
    match used.by_name.get(&ecosystem.normalize_name(&name)) {
        Some(locked) => compare_versions(evidence.tree, package, &name, locked, &used),
        None => match used.unread.as_ref().or(used.unlisted.as_ref()) {
            Some(why) => ConditionOutcome::unverifiable(why.clone()),
            None => ConditionOutcome::broken(format!("no lockfile has `{name}`")),
        },
    }
}

fn compare_versions(
    tree: &dyn FileTree,
    package: &PackageRequirement,
    name: &str,
    all: &[LockedPackage],
    used: &LockedPackages,
) -> ConditionOutcome {
    let mut outside = None;
    let mut unclear = None;
    for locked in all {
        let Some(version) = &locked.version else {
            unclear = Some(format!("`{}` does not pin `{name}`", locked.path));
            continue;
        };
        match versions::is_in_range(package.ecosystem(), package.range(), version) {
            Some(true) => {
                let line = find_package_line(tree, &locked.path, name, version);
                let why = format!("`{}` has `{name}` {version}", locked.path);
                return ConditionOutcome::holds(why).at(&locked.path, line);
            }
            Some(false) => outside = Some((locked, version)),
            None => {
                unclear = Some(format!(
                    "`{name}` {version} in `{}` cannot be compared",
                    locked.path
                ));
            }
        }
    }
    // Broken requires that every version is known: an unread lockfile could contain one in range.
    match (unclear.or_else(|| used.unread.clone()), outside) {
        (None, Some((locked, version))) => {
            let line = find_package_line(tree, &locked.path, name, version);
            let why = format!("`{}` has `{name}` {version}", locked.path);
            ConditionOutcome::broken(why).at(&locked.path, line)
        }
        (Some(why), _) => ConditionOutcome::unverifiable(why),
        (None, None) => ConditionOutcome::broken(format!("no lockfile has `{name}`")),
    }
}

/// Returns the packages of an ecosystem, reading its lockfiles on first use.
fn load_packages(evidence: &ConditionEvaluator<'_>, ecosystem: Ecosystem) -> Rc<LockedPackages> {
    // `read_lockfiles` never calls back into the evaluator, so the borrow cannot be nested.
    let mut known = evidence.packages.borrow_mut();
    let used = known
        .entry(ecosystem)
        .or_insert_with(|| Rc::new(read_lockfiles(evidence.tree, ecosystem)));
    Rc::clone(used)
}

fn read_lockfiles(tree: &dyn FileTree, ecosystem: Ecosystem) -> LockedPackages {
    let mut used = LockedPackages::default();
    let paths = match tree.paths() {
        Ok(paths) => paths,
        Err(error) => {
            used.unread = Some(error.to_string());
            return used;
        }
    };
    let lockfiles = paths.iter().filter_map(|path| {
        let lockfile = Lockfile::from_path(path)?;
        (lockfile.ecosystem() == ecosystem).then_some((path, lockfile))
    });
    for (path, lockfile) in lockfiles {
        // The rest may contain any version, so a package that was not found is unverifiable.
        if used.files == LOCKFILES_MAX {
            used.unread = Some(format!("only {LOCKFILES_MAX} lockfiles are read"));
            break;
        }
        used.files += 1;
        match read_lockfile(tree, path, lockfile) {
            Ok(listing) => used.add(ecosystem, path, listing),
            Err(why) => used.unread = Some(format!("cannot read `{path}`: {why}")),
        }
    }
    used
}

fn read_lockfile(
    tree: &dyn FileTree,
    path: &str,
    lockfile: Lockfile,
) -> Result<LockfileListing, String> {
    let text = read_text(tree, path, LOCKFILE_BYTES_MAX)?.ok_or("it does not exist")?;
    parse_lockfile(lockfile, &text)
}

impl LockedPackages {
    fn add(&mut self, ecosystem: Ecosystem, path: &str, listing: LockfileListing) {
        let path: Rc<str> = path.into();
        match listing.coverage {
            ListingCoverage::Whole => {}
            ListingCoverage::Part => {
                self.unlisted = Some(format!("`{path}` does not list every package"));
            }
        }
        for (name, version) in listing.packages {
            // `Rc` shares the path: a lockfile has thousands of packages.
            let locked = LockedPackage {
                version,
                path: Rc::clone(&path),
            };
            self.by_name
                .entry(ecosystem.normalize_name(&name))
                .or_default()
                .push(locked);
        }
    }
}

fn parse_lockfile(lockfile: Lockfile, text: &str) -> Result<LockfileListing, String> {
    match lockfile {
        Lockfile::CargoLock | Lockfile::PoetryLock | Lockfile::UvLock => {
            package_tables::parse(text)
        }
        Lockfile::ComposerLock => composer_lock::parse(text),
        Lockfile::GemfileLock => Ok(gemfile_lock::parse(text)),
        Lockfile::GoMod => Ok(go_mod::parse(text)),
        Lockfile::PackageLock => package_lock::parse(text),
        Lockfile::PnpmLock => pnpm_lock::parse(text),
        Lockfile::PomXml => pom_xml::parse(text),
        Lockfile::Requirements => Ok(requirements::parse(text)),
        Lockfile::YarnLock => Ok(yarn_lock::parse(text)),
    }
}

/// Lines below a package's name that are searched for its version.
const LINES_NEAR: usize = 5;

/// Returns the approximate line of a package: the first that names it with the version close below.
fn find_package_line(tree: &dyn FileTree, path: &str, name: &str, version: &str) -> u32 {
    let Ok(Some(text)) = read_text(tree, path, LOCKFILE_BYTES_MAX) else {
        return 1;
    };
    let lines: Vec<&str> = text.lines().collect();
    // Lockfiles write `group/name` in several ways; the last part is always spelled out.
    let last = name.rsplit('/').next().unwrap_or(name);
    let found = lines.iter().enumerate().find(|(at, line)| {
        let near = lines.iter().skip(*at).take(LINES_NEAR);
        line.contains(last) && near.into_iter().any(|line| line.contains(version))
    });
    found.map_or(1, |(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATHS: [&str; 11] = [
        "Cargo.lock",
        "composer.lock",
        "Gemfile.lock",
        "go.mod",
        "package-lock.json",
        "pnpm-lock.yaml",
        "poetry.lock",
        "pom.xml",
        "requirements.txt",
        "uv.lock",
        "yarn.lock",
    ];

    proptest! {
        #[test]
        fn nothing_makes_a_reader_panic(
            text in any::<String>(),
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("packages:\n  "), Just("  specs:\n    "), Just("require ("), Just("=> "),
                    Just("@"), Just("/"), Just("\""), Just(": "), Just("==" ), Just("\n"), Just("é"),
                    Just("{"), Just("}"), Just("["), Just("version"), Just("  version "), Just("a"),
                    Just("npm:"), Just("("), Just(")"), Just("<a>"), Just("_"), Just(","), Just("- "),
                ],
                0..40,
            ),
        ) {
            for path in PATHS {
                let lockfile = Lockfile::from_path(path).unwrap();
                let _ = parse_lockfile(lockfile, &text);
                let _ = parse_lockfile(lockfile, &pieces.concat());
            }
        }
    }
}
