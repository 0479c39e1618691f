//! Parsers of structured documents: decision records, reviewer knowledge, lessons, records, owners.

use ken_core::values::condition::Glob;
use ken_core::values::content::Content;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use serde::Deserialize;

use crate::block::{BlockKind, MarkdownBlock, parse_blocks};
use crate::claim::{DocumentClaim, build_claim, is_claim};
use crate::modality::Modality;
use crate::sentence::split_sentences;
use crate::source::SourceKind;

/// Statuses of decisions that are not in force.
const NOT_IN_FORCE: [&str; 6] = [
    "superseded",
    "rejected",
    "deprecated",
    "proposed",
    "draft",
    "withdrawn",
];

/// Returns the claim of a decision record that is in force.
pub(crate) fn parse_decision(text: &str) -> Vec<DocumentClaim> {
    let all = parse_blocks(text);
    let under = |block: &MarkdownBlock, name: &str| {
        block
            .headings
            .last()
            .is_some_and(|it| it.to_lowercase().contains(name))
    };
    let status = all
        .iter()
        .filter(|it| under(it, "status"))
        .map(|it| it.text.to_lowercase());
    // Nygard's template has a status section, MADR a front matter key.
    let front = front_matter(text);
    let status = status.chain(front_matter_value(front, "status").map(str::to_lowercase));
    if status
        .into_iter()
        .any(|it| NOT_IN_FORCE.iter().any(|word| it.starts_with(word)))
    {
        return Vec::new();
    }
    // A banner above the first section says so, too: "> **Superseded** by ADR 12".
    let is_banner = |it: &&MarkdownBlock| it.headings.len() <= 1 && !under(it, "decision");
    let said = |it: &MarkdownBlock| prose_start(&it.text).starts_with("superseded");
    if all.iter().take_while(is_banner).any(said) {
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
    // The title takes one of the sentences a statement may have.
    let first_sentences: Vec<&str> = split_sentences(&outcome.text)
        .into_iter()
        .take(Statement::SENTENCES_MAX - 1)
        .collect();
    let summary = first_sentences.join(" ");
    let text = if title.is_empty() {
        summary
    } else {
        format!("{title}: {summary}")
    };
    let modality = Modality::of(&text);
    vec![build_claim(SourceKind::Decision, outcome, text, modality)]
}

/// Returns a text in lower case without marks and "Status:" at its start.
fn prose_start(text: &str) -> String {
    let lower = text.to_lowercase();
    let start = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start = start.strip_prefix("status").unwrap_or(start);
    start
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_owned()
}

/// Sections of a reviewer's file and the entry kind of their items.
const SECTIONS: [(&str, EntryKind); 6] = [
    ("incident", EntryKind::Incident),
    ("false positive", EntryKind::FalsePositive),
    ("pattern", EntryKind::Pattern),
    ("rule", EntryKind::Convention),
    ("context", EntryKind::Learning),
    ("learned", EntryKind::Learning),
];

/// Returns the items of a reviewer's file, with the kind of their section.
pub(crate) fn parse_reviewer(text: &str) -> Vec<DocumentClaim> {
    let items = parse_blocks(text)
        .into_iter()
        .filter(|it| it.kind == BlockKind::Item);
    let claim = |block: MarkdownBlock| {
        let heading = block.headings.last()?.to_lowercase();
        let (_, kind) = SECTIONS.iter().find(|(word, _)| heading.contains(word))?;
        let text = strip_stamp(&block.text);
        let modality = Modality::of(text);
        (text.split_whitespace().count() >= 4).then(|| DocumentClaim {
            kind: *kind,
            ..build_claim(SourceKind::Reviewer, &block, text.to_owned(), modality)
        })
    };
    items.filter_map(claim).collect()
}

/// Strips the leading date and the trailing source of an item.
fn strip_stamp(text: &str) -> &str {
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

/// Returns the claim of a lesson file, or `None` if the file is not a lesson.
pub(crate) fn parse_lesson(text: &str) -> Option<Vec<DocumentClaim>> {
    let front = front_matter(text);
    // Other Markdown files in `knowledge/` are plain documents and have neither key.
    front_matter_value(front, "lastConfirmed")
        .or_else(|| front_matter_value(front, "provenance"))?;
    let (mut claim, mut verify) = (None::<DocumentClaim>, Vec::new());
    let mut evidence = Vec::new();
    let mut part = "";
    for block in parse_blocks(text) {
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
        // A label or heading opens a part, items continue it, an unlabeled paragraph ends it.
        part = named
            .or(headed)
            .unwrap_or(if block.kind == BlockKind::Paragraph {
                ""
            } else {
                part
            });
        let after_label = block
            .text
            .split_once(':')
            .map_or(block.text.as_str(), |(_, rest)| rest)
            .trim();
        let content = if named.is_some() {
            after_label
        } else {
            block.text.as_str()
        };
        if part == "evidence" {
            evidence.extend(crate::mention::find_mentions(content, &block.links));
        } else if part == "verify" && !content.is_empty() {
            verify.push(content.to_owned());
        } else if claim.is_none() && block.kind == BlockKind::Paragraph {
            let first_sentences: Vec<&str> = split_sentences(&block.text)
                .into_iter()
                .take(Statement::SENTENCES_MAX)
                .collect();
            let text = first_sentences.join(" ");
            let modality = Modality::of(&text);
            claim = Some(build_claim(SourceKind::Lesson, &block, text, modality));
        }
    }
    let mut claim = claim?;
    claim.mentions.extend(evidence);
    claim.verify = verify;
    Some(vec![claim])
}

/// One line of a record file.
#[derive(Deserialize)]
#[serde(default)]
struct ExpertiseRecord {
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

impl Default for ExpertiseRecord {
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

/// Returns one claim per record; skips lines that are not records.
pub(crate) fn parse_records(text: &str) -> Vec<DocumentClaim> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(place, line)| claim_from_record(serde_json::from_str(line).ok()?, place + 1))
        .collect()
}

fn claim_from_record(record: ExpertiseRecord, line: usize) -> Option<DocumentClaim> {
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
    let text = split_sentences(&text)
        .into_iter()
        .take(Statement::SENTENCES_MAX)
        .collect::<Vec<_>>()
        .join(" ");
    let block = MarkdownBlock {
        links: record.files,
        line,
        last_line: line,
        ..MarkdownBlock::bare(BlockKind::Item, text.clone())
    };
    let modality = Modality::of(&text);
    let kind = match record.kind.as_str() {
        "convention" => EntryKind::Convention,
        "pattern" => EntryKind::Pattern,
        "failure" => EntryKind::AntiPattern,
        "decision" => EntryKind::Decision,
        _ => EntryKind::Learning,
    };
    // A record was written as knowledge, so it needs no verb; `Must` lowers the bar accordingly.
    is_claim(&text, Modality::Must).then(|| DocumentClaim {
        kind,
        ..build_claim(SourceKind::Records, &block, text, modality)
    })
}

/// Returns one claim per line of a CODEOWNERS file.
pub(crate) fn parse_owners(text: &str) -> Vec<DocumentClaim> {
    let mut found = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next() else {
            continue;
        };
        let owners: Vec<&str> = words.filter(|it| it.contains('@')).collect();
        // GitLab has section headers in brackets; a pattern without owners clears earlier ones.
        if owners.is_empty() || pattern.starts_with('[') {
            continue;
        }
        // Without its files, the rule would seem to apply everywhere.
        let Some(applies_to) = globs_of_pattern(pattern) else {
            continue;
        };
        let text = format!(
            "Changes to `{pattern}` must be reviewed by {}.",
            owners.join(" or ")
        );
        let block = MarkdownBlock {
            line: place + 1,
            last_line: place + 1,
            ..MarkdownBlock::bare(BlockKind::Item, text.clone())
        };
        // The glob pattern does not name a file.
        let made = build_claim(SourceKind::Owners, &block, text, Modality::Must);
        found.push(DocumentClaim {
            mentions: Vec::new(),
            applies_to,
            ..made
        });
    }
    found
}

/// Converts a pattern of a document to globs; empty if it matches every file, `None` if it
/// is not a valid pattern.
///
/// The rules are those of `.gitignore`: a pattern with a slash starts at the root, any other
/// matches at every depth, and a pattern that names a folder covers everything below it.
fn globs_of_pattern(pattern: &str) -> Option<Vec<Glob>> {
    if ["*", "**", "/**", "/*/**", "/"].contains(&pattern) {
        return Some(Vec::new());
    }
    let path = pattern.trim_end_matches('/');
    let rooted = match path.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if path.contains('/') => path.to_owned(),
        None => format!("**/{path}"),
    };
    let below = format!("{rooted}/**");
    let last = rooted.rsplit('/').next().unwrap_or_default();
    // A last part with a wildcard names files: `docs/*` does not cover `docs/a/b.md`.
    let is_wild = last.contains(['*', '?']);
    let globs = match (pattern.ends_with('/'), is_wild) {
        (true, _) => vec![below],
        (false, true) => vec![rooted],
        (false, false) => vec![rooted, below],
    };
    globs.iter().map(|it| it.parse().ok()).collect()
}

