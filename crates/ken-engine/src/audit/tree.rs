//! The files of a tree, asked for by what a document calls them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ken_anchor::Tree as _;
use ken_ledger::Place;

use crate::error::Error;
use crate::validity::WorkTree;

/// Larger files are data, not text somebody cites or wrote.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Every file and folder that git knows or would offer to add.
pub(super) struct Files {
    work: WorkTree,
    paths: Arc<[String]>,
    /// Folders, without a slash at the end.
    folders: BTreeSet<String>,
    /// Files and folders by their last part.
    by_name: HashMap<String, Vec<String>>,
}

impl Files {
    pub(super) fn new(place: &Place) -> Result<Self, Error> {
        let work = WorkTree::new(place)?;
        let paths = work
            .paths()
            .map_err(|error| Error::Usage(error.to_string()))?;
        let mut folders = BTreeSet::new();
        for path in paths.iter() {
            let mut rest = path.as_str();
            while let Some((folder, _)) = rest.rsplit_once('/') {
                if !folders.insert(folder.to_owned()) {
                    break;
                }
                rest = folder;
            }
        }
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths.iter().chain(&folders) {
            let name = path.rsplit('/').next().unwrap_or(path);
            by_name
                .entry(name.to_owned())
                .or_default()
                .push(path.clone());
        }
        Ok(Self {
            work,
            paths,
            folders,
            by_name,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.paths.len()
    }

    pub(super) fn all(&self) -> &[String] {
        &self.paths
    }

    pub(super) fn is_file(&self, path: &str) -> bool {
        self.paths
            .binary_search_by(|it| it.as_str().cmp(path))
            .is_ok()
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Returns what a document below `folder` means by `name`: from the top, from its own folder, from any folder.
    pub(super) fn meant(&self, name: &str, folder: &str) -> Option<String> {
        let name = name.trim_end_matches('/');
        let from_top = joined("", name);
        let from_here = joined(folder, name);
        let is_there = |path: &String| self.is_file(path) || self.is_folder(path);
        let direct = [from_here, from_top.clone()]
            .into_iter()
            .flatten()
            .find(is_there);
        direct.or_else(|| {
            let tail = format!("/{}", from_top?);
            let same = self.by_name.get(name.rsplit('/').next().unwrap_or(name))?;
            same.iter().find(|path| path.ends_with(&tail)).cloned()
        })
    }

    /// Returns files with the same name as the last part of `path`.
    pub(super) fn namesakes(&self, path: &str) -> &[String] {
        let name = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(path);
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Reads a text; `None` for what is gone, no text, or too large to be one.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    pub(super) fn bytes(&self, path: &str) -> Option<Arc<[u8]>> {
        let bytes = self.work.read(path).ok().flatten()?;
        (bytes.len() <= FILE_BYTES_MAX && !bytes.contains(&0)).then_some(bytes)
    }
}

/// Returns `name` seen from `folder`, with `..` resolved; `None` if it leads out of the tree.
pub(super) fn joined(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

/// Returns the folder a file lies in.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_from_their_folder() {
        assert_eq!(joined("a/b", "../c.md").as_deref(), Some("a/c.md"));
        assert_eq!(joined("", "./x/./y").as_deref(), Some("x/y"));
        assert_eq!(joined("a", "../../x"), None);
    }
}
