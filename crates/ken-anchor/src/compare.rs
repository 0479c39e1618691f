//! Comparison of an anchor's recorded fingerprint with newer code, and search for moved symbols.

use ken_core::values::anchor::FilePart;

use crate::fingerprint::{Fingerprint, FingerprintMethod};
use crate::lines::{SourceLines, ensure_text};
use crate::outline::{Outline, Symbol, outline};
use crate::resolve::{ResolveError, ResolvedAnchor, combine_symbols, resolve, resolve_symbol};

/// Leaves below which an equal fingerprint does not prove a move: many getters are identical.
pub const MOVED_WEIGHT_MIN: u32 = 16;

/// Leaves below which even an equal name in another file does not prove a move.
pub const MOVED_NAMESAKE_WEIGHT_MIN: u32 = 8;

/// Words below which matching lines elsewhere may be a coincidence.
pub const MOVED_WORDS_MIN: u32 = 6;

/// Verdict for one anchor in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnchorComparison {
    /// The code is unchanged.
    Intact(ResolvedAnchor),
    /// The same code is at another place of the file.
    Moved { to: FilePart, at: ResolvedAnchor },
    /// The symbol or the lines exist, with other code.
    Changed(ResolvedAnchor),
    /// The symbol does not exist, or the file ends before the lines.
    Gone { nearest: Vec<String> },
    /// The anchor cannot be checked.
    Unknown(ResolveError),
}

/// A symbol that its anchor no longer finds.
#[derive(Clone, Copy, Debug)]
pub struct LostSymbol<'a> {
    pub path: &'a str,
    pub name: &'a str,
    pub fingerprint: Fingerprint,
}

/// The new location of a lost symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedSymbol {
    pub path: String,
    pub name: String,
    pub at: ResolvedAnchor,
}

/// Compares the recorded fingerprint of an anchor with a newer version of the same file.
pub fn compare_anchor(
    path: &str,
    source: &[u8],
    spot: &FilePart,
    taken: Fingerprint,
) -> AnchorComparison {
    if let Err(why) = ensure_text(source) {
        return AnchorComparison::Unknown(why);
    }
    match (spot, taken.method()) {
        (FilePart::Symbol(name), FingerprintMethod::Syntax) => {
            compare_symbol(path, &outline(path, source), name, taken)
        }
        (FilePart::Lines { first, last }, FingerprintMethod::Lines) => {
            compare_lines(path, source, (*first, *last), taken)
        }
        (FilePart::File, FingerprintMethod::File) => match resolve(path, source, spot) {
            Ok(now) if now.fingerprint == taken => AnchorComparison::Intact(now),
            Ok(now) => AnchorComparison::Changed(now),
            Err(why) => AnchorComparison::Unknown(why),
        },
        (FilePart::Symbol(_) | FilePart::Lines { .. } | FilePart::File, _) => {
            AnchorComparison::Unknown(ResolveError::MethodMismatch)
        }
    }
}

/// Compares the recorded fingerprint of a symbol with the outline of a newer version of its file.
pub fn compare_symbol(
    path: &str,
    outline: &Outline,
    name: &str,
    taken: Fingerprint,
) -> AnchorComparison {
    let now = match resolve_symbol(path, outline, name) {
        Ok(now) if now.fingerprint == taken => return AnchorComparison::Intact(now),
        Ok(now) => Some(now),
        // `name[3]` may be gone because an earlier overload was removed.
        Err(ResolveError::SymbolNotFound { .. }) => None,
        Err(why) => return AnchorComparison::Unknown(why),
    };
    // Adding an overload changes the combined fingerprint of the name, or shifts ordinals. If one
    // symbol of that name still has the recorded fingerprint, the code itself is unchanged.
    let (plain, is_numbered) = strip_ordinal(name);
    let same = |symbol: &&&Symbol| symbol.fingerprint == taken;
    let namesakes = outline.find(plain);
    if let Some(still) = namesakes
        .iter()
        .find(same)
        .and_then(|it| combine_symbols(&[it]))
    {
        // Only an ordinal needs updating; a plain name still finds the symbol.
        return if is_numbered {
            AnchorComparison::Moved {
                to: FilePart::Symbol(find_numbered_name(outline, &still, plain)),
                at: still,
            }
        } else {
            AnchorComparison::Intact(still)
        };
    }
    match now {
        Some(now) => AnchorComparison::Changed(now),
        None => AnchorComparison::Gone {
            nearest: crate::nearest::suggest_names(outline, name, Some(taken)),
        },
    }
}

