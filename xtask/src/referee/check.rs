//! Checks of a step on the answer of its command.

use regex::Regex;
use serde_json::Value;

use super::data::StepData;
use super::words::Variables;

/// Longest part of an answer that a failed check quotes.
const QUOTE_CHARS_MAX: usize = 300;

/// Exit code of Ken for a usage or internal error.
const CODE_UNUSABLE: i32 = 2;

/// Answer of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Exit code, or HTTP status.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) error: String,
}

/// Returns the checks of `step` that fail on `answer`.
pub(crate) fn failures(
    step: &StepData,
    expected_code: i32,
    answer: &Answer,
    variables: &Variables,
) -> Result<Vec<String>, String> {
    let mut failures = Vec::new();
    if step.any_exit {
        // A command line that Ken does not understand would look like a refusal.
        if answer.code == CODE_UNUSABLE {
            failures.push(format!("code {CODE_UNUSABLE}: usage or internal error"));
        }
    } else if answer.code != expected_code {
        failures.push(format!("code {}, not {expected_code}", answer.code));
    }
    for text in &step.has {
        let text = variables.expand(text)?;
        if !answer.out.contains(&text) {
            failures.push(format!("lacks {:?}", shorten(&text)));
        }
    }
    for text in &step.lacks {
        let text = variables.expand(text)?;
        if answer.out.contains(&text) {
            failures.push(format!("has {:?}", shorten(&text)));
        }
    }
    for text in &step.error_has {
        let text = variables.expand(text)?;
        if !answer.error.contains(&text) {
            failures.push(format!("error output lacks {:?}", shorten(&text)));
        }
    }
    for pattern in &step.matches {
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        if !pattern.is_match(&answer.out) {
            failures.push(format!("does not match {pattern}"));
        }
    }
    if let Some(max) = step.chars_max {
        let chars = answer.out.chars().count();
        if chars > max {
            failures.push(format!("has {chars} characters, more than {max}"));
        }
    }
    for (text, expected) in &step.count {
        let found = answer.out.matches(&variables.expand(text)?).count();
        if found != *expected {
            failures.push(format!("has {found} times {text:?}, not {expected}"));
        }
    }
    for (pointer, expected) in &step.json {
        let expected = variables.expand_json(expected)?;
        match pointed(&answer.out, pointer) {
            Some(found) if found == expected => {}
            Some(found) => failures.push(format!("{pointer} is {found}, not {expected}")),
            None => failures.push(format!("has no {pointer}")),
        }
    }
    if let Some(failure) = failures.last_mut() {
        let quoted = format!("{}{}", answer.out, answer.error);
        failure.push_str(&format!(" in {:?}", shorten(quoted.trim())));
    }
    Ok(failures)
}

/// Keeps the values that `step` saves.
pub(crate) fn save(
    step: &StepData,
    answer: &Answer,
    variables: &mut Variables,
) -> Result<(), String> {
    for (name, place) in &step.save {
        let value = match place.strip_prefix("re:") {
            Some(pattern) => {
                let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
                let found = pattern.captures(&answer.out);
                found.and_then(|found| found.get(1).map(|group| group.as_str().to_owned()))
            }
            None => pointed(&answer.out, place).map(|value| match value {
                Value::String(text) => text,
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => value.to_string(),
            }),
        };
        let quoted = || shorten(&format!("{}{}", answer.out, answer.error));
        let value = value.ok_or_else(|| format!("no {place} in {:?}", quoted()))?;
        variables.set(name, value);
    }
    Ok(())
}

/// Returns the value at `pointer` in the first line of JSON that has it.
fn pointed(out: &str, pointer: &str) -> Option<Value> {
    out.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|value| value.pointer(pointer).cloned())
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= QUOTE_CHARS_MAX {
        return text.to_owned();
    }
    let start: String = text.chars().take(QUOTE_CHARS_MAX).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(toml: &str) -> StepData {
        toml::from_str(toml).expect("a step")
    }

    #[test]
    fn each_check_can_fail() {
        let variables = Variables::default();
        let answer = Answer {
            code: 0,
            out: "{\"id\":\"L-1\"}\nlate late".to_owned(),
            error: "refused".to_owned(),
        };
        for (passing, failing) in [
            ("exit = 0", "exit = 1"),
            ("has = ['late']", "has = ['early']"),
            ("lacks = ['early']", "lacks = ['late']"),
            ("error_has = ['refused']", "error_has = ['late']"),
            ("matches = ['^.*id']", "matches = ['^id']"),
            ("chars_max = 99", "chars_max = 9"),
            ("count = { late = 2 }", "count = { late = 1 }"),
            ("json = { '/id' = 'L-1' }", "json = { '/id' = 'L-2' }"),
            ("any_exit = true", "json = { '/other' = 1 }"),
        ] {
            let check = |text| {
                let step = step(text);
                failures(&step, step.exit.unwrap_or(0), &answer, &variables).expect("expanded")
            };
            assert_eq!(check(passing), Vec::<String>::new(), "{passing}");
            assert_eq!(check(failing).len(), 1, "{failing}");
        }
    }

    #[test]
    fn values_are_saved_by_pointer_and_by_pattern() {
        let mut variables = Variables::default();
        let answer = Answer {
            out: "token ken_ab\n{\"id\":\"L-1\"}".to_owned(),
            ..Answer::default()
        };
        let step = step("save = { ID = '/id', TOKEN = 're:token (\\w+)' }");
        save(&step, &answer, &mut variables).expect("both are there");
        assert_eq!(variables.expand("$ID $TOKEN"), Ok("L-1 ken_ab".to_owned()));
        assert!(save(&step, &Answer::default(), &mut variables).is_err());
    }
}
