//! Lockfiles, recognized by their names.

/// A package registry, by the type in a package URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    Cargo,
    Composer,
    Gem,
    Golang,
    Maven,
    Npm,
    Pypi,
}

impl Ecosystem {
    /// Every ecosystem, in alphabetical order.
    pub const ALL: [Self; 7] = [
        Self::Cargo,
        Self::Composer,
        Self::Gem,
        Self::Golang,
        Self::Maven,
        Self::Npm,
        Self::Pypi,
    ];

    /// Returns the package URL type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Composer => "composer",
            Self::Gem => "gem",
            Self::Golang => "golang",
            Self::Maven => "maven",
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        }
    }

    /// Returns the ecosystem with the package URL type `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|ecosystem| ecosystem.name() == name)
    }

    /// Normalizes a package name for comparison, as the registry does. PyPI maps `A_b` to `a-b`.
    pub fn normalize_name(self, name: &str) -> String {
        match self {
            Self::Pypi => {
                // PEP 503: runs of separators are equivalent, and names ignore case.
                let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join("-").to_lowercase()
            }
            Self::Composer => name.to_lowercase(),
            Self::Cargo | Self::Gem | Self::Golang | Self::Maven | Self::Npm => name.to_owned(),
        }
    }
}

/// A lockfile format, which lists the packages in use with their versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lockfile {
    CargoLock,
    ComposerLock,
    GemfileLock,
    GoMod,
    PackageLock,
    PnpmLock,
    PoetryLock,
    PomXml,
    Requirements,
    UvLock,
    YarnLock,
}

impl Lockfile {
    /// Returns the lockfile format of the file at `path`.
    pub fn from_path(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Installed packages ship their own lockfiles, which do not describe this project.
        if folder.split('/').any(|part| part == "node_modules") {
            return None;
        }
        Some(match name {
            "Cargo.lock" => Self::CargoLock,
            "composer.lock" => Self::ComposerLock,
            "Gemfile.lock" | "gems.locked" => Self::GemfileLock,
            "go.mod" => Self::GoMod,
            "package-lock.json" | "npm-shrinkwrap.json" => Self::PackageLock,
            "pnpm-lock.yaml" => Self::PnpmLock,
            "poetry.lock" => Self::PoetryLock,
            "pom.xml" => Self::PomXml,
            "uv.lock" => Self::UvLock,
            "yarn.lock" => Self::YarnLock,
            // By convention there are variants such as `requirements-dev.txt`.
            name if name.starts_with("requirements") && name.ends_with(".txt") => {
                Self::Requirements
            }
            _ => return None,
        })
    }

    /// Returns the ecosystem of the listed packages.
    pub fn ecosystem(self) -> Ecosystem {
        match self {
            Self::CargoLock => Ecosystem::Cargo,
            Self::ComposerLock => Ecosystem::Composer,
            Self::GemfileLock => Ecosystem::Gem,
            Self::GoMod => Ecosystem::Golang,
            Self::PomXml => Ecosystem::Maven,
            Self::PackageLock | Self::PnpmLock | Self::YarnLock => Ecosystem::Npm,
            Self::PoetryLock | Self::Requirements | Self::UvLock => Ecosystem::Pypi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lockfiles_are_told_by_name_in_any_folder() {
        let table = [
            ("Cargo.lock", Some(Ecosystem::Cargo)),
            ("web/app/pnpm-lock.yaml", Some(Ecosystem::Npm)),
            ("requirements-dev.txt", Some(Ecosystem::Pypi)),
            ("services/a/pom.xml", Some(Ecosystem::Maven)),
            ("web/node_modules/x/package-lock.json", None),
            ("Cargo.toml", None),
        ];
        for (path, expected) in table {
            assert_eq!(
                Lockfile::from_path(path).map(Lockfile::ecosystem),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn names_are_compared_as_the_registry_compares_them() {
        assert_eq!(
            Ecosystem::Pypi.normalize_name("Zope.Interface__x"),
            "zope-interface-x"
        );
        assert_eq!(Ecosystem::Cargo.normalize_name("A_b"), "A_b");
    }
}
