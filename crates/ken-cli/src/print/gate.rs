//! What the gate found, for people, for a pull request and for a build's log.

use std::fmt::Write as _;

use ken_core::entry::Entry;
use ken_core::text::word;
use ken_engine::validity::{AnchorCheck, Checked, ConditionCheck, Effect, Impact, Stroke, Verdict};
use ken_engine::verify::{Finding, Level, Verified};
use serde::Serialize;

use super::table::{Cell, Table};
use super::{BAD, DIM, GOOD, WARN, counted, styled, visible};

/// Characters of a claim where there is a line for it.
const CLAIM_CHARS: usize = 100;

/// An entry that was held against the code, as programs read it.
#[derive(Serialize)]
pub(crate) struct CheckedObject<'a> {
    id: String,
    validity: String,
    anchors: &'a [AnchorCheck],
    conditions: &'a [ConditionCheck],
}

impl<'a> CheckedObject<'a> {
    pub(crate) fn all(checked: &'a [Checked]) -> Vec<Self> {
        let object = |it: &'a Checked| Self {
            id: it.entry.id.to_string(),
            validity: word(&it.validity),
            anchors: &it.anchors,
            conditions: &it.conditions,
        };
        checked.iter().map(object).collect()
    }
}

/// Returns everything for a terminal: findings, then what moved, applies and comes with the change.
pub(crate) fn text(verified: &Verified, width: usize) -> String {
    let mut out = String::new();
    for finding in &verified.findings {
        let (style, word) = match finding.level {
            Level::Warning => (WARN, "warning"),
            Level::Error => (BAD, "error"),
        };
        let line = line(finding);
        let (at, gate, message) = (&finding.at, finding.gate, visible(&finding.message));
        let word = styled(style, word);
        let _ = writeln!(out, "{word} {at}{line}: {message} [{gate}]");
    }
    let impact = &verified.impact;
    let several = 1 < changed(impact).count();
    for it in changed(impact) {
        if let Some(diff) = &it.diff {
            if several {
                let _ = writeln!(out, "  {}", it.at);
            }
            out += &indented(diff);
        }
    }
    out += &table(verified, width);
    let entries = counted(verified.entries as u64, "entry", "entries");
    let events = counted(verified.events, "event", "events");
    let findings = counted(verified.findings.len() as u64, "finding", "findings");
    let verdict = match verified.passes() {
        true => styled(GOOD, "passes"),
        false => styled(BAD, "fails"),
    };
    let _ = writeln!(out, "{verdict}: {entries}, {events}, {findings}");
    out
}

/// A difference, set off from what is said about it.
pub(crate) fn indented(diff: &str) -> String {
    let lines = diff.lines();
    let lines = lines.map(|line| format!("    {}\n", styled(DIM, visible(line))));
    lines.collect()
}

/// The anchors of invalidated entries that say something else now.
fn changed(impact: &Impact) -> impl Iterator<Item = &AnchorCheck> {
    let anchors = impact.invalid.iter().flat_map(|it| &it.anchors);
    anchors.filter(|it| it.verdict == Verdict::Changed)
}

/// What moved, what applies and what comes, a row each.
fn table(verified: &Verified, width: usize) -> String {
    let impact = &verified.impact;
    let mut table = Table::new(&["", "ENTRY", "WHERE", "CLAIM"], 3);
    for it in &impact.moved {
        let word = match verified.followed.contains(&it.entry.id) {
            true => "followed",
            false => "moved",
        };
        let to = it.anchors.iter().find(|it| it.verdict == Verdict::Moved);
        let to = to
            .and_then(|it| it.now.as_ref())
            .map(|it| it.at.to_string());
        let place = to.unwrap_or_default();
        row(&mut table, Cell::styled(GOOD, word), &it.entry, place);
    }
    for it in &impact.unverifiable {
        let why = it.anchors.iter().map(|it| &it.why);
        let why = why.chain(it.conditions.iter().map(|it| &it.why));
        let why = why.into_iter().find(|why| !why.is_empty());
        let why = why.cloned().unwrap_or_default();
        row(&mut table, Cell::styled(DIM, "unchecked"), &it.entry, why);
    }
    for norm in &impact.norms {
        row(&mut table, Cell::from("norm"), norm, place_of(norm));
    }
    for it in &impact.strokes {
        let (word, style) = match it.effect {
            Effect::Adds => ("adds", GOOD),
            Effect::Changes => ("changes", WARN),
            Effect::Removes => ("removes", BAD),
            Effect::Other => ("brings", DIM),
        };
        table.push(vec![
            Cell::styled(style, word),
            it.entry.map(|id| id.to_string()).unwrap_or_default().into(),
            format!("{}:{}", it.file, it.line).into(),
            claim(it).into(),
        ]);
    }
    match impact.moved.len() + impact.unverifiable.len() + impact.norms.len() + impact.strokes.len()
    {
        0 => String::new(),
        _ => table.render(width),
    }
}

