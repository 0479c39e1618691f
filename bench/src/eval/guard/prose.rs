//! Paragraphs of the documentation of packages at hand, which hold no secret worth the name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ken_guard::TextMode;

use super::{Bar, Row, Said};

/// Paragraphs that are scored: those whose hash is smallest, so that the choice is nobody's.
const PARAGRAPHS: usize = 10_000;

/// Words in a paragraph.
const WORDS: std::ops::RangeInclusive<usize> = 10..=200;

/// Scans paragraphs of every Markdown file that came with a package.
pub(super) fn documentation(verbose: bool) -> Result<Vec<Row>, String> {
    let mut paragraphs: BTreeMap<[u8; 32], String> = BTreeMap::new();
    let mut folders = vec![cargo_home()?.join("registry/src")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && is_markdown(&path) => {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    for paragraph in paragraphs_of(&text) {
                        paragraphs
                            .insert(*blake3::hash(paragraph.as_bytes()).as_bytes(), paragraph);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    if paragraphs.len() < PARAGRAPHS {
        return Err(format!(
            "only {} paragraphs below the packages' sources",
            paragraphs.len()
        ));
    }
    let chosen: Vec<&String> = paragraphs.values().take(PARAGRAPHS).collect();
    let flagged = |text: &str, mode| {
        let said = Said::of(text, mode);
        if verbose && said.is_flagged() {
            println!(
                "flagged {:?}: {}",
                said.found,
                text.chars().take(160).collect::<String>()
            );
        }
        said.is_flagged()
    };
    let prose = chosen
        .iter()
        .filter(|text| flagged(text, TextMode::Prose))
        .count();
    let statement = chosen
        .iter()
        .filter(|text| flagged(text, TextMode::Statement))
        .count();
    let refused = chosen
        .iter()
        .filter(|text| ken_guard::ScanLevel::High <= Said::of(text, TextMode::Prose).scan)
        .count();
    Ok(vec![
        Row::share(
            "paragraphs of documentation: flagged",
            prose,
            PARAGRAPHS,
            Bar::AtMost(0.001, "<= 0.1 %"),
        ),
        Row::share("the same: refused", refused, PARAGRAPHS, Bar::None),
        Row::share(
            "the same, read as statements: flagged",
            statement,
            PARAGRAPHS,
            Bar::None,
        ),
    ])
}

fn cargo_home() -> Result<PathBuf, String> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    named
        .or_else(home)
        .ok_or_else(|| "neither CARGO_HOME nor HOME is set".to_owned())
}

fn is_markdown(path: &Path) -> bool {
    path.extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("md"))
}

/// Returns the paragraphs outside of fenced code.
fn paragraphs_of(text: &str) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut fenced = false;
    for line in text.lines().map(str::trim).chain([""]) {
        let fence = line.starts_with("```");
        if fence || line.is_empty() {
            let paragraph = std::mem::take(&mut lines).join(" ");
            if WORDS.contains(&paragraph.split_whitespace().count()) {
                paragraphs.push(paragraph);
            }
            fenced ^= fence;
        } else if !fenced {
            lines.push(line);
        }
    }
    paragraphs
}
