//! Referee: acceptance tests of others for agent memory, run against a real `ken` program.
//!
//! The cases are data (`xtask/referee/*.toml`, in our own words) and every one brings a positive
//! control. The referee succeeds if exactly the known misses miss: a new miss fails it, and so does
//! a known miss that passes, because then the published score is wrong.

mod case;
mod check;
mod data;
mod floor;
mod hub;
mod mcp;
mod report;
mod scratch;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use xtask::repository::Repository;

use case::{CaseOutcome, RunMode};
use data::{StepRole, SuiteFile};
use hub::Hub;
use report::CaseResult;

const USAGE: &str = "\
usage: cargo xtask referee [OPTIONS]

  --ken PATH      program under test [default: debug/ken in the target directory]
  --suite NAME    only this suite: atlas, aoep or owasp
  --case ID       only this case, with every failed check
  --floor         only the run without memory, in which every control must fail
  --format json   print one line of JSON

Cases that need a hub run if KEN_TEST_POSTGRES or DATABASE_URL names a PostgreSQL server whose user
may create databases; `psql` is taken from PGBIN or PATH. Otherwise they count as not run.
";

/// Suites in the order of the report, each with its files; the first one has the shared steps.
const SUITES: &[(&str, &[&str])] = &[
    ("atlas", &["atlas.toml"]),
    ("aoep", &["aoep.toml", "aoep-invariants.toml"]),
    ("owasp", &["owasp.toml"]),
];

const NO_SERVER: &str = "needs PostgreSQL: KEN_TEST_POSTGRES and DATABASE_URL are not set";

#[derive(Debug, Default)]
struct RefereeOptions {
    ken: Option<PathBuf>,
    suite: Option<String>,
    case: Option<String>,
    is_floor_only: bool,
    is_json: bool,
}

impl RefereeOptions {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().map(|value| (*value).to_owned()).ok_or(USAGE);
            match *arg {
                "--ken" => options.ken = Some(PathBuf::from(value()?)),
                "--suite" => options.suite = Some(value()?),
                "--case" => options.case = Some(value()?),
                "--floor" => options.is_floor_only = true,
                "--format" if value()? == "json" => options.is_json = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        let mut names = SUITES.iter().map(|(name, _)| *name);
        match &options.suite {
            Some(suite) if !names.any(|name| name == suite) => {
                Err(format!("`{suite}` is not a suite\n\n{USAGE}"))
            }
            Some(_) | None => Ok(options),
        }
    }
}

