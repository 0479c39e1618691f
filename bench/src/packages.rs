//! Packages of the public registries, fetched by the ordinary clients and kept outside the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fetches releases of crates into `dir/NAME-VERSION`, those that are not there yet, as one graph
/// of packages.
pub(crate) fn fetch_crates(
    dir: &Path,
    project: &Path,
    wanted: &[(&str, &str)],
) -> Result<(), String> {
    let is_there = |(name, version): &(&str, &str)| dir.join(format!("{name}-{version}")).exists();
    if wanted.iter().all(is_there) {
        return Ok(());
    }
    create(&project.join("src"))?;
    write(&project.join("src/lib.rs"), "")?;
    write(&project.join("Cargo.toml"), &manifest(wanted))?;
    let options = ["vendor", "--quiet", "--versioned-dirs", "vendor"];
    run(Command::new("cargo").args(options).current_dir(project))?;
    create(dir)?;
    for (name, version) in wanted {
        let from = project.join(format!("vendor/{name}-{version}"));
        let to = dir.join(format!("{name}-{version}"));
        fs::rename(&from, &to).map_err(|error| said(&from, &error))?;
    }
    fs::remove_dir_all(project).map_err(|error| said(project, &error))
}

fn manifest(wanted: &[(&str, &str)]) -> String {
    let mut text = "[package]\nname = \"fetched\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n".to_owned();
    for (name, version) in wanted {
        text += &format!("{name} = {{ version = \"={version}\", default-features = false }}\n");
    }
    text
}

/// Unpacks the source archive of a Python package into `root`.
pub(crate) fn fetch_sdist(name: &str, version: &str, root: &Path) -> Result<(), String> {
    if root.exists() {
        return Ok(());
    }
    let parts = root.with_extension("parts");
    create(&parts)?;
    let options = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
    ];
    let wanted = format!("{name}=={version}");
    run(Command::new("python3")
        .args(options)
        .arg("--dest")
        .arg(&parts)
        .arg(wanted))?;
    create(root)?;
    let archive = only_file(&parts)?;
    run(Command::new("tar")
        .args(["xzf"])
        .arg(archive)
        .args(["--strip-components", "1", "-C"])
        .arg(root))?;
    fs::remove_dir_all(&parts).map_err(|error| said(&parts, &error))
}

/// Unpacks what npm would install, into the folder around `root`.
pub(crate) fn fetch_npm(name: &str, version: &str, root: &Path) -> Result<(), String> {
    if root.exists() {
        return Ok(());
    }
    let around = root.parent().ok_or("no folder for npm")?;
    create(around)?;
    let wanted = format!("{name}@{version}");
    run(Command::new("npm")
        .args(["pack", "--silent", &wanted])
        .current_dir(around))?;
    let archive = only_file(around)?;
    run(Command::new("tar")
        .arg("xzf")
        .arg(&archive)
        .current_dir(around))
}

/// Returns the one file of a folder.
pub(crate) fn only_file(dir: &Path) -> Result<PathBuf, String> {
    let listed = fs::read_dir(dir).map_err(|error| said(dir, &error))?;
    let mut files = listed.filter_map(|it| Some(it.ok()?.path()));
    files
        .find(|it| it.is_file())
        .ok_or_else(|| format!("{}: nothing came", dir.display()))
}

/// Runs a client; what it prints is shown only if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{command:?}\n{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// Makes a folder and those around it.
pub(crate) fn create(dir: &Path) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| said(dir, &error))
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| said(path, &error))
}

/// Returns an error with the file it is about.
pub(crate) fn said(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
