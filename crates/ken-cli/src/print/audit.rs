//! Audit results as text for a terminal and as Markdown for an issue or pull request.

use std::fmt::Write as _;

use ken_engine::audit::{AuditFinding, AuditReport, FindingKind};

use super::{BAD, BOLD, DIM, WARN, escape_invisible, pluralize, styled, wrap};

/// The indentation of a finding's claim, in columns.
const INDENT: usize = 8;

/// Renders the findings, grouped by document.
pub(crate) fn audit_text(audit: &AuditReport, width: usize) -> String {
    let mut out = String::new();
    for document in &audit.documents {
        let claims = pluralize(document.claims as u64, "claim", "claims");
        // A copy is not audited again: its findings would repeat those of the first document.
        let about = match &document.copy_of {
            Some(first) => format!("a copy of {}", escape_invisible(first)),
            None => claims,
        };
        let path = escape_invisible(&document.path);
        let _ = writeln!(out, "{}  {}", styled(BOLD, path), styled(DIM, about));
        for finding in audit
            .findings
            .iter()
            .filter(|it| it.document == document.path)
        {
            write_finding(&mut out, finding, width);
        }
    }
    out
}

fn write_finding(out: &mut String, finding: &AuditFinding, width: usize) {
    let style = match finding.kind {
        FindingKind::Secret
        | FindingKind::Injection
        | FindingKind::DeadCitation
        | FindingKind::DeadSymbol
        | FindingKind::BrokenRule
        | FindingKind::Stale => BAD,
        FindingKind::Contradiction | FindingKind::Duplicate => WARN,
        FindingKind::Changed => DIM,
    };
    let word = styled(style, finding.kind.words().0);
    let _ = writeln!(
        out,
        "{:>6}  {word}: {}",
        finding.line,
        escape_invisible(&finding.message)
    );
    let other = finding.other.as_ref().map(|it| it.claim.as_str());
    for claim in finding.claim.as_deref().into_iter().chain(other) {
        for line in wrap(&escape_invisible(claim), width.saturating_sub(INDENT)) {
            let _ = writeln!(out, "{:INDENT$}{}", "", styled(DIM, line));
        }
    }
}

/// Renders a summary of documents, claims and findings in one line.
pub(crate) fn audit_summary(audit: &AuditReport) -> String {
    if audit.documents.is_empty() && audit.unreadable.is_empty() {
        return "no documents with agent instructions found: no CLAUDE.md, AGENTS.md, rules or decisions".to_owned();
    }
    let documents = pluralize(audit.documents.len() as u64, "document", "documents");
    let claims = pluralize(audit.claims.len() as u64, "claim", "claims");
    let fine = audit.importable_claims().len();
    let mut out = format!("{documents}, {claims}: {fine} ok");
    if fine < audit.claims.len() {
        let _ = write!(out, ", {} with problems", audit.claims.len() - fine);
    }
    for (place, (kind, count)) in audit.count_findings().into_iter().enumerate() {
        let (one, many) = kind.words();
        let before = if place == 0 { "; found" } else { "," };
        let _ = write!(
            out,
            "{before} {count} {}",
            if count == 1 { one } else { many }
        );
    }
    out
}

/// Renders the documents that were not read or only in part, one per line.
pub(crate) fn limits_text(audit: &AuditReport) -> String {
    let mut out = String::new();
    for document in &audit.unreadable {
        let path = escape_invisible(&document.path);
        let _ = writeln!(out, "{path} was not read: {}", document.reason);
    }
    for document in audit.documents.iter().filter(|it| it.left_out > 0) {
        let (read, all) = (document.claims, document.claims + document.left_out);
        let path = escape_invisible(&document.path);
        let _ = writeln!(
            out,
            "{path} has {all} claims, of which only the first {read} were read: split it"
        );
    }
    out
}

/// Renders the audit as Markdown.
pub(crate) fn audit_markdown(audit: &AuditReport) -> String {
    let mut out = format!("## Knowledge audit\n\n{}\n", audit_summary(audit));
    for line in limits_text(audit).lines() {
        let _ = writeln!(out, "\n{}", escape_cell(line));
    }
    if !audit.findings.is_empty() {
        out.push_str("\n| location | finding | claim |\n|---|---|---|\n");
    }
    for finding in &audit.findings {
        let claim = finding.claim.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "| {}:{} | {}: {} | {} |",
            escape_cell(&finding.document),
            finding.line,
            finding.kind.words().0,
            escape_cell(&finding.message),
            escape_cell(claim)
        );
    }
    out
}

/// Escapes a text for a cell of a Markdown table.
fn escape_cell(text: &str) -> String {
    // A pipe or newline in a claim would end its cell and break the table.
    escape_invisible(text)
        .replace('|', "\\|")
        .replace(['\n', '\r'], " ")
}
