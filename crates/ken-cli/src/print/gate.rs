//! Results of `ken verify` as text, as Markdown for a pull request and as build annotations.

use std::fmt::Write as _;

use ken_core::ledger::entry::Entry;
use ken_core::values::text::enum_label;
use ken_engine::validity::{
    AnchorCheck, AnchorVerdict, ChangeEffect, ConditionCheck, EntryCheck, LedgerChange,
    ValidityReport,
};
use ken_engine::verify::{GateFinding, GateLevel, GateVerdict, VerifyOutcome};
use serde::Serialize;

use super::table::{TableCell, TextTable};
use super::{BAD, DIM, GOOD, WARN, escape_invisible, pluralize, styled};

/// Maximum characters of a claim.
const CLAIM_CHARS_MAX: usize = 100;

/// A checked entry as JSON.
#[derive(Serialize)]
pub(crate) struct CheckedEntryJson<'a> {
    id: String,
    validity: String,
    anchors: &'a [AnchorCheck],
    conditions: &'a [ConditionCheck],
}

impl<'a> CheckedEntryJson<'a> {
    pub(crate) fn all(checked: &'a [EntryCheck]) -> Vec<Self> {
        let object = |it: &'a EntryCheck| Self {
            id: it.entry.id.to_string(),
            validity: enum_label(&it.validity),
            anchors: &it.anchors,
            conditions: &it.conditions,
        };
        checked.iter().map(object).collect()
    }
}

/// Renders one line per finding.
pub(crate) fn finding_lines(findings: &[GateFinding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let (style, word) = match finding.level {
            GateLevel::Warning => (WARN, "warning"),
            GateLevel::Error => (BAD, "error"),
        };
        let line = line_suffix(finding);
        let (at, gate, message) = (
            &finding.at,
            finding.gate,
            escape_invisible(&finding.message),
        );
        let word = styled(style, word);
        let _ = writeln!(out, "{word} {at}{line}: {message} [{gate}]");
    }
    out
}

/// Renders the result for a terminal: findings, then moved entries, norms and ledger changes.
pub(crate) fn verification_text(verified: &VerifyOutcome, width: usize) -> String {
    let mut out = finding_lines(&verified.findings);
    let impact = &verified.validity;
    // With a single anchor, the finding above already names it.
    let has_several = changed_anchors(impact).count() > 1;
    for anchor in changed_anchors(impact) {
        if let Some(diff) = &anchor.diff {
            if has_several {
                let _ = writeln!(out, "  {}", anchor.at);
            }
            out += &indent_diff(diff);
        }
    }
    out += &impact_table(verified, width);
    out += &gate_lines(verified);
    let entries = pluralize(verified.entries as u64, "entry", "entries");
    let events = pluralize(verified.events, "event", "events");
    let findings = pluralize(verified.findings.len() as u64, "finding", "findings");
    let verdict = if verified.passes() {
        styled(GOOD, "passes")
    } else {
        styled(BAD, "fails")
    };
    let _ = writeln!(out, "{verdict}: {entries}, {events}, {findings}");
    out
}

/// Renders the verdict of every gate that ran, one line each.
fn gate_lines(verified: &VerifyOutcome) -> String {
    let mut out = String::new();
    for result in verified.gate_results() {
        let style = match result.verdict {
            GateVerdict::Pass => GOOD,
            GateVerdict::Warn => WARN,
            GateVerdict::Fail => BAD,
        };
        let word = styled(style, result.verdict.name());
        let _ = write!(out, "{word}  {}", result.gate);
        if result.findings > 0 {
            let count = pluralize(result.findings as u64, "finding", "findings");
            let _ = write!(out, " ({count})");
        }
        out.push('\n');
    }
    out
}

/// Indents a diff.
pub(crate) fn indent_diff(diff: &str) -> String {
    let indent = |line: &str| format!("    {}\n", styled(DIM, escape_invisible(line)));
    diff.lines().map(indent).collect()
}

/// Returns the changed anchors of invalidated entries.
fn changed_anchors(impact: &ValidityReport) -> impl Iterator<Item = &AnchorCheck> {
    let anchors = impact.invalid.iter().flat_map(|it| &it.anchors);
    anchors.filter(|it| it.verdict == AnchorVerdict::Changed)
}

/// Renders moved and unverifiable entries, norms and ledger changes, one row each.
fn impact_table(verified: &VerifyOutcome, width: usize) -> String {
    let impact = &verified.validity;
    let mut table = TextTable::new(&["", "ENTRY", "WHERE", "CLAIM"], 3);
    for checked in &impact.moved {
        let mut anchors = checked.anchors.iter();
        let moved = anchors.find(|it| it.verdict == AnchorVerdict::Moved);
        let to = moved
            .and_then(|it| it.now.as_ref())
            .map(|it| it.at.to_string());
        let location = to.unwrap_or_default();
        let cell = TableCell::styled(GOOD, "moved");
        push_row(&mut table, cell, &checked.entry, location);
    }
    for checked in &impact.unverifiable {
        let anchor_reasons = checked.anchors.iter().map(|it| &it.why);
        let condition_reasons = checked.conditions.iter().map(|it| &it.why);
        let mut reasons = anchor_reasons.chain(condition_reasons);
        let first = reasons.find(|reason| !reason.is_empty());
        let reason = first.cloned().unwrap_or_default();
        let cell = TableCell::styled(DIM, "unchecked");
        push_row(&mut table, cell, &checked.entry, reason);
    }
    for norm in &impact.norms {
        push_row(
            &mut table,
            TableCell::from("norm"),
            norm,
            first_anchor(norm),
        );
    }
    for change in &impact.ledger_changes {
        let (word, style) = match change.effect {
            ChangeEffect::Adds => ("adds", GOOD),
            ChangeEffect::Changes => ("changes", WARN),
            ChangeEffect::Removes => ("removes", BAD),
            ChangeEffect::Other => ("other", DIM),
        };
        let id = change.entry.map(|id| id.to_string()).unwrap_or_default();
        table.push(vec![
            TableCell::styled(style, word),
            id.into(),
            format!("{}:{}", change.file, change.line).into(),
            change_claim(change).into(),
        ]);
    }
    match impact.moved.len()
        + impact.unverifiable.len()
        + impact.norms.len()
        + impact.ledger_changes.len()
    {
        0 => String::new(),
        _ => table.render(width),
    }
}

