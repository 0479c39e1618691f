//! Packages of one target: Debian package, Python wheel, npm package.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use xtask::repository::Repository;

use super::archive::{ArchiveFile, Compression, PROGRAM_MODE, ar, gzip, tar, zip};
use super::checksum::sha256_base64;
use super::facts::{BuildTarget, ReleaseFacts};
use super::payload::glibc_floor;

/// Mode of the file with the hub's secret.
const SECRET_MODE: u32 = 0o600;

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What a package is made from.
pub(super) struct PackageInput<'a> {
    pub(super) repository: &'a Repository,
    pub(super) facts: &'a ReleaseFacts,
    pub(super) target: &'a BuildTarget,
    /// Installed files relative to the prefix.
    pub(super) files: &'a [ArchiveFile],
    pub(super) level: Compression,
}

impl PackageInput<'_> {
    fn program(&self) -> Result<&ArchiveFile, String> {
        let path = format!("bin/{}", self.target.executable());
        let found = self.files.iter().find(|it| it.path == path);
        found.ok_or_else(|| format!("no `{path}` among the files"))
    }

    fn glibc(&self) -> Result<(u32, u32), String> {
        Ok(glibc_floor(&self.program()?.bytes))
    }
}

/// Returns name and bytes of the Debian package.
pub(super) fn deb(input: &PackageInput<'_>) -> Result<(String, Vec<u8>), String> {
    let facts = input.facts;
    let mut files = Vec::new();
    for file in input.files {
        let file = file.below("./usr/");
        // Debian's policy: manual pages are compressed.
        if file.path.contains("/share/man/") {
            let packed = gzip(&file.bytes, input.level)?;
            files.push(ArchiveFile::new(format!("{}.gz", file.path), packed));
        } else {
            files.push(file);
        }
    }
    let unit = input.repository.read("packaging/deb/ken-hub.service")?;
    files.push(ArchiveFile::new(
        "./usr/lib/systemd/system/ken-hub.service",
        unit,
    ));
    let settings = input.repository.read("packaging/deb/hub.toml")?;
    files.push(ArchiveFile::new("./etc/ken/hub.toml", settings));
    let secret = input.repository.read("packaging/deb/database-url")?;
    files.push(ArchiveFile::new("./etc/ken/database-url", secret).with_mode(SECRET_MODE));
    let installed_kib = files
        .iter()
        .map(|it| it.bytes.len())
        .sum::<usize>()
        .div_ceil(1024);
    let (major, minor) = input.glibc()?;
    let mut values = facts.values();
    values.set("machine", input.target.deb_machine());
    values.set("glibc", format!("{major}.{minor}"));
    values.set("installed_kib", installed_kib.to_string());
    let control = values.render(&input.repository.read("packaging/deb/control.in")?)?;
    let mut members = vec![
        ArchiveFile::new("./control", control),
        ArchiveFile::new("./conffiles", "/etc/ken/database-url\n/etc/ken/hub.toml\n"),
    ];
    for script in ["prerm", "postrm"] {
        let text = input.repository.read(&format!("packaging/deb/{script}"))?;
        members.push(ArchiveFile::new(format!("./{script}"), text).with_mode(PROGRAM_MODE));
    }
    let name = format!(
        "{}_{}_{}.deb",
        facts.packages.deb,
        facts.version,
        input.target.deb_machine()
    );
    let package = ar(&[
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&members)?, input.level)?),
        (
            "data.tar.gz",
            gzip(&tar(&with_folders(files))?, input.level)?,
        ),
    ]);
    Ok((name, package))
}