/// Finds the single symbol whose code equals that of a lost symbol.
///
/// Ranking: the same name in another file, then another name in the same file, then another name
/// elsewhere. Several symbols of one name may have moved together. Returns `None` if two candidates
/// rank equally or the code is too small. Identical namesakes in one file count as one.
pub fn find_moved<'a>(
    lost: &LostSymbol<'_>,
    candidates: impl IntoIterator<Item = (&'a str, &'a Outline)>,
) -> Option<MovedSymbol> {
    let mut best: Option<(u8, MovedSymbol)> = None;
    let mut is_shared = false;
    for (path, outline) in candidates {
        for meant in outline.meanings() {
            let Some((rank, name, at)) = match_candidate(lost, path, outline, &meant) else {
                continue;
            };
            match &mut best {
                Some((held, _)) if *held < rank => {}
                Some((held, found)) if *held == rank => {
                    let (one, other) = (strip_ordinal(&found.name).0, strip_ordinal(&name).0);
                    if found.path == path && one == other {
                        found.name = one.to_owned();
                    } else {
                        is_shared = true;
                    }
                }
                Some(_) | None => {
                    // A better rank makes earlier ties irrelevant.
                    is_shared = false;
                    let path = path.to_owned();
                    best = Some((rank, MovedSymbol { path, name, at }));
                }
            }
        }
    }
    best.filter(|_| !is_shared).map(|(_, found)| found)
}

/// Returns the rank of symbols of one name, 0 being the best, their exact name and their location.
/// Returns `None` if their code differs from the lost symbol's.
fn match_candidate(
    lost: &LostSymbol<'_>,
    path: &str,
    outline: &Outline,
    meant: &[&Symbol],
) -> Option<(u8, String, ResolvedAnchor)> {
    // Rejects most candidates before their byte ranges are collected.
    if let [only] = meant
        && only.fingerprint != lost.fingerprint
    {
        return None;
    }
    let at = combine_symbols(meant).filter(|at| at.fingerprint == lost.fingerprint)?;
    let symbol = meant.first()?;
    let rank = rank_candidate(lost, path, &symbol.name, at.weight)?;
    let name = match meant {
        [only] => outline.exact_name(only),
        _ => symbol.name.clone(),
    };
    Some((rank, name, at))
}

fn rank_candidate(lost: &LostSymbol<'_>, path: &str, name: &str, weight: u32) -> Option<u8> {
    let (plain, _) = strip_ordinal(lost.name);
    let is_namesake = name == plain;
    let weight_min = if is_namesake {
        MOVED_NAMESAKE_WEIGHT_MIN
    } else {
        MOVED_WEIGHT_MIN
    };
    if weight < weight_min {
        return None;
    }
    let is_here = path == lost.path;
    // An equal last part suggests that the enclosing type or module was renamed.
    let last = |name: &str| name.rsplit([':', '.']).next().map(str::to_owned);
    match (is_namesake, is_here) {
        // That is the anchor itself, and its fingerprint was compared before.
        (true, true) => None,
        (true, false) => Some(0),
        (false, true) => Some(1),
        (false, false) if last(name) == last(plain) => Some(2),
        (false, false) => Some(3),
    }
}

fn compare_lines(
    path: &str,
    source: &[u8],
    at: (u32, u32),
    taken: Fingerprint,
) -> AnchorComparison {
    let (first, last) = at;
    let now = resolve(path, source, &FilePart::Lines { first, last });
    if let Ok(now) = &now
        && now.fingerprint == taken
    {
        return AnchorComparison::Intact(now.clone());
    }
    // The length includes empty lines, so it is an upper bound for the non-empty lines to match.
    let length = last.saturating_sub(first).saturating_add(1);
    let found = SourceLines::of(path, source).find(taken, length);
    if let Some((first, last, words)) = found
        && words >= MOVED_WORDS_MIN
    {
        let to = FilePart::Lines { first, last };
        if let Ok(at) = resolve(path, source, &to) {
            return AnchorComparison::Moved { to, at };
        }
    }
    match now {
        Ok(now) => AnchorComparison::Changed(now),
        Err(ResolveError::LinesOutOfRange { .. }) => AnchorComparison::Gone {
            nearest: Vec::new(),
        },
        Err(why) => AnchorComparison::Unknown(why),
    }
}

/// Strips the `[2]` at the end of a name. Returns whether there was one.
fn strip_ordinal(name: &str) -> (&str, bool) {
    let parts = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['));
    match parts {
        Some((plain, number)) if number.parse::<usize>().is_ok() => (plain, true),
        Some(_) | None => (name, false),
    }
}

fn find_numbered_name(outline: &Outline, at: &ResolvedAnchor, plain: &str) -> String {
    let symbols = outline.find(plain);
    let symbol = symbols
        .iter()
        .find(|symbol| at.bytes.contains(&symbol.bytes));
    symbol.map_or(plain.to_owned(), |symbol| outline.exact_name(symbol))
}
