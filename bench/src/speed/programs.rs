//! The programs that are timed from start to exit.

use std::path::PathBuf;

use super::Bench;
use super::fixture::said;
use xtask::repository::cargo;

/// `ken`, and a program that prints a line and nothing else.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) ken: PathBuf,
    pub(crate) print_line: PathBuf,
}

impl Programs {
    /// Builds both as they are released.
    pub(crate) fn build(bench: &Bench) -> Result<Self, String> {
        let built = cargo(&bench.root)
            // All of the workspace, as for daily work: other selections have other features, and
            // build every dependency once more.
            .args(["build", "--quiet", "--release", "--workspace", "--bins"])
            .arg("--target-dir")
            .arg(&bench.target)
            .output()
            .map_err(said("cannot start cargo"))?;
        if !built.status.success() {
            return Err("the `ken` program does not build".to_owned());
        }
        let program = |name: &str| {
            let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            bench.target.join("release").join(file)
        };
        Ok(Self {
            ken: program("ken"),
            print_line: program("print-line"),
        })
    }
}
