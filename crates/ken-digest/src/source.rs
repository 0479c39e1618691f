//! Recognition of knowledge documents by file path alone.

use serde::Serialize;

/// Kind of a knowledge document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Instructions for agents: `CLAUDE.md`, `AGENTS.md`, editor rules.
    Instructions,
    /// Notes that agents keep for themselves.
    Memory,
    /// Knowledge of a reviewer, by section: `KNOWLEDGE.md`.
    Reviewer,
    /// One lesson per file, with its evidence: `knowledge/*.md`.
    Lesson,
    /// One JSON object per line: `.mulch/expertise/*.jsonl`.
    Records,
    /// A decision record.
    Decision,
    /// Contribution guide: `CONTRIBUTING.md`.
    Contributing,
    /// Pull request template.
    Template,
    /// Code owners.
    Owners,
}

/// Folders with third-party files or examples.
const FOREIGN: [&str; 14] = [
    "node_modules",
    "vendor",
    "third_party",
    "third-party",
    "site-packages",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test-data",
    "snapshots",
    "templates",
    "dist",
    "assets",
    "bundle",
];

/// Parts of names and folders of documents that no longer apply.
const SUPERSEDED: [&str; 6] = [
    "old",
    "archive",
    "archived",
    "deprecated",
    "obsolete",
    "bak",
];

/// Names of instruction files, in lower case.
const INSTRUCTIONS: [&str; 12] = [
    "claude.md",
    "claude.local.md",
    "agents.md",
    "agents.override.md",
    "agent.md",
    "gemini.md",
    "qwen.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
];

/// Folders whose Markdown files are instructions.
const RULE_FOLDERS: [&str; 7] = [
    ".cursor/rules",
    ".windsurf/rules",
    ".claude/rules",
    ".clinerules",
    ".github/instructions",
    ".junie",
    ".roo/rules",
];

/// Folders of agent memories.
const MEMORY_FOLDERS: [&str; 3] = [".serena/memories", ".claude/agent-memory", "agent-memory"];

/// Folders of decision records.
const DECISION_FOLDERS: [&str; 5] = [
    "adr",
    "adrs",
    "decisions",
    "architecture-decisions",
    "decision-records",
];

/// Returns the kind of the document at `path`, or `None` for other files.
pub fn source_kind(path: &str) -> Option<SourceKind> {
    let lower = path.to_ascii_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    // Before all other rules, because a fixture may contain any of these files.
    if folder.split('/').any(|part| FOREIGN.contains(&part)) {
        return None;
    }
    let mut parts = name.split(['.', '-', '_']).chain(folder.split('/'));
    if parts.any(|part| SUPERSEDED.contains(&part)) {
        return None;
    }
    let below = |root: &str| {
        let at_start = folder == root || folder.starts_with(&format!("{root}/"));
        at_start || format!("{folder}/").contains(&format!("/{root}/"))
    };
    let markdown = [".md", ".mdc", ".markdown"];
    let is_markdown = markdown.iter().any(|ending| name.ends_with(ending));
    // Commands and skills describe one task, not the repository.
    if [".claude/commands", ".claude/agents", ".claude/skills"]
        .iter()
        .any(|it| below(it))
    {
        return None;
    }
    // `docs/agents.md` is a page about agents, `docs/AGENTS.md` is for them.
    let original_name = path.rsplit('/').next().unwrap_or(path);
    let original_stem = original_name.split('.').next().unwrap_or_default();
    let is_uppercase = original_stem.chars().all(|c| !c.is_lowercase());
    let is_for_agents = is_uppercase || folder.is_empty() || name == "copilot-instructions.md";
    if is_for_agents && INSTRUCTIONS.contains(&name)
        || is_markdown && RULE_FOLDERS.iter().any(|it| below(it))
    {
        return Some(SourceKind::Instructions);
    }
    if is_for_agents && name == "memory.md"
        || is_markdown && MEMORY_FOLDERS.iter().any(|it| below(it))
    {
        return Some(SourceKind::Memory);
    }
    if name == "codeowners" {
        return Some(SourceKind::Owners);
    }
    if below(".mulch/expertise") && name.ends_with(".jsonl") {
        return Some(SourceKind::Records);
    }
    let stem = name.split('.').next().unwrap_or(name);
    if stem == "pull_request_template" || is_markdown && below("pull_request_template") {
        return Some(SourceKind::Template);
    }
    if stem == "contributing" && (is_markdown || name == "contributing" || name.ends_with(".txt")) {
        return Some(SourceKind::Contributing);
    }
    if !is_markdown {
        return None;
    }
    let parent = folder.rsplit('/').next().unwrap_or(folder);
    // Indexes and templates in the same folder have no number.
    let is_record = name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with("adr");
    if DECISION_FOLDERS.contains(&parent) && is_record && !name.contains("template") {
        return Some(SourceKind::Decision);
    }
    if is_for_agents && name == "knowledge.md" {
        return Some(SourceKind::Reviewer);
    }
    let is_lesson = parent == "knowledge" && !["readme.md", "index.md"].contains(&name);
    is_lesson.then_some(SourceKind::Lesson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_known_by_their_path() {
        use SourceKind::*;
        for (path, expected) in [
            ("CLAUDE.md", Some(Instructions)),
            ("packages/web/AGENTS.md", Some(Instructions)),
            (".cursor/rules/testing.mdc", Some(Instructions)),
            ("web/.cursor/rules/deep/a.mdc", Some(Instructions)),
            (".github/copilot-instructions.md", Some(Instructions)),
            ("GEMINI.md", Some(Instructions)),
            (".cursorrules", Some(Instructions)),
            ("MEMORY.md", Some(Memory)),
            (".serena/memories/style.md", Some(Memory)),
            (".claude/agent-memory/reviewer/MEMORY.md", Some(Memory)),
            (".mulch/expertise/cli.jsonl", Some(Records)),
            (".mulch/mulch.config.yaml", None),
            ("docs/adr/0001-use-postgres.md", Some(Decision)),
            ("docs/adr/README.md", None),
            ("docs/decisions/adr-template.md", None),
            ("docs/decisions/0007-x.md", Some(Decision)),
            ("reviewers/security/KNOWLEDGE.md", Some(Reviewer)),
            ("plugin/knowledge/retry-keys.md", Some(Lesson)),
            ("CONTRIBUTING.md", Some(Contributing)),
            (".github/CONTRIBUTING.markdown", Some(Contributing)),
            ("CONTRIBUTING.rst", None),
            ("CONTRIBUTING.old.md", None),
            ("docs/archive/CLAUDE.md", None),
            (".github/PULL_REQUEST_TEMPLATE.md", Some(Template)),
            (".github/PULL_REQUEST_TEMPLATE/feature.md", Some(Template)),
            (".github/CODEOWNERS", Some(Owners)),
            ("README.md", None),
            ("agents.md", Some(Instructions)),
            ("docs/agents.md", None),
            ("docs/sandbox/memory.md", None),
            ("node_modules/a/CLAUDE.md", None),
            ("tests/fixtures/AGENTS.md", None),
            (".claude/commands/agents.md", None),
        ] {
            assert_eq!(source_kind(path), expected, "{path}");
        }
    }
}
