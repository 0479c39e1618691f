//! The README's commands, run word for word; their output is what the README shows.
//!
//! `KEN_BLESS=1` writes the output into the README.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Marks, in the script's output, where a command's output begins.
const MARK: &str = "\u{1}command\u{1}";

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// The commands of every `console` block, in order.
fn commands(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ => found.extend(line.strip_prefix("$ ").filter(|_| inside)),
        }
    }
    found
}

/// Runs the commands as one person would type them, each a minute after the last.
fn outputs(commands: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut script = String::new();
    for (n, command) in commands.iter().enumerate() {
        let minute = n % 60;
        let _ = writeln!(
            script,
            "export KEN_SEED={} KEN_NOW=2026-11-15T09:{minute:02}:00Z",
            n + 7
        );
        let _ = writeln!(script, "printf '{MARK}'\n{command}");
    }
    let ken = Path::new(env!("CARGO_BIN_EXE_ken"));
    let path = format!(
        "{}:{}",
        ken.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let out = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", dir.path())
        .env("GIT_CONFIG_COUNT", "3")
        .env("GIT_CONFIG_KEY_0", "user.email")
        .env("GIT_CONFIG_VALUE_0", "ada@example.org")
        .env("GIT_CONFIG_KEY_1", "user.name")
        .env("GIT_CONFIG_VALUE_1", "Ada")
        .env("GIT_CONFIG_KEY_2", "init.defaultBranch")
        .env("GIT_CONFIG_VALUE_2", "main")
        .output()
        .unwrap();
    let shown = dir.path().canonicalize().unwrap().display().to_string();
    let text = String::from_utf8(out.stdout).unwrap().replace(&shown, "~");
    text.split(MARK)
        .skip(1)
        .map(|output| output.trim_end().to_owned())
        .collect()
}

/// The README with every command followed by what it printed.
fn with_outputs(text: &str, outputs: &[String]) -> String {
    let mut outputs = outputs.iter();
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if inside && !line.starts_with("$ ") => continue,
            _ => {}
        }
        let _ = writeln!(out, "{line}");
        if inside && line.starts_with("$ ") {
            let output = outputs.next().unwrap();
            if !output.is_empty() {
                let _ = writeln!(out, "{output}");
            }
        }
    }
    out
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let text = fs::read_to_string(readme()).unwrap();
    let commands = commands(&text);
    assert!(8 < commands.len());
    let outputs = outputs(&commands);
    assert_eq!(outputs.len(), commands.len());
    let fresh = with_outputs(&text, &outputs);
    if std::env::var_os("KEN_BLESS").is_some() {
        fs::write(readme(), &fresh).unwrap();
        return;
    }
    assert_eq!(
        text, fresh,
        "run with KEN_BLESS=1 to record the output anew"
    );
}
