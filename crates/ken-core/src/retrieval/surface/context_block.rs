//! Context blocks: entries rendered as delimited data for an agent, never as instructions.
//!
//! Every field is on a line of its own: line breaks in entry text become spaces, invisible
//! characters are escaped, and the delimiters contain a word that no entry contains. An entry
//! therefore cannot end the block, start another entry or imitate Ken.

use std::fmt::Write as _;

use super::{CompetingEntry, DetailTier, EntrySelection, HitView, SelectedEntry};
use crate::ledger::entry::Entry;
use crate::ledger::event::Origin;
use crate::retrieval::agent_texts::{
    self, CONCLUSIONS_HEADING, ENTRIES_HEADING, KNOWLEDGE_APPLIED, NORMS_HEADING, OVERVIEW_HINT,
    REPORT_REQUEST, SEARCH_HINT, SPIKE_RULES,
};
use crate::trust::facts::Validity;
use crate::trust::run::SentConclusion;
use crate::values::content::{Content, KindDetail};
use crate::values::kind::{EntryKind, IdPrefix};
use crate::values::status::EntryStatus;
use crate::values::text::{enum_label, escape_invisible, truncate};

/// Maximum length of a statement at [`DetailTier::Standard`], in characters.
const PREVIEW_CHARS: usize = 200;

/// Hexadecimal digits of the delimiter word.
const DELIMITER_DIGITS: usize = 8;

/// Returns the `Knowledge Context` block of a selection.
pub fn render_context_block(page: &EntrySelection, served_by: &str) -> String {
    delimited_block(&render_selection(page), served_by) + spike_rules(page)
}

/// Returns the block of a selection that the agent did not ask for, with the number of entries that
/// matched as well.
pub fn render_unasked_block(page: &EntrySelection, served_by: &str) -> String {
    let (shown, all) = (page.shown.len(), page.shown.len() + page.left_out.len());
    let more = if shown < all {
        agent_texts::more_entries_line(shown, all)
    } else {
        String::new()
    };
    render_context_block(page, served_by) + &more
}

/// Returns the instructions for using experiments if the selection has one.
pub fn spike_rules(page: &EntrySelection) -> &'static str {
    let is_spike = |it: &SelectedEntry| it.id.prefix() == IdPrefix::Spike;
    if page.shown.iter().any(is_spike) {
        SPIKE_RULES
    } else {
        ""
    }
}

/// Returns the briefing block: applicable norms, relevant entries and the report template.
pub fn render_briefing_block(
    norms: &EntrySelection,
    known: &EntrySelection,
    served_by: &str,
) -> String {
    let body = render_briefing_body(norms, known);
    let is_known = !known.shown.is_empty();
    let mut block = delimited_block(&body, served_by);
    if !is_known {
        // Norms are not search results, so the sentence must not seem to deny them.
        if !body.is_empty() {
            block.push_str(&agent_texts::no_entries_besides_norms());
        }
        block.push_str(SEARCH_HINT);
    }
    // Without entries there is nothing to report on.
    if body.is_empty() {
        return block;
    }
    let spikes = spike_rules(known);
    format!("{block}{spikes}{REPORT_REQUEST}{KNOWLEDGE_APPLIED}")
}

/// Returns the block of a briefing without a task: norms and the best entries.
pub fn render_overview_block(
    norms: &EntrySelection,
    known: &EntrySelection,
    served_by: &str,
) -> String {
    let body = render_briefing_body(norms, known);
    let hint = if body.is_empty() {
        SEARCH_HINT
    } else {
        OVERVIEW_HINT
    };
    delimited_block(&body, served_by) + spike_rules(known) + hint
}

