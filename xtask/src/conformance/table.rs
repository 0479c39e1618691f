//! The rows of the conformance table and the rules they must keep.
//!
//! Reads no files: the caller hands in a function that fetches the text of a source file.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A group of the requirement matrix.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) rows: usize,
}

impl Group {
    const fn new(code: &'static str, title: &'static str, rows: usize) -> Self {
        Self { code, title, rows }
    }
}

/// Every group with its number of rows; ids run from 01 without a gap.
pub(crate) const GROUPS: &[Group] = &[
    Group::new("ENT", "Entry model and types", 47),
    Group::new("PRV", "Provenance and evidence", 21),
    Group::new("TRU", "Trust and confidence", 29),
    Group::new("DEC", "Decay, freshness, staleness", 39),
    Group::new("RET", "Retrieval, matching, ranking", 55),
    Group::new("INJ", "Injection, exposure and presentation", 35),
    Group::new("ACC", "Accumulation and extraction", 19),
    Group::new("DUP", "Dedup and merge", 14),
    Group::new("SPK", "Experiment (spike) reuse", 9),
    Group::new("CON", "Contradiction and conflict", 12),
    Group::new("SEC", "Admission, security, sanitization", 19),
    Group::new("MNT", "Maintenance services", 13),
    Group::new("HLT", "Health, briefing, outcome intelligence", 29),
    Group::new("GAT", "Gates and directional flow", 13),
    Group::new("CLI", "CLI surfaces", 19),
    Group::new("LAY", "Layout, formats, schema versioning, migration", 25),
    Group::new("DIG", "Digestion pipeline", 9),
    Group::new("DRF", "Drift detection", 6),
    Group::new("SCP", "Scope and promotion", 10),
    Group::new("FED", "Federation", 15),
    Group::new("FOR", "Forager (bounded web acquisition)", 19),
    Group::new("DST", "Co-occurrence and distillation", 12),
    Group::new("EVT", "Event log and replay", 5),
    Group::new("UI", "UI, API, operator surfaces", 9),
    Group::new("MAN", "Manual operations", 4),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    #[serde(rename = "row")]
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) group: String,
    pub(crate) level: Level,
    pub(crate) requirement: String,
    /// Threshold, figure or exact form; empty where the requirement has none.
    pub(crate) figure: String,
    pub(crate) state: State,
    /// `path/of/file.rs::function`.
    pub(crate) tests: Vec<String>,
    pub(crate) note: String,
    /// The command, hook, tool, endpoint or file through which a user reaches the behavior.
    #[serde(default)]
    pub(crate) reached: String,
    /// True for a pure law: its tests need not go through a surface, because what is reached does.
    #[serde(default)]
    pub(crate) pure_law: bool,
}

/// Crates with the surfaces of Ken. A test there shows that a user can reach a behavior.
const SURFACE_CRATES: [&str; 4] = [
    "crates/ken-cli/",
    "crates/ken-engine/",
    "crates/ken-hub/",
    "crates/ken-mcp/",
];

/// How strongly the requirement is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Level {
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    Should,
    May,
    /// Stated behavior without a keyword.
    Rule,
    /// Left undecided by the requirement.
    Open,
    /// A fact or a deferral, nothing to build.
    Info,
}

impl Level {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::Rule => "RULE",
            Self::Open => "OPEN",
            Self::Info => "INFO",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Planned,
    Done,
    /// Ken does something else on purpose; the note says why.
    Different,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Done => "done",
            Self::Different => "different",
        }
    }
}

/// A row that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) id: String,
    pub(crate) message: String,
}

impl Table {
    pub(crate) fn problems(&self, read: impl Fn(&str) -> Option<String>) -> Vec<Problem> {
        let mut problems = self.missing_and_foreign_rows(GROUPS);
        let mut sources = BTreeMap::new();
        for row in &self.rows {
            let messages = row.state_problems().into_iter().chain(
                row.tests
                    .iter()
                    .filter_map(|test| test_problem(test, &read, &mut sources)),
            );
            problems.extend(messages.map(|message| Problem {
                id: row.id.clone(),
                message,
            }));
        }
        problems
    }

