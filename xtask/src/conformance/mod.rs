//! The table that says, for every requirement, where Ken stands and which test shows it.
//!
//! `docs/conformance.toml` is written by hand; `docs/conformance.md` is generated from it and never
//! edited. A row may only claim `done` by naming tests that exist. Whether they pass is for the
//! test run to say.

mod document;
mod table;

use table::Table;
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
    if repository.read(DOCUMENT).unwrap_or_default() != document::render(&table) {
        findings.push(Finding::new(
            DOCUMENT,
            1,
            "is out of date: run `cargo xtask conformance`",
        ));
    }
    Ok(findings)
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
