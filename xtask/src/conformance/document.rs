//! Renders the conformance table as the document people read.

use std::fmt::Write as _;

use super::table::{GROUPS, Row, State, Table};

const OPENING: &str = "\
<!-- Generated from conformance.toml by `cargo xtask conformance`. Do not edit. -->

# Conformance

Every requirement Ken is built from, and where it stands:

- **done**: Ken does it, a user reaches it as the row says, and the tests named in the row show it;
- **different**: Ken does something else on purpose, and the row says why;
- **planned**: not there yet; the row names the theme it belongs to.

MUST, MUST NOT, SHOULD and MAY are the requirement's own words; RULE is behavior stated without one of
them; OPEN was left undecided; INFO is a fact or a deferral.
";

pub(crate) fn render(table: &Table) -> String {
    let mut text = OPENING.to_owned();
    text.push_str("\n| group | done | different | planned | rows |\n|---|--:|--:|--:|--:|\n");
    for group in GROUPS {
        let rows = rows_of(table, group.code);
        let link = format!("[{}](#{}) {}", group.code, anchor(group.code), group.title);
        push_counts(&mut text, &link, &rows);
    }
    push_counts(&mut text, "**all**", &table.rows.iter().collect::<Vec<_>>());
    for group in GROUPS {
        push(
            &mut text,
            format_args!("\n## {}\n\n{}.\n\n", group.code, group.title),
        );
        text.push_str(
            "| id | level | requirement | figure | state | reached through | tests and notes |\n",
        );
        text.push_str("|---|---|---|---|---|---|---|\n");
        for row in rows_of(table, group.code) {
            push_row(&mut text, row);
        }
    }
    text
}

fn rows_of<'a>(table: &'a Table, group: &str) -> Vec<&'a Row> {
    table.rows.iter().filter(|row| row.group == group).collect()
}

fn anchor(heading: &str) -> String {
    heading.to_lowercase()
}

fn push_counts(text: &mut String, name: &str, rows: &[&Row]) {
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    let (done, different) = (count(State::Done), count(State::Different));
    let planned = count(State::Planned);
    push(
        text,
        format_args!(
            "| {name} | {done} | {different} | {planned} | {} |\n",
            rows.len()
        ),
    );
}

fn push_row(text: &mut String, row: &Row) {
    let mut last: Vec<String> = row.tests.iter().map(|test| format!("`{test}`")).collect();
    let reached = match (row.reached.is_empty(), row.pure_law) {
        (true, _) => String::new(),
        (false, true) => format!("pure law, reached through {}", row.reached),
        (false, false) => row.reached.clone(),
    };
    if !row.note.is_empty() {
        last.push(row.note.clone());
    }
    push(
        text,
        format_args!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            row.id,
            row.level.word(),
            cell(&row.requirement),
            cell(&row.figure),
            row.state.word(),
            cell(&reached),
            cell(&last.join("<br>")),
        ),
    );
}

/// A bar ends a table cell, even inside a code span.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("writing to a string never fails");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::table::Level;

    #[test]
    fn a_row_shows_its_tests_before_its_note_and_keeps_its_bars() {
        let row = Row {
            id: "ENT-03".to_owned(),
            group: "ENT".to_owned(),
            level: Level::MustNot,
            requirement: "a|b".to_owned(),
            figure: String::new(),
            state: State::Done,
            tests: vec!["a.rs::b".to_owned(), "a.rs::c".to_owned()],
            note: "n".to_owned(),
            reached: "`ken show`".to_owned(),
            pure_law: false,
        };
        let mut text = String::new();
        push_row(&mut text, &row);
        assert_eq!(
            text,
            "| ENT-03 | MUST NOT | a\\|b |  | done | `ken show` | `a.rs::b`<br>`a.rs::c`<br>n |\n"
        );
        let summary = render(&Table { rows: vec![row] });
        assert!(
            summary.contains("| **all** | 1 | 0 | 0 | 1 |\n"),
            "{summary}"
        );
    }
}
