//! Resolution of an anchor to bytes, lines and a fingerprint of a file.

use std::iter;
use std::ops::Range;

use ken_core::values::anchor::FilePart;

use crate::fingerprint::{Fingerprint, FingerprintMethod};
use crate::lines::{FILE_BYTES_MAX, SourceLines, ensure_text};
use crate::nearest::suggest_names;
use crate::outline::{Outline, Symbol, outline};

/// The code an anchor refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedAnchor {
    pub fingerprint: Fingerprint,
    /// First and last line of the code, counted from 1; with several symbols, of their union.
    pub first_line: u32,
    pub last_line: u32,
    /// Size of the fingerprinted code: leaves of the syntax tree for symbols, words for lines and
    /// files.
    pub weight: u32,
    /// Byte ranges in the source; several if several symbols share the name.
    pub bytes: Vec<Range<usize>>,
}

/// Reason an anchor cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("no symbol `{name}`{}", hint(nearest))]
    SymbolNotFound {
        name: String,
        /// At most three similar names, the best first.
        nearest: Vec<String>,
    },
    #[error("the file has {lines} lines")]
    LinesOutOfRange { lines: u32 },
    #[error("`{path}` cannot be parsed: only its lines or the whole file can be anchored")]
    UnsupportedLanguage { path: String },
    #[error("the file is not text")]
    Binary,
    #[error("the file has {bytes} bytes, more than {FILE_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("the fingerprint has the wrong method for this anchor")]
    MethodMismatch,
}

/// Resolves `spot` in a file.
pub fn resolve(path: &str, source: &[u8], spot: &FilePart) -> Result<ResolvedAnchor, ResolveError> {
    // First, so that parsers only see text of bounded size.
    ensure_text(source)?;
    match spot {
        FilePart::File => Ok(resolve_file(path, source)),
        FilePart::Lines { first, last } => resolve_lines(path, source, *first, *last),
        FilePart::Symbol(name) => resolve_symbol(path, &outline(path, source), name),
    }
}

/// Resolves a symbol in an existing outline.
pub fn resolve_symbol(
    path: &str,
    outline: &Outline,
    name: &str,
) -> Result<ResolvedAnchor, ResolveError> {
    // Without a grammar, the symbol is unverifiable and not missing.
    if outline.language().is_none() {
        return Err(ResolveError::UnsupportedLanguage {
            path: path.to_owned(),
        });
    }
    combine_symbols(&outline.find(name)).ok_or_else(|| ResolveError::SymbolNotFound {
        name: name.to_owned(),
        nearest: suggest_names(outline, name, None),
    })
}

impl ResolvedAnchor {
    /// Returns the resolved source text.
    pub fn text(&self, source: &[u8]) -> String {
        let places = self
            .bytes
            .iter()
            // The source may be shorter than the one that was resolved; skip ranges beyond its end.
            .filter_map(|range| source.get(range.clone()));
        let texts: Vec<_> = places.map(String::from_utf8_lossy).collect();
        texts.join("\n")
    }
}

/// Combines symbols of one name; returns `None` for an empty slice.
pub(crate) fn combine_symbols(symbols: &[&Symbol]) -> Option<ResolvedAnchor> {
    let fingerprints: Vec<_> = symbols.iter().map(|symbol| symbol.fingerprint).collect();
    Some(ResolvedAnchor {
        fingerprint: Fingerprint::combined(&fingerprints)?,
        first_line: symbols.iter().map(|symbol| symbol.first_line).min()?,
        last_line: symbols.iter().map(|symbol| symbol.last_line).max()?,
        weight: symbols.iter().map(|symbol| symbol.weight).sum(),
        bytes: symbols.iter().map(|symbol| symbol.bytes.clone()).collect(),
    })
}

fn resolve_file(path: &str, source: &[u8]) -> ResolvedAnchor {
    let lines = SourceLines::of(path, source);
    let (fingerprint, weight) = lines.fingerprint(FingerprintMethod::File, 1, lines.count());
    ResolvedAnchor {
        fingerprint,
        first_line: 1,
        // An empty file still has a line 1 to point at.
        last_line: lines.count().max(1),
        weight,
        bytes: iter::once(0..source.len()).collect(),
    }
}

fn resolve_lines(
    path: &str,
    source: &[u8],
    first: u32,
    last: u32,
) -> Result<ResolvedAnchor, ResolveError> {
    let lines = SourceLines::of(path, source);
    if last > lines.count() || last < first || first == 0 {
        return Err(ResolveError::LinesOutOfRange {
            lines: lines.count(),
        });
    }
    let (fingerprint, weight) = lines.fingerprint(FingerprintMethod::Lines, first, last);
    Ok(ResolvedAnchor {
        fingerprint,
        first_line: first,
        last_line: last,
        weight,
        bytes: [line_byte_range(source, first, last)].into(),
    })
}

/// Returns the byte range of lines `first` to `last`, without the final line break.
pub(crate) fn line_byte_range(source: &[u8], first: u32, last: u32) -> Range<usize> {
    // Works on bytes because the source need not be UTF-8.
    let breaks = source.iter().enumerate().filter(|(_, b)| **b == b'\n');
    let mut start = 0;
    for ((at, _), number) in breaks.zip(1u32..) {
        if number + 1 == first {
            start = at + 1;
        }
        if number == last {
            return start..at;
        }
    }
    start..source.len()
}

fn hint(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; nearest: `{}`", names.join("`, `")),
    }
}
