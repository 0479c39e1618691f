//! Code with knowledge in the margin: files, folders, this branch, and audited documents.

use std::collections::BTreeMap;

use ken_core::trust::facts::Validity;
use maud::{Markup, html};

use crate::address::{LineSpan, PageAddress, RepoPath};
use crate::component::code::{code_parts, diff};
use crate::component::{
    anchor_state, count, counted, decision_forms, empty, entry_link, entry_row, note_head,
    post_form, statement, submit,
};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::{UntrustedText, untrusted_attribute};
use crate::view::{
    AnchorStateKind, ChangeView, CodeNote, DocumentsView, FileView, FolderView, PathView,
};

/// Lines of a file that are shown whole.
const WHOLE_FILE_LINES: u32 = 1_000;

/// Lines around an anchor that stay visible in a longer file.
const CONTEXT_LINES: u32 = 20;

/// Lines per chunk; chunks out of sight are not laid out.
const CHUNK_LINES: usize = 100;

/// Lines that a link in a folded file opens.
const UNFOLD_LINES: u32 = 200;

pub(crate) fn path_page(
    context: &PageContext<'_>,
    view: &PathView,
    lines: Option<LineSpan>,
) -> PageContent {
    match view {
        PathView::File(file) => file_page(context, file, lines),
        PathView::Folder(folder) => folder_page(context, folder),
    }
}

fn breadcrumbs(context: &PageContext<'_>, path: &RepoPath) -> Markup {
    html! {
        a href=(context.link(&PageAddress::path(RepoPath::default()))) { (UntrustedText(&context.overview.name)) }
        @for folder in path.ancestors() {
            " / " @if folder == *path { span { (UntrustedText(folder.name())) } }
            @else { a href=(context.link(&PageAddress::path(Clone::clone(&folder)))) { (UntrustedText(folder.name())) } }
        }
    }
}

fn file_page(context: &PageContext<'_>, file: &FileView, lines: Option<LineSpan>) -> PageContent {
    let path = &file.path;
    let mut topics = vec![ChangeTopic::Ledger];
    if file.revision.is_none() {
        topics.push(ChangeTopic::File(path.clone()));
    }
    let (placed, elsewhere): (Vec<&CodeNote>, Vec<&CodeNote>) =
        file.notes.iter().partition(|it| it.anchor.lines.is_some());
    // A decision is about the current code, so older code offers none.
    let decision = match file.revision {
        None => NoteDecision::Offered(file.suggested_citation.as_deref()),
        Some(_) => NoteDecision::Hidden,
    };
    let body = html! {
        div #file data-live=(live_topics(&topics)) data-auto {
            div.page-head {
                h1.path { (breadcrumbs(context, path)) }
                span.muted { (summary(file)) }
                span.spacer {}
                (revisions(context, file))
                @if let Some(href) = context.editor_link(path, 1) { a href=(href) data-key="E" { "Editor " kbd { "E" } } }
                @if let Some(href) = context.host_link(path, 1, 1) { a href=(href) data-key="H" rel="noopener noreferrer" { "Host " kbd { "H" } } }
                @let anchor = path.to_string();
                a.button href=(context.link(&PageAddress::Add { anchor })) data-key="a" { "Add entry " kbd { "a" } }
            }
            (symbols(file, &placed))
            div.code-grid {
                (code_column(context, file, &placed, lines))
                aside.notes #notes aria-label="Knowledge about this file" {
                    @for note in elsewhere.iter().chain(&placed) { (note_card(context, note, decision)) }
                    @if file.notes.is_empty() { (no_notes(context, path)) }
                }
            }
            @if !file.about.is_empty() {
                section { h2 { "About the whole file " span.muted { (file.about.len()) } }
                    ol.rows { @for row in &file.about { (entry_row(context, row)) } } }
            }
            @if !file.norms.is_empty() {
                section { h2 { "Norms that apply here " span.muted { (file.norms.len()) } }
                    ol.rows { @for row in &file.norms { (entry_row(context, row)) } } }
            }
        }
    };
    PageContent::new(path.to_string(), body)
        .with_command_on("ken search --paths", &path.to_string())
        .wide()
}

/// Renders the versions of the code to choose from.
fn revisions(context: &PageContext<'_>, file: &FileView) -> Markup {
    let choice = |label: &str, revision: Option<&str>| {
        let page = PageAddress::Path {
            path: file.path.clone(),
            lines: None,
            revision: revision.map(ToOwned::to_owned),
        };
        let is_current = file.revision.as_deref() == revision;
        html! { a href=(context.link(&page)) aria-current=[is_current.then_some("true")] { (UntrustedText(label)) } }
    };
    let named = file.revisions.iter().map(String::as_str);
    let others = file
        .revision
        .as_deref()
        .filter(|it| !named.clone().any(|name| name == *it));
    html! {
        nav.pick aria-label="Version of the code" {
            (choice("work tree", None))
            @for revision in named.chain(others) { (choice(revision, Some(revision))) }
        }
    }
}