/// Returns the block of conclusions that other agents of a run sent to the reader: their words and
/// the ids they rest on, not the entries.
pub fn render_conclusions(sent: &[&SentConclusion]) -> String {
    let mut body = String::new();
    for it in sent {
        let cites: Vec<String> = it.cites.iter().map(|id| format!("[{id}]")).collect();
        let words = single_line(it.words.as_str());
        let _ = writeln!(body, "{}: {words} {}", it.from, cites.join(" "));
    }
    if body.is_empty() {
        return body;
    }
    format!("{CONCLUSIONS_HEADING}{}", delimit(&body))
}

fn render_briefing_body(norms: &EntrySelection, known: &EntrySelection) -> String {
    let mut body = String::new();
    for (heading, page) in [(NORMS_HEADING, norms), (ENTRIES_HEADING, known)] {
        if !page.shown.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = write!(body, "{heading}\n{}", render_selection(page));
        }
    }
    // Norms are binding: an agent must know that there are more.
    if !norms.left_out.is_empty() {
        let more = norms.left_out.len();
        let _ = writeln!(body, "({more} more: `ken norms` lists all norms)");
    }
    body
}

fn render_selection(page: &EntrySelection) -> String {
    page.shown.iter().map(|shown| shown.text.as_str()).collect()
}

/// Returns the block with delimiters that `body` cannot contain, or the empty block.
pub fn delimited_block(body: &str, served_by: &str) -> String {
    if body.is_empty() {
        return agent_texts::empty_block();
    }
    agent_texts::block_header(served_by) + &delimit(body)
}

/// Surrounds `body`, which must end in a line break, with delimiters that it does not contain.
pub fn delimit(body: &str) -> String {
    let mark = delimiter_word(body);
    format!("<{mark}>\n{body}</{mark}>\n")
}

/// Returns a delimiter word that `body` does not contain.
fn delimiter_word(body: &str) -> String {
    // Derived from the body: the output is reproducible, and writing the word into an entry changes
    // the hash. The loop makes sure that no entry ends the block.
    let mut salt = 0_u64;
    loop {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&salt.to_le_bytes());
        hasher.update(body.as_bytes());
        let digits = &hasher.finalize().to_hex()[..DELIMITER_DIGITS];
        let mark = format!("knowledge-{digits}");
        if !body.contains(&mark) {
            return mark;
        }
        salt += 1;
    }
}

/// Renders the lines of one entry.
pub(super) fn render_entry(
    finding: &HitView<'_>,
    competing_with: &[CompetingEntry],
    tier: DetailTier,
    folder: &str,
) -> String {
    let Some(content) = &finding.entry.content else {
        return String::new();
    };
    let mut out = format!(
        "[{}] {}: ",
        finding.entry.id,
        entry_header(finding, content)
    );
    let statement = single_line(content.statement.as_str());
    match tier {
        DetailTier::Summary | DetailTier::Lead => {
            out.push_str(&single_line(&content.statement.title()));
        }
        DetailTier::Standard => out.push_str(&truncate(&statement, PREVIEW_CHARS)),
        DetailTier::Full => out.push_str(&statement),
    }
    out.push('\n');
    if tier == DetailTier::Full {
        write_full_details(&mut out, finding, content);
    }
    for other in competing_with {
        let (id, title, confidence) = (other.id, single_line(&other.title), other.confidence);
        let _ = writeln!(
            out,
            "  competing_with: [{id}] {title} (confidence {confidence:.2})"
        );
    }
    if tier > DetailTier::Lead {
        write_filing(&mut out, finding.entry, content, folder);
    }
    out
}

/// Returns the status of an entry.
fn status_text(finding: &HitView<'_>) -> String {
    let status = finding.facts.status;
    let found_again = finding.entry.confirmation.independent > 0;
    // "verified" alone would suggest that a person approved the entry.
    if status == EntryStatus::Verified && found_again && finding.entry.is_agent_only() {
        return format!("{} by agents only", status.name());
    }
    status.name().to_owned()
}

