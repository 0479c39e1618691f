//! Files of an installation, relative to its prefix: program, manual pages, completions, licenses.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use regex::bytes::Regex;
use xtask::repository::Repository;

use super::archive::{ArchiveFile, PROGRAM_MODE};
use super::facts::BuildTarget;

/// Completions: shell and path.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/ken"),
    ("fish", "share/fish/vendor_completions.d/ken.fish"),
    ("powershell", "share/ken/completions/ken.ps1"),
    ("zsh", "share/zsh/site-functions/_ken"),
];

/// Documents of the repository that every installation has.
pub(super) const DOCUMENTS: &[&str] =
    &["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Symbol version of glibc, as the program's string table names it.
static GLIBC_VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)GLIBC_2\.([0-9]{1,2})").expect("the pattern is a constant"));

/// Returns the installed files, sorted by path. `runnable` prints manual pages and completions; it
/// differs from `binary` if that is for another system.
pub(super) fn collect(
    repository: &Repository,
    target: &BuildTarget,
    binary: &Path,
    runnable: &Path,
) -> Result<Vec<ArchiveFile>, String> {
    let mut files = vec![
        ArchiveFile::new(format!("bin/{}", target.executable()), read_bytes(binary)?)
            .with_mode(PROGRAM_MODE),
    ];
    for (shell, path) in COMPLETIONS {
        files.push(ArchiveFile::new(
            *path,
            run_program(runnable, &["self", "completions", shell])?,
        ));
    }
    for document in DOCUMENTS {
        let text = repository.read(document)?;
        files.push(ArchiveFile::new(format!("share/doc/ken/{document}"), text));
    }
    let pages = std::env::temp_dir().join(format!("ken-man-{}", std::process::id()));
    run_program(
        runnable,
        &["self", "man", "--out", &pages.display().to_string()],
    )?;
    let listed = fs::read_dir(&pages).map_err(|error| read_error(&pages, &error))?;
    for page in listed {
        let page = page.map_err(|error| read_error(&pages, &error))?;
        let name = page.file_name();
        files.push(ArchiveFile::new(
            format!("share/man/man1/{}", name.to_string_lossy()),
            read_bytes(&page.path())?,
        ));
    }
    fs::remove_dir_all(&pages).map_err(|error| read_error(&pages, &error))?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the newest glibc version whose symbols the program names, at least the floor of
/// `manylinux2014`.
pub(super) fn glibc_floor(program: &[u8]) -> (u32, u32) {
    /// Oldest version of a `manylinux` tag that pip still accepts everywhere.
    const FLOOR: (u32, u32) = (2, 17);
    let versions = GLIBC_VERSION.captures_iter(program);
    let minors = versions.filter_map(|found| std::str::from_utf8(&found[1]).ok()?.parse().ok());
    minors.map(|minor: u32| (2, minor)).fold(FLOOR, Ord::max)
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| read_error(path, &error))
}

fn read_error(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read `{}`: {error}", path.display())
}

fn run_program(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| format!("cannot start `{}`: {error}", program.display()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let talk = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "`{} {}` failed: {talk}",
            program.display(),
            args.join(" ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glibc_floor_is_the_newest_version_named() {
        assert_eq!(
            glibc_floor(b"GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.28\0"),
            (2, 34)
        );
        assert_eq!(glibc_floor(b"GLIBC_2.2.5\0GLIBC_2.14\0"), (2, 17));
        assert_eq!(glibc_floor(b""), (2, 17));
    }
}
