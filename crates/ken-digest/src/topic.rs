//! Classification of claims: entry kind, and tags from a small vocabulary.

use ken_core::values::kind::EntryKind;

use crate::modality::{Modality, normalize_words};
use crate::source::SourceKind;
use crate::words::{contains_phrase, split_phrases};

/// Tags and the words that indicate them.
const TOPICS: &[(&str, &str)] = &[
    (
        "testing",
        "test, tests, testing, coverage, mock, mocks, pytest, vitest, jest, fixture, fixtures",
    ),
    (
        "build",
        "build, builds, compile, bundler, bundle, makefile, toolchain",
    ),
    (
        "style",
        "format, formatting, lint, linter, linting, indent, indentation, naming, prettier, style, clippy, eslint, rustfmt",
    ),
    (
        "git",
        "commit, commits, branch, branches, merge, rebase, changelog, pull, squash",
    ),
    (
        "security",
        "secret, secrets, credential, credentials, token, tokens, auth, authentication, vulnerability, sanitize",
    ),
    (
        "dependencies",
        "dependency, dependencies, package, packages, lockfile, install",
    ),
    (
        "documentation",
        "documentation, docs, docstring, docstrings, readme, comment, comments",
    ),
    ("ci", "ci, workflow, workflows, pipeline, pre-commit"),
    (
        "errors",
        "error, errors, exception, exceptions, panic, panics",
    ),
    (
        "types",
        "type, types, typing, generics, interface, interfaces",
    ),
    (
        "database",
        "database, migration, migrations, sql, query, queries, schema",
    ),
    ("api", "api, endpoint, endpoints, http, request, requests"),
    (
        "performance",
        "performance, fast, slow, cache, caching, memory, allocation",
    ),
    (
        "architecture",
        "architecture, module, modules, layer, layers, component, components, crate, crates",
    ),
    (
        "release",
        "release, releases, version, versions, publish, deploy, deployment",
    ),
    (
        "concurrency",
        "async, thread, threads, lock, locks, concurrent, race",
    ),
];

/// Maximum number of tags per claim.
const CLAIM_TAGS_MAX: usize = 3;

/// Returns the tags of a claim under `headings`, the best first.
pub(crate) fn assign_tags(text: &str, headings: &[String]) -> Vec<&'static str> {
    let normalized = normalize_words(text);
    let under = normalize_words(headings.last().map_or("", String::as_str));
    let mut scored: Vec<(usize, &'static str)> = TOPICS
        .iter()
        .map(|(tag, words)| {
            let often = |text: &str, weight| {
                let hits = split_phrases(words).filter(|word| text.contains(&format!(" {word} ")));
                hits.count() * weight
            };
            // The heading names the topic on purpose, so it counts double.
            (often(&normalized, 1) + often(&under, 2), *tag)
        })
        .filter(|(score, _)| *score != 0)
        .collect();
    // The sort is stable: equal scores keep the order of the table.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored
        .into_iter()
        .take(CLAIM_TAGS_MAX)
        .map(|(_, tag)| tag)
        .collect()
}

/// Returns the entry kind of a claim.
pub(crate) fn classify_kind(
    source: SourceKind,
    modality: Modality,
    text: &str,
    headings: &[String],
) -> EntryKind {
    let normalized = normalize_words(text);
    let under = normalize_words(&headings.join(" "));
    let says = |phrases: &str| contains_phrase(&normalized, phrases);
    let stands_under = |phrases: &str| contains_phrase(&under, phrases);
    match source {
        // These documents contain only one kind of claim.
        SourceKind::Template | SourceKind::Owners => return EntryKind::PrExpectation,
        SourceKind::Decision => return EntryKind::Decision,
        SourceKind::Instructions
        | SourceKind::Memory
        | SourceKind::Reviewer
        | SourceKind::Lesson
        | SourceKind::Records
        | SourceKind::Contributing => {}
    }
    if normalized.starts_with(" we decided ") || says("we have decided, we've decided, we agreed") {
        return EntryKind::Decision;
    }
    // A norm asks for something; everything else is a learning.
    if !modality.asks() {
        return EntryKind::Learning;
    }
    let commits = "commit message, commit messages, conventional commits, commit subject, commits must, commit title";
    let parts = "message, messages, subject, type, scope, prefix, footer, body";
    // From the most specific to the most general kind: the first match decides.
    if says(commits) || stands_under("commit, commits") && says(parts) {
        return EntryKind::CommitNorm;
    }
    let pulls = "pull request, pull requests, pr, prs, reviewer, reviewers";
    if says(pulls) || stands_under("pull request, pull requests, prs") {
        return EntryKind::PrExpectation;
    }
    let done = "before committing, before you commit, before pushing, before submitting, before opening, \
        definition of done, tests must pass, must pass";
    if says(done) {
        return EntryKind::UserExpectation;
    }
    EntryKind::Convention
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str, heading: &str) -> EntryKind {
        classify_kind(
            SourceKind::Instructions,
            Modality::of(text),
            text,
            &[heading.to_owned()],
        )
    }

    #[test]
    fn claims_are_sorted_by_what_they_ask() {
        assert_eq!(
            kind_of("Commit messages must follow Conventional Commits.", ""),
            EntryKind::CommitNorm
        );
        assert_eq!(
            kind_of("Use the imperative in the subject.", "Commits"),
            EntryKind::CommitNorm
        );
        assert_eq!(
            kind_of("Every pull request needs a test.", ""),
            EntryKind::Learning
        );
        assert_eq!(
            kind_of("Every pull request must have a test.", ""),
            EntryKind::PrExpectation
        );
        assert_eq!(
            kind_of("Run `make lint` before committing.", ""),
            EntryKind::UserExpectation
        );
        assert_eq!(kind_of("Use tabs.", "Style"), EntryKind::Convention);
        assert_eq!(
            kind_of("The parser lives in `src`.", "Layout"),
            EntryKind::Learning
        );
    }

    #[test]
    fn tags_come_from_text_and_heading() {
        assert_eq!(
            assign_tags("Use vitest", &["Testing".to_owned()]),
            ["testing"]
        );
        assert!(assign_tags("Nothing at all", &[]).is_empty());
    }
}