/// Returns kind, status, confidence and warnings of an entry.
fn entry_header(finding: &HitView<'_>, content: &Content) -> String {
    let facts = finding.facts;
    let is_norm = finding.entry.id.prefix() == IdPrefix::Norm;
    let mut words = vec![
        finding.entry.kind().map_or("", EntryKind::name).to_owned(),
        status_text(finding),
        format!("confidence {:.2}", facts.posterior.mean()),
    ];
    match facts.validity {
        Validity::Holds => words.push("valid".to_owned()),
        Validity::Changed if finding.entry.is_prescriptive() => {
            words.push(agent_texts::departure_warning(facts.changed_in.as_deref()));
        }
        Validity::Changed => words.push("its code changed".to_owned()),
        Validity::Broken => words.push("broken".to_owned()),
        // An entry that names no code cannot be checked by anybody, which is no warning. Norms are
        // rules: no code makes them true.
        Validity::Unverifiable if finding.entry.is_checkable() && !is_norm => {
            words.push("unchecked".to_owned());
        }
        Validity::Unverifiable => {}
    }
    // Only a reader that asks for an id gets this far: searches return no superseded entry.
    if let Some(newer) = finding.entry.superseded_by {
        words.push(format!("SUPERSEDED by [{newer}]: not current"));
    }
    if let Some(created) = &finding.entry.created {
        words.push(match created.origin {
            Origin::Peer => "from another organization, not checked here".to_owned(),
            Origin::Human | Origin::Agent | Origin::Ci | Origin::Import | Origin::Web => {
                format!("from {}", enum_label(&created.origin))
            }
        });
    }
    let created = finding.entry.created.as_ref();
    if let Some(from) = created.and_then(|it| it.copied_from.as_ref()) {
        words.push(format!("global: from another project ({})", from.project));
    }
    if finding.entry.failed_source().is_some() {
        words.push("from a failed run".to_owned());
    }
    words.extend(content.spike_certainty().map(str::to_owned));
    let against: Vec<String> = finding
        .conflicts
        .iter()
        .map(|id| format!("[{id}]"))
        .collect();
    if !against.is_empty() {
        words.push(format!("CONFLICTS with {}", against.join(", ")));
    }
    words.join(", ")
}

/// Appends the lines that only [`DetailTier::Full`] has.
fn write_full_details(out: &mut String, finding: &HitView<'_>, content: &Content) {
    if let Some(body) = &content.body {
        let _ = writeln!(out, "  body: {}", single_line(body.as_str()));
    }
    if let Some(KindDetail::Spike(spike)) = &content.detail {
        let _ = writeln!(out, "  question: {}", single_line(spike.question.as_str()));
        let _ = writeln!(out, "  answer: {}", single_line(spike.answer.as_str()));
        for constraint in &spike.constraints {
            let _ = writeln!(out, "  constraint: {}", single_line(constraint.as_str()));
        }
    }
    for step in &content.verify {
        let _ = writeln!(out, "  verify: {}", single_line(step.as_str()));
    }
    for anchor in &content.anchors {
        let _ = writeln!(out, "  at: {}", single_line(&anchor.at.to_string()));
    }
    let evidence = finding.facts.posterior.describe_evidence();
    let _ = writeln!(out, "  evidence of use: {evidence}");
    let merged = &finding.entry.merged_from;
    if !merged.is_empty() {
        let merged: Vec<String> = merged.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  merged from: {}", merged.join(", "));
    }
}

/// Appends tags, decay class and entry file.
fn write_filing(out: &mut String, entry: &Entry, content: &Content, folder: &str) {
    let tags: Vec<String> = content
        .tags
        .iter()
        .map(|tag| single_line(tag.as_str()))
        .collect();
    if !tags.is_empty() {
        let _ = writeln!(out, "  tags: {}", tags.join(", "));
    }
    let _ = writeln!(out, "  decay: {}", enum_label(&content.decay));
    if let Some(file) = entry.file_name() {
        let _ = writeln!(out, "  file: {folder}/{file}");
    }
}

/// Returns a text as one line with invisible characters escaped.
pub fn single_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escape_invisible(&words.join(" "))
}
