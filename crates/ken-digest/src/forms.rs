//! Documents with a form of their own: decision records, knowledge of reviewers, lessons, records, owners.

use ken_core::kind::Kind;
use ken_core::text::Statement;
use serde::Deserialize;

use crate::block::{Block, BlockKind, blocks};
use crate::claim::{Found, is_claim, make};
use crate::modality::Modality;
use crate::sentence::sentences;
use crate::source::SourceKind;

/// States of a decision that nobody goes by.
const NOT_IN_FORCE: [&str; 6] = [
    "superseded",
    "rejected",
    "deprecated",
    "proposed",
    "draft",
    "withdrawn",
];

/// Returns the one claim of a decision record that is in force.
pub(crate) fn decision(text: &str) -> Vec<Found> {
    let all = blocks(text);
    let under = |block: &Block, name: &str| {
        block
            .headings
            .last()
            .is_some_and(|it| it.to_lowercase().contains(name))
    };
    let status = all
        .iter()
        .filter(|it| under(it, "status"))
        .map(|it| it.text.to_lowercase());
    let front = front_matter(text);
    let status = status.chain(value_of(front, "status").map(str::to_lowercase));
    if status
        .into_iter()
        .any(|it| NOT_IN_FORCE.iter().any(|word| it.starts_with(word)))
    {
        return Vec::new();
    }
    let Some(outcome) = all
        .iter()
        .find(|it| under(it, "decision") && it.kind != BlockKind::Shell)
    else {
        return Vec::new();
    };
    let title = outcome.headings.first().cloned().unwrap_or_default();
    let title = title
        .trim_start_matches(|c: char| c.is_ascii_digit() || ".:-– ".contains(c))
        .trim_end_matches('.');
    let said: Vec<&str> = sentences(&outcome.text)
        .into_iter()
        .take(Statement::SENTENCES_MAX - 1)
        .collect();
    let said = said.join(" ");
    let text = if title.is_empty() {
        said
    } else {
        format!("{title}: {said}")
    };
    let modality = Modality::of(&text);
    vec![make(SourceKind::Decision, outcome, text, modality)]
}

/// Sections of a reviewer's file and the kind of what stands in them.
const SECTIONS: [(&str, Kind); 6] = [
    ("incident", Kind::Incident),
    ("false positive", Kind::FalsePositive),
    ("pattern", Kind::Pattern),
    ("rule", Kind::Convention),
    ("context", Kind::Learning),
    ("learned", Kind::Learning),
];

/// Returns the items of a reviewer's file, each of the kind of its section.
pub(crate) fn reviewer(text: &str) -> Vec<Found> {
    let items = blocks(text)
        .into_iter()
        .filter(|it| it.kind == BlockKind::Item);
    let claim = |block: Block| {
        let heading = block.headings.last()?.to_lowercase();
        let (_, kind) = SECTIONS.iter().find(|(word, _)| heading.contains(word))?;
        let text = without_stamp(&block.text);
        let modality = Modality::of(text);
        (4 <= text.split_whitespace().count()).then(|| Found {
            kind: *kind,
            ..make(SourceKind::Reviewer, &block, text.to_owned(), modality)
        })
    };
    items.filter_map(claim).collect()
}

/// Returns an item without its date in front and its source behind.
fn without_stamp(text: &str) -> &str {
    let rest = text.strip_prefix('[').and_then(|it| it.split_once(']'));
    let text = match rest {
        Some((date, rest)) if date.chars().all(|c| c.is_ascii_digit() || c == '-') => rest.trim(),
        Some(_) | None => text,
    };
    match text.rfind("(Source:") {
        Some(at) if text.ends_with(')') => text[..at].trim(),
        Some(_) | None => text,
    }
}

