//! Builds `ken` with the profile `dist`, the same bytes in every folder.
//!
//! Uses `cargo auditable` (list of dependencies inside the program) and `cargo zigbuild` (old
//! glibc) if they are installed, and says which one is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::repository::{Repository, cargo};

/// Oldest glibc that a program from `cargo zigbuild` runs on.
const GLIBC: &str = "2.17";

/// Models that a configuration may name; a release has them all.
const FEATURES: &str = "transformer,http,otel,more-languages";

/// Returns the target of this machine, as rustc names it.
pub(super) fn host_target() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| format!("cannot start rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not name its host".to_owned())
}

/// Builds the program and returns its path.
#[expect(clippy::print_stderr, reason = "chores report on the terminal")]
pub(super) fn build(repository: &Repository, target: &str) -> Result<PathBuf, String> {
    let is_linux_gnu = target.contains("linux-gnu");
    let is_auditable = is_installed("cargo-auditable");
    let is_zig = is_linux_gnu && is_installed("cargo-zigbuild");
    for (name, is_used, lost) in [
        (
            "cargo-auditable",
            is_auditable,
            "the program does not list its dependencies",
        ),
        (
            "cargo-zigbuild",
            is_zig || !is_linux_gnu,
            "the program needs this machine's glibc",
        ),
    ] {
        if !is_used {
            eprintln!("warning: `{name}` is not installed: {lost}");
        }
    }
    let mut command = cargo(repository.root());
    if is_auditable {
        command.arg("auditable");
    }
    command.arg(if is_zig { "zigbuild" } else { "build" });
    let built_target = if is_zig {
        format!("{target}.{GLIBC}")
    } else {
        target.to_owned()
    };
    command
        .args([
            "--locked",
            "--profile",
            "dist",
            "--package",
            "ken-cli",
            "--bin",
            "ken",
        ])
        .args(["--features", FEATURES, "--target", &built_target])
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            remap_flags(repository.root()).join("\u{1f}"),
        )
        // C code of tree-sitter and SQLite names files in assertions.
        .env("CFLAGS", c_remap_flags(repository.root()).join(" "))
        .env("SOURCE_DATE_EPOCH", "315532800")
        .env("CARGO_INCREMENTAL", "0");
    let status = command
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the build failed: {status}"));
    }
    let folder = target_folder(repository.root());
    let name = if target.contains("windows") {
        "ken.exe"
    } else {
        "ken"
    };
    Ok(folder.join(target).join("dist").join(name))
}

fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Folders of this machine and the names that stand for them in the program. The last one that fits
/// a path counts, so the folder of the build has one name inside the repository and outside of it.
fn remapped(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut folders = vec![(root.to_path_buf(), "ken")];
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    if let Some(cargo_home) = cargo_home.or_else(|| home.map(|home| home.join(".cargo"))) {
        folders.push((cargo_home, "cargo"));
    }
    folders.push((target_folder(root), "target"));
    folders
}

fn remap_flags(root: &Path) -> Vec<String> {
    let remapped = remapped(root).into_iter();
    remapped
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .collect()
}

fn c_remap_flags(root: &Path) -> Vec<String> {
    let remapped = remapped(root).into_iter();
    remapped
        .map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()))
        .collect()
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
