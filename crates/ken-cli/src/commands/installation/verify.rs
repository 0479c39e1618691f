//! `ken self verify`: compares the running program with the signed checksums of its release.

use std::env;
use std::fs;

use clap::Args;
use serde::Serialize;

use super::release::{
    ReleaseArgs, ReleaseSource, ReleaseSums, TEXT_BYTES_MAX, own_target, sha256_hex,
};
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken self verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken self verify --from https://mirror.example.org/ken --key release.pub"
)]
pub(crate) struct SelfVerifyArgs {
    #[command(flatten)]
    release: ReleaseArgs,
}

#[derive(Serialize)]
struct SelfVerifyObject {
    schema: &'static str,
    version: &'static str,
    target: String,
    sha256: String,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &SelfVerifyArgs,
) -> Result<CommandExit, CommandFailure> {
    let version = env!("CARGO_PKG_VERSION");
    let target = own_target();
    let source = ReleaseSource::new(&args.release)?;
    let folder = format!("download/v{version}");
    let sums = source.sums(&folder)?;
    let name = format!("ken-{version}-{target}.contents.sha256");
    let contents = source.file(&folder, &name, TEXT_BYTES_MAX, &sums)?;
    let contents = ReleaseSums::parse(&String::from_utf8_lossy(&contents));
    let program = env::current_exe().and_then(fs::read);
    let program = program.map_err(|e| CommandFailure::io("cannot read the running program", &e))?;
    let sha256 = sha256_hex(&program);
    let path = format!("bin/ken{}", env::consts::EXE_SUFFIX);
    if contents.digest_of(&path) != Some(sha256.as_str()) {
        let message = format!("this program is not ken {version} of the release for {target}");
        return Err(CommandFailure::refused("not_released", message));
    }
    if session.is_json() {
        session.printer.json(&SelfVerifyObject {
            schema: "ken.self.verify.v1",
            version,
            target,
            sha256,
        })?;
    } else {
        let line = format_args!("this program is the released ken {version} for {target}");
        session.printer.line(line)?;
    }
    Ok(CommandExit::Fine)
}
