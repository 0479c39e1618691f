//! `ken self update`: upgrades a program that `install.sh` installed, only when asked.
//!
//! Downloads the archive and the installer of a release, verifies both against the signed
//! checksums, and runs the installer on the verified archive. So installing and upgrading are one
//! procedure, which replaces each file by a rename.
//!
//! Invariant: nothing is replaced by bytes that the release key did not sign, or by an older
//! version that the user did not ask for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use semver::Version;
use serde::Serialize;

use super::owner::{ProgramOwner, find_owner};
use super::release::{
    ARCHIVE_BYTES_MAX, ReleaseArgs, ReleaseSource, ReleaseSums, TEXT_BYTES_MAX, own_target,
    sha256_hex,
};
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// Version of the running program.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// `ken self update`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken self update\n  ken self update --version 0.2.0 --allow-downgrade"
)]
pub(crate) struct UpdateArgs {
    /// Install this version; the latest one by default
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Accept a version older than the installed one
    #[arg(long)]
    allow_downgrade: bool,
    #[command(flatten)]
    release: ReleaseArgs,
}

#[derive(Serialize)]
struct SelfUpdateObject<'a> {
    schema: &'static str,
    /// Version before the update.
    from: &'static str,
    /// Version that is installed now.
    to: &'a str,
    /// False if that version was already installed.
    changed: bool,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &UpdateArgs,
) -> Result<CommandExit, CommandFailure> {
    let prefix = installer_prefix()?;
    let source = ReleaseSource::new(&args.release)?;
    let folder = match &args.version {
        Some(version) => format!("download/v{}", version.trim_start_matches('v')),
        None => "latest/download".to_owned(),
    };
    let sums = source.sums(&folder)?;
    let version = released_version(&sums, args)?;
    let is_new = version != OWN_VERSION;
    if is_new {
        let update = Update {
            source: &source,
            folder: &folder,
            sums: &sums,
            version,
        };
        update.install(&prefix)?;
    }
    if session.is_json() {
        session.printer.json(&SelfUpdateObject {
            schema: "ken.self.update.v1",
            from: OWN_VERSION,
            to: version,
            changed: is_new,
        })?;
    } else if is_new {
        session
            .printer
            .line(format_args!("updated ken {OWN_VERSION} to {version}"))?;
    } else {
        session
            .printer
            .line(format_args!("ken {version} is already installed"))?;
    }
    Ok(CommandExit::Fine)
}

/// Returns the version of a release if it may replace this program.
fn released_version<'a>(
    sums: &'a ReleaseSums,
    args: &UpdateArgs,
) -> Result<&'a str, CommandFailure> {
    let target = own_target();
    let Some(version) = sums.version_for(&target) else {
        let message = format!("the release has no build for {target}");
        return Err(CommandFailure::refused("no_build", message));
    };
    // A mirror could answer with the signed files of another version.
    let asked = args.version.as_deref().map(|it| it.trim_start_matches('v'));
    if asked.is_some_and(|asked| asked != version) {
        let message = format!("the signed release is version {version}, not the one you asked for");
        return Err(CommandFailure::refused("other_version", message));
    }
    let parse = |text: &str| {
        Version::parse(text).map_err(|_| {
            CommandFailure::refused("no_version", format!("`{text}` is not a version"))
        })
    };
    if parse(version)? < parse(OWN_VERSION)? && !args.allow_downgrade {
        let message = format!("version {version} is older than the installed {OWN_VERSION}");
        let failure = CommandFailure::refused("downgrade", message);
        return Err(failure.with_hint(
            "an older program may not read newer knowledge; to install it anyway, pass --allow-downgrade",
        ));
    }
    Ok(version)
}

/// A verified release that replaces this program.
struct Update<'a> {
    source: &'a ReleaseSource,
    folder: &'a str,
    sums: &'a ReleaseSums,
    version: &'a str,
}

impl Update<'_> {
    fn install(&self, prefix: &Path) -> Result<(), CommandFailure> {
        let name = format!("ken-{}-{}.tar.gz", self.version, own_target());
        // The small file first, so that a mistake shows before the large one is downloaded.
        let script = self.file("install.sh", TEXT_BYTES_MAX)?;
        let archive = self.file(&name, ARCHIVE_BYTES_MAX)?;
        let checksum = sha256_hex(&archive);
        let folder = DraftFolder::create()?;
        let script = folder.write("install.sh", &script)?;
        let archive = folder.write(&name, &archive)?;
        let installer = Command::new("sh")
            .arg(&script)
            .args(["--quiet", "--version", self.version, "--archive"])
            .arg(&archive)
            .args(["--checksum", &checksum, "--prefix"])
            .arg(prefix)
            // Standard output is the result of this command.
            .stdout(Stdio::null())
            .output();
        let output =
            installer.map_err(|error| CommandFailure::io("cannot run the installer", &error))?;
        if output.status.success() {
            return Ok(());
        }
        let mut failure = CommandFailure::refused("installer", "the installer failed");
        let told = String::from_utf8_lossy(&output.stderr);
        failure.causes.extend(told.lines().map(str::to_owned));
        Err(failure)
    }

    fn file(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, CommandFailure> {
        self.source.file(self.folder, name, bytes_max, self.sums)
    }
}

/// A folder that nobody else can write to, removed at the end.
struct DraftFolder(PathBuf);

impl DraftFolder {
    fn create() -> Result<Self, CommandFailure> {
        let path = env::temp_dir().join(format!("ken-update-{}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        // Fails if the path exists: another user may have put it there.
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let created = builder.create(&path);
        created.map_err(|error| {
            CommandFailure::io(format_args!("cannot create `{}`", path.display()), &error)
        })?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, CommandFailure> {
        let path = self.0.join(name);
        fs::write(&path, bytes).map_err(|error| {
            CommandFailure::io(format_args!("cannot write `{}`", path.display()), &error)
        })?;
        Ok(path)
    }
}

impl Drop for DraftFolder {
    fn drop(&mut self) {
        // A folder that stays behind is in the system's temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the prefix of the installation if `install.sh` made it.
fn installer_prefix() -> Result<PathBuf, CommandFailure> {
    let program = env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|e| CommandFailure::io("cannot find the running program", &e))?;
    let shown = program.display();
    match find_owner(&program) {
        ProgramOwner::Installer { prefix } => Ok(prefix),
        ProgramOwner::PackageManager { name, upgrade } => {
            let message = format!("`{shown}` was installed by {name}");
            Err(CommandFailure::refused("package_manager", message)
                .with_hint(format_args!("run `{upgrade}`")))
        }
        ProgramOwner::Unknown => {
            let message = format!("`{shown}` was not installed by install.sh");
            Err(CommandFailure::refused("package_manager", message)
                .with_hint("upgrade it the way you installed it"))
        }
    }
}