    fn missing_and_foreign_rows(&self, groups: &[Group]) -> Vec<Problem> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &self.rows {
            *seen.entry(&row.id).or_default() += 1;
        }
        let problem = |id: &str, message: &str| Problem {
            id: id.to_owned(),
            message: format!("{id} {message}"),
        };
        let mut problems = Vec::new();
        for group in groups {
            for number in 1..=group.rows {
                let id = format!("{}-{number:02}", group.code);
                match seen.remove(id.as_str()) {
                    Some(1) => {}
                    Some(_) => problems.push(problem(&id, "is there more than once")),
                    None => problems.push(problem(&id, "is missing")),
                }
            }
        }
        problems.extend(seen.keys().map(|id| problem(id, "is not a requirement")));
        problems
    }
}

impl Row {
    /// A behavior that no user reaches is not done.
    fn reach_problems(&self) -> Vec<String> {
        let id = &self.id;
        let mut problems = Vec::new();
        if self.reached.trim().is_empty() {
            problems.push(format!(
                "{id} is done but does not say how a user reaches it"
            ));
        }
        let of_surface = |test: &String| SURFACE_CRATES.iter().any(|it| test.starts_with(it));
        if !self.pure_law && !self.tests.iter().any(of_surface) {
            problems.push(format!(
                "{id} names no test of ken-cli, ken-engine, ken-hub or ken-mcp: name one, or set `pure_law`"
            ));
        }
        problems
    }

    /// Returns the functions that the note names, such as `Engine::flag_contradictions`.
    pub(crate) fn named_functions(&self) -> Vec<&str> {
        let spans = self.note.split('`').skip(1).step_by(2);
        let names = spans.filter_map(|span| {
            let (_, name) = span.trim_end_matches("()").rsplit_once("::")?;
            let is_function = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            (!name.is_empty() && !span.contains('/') && name.chars().all(is_function))
                .then_some(name)
        });
        names.collect()
    }

    fn state_problems(&self) -> Vec<String> {
        let id = &self.id;
        let mut problems = Vec::new();
        if id
            .rsplit_once('-')
            .is_none_or(|(group, _)| group != self.group)
        {
            problems.push(format!("{id} is not of group `{}`", self.group));
        }
        if self.requirement.trim().is_empty() {
            problems.push(format!("{id} has no requirement"));
        }
        match self.state {
            State::Planned => {}
            State::Done if self.tests.is_empty() => {
                problems.push(format!("{id} is done but names no test"));
            }
            State::Done => problems.extend(self.reach_problems()),
            State::Different if self.note.trim().is_empty() => {
                problems.push(format!("{id} is different but does not say why"));
            }
            State::Different => {}
        }
        problems
    }
}

/// Says what is wrong with a test's name, if anything. Sources are read once.
fn test_problem(
    test: &str,
    read: &impl Fn(&str) -> Option<String>,
    sources: &mut BTreeMap<String, Option<String>>,
) -> Option<String> {
    let Some((path, function)) = test.rsplit_once("::") else {
        return Some(format!(
            "test `{test}` is not named `path/of/file.rs::function`"
        ));
    };
    let source = sources.entry(path.to_owned()).or_insert_with(|| read(path));
    match source {
        None => Some(format!("test `{test}`: there is no file `{path}`")),
        Some(text) if !holds_test(text, function) => {
            Some(format!("test `{test}`: no test `{function}` in that file"))
        }
        Some(_) => None,
    }
}

/// Whether `text` holds `fn <function>(` under an attribute that makes it a test.
fn holds_test(text: &str, function: &str) -> bool {
    let opening = format!("fn {function}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(index, line)| {
        let is_this_function = line
            .strip_prefix("async ")
            .unwrap_or(line)
            .starts_with(&opening);
        is_this_function && is_test(&lines[..index])
    })
}

