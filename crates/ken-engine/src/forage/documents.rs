//! Documents of a folder, read with limits and never outside of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_forage::{
    DocumentFormat, Passage, PassageSource, document_format, read_blocks, split_passages,
};

/// Limits of one package or folder.
const FILES_MAX: usize = 1_500;
const FILE_BYTES_MAX: u64 = 1 << 20;
const TOTAL_BYTES_MAX: u64 = 24 << 20;
const DEPTH_MAX: usize = 12;

/// Folders without documentation for users.
const SKIPPED_FOLDERS: [&str; 16] = [
    "__pycache__",
    "_vendor",
    "bench",
    "benches",
    "benchmark",
    "ci",
    "fixtures",
    "fuzz",
    "node_modules",
    "target",
    "test",
    "tests",
    "testing",
    "testdata",
    "vendor",
    "locales",
];

/// A document that was read.
#[derive(Clone, Debug)]
pub(super) struct LocalDocument {
    /// Path below the folder, with `/`.
    pub(super) path: Arc<str>,
    pub(super) source: PassageSource,
    pub(super) format: DocumentFormat,
    pub(super) text: String,
}

/// Documents of a folder.
#[derive(Debug, Default)]
pub(super) struct DocumentFolder {
    pub(super) documents: Vec<LocalDocument>,
    /// Whether a limit was reached.
    pub(super) is_cut: bool,
    bytes: u64,
}

impl DocumentFolder {
    /// Reads the documents below each root; symbolic links inside are not followed.
    pub(super) fn read(roots: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for root in roots {
            let name = root
                .file_name()
                .and_then(|it| it.to_str())
                .unwrap_or_default();
            // A single root is the package itself; several are named.
            let prefix = if roots.len() > 1 {
                format!("{name}/")
            } else {
                String::new()
            };
            if root.is_dir() {
                found.walk(root, &prefix, 0);
            } else {
                found.add(root, name.to_owned());
            }
        }
        found.prefer_declarations();
        found
    }

    fn walk(&mut self, folder: &Path, prefix: &str, depth: usize) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.collect();
        // Sorted, so that the limits cut the same files on every machine.
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            // A link could lead out of the package, or in a circle.
            if name.starts_with('.') || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                if depth < DEPTH_MAX && !SKIPPED_FOLDERS.contains(&name.to_lowercase().as_str()) {
                    self.walk(&entry.path(), &format!("{prefix}{name}/"), depth + 1);
                }
            } else {
                self.add(&entry.path(), format!("{prefix}{name}"));
            }
        }
    }

    fn add(&mut self, path: &Path, shown: String) {
        let Some(format) = document_format(&shown).filter(|_| is_documentation(&shown)) else {
            return;
        };
        let size = fs::symlink_metadata(path).map_or(u64::MAX, |it| it.len());
        if size > FILE_BYTES_MAX {
            return;
        }
        if self.documents.len() >= FILES_MAX || self.bytes + size > TOTAL_BYTES_MAX {
            self.is_cut = true;
            return;
        }
        let Ok(bytes) = fs::read(path) else { return };
        self.bytes += size;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if shown.ends_with("METADATA") {
            // The headers are no documentation; the description below them is.
            // Empty lines replace them, so that the line numbers of passages stay right.
            text = text
                .split_once("\n\n")
                .map_or_else(String::new, |(head, body)| {
                    format!("{}{body}", "\n".repeat(head.lines().count() + 1))
                });
        }
        self.documents.push(LocalDocument {
            source: source_of(&shown, format),
            path: shown.into(),
            format,
            text,
        });
    }

    /// Drops scripts where declarations with the same comments exist.
    fn prefer_declarations(&mut self) {
        let is_declaration = |it: &LocalDocument| {
            [".d.ts", ".d.mts", ".d.cts"]
                .iter()
                .any(|end| it.path.ends_with(end))
        };
        if self.documents.iter().any(is_declaration) {
            self.documents
                .retain(|it| it.format != DocumentFormat::Script || is_declaration(it));
        }
    }

    /// Returns the passages of all documents.
    pub(super) fn passages(&self) -> Vec<Passage> {
        let split = |it: &LocalDocument| {
            split_passages(&it.path, it.source, read_blocks(it.format, &it.text))
        };
        self.documents.iter().flat_map(split).collect()
    }
}

/// Returns whether a text file is documentation: `.txt` files often are licenses or lists.
fn is_documentation(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_uppercase();
    let is_legal = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "NOTICE",
        "AUTHORS",
        "CODE_OF_CONDUCT",
    ]
    .iter()
    .any(|it| name.starts_with(it));
    let is_list = [
        "TOP_LEVEL.TXT",
        "ENTRY_POINTS.TXT",
        "SOURCES.TXT",
        "REQUIRES.TXT",
    ]
    .contains(&name.as_str());
    !is_legal && !is_list && !name.ends_with(".MIN.JS")
}

fn source_of(path: &str, format: DocumentFormat) -> PassageSource {
    let name = path.rsplit('/').next().unwrap_or(path).to_uppercase();
    if ["CHANGE", "HISTORY", "RELEASE", "NEWS"]
        .iter()
        .any(|it| name.starts_with(it))
    {
        return PassageSource::ChangeLog;
    }
    match format {
        DocumentFormat::Markdown | DocumentFormat::Text | DocumentFormat::Html => {
            PassageSource::Guide
        }
        DocumentFormat::Rust
        | DocumentFormat::Python
        | DocumentFormat::Script
        | DocumentFormat::Go => PassageSource::Reference,
    }
}

/// Returns the passages of a package's first page.
pub(super) fn overview(roots: &[PathBuf]) -> Vec<Passage> {
    let Some(root) = roots.first() else {
        return Vec::new();
    };
    let names = [
        "README.md",
        "readme.md",
        "Readme.md",
        "README.rst",
        "README",
        "METADATA",
    ];
    let mut folder = DocumentFolder::default();
    for name in names {
        let path = root.join(name);
        if path.is_file() {
            folder.add(&path, name.to_owned());
            break;
        }
    }
    folder.passages()
}
