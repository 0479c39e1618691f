//! Whether what an anchor pointed at still says the same, and where it went.

use ken_core::anchor::Spot;

use crate::fingerprint::{Fingerprint, Method};
use crate::lines::{Lines, check};
use crate::outline::{Outline, Symbol, outline};
use crate::resolve::{Resolved, Unresolved, resolve, resolve_symbol, resolved};

/// Leaves below which a fingerprint alone does not prove a move: many getters are the same.
pub const MOVED_WEIGHT_MIN: u32 = 16;

/// Leaves below which not even the same name in another file proves a move.
pub const MOVED_NAMESAKE_WEIGHT_MIN: u32 = 8;

/// Words below which lines found elsewhere may be others.
pub const MOVED_WORDS_MIN: u32 = 6;

/// What became, in one file, of what an anchor pointed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It says the same.
    Intact(Resolved),
    /// It says the same at another place of the file.
    Moved { to: Spot, at: Resolved },
    /// Something of that name, or those lines, says something else.
    Changed(Resolved),
    /// Nothing has that name, or the file ends before.
    Gone { nearest: Vec<String> },
    /// Nothing can be said.
    Unknown(Unresolved),
}

/// A symbol that is no longer where it was.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    pub path: &'a str,
    pub name: &'a str,
    pub fingerprint: Fingerprint,
}

/// Where a symbol went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub path: String,
    pub name: String,
    pub at: Resolved,
}

/// Compares what an anchor pointed at with a newer version of the same file.
pub fn compare(path: &str, source: &[u8], spot: &Spot, taken: Fingerprint) -> Verdict {
    if let Err(why) = check(source) {
        return Verdict::Unknown(why);
    }
    match (spot, taken.method()) {
        (Spot::Symbol(name), Method::Syntax) => {
            compare_symbol(path, &outline(path, source), name, taken)
        }
        (Spot::Lines { first, last }, Method::Lines) => {
            compare_lines(path, source, (*first, *last), taken)
        }
        (Spot::File, Method::File) => match resolve(path, source, spot) {
            Ok(now) if now.fingerprint == taken => Verdict::Intact(now),
            Ok(now) => Verdict::Changed(now),
            Err(why) => Verdict::Unknown(why),
        },
        (Spot::Symbol(_) | Spot::Lines { .. } | Spot::File, _) => {
            Verdict::Unknown(Unresolved::OtherMethod)
        }
    }
}

/// Compares a symbol with the outline of a newer version of its file.
pub fn compare_symbol(path: &str, outline: &Outline, name: &str, taken: Fingerprint) -> Verdict {
    let now = match resolve_symbol(path, outline, name) {
        Ok(now) if now.fingerprint == taken => return Verdict::Intact(now),
        Ok(now) => Some(now),
        Err(Unresolved::NoSymbol { .. }) => None,
        Err(why) => return Verdict::Unknown(why),
    };
    // A namesake that came later makes nothing of the one that was meant.
    let (plain, is_numbered) = without_number(name);
    let same = |symbol: &&&Symbol| symbol.fingerprint == taken;
    let namesakes = outline.find(plain);
    if let Some(still) = namesakes.iter().find(same).and_then(|it| resolved(&[it])) {
        return match is_numbered {
            false => Verdict::Intact(still),
            true => Verdict::Moved {
                to: Spot::Symbol(numbered_name(outline, &still, plain)),
                at: still,
            },
        };
    }
    match now {
        Some(now) => Verdict::Changed(now),
        None => Verdict::Gone {
            nearest: crate::nearest::nearest(outline, name),
        },
    }
}