/// Keys of the front matter of rule files that list the files a rule applies to.
const SCOPE_KEYS: [&str; 3] = ["globs", "applyTo", "paths"];

/// Returns the globs of the files that a rule file applies to; empty if it applies to every file,
/// or if one of its patterns cannot be read.
pub(crate) fn scope_globs(text: &str) -> Vec<Glob> {
    let front = front_matter(text);
    if front_matter_value(front, "alwaysApply") == Some("true") {
        return Vec::new();
    }
    let globs: Option<Vec<Vec<Glob>>> = SCOPE_KEYS
        .iter()
        .flat_map(|key| front_matter_list(front, key))
        .map(|it| globs_of_pattern(&it).filter(|globs| !globs.is_empty()))
        .collect();
    let globs = globs.unwrap_or_default().concat();
    if globs.len() > Content::GLOBS_MAX {
        return Vec::new();
    }
    globs
}

/// Returns the values of a list, written in the line of the key (`a, b` or `["a", "b"]`) or one
/// per line.
fn front_matter_list(front: &str, key: &str) -> Vec<String> {
    let Some(inline) = front_matter_value(front, key) else {
        return Vec::new();
    };
    let mut values = Vec::new();
    if inline.is_empty() {
        let lines = front.lines().skip_while(|line| {
            let name = line.split_once(':').map(|(name, _)| name.trim());
            name != Some(key)
        });
        let items = lines.skip(1).map_while(|it| it.trim().strip_prefix("- "));
        values.extend(items.map(str::to_owned));
    } else {
        let mut depth = 0_usize;
        let of = |c: char| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            // The commas of `{ts,tsx}` belong to the pattern.
            c == ',' && depth == 0
        };
        let inline = inline.trim_start_matches('[').trim_end_matches(']');
        values.extend(inline.split(of).map(str::to_owned));
    }
    let plain = values
        .iter()
        .map(|it| it.trim().trim_matches(['"', '\'']).to_owned());
    plain.filter(|it| !it.is_empty()).collect()
}

