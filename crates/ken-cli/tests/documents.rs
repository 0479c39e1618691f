//! The commands of documents, run word for word; their output is what the documents show.
//!
//! `KEN_BLESS=1` writes the output into them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Marks, in the script's output, where a command's output begins.
const MARK: &str = "\u{1}command\u{1}";

/// What stands in the folder before the first command of `docs/validity.md`.
const SHOP: &str = concat!(
    "git init -q\nmkdir src\ncat > src/pay.rs <<'CODE'\n",
    include_str!("fixtures/pay.rs"),
    "CODE\nken init >/dev/null\ngit add . && git commit -q -m shop\n",
);

fn top(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The commands of every `console` block, in order.
fn commands(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.trim_start() {
            "```console" => inside = true,
            "```" => inside = false,
            line => found.extend(line.strip_prefix("$ ").filter(|_| inside)),
        }
    }
    found
}

/// Runs the commands as one person would type them, each a minute after the last.
fn outputs(before: &str, commands: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut script = before.to_owned();
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

/// A document with every command followed by what it printed.
fn with_outputs(text: &str, outputs: &[String]) -> String {
    let mut outputs = outputs.iter();
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        match text {
            "```console" => inside = true,
            "```" => inside = false,
            _ if inside && !text.starts_with("$ ") => continue,
            _ => {}
        }
        let _ = writeln!(out, "{line}");
        if inside && text.starts_with("$ ") {
            for told in outputs.next().unwrap().lines() {
                let _ = writeln!(out, "{}", format!("{indent}{told}").trim_end());
            }
        }
    }
    out
}

fn shows_what_its_commands_print(path: &str, before: &str, at_least: usize) {
    let text = fs::read_to_string(top(path)).unwrap();
    let commands = commands(&text);
    assert!(at_least <= commands.len());
    let outputs = outputs(before, &commands);
    assert_eq!(outputs.len(), commands.len());
    let fresh = with_outputs(&text, &outputs);
    if std::env::var_os("KEN_BLESS").is_some() {
        fs::write(top(path), &fresh).unwrap();
        return;
    }
    assert_eq!(
        text, fresh,
        "run with KEN_BLESS=1 to record the output anew"
    );
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    shows_what_its_commands_print("README.md", "", 9);
}

#[test]
fn docs_validity_shows_what_its_commands_print() {
    shows_what_its_commands_print("docs/validity.md", SHOP, 8);
}

#[test]
fn docs_runs_shows_what_its_commands_print() {
    shows_what_its_commands_print("docs/runs.md", SHOP, 10);
}
