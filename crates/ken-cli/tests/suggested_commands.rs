//! Every `ken` command that documents, help, hints and texts for agents name exists, with its
//! options.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use ken_testkit::reference_page::{read_without_tests, repository_path, source_files};

/// Files and folders whose commands are checked. Decisions and the change log describe the past.
const ROOTS: &[&str] = &[
    "AGENTS.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "action.yml",
    "crates",
    "deploy",
    "docs/explanation",
    "docs/guides",
    "docs/reference",
    "docs/runs.md",
    "docs/tutorial",
    "docs/validity.md",
    "integrations",
];

/// Extensions of files that name commands.
const EXTENSIONS: &[&str] = &["rs", "md", "json", "toml", "yml", "yaml", "sh"];

/// Characters that end a command in a line.
const COMMAND_ENDS: [char; 9] = ['`', '|', '&', ';', '>', '<', ')', '#', '"'];

/// Help of every command by its path, such as `entry merge`.
struct CommandTree {
    help: BTreeMap<Vec<String>, String>,
    global: String,
}

impl CommandTree {
    fn read() -> Self {
        let mut help = BTreeMap::new();
        read_commands(&mut help, &[]);
        let global = help[&Vec::new()].clone();
        Self { help, global }
    }

    /// Returns the reason why a command line does not exist.
    fn problem(&self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut path = Vec::new();
        for word in &words {
            path.push((*word).to_owned());
            if !self.help.contains_key(&path) {
                path.pop();
                break;
            }
        }
        let next = words.get(path.len()).copied().unwrap_or("-");
        let help = &self.help[&path];
        if takes_only_commands(help) && !is_placeholder(next) {
            return Some(format!("`ken {line}`: unknown command `{next}`"));
        }
        // A placeholder such as `…` may stand for any subcommand, so their options count too.
        let below = self.help.iter().filter(|(it, _)| it.starts_with(&path));
        let below: Vec<&String> = below.map(|(_, help)| help).collect();
        let options = words[path.len()..].iter().filter_map(|it| {
            let name = it.trim_start_matches(['[', '(']);
            let name = name.strip_prefix("--")?;
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '-');
            Some(&name[..end.unwrap_or(name.len())])
        });
        for option in options.filter(|it| !it.is_empty()) {
            let known = |text: &str| {
                let mut rest = text.split(|c: char| !c.is_alphanumeric() && c != '-');
                rest.any(|it| it.strip_prefix("--") == Some(option))
            };
            if !below.iter().any(|help| known(help)) && !known(&self.global) {
                return Some(format!("`ken {line}`: unknown option `--{option}`"));
            }
        }
        None
    }
}

/// Reads the help of a command and of its subcommands.
fn read_commands(into: &mut BTreeMap<Vec<String>, String>, path: &[String]) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
    // Commands behind `ken help --all` and the hidden groups are found through their parents.
    command.arg("help").args(path).current_dir(dir.path());
    let out = command
        .env_clear()
        .env("HOME", dir.path())
        .output()
        .unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    let mut names: Vec<String> = Vec::new();
    if path.is_empty() {
        names.extend(
            [
                "help",
                "hook",
                "knowledge",
                "redo",
                "handoff",
                "blame",
                "bisect",
            ]
            .map(str::to_owned),
        );
        names.extend(top_level_commands());
    }
    let mut inside = false;
    for line in help.lines().filter(|_| !path.is_empty()) {
        if !line.starts_with(' ') && !line.is_empty() {
            inside = line.starts_with("Commands:");
        }
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let name = line.split_whitespace().next().filter(|_| inside && is_name);
        names.extend(name.filter(|it| *it != "help").map(str::to_owned));
    }
    into.insert(path.to_vec(), help);
    for name in names {
        let mut child = path.to_vec();
        child.push(name);
        if !into.contains_key(&child) {
            read_commands(into, &child);
        }
    }
}

fn top_level_commands() -> Vec<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_ken"))
        .args(["help", "--all"])
        .output()
        .unwrap();
    let listing = String::from_utf8(out.stdout).unwrap();
    let names = listing
        .lines()
        .filter(|it| it.starts_with("  ") && !it.starts_with("   "));
    names
        .filter_map(|it| it.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Returns whether a command takes a subcommand and no other argument.
fn takes_only_commands(help: &str) -> bool {
    let usage = help.split("Usage:").nth(1).unwrap_or_default();
    let usage = usage.split("\n\n").next().unwrap_or_default();
    let mut arguments = usage
        .split_whitespace()
        .filter(|it| it.starts_with(['[', '<']));
    usage.contains("COMMAND")
        && arguments.all(|it| ["[OPTIONS]", "[COMMAND]", "<COMMAND>"].contains(&it))
}

/// Returns whether a word stands for a value or an option, not for a subcommand.
fn is_placeholder(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
    word.starts_with('-') || !word.chars().all(is_name)
}

/// Returns the command lines of a text: behind a backtick, at the start of a line, or after `$ `.
fn command_lines(text: &str, is_markdown: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_fenced = !is_fenced;
        }
        let at_start = trimmed.trim_start_matches("$ ").strip_prefix("ken ");
        let mut starts: Vec<&str> = line.split("`ken ").skip(1).collect();
        starts.extend(at_start.filter(|_| is_fenced && is_markdown));
        for start in starts {
            let start = start.split("  ").next().unwrap_or_default();
            let end = start.find(COMMAND_ENDS).unwrap_or(start.len());
            found.push(
                start[..end]
                    .trim_end_matches(['\\', '.', ',', ':'])
                    .to_owned(),
            );
        }
    }
    found
}

#[test]
fn every_suggested_command_and_option_exists() {
    let tree = CommandTree::read();
    let root = repository_path("");
    let mut problems = Vec::new();
    let mut count = 0;
    for start in ROOTS {
        let files = source_files(&root.join(start), EXTENSIONS);
        assert!(!files.is_empty(), "{start} is gone");
        for file in files {
            let text = read_without_tests(&file);
            let is_markdown = file.extension().is_some_and(|it| it == "md");
            for line in command_lines(&text, is_markdown) {
                count += 1;
                let name = file.strip_prefix(&root).unwrap().display();
                problems.extend(tree.problem(&line).map(|it| format!("{name}: {it}")));
            }
        }
    }
    assert!(count > 300, "only {count} commands were found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_of_documents_lead_to_files() {
    let roots = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
        "docs",
    ];
    let files = roots.map(|it| source_files(&repository_path(it), &["md"]));
    let mut broken = Vec::new();
    for file in files.iter().flatten() {
        let text = fs::read_to_string(file).unwrap();
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or_default();
            // `](.*` is part of a regular expression.
            let is_local = !target.is_empty() && !target.contains([':', '*']);
            if is_local && !file.parent().unwrap().join(target).exists() {
                broken.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
