//! Which documents there are and what they claim.

use std::collections::HashMap;

use ken_digest::source_kind;

use super::tree::Files;
use super::{Claim, Document};
use crate::error::Error;

/// Documents of one audit at most.
const DOCUMENTS_MAX: usize = 2000;

/// A document's text, for whoever must look at all of it.
pub(super) struct Text {
    pub(super) path: String,
    pub(super) text: String,
}

/// Everything that was read.
pub(super) struct Read {
    pub(super) documents: Vec<Document>,
    pub(super) texts: Vec<Text>,
    pub(super) claims: Vec<Claim>,
}

/// Reads the documents of a tree, or those that `only` names.
pub(super) fn read(files: &Files, only: &[String]) -> Result<Read, Error> {
    let wanted = |path: &str| {
        let names = |it: &String| {
            let it = it.trim_end_matches('/');
            path == it || it == "." || path.starts_with(&format!("{it}/"))
        };
        only.is_empty() || only.iter().any(names)
    };
    for name in only {
        let name = name.trim_end_matches('/');
        if name != "." && !files.is_file(name) && !files.is_folder(name) {
            return Err(Error::Usage(format!("`{name}` is not in this repository")));
        }
    }
    let mut read = Read {
        documents: Vec::new(),
        texts: Vec::new(),
        claims: Vec::new(),
    };
    let mut first: HashMap<blake3::Hash, String> = HashMap::new();
    for path in files.all().iter().filter(|path| wanted(path)) {
        let named = only.contains(path);
        let Some(kind) =
            source_kind(path).or_else(|| named.then_some(ken_digest::SourceKind::Instructions))
        else {
            continue;
        };
        let Some(text) = files.text(path) else {
            continue;
        };
        if read.documents.len() == DOCUMENTS_MAX {
            return Err(Error::Usage(format!(
                "there are more than {DOCUMENTS_MAX} documents here; name a folder to audit"
            )));
        }
        let seen = first
            .entry(blake3::hash(text.trim().as_bytes()))
            .or_insert_with(|| path.clone());
        let copy_of = (seen != path).then(|| seen.clone());
        let found = match copy_of {
            Some(_) => Vec::new(),
            None => ken_digest::claims(kind, &text),
        };
        read.documents.push(Document {
            path: path.clone(),
            kind,
            claims: found.len(),
            copy_of,
        });
        read.claims.extend(found.into_iter().map(|found| Claim {
            document: path.clone(),
            found,
            cites: Vec::new(),
        }));
        read.texts.push(Text {
            path: path.clone(),
            text,
        });
    }
    Ok(read)
}