/// Finds the one symbol that says what a lost one said.
///
/// The same name in another file counts more than another name in the same file, and that more than
/// another name elsewhere. Several of one name may have moved together. Two that are equally near are no
/// answer, and neither is one too small; namesakes in one file that say the same are one.
pub fn find_moved<'a>(
    lost: &Lost<'_>,
    candidates: impl IntoIterator<Item = (&'a str, &'a Outline)>,
) -> Option<Found> {
    let mut best: Option<(u8, Found)> = None;
    let mut is_shared = false;
    for (path, outline) in candidates {
        for meant in outline.meanings() {
            let Some((rank, name, at)) = ranked(lost, path, outline, &meant) else {
                continue;
            };
            match &mut best {
                Some((held, _)) if *held < rank => {}
                Some((held, found)) if *held == rank => {
                    let (one, other) = (without_number(&found.name).0, without_number(&name).0);
                    match found.path == path && one == other {
                        true => found.name = one.to_owned(),
                        false => is_shared = true,
                    }
                }
                Some(_) | None => {
                    is_shared = false;
                    let path = path.to_owned();
                    best = Some((rank, Found { path, name, at }));
                }
            }
        }
    }
    best.filter(|_| !is_shared).map(|(_, found)| found)
}

/// Returns how near symbols of one name are to the lost one, 0 being nearest, and how they are called, if
/// they say the same.
fn ranked(
    lost: &Lost<'_>,
    path: &str,
    outline: &Outline,
    meant: &[&Symbol],
) -> Option<(u8, String, Resolved)> {
    if let [only] = meant
        && only.fingerprint != lost.fingerprint
    {
        return None;
    }
    let at = resolved(meant).filter(|at| at.fingerprint == lost.fingerprint)?;
    let symbol = meant.first()?;
    let rank = rank(lost, path, &symbol.name, at.weight)?;
    let name = match meant {
        [only] => outline.exact_name(only),
        _ => symbol.name.clone(),
    };
    Some((rank, name, at))
}

fn rank(lost: &Lost<'_>, path: &str, name: &str, weight: u32) -> Option<u8> {
    let (plain, _) = without_number(lost.name);
    let is_namesake = name == plain;
    let weight_min = match is_namesake {
        true => MOVED_NAMESAKE_WEIGHT_MIN,
        false => MOVED_WEIGHT_MIN,
    };
    if weight < weight_min {
        return None;
    }
    let is_here = path == lost.path;
    let last = |name: &str| name.rsplit([':', '.']).next().map(str::to_owned);
    match (is_namesake, is_here) {
        (true, true) => None,
        (true, false) => Some(0),
        (false, true) => Some(1),
        (false, false) if last(name) == last(plain) => Some(2),
        (false, false) => Some(3),
    }
}

fn compare_lines(path: &str, source: &[u8], at: (u32, u32), taken: Fingerprint) -> Verdict {
    let (first, last) = at;
    let now = resolve(path, source, &Spot::Lines { first, last });
    if let Ok(now) = &now
        && now.fingerprint == taken
    {
        return Verdict::Intact(now.clone());
    }
    let length = last.saturating_sub(first).saturating_add(1);
    let found = Lines::of(path, source).find(taken, length);
    if let Some((first, last, words)) = found
        && MOVED_WORDS_MIN <= words
    {
        let to = Spot::Lines { first, last };
        if let Ok(at) = resolve(path, source, &to) {
            return Verdict::Moved { to, at };
        }
    }
    match now {
        Ok(now) => Verdict::Changed(now),
        Err(Unresolved::NoLines { .. }) => Verdict::Gone {
            nearest: Vec::new(),
        },
        Err(why) => Verdict::Unknown(why),
    }
}

/// Returns a name without the `[2]` at its end, and whether there was one.
fn without_number(name: &str) -> (&str, bool) {
    let parts = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['));
    match parts {
        Some((plain, number)) if number.parse::<usize>().is_ok() => (plain, true),
        Some(_) | None => (name, false),
    }
}

fn numbered_name(outline: &Outline, at: &Resolved, plain: &str) -> String {
    let symbols = outline.find(plain);
    let symbol = symbols
        .iter()
        .find(|symbol| at.bytes.contains(&symbol.bytes));
    symbol.map_or(plain.to_owned(), |symbol| outline.exact_name(symbol))
}
