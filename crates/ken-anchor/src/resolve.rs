//! What an anchor points at in a file, or why it points at nothing.

use std::iter;
use std::ops::Range;

use ken_core::anchor::Spot;

use crate::fingerprint::{Fingerprint, Method};
use crate::lines::{FILE_BYTES_MAX, Lines, check};
use crate::nearest::nearest;
use crate::outline::{Outline, Symbol, outline};

/// What an anchor points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub fingerprint: Fingerprint,
    /// From the first to the last line of all that is meant, counted from 1.
    pub first_line: u32,
    pub last_line: u32,
    /// How much the fingerprint stands for: leaves of syntax, or words.
    pub weight: u32,
    /// What is meant, in bytes of the source; several places if several symbols have the name.
    pub bytes: Vec<Range<usize>>,
}

/// Why an anchor points at nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("no symbol `{name}`{}", hint(nearest))]
    NoSymbol {
        name: String,
        /// At most three names that may have been meant, the nearest first.
        nearest: Vec<String>,
    },
    #[error("the file has {lines} lines")]
    NoLines { lines: u32 },
    #[error("`{path}` cannot be parsed: only its lines or the whole file can be anchored")]
    NoGrammar { path: String },
    #[error("the file is not text")]
    Binary,
    #[error("the file has {bytes} bytes, more than {FILE_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("the fingerprint was not taken of such a place")]
    OtherMethod,
}

/// Finds what `spot` means in a file.
pub fn resolve(path: &str, source: &[u8], spot: &Spot) -> Result<Resolved, Unresolved> {
    check(source)?;
    match spot {
        Spot::File => Ok(whole_file(path, source)),
        Spot::Lines { first, last } => resolve_lines(path, source, *first, *last),
        Spot::Symbol(name) => resolve_symbol(path, &outline(path, source), name),
    }
}

/// Finds a symbol in an outline that was made before.
pub fn resolve_symbol(path: &str, outline: &Outline, name: &str) -> Result<Resolved, Unresolved> {
    if outline.language().is_none() {
        return Err(Unresolved::NoGrammar {
            path: path.to_owned(),
        });
    }
    resolved(&outline.find(name)).ok_or_else(|| Unresolved::NoSymbol {
        name: name.to_owned(),
        nearest: nearest(outline, name),
    })
}

impl Resolved {
    /// Returns what is meant, as it stands in the source.
    pub fn text(&self, source: &[u8]) -> String {
        let places = self
            .bytes
            .iter()
            .filter_map(|range| source.get(range.clone()));
        let texts: Vec<_> = places.map(String::from_utf8_lossy).collect();
        texts.join("\n")
    }
}

/// Returns what several symbols are together; nothing, if there are none.
pub(crate) fn resolved(symbols: &[&Symbol]) -> Option<Resolved> {
    let fingerprints: Vec<_> = symbols.iter().map(|symbol| symbol.fingerprint).collect();
    Some(Resolved {
        fingerprint: Fingerprint::combined(&fingerprints)?,
        first_line: symbols.iter().map(|symbol| symbol.first_line).min()?,
        last_line: symbols.iter().map(|symbol| symbol.last_line).max()?,
        weight: symbols.iter().map(|symbol| symbol.weight).sum(),
        bytes: symbols.iter().map(|symbol| symbol.bytes.clone()).collect(),
    })
}

fn whole_file(path: &str, source: &[u8]) -> Resolved {
    let lines = Lines::of(path, source);
    let (fingerprint, weight) = lines.fingerprint(Method::File, 1, lines.count());
    Resolved {
        fingerprint,
        first_line: 1,
        last_line: lines.count().max(1),
        weight,
        bytes: iter::once(0..source.len()).collect(),
    }
}

fn resolve_lines(path: &str, source: &[u8], first: u32, last: u32) -> Result<Resolved, Unresolved> {
    let lines = Lines::of(path, source);
    if lines.count() < last || last < first || first == 0 {
        return Err(Unresolved::NoLines {
            lines: lines.count(),
        });
    }
    let (fingerprint, weight) = lines.fingerprint(Method::Lines, first, last);
    Ok(Resolved {
        fingerprint,
        first_line: first,
        last_line: last,
        weight,
        bytes: [bytes_of(source, first, last)].into(),
    })
}

/// Returns where lines stand, the break after the last one left out.
pub(crate) fn bytes_of(source: &[u8], first: u32, last: u32) -> Range<usize> {
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
