//! What an audit found, for people: on a terminal, and as Markdown for an issue or a pull request.

use std::fmt::Write as _;

use ken_engine::audit::{Audit, AuditFinding, FindingKind};

use super::{BAD, BOLD, DIM, WARN, counted, styled, visible, wrap};

/// Columns a finding's claim is set in by.
const INDENT: usize = 8;

/// Returns the findings by document.
pub(crate) fn text(audit: &Audit, width: usize) -> String {
    let mut out = String::new();
    for document in &audit.documents {
        let claims = counted(document.claims as u64, "claim", "claims");
        let about = match &document.copy_of {
            Some(first) => format!("a copy of {}", visible(first)),
            None => claims,
        };
        let path = visible(&document.path);
        let _ = writeln!(out, "{}  {}", styled(BOLD, path), styled(DIM, about));
        for finding in audit
            .findings
            .iter()
            .filter(|it| it.document == document.path)
        {
            one(&mut out, finding, width);
        }
    }
    out
}

fn one(out: &mut String, finding: &AuditFinding, width: usize) {
    let style = match finding.kind {
        FindingKind::Secret
        | FindingKind::DeadCitation
        | FindingKind::DeadSymbol
        | FindingKind::BrokenRule => BAD,
        FindingKind::Contradiction | FindingKind::Duplicate => WARN,
        FindingKind::Stale => DIM,
    };
    let word = styled(style, finding.kind.words().0);
    let _ = writeln!(
        out,
        "{:>6}  {word}: {}",
        finding.line,
        visible(&finding.message)
    );
    let other = finding.other.as_ref().map(|it| it.claim.as_str());
    for said in finding.claim.as_deref().into_iter().chain(other) {
        for line in wrap(&visible(said), width.saturating_sub(INDENT)) {
            let _ = writeln!(out, "{:INDENT$}{}", "", styled(DIM, line));
        }
    }
}

/// Returns one line that says how much there is and how much of it is sound.
pub(crate) fn summary(audit: &Audit) -> String {
    if audit.documents.is_empty() {
        return "no document here holds knowledge for agents: no CLAUDE.md, AGENTS.md, rules, decisions".to_owned();
    }
    let documents = counted(audit.documents.len() as u64, "document", "documents");
    let claims = counted(audit.claims.len() as u64, "claim", "claims");
    let mut out = format!("{documents}, {claims}, {} sound", audit.sound().len());
    for (kind, count) in audit.counts() {
        let (one, many) = kind.words();
        let _ = write!(out, "; {count} {}", if count == 1 { one } else { many });
    }
    out
}

/// Returns the audit as a document.
pub(crate) fn markdown(audit: &Audit) -> String {
    let mut out = format!("## Knowledge audit\n\n{}\n", summary(audit));
    if !audit.findings.is_empty() {
        out.push_str("\n| where | what | about |\n|---|---|---|\n");
    }
    for finding in &audit.findings {
        let said = finding.claim.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "| {}:{} | {}: {} | {} |",
            cell(&finding.document),
            finding.line,
            finding.kind.words().0,
            cell(&finding.message),
            cell(said)
        );
    }
    out
}

/// Returns a text that stays inside its cell.
fn cell(text: &str) -> String {
    visible(text).replace('|', "\\|").replace(['\n', '\r'], " ")
}