/// Returns the one claim of a lesson's file; `None` if it has not that form.
pub(crate) fn lesson(text: &str) -> Option<Vec<Found>> {
    let front = front_matter(text);
    value_of(front, "lastConfirmed").or_else(|| value_of(front, "provenance"))?;
    let (mut claim, mut verify) = (None::<Found>, Vec::new());
    let mut evidence = Vec::new();
    let mut part = "";
    for block in blocks(text) {
        let lower = block.text.to_lowercase();
        let named = ["evidence", "verify"]
            .into_iter()
            .find(|it| lower.starts_with(&format!("{it}:")));
        let under = block
            .headings
            .last()
            .map(|it| it.to_lowercase())
            .unwrap_or_default();
        let headed = ["evidence", "verify"]
            .into_iter()
            .find(|it| under.starts_with(it));
        part = named
            .or(headed)
            .unwrap_or(if block.kind == BlockKind::Paragraph {
                ""
            } else {
                part
            });
        let said = block
            .text
            .split_once(':')
            .map_or(block.text.as_str(), |(_, rest)| rest)
            .trim();
        let said = if named.is_some() {
            said
        } else {
            block.text.as_str()
        };
        if part == "evidence" {
            evidence.extend(crate::mention::mentions(said, &block.links));
        } else if part == "verify" && !said.is_empty() {
            verify.push(said.to_owned());
        } else if claim.is_none() && block.kind == BlockKind::Paragraph {
            let told: Vec<&str> = sentences(&block.text)
                .into_iter()
                .take(Statement::SENTENCES_MAX)
                .collect();
            let told = told.join(" ");
            let modality = Modality::of(&told);
            claim = Some(make(SourceKind::Lesson, &block, told, modality));
        }
    }
    let mut claim = claim?;
    claim.mentions.extend(evidence);
    claim.verify = verify;
    Some(vec![claim])
}

/// One line of a file of records.
#[derive(Deserialize)]
#[serde(default)]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    content: String,
    name: String,
    title: String,
    description: String,
    rationale: String,
    resolution: String,
    files: Vec<String>,
}

impl Default for Record {
    fn default() -> Self {
        let text = String::new;
        Self {
            kind: text(),
            content: text(),
            name: text(),
            title: text(),
            description: text(),
            rationale: text(),
            resolution: text(),
            files: Vec::new(),
        }
    }
}

/// Returns a claim a record; lines that are none are passed over.
pub(crate) fn records(text: &str) -> Vec<Found> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(place, line)| record(serde_json::from_str(line).ok()?, place + 1))
        .collect()
}

fn record(record: Record, line: usize) -> Option<Found> {
    let head = [&record.title, &record.name]
        .into_iter()
        .find(|it| !it.is_empty());
    let parts = [
        &record.content,
        &record.description,
        &record.rationale,
        &record.resolution,
    ];
    let body: Vec<&str> = parts
        .iter()
        .map(|it| it.trim())
        .filter(|it| !it.is_empty())
        .collect();
    let body = body.join(" ");
    let text = match head {
        Some(head) if !body.is_empty() => format!("{head}: {body}"),
        Some(head) => head.clone(),
        None => body,
    };
    let text = sentences(&text)
        .into_iter()
        .take(Statement::SENTENCES_MAX)
        .collect::<Vec<_>>()
        .join(" ");
    let block = Block {
        links: record.files,
        line,
        last_line: line,
        ..Block::bare(BlockKind::Item, text.clone())
    };
    let modality = Modality::of(&text);
    let kind = match record.kind.as_str() {
        "convention" => Kind::Convention,
        "pattern" => Kind::Pattern,
        "failure" => Kind::AntiPattern,
        "decision" => Kind::Decision,
        _ => Kind::Learning,
    };
    is_claim(&text, Modality::Must).then(|| Found {
        kind,
        ..make(SourceKind::Records, &block, text, modality)
    })
}