/// Whether the attributes that end `before` make the next item a test.
fn is_test(before: &[&str]) -> bool {
    before
        .iter()
        .rev()
        .take_while(|line| !line.is_empty() && !line.starts_with('}') && !line.ends_with('{'))
        .any(|line| line.starts_with("#[") && line.contains("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
fn helper() {}

proptest! {
    #[test]
    fn a_law_holds(n in 0..4usize) {}
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = \"a table\"
)]
fn it_works() {}
";

    fn row(state: State, tests: &[&str], note: &str) -> Row {
        Row {
            id: "ENT-01".to_owned(),
            group: "ENT".to_owned(),
            level: Level::Rule,
            requirement: "Something".to_owned(),
            figure: String::new(),
            state,
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
            note: note.to_owned(),
            reached: "`ken show`".to_owned(),
            pure_law: true,
        }
    }

    fn messages(row: Row) -> Vec<String> {
        let read = |path: &str| (path == "a/b.rs").then(|| SOURCE.to_owned());
        let rows = vec![row];
        Table { rows }
            .problems(read)
            .into_iter()
            .map(|problem| problem.message)
            .filter(|message| !message.ends_with("is missing"))
            .collect()
    }

    #[test]
    fn the_groups_hold_487_rows() {
        assert_eq!(GROUPS.iter().map(|group| group.rows).sum::<usize>(), 487);
    }

    #[test]
    fn rows_that_keep_the_rules_pass() {
        for good in [
            row(State::Planned, &[], "foundation"),
            row(State::Done, &["a/b.rs::it_works"], ""),
            row(
                State::Done,
                &["a/b.rs::a_law_holds", "a/b.rs::it_works"],
                "",
            ),
            row(State::Different, &[], "because"),
            row(State::Different, &["a/b.rs::it_works"], "because"),
        ] {
            assert_eq!(messages(good), Vec::<String>::new());
        }
    }

    #[test]
    fn done_needs_a_test_and_different_needs_a_reason() {
        assert_eq!(messages(row(State::Done, &[], "said")).len(), 1);
        assert_eq!(
            messages(row(State::Different, &["a/b.rs::it_works"], " ")).len(),
            1
        );
    }

    #[test]
    fn done_says_how_it_is_reached_and_has_a_test_of_a_surface() {
        let good = row(State::Done, &["a/b.rs::it_works"], "");
        let hidden = Row {
            reached: String::new(),
            ..good.clone()
        };
        assert_eq!(messages(hidden).len(), 1);
        let inner = Row {
            pure_law: false,
            ..good
        };
        assert_eq!(messages(inner).len(), 1);
    }

    #[test]
    fn functions_that_a_note_names_are_found() {
        let note = "called by `Engine::flag_contradictions` and `decide::merge()`, shown by `ken show`, in `a/b.rs::it_works`";
        let named = row(State::Done, &[], note);
        assert_eq!(named.named_functions(), ["flag_contradictions", "merge"]);
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        for test in [
            "a/b.rs::it_work",
            "a/b.rs::works",
            "a/b.rs::helper",
            "a/c.rs::it_works",
            "a/b.rs",
            "it_works",
        ] {
            assert_eq!(messages(row(State::Done, &[test], "")).len(), 1, "{test}");
            assert_eq!(
                messages(row(State::Different, &[test], "because")).len(),
                1,
                "{test}"
            );
        }
    }

    #[test]
    fn a_row_belongs_to_the_group_of_its_id() {
        let wrong = Row {
            group: "PRV".to_owned(),
            ..row(State::Planned, &[], "")
        };
        assert_eq!(messages(wrong).len(), 1);
    }

    #[test]
    fn missing_double_and_foreign_rows_are_found() {
        let groups = [Group::new("ENT", "Entries", 2)];
        let with_id = |id: &str| Row {
            id: id.to_owned(),
            ..row(State::Planned, &[], "")
        };
        let found = |ids: &[&str]| {
            Table {
                rows: ids.iter().map(|id| with_id(id)).collect(),
            }
            .missing_and_foreign_rows(&groups)
            .into_iter()
            .map(|problem| problem.message)
            .collect::<Vec<_>>()
        };
        assert_eq!(found(&["ENT-01", "ENT-02"]), Vec::<String>::new());
        assert_eq!(found(&["ENT-01"]), ["ENT-02 is missing"]);
        assert_eq!(
            found(&["ENT-01", "ENT-02", "ENT-02"]),
            ["ENT-02 is there more than once"]
        );
        assert_eq!(
            found(&["ENT-01", "ENT-02", "ENT-03"]),
            ["ENT-03 is not a requirement"]
        );
    }
}
