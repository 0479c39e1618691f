//! Scores of the suites as a table or as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{CaseFailures, CaseOutcome};
use super::data::{CaseClass, CaseData, SuiteFacts};

const SCHEMA: &str = "ken.referee.v1";

/// Result of a case under one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseVerdict {
    Pass,
    Miss,
    NotRun,
    NotApplicable,
}

impl CaseVerdict {
    fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Miss => "miss",
            Self::NotRun => "not run",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// A case with what happened in it.
#[derive(Debug)]
pub(crate) struct CaseResult<'a> {
    pub(crate) suite: &'a SuiteFacts,
    pub(crate) case: &'a CaseData,
    pub(crate) has_strict: bool,
    pub(crate) outcome: CaseOutcome,
    /// The same case without writes.
    pub(crate) floor: CaseOutcome,
}

impl CaseResult<'_> {
    /// Returns the verdict on the case as worded, and with its strict steps.
    pub(crate) fn verdicts(&self) -> (CaseVerdict, CaseVerdict) {
        match &self.outcome {
            CaseOutcome::NotRun(_) => (CaseVerdict::NotRun, CaseVerdict::NotRun),
            CaseOutcome::NotApplicable(_) => {
                (CaseVerdict::NotApplicable, CaseVerdict::NotApplicable)
            }
            CaseOutcome::Ran(failures) => {
                let verdict = |is_miss| {
                    if is_miss {
                        CaseVerdict::Miss
                    } else {
                        CaseVerdict::Pass
                    }
                };
                let worded = !is_passed(failures);
                (
                    verdict(worded),
                    verdict(worded || !failures.strict.is_empty()),
                )
            }
        }
    }

    /// Returns how the case differs from its data; `None` if it does not.
    pub(crate) fn surprise(&self) -> Option<String> {
        let known = (
            self.case.miss.is_some(),
            self.case.miss.is_some() || self.case.strict_miss.is_some(),
        );
        let (worded, strict) = self.verdicts();
        let compare = |verdict, is_known, reading: &str| match (verdict, is_known) {
            (CaseVerdict::Miss, false) => Some(format!("misses{reading}, and is no known miss")),
            (CaseVerdict::Pass, true) => Some(format!(
                "passes{reading}: take the known miss out of the data"
            )),
            (CaseVerdict::Miss, true)
            | (CaseVerdict::Pass, false)
            | (CaseVerdict::NotRun | CaseVerdict::NotApplicable, _) => None,
        };
        compare(worded, known.0, "")
            .or_else(|| compare(strict, known.1, " if read strictly"))
            .or_else(|| self.partial_surprise())
    }

    /// Returns a change inside a known miss, which its verdict would hide.
    fn partial_surprise(&self) -> Option<String> {
        let CaseOutcome::Ran(failures) = &self.outcome else {
            return None;
        };
        let unusable = failures.setup.first().or(failures.control.first());
        let new = unusable.or(failures.new.first());
        let new = new.map(|text| format!("fails beside its known miss: {text}"));
        let fixed = failures.fixed.first();
        new.or_else(|| fixed.map(|text| format!("a step known to fail passes: {text}")))
    }

    /// Returns the part that passes without memory and should not.
    pub(crate) fn floor_surprise(&self) -> Option<&'static str> {
        let CaseOutcome::Ran(failures) = &self.floor else {
            return None;
        };
        if failures.control.is_empty() {
            return Some("its control passes without memory");
        }
        match self.case.class {
            CaseClass::Obligation if failures.expect.is_empty() => {
                Some("the obligation passes without memory")
            }
            CaseClass::Obligation | CaseClass::Invariant => None,
        }
    }

    /// Returns the failed checks and the known cause.
    fn reasons(&self) -> Vec<String> {
        let CaseOutcome::Ran(failures) = &self.outcome else {
            return Vec::new();
        };
        [
            ("setup", &failures.setup),
            ("control", &failures.control),
            ("expect", &failures.expect),
            ("strict", &failures.strict),
        ]
        .iter()
        .flat_map(|(role, failed)| failed.iter().map(move |text| format!("{role}: {text}")))
        .collect()
    }
}

fn is_passed(failures: &CaseFailures) -> bool {
    failures.setup.is_empty() && failures.control.is_empty() && failures.expect.is_empty()
}

/// One row of the score table.
#[derive(Debug, Default, PartialEq, Eq)]
struct ScoreRow {
    name: String,
    reading: &'static str,
    cases: usize,
    pass: usize,
    miss: usize,
    not_run: usize,
    not_applicable: usize,
}