fn no_notes(context: &PageContext<'_>, path: &RepoPath) -> Markup {
    let anchor = path.to_string();
    empty(&html! {
        "Nothing is known about this file. "
        a href=(context.link(&PageAddress::Add { anchor })) { "Write down what you know." }
    })
}

fn summary(file: &FileView) -> String {
    let verdicts = file.notes.iter().map(|it| it.row.facts.validity);
    let number = |wanted: Validity| verdicts.clone().filter(|it| *it == wanted).count() as u64;
    let parts = [
        (number(Validity::Broken), "broken"),
        (number(Validity::Changed), "changed"),
        (number(Validity::Holds), "hold"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let mut parts: Vec<String> = parts
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    if !file.norms.is_empty() {
        parts.push(counted(file.norms.len() as u64, "norm", "norms"));
    }
    if file.is_modified {
        parts.push("not committed".to_owned());
    }
    parts.join(" · ")
}

fn symbols(file: &FileView, notes: &[&CodeNote]) -> Markup {
    let about = |lines: LineSpan| {
        let inside = notes.iter().filter_map(|it| it.anchor.lines);
        inside
            .filter(|it| lines.first <= it.first && it.first <= lines.last)
            .count()
    };
    html! {
        @if !file.symbols.is_empty() {
            details.symbols {
                summary data-key="s" { (counted(file.symbols.len() as u64, "symbol", "symbols")) " " kbd { "s" } }
                ul { @for symbol in &file.symbols {
                    li { a href={ "#L" (symbol.lines.first) } { (UntrustedText(&symbol.name)) }
                        @let number = about(symbol.lines);
                        @if number > 0 { " " span.count { (number) } } }
                } }
            }
        }
    }
}

/// Renders the lines of a file with the number of notes at each.
fn code_column(
    context: &PageContext<'_>,
    file: &FileView,
    notes: &[&CodeNote],
    wanted: Option<LineSpan>,
) -> Markup {
    let total = u32::try_from(file.lines.len()).unwrap_or(u32::MAX);
    let visible = visible_spans(total, notes, wanted);
    let marks = LineMarks::new(notes);
    html! {
        div.code tabindex="0" role="region" aria-label={ "Code of " (untrusted_attribute(file.path.as_str())) } {
            @if let Some(why) = &file.omitted { (empty(&html! { (UntrustedText(why)) })) }
            @let mut next = 1;
            @for span in &visible {
                @if next < span.first { (gap(context, file, next, span.first - 1)) }
                @let all: Vec<u32> = (span.first..=span.last).collect();
                @for chunk in all.chunks(CHUNK_LINES) {
                    div.chunk { @for number in chunk { (code_line(file, &marks, *number)) } }
                }
                ({ next = span.last + 1; "" })
            }
            @if next <= total { (gap(context, file, next, total)) }
        }
    }
}

/// Returns the spans of lines that are shown: all, or those around anchors and the wanted ones.
fn visible_spans(total: u32, notes: &[&CodeNote], wanted: Option<LineSpan>) -> Vec<LineSpan> {
    if total == 0 {
        return Vec::new();
    }
    if total <= WHOLE_FILE_LINES {
        return vec![LineSpan {
            first: 1,
            last: total,
        }];
    }
    let anchored = notes.iter().filter_map(|it| it.anchor.lines);
    let head = LineSpan {
        first: 1,
        last: CONTEXT_LINES * 2,
    };
    let mut spans: Vec<LineSpan> = anchored.chain(wanted).chain([head]).collect();
    for span in &mut spans {
        span.first = span.first.saturating_sub(CONTEXT_LINES).clamp(1, total);
        span.last = span
            .last
            .saturating_add(CONTEXT_LINES)
            .clamp(span.first, total);
    }
    spans.sort();
    let mut merged: Vec<LineSpan> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.first <= last.last + 1 => last.last = last.last.max(span.last),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

fn gap(context: &PageContext<'_>, file: &FileView, first: u32, last: u32) -> Markup {
    let shown = LineSpan {
        first,
        last: last.min(first.saturating_add(UNFOLD_LINES)),
    };
    let page = PageAddress::Path {
        path: file.path.clone(),
        lines: Some(shown),
        revision: file.revision.clone(),
    };
    html! { a.gap href={ (context.link(&page)) "#L" (first) } { "lines " (first) " to " (last) } }
}

/// The notes at each line, and the lines that notes cover.
struct LineMarks {
    starts: BTreeMap<u32, (usize, String)>,
    covered: BTreeMap<u32, &'static str>,
}

impl LineMarks {
    fn new(notes: &[&CodeNote]) -> Self {
        let mut marks = Self {
            starts: BTreeMap::new(),
            covered: BTreeMap::new(),
        };
        for note in notes {
            let Some(lines) = note.anchor.lines else {
                continue;
            };
            let id = note.row.entry.id.to_string();
            marks.starts.entry(lines.first).or_insert((0, id)).0 += 1;
            let class = match note.anchor.kind {
                AnchorStateKind::Changed | AnchorStateKind::Gone => "hot",
                AnchorStateKind::Intact
                | AnchorStateKind::Moved
                | AnchorStateKind::Unverifiable => "on",
            };
            for line in lines.first..=lines.last.min(lines.first.saturating_add(WHOLE_FILE_LINES)) {
                let known = marks.covered.entry(line).or_insert(class);
                if class == "hot" {
                    *known = class;
                }
            }
        }
        marks
    }
}

fn code_line(file: &FileView, marks: &LineMarks, number: u32) -> Markup {
    let class = marks.covered.get(&number).copied().unwrap_or_default();
    html! {
        div #{ "L" (number) } class={ "l " (class) } {
            span.ln data-n=(number) {}
            @match marks.starts.get(&number) {
                Some((notes, id)) => a.cnt href={ "#n-" (id) } aria-label={ (notes) " entries about line " (number) } { (notes) },
                None => span.cnt {},
            }
            code { @if let Some(line) = file.lines.get(number as usize - 1) { (code_parts(line)) } }
        }
    }
}

/// Whether the note of an entry whose code changed has forms to decide about it.
#[derive(Clone, Copy)]
enum NoteDecision<'a> {
    /// With this citation suggested.
    Offered(Option<&'a str>),
    Hidden,
}

/// Renders an entry beside its lines, with the decisions if its code changed.
fn note_card(context: &PageContext<'_>, note: &CodeNote, decision: NoteDecision<'_>) -> Markup {
    let (row, anchor) = (&note.row, &note.anchor);
    let needs_decision = matches!(row.facts.validity, Validity::Changed | Validity::Broken);
    let author = row.entry.created.as_ref();
    html! {
        article #{ "n-" (row.entry.id) } class=(if needs_decision { "note hot" } else { "note" }) data-row
            data-line=[anchor.lines.map(|it| it.first)] data-last=[anchor.lines.map(|it| it.last)] {
            (note_head(context, row))
            (statement(context, row.entry.statement_text()))
            @if needs_decision {
                (anchor_state(context, anchor))
                @if let NoteDecision::Offered(suggested) = decision { (decision_forms(context, &row.entry, suggested)) }
            }
            @else {
                div.meta.muted {
                    @if let Some(lines) = anchor.lines { a href={ "#L" (lines.first) } { "line " (lines.first) } " " }
                    @if let Some(created) = author { (crate::component::actor(&created.by)) " " (created.at.wall.date()) }
                }
            }
        }
    }
}

fn folder_page(context: &PageContext<'_>, folder: &FolderView) -> PageContent {
    let body = html! {
        div.page-head { h1.path { (breadcrumbs(context, &folder.path)) } }
        div.scroll tabindex="0" role="region" aria-label="Files" {
            table.list {
                thead { tr { th scope="col" { "Name" } th.num scope="col" { "Entries" } @if folder.children.iter().any(|it| it.invalid.is_some()) { th.num scope="col" { "Changed or gone" } } } }
                tbody { @for child in &folder.children {
                    tr data-row {
                        td { a href=(context.link(&PageAddress::path(Clone::clone(&child.path)))) data-open {
                            (UntrustedText(child.path.name())) @if child.is_folder { "/" } } }
                        td.num { @if child.entries > 0 { (count(child.entries)) } }
                        @if let Some(invalid) = child.invalid { td.num { @if invalid > 0 { span.warn { "⚠ " (count(invalid)) } } } }
                    }
                } }
            }
        }
        @if folder.children.is_empty() { (empty(&html! { "No files." })) }
        @if !folder.about.is_empty() {
            section { h2 { "About this folder" } ol.rows { @for row in &folder.about { (entry_row(context, row)) } } }
        }
    };
    let title = if folder.path.is_root() {
        "Code".to_owned()
    } else {
        folder.path.to_string()
    };
    PageContent::new(title, body).with_command("ken verify")
}

pub(crate) fn change_page(context: &PageContext<'_>, view: &ChangeView) -> PageContent {
    let body = html! {
        div.page-head {
            h1 { "This branch" }
            span.muted { "compared with " (UntrustedText(&view.base)) }
            span.spacer {}
            @if view.passes { span.verdict.ok { "✓ passes" } } @else { span.verdict.bad { "✗ blocked" } }
        }
        @if view.notes.is_empty() { (empty(&html! { "Nothing you changed affects an entry." })) }
        div.cards { @for note in &view.notes { (note_card_with_diff(context, note, view.suggested_citation.as_deref())) } }
        @if !view.files.is_empty() {
            section { h2 { "Files of this change" }
                ul.files { @for (path, entries) in &view.files {
                    li { a href=(context.link(&PageAddress::path(Clone::clone(path)))) { (UntrustedText(path.as_str())) }
                        @if *entries > 0 { " " span.count { (count(*entries)) } } }
                } } }
        }
        @if !view.gates.is_empty() {
            section { h2 { "Gates" } div.scroll tabindex="0" role="region" aria-label="Gates" { table.list { tbody { @for (name, passes, text) in &view.gates {
                tr { td { @if *passes { span.verdict.ok { "✓" } } @else { span.verdict.bad { "✗" } } } td { (UntrustedText(name)) } td { (UntrustedText(text)) } }
            } } } } }
        }
        @if !view.ledger.is_empty() {
            section { h2 { "Knowledge this branch changes" } ul { @for (id, effect, title) in &view.ledger {
                li { (entry_link(context, id)) " " span.muted { (UntrustedText(effect)) } " " (UntrustedText(title)) }
            } } }
        }
        details { summary { "Report for a pull request" } pre.report tabindex="0" { (UntrustedText(&view.markdown)) } }
    };
    PageContent::new("This branch", body).with_command_on("ken verify --base", &view.base)
}

fn note_card_with_diff(
    context: &PageContext<'_>,
    note: &CodeNote,
    suggested: Option<&str>,
) -> Markup {
    let shows_diff = !matches!(
        note.row.facts.validity,
        Validity::Changed | Validity::Broken
    );
    html! {
        (note_card(context, note, NoteDecision::Offered(suggested)))
        @if shows_diff { @if let Some(lines) = &note.anchor.diff { (diff(lines)) } }
    }
}

pub(crate) fn documents_page(context: &PageContext<'_>, view: &DocumentsView) -> PageContent {
    let findings: usize = view.documents.iter().map(|it| it.findings.len()).sum();
    let body = html! {
        div.page-head {
            h1 { "Documents" }
            span.muted { (counted(view.documents.len() as u64, "document", "documents")) ", "
                (counted(view.claims, "claim", "claims")) ", " (counted(findings as u64, "finding", "findings")) }
            span.spacer {}
            @if context.may_write() && view.claims > 0 {
                (post_form(context, "import-documents", &[], submit("Import claims into the inbox", None)))
            }
        }
        @if view.documents.is_empty() { (empty(&html! { "No CLAUDE.md, AGENTS.md or similar document was found." })) }
        @for document in &view.documents {
            section.document {
                h2 { (crate::component::location_link(context, &document.path, &document.path)) " " span.muted { (counted(document.claims, "claim", "claims")) } }
                @if document.findings.is_empty() { p.ok { "✓ no findings" } }
                ul.findings { @for finding in &document.findings {
                    li { @if let Some(line) = finding.line { span.ln { "line " (line) } " " }
                        (UntrustedText(&finding.message))
                        @if !finding.text.is_empty() { (statement(context, &finding.text)) } }
                } }
            }
        }
    };
    PageContent::new("Documents", body).with_command("ken audit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_folded_around_the_wanted_lines() {
        assert_eq!(visible_spans(0, &[], None), []);
        let whole = LineSpan {
            first: 1,
            last: 1_000,
        };
        assert_eq!(visible_spans(1_000, &[], None), [whole]);
        let wanted = Some(LineSpan {
            first: 500,
            last: 510,
        });
        let spans = visible_spans(5_000, &[], wanted);
        assert_eq!(
            spans,
            [
                LineSpan { first: 1, last: 60 },
                LineSpan {
                    first: 480,
                    last: 530
                }
            ]
        );
        let beyond = Some(LineSpan {
            first: 9_000,
            last: 9_999,
        });
        let spans = visible_spans(5_000, &[], beyond);
        assert_eq!(
            spans[1],
            LineSpan {
                first: 5_000,
                last: 5_000
            }
        );
    }
}