/// Adds the folders of all files, which dpkg expects before them.
fn with_folders(files: Vec<ArchiveFile>) -> Vec<ArchiveFile> {
    let mut folders = BTreeSet::new();
    for file in &files {
        for (at, _) in file.path.match_indices('/') {
            folders.insert(file.path[..=at].to_owned());
        }
    }
    let folders = folders
        .into_iter()
        .map(|path| ArchiveFile::new(path, []).with_mode(PROGRAM_MODE));
    let mut all: Vec<ArchiveFile> = folders.chain(files).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Returns name and bytes of the Python wheel.
pub(super) fn wheel(input: &PackageInput<'_>) -> Result<(String, Vec<u8>), String> {
    let facts = input.facts;
    let module = facts.python_module();
    let stem = format!("{module}-{}", facts.version);
    let tag = format!("py3-none-{}", wheel_platform(input)?);
    let info = format!("{stem}.dist-info");
    let values = facts.values();
    let read = |name: &str| {
        let text = input.repository.read(&format!("packaging/python/{name}"))?;
        values.render(&text)
    };
    let mut files = vec![
        ArchiveFile::new(format!("{module}/__init__.py"), read("__init__.py.in")?),
        ArchiveFile::new(format!("{module}/__main__.py"), read("__main__.py.in")?),
    ];
    let program = input.program()?;
    let script = format!("{stem}.data/scripts/{}", input.target.executable());
    files.push(ArchiveFile::new(script, program.bytes.clone()).with_mode(PROGRAM_MODE));
    for license in LICENSES {
        let text = input.repository.read(license)?;
        files.push(ArchiveFile::new(format!("{info}/licenses/{license}"), text));
    }
    let metadata = format!(
        "{}\n{}",
        read("METADATA.in")?,
        input.repository.read("README.md")?
    );
    files.push(ArchiveFile::new(format!("{info}/METADATA"), metadata));
    let entry_points = read("entry_points.txt.in")?;
    files.push(ArchiveFile::new(
        format!("{info}/entry_points.txt"),
        entry_points,
    ));
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: ken xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    files.push(ArchiveFile::new(format!("{info}/WHEEL"), wheel));
    let mut record = String::new();
    for file in &files {
        let digest = sha256_base64(&file.bytes);
        let line = writeln!(record, "{},sha256={digest},{}", file.path, file.bytes.len());
        line.map_err(|error| error.to_string())?;
    }
    let own = format!("{info}/RECORD");
    record.push_str(&own);
    record.push_str(",,\n");
    files.push(ArchiveFile::new(own, record));
    Ok((format!("{stem}-{tag}.whl"), zip(&files, input.level)?))
}

/// Platform tag of a wheel.
fn wheel_platform(input: &PackageInput<'_>) -> Result<String, String> {
    let is_arm = input.target.cpu == "arm64";
    Ok(match input.target.os.as_str() {
        "linux" => {
            let (major, minor) = input.glibc()?;
            let machine = if is_arm { "aarch64" } else { "x86_64" };
            format!("manylinux_{major}_{minor}_{machine}")
        }
        "darwin" if is_arm => "macosx_11_0_arm64".to_owned(),
        "darwin" => "macosx_10_12_x86_64".to_owned(),
        _ => "win_amd64".to_owned(),
    })
}

/// Name of the npm package with the program of a target.
fn npm_platform_name(facts: &ReleaseFacts, target: &BuildTarget) -> String {
    format!("{}-{}-{}", facts.packages.npm, target.os, target.cpu)
}

/// Returns name and bytes of the npm package with the program of one target.
pub(super) fn npm_platform(input: &PackageInput<'_>) -> Result<(String, Vec<u8>), String> {
    let facts = input.facts;
    let name = npm_platform_name(facts, input.target);
    let mut manifest = serde_json::json!({
        "name": name,
        "version": facts.version,
        "description": format!("{} (program for {})", facts.description, input.target.triple),
        "license": facts.license,
        "homepage": facts.homepage,
        "repository": { "type": "git", "url": format!("git+{}.git", facts.repository) },
        "os": [input.target.os],
        "cpu": [input.target.cpu],
        "preferUnplugged": true,
    });
    if input.target.os == "linux" {
        manifest["libc"] = serde_json::json!(["glibc"]);
    }
    let program = input.program()?.below("package/");
    let files = npm_files(input.repository, &manifest, vec![program])?;
    let name = format!("{name}-{}.tgz", facts.version);
    Ok((name, gzip(&tar(&files)?, input.level)?))
}

/// Returns name and bytes of the npm package that users install.
pub(super) fn npm_main(
    repository: &Repository,
    facts: &ReleaseFacts,
) -> Result<(String, Vec<u8>), String> {
    let name = &facts.packages.npm;
    let platforms: serde_json::Map<String, serde_json::Value> = facts
        .targets
        .iter()
        .map(|target| {
            (
                npm_platform_name(facts, target),
                facts.version.clone().into(),
            )
        })
        .collect();
    let manifest = serde_json::json!({
        "name": name,
        "version": facts.version,
        "description": facts.description,
        "license": facts.license,
        "homepage": facts.homepage,
        "repository": { "type": "git", "url": format!("git+{}.git", facts.repository) },
        "mcpName": facts.packages.mcp,
        // Two names: `npx` looks for a program with the name of the package.
        "bin": { "ken": "bin/ken.js", name: "bin/ken.js" },
        "engines": { "node": ">=18" },
        "optionalDependencies": platforms,
    });
    let script = facts
        .values()
        .render(&repository.read("packaging/npm/ken.js.in")?)?;
    let script = ArchiveFile::new("package/bin/ken.js", script).with_mode(PROGRAM_MODE);
    let readme = ArchiveFile::new("package/README.md", repository.read("README.md")?);
    let files = npm_files(repository, &manifest, vec![script, readme])?;
    let name = format!("{name}-{}.tgz", facts.version);
    Ok((name, gzip(&tar(&files)?, Compression::best())?))
}

/// Adds manifest and licenses to the files of an npm package.
fn npm_files(
    repository: &Repository,
    manifest: &serde_json::Value,
    mut files: Vec<ArchiveFile>,
) -> Result<Vec<ArchiveFile>, String> {
    let text = serde_json::to_string_pretty(manifest).map_err(|error| error.to_string())?;
    files.insert(0, ArchiveFile::new("package/package.json", text + "\n"));
    for license in LICENSES {
        files.push(ArchiveFile::new(
            format!("package/{license}"),
            repository.read(license)?,
        ));
    }
    Ok(files)
}
