//! How many instructions a program takes, as `valgrind` counts them: the same on a busy machine as
//! on a quiet one.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::fixture::said;

/// A program to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [&'a str],
    pub(crate) folder: &'a Path,
    pub(crate) input: &'a str,
    pub(crate) variables: &'a [(&'a str, &'a str)],
}

impl Counted<'_> {
    /// Returns the instructions one run takes.
    pub(crate) fn instructions(&self) -> Result<u64, String> {
        let mut child = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(self.program)
            .args(self.args)
            .envs(self.variables.iter().copied())
            .current_dir(self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(said(
                "cannot start `valgrind` (install the package `valgrind`)",
            ))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that reads nothing closes its input; that is its right.
            let _ = stdin.write_all(self.input.as_bytes());
        }
        let output = child
            .wait_with_output()
            .map_err(said("cannot wait for `valgrind`"))?;
        let talk = String::from_utf8_lossy(&output.stderr);
        let line = talk.lines().find(|line| line.contains("Collected"));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        count.ok_or_else(|| format!("`valgrind` counted nothing: {}", talk.trim()))
    }
}
