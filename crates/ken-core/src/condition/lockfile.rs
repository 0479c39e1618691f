//! The files that say which packages a tree uses, told by their names.

/// Where packages come from, by the word a package-url begins with.
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
    pub const ALL: [Self; 7] = [
        Self::Cargo,
        Self::Composer,
        Self::Gem,
        Self::Golang,
        Self::Maven,
        Self::Npm,
        Self::Pypi,
    ];

    /// Returns the type a package-url names it by.
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

    /// Returns the ecosystem of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns a name as packages of this ecosystem are compared: PyPI's rules make `A_b` into `a-b`.
    pub fn normal_name(self, name: &str) -> String {
        match self {
            Self::Pypi => {
                let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join("-").to_lowercase()
            }
            Self::Composer => name.to_lowercase(),
            Self::Cargo | Self::Gem | Self::Golang | Self::Maven | Self::Npm => name.to_owned(),
        }
    }
}

/// A kind of file that says which packages are used in which version.
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
    /// Returns the kind of lockfile at `path`. Files below `node_modules` are somebody else's.
    pub fn at(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
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
            name if name.starts_with("requirements") && name.ends_with(".txt") => {
                Self::Requirements
            }
            _ => return None,
        })
    }

    /// Returns whose packages it lists.
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
                Lockfile::at(path).map(Lockfile::ecosystem),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn names_are_compared_as_the_registry_compares_them() {
        assert_eq!(
            Ecosystem::Pypi.normal_name("Zope.Interface__x"),
            "zope-interface-x"
        );
        assert_eq!(Ecosystem::Cargo.normal_name("A_b"), "A_b");
    }
}
