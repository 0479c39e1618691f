//! Runs the installed `run_git`, with the repository's settings only and a controlled clock.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Result of a git command.
#[derive(Clone, Debug)]
pub(crate) struct GitOutput {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs git in `root` with the clock at `seconds` since 1970.
pub(crate) fn run_git<S: AsRef<OsStr>>(root: &Path, seconds: u64, arguments: &[S]) -> GitOutput {
    let output = git_command(root, seconds)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("git can be run");
    GitOutput {
        ok: output.status.success(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a git command that must succeed; returns its output.
pub(crate) fn must_run_git<S: AsRef<OsStr> + std::fmt::Debug>(
    root: &Path,
    arguments: &[S],
) -> String {
    let answer = run_git(root, START_SECONDS, arguments);
    assert!(answer.ok, "git {arguments:?}: {}", answer.err);
    answer.out
}

/// Start time of every history: 1 March 2026.
pub(crate) const START_SECONDS: u64 = 1_772_323_200;

/// Returns the content of objects by id, using a single process.
pub(crate) fn object_contents(root: &Path, ids: &[&str]) -> Vec<Vec<u8>> {
    let mut child = git_command(root, START_SECONDS)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git can be run");
    let mut stdin = child.stdin.take().expect("it is piped");
    let wanted: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(wanted.as_bytes()));
    let out = child.wait_with_output().expect("git ends").stdout;
    writer.join().expect("no panic").expect("git reads ids");
    let mut rest = out.as_slice();
    let mut objects = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let Some(len) = head.split(' ').nth(2).and_then(|n| n.parse::<usize>().ok()) else {
            continue;
        };
        objects.push(rest[..len].to_vec());
        rest = &rest[len + 1..];
    }
    objects
}

fn git_command(root: &Path, seconds: u64) -> Command {
    let mut command = Command::new("git");
    let date = format!("{seconds} +0000");
    command
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
        .env("GIT_EDITOR", "true")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command
}
