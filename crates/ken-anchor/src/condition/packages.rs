//! `pkg:TYPE/NAME@RANGE`: a lockfile has the package, in that range.
//!
//! All lockfiles of the type count, wherever they lie: a workspace may have several. Some locked version
//! in the range is enough. A package that is in none of them is not used, unless a file lists only part
//! of what is used.

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

use ken_core::condition::{Ecosystem, Lockfile, Package};

use self::listing::{Coverage, Listing};
use super::outcome::Outcome;
use super::text::text_of;
use super::{Evidence, versions};
use crate::Tree;

/// Bytes of a lockfile.
const LOCKFILE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Lockfiles of one ecosystem that are read.
const LOCKFILES_MAX: usize = 512;

/// The packages of one ecosystem a tree uses.
#[derive(Debug, Default)]
pub(super) struct Used {
    files: usize,
    by_name: BTreeMap<String, Vec<Locked>>,
    /// Why a file or all of them could not be read: any version may be in there.
    unread: Option<String>,
    /// Why a package that was not found may be used all the same.
    unlisted: Option<String>,
}

/// A package as one lockfile has it.
#[derive(Debug)]
struct Locked {
    /// Nothing where the file leaves it open.
    version: Option<String>,
    path: Rc<str>,
}

pub(super) fn evaluate(evidence: &Evidence<'_>, package: &Package) -> Outcome {
    let ecosystem = package.ecosystem();
    let used = used(evidence, ecosystem);
    let name = package.name();
    if used.files == 0 {
        let why = used.unread.clone();
        let none = || format!("there is no {} lockfile", ecosystem.name());
        return Outcome::unverifiable(why.unwrap_or_else(none));
    }
    match used.by_name.get(&ecosystem.normal_name(&name)) {
        Some(locked) => compare(evidence.tree, package, &name, locked, &used),
        None => match used.unread.as_ref().or(used.unlisted.as_ref()) {
            Some(why) => Outcome::unverifiable(why.clone()),
            None => Outcome::broken(format!("no lockfile has `{name}`")),
        },
    }
}

fn compare(tree: &dyn Tree, package: &Package, name: &str, all: &[Locked], used: &Used) -> Outcome {
    let mut outside = None;
    let mut unclear = None;
    for locked in all {
        let Some(version) = &locked.version else {
            unclear = Some(format!("`{}` does not pin `{name}`", locked.path));
            continue;
        };
        match versions::in_range(package.ecosystem(), package.range(), version) {
            Some(true) => {
                let line = line_of(tree, &locked.path, name, version);
                let why = format!("`{}` has `{name}` {version}", locked.path);
                return Outcome::holds(why).at(&locked.path, line);
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
    match (unclear.or_else(|| used.unread.clone()), outside) {
        (None, Some((locked, version))) => {
            let line = line_of(tree, &locked.path, name, version);
            let why = format!("`{}` has `{name}` {version}", locked.path);
            Outcome::broken(why).at(&locked.path, line)
        }
        (Some(why), _) => Outcome::unverifiable(why),
        (None, None) => Outcome::broken(format!("no lockfile has `{name}`")),
    }
}

/// Returns what the tree uses, read once.
fn used(evidence: &Evidence<'_>, ecosystem: Ecosystem) -> Rc<Used> {
    let mut known = evidence.packages.borrow_mut();
    let used = known
        .entry(ecosystem)
        .or_insert_with(|| Rc::new(read_all(evidence.tree, ecosystem)));
    Rc::clone(used)
}

fn read_all(tree: &dyn Tree, ecosystem: Ecosystem) -> Used {
    let mut used = Used::default();
    let paths = match tree.paths() {
        Ok(paths) => paths,
        Err(error) => {
            used.unread = Some(error.to_string());
            return used;
        }
    };
    let lockfiles = paths.iter().filter_map(|path| {
        let lockfile = Lockfile::at(path)?;
        (lockfile.ecosystem() == ecosystem).then_some((path, lockfile))
    });
    for (path, lockfile) in lockfiles {
        if used.files == LOCKFILES_MAX {
            used.unread = Some(format!("only {LOCKFILES_MAX} lockfiles are read"));
            break;
        }
        used.files += 1;
        match read(tree, path, lockfile) {
            Ok(listing) => used.add(ecosystem, path, listing),
            Err(why) => used.unread = Some(format!("cannot read `{path}`: {why}")),
        }
    }
    used
}

fn read(tree: &dyn Tree, path: &str, lockfile: Lockfile) -> Result<Listing, String> {
    let text = text_of(tree, path, LOCKFILE_BYTES_MAX)?.ok_or("it is not there")?;
    parse(lockfile, &text)
}

impl Used {
    fn add(&mut self, ecosystem: Ecosystem, path: &str, listing: Listing) {
        let path: Rc<str> = path.into();
        match listing.coverage {
            Coverage::Whole => {}
            Coverage::Part => {
                self.unlisted = Some(format!("`{path}` does not list all that is used"));
            }
        }
        for (name, version) in listing.packages {
            let locked = Locked {
                version,
                path: Rc::clone(&path),
            };
            self.by_name
                .entry(ecosystem.normal_name(&name))
                .or_default()
                .push(locked);
        }
    }
}

fn parse(lockfile: Lockfile, text: &str) -> Result<Listing, String> {
    match lockfile {
        Lockfile::CargoLock | Lockfile::PoetryLock | Lockfile::UvLock => package_tables::read(text),
        Lockfile::ComposerLock => composer_lock::read(text),
        Lockfile::GemfileLock => Ok(gemfile_lock::read(text)),
        Lockfile::GoMod => Ok(go_mod::read(text)),
        Lockfile::PackageLock => package_lock::read(text),
        Lockfile::PnpmLock => pnpm_lock::read(text),
        Lockfile::PomXml => pom_xml::read(text),
        Lockfile::Requirements => Ok(requirements::read(text)),
        Lockfile::YarnLock => Ok(yarn_lock::read(text)),
    }
}

/// Lines below a package's name its version is looked for in.
const LINES_NEAR: usize = 5;

/// Returns about where a package stands: the first line that names it with its version close below.
fn line_of(tree: &dyn Tree, path: &str, name: &str, version: &str) -> u32 {
    let Ok(Some(text)) = text_of(tree, path, LOCKFILE_BYTES_MAX) else {
        return 1;
    };
    let lines: Vec<&str> = text.lines().collect();
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
                let lockfile = Lockfile::at(path).unwrap();
                let _ = parse(lockfile, &text);
                let _ = parse(lockfile, &pieces.concat());
            }
        }
    }
}
