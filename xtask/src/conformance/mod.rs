//! The table that says, for every requirement, where Ken stands and which test shows it.
//!
//! `docs/conformance.toml` is written by hand; `docs/conformance.md` is generated from it and never
//! edited. A row may only claim `done` by naming tests that exist. Whether they pass is for the
//! test run to say.

mod document;
mod table;

use table::{State, Table};
use xtask::repository::{Finding, Repository};

const TABLE: &str = "docs/conformance.toml";
const DOCUMENT: &str = "docs/conformance.md";

/// Writes the document from the table.
pub(crate) fn write(repository: &Repository) -> Result<(), String> {
    let table = parse(&repository.read(TABLE)?)?;
    repository.write(DOCUMENT, &document::render(&table))
}

/// Checks the table, the tests it names and that the document follows from it.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let text = repository.read(TABLE)?;
    let table = parse(&text)?;
    let mut findings: Vec<Finding> = table
        .problems(|path| repository.read(path).ok())
        .into_iter()
        .map(|problem| Finding::new(TABLE, line_of(&text, &problem.id), problem.message))
        .collect();
    for (id, name) in uncalled_functions(repository, &table)? {
        let message =
            format!("{id} names the function `{name}`, which nothing outside tests calls");
        findings.push(Finding::new(TABLE, line_of(&text, &id), message));
    }
    if repository.read(DOCUMENT).unwrap_or_default() != document::render(&table) {
        findings.push(Finding::new(
            DOCUMENT,
            1,
            "is out of date: run `cargo xtask conformance`",
        ));
    }
    Ok(findings)
}

/// Returns the functions that notes of done rows name and that no code outside tests calls.
fn uncalled_functions(
    repository: &Repository,
    table: &Table,
) -> Result<Vec<(String, String)>, String> {
    let done = table.rows.iter().filter(|row| row.state == State::Done);
    let named: Vec<(&str, &str)> = done
        .flat_map(|row| {
            row.named_functions()
                .into_iter()
                .map(|it| (row.id.as_str(), it))
        })
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources = String::new();
    for path in repository.files()? {
        let is_source = path.starts_with("crates/")
            && path.contains("/src/")
            && path.ends_with(".rs")
            && !path.ends_with("tests.rs");
        if is_source && !path.contains("/ken-testkit/") {
            let text = repository.read(&path)?;
            let end = text.find("#[cfg(test)]").unwrap_or(text.len());
            sources.push_str(&text[..end]);
        }
    }
    let is_called = |name: &str| {
        let calls = sources.matches(&format!("{name}(")).count();
        let definitions = sources.matches(&format!("fn {name}(")).count();
        calls > definitions
    };
    let uncalled = named.into_iter().filter(|(_, name)| !is_called(name));
    Ok(uncalled
        .map(|(id, name)| (id.to_owned(), name.to_owned()))
        .collect())
}

fn parse(text: &str) -> Result<Table, String> {
    toml::from_str(text).map_err(|error| format!("cannot parse `{TABLE}`: {error}"))
}

/// The line that holds the row's id, so that an editor can jump to it.
fn line_of(text: &str, id: &str) -> usize {
    let wanted = format!("id = \"{id}\"");
    text.lines()
        .position(|line| line == wanted)
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_repository_holds() {
        let findings = check(&Repository::of_this_build()).unwrap();
        assert!(findings.is_empty(), "{findings:#?}");
    }

    #[test]
    fn a_row_is_found_by_the_line_of_its_id() {
        assert_eq!(line_of("a\nid = \"ENT-02\"\n", "ENT-02"), 2);
        assert_eq!(line_of("a\n", "ENT-02"), 1);
    }

    #[test]
    fn an_unknown_state_or_field_is_refused() {
        let row = |state: &str, extra: &str| {
            format!(
                "[[row]]\nid = \"A-01\"\ngroup = \"A\"\nlevel = \"MUST\"\nrequirement = \"r\"\n\
                 figure = \"\"\nstate = \"{state}\"\ntests = []\nnote = \"\"\n{extra}"
            )
        };
        assert!(parse(&row("planned", "")).is_ok());
        assert!(parse(&row("finished", "")).is_err());
        assert!(parse(&row("planned", "test = 1\n")).is_err());
    }
}
