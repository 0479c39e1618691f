//! `cargo xtask dist`: builds a release, packs it for every channel and writes its manifests.
//!
//! Addresses, names and people come from `packaging/release.toml`. Archives have reproducible
//! bytes; nothing is uploaded.

mod archive;
mod build;
mod checksum;
mod facts;
mod manifests;
mod packages;
mod payload;
mod sbom;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::repository::{Finding, Repository};

use archive::{ArchiveFile, Compression};
use checksum::sha256_hex;
use facts::ReleaseFacts;
use manifests::write_file;
use packages::PackageInput;

const USAGE: &str = "\
usage: cargo xtask dist [build|package|assemble|manifests|notes] [options]

  dist                  build, package and assemble for this machine
  dist build            build `ken` with the profile `dist`; prints its path
  dist package          pack one program: archives, .deb, wheel, npm package, SBOM
  dist assemble         after all targets: checksums, signature, manifests of package managers
  dist manifests        write what is generated from packaging/release.toml; `--check` compares
  dist notes            print the release notes of the version from CHANGELOG.md

options:
  --target TRIPLE       target of the program; this machine's by default
  --binary FILE         program to pack; the one that `dist build` makes by default
  --runnable FILE       program that runs here, if FILE of `--binary` does not
  --version VERSION     version of the release; that of the workspace by default
  --out DIR             folder of the release; `target/dist` by default
  --key FILE            SSH key that signs SHA256SUMS
  --fast                compress quickly, for tests
";

/// Name of the file with the checksums, and the namespace of its signature.
const SUMS_FILE: &str = "SHA256SUMS";
const SIGNATURE_NAMESPACE: &str = "ken-release";

/// Options of all subcommands.
#[derive(Debug, Default)]
struct DistOptions {
    target: Option<String>,
    binary: Option<PathBuf>,
    runnable: Option<PathBuf>,
    version: Option<String>,
    out: Option<PathBuf>,
    key: Option<PathBuf>,
    check: bool,
    fast: bool,
}

impl DistOptions {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let flag = match *name {
                "--check" => Some(&mut options.check),
                "--fast" => Some(&mut options.fast),
                _ => None,
            };
            if let Some(flag) = flag {
                *flag = true;
                continue;
            }
            let value = args.next().ok_or_else(|| USAGE.to_owned())?;
            match *name {
                "--target" => options.target = Some((*value).to_owned()),
                "--binary" => options.binary = Some(value.into()),
                "--runnable" => options.runnable = Some(value.into()),
                "--version" => options.version = Some((*value).to_owned()),
                "--out" => options.out = Some(value.into()),
                "--key" => options.key = Some(value.into()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }

    fn out(&self, repository: &Repository) -> PathBuf {
        let out = self.out.clone();
        out.unwrap_or_else(|| repository.root().join("target/dist"))
    }

    fn target(&self) -> Result<String, String> {
        self.target.clone().map_or_else(build::host_target, Ok)
    }
}

/// Runs a subcommand of `dist`.
#[expect(clippy::print_stdout, reason = "chores report on the terminal")]
pub(crate) fn run(repository: &Repository, args: &[&str]) -> Result<Vec<Finding>, String> {
    let (command, rest) = match args.first() {
        Some(first) if !first.starts_with("--") => (*first, &args[1..]),
        _ => ("all", args),
    };
    let options = DistOptions::parse(rest)?;
    let mut facts = ReleaseFacts::load(repository)?;
    if let Some(version) = &options.version {
        facts.version.clone_from(version);
    }
    match command {
        "all" => {
            package(repository, &facts, &options)?;
            assemble(repository, &facts, &options)?;
        }
        "build" => println!(
            "{}",
            build::build(repository, &options.target()?)?.display()
        ),
        "package" => package(repository, &facts, &options)?,
        "assemble" => assemble(repository, &facts, &options)?,
        "manifests" if options.check => return manifests::check(repository, &facts),
        "manifests" => manifests::write(repository, &facts)?,
        "notes" => {
            let notes = manifests::release_notes(&repository.read("CHANGELOG.md")?, &facts.version);
            print!(
                "{}",
                notes.ok_or("CHANGELOG.md has no notes for this version")?
            );
        }
        _ => return Err(USAGE.to_owned()),
    }
    Ok(Vec::new())
}

/// Packs one program for every channel.
fn package(
    repository: &Repository,
    facts: &ReleaseFacts,
    options: &DistOptions,
) -> Result<(), String> {
    let target = facts.target(&options.target()?)?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => build::build(repository, &target.triple)?,
    };
    let runnable = options.runnable.as_ref().unwrap_or(&binary);
    let files = payload::collect(repository, target, &binary, runnable)?;
    let out = options.out(repository);
    let stem = facts.archive_stem(target);
    let folder = format!("{stem}/");
    let inside: Vec<ArchiveFile> = files.iter().map(|it| it.below(&folder)).collect();
    let tar = archive::tar(&inside)?;
    let (level, zstd_level) = if options.fast {
        (Compression::fast(), "-1")
    } else {
        (Compression::best(), "-19")
    };
    write_file(
        &out.join(format!("{stem}.tar.gz")),
        &archive::gzip(&tar, level)?,
    )?;
    write_zstd(&out.join(format!("{stem}.tar")), &tar, zstd_level)?;
    if target.is_windows() {
        write_file(
            &out.join(format!("{stem}.zip")),
            &archive::zip(&inside, level)?,
        )?;
    }
    let contents: String = files
        .iter()
        .map(|it| format!("{}  {}\n", sha256_hex(&it.bytes), it.path))
        .collect();
    write_file(
        &out.join(format!("{stem}.contents.sha256")),
        contents.as_bytes(),
    )?;
    let sbom = sbom::document(repository, facts, target)?;
    write_file(&out.join(format!("{stem}.cdx.json")), sbom.as_bytes())?;
    let input = PackageInput {
        repository,
        facts,
        target,
        files: &files,
        level,
    };
    let mut made = vec![packages::wheel(&input)?, packages::npm_platform(&input)?];
    if target.os == "linux" {
        made.push(packages::deb(&input)?);
    }
    for (name, bytes) in made {
        write_file(&out.join(name), &bytes)?;
    }
    Ok(())
}

