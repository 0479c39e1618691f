//! Anchors set in an older release and verified in a newer one, beside the second opinion.

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::{
    AnchorComparison, Fingerprint, Language, LostSymbol, Outline, compare_symbol, find_moved,
};
use ken_anchor::{outline, resolve_symbol};

use super::corpus::{Package, Release, Tongue, Tools, Use};
use super::oracle::{Kind, Opinion, Told};

/// What became of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Intact,
    Moved,
    Changed,
    Gone,
    /// We could not say; the second opinion always can.
    Unknown,
}

/// One anchor, judged twice.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) package: Package,
    pub(super) path: String,
    pub(super) name: String,
    /// Words, as the second opinion counts them.
    pub(super) size: usize,
    pub(super) truth: Fate,
    pub(super) ours: Fate,
    /// Places that say the same and did not before; more than one leave open where it went.
    pub(super) places: usize,
    /// Whether we name a place where the second opinion finds something else.
    pub(super) misplaced: bool,
}

/// What one package gave.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) cases: Vec<Case>,
    /// Functions and types the second opinion names and we do not outline.
    pub(super) missed: usize,
    /// Anchors left out since the second opinion cannot read their file in one of the releases.
    pub(super) unread: usize,
}

impl Fate {
    pub(super) const ALL: [Self; 5] = [
        Self::Intact,
        Self::Moved,
        Self::Changed,
        Self::Gone,
        Self::Unknown,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Moved => "moved",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// A release as both sides read it.
struct Side {
    opinion: Opinion,
    outlines: BTreeMap<String, Outline>,
    /// The files in which something has a fingerprint.
    says_so: BTreeMap<Fingerprint, BTreeSet<String>>,
    /// Who says what: by hash, the path and name.
    places: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Side {
    fn read(tools: &Tools, tongue: Tongue, release: &Release) -> Result<Self, String> {
        let opinion = Opinion::of(tools, tongue, release)?;
        let outlines = release.files.iter();
        let outlines = outlines.map(|(path, bytes)| (path.clone(), outline(path, bytes)));
        let outlines: BTreeMap<String, Outline> = outlines.collect();
        let mut says_so: BTreeMap<Fingerprint, BTreeSet<String>> = BTreeMap::new();
        for (path, outline) in &outlines {
            for fingerprint in outline.fingerprints() {
                says_so.entry(fingerprint).or_default().insert(path.clone());
            }
        }
        let mut places: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for (path, told) in &opinion.files {
            let mut groups: BTreeMap<&str, Vec<&Told>> = BTreeMap::new();
            for one in told {
                groups.entry(&one.name).or_default().push(one);
            }
            for (name, group) in groups {
                let singles = group.iter().map(|it| it.hash.clone());
                for hash in singles.chain(combined(&group)) {
                    let at = (path.clone(), name.to_owned());
                    places.entry(hash).or_default().insert(at);
                }
            }
        }
        Ok(Self {
            outlines,
            says_so,
            opinion,
            places,
        })
    }

    /// Returns the full name that an anchor's name means in a file: itself, or the only one that
    /// ends with it.
    fn meant<'a>(&'a self, path: &str, name: &'a str) -> Option<&'a str> {
        let all = self.opinion.files.get(path)?.iter();
        let names: BTreeSet<&str> = all.map(|told| told.name.as_str()).collect();
        if names.contains(name) {
            return Some(name);
        }
        let separator = Language::of(path)?.separator();
        let mut ending = names.into_iter().filter(|full| {
            let before = full.strip_suffix(name);
            before.is_some_and(|before| before.ends_with(separator))
        });
        let only = ending.next()?;
        ending.next().is_none().then_some(only)
    }

    fn says(&self, hash: &str, path: &str, name: &str) -> bool {
        let at = (path.to_owned(), without_number(name).to_owned());
        self.places.get(hash).is_some_and(|all| all.contains(&at))
    }
}

/// Returns `f` for `f[2]`; other brackets belong to the name.
fn without_number(name: &str) -> &str {
    let cut = name.strip_suffix(']').and_then(|it| it.rsplit_once('['));
    match cut {
        Some((plain, number)) if number.parse::<usize>().is_ok() => plain,
        Some(_) | None => name,
    }
}

/// Judges every function and type of a package.
pub(super) fn judge(tools: &Tools, package: Package) -> Result<Judged, String> {
    let Use::Edits { newer } = package.used else {
        return Ok(Judged::default());
    };
    let older = package.read(tools, package.older)?;
    let newer = package.read(tools, newer)?;
    let older = Side::read(tools, package.tongue, &older)?;
    let newer = Side::read(tools, package.tongue, &newer)?;
    let mut judged = Judged::default();
    for (path, told) in &older.opinion.files {
        let wanted = told.iter().filter(|it| it.kind != Kind::Other);
        let names: BTreeSet<&str> = wanted.map(|it| it.name.as_str()).collect();
        for name in names {
            let was = older.opinion.find(path, name);
            let taken = resolve_symbol(path, &older.outlines[path], name);
            let (Ok(taken), Some(hash)) = (taken, combined(&was)) else {
                judged.missed += 1;
                continue;
            };
            if newer.opinion.unreadable.contains_key(path) {
                judged.unread += 1;
                continue;
            }
            let (truth, places) = truth(&older, &newer, (path, name), &hash);
            let (ours, to) = ours(&newer, path, name, taken.fingerprint);
            let misplaced = to.is_some_and(|(path, name)| !newer.says(&hash, &path, &name));
            judged.cases.push(Case {
                package,
                path: path.clone(),
                name: name.to_owned(),
                size: was.iter().map(|it| it.size).sum(),
                truth,
                ours,
                places,
                misplaced,
            });
        }
    }
    for path in older.opinion.unreadable.keys() {
        judged.unread += older.outlines[path].symbols().len();
    }
    Ok(judged)
}

/// Returns one hash for all that share a name, in their order.
fn combined(told: &[&Told]) -> Option<String> {
    match told {
        [] => None,
        [only] => Some(only.hash.clone()),
        all => Some(all.iter().map(|it| &*it.hash).collect::<Vec<_>>().join("+")),
    }
}

/// Returns what became of a symbol, and at how many places its words newly stand.
fn truth(older: &Side, newer: &Side, (path, name): (&str, &str), hash: &str) -> (Fate, usize) {
    let named = newer.meant(path, name);
    if named.is_some_and(|name| newer.says(hash, path, name)) {
        return (Fate::Intact, 0);
    }
    let places = newer.places.get(hash).into_iter().flatten();
    let places = places
        .filter(|(path, name)| !older.says(hash, path, name))
        .count();
    let fate = match named.is_none() {
        _ if places > 0 => Fate::Moved,
        true => Fate::Gone,
        false => Fate::Changed,
    };
    (fate, places)
}

/// Verifies as the engine does: the same file first, then every file of the language.
fn ours(
    newer: &Side,
    path: &str,
    name: &str,
    taken: Fingerprint,
) -> (Fate, Option<(String, String)>) {
    let verdict = newer
        .outlines
        .get(path)
        .map(|outline| compare_symbol(path, outline, name, taken));
    let lost = match verdict {
        Some(AnchorComparison::Intact(_)) => return (Fate::Intact, None),
        // Only numbered anchors move within their name.
        Some(AnchorComparison::Moved { .. }) => {
            return (Fate::Moved, Some((path.to_owned(), name.to_owned())));
        }
        Some(AnchorComparison::Unknown(_)) => return (Fate::Unknown, None),
        Some(AnchorComparison::Changed(_)) => Fate::Changed,
        Some(AnchorComparison::Gone { .. }) | None => Fate::Gone,
    };
    let language = Language::of(path);
    let files = newer.says_so.get(&taken).into_iter().flatten();
    let candidates = files.filter(|path| Language::of(path) == language);
    let candidates = candidates.filter_map(|path| newer.outlines.get_key_value(path));
    let sought = LostSymbol {
        path,
        name,
        fingerprint: taken,
    };
    match find_moved(
        &sought,
        candidates.map(|(path, outline)| (&**path, outline)),
    ) {
        Some(found) => (Fate::Moved, Some((found.path, found.name))),
        None => (lost, None),
    }
}
