//! Where code went: the same fingerprint under another name or in another file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ken_anchor::{Fingerprint, Language, Lost, Tree as _, find_moved};
use ken_core::anchor::{Anchor, Spot};

use super::range::Range;
use super::reading::{Looked, Reader, readable};
use crate::error::Error;

/// Files whose symbols are read side by side.
const READ_AT_ONCE: usize = 1024;

/// Where somebody looks for code that is not where it was.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Search<'a> {
    /// In the same file only: an answer is waited for.
    File,
    /// In what a change touches.
    Change(&'a Range),
    /// Everywhere.
    Tree,
}

/// Where something is now.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) now: Anchor,
    pub(crate) line: u32,
}

/// The files in which something says this.
type Table = HashMap<Fingerprint, BTreeSet<Arc<str>>>;

/// Finds code that moved; the files of a language are gone through once.
#[derive(Debug)]
pub(crate) struct Moves<'a> {
    search: Search<'a>,
    tables: BTreeMap<Language, Table>,
}

impl<'a> Moves<'a> {
    pub(crate) fn new(search: Search<'a>) -> Self {
        Self {
            search,
            tables: BTreeMap::new(),
        }
    }

    /// Returns where what `anchor` pointed at went, if one place says the same.
    pub(crate) fn find(
        &mut self,
        reader: &mut Reader<'_>,
        anchor: &Anchor,
    ) -> Result<Option<Found>, Error> {
        if let Some(found) = self.renamed(reader, anchor)? {
            return Ok(Some(found));
        }
        let taken = anchor.fingerprint.as_deref();
        let taken = taken.and_then(|it| it.parse::<Fingerprint>().ok());
        let (Some(taken), Spot::Symbol(name)) = (taken, anchor.at.spot()) else {
            return Ok(None);
        };
        let path = anchor.at.path();
        let Some(language) = Language::of(path) else {
            return Ok(None);
        };
        let mut candidates: BTreeSet<Arc<str>> = [path.into()].into();
        match self.search {
            Search::File => {}
            Search::Change(_) | Search::Tree => {
                let table = self.table(reader, language)?;
                candidates.extend(table.get(&taken).into_iter().flatten().cloned());
            }
        }
        let mut outlines = Vec::with_capacity(candidates.len());
        for path in candidates {
            outlines.extend(readable(reader.outline(&path))?.map(|outline| (path, outline)));
        }
        let lost = Lost {
            path,
            name,
            fingerprint: taken,
        };
        let outlines = outlines.iter().map(|(path, outline)| (&**path, &**outline));
        Ok(find_moved(&lost, outlines).as_ref().and_then(found))
    }

    /// Asks where git says the file went.
    fn renamed(&self, reader: &mut Reader<'_>, anchor: &Anchor) -> Result<Option<Found>, Error> {
        let Search::Change(range) = self.search else {
            return Ok(None);
        };
        let Some(path) = range.renamed.get(anchor.at.path()) else {
            return Ok(None);
        };
        let Ok(at) = anchor.at.with_path(path) else {
            return Ok(None);
        };
        let Looked::Found(found) = reader.look(path, at.spot())? else {
            return Ok(None);
        };
        let fingerprint = found.fingerprint.to_string();
        let is_same = match at.spot() {
            Spot::File => true,
            Spot::Symbol(_) | Spot::Lines { .. } => {
                anchor.fingerprint.as_deref() == Some(&*fingerprint)
            }
        };
        Ok(is_same.then_some(Found {
            line: found.first_line,
            now: Anchor {
                at,
                fingerprint: Some(fingerprint),
            },
        }))
    }

    fn table(&mut self, reader: &mut Reader<'_>, language: Language) -> Result<&Table, Error> {
        if !self.tables.contains_key(&language) {
            let mut all: Vec<String> = match self.search {
                Search::File => Vec::new(),
                Search::Change(range) => range.touched.iter().cloned().collect(),
                Search::Tree => reader.version.paths()?.to_vec(),
            };
            all.retain(|path| Language::of(path) == Some(language));
            let mut table = Table::new();
            for some in all.chunks(READ_AT_ONCE) {
                reader.prepare(some.iter().cloned())?;
                for path in some {
                    note(&mut table, reader, path)?;
                }
            }
            self.tables.insert(language, table);
        }
        Ok(&self.tables[&language])
    }
}

/// Notes what a file's symbols say, each and those of one name together.
fn note(table: &mut Table, reader: &mut Reader<'_>, path: &str) -> Result<(), Error> {
    let path: Arc<str> = path.into();
    if let Some(outline) = readable(reader.outline(&path))? {
        for fingerprint in outline.fingerprints() {
            let files = table.entry(fingerprint).or_default();
            files.insert(Arc::clone(&path));
        }
    }
    Ok(())
}

fn found(it: &ken_anchor::Found) -> Option<Found> {
    let at = format!("{}#{}", it.path, it.name);
    Some(Found {
        now: Anchor {
            at: at.parse().ok()?,
            fingerprint: Some(it.at.fingerprint.to_string()),
        },
        line: it.at.first_line,
    })
}
