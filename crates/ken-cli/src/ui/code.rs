//! Files with the entries about them, folders, this branch, audited documents.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::values::text::{enum_label, truncate};
use ken_engine::validity::{
    ChangeOrigin, EntryCheck, FileEntry, FileKnowledge, FileSource, LineRange,
};
use ken_engine::verify::VerifyScope;
use ken_engine::{Engine, TokenClass, highlight};
use ken_ui::address::{LineSpan, RepoPath};
use ken_ui::view::{
    AnchorStateKind, ChangeView, CodeClass, CodeLine, CodeNote, CodeSymbol, DocumentFinding,
    DocumentView, DocumentsView, FileView, FolderChild, FolderView, PathView,
};

use super::check_cache::CheckCache;
use super::entries::suggested_citation;
use super::rows::{anchor_state, checked_row, rows};
use crate::failure::CommandFailure;
use crate::print::gate::verification_markdown;

/// Changes of the ledger that the page of a branch lists.
const LEDGER_CHANGES_MAX: usize = 100;

/// Characters of the report for a pull request on the page of a branch.
const MARKDOWN_CHARS_MAX: usize = 10_000;

pub(super) fn path(
    engine: &mut Engine,
    checks: &CheckCache,
    path: &RepoPath,
    revision: Option<&str>,
) -> Result<PathView, CommandFailure> {
    if path.is_root() {
        return folder(engine, checks, path).map(PathView::Folder);
    }
    let known = engine.file_knowledge(path.as_str(), revision)?;
    if known.source == FileSource::Absent {
        let view = folder(engine, checks, path)?;
        if view.children.is_empty() {
            let mut failure = CommandFailure::usage(format!("`{path}` is not in this repository"));
            failure.code = "not_found";
            return Err(failure.with_hint("git ignores it, or no commit has it"));
        }
        return Ok(PathView::Folder(view));
    }
    file(engine, path, revision, known).map(|view| PathView::File(Box::new(view)))
}

fn file(
    engine: &mut Engine,
    path: &RepoPath,
    revision: Option<&str>,
    known: FileKnowledge,
) -> Result<FileView, CommandFailure> {
    let mut notes = Vec::new();
    let mut about = Vec::new();
    for entry in &known.entries {
        match note(engine, path, entry) {
            Some(note) => notes.push(note),
            None => about.push(checked_row(engine, &entry.check)),
        }
    }
    let (lines, omitted) = match &known.source {
        FileSource::Text(text) => (code_lines(path, text), None),
        FileSource::Binary => (Vec::new(), Some("This file is binary.".to_owned())),
        FileSource::TooLarge { bytes } => (
            Vec::new(),
            Some(format!("This file is too large to show: {bytes} bytes.")),
        ),
        FileSource::Absent => (Vec::new(), Some("This file does not exist.".to_owned())),
    };
    let symbols = known.symbols.into_iter().map(|it| CodeSymbol {
        name: it.name,
        lines: span(it.lines),
    });
    Ok(FileView {
        path: path.clone(),
        revision: revision.map(ToOwned::to_owned),
        // A page fills them in: learning the base takes several git processes, and JSON has none.
        revisions: Vec::new(),
        lines,
        omitted,
        notes,
        about,
        norms: rows(engine, known.norms)?,
        symbols: symbols.collect(),
        is_modified: revision.is_none() && engine.is_changed(path.as_str()),
        suggested_citation: suggested_citation(engine),
    })
}

/// Returns a revision without the folder of its reference.
pub(super) fn short_name(revision: &str) -> String {
    let folders = ["refs/heads/", "refs/remotes/"];
    let mut short = folders.iter().filter_map(|it| revision.strip_prefix(it));
    short.next().unwrap_or(revision).to_owned()
}

fn span(lines: LineRange) -> LineSpan {
    LineSpan {
        first: lines.first,
        last: lines.last,
    }
}

