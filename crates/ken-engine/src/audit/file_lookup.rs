//! Files of a repository, looked up by the names that documents use.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ken_anchor::FileTree as _;
use ken_ledger::LedgerLocation;

use crate::error::EngineError;
use crate::validity::WorkTree;

/// Maximum bytes of a file read as text; larger files are data.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Files and folders that git tracks or would offer to add.
pub(super) struct FileLookup {
    work: WorkTree,
    /// Name of the repository's folder, in lower case.
    folder_name: Option<String>,
    paths: Arc<[String]>,
    /// Folders without a trailing slash.
    folders: BTreeSet<String>,
    /// Files and folders by the last part of their path, in lower case.
    by_name: HashMap<String, Vec<String>>,
}

impl FileLookup {
    /// Lists the files of a repository.
    pub(super) fn new(place: &LedgerLocation) -> Result<Self, EngineError> {
        let work = WorkTree::new(place)?;
        let paths = work
            .paths()
            .map_err(|error| EngineError::Usage(error.to_string()))?;
        let mut folders = BTreeSet::new();
        for path in paths.iter() {
            let mut rest = path.as_str();
            while let Some((folder, _)) = rest.rsplit_once('/') {
                // A known folder means that all folders above it are known too.
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
                .entry(name.to_ascii_lowercase())
                .or_default()
                .push(path.clone());
        }
        let folder_name = place.root.file_name();
        Ok(Self {
            work,
            folder_name: folder_name.map(|it| it.to_string_lossy().to_lowercase()),
            paths,
            folders,
            by_name,
        })
    }

    /// Returns the name of the repository's folder, in lower case.
    pub(super) fn folder_name(&self) -> Option<String> {
        self.folder_name.clone()
    }

    /// Returns the number of files.
    pub(super) fn count(&self) -> usize {
        self.paths.len()
    }

    /// Returns the sorted paths of all files.
    pub(super) fn all(&self) -> &[String] {
        &self.paths
    }

    /// Returns true if `path` is a file.
    pub(super) fn is_file(&self, path: &str) -> bool {
        self.paths
            // `Tree::paths` returns sorted paths.
            .binary_search_by(|it| it.as_str().cmp(path))
            .is_ok()
    }

    /// Returns true if `path` is a folder.
    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Resolves a `name` used in a document in `folder`: relative to the folder, to the root, or as
    /// the end of any path.
    pub(super) fn resolve(&self, name: &str, folder: &str) -> Option<String> {
        let name = name.trim_end_matches('/');
        let from_top = join_path("", name);
        let from_here = join_path(folder, name);
        let is_there = |path: &String| self.is_file(path) || self.is_folder(path);
        // The document's own folder comes first, because Markdown links are relative to it.
        let direct = [from_here, from_top.clone()]
            .into_iter()
            .flatten()
            .find(is_there);
        direct.or_else(|| {
            // Documents often abbreviate paths and write `README.md` for `readme.md`, so any path
            // with this ending counts.
            let tail = format!("/{}", from_top?).to_ascii_lowercase();
            let same = self.namesakes(name).iter();
            let mut fitting =
                same.filter(|path| format!("/{path}").to_ascii_lowercase().ends_with(&tail));
            fitting.next().cloned()
        })
    }

    /// Returns the paths whose last part equals that of `path`, upper and lower case aside.
    pub(super) fn namesakes(&self, path: &str) -> &[String] {
        let name = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(path);
        let same = self.by_name.get(&name.to_ascii_lowercase());
        same.map_or(&[], Vec::as_slice)
    }

    /// Reads a text file; `None` if it is missing, binary or too large.
    pub(super) fn read_text(&self, path: &str) -> Option<String> {
        let bytes = self.read_bytes(path)?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// Reads a document; `Ok(None)` if it is missing, the reason if it cannot be read.
    pub(super) fn read_document(&self, path: &str) -> Result<Option<String>, &'static str> {
        let Some(bytes) = self.work.read(path).map_err(|_| "it cannot be opened")? else {
            let is_link = self.work.is_link(path);
            return if is_link {
                Err("it is a symbolic link; name the file it leads to")
            } else {
                Ok(None)
            };
        };
        if bytes.len() > FILE_BYTES_MAX {
            return Err("it is larger than 1 MiB");
        }
        let text = String::from_utf8(bytes.to_vec());
        text.map(Some).map_err(|_| "it is not valid UTF-8")
    }

    /// Reads the bytes of a file; `None` if it is missing, binary or too large.
    pub(super) fn read_bytes(&self, path: &str) -> Option<Arc<[u8]>> {
        let bytes = self.work.read(path).ok().flatten()?;
        (bytes.len() <= FILE_BYTES_MAX && !bytes.contains(&0)).then_some(bytes)
    }
}

/// Joins `folder` and `name` and resolves `..`; `None` if the path leaves the repository.
pub(super) fn join_path(folder: &str, name: &str) -> Option<String> {
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

/// Returns the folder that contains a file.
pub(super) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_from_their_folder() {
        assert_eq!(join_path("a/b", "../c.md").as_deref(), Some("a/c.md"));
        assert_eq!(join_path("", "./x/./y").as_deref(), Some("x/y"));
        assert_eq!(join_path("a", "../../x"), None);
    }
}