/// Returns the text between the `---` lines at the start of a document.
fn front_matter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n");
    rest.and_then(|rest| rest.split_once("\n---"))
        .map_or("", |(front, _)| front)
}

fn front_matter_value<'t>(front: &'t str, key: &str) -> Option<&'t str> {
    let mut lines = front.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract_claims;

    #[test]
    fn a_decision_in_force_is_one_claim() {
        let text = "# 7. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision Outcome\n\nChosen option: PostgreSQL, because we know it. It is free. It is fast.\n";
        let found = extract_claims(SourceKind::Decision, text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].text,
            "Use PostgreSQL: Chosen option: PostgreSQL, because we know it. It is free."
        );
        assert_eq!(found[0].kind, EntryKind::Decision);
        assert!(
            extract_claims(
                SourceKind::Decision,
                &text.replace("Accepted", "Superseded by 9")
            )
            .is_empty()
        );
        let front = format!(
            "---\nstatus: \"rejected\"\n---\n{}",
            text.replace("Accepted", "")
        );
        assert!(extract_claims(SourceKind::Decision, &front).is_empty());
        let banner = "# 7. Use PostgreSQL\n\n> **Superseded** by 9; kept for the record.\n\n## Decision\n\nWe use PostgreSQL.\n";
        assert!(extract_claims(SourceKind::Decision, banner).is_empty());
    }

    #[test]
    fn sections_of_a_reviewer_say_the_kind() {
        let text = "# Knowledge\n\n## Patterns Found\n\n- [2026-01-02] SQL strings in `db.py` are built by hand (Source: review-7)\n\n## False Positives to Avoid\n\n- Shell calls in `tools/` are fine\n\n## Other\n\n- nothing here at all\n";
        let found = extract_claims(SourceKind::Reviewer, text);
        let actual: Vec<_> = found.iter().map(|it| (it.kind, it.text.as_str())).collect();
        assert_eq!(
            actual,
            [
                (
                    EntryKind::Pattern,
                    "SQL strings in `db.py` are built by hand"
                ),
                (EntryKind::FalsePositive, "Shell calls in `tools/` are fine"),
            ]
        );
    }

    #[test]
    fn a_lesson_brings_evidence_and_steps() {
        let text = "---\nlastConfirmed: 2026-02-22\nprovenance: independent\n---\nRetries need a key.\n\nEvidence: `src/pay.rs` and `src/retry.rs`\n\nVerify: run `cargo test pay`\n";
        let found = extract_claims(SourceKind::Lesson, text);
        assert_eq!(found[0].text, "Retries need a key.");
        assert_eq!(found[0].mentions.len(), 2);
        assert_eq!(found[0].verify, ["run `cargo test pay`"]);
        let plain = extract_claims(SourceKind::Lesson, "Tests must pass before merging.\n");
        assert_eq!(plain.len(), 1);
    }

    #[test]
    fn records_and_owners_are_read_by_line() {
        let text = "{\"type\":\"failure\",\"description\":\"Deploys fail without a lock\",\"resolution\":\"Take it first\"}\nnot json\n{\"type\":\"pattern\",\"name\":\"retry\",\"description\":\"wrap calls in retry\",\"files\":[\"src/a.ts\"]}\n";
        let found = extract_claims(SourceKind::Records, text);
        let actual: Vec<_> = found
            .iter()
            .map(|it| (it.line, it.kind, it.text.as_str()))
            .collect();
        assert_eq!(
            actual,
            [
                (
                    1,
                    EntryKind::AntiPattern,
                    "Deploys fail without a lock Take it first"
                ),
                (3, EntryKind::Pattern, "retry: wrap calls in retry"),
            ]
        );
        assert_eq!(found[1].mentions[0].text, "src/a.ts");
        let found = extract_claims(
            SourceKind::Owners,
            "# who\n*.rs @core-team # all\n\n/docs/\n",
        );
        assert_eq!(
            found[0].text,
            "Changes to `*.rs` must be reviewed by @core-team."
        );
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_owner_owns_the_files_of_the_pattern() {
        for (pattern, wanted) in [
            ("*", &[][..]),
            ("*.rs", &["**/*.rs"]),
            ("/core/", &["core/**"]),
            ("apps/", &["**/apps/**"]),
            ("/Cargo.toml", &["Cargo.toml", "Cargo.toml/**"]),
            ("docs/*", &["docs/*"]),
            ("/src/**/a.rs", &["src/**/a.rs", "src/**/a.rs/**"]),
        ] {
            let found = extract_claims(SourceKind::Owners, &format!("{pattern} @a"));
            let globs: Vec<&str> = found[0].applies_to.iter().map(Glob::as_str).collect();
            assert_eq!(globs, wanted, "{pattern}");
        }
        assert!(extract_claims(SourceKind::Owners, "/a**b @a").is_empty());
    }

    #[test]
    fn a_rule_file_names_the_files_it_applies_to() {
        for (front, wanted) in [
            ("description: Style", &[][..]),
            ("globs: *.ts", &["**/*.ts"]),
            (
                "globs: src/*.{ts,tsx}, docs/*",
                &["src/*.{ts,tsx}", "docs/*"],
            ),
            ("globs: [\"src/*.ts\", 'a/*']", &["src/*.ts", "a/*"]),
            ("globs: *.ts\nalwaysApply: true", &[]),
            ("applyTo: \"web/**/*.md\"", &["web/**/*.md"]),
            ("applyTo: '**'", &[]),
            (
                "paths:\n  - src/*.rs\n  - \"b/*\"\nname: x",
                &["src/*.rs", "b/*"],
            ),
        ] {
            let text = format!("---\n{front}\n---\n\n- Always use tabs in new files.\n");
            let found = extract_claims(SourceKind::Instructions, &text);
            let globs: Vec<&str> = found[0].applies_to.iter().map(Glob::as_str).collect();
            assert_eq!(globs, wanted, "{front}");
        }
    }
}
