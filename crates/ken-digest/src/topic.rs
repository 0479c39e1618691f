//! What a claim is about: its kind, and tags from a small vocabulary.

use ken_core::kind::Kind;

use crate::modality::{Modality, spoken};
use crate::source::SourceKind;
use crate::words::{each, has};

/// Tags and the words that speak for them.
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

/// Tags one claim gets at most.
const TAGS_MAX: usize = 3;

/// Returns the tags a claim under `headings` earns.
pub(crate) fn tags(text: &str, headings: &[String]) -> Vec<&'static str> {
    let told = spoken(text);
    let under = spoken(headings.last().map_or("", String::as_str));
    let mut scored: Vec<(usize, &'static str)> = TOPICS
        .iter()
        .map(|(tag, words)| {
            let often = |text: &str, weight| {
                let hits = each(words).filter(|word| text.contains(&format!(" {word} ")));
                hits.count() * weight
            };
            (often(&told, 1) + often(&under, 2), *tag)
        })
        .filter(|(score, _)| *score != 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored
        .into_iter()
        .take(TAGS_MAX)
        .map(|(_, tag)| tag)
        .collect()
}

/// Returns what kind of entry a claim would be.
pub(crate) fn kind(
    source: SourceKind,
    modality: Modality,
    text: &str,
    headings: &[String],
) -> Kind {
    let told = spoken(text);
    let under = spoken(&headings.join(" "));
    let says = |phrases: &str| has(&told, phrases);
    let stands_under = |phrases: &str| has(&under, phrases);
    match source {
        SourceKind::Template | SourceKind::Owners => return Kind::PrExpectation,
        SourceKind::Decision => return Kind::Decision,
        SourceKind::Instructions
        | SourceKind::Memory
        | SourceKind::Reviewer
        | SourceKind::Lesson
        | SourceKind::Records
        | SourceKind::Contributing => {}
    }
    if !modality.asks() {
        return Kind::Learning;
    }
    let commits = "commit message, commit messages, conventional commits, commit subject, commits must, commit title";
    let parts = "message, messages, subject, type, scope, prefix, footer, body";
    if says(commits) || stands_under("commit, commits") && says(parts) {
        return Kind::CommitNorm;
    }
    let pulls = "pull request, pull requests, pr, prs, reviewer, reviewers";
    if says(pulls) || stands_under("pull request, pull requests, prs") {
        return Kind::PrExpectation;
    }
    let done = "before committing, before you commit, before pushing, before submitting, before opening, \
        definition of done, tests must pass, must pass";
    if says(done) {
        return Kind::UserExpectation;
    }
    Kind::Convention
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str, heading: &str) -> Kind {
        kind(
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
            Kind::CommitNorm
        );
        assert_eq!(
            kind_of("Use the imperative in the subject.", "Commits"),
            Kind::CommitNorm
        );
        assert_eq!(
            kind_of("Every pull request needs a test.", ""),
            Kind::Learning
        );
        assert_eq!(
            kind_of("Every pull request must have a test.", ""),
            Kind::PrExpectation
        );
        assert_eq!(
            kind_of("Run `make lint` before committing.", ""),
            Kind::UserExpectation
        );
        assert_eq!(kind_of("Use tabs.", "Style"), Kind::Convention);
        assert_eq!(
            kind_of("The parser lives in `src`.", "Layout"),
            Kind::Learning
        );
    }

    #[test]
    fn tags_come_from_text_and_heading() {
        assert_eq!(tags("Use vitest", &["Testing".to_owned()]), ["testing"]);
        assert!(tags("Nothing at all", &[]).is_empty());
    }
}