fn push_row(table: &mut TextTable, word: TableCell, entry: &Entry, place: String) {
    table.push(vec![
        word,
        entry.id.to_string().into(),
        place.into(),
        entry.title().into(),
    ]);
}

fn first_anchor(entry: &Entry) -> String {
    let content = entry.content.as_ref();
    let first = content.and_then(|it| it.anchors.first());
    first.map_or_else(String::new, |it| it.at.to_string())
}

fn change_claim(change: &LedgerChange) -> String {
    match &change.statement {
        Some(statement) => ken_core::values::text::truncate(statement, CLAIM_CHARS_MAX),
        None => format!("{} by {}", change.type_name, change.by),
    }
}

fn line_suffix(finding: &GateFinding) -> String {
    let line = finding.line.map(|line| format!(":{line}"));
    line.unwrap_or_default()
}

/// Renders GitHub workflow commands, which annotate the lines they name.
pub(crate) fn github_annotations(findings: &[GateFinding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let level = match finding.level {
            GateLevel::Warning => "warning",
            GateLevel::Error => "error",
        };
        let line = finding
            .line
            .map(|line| format!(",line={line}"))
            .unwrap_or_default();
        let title = escape_annotation(finding.gate, true);
        // Without `file`, GitHub shows the annotation for the whole run.
        let (place, message) = match finding.file() {
            Some(file) => {
                let file = escape_annotation(file, true);
                (format!("file={file}{line},"), finding.message.clone())
            }
            None => (
                String::new(),
                format!("{}: {}", finding.at, finding.message),
            ),
        };
        let message = escape_annotation(&message, false);
        let _ = writeln!(out, "::{level} {place}title={title}::{message}");
    }
    out
}

/// Escapes text for a workflow command; a property has two more special characters.
fn escape_annotation(text: &str, is_property: bool) -> String {
    // `%` first: it introduces the escapes added below.
    let mut out = escape_invisible(text).replace('%', "%25");
    out = out.replace('\r', "%0D").replace('\n', "%0A");
    if is_property {
        out = out.replace(':', "%3A").replace(',', "%2C");
    }
    out
}

/// Renders a summary for a pull request.
pub(crate) fn verification_markdown(verified: &VerifyOutcome) -> String {
    let impact = &verified.validity;
    let mut out = String::from(if verified.passes() {
        "## Knowledge: passes\n"
    } else {
        "## Knowledge: fails\n"
    });
    push_section(&mut out, "Findings", &verified.findings, |finding| {
        let level = enum_label(&finding.level);
        let location = inline_code(&format!("{}{}", finding.at, line_suffix(finding)));
        format!("{level}: {} ({location})", finding.message)
    });
    for anchor in changed_anchors(impact) {
        if let Some(diff) = &anchor.diff {
            let location = inline_code(&anchor.at.to_string());
            let _ = write!(out, "\n{location}\n\n{}", fence_diff(diff));
        }
    }
    push_section(&mut out, "Moved code", &impact.moved, |checked| {
        format!("{}: {}", checked.entry.id, checked.entry.title())
    });
    push_section(
        &mut out,
        "Norms that apply to the change",
        &impact.norms,
        |norm| format!("{}: {}", norm.id, norm.title()),
    );
    push_section(
        &mut out,
        "Changes to the ledger",
        &impact.ledger_changes,
        |change| {
            let id = change.entry.map(|id| format!(" {id}")).unwrap_or_default();
            format!(
                "{}{id}: {}",
                enum_label(&change.effect),
                change_claim(change)
            )
        },
    );
    out
}

fn push_section<T>(out: &mut String, title: &str, items: &[T], render: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    let _ = write!(out, "\n### {title}\n\n");
    for item in items {
        let _ = writeln!(out, "- {}", escape_markdown(&render(item)));
    }
}

/// Escapes Markdown: a claim must not become a heading, a link, an image or a mention.
fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for c in escape_invisible(text).chars() {
        match c {
            // Backslashes have no effect inside code, so nothing is escaped there.
            '`' => in_code = !in_code,
            '\n' | '\r' => {
                out.push(' ');
                continue;
            }
            '<' | '>' | '[' | ']' | '*' | '_' | '#' | '!' | '|' | '\\' | '@' if !in_code => {
                out.push('\\');
            }
            _ => {}
        }
        out.push(c);
    }
    // An unbalanced backtick must not turn the following text into code.
    if in_code {
        out.push('`');
    }
    out
}

fn inline_code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// Renders a fenced code block with a fence longer than any in the text, so that nothing ends it.
fn fence_diff(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}diff\n{}\n{fence}\n", escape_invisible(text))
}
