//! Files of a release: downloads, signed checksums, and the target of this program.
//!
//! Invariant: bytes of a download are used only after a checksum that the release key signed.

use std::collections::BTreeMap;
use std::env::consts::{ARCH, OS};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ken_http::{DownloadError, FileHost};
use ken_sign::SignerKey;
use sha2::{Digest as _, Sha256};

use super::release_facts::{DOWNLOADS, RELEASE_KEY};
use crate::failure::CommandFailure;

/// Namespace of release signatures; a signature for another purpose does not count.
const NAMESPACE: &str = "ken-release";

/// Maximum bytes of a text file of a release.
pub(super) const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Maximum bytes of an archive.
pub(super) const ARCHIVE_BYTES_MAX: u64 = 256 << 20;

/// Timeout of one file.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Where releases come from, and who signs them.
#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    /// Folder of releases; the project's by default
    #[arg(long, value_name = "URL")]
    pub(super) from: Option<String>,
    /// Public SSH key that signs the releases; the project's by default
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
}

/// A folder of releases with the key that signs them.
pub(super) struct ReleaseSource {
    base: String,
    host: FileHost,
    key: SignerKey,
}

/// Verified checksums of a release by file name.
pub(super) struct ReleaseSums(BTreeMap<String, String>);

impl ReleaseSource {
    pub(super) fn new(args: &ReleaseArgs) -> Result<Self, CommandFailure> {
        let base = args.from.as_deref().unwrap_or(DOWNLOADS);
        let line = match &args.key {
            Some(path) => fs::read_to_string(path).map_err(|error| {
                CommandFailure::io(format_args!("cannot read `{}`", path.display()), &error)
            })?,
            None => RELEASE_KEY.to_owned(),
        };
        if line.trim().is_empty() {
            let failure =
                CommandFailure::refused("no_release_key", "this build has no release key");
            return Err(failure.with_hint("pass the public key of your releases with --key"));
        }
        let key = SignerKey::parse(&line).ok_or_else(|| {
            CommandFailure::usage("the release key is not a public Ed25519 or ECDSA P-256 key")
        })?;
        let host = FileHost::open(base, TIMEOUT);
        let host = host.map_err(|error| CommandFailure::usage(format_args!("--from: {error}")))?;
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            host,
            key,
        })
    }

    /// Downloads and verifies the checksums in `folder`.
    pub(super) fn sums(&self, folder: &str) -> Result<ReleaseSums, CommandFailure> {
        let sums = self.download(folder, "SHA256SUMS", TEXT_BYTES_MAX)?;
        let signature = self.download(folder, "SHA256SUMS.sig", TEXT_BYTES_MAX)?;
        let signature = String::from_utf8_lossy(&signature);
        if !self.key.has_signed(&signature, NAMESPACE, &sums) {
            let message = "the signature of SHA256SUMS is not valid for the release key";
            return Err(CommandFailure::refused("signature", message));
        }
        Ok(ReleaseSums::parse(&String::from_utf8_lossy(&sums)))
    }

    /// Downloads a file whose checksum is in `sums`.
    pub(super) fn file(
        &self,
        folder: &str,
        name: &str,
        bytes_max: u64,
        sums: &ReleaseSums,
    ) -> Result<Vec<u8>, CommandFailure> {
        let bytes = self.download(folder, name, bytes_max)?;
        if sums.digest_of(name) == Some(sha256_hex(&bytes).as_str()) {
            return Ok(bytes);
        }
        let message = format!("`{name}` does not match the signed checksums");
        Err(CommandFailure::refused("checksum", message))
    }

    fn download(
        &self,
        folder: &str,
        name: &str,
        bytes_max: u64,
    ) -> Result<Vec<u8>, CommandFailure> {
        let url = format!("{}/{folder}/{name}", self.base);
        let mut bytes = Vec::new();
        let got = self
            .host
            .download(&url, bytes_max, &mut bytes, &mut |_, _| ());
        match got {
            Ok(true) => Ok(bytes),
            Ok(false) => {
                let message = format!("`{}/{folder}` has no file `{name}`", self.base);
                Err(CommandFailure::refused("download", message))
            }
            Err(error) => Err(download_failure(name, &error)),
        }
    }
}

fn download_failure(name: &str, error: &DownloadError) -> CommandFailure {
    let mut failure = CommandFailure::refused("download", format_args!("cannot download `{name}`"));
    failure.causes.push(error.to_string());
    failure
}

impl ReleaseSums {
    /// Parses lines as `sha256sum` prints them; other lines are ignored.
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        Self(
            lines
                .map(|(digest, name)| (name.to_owned(), digest.to_owned()))
                .collect(),
        )
    }

    pub(super) fn digest_of(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the version whose archive for `target` is listed.
    pub(super) fn version_for(&self, target: &str) -> Option<&str> {
        let suffix = format!("-{target}.contents.sha256");
        let mut names = self.0.keys();
        names.find_map(|name| name.strip_prefix("ken-")?.strip_suffix(suffix.as_str()))
    }
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

/// Returns the target of this program, as releases name it.
pub(super) fn own_target() -> String {
    match OS {
        "macos" => format!("{ARCH}-apple-darwin"),
        "windows" => format!("{ARCH}-pc-windows-msvc"),
        _ => format!("{ARCH}-unknown-linux-gnu"),
    }
}
