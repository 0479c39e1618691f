//! Loads the documents of a repository and extracts their claims.

use std::collections::HashMap;
use std::ops::Range;

use ken_digest::{CLAIMS_MAX, source_kind};

use super::file_lookup::FileLookup;
use super::{AuditedClaim, AuditedDocument, AuditedReference, UnreadableDocument};
use crate::error::EngineError;

/// Maximum number of documents per audit.
const DOCUMENTS_MAX: usize = 2000;

/// Full text of a document, for checks beyond its claims.
pub(super) struct DocumentText {
    pub(super) path: String,
    pub(super) text: String,
}

/// Documents, texts and claims of one audit.
#[derive(Default)]
pub(super) struct LoadedDocuments {
    pub(super) documents: Vec<AuditedDocument>,
    pub(super) texts: Vec<DocumentText>,
    pub(super) claims: Vec<AuditedClaim>,
    pub(super) references: Vec<AuditedReference>,
    pub(super) unreadable: Vec<UnreadableDocument>,
}

/// Loads the documents of a repository, or those that `only` names.
pub(super) fn load_documents(
    files: &FileLookup,
    only: &[String],
) -> Result<LoadedDocuments, EngineError> {
    let wanted = |path: &str| {
        let names = |name: &String| {
            let name = name.trim_end_matches('/');
            path == name || name == "." || path.starts_with(&format!("{name}/"))
        };
        only.is_empty() || only.iter().any(names)
    };
    check_names(files, only)?;
    let mut read = LoadedDocuments::default();
    let mut first: HashMap<blake3::Hash, String> = HashMap::new();
    let mut selected = files.all().iter().filter(|path| wanted(path));
    let has_known = only.is_empty() || selected.any(|path| source_kind(path).is_some());
    for path in files.all().iter().filter(|path| wanted(path)) {
        // A file named explicitly is audited even if its name is not a known document, and so are
        // the Markdown files of a named folder without known ones.
        let named = only.contains(path) || !has_known && path.ends_with(".md");
        let Some(kind) =
            source_kind(path).or_else(|| named.then_some(ken_digest::SourceKind::Instructions))
        else {
            continue;
        };
        let text = match files.read_document(path) {
            Ok(Some(text)) => text,
            // Git lists the file, but it is not in the work tree.
            Ok(None) => continue,
            Err(reason) => {
                let path = path.clone();
                read.unreadable.push(UnreadableDocument { path, reason });
                continue;
            }
        };
        if read.documents.len() == DOCUMENTS_MAX {
            return Err(EngineError::Usage(format!(
                "the repository has more than {DOCUMENTS_MAX} documents; name a folder to audit"
            )));
        }
        // Teams keep identical copies for several agents: the claims are extracted only once.
        let seen = first
            .entry(blake3::hash(text.trim().as_bytes()))
            .or_insert_with(|| path.clone());
        let copy_of = (seen != path).then(|| seen.clone());
        let mut found = Vec::new();
        if copy_of.is_none() {
            found = ken_digest::extract_claims(kind, &text);
            read.references.extend(references(path, kind, &text));
        }
        let left_out = found.len().saturating_sub(CLAIMS_MAX);
        // Bounds the work of later steps on generated documents.
        found.truncate(CLAIMS_MAX);
        read.documents.push(AuditedDocument {
            path: path.clone(),
            kind,
            claims: found.len(),
            left_out,
            copy_of,
        });
        let generated = generated_lines(&text);
        read.claims
            .extend(found.into_iter().map(|found| AuditedClaim {
                document: path.clone(),
                is_generated: generated.iter().any(|it| it.contains(&found.line)),
                found,
                cites: Vec::new(),
            }));
        read.texts.push(DocumentText {
            path: path.clone(),
            text,
        });
    }
    Ok(read)
}

/// Returns the lines between marks such as `<!-- tool start -->` and `<!-- tool end -->`.
fn generated_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mark = line.trim().strip_prefix("<!--");
        let Some(mark) = mark.and_then(|it| it.strip_suffix("-->")) else {
            continue;
        };
        let mark = mark.trim().to_lowercase();
        let name = |word: &str| mark.contains(word).then(|| mark.replace(word, ""));
        let begin = name("start").or_else(|| name("begin"));
        match (begin, name("end"), &open) {
            (Some(name), _, None) => open = Some((number, name)),
            (_, Some(name), Some((first, opened))) if name == *opened => {
                found.push(*first..number);
                open = None;
            }
            _ => {}
        }
    }
    found
}

/// Returns an error if a name is neither a file nor a folder.
fn check_names(files: &FileLookup, only: &[String]) -> Result<(), EngineError> {
    for name in only {
        let name = name.trim_end_matches('/');
        // A misspelled path must not look like a clean audit.
        if name != "." && !files.is_file(name) && !files.is_folder(name) {
            return Err(EngineError::Usage(format!(
                "`{name}` is not in this repository"
            )));
        }
    }
    Ok(())
}

/// Returns the references of a document with their lines.
fn references(path: &str, kind: ken_digest::SourceKind, text: &str) -> Vec<AuditedReference> {
    let lines: Vec<&str> = text.lines().collect();
    let found = ken_digest::find_references(kind, text).into_iter();
    found
        .take(CLAIMS_MAX)
        .map(|found| {
            let span = found.line.saturating_sub(1)..found.last_line.min(lines.len());
            let spanned = lines.get(span).unwrap_or_default();
            AuditedReference {
                document: path.to_owned(),
                lines: spanned.iter().map(|it| (*it).to_owned()).collect(),
                found,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_marks_of_a_program_are_generated() {
        let text = "a\n<!-- nx configuration start-->\nb\n<!-- nx configuration end-->\nc\n";
        assert_eq!(generated_lines(text), vec![Range { start: 2, end: 4 }]);
        assert!(generated_lines("<!-- x start -->\na\n<!-- y end -->\n").is_empty());
    }
}
