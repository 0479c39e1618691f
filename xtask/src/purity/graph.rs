//! The crate graph of `ARCHITECTURE.md`, compared with the workspace's dependencies.
//!
//! The document has a fenced block below [`MARK`]: one line per crate, `ken-index -> ken-core,
//! ken-embed`, and the bare name for a crate that uses none of ours. Dependencies for tests and
//! build scripts are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::Metadata;
use xtask::repository::Finding;

pub(super) const DOCUMENT: &str = "ARCHITECTURE.md";

/// The line before the block.
const MARK: &str = "<!-- crate-graph -->";

/// One line of the block.
struct GraphLine<'a> {
    number: usize,
    targets: BTreeSet<&'a str>,
}

pub(super) fn check(document: &str, metadata: &Metadata) -> Vec<Finding> {
    let Some((mark, written)) = read_block(document) else {
        let message = format!("has no fenced block below `{MARK}`");
        return vec![Finding::new(DOCUMENT, 1, message)];
    };
    let mut findings = Vec::new();
    let mut report = |line, message| findings.push(Finding::new(DOCUMENT, line, message));
    let mut lines: BTreeMap<&str, GraphLine<'_>> = BTreeMap::new();
    for (name, line) in written {
        if !metadata.packages.iter().any(|it| it.name == name) {
            report(line.number, format!("`{name}` is not a crate of ours"));
        } else if lines.contains_key(name) {
            report(line.number, format!("`{name}` has two lines"));
        } else {
            lines.insert(name, line);
        }
    }
    for package in &metadata.packages {
        let name = &package.name;
        let Some(line) = lines.get(name.as_str()) else {
            report(mark, format!("`{name}` has no line in the crate graph"));
            continue;
        };
        let real = metadata.own_dependencies(package, |kind| kind.is_none());
        for target in real.difference(&line.targets) {
            report(line.number, format!("lacks the arrow `{name} -> {target}`"));
        }
        for target in line.targets.difference(&real) {
            report(line.number, format!("`{name}` does not use `{target}`"));
        }
    }
    findings
}

/// Returns the line of the mark and the crates of the block below it, or `None` without a block.
fn read_block(document: &str) -> Option<(usize, Vec<(&str, GraphLine<'_>)>)> {
    let mut lines = document.lines().zip(1..);
    let (_, mark) = lines.find(|(line, _)| *line == MARK)?;
    let (fence, _) = lines.next()?;
    if !fence.starts_with("```") {
        return None;
    }
    let block = lines.take_while(|(line, _)| !line.starts_with("```"));
    let parsed = block.map(|(line, number)| {
        let (name, targets) = line.split_once("->").unwrap_or((line, ""));
        let targets = targets.split(',').map(str::trim);
        let targets = targets.filter(|target| !target.is_empty()).collect();
        (name.trim(), GraphLine { number, targets })
    });
    Some((mark, parsed.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(block: &str) -> Vec<String> {
        let metadata = Metadata::parse(
            r#"{"packages":[
                {"name":"a","dependencies":[
                    {"name":"b","kind":null},
                    {"name":"c","kind":"dev"},
                    {"name":"serde","kind":null}]},
                {"name":"b","dependencies":[{"name":"c","kind":null}]},
                {"name":"c","dependencies":[]}]}"#,
        );
        let document = format!("# Title\n{MARK}\n```text\n{block}```\n");
        let found = check(&document, &metadata.unwrap());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_real_graph_passes_in_any_order() {
        assert_eq!(found("b -> c\na -> b\nc\n"), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_arrow_is_found() {
        assert_eq!(
            found("a -> b, c\nb -> c\nc\n"),
            ["ARCHITECTURE.md:4: `a` does not use `c`"]
        );
    }

    #[test]
    fn a_missing_arrow_is_found() {
        assert_eq!(
            found("a -> b\nb\nc\n"),
            ["ARCHITECTURE.md:5: lacks the arrow `b -> c`"]
        );
    }

    #[test]
    fn each_crate_has_one_line() {
        assert_eq!(
            found("a -> b\nc\nd\nc\n"),
            [
                "ARCHITECTURE.md:6: `d` is not a crate of ours",
                "ARCHITECTURE.md:7: `c` has two lines",
                "ARCHITECTURE.md:2: `b` has no line in the crate graph",
            ]
        );
    }

    #[test]
    fn a_document_without_the_block_proves_nothing() {
        let metadata = Metadata::parse(r#"{"packages":[]}"#).unwrap();
        for document in ["", MARK, "<!-- crate-graph -->\ntext\n"] {
            assert_eq!(check(document, &metadata).len(), 1, "{document}");
        }
    }
}