/// Returns the note of an entry at its lines, or for an anchor of this file that is gone.
fn note(engine: &Engine, path: &RepoPath, entry: &FileEntry) -> Option<CodeNote> {
    let in_file = entry.check.anchors.iter().filter(|it| {
        let now = it.now.as_ref().map_or(&it.at, |now| &now.at);
        now.path() == path.as_str() || it.at.path() == path.as_str()
    });
    let mut states: Vec<_> = in_file.map(anchor_state).collect();
    // The worst anchor of the file decides where the note stands.
    states.sort_by_key(|it| std::cmp::Reverse(it.kind));
    let mut anchor = states.into_iter().next()?;
    anchor.lines = entry.lines.first().map(|it| span(*it));
    let is_lost = matches!(
        anchor.kind,
        AnchorStateKind::Gone | AnchorStateKind::Changed
    );
    (anchor.lines.is_some() || is_lost).then(|| CodeNote {
        row: checked_row(engine, &entry.check),
        anchor,
    })
}

/// Splits a text into lines of parts with a syntax class.
fn code_lines(path: &RepoPath, text: &str) -> Vec<CodeLine> {
    let classes = highlight(path.as_str(), text);
    let mut lines = vec![CodeLine::default()];
    let mut at = 0;
    for range in &classes.ranges {
        push_text(&mut lines, CodeClass::Plain, &text[at..range.bytes.start]);
        push_text(
            &mut lines,
            code_class(range.class),
            &text[range.bytes.clone()],
        );
        at = range.bytes.end;
    }
    push_text(&mut lines, CodeClass::Plain, &text[at..]);
    // A file that ends with a newline has no further line.
    if lines.last().is_some_and(|it| it.parts.is_empty()) {
        lines.pop();
    }
    lines
}

fn push_text(lines: &mut Vec<CodeLine>, class: CodeClass, text: &str) {
    for (at, part) in text.split('\n').enumerate() {
        if at > 0 {
            lines.push(CodeLine::default());
        }
        let part = part.strip_suffix('\r').unwrap_or(part);
        if let (Some(line), false) = (lines.last_mut(), part.is_empty()) {
            line.parts.push((class, part.to_owned()));
        }
    }
}

fn code_class(class: TokenClass) -> CodeClass {
    match class {
        TokenClass::Keyword => CodeClass::Keyword,
        TokenClass::Function | TokenClass::Heading => CodeClass::Function,
        TokenClass::Type | TokenClass::Tag => CodeClass::Type,
        TokenClass::String | TokenClass::Literal => CodeClass::Text,
        TokenClass::Number | TokenClass::Constant => CodeClass::Number,
        TokenClass::Comment => CodeClass::Comment,
        TokenClass::Attribute => CodeClass::Attribute,
        TokenClass::Operator
        | TokenClass::Property
        | TokenClass::Punctuation
        | TokenClass::Variable => CodeClass::Plain,
    }
}

/// Returns a folder with the number of entries anchored below each child.
fn folder(
    engine: &mut Engine,
    checks: &CheckCache,
    path: &RepoPath,
) -> Result<FolderView, CommandFailure> {
    let invalid = checks.invalid_paths();
    let prefix = if path.is_root() {
        String::new()
    } else {
        format!("{path}/")
    };
    let mut children: BTreeMap<String, FolderChild> = BTreeMap::new();
    for file in engine.listed_files()?.iter() {
        let Some((name, is_folder)) = child_name(&prefix, file) else {
            continue;
        };
        add_child(&mut children, &prefix, name, is_folder);
    }
    for (name, entries) in engine.anchored_children(&prefix)? {
        if let Some(child) = children.get_mut(&name) {
            child.entries = u64::from(entries);
        }
    }
    for child in children.values_mut() {
        child.invalid = invalid.as_ref().map(|_| 0);
    }
    for paths in invalid.iter().flatten() {
        let names = paths.iter().filter_map(|it| child_name(&prefix, it));
        let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
        for name in names {
            if let Some(child) = children.get_mut(name) {
                child.invalid = child.invalid.map(|it| it + 1);
            }
        }
    }
    let mut about: Vec<Entry> = Vec::new();
    if !path.is_root() {
        for id in engine.entries_anchored_exactly(path.as_str())? {
            about.push(engine.entry(id)?);
        }
    }
    let mut children: Vec<FolderChild> = children.into_values().collect();
    children.sort_by_key(|it| (!it.is_folder, it.path.clone()));
    Ok(FolderView {
        path: path.clone(),
        children,
        about: rows(engine, about)?,
    })
}