/// Returns who reviews what, a claim a line.
pub(crate) fn owners(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next() else {
            continue;
        };
        let who: Vec<&str> = words.filter(|it| it.contains('@')).collect();
        if who.is_empty() || pattern.starts_with('[') {
            continue;
        }
        let text = format!(
            "Changes to `{pattern}` must be reviewed by {}.",
            who.join(" or ")
        );
        let block = Block {
            line: place + 1,
            last_line: place + 1,
            ..Block::bare(BlockKind::Item, text.clone())
        };
        // A pattern is no citation of a file.
        let made = make(SourceKind::Owners, &block, text, Modality::Must);
        found.push(Found {
            mentions: Vec::new(),
            ..made
        });
    }
    found
}

/// Returns what stands between the two lines of dashes a document begins with.
fn front_matter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n");
    rest.and_then(|rest| rest.split_once("\n---"))
        .map_or("", |(front, _)| front)
}

fn value_of<'t>(front: &'t str, key: &str) -> Option<&'t str> {
    let mut lines = front.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;

    #[test]
    fn a_decision_in_force_is_one_claim() {
        let text = "# 7. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision Outcome\n\nChosen option: PostgreSQL, because we know it. It is free. It is fast.\n";
        let found = claims(SourceKind::Decision, text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].text,
            "Use PostgreSQL: Chosen option: PostgreSQL, because we know it. It is free."
        );
        assert_eq!(found[0].kind, Kind::Decision);
        assert!(
            claims(
                SourceKind::Decision,
                &text.replace("Accepted", "Superseded by 9")
            )
            .is_empty()
        );
        let front = format!(
            "---\nstatus: \"rejected\"\n---\n{}",
            text.replace("Accepted", "")
        );
        assert!(claims(SourceKind::Decision, &front).is_empty());
    }

    #[test]
    fn sections_of_a_reviewer_say_the_kind() {
        let text = "# Knowledge\n\n## Patterns Found\n\n- [2026-01-02] SQL strings in `db.py` are built by hand (Source: review-7)\n\n## False Positives to Avoid\n\n- Shell calls in `tools/` are fine\n\n## Other\n\n- nothing here at all\n";
        let found = claims(SourceKind::Reviewer, text);
        let told: Vec<_> = found.iter().map(|it| (it.kind, it.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Kind::Pattern, "SQL strings in `db.py` are built by hand"),
                (Kind::FalsePositive, "Shell calls in `tools/` are fine"),
            ]
        );
    }

    #[test]
    fn a_lesson_brings_evidence_and_steps() {
        let text = "---\nlastConfirmed: 2026-02-22\nprovenance: independent\n---\nRetries need a key.\n\nEvidence: `src/pay.rs` and `src/retry.rs`\n\nVerify: run `cargo test pay`\n";
        let found = claims(SourceKind::Lesson, text);
        assert_eq!(found[0].text, "Retries need a key.");
        assert_eq!(found[0].mentions.len(), 2);
        assert_eq!(found[0].verify, ["run `cargo test pay`"]);
        let plain = claims(SourceKind::Lesson, "Tests must pass before merging.\n");
        assert_eq!(plain.len(), 1);
    }

    #[test]
    fn records_and_owners_are_read_by_line() {
        let text = "{\"type\":\"failure\",\"description\":\"Deploys fail without a lock\",\"resolution\":\"Take it first\"}\nnot json\n{\"type\":\"pattern\",\"name\":\"retry\",\"description\":\"wrap calls in retry\",\"files\":[\"src/a.ts\"]}\n";
        let found = claims(SourceKind::Records, text);
        let told: Vec<_> = found
            .iter()
            .map(|it| (it.line, it.kind, it.text.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    1,
                    Kind::AntiPattern,
                    "Deploys fail without a lock Take it first"
                ),
                (3, Kind::Pattern, "retry: wrap calls in retry"),
            ]
        );
        assert_eq!(found[1].mentions[0].text, "src/a.ts");
        let found = claims(
            SourceKind::Owners,
            "# who\n*.rs @core-team # all\n\n/docs/\n",
        );
        assert_eq!(
            found[0].text,
            "Changes to `*.rs` must be reviewed by @core-team."
        );
        assert_eq!(found.len(), 1);
    }
}