/// Compresses with the program `zstd`, which leaves out name and date.
fn write_zstd(tar: &Path, bytes: &[u8], level: &str) -> Result<(), String> {
    write_file(tar, bytes)?;
    let status = Command::new("zstd")
        .args([level, "--quiet", "--force", "--rm"])
        .arg(tar)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err("install the program `zstd`: it compresses the archive".to_owned()),
    }
}

/// Completes a release after all targets are packed.
fn assemble(
    repository: &Repository,
    facts: &ReleaseFacts,
    options: &DistOptions,
) -> Result<(), String> {
    let out = options.out(repository);
    let (name, bytes) = packages::npm_main(repository, facts)?;
    write_file(&out.join(name), &bytes)?;
    for installer in ["install.sh", "install.ps1"] {
        let text = repository.read(&format!("packaging/{installer}"))?;
        write_file(&out.join(installer), text.as_bytes())?;
    }
    let mut names = Vec::new();
    for file in fs::read_dir(&out).map_err(|error| error.to_string())? {
        let file = file.map_err(|error| error.to_string())?;
        let name = file.file_name().to_string_lossy().into_owned();
        if file.path().is_file() && !name.starts_with(SUMS_FILE) {
            names.push(name);
        }
    }
    names.sort();
    let mut sums = Vec::new();
    for name in names {
        let digest = sha256_hex(&payload::read_bytes(&out.join(&name))?);
        sums.push((name, digest));
    }
    let text: String = sums
        .iter()
        .map(|(name, digest)| format!("{digest}  {name}\n"))
        .collect();
    write_file(&out.join(SUMS_FILE), text.as_bytes())?;
    let checksum_of = |wanted: &str| {
        let found = sums.iter().find(|(name, _)| name == wanted);
        found.map(|(_, digest)| digest.clone())
    };
    for (path, text) in manifests::release_manifests(repository, facts, &checksum_of)? {
        write_file(&out.join(path), text.as_bytes())?;
    }
    options.key.as_ref().map_or(Ok(()), |key| sign(&out, key))
}

/// Signs the checksums with `ssh-keygen`; the signature is written next to them.
fn sign(out: &Path, key: &Path) -> Result<(), String> {
    let signature = out.join(format!("{SUMS_FILE}.sig"));
    // `ssh-keygen` asks before it overwrites.
    if signature.exists() {
        fs::remove_file(&signature).map_err(|error| error.to_string())?;
    }
    let status = Command::new("ssh-keygen")
        .args(["-q", "-Y", "sign", "-n", SIGNATURE_NAMESPACE, "-f"])
        .arg(key)
        .arg(out.join(SUMS_FILE))
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`ssh-keygen` failed: {status}")),
        Err(error) => Err(format!("cannot start `ssh-keygen`: {error}")),
    }
}