fn rows(results: &[CaseResult<'_>]) -> Vec<ScoreRow> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for result in results {
        let name = (result.suite.title.as_str(), result.case.set.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Vec::new();
    for (title, set) in names {
        let is_in =
            |result: &&CaseResult<'_>| result.suite.title == title && result.case.set == set;
        let members: Vec<_> = results.iter().filter(is_in).collect();
        let mut readings = vec!["as worded"];
        if members.iter().any(|result| result.has_strict) {
            readings.push("strict");
        }
        for reading in readings {
            let mut row = ScoreRow {
                name: format!("{title}, {set}"),
                reading,
                cases: members.len(),
                ..ScoreRow::default()
            };
            for result in &members {
                let (worded, strict) = result.verdicts();
                match if reading == "strict" { strict } else { worded } {
                    CaseVerdict::Pass => row.pass += 1,
                    CaseVerdict::Miss => row.miss += 1,
                    CaseVerdict::NotRun => row.not_run += 1,
                    CaseVerdict::NotApplicable => row.not_applicable += 1,
                }
            }
            rows.push(row);
        }
    }
    rows
}

/// Counts of the run without memory.
#[derive(Debug, Default, PartialEq, Eq)]
struct FloorCount {
    controls: usize,
    controls_failed: usize,
    obligations: usize,
    obligations_failed: usize,
    invariants: usize,
    invariants_passed: usize,
}

fn floor_count(results: &[CaseResult<'_>]) -> FloorCount {
    let mut count = FloorCount::default();
    for result in results {
        let CaseOutcome::Ran(failures) = &result.floor else {
            continue;
        };
        count.controls += 1;
        count.controls_failed += usize::from(!failures.control.is_empty());
        match result.case.class {
            CaseClass::Obligation => {
                count.obligations += 1;
                count.obligations_failed += usize::from(!failures.expect.is_empty());
            }
            CaseClass::Invariant => {
                count.invariants += 1;
                count.invariants_passed += usize::from(failures.expect.is_empty());
            }
        }
    }
    count
}

/// Returns table, misses and surprises for a terminal.
pub(crate) fn text(results: &[CaseResult<'_>], is_verbose: bool) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<44} {:<10} {:>5} {:>5} {:>5} {:>8} {:>5}",
        "suite", "reading", "cases", "pass", "miss", "not run", "n/a"
    );
    for row in rows(results) {
        let _ = writeln!(
            text,
            "{:<44} {:<10} {:>5} {:>5} {:>5} {:>8} {:>5}",
            row.name, row.reading, row.cases, row.pass, row.miss, row.not_run, row.not_applicable
        );
    }
    let _ = writeln!(text, "\n{}", floor_line(&floor_count(results)));
    let missed = |result: &&CaseResult<'_>| result.verdicts().1 == CaseVerdict::Miss;
    let _ = writeln!(text, "\nmisses:");
    for result in results.iter().filter(missed) {
        let known = [&result.case.miss, &result.case.strict_miss];
        let known: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
        let reading = match result.verdicts().0 {
            CaseVerdict::Miss => "",
            CaseVerdict::Pass | CaseVerdict::NotRun | CaseVerdict::NotApplicable => " (strict)",
        };
        let known = if known.is_empty() {
            "not known".to_owned()
        } else {
            known.join("; strict: ")
        };
        let _ = writeln!(
            text,
            "  {} {}{reading}: {known}",
            result.suite.name, result.case.id
        );
        if is_verbose || result.surprise().is_some() {
            for reason in result.reasons() {
                let _ = writeln!(text, "      {reason}");
            }
        }
    }
    text
}

/// Returns the counts without memory.
pub(crate) fn floor_text(results: &[CaseResult<'_>]) -> String {
    let not_run = |result: &&CaseResult<'_>| matches!(result.floor, CaseOutcome::NotRun(_));
    let not_run = results.iter().filter(not_run).count();
    format!(
        "{}; {not_run} cases not run",
        floor_line(&floor_count(results))
    )
}

fn floor_line(count: &FloorCount) -> String {
    format!(
        "without memory: {} of {} controls fail, {} of {} obligations fail, \
         {} of {} invariants pass",
        count.controls_failed,
        count.controls,
        count.obligations_failed,
        count.obligations,
        count.invariants_passed,
        count.invariants
    )
}

/// Returns source and license of each suite.
fn sources(results: &[CaseResult<'_>]) -> Value {
    let mut sources = serde_json::Map::new();
    for result in results {
        let facts = json!({ "source": result.suite.source, "license": result.suite.license });
        sources.insert(result.suite.name.clone(), facts);
    }
    Value::Object(sources)
}

/// Returns everything as one line of JSON.
pub(crate) fn json_line(results: &[CaseResult<'_>], surprises: &[String]) -> String {
    let rows: Vec<Value> = rows(results)
        .iter()
        .map(|row| {
            json!({
                "suite": row.name, "reading": row.reading, "cases": row.cases, "pass": row.pass,
                "miss": row.miss, "not_run": row.not_run, "not_applicable": row.not_applicable,
            })
        })
        .collect();
    let cases: Vec<Value> = results
        .iter()
        .map(|result| {
            let (worded, strict) = result.verdicts();
            json!({
                "suite": result.suite.name, "id": result.case.id, "title": result.case.title,
                "checks": result.case.checks, "control": result.case.control,
                "upstream": result.case.source,
                "worded": worded.name(), "strict": strict.name(),
                "known_miss": result.case.miss, "known_strict_miss": result.case.strict_miss,
                "failed": result.reasons(),
            })
        })
        .collect();
    let floor = floor_count(results);
    json!({
        "schema": SCHEMA, "suites": sources(results), "scores": rows, "cases": cases, "surprises": surprises,
        "floor": {
            "controls": floor.controls, "controls_failed": floor.controls_failed,
            "obligations": floor.obligations, "obligations_failed": floor.obligations_failed,
            "invariants": floor.invariants, "invariants_passed": floor.invariants_passed,
        },
    })
    .to_string()
}