fn row(table: &mut Table, word: Cell, entry: &Entry, place: String) {
    table.push(vec![
        word,
        entry.id.to_string().into(),
        place.into(),
        entry.title().into(),
    ]);
}

fn place_of(entry: &Entry) -> String {
    let content = entry.content.as_ref();
    let first = content.and_then(|it| it.evidence.first());
    first.map_or_else(String::new, |it| it.at.to_string())
}

fn claim(it: &Stroke) -> String {
    match &it.statement {
        Some(statement) => ken_core::text::shortened(statement, CLAIM_CHARS),
        None => format!("{} by {}", it.type_name, it.by),
    }
}

fn line(finding: &Finding) -> String {
    let line = finding.line.map(|line| format!(":{line}"));
    line.unwrap_or_default()
}

/// Returns workflow commands, which a build's log shows beside the lines they name.
pub(crate) fn github(findings: &[Finding]) -> String {
    let mut out = String::new();
    for it in findings {
        let level = match it.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        let line = it.line.map(|line| format!(",line={line}"));
        let line = line.unwrap_or_default();
        let (file, title) = (escaped(&it.at, true), escaped(it.gate, true));
        let message = escaped(&it.message, false);
        let _ = writeln!(out, "::{level} file={file}{line},title={title}::{message}");
    }
    out
}

/// Text as a workflow command takes it; in a property, two characters more are special.
fn escaped(text: &str, is_property: bool) -> String {
    let mut out = visible(text).replace('%', "%25");
    out = out.replace('\r', "%0D").replace('\n', "%0A");
    if is_property {
        out = out.replace(':', "%3A").replace(',', "%2C");
    }
    out
}

/// Returns a summary for a pull request.
pub(crate) fn markdown(verified: &Verified) -> String {
    let impact = &verified.impact;
    let mut out = String::from(match verified.passes() {
        true => "## Knowledge: passes\n",
        false => "## Knowledge: fails\n",
    });
    section(&mut out, "Findings", &verified.findings, |it| {
        let level = word(&it.level);
        format!(
            "{level}: {} ({})",
            it.message,
            code(&format!("{}{}", it.at, line(it)))
        )
    });
    for it in changed(impact) {
        if let Some(diff) = &it.diff {
            let _ = write!(out, "\n{}\n\n{}", code(&it.at.to_string()), fenced(diff));
        }
    }
    section(&mut out, "Followed or moved", &impact.moved, |it| {
        format!("{}: {}", it.entry.id, it.entry.title())
    });
    section(&mut out, "Norms for what it touches", &impact.norms, |it| {
        format!("{}: {}", it.id, it.title())
    });
    section(
        &mut out,
        "What it does to knowledge",
        &impact.strokes,
        |it| {
            let id = it.entry.map(|id| format!(" {id}")).unwrap_or_default();
            format!("{}{id}: {}", word(&it.effect), claim(it))
        },
    );
    out
}

fn section<T>(out: &mut String, title: &str, all: &[T], tell: impl Fn(&T) -> String) {
    if all.is_empty() {
        return;
    }
    let _ = write!(out, "\n### {title}\n\n");
    for it in all {
        let _ = writeln!(out, "- {}", plain(&tell(it)));
    }
}

/// Text that Markdown shows as it is: a claim must not become a heading, a link or an image.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for c in visible(text).chars() {
        match c {
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
    if in_code {
        out.push('`');
    }
    out
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// A block that nothing inside can end.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}diff\n{}\n{fence}\n", visible(text))
}