fn child_name<'a>(prefix: &str, file: &'a str) -> Option<(&'a str, bool)> {
    let below = file.strip_prefix(prefix)?;
    match below.split_once('/') {
        Some((name, _)) => Some((name, true)),
        None => (!below.is_empty()).then_some((below, false)),
    }
}

fn add_child(
    children: &mut BTreeMap<String, FolderChild>,
    prefix: &str,
    name: &str,
    is_folder: bool,
) {
    if children.contains_key(name) {
        return;
    }
    if let Ok(path) = format!("{prefix}{name}").parse() {
        let child = FolderChild {
            path,
            is_folder,
            entries: 0,
            invalid: None,
        };
        children.insert(name.to_owned(), child);
    }
}

pub(super) fn change(
    engine: &mut Engine,
    base: Option<&str>,
) -> Result<ChangeView, CommandFailure> {
    let scope = VerifyScope::Change {
        base,
        head: None,
        from: ChangeOrigin::Member,
    };
    let verified = engine.verify(scope, &mut |_, _| ())?;
    let validity = &verified.validity;
    let mut notes = Vec::new();
    for check in validity.invalid.iter().chain(&validity.moved) {
        notes.extend(change_note(engine, check));
    }
    let mut files: BTreeMap<RepoPath, u64> = BTreeMap::new();
    for path in engine.changed_paths() {
        if let Ok(path) = path.parse() {
            files.entry(path).or_default();
        }
    }
    for note in &notes {
        if let Ok(path) = note.anchor.location.path().parse() {
            *files.entry(path).or_default() += 1;
        }
    }
    let gates = verified.gate_results().into_iter().map(|it| {
        let findings = verified
            .findings
            .iter()
            .filter(|finding| finding.gate == it.gate);
        let first: Vec<&str> = findings.map(|it| it.message.as_str()).take(3).collect();
        let passes = !matches!(it.verdict, ken_core::health::gates::GateVerdict::Fail);
        (it.gate.to_owned(), passes, first.join("; "))
    });
    let ledger = validity.ledger_changes.iter().filter_map(|it| {
        Some((
            it.entry?,
            enum_label(&it.effect),
            it.statement.clone().unwrap_or_else(|| it.type_name.clone()),
        ))
    });
    Ok(ChangeView {
        base: base.map_or_else(|| short_name(&engine.default_base()), ToOwned::to_owned),
        passes: verified.passes(),
        gates: gates.collect(),
        notes,
        files: files.into_iter().collect(),
        ledger: ledger.take(LEDGER_CHANGES_MAX).collect(),
        markdown: truncate(&verification_markdown(&verified), MARKDOWN_CHARS_MAX),
        suggested_citation: suggested_citation(engine),
    })
}

fn change_note(engine: &Engine, check: &EntryCheck) -> Option<CodeNote> {
    let mut states: Vec<_> = check.anchors.iter().map(anchor_state).collect();
    states.sort_by_key(|it| std::cmp::Reverse(it.kind));
    let anchor = states.into_iter().next()?;
    let row = checked_row(engine, check);
    Some(CodeNote { row, anchor })
}

pub(super) fn documents(engine: &mut Engine) -> Result<DocumentsView, CommandFailure> {
    let audit = engine.audit(&[])?;
    let documents = audit.documents.iter().map(|it| DocumentView {
        path: it.path.clone(),
        claims: it.claims as u64,
        findings: audit
            .findings
            .iter()
            .filter(|finding| finding.document == it.path)
            .map(|finding| DocumentFinding {
                line: u32::try_from(finding.line).ok(),
                text: finding.claim.clone().unwrap_or_default(),
                message: finding.message.clone(),
            })
            .collect(),
    });
    Ok(DocumentsView {
        documents: documents.collect(),
        claims: audit.claims.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_split_into_lines_without_losing_text() {
        let path: RepoPath = "a.rs".parse().expect("a path");
        let text = "fn a() {\r\n    /* two\nlines */ 1\n}\n";
        let lines = code_lines(&path, text);
        let joined: Vec<String> = lines
            .iter()
            .map(|it| it.parts.iter().map(|(_, part)| part.as_str()).collect())
            .collect();
        assert_eq!(joined, ["fn a() {", "    /* two", "lines */ 1", "}"]);
        assert_eq!(lines[0].parts[0], (CodeClass::Keyword, "fn".to_owned()));
    }
}