/// Runs the suites; the exit code is 1 if a result differs from the data.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores report on the terminal"
)]
pub(crate) fn run(repository: &Repository, args: &[&str]) -> ExitCode {
    let outcome = RefereeOptions::parse(args).and_then(|options| judge(repository, &options));
    match outcome {
        Ok((text, surprises)) => {
            println!("{}", text.trim_end());
            for surprise in &surprises {
                eprintln!("{surprise}");
            }
            ExitCode::from(u8::from(!surprises.is_empty()))
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Returns the report, and each result that differs from the data.
fn judge(
    repository: &Repository,
    options: &RefereeOptions,
) -> Result<(String, Vec<String>), String> {
    let ken = options.ken.clone();
    let ken = ken.unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        repository.root().join(target).join("debug/ken")
    });
    let ken = std::fs::canonicalize(&ken)
        .map_err(|error| format!("cannot find the program `{}`: {error}", ken.display()))?;
    let suites = read_suites(repository, options.suite.as_deref())?;
    let is_chosen = |id: &str| options.case.as_deref().is_none_or(|case| case == id);
    let chosen = |suite: &SuiteFile| {
        suite
            .case
            .iter()
            .any(|case| case.hub && is_chosen(&case.id))
    };
    let mut hub = match hub::server_address() {
        Some(server) if suites.iter().any(chosen) => Some(Hub::start(&ken, &server)?),
        Some(_) | None => None,
    };
    let mut results = Vec::new();
    let mut number = 0;
    for suite in &suites {
        for case in suite.case.iter().filter(|case| is_chosen(&case.id)) {
            let steps = suite.steps(case)?;
            let mut run_case = |mode| {
                number += 1;
                let hub = hub.as_mut().ok_or(NO_SERVER);
                case::run(case, &steps, &ken, hub, (mode, number))
            };
            let floor = run_case(RunMode::Floor)?;
            let outcome = if options.is_floor_only {
                CaseOutcome::NotRun("only the run without memory was asked for".to_owned())
            } else {
                run_case(RunMode::Score)?
            };
            let is_strict =
                |step: &data::StepData| matches!(step.command(), Ok((StepRole::Strict, _)));
            results.push(CaseResult {
                suite: &suite.suite,
                case,
                has_strict: steps.iter().any(is_strict),
                outcome,
                floor,
            });
        }
    }
    if results.is_empty() {
        return Err("no case has this id".to_owned());
    }
    let surprises = surprises(&results);
    let text = if options.is_json {
        report::json_line(&results, &surprises)
    } else if options.is_floor_only {
        report::floor_text(&results)
    } else {
        report::text(&results, options.case.is_some())
    };
    Ok((text, surprises))
}

fn surprises(results: &[CaseResult<'_>]) -> Vec<String> {
    let mut surprises = Vec::new();
    for result in results {
        let place = format!("{} {}", result.suite.name, result.case.id);
        surprises.extend(result.surprise().map(|text| format!("{place}: {text}")));
        surprises.extend(
            result
                .floor_surprise()
                .map(|text| format!("{place}: {text}")),
        );
    }
    surprises
}

fn read_suites(repository: &Repository, only: Option<&str>) -> Result<Vec<SuiteFile>, String> {
    let mut suites = Vec::new();
    for (name, files) in SUITES {
        if only.is_some_and(|only| only != *name) {
            continue;
        }
        let mut text = String::new();
        for file in *files {
            text.push_str(&repository.read(&format!("xtask/referee/{file}"))?);
        }
        let suite = SuiteFile::parse(&text).map_err(|error| format!("suite {name}: {error}"))?;
        suites.push(suite);
    }
    Ok(suites)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::check::{Answer, failures};
    use super::data::CaseClass;
    use super::words::{Variables, split};
    use super::*;

    fn suites() -> Vec<SuiteFile> {
        read_suites(&Repository::of_this_build(), None).expect("the data is valid")
    }

    /// Tells whether some step with the role is still run without writes, and fails on an answer
    /// without content.
    fn fails_without_memory(steps: &[data::StepData], wanted: StepRole) -> bool {
        let mut variables = Variables::default();
        variables.unset_allowed = true;
        let empty = Answer::default();
        steps.iter().any(|step| {
            let (role, line) = step.command().expect("a checked step");
            let words = split(line).expect("a closed quotation");
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let failed = failures(step, 0, &empty, &variables).expect("variables may be unset");
            role == wanted && !floor::writes(&words) && !failed.is_empty()
        })
    }

    #[test]
    fn every_control_and_obligation_fails_without_memory() {
        for suite in suites() {
            for case in suite
                .case
                .iter()
                .filter(|case| case.not_applicable.is_none())
            {
                let steps = suite.steps(case).expect("shared steps exist");
                let has_control = fails_without_memory(&steps, StepRole::Control);
                assert!(has_control, "{}: the control cannot fail", case.id);
                let can_fail = fails_without_memory(&steps, StepRole::Expect);
                let is_obligation = case.class == CaseClass::Obligation;
                assert!(!is_obligation || can_fail, "{}: cannot fail", case.id);
            }
        }
    }

    #[test]
    fn the_suites_have_the_published_numbers_of_cases() {
        let mut sizes = Vec::new();
        for suite in suites() {
            let ids: BTreeSet<&str> = suite.case.iter().map(|case| case.id.as_str()).collect();
            assert_eq!(ids.len(), suite.case.len(), "an id is given twice");
            let mut sets: Vec<&str> = suite.case.iter().map(|case| case.set.as_str()).collect();
            sets.sort_unstable();
            let count = |set: &&str| sets.iter().filter(|other| *other == set).count();
            let unique: BTreeSet<&str> = sets.iter().copied().collect();
            sizes.extend(unique.iter().map(|set| format!("{} {set}", count(set))));
        }
        assert_eq!(
            sizes,
            [
                "20 20 tests",
                "15 15 obligations",
                "41 41 invariants",
                "55 55 cases of 0.2.2",
                "7 7 cases since"
            ]
        );
    }

    #[test]
    fn a_case_runs_in_a_scratch_repository() {
        let text = r#"
            [suite]
            name = "own"
            title = "own"
            source = "-"
            license = "-"
            [[case]]
            id = "git"
            title = "git answers"
            set = "own"
            class = "obligation"
            checks = "a written file is tracked"
            control = "the folder is a repository"
            source = "-"
            steps = [
              { setup = "git init -q ." },
              { setup = "file $NAME", text = "text" },
            ]
        "#;
        let failing = text.replace("$NAME", "$UNSET");
        let written = text.replace("$NAME", "n.txt");
        for (text, is_setup_failed) in [(failing, true), (written, false)] {
            let suite = SuiteFile::parse(&text).expect("valid data");
            let case = &suite.case[0];
            let steps = suite.steps(case).expect("no shared steps");
            // The case has no step of Ken, and `git init` takes the place of `ken init`.
            let ken = std::path::Path::new("git");
            let number = usize::from(is_setup_failed);
            let outcome = case::run(case, &steps, ken, Err(NO_SERVER), (RunMode::Score, number));
            let CaseOutcome::Ran(failures) = outcome.expect("git runs") else {
                panic!("the case applies");
            };
            assert_eq!(!failures.setup.is_empty(), is_setup_failed);
        }
    }

    #[test]
    fn a_case_differs_from_its_data_in_both_directions() {
        let suites = suites();
        let suite = &suites[0];
        let outcome = |is_failed: bool| {
            let expect = if is_failed {
                vec!["x".to_owned()]
            } else {
                Vec::new()
            };
            CaseOutcome::Ran(case::CaseFailures {
                expect,
                ..case::CaseFailures::default()
            })
        };
        for (is_known, is_failed, is_surprise) in [
            (false, false, false),
            (false, true, true),
            (true, true, false),
            (true, false, true),
        ] {
            let wanted = |case: &&data::CaseData| {
                case.miss.is_some() == is_known && case.strict_miss.is_none()
            };
            let result = CaseResult {
                suite: &suite.suite,
                case: suite.case.iter().find(wanted).expect("both kinds exist"),
                has_strict: false,
                outcome: outcome(is_failed),
                floor: outcome(false),
            };
            assert_eq!(result.surprise().is_some(), is_surprise);
            // The floor of this result has a control that does not fail.
            assert!(result.floor_surprise().is_some());
        }
    }

    #[test]
    fn a_known_miss_hides_no_other_change() {
        let suites = suites();
        let suite = &suites[0];
        let text = || vec!["x".to_owned()];
        let missed = case::CaseFailures {
            expect: text(),
            ..case::CaseFailures::default()
        };
        let mut unusable = missed.clone();
        unusable.control = text();
        let mut other = missed.clone();
        other.new = text();
        let mut fixed = missed.clone();
        fixed.fixed = text();
        for (failures, is_surprise) in [
            (missed, false),
            (unusable, true),
            (other, true),
            (fixed, true),
        ] {
            let mut known = suite.case.iter().filter(|case| case.miss.is_some());
            let result = CaseResult {
                suite: &suite.suite,
                case: known.next().expect("a known miss"),
                has_strict: false,
                outcome: CaseOutcome::Ran(failures),
                floor: CaseOutcome::NotRun(String::new()),
            };
            assert_eq!(result.surprise().is_some(), is_surprise, "{result:?}");
        }
    }

    #[test]
    fn each_miss_is_marked_at_a_step_or_holds_for_the_whole_case() {
        for suite in suites() {
            for case in &suite.case {
                let steps = suite.steps(case).expect("shared steps exist");
                let has_cause = case.miss.is_some() || case.strict_miss.is_some();
                let is_marked = steps.iter().any(|step| step.known);
                assert!(has_cause || !is_marked, "{}: a mark without cause", case.id);
            }
        }
    }
}
