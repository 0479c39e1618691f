//! Package manager that installed a program, recognized by its place and the files next to it.
//!
//! Only `install.sh` leaves a receipt. A program of a package manager must be upgraded there:
//! replaced behind its back, the manager's records and its next upgrade would be wrong.

use std::fs;
use std::path::{Path, PathBuf};

use super::release_facts::{
    CRATE_NAME, DEB_PACKAGE, NPM_PACKAGE, PYTHON_MODULE, PYTHON_PACKAGE, WINGET_PACKAGE,
};

/// Receipt of `install.sh` below its prefix.
const RECEIPT: &str = "share/ken/receipt";

/// Folder in which dpkg lists the files of each package.
const DPKG_INFO: &str = "/var/lib/dpkg/info";

/// Owner of an installed program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProgramOwner {
    /// `install.sh`, with its prefix.
    Installer { prefix: PathBuf },
    /// A package manager, with the command that upgrades there.
    PackageManager { name: &'static str, upgrade: String },
    /// Built or copied by hand.
    Unknown,
}

/// Returns the owner of the program at `path`, which has no symbolic links.
pub(super) fn find_owner(path: &Path) -> ProgramOwner {
    find_owner_with(path, Path::new(DPKG_INFO))
}

fn find_owner_with(path: &Path, dpkg_info: &Path) -> ProgramOwner {
    let prefix = path.parent().and_then(Path::parent);
    if let Some(prefix) = prefix.filter(|it| it.join(RECEIPT).is_file()) {
        return ProgramOwner::Installer {
            prefix: prefix.to_owned(),
        };
    }
    let manager = manager_by_path(path)
        .or_else(|| dpkg_owns(path, dpkg_info).then(dpkg))
        .or_else(|| prefix.and_then(python_manager));
    manager.map_or(ProgramOwner::Unknown, |(name, upgrade)| {
        ProgramOwner::PackageManager { name, upgrade }
    })
}

/// Recognizes managers that keep programs in folders of their own.
fn manager_by_path(path: &Path) -> Option<(&'static str, String)> {
    let has = |name: &str| path.iter().any(|part| part == name);
    if has("Cellar") {
        return Some(("Homebrew", "brew upgrade ken".to_owned()));
    }
    if path.starts_with("/nix/store") {
        return Some(("Nix", "nix profile upgrade ken".to_owned()));
    }
    if has("node_modules") {
        return Some(("npm", format!("npm install --global {NPM_PACKAGE}@latest")));
    }
    if has("scoop") {
        return Some(("Scoop", "scoop update ken".to_owned()));
    }
    if has("WinGet") {
        return Some(("winget", format!("winget upgrade {WINGET_PACKAGE}")));
    }
    // Cargo records what it installed in a file next to `bin`.
    let home = path.parent()?.parent()?;
    if home.join(".crates.toml").is_file() {
        return Some(("Cargo", format!("cargo install {CRATE_NAME}")));
    }
    None
}

fn dpkg() -> (&'static str, String) {
    let upgrade = format!("sudo apt install --only-upgrade {DEB_PACKAGE}");
    ("dpkg", upgrade)
}

/// Returns whether the Debian package lists the program.
fn dpkg_owns(path: &Path, dpkg_info: &Path) -> bool {
    let list = fs::read_to_string(dpkg_info.join(format!("{DEB_PACKAGE}.list")));
    let Some(path) = path.to_str() else {
        return false;
    };
    // On merged systems `/bin/ken` and `/usr/bin/ken` are one file.
    list.is_ok_and(|list| {
        list.lines()
            .any(|line| line == path || line.strip_prefix("/usr") == Some(path))
    })
}

/// Recognizes a wheel: its module is in a `site-packages` of the same prefix.
fn python_manager(prefix: &Path) -> Option<(&'static str, String)> {
    let windows = prefix.join("Lib");
    let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten();
    let versions = versions.flatten().map(|it| it.path()).chain([windows]);
    let mut packages = versions.flat_map(|it| [it.join("site-packages"), it.join("dist-packages")]);
    if !packages.any(|it| it.join(PYTHON_MODULE).is_dir()) {
        return None;
    }
    let has = |name: &str| prefix.iter().any(|part| part == name);
    Some(if has("uv") {
        ("uv", format!("uv tool upgrade {PYTHON_PACKAGE}"))
    } else if has("pipx") {
        ("pipx", format!("pipx upgrade {PYTHON_PACKAGE}"))
    } else {
        ("pip", format!("pip install --upgrade {PYTHON_PACKAGE}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes empty files below a new folder and returns the owner of `program`.
    fn owner(files: &[&str], program: &str) -> ProgramOwner {
        let folder = tempfile::tempdir().unwrap();
        for file in files.iter().chain([&program]) {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let info = folder.path().join("info");
        fs::create_dir(&info).unwrap();
        let list = folder.path().join("usr/bin/ken");
        fs::write(
            info.join(format!("{DEB_PACKAGE}.list")),
            format!("/.\n{}\n", list.display()),
        )
        .unwrap();
        find_owner_with(&folder.path().join(program), &info)
    }

    #[test]
    fn a_receipt_shows_that_the_installer_owns_a_program() {
        let ProgramOwner::Installer { prefix } =
            owner(&["local/share/ken/receipt"], "local/bin/ken")
        else {
            panic!("no installer");
        };
        assert!(prefix.ends_with("local"));
        assert_eq!(owner(&[], "local/bin/ken"), ProgramOwner::Unknown);
        // A build of one's own.
        assert_eq!(owner(&[], "src/target/release/ken"), ProgramOwner::Unknown);
    }

    #[test]
    fn each_package_manager_is_recognized_and_named() {
        let module = format!("lib/python3.12/site-packages/{PYTHON_MODULE}/__init__.py");
        let wheel_in = |prefix: &str| format!("{prefix}/{module}");
        let cases: [(&[&str], &str, &str); 9] = [
            (&[], "usr/bin/ken", "dpkg"),
            (&[], "homebrew/Cellar/ken/0.1.0/bin/ken", "Homebrew"),
            (
                &[],
                "lib/node_modules/ken-knowledge-linux-x64/bin/ken",
                "npm",
            ),
            (&[".cargo/.crates.toml"], ".cargo/bin/ken", "Cargo"),
            (&[], "scoop/apps/ken/current/ken.exe", "Scoop"),
            (&[], "Microsoft/WinGet/Packages/ken.exe", "winget"),
            (&[&wheel_in("venv")], "venv/bin/ken", "pip"),
            (&[&wheel_in("pipx/venvs/k")], "pipx/venvs/k/bin/ken", "pipx"),
            (&[&wheel_in("uv/tools/k")], "uv/tools/k/bin/ken", "uv"),
        ];
        for (files, program, expected) in cases {
            let ProgramOwner::PackageManager { name, upgrade } = owner(files, program) else {
                panic!("{program} belongs to no package manager");
            };
            assert_eq!(name, expected, "{program}");
            assert!(!upgrade.is_empty());
        }
    }
}
