//! Executes the commands of documents verbatim; the documents must show their output.
//!
//! `KEN_BLESS=1` writes the output into the documents.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_testkit::reference_page::{check_page, read_without_tests, repository_path, source_files};

/// Marks the start of a command's output in the output of the script.
const OUTPUT_MARK: &str = "\u{1}command\u{1}";

/// Setup before the first command of `docs/validity.md`.
const SHOP_SETUP: &str = concat!(
    "git init -q\nmkdir src\ncat > src/pay.rs <<'CODE'\n",
    include_str!("fixtures/pay.rs"),
    "CODE\nken init >/dev/null\ngit add . && git commit -q -m shop\n",
);

/// Returns the commands of every `console` block, in order.
fn console_commands(text: &str) -> Vec<&str> {
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

/// Runs the commands in one shell, with the clock one minute later for each.
fn run_commands(before: &str, commands: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut script = before.to_owned();
    for (n, command) in commands.iter().enumerate() {
        let minute = n % 60;
        let _ = writeln!(
            script,
            "export KEN_SEED={} KEN_NOW=2026-11-15T09:{minute:02}:00Z",
            n + 7
        );
        let _ = writeln!(script, "printf '{OUTPUT_MARK}'\n{command}");
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
    text.split(OUTPUT_MARK)
        .skip(1)
        .map(|output| output.trim_end().to_owned())
        .collect()
}

/// Returns the document with every command followed by its output.
fn insert_outputs(text: &str, outputs: &[String]) -> String {
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

fn check_document(path: &str, before: &str, at_least: usize) {
    let text = fs::read_to_string(repository_path(path)).unwrap();
    let commands = console_commands(&text);
    assert!(commands.len() >= at_least);
    let outputs = run_commands(before, &commands);
    assert_eq!(outputs.len(), commands.len());
    let fresh = insert_outputs(&text, &outputs);
    if std::env::var_os("KEN_BLESS").is_some() {
        fs::write(repository_path(path), &fresh).unwrap();
        return;
    }
    assert_eq!(text, fresh, "run with KEN_BLESS=1 to record the output");
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    check_document("README.md", "", 9);
}

#[test]
fn the_tutorial_shows_what_its_commands_print() {
    check_document("docs/tutorial/first-ten-minutes.md", "", 8);
}

#[test]
fn the_import_guide_shows_what_its_commands_print() {
    check_document("docs/guides/import-documents.md", "", 3);
}

#[test]
fn docs_validity_shows_what_its_commands_print() {
    check_document("docs/validity.md", SHOP_SETUP, 8);
}

#[test]
fn docs_runs_shows_what_its_commands_print() {
    check_document("docs/runs.md", SHOP_SETUP, 10);
}

/// Runs `ken` with `args` in an empty folder and returns its output.
fn ken_output(args: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
    command.args(args).current_dir(dir.path()).env_clear();
    let out = command.env("HOME", dir.path()).output().unwrap();
    assert!(out.status.success(), "{args:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// Returns every command of `ken help --all` as a path, such as `["entry", "merge"]`.
fn command_paths(listing: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut path: Vec<String> = Vec::new();
    for line in listing.lines() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = line.split_whitespace().next().filter(|_| indent > 0) else {
            continue;
        };
        // Two columns per level; wrapped descriptions start far to the right.
        path.truncate(indent / 2 - 1);
        path.push(name.to_owned());
        paths.push(path.clone());
    }
    paths
}

/// Removes the options that every command shares.
fn without_global_options(help: &str) -> String {
    let mut sections: Vec<&str> = help.split("\n\n").collect();
    let from = sections
        .iter()
        .position(|it| it.starts_with("Global options:"));
    if let Some(from) = from {
        // Options are separated by blank lines; a heading or an example ends the section.
        let rest = sections[from + 1..].iter();
        let count = rest.take_while(|it| it.starts_with("  ")).count();
        sections.drain(from..=from + count);
    }
    sections.join("\n\n").trim_end().to_owned()
}

#[test]
fn the_command_reference_lists_every_command() {
    let listing = ken_output(&["help", "--all"]);
    let mut page = "# Commands\n\n<!-- generated -->\n\n\
        This page is generated from the program. Every command also takes the global options that\n\
        `ken --help` lists. To rewrite the page, run `KEN_BLESS=1 cargo nextest run -p ken-cli\n\
        command_reference`.\n"
        .to_owned();
    for path in command_paths(&listing) {
        let words: Vec<&str> = std::iter::once("help")
            .chain(path.iter().map(String::as_str))
            .collect();
        let help = without_global_options(&ken_output(&words));
        let (name, marks) = (path.join(" "), "#".repeat(path.len() + 1));
        let _ = write!(page, "\n{marks} `ken {name}`\n\n```text\n{help}\n```\n");
    }
    check_page("docs/reference/commands.md", &page);
}

#[test]
fn the_hub_settings_reference_lists_every_setting() {
    let page = ken_output(&["hub", "config", "reference"]);
    check_page("docs/reference/hub-configuration.md", &page);
}

/// Pages of the book, in the order of its summary.
fn book_pages() -> Vec<(String, String)> {
    let summary = fs::read_to_string(repository_path("docs/SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| {
        let (title, rest) = line
            .trim_start_matches(['-', ' '])
            .strip_prefix('[')?
            .split_once("](")?;
        let path = rest.strip_suffix(')').filter(|path| !path.is_empty())?;
        Some((title.to_owned(), path.to_owned()))
    });
    links.collect()
}

#[test]
fn llms_texts_follow_the_summary() {
    let mut index = "# Ken\n\n> Records what agents and people learn about a codebase, and checks \
        it against the code.\n\n"
        .to_owned();
    let mut full = "# Ken\n".to_owned();
    for (title, path) in book_pages() {
        let _ = writeln!(index, "- [{title}](docs/{path})");
        // Decisions and measurements explain the past; an agent that uses Ken needs the rest.
        let is_guide = ["tutorial/", "guides/", "reference/"]
            .iter()
            .any(|it| path.starts_with(it));
        if is_guide && path != "reference/rest.md" {
            let text = fs::read_to_string(repository_path(&format!("docs/{path}"))).unwrap();
            let _ = write!(full, "\n{text}");
        }
    }
    check_page("llms.txt", &index);
    check_page("llms-full.txt", &full);
}

/// Columns of the screenshot; longer lines are cut.
const SCREEN_COLUMNS: usize = 104;
/// Height of a line of the screenshot in pixels.
const SCREEN_LINE: usize = 19;

/// Returns the README's demo as an SVG picture of a terminal.
fn terminal_svg(readme: &str) -> String {
    let (_, demo) = readme.split_once("```console\n").unwrap();
    let (demo, _) = demo.split_once("\n```").unwrap();
    // Preparation with git and printf is left out, and what `ken init` lists.
    let mut shown = true;
    let lines: Vec<&str> = demo
        .lines()
        .filter(|line| {
            if let Some(command) = line.strip_prefix("$ ") {
                shown = command.starts_with("ken ") && command != "ken init";
            }
            shown
        })
        .collect();
    let height = lines.len() * SCREEN_LINE + 56;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{height}\" \
         viewBox=\"0 0 900 {height}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" \
         font-size=\"14\">\n<rect width=\"900\" height=\"{height}\" rx=\"8\" fill=\"#1d2330\"/>\n"
    );
    for (number, color) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = 20 + number * 20;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"20\" r=\"6\" fill=\"{color}\"/>"
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let y = 54 + number * SCREEN_LINE;
        let color = match line.split_once(' ').map_or(*line, |(first, _)| first) {
            "$" => "#ffffff",
            "warning" | "warn" => "#f5c26b",
            "error" | "fail" | "fails:" => "#ff8272",
            "pass" | "passes:" => "#8ed18e",
            "hint:" => "#8d96a8",
            _ => "#cfd5e1",
        };
        let mut text: String = line.chars().take(SCREEN_COLUMNS).collect();
        if line.chars().count() > SCREEN_COLUMNS {
            text.pop();
            text.push('…');
        }
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\" fill=\"{color}\" xml:space=\"preserve\">{text}</text>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
fn the_screenshot_shows_the_demo_of_the_readme() {
    let readme = fs::read_to_string(repository_path("README.md")).unwrap();
    check_page("docs/images/terminal.svg", &terminal_svg(&readme));
}

#[test]
fn every_environment_variable_is_documented() {
    let reference = fs::read_to_string(repository_path("docs/reference/configuration.md")).unwrap();
    let files = source_files(&repository_path("crates"), &["rs"]);
    // Variables of tests are in CONTRIBUTING.md.
    let is_product = |it: &&PathBuf| !it.iter().any(|part| part == "ken-testkit");
    let mut missing = Vec::new();
    for path in files.iter().filter(is_product) {
        for name in read_without_tests(path).split("\"KEN_").skip(1) {
            let end = name.find(|c: char| !c.is_ascii_uppercase() && c != '_');
            let name = &name[..end.unwrap_or(name.len())];
            if !reference.contains(&format!("`KEN_{name}`")) {
                missing.push(format!("KEN_{name} of {}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
